import contextlib
import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys.scalar as ps
from phintys._base.config import config
from phintys._base.errors import DtypeError, TypeContractError
from phintys.graph import Constant, Variable
from phintys.scalar import ScalarType, all_types

NAMES = [type.dtype for type in all_types]
types = st.sampled_from(all_types)


def test_one_object_for_each_dtype():
    for type_ in all_types:
        dtype = np.dtype(type_.dtype)
        assert ScalarType(type_.dtype) is type_
        assert ScalarType(dtype) is type_
        assert ScalarType(dtype.type) is type_
        assert ps.get_scalar_type(dtype) is type_
        assert type_ == ScalarType(type_.dtype)
        assert type_.numpy_dtype == dtype
        assert type_.itemsize == dtype.itemsize
        assert pickle.loads(pickle.dumps(type_)) is type_
        assert copy.deepcopy(type_) is type_
    assert len(set(all_types)) == 14


def test_a_subclass_has_types_of_its_own():
    class Special(ScalarType):
        pass

    assert Special("int8") is Special("int8")
    assert Special("int8") != ps.int8


def test_dtype_may_be_floatX():
    with config.change_flags(floatX="float32"):
        assert ScalarType("floatX") is ps.float32


@pytest.mark.parametrize("dtype", ["float128", "no", "U3", object, None, "datetime64[s]", [1]])
def test_no_such_dtype(dtype):
    with pytest.raises(DtypeError, match="complex128"):
        ScalarType(dtype)


def test_names_and_groups():
    assert repr(ps.float32) == str(ps.float32) == "ScalarType(float32)"
    assert set(ps.discrete_types) | set(ps.continuous_types) == set(all_types)
    assert set(ps.int_types + ps.uint_types) < set(ps.discrete_types)
    assert set(ps.float_types + ps.complex_types) == set(ps.continuous_types)


def test_variables_of_the_type():
    x = ps.int64("x")
    assert isinstance(x, ps.ScalarVariable)
    assert x.type is ps.int64
    assert x.name == "x"
    assert x.dtype == "int64"
    assert isinstance(Constant(ps.int64, 3).data, np.int64)
    assert isinstance(ps.int64.make_constant(3), ps.ScalarConstant)
    assert Variable(ps.int64).type == ps.ScalarType("int64")


def test_clone():
    assert ps.int8.clone() is ps.int8
    assert ps.int8.clone(dtype="float32") is ps.float32
    with pytest.raises(NotImplementedError):
        ps.int8.clone(shape=())


@given(types, st.data())
def test_filter_keeps_its_own_values(type_, data):
    raw = data.draw(st.binary(min_size=type_.itemsize, max_size=type_.itemsize))
    if type_ is ps.bool_:
        raw = bytes([raw[0] & 1])
    value = np.frombuffer(raw, type_.dtype)[0]
    for strict in (False, True):
        for allow_downcast in (None, False, True):
            assert type_.filter(value, strict, allow_downcast) is value
    assert type_.values_eq(value, value)
    assert type_.values_eq_approx(value, value)


numbers = st.one_of(
    st.booleans(),
    st.integers(),
    st.integers(-300, 300),
    st.floats(),
    st.sampled_from([0.0, -0.0, 0.5, 0.1, 2.0**53, 1e300, float("nan"), float("inf")]),
    st.complex_numbers(allow_nan=False),
)


def exactly_equal(a, b):
    a = a.item()
    return a == b or (a != a and b != b)


@given(types, numbers)
def test_filter_without_downcast_keeps_the_value(type_, number):
    try:
        value = type_.filter(number, allow_downcast=False)
    except TypeContractError:
        # Refused: then NumPy cannot represent it either.
        if isinstance(number, complex) and type_ not in ps.complex_types:
            return
        with np.errstate(all="ignore"), contextlib.suppress(OverflowError):
            assert not exactly_equal(np.array([number]).astype(type_.dtype)[0], number)
    else:
        assert isinstance(value, np.generic)
        assert value.dtype == type_.dtype
        assert exactly_equal(value, number)


@given(types, numbers)
def test_filter_with_downcast_takes_any_number(type_, number):
    if isinstance(number, complex) and type_ not in ps.complex_types:
        with pytest.raises(TypeContractError, match="complex number"):
            type_.filter(number, allow_downcast=True)
        return
    if isinstance(number, int) and abs(number) > 1e300:
        return
    value = type_.filter(number, allow_downcast=True)
    assert value.dtype == type_.dtype
    if isinstance(number, int) and type_ in ps.int_types + ps.uint_types:
        assert (int(value) - number) % 256**type_.itemsize == 0


@pytest.mark.parametrize("name", NAMES)
def test_strict_takes_only_its_own(name):
    type_ = ScalarType(name)
    for other in NAMES:
        value = np.dtype(other).type(1)
        assert type_.is_valid_value(value) == (other == name)
    for value in (True, 1, 1.0, 1j, np.ones((), name), np.ones(1, name), "1", None):
        assert not type_.is_valid_value(value)
        with pytest.raises(TypeError, match="strict"):
            type_.filter(value, strict=True)


def test_python_float_goes_to_floatX():
    assert ps.float64.filter(0.1) == 0.1
    with pytest.raises(TypeContractError, match="without changing"):
        ps.float32.filter(0.1)
    with config.change_flags(floatX="float32"):
        assert ps.float32.filter(0.1) == np.float32(0.1)
        with pytest.raises(TypeContractError):
            ps.float32.filter(0.1, allow_downcast=False)
        with pytest.raises(TypeContractError):
            ps.float32.filter(np.float64(0.1))
        with pytest.raises(TypeContractError):
            ps.float16.filter(0.1)


@pytest.mark.parametrize(
    "value", ["1", b"1", None, [1], (1,), np.ones(1), np.ones((2, 2)), object(), {}, np.array("1")]
)
def test_no_number(value):
    for type_ in all_types:
        with pytest.raises(TypeContractError, match="takes one number"):
            type_.filter(value, allow_downcast=True)


def test_arrays_of_rank_0_are_numbers():
    assert ps.float64.filter(np.array(2, "int8")) == 2.0
    assert type(ps.int8.filter(np.array(2.0))) is np.int8


def test_values_eq():
    nan = np.float64("nan")
    assert ps.float64.values_eq(nan, nan)
    assert not ps.float64.values_eq(nan, np.float64(1))
    assert ps.complex128.values_eq(np.complex128(complex(1, np.nan)), np.complex128(nan))
    assert ps.float64.values_eq_approx(np.float64(1), np.float64(1 + 1e-12))
    assert not ps.float64.values_eq_approx(np.float64(1), np.float64(1 + 1e-6))
    assert ps.float32.values_eq_approx(np.float32(1), np.float32(1 + 1e-6))
    assert not ps.float32.values_eq_approx(np.float32(1), np.float32(1.001))
    assert not ps.int64.values_eq_approx(np.int64(10**12), np.int64(10**12 + 1))
    inf = np.float64("inf")
    assert ps.float64.values_eq_approx(inf, inf)
    assert not ps.float64.values_eq_approx(inf, -inf)


def test_sizes_and_memory():
    value = np.float32(1)
    assert ps.float32.get_size(ps.float32.get_shape_info(value)) == 4
    assert not ps.float32.may_share_memory(value, value)


@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4))
def test_upcast(dtypes):
    assert np.dtype(ps.upcast(*dtypes)) == np.result_type(*map(np.dtype, dtypes))


def test_upcast_of_nothing():
    with pytest.raises(DtypeError, match="at least one"):
        ps.upcast()


def test_real_dtype():
    for name in NAMES:
        assert ps.real_dtype(np.dtype(name)) == np.zeros(1, name).real.dtype
