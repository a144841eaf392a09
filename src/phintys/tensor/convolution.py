"""Convolution and correlation of vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, ShapeError
from phintys._base.names import public_dir
from phintys.graph.apply import Apply
from phintys.tensor import math
from phintys.tensor._rules import add_all, conjugate, is_discrete, is_missing, zero_gradient
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import expand_dims
from phintys.tensor.shape_rules import S, ShapedOp, Shapes
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import add_sizes, subtract_sizes
from phintys.tensor.type import TensorType, promote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable

__all__ = ["Convolve", "convolve", "correlate"]


class Convolve(ShapedOp):
    """Convolve two vectors: ``out[k]`` is the sum of ``a[i] * v[k - i]`` over all i.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.Convolve()([1.0, 2.0], [1.0, 10.0]).eval()
    array([ 1., 12., 20.])
    """

    __props__ = ()

    def make_node(self, a: Any, v: Any) -> Apply:
        """Apply to two vectors that are not empty."""
        operands: list[Any] = [as_tensor_variable(a), as_tensor_variable(v)]
        for x in operands:
            if x.ndim != 1 or x.type.shape[0] == 0:
                msg = f"convolve takes vectors that are not empty, got {x} of type {x.type}."
                raise ShapeError(msg)
        dtype = promote(*(x.dtype for x in operands))
        operands = [x if x.dtype == dtype else math.cast(x, dtype) for x in operands]
        return Apply(self, operands, [TensorType(dtype, *self.static_shapes(operands))()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Convolve with NumPy."""
        a, v = inputs
        if not (a.size and v.size):
            msg = f"convolve takes vectors that are not empty, got {a.size} and {v.size} elements."
            raise ShapeError(msg)
        output_storage[0][0] = np.convolve(a, v).astype(a.dtype, copy=False)

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Return the sum of the lengths minus 1."""
        (n,), (m,) = shapes.shapes
        return [(shapes.subtract(shapes.add(n, m), 1),)]

    def flops(self, input_shapes: Sequence[Any], output_shapes: Sequence[Any]) -> int:
        """Return a product and a sum for each pair of elements."""
        return 2 * int(input_shapes[0][0]) * int(input_shapes[1][0])

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Correlate the gradient with the other vector."""
        (a, v), (g,) = inputs, output_grads
        if is_discrete(a):
            return [zero_gradient(x) for x in inputs]
        return [_valid(g, conjugate(v), sizes_of(a)[0]), _valid(g, conjugate(a), sizes_of(v)[0])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return the sum of the convolutions with the tangents."""
        (a, v), (da, dv) = inputs, eval_points
        if is_discrete(a):
            return [None if is_missing(da) and is_missing(dv) else zero_gradient(self(a, v))]
        terms = [] if is_missing(da) else [self(da, v)]
        terms += [] if is_missing(dv) else [self(a, dv)]
        return [add_all(terms) if terms else None]


_convolve = Convolve()


def _valid(g: Any, other: Any, length: Any) -> Any:
    """Return the sums of ``g[k + i] * other[i]`` for k below a length."""
    start = subtract_sizes(sizes_of(other)[0], 1)
    return _convolve(g, other[::-1])[start : add_sizes(start, length)]


def _part(full: Any, a: Any, v: Any, mode: str, name: str) -> TensorVariable:
    """Return the part of a full result that a mode asks for."""
    if mode == "full":
        return full
    n, m = sizes_of(a)[0], sizes_of(v)[0]
    longer, shorter = math.maximum(n, m), math.minimum(n, m)
    if mode == "same":
        start = math.int_div(math.sub(shorter, 1), 2)
        return full[start : math.add(start, longer)]
    if mode == "valid":
        return full[math.sub(shorter, 1) : longer]
    msg = f'{name}: mode is "full", "same" or "valid", got {mode!r}.'
    raise ArgumentError(msg)


def _vector(x: Any) -> Any:
    x = as_tensor_variable(x)
    return expand_dims(x, 0) if x.ndim == 0 else x


def convolve(a: Any, v: Any, mode: str = "full") -> TensorVariable:
    """Return the convolution of two vectors.

    Parameters
    ----------
    a, v
        Vectors of any numeric dtype, not empty.
    mode
        ``"full"``: all sums; ``"same"``: as many as the longer vector has elements, from the
        middle; ``"valid"``: those in which the vectors overlap completely.

    Returns
    -------
    TensorVariable
        A vector with the dtype to which both promote.

    Raises
    ------
    ShapeError
        An operand is not a vector, or is empty.
    ArgumentError
        The mode is unknown.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.convolve([1, 2, 3], [0, 1, 5], "same").eval()
    array([ 1,  7, 13])
    """
    a, v = _vector(a), _vector(v)
    return _part(_convolve(a, v), a, v, mode, "convolve")


def correlate(a: Any, v: Any, mode: str = "valid") -> TensorVariable:
    """Return the correlation of two vectors: of ``a[k + i]`` with the conjugates of ``v[i]``.

    Parameters
    ----------
    a, v
        Vectors of any numeric dtype, not empty.
    mode
        As for :func:`convolve`.

    Returns
    -------
    TensorVariable
        A vector with the dtype to which both promote.

    Raises
    ------
    ShapeError
        An operand is not a vector, or is empty.
    ArgumentError
        The mode is unknown.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.correlate([1, 2, 3], [0, 1]).eval()
    array([2, 3])
    """
    a, v = _vector(a), math.conj(_vector(v))
    full = _convolve(a, v[::-1])
    if mode != "same":
        return _part(full, a, v, mode, "correlate")
    # Of an even number of places, the extra one is on the other side if v is the longer vector.
    n, m = sizes_of(a)[0], sizes_of(v)[0]
    start = math.switch(math.lt(n, m), math.int_div(n, 2), math.int_div(math.sub(m, 1), 2))
    return full[start : math.add(start, math.maximum(n, m))]


__dir__ = public_dir(__name__)
