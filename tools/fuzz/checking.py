"""Carrying out a case in several ways, and comparing what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from tools.fuzz.case import Case, Subject
from tools.fuzz.errors import possible_errors
from tools.fuzz.modes import BASE, NATIVE, REWRITTEN, STRICT, VARIANTS, Variant
from tools.fuzz.noise import Noise, difference

__all__ = ["Disagreement", "Shown", "check"]


class Shown(Protocol):
    """The case."""

    @property
    def seed(self) -> int:
        """Return the seed of the case."""
        ...

    def program(self, mode: str) -> str:
        """Return a program that shows it, for the text of an expression for the mode."""
        ...


@dataclass(frozen=True, eq=False)
class Disagreement:
    """Two ways of carrying out a case that disagree.

    Attributes
    ----------
    case
        The case.
    variant
        What disagrees with the reference.
    blame
        ``"backend"``, or ``"rewriting"`` if the reference backend gives the same for the rewritten
        graph, or ``"scenario"`` where it is compared with the expected results.
    kind
        In what: ``"values"``, ``"type"``, ``"arguments"``, or the class of an error.
    text
        How they differ.
    """

    case: Shown
    variant: Variant
    blame: str
    kind: str
    text: str

    def __str__(self) -> str:
        head = f"seed {self.case.seed}: {self.variant.name} ({self.blame}): {self.text}"
        return f"{head}\n{self.case.program(self.variant.text)}"


@dataclass(eq=False)
class Outcome:
    """What a call came to: values, or an error."""

    values: list[Any] = field(default_factory=list)
    error: BaseException | None = None


def check(case: Case, variants: Sequence[Variant] | None = None) -> Disagreement | None:
    """Run a case in several ways.

    Parameters
    ----------
    case
        The case.
    variants
        The ways that are compared with the reference backend; by default native code for the graph
        as it is and for the rewritten one, and a third way that the seed chooses, if the CPU has
        the instructions for it.

    Returns
    -------
    Disagreement or None
        The first that was found.
    """
    if variants is None:
        third = VARIANTS[case.seed % len(VARIANTS)]
        variants = (STRICT, NATIVE, third) if third.runs_here else (STRICT, NATIVE)
    base, trouble = _outcomes(case, BASE)
    if trouble:
        return Disagreement(case, BASE, "backend", "arguments", trouble)
    for variant in variants:
        found = _compared(case, variant, base)
        if found is not None:
            return found
    return None


def _compared(case: Case, variant: Variant, base: Sequence[Outcome]) -> Disagreement | None:
    """Compare one way with the reference."""
    outcomes, trouble = _outcomes(case, variant)
    if trouble:
        return Disagreement(case, variant, "backend", "arguments", trouble)
    if any(type(one.error).__name__ in variant.refuses for one in outcomes):
        return None
    differs = partial(_difference, case, outcomes, flushes=variant.flushes)
    kind, text = differs(base, strict=not variant.is_rewritten)
    if not text or _raises_if_all_is_needed(case, variant, outcomes, base):
        return None
    if not variant.is_rewritten:
        return Disagreement(case, variant, "backend", kind, text)
    rewritten, trouble = _outcomes(case, REWRITTEN)
    if trouble or differs(rewritten, strict=False)[1]:
        return Disagreement(case, variant, "backend", kind, text)
    kind, text = differs(base, strict=False, lenient=True)
    if not text or any(_is_huge(value) for given in case.givens for value in given.values):
        return None  # what is summed in another order may overflow on the way
    return Disagreement(case, variant, "rewriting", kind, text)


def _is_huge(value: Any) -> bool:
    """Return whether twice a finite number, or its square, may be infinite."""
    if value.dtype.kind not in "fc":
        return False
    with np.errstate(all="ignore"):
        finite = np.abs(value[np.isfinite(value)])
    return bool(np.any(finite > np.sqrt(np.finfo(value.dtype).max)))


def _raises_if_all_is_needed(
    case: Case, variant: Variant, outcomes: Sequence[Outcome], base: Sequence[Outcome]
) -> bool:
    """Return whether errors are missing only because native code skips values that are not read."""
    calls = range(case.calls)
    missing = [at for at in calls if base[at].error is not None and outcomes[at].error is None]
    if not missing:
        return False
    names = [name for step in case.steps for name in step.names]
    all_outcomes, _ = _outcomes(replace(case, outputs=tuple(names)), variant)
    return not any(_errors_differ(case, at, all_outcomes[at], base[at])[1] for at in missing)


def _outcomes(case: Case, variant: Variant) -> tuple[list[Outcome], str]:
    """Run a case; return the outcome of each call, and what else was wrong."""
    with variant.active():
        try:
            subject = Subject(case, variant.mode)
        except AssertionError as error:
            return [], f"compiling it ended in {_described(error)}"
        except Exception as error:  # noqa: BLE001 - whatever it is, the other way did without
            return [Outcome(error=error)] * case.calls, ""
    found: list[Outcome] = []
    copies: list[list[Any]] = []
    for call in range(case.calls):
        arguments = subject.arguments(call)
        before = [argument.tobytes() for argument in arguments]
        try:
            values = subject.call(call, arguments)
        except AssertionError as error:  # no program may end so, whatever the other way does
            return found, f"call {call} ended in {_described(error)}"
        except Exception as error:  # noqa: BLE001 - compared with that of the other way
            found.append(Outcome(error=error))
            values = []
        else:
            found.append(Outcome(values))
        copies.append([np.array(value) for value in values])
        for given, argument, old in zip(case.inputs, arguments, before, strict=True):
            if argument.tobytes() != old:
                return found, f"call {call} changed its argument {given.name}"
    for call, (outcome, old) in enumerate(zip(found, copies, strict=True)):
        for name, value, copy in zip(case.results, outcome.values, old, strict=False):
            if np.asarray(value).tobytes() != copy.tobytes():
                return found, f"a later call changed result {name} of call {call}"
    return found, ""


def _difference(
    case: Case,
    outcomes: Sequence[Outcome],
    base: Sequence[Outcome],
    *,
    strict: bool,
    flushes: bool,
    lenient: bool = False,
) -> tuple[str, str]:
    """Return in what, and how, outcomes differ from the reference's by more than rounding.

    ``lenient`` is for graphs that were rewritten: what overflowed may come out, and errors may
    vanish, since formulas are rewritten to ones that are defined in more places.
    """
    for call, (found, expected) in enumerate(zip(outcomes, base, strict=True)):
        if lenient:
            expected = _leniently(found, expected)
        if found.error is not None or expected.error is not None:
            kind, text = _errors_differ(case, call, found, expected)
        else:
            kind, text = _values_differ(case, call, found, expected, strict, flushes)
        if text:
            return kind, f"call {call}: {text}"
    return "", ""


def _errors_differ(case: Case, call: int, found: Outcome, expected: Outcome) -> tuple[str, str]:
    kind = type(found.error).__name__
    if _is_of_nan(case, call, found, expected):
        return "", ""
    if found.error is None:
        return kind, f"no error, but the reference raised {_described(expected.error)}"
    if expected.error is None:
        return kind, f"it raised {_described(found.error)}"
    if type(found.error) is not type(expected.error):
        built = case.build()
        if type(found.error) in possible_errors(built.results, built.known(call)):
            return "", ""
        expectation = f"expected {_described(expected.error)}"
        return kind, f"it raised {_described(found.error)}, {expectation}"
    return "", ""


def _is_of_nan(case: Case, call: int, *outcomes: Outcome) -> bool:
    """Return whether a matrix with NaN was called singular: that hangs on LAPACK's pivots."""
    values = [given.values[call] for given in case.givens]
    has_nan = any(value.dtype.kind in "fc" and np.isnan(value).any() for value in values)
    return has_nan and any(isinstance(one.error, np.linalg.LinAlgError) for one in outcomes)


def _described(error: BaseException | None) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {' '.join(lines[:3])[:300]}"


def _values_differ(
    case: Case, call: int, found: Outcome, expected: Outcome, strict: bool, flushes: bool
) -> tuple[str, str]:
    noise: Noise | None = None
    pairs = zip(case.results, found.values, expected.values, strict=True)
    for position, (name, value, wanted) in enumerate(pairs):
        text = difference(value, wanted)
        if not text:
            continue
        value, wanted = np.asarray(value), np.asarray(wanted)
        if value.dtype != wanted.dtype or value.ndim != wanted.ndim:
            return "type", f"{name}: {text}"
        if noise is None:
            built = case.build()
            options = {"strict": strict, "flushes": flushes, "seed": max(case.seed, 0)}
            noise = Noise.of(built.results, built.known(call), **options)
        if value.shape != wanted.shape and not noise.is_open(position):
            return "type", f"{name}: {text}"
        if not noise.allows(position, value, wanted):
            return "values", f"{name}: {text}"
    return "", ""


def _leniently(found: Outcome, expected: Outcome) -> Outcome:
    """Return the expected values where they are finite, and the found ones elsewhere."""
    if expected.error is not None:
        return found
    values: list[Any] = []
    for value, wanted in zip(found.values, expected.values, strict=False):
        is_alike = value.shape == wanted.shape and value.dtype == wanted.dtype
        if is_alike and wanted.dtype.kind in "fc":
            wanted = np.where(np.isfinite(wanted), wanted, value)
        values.append(wanted)
    return Outcome(values if found.error is None else expected.values)
