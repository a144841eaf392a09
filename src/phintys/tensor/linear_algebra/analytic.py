"""The derivatives of analytic functions of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from phintys.tensor.creation import zeros_like
from phintys.tensor.joining import concatenate
from phintys.tensor.linear_algebra.matrix_op import MatrixOp, adjoint
from phintys.tensor.shapes import sizes_of


class AnalyticMatrixOp(MatrixOp):
    """An Op that computes an analytic function ``f`` of square matrices.

    Its derivative at A in a direction E is a block of the same function of a matrix twice as large
    (N. J. Higham, *Functions of Matrices*, SIAM 2008, theorem 3.6).
    """

    signature = "(n,n)->(n,n)"

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """Differentiate in the direction of the gradient at ``A^H``."""
        return [self._derivative(adjoint(inputs[0]), gradients[0])]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """Differentiate in a direction."""
        return [self._derivative(inputs[0], tangents[0])]

    def _derivative(self, a: Any, direction: Any) -> Any:
        """Return the block at the upper right of ``f([[A, E], [0, A]])``."""
        above = concatenate([a, direction], axis=-1)
        below = concatenate([zeros_like(a), a], axis=-1)
        n = sizes_of(a)[-1]
        return self(concatenate([above, below], axis=-2))[..., :n, n:]
