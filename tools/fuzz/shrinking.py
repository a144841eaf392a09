"""Making a case that shows a disagreement smaller, as long as it shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.testing._trial import evaluate, value_of
from tools.fuzz.case import Case, Given
from tools.fuzz.checking import Disagreement

if TYPE_CHECKING:
    from tools.fuzz.kinds import Kind

__all__ = ["shrunk", "smaller"]

_MOST_TRIES = 150


def shrunk(found: Disagreement, kind: Kind) -> Disagreement:
    """Return a disagreement of the same sort on a smaller case.

    Outputs, calls and lines are left out, and lines replaced by inputs with the values that they
    computed, for as long as two ways of running the case disagree.

    Parameters
    ----------
    found
        The disagreement.
    kind
        What its case is one of.
    """
    tries = 0
    progress = True
    while progress and tries < _MOST_TRIES:
        progress = False
        for candidate in kind.smaller(found.case):
            tries += 1
            again = _still(candidate, found, kind)
            if again is not None:
                found, progress = again, True
                break
            if tries >= _MOST_TRIES:
                break
    return found


def _still(candidate: Any, found: Disagreement, kind: Kind) -> Disagreement | None:
    try:
        again = kind.check(candidate, (found.variant,))
    except Exception:  # noqa: BLE001 - a candidate that cannot be run is not one
        return None
    if again is None or again.variant != found.variant:
        return None
    return again if (again.blame, again.kind) == (found.blame, found.kind) else None


def smaller(case: Case) -> Iterator[Case]:
    """Yield smaller cases, those that are much smaller first."""
    if len(case.results) > 1:
        for name in case.results:
            givens = [replace(given, update=None) for given in case.givens]
            yield replace(case, givens=tuple(givens), outputs=(name,)).pruned()
    elif not any(given.update for given in case.givens):
        earlier = [name for step in case.steps for name in step.names if name not in case.outputs]
        for name in earlier:
            yield replace(case, outputs=(name,)).pruned()
    if any(given.update for given in case.givens):
        for given in case.givens:
            if given.update:
                changed = [
                    replace(one, update=None) if one is given else one for one in case.givens
                ]
                yield replace(case, givens=tuple(changed)).pruned()
    if case.calls > 1:
        for call in range(case.calls):
            givens = [replace(given, values=(given.values[call],)) for given in case.givens]
            yield replace(case, givens=tuple(givens), calls=1)
    for given in case.givens:
        if given.layout != "C":
            changed = [replace(one, layout="C") if one is given else one for one in case.givens]
            yield replace(case, givens=tuple(changed))
    yield from _cut(case)


def _cut(case: Case) -> Iterator[Case]:
    """Yield cases in which a line has become inputs, the middle ones first."""
    last = set(case.results)
    count = len(case.steps)
    order = sorted(range(count), key=lambda at: abs(at - count // 2))
    for at in order:
        step = case.steps[at]
        if last.issuperset(step.names) and count > 1 and len(case.results) == 1:
            continue
        given = _as_inputs(case, at)
        if given:
            steps = (*case.steps[:at], *case.steps[at + 1 :])
            yield replace(case, givens=(*case.givens, *given), steps=steps).pruned()


def _as_inputs(case: Case, at: int) -> list[Given]:
    """Return inputs with the values of a line; none if it cannot be computed."""
    built = case.build()
    variables = [built.variables[name] for name in case.steps[at].names]
    values = []
    for call in range(case.calls):
        known = built.known(call)
        try:
            with np.errstate(all="ignore"):
                evaluate(variables, known)
        except Exception:  # noqa: BLE001 - an Op may raise anything
            return []
        values.append([np.asarray(value_of(variable, known)) for variable in variables])
    return [
        Given(name, variable.type.shape, tuple(one[place] for one in values))
        for place, (name, variable) in enumerate(zip(case.steps[at].names, variables, strict=True))
    ]
