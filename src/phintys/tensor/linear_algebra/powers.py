"""Functions of matrices made of products: powers, exponentials, chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys._base.errors import ArgumentError, ShapeError
from phintys._base.origin import in_steps
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import zeros_like
from phintys.tensor.diagonals import eye
from phintys.tensor.dim_shuffle import expand_dims
from phintys.tensor.joining import concatenate
from phintys.tensor.linear_algebra.exponentials import exponential
from phintys.tensor.linear_algebra.matrix_functions import AnalyticMatrixOp
from phintys.tensor.linear_algebra.matrix_op import MatrixOp, adjoint, as_matrices
from phintys.tensor.linear_algebra.solving import inv
from phintys.tensor.products import dot, matmul
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable


class Expm(AnalyticMatrixOp):
    """Return the exponentials of matrices.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.linear_algebra.powers import Expm
    >>> Expm()([[0.0, 1.0], [0.0, 0.0]]).eval()
    array([[1., 1.],
           [0., 1.]])
    """

    __props__: ClassVar[tuple[str, ...]] = ()
    called = "expm"

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Compute with NumPy: scaling, a Pade approximant, and squaring."""
        return (exponential(matrices[0]),)

    def _derivative(self, a: Any, direction: Any) -> Any:
        """Return the derivative, for which half as many numbers are kept as for a block of it."""
        return _expm_derivative(a, direction)


class ExpmDerivative(MatrixOp):
    """Return the derivatives of exponentials of matrices, in given directions.

    Examples
    --------
    >>> from phintys.tensor.linear_algebra.powers import ExpmDerivative
    >>> ExpmDerivative()([[0.0, 1.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]).eval()
    array([[1. , 0.5],
           [0. , 0. ]])
    """

    __props__: ClassVar[tuple[str, ...]] = ()
    signature = "(n,n),(n,n)->(n,n)"

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Compute with NumPy: the derivative of scaling, approximant and squaring."""
        return (exponential(*matrices),)

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """The blocks of the derivative at ``[[A, E], [0, A]]^H`` in ``[[0, gL], [0, 0]]``."""
        a, direction = inputs
        n, (g,) = sizes_of(a)[-1], gradients
        nothing = zeros_like(g)
        whole = self(adjoint(_block(a, direction, a)), _block(nothing, g, nothing))
        return [whole[..., :n, :n] + whole[..., n:, n:], whole[..., :n, n:]]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """A block of the derivative at ``[[A, E], [0, A]]`` in ``[[dA, dE], [0, dA]]``."""
        a, direction = inputs
        n, (da, de) = sizes_of(a)[-1], tangents
        da = zeros_like(de) if da is None else da
        de = zeros_like(da) if de is None else de
        return [self(_block(a, direction, a), _block(da, de, da))[..., :n, n:]]


def _block(first: Any, above: Any, last: Any) -> Any:
    """Return ``[[first, above], [0, last]]``."""
    rows = concatenate([first, above], axis=-1), concatenate([zeros_like(last), last], axis=-1)
    return concatenate(rows, axis=-2)


_expm, _expm_derivative = Expm(), ExpmDerivative()


def expm(a: Any) -> TensorVariable:
    """Return the exponential of matrices.

    Parameters
    ----------
    a
        A square matrix, or a stack of them.

    Returns
    -------
    TensorVariable
        Matrices of the shape of ``a``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.expm(pt.constant([[0.0, 1.0], [0.0, 0.0]])).eval()
    array([[1., 1.],
           [0., 1.]])
    """
    return _expm(as_matrices(a, "expm"))


@in_steps
def matrix_power(x: Any, n: int) -> TensorVariable:
    """Return a matrix multiplied by itself: ``x @ x @ x`` for n = 3.

    Parameters
    ----------
    x
        A square matrix, or a stack of them.
    n
        The power, an integer; negative ones are powers of the inverse.

    Returns
    -------
    TensorVariable
        Matrices of the shape of ``x``; the identity for ``n = 0``.

    Raises
    ------
    ArgumentError
        ``n`` is not an int.
    ShapeError
        The matrices are known not to be square.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.matrix_power(pt.constant([[1.0, 1.0], [0.0, 1.0]]), 5).eval()
    array([[1., 5.],
           [0., 1.]])
    """
    x = as_matrices(x, "matrix_power")
    if isinstance(n, bool) or not isinstance(n, int | np.integer):
        msg = f"matrix_power: the power is an integer that is known, got {n!r}."
        raise ArgumentError(msg)
    rows, columns = x.type.shape[-2:]
    if None not in {rows, columns} and rows != columns:
        msg = f"matrix_power takes square matrices, got {x} of type {x.type}."
        raise ShapeError(msg)
    if n == 0:
        one = eye(sizes_of(x)[-1], dtype=x.dtype)
        return expand_dims(one, tuple(range(x.ndim - 2))) + zeros_like(x) if x.ndim > 2 else one
    if n < 0:
        x, n = inv(x), -n
    result = None
    while n:
        if n % 2:
            result = x if result is None else matmul(result, x)
        n //= 2
        if n:
            x = matmul(x, x)
    return result  # pyright: ignore[reportReturnType] - n was not 0


def multi_dot(arrays: Sequence[Any]) -> TensorVariable:
    """Return the product of several matrices, in the order that costs least.

    Parameters
    ----------
    arrays
        Two or more; the first and the last one may be vectors, the others are matrices. Where all
        sizes are known, the order of the products is the cheapest one; otherwise it is from the
        left, or from the right if the last one is a vector.

    Returns
    -------
    TensorVariable
        A matrix; a vector if one end is a vector, and 0-d if both are.

    Raises
    ------
    ArgumentError
        There are fewer than two arrays.
    ShapeError
        One of them has a rank that it cannot have.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> a, b = pt.constant([[1.0, 2.0]]), pt.constant([[3.0], [4.0]])
    >>> pt.linalg.multi_dot([a, b, a]).eval()
    array([[11., 22.]])
    """
    factors: list[Any] = [as_tensor_variable(x) for x in arrays]
    if len(factors) < 2:
        msg = f"multi_dot takes two or more matrices, got {len(factors)}."
        raise ArgumentError(msg)
    for at, x in enumerate(factors):
        allowed = {1, 2} if at in {0, len(factors) - 1} else {2}
        if x.ndim not in allowed:
            msg = f"multi_dot: factor {at} is {x} of type {x.type}; expected a matrix."
            raise ShapeError(msg)
    lengths = [factors[0].type.shape[0] if factors[0].ndim == 2 else 1]
    lengths += [x.type.shape[-1] if x.ndim == 2 or at == 0 else 1 for at, x in enumerate(factors)]
    if factors[0].ndim == 1:
        lengths[1] = factors[0].type.shape[0]
    if all(length is not None for length in lengths):
        return _cheapest(factors, lengths)
    if factors[-1].ndim == 1:
        result = factors[-1]
        for x in reversed(factors[:-1]):
            result = dot(x, result)
        return result
    result = factors[0]
    for x in factors[1:]:
        result = dot(result, x)
    return result


def matrix_dot(*arrays: Any) -> TensorVariable:
    """Return the product of one or more matrices; see :func:`multi_dot`.

    Parameters
    ----------
    arrays
        Matrices; the first and the last one may be vectors.

    Returns
    -------
    TensorVariable
        Where all sizes are known, computed in the order that costs least. A single matrix is
        returned as it is.

    Raises
    ------
    ShapeError
        One of them has a rank that it cannot have.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> a, b = pt.constant([[1.0, 2.0]]), pt.constant([[3.0], [4.0]])
    >>> pt.linalg.matrix_dot(a, b).eval()
    array([[11.]])
    """
    return as_matrices(arrays[0], "matrix_dot") if len(arrays) == 1 else multi_dot(arrays)


def _cheapest(factors: Sequence[Any], lengths: Sequence[Any]) -> Any:
    """Multiply in the order of the fewest multiplications, found by dynamic programming."""
    count = len(factors)
    costs = {(at, at): 0 for at in range(count)}
    splits: dict[tuple[int, int], int] = {}
    for span in range(1, count):
        for first in range(count - span):
            last = first + span
            options = [
                (
                    costs[first, at]
                    + costs[at + 1, last]
                    + lengths[first] * lengths[at + 1] * lengths[last + 1],
                    at,
                )
                for at in range(first, last)
            ]
            costs[first, last], splits[first, last] = min(options)

    def product(first: int, last: int) -> Any:
        if first == last:
            return factors[first]
        at = splits[first, last]
        return dot(product(first, at), product(at + 1, last))

    return product(0, count - 1)
