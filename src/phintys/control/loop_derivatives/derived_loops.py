"""Building a loop that another one determines, such as its backward loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.control.loops.arguments import LoopArguments, Outputs
from phintys.graph.fgraph import FunctionGraph
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.control.loops.loop_op import LoopOp
    from phintys.graph.type import Type
    from phintys.graph.variable import Variable


class DerivedLoop:
    """Collects the arguments of a loop, in any order, with what stands for them in its step.

    Arguments are added one at a time; each method returns the variables that stand for the argument
    in the step. The results have the numbers, from 0, in which the arguments of their kind were
    added.

    Parameters
    ----------
    n
        The number of steps.
    """

    def __init__(self, n: Any) -> None:
        self.n = n
        self.index: Variable = TensorType("int64", ())()
        self._sequences: list[tuple[Variable, Any]] = []
        self._carried: list[tuple[tuple[int, ...], list[Variable], Any]] = []
        self._untraced: list[tuple[Variable, Any]] = []
        self._captured: dict[Any, Variable] = {}
        self._new_rows: dict[int, Variable] = {}
        self._new_values: dict[int, Variable] = {}
        self._stacked: list[Variable] = []
        self.until: Variable | None = None

    def sequence(self, type_: Type, rows: Any) -> Variable:
        """Add a sequence, and return its row, which has a given type."""
        self._sequences.append((type_(), rows))
        return self._sequences[-1][0]

    def carried(self, type_: Type, taps: Sequence[int], first: Any) -> tuple[int, list[Variable]]:
        """Add a carried argument, and return its number and the rows that a step reads."""
        rows: list[Variable] = [type_() for _ in taps]
        self._carried.append((tuple(taps), rows, first))
        return len(self._carried) - 1, rows

    def untraced(self, type_: Type, first: Any) -> tuple[int, Variable]:
        """Add an untraced value, and return its number and what stands for it."""
        self._untraced.append((type_(), first))
        return len(self._untraced) - 1, self._untraced[-1][0]

    def captured(self, value: Variable, type_: Type | None = None) -> Variable:
        """Add a captured value, unless it is one already, and return what stands for it."""
        if value not in self._captured:
            self._captured[value] = (value.type if type_ is None else type_)()
        return self._captured[value]

    def set_row(self, number: int, row: Variable) -> None:
        """Set the new row of a carried argument."""
        self._new_rows[number] = row

    def set_value(self, number: int, value: Variable) -> None:
        """Set the new value of an untraced argument."""
        self._new_values[number] = value

    def stack(self, row: Variable) -> int:
        """Add a stacked result, and return its number."""
        self._stacked.append(row)
        return len(self._stacked) - 1

    @property
    def is_empty(self) -> bool:
        """Whether the loop computes nothing."""
        return not (self._carried or self._untraced or self._stacked)

    def build(self, make: Callable[[FunctionGraph, LoopArguments], LoopOp]) -> Outputs[Any]:
        """Apply a loop that ``make`` returns for a graph and its arguments; return its results."""
        arguments = LoopArguments(
            sequences=len(self._sequences),
            taps=tuple(taps for taps, _, _ in self._carried),
            untraced=len(self._untraced),
            stacked=len(self._stacked),
            captured=len(self._captured),
            has_until=self.until is not None,
        )
        inner = [self.index, *(row for row, _ in self._sequences)]
        for _, rows, _ in self._carried:
            inner += rows
        inner += [value for value, _ in self._untraced]
        inner += self._captured.values()
        made = [self._new_rows[number] for number in range(len(self._carried))]
        made += [self._new_values[number] for number in range(len(self._untraced))]
        made += self._stacked
        if self.until is not None:
            made.append(self.until)
        given = [self.n, *(rows for _, rows in self._sequences)]
        given += [first for _, _, first in self._carried]
        given += [first for _, first in self._untraced]
        given += self._captured
        op = make(FunctionGraph(inner, made), arguments)
        return arguments.node_outputs(op(*given, return_list=True))
