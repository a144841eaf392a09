"""The examples of the documents that Phintys keeps to, as far as they need no compiler."""

import operator

import pytest

from phintys.graph import Apply, Constant, FunctionGraph, Op, Type, equal_computations, toposort


def make_double():
    double = Type()

    def filter(x, strict=False, allow_downcast=None):
        if strict:
            if isinstance(x, float):
                return x
            raise TypeError("Expected a float!")
        if allow_downcast:
            return float(x)
        x_float = float(x)
        if x_float == x:
            return x_float
        raise TypeError(
            f"The double type cannot accurately represent value {x} (of type {type(x)}): you must "
            "explicitly allow downcasting if you want to do this."
        )

    def values_eq_approx(x, y, tolerance=1e-4):
        return abs(x - y) / (abs(x) + abs(y)) < tolerance

    double.filter = filter
    double.values_eq_approx = values_eq_approx
    return double


double = make_double()


def make_mul():
    mul = Op()

    def make_node(x, y):
        if isinstance(x, int | float):
            x = Constant(double, x)
        if isinstance(y, int | float):
            y = Constant(double, y)
        if x.type != double or y.type != double:
            raise TypeError("mul only works on doubles")
        return Apply(mul, [x, y], [double()])

    def perform(node, inputs, output_storage):
        x, y = inputs[0], inputs[1]
        z = output_storage[0]
        z[0] = x * y

    mul.make_node = make_node
    mul.perform = perform
    return mul


mul = make_mul()


class BinaryDoubleOp(Op):
    __props__ = ("name", "fn")

    def __init__(self, name, fn):
        self.name = name
        self.fn = fn

    def make_node(self, x, y):
        if isinstance(x, int | float):
            x = Constant(double, x)
        if isinstance(y, int | float):
            y = Constant(double, y)
        if x.type != double or y.type != double:
            raise TypeError(f"{self.name} only works on doubles")
        return Apply(self, [x, y], [double()])

    def perform(self, node, inp, out):
        x, y = inp
        (z,) = out
        z[0] = self.fn(x, y)

    def __str__(self):
        return self.name


def compute(output, values):
    """Run a graph by the Ops' thunks."""
    cells = {variable: [variable.type.filter(value)] for variable, value in values.items()}
    for node in toposort([output]):
        for variable in (*node.inputs, *node.outputs):
            cells.setdefault(variable, [getattr(variable, "data", None)])
        computed = {variable: [False] for variable in node.outputs}
        node.op.make_thunk(node, cells, computed, [])()
        assert all(cell == [True] for cell in computed.values())
    return cells[output][0]


def test_the_double_type():
    assert double.filter(3) == 3.0
    assert type(double.filter(3)) is float
    assert double.is_valid_value(3.0)
    assert not double.is_valid_value(3)
    assert double.values_eq_approx(1.0, 1.00001)
    assert not double.values_eq_approx(1.0, 1.1)
    assert not double.values_eq(1.0, 1.00001)
    with pytest.raises(TypeError, match="cannot accurately represent"):
        double.filter(2**53 + 1)
    assert double.filter(2**53 + 1, allow_downcast=True) == 2.0**53


def test_types_made_by_a_class_differ_unless_they_say_otherwise():
    class Double(Type):
        def filter(self, x, strict=False, allow_downcast=None):
            return double.filter(x, strict, allow_downcast)

        def __str__(self):
            return "double"

    assert (Double() == Double()) is False
    assert str(Double()) == "double"
    assert str(Double()()) == "<double>"

    class Single(Double):
        made = None

        def __new__(cls):
            cls.made = cls.made or super().__new__(cls)
            return cls.made

    assert Single() == Single()


def test_mul():
    x, y = double("x"), double("y")
    z = mul(x, y)
    assert compute(z, {x: 5, y: 6}) == 30.0
    assert compute(z, {x: 5.6, y: 6.7}) == 5.6 * 6.7
    assert compute(mul(x, 2), {x: 10}) == 20.0
    assert compute(mul(x, 2), {x: 3.4}) == 6.8
    with pytest.raises(TypeError, match="mul only works on doubles"):
        mul(x, Type()("other"))


def test_automatic_wrapping_is_up_to_make_node():
    plain = Op()
    plain.make_node = lambda x, y: Apply(plain, [x, y], [x.type() if y.type else None])
    with pytest.raises(AttributeError, match="'int' object has no attribute 'type'"):
        plain(double("x"), 2)


def test_four_operations():
    add, sub, times, div = (
        BinaryDoubleOp(name=name, fn=getattr(operator, fn))
        for name, fn in [("add", "add"), ("sub", "sub"), ("mul", "mul"), ("div", "truediv")]
    )
    x, y = double("x"), double("y")
    expression = div(add(x, sub(y, 1)), times(2, y))
    assert compute(expression, {x: 3.0, y: 4.0}) == (3 + (4 - 1)) / (2 * 4)
    assert add == BinaryDoubleOp("add", operator.add)
    assert add != sub
    assert str(expression.owner) == "div(add.0, mul.0)"


def test_an_op_with_any_number_of_inputs():
    """The exercise at the end of the first document."""

    class DoubleOp(Op):
        __props__ = ("name", "fn", "nin")

        def __init__(self, name, fn, nin):
            self.name = name
            self.fn = fn
            self.nin = nin

        def make_node(self, *inputs):
            if len(inputs) != self.nin:
                raise TypeError(f"{self.name} takes {self.nin} inputs, got {len(inputs)}")
            return Apply(self, [double.filter_variable(x) for x in inputs], [double()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = self.fn(*inputs)

    fma = DoubleOp("fma", lambda x, y, z: x * y + z, 3)
    x, y = double("x"), double("y")
    assert compute(fma(x, 2, y), {x: 3.0, y: 4.0}) == 10.0
    with pytest.raises(TypeError, match="fma takes 3 inputs, got 2"):
        fma(x, y)


def test_make_node_applied_to_a_node_s_inputs_makes_its_like():
    x, y = double("x"), double("y")
    node = mul(x, y).owner
    again = node.op.make_node(*node.inputs)
    assert equal_computations(node.outputs, again.outputs)
    copied = FunctionGraph([x, y], node.outputs)
    assert equal_computations(copied.outputs, node.outputs, copied.inputs, [x, y])


def test_a_hidden_output_as_the_state_of_an_op():
    class Add(Op):
        """Keep a buffer that is larger than what is returned."""

        default_output = 0

        def make_node(self, x, y):
            return Apply(self, [x, y], [x.type.make_variable(), x.type.make_variable()])

        def perform(self, node, inputs, output_storage):
            x, y = inputs
            z, stor = output_storage
            if z[0] is None or stor[0] is None:
                stor[0] = [0.0] * (len(x) * 2)
            elif len(x) > len(stor[0]):
                stor[0].extend([0.0] * len(x))
            for i, (a, b) in enumerate(zip(x, y, strict=True)):
                stor[0][i] = a + b
            z[0] = stor[0][: len(x)]

    vector = Type()
    vector.filter = lambda value, strict=False, allow_downcast=None: value
    x, y = vector("x"), vector("y")
    z = Add()(x, y)
    assert z.index == 0
    node = z.owner
    cells = {x: [[1.0, 2.0]], y: [[3.0, 4.0]], node.outputs[0]: [None], node.outputs[1]: [None]}
    thunk = node.op.make_thunk(node, cells, {v: [False] for v in node.outputs}, [])
    thunk()
    buffer = cells[node.outputs[1]][0]
    assert cells[z] == [[4.0, 6.0]]
    cells[x][0], cells[y][0] = [1.0, 1.0, 1.0], [1.0, 2.0, 3.0]
    thunk()
    assert cells[z] == [[2.0, 3.0, 4.0]]
    assert cells[node.outputs[1]][0] is buffer
