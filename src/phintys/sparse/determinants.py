"""Cholesky factors and logarithms of determinants, with derivatives on the pattern alone.

The derivative by an element is one of the inverse. Those of the inverse of a positive definite
matrix that are in the pattern of its factor follow from the factor, without the others (Takahashi's
equations).

References
----------
S. P. Smith, Differentiation of the Cholesky algorithm, Journal of Computational and Graphical
Statistics 4 (1995), 134-147.

K. Takahashi, J. Fagan, M.-S. Chen, Formation of a sparse bus impedance matrix and its application
to short circuit study, Proceedings of the 8th PICA Conference (1973), 63-69.

A. M. Erisman, W. F. Tinney, On computing certain elements of the inverse of a sparse matrix,
Communications of the ACM 18 (1975), 177-179.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.tensor as pt
from phintys._base.errors import IndexingError, ShapeError
from phintys._base.late import LateModule
from phintys.graph.apply import Apply
from phintys.graph.null_type import DisconnectedType, disconnected_type
from phintys.graph.op import Op
from phintys.sparse.factors import Factorize
from phintys.sparse.patterns import check_pattern, keys
from phintys.sparse.products import ProductByRows, ProductOfRows, conj
from phintys.sparse.solving import SolveByFactors
from phintys.sparse.type import INDEX, sp
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.shape_rules import S, ShapedOp, Shapes
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from scipy.sparse import csgraph
else:
    csgraph = LateModule("scipy.sparse.csgraph")


class RootFactor(Op):
    """``(factors, data, indices, indptr)``: C with ``C C.T = P A P.T`` as a csc matrix, and P.

    Outputs are the elements, rows and ``indptr`` of C, and the order P: row i of A is row
    ``P[i]`` of C. The pattern of C is closed, as that of
    :class:`~phintys.sparse.determinants.LowerFactor` is.
    """

    __props__ = ()

    def make_node(self, factors: Any, *arrays: Any) -> Apply:
        """Build a node."""
        variables = [as_tensor_variable(v) for v in arrays]
        index = TensorType(INDEX, (None,))
        elements = TensorType(variables[0].dtype, (None,))
        return Apply(self, [factors, *variables], [elements(), index(), index(), index()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Scale the columns of SciPy's factor."""
        factors, data = inputs[:2]
        lower, pivots, order = lower_factor(factors)
        elements = lower.data * np.repeat(np.sqrt(pivots.real), np.diff(lower.indptr))
        found = [elements, lower.indices, lower.indptr, order]
        for cell, value, dtype in zip(
            output_storage, found, [data.dtype, INDEX, INDEX, INDEX], strict=True
        ):
            cell[0] = np.array(value, dtype)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The elements depend on those of A."""
        return [[at == 1, False, False, False] for at in range(len(node.inputs))]

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        """Return the gradient at the entries of A; both elements of a pair have half of it."""
        of_elements = output_grads[0]
        of_data = RootFactorGradient()(of_elements, *outputs, *inputs[2:])
        return [disconnected_type(), of_data, disconnected_type(), disconnected_type()]


class RootFactorGradient(ShapedOp):
    """``(gradient, *outputs of RootFactor, indices, indptr)``: the gradient at the entries of A.

    The steps of the factorization are differentiated from the last column on. Elements (i, j) and
    (j, i) of A, which are equal, have half of the gradient each.
    """

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        """Build a node."""
        variables = [as_tensor_variable(v) for v in inputs]
        (shape,) = self.static_shapes(variables)
        return Apply(self, variables, [TensorType(variables[1].dtype, shape)()])

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Return the number of entries."""
        return [(shapes.shapes[5][0],)]

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Go through the columns with NumPy."""
        gradient, elements, rows, starts, order, indices, indptr = inputs
        n = len(order)
        check_pattern(self, rows, starts, n)
        check_pattern(self, indices, indptr, n)
        if not len(starts) == len(indptr) == n + 1 or sorted(order) != list(range(n)):
            msg = f"{self}: the factor and the pattern must be those of one matrix of {n} rows."
            raise ShapeError(msg)
        if not len(gradient) == len(elements) == len(rows):
            msg = (
                f"{self}: there must be a gradient for each of {len(rows)} elements, got "
                f"{len(gradient)} for {len(elements)}."
            )
            raise ShapeError(msg)
        present = keys(rows, starts)
        found = gradient.astype(elements.dtype)
        for k in range(n - 1, -1, -1):
            first, last = starts[k], starts[k + 1]
            below, column = rows[first + 1 : last].astype("int64"), elements[first + 1 : last]
            at = places_in_factor(self, lower_key(below[:, None], below[None, :]), present)
            pairs = found[at]
            own = found[first + 1 : last] - pairs @ column - np.diagonal(pairs) * column
            own /= elements[first]
            found[first + 1 : last] = own
            found[first] = (found[first] - own @ column) / (2 * elements[first])
        columns = np.repeat(np.arange(n), np.diff(indptr))
        at = lower_key(order[indices].astype("int64"), order[columns].astype("int64"))
        halves = np.where(indices == columns, 1, 0.5).astype(found.dtype)
        output_storage[0][0] = found[places_in_factor(self, at, present)] * halves


_COLUMNS = 64
"""How many columns of an inverse are computed at once."""


class LogDet(Op):
    """``(factors, data, indices, indptr)``: the sign of the determinant, and log of its absolute.

    The sign of a complex determinant is a number of absolute value 1. That of a singular matrix is
    0, and the logarithm is -inf.

    Parameters
    ----------
    is_positive
        Whether the matrix is positive definite.
    """

    __props__ = ("is_positive",)

    def __init__(self, is_positive: bool = False) -> None:
        self.is_positive = is_positive

    def make_node(self, factors: Any, *arrays: Any) -> Apply:
        """Build a node."""
        variables = [as_tensor_variable(v) for v in arrays]
        dtype = variables[0].type.numpy_dtype
        outputs = [TensorType(dtype, ())(), TensorType(dtype.type(0).real.dtype, ())()]
        return Apply(self, [factors, *variables], outputs)

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Multiply the pivots and the signs of the exchanges."""
        factors, data = inputs[:2]
        sign, logarithm = _sign_and_logarithm(factors)
        output_storage[0][0] = np.asarray(sign, data.dtype)
        output_storage[1][0] = np.asarray(logarithm, data.real.dtype)

    def infer_shape(self, fgraph: Any, node: Apply, input_shapes: Any) -> list[Any]:
        """Return no sizes."""
        return [(), ()]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The elements have a derivative."""
        return [[False, False], [True, True], [False, False], [False, False]]

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        """Return ``g A^-T``, conjugated, on the pattern; the sign is constant for real ones."""
        factors, data, *pattern = inputs
        of_sign, of_logarithm = output_grads
        terms: list[Any] = []
        if not isinstance(of_logarithm.type, DisconnectedType):
            terms.append(of_logarithm)
        if not isinstance(of_sign.type, DisconnectedType) and data.dtype.startswith("complex"):
            # d log(det) = d log|det| + d sign / sign: the second term turns the sign.
            turned = pt.conj(outputs[0]) * of_sign
            terms.append(pt.imag(turned) * 1j)
        if not terms:
            return [disconnected_type(), pt.zeros_like(data), *(disconnected_type() for _ in "ii")]
        inverse = InverseAtEntries(self.is_positive)(factors, data, *pattern)
        gradient = sum(terms[1:], terms[0]) * conj(inverse)
        return [disconnected_type(), gradient, *(disconnected_type() for _ in pattern)]

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        """Return the trace of the inverse times the direction."""
        direction = eval_points[1]
        if direction is None:
            return [None, None]
        trace = (InverseAtEntries(self.is_positive)(*inputs) * direction).sum()
        if not inputs[1].dtype.startswith("complex"):
            return [pt.zeros_like(trace), trace]
        return [self(*inputs)[0] * pt.imag(trace) * 1j, pt.real(trace)]


def _sign_and_logarithm(factors: Any) -> tuple[Any, Any]:
    if factors.problem and not factors.is_positive:
        return 0, -np.inf
    if not factors.size:
        return 1, 0
    lu = factors.lu
    pivots = lu.U.diagonal()
    if factors.is_positive:
        return 1, np.log(pivots.real).sum()
    # Of both orders: the sign of one after the other is the product of their signs.
    sign = _sign_of_order(lu.perm_r[lu.perm_c])
    return sign * np.prod(pivots / np.abs(pivots)), np.log(np.abs(pivots)).sum()


def _sign_of_order(order: Any) -> int:
    """Return the sign of a permutation: each cycle of length k is k - 1 exchanges."""
    n = len(order)
    graph = sp.csr_array((np.ones(n, bool), order, np.arange(n + 1)), shape=(n, n))
    cycles: Any = csgraph.connected_components(graph, directed=False, return_labels=False)
    return 1 - 2 * ((n - cycles) % 2)


class InverseAtEntries(Op):
    """``(factors, data, indices, indptr)``: ``inv(A)[j, i]`` for each entry (i, j) of A.

    It takes a solution for each column, some at a time. Where A is real and positive definite, a
    pass puts :class:`SelectedInverse` in its place.

    Parameters
    ----------
    is_positive
        Whether A is positive definite.
    """

    __props__ = ("is_positive",)

    def __init__(self, is_positive: bool = False) -> None:
        self.is_positive = is_positive

    def make_node(self, factors: Any, *arrays: Any) -> Apply:
        """Build a node."""
        variables = [as_tensor_variable(v) for v in arrays]
        return Apply(self, [factors, *variables], [variables[0].type()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Compute them by columns."""
        factors, data, indices, indptr = inputs
        n = len(indptr) - 1
        check_pattern(self, indices, indptr, n)
        if n != factors.size or len(data) != len(indices):
            msg = (
                f"{self}: the pattern must have {factors.size} rows and {len(data)} entries, got "
                f"{n} and {len(indices)}."
            )
            raise ShapeError(msg)
        found = np.empty_like(data)
        for first in range(0, n, _COLUMNS):
            last = min(first + _COLUMNS, n)
            right = np.zeros((n, last - first), data.dtype)
            right[np.arange(first, last), np.arange(last - first)] = 1
            # Column j of inv(A).T is what the entries (i, j) of column j need.
            columns = factors.solve(right, transposed=True)
            entries = slice(indptr[first], indptr[last])
            at = np.repeat(np.arange(last - first), np.diff(indptr[first : last + 1]))
            found[entries] = columns[indices[entries], at]
        output_storage[0][0] = found

    def infer_shape(self, fgraph: Any, node: Apply, input_shapes: Any) -> list[Any]:
        """Return the number of entries."""
        return [input_shapes[1]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The elements have a derivative."""
        return [[False], [True], [False], [False]]

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        """Return ``-inv(A).T G.T inv(A).T`` on the pattern; the inverse is a dense matrix."""
        factors, data, *pattern = inputs
        of_data = second_derivative(output_grads[0], factors, data, pattern)
        return [disconnected_type(), of_data, *(disconnected_type() for _ in pattern)]

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        """Return ``-inv(A) dA inv(A)`` at the entries, transposed; the inverse is dense."""
        factors, data, *pattern = inputs
        if eval_points[1] is None:
            return [None]
        return [conj(second_derivative(conj(eval_points[1]), factors, data, pattern))]


def second_derivative(elements: Any, factors: Any, data: Any, pattern: Any) -> Any:
    """Return ``-inv(A).T G.T inv(A).T``, conjugated, at the entries, with G of these elements.

    It is symmetric: the derivative of ``inv(A)[j, i]`` by ``A[k, l]``, times -1, is
    ``inv(A)[j, k] inv(A)[l, i]``.
    """
    identity = pt.eye(pattern[1].shape[0] - 1, dtype=data.dtype)
    inverse = conj(SolveByFactors()(factors, data, *pattern, identity))
    moved = ProductByRows()(elements, inverse.T, *pattern)
    return -ProductOfRows()(moved.T, inverse.T, *pattern)


class SelectedInverse(Op):
    """The elements of the inverse of a positive definite matrix at entries of its pattern.

    Inputs are the five outputs of :class:`LowerFactor`, and the pattern. Only elements of the
    inverse in the pattern of the factor are computed.
    """

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        """Build a node."""
        variables = [as_tensor_variable(v) for v in inputs]
        return Apply(self, variables, [TensorType(variables[0].dtype, (None,))()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Compute columns from the last one on, with NumPy."""
        elements, rows, starts, pivots, order, indices, indptr = inputs
        n = len(pivots)
        check_pattern(self, rows, starts, n)
        check_pattern(self, indices, indptr, n)
        if not len(starts) == len(indptr) == n + 1 or sorted(order) != list(range(n)):
            msg = f"{self}: the factor and the pattern must be those of one matrix of {n} rows."
            raise ShapeError(msg)
        present = keys(rows, starts)
        found = np.zeros_like(elements)
        for j in range(n - 1, -1, -1):
            first, last = starts[j], starts[j + 1]
            below, factor = rows[first + 1 : last].astype("int64"), elements[first + 1 : last]
            at = lower_key(below[:, None], below[None, :])
            column = -found[places_in_factor(self, at, present)] @ factor
            found[first + 1 : last] = column
            found[first] = 1 / pivots[j] - factor @ column
        columns = np.repeat(np.arange(n), np.diff(indptr))
        at = lower_key(order[indices].astype("int64"), order[columns].astype("int64"))
        output_storage[0][0] = found[places_in_factor(self, at, present)]

    def infer_shape(self, fgraph: Any, node: Apply, input_shapes: Any) -> list[Any]:
        """Return the number of entries."""
        return [input_shapes[5]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Factors have no derivative: :class:`InverseAtEntries` has it."""
        return [[False] for _ in node.inputs]

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        """Return nothing."""
        return [disconnected_type() for _ in inputs]


def is_of_its_factors(node: Apply) -> bool:
    """Return whether a graph shows that the pattern of a selected inverse is that of its factor."""
    factor = node.inputs[0].owner
    if factor is None or not isinstance(factor.op, LowerFactor):
        return False
    made = factor.inputs[0].owner
    pairs = [*zip(node.inputs[:5], factor.outputs, strict=True)]
    if made is not None and isinstance(made.op, Factorize):
        pairs += zip(node.inputs[5:], made.inputs[1:3], strict=True)
        return all(a is b for a, b in pairs)
    return False


def lower_key(a: Any, b: Any) -> Any:
    """Return the keys of entries of the lower triangle: the column is the smaller number."""
    return (np.minimum(a, b) << 31) + np.maximum(a, b)


def places_in_factor(op: Op, wanted: Any, present: Any) -> Any:
    """Return the positions of keys among those of a factor, which must have them."""
    at = np.searchsorted(present, wanted)
    if (at == len(present)).any() or (present[at] != wanted).any():
        msg = f"{op}: the factor must have all entries of the pattern."
        raise IndexingError(msg)
    return at


class LowerFactor(Op):
    """``(factors, data)``: L with ``L D L.T = P A P.T`` as a csc matrix, D, and the order P.

    The pattern of L has all entries that can be other than 0 by the pattern of A, which Takahashi's
    equations need: the rows of a column, but the first one below the diagonal, are also in the
    column of that one.
    """

    __props__ = ()

    def make_node(self, factors: Any, data: Any) -> Apply:
        """Build a node; the elements say the dtype."""
        data = as_tensor_variable(data)
        index = TensorType(INDEX, (None,))
        outputs = [data.type.clone(shape=(None,))(), index(), index()]
        return Apply(self, [factors, data], [*outputs, data.type.clone(shape=(None,))(), index()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Read SciPy's object."""
        factors, data = inputs
        lower, pivots, order = lower_factor(factors)
        found = [lower.data, lower.indices, lower.indptr, pivots, order]
        dtypes = [data.dtype, INDEX, INDEX, data.dtype, INDEX]
        for cell, value, dtype in zip(output_storage, found, dtypes, strict=True):
            cell[0] = np.array(value, dtype)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Factors have no derivative."""
        return [[False] * len(node.outputs) for _ in node.inputs]

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        """Return nothing."""
        return [disconnected_type() for _ in inputs]


def lower_factor(factors: Any) -> tuple[Any, Any, Any]:
    """Return L with ``L D L.T = P A P.T`` as a matrix of SciPy with a closed pattern, D, and P."""
    lu = factors.lu
    if lu is None:
        return sp.csc_array((0, 0)), np.zeros(0), np.zeros(0)
    lower, upper = sp.csc_array(lu.L), lu.U
    lower.sort_indices()
    # SciPy leaves out elements that happen to be 0.
    if lu.nnz != lower.nnz + upper.nnz:
        lower = _closed(lower)
    return lower, upper.diagonal(), lu.perm_c


def _closed(lower: Any) -> Any:
    """Return a factor with the zeros that its pattern must have."""
    n = lower.shape[0]
    rows = [set(lower.indices[a + 1 : e].tolist()) for a, e in pairwise(lower.indptr)]
    for below in rows:
        if below:
            first = min(below)
            rows[first] |= below - {first}
    indptr = np.cumsum([0, *(1 + len(below) for below in rows)])
    indices = np.array([r for j, below in enumerate(rows) for r in (j, *sorted(below))], INDEX)
    data = np.zeros(len(indices), lower.data.dtype)
    data[np.searchsorted(keys(indices, indptr), keys(lower.indices, lower.indptr))] = lower.data
    return sp.csc_array((data, indices, indptr), shape=(n, n))
