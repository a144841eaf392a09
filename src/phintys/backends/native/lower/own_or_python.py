"""The choice between own code and Python, by a size, for Ops that Python has faster code for.

Own code is called at once, the library that Python calls is faster for many numbers. An exported
program has no Python: own code does all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from phintys import scalar as ps
from phintys.backends.native.expressions import Literal, Operation, SizeValue
from phintys.backends.native.kernels.fusion import fuse
from phintys.backends.native.kernels.statements import prune
from phintys.backends.native.lower.lowering import Lowering, NotLowered
from phintys.backends.native.lower.view import View
from phintys.backends.native.steps.branch import Branch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.backends.native.program import Step
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array
    from phintys.graph.apply import Apply

_BOOL, _INT64 = np.dtype("bool"), np.dtype("int64")


def check_own(lowering: Lowering, size: Size, most: int, why: str) -> None:
    """Raise NotLowered if Python runs the Op: its size is known, and too large for own code."""
    known = size.known
    if not lowering.is_exported and known is not None and known >= most:
        raise NotLowered(why)


def own_or_python(
    node: Apply,
    lowering: Lowering,
    lengths: Sequence[Size],
    choice: tuple[Size, int, str],
    own: Callable[[View], None],
) -> None:
    """Compute a result by own code if a size is small, else by the Op in Python.

    Parameters
    ----------
    node, lowering
        What is lowered; :func:`check_own` has been called.
    lengths
        The shape of the result.
    choice
        The size, the number from which on Python runs the Op, and why it does.
    own
        Adds the steps that write the result into a view. In a branch, the size is less than that
        number when they run; memory of theirs should have no more room.
    """
    size, most, why = choice
    target, _ = lowering.compute(node.outputs[0], lengths)
    if lowering.is_exported or size.known is not None:
        own(target)
        return
    sizes = lowering.sizes
    condition = _is_less(size, most, node, lowering)
    with lowering.body() as small:
        own(target)
    with lowering.body() as large:
        lowering.callback(node, why)
        copy_view(lowering.view(node.outputs[0]), target, node, lowering)
    kept = {target.array}
    bodies: list[list[Step]] = [fuse(prune(body, kept), sizes, kept) for body in (small, large)]
    lowering.steps.append(Branch(condition, *bodies, node=node))


def copy_view(source: View, target: View, node: Apply, lowering: Lowering) -> None:
    """Copy all elements from one view to another."""
    loops = lowering.loops(target.sizes)
    lowering.store(target, lowering.load(source, loops), loops, nodes=(node,))


def _is_less(size: Size, most: int, node: Apply, lowering: Lowering) -> Array:
    """Return whether a size is less than a number, as a single bool."""
    array = lowering.array(_BOOL, ())
    is_less = Operation(ps.lt, (SizeValue(size), Literal(np.int64(most), _INT64)), _BOOL)
    lowering.store(View.of(array, lowering.sizes), is_less, (), nodes=(node,))
    return array
