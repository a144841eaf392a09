"""Special forms of ``scan``: ``map``, ``reduce``, ``foldl``, ``foldr``, ``filter``, checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from phintys._base.errors import ArgumentError, DtypeError, ShapeError
from phintys.control.loop_forms.scan_arguments import (
    as_list,
    described,
    initial_states,
    sequences_of,
)
from phintys.control.loop_forms.scanning import scan
from phintys.graph.cloning import graph_replace
from phintys.graph.variable import Variable, require_owner
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.functions import minimum
from phintys.tensor.joining import join
from phintys.tensor.known import known_int
from phintys.tensor.ranges import arange
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.control.loop_forms.scan_arguments import Step
    from phintys.control.loops.scan_op import Scan


def map(
    fn: Step,
    sequences: Any,
    non_sequences: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """Return a function of each row of sequences, stacked: a ``scan`` without states.

    The arguments are those of :func:`~phintys.scan`.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.control import map
    >>> x = pt.dmatrix("x")
    >>> norms, _ = map(lambda row: pt.sqrt((row**2).sum()), x)
    >>> norms.eval({x: [[3.0, 4.0], [5.0, 12.0]]})
    array([ 5., 13.])
    """
    return scan(
        fn,
        sequences,
        None,
        non_sequences,
        None,
        truncate_gradient,
        go_backwards,
        mode,
        name,
        return_updates=return_updates,
    )


def reduce(
    fn: Step,
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """Return the last values of the states of a ``scan``.

    The arguments are those of :func:`~phintys.scan`. If there are no rows, the result of a state
    is its value before the first step.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.control import reduce
    >>> x = pt.dvector("x")
    >>> horner, _ = reduce(lambda c, total: 2.0 * total + c, x, 0.0)
    >>> horner.eval({x: [1.0, 0.0, 1.0]})
    array(5.)
    """
    initial = initial_states(outputs_info)
    found, updates = scan(
        fn,
        sequences,
        outputs_info,
        non_sequences,
        None,
        -1,
        go_backwards,
        mode,
        name,
        return_list=True,
    )
    lasts = last_values(found, initial)
    whole: Any = lasts[0] if len(lasts) == 1 else lasts
    return (whole, updates) if return_updates else whole


def last_values(outputs: Sequence[Any], initial: Sequence[Any] | None) -> list[Any]:
    """Return the last value of each output of a scan.

    Parameters
    ----------
    outputs
        The outputs.
    initial
        What ``outputs_info`` says about them.
    """
    states: Sequence[Any] = [None] * len(outputs) if initial is None else initial
    return [_last(output, state) for output, state in zip(outputs, states, strict=True)]


def _last(output: Any, state: Any) -> Any:
    """Return the last value of an output of a scan."""
    if not isinstance(output.type, TensorType) or state is None or state.value is None:
        return output[-1] if isinstance(output.type, TensorType) else output
    if not isinstance(state.value.type, TensorType):
        return output
    trace = output.owner.inputs[0]  # the rows before the first step, and then those of the steps
    return trace[-1]


def foldl(
    fn: Step,
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    mode: Any = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """Return :func:`reduce` from the first row to the last one.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.control import foldl
    >>> x = pt.lvector("x")
    >>> number, _ = foldl(lambda digit, total: 10 * total + digit, x, 0)
    >>> number.eval({x: [1, 2, 3]})
    array(123)
    """
    return reduce(fn, sequences, outputs_info, non_sequences, False, mode, name, return_updates)


def foldr(
    fn: Step,
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    mode: Any = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """Return :func:`reduce` from the last row to the first one.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.control import foldr
    >>> x = pt.lvector("x")
    >>> number, _ = foldr(lambda digit, total: 10 * total + digit, x, 0)
    >>> number.eval({x: [1, 2, 3]})
    array(321)
    """
    return reduce(fn, sequences, outputs_info, non_sequences, True, mode, name, return_updates)


def filter(
    fn: Step,
    sequences: Any,
    non_sequences: Any = None,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
) -> Any:
    """Return the rows of sequences for which a function is true.

    Parameters
    ----------
    fn
        A function of a row of each sequence, which returns a mask, a bool tensor of rank 0: one for
        all sequences, or a list with one for each.
    sequences, non_sequences, go_backwards, mode, name
        As for :func:`~phintys.scan`. With ``go_backwards``, the rows come in reverse order.

    Returns
    -------
    Variable, or a list of one for each sequence

    Raises
    ------
    ArgumentError
        The function returns updates, or the wrong number of masks.
    DtypeError
        A mask is not a bool.
    ShapeError
        A mask has a rank other than 0.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.control import filter
    >>> x = pt.dvector("x")
    >>> filter(lambda row: row > 0, x).eval({x: [1.0, -2.0, 3.0]})
    array([1., 3.])
    """
    listed = [as_tensor_variable(x) for x in as_list(sequences)]
    masks, updates = scan(
        fn,
        listed,
        None,
        non_sequences,
        go_backwards=go_backwards,
        mode=mode,
        name=name,
        return_list=True,
    )
    masks = cast("list[Any]", masks or [])
    if any(shared.default_update is not new for shared, new in updates.items()):
        msg = "The function of a filter must return masks alone, and it returned updates too."
        raise ArgumentError(msg)
    if len(masks) not in {1, len(listed)}:
        msg = (
            f"The function of a filter must return one mask, or one for each of the {len(listed)} "
            f"sequences; it returned {len(masks)}."
        )
        raise ArgumentError(msg)
    for mask in masks:
        row = mask.type
        if row.dtype != "bool":
            msg = f"The masks of a filter must be bool, such as row > 0; got {described(mask)}"
            raise DtypeError(msg)
        if row.ndim != 1:
            msg = (
                "The masks of a filter must be single truth values for each row, tensors of rank "
                f"0; got one of rank {row.ndim - 1}. Reduce it with .any() or .all()."
            )
            raise ShapeError(msg)
    n = masks[0].shape[0]
    rows: list[Any] = []
    for at, x in enumerate(listed):
        ordered = x[::-1] if go_backwards else x
        if len(listed) > 1:
            ordered = ordered[:n]
        rows.append(ordered[masks[at if len(masks) > 1 else 0]])
    return rows[0] if not isinstance(sequences, list | tuple) else rows


def scan_checkpoints(
    fn: Step,
    sequences: Any = None,
    outputs_info: Any = None,
    non_sequences: Any = None,
    name: str | None = "checkpointscan_fn",
    n_steps: Any = None,
    save_every_N: int = 10,
    padding: bool = True,
    return_updates: bool = True,
) -> Any:
    """Return every ``save_every_N``-th result of a ``scan``, and the last one.

    It is a loop over blocks of steps, each a loop of its own. Gradients keep what the blocks
    return, and compute the steps of a block again.

    Parameters
    ----------
    fn, sequences, outputs_info, non_sequences, n_steps, return_updates
        As for :func:`~phintys.scan`, but without taps.
    name
        A name, for printing and profiles.
    save_every_N
        The number of steps of a block. The last block can have fewer.
    padding
        Accepted for compatibility: sequences of any length need no padding.

    Raises
    ------
    ArgumentError
        ``save_every_N`` is not positive, a sequence or state has taps, or neither ``n_steps`` nor a
        sequence is given.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.control import scan_checkpoints
    >>> x = pt.dvector("x")
    >>> sums, _ = scan_checkpoints(lambda x, h: h + x, x, 0.0, save_every_N=3)
    >>> sums.eval({x: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]})
    array([ 6., 21., 28.])
    """
    if not isinstance(save_every_N, int) or save_every_N < 1:
        msg = f"save_every_N must be a positive number of steps, got {save_every_N!r}."
        raise ArgumentError(msg)
    rows, states = sequences_of(sequences), initial_states(outputs_info)
    if any(each.taps != (0,) for each in rows) or any(
        state.taps not in {(), (-1,)} for state in states or ()
    ):
        msg = "scan_checkpoints takes no taps. Use scan, whose gradients decide what to keep."
        raise ArgumentError(msg)
    n: Any = n_steps
    if n is None:
        if not rows:
            msg = "scan_checkpoints needs the number of steps: give n_steps, or a sequence."
            raise ArgumentError(msg)
        for each in rows:
            size = each.x.shape[0]
            n = size if n is None else minimum(n, size)
    n = as_tensor_variable(n).astype("int64")
    fixed = [
        x if isinstance(x, Variable) else as_tensor_variable(x) for x in as_list(non_sequences)
    ]
    whole = n // save_every_N * save_every_N

    def steps(start: Any, count: Any, values: Sequence[Any], part: str) -> Any:
        """Run a part of the steps, and return its results."""
        given = iter(values)
        info = None
        if states is not None:
            info = [None if state.value is None else next(given) for state in states]
        found, updates = scan(
            fn,
            [each.x[start : start + count] for each in rows],
            info,
            fixed,
            count,
            name=None if name is None else f"{name}_{part}",
            return_list=True,
        )
        return found or [], last_values(found or [], initial_states(info)), updates

    def block(start: Any, *values: Any) -> Any:
        _, lasts, updates = steps(start, save_every_N, values, "inner")
        return lasts, updates

    found, updates = scan(
        block,
        arange(0, whole, save_every_N),
        outputs_info,
        name=None if name is None else f"{name}_outer",
        return_list=True,
        checkpoint=1,
    )
    found = found or []
    if known_int(n % save_every_N) != 0:
        lasts = last_values(found, states)
        reached = [
            last
            for last, state in zip(lasts, states or [None] * len(lasts), strict=True)
            if state is not None and state.value is not None
        ]
        rest, _, changed = steps(whole, n - whole, reached, "rest")
        if changed:
            rest, changed = _continued(rest, changed, updates)
        updates = changed
        found = [
            join(0, one, other[-1:]) if isinstance(one.type, TensorType) else other
            for one, other in zip(found, rest, strict=True)
        ]
    single: Any = None if not found else found[0] if len(found) == 1 else found
    return (single, updates) if return_updates else single


def _continued(
    rest: list[Any], changed: dict[Any, Any], updates: Mapping[Any, Any]
) -> tuple[list[Any], dict[Any, Any]]:
    """Return the results of a loop whose shared variables begin with their updates by another."""
    node = require_owner(next(iter(changed.values())))
    given = cast("Scan", node.op).arguments.node_inputs(node.inputs)
    given.untraced = [updates.get(value, value) for value in given.untraced]
    new = node.op(*given, return_list=True)
    both = [*rest, *changed.values()]
    moved = cast(
        "list[Any]", graph_replace(both, dict(zip(node.outputs, new, strict=True)), strict=False)
    )
    return moved[: len(rest)], dict(zip(changed, moved[len(rest) :], strict=True))
