"""``scan_checkpoints``: a scan that returns the results of every n-th step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from phintys._base.errors import ArgumentError
from phintys.control.loop_forms.folds import last_values
from phintys.control.loop_forms.scan_inputs import as_list, initial_states, sequences_of
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

    from phintys.control.loop_forms.scan_inputs import Step
    from phintys.control.loops.scan_op import Scan


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
