"""Conversion between scalar variables and 0-d tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import TypeContractError
from phintys.graph.apply import Apply
from phintys.scalar.type import ScalarType
from phintys.scalar.variable import ScalarConstant
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.shape_rules import S, ShapedOp, Shapes
from phintys.tensor.type import TensorType
from phintys.tensor.variable import TensorConstant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.variable import Variable


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
