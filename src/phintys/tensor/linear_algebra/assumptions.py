"""What a program states of its matrices: ``assume(x, "positive_definite")``.

The compiler finds most structure by itself: that of factors, products with a transpose, diagonal
matrices. What it cannot see is stated by :func:`assume`, which costs nothing in compiled code, and
is checked in DebugMode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, DebugModeError
from phintys.graph.apply import Apply
from phintys.tensor._rules import is_missing
from phintys.tensor.linear_algebra.matrix_op import as_matrices
from phintys.tensor.shape_rules import KeepsShape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.fgraph import FunctionGraph
    from phintys.tensor.variable import TensorVariable


class AssumptionError(DebugModeError):
    """A matrix is not what the program says that it is."""


def _adjoint(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


def _scale(x: Any) -> Any:
    """Return the largest absolute value, and the difference that rounding may have made."""
    largest = np.max(np.abs(x), initial=0.0)
    return largest * max(x.shape[-1], 1) * 32 * np.finfo(x.dtype).eps


def _close(x: Any, y: Any) -> bool:
    return bool(np.all((np.abs(x - y) <= _scale(x)) | (np.isnan(x) & np.isnan(y))))


def _is_zero(x: Any, columns: Any) -> bool:
    """Return whether matrices are zero where ``columns(rows, columns)`` is true."""
    rows, numbers = np.indices(x.shape[-2:], sparse=True)
    return not np.any(x[..., columns(rows, numbers)])


def _inverse_is(x: Any, other: Any) -> bool:
    n = x.shape[-1]
    tolerance = max(n, 1) * 256 * np.finfo(x.dtype).eps
    return bool(np.all(np.abs(other @ x - np.eye(n)) <= tolerance))


def _is_positive(x: Any) -> bool:
    if not _close(x, _adjoint(x)):
        return False
    values = np.linalg.eigvalsh(x)
    return not x.size or bool(np.all(values[..., 0] > 0))


def _is_semidefinite(x: Any) -> bool:
    if not _close(x, _adjoint(x)):
        return False
    return not x.size or bool(np.all(np.linalg.eigvalsh(x)[..., 0] >= -_scale(x)))


def _is_permutation(x: Any) -> bool:
    ones = x == 1
    return bool(np.all(ones | (x == 0)) and all(np.all(ones.sum(axis) == 1) for axis in (-1, -2)))


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "symmetric": lambda x: _close(x, np.swapaxes(x, -1, -2)),
    "hermitian": lambda x: _close(x, _adjoint(x)),
    "positive_definite": _is_positive,
    "positive_semidefinite": _is_semidefinite,
    "lower_triangular": lambda x: _is_zero(x, lambda i, j: i < j),
    "upper_triangular": lambda x: _is_zero(x, lambda i, j: i > j),
    "diagonal": lambda x: _is_zero(x, lambda i, j: i != j),
    "orthogonal": lambda x: _inverse_is(x, np.swapaxes(x, -1, -2)),
    "unitary": lambda x: _inverse_is(x, _adjoint(x)),
    "permutation": _is_permutation,
}

ASSUMPTIONS = tuple(_CHECKS)
"""The names of what can be assumed of square matrices."""

_IMPLIED = {
    "positive_definite": {"hermitian", "positive_semidefinite"},
    "positive_semidefinite": {"hermitian"},
    "diagonal": {"lower_triangular", "upper_triangular", "symmetric"},
    "permutation": {"orthogonal", "unitary"},
}


def structure_of_value(x: Any) -> frozenset[str]:
    """Return the names of what holds for the square matrices in an array, up to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> sorted(structure_of_value(np.array([[1.0, 0.0], [2.0, 1.0]])))
    ['lower_triangular']
    """
    x = np.asarray(x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2] or x.dtype.kind not in "biufc":
        return frozenset()
    if x.dtype.kind in "biu" or x.dtype == np.float16:
        x = x.astype("float64")
    if not np.isfinite(x).all():
        return frozenset()
    return frozenset(name for name, holds in _CHECKS.items() if holds(x))


def _closed(names: set[str], is_real: bool) -> set[str]:
    """Return all that follows from what is assumed."""
    found = set(names)
    alike = [("symmetric", "hermitian"), ("orthogonal", "unitary")] if is_real else []
    while True:
        before = len(found)
        for name in list(found):
            found |= _IMPLIED.get(name, set())
        if {"lower_triangular", "upper_triangular"} <= found:
            found.add("diagonal")
        if {"lower_triangular", "hermitian"} <= found or {"upper_triangular", "hermitian"} <= found:
            found.add("diagonal")
        for one, other in alike:
            if one in found or other in found:
                found |= {one, other}
        if len(found) == before:
            return found


class Assume(KeepsShape):
    """Return matrices unchanged, of which something is known.

    Parameters
    ----------
    *names
        Names from :data:`ASSUMPTIONS`.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.linear_algebra.assumptions import Assume
    >>> Assume("diagonal")(pt.dmatrix("x"))
    Assume{diagonal}.0
    """

    __props__ = ("names",)
    view_map = {0: [0]}

    def __init__(self, *names: str) -> None:
        for name in names:
            if name not in _CHECKS:
                msg = f"assume: expected one of {', '.join(ASSUMPTIONS)}; got {name!r}."
                raise ArgumentError(msg)
        self.names = tuple(sorted(set(names)))

    def __str__(self) -> str:
        return f"Assume{{{', '.join(self.names)}}}"

    def make_node(self, x: Any) -> Apply:
        """Apply to stacks of square matrices."""
        x = as_matrices(x, "assume")
        rows, columns = x.type.shape[-2:]
        if None not in {rows, columns} and rows != columns:
            msg = f"assume: {', '.join(self.names)} matrices are square, got {x} of type {x.type}."
            raise ArgumentError(msg)
        return Apply(self, [x], [x.type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Return the input."""
        output_storage[0][0] = inputs[0]

    def debug_perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Return the input, once it has been checked."""
        (x,) = inputs
        if x.shape[-1] != x.shape[-2]:
            msg = f"{self}: the matrices are not square: {node.inputs[0]} has shape {x.shape}."
            raise AssumptionError(msg)
        given = x.astype("float64") if x.dtype.kind in "biu" or x.dtype == np.float16 else x
        for name in self.names if np.isfinite(given).all() else ():
            for position in np.ndindex(x.shape[:-2]):
                if _CHECKS[name](given[position]):
                    continue
                at = f", at position {list(position)} of its stack," if position else ""
                msg = (
                    f"The matrix {node.inputs[0]}{at} is not {name.replace('_', ' ')}, as is "
                    f"assumed at\n  {node.origin}\nResults are wrong without this being true: "
                    "correct the value, or leave the assumption out."
                )
                raise AssumptionError(msg)
        output_storage[0][0] = x

    def do_constant_folding(self, fgraph: FunctionGraph | None, node: Apply) -> bool:
        """Return ``False``: what is known would be lost."""
        return False

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return the gradient with respect to all elements, as if nothing were assumed."""
        return [output_grads[0]]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return the tangent."""
        return [None if is_missing(eval_points[0]) else eval_points[0]]


def assume(x: Any, *names: str, **stated: bool | None) -> TensorVariable:
    """Return ``x``, and let the compiler use what is known of its matrices.

    Parameters
    ----------
    x
        A square matrix, or a stack of them.
    *names
        What is known: ``"symmetric"``, ``"hermitian"``, ``"positive_definite"``,
        ``"positive_semidefinite"``, ``"lower_triangular"``, ``"upper_triangular"``,
        ``"diagonal"``, ``"orthogonal"``, ``"unitary"`` or ``"permutation"``.
    **stated
        The same as keywords: ``positive_definite=True``. With ``None`` nothing is stated, and with
        ``False`` that it does not hold, which only serves to find contradictions.

    Returns
    -------
    TensorVariable
        A view of ``x``, of its type.

    Raises
    ------
    ArgumentError
        There is no such name, or the statements contradict each other.

    Notes
    -----
    It has no cost in compiled code, and its gradient is that of all elements. Results are wrong if
    the matrix is not what is assumed; the mode ``"debug"`` checks it at each call. What two nested
    calls assume holds together.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> K, y = pt.dmatrix("K"), pt.dvector("y")
    >>> x = pt.linalg.solve(pt.assume(K, "positive_definite"), y)  # by a Cholesky factor
    >>> x.eval({K: [[2.0, 0.0], [0.0, 4.0]], y: [2.0, 4.0]})
    array([1., 1.])
    """
    for name in stated:
        Assume(name)  # unknown names raise
    known = {*names, *(name for name, value in stated.items() if value)}
    absent = {name for name, value in stated.items() if value is not None and not value}
    for name in names:
        Assume(name)
    x = as_matrices(x, "assume")
    follows = _closed(known, is_real=x.type.numpy_dtype.kind != "c")
    wrong = sorted(follows & absent)
    if wrong:
        msg = (
            f"assume: {wrong[0]} follows from {', '.join(sorted(known))}, and is stated not to "
            "hold. Leave out one of them."
        )
        raise ArgumentError(msg)
    if not known:
        return x
    inner = x.owner
    if inner is not None and isinstance(inner.op, Assume):
        return Assume(*known, *inner.op.names)(inner.inputs[0])
    return Assume(*known)(x)
