"""Up to which size tiles are better: measured when it matters, once, and remembered."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import config
from phintys.backends.native.emit.products import FEW, MANY, has_tiles
from phintys.backends.native.emit.target import Target
from phintys.backends.native.emit.types import FLOAT32, FLOAT64
from phintys.backends.native.runtime import crossover
from phintys.backends.native.runtime.blas import blas_version
from phintys.backends.native.runtime.cache import CacheKey, object_cache
from phintys.backends.native.runtime.crossover import TimedProduct, measure, measured_crossover

HOST = Target.host()
pytestmark = pytest.mark.skipif(not has_tiles(HOST, FLOAT64), reason="no tiles on this CPU")


@pytest.fixture
def folder(tmp_path):
    """A cache of its own."""
    with config.change_flags(cache_dir=str(tmp_path), object_cache=True):
        yield tmp_path


@pytest.fixture
def measured(monkeypatch, folder):
    """What is measured: always 1600."""
    found = []

    def measure(target, type_):
        found.append((target, type_.name))
        return 1600

    monkeypatch.setattr(crossover, "measure", measure)
    return found


def forget(monkeypatch):
    """Be another process."""
    monkeypatch.setattr(crossover, "_known", {})


@pytest.mark.parametrize("type_", [FLOAT64, FLOAT32], ids=str)
def test_it_is_measured(type_):
    assert FEW <= measure(HOST, type_) <= MANY


def test_both_ways_are_timed():
    timed = TimedProduct(HOST, FLOAT64)
    few = timed.nanoseconds((2, 2, 2), rounds=3, passes=3)
    many = timed.nanoseconds((64, 64, 32), transposed=True, rounds=3, passes=3)
    assert all(0 < one < other for one, other in zip(few, many, strict=True))


def test_it_is_measured_once(measured, monkeypatch):
    for _ in range(2):
        assert measured_crossover(HOST, FLOAT64) == 1600
    forget(monkeypatch)
    assert measured_crossover(HOST, FLOAT64) == 1600
    assert measured == [(HOST, "float64")]
    assert measured_crossover(HOST, FLOAT32) == 1600
    assert len(measured) == 2


@pytest.mark.parametrize("content", [b"", b"many", b"-1", b"1", b"99999999", b"1600.0"])
def test_what_cannot_be_right_is_measured_again(measured, monkeypatch, content):
    key = CacheKey.of("crossover of products 1, float64", HOST, blas_version())
    measured_crossover(HOST, FLOAT64)
    assert object_cache().get(key) == b"1600"
    object_cache().put(key, content)
    forget(monkeypatch)
    assert measured_crossover(HOST, FLOAT64) == 1600
    assert len(measured) == 2
    assert object_cache().get(key) == b"1600"


def test_it_is_measured_without_a_cache_too(measured, monkeypatch):
    forget(monkeypatch)
    with config.change_flags(object_cache=False):
        assert measured_crossover(HOST, FLOAT64) == 1600
        assert measured_crossover(HOST, FLOAT64) == 1600
    assert len(measured) == 1


def test_another_cpu_is_not_measured(folder):
    assert measured_crossover(Target.named("aarch64"), FLOAT64) == FEW


def square(size):
    x, y = (pt.tensor(name, dtype="float64", shape=(size, size)) for name in "xy")
    return phintys.function([x, y], x @ y, mode="native")


def test_products_near_the_border_ask_for_it(measured):
    for size, ask in ((8, 0), (9, 1), (40, 1)):
        f = square(size)
        assert len(measured) == ask
        value = np.random.default_rng(size).normal(size=(size, size))
        np.testing.assert_allclose(f(value, value), value @ value)


def test_explain_tells():
    with config.change_flags(product_crossover=2000):
        assert ", in tiles" in square(3).explain()
        assert ", in tiles" in square(10).explain()
        assert "in tiles" not in square(20).explain()
        x = pt.dtensor3("x")
        f = phintys.function([x], x @ x, mode="native")
        assert " times, in tiles up to 2000 multiplications" in f.explain()
        x = pt.dmatrix("x")
        assert "in tiles" not in phintys.function([x], x @ x, mode="native").explain()
