"""Factors of square sparse matrices, by SuperLU of SciPy, as values of graphs.

A graph factorizes a matrix once, however many systems, determinants and gradients need it: equal
nodes are merged, and the factors of a constant matrix are computed when a function is compiled.
Factors stay inside of graphs.

References
----------
J. W. Demmel, S. C. Eisenstat, J. R. Gilbert, X. S. Li, J. W. H. Liu, A supernodal approach to
sparse partial pivoting, SIAM Journal on Matrix Analysis and Applications 20 (1999), 720-755.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ShapeError, TypeContractError
from phintys._base.late import LateModule
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.graph.op import Op
from phintys.graph.type import Type
from phintys.sparse.patterns import check_pattern
from phintys.sparse.type import sp
from phintys.tensor.convert import as_tensor_variable

if TYPE_CHECKING:
    import scipy.sparse.linalg as sl
else:
    sl = LateModule("scipy.sparse.linalg")

ROUNDING = 1e-5
"""By how much of the largest element a matrix may differ from its adjoint."""

_POSITIVE: dict[str, Any] = {
    "diag_pivot_thresh": 0.0,
    "permc_spec": "MMD_AT_PLUS_A",
    "options": {"SymmetricMode": True},
}
"""SuperLU's settings for matrices that need no exchange of rows."""


class Factors:
    """The factors of a square matrix, which is given as the arrays of the format csc.

    Parameters
    ----------
    data, indices, indptr
        The matrix.
    is_positive
        Whether it is symmetric and positive definite: rows are exchanged as columns are.

    Attributes
    ----------
    problem : str
        Why there are no factors with which to solve; empty if there are.
    """

    def __init__(self, data: Any, indices: Any, indptr: Any, is_positive: bool) -> None:
        self.arrays = (data, indices, indptr)
        self.is_positive = is_positive
        self._factorize()

    def _factorize(self) -> None:
        n = len(self.arrays[2]) - 1
        matrix = sp.csc_array(self.arrays, shape=(n, n))
        self._lu: Any = None
        self.problem = ""
        try:
            self._lu = sl.splu(matrix, **(_POSITIVE if self.is_positive else {})) if n else None
        except RuntimeError:
            self.problem = "is singular (or has elements that are not numbers)"
        if self.is_positive and not _is_symmetric(matrix):
            self.problem = "is not symmetric"
        elif self.is_positive and (self.problem or not self._has_positive_pivots()):
            self.problem = "is not positive definite"

    def _has_positive_pivots(self) -> bool:
        """Return whether the matrix is positive definite; it is if no row had to be exchanged."""
        if self._lu is None:
            return True
        pivots = self._lu.U.diagonal()
        is_real = np.isreal(pivots).all()
        same = np.array_equal(self._lu.perm_r, self._lu.perm_c)
        return bool(same and is_real and (pivots.real > 0).all())

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.arrays[2]) - 1

    @property
    def lu(self) -> Any:
        """SciPy's object; an error is raised if there is none.

        Raises
        ------
        numpy.linalg.LinAlgError
            The matrix is singular, or not positive definite.
        """
        if self.problem:
            msg = f"The sparse matrix {self.problem}."
            raise np.linalg.LinAlgError(msg)
        return self._lu

    def solve(self, b: Any, transposed: bool) -> Any:
        """Return the solution for one right side or for several, the columns of a matrix."""
        lu = self.lu
        return lu.solve(np.asarray(b), "T" if transposed else "N") if b.size else b.copy()

    def __repr__(self) -> str:
        entries = len(self.arrays[0])
        problem = f", which {self.problem}" if self.problem else ""
        return f"Factors of a sparse matrix of {self.size} rows with {entries} entries{problem}"

    def __getstate__(self) -> dict[str, Any]:
        return {"arrays": self.arrays, "is_positive": self.is_positive}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._factorize()


def _is_symmetric(matrix: Any) -> bool:
    """Return whether a csc matrix equals its adjoint up to rounding."""
    rows = matrix.tocsr()  # its arrays are those of the transpose by columns
    patterns = (rows.indptr, matrix.indptr), (rows.indices, matrix.indices)
    if all(np.array_equal(mine, its) for mine, its in patterns):
        away = rows.data.conj() - matrix.data
    else:
        away = (matrix - matrix.T.conj().tocsc()).data
    if not away.size:
        return True
    return bool(np.abs(away).max() <= ROUNDING * np.abs(matrix.data).max())


class FactorType(Type):
    """The type of factors."""

    __props__ = ()

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return factors as they are."""
        if not isinstance(value, Factors):
            msg = f"Expected the factors of a sparse matrix, got {type(value).__name__}."
            raise TypeContractError(msg)
        return value

    def values_eq(self, a: Any, b: Any) -> bool:
        """Return whether the factors are those of equal matrices."""
        return a.is_positive == b.is_positive and all(
            np.array_equal(x, y) for x, y in zip(a.arrays, b.arrays, strict=True)
        )

    @staticmethod
    def may_share_memory(a: Any, b: Any) -> bool:
        """Return whether it is the same object; nothing overwrites factors."""
        return a is b

    def __repr__(self) -> str:
        return "Factors"


class Factorize(Op):
    """The factors of a matrix of the format csc: ``(data, indices, indptr, rows)``.

    Factors have no derivative: what is computed with them also takes the elements.

    Parameters
    ----------
    is_positive
        As for :class:`Factors`.
    """

    __props__ = ("is_positive",)

    def __init__(self, is_positive: bool = False) -> None:
        self.is_positive = is_positive

    def make_node(self, *inputs: Any) -> Apply:
        """Build a node for the arrays and the number of rows."""
        return Apply(self, [as_tensor_variable(v) for v in inputs], [FactorType()()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Factorize copies of the arrays."""
        data, indices, indptr, rows = inputs
        if rows != len(indptr) - 1:
            msg = f"The sparse matrix must be square, got {rows} and {len(indptr) - 1} as sizes."
            raise ShapeError(msg)
        check_pattern(self, indices, indptr, int(rows))
        arrays = (data.copy(), indices.copy(), indptr.copy())
        output_storage[0][0] = Factors(*arrays, self.is_positive)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Factors have no derivative."""
        return [[False] for _ in node.inputs]

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        """Return nothing."""
        return [disconnected_type() for _ in inputs]

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        """Return nothing."""
        return [None]
