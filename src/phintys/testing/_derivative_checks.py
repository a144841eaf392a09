"""Checks of derivatives: against finite differences, and in the dtypes of the example."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import phintys.tensor as pt
from phintys.compile import function
from phintys.gradient import Rop, grad
from phintys.gradient.verify import DerivativeCase
from phintys.graph.alias_map import destroyed_inputs
from phintys.graph.contract import defines
from phintys.graph.identity import is_among
from phintys.graph.null_type import NullType
from phintys.tensor.type import TensorType
from phintys.testing._trial import Trial

Array = np.ndarray[Any, Any]

# Finite differences say what a derivative is; that of a compiled function is compared with it. The
# former need a function that compiles quickly.
_PLAIN = "reference"

_WIDE = {"float16": "float64", "float32": "float64", "complex64": "complex128"}

# A gradient computed in a dtype against the same in double precision; relative to its largest
# element. Numbers of the examples have three digits or fewer before they cancel.
_PRECISION = {"float16": 5e-2, "float32": 1e-3, "complex64": 1e-3}


def check_derivatives(trial: Trial) -> None:
    """Gradient and R-operator agree with finite differences and with each other."""
    positions = _differentiable(trial)
    if not positions or any(destroyed_inputs(run.node) for run in trial.runs):
        return
    continuous = [index for index, out in enumerate(trial.outputs) if _is_continuous(out.type)]
    moving = [position for position in positions if _is_continuous(trial.example.types[position])]
    case = None
    if continuous and moving:
        case = _case(trial, moving, continuous)
        _check_differences(trial, case)
    with trial.explaining("dtypes of derivatives"):
        _check_own_dtypes(trial, case, positions, moving, continuous)


def _is_continuous(type_: Any) -> bool:
    return isinstance(type_, TensorType) and type_.numpy_dtype.kind in "fc"


def _differentiable(trial: Trial) -> list[int]:
    """Return the positions of inputs with derivatives: tensors that the record does not exclude."""
    allowed = trial.record.differentiable
    return [
        position
        for position, type_ in enumerate(trial.example.types)
        if isinstance(type_, TensorType) and (allowed is None or position in allowed)
    ]


def _case(trial: Trial, moving: Sequence[int], continuous: Sequence[int]) -> DerivativeCase:
    """Return the continuous outputs as a function of the inputs that move, in double precision."""

    def restricted(*variables: Any) -> list[Any]:
        """Apply the Op to the inputs that move; the others stay constant."""
        inputs: list[Any] = [
            pt.constant(_widened(value))
            if isinstance(type_, TensorType)
            else type_.make_constant(value)
            for type_, value in zip(trial.example.types, trial.example.values, strict=True)
        ]
        for position, variable in zip(moving, variables, strict=True):
            inputs[position] = variable
        outputs = trial.build(inputs)
        return [outputs[index] for index in continuous]

    point = [_widened(trial.example.values[position]) for position in moving]
    with trial.explaining("gradient"):
        return DerivativeCase.of(restricted, point, _PLAIN)


def _check_differences(trial: Trial, case: DerivativeCase) -> None:
    record = trial.record
    with trial.explaining("gradient"):
        case.check_gradient(1, reference_mode=_PLAIN)
    if record.rop:
        _require_rop(trial)
        with trial.explaining("R-operator"):
            case.check_rop(1)
    if record.second:
        with trial.explaining("R-operator through the gradient of the gradient"):
            case.check_rop(1, use_op_rop_implementation=False)


def _widened(value: Array) -> Array:
    """Return an array in double precision; integers stay as they are."""
    return value.astype(_WIDE.get(value.dtype.name, value.dtype))


def _require_rop(trial: Trial) -> None:
    """Raise unless all Ops have an R-operator of their own."""
    for run in trial.runs:
        if not defines(run.node.op, "R_op"):
            trial.fail(
                "R-operator",
                f"{run.node.op} has no R_op. Define R_op(inputs, eval_points), or check with "
                "rop=False: then Rop differentiates twice in reverse.",
                run.node,
            )


def _check_own_dtypes(
    trial: Trial,
    case: DerivativeCase | None,
    positions: Sequence[int],
    moving: Sequence[int],
    continuous: Sequence[int],
) -> None:
    """Derivatives have the dtypes and shapes of the example, and the values of wide ones.

    Those of the example are compiled as one function, in the mode of users: to make machine code
    is most of the work of these checks.
    """
    tensors = [i for i, out in enumerate(trial.outputs) if isinstance(out.type, TensorType)]
    chosen = continuous or tensors
    if not chosen:
        return  # what the gradient of another output is, only its Type knows
    rng = np.random.default_rng(0)
    weights = {index: _weights(trial.values[index], rng) for index in chosen}
    directions = {index: _weights(trial.example.values[index], rng) for index in moving}
    inputs, outputs = _graph(trial, trial.example.types)
    gradients = _gradients(inputs, outputs, weights, positions)
    tangents = {
        own: _tangents(inputs, [outputs[index] for index in continuous], directions, own)
        for own in _forward_forms(trial, case)
    }
    wanted = [*gradients, *itertools.chain(*tangents.values())]
    found = dict(zip(wanted, _evaluate(inputs, wanted, trial.example.values), strict=True))
    for own, pushed in tangents.items():
        values = [found[tangent] for tangent in pushed]
        _check_tangents(trial, case, directions, continuous, values, own)
    complete = case if moving == positions else None
    own_gradients = [found[gradient] for gradient in gradients]
    _check_gradients(trial, complete, positions, continuous, weights, own_gradients)


def _graph(trial: Trial, types: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return inputs of some types, and the outputs for them."""
    inputs = [type_.make_variable(f"input_{i}") for i, type_ in enumerate(types)]
    return inputs, trial.build(inputs)


def _forward_forms(trial: Trial, case: DerivativeCase | None) -> list[bool]:
    """Return how tangents are computed: by the R-operators of Ops, by two gradients, or both."""
    if case is None:
        return []
    return [True] * trial.record.rop + [False] * trial.record.second


def _evaluate(
    inputs: Sequence[Any], wanted: Sequence[Any], values: Sequence[Any], mode: Any = None
) -> list[Any]:
    """Return the values of derivatives, ``None`` for those that are undefined."""
    defined = [variable for variable in wanted if not isinstance(variable.type, NullType)]
    compiled = function(inputs, defined, mode=mode, on_unused_input="ignore")
    results = iter(compiled(*values))
    return [None if isinstance(variable.type, NullType) else next(results) for variable in wanted]


def _check_gradients(
    trial: Trial,
    case: DerivativeCase | None,
    positions: Sequence[int],
    continuous: Sequence[int],
    weights: Mapping[int, Any],
    found: Sequence[Any],
) -> None:
    """Gradients have the dtypes and shapes of their inputs, and the values of wide ones.

    The wide ones are those of ``case``, if all inputs move there.

    The gradient for an integer is that for the same number as a float, if it goes into nodes with
    continuous outputs only; where all outputs are integers it is zero.
    """
    expected: Sequence[Any] = [None] * len(positions)
    if case is not None:
        wide_weights = [
            _fit(weights[index], output)
            for index, output in zip(continuous, case.outputs, strict=True)
        ]
        expected = case.pull(*case.point, *wide_weights)
    elif continuous:
        expected = _wide_gradients(trial, positions, weights)
    for position, gradient, wide in zip(positions, found, expected, strict=True):
        if gradient is None or (not continuous and is_among(trial.inputs[position], trial.outputs)):
            continue
        if _moves_in_steps(trial, position):
            wide = None
        _check_gradient(trial, position, gradient, wide, bool(continuous))


def _wide_gradients(
    trial: Trial, positions: Sequence[int], weights: Mapping[int, Any]
) -> list[Any]:
    """Return the gradients of the example in double precision, where integers are floats."""
    types = [_wide_type(type_, i in positions) for i, type_ in enumerate(trial.example.types)]
    values = [
        value.astype(type_.dtype) if isinstance(type_, TensorType) else value
        for type_, value in zip(types, trial.example.values, strict=True)
    ]
    inputs, outputs = _graph(trial, types)
    return _evaluate(inputs, _gradients(inputs, outputs, weights, positions), values, _PLAIN)


def _moves_in_steps(trial: Trial, position: int) -> bool:
    """Return whether an input goes into a node whose outputs are integers."""
    variable = trial.inputs[position]
    return any(
        variable in run.node.inputs and not any(_is_continuous(v.type) for v in run.node.outputs)
        for run in trial.runs
    )


def _weights(value: Any, rng: Any) -> Any:
    shape = np.shape(value)
    weights = np.asarray(rng.uniform(0.5, 1.5, shape))
    return weights + 1j * rng.uniform(0.5, 1.5, shape) if np.iscomplexobj(value) else weights


def _wide_type(type_: Any, differentiable: bool) -> Any:
    if not isinstance(type_, TensorType):
        return type_
    if type_.numpy_dtype.kind in "biu":
        return type_.clone(dtype="float64") if differentiable else type_
    return type_.clone(dtype=_WIDE.get(type_.dtype, type_.dtype))


def _gradients(
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    weights: Mapping[int, Any],
    positions: Sequence[int],
) -> list[Any]:
    """Return the gradient for each position, of a ``NullType`` where it is undefined."""
    # An output can be another one, or computed from it: copies take their gradients apart.
    known: dict[Any, Any] = {
        pt.tensor_copy(outputs[i]): pt.constant(_fit(weight, outputs[i]))
        for i, weight in weights.items()
    }
    return grad(
        None,
        [inputs[position] for position in positions],
        known_grads=known,
        disconnected_inputs="ignore",
        null_gradients="return",
    )


def _fit(weights: Array, output: Any) -> Array:
    return np.asarray(weights).astype(output.dtype if _is_continuous(output.type) else "float64")


def _check_gradient(
    trial: Trial, position: int, gradient: Array, wide: Any, continuous: bool
) -> None:
    value = trial.example.values[position]
    what = f"the gradient for input {position} (dtype {value.dtype}, shape {value.shape})"
    check = "dtypes of gradients"
    if gradient.shape != value.shape:
        trial.fail(check, f"{what} has the shape {gradient.shape}")
    if value.dtype.kind in "fc" and gradient.dtype != value.dtype:
        trial.fail(check, f"{what} has the dtype {gradient.dtype}")
    if gradient.dtype.kind not in "fc":
        trial.fail(check, f"{what} has the dtype {gradient.dtype}; gradients are floats")
    if not continuous and gradient.any():
        trial.fail(check, f"{what} is not zero, though all outputs are discrete:\n{gradient}")
    if wide is not None:
        _check_precision(trial, check, what, gradient, wide, [value, *trial.values])


def _check_precision(
    trial: Trial, check: str, what: str, found: Array, wide: Array, coarse: Sequence[Any]
) -> None:
    """Compare a derivative with that in double precision, as far as dtypes on the way allow."""
    precision = max(_PRECISION.get(np.asarray(one).dtype.name, 1e-10) for one in coarse)
    scale = max(1.0, float(np.abs(wide).max(initial=0)))
    found = found.astype(np.asarray(wide).dtype)
    error = np.where(found == wide, 0, np.abs(found - wide))
    if not (error <= precision * scale).all():
        trial.fail(
            check,
            f"{what} differs from that in double precision by {error.max():.3g}:\n{found}\n"
            f"in double precision, in the mode {_PLAIN!r}:\n{wide}",
        )


def _check_tangents(
    trial: Trial,
    case: Any,
    directions: Mapping[int, Any],
    continuous: Sequence[int],
    found: Sequence[Any],
    own: bool,
) -> None:
    """Tangents have the dtypes and shapes of their outputs, and the values of wide ones."""
    moving = [trial.example.values[position] for position in directions]
    wide = [
        direction.astype(x.dtype)
        for x, direction in zip(case.point, directions.values(), strict=True)
    ]
    expected = case.pushing(own)(*case.point, *wide)
    check = "dtypes of the R-operator"
    how = "" if own else ", by the gradient of the gradient,"
    for index, tangent, wide in zip(continuous, found, expected, strict=True):
        value = np.asarray(trial.values[index])
        what = f"the tangent of output {index} (dtype {value.dtype}, shape {value.shape}){how}"
        if tangent.dtype != value.dtype:
            trial.fail(check, f"{what} has the dtype {tangent.dtype}")
        if tangent.shape != value.shape:
            trial.fail(check, f"{what} has the shape {tangent.shape}")
        _check_precision(trial, check, what, tangent, wide, [value, *moving])


def _tangents(
    inputs: Sequence[Any], outputs: Sequence[Any], directions: Mapping[int, Any], own: bool
) -> list[Any]:
    """Return the tangent of each output, by the R-operators of Ops or by two gradients."""
    moving = [inputs[position] for position in directions]
    return Rop(
        outputs,
        moving,
        [
            pt.constant(direction.astype(variable.dtype))
            for variable, direction in zip(moving, directions.values(), strict=True)
        ],
        disconnected_outputs="ignore",
        use_op_rop_implementation=own,
    )
