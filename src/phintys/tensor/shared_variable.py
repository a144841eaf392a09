"""Shared variables that hold arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from phintys._base.config import config
from phintys._base.errors import TypeContractError, add_note, shown
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.sharing import shared_constructor
from phintys.tensor.convert import constant, contains_variable
from phintys.tensor.type import (
    TensorType,
    as_array,
    how_to_get_numbers,
    is_array_like,
    is_masked,
    normalize_dtype,
)
from phintys.tensor.variable import TensorMethods

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.graph.type import Type

    Numbers = complex | np.generic | np.ndarray[Any, Any] | Sequence["Numbers"]

    # What phintys.graph.sharing.shared returns is declared here, where tensors are known.
    @overload
    def shared(
        value: Numbers,
        name: str | None = None,
        strict: bool = False,
        allow_downcast: bool | None = None,
        type: TensorType | None = None,
        *,
        shape: Iterable[int | None] | None = None,
        broadcastable: Iterable[bool] | None = None,
        dtype: Any = None,
        borrow: bool = False,
        sharding: Any = None,
    ) -> TensorSharedVariable: ...
    @overload
    def shared(
        value: Any,
        name: str | None = None,
        strict: bool = False,
        allow_downcast: bool | None = None,
        type: Type | None = None,
        **options: Any,
    ) -> Any: ...
    def shared(value: Any, *args: Any, **options: Any) -> Any:
        """Return a shared variable with the initial value ``value``."""
else:
    from phintys.graph.sharing import shared

__all__ = ["TensorSharedVariable", "shared"]


class TensorSharedVariable(TensorMethods, SharedVariable):
    """A shared variable that holds an array; made by :func:`phintys.shared`."""

    type: TensorType

    if TYPE_CHECKING:

        def get_value(
            self, borrow: bool = False, return_internal_type: bool = False
        ) -> np.ndarray[Any, Any]:
            """Return the value; see :meth:`phintys.SharedVariable.get_value`."""
            ...

    def zero(self, borrow: bool = False) -> None:
        """Set all elements to zero.

        Parameters
        ----------
        borrow
            Write to the stored array itself, to which there may be other references.
        """
        value = self.container.value
        if borrow and value is self.container.storage[0]:
            value[...] = 0
        else:
            self.container.value = np.zeros_like(value)


def shared_array(
    value: np.ndarray[Any, Any],
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    shape: Iterable[int | None] | None = None,
    broadcastable: Iterable[bool] | None = None,
    borrow: bool = False,
) -> TensorSharedVariable:
    """Make a shared variable from an array.

    Parameters
    ----------
    value
        The initial value; copied unless ``borrow``.
    shape
        Sizes that every value must have, ``None`` for any; by default all are unconstrained, so
        that later values can have other shapes.
    broadcastable
        An alternative to ``shape``: which dimensions always have size 1.

    Raises
    ------
    TypeContractError
        The array holds something else than numbers.

    Examples
    --------
    >>> import numpy as np, phintys
    >>> phintys.shared(np.zeros((2, 3))).type
    Matrix(float64, shape=(?, ?))
    """
    if value.dtype.kind not in "biufc":
        advice = how_to_get_numbers(value)
        msg = f"Expected an array of numbers, got one of dtype {value.dtype}{advice}"
        raise TypeContractError(msg)
    if shape is None:
        free = (False,) * value.ndim if broadcastable is None else broadcastable
        shape = tuple(1 if one else None for one in free)
    type_ = TensorType(value.dtype, shape)
    first = type_.filter(value)
    if not borrow:
        first = first.copy(order="K")
    return TensorSharedVariable(type_, first, strict, allow_downcast, name=name)


def shared_sequence(
    value: list[Any] | tuple[Any, ...],
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    **options: Any,
) -> SharedVariable:
    """Make a shared array from nested lists of numbers; lists of anything else stay lists.

    Parameters
    ----------
    value
        Lists or tuples. Python floats get the configured ``floatX``.
    options
        The options of :func:`shared_array`, and ``dtype``.

    Raises
    ------
    TypeContractError
        The lists hold symbolic variables, or are ragged.

    Examples
    --------
    >>> import phintys
    >>> phintys.shared([[1.0, 2.0]]).type
    Matrix(float64, shape=(?, ?))
    """
    if contains_variable(value):
        msg = (
            "shared() takes values, got a list with symbolic variables. Use "
            "shared(pt.stack(values).eval()) to start from what they evaluate to."
        )
        raise TypeContractError(msg)
    if type(value) not in {list, tuple} or not _are_numbers(value):
        return _shared_object(value, name, strict, allow_downcast, **options)
    try:
        array = constant(value, dtype=options.pop("dtype", None)).data
    except TypeContractError as error:
        add_note(
            error, "To share the list itself, write shared(value, type=phintys.graph.generic)."
        )
        raise
    return shared_array(array, name, strict, allow_downcast, **options)


def shared_array_like(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    **options: Any,
) -> SharedVariable:
    """Make a shared array from an array of another library; any other object is kept as it is.

    Examples
    --------
    >>> import phintys
    >>> phintys.shared(memoryview(b"ab")).type, phintys.shared({"a": 1}).type
    (Vector(uint8, shape=(?,)), generic)
    """
    array = as_array(value) if is_array_like(value) and not is_masked(value) else None
    if array is None or array.dtype.kind not in "biufc":
        return _shared_object(value, name, strict, allow_downcast, **options)
    return shared_array(array, name, strict, allow_downcast, **options)


def _are_numbers(value: Any) -> bool:
    """Return whether nested lists hold only numbers and numeric arrays."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, list | tuple):
            stack.extend(item)
        elif isinstance(item, np.ndarray):
            if item.dtype.kind not in "biufc":
                return False
        elif not isinstance(item, bool | int | float | complex | np.number | np.bool_):
            return False
    return True


def shared_number(
    value: complex | np.generic,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    dtype: Any = None,
    borrow: bool = False,
) -> TensorSharedVariable:
    """Make a shared 0-d array from a number; a Python float gets the configured ``floatX``."""
    if dtype is None and type(value) is float:
        dtype = config.floatX
    array = np.asarray(value, dtype=None if dtype is None else normalize_dtype(dtype))
    if array.dtype == np.object_:
        msg = f"Expected a number, got {shown(value)}{how_to_get_numbers(array)}"
        raise TypeContractError(msg)
    return TensorSharedVariable(
        TensorType(array.dtype, ()), array, strict, allow_downcast, name=name
    )


TensorType.shared_type = TensorSharedVariable
_shared_object = shared_constructor.dispatch(object)
shared_constructor.register(object, shared_array_like)
shared_constructor.register(np.ndarray, shared_array)
for _sequence in (list, tuple):
    shared_constructor.register(_sequence, shared_sequence)
for _number in (bool, int, float, complex, np.number, np.bool_):
    shared_constructor.register(_number, shared_number)
