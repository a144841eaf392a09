"""Lowering of Schur forms, and of equations of matrices in such forms, to calls of LAPACK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.native.limits import LAPACK_PANEL
from phintys.backends.native.lower.linear_algebra import (
    Operands,
    count_of,
    matrix_failure,
    turned,
)
from phintys.backends.native.lower.lowering import Lowering, lowers
from phintys.backends.native.lower.view import View
from phintys.backends.native.routines.schur_forms import GEES, GGES, TRSYL
from phintys.backends.native.steps.call import LibraryCall
from phintys.graph.apply import Apply
from phintys.tensor.linear_algebra.schur import QZ, QuasiTriangularSylvester, Schur

if TYPE_CHECKING:
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array


FAILED = (
    "an element is not finite, or no convergence, or eigenvalues cannot be put in order (status "
    "{0}), for matrix {1}"
)


@lowers(Schur, QZ)
def lower_schur_form(op: Schur | QZ, node: Apply, lowering: Lowering) -> None:
    """Column-major copies, which become the forms, and unitary matrices."""
    sizes = lowering.sizes
    given, core, lengths = Operands.of(op, node, lowering)
    n = core["n"]
    dtype: Any = node.outputs[0].type.numpy_dtype  # pyright: ignore[reportAttributeAccessIssue]
    shape = [*lengths, n, n]
    forms = [lowering.copied(turned(view, lowering), node, dtype) for view in given]
    vectors = [View.of(lowering.array(dtype, shape), sizes) for _ in given]
    is_nan = op.on_error == "nan"
    options = {
        "n": n,
        "count": count_of(lengths, lowering),
        "move": sizes.mul(n, n),
        "sort": op.sort,
        "nan": is_nan,
    }
    routine = GEES if isinstance(op, Schur) else GGES
    workspace = workspace_of_form(dtype, n, lowering)
    outputs = tuple(view.array for view in (*forms, *vectors))
    failure = matrix_failure(node, FAILED, is_nan)
    lowering.steps.append(LibraryCall(routine, (), outputs, options, node, workspace, failure))
    for variable, view in zip(node.outputs, (*forms, *vectors), strict=True):
        lowering.bind(variable, turned(view, lowering))


def workspace_of_form(dtype: np.dtype[Any], n: Size, lowering: Lowering) -> tuple[Array, ...]:
    """Return room for numbers, eigenvalues, flags and floats; some for pairs alone."""
    sizes = lowering.sizes

    def room(own: Any, count: int) -> Array:
        length = sizes.add(sizes.mul(sizes.fixed(count), n), sizes.fixed(16))
        return lowering.array(own, (length,))

    arrays = (room(dtype, LAPACK_PANEL + 8), room(dtype, 3), room("int32", 1))
    return (*arrays, room(dtype.type(0).real.dtype, 8)) if dtype.kind == "c" else arrays


@lowers(QuasiTriangularSylvester)
def lower_quasi_triangular_sylvester(
    op: QuasiTriangularSylvester, node: Apply, lowering: Lowering
) -> None:
    """A column-major copy of the right side, which becomes the solution."""
    sizes = lowering.sizes
    (r, s, q), core, lengths = Operands.of(op, node, lowering)
    m, n = core["m"], core["n"]
    first, second = (lowering.contiguous(turned(view, lowering)) for view in (r, s))
    columns = lowering.copied(turned(q, lowering), node)
    is_nan = op.on_error == "nan"
    options = {
        "m": m,
        "n": n,
        "count": count_of(lengths, lowering),
        "r_move": sizes.mul(m, m),
        "s_move": sizes.mul(n, n),
        "x_move": sizes.mul(m, n),
        "turn_r": op.turn_r,
        "turn_s": op.turn_s,
        "nan": is_nan,
    }
    detail = "matrix {1} and the negative of the second one have a common eigenvalue (status {0})"
    failure = matrix_failure(node, detail, is_nan)
    inputs, outputs = (first.array, second.array), (columns.array,)
    lowering.steps.append(LibraryCall(TRSYL, inputs, outputs, options, node, failure=failure))
    lowering.bind(node.outputs[0], turned(columns, lowering))
