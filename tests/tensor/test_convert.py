"""Making tensors out of numbers, arrays, lists, nodes and variables of other Types."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys._base.errors import DtypeError, OutOfBoundsError, ShapeError, TypeContractError
from phintys.graph import Apply, Op, Type, Variable
from phintys.tensor.convert import (
    _convert,
    as_tensor_variable,
    constant,
    contains_variable,
    convert_operands,
    register_conversion,
)
from phintys.testing.strategies import arrays

# ---- constants -----------------------------------------------------------------------------------


@given(arrays())
def test_an_array_keeps_dtype_shape_and_values(array):
    made = constant(array)
    assert made.type == pt.TensorType(array.dtype, array.shape)
    np.testing.assert_array_equal(made.data, array)
    assert not array.flags.writeable or not np.shares_memory(made.data, array)


@pytest.mark.parametrize(
    ("value", "dtype", "shape"),
    [
        (1, "int64", ()),
        (1.5, "float64", ()),
        (True, "bool", ()),
        (2j, "complex128", ()),
        ([1, 2], "int64", (2,)),
        ([[1.0], [2]], "float64", (2, 1)),
        ((1, 2.5), "float64", (2,)),
        ([], "float64", (0,)),
        (range(3), "int64", (3,)),
        (np.float32(1), "float32", ()),
        ([np.float32(1), np.float32(2)], "float32", (2,)),
        (np.int8(1), "int8", ()),
        (2**63, "uint64", ()),
    ],
)
def test_types_of_constants(value, dtype, shape):
    assert constant(value).type == pt.TensorType(dtype, shape)


def test_python_floats_have_floatx_and_numpys_their_own():
    with phintys.config.change_flags(floatX="float32"):
        assert constant(1.5).dtype == "float32"
        assert constant([[1.5, 2]]).dtype == "float32"
        assert constant(np.array(1.5)).dtype == "float64"
        assert constant(np.float64(1.5)).dtype == "float64"
        assert constant([np.float64(1.5)]).dtype == "float64"
        assert constant(1).dtype == "int64"
        assert constant(1j).dtype == "complex128"


def test_name_rank_and_dtype_of_a_constant():
    made = constant([1, 2], name="c", ndim=3, dtype="float32")
    assert made.name == "c"
    assert made.type == pt.TensorType("float32", (1, 1, 2))
    assert constant(300, dtype="int8").data == 44  # as NumPy's astype
    assert constant(1.5, dtype="floatX").dtype == "float64"
    assert constant(2**64, dtype="float64").data == 2.0**64
    assert constant([1.0, np.nan], ndim=1).ndim == 1
    with pytest.raises(ShapeError, match=r"at most 1 dimensions, got an array of shape \(1, 2\)"):
        constant([[1, 2]], ndim=1)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("text", r"Expected a variable, a number or an array of numbers, got 'text' of type str"),
        (None, r"Expected a variable, a number or an array of numbers, got None"),
        ([[1, 2], [3]], r"Cannot make an array of \[\[1, 2\], \[3\]\]"),
        (np.array(["a"]), r"Expected a variable, .* \(dtype <U1\)"),
        (2**64, r"got 18446744073709551616 .*, outside of the range of all integer dtypes"),
        (
            [1, [-(2**63) - 1]][1:],
            r"element \[0, 0\] is -9223372036854775809 .*, outside",
        ),
        (np.array(2**70, dtype=object), r"outside of the range of all integer dtypes"),
        pytest.param(10**5000, r"got int of too many digits .*, outside of the", id="digits"),
        (np.ma.array([1.0]), r"A masked array cannot become a constant"),
        (Fraction(1, 3), r"Convert it first, as in float\(x\)"),
        (Decimal("0.1"), r"Convert it first, as in float\(x\)"),
        ([object()], r"of type list \(dtype object\)"),
    ],
)
def test_what_is_no_constant(value, message):
    with pytest.raises(TypeContractError, match=message):
        constant(value)
    with pytest.raises(TypeContractError, match=message):
        as_tensor_variable(value)


def test_a_variable_is_no_constant():
    with pytest.raises(TypeContractError, match="takes a value, got the symbolic variable x"):
        constant(pt.dvector("x"))


def test_byte_order_is_made_native():
    made = constant(np.arange(3.0).astype(">f8"))
    assert made.dtype == "float64"
    assert made.data.dtype.isnative
    np.testing.assert_array_equal(made.data, [0, 1, 2])


# ---- as_tensor_variable --------------------------------------------------------------------------


def test_tensors_are_returned_as_they_are():
    for x in (pt.dvector("x"), constant(1), phintys.shared(np.zeros(2))):
        assert as_tensor_variable(x) is x


def test_names_are_given_to_what_is_made():
    x = pt.dvector("x")
    assert as_tensor_variable(x, name="y").name == "x"
    assert as_tensor_variable([1.0], name="y").name == "y"


def test_rank():
    x = pt.dvector("x")
    assert as_tensor_variable(x, ndim=1) is x
    assert as_tensor_variable(x, ndim=3).type.shape == (1, 1, None)
    assert as_tensor_variable(2.0, ndim=1).type.shape == (1,)
    with pytest.raises(ShapeError, match="at most 0 dimensions, got x with 1"):
        as_tensor_variable(x, ndim=0)


def test_dtype():
    x = pt.dvector("x")
    assert as_tensor_variable(x, dtype="float64") is x
    assert as_tensor_variable([1, 2], dtype="float32").dtype == "float32"
    with pytest.raises(DtypeError, match=r"Expected dtype float32, got x of dtype float64.*astype"):
        as_tensor_variable(x, dtype="float32")
    with pytest.raises(DtypeError, match="Expected dtype int8"):
        as_tensor_variable([x, x], dtype="int8")


def test_lists_of_variables_are_stacked(evaluate):
    x, y = pt.dscalars("x", "y")
    made = as_tensor_variable([[x, 1.0], [2, y]])
    assert made.type == pt.TensorType("float64", (2, 2))
    np.testing.assert_array_equal(
        evaluate(made, {x: np.array(3.0), y: np.array(4.0)}), [[3, 1], [2, 4]]
    )
    v = pt.dvector("v")
    rows = as_tensor_variable((v, [1.0, 2.0]))
    np.testing.assert_array_equal(evaluate(rows, {v: np.array([5.0, 6.0])}), [[5, 6], [1, 2]])


def test_contains_variable():
    x = pt.dscalar()
    assert contains_variable(x)
    assert contains_variable([1, [2, (x,)]])
    assert not contains_variable([1, [2, (3,)]])
    assert not contains_variable(np.zeros(3))
    nested = x
    for _ in range(10_000):
        nested = [nested]
    with pytest.raises(TypeContractError, match="nested at most"):
        contains_variable(nested)


class Pair(Op):
    default_output = 1

    def make_node(self, x):
        return Apply(self, [x], [pt.dscalar("first"), pt.dvector("second")])


def test_a_node_stands_for_its_default_output():
    node = Pair().make_node(pt.dvector("x"))
    assert as_tensor_variable(node) is node.outputs[1]
    assert pt.exp(node).owner.inputs[0] is node.outputs[1]


def test_scalars_become_tensors_of_rank_0():
    x = ps.float64("x")
    assert as_tensor_variable(x).type == pt.dscalar
    made = as_tensor_variable(ps.constant(2.0))
    assert isinstance(made, pt.TensorConstant)
    assert made.data == 2.0


def test_variables_of_other_types():
    with pytest.raises(TypeContractError, match=r"Expected a tensor, got thing of type.*register"):
        as_tensor_variable(Type()("thing"))


class Metres:
    """A Python type of a user."""

    def __init__(self, value):
        self.value = value


class LengthType(Type):
    variable_type = type("LengthVariable", (Variable,), {})


def test_conversions_of_users():
    register_conversion(Metres, lambda x, name: constant(x.value, name=name))
    assert as_tensor_variable(Metres(2.0), name="m").data == 2.0
    assert pt.add(pt.dscalar(), Metres(2.0)).type == pt.dscalar
    register_conversion(LengthType.variable_type, lambda x, name: pt.dscalar("converted"))
    assert as_tensor_variable(LengthType()("l")).name == "converted"
    assert _convert.dispatch(Metres) is not _convert.dispatch(object)


# ---- operands ------------------------------------------------------------------------------------


def _dtypes(op, *operands):
    return [x.dtype for x in convert_operands(op, operands)]


def test_literals_are_weak():
    x = pt.fvector("x")
    assert _dtypes(ps.add, x, 1.5) == ["float32", "float32"]
    assert _dtypes(ps.add, 2, x) == ["float32", "float32"]
    assert _dtypes(ps.add, pt.bvector(), 1) == ["int8", "int8"]
    assert _dtypes(ps.add, pt.bvector(), 1.5)[1] == "float64"
    assert _dtypes(ps.add, x, 1j) == ["float32", "complex64"]
    assert _dtypes(ps.true_div, pt.ivector(), 2)[1] in {"float64", "int32"}


def test_bools_are_as_strong_as_numpys():
    assert _dtypes(ps.add, pt.bvector(), True) == ["int8", "bool"]
    assert _dtypes(ps.and_, pt.tensor(shape=(), dtype="bool"), True) == ["bool", "bool"]


def test_arrays_and_numpys_numbers_are_strong():
    x = pt.fvector("x")
    assert _dtypes(ps.add, x, np.float64(1)) == ["float32", "float64"]
    assert _dtypes(ps.add, x, np.array([1.0])) == ["float32", "float64"]
    assert _dtypes(ps.add, x, [1.0]) == ["float32", "float64"]


def test_literals_that_do_not_fit():
    with pytest.raises(OutOfBoundsError, match="300"):
        pt.bvector() + 300
    with pytest.raises(OutOfBoundsError, match="-1"):
        pt.tensor(shape=(), dtype="uint8") * -1


def test_literals_alone():
    assert _dtypes(ps.add, 1, 2.5) == ["int64", "float64"]
    with phintys.config.change_flags(floatX="float32"):
        assert _dtypes(ps.add, 1.5, 2.5) == ["float32", "float32"]


@pytest.mark.parametrize("kind", ["int", "list", "digits", "array"])
def test_large_ints_say_how_to_write_them(kind):
    large = 10**5000 if kind == "digits" else 2**64
    value = {"list": [1, large], "array": np.array(large, dtype=object)}.get(kind, large)
    for take in (constant, phintys.shared, lambda x: pt.take(pt.dvector("v"), x)):
        if take is phintys.shared and kind == "array":
            continue  # of any object
        with pytest.raises(TypeContractError, match=r"outside of the range .* Write a float"):
            take(value)


@pytest.mark.parametrize(
    ("dtype", "value", "remedy"),
    [
        ("int8", 300, "NumPy scalar of a larger dtype"),
        ("int64", 2**70, "Write a float"),
        ("uint64", -1, "Write a float"),
        ("float64", 10**400, "No dtype holds larger numbers"),
    ],
)
def test_ints_out_of_bounds_say_what_has_room(dtype, value, remedy):
    with pytest.raises(OutOfBoundsError, match=remedy):
        pt.vector("x", dtype=dtype) + value
