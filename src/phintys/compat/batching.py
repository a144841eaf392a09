"""Batching and replacing under the names of PyTensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from phintys.compat.old_classes import core_classes
from phintys.graph.apply import Apply
from phintys.tensor import batching

if TYPE_CHECKING:
    from phintys.graph.op import Op

__all__ = ["Blockwise", "_vectorize_node", "vectorize_graph"]


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
