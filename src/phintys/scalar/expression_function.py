"""User-defined scalar functions, written in terms of existing ones."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.config import config
from phintys._base.errors import OpContractError
from phintys._base.late import LateModule
from phintys.graph.variable import Variable
from phintys.scalar.composite import Composite
from phintys.scalar.type import get_scalar_type

if TYPE_CHECKING:
    import inspect
else:
    inspect = LateModule("inspect")


class ExpressionFunction:
    """A scalar function defined by an expression; made by :func:`from_expression`.

    There is one :class:`Composite` for each combination of dtypes, made when it is first needed.
    """

    __name__: str

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        parameters = inspect.signature(function).parameters.values()
        if not parameters or any(
            p.kind not in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD} for p in parameters
        ):
            msg = (
                f"from_expression: {function.__name__} must take a fixed number of operands, by "
                "position; keyword-only parameters and *args are not possible."
            )
            raise OpContractError(msg)
        self.function = function
        self.nin = len(parameters)
        self._ops: dict[tuple[np.dtype[Any], ...], Composite] = {}

    def op(self, *dtypes: Any) -> Composite:
        """Return the scalar op for operands of given dtypes.

        Raises
        ------
        OpContractError
            The function returned something that is not an expression of its operands.

        Examples
        --------
        >>> from phintys import scalar as ps
        >>> @ps.from_expression
        ... def twice(x):
        ...     return 2 * x
        >>> twice.op("int8").impl(3)
        np.int8(6)
        """
        key = tuple(np.dtype(get_scalar_type(dtype).dtype) for dtype in dtypes)
        if len(key) != self.nin:
            msg = f"{self.__name__} takes {self.nin} operands, got {len(key)}."
            raise OpContractError(msg)
        op = self._ops.get(key)
        if op is None:
            op = self._ops.setdefault(key, self._make(key))
        return op

    def _make(self, dtypes: tuple[np.dtype[Any], ...]) -> Composite:
        inputs = [get_scalar_type(dtype)() for dtype in dtypes]
        output = self.function(*inputs)
        if not isinstance(output, Variable):
            msg = (
                f"{self.__name__} must return an expression of its operands, made with operators "
                f"and the functions of phintys.scalar; got {output!r} of type "
                f"{type(output).__name__}."
            )
            raise OpContractError(msg)
        return Composite(inputs, [output], name=self.__name__)

    def __call__(self, *operands: Any, name: str | None = None) -> Any:
        """Apply the function to scalars, or elementwise to tensors."""
        if len(operands) != self.nin:
            msg = f"{self.__name__} takes {self.nin} operands, got {len(operands)}."
            raise OpContractError(msg)
        values: list[Any] = [
            x if _is_plain(x) or hasattr(x, "dtype") else np.asarray(x) for x in operands
        ]
        known = [np.dtype(x.dtype) for x in values if not _is_plain(x)]
        dtypes = [_dtype(x, known) if _is_plain(x) else np.dtype(x.dtype) for x in values]
        return self.op(*dtypes)(*values, name=name)

    def __repr__(self) -> str:
        return f"<scalar function {self.__name__}>"


def _is_plain(x: Any) -> bool:
    return type(x) in {bool, int, float, complex}


def _dtype(x: complex, known: list[np.dtype[Any]]) -> np.dtype[Any]:
    """Return the dtype of a Python number next to arrays of known dtypes, by NumPy's rules."""
    if known:
        return np.result_type(np.result_type(*known), x)
    return np.dtype(config.floatX) if isinstance(x, float) else np.asarray(x).dtype


def from_expression(function: Callable[..., Any]) -> ExpressionFunction:
    """Decorate a function of scalars, making it a single scalar function: one node, not several.

    It works on scalars and, elementwise, on tensors. Its derivative follows from the expression,
    and it compiles to native code. Documentation and signature are those of the function.

    Parameters
    ----------
    function
        Takes scalar variables and returns an expression of them, made with operators and the
        functions of :mod:`phintys.scalar`. It is called once for each combination of dtypes.

    Raises
    ------
    OpContractError
        The function does not take a fixed number of operands.

    Examples
    --------
    >>> import phintys, phintys.scalar as ps, phintys.tensor as pt
    >>> @ps.from_expression
    ... def swish(x):
    ...     return x * ps.sigmoid(x)
    >>> x = pt.dvector("x")
    >>> y = swish(x)
    >>> y.owner.op
    Swish
    >>> f = phintys.function([x], [y, phintys.grad(y.sum(), x)])
    >>> [value.round(4) for value in f([0.0, 1.0])]
    [array([0.    , 0.7311]), array([0.5   , 0.9277])]
    """
    return ExpressionFunction(function)
