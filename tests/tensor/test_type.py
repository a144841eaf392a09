"""TensorType: what it takes, what it refuses, and which types are equal."""

import copy
import gc
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys._base.errors import ShapeError, TypeContractError
from phintys.graph import Constant, Type, Variable
from phintys.tensor.type import DTYPES, TensorType, normalize_dtype, promote
from phintys.testing.strategies import arrays, tensor_types, types_of

# ---- how many there are --------------------------------------------------------------------------


def test_types_with_lengths_do_not_stay(repeats):
    def count():
        gc.collect()
        return len(TensorType._interned) + len(TensorType._with_lengths)

    before = count()
    for length in range(10_000, repeats(12_000, 15_000)):
        x = pt.constant(np.zeros(length, "int8"))
        assert TensorType("int8", (length,)) is x.type
        pt.exp(x).dimshuffle("x", 0) + 1
    assert count() - before < 3000  # of 6,000 or more; Ops remember the types of their last results


def test_a_type_in_use_is_one_object():
    kept = TensorType("float64", (77_777, 1))
    gc.collect()
    assert TensorType("float64", (77_777, 1)) is kept
    assert pickle.loads(pickle.dumps(kept)) is kept
    assert TensorType("float64", (None, 1)) is TensorType("float64", (None, 1))


# ---- dtypes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DTYPES)
def test_every_way_to_name_a_dtype(name):
    for dtype in (name, np.dtype(name), np.dtype(name).type, np.dtype(name).newbyteorder()):
        assert normalize_dtype(dtype) == name


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (float, "float64"),
        (int, "int64"),
        (bool, "bool"),
        (complex, "complex128"),
        ("f4", "float32"),
    ],
)
def test_python_types_and_codes(given, name):
    assert normalize_dtype(given) == name


def test_floatx():
    assert normalize_dtype("floatX") == "float64"
    with phintys.config.change_flags(floatX="float32"):
        assert normalize_dtype("floatX") == "float32"
        assert TensorType("floatX", ()).dtype == "float32"
        assert TensorType().dtype == "float32"


@pytest.mark.parametrize(
    "given", ["object", "U3", "longdouble", "datetime64[s]", "float128x", 3, []]
)
def test_other_dtypes_are_refused(given):
    with pytest.raises(
        TypeContractError, match=r"Tensors do not take the dtype .*one of bool, int8"
    ):
        normalize_dtype(given)


@given(st.lists(st.sampled_from(DTYPES), min_size=1))
def test_promotion_is_numpys(names):
    assert promote(*names) == np.result_type(*names).name


# ---- types ---------------------------------------------------------------------------------------


def test_equal_types_are_one_object():
    assert TensorType("float64", (None, 3)) is TensorType(np.float64, [None, np.int64(3)])
    assert TensorType("float64", (None, 3)) != TensorType("float64", (None, 4))
    assert TensorType("float64", ()) != TensorType("float32", ())
    assert TensorType("float64", (1,)) != TensorType("float64", (None,))
    assert TensorType("float64", ()) != "float64"


@given(tensor_types(), tensor_types())
def test_equality_and_hash(a, b):
    assert (a == b) == ((a.dtype, a.shape) == (b.dtype, b.shape))
    if a == b:
        assert hash(a) == hash(b)


class Special(TensorType):
    """A subclass, which is a type of its own."""


def test_subclasses():
    own, plain = Special("float64", (2,)), TensorType("float64", (2,))
    assert own != plain
    assert plain != own
    assert own is Special("float64", (2,))
    assert own.clone(shape=(3,)) is Special("float64", (3,))
    assert pickle.loads(pickle.dumps(own)) is own
    assert hash(own) != hash(plain)


@given(tensor_types())
def test_copies_and_pickles_are_the_type(type_):
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(type_, protocol)) is type_
    assert copy.copy(type_) is type_
    assert copy.deepcopy(type_) is type_


@pytest.mark.parametrize("shape", [3, "ab", (-1,), (1.5,), (True,), (None, "3"), (np.float64(2),)])
def test_wrong_shapes(shape):
    with pytest.raises(TypeContractError, match=r"A shape is a tuple|A static size is a non-neg"):
        TensorType("float64", shape)


def test_facts():
    type_ = TensorType("int8", (None, 1, 3))
    assert (type_.dtype, type_.shape, type_.ndim) == ("int8", (None, 1, 3), 3)
    assert type_.numpy_dtype == np.int8
    assert type_.broadcastable == (False, True, False)
    assert type_.get_shape_info(np.zeros((2, 1, 3), "int8")) == (2, 1, 3)
    assert TensorType("complex128", (None, None)).get_size((2, 3)) == 96


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (TensorType("float64", ()), "Scalar(float64)"),
        (TensorType("int8", (None,)), "Vector(int8, shape=(?,))"),
        (TensorType("bool", (1, None)), "Matrix(bool, shape=(1, ?))"),
        (TensorType("float32", (2, None, 3)), "Tensor3(float32, shape=(2, ?, 3))"),
    ],
)
def test_repr(type_, text):
    assert repr(type_) == str(type_) == text


@given(tensor_types())
def test_clone(type_):
    assert type_.clone() is type_
    assert type_.clone(dtype="int16") is TensorType("int16", type_.shape)
    assert type_.clone(shape=(2,)) is TensorType(type_.dtype, (2,))
    assert type_.clone(dtype="int16", broadcastable=(True, False)) is TensorType("int16", (1, None))


def test_clone_takes_nothing_else():
    with pytest.raises(TypeContractError, match=r"takes dtype, shape, broadcastable; got order"):
        pt.dvector.clone(order="C")


@given(tensor_types(), st.data())
def test_is_super(type_, data):
    more = tuple(
        data.draw(st.none() | st.integers(0, 4)) if size is None else size for size in type_.shape
    )
    narrower = type_.clone(shape=more)
    assert type_.is_super(narrower)
    assert type_.in_same_class(narrower)
    assert narrower.is_super(type_) == (narrower == type_)
    other = type_.clone(dtype="int8" if type_.dtype != "int8" else "int16")
    assert not type_.is_super(other)
    assert not type_.in_same_class(other)
    assert not type_.is_super(type_.clone(shape=(*type_.shape, None)))
    assert not type_.is_super(Type())


# ---- values --------------------------------------------------------------------------------------


@given(arrays(), st.data(), st.booleans(), st.sampled_from([None, False, True]))
def test_an_array_of_the_type_is_taken_as_it_is(array, data, strict, allow_downcast):
    type_ = data.draw(types_of(array))
    assert type_.filter(array, strict=strict, allow_downcast=allow_downcast) is array
    assert type_.is_valid_value(array)


@given(arrays(), tensor_types())
def test_is_valid_value_is_strict_filter(array, type_):
    try:
        type_.filter(array, strict=True)
    except TypeContractError:
        assert not type_.is_valid_value(array)
    else:
        assert type_.is_valid_value(array)


@given(arrays(), st.sampled_from(DTYPES))
def test_arrays_of_other_dtypes(array, dtype):
    type_ = TensorType(dtype, (None,) * array.ndim)
    if array.dtype == dtype:
        return
    with pytest.raises(TypeContractError, match=r"no cast \(strict=True\)"):
        type_.filter(array, strict=True)
    if np.can_cast(array.dtype, dtype):
        result = type_.filter(array)
        assert type_.is_valid_value(result)
        np.testing.assert_array_equal(result, array.astype(dtype))
    else:
        for allow_downcast in (None, False):
            with pytest.raises(TypeContractError, match=r"without loss|complex value does not fit"):
                type_.filter(array, allow_downcast=allow_downcast)
        if array.dtype.kind != "c" or type_.numpy_dtype.kind == "c":
            with np.errstate(all="ignore"):
                expected = array.astype(dtype)
            np.testing.assert_array_equal(type_.filter(array, allow_downcast=True), expected)


def test_no_downcast_makes_a_real_number_of_a_complex_one():
    for value in (1j, 1 + 0j, np.complex64(2), [1j], np.zeros(2, complex)):
        type_ = TensorType("float64", (None,) * np.ndim(value))
        for allow_downcast in (None, False, True):
            with pytest.raises(TypeContractError, match=r"Take its real part"):
                type_.filter(value, allow_downcast=allow_downcast)


CAST_TABLE = [
    # value, dtype, what allow_downcast=None / False / True say
    (3, "float64", True, True, True),
    (3, "int8", True, True, True),
    (300, "int8", False, False, True),
    (-1, "uint8", False, False, True),
    (-1, "uint64", False, False, True),
    ([-1, 2], "uint64", False, False, True),
    (2**63, "uint64", True, True, True),
    (2**53 + 1, "float64", True, True, True),  # as NumPy: int64 to float64 is safe
    (2.0, "int8", True, True, True),
    (2.5, "int8", False, False, True),
    (0.1, "float64", True, True, True),
    (0.1, "float32", False, False, True),
    (0.5, "float32", True, True, True),
    (float("nan"), "float32", True, True, True),
    (float("inf"), "float16", True, True, True),
    (1e300, "float32", False, False, True),
    (True, "int8", True, True, True),
    (1, "bool", True, True, True),
    (2, "bool", False, False, True),
    ([1, 2], "int8", True, True, True),
    ([1.0, 2.5], "int8", False, False, True),
    (np.float64(0.5), "float32", True, True, True),  # a number of NumPy's is a number
    (np.float64(0.1), "float32", False, False, True),
    (np.float32(0.5), "float64", True, True, True),
    (np.int64(1), "int8", True, True, True),
    (np.int64(300), "int8", False, False, True),
    (np.int64(1), "float32", True, True, True),
    (np.array(1), "int8", False, False, True),  # an array is not
    (1j, "complex64", True, True, True),
    (0.1j, "complex64", False, False, True),
    (1.5, "complex128", True, True, True),
]


@pytest.mark.parametrize(("value", "dtype", "unsaid", "forbidden", "allowed"), CAST_TABLE)
def test_casts_of_values(value, dtype, unsaid, forbidden, allowed):
    type_ = TensorType(dtype, (None,) * np.ndim(value))
    for allow_downcast, taken in ((None, unsaid), (False, forbidden), (True, allowed)):
        if taken:
            result = type_.filter(value, allow_downcast=allow_downcast)
            assert type_.is_valid_value(result)
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = np.asarray(value).astype(dtype)
            np.testing.assert_array_equal(result, expected)
        else:
            with pytest.raises(TypeContractError, match=r"without loss.*allow_input_downcast=True"):
                type_.filter(value, allow_downcast=allow_downcast)
    with pytest.raises(TypeContractError, match="strict=True"):
        type_.filter(value, strict=True)


def test_python_floats_are_rounded_to_floatx_only():
    with phintys.config.change_flags(floatX="float32"):
        assert TensorType("float32", ()).filter(0.1) == np.float32(0.1)
        assert TensorType("float32", (2,)).filter([0.1, 0.2]).dtype == "float32"
        with pytest.raises(TypeContractError, match="without loss"):
            TensorType("float32", ()).filter(0.1, allow_downcast=False)
        with pytest.raises(TypeContractError, match="without loss"):
            TensorType("float32", ()).filter(np.float64(0.1))
        with pytest.raises(TypeContractError, match="without loss"):
            TensorType("float16", ()).filter(0.1)


@pytest.mark.parametrize("size", [2**63, 2**64, 2**100, -(2**64)])
def test_big_integers(size):
    assert TensorType("float64", ()).filter(size) == float(size)
    assert TensorType("float64", (None,)).filter([size, 1.5]).tolist() == [float(size), 1.5]
    assert TensorType("complex128", ()).filter(size) == complex(size)
    for allow_downcast in (None, False):
        with pytest.raises(TypeContractError, match=r"without loss|outside of the range of"):
            TensorType("int64", ()).filter(size, allow_downcast=allow_downcast)
    with pytest.raises(TypeContractError, match=r"Cannot make an array|too large"):
        TensorType("float64", ()).filter(10**400)


@pytest.mark.parametrize(
    "value",
    [
        "3.0",
        None,
        object(),
        {"a": 1},
        [[1, 2], [3]],
        np.array(["a"]),
        np.array([None]),
        b"x",
        print,
    ],
)
def test_what_is_no_number(value):
    with pytest.raises(TypeContractError, match=r"Expected numbers for|Cannot make an array for"):
        TensorType("float64", (None,) * np.ndim(np.array(value, dtype=object))).filter(value)


def test_variables_are_no_values():
    x = pt.dvector("x")
    with pytest.raises(TypeContractError, match=r"got the symbolic variable x.*call its eval"):
        pt.dvector.filter(x)
    with pytest.raises(TypeContractError, match=r"symbolic variable|no cast"):
        pt.dvector.filter(x, strict=True)


def test_masked_arrays_are_refused():
    masked = np.ma.array([1.0, 2.0], mask=[True, False])
    for strict, value in ((False, masked), (True, masked), (False, masked.astype("float32"))):
        with pytest.raises(TypeContractError, match=r"Fill it with array.filled"):
            pt.dvector.filter(value, strict=strict)
    assert not pt.dvector.is_valid_value(masked)


def test_other_subclasses_of_arrays_become_arrays():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        matrix = np.matrix([[1.0, 2.0]])
    value = pt.dmatrix.filter(matrix, strict=True)
    assert type(value) is np.ndarray
    assert np.shares_memory(value, matrix)
    assert not pt.dmatrix.is_valid_value(matrix)
    x = pt.dmatrix("x")
    assert phintys.function([x], x.flatten())(matrix).shape == (2,)
    assert type(pt.fmatrix.filter(matrix, allow_downcast=True)) is np.ndarray


def test_memory_maps(tmp_path):
    mapped = np.memmap(tmp_path / "data", "float64", "w+", shape=(3,))
    value = pt.dvector.filter(mapped)
    assert np.shares_memory(value, mapped)
    assert pt.dvector.is_valid_value(mapped)


def test_other_byte_orders():
    swapped = np.arange(3.0).astype(">f8" if np.little_endian else "<f8")
    value = pt.dvector.filter(swapped)
    assert value.dtype.isnative
    np.testing.assert_array_equal(value, [0, 1, 2])
    with pytest.raises(TypeContractError, match="strict=True"):
        pt.dvector.filter(swapped, strict=True)
    assert not pt.dvector.is_valid_value(swapped)


def test_ranks_and_shapes():
    with pytest.raises(TypeContractError, match=r"expected 1 for Vector.*got 2 \(shape \(1, 1\)\)"):
        pt.dvector.filter(np.zeros((1, 1)))
    with pytest.raises(TypeContractError, match=r"expected \(\?, 3\) for Matrix.*got \(2, 4\)"):
        TensorType("float64", (None, 3)).filter(np.zeros((2, 4)))
    with pytest.raises(TypeContractError, match=r"Wrong number of dimensions"):
        pt.dscalar.filter([1.0])
    assert not pt.drow.is_valid_value(np.zeros((2, 2)))
    assert not pt.dvector.is_valid_value([1.0])
    assert not pt.dscalar.is_valid_value(np.float64(1))


# ---- comparing values ----------------------------------------------------------------------------


def test_values_eq():
    vector = pt.dvector
    assert vector.values_eq(np.array([1.0, np.nan]), np.array([1.0, np.nan]))
    assert not vector.values_eq(np.array([1.0]), np.array([1.0 + 1e-12]))
    assert vector.values_eq_approx(np.array([1.0, np.inf]), np.array([1.0 + 1e-12, np.inf]))
    assert not vector.values_eq_approx(np.array([1.0]), np.array([1.0 + 1e-8]))
    assert vector.values_eq_approx(np.array([1.0]), np.array([1.1]), rtol=0.2)
    assert vector.values_eq_approx(np.array([0.0]), np.array([0.1]), atol=0.2)
    ones = np.ones(1, "float16")
    assert pt.TensorType("float16", (None,)).values_eq_approx(ones, ones * np.float16(1.004))
    for equal in (vector.values_eq, vector.values_eq_approx):
        assert not equal(np.zeros(2), np.zeros(3))
        assert not equal(np.zeros(2), np.zeros(2, "float32"))
        assert not equal(np.array([np.nan]), np.array([1.0]))
    assert not pt.lvector.values_eq_approx(np.array([10**12]), np.array([10**12 + 1]))


def test_may_share_memory():
    x = np.zeros(6)
    assert TensorType.may_share_memory(x[:3], x[2:])
    assert not TensorType.may_share_memory(x[:3], x[3:])
    assert not TensorType.may_share_memory(x, [0.0])


# ---- variables -----------------------------------------------------------------------------------


def test_making_variables_and_constants():
    x = pt.dvector("x")
    assert isinstance(x, pt.TensorVariable)
    assert (x.name, x.type) == ("x", pt.dvector)
    constant = pt.dvector.make_constant(np.ones(2), name="ones")
    assert isinstance(constant, Constant)
    assert isinstance(constant, pt.TensorConstant)
    assert constant.name == "ones"


def test_filter_variable():
    x = pt.dmatrix("x")
    assert pt.dmatrix.filter_variable(x) is x
    assert pt.dmatrix.filter_variable(pt.drow("r")).type == pt.drow
    known = TensorType("float64", (None, 3)).filter_variable(x)
    assert known.type.shape == (None, 3)
    assert known.eval({x: np.zeros((2, 3))}).shape == (2, 3)
    with pytest.raises(ShapeError, match="must be of size 3"):
        known.eval({x: np.zeros((2, 4))})
    constant = pt.dmatrix.filter_variable([[1, 2]])
    assert constant.type.is_super(pt.dmatrix) or pt.dmatrix.is_super(constant.type)
    np.testing.assert_array_equal(constant.data, [[1.0, 2.0]])


@pytest.mark.parametrize(
    ("type_", "other"),
    [
        (pt.dmatrix, pt.fmatrix),
        (pt.dmatrix, pt.dvector),
        (TensorType("float64", (2,)), TensorType("float64", (3,))),
    ],
)
def test_filter_variable_refuses(type_, other):
    with pytest.raises(TypeContractError, match=r"Cannot use x \(type .*\) as a variable of type"):
        type_.filter_variable(other("x"))
    assert type_.convert_variable(other("x")) is None


def test_convert_variable_of_another_type():
    assert pt.dvector.convert_variable(Variable(Type())) is None


# ---- the number of dimensions --------------------------------------------------------------------


def test_more_dimensions_than_numpy_iterates_over_are_refused():
    with pytest.raises(TypeContractError, match=r"at most 32 dimensions.* of 33 was requested"):
        pt.tensor("x", shape=(None,) * 33, dtype="float32")
    x = pt.tensor("x", shape=(None,) * 32, dtype="float32")
    with pytest.raises(TypeContractError, match="at most 32 dimensions"):
        x.dimshuffle("x", *range(32))


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_as_many_dimensions_as_there_may_be(mode):
    x = pt.tensor("x", shape=(None,) * 32, dtype="float32")
    outputs = [x * 2 + 1, x.sum(axis=(0, 3)), x.T * 1, x[0, ::1, -1], x.reshape((3,)), x.sum()]
    f = phintys.function([x], outputs, mode=mode)
    value = np.arange(3, dtype="float32").reshape((1,) * 16 + (3,) + (1,) * 15)
    expected = [value * 2 + 1, value.sum((0, 3)), value.T, value[0, :, -1], value.ravel(), 3.0]
    for one, other in zip(f(value), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_list_that_contains_itself_is_refused_at_once():
    endless = [1.0]
    endless.append(endless)
    huge = [np.broadcast_to(0.0, (2**40,)), np.broadcast_to(0.0, (2**40, 1))]
    for value in (endless, huge):
        with pytest.raises(TypeContractError, match=r"Cannot make an array|Expected numbers"):
            pt.dvector("x").type.filter(value)
