"""Cases: graphs as programs that a person can read, run and shorten, with values for their inputs.

A case is a list of lines such as ``v2 = pt.exp(x0)``. What is built, run and compared is what is
printed when something goes wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import phintys.tensor as pt
from phintys import gradient, sparse
from phintys.compile import In, function
from phintys.graph.variable import Variable
from phintys.tensor import blas, inplace
from phintys.testing.layouts import lay_out
from tools.fuzz import inner_ops, loop_ops, memory_ops, undeclared, user_ops

__all__ = ["Built", "Case", "Given", "Step", "Subject", "as_literal"]

Array = np.ndarray[Any, Any]

NAMESPACE: dict[str, Any] = {
    "blas": blas,
    "gradient": gradient,
    "inplace": inplace,
    "inner_ops": inner_ops,
    "loop_ops": loop_ops,
    "memory_ops": memory_ops,
    "np": np,
    "pt": pt,
    "sparse": sparse,
    "undeclared": undeclared,
    "user_ops": user_ops,
}
"""What the lines of a case may name."""


@dataclass(frozen=True, eq=False)
class Given:
    """An input, or a shared variable.

    Attributes
    ----------
    name
        In the program.
    shape
        Its static shape, with ``None`` for unknown sizes.
    values
        One value for each time that the function is called.
    layout
        How the values lie in memory, see :func:`~phintys.testing.layouts.lay_out`.
    update
        The name of the shared variable's new value; ``None`` for an input.
    """

    name: str
    shape: tuple[int | None, ...]
    values: tuple[Array, ...]
    layout: str = "C"
    update: str | None = None

    @property
    def dtype(self) -> str:
        """Of the variable."""
        return self.values[0].dtype.name

    @property
    def line(self) -> str:
        """The line that makes it."""
        if self.update is None:
            return f"{self.name} = pt.tensor(dtype={self.dtype!r}, shape={self.shape})"
        return f"{self.name} = pt.shared({as_literal(self.values[0])}, shape={self.shape})"

    def value(self, call: int) -> Array:
        """Return the value for a call, laid out."""
        return lay_out(self.values[call], self.layout)


@dataclass(frozen=True, eq=False)
class Step:
    """One line: ``names = text``.

    Attributes
    ----------
    names
        What it makes; several names where the text gives a list.
    text
        An expression of Python.
    uses
        The names that occur in it.
    """

    names: tuple[str, ...]
    text: str
    uses: tuple[str, ...]

    @property
    def line(self) -> str:
        """The line."""
        return f"{', '.join(self.names)} = {self.text}"

    def run(self, known: dict[str, Any]) -> None:
        """Add what the line makes to the variables that are known."""
        made = eval(self.text, NAMESPACE, known)  # noqa: S307 - lines that this package wrote
        results = list(made) if isinstance(made, list | tuple) else [made]
        known.update(zip(self.names, results, strict=True))


@dataclass(eq=False)
class Built:
    """The variables of a case."""

    case: Case
    variables: dict[str, Any]

    @property
    def inputs(self) -> list[Variable]:
        """Those of the inputs."""
        return [self.variables[given.name] for given in self.case.inputs]

    @property
    def results(self) -> list[Variable]:
        """Those of the outputs, and of the new values of shared variables."""
        return [self.variables[name] for name in self.case.results]

    def known(self, call: int) -> dict[Variable, Any]:
        """Return the values of inputs and shared variables at a call."""
        return {self.variables[given.name]: given.value(call) for given in self.case.givens}


@dataclass(frozen=True, eq=False)
class Case:
    """A graph and values of its inputs.

    Attributes
    ----------
    seed
        What it was drawn from.
    givens
        Inputs and shared variables.
    steps
        The lines, in order.
    outputs
        Names.
    calls
        How often the function is called; each input has so many values.
    """

    seed: int
    givens: tuple[Given, ...]
    steps: tuple[Step, ...]
    outputs: tuple[str, ...]
    calls: int = 1

    @property
    def inputs(self) -> list[Given]:
        """The inputs without the shared variables."""
        return [given for given in self.givens if given.update is None]

    @property
    def results(self) -> list[str]:
        """The names of all that is compared: outputs, and new values of shared variables."""
        return [*self.outputs, *(given.update for given in self.givens if given.update)]

    def build(self) -> Built:
        """Run the lines."""
        known: dict[str, Any] = {}
        for given in self.givens:
            if given.update is None:
                known[given.name] = pt.tensor(dtype=given.dtype, shape=given.shape, name=given.name)
            else:
                known[given.name] = pt.shared(given.values[0], name=given.name, shape=given.shape)
        for step in self.steps:
            step.run(known)
        return Built(self, known)

    def pruned(self) -> Case:
        """Return the case without lines and inputs that nothing needs."""
        needed = set(self.results)
        kept: list[Step] = []
        for step in reversed(self.steps):
            if needed.intersection(step.names):
                kept.append(step)
                needed.update(step.uses)
        givens = tuple(given for given in self.givens if given.name in needed or given.update)
        return replace(self, givens=givens, steps=tuple(reversed(kept)))

    def program(self, mode: str) -> str:
        """Return a program that shows the case.

        Parameters
        ----------
        mode
            The text of the expression for ``mode``.
        """
        updates = [f"({given.name}, {given.update})" for given in self.givens if given.update]
        names = ", ".join(given.name for given in self.inputs)
        made = [
            f"f = phintys.function([{names}], [{', '.join(self.outputs)}],",
            f"    updates=[{', '.join(updates)}], mode={mode},",
            '    on_unused_input="ignore", accept_inplace=True)',
        ]
        lines = [
            "import numpy as np, phintys, phintys.tensor as pt",
            "from phintys import gradient, sparse",
            "from phintys.tensor import blas",
            "from tools.fuzz import loop_ops, user_ops",
            "from phintys.testing.layouts import lay_out",
            "",
            *(given.line for given in self.givens),
            *(step.line for step in self.steps),
            *made,
        ]
        for call in range(self.calls):
            lines += [
                f"{given.name}.set_value({as_literal(given.values[call])})"
                for given in self.givens
                if given.update and call
            ]
            values = [
                f"lay_out({as_literal(given.values[call])}, {given.layout!r})"
                for given in self.inputs
            ]
            lines.append(f"print(f({', '.join(values)}))")
        return "\n".join(lines)


def as_literal(value: Array) -> str:
    """Return an array as an expression."""
    dtype = value.dtype.name
    if not value.size:
        return f"np.zeros({value.shape}, {dtype!r})"
    if value.dtype.kind == "c":
        parts = np.stack([value.real, value.imag], axis=-1)
        return f"{as_literal(parts)}.view({dtype!r})[..., 0]"
    text = repr(value.tolist())
    for name in ("nan", "inf"):
        text = text.replace(name, f"np.{name}")
    return f"np.array({text}, {dtype!r})"


class Subject:
    """A case compiled in some mode.

    Parameters
    ----------
    case
        The case.
    mode
        The mode.
    """

    def __init__(self, case: Case, mode: Any) -> None:
        self.case = case
        built = case.build()
        self._shared: Mapping[str, Any] = {
            given.name: built.variables[given.name] for given in case.givens if given.update
        }
        self._function = function(
            [In(variable) for variable in built.inputs],
            [built.variables[name] for name in case.outputs],
            updates=[
                (built.variables[given.name], built.variables[given.update])
                for given in case.givens
                if given.update
            ],
            mode=mode,
            on_unused_input="ignore",
            accept_inplace=True,
        )

    def arguments(self, call: int) -> list[Array]:
        """Return the arguments of a call, laid out."""
        return [given.value(call) for given in self.case.inputs]

    def call(self, call: int, arguments: Sequence[Array]) -> list[Any]:
        """Call the function; return outputs and new values of shared variables."""
        for given in self.case.givens:
            if given.update:
                self._shared[given.name].set_value(given.values[call])
        results = self._function(*arguments)
        return [*results, *(variable.get_value() for variable in self._shared.values())]
