"""arange and linspace."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys._base.config import config
from phintys._base.errors import DtypeError, OpContractError, ShapeError
from phintys.gradient import Rop, grad
from phintys.graph import contract
from phintys.tensor.ranges import ARange

WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
REAL = (*WHOLE, "float16", "float32", "float64")


@given(data=st.data())
def test_of_integers(data, evaluate):
    bounds, values, variables = [], {}, []
    for low in (-20, -20, -5):
        dtype = data.draw(st.sampled_from(WHOLE))
        low = 0 if dtype.startswith("u") else low
        number = data.draw(st.integers(low, 20 if low != -5 else 5))
        bounds.append(np.array(number, dtype))
        x = data.draw(st.sampled_from([pt.constant, None]))
        if x is None:
            x = pt.scalar("x", dtype=dtype)
            values[x] = bounds[-1]
            variables.append(x)
        else:
            variables.append(x(bounds[-1]))
    assume(bounds[2] != 0)
    out = pt.arange(*variables)
    expected = np.arange(*(int(bound) for bound in bounds))
    found = evaluate(out, values)
    np.testing.assert_array_equal(found, expected)
    # Of these very bounds NumPy could make a huge array: its integers wrap around.
    assert found.dtype == np.arange(*(np.ones_like(bound) for bound in bounds)).dtype
    if not values:
        assert out.type.shape == expected.shape


@given(
    bounds=st.tuples(*[st.floats(-3, 3).map(lambda x: round(x, 2))] * 3),
    dtypes=st.tuples(*[st.sampled_from(("float32", "float64", "int64"))] * 3),
)
def test_of_floats(bounds, dtypes, evaluate):
    assume(any(dtype != "int64" for dtype in dtypes))
    values = [np.array(bound).astype(dtype) for bound, dtype in zip(bounds, dtypes, strict=True)]
    assume(abs(values[2]) >= 0.25)
    variables = [pt.scalar("x", dtype=value.dtype) for value in values]
    given_values = dict(zip(variables, values, strict=True))
    expected = np.arange(*values)
    found = evaluate(pt.arange(*variables), given_values)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    constants = pt.arange(*map(pt.constant, values))
    assert constants.type.shape == expected.shape


def test_arguments(evaluate):
    assert evaluate(pt.arange(4)).tolist() == [0, 1, 2, 3]
    assert evaluate(pt.arange(1, 4)).tolist() == [1, 2, 3]
    assert evaluate(pt.arange(4, 1, -2)).tolist() == [4, 2]
    assert evaluate(pt.arange(4, 1)).tolist() == []
    assert evaluate(pt.arange(3, dtype="float32")).dtype == np.float32
    assert pt.arange(10**15).type.shape == (10**15,)


def test_default_dtype():
    assert pt.arange(3).dtype == "int64"
    assert pt.arange(pt.iscalar("n")).dtype == "int64"
    assert pt.arange(pt.fscalar("n")).dtype == "float64"
    with config.change_flags(floatX="float32"):
        assert pt.arange(0.0, 1.0, 0.1).dtype == "float32"
        assert pt.arange(0, pt.lscalar("n"), 0.1).dtype == "float32"


def test_narrow_integers_do_not_overflow(evaluate):
    low, high = (pt.constant(np.int8(n)) for n in (-100, 100))
    assert len(evaluate(pt.arange(low, high))) == 200


WRONG = {
    "step": (lambda: (0, 3, 0), ShapeError, "step is 0"),
    "nan": (lambda: (0.0, np.nan), ShapeError, "finite"),
    "inf": (lambda: (0.0, 1.0, np.inf), ShapeError, "finite"),
    "complex": (lambda: (0, 3j), DtypeError, "complex128"),
    "vector": (lambda: (pt.vector("x"), 3), ShapeError, "start is one number"),
    "bool": (lambda: (pt.constant(True),), DtypeError, "stop is an integer or real"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refuses(name, evaluate):
    arguments, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        evaluate(pt.arange(*arguments()))


def test_refuses_dtypes():
    with pytest.raises(DtypeError, match="complex64"):
        pt.arange(3, dtype="complex64")


def test_gradient(evaluate):
    start, stop, step = pt.dscalars("start", "stop", "step")
    out = pt.arange(start, stop, step)
    weights = np.array([1.0, 2.0, 4.0])
    given_values = {start: np.array(0.5), stop: np.array(1.2), step: np.array(0.3)}
    gradients = grad((out * weights).sum(), [start, step])
    assert evaluate(gradients[0], given_values) == 7.0
    assert evaluate(gradients[1], given_values) == 2.0 + 2 * 4.0
    assert contract.connection_pattern(out.owner) == [[True], [False], [True]]
    tangent = Rop(out, [start, step], [pt.constant(1.0), pt.constant(10.0)])
    np.testing.assert_allclose(evaluate(tangent, given_values), [1.0, 11.0, 21.0])
    tangent = Rop(out, start, pt.constant(2.0))
    np.testing.assert_allclose(evaluate(tangent, given_values), [2.0, 2.0, 2.0])


def test_gradient_of_integers(evaluate):
    n = pt.lscalar("n")
    counted = pt.arange(n, n + 3)
    assert evaluate(grad((counted * 1.5).sum(), n), {n: np.array(2)}) == 0.0
    spread = ARange("float64")(n, n + 3, 1)
    assert evaluate(grad(spread.sum(), n), {n: np.array(2)}) == 3.0


# ---- linspace ------------------------------------------------------------------------------------


@given(data=st.data())
def test_linspace(data, draw, evaluate):
    shape = data.draw(st.sampled_from([(), (2,), (3, 2)]))
    start = draw.array(data, ("float32", "float64", "int32", "complex128"), shape, finite=True)
    stop = draw.array(data, (start.dtype.name,), shape, finite=True)
    start, stop = start.clip(-50, 50), stop.clip(-50, 50)
    x, y = draw.variable(data, start), draw.variable(data, stop)
    num = data.draw(st.integers(0, 6))
    endpoint = data.draw(st.booleans())
    axis = data.draw(st.integers(-1 - len(shape), len(shape)))
    values = {x: start, y: stop}
    count = num
    if data.draw(st.booleans()):
        count = pt.lscalar("n")
        values[count] = np.array(num)
    out = pt.linspace(x, y, count, endpoint=endpoint, axis=axis)
    expected = np.linspace(start, stop, num, endpoint=endpoint, axis=axis)
    found = evaluate(out, values)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    if endpoint and num > 1:
        np.testing.assert_array_equal(np.take(found, -1, axis), stop)


def test_linspace_dtypes(evaluate):
    assert pt.linspace(0, 1).type == pt.TensorType("float64", (50,))
    assert pt.linspace(pt.fscalar("x"), 1.0, 3).dtype == "float32"
    np.testing.assert_array_equal(
        evaluate(pt.linspace(-1.5, 3, 4, dtype="int32")), np.linspace(-1.5, 3, 4, dtype="int32")
    )
    with config.change_flags(floatX="float32"):
        assert pt.linspace(0, 1, 3).dtype == "float32"


def test_linspace_refuses():
    with pytest.raises(OpContractError, match="non-negative int, got -1"):
        pt.linspace(0, 1, -1)
    with pytest.raises(OpContractError, match=r"got 2\.5"):
        pt.linspace(0, 1, 2.5)


def test_linspace_derivatives(check_derivatives):
    check_derivatives(
        lambda a, b: pt.linspace(a, b, 5) ** 2, [np.array(0.5), np.array(2.0)], order=2
    )


ENDS = [-(2**63), -(2**62) - 1, -7, -1, 0, 1, 5, 2**62 - 1, 2**62, 2**63 - 2, 2**63 - 1]
STEPS = [1, -1, 3, 2**61, 2**62, -(2**62), 2**63 - 1, -(2**63)]
AROUND = [
    (start, stop, step)
    for start, stop, step in product(ENDS, ENDS, STEPS)
    if -(-(stop - start) // step) < 50
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mode", ["native", "reference"])
@pytest.mark.parametrize("step", [None, *STEPS])
def test_bounds_whose_difference_is_out_of_range(mode, step):
    bounds = pt.lscalars("start", "stop", "step")
    numbers = pt.arange(*bounds[:2], bounds[2] if step is None else step)
    inputs = bounds if step is None else bounds[:2]
    f = phintys.function(inputs, [numbers, numbers.shape[0]], mode=mode)
    only_length = phintys.function(inputs, numbers.shape[0], mode=mode)
    for start, stop, by in AROUND:
        if step in {None, by}:
            arguments = (start, stop, by)[: len(inputs)]
            expected = [start + i * by for i in range(max(0, -(-(stop - start) // by)))]
            found, length = f(*arguments)
            assert found.tolist() == expected, (start, stop, by)
            assert length == only_length(*arguments) == len(expected), (start, stop, by)
