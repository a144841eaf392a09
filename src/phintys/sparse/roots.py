"""The Cholesky factor of a sparse positive definite matrix, with derivatives on its pattern.

References
----------
S. P. Smith, Differentiation of the Cholesky algorithm, Journal of Computational and Graphical
Statistics 4 (1995), 134-147.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys._base.errors import ShapeError
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.graph.op import Op
from phintys.sparse.determinants import lower_factor, lower_key, places_in_factor
from phintys.sparse.pattern_arrays import check_pattern, keys
from phintys.sparse.type import INDEX
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.shape_rules import S, ShapedOp, Shapes
from phintys.tensor.type import TensorType


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
