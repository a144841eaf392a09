"""Old names of BLAS operations, as expressions that rewrites turn into BLAS calls.

The functions that overwrote their first operand no longer do so; backends decide where
overwriting is safe.
"""

from __future__ import annotations

from typing import Any

import phintys.tensor as pt

__all__ = ["dot22scalar", "gemm", "gemv", "ger"]


def gemm(z: Any, a: Any, x: Any, y: Any, b: Any) -> Any:
    """Return ``b * z + a * dot(x, y)``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> one = pt.ones((2, 2))
    >>> gemm(one, 10.0, one, one, 3.0).eval()
    array([[23., 23.],
           [23., 23.]])
    """
    return b * pt.as_tensor_variable(z) + a * pt.dot(x, y)


def gemv(y: Any, alpha: Any, A: Any, x: Any, beta: Any) -> Any:
    """Return ``beta * y + alpha * dot(A, x)``."""
    return gemm(y, alpha, A, x, beta)


def ger(A: Any, alpha: Any, x: Any, y: Any) -> Any:
    """Return ``A + alpha * outer(x, y)``."""
    return pt.as_tensor_variable(A) + alpha * pt.outer(x, y)


def dot22scalar(x: Any, y: Any, a: Any) -> Any:
    """Return ``a * dot(x, y)``."""
    return a * pt.dot(x, y)
