"""Playing a scenario in several ways, and holding it against what must come out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from phintys._base.errors import InconsistencyError
from phintys.compile import Function
from tools.fuzz.changing import wrongly_judged
from tools.fuzz.checking import Disagreement
from tools.fuzz.modes import BASE, DEBUG, IN_PLACE, NATIVE, STRICT, Variant
from tools.fuzz.oracle import some_order_is_right
from tools.fuzz.scenario import Expected, Scenario

__all__ = ["play"]

Array = np.ndarray[Any, Any]


def play(scenario: Scenario, variants: Sequence[Variant] | None = None) -> Disagreement | None:
    """Play a scenario in several ways.

    Each function must be refused if and only if no order of its nodes is right. All results, and
    the shared variables after each call, must have their values exactly. Arguments must not
    change unless they are mutable; nothing may share memory but what is borrowed; results of
    earlier calls must stay; a call that fails must leave everything as it was. Changes of the graph
    of the first function must be judged as its final form would be (:func:`wrongly_judged`).

    Parameters
    ----------
    scenario
        The scenario.
    variants
        The ways; by default the reference backend without rewrites and with all, in place, native
        code for both graphs, and for every other seed DebugMode in a form that the seed chooses, if
        it accepts the Ops: it takes as long as all the others together.

    Returns
    -------
    Disagreement or None
        The first that was found.
    """
    if variants is None:
        variants = (BASE, IN_PLACE, STRICT, NATIVE)
        number, is_other = divmod(scenario.seed, 2)
        if scenario.is_honest and not is_other:
            variants = (*variants, DEBUG[number % len(DEBUG)])
    variables = scenario.build()
    refused = {
        number
        for number, made in enumerate(scenario.functions)
        if not some_order_is_right([variables[name] for name in made.results])
    }
    text = wrongly_judged(scenario)
    if text:
        return Disagreement(scenario, BASE, "scenario", "judged", text)
    expected = scenario.expected(refused)
    for variant in variants:
        kind, text = _Play(scenario, variant, refused, expected).run()
        if text:
            return Disagreement(scenario, variant, "scenario", kind, text)
    return None


class _Play:
    """One way of playing a scenario."""

    def __init__(
        self,
        scenario: Scenario,
        variant: Variant,
        refused: set[int],
        expected: Sequence[Expected],
    ) -> None:
        self.scenario = scenario
        self.variant = variant
        self.refused = refused
        self.expected = expected
        self.variables = scenario.build()
        self.shared = {one.name: self.variables[one.name] for one in scenario.shared}
        self.functions: list[Function | None] = []
        self.kept: list[tuple[str, Any, Array]] = []

    def run(self) -> tuple[str, str]:
        """Return in what, and how, it went wrong; nothing if it did not."""
        for number in range(len(self.scenario.functions)):
            kind, text = self._compile(number)
            if text:
                return kind, text
        for call, number in enumerate(self.scenario.calls):
            compiled = self.functions[number]
            if compiled is None:
                continue
            kind, text = self._call(call, number, compiled)
            if text:
                return kind, f"call {call} of f{number}: {text}"
        for name, value, copy in self.kept:
            if not _same(value, copy):
                return "later", f"{name} changed later: it is {value!r}, it was {copy!r}"
        return "", ""

    def _compile(self, number: int) -> tuple[str, str]:
        made = self.scenario.functions[number]
        try:
            with self.variant.active():
                compiled = made.compile(self.variables, self.variant.mode)
        except InconsistencyError as error:
            self.functions.append(None)
            if number not in self.refused:
                return "refused", f"f{number} could be computed, but {_told(error)}"
            return "", ""
        except Exception as error:  # noqa: BLE001 - whatever it is, it is wrong
            return type(error).__name__, f"f{number} cannot be compiled: {_told(error)}"
        self.functions.append(compiled)
        if number in self.refused:
            return "accepted", f"f{number} was accepted, but no order of its nodes is right"
        return "", ""

    def _call(self, call: int, number: int, compiled: Function) -> tuple[str, str]:
        made, expected = self.scenario.functions[number], self.expected[call]
        arguments = {
            given.name: given.value(call)
            for given in self.scenario.givens
            if given.name in made.inputs
        }
        before = {name: value.copy() for name, value in arguments.items()}
        results: list[Any] = []
        try:
            results = compiled(*(arguments[name] for name in made.inputs))
        except Exception as error:  # noqa: BLE001 - an Op may raise anything
            if expected.results is not None or isinstance(error, AssertionError):
                return type(error).__name__, f"it raised {_told(error)}"
        else:
            if expected.results is None:
                if self.variant is BASE:
                    return "no error", "it raised no error"
                # Nobody needed what could not be computed.
                for name, value in expected.states.items():
                    self.shared[name].set_value(value)
                return "", ""
        for name, old in before.items():
            if made.inputs[name] != "mutable":
                self.kept.append((f"the argument {name} of call {call}", arguments[name], old))
                if not _same(arguments[name], old):
                    return "arguments", f"it changed its argument {name}"
        wanted_results = zip(made.outputs, results, expected.results or (), strict=False)
        for (name, _), value, wanted in wanted_results:
            if not _same(value, wanted):
                return "values", f"{name} is {value!r}, expected {wanted!r}"
        for name, wanted in expected.states.items():
            value = self.shared[name].get_value()
            if not _same(value, wanted):
                return "states", f"afterwards {name} is {value!r}, expected {wanted!r}"
        for (name, borrow), value in zip(made.outputs, results, strict=False):
            if not borrow:
                self.kept.append((f"{name} of call {call}", value, np.array(value)))
        kind, text = self._sharing(number, arguments, results)
        return (kind, text) if text else self._written(call, number, results)

    def _written(self, call: int, number: int, results: Sequence[Any]) -> tuple[str, str]:
        """Write into the results of a call, which are the caller's; see what changed with them."""
        outputs = self.scenario.functions[number].outputs
        own = [value for (_, borrow), value in zip(outputs, results, strict=False) if not borrow]
        for value in own:
            value[...] = 99
        for name, wanted in self.expected[call].states.items():
            if not _same(self.shared[name].get_value(borrow=True), wanted):
                return "written", f"writing into the results changed the shared value {name}"
        written = {id(value) for value in own}
        for at, (name, value, copy) in enumerate(self.kept):
            if id(value) in written:
                self.kept[at] = name, value, np.array(value)
            elif not _same(value, copy):
                return "written", f"writing into the results of call {call} changed {name}"
        return "", ""

    def _sharing(
        self, number: int, arguments: dict[str, Array], results: Sequence[Any]
    ) -> tuple[str, str]:
        """Find two values that share memory, and should not."""
        made = self.scenario.functions[number]
        owned: list[tuple[str, Any, bool]] = [
            (f"the argument {name}", value, bool(made.inputs[name]))
            for name, value in arguments.items()
        ]
        states = [
            (f"the shared value {name}", one.get_value(borrow=True), True)
            for name, one in self.shared.items()
        ]
        outputs = [
            (f"the result {name}", value, borrow)
            for (name, borrow), value in zip(made.outputs, results, strict=False)
        ]
        for at, (name, value, borrow) in enumerate(outputs):
            for other, second, also in (*owned, *states, *outputs[:at]):
                if not (borrow and also) and np.shares_memory(value, second):
                    return "sharing", f"{name} shares memory with {other}"
        for at, (name, value, _) in enumerate(states):
            for other, second, _also in (*(one for one in owned if not one[2]), *states[:at]):
                if np.shares_memory(value, second):
                    return "sharing", f"{name} shares memory with {other}"
        return "", ""


def _same(value: Any, other: Array) -> bool:
    """Return whether two arrays are equal in dtype, shape and all elements."""
    return (
        isinstance(value, np.ndarray)
        and value.dtype == other.dtype
        and np.array_equal(value, other)
    )


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).splitlines()[:4])[:400]}"
