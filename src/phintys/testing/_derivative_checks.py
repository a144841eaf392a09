"""Checks of derivatives: against finite differences, and in the dtypes of the example."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import phintys.tensor as pt
from phintys._base.errors import OpCheckError
from phintys.compile import function
from phintys.gradient import Lop, verify_grad, verify_rop
from phintys.gradient.numeric import tolerance_for
from phintys.graph.contract import defines
from phintys.graph.null_type import NullType
from phintys.tensor.type import TensorType
from phintys.testing._trial import Trial

__all__ = ["check_derivatives"]

Array = np.ndarray[Any, Any]

_WIDE = {"float16": "float64", "float32": "float64", "complex64": "complex128"}


def check_derivatives(trial: Trial) -> None:
    """Gradient and R-operator agree with finite differences and with each other."""
    record, example = trial.record, trial.example
    positions = _differentiable(trial)
    if not positions:
        return
    continuous = [
        index
        for index, output in enumerate(trial.outputs)
        if output.type.dtype.startswith(("float", "complex"))
    ]
    if continuous and all(_is_continuous(example.values[position]) for position in positions):
        point = [_widened(example.values[position]) for position in positions]
        fun = _restricted(trial, positions, continuous)
        with trial.explaining("gradient"):
            verify_grad(fun, point, n_tests=1)
        if record.rop:
            _require_rop(trial)
            with trial.explaining("R-operator"):
                verify_rop(fun, point, n_tests=1)
        if record.second:
            with trial.explaining("R-operator from the gradient: second derivatives"):
                verify_rop(fun, point, n_tests=1, use_op_rop_implementation=False)
    with trial.explaining("dtypes of gradients"):
        _check_own_dtypes(trial, positions, continuous)


def _differentiable(trial: Trial) -> list[int]:
    """Return the positions of inputs with derivatives: tensors, but for what the record excludes."""
    allowed = trial.record.differentiable
    return [
        position
        for position, type_ in enumerate(trial.example.types)
        if isinstance(type_, TensorType) and (allowed is None or position in allowed)
    ]
