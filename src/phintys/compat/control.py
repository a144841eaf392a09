"""``scan``, its special forms and ``ifelse`` with the arguments and results of the old packages."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from phintys import control
from phintys.compat.adapters import OrderedUpdates
from phintys.compat.methods import add_methods
from phintys.compat.test_values import as_one_step

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["foldl", "foldr", "ifelse", "map", "reduce", "scan", "scan_checkpoints"]


def _with_ordered_updates(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose updates can be added to others, as in the old packages."""

    @as_one_step
    @functools.wraps(function)
    def adapted(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        if not kwargs.get("return_updates", True):
            return found
        outputs, updates = found
        return outputs, OrderedUpdates(updates)

    return adapted


scan = _with_ordered_updates(control.scan)
map = _with_ordered_updates(control.map)
reduce = _with_ordered_updates(control.reduce)
foldl = _with_ordered_updates(control.foldl)
foldr = _with_ordered_updates(control.foldr)
scan_checkpoints = _with_ordered_updates(control.scan_checkpoints)


def ifelse(condition: Any, then_branch: Any, else_branch: Any, name: str | None = None) -> Any:
    """Return :func:`phintys.ifelse` of the branches; one of them may be a list of one variable."""
    if isinstance(then_branch, list | tuple) and not isinstance(else_branch, list | tuple):
        else_branch = [else_branch]
    elif isinstance(else_branch, list | tuple) and not isinstance(then_branch, list | tuple):
        (found,) = control.ifelse(condition, [then_branch], else_branch, name)
        return found
    return control.ifelse(condition, then_branch, else_branch, name)


def _inner_inputs(self: Any) -> list[Any]:
    """Return the inputs of one step."""
    return self.fgraph.inputs


def _inner_outputs(self: Any) -> list[Any]:
    """Return the outputs of one step."""
    return self.fgraph.outputs


add_methods(control.Scan, {"inputs": property(_inner_inputs), "outputs": property(_inner_outputs)})
