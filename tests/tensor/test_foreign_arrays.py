# Pandas, Polars and Torch are optional.
# pyright: reportMissingImports=false
"""Arrays of other libraries are constants and arguments; results go back by DLPack."""

from array import array

import numpy as np
import pytest

import phintys
import phintys.tensor as pt

VALUES = np.array([1.0, 2.0, 4.0])
TABLE = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


class ByInterface:
    """Has ``__array_interface__`` and nothing else."""

    def __init__(self, values):
        self.kept = values
        self.__array_interface__ = values.__array_interface__


class ByDLPack:
    """Has the methods of DLPack and nothing else."""

    def __init__(self, values):
        self.kept = values

    def __dlpack__(self, **options):
        return self.kept.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.kept.__dlpack_device__()


def _pandas(name):
    frames = pytest.importorskip("pandas", reason="pandas is optional")
    return {
        "series": lambda: (frames.Series(VALUES), VALUES),
        "rows": lambda: (frames.Series(VALUES, index=["a", "b", "c"]), VALUES),
        "table": lambda: (frames.DataFrame(TABLE, columns=["a", "b"]), TABLE),
        "index": lambda: (frames.Index([1.0, 2.0, 4.0]), VALUES),
    }[name]()


def _polars(name):
    frames = pytest.importorskip("polars", reason="polars is optional")
    made = {"series": (frames.Series("a", VALUES), VALUES)}
    made["table"] = (frames.DataFrame({"a": TABLE[:, 0], "b": TABLE[:, 1]}), TABLE)
    return made[name]


def _torch(name):
    torch = pytest.importorskip("torch", reason="torch is optional")
    return torch.from_numpy({"vector": VALUES, "matrix": TABLE}[name].copy()), (
        VALUES if name == "vector" else TABLE
    )


PANDAS = ("series", "rows", "table", "index")
MADE = {
    "array.array": lambda: (array("d", VALUES), VALUES),
    "memoryview": lambda: (memoryview(VALUES), VALUES),
    "memoryview of a matrix": lambda: (memoryview(TABLE), TABLE),
    "memoryview of steps": lambda: (memoryview(TABLE)[::2], TABLE[::2]),
    "bytes": lambda: (memoryview(VALUES.tobytes()).cast("d"), VALUES),
    "interface": lambda: (ByInterface(VALUES), VALUES),
    "interface of a transposed": lambda: (ByInterface(TABLE.T), TABLE.T),
    "dlpack": lambda: (ByDLPack(VALUES), VALUES),
    "dlpack of a column": lambda: (ByDLPack(TABLE[:, 1]), TABLE[:, 1]),
    **{f"pandas {one}": lambda one=one: _pandas(one) for one in PANDAS},
    **{f"polars {one}": lambda one=one: _polars(one) for one in ("series", "table")},
    **{f"torch {one}": lambda one=one: _torch(one) for one in ("vector", "matrix")},
}

DOUBLED = {
    1: phintys.function([x := pt.dvector("x")], x * 2),
    2: phintys.function([y := pt.dmatrix("y")], y * 2),
}


@pytest.mark.parametrize("name", MADE)
def test_it_is_an_argument(name):
    given, values = MADE[name]()
    np.testing.assert_array_equal(DOUBLED[values.ndim](given), values * 2)


@pytest.mark.parametrize("name", MADE)
def test_it_is_a_constant(name):
    given, values = MADE[name]()
    np.testing.assert_array_equal(pt.as_tensor_variable(given).data, values)


@pytest.mark.parametrize("name", MADE)
def test_it_is_an_operand(name):
    given, values = MADE[name]()
    x = pt.tensor("x", shape=values.shape)
    total = pt.add(x, given)
    np.testing.assert_array_equal(total.eval({x: values}), values + values)


@pytest.mark.parametrize("name", MADE)
def test_it_is_the_value_of_a_shared_variable(name):
    given, values = MADE[name]()
    shared = phintys.shared(np.zeros_like(values))
    shared.set_value(given)
    np.testing.assert_array_equal(shared.get_value(), values)


@pytest.mark.parametrize("name", MADE)
def test_it_is_the_first_value_of_a_shared_variable(name):
    given, values = MADE[name]()
    shared = phintys.shared(given)
    assert shared.type == pt.TensorType(values.dtype, (None,) * values.ndim)
    np.testing.assert_array_equal(shared.get_value(), values)
    assert phintys.shared(given, shape=values.shape).type.shape == values.shape


@pytest.mark.parametrize("name", MADE)
def test_it_is_compared_element_by_element(name):
    given, values = MADE[name]()
    x = pt.tensor("x", shape=values.shape)
    other = values + (values == 2)
    for equal in (x == given, given == x):
        np.testing.assert_array_equal(equal.eval({x: other}), values != 2)
    for differs in (x != given, given != x):
        np.testing.assert_array_equal(differs.eval({x: other}), values == 2)


def test_arrays_of_other_objects_are_shared_as_they_are():
    class Words:
        def __array__(self, dtype=None, copy=None):
            return np.array(["a", "b"])

    words = Words()
    assert phintys.shared(words).type == phintys.graph.generic


def test_a_result_goes_back_without_a_copy():
    result = DOUBLED[1](VALUES)
    assert np.shares_memory(np.from_dlpack(result), result)
    torch = pytest.importorskip("torch", reason="torch is optional")
    tensor = torch.from_dlpack(result)
    tensor[0] = 7.0
    assert result[0] == 7.0


def test_a_constant_does_not_share_the_memory_of_another_library():
    values = VALUES.copy()
    constant = pt.from_dlpack(ByDLPack(values))
    values[0] = 9.0
    assert constant.data[0] == 1.0
