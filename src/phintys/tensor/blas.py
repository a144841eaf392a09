"""Scaled matrix and vector products, with an optional addition, in a single BLAS call.

The rewrites of :mod:`phintys.passes.blas` introduce :class:`Gemm` where it saves time; users do not
need to call it. BLAS also takes a factor (``beta``) for the array added to, and applies it in a
separate pass. Here that factor is an elementwise product instead: backends fuse it with the
operations before it, and it replaces the copy needed before adding to memory that is used
elsewhere.

For gradients, ``Z = a X Y + C`` is ``a P + C`` with ``P = X Y``; see
:mod:`phintys.tensor.products`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import DtypeError, ShapeError
from phintys._base.uninterrupted import import_whole
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.tensor._rules import add_all, conjugate, is_missing
from phintys.tensor.convert import as_tensor_variable, constant
from phintys.tensor.creation import sum_to
from phintys.tensor.hints import operands_misfit
from phintys.tensor.products import Dot, fitting, misfit_of
from phintys.tensor.reduce import sum
from phintys.tensor.shape_rules import Misfit, S, ShapedOp, Shapes
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


BLAS_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
"""The dtypes that BLAS computes in, and how it names them."""

_dot = Dot()


class Gemm(ShapedOp):
    """Multiply, scale and add: ``alpha * dot(x, y) + c``, or without ``c`` ``alpha * dot(x, y)``.

    Applied to ``(x, y, alpha)`` or ``(x, y, alpha, c)``: two matrices, or a matrix and a vector; a
    0-d factor; and an array of the same rank as the product, whose shape is that of the product or
    broadcasts to it. All have the same dtype, one that BLAS supports. Where ``alpha`` is 0, BLAS
    can take the product to be 0 without reading the operands.

    Parameters
    ----------
    inplace
        Add to ``c`` in place; ``c`` then does not broadcast.

    Raises
    ------
    DtypeError
        The dtypes differ, or BLAS does not support them.
    ShapeError
        The ranks or sizes do not match.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.blas import Gemm
    >>> x, y = pt.constant([[1.0, 2.0], [3.0, 4.0]]), pt.constant([1.0, 1.0])
    >>> Gemm()(x, y, 10.0, pt.constant([1.0, 2.0])).eval()
    array([31., 72.])
    """

    __props__ = ("inplace",)
    reuses_operands = True

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace
        if inplace:
            self.destroy_map = {0: [3]}

    def __str__(self) -> str:
        return "Gemm"

    def __repr__(self) -> str:
        return "Gemm{inplace}" if self.inplace else "Gemm"

    def inplace_twins(self, node: Apply) -> Iterable[Op]:
        """Return the product that overwrites the array that it is added to."""
        return (Gemm(inplace=True),) if not self.inplace and len(node.inputs) > 3 else ()

    def make_node(self, x: Any, y: Any, alpha: Any, c: Any = None) -> Apply:
        """Apply to operands of one dtype whose ranks and sizes match."""
        x, y = as_tensor_variable(x), as_tensor_variable(y)
        if isinstance(alpha, int | float | complex):
            alpha = constant(np.asarray(alpha, x.dtype))
        inputs = [x, y, as_tensor_variable(alpha)]
        if c is not None:
            inputs.append(as_tensor_variable(c))
        self._check_dtypes(inputs)
        self._check_ranks(*inputs)
        (shape,) = self.static_shapes(inputs)
        if self.inplace and any(
            (mine == 1) != (theirs == 1)
            for mine, theirs in zip(shape, inputs[3].type.shape, strict=True)
        ):
            raise self._misfit(x, y, inputs[3])
        return Apply(self, inputs, [TensorType(x.dtype, shape)()])

    def _check_dtypes(self, inputs: Sequence[Any]) -> None:
        dtypes = [variable.dtype for variable in inputs]
        if len(set(dtypes)) > 1 or dtypes[0] not in BLAS_LETTERS:
            msg = (
                f"{self} takes operands of one dtype of {tuple(BLAS_LETTERS)}, got "
                f"{', '.join(dtypes)}. Write alpha * pt.dot(x, y) + c for others."
            )
            raise DtypeError(msg)

    def _check_ranks(self, x: Any, y: Any, alpha: Any, c: Any = None) -> None:
        if alpha.ndim:
            msg = f"{self}: the factor has no dimensions; got {alpha} of type {alpha.type}."
            raise ShapeError(msg)
        ndim = x.ndim + y.ndim - 2
        fits = {x.ndim, y.ndim} in ({2}, {1, 2}) and (c is None or c.ndim == ndim)
        if not fits or (self.inplace and c is None):
            raise self._misfit(x, y, c)

    def _misfit(self, x: Any, y: Any, c: Any) -> ShapeError:
        operands = [x, y] if c is None else [x, y, c]
        shown = "".join(f"\n  {one}: shape {one.type.shape}" for one in operands)
        return ShapeError(
            f"{self}: the operands do not fit together.{shown}\nTwo are matrices, or a matrix and "
            "a vector; what is added has the rank of their product, and a size is that of the "
            "product, or 1 by its type if it is not overwritten. For all else write alpha * "
            "pt.dot(x, y) + c."
        )

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Take the shape of the product; that of what is added is equal, or broadcasts."""
        (lengths,) = _dot.output_shapes(shapes)
        if len(shapes.inputs) < 4:
            return [lengths]
        result = list(lengths)
        for dim, size in enumerate(shapes.shapes[3]):
            if not shapes.broadcasts(3, dim):
                misfit = Misfit.in_dimension("broadcast", dim)
                result[dim] = shapes.equal(result[dim], size, misfit)
        return [tuple(result)]

    def misfit_subject(self, misfit: Misfit, shapes: Shapes[Any]) -> str:
        """Name the factors, or a dimension of the sum."""
        if misfit.kind == "dot":
            return _dot.misfit_subject(misfit, shapes)
        added = shapes.inputs[3]
        return f"Add: the sizes of dimension {misfit.dim} of the product and of {added}"

    def misfit_error(self, misfit: Misfit, shapes: Shapes[Any]) -> Exception:
        """Return the errors of the product and of the sum that the user wrote."""
        factors, (of_x, of_y) = shapes.inputs[:2], shapes.shapes[:2]
        if misfit.kind == "dot":
            return misfit_of(_dot, factors, (of_x, of_y))
        product = _dot(*factors)
        product.name = str(product.owner)
        sizes = (*of_x[:-1], *of_y[1:])
        operands = [product, shapes.inputs[3]]
        return operands_misfit("Add", operands, (sizes, shapes.shapes[3]), misfit.dim)

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Multiply with NumPy; when also adding, call SciPy's BLAS."""
        x, y, alpha, *added = inputs
        cell = output_storage[0]
        (shape,) = self.shapes_of_results(node.inputs, [value.shape for value in inputs])
        out = fitting(cell[0], shape, x.dtype)
        if not added:
            out = np.dot(x, y, out=out)
            cell[0] = np.multiply(out, alpha, out=out)
            return
        if self.inplace:
            out = added[0]
        else:
            out = np.empty(shape, x.dtype) if out is None else out
            np.copyto(out, added[0])
        _accumulate(x, y, alpha, out)
        cell[0] = out

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Pass the gradient on to ``c``; the scaled gradient is that of the product."""
        x, y, alpha, *added = inputs
        (g,) = output_grads
        product = _dot(x, y)
        of_factors = _dot.L_op([x, y], [product], [conjugate(alpha) * g])
        return [*of_factors, sum(g * conjugate(product)), *(sum_to(g, c) for c in added)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """d(a X Y + C) = a dX Y + a X dY + da X Y + dC"""
        terms: list[Any] = []
        for at, direction in enumerate(eval_points):
            if is_missing(direction):
                continue
            if at == 3:
                terms.append(direction)
            else:
                x, y, alpha = (*inputs[:at], direction, *inputs[at + 1 : 3])
                terms.append(alpha * _dot(x, y))
        return [add_all(terms) if terms else None]

    def flops(self, input_shapes: Sequence[Any], output_shapes: Sequence[Any]) -> int:
        """Return the flops of the product; adding ``c`` costs no more than adding 0 would."""
        return _dot.flops(input_shapes, output_shapes)


def _accumulate(x: Any, y: Any, alpha: Any, out: Any) -> None:
    """Add ``alpha * dot(x, y)`` to ``out``."""
    if not out.flags.carray or not out.size or not x.size:  # BLAS would not add to these in place
        out += alpha * np.dot(x, y)
        return
    blas = import_whole("scipy.linalg.blas")
    letter = BLAS_LETTERS[out.dtype.name]
    if out.ndim == 2:  # BLAS is column-major, so it is given the transposes
        (first, first_is_apart), (second, second_is_apart) = map(_by_columns, (y.T, x.T))
        getattr(blas, f"{letter}gemm")(
            alpha, first, second, 1, out.T, first_is_apart, second_is_apart, overwrite_c=True
        )
        return
    matrix, vector = (x, y) if y.ndim == 1 else (y.T, x)
    columns, is_apart = _by_columns(matrix)
    getattr(blas, f"{letter}gemv")(alpha, columns, vector, 1, out, trans=is_apart, overwrite_y=True)


def _by_columns(matrix: Any) -> tuple[Any, bool]:
    """Return a matrix or its transpose, with contiguous columns; and whether it was transposed."""
    return (matrix, False) if matrix.flags.f_contiguous else (matrix.T, True)
