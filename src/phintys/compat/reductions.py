"""Classes of reductions: ``Sum(axis)(x)``, and ``isinstance(op, Sum)``.

Here one Op reduces by any scalar function, so that a class stands for the Op with one function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import phintys.scalar as ps
import phintys.tensor as pt
from phintys.compat.old_classes import StandsFor, stands_for

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["All", "Any_", "CAReduceDtype", "Max", "Min", "Prod", "ProdWithoutZeros", "Sum"]


class _OfReductions(StandsFor):
    """Makes ``isinstance(op, Old)`` true for reductions by one of some scalar functions."""

    functions: tuple[Any, ...]

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, pt.Reduce) and instance.scalar_op in self.functions


class _Applied:
    """What a class makes: it is applied to a tensor, and has the arguments as attributes."""

    def __init__(self, function: Any, axis: Any, no_zeros_in_input: Any, options: Any) -> None:
        self.axis, self.no_zeros_in_input = axis, no_zeros_in_input
        self._function, self._options = function, options

    def __call__(self, x: Any) -> Any:
        """Reduce the tensor."""
        return self._function(x, axis=self.axis, **self._options)


def _class(name: str, function: Callable[..., Any], *scalar_ops: Any) -> Any:
    def construct(
        cls: type, axis: Any = None, *dtypes: Any, no_zeros_in_input: Any = None, **options: Any
    ) -> Any:
        given = dict(zip(("dtype", "acc_dtype"), dtypes, strict=False))
        return _Applied(function, axis, no_zeros_in_input, given | options)

    members = {
        "core": pt.Reduce,
        "functions": scalar_ops,
        "__new__": construct,
        "__doc__": f"``{name}(axis, dtype, acc_dtype)(x)``.",
        "__module__": __name__,
    }
    return _OfReductions(name, (), members)


Sum = _class("Sum", pt.sum, ps.add)
Prod = _class("Prod", pt.prod, ps.mul)
Max = _class("Max", pt.max, ps.maximum)
Min = _class("Min", pt.min, ps.minimum)
All = _class("All", pt.all, ps.and_)
Any_ = _class("Any", pt.any, ps.or_)


def _without_zeros(axis: Any = None, dtype: Any = None, acc_dtype: Any = None) -> Any:
    """Multiply the elements that are not zero."""

    def op(x: Any) -> Any:
        x = pt.as_tensor_variable(x)
        one = pt.ones_like(x)
        return pt.prod(pt.switch(pt.eq(x, 0), one, x), axis, dtype=dtype, acc_dtype=acc_dtype)

    return op


def _by_function(
    scalar_op: Any, axis: Any = None, dtype: Any = None, acc_dtype: Any = None
) -> pt.Reduce:
    """Combine elements by a scalar function."""
    return pt.Reduce(scalar_op, axis, dtype, acc_dtype)


ProdWithoutZeros = stands_for("ProdWithoutZeros", (), _without_zeros)
CAReduceDtype = stands_for("CAReduceDtype", pt.Reduce, _by_function)
