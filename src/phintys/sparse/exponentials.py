"""Exponentials of sparse matrices, multiplied with vectors.

References
----------
A. H. Al-Mohy, N. J. Higham, Computing the action of the matrix exponential, with an application to
exponential integrators, SIAM Journal on Scientific Computing 33 (2011), 488-511.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import phintys.tensor as pt
from phintys._base.errors import ShapeError
from phintys.control import fori_loop
from phintys.gradient import disconnected_grad
from phintys.sparse.operations import as_sparse_variable, dense_from_sparse, diag, dot, is_sparse
from phintys.sparse.parts import parts
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.observing import CheckAndRaise

_DEGREES = np.arange(5, 56, 5)
_NORMS = {
    "float64": (2.4e-3, 1.4e-1, 6.4e-1, 1.4, 2.4, 3.5, 4.7, 6.0, 7.2, 8.5, 9.9),
    "float32": (1.3e-1, 1.0, 2.2, 3.6, 4.9, 6.3, 7.7, 9.1, 11.0, 12.0, 13.0),
}
"""For each degree, the largest norm of a matrix at which a Taylor polynomial is as accurate as the
numbers are (table 3.1)."""


def expm_multiply(A: Any, b: Any, max_products: int = 100_000) -> Any:
    """Return ``expm(A) @ b``, without the exponential itself (Al-Mohy, Higham, 2011).

    It is a native loop of products with A, as many as the norm of A asks for: about six for each
    unit of the largest sum of a column. Derivatives run through the loop.

    Parameters
    ----------
    A
        A square sparse matrix.
    b
        A vector, or a matrix of several ones.
    max_products
        The most products.

    Returns
    -------
    TensorVariable
        A dense tensor of the shape of b.

    Raises
    ------
    ShapeError
        A is not square, or b has another number of rows.
    OverflowError
        More than ``max_products`` are needed, or the norm of A is not finite.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from phintys import sparse
    >>> A = scipy.sparse.csr_array([[np.log(2.0), 0.0], [0.0, 0.0]])
    >>> sparse.linalg.expm_multiply(A, [3.0, 4.0]).eval().round(6)
    array([6., 4.])
    """
    A = as_sparse_variable(A)
    b = dense_from_sparse(b) if is_sparse(b) else as_tensor_variable(b)
    form = parts(A)
    if None not in form.static and form.static[0] != form.static[1]:
        msg = f"expm_multiply: the sparse matrix must be square, got shape {form.static}."
        raise ShapeError(msg)
    dtype = pt.promote_types(pt.promote_types(A.dtype, b.dtype), "float32")
    kind = "float32" if dtype in {"float32", "complex64"} else "float64"
    n = pt.specify_shape(b, (form.size(0), *b.type.shape[1:])).shape[0]
    # The result does not depend on the shift, which makes the norm smaller.
    shift = disconnected_grad(pt.cast(diag(A).sum() / pt.maximum(n, 1), dtype))
    degree, count = _plan(_norm(form, shift), kind, max_products)
    factor = pt.cast(pt.exp(shift / count), dtype)

    def step(i: Any, carry: Any) -> Any:
        total, term = carry
        k = i % degree + 1
        scale = pt.cast(1 / (count * k), dtype)
        term = scale * (dot(A, term) - shift * term)
        total = total + term
        ends = pt.eq(k, degree)
        total = pt.where(ends, factor * total, total)
        return total, pt.where(ends, total, term)

    start = pt.cast(b, dtype)
    total, _ = fori_loop(0, degree * count, step, (start, start), name="expm_multiply")
    return total


def _norm(form: Any, shift: Any) -> Any:
    """Return an upper bound of the 1-norm of a shifted matrix."""
    on_it = pt.eq(form.rows, form.columns)
    others = pt.where(on_it, 0, abs(form.data))
    sums = pt.segment_sum(others, form.columns, form.size(1))
    diagonal = abs(diag(form.variable) - shift)
    return (sums + diagonal).max(initial=0)


def _plan(norm: Any, kind: str, most: int) -> tuple[Any, Any]:
    """Return the degree of the polynomial, and how often it is applied, for the least products."""
    wanted = pt.ceil(pt.cast(norm, "float64") / pt.constant(np.array(_NORMS[kind])))
    counts = pt.maximum(wanted, 1)
    products = counts * _DEGREES
    best = pt.argmin(products)
    least = products[best]
    msg = (
        "expm_multiply: the norm of the matrix is not finite, or so large that more than "
        f"max_products={most} are needed."
    )
    checked = CheckAndRaise(OverflowError, msg)(best, least <= most)
    return pt.constant(_DEGREES)[checked], pt.cast(counts[checked], "int64")
