"""A sparse matrix is three dense arrays and its sizes: the Ops between both forms.

``Parts(FromParts(x)) -> x``, so what is sparse only inside of a graph never becomes an object: all
that is done with it are operations on dense arrays.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import phintys.tensor as pt
from phintys._base.errors import ShapeError
from phintys._base.late import LateModule
from phintys.graph.apply import Apply
from phintys.graph.null_type import DisconnectedType, disconnected_type
from phintys.graph.op import Op
from phintys.graph.pretty import pprint
from phintys.graph.variable import Constant
from phintys.sparse.patterns import (
    check_both,
    keys,
    places,
    problem_of,
    wrong_pattern,
)
from phintys.sparse.type import ARRAYS, INDEX, LIMIT, SparseType
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.known import known_int
from phintys.tensor.shape_rules import ShapedOp, TakesShape
from phintys.tensor.type import TensorType


class Parts(Op):
    """The stored elements, indices, ``indptr`` and shape of a sparse matrix."""

    __props__ = ()
    pattern_at = 1

    def make_node(self, x: Any) -> Apply:
        """Build a node for a sparse variable."""
        type_ = x.type
        major = type_.shape[0 if type_.format == "csr" else 1]
        starts = None if major is None else major + 1
        outputs = [
            type_.data_type(),
            TensorType(INDEX, (None,))(),
            TensorType(INDEX, (starts,))(),
            TensorType("int64", (2,))(),
        ]
        return Apply(self, [x], outputs)

    # The arrays of an argument are read where they are.
    view_map = {0: [0], 1: [0], 2: [0]}

    @staticmethod
    def undone(node: Apply) -> list[Any] | None:
        """Return the arrays that a matrix was made of in the graph."""
        made = node.inputs[0].owner
        return list(made.inputs) if made is not None and isinstance(made.op, FromParts) else None

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Read the arrays of the object."""
        (x,) = inputs
        output_storage[0][0] = np.asarray(x.data)
        output_storage[1][0] = np.asarray(x.indices, INDEX)
        output_storage[2][0] = np.asarray(x.indptr, INDEX)
        output_storage[3][0] = np.array(x.shape, "int64")

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        """Return a matrix with the same pattern and the gradients of the elements."""
        gradient = output_grads[0]
        if isinstance(gradient.type, DisconnectedType):
            return [disconnected_type()]
        _, indices, indptr, shape = outputs
        return [
            FromParts(inputs[0].type.format, inputs[0].type.shape)(gradient, indices, indptr, shape)
        ]

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        """Return the elements of the direction at the entries of the input."""
        (direction,) = eval_points
        if direction is None:
            return [None] * 4
        return [elements_at(parts(direction), parts(inputs[0])), None, None, None]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Only the elements depend on the values of the elements."""
        return [[True, False, False, False]]


class FromParts(Op):
    """A sparse matrix from its elements, indices, ``indptr`` and shape.

    Parameters
    ----------
    format
        ``"csr"`` or ``"csc"``.
    shape
        The sizes as far as they are known.
    """

    __props__ = ("format", "shape")

    def __init__(self, format: str, shape: Any = (None, None)) -> None:
        self.format = format
        self.shape = tuple(shape)

    def make_node(self, data: Any, indices: Any, indptr: Any, shape: Any) -> Apply:
        """Build a node for four vectors."""
        data = as_tensor_variable(data)
        indices, indptr = (pt.cast(as_tensor_variable(v), INDEX) for v in (indices, indptr))
        shape = pt.cast(as_tensor_variable(shape), "int64")
        for name, v in (("data", data), ("indices", indices), ("indptr", indptr), ("shape", shape)):
            if v.ndim != 1:
                msg = f"The {name} of a sparse matrix must be a vector, got {v} of type {v.type}."
                raise ShapeError(msg)
        output = SparseType(self.format, data.dtype, self.shape)
        return Apply(self, [data, indices, indptr, shape], [output()])

    # So that a result of native code is made of the arrays that it has written.
    kept_inputs = (0, 1, 2)

    def made_anew(self, node: Apply) -> Any:
        """Return a function that makes the object of arrays that it keeps."""
        _, indices, indptr, _ = node.inputs
        is_in_order = _is_in_order(indices, indptr) or _is_constant_in_order(indices, indptr)
        type_: Any = node.outputs[0].type
        return _Maker(type_, is_in_order)

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Build the object, of arrays of its own."""
        data, indices, indptr, shape = inputs
        arrays = (data.copy(), indices.copy(), indptr.copy())
        is_in_order = _is_in_order(node.inputs[1], node.inputs[2])
        output_storage[0][0] = _checked(node.outputs[0].type, arrays, shape, is_in_order)

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        """Return the elements of the gradient at the entries of the pattern."""
        (gradient,) = output_grads
        none = [disconnected_type() for _ in range(3)]
        return [elements_at(parts(gradient), parts(outputs[0])), *none]

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        """Return the direction of the elements on the same pattern."""
        direction = eval_points[0]
        return [None if direction is None else self(direction, *inputs[1:])]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The pattern has no derivative."""
        return [[True], [False], [False], [False]]


def _checked(type_: Any, arrays: Any, shape: Any, is_in_order: bool) -> Any:
    """Return a matrix of arrays, which SciPy and the type find to fit together."""
    matrix = ARRAYS[type_.format](arrays, shape=tuple(shape.tolist()))
    if is_in_order:
        matrix.has_canonical_format = True  # so that the filter does not search for duplicates
    return type_.filter(matrix, strict=True)


class _Maker:
    """Makes the matrices of a node of arrays that they keep.

    SciPy's constructor and the checks take longer than all else in a call. Where indices are known
    to be in order, the first matrix of a shape is made so; the next ones are copies of it with
    other arrays, if these have the lengths that they must have.

    Parameters
    ----------
    type_
        The type of the matrices.
    is_in_order
        Whether the pattern is known to be one of a matrix, with sorted and distinct indices.
    """

    def __init__(self, type_: SparseType, is_in_order: bool) -> None:
        self._type = type_
        self._is_in_order = is_in_order
        self._major = 0 if type_.format == "csr" else 1
        self._alike: Any = None

    def __call__(self, data: Any, indices: Any, indptr: Any, shape: Any) -> tuple[Any]:
        alike = self._alike
        if alike is None or alike.shape != tuple(shape.tolist()):
            return (self._first(data, indices, indptr, shape),)
        if len(indptr) != shape[self._major] + 1 or not len(data) == len(indices) == indptr[-1]:
            return (self._first(data, indices, indptr, shape),)
        matrix = copy(alike)
        matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
        return (matrix,)

    def _first(self, data: Any, indices: Any, indptr: Any, shape: Any) -> Any:
        matrix = _checked(self._type, (data, indices, indptr), shape, self._is_in_order)
        if self._is_in_order:
            alike = copy(matrix)
            alike.data = alike.indices = alike.indptr = None
            self._alike = alike
        return matrix


def _is_in_order(indices: Any, indptr: Any) -> bool:
    """Return whether two variables are the pattern of one matrix, or what an Op on patterns made.

    Indices then grow within each row.
    """
    made = indices.owner
    if made is None or made is not indptr.owner:
        return False
    first = getattr(made.op, "pattern_at", None)
    return (
        first is not None and made.outputs[first] is indices and made.outputs[first + 1] is indptr
    )


def _is_constant_in_order(indices: Any, indptr: Any) -> bool:
    """Return whether two constants are the pattern of a matrix, with indices that grow in rows."""
    if not (isinstance(indices, Constant) and isinstance(indptr, Constant)):
        return False
    minor: Any = indices.data
    starts: Any = indptr.data
    return not problem_of(minor, starts, LIMIT) and bool((np.diff(keys(minor, starts)) > 0).all())


@dataclass(frozen=True, eq=False)
class Form:
    """A sparse matrix as dense variables.

    Rows are *major* and columns *minor* in the format csr; in csc it is the other way round.
    """

    data: Any
    indices: Any
    indptr: Any
    shape: Any
    format: str
    static: tuple[int | None, int | None]

    @property
    def is_csr(self) -> bool:
        """Whether the entries are in the order of rows."""
        return self.format == "csr"

    def size(self, axis: int) -> Any:
        """Return a size, as an int if it is known."""
        static = self.static[axis]
        return self.shape[axis] if static is None else static

    @property
    def major_size(self) -> Any:
        """The number of rows of a csr matrix, of columns of a csc matrix."""
        return self.size(0 if self.is_csr else 1)

    @property
    def minor_size(self) -> Any:
        """The number of columns of a csr matrix, of rows of a csc matrix."""
        return self.size(1 if self.is_csr else 0)

    @property
    def major(self) -> Any:
        """The row of each entry of a csr matrix, the column of each entry of a csc matrix."""
        starts = self.indptr
        if isinstance(starts, Constant):  # known now: not computed at each call
            counts = np.diff(starts.data)
            return pt.constant(np.repeat(np.arange(len(counts), dtype=INDEX), counts))
        return pt.repeat(pt.arange(starts.shape[0] - 1), pt.diff(starts))

    @property
    def rows(self) -> Any:
        """The row of each entry."""
        return self.major if self.is_csr else self.indices

    @property
    def columns(self) -> Any:
        """The column of each entry."""
        return self.indices if self.is_csr else self.major

    @property
    def transposed(self) -> Form:
        """The transpose: the same arrays in the other format."""
        return replace(
            self,
            shape=self.shape[::-1],
            format="csc" if self.is_csr else "csr",
            static=self.static[::-1],
        )

    def with_data(self, data: Any) -> Form:
        """Return the matrix with other elements on the same pattern."""
        return replace(self, data=data)

    def with_pattern(self, data: Any, indices: Any, indptr: Any) -> Form:
        """Return a matrix of the same shape and format on another pattern."""
        indices, indptr = (_index_vector(v) for v in (indices, indptr))
        return replace(self, data=data, indices=indices, indptr=indptr)

    def has_pattern_of(self, other: Form) -> bool:
        """Return whether two matrices have the same pattern because it is the same variables.

        The patterns of two matrices that a graph makes of one pattern are different variables:
        both can be inputs of a function, with different patterns. Where they are not, rewrites find
        that the patterns are equal.
        """
        return (
            self.format == other.format
            and self.indices is other.indices
            and self.indptr is other.indptr
        )

    @property
    def variable(self) -> Any:
        """The sparse variable."""
        op = FromParts(self.format, self.static)
        return op(self.data, self.indices, self.indptr, self.shape)


def parts(x: Any) -> Form:
    """Return the dense variables of a sparse one.

    They are computed from it also where it is made of others, so that a program can take its value
    as an argument, and derivatives with respect to it.
    """
    data, indices, indptr, shape = _parts_of(x)
    return Form(data, indices, indptr, shape, x.type.format, x.type.shape)


def _parts_of(x: Any) -> Any:
    if isinstance(x, Constant):
        matrix: Any = x.data
        arrays = (matrix.data, matrix.indices.astype(INDEX), matrix.indptr.astype(INDEX))
        return [*map(pt.constant, arrays), pt.constant(np.array(matrix.shape, "int64"))]
    # Kept with the variable, so that gradients by way of several operations have one pattern.
    known = getattr(x.tag, "sparse_parts", None)
    if known is None or known[0].owner.inputs[0] is not x:
        known = Parts()(x)
        x.tag.sparse_parts = known
    return known


def from_arrays(data: Any, indices: Any, indptr: Any, shape: Any, format: str = "csr") -> Form:
    """Return a form of arrays and two sizes, which may be symbolic."""
    rows, columns = (pt.cast(as_tensor_variable(n), "int64") for n in shape)
    static = (known_int(rows), known_int(columns))
    sizes = pt.stack([rows, columns])
    indices, indptr = (_index_vector(v) for v in (indices, indptr))
    return Form(as_tensor_variable(data), indices, indptr, sizes, format, static)


def _index_vector(x: Any) -> Any:
    x = as_tensor_variable(x)
    return pt.constant(x.data.astype(INDEX)) if isinstance(x, Constant) else pt.cast(x, INDEX)


class PlacesIn(TakesShape):
    """Where the entries of one pattern are in another.

    It is the number of entries of the other for those that are not in it.
    """

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        """Build a node for the indices and ``indptr`` of both."""
        variables = [as_tensor_variable(v) for v in inputs]
        return Apply(self, variables, [TensorType("int64", (variables[0].type.shape[0],))()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Search by the key (major, minor) of an entry."""
        indices, indptr, others, other_indptr = inputs
        check_both(self, *inputs)
        output_storage[0][0] = places(keys(indices, indptr), keys(others, other_indptr))

    def error(self, number: int, _: int) -> Exception:
        """Return the error of a pattern that native code found to be wrong."""
        return wrong_pattern(self, number)

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        """Return nothing: patterns have no derivative."""
        return [disconnected_type() for _ in inputs]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Patterns have no derivative."""
        return [[False] for _ in node.inputs]


class ElementsAt(ShapedOp):
    """The elements of a matrix at the entries of another pattern; 0 where it has none.

    Inputs are the elements, indices and ``indptr`` of the matrix, then the other pattern. The
    gradient of the elements is that at the other pattern, taken at the entries of the matrix.
    """

    __props__ = ()

    def make_node(self, data: Any, *patterns: Any) -> Apply:
        """Build a node for elements, and the indices and ``indptr`` of both patterns."""
        data, *variables = [as_tensor_variable(v) for v in (data, *patterns)]
        inputs = [data, *variables]
        return Apply(self, inputs, [TensorType(data.type.dtype, *self.static_shapes(inputs))()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Search by the key (major, minor) of an entry."""
        data, *pattern, others, other_indptr = inputs
        if len(data) != len(pattern[0]):
            msg = f"{self}: {len(data)} elements for {len(pattern[0])} indices."
            raise ShapeError(msg)
        at: list[Any] = [None]
        PlacesIn().perform(node, [others, other_indptr, *pattern], [at])
        output_storage[0][0] = np.append(data, np.zeros(1, data.dtype))[at[0]]

    def output_shapes(self, shapes: Any) -> list[tuple[Any, ...]]:
        """Return the number of entries of the other pattern."""
        return [shapes.shapes[3]]

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        """Return the elements of the gradient at the entries of the matrix."""
        _, *patterns = inputs
        gradient = self(output_grads[0], *patterns[2:], *patterns[:2])
        return [gradient, *(disconnected_type() for _ in patterns)]

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        """Return the elements of the direction: it is linear."""
        direction = eval_points[0]
        return [None if direction is None else self(direction, *inputs[1:])]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The pattern has no derivative."""
        return [[True], *([False] for _ in node.inputs[1:])]

    def expanded(self, data: Any, *patterns: Any) -> Any:
        """Return the elements by their places."""
        at = PlacesIn()(*patterns[2:], *patterns[:2])
        return pt.concatenate([data, pt.zeros(1, data.type.dtype)])[at]


def elements_at(form: Form, pattern: Form) -> Any:
    """Return the elements of a matrix at the entries of a pattern; 0 where it has none."""
    if form.has_pattern_of(pattern):
        return form.data
    if form.format != pattern.format:
        msg = f"Both matrices must have one format, got {form.format} and {pattern.format}."
        raise ShapeError(msg)
    return ElementsAt()(form.data, form.indices, form.indptr, pattern.indices, pattern.indptr)


pprint.late.append(LateModule("phintys.sparse.printing"))
