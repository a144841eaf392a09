"""``scan``, ``ifelse``, batching and replacing with the arguments of the old packages."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from phintys import control
from phintys.compat.adapters import OrderedUpdates
from phintys.compat.methods import add_methods
from phintys.compat.old_classes import core_classes
from phintys.compat.test_values import as_one_step
from phintys.graph.apply import Apply
from phintys.tensor import batching

if TYPE_CHECKING:
    from phintys.graph.op import Op

__all__ = [
    "Blockwise",
    "_vectorize_node",
    "foldl",
    "foldr",
    "ifelse",
    "map",
    "reduce",
    "scan",
    "scan_checkpoints",
    "vectorize_graph",
]


class Blockwise(batching.Blockwise):
    """A Blockwise with the further arguments of PyTensor.

    The name is for printing. What a Blockwise overwrites is decided while compiling, and it needs
    no NumPy function, so that ``gufunc_spec`` and ``destroy_map`` have no meaning.
    """

    def __init__(
        self,
        core_op: Op,
        signature: str | None = None,
        name: str | None = None,
        gufunc_spec: Any = None,
        destroy_map: Any = None,
        **others: Any,
    ) -> None:
        super().__init__(core_op, signature)
        self.name = name

    def __str__(self) -> str:
        return self.name or super().__str__()


def vectorize_graph(outputs: Any, replace: Mapping[Any, Any]) -> Any:
    """Return outputs for batches of variables; a sequence of outputs is returned as a list."""
    return batching.vectorize_graph(outputs, replace)


class _Dispatch:
    """The registry of rules, in the form of ``functools.singledispatch``."""

    def register(self, op_class: type[Op]) -> Callable[[Any], Any]:
        """Return a decorator of a rule ``(op, node, *batched_inputs)``, which returns a node."""

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            def rule(node: Any, batch: Any) -> Sequence[Any]:
                found = function(node.op, node, *batch.inputs)
                if isinstance(found, Apply):
                    return found.outputs
                return found if isinstance(found, list | tuple) else [found]

            for core in core_classes([op_class]):
                batching.batches(core)(rule)
            return function

        return decorate


_vectorize_node = _Dispatch()


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
