"""Lowering of eigenvalues of any matrices to calls of LAPACK."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from phintys.backends.native.limits import LAPACK_PANEL
from phintys.backends.native.lower.linear_algebra import Operands, count_of, matrix_failure, turned
from phintys.backends.native.lower.lowering import Lowering, lowers
from phintys.backends.native.lower.view import View
from phintys.backends.native.routines.decompositions import GEEV
from phintys.backends.native.steps.call import LibraryCall
from phintys.graph.apply import Apply
from phintys.tensor.linear_algebra.eigen import Eig, Eigvals

if TYPE_CHECKING:
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array


@lowers(Eig, Eigvals)
def lower_eig(op: Eig | Eigvals, node: Apply, lowering: Lowering) -> None:
    """A column-major copy, which is overwritten."""
    sizes = lowering.sizes
    (a,), core, _ = Operands.of(op, node, lowering)
    n = core["n"]
    columns = lowering.copied(turned(a, lowering), node)
    values, _ = lowering.compute(node.outputs[0], [*a.sizes[:-2], n])
    outputs = [columns.array, values.array]
    if len(node.outputs) > 1:
        vectors = lowering.array(values.array.dtype, (*a.sizes[:-2], n, n))
        outputs.append(vectors)
        lowering.bind(node.outputs[1], turned(View.of(vectors, sizes), lowering))
    is_nan = op.on_error == "nan"
    options = {
        "n": n,
        "count": count_of(a.sizes[:-2], lowering),
        "move": sizes.mul(n, n),
        "nan": is_nan,
    }
    workspace = _workspace(a.array.dtype, n, lowering, wants_vectors=len(outputs) > 2)
    detail = "an element is not finite, or no convergence (status {0}), for matrix {1}"
    failure = matrix_failure(node, detail, is_nan)
    lowering.steps.append(LibraryCall(GEEV, (), tuple(outputs), options, node, workspace, failure))


def _workspace(
    dtype: np.dtype, n: Size, lowering: Lowering, *, wants_vectors: bool
) -> tuple[Array, ...]:
    """Return room for numbers, for two vectors of floats, and for real eigenvectors."""
    sizes = lowering.sizes
    room = sizes.add(sizes.mul(sizes.fixed(LAPACK_PANEL), n), sizes.fixed(1))
    arrays = [lowering.array(dtype, (room,))]
    twice = sizes.add(sizes.mul(sizes.fixed(2), n), sizes.fixed(1))
    arrays.append(lowering.array(dtype.type(0).real.dtype, (twice,)))
    if wants_vectors and dtype.kind == "f":
        arrays.append(lowering.array(dtype, (sizes.mul(n, n),)))
    return tuple(arrays)
