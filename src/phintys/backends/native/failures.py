"""What a call reports when it fails at some place of a program."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, cast

from phintys._base.errors import ShapeError
from phintys._base.records import record
from phintys.tensor.shape_rules import Misfit, ShapedOp, SizeSources
from phintys.tensor.size_check import SizeCheck

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.values import Size
    from phintys.graph.apply import Apply


@record(eq=False)
class Given:
    """The sizes that the shape rule of a node computes with, as they were before its checks.

    Attributes
    ----------
    shapes
        The sizes of each input.
    values
        By the position of an input: the size that is its value, or the sizes that are its elements,
        of those that the rule reads.
    """

    shapes: Sequence[Sequence[Size]]
    values: dict[int, Size | Sequence[Size]] = field(default_factory=dict)


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
    given
        What the shape rule of the Op computes with, if there is one.
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
    given: Given | None = None

    def exception(self, first: int, second: int) -> Exception:
        """Return the error for the two numbers that failed, in the words of native code."""
        detail = self.detail.format(first, second)
        return self.error(self.text.format(op=self.node.op, kind=self.kind, detail=detail))


@record(eq=False)
class MisfitFailure(Failure):
    """Two sizes that the shape rule of the Op compares, in the words of the Op."""

    misfit: Misfit = Misfit("", "")

    def exception(self, first: int, second: int) -> Exception:
        """Return the error, which names the sizes as checks without values do."""
        op = cast("ShapedOp", self.node.op)
        subject = op.misfit_subject(self.misfit, SizeSources(self.node.inputs))
        return SizeCheck("equal", subject).error(first, second)


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
