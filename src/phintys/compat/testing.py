"""What the old tutorials on Ops use to test them: ``theano.tests.unittest_tools``."""

from __future__ import annotations

import unittest
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.compat.functions import function
from phintys.compat.modes import get_default_mode
from phintys.gradient import verify_grad

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "InferShapeTestCase",
    "InferShapeTester",
    "assert_allclose",
    "fetch_seed",
    "seed_rng",
    "verify_grad",
]

_SEED = 666
"""The default of the old option ``unittests.rseed``."""


def fetch_seed(pseed: int | None = None) -> int:
    """Return a seed, the same each time."""
    return _SEED if pseed is None else int(pseed)


def seed_rng(pseed: int | None = None) -> int:
    """Seed NumPy's global generator, and return the seed."""
    seed = fetch_seed(pseed)
    np.random.seed(seed)  # noqa: NPY002 - what the function was for
    return seed


def assert_allclose(
    expected: Any, value: Any, rtol: float | None = None, atol: float | None = None
) -> None:
    """Compare arrays, to the precision of the narrower dtype."""
    arrays = [np.asarray(one) for one in (value, expected)]
    loose = any(array.dtype.name in {"float16", "float32", "complex64"} for array in arrays)
    tolerances = (1e-5, 1e-5) if loose else (1e-7, 1e-8)
    np.testing.assert_allclose(
        *arrays,
        rtol=tolerances[0] if rtol is None else rtol,
        atol=tolerances[1] if atol is None else atol,
    )


class InferShapeTester:
    """A base class of tests that compare inferred shapes with those of values.

    A test calls ``self._compile_and_check(inputs, outputs, values, op_class)``.
    """

    mode: Any = None

    def setup_method(self) -> None:
        """Choose the mode."""
        self.mode = get_default_mode() if self.mode is None else self.mode

    setUp = setup_method

    def _compile_and_check(
        self,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        numeric_inputs: Sequence[Any],
        cls: Any,
        excluding: Sequence[str] | None = None,
        warn: bool = True,
        check_topo: bool = True,
    ) -> None:
        """Compare the shapes of outputs, and check that none is read off a value.

        Parameters
        ----------
        inputs, outputs
            Of a graph.
        numeric_inputs
            Values of the inputs.
        cls
            The class of the Op that is tested.
        excluding
            Passes and rules to leave out.
        warn
            Has no effect.
        check_topo
            Whether the Op must be gone from the graph of shapes.
        """
        mode = get_default_mode() if self.mode is None else self.mode
        mode = mode.excluding(*excluding) if excluding else mode
        shapes = [output.shape for output in outputs]
        of_values = function(inputs, outputs, mode=mode)
        of_shapes = function(inputs, shapes, mode=mode, on_unused_input="ignore")
        if check_topo:
            left = [n for n in of_shapes.maker.fgraph.apply_nodes if isinstance(n.op, cls)]
            if left:
                msg = f"The shape is that of a value, which {left[0]} computes: see infer_shape."
                raise AssertionError(msg)
        found = of_shapes(*numeric_inputs)
        for lengths, value in zip(found, of_values(*numeric_inputs), strict=True):
            shape = tuple(map(int, lengths))
            if shape != value.shape:
                msg = f"infer_shape says {shape}, the value has the shape {value.shape}."
                raise AssertionError(msg)


class InferShapeTestCase(InferShapeTester, unittest.TestCase):
    """Theano's ``InferShapeTester``, whose tests ``unittest`` runs as well."""
