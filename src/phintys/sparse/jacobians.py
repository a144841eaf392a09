"""Sparse Jacobians and Hessians as sparse variables."""

from __future__ import annotations

from typing import Any

from phintys.gradient.patterns.compressed import compressed_hessian, compressed_jacobian
from phintys.sparse.operations import from_parts


def sparse_jacobian(expression: Any, wrt: Any, **options: Any) -> Any:
    """Return a Jacobian as a sparse matrix, whose constant pattern follows from the graph.

    Parameters
    ----------
    expression, wrt, options
        As for :func:`phintys.gradient.compressed_jacobian`, which computes the elements.

    Returns
    -------
    SparseVariable
        A csr matrix of shape ``(expression.size, wrt.size)``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys import sparse
    >>> x = pt.dvector("x")
    >>> J = sparse.sparse_jacobian(x[1:] * x[:-1], x, sizes={x: 3})
    >>> J.toarray().eval({x: [1.0, 2.0, 3.0]})
    array([[2., 1., 0.],
           [0., 3., 2.]])
    """
    return _matrix(compressed_jacobian(expression, wrt, **options))


def sparse_hessian(cost: Any, wrt: Any, **options: Any) -> Any:
    """Return a Hessian as a sparse matrix, whose constant pattern follows from the graph.

    Parameters
    ----------
    cost, wrt, options
        As for :func:`phintys.gradient.compressed_hessian`, which computes the elements.

    Returns
    -------
    SparseVariable
        A symmetric csr matrix of shape ``(wrt.size, wrt.size)``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys import sparse
    >>> x = pt.dvector("x")
    >>> H = sparse.sparse_hessian((x[1:] * x[:-1] ** 2).sum(), x, sizes={x: 3})
    >>> H.toarray().eval({x: [1.0, 2.0, 3.0]})
    array([[4., 2., 0.],
           [2., 6., 4.],
           [0., 4., 0.]])
    """
    return _matrix(compressed_hessian(cost, wrt, **options))


def _matrix(found: Any) -> Any:
    pattern = found.pattern
    return from_parts(found.data, pattern.indices, pattern.indptr, pattern.shape)
