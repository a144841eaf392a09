"""``wrap_py``: an Op from a Python function on values."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

from phintys._base.errors import OpContractError, add_note
from phintys.graph.op import Op
from phintys.graph.type import Type

if TYPE_CHECKING:
    from phintys.graph.apply import Apply


class FromFunction(Op):
    """An Op that calls a Python function; made by :func:`wrap_py`.

    Parameters
    ----------
    function
        Takes a value for each input, and returns the value of the output, or a tuple or list of
        several. It must not change its arguments.
    itypes, otypes
        The Types of the inputs and of the outputs.
    infer_shape, grad
        As for :func:`wrap_py`.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.graph.from_function import FromFunction
    >>> FromFunction(len, (pt.dvector,), (pt.lscalar,))(pt.dvector("x")).eval({"x": [1.0, 2.0]})
    array(2)
    """

    __props__ = ("function", "itypes", "otypes", "_infer_shape", "_grad")

    def __init__(
        self,
        function: Callable[..., Any],
        itypes: tuple[Type, ...],
        otypes: tuple[Type, ...],
        infer_shape: Callable[..., Any] | None = None,
        grad: Callable[..., Any] | None = None,
    ) -> None:
        self.function = function
        self._types = otypes
        self.itypes = itypes
        self.otypes = otypes
        self._infer_shape = infer_shape
        self._grad = grad
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.__qualname__ = getattr(function, "__qualname__", self.__name__)
        self.__module__ = getattr(function, "__module__", __name__)
        self.__wrapped__ = function  # for inspect.signature
        if infer_shape is not None:
            self.infer_shape = infer_shape
        if grad is not None:
            self.grad = grad

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Call the function, and store its results as values of the outputs' Types."""
        returned = self.function(*inputs)
        several = isinstance(returned, tuple | list) and len(self._types) != 1
        results: Sequence[Any] = cast("Sequence[Any]", returned if several else (returned,))
        if len(results) != len(self._types):
            msg = f"{self} must return {len(self._types)} values, got {len(results)}."
            raise OpContractError(msg)
        for index, (result, cell) in enumerate(zip(results, output_storage, strict=True)):
            cell[0] = self._value(index, result, inputs)

    def _value(self, index: int, result: Any, inputs: Sequence[Any]) -> Any:
        """Return a result as a value of the output's Type that shares no memory with an input."""
        otype = self._types[index]
        try:
            value = otype.filter(result)
        except (TypeError, ValueError) as error:
            add_note(
                error,
                f"{self} returned {result!r} as output {index}, which its otypes say is of type "
                f"{otype}. Convert it in the function, or change the otypes given to wrap_py.",
            )
            raise
        return (
            copy.deepcopy(value) if any(otype.may_share_memory(value, x) for x in inputs) else value
        )

    def __reduce__(self) -> str | tuple[Any, ...]:
        # The name of a decorated function refers to the Op, so pickle cannot find the function.
        found: Any = sys.modules.get(self.__module__)
        try:
            found = attrgetter(self.__qualname__)(found)
        except AttributeError:
            found = None
        if found is self:
            return self.__qualname__  # pickle looks it up by name
        parts = (self.function, self.itypes, self.otypes, self._infer_shape, self._grad)
        return (FromFunction, parts)

    def __str__(self) -> str:
        return self.__name__


def _types(given: Any, name: str) -> tuple[Type, ...]:
    types: tuple[Any, ...] = (given,)
    if isinstance(given, list | tuple):
        types = tuple(cast("Sequence[Any]", given))
    for type_ in types:
        if not isinstance(type_, Type):
            msg = (
                f"wrap_py: {name} is a Type or a list of Types, such as [pt.dvector]; got "
                f"{given!r}."
            )
            raise OpContractError(msg)
    return types


def wrap_py(
    itypes: Type | Sequence[Type],
    otypes: Type | Sequence[Type],
    infer_shape: Callable[..., Any] | None = None,
    grad: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., Any]], FromFunction]:
    """Turn a Python function on values into an Op; a decorator.

    Compiled functions call it back, which is slow compared with symbolic expressions. The function
    must depend on its arguments only, and must not modify them.

    Parameters
    ----------
    itypes, otypes
        The Types of the inputs and of the outputs, as a list or a single Type. The results of the
        function are filtered by ``otypes``: a Python float is valid for ``pt.dscalar``.
    infer_shape
        ``infer_shape(fgraph, node, input_shapes)`` returns a tuple of sizes for each output, so
        that shapes are known without calling the function.
    grad
        ``grad(inputs, output_grads)`` returns the gradient for each input, as variables; without
        it, the Op is not differentiable.

    Raises
    ------
    OpContractError
        ``itypes`` or ``otypes`` contain something that is not a Type.

    Examples
    --------
    >>> import numpy as np, phintys, phintys.tensor as pt
    >>> @phintys.wrap_py(
    ...     [pt.dvector],
    ...     [pt.dvector],
    ...     infer_shape=lambda fgraph, node, shapes: shapes,
    ...     grad=lambda inputs, output_grads: [2 * inputs[0] * output_grads[0]],
    ... )
    ... def square(x):
    ...     return x * x
    >>> x = pt.dvector("x")
    >>> phintys.function([x], [square(x), phintys.grad(square(x).sum(), x)])([1.0, 3.0])
    [array([1., 9.]), array([2., 6.])]
    """
    inputs, outputs = _types(itypes, "itypes"), _types(otypes, "otypes")

    def decorate(function: Callable[..., Any]) -> FromFunction:
        if not callable(function):
            msg = f"wrap_py decorates a function, got {function!r}."
            raise OpContractError(msg)
        return FromFunction(function, inputs, outputs, infer_shape, grad)

    return decorate
