"""Ranges of numbers: arange and linspace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.config import config
from phintys._base.errors import DtypeError, OpContractError, ShapeError
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.graph.op import Op
from phintys.graph.variable import Constant, Variable
from phintys.tensor import math
from phintys.tensor._operators import operators
from phintys.tensor._rules import is_discrete, is_missing, zero_gradient
from phintys.tensor.convert import as_tensor_variable, constant
from phintys.tensor.devices import takes_device
from phintys.tensor.dim_shuffle import moveaxis, shape_padright
from phintys.tensor.known import known_int
from phintys.tensor.shapes import is_length, shape_i
from phintys.tensor.sizes import as_size, ceil_div_sizes, clip_size, subtract_sizes
from phintys.tensor.type import TensorType, normalize_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.fgraph import FunctionGraph
    from phintys.tensor.variable import TensorVariable

_MOST = 2**63 - 1
_EXACT_FLOATS = 2**53
"""The largest integer up to which all are floats."""


class ARange(Op):
    """Return the numbers from ``start`` to ``stop`` (exclusive) in steps of ``step``.

    Takes three 0-d numbers.

    Parameters
    ----------
    dtype
        Dtype of the vector.
    """

    __props__ = ("dtype",)

    def __init__(self, dtype: Any) -> None:
        self.dtype = normalize_dtype(dtype)
        if np.dtype(self.dtype).kind in "bc":
            msg = f"arange counts in integers or floats, got the dtype {self.dtype}."
            raise DtypeError(msg)

    def make_node(self, start: Any, stop: Any, step: Any) -> Apply:
        bounds: list[Any] = [as_tensor_variable(bound) for bound in (start, stop, step)]
        for name, bound in zip(("start", "stop", "step"), bounds, strict=True):
            if bound.ndim != 0:
                msg = f"arange: {name} is one number, got {bound} of type {bound.type}."
                raise ShapeError(msg)
            if bound.type.numpy_dtype.kind in "bc":
                msg = f"arange: {name} is an integer or real, got {bound} of dtype {bound.dtype}."
                raise DtypeError(msg)
        length = _known_length(*bounds)
        return Apply(self, bounds, [TensorType(self.dtype, (length,))()])

    def perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        bounds = _exact(inputs)
        if all(isinstance(bound, int) for bound in bounds):
            numbers = range(*bounds)
            _check_length(numbers, self.dtype)
            if max(map(abs, bounds)) > _EXACT_FLOATS:
                output_storage[0][0] = _numbers_of(numbers, np.dtype(self.dtype))
                return
        output_storage[0][0] = np.arange(*bounds, dtype=self.dtype)

    def infer_shape(
        self, fgraph: FunctionGraph | None, node: Any, input_shapes: Sequence[Any]
    ) -> list[Any]:
        static = node.outputs[0].type.shape[0]
        return [(as_size(_symbolic_length(*node.inputs) if static is None else static),)]

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """The end of the range does not influence its elements, only their number."""
        return [[True], [False], [True]]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Differentiate start + i * step."""
        start, _, step = inputs
        (gradient,) = output_grads
        if is_discrete(outputs[0]):
            return [zero_gradient(start), disconnected_type(), zero_gradient(step)]
        steps = arange(shape_i(outputs[0], 0), dtype=self.dtype)
        return [
            operators.sum(gradient),
            disconnected_type(),
            operators.sum(math.mul(gradient, steps)),
        ]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        of_start, _, of_step = eval_points
        if np.dtype(self.dtype).kind in "iu" or (is_missing(of_start) and is_missing(of_step)):
            return [None]
        length = as_size(_symbolic_length(*inputs))
        if is_missing(of_step):
            return [operators.zeros_like(arange(length, dtype=self.dtype)) + of_start]
        change = math.mul(arange(length, dtype=self.dtype), of_step)
        return [change if is_missing(of_start) else math.add(change, of_start)]


def _exact(bounds: Sequence[Any]) -> list[Any]:
    """Return the bounds, with integers wide enough not to overflow."""
    whole = [bound.dtype.kind in "iu" for bound in bounds]
    if all(whole):
        values = [int(bound) for bound in bounds]
    else:
        values = [
            bound.astype(np.int64) if integer else bound
            for bound, integer in zip(bounds, whole, strict=True)
        ]
    step = values[2]
    if step == 0:
        msg = "arange: the step is 0."
        raise ShapeError(msg)
    if not all(np.isfinite(bound) for bound in bounds):
        msg = f"arange: the bounds and the step must be finite, got {[str(v) for v in bounds]}."
        raise ShapeError(msg)
    return values


def _numbers_of(numbers: range, dtype: np.dtype[Any]) -> Any:
    """Return the numbers of a range exactly; NumPy counts in floats, which round such bounds."""
    firsts = np.array(numbers[:2], dtype)
    if len(numbers) < 2:
        return firsts
    counted = np.arange(len(numbers), dtype=dtype if dtype.kind == "f" else "uint64")
    if dtype.kind == "f":
        made = firsts[0] + counted * (firsts[1] - firsts[0])
        made[1] = firsts[1]
        return made
    start, step = (np.uint64(number % 2**64) for number in (numbers.start, numbers.step))
    return (counted * step + start).astype(dtype)


def _check_length(numbers: range, dtype: str) -> None:
    """Raise if there are too many numbers for an array; NumPy would return a truncated one."""
    try:
        fits = len(numbers) * np.dtype(dtype).itemsize < 2**63 - 1
    except OverflowError:
        fits = False
    if not fits:
        msg = f"arange: {numbers} has more numbers than an array of {dtype} can have."
        raise ShapeError(msg)


def _known_length(start: Any, stop: Any, step: Any) -> int | None:
    known = [known_int(bound) for bound in (start, stop, step)]
    if None not in known:
        first, last, by = (int(bound or 0) for bound in known)
        return len(range(first, last, by)) if by != 0 else None
    if all(isinstance(bound, Constant) for bound in (start, stop, step)):
        try:
            return len(np.arange(*_exact([start.data, stop.data, step.data])))
        except ShapeError:
            return None  # the error is raised once there is a value
    return None


def _symbolic_length(start: Any, stop: Any, step: Any) -> Any:
    """Return ``max(0, ceil((stop - start) / step))``, with the arithmetic that NumPy uses."""
    if all(is_discrete(bound) for bound in (start, stop, step)):
        bounds = [as_size(bound) for bound in (start, stop, step)]
        first, last, by = (b if known_int(b) is None else known_int(b) for b in bounds)
        if all(isinstance(one, int) and one >= 0 for one in (first, by)) or is_length(first):
            return clip_size(ceil_div_sizes(subtract_sizes(last, first), by), 0, None)
        return _length_of_any(first, last, by)
    first, last, by = (
        math.cast(bound, "int64") if is_discrete(bound) else bound for bound in (start, stop, step)
    )
    steps = math.true_div(math.sub(last, first), by)
    return math.maximum(math.cast(math.ceil(math.cast(steps, "float64")), "int64"), 0)


def _length_of_any(first: Any, last: Any, by: Any) -> Any:
    """Return the same for bounds whose difference may be out of range.

    It is divided in two parts, before and after -1 or the bound that is next to it.
    """
    is_back = by < 0 if isinstance(by, int) else math.lt(by, 0)
    if isinstance(is_back, bool):
        low, high = (last, first) if is_back else (first, last)
        width: Any = max(min(abs(by), _MOST), 1)
    else:
        low, high = math.switch(is_back, last, first), math.switch(is_back, first, last)
        width = math.maximum(math.abs(math.maximum(by, -_MOST)), 1)
    middle = math.maximum(low, math.minimum(-1, math.sub(high, 1)))
    before, after = math.sub(middle, low), math.sub(high, math.add(middle, 1))
    carry = math.lt(math.sub(width - 1, math.mod(before, width)), math.mod(after, width))
    steps = math.add(math.floor_div(before, width), math.floor_div(after, width), carry)
    is_beyond = math.lt(math.sub(_MOST, before), after)  # by a step of -2^63
    if not isinstance(by, int):
        steps = math.switch(math.lt(by, -_MOST), math.cast(is_beyond, "int64"), steps)
    elif by < -_MOST:
        steps = math.cast(is_beyond, "int64")
    return math.switch(math.lt(low, high), math.add(steps, 1), 0)


@takes_device
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> TensorVariable:
    """Return the numbers from ``start`` to ``stop`` (exclusive) in steps of ``step``.

    Parameters
    ----------
    start, stop, step
        Numbers, or 0-d symbolic integers or floats. A single argument is ``stop``, and the range
        starts at 0.
    dtype
        Dtype of the result. By default the same as NumPy's: at least int64; if the only floats are
        Python floats, ``config.floatX``.

    Returns
    -------
    TensorVariable
        A vector. ``stop`` is excluded, up to rounding of floats.

    Raises
    ------
    ShapeError
        The step is 0, or a bound has dimensions.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.arange(2, 10, 3).eval()
    array([2, 5, 8])
    """
    if stop is None:
        start, stop = 0, start
    given = (start, stop, step)
    bounds = [as_tensor_variable(bound) for bound in given]
    if dtype is None:
        strong = [
            bound.dtype
            for bound, number in zip(bounds, given, strict=True)
            if not isinstance(number, float)
        ]
        dtype = np.result_type("int64", *strong).name
        if len(strong) < len(bounds) and np.dtype(dtype).kind in "iu":
            dtype = config.floatX
    return ARange(dtype)(*bounds)


@takes_device
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Return ``num`` evenly spaced numbers from ``start`` to ``stop``.

    Parameters
    ----------
    start, stop
        Numbers or tensors, which broadcast against each other.
    num
        How many numbers, an int or symbolic.
    endpoint
        Whether ``stop`` is the last number.
    retstep
        Return the distance of the numbers as well; NaN if there is a single one.
    dtype
        Dtype of the result; floating by default, and ``config.floatX`` for integers.
    axis
        The position of the new dimension among those of ``start`` and ``stop``.

    Returns
    -------
    TensorVariable or tuple of TensorVariable
        The numbers, and the distance of neighbors if ``retstep``.

    Raises
    ------
    OpContractError
        ``num`` is negative, or is not an integer.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linspace(0.0, 1.0, 5).eval()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    if not isinstance(num, Variable) and (not hasattr(num, "__index__") or num.__index__() < 0):
        msg = f"linspace: the number of samples must be a non-negative int, got {num!r}."
        raise OpContractError(msg)
    if not isinstance(start, Variable) and not isinstance(stop, Variable):
        start, stop = _as_float(start), _as_float(stop)
    difference = math.sub(stop, start)
    if is_discrete(difference):
        start, stop = _as_float(start), _as_float(stop)
        difference = math.sub(stop, start)
    working = difference.dtype
    num = as_size(num, "linspace: the number of samples")
    positions = shape_padright(arange(num), difference.ndim)
    steps = math.sub(num, 1) if endpoint else num
    intervals = math.maximum(steps, 1)
    distance = math.true_div(difference, _cast(intervals, working))
    result = math.add(math.mul(math.cast(positions, working), distance), start)
    if endpoint:  # exact, regardless of rounding
        result = math.switch(math.eq(positions, intervals), stop, result)
    if axis:
        result = moveaxis(result, 0, axis)
    if dtype is not None:
        if np.dtype(normalize_dtype(dtype)).kind in "iu":
            result = math.floor(result)
        result = math.cast(result, dtype)
    return (result, math.switch(math.gt(steps, 0), distance, np.nan)) if retstep else result


def _as_float(x: Any) -> Any:
    x = as_tensor_variable(x)
    return math.cast(x, "floatX") if is_discrete(x) else x


def _cast(x: Any, dtype: str) -> Any:
    known = known_int(x)
    return math.cast(x, dtype) if known is None else constant(np.asarray(known, dtype))
