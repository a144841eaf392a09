"""Ops that choose between inputs, of which only the chosen ones need to be computed.

Such an Op, a :class:`Choosing`, has a selector and, for each of its sides, some inputs. What is
computed for one side alone is *guarded*: it is only needed if the selector chooses that side.
Backends and gradients know such Ops only by this protocol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import MethodNotDefinedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

    Guard = tuple[tuple[Variable, int], ...]

__all__ = ["Choosing", "common_guard", "find_guards"]


class Choosing:
    """A mixin for Ops that return some of their inputs, chosen by the value of another.

    The outputs are those of one side: output number o is the o-th input of that side.
    """

    def selector(self, node: Apply) -> Variable:
        """Return the input whose value chooses the side."""
        return node.inputs[0]

    def sides(self, node: Apply) -> Sequence[Sequence[int]]:
        """Return the positions of the inputs of each side."""
        msg = f"The Op {self} has no sides. Define sides(node), the positions of their inputs."
        raise MethodNotDefinedError(msg)

    def chosen(self, value: Any) -> int:
        """Return the number of the side that is chosen if the selector has a value."""
        msg = f"The Op {self} has no chosen. Define chosen(value), the number of a side."
        raise MethodNotDefinedError(msg)

    def choose(self, node: Apply, values: Sequence[Variable]) -> Variable:
        """Return one of other variables, chosen as the node chooses.

        Parameters
        ----------
        node
            A node of this Op.
        values
            One for each side, all of the same dtype and rank.
        """
        msg = f"The Op {self} has no choose. Define choose(node, values), with one for each side."
        raise MethodNotDefinedError(msg)


def common_guard(left: Guard, right: Guard) -> Guard:
    """Return the longest guard under which both are."""
    if left is right:
        return left
    length = 0
    for mine, theirs in zip(left, right, strict=False):
        if mine[0] is not theirs[0] or mine[1] != theirs[1]:
            break
        length += 1
    return left[:length]


def find_guards(
    steps: Iterable[tuple[Apply, Sequence[int]]], pinned: Iterable[Variable]
) -> dict[Variable, Guard]:
    """Return, for each variable, the sides that must be chosen for it to be needed.

    A guard is a tuple of pairs of a selector and the number of a side, from the outermost one. All
    outputs of a node have the same one.

    Parameters
    ----------
    steps
        Nodes, each with the positions of the inputs that matter, in reverse topological order.
    pinned
        Variables that are needed whatever is chosen.
    """
    found: dict[Variable, Guard] = dict.fromkeys(pinned, ())
    for node, positions in steps:
        guards = [found[output] for output in node.outputs if output in found]
        guard: Guard = guards[0] if guards else ()
        for other in guards[1:]:
            guard = common_guard(guard, other)
        for output in node.outputs:
            found[output] = guard
        inside: dict[int, Guard] = {}
        if isinstance(node.op, Choosing):
            selector = node.op.selector(node)
            for side, members in enumerate(node.op.sides(node)):
                inside.update(dict.fromkeys(members, (*guard, (selector, side))))
        for position in positions:
            variable, use = node.inputs[position], inside.get(position, guard)
            known = found.get(variable)
            found[variable] = use if known is None else common_guard(known, use)
    return found
