"""Cumulative sums and products, and differences.

The derivative of a cumulative product is a linear recurrence, and so is the derivative of a linear
recurrence. So :class:`CumOp` and :class:`LinearRecurrence` together are closed under
differentiation: derivatives of any order are correct where elements are zero, at linear cost.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import OpContractError, ShapeError
from phintys._base.late import LateModule
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.tensor import math
from phintys.tensor._rules import (
    accumulation_dtype,
    add_all,
    conjugate,
    is_discrete,
    is_missing,
    zero_gradient,
)
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import normalize_axis
from phintys.tensor.reshaping import flatten
from phintys.tensor.shape_rules import KeepsShape, Misfit, S, ShapedOp, Shapes
from phintys.tensor.shapes import shape_i
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import TensorType, normalize_dtype, promote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor import creation, joining
    from phintys.tensor.variable import TensorVariable
else:  # they rest on this module
    creation = LateModule("phintys.tensor.creation")
    joining = LateModule("phintys.tensor.joining")

_UFUNCS = {"add": np.add, "mul": np.multiply}


def _check_axis(op: Op, x: Any, axis: int) -> None:
    if axis >= x.ndim:
        msg = f"{op} works along axis {axis}, but {x} has {x.ndim} dimensions."
        raise ShapeError(msg)


def _storage(cell: list[Any], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return an array to write to: the one in the cell if it fits, else a new one."""
    former = cell[0]
    if (
        former is None
        or former.shape != shape
        or former.dtype != dtype
        or not former.flags.writeable
    ):
        former = cell[0] = np.empty(shape, dtype)
    return former


class CumOp(KeepsShape):
    """Return the cumulative sum or product of the elements along an axis.

    Parameters
    ----------
    axis
        The axis, counted from the front.
    mode
        ``"add"`` or ``"mul"``.
    exclusive
        Exclude each element from the result at its own position, so that the first one is 0 or 1.
    reverse
        Start from the end of the axis.

    Notes
    -----
    The dtype is that of the input, so small integers can overflow; :func:`cumsum` and
    :func:`cumprod` widen them first, as NumPy does.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.CumOp(0, "mul", exclusive=True)(pt.constant([2.0, 3.0, 4.0])).eval()
    array([1., 2., 6.])
    """

    __props__ = ("axis", "mode", "exclusive", "reverse")
    raises_only_for_shapes = True

    def __init__(
        self, axis: int, mode: str = "add", exclusive: bool = False, reverse: bool = False
    ) -> None:
        if mode not in _UFUNCS:
            msg = f"The mode of a CumOp is 'add' or 'mul', got {mode!r}."
            raise OpContractError(msg)
        if axis < 0:
            msg = f"The axis of a CumOp counts from the front, got {axis}."
            raise OpContractError(msg)
        self.axis = int(axis)
        self.mode = mode
        self.exclusive = bool(exclusive)
        self.reverse = bool(reverse)

    def make_node(self, x: Any) -> Apply:
        """Apply to a tensor that has the axis."""
        x = as_tensor_variable(x)
        _check_axis(self, x, self.axis)
        return Apply(self, [x], [x.type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Accumulate with NumPy."""
        (x,) = inputs
        out = _storage(output_storage[0], x.shape, x.dtype)
        if self.reverse:
            x, out = np.flip(x, self.axis), np.flip(out, self.axis)
        if self.exclusive:
            front = (slice(None),) * self.axis
            out[*front, :1] = 0 if self.mode == "add" else 1
            x, out = x[*front, :-1], out[*front, 1:]
        _UFUNCS[self.mode].accumulate(x, self.axis, x.dtype, out)

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Accumulate the gradient in the opposite direction.

        For a product ``y_k = prod_{j <= k} x_j``, with ``p_i = prod_{j < i} x_j``:
        ``gx_i = p_i (g_i + sum_{k > i} g_k prod_{i < j <= k} x_j)``, whose sum is a recurrence.
        """
        (x,), (g,) = inputs, output_grads
        if is_discrete(x):
            return [zero_gradient(x)]
        if self.mode == "add":
            return [_cum_op(self.axis, "add", self.exclusive, not self.reverse)(g)]
        factors = conjugate(x)
        before = _cum_op(self.axis, "mul", exclusive=True, reverse=self.reverse)(factors)
        later = _recurrence(self.axis, reverse=not self.reverse)
        if self.exclusive:
            return [before * later(factors, g)]
        return [before * (g + later(factors, factors * g))]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Differentiate the recurrence ``e_{i+1} = x_i e_i`` of the exclusive product."""
        (x,), (v,) = inputs, eval_points
        if is_missing(v):
            return [None]
        if is_discrete(x):
            return [zero_gradient(x)]
        if self.mode == "add":
            return [self(v)]
        before = _cum_op(self.axis, "mul", exclusive=True, reverse=self.reverse)(x)
        tangent = _recurrence(self.axis, reverse=self.reverse)(x, v * before)
        return [tangent if self.exclusive else v * before + x * tangent]

    def flops(self, input_shapes: Sequence[Any], output_shapes: Sequence[Any]) -> int:
        """Return one operation per element."""
        return int(np.prod(output_shapes[0], dtype=int))

    def __str__(self) -> str:
        kind = "sum" if self.mode == "add" else "prod"
        flags = ", exclusive" * self.exclusive + ", reverse" * self.reverse
        return f"Cum{kind}{{axis={self.axis}{flags}}}"


class LinearRecurrence(ShapedOp):
    """Compute ``u_0 = 0, u_{i+1} = b_i + a_i u_i`` along an axis.

    Parameters
    ----------
    axis
        The axis, counted from the front.
    reverse
        Start from the end of the axis.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.LinearRecurrence(0)([2.0, 2.0, 2.0], [1.0, 1.0, 1.0]).eval()
    array([0., 1., 3.])
    """

    __props__ = ("axis", "reverse")

    def __init__(self, axis: int, reverse: bool = False) -> None:
        if axis < 0:
            msg = f"The axis of a LinearRecurrence counts from the front, got {axis}."
            raise OpContractError(msg)
        self.axis = int(axis)
        self.reverse = bool(reverse)

    def make_node(self, a: Any, b: Any) -> Apply:
        """Apply to the factors and terms: two tensors of the same shape."""
        a, b = as_tensor_variable(a), as_tensor_variable(b)
        _check_axis(self, a, self.axis)
        if a.ndim != b.ndim:
            msg = f"{self}: factors and terms must have one shape, got {a.type} and {b.type}."
            raise ShapeError(msg)
        dtype = promote(a.dtype, b.dtype)
        operands = [x if x.dtype == dtype else math.cast(x, dtype) for x in (a, b)]
        return Apply(self, operands, [TensorType(dtype, *self.static_shapes(operands))()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Step through the recurrence, vectorized over all other axes."""
        a, b = inputs
        (shape,) = self.shapes_of_results(node.inputs, (a.shape, b.shape))
        out = _storage(output_storage[0], shape, a.dtype)
        # The trailing axis makes each step of a vector an array that can be written to.
        a, b, u = (np.moveaxis(array, self.axis, 0)[..., None] for array in (a, b, out))
        if self.reverse:
            a, b, u = a[::-1], b[::-1], u[::-1]
        u[:1] = 0
        for i in range(len(u) - 1):
            np.multiply(a[i], u[i], out=u[i + 1])
            np.add(b[i], u[i + 1], out=u[i + 1])

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Return the shape of the inputs."""
        pairs = enumerate(zip(*shapes.shapes, strict=True))
        return [
            tuple([shapes.agreed(pair, Misfit.in_dimension("shapes", dim)) for dim, pair in pairs])
        ]

    def misfit_error(self, misfit: Misfit, shapes: Shapes[Any]) -> ShapeError:
        """Show the shapes."""
        factors, terms = shapes.shapes
        return ShapeError(
            f"{self}: factors and terms must have one shape, got factors of shape {factors} and "
            f"terms of shape {terms}."
        )

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Run the adjoint recurrence ``v_{i-1} = g_i + a_i v_i``; then gb = v and ga = v u."""
        (a, _), (u,), (g,) = inputs, outputs, output_grads
        if is_discrete(u):
            return [zero_gradient(x) for x in inputs]
        adjoint = _recurrence(self.axis, reverse=not self.reverse)(conjugate(a), g)
        return [adjoint * conjugate(u), adjoint]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Differentiate the recurrence: ``du_{i+1} = db_i + da_i u_i + a_i du_i``."""
        (a, b), (da, db) = inputs, eval_points
        terms = [] if is_missing(db) else [db]
        if not is_missing(da):
            terms.append(da * self(a, b))
        if not terms:
            return [None]
        if is_discrete(a):
            return [zero_gradient(a)]
        return [self(a, add_all(terms))]

    def flops(self, input_shapes: Sequence[Any], output_shapes: Sequence[Any]) -> int:
        """Return one multiplication and one addition per element."""
        return 2 * int(np.prod(output_shapes[0], dtype=int))


@lru_cache(maxsize=1024)
def _cum_op(axis: int, mode: str, exclusive: bool = False, reverse: bool = False) -> CumOp:
    return CumOp(axis, mode, exclusive, reverse)


@lru_cache(maxsize=1024)
def _recurrence(axis: int, reverse: bool) -> LinearRecurrence:
    return LinearRecurrence(axis, reverse)


def product_of_others(x: Any, axis: int) -> Any:
    """Return, for each element, the product of all others along ``axis``."""
    before = _cum_op(axis, "mul", exclusive=True)(x)
    after = _cum_op(axis, "mul", exclusive=True, reverse=True)(x)
    return before * after


def _cumulate(x: Any, axis: int | None, dtype: Any, mode: str) -> TensorVariable:
    x = as_tensor_variable(x)
    wanted = accumulation_dtype(x.dtype) if dtype is None else normalize_dtype(dtype)
    if axis is None:
        x = flatten(x)
        axis = 0
    if x.dtype != wanted:
        x = math.cast(x, wanted)
    return _cum_op(normalize_axis(axis, x.ndim), mode)(x)


@also_named
def cumsum(x: Any, axis: int | None = None, dtype: Any = None) -> TensorVariable:
    """Return the cumulative sum along an axis.

    Parameters
    ----------
    x
        A tensor.
    axis
        The axis; ``None`` flattens first.
    dtype
        Cast to this dtype first. By default integers and bools are widened to int64 or uint64.

    Returns
    -------
    TensorVariable
        A tensor with the shape of ``x``, or a vector for ``axis=None``.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.cumsum(pt.constant([1, 2, 3])).eval()
    array([1, 3, 6])
    """
    return _cumulate(x, axis, dtype, "add")


@also_named
def cumprod(x: Any, axis: int | None = None, dtype: Any = None) -> TensorVariable:
    """Return the cumulative product along an axis.

    Parameters
    ----------
    x
        A tensor.
    axis
        The axis; ``None`` flattens first.
    dtype
        Cast to this dtype first. By default integers and bools are widened to int64 or uint64.

    Returns
    -------
    TensorVariable
        A tensor with the shape of ``x``, or a vector for ``axis=None``.

    Raises
    ------
    ShapeError
        ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.cumprod(pt.constant([1, 2, 3])).eval()
    array([1, 2, 6])
    """
    return _cumulate(x, axis, dtype, "mul")


def _between(x: Any, axis: int, before: Any, after: Any) -> Any:
    """Return ``x`` with arrays or numbers before and after it along an axis."""
    parts = []
    for part in (before, x, after):
        if part is None:
            continue
        given = as_tensor_variable(part)
        if given.ndim == 0:
            sizes = [1 if dim == axis else shape_i(x, dim) for dim in range(x.ndim)]
            given = creation.alloc(given, *sizes)
        parts.append(given)
    return joining.concatenate(parts, axis)


_MOST_DIFFERENCES = 10_000


@also_named
def diff(
    x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None
) -> TensorVariable:
    """Return the ``n``-th differences of adjacent elements along an axis.

    Parameters
    ----------
    x
        A tensor. For bools, the result says where adjacent elements differ.
    n
        How many times to take differences; each time the axis gets shorter by 1.
    axis
        The axis.
    prepend, append
        What is put before and after ``x`` along the axis first: arrays of its rank, or one number.

    Returns
    -------
    TensorVariable
        A tensor whose axis is shorter by ``n``; of bools, whether neighbors differ.

    Raises
    ------
    ShapeError
        ``axis`` is out of range, or ``n`` is negative or more than 10,000.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.diff(pt.constant([1, 4, 9])).eval()
    array([3, 5])
    """
    x = as_tensor_variable(x)
    axis = normalize_axis(axis, x.ndim)
    if n < 0:
        msg = f"diff: n must not be negative, got {n}."
        raise ShapeError(msg)
    if n == 0:
        return x
    if prepend is not None or append is not None:
        x = _between(x, axis, prepend, append)
    subtract = math.neq if x.dtype == "bool" else math.sub
    front = (slice(None),) * axis
    length = x.type.shape[axis]
    times = n if length is None else min(n, length)  # then nothing is left
    if times > _MOST_DIFFERENCES:
        msg = (
            f"diff: n must be at most {_MOST_DIFFERENCES:,}, since the graph has a node for each "
            f"difference of differences; got {n:,}."
        )
        raise ShapeError(msg)
    for _ in range(times):
        x = subtract(x[*front, 1:], x[*front, :-1])
    return x
