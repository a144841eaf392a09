"""Scalar functions in machine code."""

import pickle

import numpy as np
import pytest

import phintys
import phintys.native as pn
import phintys.scalar as ps
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, DtypeError, NullGradientError

MODES = ("native", "reference", "debug")


def test_code_says_that_it_calls_no_python(library):
    x = pt.dvector("x")
    f = phintys.function([x], pn.scalar("f", (library, "half_square"))(x + 1) * 2, mode="native")
    assert f.explain().splitlines()[0] == "1 kernel"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["expression", "op", "native", "graph"])
def test_derivatives_are_those_that_were_given(library, mode, kind):
    given = {
        "expression": {"derivative": lambda x: x},
        "op": {"derivative": ps.identity},
        "native": {"derivative": (library, "identity")},
        "graph": {"graph": lambda x: x * x / 2},
    }[kind]
    op = pn.scalar("f", (library, "half_square"), **given)
    x, v = pt.dvectors("x", "v")
    y = op(x)
    f = phintys.function([x, v], [y, phintys.grad(y.sum(), x), phintys.Rop(y, x, v)], mode=mode)
    value, slope, push = f([1.0, 3.0], [2.0, 5.0])
    assert value.tolist() == [0.5, 4.5]
    assert slope.tolist() == [1.0, 3.0]
    assert push.tolist() == [2.0, 15.0]


@pytest.mark.parametrize("mode", MODES[:2])
def test_partial_derivatives_of_several_arguments(library, mode):
    op = pn.scalar(
        "h", (library, "hypotenuse"), nin=2, derivative=[lambda x, y: x / op(x, y), None]
    )
    x, y = pt.dmatrix("x"), pt.dvector("y")
    f = phintys.function([x, y], [op(x, y), phintys.grad(op(x, y).sum(), x)], mode=mode)
    value, slope = f([[3.0, 6.0]], [4.0, 8.0])
    assert value.tolist() == [[5.0, 10.0]]
    assert slope.tolist() == [[0.6, 0.6]]
    with pytest.raises(NullGradientError, match="derivative"):
        phintys.grad(op(x, y).sum(), y)


def test_one_rule_may_return_all_partials(library):
    op = pn.scalar(
        "h", (library, "hypotenuse"), nin=2, derivative=lambda x, y: (x / op(x, y), y / op(x, y))
    )
    x, y = pt.dscalars("x", "y")
    slopes = phintys.function([x, y], phintys.grad(op(x, y), [x, y]))(3.0, 4.0)
    np.testing.assert_allclose(slopes, [0.6, 0.8])


@pytest.mark.parametrize("mode", MODES[:2])
@pytest.mark.parametrize(
    ("symbol", "dtype", "given"),
    [
        *(("half_square", "float64", given) for given in ("float32", "float64", "int32", "bool")),
        *(("half_square_float", "float32", given) for given in ("float32", "float16", "int16")),
        *(("twice", "int64", given) for given in ("int64", "uint8")),
    ],
)
def test_arguments_are_cast_without_loss(library, mode, symbol, dtype, given):
    op = pn.scalar("f", (library, symbol), dtype)
    x = pt.vector("x", dtype=given)
    values = np.arange(7).astype(given)
    found = phintys.function([x], op(x), mode=mode)(values)
    wide = values.astype(dtype)
    assert found.dtype == dtype
    assert found.tolist() == (wide * 2 if symbol == "twice" else wide * wide / 2).tolist()


@pytest.mark.parametrize("given", ["float64", "int32", "complex64"])
def test_arguments_that_would_lose_something_are_refused(library, given):
    op = pn.scalar("f", (library, "half_square_float"), "float32")
    with pytest.raises(DtypeError, match=r'x.astype\("float32"\)'):
        op(pt.vector("x", dtype=given))


def test_in_loops_batches_and_pickles(library):
    op = pn.scalar("f", (library, "half_square"), graph=half_square)
    x = pt.dvector("x")
    last = phintys.scan(op, outputs_info=x, n_steps=3, return_updates=False)[-1]
    slope = phintys.grad(last.sum(), x)
    stack = pt.dmatrix("stack")
    f = phintys.function([stack], pt.vectorize_graph([last, slope], {x: stack}))
    for g in (f, pickle.loads(pickle.dumps(f))):
        value, slopes = g([[2.0, 1.0], [0.5, 3.0]])
        first = np.array([[2.0, 1.0], [0.5, 3.0]])
        np.testing.assert_allclose(value, first**8 / 128)
        np.testing.assert_allclose(slopes, first**7 / 16)


def half_square(x):
    return x * x / 2


def test_equal_functions_are_merged_and_others_are_not(library):
    a, b = (pn.scalar("f", (library, "half_square")) for _ in range(2))
    other = pn.scalar("f", (library, "identity"))
    assert a == b
    assert hash(a) == hash(b)
    assert a != other
    assert pickle.loads(pickle.dumps(a)) == a
    x = pt.dvector("x")
    f = phintys.function([x], [a(x) + b(x), other(x)])
    assert [one.tolist() for one in f([2.0])] == [[4.0], [2.0]]


def test_a_function_of_the_name_of_another_is_not_it(library):
    op = pn.scalar("exp", (library, "half_square"))
    x = pt.dvector("x")
    for mode in MODES:
        assert phintys.function([x], pt.log(op(x)), mode=mode)([2.0]) == np.log(2.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "complex128"}, "dtype must be one of"),
        ({"derivative": ps.exp, "graph": ps.exp}, "pass one of them"),
        ({"nin": 2, "derivative": [ps.exp]}, "each of 2 arguments"),
    ],
)
def test_what_does_not_fit_is_an_error(library, options, message):
    with pytest.raises(ArgumentError, match=message):
        pn.scalar("f", (library, "half_square"), **options)
