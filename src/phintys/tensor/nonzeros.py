"""Indices of nonzero elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from phintys._base.errors import OpContractError, ShapeError
from phintys.graph.apply import Apply
from phintys.tensor import math
from phintys.tensor._operators import operators
from phintys.tensor._rules import zero_gradient
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.joining import stack
from phintys.tensor.reshaping import flatten
from phintys.tensor.shape_rules import S, ShapedOp, Shapes
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable


class Nonzero(ShapedOp):
    """Return the indices of the nonzero elements: one vector for each dimension."""

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        x = as_tensor_variable(x)
        if x.ndim == 0:
            msg = f"nonzero needs at least one dimension, got {x} of type {x.type}."
            raise ShapeError(msg)
        return Apply(self, [x], [TensorType("int64", (None,))() for _ in range(x.ndim)])

    def perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        for cell, indices in zip(output_storage, np.nonzero(inputs[0]), strict=True):
            # NumPy returns views of one array, any of which would keep all of it alive.
            cell[0] = np.ascontiguousarray(indices, dtype=np.int64)

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Count the nonzero elements."""
        return [(shapes.count(0),)] * shapes.inputs[0].ndim

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        return [zero_gradient(inputs[0])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None] * inputs[0].ndim


@overload
def nonzero(x: Any, return_matrix: Literal[False] = False) -> tuple[TensorVariable, ...]: ...
@overload
def nonzero(x: Any, return_matrix: Literal[True]) -> TensorVariable: ...
@also_named
def nonzero(x: Any, return_matrix: bool = False) -> Any:
    """Return the indices of the nonzero elements of ``x``, in row-major order.

    Parameters
    ----------
    x
        A tensor with at least one dimension.
    return_matrix
        Return one matrix, with a row for each dimension, instead of a tuple of vectors.

    Returns
    -------
    tuple of TensorVariable
        One int64 vector for each dimension, whose length is known at run time; with
        ``return_matrix`` a matrix with these as its rows.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> [indices.eval() for indices in pt.nonzero(pt.constant([[1, 0], [0, 2]]))]
    [array([0, 1]), array([0, 1])]
    """
    found = tuple(Nonzero()(x, return_list=True))
    return stack(found, axis=0) if return_matrix else found


@also_named
def flatnonzero(x: Any) -> TensorVariable:
    """Return the indices of the nonzero elements in the flattened array.

    Parameters
    ----------
    x
        A tensor of any dtype.

    Returns
    -------
    TensorVariable
        An int64 vector in ascending order, whose length is known at run time.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.flatnonzero([[1, 0], [0, 2]]).eval()
    array([0, 3])
    """
    return nonzero(flatten(x))[0]


def nonzero_values(x: Any) -> TensorVariable:
    """Return the nonzero elements, in row-major order.

    Parameters
    ----------
    x
        A tensor of any dtype.

    Returns
    -------
    TensorVariable
        A vector of the dtype of ``x``, whose length is known at run time.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.nonzero_values([[3, 0], [0, 5]]).eval()
    array([3, 5])
    """
    x = as_tensor_variable(x)
    return operators.index(flatten(x), (flatnonzero(x),))


@overload
def where(condition: Any) -> tuple[TensorVariable, ...]: ...
@overload
def where(condition: Any, x: Any, y: Any) -> TensorVariable: ...
@also_named
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Return ``x`` where ``condition`` is true and ``y`` elsewhere; without them, the indices.

    ``where(condition, x, y)`` is ``switch(condition, x, y)``, ``where(condition)`` is
    ``nonzero(condition)``.

    Parameters
    ----------
    condition
        A tensor; nonzero elements are true.
    x, y
        Tensors that broadcast with ``condition``; both or neither.

    Returns
    -------
    TensorVariable or tuple of TensorVariable
        A tensor of the common shape, with the dtype to which ``x`` and ``y`` promote; or what
        :func:`nonzero` returns.

    Raises
    ------
    OpContractError
        Only one of ``x`` and ``y`` is given.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.constant([-1.0, 2.0])
    >>> pt.where(x > 0, x, 0.0).eval()
    array([0., 2.])
    """
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        msg = "where takes both values, where(condition, x, y), or only the condition."
        raise OpContractError(msg)
    return math.switch(condition, x, y)
