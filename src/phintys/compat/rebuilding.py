"""``rebuild_collect_shared`` with its old arguments and results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys import compile as core
from phintys.compile.rebuild import check_givens, check_updates
from phintys.graph import Variable, clone_replace

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["rebuild_collect_shared"]


def rebuild_collect_shared(
    outputs: Any,
    inputs: Iterable[Variable] | None = None,
    replace: Any = None,
    updates: Any = None,
    rebuild_strict: bool = True,
    copy_inputs_over: bool = True,
    no_default_updates: Any = False,
    clone_inner_graphs: bool = False,
) -> tuple[list[Variable], Any, list[Any]]:
    """Copy graphs, and collect their shared variables and updates.

    Parameters
    ----------
    outputs
        A variable, several, or ``None``.
    inputs
        Variables whose values are given.
    replace, updates
        Simultaneous replacements, and the next values of shared variables, as a dict or pairs.
    rebuild_strict
        Whether replacements must keep all types.
    copy_inputs_over
        Whether the copies have the same inputs and shared variables, rather than copies of them.
    no_default_updates
        ``True`` or a list: shared variables whose ``default_update`` is not used.
    clone_inner_graphs
        Has no effect: inner graphs are never modified.

    Returns
    -------
    tuple
        The inputs of the copies; the copies of the outputs; and a list of a dict from an input or
        shared variable to its copy, a dict of the updates, the updates as pairs, and the shared
        variables.
    """
    wanted = [] if outputs is None else outputs
    several = list(wanted) if isinstance(wanted, list | tuple) else [wanted]
    leaves = list(inputs or ())
    rebuilt = core.rebuild_collect_shared(
        several,
        leaves,
        givens=check_givens(replace, (), strict=rebuild_strict),
        updates=check_updates(updates, ()),
        rebuild_strict=rebuild_strict,
        no_default_updates=no_default_updates,
    )
    copies: dict[Variable, Variable] = {
        **dict(zip(leaves, rebuilt.inputs, strict=True)),
        **rebuilt.shared,
    }
    found = [*rebuilt.outputs, *rebuilt.updates.values()]
    if copy_inputs_over:
        found = clone_replace(found, {new: old for old, new in copies.items()})
        copies = {old: old for old in copies}
    new_outputs = found[: len(several)]
    new_updates = dict(zip(rebuilt.updates, found[len(several) :], strict=True))
    alike = new_outputs if isinstance(wanted, list | tuple) else new_outputs[0]
    collected = [copies, new_updates, list(new_updates.items()), list(rebuilt.shared)]
    return [copies[one] for one in leaves], alike, collected
