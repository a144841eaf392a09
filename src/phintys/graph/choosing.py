"""Ops that choose between inputs, of which only the chosen ones need to be computed.

Such an Op, a :class:`Choosing`, has a selector and, for each of its sides, some inputs. What is
computed for one side alone is *guarded*: it is only needed if the selector chooses that side.
Backends and gradients know such Ops only by this protocol.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from phintys._base.errors import MethodNotDefinedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

    Guard = tuple[tuple[Variable, int], ...]
    Guards = tuple[Guard, ...]

MOST_GUARDS = 8
"""The most guards that a variable has; if there are more, it has the one that they share."""

_ALWAYS: Guards = ((),)


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
    steps: Iterable[tuple[Apply, Sequence[int]]],
    pinned: Iterable[Variable],
    loose: set[Variable] | None = None,
) -> dict[Variable, Guards]:
    """Return, for the results of nodes, under which guards they are needed.

    A guard is a tuple of pairs of a selector and the number of a side, from the outermost one; the
    empty one is always true. None of those of a variable is part of another. All outputs of a node
    have the same ones.

    Parameters
    ----------
    steps
        Nodes, each with the positions of the inputs that matter, in reverse topological order.
    pinned
        Variables that are needed whatever is chosen.
    loose
        If it is given, the variables are added whose guards have become too many somewhere, so that
        they have weaker ones.
    """
    uses: dict[Variable, dict[Guard, None]] = {variable: {(): None} for variable in pinned}
    counts: dict[Variable, int] = {}
    found: dict[Variable, Guards] = {}
    for node, positions in steps:
        own = _simplified([g for output in node.outputs for g in uses.get(output, ())], counts)
        is_cut = len(own) > MOST_GUARDS
        if loose is not None and (is_cut or not loose.isdisjoint(node.outputs)):
            loose.update(node.outputs)
            loose.update([node.inputs[position] for position in positions])
        if is_cut:
            own = (reduce(common_guard, own),)
        found.update(dict.fromkeys(node.outputs, own))
        sides: dict[int, int] = {}
        if isinstance(node.op, Choosing):
            members = node.op.sides(node)
            counts[node.op.selector(node)] = len(members)
            sides = {at: side for side, some in enumerate(members) for at in some}
        for position in positions:
            guards = uses.setdefault(node.inputs[position], {})
            for guard in own:
                inner = guard if position not in sides else inside(guard, node, sides[position])
                if inner is not None:
                    guards[inner] = None
    return found


def inside(guard: Guard, node: Apply, side: int) -> Guard | None:
    """Return the guard of a side of a choice under a guard; ``None`` if it cannot be chosen."""
    op = node.op
    assert isinstance(op, Choosing)
    selector = op.selector(node)
    for known, chosen in guard:
        if known is selector:
            return guard if chosen == side else None
    return (*guard, (selector, side))


def _simplified(guards: Iterable[Guard], counts: Mapping[Variable, int]) -> Guards:
    """Return guards without those that are part of others; all sides of a choice are the whole."""
    left = dict.fromkeys(guards)
    while True:
        left = dict.fromkeys(
            guard for guard in left if not any(guard[:n] in left for n in range(len(guard)))
        )
        if not left:
            return _ALWAYS
        whole = [
            guard[:-1]
            for guard in left
            if guard
            and all((*guard[:-1], (guard[-1][0], n)) in left for n in range(counts[guard[-1][0]]))
        ]
        if not whole:
            break
        left |= dict.fromkeys(whole)
    return tuple(left)
