"""Which values of a graph are in which memory, during lowering.

A program may place a value in the memory of another although its Op says that it makes new memory:
``alloc(x, 1, n)[0]`` is x itself. That is valid as long as both are only read. Before memory is
overwritten, handed to Python or returned, this module is asked who else is there: by what lowering
has placed, by the roots of variables in the graph, and by the views that Ops in Python may return,
the last two according to :class:`~phintys.graph.alias_map.AliasMap`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.native.values import Array, Place, Value
from phintys.graph.alias_map import AliasMap, root_of, shared_inputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from phintys.graph.op import Op
    from phintys.graph.variable import Variable

__all__ = ["ValuesInMemory", "is_separate"]


class ValuesInMemory:
    """The memory of a program, each with the variables whose values it holds."""

    def __init__(self) -> None:
        self._variables: dict[Value, list[Variable]] = {}
        self._arguments: dict[Value, Variable] = {}
        self._placed: dict[Value, list[Variable]] = {}
        """Variables in memory that holds others, although their Ops say that they make memory."""
        self._aliases: AliasMap[Value] = AliasMap()

    def __iter__(self) -> Iterator[Value]:
        """Yield the memory that holds values."""
        return iter(self._variables)

    def add(self, variable: Variable, memory: Array) -> None:
        """Record the memory of a variable's value."""
        if memory in self._variables and variable.owner is not None and _makes_memory(variable):
            self._placed.setdefault(memory, []).append(variable)
        self._variables.setdefault(memory, []).append(variable)
        if memory.place == Place.ARGUMENT:
            self._arguments.setdefault(memory, variable)

    def variables(self, memory: Value) -> list[Variable]:
        """Return the variables whose value is in memory, to be shortened once they are read."""
        return self._variables.get(memory, [])

    def add_views(self, op: Op, inputs: Sequence[Value], outputs: Sequence[Value]) -> None:
        """Record whose memory the outputs of an Op that runs in Python may share."""
        given = [one.memory if isinstance(one, Array) else one for one in inputs]
        self._aliases.add(op, given, outputs)

    def memory_of(self, value: Value) -> tuple[Value, ...]:
        """Return the memory that a value may share, as an Op may have returned it as a view."""
        return self._aliases.memory(value.memory if isinstance(value, Array) else value)

    def sharing(self, value: Value) -> list[Value]:
        """Return the memory that a value may share, and what Ops may have returned as views of it.

        That of a value is first; views follow the memory that they may be part of.
        """
        found: list[Value] = []
        for memory in self.memory_of(value):
            found += [memory, *self._aliases.views(memory)]
        return found

    def is_alone(self, variable: Variable, array: Array) -> bool:
        """Return whether an array holds no value that the graph assumes to be in other memory."""
        for memory in self.sharing(array):
            placed = self._placed.get(memory)
            if placed is None:
                continue
            others = [*self.variables(memory), *placed]
            if memory in self._arguments:  # its caller may read it, even if the graph does not
                others.append(self._arguments[memory])
            if is_separate(variable, others):
                return False
        return True


def is_separate(variable: Variable, others: Iterable[Variable]) -> bool:
    """Return whether the graph assumes a variable and one of others to be in different memory."""
    others = list(others)
    if not others:
        return False
    roots = set(root_of(variable))
    return any(roots.isdisjoint(root_of(other)) for other in others)


def _makes_memory(variable: Variable) -> bool:
    """Return whether an Op does not say that an output may share the memory of an input."""
    node = variable.owner
    return node is None or not any(
        shared_inputs(node.op, at) for at, one in enumerate(node.outputs) if one is variable
    )
