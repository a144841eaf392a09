"""Gradients at arguments where formulas have no value of their own, compared with differences.

Matrices have equal singular values, vectors are zero or have equal numbers, constant bounds are
infinite, and values of loops have other shapes in other steps. The five calls of a case are at its
point and at two steps along a direction to either side. Where the differences of both sides do not
meet there is a kink, and any derivative passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tools.fuzz.case import Case, Given, Step, Subject, as_literal
from tools.fuzz.checking import Disagreement
from tools.fuzz.drawing import Drawing, Entry, Text
from tools.fuzz.modes import BASE, NATIVE, REWRITTEN, STRICT, Variant

__all__ = ["check_gradients", "draw_gradients", "smaller_gradients"]

_STEP = 1e-4
_PLACES = (0, 1, -1, 2, -2)
_SIZE = 3
_STEEP = 0.05  # how much differences on both distances may differ
_NOISE = 1e-6

_OF_MATRIX = (
    "pt.linalg.pinv({0})",
    "pt.linalg.pinv({0} + {0}.mT, hermitian=True)",
    "pt.linalg.lstsq({0}, {1}).x",
    "pt.linalg.expm({0} / 4)",
    "pt.linalg.inv({0} @ {0}.mT + pt.eye(3))",
    "pt.linalg.cholesky({0} @ {0}.mT + pt.eye(3))",
    "pt.linalg.svdvals({0})",
    "pt.linalg.eigvalsh({0} @ {0}.mT)",
    "pt.linalg.slogdet({0} @ {0}.mT + pt.eye(3))[1]",
    "pt.linalg.norm({0}, 'nuc')",
    "pt.linalg.norm({0}) ** 2",
    "(lambda u, s, vh: (u * pt.tanh(s)) @ vh)(*pt.linalg.svd({0}, full_matrices=False))",
    "(lambda u, s, vh: u @ vh)(*pt.linalg.svd({0} + 9 * pt.eye(3), full_matrices=False))",
    "(lambda w, v: (v * pt.sin(w)) @ v.mT)(*pt.linalg.eigh({0} + {0}.mT))",
    "(lambda w, v: v @ (pt.exp(-w)[:, None] * v.mT))(*pt.linalg.eigh({0} @ {0}.mT))",
    "{0} @ {1}",
    "{0} @ {0}",
    "pt.tanh({0})",
    "{0}[0]",
    "{0} - {0}.mean(axis=0)",
    "pt.diagonal({0})",
    "pt.linalg.norm({0}, axis=1) ** 2",
    "{0}.var(axis=0)",
)
_OF_FULL_RANK = ("pt.linalg.pinv({0})", "pt.linalg.lstsq")
_OF_VECTOR = (
    "pt.linalg.norm({0}) ** 2",
    "pt.linalg.norm({0})",
    "pt.linalg.norm({0}, 3) ** 3",
    "pt.linalg.norm({0} - {1})",
    "pt.hypot({0}, {1}) ** 2",
    "pt.sqrt({0} ** 2 + {1} ** 2) ** 2",
    "pt.sqrt({0} ** 2) * {0}",
    "{0}.std() ** 2",
    "pt.sqrt(pt.exp(-1e3 * {0} ** 2))",
    "pt.exp(2 * pt.log(pt.abs({0}) + 1))",
    "pt.logsumexp({0})",
    "pt.logaddexp({0}, {1})",
    "pt.softmax({0})",
    "pt.xlogy({0} ** 2, 1 + {0} ** 2)",
    "pt.sinc({0})",
    "{0} * pt.sinc({0})",
    "pt.sinc(pt.linalg.norm({0}))",
    "pt.cos(pt.linalg.norm({0}))",
    "pt.linalg.norm({0}) * pt.tanh(pt.linalg.norm({0}))",
    "pt.log(pt.cosh(pt.sqrt({0} ** 2 + {1} ** 2)))",
    "pt.xlogy({0} ** 2, {0} ** 2)",
    "pt.special.xlogx({0} ** 2) * {0}",
    "pt.special.entr({0} ** 2) * {1}",
    "pt.special.spence({0} ** 2) * {0}",
    "{0} * pt.cbrt({0})",
    "pt.arccos(1 / (1 + {0} ** 2)) ** 2",
    "pt.arccosh(1 + {0} ** 2) ** 2",
    "pt.arctan2({0}, 1 + {1} ** 2)",
    "pt.outer({0}, {1})",
    "pt.eye(3) + pt.outer({0}, {0})",
    "pt.diag({0}) + pt.eye(3)",
    "pt.sort({0} + pt.arange(3.0) / 7) * pt.arange(3.0)",  # of equal ones the middle has no kink
    "pt.maximum({0}, {1}) ** 2",
    "pt.prod(1 + {0})",
    "pt.cumprod({0})",
    "pt.cumsum({0}) * {1}",
    "pt.where({0} > 0.3, pt.sqrt(pt.maximum({0}, 0.3)), {1})",
    "pt.tanh({0}) * {1}",
    "loop_ops.prefixes({0})",
    "loop_ops.grown({0})",
    "loop_ops.solved({0})",
)
_OF_BOUND = (
    "pt.erf({b} / pt.exp({0}))",
    "pt.tanh({b} * (1 + {0} ** 2))",
    "pt.sigmoid(({b} - {0}) / (1 + {1} ** 2))",
    "pt.ndtr(({b} - {0}) * pt.exp({1}))",
    "pt.log_ndtr(({p} - {0}) / pt.exp({1}))",
    "pt.exp(-{p} * pt.exp({0}))",
    "pt.log(pt.ndtr(({p} + 1 - {0}) * pt.exp({1})) - pt.ndtr(-{p} - 1 - {0}))",
    "pt.logaddexp({0}, -{p})",
    "pt.logsumexp(pt.stack([{0}, -{p}]), axis=0)",
    "pt.gammainc(1 + {0} ** 2, {p})",
    "pt.softplus({0} - {p})",
    "pt.log1mexp(-{p} * pt.exp({0}) - 1)",
    "pt.minimum({0}, {b} * 2) ** 2 * pt.isfinite({b})",
    "pt.arctan({b} * pt.exp({0}))",
)


def _vector(drawing: Drawing) -> Any:
    numbers = drawing.numbers.normal(size=_SIZE)
    return drawing.choose(
        (
            np.zeros(_SIZE),
            np.full(_SIZE, drawing.choose((1.0, -0.5, 0.25))),
            np.array([numbers[0], numbers[0], numbers[1]]),
            np.where(np.arange(_SIZE) == drawing.integer(0, _SIZE - 1), 0, numbers),
            np.eye(_SIZE)[drawing.integer(0, _SIZE - 1)],
            numbers,
        )
    )


def _matrix(drawing: Drawing) -> Any:
    numbers = drawing.numbers.normal(size=(_SIZE, _SIZE))
    rotation = np.linalg.qr(numbers)[0]
    other = np.linalg.qr(numbers + np.eye(_SIZE))[0]
    repeated = drawing.choose(((1, 1, 2), (2, 1, 1), (1, 1, 1 + 1e-13), (3, 0.5, 0.5), (1, 1, 0)))
    return drawing.choose(
        (
            np.eye(_SIZE),
            2 * rotation,
            (rotation * repeated) @ rotation.T,
            (rotation * repeated) @ other,
            np.zeros((_SIZE, _SIZE)),
            np.ones((_SIZE, _SIZE)),
            np.diag(np.array(repeated, float)),
            numbers,
        )
    )


def _bound(drawing: Drawing) -> Any:
    numbers = drawing.numbers.normal(size=_SIZE)
    return np.array([drawing.choose((np.inf, -np.inf, 1e5, one)) for one in numbers])


def _line(drawing: Drawing) -> Text | None:
    entry = drawing.pick(lambda one: one.ndim > 0)
    vector = drawing.pick(lambda one: one.ndim == 1)
    if entry is None or vector is None:
        return None
    operands = (entry, vector)
    if entry.ndim == 2:
        text = drawing.choose(_OF_MATRIX)
        # They jump where the rank changes, as it does beside a singular matrix.
        is_jump = text.startswith(_OF_FULL_RANK) and np.linalg.cond(entry.value) > 1e8
        return None if is_jump else Text(text, operands)
    if drawing.chance(0.35):
        bound = _bound(drawing)
        text = drawing.choose(_OF_BOUND).replace("{b}", as_literal(bound))
        return Text(text.replace("{p}", as_literal(np.abs(bound))), operands)
    return Text(drawing.choose(_OF_VECTOR), operands)


def _fits(entry: Entry) -> bool:
    is_small = bool(np.isfinite(entry.value).all()) and np.abs(entry.value).max(initial=0) < 1e3
    return is_small and entry.shape in {(), (_SIZE,), (_SIZE, _SIZE)}


def _moved(name: str, value: Any, direction: Any) -> Given:
    values = tuple(value + _STEP * place * direction for place in _PLACES)
    return Given(name, (None,) * value.ndim, values)


def draw_gradients(seed: int, most_steps: int = 5) -> Case:
    """Return the case of a seed.

    Parameters
    ----------
    seed
        Of all random choices.
    most_steps
        The number of lines that are tried at most.
    """
    drawing = Drawing(seed)
    drawing.calls = len(_PLACES)
    points = {"x": _vector(drawing), "y": _vector(drawing), "m": _matrix(drawing)}
    directions = {name: drawing.numbers.normal(size=one.shape) for name, one in points.items()}
    for name, value in points.items():
        drawing.add_given(_moved(name, value, directions[name]))
    for _ in range(drawing.integer(1, most_steps)):
        drawing.apply(_line(drawing))
        # Infinite and other values are of no use to later lines.
        drawing.pool = [one for one in drawing.pool if one.name in points or _fits(one)]
    last = drawing.pool[-1]
    weights = as_literal(drawing.numbers.normal(size=last.shape))
    cost = Step(("cost",), f"({last.name} * {weights}).sum()", (last.name,))
    names, numbers = list(points), [as_literal(one) for one in directions.values()]
    pulled = " + ".join(
        f'(gradient.grad(cost, {name}, disconnected_inputs="ignore") * {one}).sum()'
        for name, one in zip(names, numbers, strict=True)
    )
    pushed = (
        f"gradient.Rop(cost, [{', '.join(names)}], [{', '.join(numbers)}], "
        'disconnected_outputs="ignore")'
    )
    steps = (
        *drawing.steps,
        cost,
        Step(("pulled",), pulled, ("cost", *names)),
        Step(("pushed",), pushed, ("cost", *names)),
    )
    outputs = ("cost", "pulled", "pushed")
    return Case(seed, tuple(drawing.givens), steps, outputs, len(_PLACES)).pruned()


def check_gradients(case: Case, variants: Sequence[Variant] | None = None) -> Disagreement | None:
    """Compare both derivatives with differences.

    Parameters
    ----------
    case
        The case.
    variants
        In which modes; by default in native code, and in another way that the seed chooses.
    """
    if case.calls != len(_PLACES) or len(case.outputs) != 3:
        return None
    for variant in variants or (NATIVE, (BASE, STRICT, REWRITTEN)[case.seed % 3]):
        found = _checked(case, variant)
        if found is not None:
            return found
    return None


def _checked(case: Case, variant: Variant) -> Disagreement | None:
    with variant.active(), np.errstate(all="ignore"):
        try:
            subject = Subject(case, variant.mode)
            costs = [float(subject.call(i, subject.arguments(i))[0]) for i in range(case.calls)]
            _, *slopes = subject.call(0, subject.arguments(0))
        except Exception as error:  # noqa: BLE001 - a gradient of what has a value is a finding
            return _shown(case, variant, type(error).__name__, str(error))
    at, after, before, far_after, far_before = costs
    if not np.isfinite(costs).all():
        return None
    near, far = (after - before) / (2 * _STEP), (far_after - far_before) / (4 * _STEP)
    slope = (4 * near - far) / 3
    scale = max(1, abs(at), abs(slope))
    # What the slopes of both sides differ by is twice as much at twice the distance, but at kinks.
    bend, far_bend = (one / step for one, step in zip(_bends(costs), (1, 2), strict=True))
    is_kink = abs(far_bend - 2 * bend) > 0.1 * abs(bend) + _NOISE * scale
    if is_kink or abs(near - far) > _STEEP * scale:
        return None
    noise = _NOISE * scale + abs(near - far)
    for name, found in zip(case.outputs[1:], slopes, strict=True):
        if not abs(float(found) - slope) <= noise:
            return _shown(case, variant, "values", f"{name} is {found}, differences give {slope}")
    return None


def _bends(costs: Sequence[float]) -> tuple[float, float]:
    """Return how much a function bends on both distances, by the nearer one."""
    at, after, before, far_after, far_before = costs
    return (after - 2 * at + before) / _STEP, (far_after - 2 * at + far_before) / _STEP


def _shown(case: Case, variant: Variant, kind: str, text: str) -> Disagreement:
    return Disagreement(case, variant, "gradient", kind, text)


def smaller_gradients(case: Case) -> Any:
    """Yield the case without one of its lines, whose name another value takes."""
    lines = case.steps[:-3]
    for at in range(len(lines) - 1, -1, -1):
        for given in case.givens:
            (name,) = lines[at].names
            stand_in = Step((name,), given.name, (given.name,))
            yield replace(case, steps=(*case.steps[:at], stand_in, *case.steps[at + 1 :])).pruned()
