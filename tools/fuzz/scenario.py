"""Scenarios: functions that share variables and graphs, and calls of them, as readable programs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import phintys.tensor as pt
from phintys.compile import Function, In, Out, function
from phintys.graph.variable import Variable
from phintys.testing._trial import evaluate, value_of
from tools.fuzz.case import Given, Step, as_literal

__all__ = ["Expected", "Made", "Scenario", "Shared"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Shared:
    """A shared variable.

    Attributes
    ----------
    name
        In the program.
    value
        Its first value.
    shape
        Its static shape.
    """

    name: str
    value: Array
    shape: tuple[int | None, ...]

    @property
    def line(self) -> str:
        """The line that makes it."""
        return f"{self.name} = pt.shared({as_literal(self.value)}, shape={self.shape})"

    def make(self) -> Any:
        """Return the variable."""
        return pt.shared(self.value, name=self.name, shape=self.shape)


@dataclass(frozen=True, eq=False)
class Made:
    """A function.

    Attributes
    ----------
    inputs
        Name of an input -> ``""``, ``"mutable"`` or ``"borrow"``.
    outputs
        Pairs: a name, and whether the result may share memory.
    updates
        Name of a shared variable -> name of its new value.
    """

    inputs: dict[str, str]
    outputs: tuple[tuple[str, bool], ...]
    updates: dict[str, str]

    @property
    def results(self) -> list[str]:
        """The names of outputs and new values."""
        return [*(name for name, _ in self.outputs), *self.updates.values()]

    def compile(self, variables: dict[str, Any], mode: Any) -> Function:
        """Return the function, compiled."""
        return function(
            [
                In(variables[name], mutable=option == "mutable", borrow=option != "")
                for name, option in self.inputs.items()
            ],
            [Out(variables[name], borrow=borrow) for name, borrow in self.outputs],
            updates=[(variables[name], variables[new]) for name, new in self.updates.items()],
            mode=mode,
            on_unused_input="ignore",
            accept_inplace=True,
        )

    def line(self, name: str) -> str:
        """Return the line that makes it, in which ``mode`` is the mode."""
        inputs = [
            f"phintys.In({one}, {option}=True)" if option else one
            for one, option in self.inputs.items()
        ]
        outputs = [
            f"phintys.Out({one}, borrow=True)" if borrow else one for one, borrow in self.outputs
        ]
        updates = ", ".join(f"({one}, {new})" for one, new in self.updates.items())
        return (
            f"{name} = phintys.function([{', '.join(inputs)}], [{', '.join(outputs)}], "
            f"updates=[{updates}],\n"
            '    mode=mode, on_unused_input="ignore", accept_inplace=True)'
        )


@dataclass(frozen=True, eq=False)
class Expected:
    """What a call must come to.

    Attributes
    ----------
    results
        The outputs; ``None`` if the call must raise an error.
    states
        The values of the shared variables after the call.
    """

    results: list[Any] | None
    states: dict[str, Array]


@dataclass(frozen=True, eq=False)
class Scenario:
    """Functions over one graph, and calls.

    Attributes
    ----------
    seed
        What it was drawn from.
    givens
        Inputs, with a value for each call.
    shared
        Shared variables.
    steps
        The lines of the graph, in order.
    functions
        Which are made of it.
    calls
        For each call, the number of the function.
    """

    seed: int
    givens: tuple[Given, ...]
    shared: tuple[Shared, ...]
    steps: tuple[Step, ...]
    functions: tuple[Made, ...]
    calls: tuple[int, ...]

    @property
    def is_honest(self) -> bool:
        """Whether all Ops do with memory what their maps say."""
        return not any("undeclared." in step.text for step in self.steps)

    def build(self) -> dict[str, Any]:
        """Run the lines; return the variables by name."""
        known: dict[str, Any] = {}
        for given in self.givens:
            known[given.name] = pt.tensor(dtype=given.dtype, shape=given.shape, name=given.name)
        for one in self.shared:
            known[one.name] = one.make()
        for step in self.steps:
            step.run(known)
        return known

    def expected(self, refused: Collection[int] = ()) -> list[Expected]:
        """Compute all calls, node by node and without overwriting anything.

        Calls of functions that are ``refused`` change nothing.
        """
        variables = self.build()
        states = {one.name: one.value for one in self.shared}
        found: list[Expected] = []
        for call, number in enumerate(self.calls):
            made = self.functions[number]
            if number in refused:
                found.append(Expected(None, states))
                continue
            known: dict[Variable, Any] = {
                variables[given.name]: given.value(call).copy() for given in self.givens
            }
            known.update((variables[name], value.copy()) for name, value in states.items())
            wanted = [variables[name] for name in made.results]
            try:
                with np.errstate(all="ignore"):
                    evaluate(wanted, known)
            except Exception:  # noqa: BLE001 - an Op may raise anything
                found.append(Expected(None, states))
                continue
            values = [np.array(value_of(variable, known)) for variable in wanted]
            count = len(made.outputs)
            states = {**states, **dict(zip(made.updates, values[count:], strict=True))}
            found.append(Expected(values[:count], states))
        return found

    def program(self, mode: str) -> str:
        """Return a program that shows the scenario; ``mode`` is the text of the expression."""
        lines = [
            "import numpy as np, phintys, phintys.tensor as pt",
            "from phintys.tensor import blas, inplace",
            "from phintys import gradient",
            "from tools.fuzz import inner_ops, memory_ops, undeclared, user_ops",
            "from phintys.testing.layouts import lay_out",
            "",
            f"mode = {mode}",
            *(given.line for given in self.givens),
            *(one.line for one in self.shared),
            *(step.line for step in self.steps),
            *(made.line(f"f{number}") for number, made in enumerate(self.functions)),
        ]
        values = {given.name: given for given in self.givens}
        for call, number in enumerate(self.calls):
            arguments = ", ".join(
                f"lay_out({as_literal(values[name].values[call])}, {values[name].layout!r})"
                for name in self.functions[number].inputs
            )
            lines.append(f"print(f{number}({arguments}))")
            if self.shared:
                shown = ", ".join(f"{one.name}.get_value()" for one in self.shared)
                lines.append(f"print({shown})")
        return "\n".join(lines)

    # ---- smaller ones ------------------------------------------------------------------------

    def pruned(self) -> Scenario:
        """Return the scenario without what nothing needs."""
        numbers = sorted(set(self.calls))
        functions = [self.functions[number] for number in numbers]
        needed = {name for made in functions for name in (*made.results, *made.updates)}
        kept: list[Step] = []
        for step in reversed(self.steps):
            if needed.intersection(step.names):
                kept.append(step)
                needed.update(step.uses)
        givens = tuple(given for given in self.givens if given.name in needed)
        names = {given.name for given in givens}
        return replace(
            self,
            givens=givens,
            shared=tuple(one for one in self.shared if one.name in needed),
            steps=tuple(reversed(kept)),
            functions=tuple(
                replace(made, inputs={k: v for k, v in made.inputs.items() if k in names})
                for made in functions
            ),
            calls=tuple(numbers.index(number) for number in self.calls),
        )

    def smaller(self) -> Iterator[Scenario]:
        """Yield smaller scenarios, those that are much smaller first."""
        if len(self.calls) > 1:
            for call in range(len(self.calls)):
                yield self._without_call(call)
        for number, made in enumerate(self.functions):
            for simpler in _simpler(made):
                functions = list(self.functions)
                functions[number] = simpler
                yield replace(self, functions=tuple(functions)).pruned()
        for at, step in enumerate(self.steps):
            for name in step.uses:
                if len(step.names) == 1:
                    yield self._bypassed(at, name)
        for at in range(len(self.steps)):
            found = self._cut(at)
            if found is not None:
                yield found
        for at, given in enumerate(self.givens):
            if given.layout != "C":
                givens = list(self.givens)
                givens[at] = replace(given, layout="C")
                yield replace(self, givens=tuple(givens))

    def _without_call(self, call: int) -> Scenario:
        givens = [
            replace(given, values=(*given.values[:call], *given.values[call + 1 :]))
            for given in self.givens
        ]
        calls = (*self.calls[:call], *self.calls[call + 1 :])
        return replace(self, givens=tuple(givens), calls=calls).pruned()

    def _bypassed(self, at: int, name: str) -> Scenario:
        """Use what a line uses in its place."""
        (old,) = self.steps[at].names
        steps = [
            replace(
                step,
                text=re.sub(rf"\b{old}\b", name, step.text),
                uses=tuple(name if one == old else one for one in step.uses),
            )
            for step in (*self.steps[:at], *self.steps[at + 1 :])
        ]
        functions = [
            replace(
                made,
                outputs=tuple((name if one == old else one, how) for one, how in made.outputs),
                updates={key: name if one == old else one for key, one in made.updates.items()},
            )
            for made in self.functions
        ]
        return replace(self, steps=tuple(steps), functions=tuple(functions)).pruned()

    def _cut(self, at: int) -> Scenario | None:
        """Make what a line computes inputs; not possible if the line cannot be computed."""
        step = self.steps[at]
        variables = self.build()
        wanted = [variables[name] for name in step.names]
        values: list[Sequence[Array]] = []
        states = [{one.name: one.value for one in self.shared}]
        states += [one.states for one in self.expected()]
        for call in range(len(self.calls)):
            known: dict[Variable, Any] = {
                variables[given.name]: given.value(call).copy() for given in self.givens
            }
            known.update((variables[name], value) for name, value in states[call].items())
            try:
                evaluate(wanted, known)
            except Exception:  # noqa: BLE001 - an Op may raise anything
                return None
            values.append([np.asarray(value_of(variable, known)) for variable in wanted])
        givens = [
            Given(name, variable.type.shape, tuple(one[place] for one in values))
            for place, (name, variable) in enumerate(zip(step.names, wanted, strict=True))
        ]
        functions = [
            replace(made, inputs={**made.inputs, **dict.fromkeys(step.names, "")})
            for made in self.functions
        ]
        return replace(
            self,
            givens=(*self.givens, *givens),
            steps=(*self.steps[:at], *self.steps[at + 1 :]),
            functions=tuple(functions),
        ).pruned()


def _simpler(made: Made) -> Iterator[Made]:
    """Yield a function with less output, fewer updates or fewer options."""
    if len(made.results) > 1:
        for at in range(len(made.outputs)):
            yield replace(made, outputs=(*made.outputs[:at], *made.outputs[at + 1 :]))
        for name in made.updates:
            yield replace(made, updates={k: v for k, v in made.updates.items() if k != name})
    for name, option in made.inputs.items():
        if option:
            yield replace(made, inputs={**made.inputs, name: ""})
    for at, (name, borrow) in enumerate(made.outputs):
        if borrow:
            outputs = (*made.outputs[:at], (name, False), *made.outputs[at + 1 :])
            yield replace(made, outputs=outputs)
