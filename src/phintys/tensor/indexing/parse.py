"""Conversion of the expression between brackets to a template and its inputs."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from phintys._base.errors import DtypeError, IndexingError, shown
from phintys.graph.variable import Constant, Variable
from phintys.tensor._operators import operators
from phintys.tensor.convert import as_tensor_variable, constant, contains_variable
from phintys.tensor.dim_shuffle import DimShuffle, dimshuffle
from phintys.tensor.indexing.advanced import AdvancedSubtensor
from phintys.tensor.indexing.basic import Subtensor
from phintys.tensor.indexing.template import (
    ARRAY,
    FULL,
    NEWAXIS,
    SCALAR,
    SEPARATOR,
    Mask,
    Slice,
    count_dims,
    is_advanced,
    is_full,
)
from phintys.tensor.reshaping import Reshape
from phintys.tensor.shapes import SpecifyShape

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable

_INT64 = np.iinfo(np.int64)
_basic = lru_cache(maxsize=1024)(Subtensor)
_advanced = lru_cache(maxsize=1024)(AdvancedSubtensor)


def index(x: Any, args: Any) -> TensorVariable:
    """Return ``x[args]``, as NumPy does.

    Parameters
    ----------
    x
        A tensor.
    args
        The expression between the brackets: ints, slices, ``...`` and ``None``; symbolic integers,
        alone or as bounds of slices; arrays, lists and symbolic tensors of integers; bool masks.
        Several indices form a tuple.

    Raises
    ------
    IndexingError
        An index is of an unsupported kind; there are more indices than dimensions of ``x``; or an
        index is statically known to be out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x, i = pt.dmatrix("x"), pt.lscalar("i")
    >>> x[i, ::-1].type, x[:, [0, 0, 1]].type, x[x > 0].type
    (Vector(float64, shape=(?,)), Matrix(float64, shape=(?, 3)), Vector(float64, shape=(?,)))
    """
    x = as_tensor_variable(x)
    template, inputs = parse(x, args)
    if is_advanced(tuple(template)):
        return _advanced(tuple(template))(x, *inputs)
    taken = [entry for entry in template if entry is not NEWAXIS]
    while taken and is_full(taken[-1]):
        taken.pop()
    # x[None] is x with an added dimension; but x[:] is a part of x that can be set, and so is
    # x[None] where x is a part itself: what is written to it is written to x, as with x[None, 0].
    only_adds = not taken and NEWAXIS in template
    result = x if only_adds and not is_part(x) else _basic(tuple(taken))(x, *inputs)
    if NEWAXIS not in template:
        return result
    order: list[int | str] = []
    dims = iter(range(result.ndim))
    for entry in template:
        if entry is NEWAXIS:
            order.append("x")
        elif isinstance(entry, Slice):
            order.append(next(dims))
    return dimshuffle(result, *order, *dims)


def is_part(x: Any) -> bool:
    """Return whether ``x`` is the result of an index, also reordered, reshaped or the like.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.dmatrix("x")
    >>> is_part(x[1:].T), is_part(x.T)
    (True, False)
    """
    while (node := x.owner) is not None:
        if isinstance(node.op, Subtensor | AdvancedSubtensor):
            return True
        if not isinstance(node.op, DimShuffle | Reshape | SpecifyShape):
            return False
        x = node.inputs[0]
    return False


def parse(x: Any, args: Any) -> tuple[list[Any], list[Any]]:
    """Return the template and the inputs of an index into ``x``.

    Raises
    ------
    IndexingError
        An index is of an unsupported kind, or there are too many.
    """
    parts = list(args) if isinstance(args, tuple) or _is_tuple_of_old(args) else [args]
    template: list[Any] = []
    inputs: list[Any] = []
    for part in parts:
        entry, own = _parse_one(part)
        template.append(entry)
        inputs.extend(own)
    covered = count_dims(tuple(entry for entry in template if entry is not Ellipsis))
    if covered > x.ndim:
        msg = (
            f"Too many indices for {x} of type {x.type}: it has {x.ndim} dimensions, and "
            f"{covered} are indexed."
        )
        raise IndexingError(msg)
    return _without_ellipsis(template, x.ndim - covered), inputs


def _is_tuple_of_old(args: Any) -> bool:
    """Return whether a list means a tuple: it contains a slice, which no array does."""
    return isinstance(args, list) and any(isinstance(part, slice) for part in args)


def _without_ellipsis(template: list[Any], missing: int) -> list[Any]:
    places = [position for position, entry in enumerate(template) if entry is Ellipsis]
    if not places:
        return template
    if len(places) > 1:
        msg = "An index can have one ellipsis (...) at most."
        raise IndexingError(msg)
    place = places[0]
    before, after = template[:place], template[place + 1 :]
    stands_for = [FULL] * missing
    if not missing and is_advanced(tuple(before + after)) and before and after:
        stands_for = [SEPARATOR]
    return [*before, *stands_for, *after]


def _parse_one(part: Any) -> tuple[Any, list[Any]]:
    """Return the entry for one part of an index, and its inputs."""
    if part is None:
        return NEWAXIS, []
    if part is Ellipsis:
        return Ellipsis, []
    if isinstance(part, slice):
        return _parse_slice(part)
    if isinstance(part, bool | np.bool_):
        return Mask(0), [constant(np.asarray(part))]
    if isinstance(part, Variable):
        return _parse_variable(part, part)
    if isinstance(part, list | tuple | range | np.ndarray):
        return _parse_array(part)
    if not hasattr(part, "__index__"):
        _refuse(part)
    return _as_int(part), []


def _parse_array(part: Any) -> tuple[Any, list[Any]]:
    if contains_variable(part):
        return _parse_variable(operators.as_tensor_variable(part), part)
    try:
        array = np.asarray(part)
    except ValueError:
        _refuse(part)
    if array.size == 0 and not isinstance(part, np.ndarray):
        array = array.astype(np.int64)  # NumPy makes [] float
    if array.dtype.kind not in "biu":
        _refuse(part)
    return _parse_variable(constant(array), part)


def _parse_variable(part: Any, given: Any) -> tuple[Any, list[Any]]:
    variable = as_tensor_variable(part)
    kind = variable.type.numpy_dtype.kind
    if kind == "b":
        return Mask(variable.ndim), [variable]
    if kind not in "iu":
        _refuse(given)
    if variable.ndim:
        return ARRAY, [variable]
    if isinstance(variable, Constant):
        return _as_int(variable.data), []
    return SCALAR, [variable]


def _parse_slice(part: slice) -> tuple[Slice, list[Any]]:
    bounds: list[Any] = []
    inputs: list[Any] = []
    for name, bound in (("start", part.start), ("stop", part.stop), ("step", part.step)):
        if bound is None:
            bounds.append(None)
            continue
        entry = None
        if not isinstance(bound, bool | np.bool_ | list | tuple | slice):
            if isinstance(bound, Variable | np.ndarray):
                entry, own = _parse_variable(bound, bound)
                inputs.extend(own)
            elif hasattr(bound, "__index__"):
                entry = _as_int(bound)
        if entry is not SCALAR and not isinstance(entry, int):
            msg = (
                f"The {name} of a slice is an integer without dimensions, or left out; got "
                f"{bound!r} of type {_type_text(bound)}."
            )
            raise IndexingError(msg)
        bounds.append(entry)
    if bounds[2] == 0:
        msg = "The step of a slice cannot be 0."
        raise IndexingError(msg)
    return Slice(*bounds), inputs


def _as_int(number: Any) -> int:
    try:
        value = number.__index__()
    except TypeError as error:
        raise DtypeError(str(error)) from None
    if not _INT64.min <= value <= _INT64.max:
        msg = f"An index must fit into 64 bits, got {value}."
        raise IndexingError(msg)
    return value


def _type_text(thing: Any) -> str:
    return str(thing.type) if isinstance(thing, Variable) else type(thing).__name__


def _refuse(part: Any) -> NoReturn:
    hint = ""
    dtype = getattr(part, "dtype", None)
    if isinstance(part, float) or (dtype is not None and np.dtype(dtype).kind == "f"):
        hint = " Cast it to an integer first: x[i.astype('int64')], or x[int(i)]."
    msg = (
        "An index is an integer, a slice, an ellipsis (...), None, or an array of integers or "
        f"bools; got {shown(part)} of type {_type_text(part)}.{hint}"
    )
    raise IndexingError(msg)
