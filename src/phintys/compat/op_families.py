"""Classes of families of Ops, whose instances are functions: matrix Ops, indexing, reductions.

An entry of a template is a slice, or one number. Types of scalars (Theano, Aesara) and positions
(PyTensor) in it stand for the indices that the Op is applied to.

Here one Op reduces by any scalar function, so that a class stands for the Op with one function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import phintys.scalar as ps
import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys.compat import linear_algebra
from phintys.compat.old_classes import StandsFor, stands_for
from phintys.graph import Type
from phintys.tensor.linear_algebra import (
    cholesky,
    determinants,
    eigen,
    least_squares,
    powers,
    qr,
    singular_values,
    solving,
    triangular,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "SVD",
    "AdvancedIncSubtensor",
    "AdvancedSubtensor",
    "All",
    "Any_",
    "CAReduceDtype",
    "Cholesky",
    "Det",
    "Eig",
    "Eigh",
    "Eigvalsh",
    "Expm",
    "IncSubtensor",
    "Kron",
    "MatrixInverse",
    "MatrixPinv",
    "Max",
    "Min",
    "Prod",
    "ProdWithoutZeros",
    "QRFull",
    "QRIncomplete",
    "Solve",
    "SolveTriangular",
    "Subtensor",
    "Sum",
    "lstsq",
]


def _cholesky(lower: bool = True, on_error: Any = "raise", **_: Any) -> Any:
    """``Cholesky(lower)(x)``: the Cholesky factor."""
    return lambda x: pt.linalg.cholesky(x, lower, on_error=on_error)


def _det() -> Any:
    """``Det()(x)``: the determinant."""
    return pt.linalg.det


def _eig() -> Any:
    """``Eig()(x)``: eigenvalues and eigenvectors."""
    return linear_algebra.eig


def _eigh(UPLO: str = "L") -> Any:
    """``Eigh(UPLO)(x)``: eigenvalues and eigenvectors of a symmetric matrix."""
    return lambda x: linear_algebra.eigh(x, UPLO=UPLO)


def _eigvalsh(lower: bool = True) -> Any:
    """``Eigvalsh(lower)(a, b)``: eigenvalues of a symmetric matrix, or of a pair."""
    return lambda a, b=None: pt.linalg.eigvalsh(a, b, lower=lower)


def _expm() -> Any:
    """``Expm()(x)``: the matrix exponential."""
    return pt.linalg.expm


def _inverse() -> Any:
    """``MatrixInverse()(x)``: the inverse."""
    return pt.linalg.inv


def _pinv(hermitian: bool = False) -> Any:
    """``MatrixPinv(hermitian)(x)``: the pseudo-inverse."""
    return lambda x: pt.linalg.pinv(x, hermitian=hermitian)


def _qr(mode: str = "reduced") -> Any:
    """``QRFull(mode)(x)``: QR factors, or R alone."""
    return lambda x: linear_algebra.qr(x, mode)


def _solve(A_structure: str = "general", lower: bool = False, **options: Any) -> Any:
    """``Solve(A_structure, lower)(a, b)``: the solution of ``a x = b``."""
    assumed = A_structure.replace("_", " ")
    given = options.get("assume_a", assumed)
    if given in {"lower triangular", "upper triangular"}:
        return lambda a, b: linear_algebra.solve(a, b, given)
    return lambda a, b: linear_algebra.solve(a, b, given, lower)


def _solve_triangular(**options: Any) -> Any:
    """``SolveTriangular(lower=True)(a, b)``: the solution of a triangular system."""
    return lambda a, b: linear_algebra.solve_triangular(a, b, **options)


def _svd(full_matrices: Any = True, compute_uv: Any = True) -> Any:
    """``SVD(full_matrices, compute_uv)(x)``: the singular value decomposition."""
    return lambda x: linear_algebra.svd(x, full_matrices, compute_uv)


Cholesky = stands_for("Cholesky", cholesky.Cholesky, _cholesky)
Det = stands_for("Det", determinants.Det, _det)
Eig = stands_for("Eig", eigen.Eig, _eig)
Eigh = stands_for("Eigh", eigen.Eigh, _eigh)
Eigvalsh = stands_for("Eigvalsh", eigen.Eigh, _eigvalsh)
Expm = stands_for("Expm", powers.Expm, _expm)
MatrixInverse = stands_for("MatrixInverse", solving.Inv, _inverse)
MatrixPinv = stands_for("MatrixPinv", least_squares.Pinv, _pinv)
QRFull = stands_for("QRFull", qr.QR, _qr)
QRIncomplete = stands_for("QRIncomplete", qr.QR, _qr)
SVD = stands_for("SVD", singular_values.SVD, _svd)
Solve = stands_for("Solve", solving.Solve, _solve)
SolveTriangular = stands_for("SolveTriangular", triangular.SolveTriangular, _solve_triangular)


def lstsq(*arguments: Any, **options: Any) -> Any:
    """Return the least-squares solution; ``lstsq()`` is this function, once an Op."""
    return pt.linalg.lstsq(*arguments, **options) if arguments or options else lstsq


def Kron() -> Any:
    """``Kron()(a, b)``: the Kronecker product, which is no Op here."""
    return pt.linalg.kron


def _index(idx_list: Sequence[Any], given: Sequence[Any]) -> tuple[Any, ...]:
    """Return a template with indices in their places."""
    rest = list(given)
    used = 0

    def filled(entry: Any) -> Any:
        nonlocal used
        if isinstance(entry, slice):
            return slice(filled(entry.start), filled(entry.stop), filled(entry.step))
        if isinstance(entry, Type) or (given and isinstance(entry, int)):
            place = used if isinstance(entry, Type) else entry
            used += 1
            if place >= len(rest):
                msg = f"The template {list(idx_list)} has more places than the {len(rest)} indices."
                raise ArgumentError(msg)
            return rest[place]
        return entry

    index = tuple(filled(entry) for entry in idx_list)
    if used < len(rest):
        msg = f"The template {list(idx_list)} has {used} places for indices; got {len(rest)}."
        raise ArgumentError(msg)
    return index


def _subtensor(idx_list: Sequence[Any]) -> Any:
    """Take a part of an array.

    Examples
    --------
    >>> import phintys.scalar as ps, phintys.tensor as pt
    >>> from phintys.compat.op_families import Subtensor
    >>> x = pt.dmatrix("x")
    >>> part = Subtensor([slice(ps.int64, None, None), ps.int64])(x, 1, 0)
    >>> part.eval({x: [[1.0, 2.0], [3.0, 4.0]]})
    array([3.])
    """
    return lambda x, *indices: pt.as_tensor_variable(x)[_index(idx_list, indices)]


def _increment(
    idx_list: Sequence[Any],
    inplace: bool = False,
    set_instead_of_inc: bool = False,
    destroyhandler_tolerate_aliased: Any = None,
) -> Any:
    """Add to a part of an array, or replace it."""
    change = pt.set_subtensor if set_instead_of_inc else pt.inc_subtensor
    return lambda x, y, *indices: change(pt.as_tensor_variable(x)[_index(idx_list, indices)], y)


def _advanced(idx_list: Sequence[Any] | None = None) -> Any:
    """Take elements by arrays of indices."""

    def op(x: Any, *indices: Any) -> Any:
        index = indices if idx_list is None else _index(idx_list, indices)
        return pt.as_tensor_variable(x)[index]

    return op


def _advanced_increment(
    idx_list: Any = None,
    inplace: bool = False,
    set_instead_of_inc: bool = False,
    ignore_duplicates: bool = False,
) -> Any:
    """Add to elements, or replace them."""
    if isinstance(idx_list, bool):  # ``inplace`` came first in the older packages
        idx_list, set_instead_of_inc = None, inplace
    change = pt.set_subtensor if set_instead_of_inc else pt.inc_subtensor
    options = {"ignore_duplicates": True} if ignore_duplicates else {}

    def op(x: Any, y: Any, *indices: Any) -> Any:
        index = indices if idx_list is None else _index(idx_list, indices)
        return change(pt.as_tensor_variable(x)[index], y, **options)

    return op


Subtensor = stands_for("Subtensor", pt.Subtensor, _subtensor)
IncSubtensor = stands_for("IncSubtensor", pt.IncSubtensor, _increment)
AdvancedSubtensor = stands_for("AdvancedSubtensor", pt.AdvancedSubtensor, _advanced)
AdvancedIncSubtensor = stands_for(
    "AdvancedIncSubtensor", pt.AdvancedIncSubtensor, _advanced_increment
)


class _OfReductions(StandsFor):
    """Makes ``isinstance(op, Old)`` true for reductions by one of some scalar functions."""

    functions: tuple[Any, ...]

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, pt.Reduce) and instance.scalar_op in self.functions


class _Applied:
    """What a class makes: it is applied to a tensor, and has the arguments as attributes."""

    def __init__(self, function: Any, axis: Any, no_zeros_in_input: Any, options: Any) -> None:
        self.axis, self.no_zeros_in_input = axis, no_zeros_in_input
        self._function, self._options = function, options

    def __call__(self, x: Any) -> Any:
        """Reduce the tensor."""
        return self._function(x, axis=self.axis, **self._options)


def _class(name: str, function: Callable[..., Any], *scalar_ops: Any) -> Any:
    def construct(
        cls: type, axis: Any = None, *dtypes: Any, no_zeros_in_input: Any = None, **options: Any
    ) -> Any:
        given = dict(zip(("dtype", "acc_dtype"), dtypes, strict=False))
        return _Applied(function, axis, no_zeros_in_input, given | options)

    members = {
        "core": pt.Reduce,
        "functions": scalar_ops,
        "__new__": construct,
        "__doc__": f"``{name}(axis, dtype, acc_dtype)(x)``.",
        "__module__": __name__,
    }
    return _OfReductions(name, (), members)


Sum = _class("Sum", pt.sum, ps.add)
Prod = _class("Prod", pt.prod, ps.mul)
Max = _class("Max", pt.max, ps.maximum)
Min = _class("Min", pt.min, ps.minimum)
All = _class("All", pt.all, ps.and_)
Any_ = _class("Any", pt.any, ps.or_)


def _without_zeros(axis: Any = None, dtype: Any = None, acc_dtype: Any = None) -> Any:
    """Multiply the elements that are not zero."""

    def op(x: Any) -> Any:
        x = pt.as_tensor_variable(x)
        one = pt.ones_like(x)
        return pt.prod(pt.switch(pt.eq(x, 0), one, x), axis, dtype=dtype, acc_dtype=acc_dtype)

    return op


def _by_function(
    scalar_op: Any, axis: Any = None, dtype: Any = None, acc_dtype: Any = None
) -> pt.Reduce:
    """Combine elements by a scalar function."""
    return pt.Reduce(scalar_op, axis, dtype, acc_dtype)


ProdWithoutZeros = stands_for("ProdWithoutZeros", (), _without_zeros)
CAReduceDtype = stands_for("CAReduceDtype", pt.Reduce, _by_function)
