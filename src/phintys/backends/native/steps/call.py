"""Calls of library routines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from phintys._base.records import record
from phintys.backends.native.emit.blas import FLOPS, BlasCall
from phintys.backends.native.emit.products import most_in_tiles
from phintys.backends.native.emit.types import type_of
from phintys.backends.native.program import Array, Step
from phintys.backends.native.sizes import Size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from phintys.backends.native.emit.main import MainFunction
    from phintys.backends.native.emit.step_writer import StepWriter
    from phintys.backends.native.explain import Explainer
    from phintys.backends.native.polynomials import Polynomial
    from phintys.graph.apply import Apply

__all__ = ["Call"]


@record(eq=False)
class Call(Step):
    """A call of a library routine.

    Attributes
    ----------
    routine
        ``"gemm"``, ``"gemv"``, ``"dot"``, ``"ger"`` ...
    inputs, output
        The arrays read, and the array written.
    options
        The parameters of the routine: transposes, sizes, scale factors, offsets of slices.
    node
        The graph's node that this computes.
    """

    noun: ClassVar[str] = "call"
    nouns: ClassVar[str] = "calls"

    routine: str
    inputs: tuple[Array, ...]
    output: Array
    options: dict[str, Any]
    node: Apply

    def reads(self) -> Iterator[Array]:
        """Yield the inputs, and the output if it is added to."""
        yield from self.inputs
        if self.options.get("beta"):
            yield self.output

    def writes(self) -> tuple[Array]:
        """Return the output."""
        return (self.output,)

    def sizes(self) -> Iterator[Size]:
        """Yield the sizes among the options."""
        yield from (value for value in self.options.values() if isinstance(value, Size))
        for entry in self.options.get("batch", ()):
            yield from entry

    def nodes(self) -> tuple[Apply]:
        """Return the node."""
        return (self.node,)

    def work(self, main: MainFunction) -> Polynomial:
        """Return the time of its multiplications."""
        factors = [self.options[name] for name in "mnk" if name in self.options]
        factors += [entry[0] for entry in self.options.get("batch", ())]
        return main.scaled(main.ring.product(factors), 1 / FLOPS)

    @property
    def title(self) -> str:
        """The routine."""
        return f"a call of {self.routine}"

    def lines(self, explainer: Explainer) -> list[str]:
        """Return its line: its operands, as passed, and the lengths of its loops."""
        options = self.options
        operands = [
            explainer.name(array) + ".T" * bool(options.get(f"{letter}_transposed"))
            for array, letter in zip(self.inputs[:2], "ab", strict=True)
        ]
        alpha = options.get("alpha", 1)
        factor = explainer.name(alpha) if isinstance(alpha, Array) else str(alpha)
        text = f"call {self.routine}({', '.join(operands)})" + f" * {factor}" * (alpha != 1)
        text += f" {'added to' if options.get('beta') else '->'} {explainer.name(self.output)}"
        sizes = [f"{name} = {explainer.size(options[name])}" for name in "mnk" if name in options]
        text += f"    [{', '.join(sizes)}]" if sizes else ""
        batch = [explainer.size(entry[0]) for entry in options.get("batch", ())]
        text += f" {' * '.join(batch)} times" if batch else ""
        return [text + self._tiles(explainer)]

    def _tiles(self, explainer: Explainer) -> str:
        """Return whether a product is computed in tiles without BLAS, or up to which size."""
        if self.routine != "gemm":
            return ""
        texts = [explainer.size(self.options[name]) for name in "mnk"]
        lengths = [int(text) if text.isdigit() else None for text in texts]
        if 1 in lengths[:2]:  # a product with a vector
            return ""
        target, type_ = explainer.emitted.module.target, type_of(self.output.dtype)
        most = most_in_tiles(target, type_, lengths, is_repeated="batch" in self.options)
        if not most:
            return ""
        return ", in tiles" + f" up to {most} multiplications" * (None in lengths)

    def emit(self, writer: StepWriter) -> None:
        """Write the call."""
        BlasCall(writer.b, self, writer.pointer, writer.size, writer.share, writer.poll).write()
        writer.poll_after(self)
