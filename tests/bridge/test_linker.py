"""The mode "PHINTYS" of PyTensor."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from phintys.bridge.pytensor import PHINTYS, PhintysLinker


def accumulator():
    """Return a function of PyTensor with an update, and its shared variable."""
    x, w = pt.dvector("x"), pytensor.shared(np.ones(2), "w")
    return pytensor.function([x], (x * w).sum(), updates={w: w + x}, mode="PHINTYS"), w


def test_updates_are_computed_from_the_old_values():
    f, w = accumulator()
    assert f([1.0, 2.0]) == 3.0
    assert w.get_value().tolist() == [2.0, 3.0]
    assert f([1.0, 2.0]) == 8.0


def test_an_error_leaves_shared_variables_as_they_were():
    f, w = accumulator()
    with pytest.raises(ValueError, match="shape"):
        f([1.0, 2.0, 3.0])
    assert w.get_value().tolist() == [1.0, 1.0]
    assert f([1.0, 2.0]) == 3.0


def test_each_thread_can_have_a_copy():
    x = pt.dvector("x")
    f = pytensor.function([x], (x * np.arange(1000.0)).sum(), mode="PHINTYS")

    def calls(copy, factor):
        return [copy(np.full(1000, factor)) == factor * 499500 for _ in range(50)]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(calls, [f.copy() for _ in range(4)], range(4)))
    assert all(map(all, found))


def test_a_pickled_function_has_its_own_values():
    f, w = accumulator()
    f([1.0, 2.0])
    twin = pickle.loads(pickle.dumps(f))
    assert twin([1.0, 2.0]) == 8.0
    assert w.get_value().tolist() == [2.0, 3.0]


def test_a_copy_can_have_another_shared_variable():
    f, w = accumulator()
    other = pytensor.shared(np.zeros(2))
    assert f.copy(swap={w: other})([1.0, 2.0]) == 0.0
    assert other.get_value().tolist() == [1.0, 2.0]
    assert w.get_value().tolist() == [1.0, 1.0]


def test_arguments_can_be_trusted():
    f, _ = accumulator()
    f.trust_input = True
    assert f(np.ones(2)) == 2.0


def test_arguments_are_not_changed():
    x = pt.dvector("x")
    f = pytensor.function([x], [2 * x, pytensor.Out(x)], mode="PHINTYS")
    given = np.ones(2)
    double, same = f(given)
    assert double.tolist() == [2.0, 2.0]
    same[:] = 5.0
    assert given.tolist() == [1.0, 1.0]


def test_the_mode_can_be_the_default():
    x = pt.dvector("x")
    with pytensor.config.change_flags(mode="PHINTYS"):
        f = pytensor.function([x], pt.exp(x))
    assert isinstance(f.maker.linker, PhintysLinker)
    assert pytensor.compile.mode.get_mode("PHINTYS") is PHINTYS
    with pytest.raises(ValueError, match="Expected one of"):
        pytensor.config.mode = "PHINTY"


def test_draws_equal_those_of_numpy():
    rng = pytensor.shared(np.random.default_rng(1))
    after, draw = pt.random.normal(size=3, rng=rng, return_next_rng=True)
    f = pytensor.function([], draw, updates={rng: after}, mode="PHINTYS")
    numpys = np.random.default_rng(1)
    assert f().tolist() == numpys.normal(size=3).tolist()
    assert f().tolist() == numpys.normal(size=3).tolist()


def test_an_error_names_the_line_of_the_users_program():
    x, y = pt.dvectors("x", "y")
    total = x + y  # this line
    f = pytensor.function([x, y], total, mode="PHINTYS")
    with pytest.raises(ValueError, match="# this line"):
        f([1.0, 2.0], [1.0, 2.0, 3.0])


def test_borrowed_values_are_the_callers_memory_and_results_are_not():
    cell = np.zeros(2)
    w = pytensor.shared(cell, borrow=True)
    results = [pytensor.Out(one, borrow=borrow) for one in (w, 2 * w) for borrow in (True, False)]
    f = pytensor.function([], results, mode="PHINTYS")
    first = f()
    cell[:] = 1.0  # seen by the next call, and not by the results of this one
    assert [one.tolist() for one in f()] == [[1.0, 1.0]] * 2 + [[2.0, 2.0]] * 2
    assert [one.tolist() for one in first] == [[0.0, 0.0]] * 4
