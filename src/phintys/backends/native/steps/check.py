"""Checks: two sizes must be equal, or the call fails with the user's line."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from phintys._base.records import record
from phintys.backends.native.program import Step
from phintys.backends.native.sizes import Arithmetic

if TYPE_CHECKING:
    from phintys.backends.native.explain import Explainer
    from phintys.backends.native.failures import Failure
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.verify import Verifier
    from phintys.backends.native.writer.step_writer import StepWriter


@record(eq=False)
class Check(Step):
    """Checks that ``left == right``; otherwise the call fails."""

    noun: ClassVar[str] = "check"
    nouns: ClassVar[str] = "checks"
    is_timed: ClassVar[bool] = False
    only_checks: ClassVar[bool] = True

    left: Size
    right: Size
    failure: Failure

    def sizes(self) -> tuple[Size, Size]:
        """Return the two sizes."""
        return self.left, self.right

    @property
    def may_fail(self) -> bool:
        """``True``."""
        return True

    def lines(self, explainer: Explainer) -> list[str]:
        """Return its line; the two sizes are known to be equal only afterwards."""
        left, right = (explainer.size(size, as_given=True) for size in self.sizes())
        failure = self.failure
        detail = failure.detail.replace("{0}", left).replace("{1}", right)
        why = f"{failure.kind}, {detail}" if detail else failure.kind
        is_order = isinstance(self.left, Arithmetic) and self.left.operation == "lt"
        test = left[1:-1] if is_order and self.right.known == 1 else f"{left} == {right}"
        return [f"check {test} ({failure.node.op}: {why})"]

    def verify(self, verifier: Verifier) -> None:
        """Note what is known from here on."""
        Step.verify(self, verifier)
        verifier.checked(self.left, self.right)

    def emit(self, writer: StepWriter) -> None:
        """Compare the sizes as they were before checks merged them with others."""
        left, right = (writer.size_as_given(size) for size in self.sizes())
        with writer.failing(writer.b.ne(left, right)):
            writer.set_status(writer.main.failure(self.failure), left, right)
