"""What a call reports when it fails at some place of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from phintys._base.errors import ShapeError
from phintys._base.records import record

if TYPE_CHECKING:
    from phintys.graph.apply import Apply


@record(eq=False)
class Failure:
    """What is reported when the program fails at this place.

    Attributes
    ----------
    node
        The node of the graph, which knows the user's line.
    kind
        ``"broadcast"``, ``"index"``, ``"empty"`` ...: what was not as it must be.
    detail
        Words for the message; ``{0}`` and ``{1}`` are replaced by the two numbers that failed.
    error
        The class of the error.
    text
        The message, of the Op, the kind and the detail.
    """

    is_limit: ClassVar[bool] = False
    """Whether only native code fails, so that other backends compute the node."""

    is_own: ClassVar[bool] = False
    """Whether native code has the whole message, without one from the reference backend."""

    is_rounded: ClassVar[bool] = False
    """Whether it depends on rounding, so that the reference backend may compute the node."""

    node: Apply
    kind: str
    detail: str = ""
    error: type[Exception] = ShapeError
    text: str = "{op}: {kind}: {detail}."

    def exception(self, first: int, second: int) -> Exception:
        """Return the error for the two numbers that failed, in the words of native code."""
        detail = self.detail.format(first, second)
        return self.error(self.text.format(op=self.node.op, kind=self.kind, detail=detail))


@record(eq=False)
class OwnFailure(Failure):
    """A failure for which the Op has an error of its own: ``op.error(first, second)``."""

    def exception(self, first: int, second: int) -> Exception:
        """Return the error of the Op."""
        op: Any = self.node.op
        return op.error(first, second)


@record(eq=False)
class StatusFailure(OwnFailure):
    """A status that a function of a user has returned; it is not called again for its message."""

    is_own: ClassVar[bool] = True

    @property
    def explanation(self) -> str:
        """The message for any status, for which ``{0}`` stands."""
        op: Any = self.node.op
        return op.explanation()


@record(eq=False)
class LimitFailure(Failure):
    """A number that is too large for a library, although the node could be computed."""

    is_limit: ClassVar[bool] = True


@record(eq=False)
class RoundedFailure(Failure):
    """A matrix that has no factor or no solution, as far as rounding allows to tell."""

    is_rounded: ClassVar[bool] = True


@record(eq=False)
class StepsFailure(Failure):
    """What is wrong with a loop before its first step; the detail is the whole message.

    The reference backend does not supply the message, since running the steps may take very long.
    """

    is_own: ClassVar[bool] = True

    def exception(self, first: int, second: int) -> Exception:
        """Return the error."""
        return self.error(self.detail.format(first, second))
