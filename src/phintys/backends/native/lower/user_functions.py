"""Lowering of functions of users on arrays to calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from phintys.backends.native.assembler.user_functions import symbol_of
from phintys.backends.native.failures import StatusFailure
from phintys.backends.native.lower.linear_algebra import Operands, count_of
from phintys.backends.native.lower.lowering import Lowering, lowers
from phintys.backends.native.routines.user_functions import UserFunction
from phintys.backends.native.steps.call import LibraryCall
from phintys.graph.apply import Apply
from phintys.native.calls import NativeCall

if TYPE_CHECKING:
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array


@lowers(NativeCall)
def lower_native_call(op: NativeCall, node: Apply, lowering: Lowering) -> None:
    """A call for each item; an operand that is the same for all items is passed as it is."""
    sizes = lowering.sizes
    core, made = op.dims()
    views, known, leading = Operands.of(op, node, lowering)
    arrays: list[Array] = []
    moves: list[Size] = []
    for x, view, names in zip(node.inputs, views, core, strict=True):
        ndim = view.ndim - len(names)
        is_same = all(size == 1 for size in cast("Any", x.type).shape[:ndim])
        if is_same:
            view = lowering.view(x).rearranged(list(range(ndim, view.ndim)), sizes)
        arrays.append(lowering.contiguous(view, node).array)
        lengths = [known[name] for name in names]
        moves.append(sizes.fixed(0) if is_same else count_of(lengths, lowering))
    targets = [
        lowering.compute(variable, [*leading, *(known[name] for name in names)])[0].array
        for variable, names in zip(node.outputs, made, strict=True)
    ]
    moves += [count_of([known[name] for name in names], lowering) for names in made]
    options: dict[str, Any] = {"count": count_of(leading, lowering), "passed": op.size_names}
    options |= {name: known[name] for name in op.size_names}
    options |= {f"items {at}": move for at, move in enumerate(moves)}
    routine = UserFunction(str(op), symbol_of(op.function), op.has_status)
    failure = StatusFailure(node, "status") if op.has_status else None
    lowering.steps.append(
        LibraryCall(routine, tuple(arrays), tuple(targets), options, node, failure=failure)
    )
