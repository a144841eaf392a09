"""``as_op``: an Op from a Python function on arrays."""

from __future__ import annotations

import sys
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from phintys._base.errors import OpContractError
from phintys.graph import Op, Type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph import Apply

__all__ = ["FromFunctionOp", "as_op"]


class FromFunctionOp(Op):
    """An Op that calls a Python function; see :func:`as_op`."""

    __props__ = ("function", "itypes", "otypes")

    def __init__(
        self,
        fn: Callable[..., Any],
        itypes: Any,
        otypes: Any,
        infer_shape: Callable[..., Any] | None = None,
    ) -> None:
        self.function = fn
        self.itypes = _types(itypes, "itypes")
        self.otypes = _types(otypes, "otypes")
        if infer_shape is not None:
            self.infer_shape = infer_shape

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Call the function, which returns one result, or a tuple or list of results."""
        results = self.function(*inputs)
        if not isinstance(results, tuple | list):
            results = (results,)
        if len(results) != len(output_storage):
            msg = f"{self} returned {len(results)} results for {len(output_storage)} outputs."
            raise OpContractError(msg)
        for cell, result in zip(output_storage, results, strict=True):
            cell[0] = result

    def __reduce__(self) -> str | tuple[Any, ...]:
        # The name of a decorated function refers to the Op, so pickle cannot find the function.
        module, name = self.function.__module__, self.function.__qualname__
        found: Any = sys.modules.get(module)
        try:
            found = attrgetter(name)(found)
        except AttributeError:
            found = None
        if found is self:
            return _found, (module, name)
        infer_shape = vars(self).get("infer_shape")
        return FromFunctionOp, (self.function, self.itypes, self.otypes, infer_shape)

    def __str__(self) -> str:
        return f"FromFunctionOp{{{self.function.__name__}}}"


def _found(module: str, name: str) -> Any:
    """Return the attribute of a module with a name, which can have dots."""
    return attrgetter(name)(import_module(module))


def _types(given: Any, name: str) -> tuple[Type, ...]:
    types = tuple(given) if isinstance(given, list | tuple) else (given,)
    if not all(isinstance(type_, Type) for type_ in types):
        msg = f"as_op: {name} is a list of Types, as in [T.dmatrix]; got {given!r}."
        raise OpContractError(msg)
    return types


def as_op(
    itypes: Any, otypes: Any, infer_shape: Callable[..., Any] | None = None
) -> Callable[[Callable[..., Any]], FromFunctionOp]:
    """Turn a Python function on arrays into an Op without a gradient; a decorator.

    Parameters
    ----------
    itypes, otypes
        The Types of the inputs and outputs.
    infer_shape
        ``infer_shape(fgraph, node, input_shapes)`` or ``infer_shape(node, input_shapes)``.
    """

    def decorate(function: Callable[..., Any]) -> FromFunctionOp:
        return FromFunctionOp(function, itypes, otypes, infer_shape)

    return decorate
