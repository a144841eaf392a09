"""The address of a C function: called from Python by ctypes, as C programs would."""

import ctypes
import threading

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import Op
from phintys._base.errors import ArgumentError, ConfigError
from phintys.graph.apply import Apply

pytestmark = pytest.mark.usefixtures("native")

POINTER = ctypes.POINTER(ctypes.c_double)
GRADIENT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, *[POINTER] * 3, ctypes.c_void_p)
VECTOR = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t, POINTER, POINTER, ctypes.c_void_p
)


def pointer(array):
    return array.ctypes.data_as(POINTER)


def call(function, x, length=None):
    """Status, value and gradient of a C function."""
    gradient, value = np.full_like(x, np.pi), np.full((), np.pi)
    n = x.size if length is None else length
    status = function(n, pointer(x), pointer(gradient), pointer(value), None)
    return status, value, gradient


@pytest.fixture(scope="module")
def f():
    """A cost with a gather, a product, a factorization and a shared array."""
    x = pt.dvector("x")
    shared = phintys.shared(np.arange(4.0), name="s")
    spread = pt.diag(pt.exp(x)) + np.eye(4)
    cost = (pt.log1p(x**2) * shared).sum() + pt.linalg.cholesky(spread).sum()
    cost = cost + (x[np.arange(100) % 4] * pt.exp(x[0])).sum()
    return phintys.function([x], [cost, phintys.grad(cost, x)])


def test_values_are_those_of_the_function(f):
    native = GRADIENT(f.address())
    assert f.address("value_and_gradient") == f.address()
    for x in np.random.default_rng(1).normal(size=(5, 4)):
        status, value, gradient = call(native, x)
        assert status == 0
        np.testing.assert_array_equal(value, f(x)[0])
        np.testing.assert_array_equal(gradient, f(x)[1])


def test_threads_call_it_at_once(f):
    native = GRADIENT(f.address())
    points = np.random.default_rng(2).normal(size=(4, 4))
    wanted = [f(x) for x in points]
    wrong = []

    def work(number):
        for _ in range(300):
            status, value, gradient = call(native, points[number])
            if status or value != wanted[number][0] or (gradient != wanted[number][1]).any():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_goes_wrong_is_a_code(f):
    native = GRADIENT(f.address())
    assert call(native, np.full(4, np.nan))[0] in {3, 4}
    x = pt.vector("x", shape=(3,), dtype="float64")
    fixed = phintys.function([x], [pt.log(x).sum(), x[::-1]])
    native = GRADIENT(fixed.address())
    assert call(native, np.ones(3))[0] == 0
    assert call(native, np.ones(4))[0] == -1
    status, value, gradient = call(native, np.array([0.0, 1.0, 2.0]))
    assert (status, value) == (4, -np.inf)
    np.testing.assert_array_equal(gradient, [2.0, 1.0, 0.0])


def test_a_failure_and_a_result_of_another_length_are_codes():
    x = pt.dvector("x")
    f = phintys.function([x], [x[pt.cast(x[0], "int64")], x[1:]])
    native = GRADIENT(f.address())
    assert call(native, np.array([9.0, 1.0]))[0] == 1
    assert call(native, np.array([1.0, 1.0]))[0] == -1


def test_results_that_are_not_computed_are_copied():
    x = pt.dvector("x")
    f = phintys.function([x], [pt.constant(2.0), x])
    point = np.array([1.0, 2.0, 3.0])
    status, value, gradient = call(GRADIENT(f.address()), point)
    assert (status, value) == (0, 2.0)
    np.testing.assert_array_equal(gradient, point)


def test_a_vector_of_a_vector():
    x = pt.dvector("x")
    f = phintys.function([x], pt.concatenate([x, pt.exp(x)]))
    native = VECTOR(f.address("vector"))
    point, result = np.array([0.0, 1.0]), np.empty(4)
    assert native(2, 4, pointer(point), pointer(result), None) == 0
    np.testing.assert_array_equal(result, f(point))
    assert native(2, 5, pointer(point), pointer(result), None) == -1


def test_large_work_is_done_by_the_calling_thread():
    x = pt.dvector("x")
    cost = pt.sum(pt.outer(pt.exp(x), pt.sin(x)) ** 2)
    f = phintys.function([x], [cost, phintys.grad(cost, x)])
    point = np.linspace(0.0, 1.0, 300)
    status, value, gradient = call(GRADIENT(f.address()), point)
    assert status == 0
    np.testing.assert_allclose(value, f(point)[0], rtol=1e-14)
    np.testing.assert_allclose(gradient, f(point)[1], rtol=1e-13)


class Doubled(Op):
    """An Op with Python code only."""

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = 2 * inputs[0]


def test_refusals_say_why():
    x, y = pt.dvectors("x", "y")
    total = x.sum()
    with pytest.raises(ArgumentError, match="one argument, a float64 vector"):
        phintys.function([x, y], [total, y]).address()
    with pytest.raises(ArgumentError, match="return a number and a vector"):
        phintys.function([x], [x, total]).address()
    with pytest.raises(ArgumentError, match="Doubled"):
        phintys.function([x], [total, Doubled()(x)]).address()
    count = phintys.shared(0.0)
    with pytest.raises(ArgumentError, match="updates shared"):
        phintys.function([x], [total, x], updates=[(count, count + total)]).address()
    f = phintys.function([x], [total, x], mode="reference")
    with pytest.raises(ConfigError, match="reference backend"):
        f.address()
    with pytest.raises(ArgumentError, match="the signature is one of"):
        f.address("int f()")
