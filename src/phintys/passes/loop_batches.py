"""What the steps of a loop compute, for all steps at once and outside of the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.late import LateModule
from phintys._base.origin import inherit_origin
from phintys.graph.inner import HasInnerGraph
from phintys.graph.variable import Constant
from phintys.passes._facts import fits, is_size_of
from phintys.passes._loops import enough_rows, is_like, not_negative
from phintys.tensor.creation import alloc
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.indexing.basic import Subtensor
from phintys.tensor.indexing.template import SCALAR
from phintys.tensor.known import known_int
from phintys.tensor.products import Dot
from phintys.tensor.ranges import arange
from phintys.tensor.reduce import Reduce
from phintys.tensor.reshaping import reshape
from phintys.tensor.shapes import shape_i
from phintys.tensor.size_check import unchecked_size
from phintys.tensor.softmaxes import LogSoftmax, Softmax, SoftmaxOrZero
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.op import Op
    from phintys.passes._loops import EditedLoop, LoopArgument
    from phintys.tensor.batching import engine as batching
else:
    batching = LateModule("phintys.tensor.batching.engine")

__all__ = ["BATCHED", "Outside", "collapse"]


class Outside:
    """The values of the variables of a step, outside of the loop.

    A variable has the *same* value in all steps, or *rows*, one for each step.

    Parameters
    ----------
    loop
        The loop.
    nodes
        The nodes of a step that may be moved, in topological order.
    stacked
        If the values are computed after the loop: what the steps stack. The carried values are
        known then as well.
    """

    def __init__(
        self,
        loop: EditedLoop,
        nodes: Iterable[Apply],
        stacked: Iterable[LoopArgument] | None = None,
    ) -> None:
        self._loop = loop
        self._stacked = None if stacked is None else list(stacked)
        self._values: dict[Any, Any] = {}
        self.rows: dict[Any, bool] = {}
        """Variable -> whether it has rows; for those that can be computed outside."""
        self.steps: Any = None
        self._seed()
        if self._stacked is not None:
            for one in loop.carried:
                self.rows.update(dict.fromkeys((*one.rows, one.new), True))
            self.rows.update((one.new, True) for one in self._stacked)
        self.extend(nodes)

    def _seed(self) -> None:
        loop = self._loop
        self.rows[loop.index] = True
        for one in loop.sequences:
            if has_like_rows(one.given, one.rows[0]):
                self.rows[one.rows[0]] = True
        for one in loop.captured:
            if is_like(one.given, one.rows[0]):
                self.rows[one.rows[0]] = False
                self._values[one.rows[0]] = one.given

    def extend(self, nodes: Iterable[Apply]) -> None:
        """Find out which results of nodes can be computed outside."""
        rows = self.rows
        for node in nodes:
            if any(out in rows for out in node.outputs):
                continue
            flags: list[bool] = []
            for x in node.inputs:
                if isinstance(x, Constant):
                    rows.setdefault(x, False)
                    self._values[x] = x
                elif x not in rows:
                    break
                flags.append(rows[x])
            if len(flags) < len(node.inputs) or node.op.destroy_map:
                continue
            if not any(flags):
                if not isinstance(node.op, HasInnerGraph):
                    rows.update(dict.fromkeys(node.outputs, False))
                continue
            is_faster = _AT_ONCE.get(type(node.op))
            if is_faster is not None and is_faster(node, flags):
                rows[node.outputs[0]] = True

    # ---- values --------------------------------------------------------------------------------

    def start(self, results: Mapping[Any, Any] | None = None) -> None:
        """Prepare the values from which all others are computed.

        Parameters
        ----------
        results
            The results of the loop, if values are computed after it.
        """
        loop, values = self._loop, self._values
        if results is None or loop.until is None:
            self.steps = not_negative(loop.n)
        else:
            self.steps = results[loop.ran[0]]
        if results is None:
            return
        for one in loop.carried:
            trace = results[one.out[0]]
            depth = -one.taps[0]
            for row, tap in zip(one.rows, one.taps, strict=True):
                values[row] = trace[depth + tap : tap]
            values[one.new] = trace[depth:]
        for one in self._stacked or ():
            values[one.new] = results[one.out[0]]

    def __getitem__(self, variable: Any) -> Any:
        """Return the value of a variable, or its rows."""
        values = self._values
        stack = [variable]
        while stack:
            current = stack[-1]
            node = current.owner
            if current in values:
                stack.pop()
            elif node is None:
                values[current] = self._leaf(current)
            elif missing := [x for x in node.inputs if x not in values]:
                stack.extend(missing)
            else:
                self._compute(node)
        return values[variable]

    def stacked(self, variable: Any) -> Any:
        """Return the rows of a variable; those of one that is the same in all steps are equal."""
        value = self[variable]
        if self.rows.get(variable):
            return value
        return alloc(value, self.steps, *(shape_i(value, dim) for dim in range(value.ndim)))

    def _leaf(self, variable: Any) -> Any:
        loop = self._loop
        if isinstance(variable, Constant):
            return variable
        if variable is loop.index:
            return arange(self.steps)
        ((number, x),) = [
            (number, one.given)
            for number, one in enumerate(loop.sequences)
            if one.rows[0] is variable
        ]
        return _first_rows(x, self.steps, number)

    def _compute(self, node: Apply) -> None:
        given = [self._values[x] for x in node.inputs]
        with inherit_origin(node.origin):
            found = batching.outputs_for(batching.Batch(node, given))
        self._values.update(zip(node.outputs, found, strict=True))


def has_like_rows(x: Any, row: Any) -> bool:
    """Return whether the rows of a tensor can stand for a variable of a step."""
    return fits(row.type, TensorType(x.type.dtype, x.type.shape[1:]))


def _first_rows(x: Any, n: Any, number: int) -> Any:
    """Return the first n rows of a tensor, which must have as many."""
    known, size = known_int(n), x.type.shape[0]
    if is_size_of(unchecked_size(n), x, 0) or (known is not None and known == size):
        return x
    return x[: enough_rows(n, x, number)]


def collapse(x: Any) -> Any:
    """Return a stack of matrices as one matrix, with the rows of all."""
    return reshape(x, (x.shape[0] * x.shape[1], x.shape[2]), ndim=2)


# ---- Ops on rows -------------------------------------------------------------------------------


def _always(node: Any, rows: Sequence[bool]) -> bool:
    return True


def _elemwise_at_once(node: Any, rows: Sequence[bool]) -> bool:
    return not node.op.inplace_pattern and len(node.outputs) == 1


def _subtensor_at_once(node: Any, rows: Sequence[bool]) -> bool:
    """Rows of one index; or rows of an array that is the same in all steps."""
    return not any(rows[1:]) or (not rows[0] and node.op.idx_list == (SCALAR,))


def _dot_at_once(node: Any, rows: Sequence[bool]) -> bool:
    """One product of matrices, or one for each step if that must be."""
    ranks = tuple(x.ndim for x in node.inputs)
    if all(rows):
        return ranks in {(1, 1), (2, 2)}
    return rows[0] or ranks[1] == 1


_AT_ONCE: dict[type[Op], Callable[[Any, Sequence[bool]], bool]] = {
    Elemwise: _elemwise_at_once,
    DimShuffle: _always,
    Reduce: _always,
    Softmax: _always,
    SoftmaxOrZero: _always,
    LogSoftmax: _always,
    Subtensor: _subtensor_at_once,
    Dot: _dot_at_once,
}
"""Ops that are moved out of loops -> whether it is faster for given operands with rows. How they
are batched is in the table of batching."""

BATCHED: tuple[type[Op], ...] = tuple(_AT_ONCE)
"""Ops that can be computed for the rows of all steps at once."""
