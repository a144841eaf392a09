"""Scalar ops written by users, and what is common to all scalar ops."""

import pickle

import numpy as np
import pytest

import phintys.scalar as ps
from phintys._base.errors import (
    DtypeError,
    MethodNotDefinedError,
    OpContractError,
    TypeContractError,
)
from phintys.graph import Apply, Op, Type, Variable, contract
from phintys.scalar import BinaryScalarOp, ScalarOp, ScalarType, UnaryScalarOp, register_lift


class Halve(UnaryScalarOp):
    def impl(self, x):
        assert isinstance(x, np.generic)
        return float(x) / 2

    def grad(self, inputs, output_grads):
        return [output_grads[0] / 2]


class Average(BinaryScalarOp):
    """An op that tells its types itself."""

    def output_types(self, input_types):
        return [ScalarType(ps.upcast(*(type.dtype for type in input_types), "float32"))]

    def impl(self, x, y):
        return (x + y) / 2


class DivMod(ScalarOp):
    nin = 2
    nout = 2

    def impl(self, x, y):
        return x // y, x % y


halve = Halve(ps.upgrade_to_float, name="halve")
divmod_ = DivMod(ps.transfer_type(0, 1), name="divmod")


def test_a_users_op(evaluate):
    x = ps.float32("x")
    y = halve(x, name="y")
    assert str(halve) == "halve"
    assert str(Average()) == "Average"
    assert y.type is ps.float32
    assert y.name == "y"
    (value,) = evaluate([y], {x: 3})
    assert value == np.float32(1.5)
    assert value.dtype == "float32"
    assert halve(ps.int8()).type is ps.float64
    assert halve(3).type is ps.float64
    (gradient,) = halve.L_op([x], [y], [ps.float32.make_constant(3)])
    assert evaluate([gradient], {x: 0}) == [1.5]
    assert halve(x, return_list=True)[0].type is ps.float32


def test_types_told_by_the_op(evaluate):
    x, y = ps.int8(), ps.float16()
    out = Average()(x, y)
    assert out.type is ps.float32
    assert evaluate([out], {x: 3, y: 4}) == [3.5]
    # A literal takes the dtype that NumPy's promotion gives it.
    assert Average()(y, 4.0).owner.inputs[1].type is ps.float16


def test_several_outputs(evaluate):
    x, y = ps.int64(), ps.int16()
    quotient, rest = divmod_(x, y, name="q")
    assert (quotient.type, rest.type) == (ps.int64, ps.int16)
    assert quotient.name == "q"
    assert evaluate([quotient, rest], {x: 17, y: 5}) == [3, 2]


def test_kernels_call_impl_for_each_element():
    kernel = halve.kernel(["int8"])
    x = np.array([[1, 2, 3], [4, 5, 6]], "int8")
    np.testing.assert_array_equal(kernel(x.T), x.T / 2)
    out = np.empty((2, 3))
    assert kernel(x, out=out) is out
    np.testing.assert_array_equal(out, x / 2)
    assert kernel(np.empty((0, 2), "int8")).shape == (0, 2)
    assert kernel(np.array(3, "int8")) == 1.5

    kernel = divmod_.kernel(["int64", "int16"])
    quotient, rest = kernel(np.array([[7], [8]]), np.array([2, 3, 4], "int16"))
    np.testing.assert_array_equal(quotient, [[3, 2, 1], [4, 2, 2]])
    np.testing.assert_array_equal(rest, [[1, 1, 3], [0, 2, 0]])
    assert rest.dtype == "int16"
    outs = (np.empty(3, "int64"), np.empty(3, "int16"))
    results = kernel(np.array([7, 8, 9]), np.array([2, 2, 2], "int16"), out=outs)
    assert results[0] is outs[0]
    np.testing.assert_array_equal(outs[0], [3, 4, 4])


def test_equality():
    assert Halve(ps.upgrade_to_float) == Halve(ps.upgrade_to_float)
    assert hash(Halve(ps.upgrade_to_float)) == hash(Halve(ps.upgrade_to_float))
    assert Halve(ps.upgrade_to_float) != Halve(ps.same_out)
    assert Halve(ps.upgrade_to_float) != Average(ps.upgrade_to_float)
    assert DivMod(ps.transfer_type(0, 1)) == DivMod(ps.transfer_type(0, 1))
    assert pickle.loads(pickle.dumps(halve)) == halve

    class Power(UnaryScalarOp):
        __props__ = ("n",)

        def __init__(self, n):
            super().__init__(ps.same_out)
            self.n = n

    assert Power(2) == Power(2)
    assert Power(2) != Power(3)
    assert str(Power(2)) == "Power{n=2}"


def test_a_preference_may_be_a_class_attribute():
    class Third(UnaryScalarOp):
        output_types_preference = ps.upgrade_to_float

    class Fourth(UnaryScalarOp):
        def output_types_preference(self, type):
            assert isinstance(self, Fourth)
            return [ps.float32]

    class Fifth(UnaryScalarOp):
        output_types_preference = ps.transfer_type(0)

    assert Third()(ps.int8()).type is ps.float64
    assert Fourth()(ps.int8()).type is ps.float32
    assert Fifth()(ps.int8()).type is ps.int8
    assert Third() == Third()


def test_a_rule_for_types_is_needed():
    with pytest.raises(MethodNotDefinedError, match="upgrade_to_float"):
        Halve()(1.0)
    with pytest.raises(TypeContractError, match="function of the"):
        Halve("float64")
    with pytest.raises(OpContractError, match="one for each output"):
        Halve(lambda type: ["float64"])(1.0)
    with pytest.raises(OpContractError, match="2 ScalarType"):
        DivMod(ps.upcast_out)(1, 2)


def test_wrong_impls(evaluate):
    class Wrong(UnaryScalarOp):
        def impl(self, x):
            return "no number"

    class TooFew(DivMod):
        def impl(self, x, y):
            return (x,)

    x = ps.float64()
    with pytest.raises(TypeContractError, match="takes one number"):
        evaluate([Wrong(ps.same_out)(x)], {x: 1})
    with pytest.raises(OpContractError, match="tuple of 2"):
        evaluate(TooFew(ps.transfer_type(0, 1))(x, x), {x: 1})
    with pytest.raises(MethodNotDefinedError, match="has no impl"):
        evaluate([UnaryScalarOp(ps.same_out)(x)], {x: 1})
    with pytest.raises(MethodNotDefinedError, match="does not define grad"):
        contract.input_gradients(Average().make_node(x, x), [x])


def test_wrong_number_of_inputs():
    x = ps.float64()
    with pytest.raises(OpContractError, match="halve takes 1 input, got 2"):
        halve(x, x)
    with pytest.raises(OpContractError, match="takes 2 inputs, got 1"):
        Average()(x)
    with pytest.raises(OpContractError, match="at least one"):
        ps.add()


def test_literal_dtypes():
    f4, i1 = np.dtype("float32"), np.dtype("int8")
    assert ps.add.literal_dtypes([f4, 1.0]) == (f4, f4)
    assert ps.add.literal_dtypes([i1, 1.0]) == (i1, np.dtype("float64"))
    assert ps.add.literal_dtypes([2, i1, 1]) == (i1, i1, i1)
    assert ps.true_div.literal_dtypes([1, i1]) == (np.dtype("float64"), i1)
    assert ps.exp.literal_dtypes([1]) == (np.dtype("int64"),)
    assert ps.add.literal_dtypes([1, 2.0]) == (np.dtype("int64"), np.dtype("float64"))
    assert ps.lt.literal_dtypes([i1, 300]) == (i1, np.dtype("int64"))
    b = np.dtype(bool)
    assert ps.or_.literal_dtypes([b, False]) == (b, b)
    assert ps.add.literal_dtypes([f4, True]) == (f4, b)
    assert ps.add.literal_dtypes([True, 1]) == (b, np.dtype("int64"))
    assert ps.switch.literal_dtypes([True, f4, 1]) == (b, f4, f4)


# Preferences


@pytest.mark.parametrize(
    ("preference", "given", "expected"),
    [
        (ps.same_out, "int8", "int8"),
        (ps.upcast_out, "int8 float32", "float32"),
        (ps.upcast_out_nobool, "bool int8", "int8"),
        (ps.upcast_out_nobool, "bool bool", DtypeError),
        (ps.upcast_out_min8, "bool bool", "int8"),
        (ps.upcast_out_min8, "bool float32", "float32"),
        (ps.upgrade_to_float, "int8", "float64"),
        (ps.upgrade_to_float, "bool float32", "float64"),
        (ps.upgrade_to_float, "float32 float16", "float32"),
        (ps.upgrade_to_float, "complex64", "complex64"),
        (ps.upgrade_to_float64, "float32", "float64"),
        (ps.upgrade_to_float64, "complex64", "complex128"),
        (ps.float_out, "float32 float64", "float64"),
        (ps.float_out, "int8", DtypeError),
        (ps.int_out, "int8 int16", "int16"),
        (ps.int_out, "float32", DtypeError),
        (ps.complex_out, "complex64 float32", "complex64"),
        (ps.complex_out, "float32", DtypeError),
        (ps.transfer_type(1, 0), "int8 float32", "float32 int8"),
        (ps.specific_out("int8", ps.bool_), "float32", "int8 bool"),
    ],
)
def test_preferences(preference, given, expected):
    types = [ScalarType(name) for name in given.split()]
    assert pickle.loads(pickle.dumps(preference)) == preference
    if expected is DtypeError:
        with pytest.raises(DtypeError):
            preference(*types)
        return
    assert [type.dtype for type in preference(*types)] == expected.split()


def test_preferences_with_parameters_compare_by_them():
    assert hash(ps.transfer_type(0)) == hash(ps.transfer_type(0))
    assert ps.transfer_type(0) != ps.transfer_type(1)
    assert ps.specific_out("int8") == ps.specific_out(ps.int8)
    assert hash(ps.specific_out("int8")) == hash(ps.specific_out(ps.int8))
    assert ps.specific_out("int8") != ps.specific_out("bool")


# Lifting


class Pair(Type):
    """Two numbers."""

    __props__ = ("dtype",)

    def __init__(self, dtype="float64"):
        self.dtype = dtype


class PairVariable(Variable):
    def __add__(self, other):
        return ps.add(self, other)

    def __sub__(self, other):
        return ps.sub(self, other)

    def __rsub__(self, other):
        return ps.sub(other, self)

    def __mul__(self, other):
        return ps.mul(self, other)

    def __rtruediv__(self, other):
        return ps.true_div(other, self)

    def __neg__(self):
        return ps.neg(self)

    __radd__ = __add__
    __rmul__ = __mul__


Pair.variable_type = PairVariable


class OnPairs(Op):
    __props__ = ("op",)

    def __init__(self, op):
        self.op = op

    def make_node(self, *inputs):
        dtypes = [x.type.dtype if isinstance(x, Variable) else "int8" for x in inputs]
        (dtype,) = self.op.resolve_dtypes(dtypes)
        inputs = [x if isinstance(x, Variable) else ps.constant(x) for x in inputs]
        return Apply(self, inputs, [Pair(dtype.name)() for _ in range(self.op.nout)])


register_lift(Pair, lambda op, inputs: OnPairs(op)(*inputs))


def test_ops_lift_themselves():
    pair, x = Pair()("p"), ps.float32("x")
    for out in (ps.exp(pair), ps.add(x, pair), ps.add(pair, 2), x + pair, 2 + x * pair):
        assert isinstance(out.type, Pair)
        assert isinstance(out.owner.op, OnPairs)
    assert ps.exp(pair, name="e").name == "e"
    assert isinstance(ps.exp(pair, return_list=True), list)
    assert isinstance(ps.cast(pair, "int8").owner.op.op, ps.Cast)
    assert ps.cast(pair, "float64") is pair
    assert isinstance(ps.zeros_like(pair).type, Pair)
    assert isinstance(ps.zeros_like(pair, "int8").owner.inputs[1], ps.ScalarConstant)


def test_derivative_rules_lift_themselves():
    pair, g = Pair()("p"), Pair()("g")
    for name in ("exp", "log", "sin", "sigmoid", "abs", "floor", "erf"):
        op = ps.SCALAR_OPS[name]
        (gradient,) = op.L_op([pair], [op(pair)], [g])
        assert isinstance(gradient.type, Pair)
        (tangent,) = op.R_op([pair], [g])
        assert isinstance(tangent.type, Pair)


def test_the_lifter_registered_last_decides():
    class Other(Pair):
        pass

    class Third(Type):
        pass

    assert isinstance(ps.exp(Other()()).type, Pair)  # that of the base class
    register_lift(Third, lambda op, inputs: ps.int8("third"))
    assert ps.add(Pair()(), Third()()).name == "third"
    assert ps.add(Third()(), Pair()()).name == "third"


def test_lifters_for_values():
    class Blob:
        pass

    with pytest.raises(TypeContractError, match="needs a number"):
        ps.exp(Blob())
    register_lift(Blob, lambda op, inputs: ps.int8("blob"))
    assert ps.exp(Blob()).name == "blob"
    assert ps.add(Blob(), ps.float64()).name == "blob"


def test_no_lifter():
    class Nothing(Type):
        pass

    with pytest.raises(TypeContractError, match="type Nothing") as caught:
        ps.exp(Nothing()("n"))
    assert "scalar op exp" in caught.value.__notes__[0]


# The program of the seed on how to make Ops


def test_the_seeds_add():
    from phintys.graph import Constant, Op
    from phintys.scalar import constant, float64, int64

    class Add(Op):
        def make_node(self, x, y):
            if isinstance(x, int):
                x = constant(x)
            elif not isinstance(x, Variable) or x.type != int64:
                raise TypeError("expected an int64 Scalar")
            if isinstance(y, int):
                y = constant(y)
            elif not isinstance(y, Variable) or x.type != int64:
                raise TypeError("expected an int64 Scalar")
            return Apply(op=self, inputs=[x, y], outputs=[int64()])

        def perform(self, node, inputs, output_storage):
            x, y = inputs
            (z,) = output_storage
            z[0] = x + y

    add = Add()
    node1 = add.make_node(int64(), int64())
    node2 = add.make_node(1, 2)
    node3 = add.make_node(int64(), 79)
    with pytest.raises(TypeError, match="expected an int64 Scalar"):
        add.make_node(float64(), int64())
    for node in (node1, node2, node3):
        assert [v.type for v in [*node.inputs, *node.outputs]] == [int64] * 3
    assert isinstance(node2.inputs[0], Constant)
    assert Constant(type=int64, data=3).equals(constant(3))
    storage = [None]
    add.perform(node1, (3, 7), (storage,))
    assert storage == [10]
