"""Loops from a function of the variables of a step, for tests of what works on any loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.control.loops.arguments import LoopArguments
from phintys.control.loops.scan_op import Scan
from phintys.graph.fgraph import FunctionGraph
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def make_loop(
    step: Callable[..., Sequence[Any]],
    n: Any,
    sequences: Sequence[Any] = (),
    carried: Sequence[tuple[tuple[int, ...], Any]] = (),
    untraced: Sequence[Any] = (),
    captured: Sequence[Any] = (),
    *,
    until: bool = False,
    name: str | None = None,
) -> list[Any]:
    """Return the outputs of a :class:`~phintys.control.Scan`.

    Parameters
    ----------
    step
        Called once with the variables of a step: its number, the rows of the sequences, a row for
        each tap of each carried argument, the untraced and the captured values. Returns the new
        rows, the new values, the rows to stack, and the condition if there is one.
    n
        The number of steps.
    sequences, untraced, captured
        The sequences, the first values, and the captured values.
    carried
        The taps and the first rows of each carried argument.
    until
        Whether the step returns a condition.
    name
        The name of the loop.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.testing.loops import make_loop
    >>> x = pt.dvector("x")
    >>> (total,) = make_loop(lambda t, row, s: [s + row], x.shape[0], sequences=[x], untraced=[0.0])
    >>> total.eval({x: [1.0, 2.0, 3.0]})
    array(6.)
    """
    xs = [as_tensor_variable(x) for x in sequences]
    firsts = [(taps, as_tensor_variable(first)) for taps, first in carried]
    values = [as_tensor_variable(x) for x in untraced]
    constants = [as_tensor_variable(x) for x in captured]
    inner: list[Any] = [TensorType("int64", ())("t"), *map(_row, xs)]
    for taps, first in firsts:
        inner += [_row(first) for _ in taps]
    inner += [x.type() for x in (*values, *constants)]
    made = [as_tensor_variable(x) for x in step(*inner)]
    arguments = LoopArguments(
        sequences=len(xs),
        taps=tuple(taps for taps, _ in firsts),
        untraced=len(values),
        stacked=len(made) - len(firsts) - len(values) - until,
        captured=len(constants),
        has_until=until,
    )
    op = Scan(FunctionGraph(inner, made), arguments, name)
    given = [*xs, *(first for _, first in firsts), *values, *constants]
    return op(n, *given, return_list=True)


def _row(x: Any) -> Any:
    return TensorType(x.type.dtype, x.type.shape[1:])()
