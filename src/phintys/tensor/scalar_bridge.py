"""Conversion between scalar variables and 0-d tensors, and vectors made of either."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import DtypeError, ShapeError, TypeContractError
from phintys.graph.apply import Apply
from phintys.scalar.type import ScalarType
from phintys.scalar.variable import ScalarConstant
from phintys.tensor._operators import operators
from phintys.tensor._rules import is_discrete, is_missing, zero_gradient
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import JoinsArrays
from phintys.tensor.shape_rules import S, ShapedOp, Shapes
from phintys.tensor.type import TensorType, normalize_dtype, promote
from phintys.tensor.variable import TensorConstant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.variable import Variable
    from phintys.tensor.variable import TensorVariable


class MakeVector(JoinsArrays, ShapedOp):
    """Make a vector of 0-d tensors.

    Parameters
    ----------
    dtype
        Dtype of the vector. Elements of other dtypes are cast where that is lossless.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.MakeVector("int64")(pt.lscalar("n"), 3).type
    Vector(int64, shape=(2,))
    """

    __props__ = ("dtype",)
    raises_only_for_shapes = True

    def __init__(self, dtype: Any = "int64") -> None:
        self.dtype = normalize_dtype(dtype)

    def make_node(self, *elements: Any) -> Apply:
        variables = [self._element(element) for element in elements]
        return Apply(self, variables, [TensorType(self.dtype, (len(variables),))()])

    def _element(self, element: Any) -> Any:
        element = as_tensor_variable(element)
        if element.ndim != 0:
            msg = (
                f"{self} takes tensors without dimensions, got {element} of type {element.type}. "
                "Use pt.concatenate to join arrays, or pt.stack to stack them."
            )
            raise ShapeError(msg)
        if element.dtype == self.dtype:
            return element
        if not np.can_cast(element.dtype, self.dtype):
            msg = (
                f"{self}: {element} of dtype {element.dtype} does not fit into {self.dtype} "
                "without loss. Cast it with astype."
            )
            raise DtypeError(msg)
        return operators.cast(element, self.dtype)

    def perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        cell = output_storage[0]
        former = cell[0]
        if former is None or former.shape != (len(inputs),) or not former.flags.writeable:
            former = cell[0] = np.empty(len(inputs), node.outputs[0].type.numpy_dtype)
        for position, value in enumerate(inputs):
            former[position] = value

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        return [(shapes.number(len(shapes.inputs)),)]

    def static_value(self, node: Apply, known: Sequence[Any]) -> tuple[int | None, ...]:
        """Return the elements that are known."""
        return tuple(entry if isinstance(entry, int) else None for entry in known)

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        if is_discrete(outputs[0]):
            return [zero_gradient(x) for x in inputs]
        return self.split_moved(output_grads[0], outputs[0], inputs)

    def are_as_long(self, x: Any, y: Any) -> bool:
        """All parts are numbers."""
        return True

    def splitter(self, inputs: Sequence[Any]) -> Callable[[Any], Sequence[Any]]:
        """Take the elements."""
        return lambda x: [x[position] for position in range(len(inputs))]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        if all(is_missing(point) for point in eval_points):
            return [None]
        directions = [
            zero_gradient(x) if is_missing(point) else point
            for x, point in zip(inputs, eval_points, strict=True)
        ]
        return [make_vector(*directions)]


def make_vector(*elements: Any) -> TensorVariable:
    """Return a vector of 0-d tensors, with the dtype to which they promote.

    Parameters
    ----------
    elements
        Tensors of rank 0, or numbers.

    Returns
    -------
    TensorVariable
        A vector of known length; of dtype int64 if there are no elements.

    Raises
    ------
    ShapeError
        An element has dimensions.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.make_vector(pt.iscalar("i"), pt.fscalar("x")).type
    Vector(float64, shape=(2,))
    """
    variables = [as_tensor_variable(element) for element in elements]
    dtype = promote(*(x.dtype for x in variables)) if variables else "int64"
    return MakeVector(dtype)(*variables)


class TensorFromScalar(ShapedOp):
    """Return a scalar as a 0-d array."""

    __props__ = ()

    def make_node(self, x: Variable) -> Apply:
        """Apply to a scalar variable."""
        if not isinstance(x.type, ScalarType):
            msg = f"{self} takes a scalar, got {x} of type {x.type}."
            raise TypeContractError(msg)
        return Apply(self, [x], [TensorType(x.type.dtype, ())()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Make the array."""
        output_storage[0][0] = np.asarray(inputs[0])

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Return no sizes."""
        return [()]

    def static_value(self, node: Apply, known: Sequence[Any]) -> Any:
        """Return the same number."""
        return known[0]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return the gradient as a scalar."""
        return [scalar_from_tensor(output_grads[0])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Convert the tangent."""
        return [None if eval_points[0] is None else self(eval_points[0])]


class ScalarFromTensor(ShapedOp):
    """Return the element of a 0-d array as a scalar."""

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        """Apply to a tensor of rank 0."""
        x = as_tensor_variable(x)
        if x.ndim != 0:
            msg = f"{self} takes a tensor of rank 0, got {x} of type {x.type}."
            raise TypeContractError(msg)
        return Apply(self, [x], [ScalarType(x.type.dtype)()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Return the element."""
        output_storage[0][0] = inputs[0][()]

    def output_shapes(self, shapes: Shapes[S]) -> list[Any]:
        """Return no shape: a scalar has none."""
        return [None]

    def static_value(self, node: Apply, known: Sequence[Any]) -> Any:
        """Return the same number."""
        return known[0]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return the gradient as a tensor."""
        return [tensor_from_scalar(output_grads[0])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Convert the tangent."""
        return [None if eval_points[0] is None else self(eval_points[0])]


tensor_from_scalar = TensorFromScalar()
scalar_from_tensor = ScalarFromTensor()


def convert_scalar(x: Any, name: str | None) -> Any:
    """Return a scalar variable as a 0-d tensor, a constant as a constant."""
    if isinstance(x, ScalarConstant):
        return TensorConstant(TensorType(x.type.dtype, ()), np.asarray(x.data), name=name)
    return tensor_from_scalar(x, name=name)
