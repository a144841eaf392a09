"""Reductions: combining all elements along some axes into one value."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.scalar as ps
from phintys._base.errors import DtypeError, MethodNotDefinedError, OpContractError, ShapeError
from phintys._base.late import LateModule
from phintys.graph.apply import Apply
from phintys.scalar.op import ScalarOp
from phintys.tensor import math
from phintys.tensor._rules import (
    Axis,
    accumulation_dtype,
    conjugate,
    fit_gradient,
    is_discrete,
    is_missing,
    without_axes,
    zero_gradient,
)
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import ones_like
from phintys.tensor.cumulative import product_of_others
from phintys.tensor.dim_shuffle import DimShuffle, normalize_axes
from phintys.tensor.shape_rules import S, ShapedOp, Shapes
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import TensorType, normalize_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.tensor import masking
    from phintys.tensor.variable import TensorVariable
else:
    masking = LateModule("phintys.tensor.masking")

_NAMES: dict[ScalarOp, str] = {
    ps.add: "Sum",
    ps.mul: "Prod",
    ps.maximum: "Max",
    ps.minimum: "Min",
    ps.and_: "All",
    ps.or_: "Any",
}
_WIDENING = (ps.add, ps.mul)


def _ufunc_of(scalar_op: Any) -> np.ufunc:
    """Return the binary NumPy ufunc whose ``reduce`` performs a reduction."""
    if not isinstance(scalar_op, ScalarOp):
        msg = f"Reduce takes a scalar op, such as phintys.scalar.add, got {scalar_op!r}."
        raise OpContractError(msg)
    ufunc = getattr(scalar_op, "binary", None) or scalar_op.ufunc
    if not isinstance(ufunc, np.ufunc) or ufunc.nin != 2 or not scalar_op.associative:
        msg = (
            f"Reduce takes an associative scalar op of two numbers with a NumPy ufunc, such as "
            f"phintys.scalar.add; got {scalar_op}."
        )
        raise OpContractError(msg)
    return ufunc


class Reduce(ShapedOp):
    """Combine all elements along some axes by an associative scalar op.

    Parameters
    ----------
    scalar_op
        ``add``, ``mul``, ``maximum``, ``minimum``, ``and_``, ``or_``, ``xor``, or another binary op
        that is associative and has a NumPy ufunc.
    axis
        The axes, counted from the front; ``None`` for all of them. They are dropped.
    dtype
        Dtype of the result. By default that of the input, but sums and products of integers and
        bools are int64 or uint64, as in NumPy.
    acc_dtype
        Dtype in which to compute; by default ``dtype``, and float32 for float16 sums and products.

    Notes
    -----
    Along an empty axis the result is the identity of the op; ``maximum`` and ``minimum`` have none
    and raise :class:`ShapeError`.

    The gradient of a maximum is shared evenly by the elements that attain it. So the derivative is
    correct when they move together (that of ``max([t, t])`` is 1), it is a subgradient, and
    reverse and forward mode agree.

    Examples
    --------
    >>> import phintys.scalar as ps
    >>> import phintys.tensor as pt
    >>> pt.Reduce(ps.add, axis=(0,))(pt.imatrix("x")).type
    Vector(int64, shape=(?,))
    """

    __props__ = ("scalar_op", "axis", "dtype", "acc_dtype")
    raises_only_for_shapes = True

    def __init__(
        self, scalar_op: ScalarOp, axis: Axis = None, dtype: Any = None, acc_dtype: Any = None
    ) -> None:
        self.ufunc = _ufunc_of(scalar_op)
        self.scalar_op = scalar_op
        self.axis = None if axis is None else _sorted_axes(axis)
        self.dtype = None if dtype is None else normalize_dtype(dtype)
        self.acc_dtype = None if acc_dtype is None else normalize_dtype(acc_dtype)
        self._types: dict[TensorType, tuple[TensorType, np.dtype[Any]]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.scalar_op, self.axis, self.dtype, self.acc_dtype))

    # ---- types -------------------------------------------------------------------------------

    def make_node(self, x: Any) -> Apply:
        """Apply to a tensor that has the axes."""
        x = as_tensor_variable(x)
        return Apply(self, [x], [self._types_for(x.type)[0]()])

    def _types_for(self, input_type: TensorType) -> tuple[TensorType, np.dtype[Any]]:
        """Return the type of the output and the dtype in which to compute."""
        found = self._types.get(input_type)
        if found is None:
            axes = self.axes(input_type.ndim)
            if axes and axes[-1] >= input_type.ndim:
                msg = f"{self} reduces axis {axes[-1]}, but its input is a {input_type}."
                raise ShapeError(msg)
            shape = [size for dim, size in enumerate(input_type.shape) if dim not in axes]
            dtype, acc = self.resolve_dtypes(input_type.dtype)
            found = self._types[input_type] = (TensorType(dtype, shape), np.dtype(acc))
        return found

    def axes(self, ndim: int) -> tuple[int, ...]:
        """Return the axes that are removed from an input of rank ``ndim``."""
        return tuple(range(ndim)) if self.axis is None else self.axis

    def resolve_dtypes(self, dtype: str) -> tuple[str, str]:
        """Return the result dtype and the accumulator dtype for an input of a given dtype.

        Raises
        ------
        DtypeError
            The scalar op does not accept the dtype, or a complex result would become real.
        """
        out = self.dtype
        if out is None:
            out = accumulation_dtype(dtype) if self.scalar_op in _WIDENING else dtype
        acc = self.acc_dtype
        if acc is None:
            acc = "float32" if out == "float16" and self.scalar_op in _WIDENING else out
        if dtype.startswith("complex") and not (acc.startswith("c") and out.startswith("c")):
            msg = (
                f"{self}: the imaginary part of a {dtype} input would be lost in {acc} and {out}. "
                "Take the real part or the absolute value first."
            )
            raise DtypeError(msg)
        if acc.startswith("complex") and not out.startswith("complex"):
            msg = f"{self}: a result computed in {acc} cannot be of dtype {out}."
            raise DtypeError(msg)
        result = self.scalar_op.resolve_dtypes((acc, acc))[0].name
        if result != acc:
            msg = f"{self}: {self.scalar_op} of two {acc} is a {result}, so it cannot be repeated."
            raise DtypeError(msg)
        return out, acc

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Drop the axes."""
        (sizes,) = shapes.shapes
        return [without_axes(sizes, self.axes(len(sizes)))]

    # ---- values ------------------------------------------------------------------------------

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Reduce with NumPy."""
        (x,) = inputs
        input_type: Any = node.inputs[0].type
        output_type, acc = self._types_for(input_type)
        if x.size == 0 and self.ufunc.identity is None:
            self._check_not_empty(node, x)
        cell = output_storage[0]
        former = cell[0]
        if (
            former is not None
            and acc == former.dtype == output_type.numpy_dtype
            and former.flags.writeable
            and former.shape == self._shape_of_result(x)
            # With `out`, NumPy 2.0 starts such a reduction from the wrong end of a reversed axis.
            and not (self.ufunc.identity is None and np.min(x.strides, initial=0) < 0)
        ):
            self.ufunc.reduce(x, self.axis, acc, former)
            return
        cell[0] = np.asarray(self.ufunc.reduce(x, self.axis, acc), output_type.numpy_dtype)

    def _shape_of_result(self, x: Any) -> tuple[int, ...]:
        if self.axis is None:
            return ()
        return tuple(size for dim, size in enumerate(x.shape) if dim not in self.axis)

    def _check_not_empty(self, node: Apply, x: Any) -> None:
        for axis in self.axes(x.ndim):
            if x.shape[axis] == 0:
                msg = (
                    f"{self}: {node.inputs[0]} has the shape {x.shape}, with no element along axis "
                    f"{axis}, and the {self.scalar_op} of nothing is undefined. Make sure that "
                    "there is one, for example by pt.concatenate with a lowest or highest value."
                )
                raise ShapeError(msg)

    # ---- derivatives -------------------------------------------------------------------------

    def _partials(self, x: Any, out: Any) -> Any:
        """Return the derivative of the result with respect to each element of ``x``."""
        rule = _PARTIALS.get(self.scalar_op)
        if rule is None:
            msg = (
                f"No derivative is known for {self}. Combine the elements with operations that "
                "have one, or mark the place with phintys.gradient.disconnected_grad."
            )
            raise MethodNotDefinedError(msg)
        if x.dtype != out.dtype:
            x = math.cast(x, out.dtype)
        axes = self.axes(x.ndim)
        return rule(x, with_kept_dims(out, axes, x.ndim), axes)

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Multiply the gradient of the result by its derivative with respect to each element."""
        (x,), (out,), (g,) = inputs, outputs, output_grads
        if is_discrete(out):
            return [zero_gradient(x)]
        g = with_kept_dims(g, self.axes(x.ndim), x.ndim)
        if self.scalar_op is ps.add:
            return [fit_gradient(ps.second(x, g), x)]
        if self.scalar_op in _EXTREMES:
            kept = with_kept_dims(out, self.axes(x.ndim), x.ndim)
            return [fit_gradient(_share_of_gradient(x, kept, self.axes(x.ndim), g), x)]
        return [fit_gradient(g * conjugate(self._partials(x, out)), x)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Sum the tangent times the derivative with respect to each element."""
        (x,), (v,) = inputs, eval_points
        if is_missing(v):
            return [None]
        out = self(x)
        if is_discrete(out):
            return [zero_gradient(out)]
        change = v if self.scalar_op is ps.add else v * self._partials(x, out)
        return [_total(change, self.axis, out.dtype, self.acc_dtype)]

    def flops(self, input_shapes: Sequence[Any], output_shapes: Sequence[Any]) -> int:
        """Return one operation per element."""
        return int(np.prod(input_shapes[0], dtype=int))

    def __str__(self) -> str:
        facts = [] if self.axis is None else [f"axis={','.join(map(str, self.axis))}"]
        if self.dtype is not None:
            facts.append(f"dtype={self.dtype}")
        if self.acc_dtype is not None:
            facts.append(f"acc_dtype={self.acc_dtype}")
        name = _NAMES.get(self.scalar_op, f"Reduce{{{self.scalar_op}}}")
        return f"{name}{{{'; '.join(facts)}}}" if facts else name


def _sorted_axes(axis: int | Sequence[int]) -> tuple[int, ...]:
    given = (axis,) if isinstance(axis, int | np.integer) else tuple(axis)
    axes = tuple(sorted(int(entry) for entry in given))
    if (axes and axes[0] < 0) or len(set(axes)) != len(axes):
        msg = f"The axes of a Reduce count from the front, each named once; got {axis!r}."
        raise OpContractError(msg)
    return axes


@lru_cache(maxsize=4096)
def _op(
    scalar_op: ScalarOp, axis: tuple[int, ...] | None, dtype: str | None, acc_dtype: str | None
) -> Reduce:
    return Reduce(scalar_op, axis, dtype, acc_dtype)


@lru_cache(maxsize=4096)
def _plainest_op(
    scalar_op: ScalarOp,
    axis: tuple[int, ...] | None,
    dtype: str | None,
    acc_dtype: str | None,
    input_dtype: str,
    ndim: int,
) -> Reduce:
    """Return a reduction in which default values are not spelled out.

    Equal reductions are then equal nodes.
    """
    if axis is not None and len(axis) == ndim:
        axis = None
    if dtype == _op(scalar_op, axis, None, None).resolve_dtypes(input_dtype)[0]:
        dtype = None
    if acc_dtype == _op(scalar_op, axis, dtype, None).resolve_dtypes(input_dtype)[1]:
        acc_dtype = None
    return _op(scalar_op, axis, dtype, acc_dtype)


def _apply(
    scalar_op: ScalarOp,
    x: Any,
    axis: tuple[int, ...] | None,
    dtype: str | None = None,
    acc_dtype: str | None = None,
) -> Any:
    type_ = x.type
    return _plainest_op(scalar_op, axis, dtype, acc_dtype, type_.dtype, type_.ndim)(x)


def _total(
    x: Any, axis: tuple[int, ...] | None, dtype: str | None, acc_dtype: str | None = None
) -> Any:
    return _apply(ps.add, x, axis, dtype, acc_dtype)


@lru_cache(maxsize=4096)
def _insertion(axes: tuple[int, ...], ndim: int) -> DimShuffle:
    kept = iter(range(ndim))
    return DimShuffle(ndim - len(axes), ["x" if dim in axes else next(kept) for dim in range(ndim)])


def with_kept_dims(reduced: Any, axes: tuple[int, ...], ndim: int) -> Any:
    """Return the result of a reduction with dimensions of size 1 where it had ``axes``."""
    return _insertion(axes, ndim)(reduced) if axes else reduced


def _one_each(x: Any, out: Any, axes: tuple[int, ...]) -> Any:
    """Return the partials of a sum."""
    return ones_like(x)


def _other_factors(x: Any, out: Any, axes: tuple[int, ...]) -> Any:
    """Return the partials of a product: for each element, the product of all others.

    The chain rule is applied one axis at a time, from the last. There is no division, so zeros are
    not a special case, here or in higher derivatives.
    """
    partials = ones_like(x)
    for position, axis in enumerate(reversed(axes)):
        others = product_of_others(x, axis)
        partials = others if position == 0 else partials * others
        if position < len(axes) - 1:
            x = with_kept_dims(_apply(ps.mul, x, (axis,)), (axis,), x.ndim)
    return partials


def _share_of_extreme(x: Any, out: Any, axes: tuple[int, ...]) -> Any:
    """Return the partials of a maximum or minimum: equal shares where it is attained."""
    attained = math.cast(math.eq(x, out), x.dtype)
    return attained / with_kept_dims(_total(attained, axes, x.dtype), axes, x.ndim)


def _share_of_gradient(x: Any, kept: Any, axes: tuple[int, ...], g: Any) -> Any:
    """Return equal shares of a gradient where an extreme is attained, and 0 elsewhere.

    A switch, not a product: the gradient below an element that does not count can be infinite.
    """
    attained = math.eq(x, kept)
    ties = with_kept_dims(_total(math.cast(attained, g.dtype), axes, g.dtype), axes, x.ndim)
    return math.switch(attained, g / ties, 0)


_EXTREMES = frozenset({ps.maximum, ps.minimum})

_PARTIALS: dict[ScalarOp, Callable[[Any, Any, tuple[int, ...]], Any]] = {
    ps.add: _one_each,
    ps.mul: _other_factors,
    ps.maximum: _share_of_extreme,
    ps.minimum: _share_of_extreme,
}


# ---- functions -----------------------------------------------------------------------------------


_NEUTRAL = {ps.add: 0, ps.mul: 1, ps.and_: True, ps.or_: False}
"""Scalar op -> the identity element of its reduction."""


def _reduce(
    scalar_op: ScalarOp,
    x: Any,
    axis: Axis,
    keepdims: bool,
    dtype: Any = None,
    acc_dtype: Any = None,
    where: Any = True,
    initial: Any = None,
) -> TensorVariable:
    x = as_tensor_variable(x)
    axes = normalize_axes(axis, x.ndim)
    if where is not True:
        x = masking.keep(x, where, _NEUTRAL.get(scalar_op, initial))
    if initial is not None and scalar_op in _EXTREMES:
        # An empty axis has no extreme before there is an element more.
        maybe_empty = tuple(axis for axis in axes if not x.type.shape[axis])
        x = masking.with_initial(x, maybe_empty, initial)
    reduced = _apply(
        scalar_op,
        x,
        axes,
        None if dtype is None else normalize_dtype(dtype),
        None if acc_dtype is None else normalize_dtype(acc_dtype),
    )
    result = with_kept_dims(reduced, axes, x.ndim) if keepdims else reduced
    if initial is None:
        return result
    return _COMBINED[scalar_op](result, masking.as_initial(initial, result.dtype))


_COMBINED: dict[ScalarOp, Callable[..., Any]] = {
    ps.add: math.add,
    ps.mul: math.mul,
    ps.maximum: math.maximum,
    ps.minimum: math.minimum,
}
"""How ``initial=`` joins the result of a reduction."""


@also_named
def sum(
    x: Any,
    axis: Axis = None,
    dtype: Any = None,
    keepdims: bool = False,
    acc_dtype: Any = None,
    *,
    where: Any = True,
    initial: Any = None,
) -> TensorVariable:
    """Return the sum of the elements along some axes.

    Parameters
    ----------
    x
        A tensor of any dtype.
    axis
        One axis, several, or ``None`` for all.
    dtype
        Dtype of the result. By default that of ``x``, or int64 or uint64 for integers and bools.
    keepdims
        Keep the axes, with size 1.
    acc_dtype
        Dtype in which to add; by default ``dtype``, and float32 for float16.
    where
        Bools that broadcast to the shape of ``x``: which elements count. By default all do.
    initial
        A number that is added.

    Returns
    -------
    TensorVariable
        0 along an empty axis.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.
    DtypeError
        ``x`` is complex and ``dtype`` is not.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.sum(pt.constant([[1, 2], [3, 4]]), axis=0).eval()
    array([4, 6])
    """
    return _reduce(ps.add, x, axis, keepdims, dtype, acc_dtype, where, initial)


@also_named
def prod(
    x: Any,
    axis: Axis = None,
    dtype: Any = None,
    keepdims: bool = False,
    acc_dtype: Any = None,
    no_zeros_in_input: bool = False,
    *,
    where: Any = True,
    initial: Any = None,
) -> TensorVariable:
    """Return the product of the elements along some axes.

    Derivatives of any order are correct where elements are zero.

    Parameters
    ----------
    x
        A tensor of any dtype.
    axis
        One axis, several, or ``None`` for all.
    dtype
        Dtype of the result. By default that of ``x``, or int64 or uint64 for integers and bools.
    keepdims
        Keep the axes, with size 1.
    acc_dtype
        Dtype in which to multiply; by default ``dtype``, and float32 for float16.
    no_zeros_in_input
        Accepted and ignored: derivatives are correct with zeros and without.
    where
        Bools that broadcast to the shape of ``x``: which elements count. By default all do.
    initial
        A number by which the product is multiplied.

    Returns
    -------
    TensorVariable
        1 along an empty axis.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.
    DtypeError
        ``x`` is complex and ``dtype`` is not.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.prod(pt.constant([[1, 2], [3, 4]]), axis=0).eval()
    array([3, 8])
    """
    return _reduce(ps.mul, x, axis, keepdims, dtype, acc_dtype, where, initial)


@also_named
def max(
    x: Any,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    where: Any = True,
    initial: Any = None,
) -> TensorVariable:
    """Return the largest element along some axes, or NaN if any element is NaN.

    Elements that attain the maximum share its gradient evenly.

    Parameters
    ----------
    x
        A tensor; complex numbers are ordered by real, then imaginary part.
    axis
        One axis, several, or ``None`` for all.
    keepdims
        Keep the axes, with size 1.
    where
        Bools that broadcast to the shape of ``x``: which elements count. By default all do.
    initial
        One number more to compare with, also the result for no elements.

    Returns
    -------
    TensorVariable
        A tensor with the dtype of ``x``.

    Raises
    ------
    ShapeError
        ``axis`` is out of range; at run time, the axis is empty and there is no ``initial``.
    ArgumentError
        ``where`` is given without ``initial``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.max(pt.constant([[1, 5], [3, 4]]), axis=0).eval()
    array([3, 5])
    """
    return _reduce(ps.maximum, x, axis, keepdims, where=where, initial=initial)


@also_named
def min(
    x: Any,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    where: Any = True,
    initial: Any = None,
) -> TensorVariable:
    """Return the smallest element along some axes, or NaN if any element is NaN.

    Elements that attain the minimum share its gradient evenly.

    Parameters
    ----------
    x
        A tensor; complex numbers are ordered by real, then imaginary part.
    axis
        One axis, several, or ``None`` for all.
    keepdims
        Keep the axes, with size 1.
    where
        Bools that broadcast to the shape of ``x``: which elements count. By default all do.
    initial
        One number more to compare with, also the result for no elements.

    Returns
    -------
    TensorVariable
        A tensor with the dtype of ``x``.

    Raises
    ------
    ShapeError
        ``axis`` is out of range; at run time, the axis is empty and there is no ``initial``.
    ArgumentError
        ``where`` is given without ``initial``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.min(pt.constant([[1, 5], [3, 4]]), axis=0).eval()
    array([1, 4])
    """
    return _reduce(ps.minimum, x, axis, keepdims, where=where, initial=initial)


amax = max
amin = min


@also_named
def ptp(x: Any, axis: Axis = None, keepdims: bool = False) -> TensorVariable:
    """Return the range (maximum minus minimum) of the elements along some axes.

    Parameters
    ----------
    x
        A tensor of a numeric dtype.
    axis
        One axis, several, or ``None`` for all.
    keepdims
        Keep the axes, with size 1.

    Returns
    -------
    TensorVariable
        Its dtype is that of ``x``.

    Raises
    ------
    ShapeError
        An axis is out of range, or is known to be empty.
    DtypeError
        ``x`` is bool.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.ptp(pt.constant([[1, 5], [3, 4]]), axis=0).eval()
    array([2, 1])
    """
    return max(x, axis, keepdims) - min(x, axis, keepdims)


def _truth(x: Any) -> Any:
    x = as_tensor_variable(x)
    return x if x.dtype == "bool" else math.neq(x, 0)


@also_named
def all(x: Any, axis: Axis = None, keepdims: bool = False, *, where: Any = True) -> TensorVariable:
    """Return whether all elements along some axes are true (nonzero).

    Parameters
    ----------
    x
        A tensor of any dtype; NaN is true.
    axis
        One axis, several, or ``None`` for all.
    keepdims
        Keep the axes, with size 1.
    where
        Bools that broadcast to the shape of ``x``: which elements count. By default all do.

    Returns
    -------
    TensorVariable
        A bool tensor; true along an empty axis.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.all(pt.constant([[1, 0], [3, 4]]), axis=0).eval()
    array([ True, False])
    """
    return _reduce(ps.and_, _truth(x), axis, keepdims, where=where)


@also_named
def any(x: Any, axis: Axis = None, keepdims: bool = False, *, where: Any = True) -> TensorVariable:
    """Return whether any element along some axes is true (nonzero).

    Parameters
    ----------
    x
        A tensor of any dtype; NaN is true.
    axis
        One axis, several, or ``None`` for all.
    keepdims
        Keep the axes, with size 1.
    where
        Bools that broadcast to the shape of ``x``: which elements count. By default all do.

    Returns
    -------
    TensorVariable
        A bool tensor; false along an empty axis.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.any(pt.constant([[1, 0], [3, 0]]), axis=0).eval()
    array([ True, False])
    """
    return _reduce(ps.or_, _truth(x), axis, keepdims, where=where)


def allclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> TensorVariable:
    """Return whether ``abs(a - b) <= atol + rtol * abs(b)`` for all elements.

    Parameters
    ----------
    a, b
        Tensors that broadcast against each other.
    rtol, atol
        Tolerance relative to ``b``, and absolute tolerance.
    equal_nan
        Whether NaNs compare as close to each other.

    Returns
    -------
    TensorVariable
        A 0-d bool tensor.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.allclose(pt.constant([1.0, 2.0]), [1.0, 2.0 + 1e-9]).eval()
    array(True)
    """
    return all(math.isclose(a, b, rtol, atol, equal_nan))
