"""Ops and Types for the tests of the compiler, small enough to be seen through."""

from types import SimpleNamespace

import numpy as np
import pytest

from phintys.graph import Apply, Constant, Op, Type, Variable
from phintys.tensor.type import TensorType

vector = TensorType("float64", (None,))
scalar = TensorType("float64", ())


class Call(Op):
    """Computes its one output by a function of the values, of the first input's type."""

    def __init__(self, name, function, **attributes):
        self.name = name
        self.function = function
        self.__dict__.update(attributes)

    def make_node(self, *inputs):
        type_ = next(one.type for one in inputs if isinstance(one, Variable))
        inputs = [
            one if isinstance(one, Variable) else Constant(type_, one, name=str(one))
            for one in inputs
        ]
        return Apply(self, inputs, [type_()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = self.function(*inputs)

    def __repr__(self):
        return self.name


class Double(Type):
    """Python floats, as in the contract's example."""

    def filter(self, value, strict=False, allow_downcast=None):
        if strict:
            if isinstance(value, float):
                return value
            raise TypeError("Expected a float!")
        if allow_downcast:
            return float(value)
        as_float = float(value)
        if as_float == value:
            return as_float
        raise TypeError(f"The double type cannot accurately represent value {value}")

    def __repr__(self):
        return "double"


def iadd(x, y):
    x += y
    return x


OPS = SimpleNamespace(
    Call=Call,
    Double=Double,
    double=Double(),
    vector=vector,
    scalar=scalar,
    add=Call("add", lambda x, y: x + y),
    mul=Call("mul", lambda x, y: x * y),
    neg=Call("neg", lambda x: -x),
    flip=Call("flip", lambda x: x[::-1], view_map={0: [0]}),
    same=Call("same", lambda x: x, view_map={0: [0]}),
    either=Call("either", lambda x, y: x if x[0] > 0 else y, view_map={0: [0, 1]}),
    add_inplace=Call("add_inplace", iadd, destroy_map={0: [0]}),
    array=lambda *numbers: np.array(numbers, dtype="float64"),
)


@pytest.fixture(scope="session")
def ops():
    return OPS
