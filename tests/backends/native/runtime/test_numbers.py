"""Numbers as arguments: native code reads them where they are."""

import gc
import sys

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import In, Out
from phintys._base.errors import TypeContractError
from phintys.backends.base import CallShape
from phintys.backends.native.runtime.capi import number_types
from phintys.tensor.type import DTYPES

MODE = "native"
pytestmark = pytest.mark.usefixtures("native")


def taken(f, *values):
    """Return the result of the builtin, and whether it did without the slow path."""
    unusual = []
    shape = CallShape(
        len(values),
        slow=lambda *given: unusual.append(given),
        as_list=False,
        numbers=range(len(values)),
    )
    call = f.vm.fast_call(shape)
    return call(*values), not unusual


@pytest.mark.parametrize("dtype", DTYPES)
def test_scalars_of_numpy(dtype):
    x = pt.scalar("x", dtype=dtype)
    f = phintys.function([x], x | x if dtype == "bool" else x + x, mode=MODE)
    value = np.array(1.25).astype(dtype)[()]
    result, is_fast = taken(f, value)
    assert is_fast == (number_types(np.dtype(dtype)) is not None)
    assert result == (value | value if dtype == "bool" else value + value)
    np.testing.assert_array_equal(f(value), f(np.asarray(value)))


def test_numbers_of_python():
    x, i = pt.dscalar("x"), pt.lscalar("i")
    f = phintys.function([x, i], x * i, mode=MODE)
    for given in [(1.5, 3), (2, -1), (-1, 2**62), (np.float64(0.5), np.int64(4)), (np.nan, 1)]:
        result, is_fast = taken(f, *given)
        assert is_fast
        np.testing.assert_array_equal(result, np.float64(given[0]) * given[1])
        np.testing.assert_array_equal(f(*given), result)
    assert not taken(f, 1.5, 2**63)[1]
    assert not taken(f, 2**63, 1)[1]
    assert not taken(f, True, 1)[1]
    assert not taken(f, 1.5, 2.0)[1]
    assert f(2**63, 1) == 2.0**63
    assert f(True, 2) == 2
    with pytest.raises(TypeContractError, match="outside of the range"):
        f(1.0, 2**70)
    with pytest.raises(TypeContractError, match="without loss"):
        f(1.0, 0.5)


def test_other_precisions_go_the_slow_way():
    x = pt.fscalar("x")
    f = phintys.function([x], x * 2, mode=MODE)
    assert not taken(f, 1.5)[1]
    assert f(1.5) == 3
    assert taken(f, np.float32(1.5)) == (3, True)


class Float(float):
    pass


def test_subclasses_go_the_slow_way():
    x = pt.dscalar("x")
    f = phintys.function([x], x * 2, mode=MODE)
    assert not taken(f, Float(1.5))[1]
    assert f(Float(1.5)) == 3


def test_numbers_are_never_overwritten_or_returned():
    x, v = pt.dscalar("x"), pt.dvector("v")
    number = np.float64(1.5)
    same = phintys.function([x], Out(x, borrow=True), mode=MODE)
    assert isinstance(same(number), np.ndarray)
    view = phintys.function([x], Out(x[None], borrow=True), mode=MODE)
    result = view(number)
    result[0] = 7
    in_place = phintys.function([In(x, mutable=True), v], [x * 2 + 1, v * x], mode=MODE)
    in_place(number, np.ones(3))
    state = phintys.shared(0.0)
    phintys.function([x], x, updates={state: x}, mode=MODE)(number)
    state.get_value(borrow=True)[...] = 9
    assert number == 1.5


def test_the_filter_of_strict_inputs_is_asked():
    x = pt.dscalar("x")
    f = phintys.function([In(x, strict=True)], x * 2, mode=MODE)
    with pytest.raises(TypeContractError, match="strict=True"):
        f(1.5)


def test_errors_of_calls_with_numbers_are_those_of_arrays():
    v, i = pt.dvector("v"), pt.lscalar("i")
    f = phintys.function([v, i], v[i], mode=MODE)
    for index in (7, np.int64(7), np.array(7)):
        with pytest.raises(IndexError, match="index 7 is out of range for axis 0 of v"):
            f(np.arange(5.0), index)


def test_references_of_numbers_do_not_change():
    x = pt.dscalar("x")
    f = phintys.function([x], x + 1, mode=MODE)
    number, integer = 1234.5, 12345678
    before = sys.getrefcount(number), sys.getrefcount(integer)
    for _ in range(100):
        f(number)
        f(integer)
    gc.collect()
    assert (sys.getrefcount(number), sys.getrefcount(integer)) == before
