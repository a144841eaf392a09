"""Lowering of products of vectors and matrices: calls of BLAS, or sums where it has no routine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys.backends.native.expressions import Conversion, Expression, Literal, Operation
from phintys.backends.native.limits import MOST_BY_COLUMNS
from phintys.backends.native.lower.lowering import Lowering, lowers
from phintys.backends.native.lower.overwriting import Base, base_of
from phintys.backends.native.lower.shape_rules import NativeShapes
from phintys.backends.native.lower.view import MatrixView, Strided, View
from phintys.backends.native.routines.products import GEMM, GEMV, SYRK, Product
from phintys.backends.native.steps.call import LibraryCall
from phintys.backends.native.values import Array
from phintys.graph.apply import Apply
from phintys.tensor.blas import BLAS_LETTERS, Gemm
from phintys.tensor.products import BatchedDot, Dot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.sizes import Size, Sizes


def _vector(view: View, letter: str, lowering: Lowering) -> tuple[Array, dict[str, Any]]:
    """Return a vector that BLAS supports, and the options of a call that describe it."""
    strided = Strided.of(view, lowering.sizes)
    if strided is None or (strided.strides[0] is None and view.sizes[0].known != 1):
        strided = Strided.of(lowering.copied(view), lowering.sizes)
        assert strided is not None
    step = strided.strides[0] or lowering.sizes.fixed(1)
    return strided.array, {f"{letter}_offset": strided.offset, f"{letter}_step": step}


# ---- products ----------------------------------------------------------------------------------


def _operands(node: Apply, lowering: Lowering) -> tuple[View, View]:
    """Return the operands in the dtype of the result."""
    dtype: Any = node.outputs[0].type.numpy_dtype  # pyright: ignore[reportAttributeAccessIssue]
    x, y = (lowering.view(variable) for variable in node.inputs)
    if dtype.name not in BLAS_LETTERS:
        return x, y
    return (
        x if x.array.dtype == dtype else lowering.copied(x, node, dtype),
        y if y.array.dtype == dtype else lowering.copied(y, node, dtype),
    )


@lowers(Dot)
def lower_dot(op: Dot, node: Apply, lowering: Lowering) -> None:
    """``out[i, j] = sum(k) x[i, k] y[k, j]``."""
    shapes = NativeShapes(node, lowering)
    (lengths,) = op.output_shapes(shapes)
    x, y = shapes.views
    dtype: Any = node.outputs[0].type.numpy_dtype  # pyright: ignore[reportAttributeAccessIssue]
    if dtype.name not in BLAS_LETTERS or x.ndim == y.ndim == 1:
        _sum_of_products(node, x, y, lowering)
        return
    x, y = _operands(node, lowering)
    target, _ = lowering.compute(node.outputs[0], lengths)
    _multiply(x, y, target, {}, node, lowering)


@lowers(Gemm)
def lower_gemm(op: Gemm, node: Apply, lowering: Lowering) -> None:
    """``out[i, j] = alpha sum(k) x[i, k] y[k, j] + c[i, j]``."""
    shapes = NativeShapes(node, lowering)
    (lengths,) = op.output_shapes(shapes)
    x, y, alpha = shapes.views[:3]
    if len(node.inputs) == 3:
        target, _ = lowering.compute(node.outputs[0], lengths)
        _multiply(x, y, target, {"alpha": _factor(alpha, lowering)}, node, lowering)
        return
    base = _added(node, lengths, lowering)
    x, y, alpha = (base.settled(view, lowering) for view in (x, y, alpha))
    options = {"alpha": _factor(alpha, lowering), "beta": 1}
    _multiply(x, y, base.view, options, node, lowering)


def _factor(alpha: View, lowering: Lowering) -> Any:
    """Return a number, or the array that holds it."""
    value = lowering.load(alpha, ())
    return value.value.item() if isinstance(value, Literal) else lowering.contiguous(alpha).array


def _added(node: Apply, lengths: Sequence[Size], lowering: Lowering) -> Base:
    """Return memory initialized with the array that a product is added to."""
    sizes = lowering.sizes
    variable: Any = node.inputs[3]
    c = lowering.view(variable)
    static = variable.type.shape
    if all(one != 1 or length.known == 1 for one, length in zip(static, lengths, strict=True)):
        return base_of(node, variable, lowering)
    target, loops = lowering.compute(node.outputs[0], lengths)
    shown = c.broadcast(target.sizes, sizes)
    lowering.store(target, lowering.load(shown, loops), loops, nodes=(node,))
    return Base(target)


def _multiply(
    x: View, y: View, target: View, options: dict[str, Any], node: Apply, lowering: Lowering
) -> None:
    """Multiply two matrices, or a matrix and a vector, by BLAS."""
    if x.ndim == y.ndim:
        _gemm(x, y, target, options, node, lowering)
        return
    if x.ndim == 1:
        x, y = y.rearranged((1, 0), lowering.sizes), x
    matrix = lowering.matrix(x)
    vector, of_vector = _vector(y, "x", lowering)
    options |= of_vector | {"m": x.sizes[0], "n": x.sizes[1], **matrix.options("a")}
    packed = None if matrix.is_transposed else _packed(x, node, lowering)
    if packed is not None:
        options["packed"] = packed
    _call(GEMV, (matrix.strided.array, vector), target, options, node, lowering)


def _packed(x: View, node: Apply, lowering: Lowering) -> Array | None:
    """Return the columns of a matrix, copied before the loop of steps around its product.

    The array is empty if the matrix is not small. ``None`` if there is no such loop.
    """
    sizes = lowering.sizes
    with lowering.before_steps(x) as is_outside:
        if not is_outside:
            return None
        m, n = x.sizes
        most = sizes.fixed(MOST_BY_COLUMNS + 1)
        is_small = sizes.arithmetic("lt", sizes.mul(m, n), most)
        lengths = sizes.mul(is_small, n), sizes.mul(is_small, m)
        target = View.of(lowering.array(x.array.dtype, lengths), sizes)
        loops = lowering.loops(lengths)
        columns = x.rearranged((1, 0), sizes)
        lowering.store(target, lowering.load(columns, loops), loops, nodes=(node,))
        return target.array


def _call(
    routine: Product,
    inputs: tuple[Array, ...],
    target: View,
    options: dict[str, Any],
    node: Apply,
    lowering: Lowering,
) -> None:
    """Add a call of BLAS; a factor computed at run time is an additional input."""
    alpha = options.get("alpha")
    inputs += tuple(options[name] for name in ("packed",) if name in options)
    if isinstance(alpha, Array):
        inputs = (*inputs, alpha)
    lowering.add(LibraryCall(routine, inputs, (target.array,), options, node))


def _gemm(
    x: View,
    y: View,
    target: View,
    options: dict[str, Any],
    node: Apply,
    lowering: Lowering,
    matrices: tuple[MatrixView, MatrixView] | None = None,
) -> None:
    a, b = matrices or (lowering.matrix(x), lowering.matrix(y))
    options |= {
        "m": x.sizes[-2],
        "n": y.sizes[-1],
        "k": x.sizes[-1],
        **a.options("a"),
        **b.options("b"),
        "c_stride": target.sizes[-1],
    }
    is_plain = not {"alpha", "beta", "batch"} & set(options)
    routine = SYRK if is_plain and _is_transpose(a, b) else GEMM
    _call(routine, (a.strided.array, b.strided.array), target, options, node, lowering)


def _is_transpose(a: MatrixView, b: MatrixView) -> bool:
    """Return whether two real matrices are the transposes of each other, in the same memory."""
    one, other = a.strided, b.strided
    return (
        one.array is other.array
        and one.array.dtype.kind == "f"
        and one.offset is other.offset
        and a.stride is b.stride
        and a.is_transposed is not b.is_transposed
    )


@lowers(BatchedDot)
def lower_batched_dot(op: BatchedDot, node: Apply, lowering: Lowering) -> None:
    """``out[b, i, j] = sum(k) x[b, i, k] y[b, k, j]``."""
    sizes = lowering.sizes
    shape = op.output_shapes(NativeShapes(node, lowering))[0]
    lengths = shape[:-2]
    x, y = (
        view.broadcast([*lengths, *view.sizes[-2:]], sizes) for view in _operands(node, lowering)
    )
    dtype: Any = node.outputs[0].type.numpy_dtype  # pyright: ignore[reportAttributeAccessIssue]
    if dtype.name not in BLAS_LETTERS:
        _sum_of_products(node, x, y, lowering)
        return
    target, _ = lowering.compute(node.outputs[0], shape)
    a, b = lowering.matrix(x), lowering.matrix(y)
    zero = sizes.fixed(0)
    batch: list[tuple[Size, Size, Size, Size]] = []
    width = sizes.mul(x.sizes[-2], y.sizes[-1])
    for axis in reversed(range(len(lengths))):
        moves = [matrix.strided.strides[axis] or zero for matrix in (a, b)]
        batch.insert(0, (lengths[axis], moves[0], moves[1], width))
        width = sizes.mul(width, lengths[axis])
    _gemm(x, y, target, {"batch": _merged(batch, sizes)}, node, lowering, (a, b))


def _merged(batch: Sequence[tuple[Size, ...]], sizes: Sizes) -> tuple[tuple[Size, ...], ...]:
    """Return the axes of a stack, of which adjacent ones that are evenly spaced are one axis.

    Threads share the products of a single axis.
    """
    merged: list[tuple[Size, ...]] = []
    for entry in batch:
        if merged:
            count, *moves = entry
            (outer, *steps) = merged[-1]
            if all(
                sizes.canonical(sizes.mul(count, move)) is sizes.canonical(step)
                for move, step in zip(moves, steps, strict=True)
            ):
                merged[-1] = (sizes.mul(outer, count), *moves)
                continue
        merged.append(entry)
    return tuple(merged)


def _sum_of_products(node: Apply, x: View, y: View, lowering: Lowering) -> None:
    """Multiply without BLAS: the product of each pair of elements, and their sum.

    Products of bools are ``any(x & y)``; float16 is accumulated in float32. Both operands have the
    axes of a stack, if any.
    """
    sizes = lowering.sizes
    batch = max(x.ndim - 2, 0)
    lengths = [*x.sizes[:batch], *x.sizes[batch:-1]]
    inner = len(lengths)
    lengths.append(x.sizes[-1])
    columns = y.ndim - batch == 2
    if columns:
        lengths.append(y.sizes[-1])
    shown_y = y.rearranged([*range(batch), *[None] * (inner - batch), *range(batch, y.ndim)], sizes)
    shown_x = x.rearranged([*range(x.ndim), *[None] * columns], sizes)
    loops = lowering.loops(lengths)
    dtype: Any = node.outputs[0].type.numpy_dtype  # pyright: ignore[reportAttributeAccessIssue]
    wide = np.dtype("float32") if dtype == np.float16 else dtype
    operands = [lowering.load(view.broadcast(lengths, sizes), loops) for view in (shown_x, shown_y)]
    cast = [value if value.dtype == wide else Conversion(value, wide) for value in operands]
    is_bool = wide == np.bool_
    value: Expression = Operation(ps.and_ if is_bool else ps.mul, tuple(cast), wide)
    kept = [loop for axis, loop in enumerate(loops) if axis != inner]
    target, _ = lowering.compute(
        node.outputs[0], [size for axis, size in enumerate(lengths) if axis != inner]
    )
    lowering.store(
        target,
        value,
        loops,
        reduction=[loops[inner]],
        reducer="or_" if is_bool else "add",
        positions=target.indices(kept),
        nodes=(node,),
    )
