"""Rules and rewriters that are imported when a graph has an Op that they need.

Most graphs have no loops, no decompositions and no choices, and the rules for these need modules
that take longer to import than a small graph takes to compile. A module says of such rules which
Ops they need (:func:`late_rules`); ``make index`` reads it, and a list of rules, such as that of a
pass, takes them from the index (:class:`LateParts`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from phintys._base.caches import kept_property
from phintys._base.errors import RewriteError
from phintys._base.late import LateModule
from phintys._base.uninterrupted import run_whole
from phintys.rewriting.index import RuleIndex
from phintys.rewriting.rewriter import GraphRewriter, NodeRewriter

if TYPE_CHECKING:
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.op import Op
    from phintys.rewriting.trace import RewriteTrace

_MOST_RULES = 10
"""The logarithm to base 2 of the number of rules that a part can have."""


def late_rules(*rules: NodeRewriter, needs: Sequence[object]) -> tuple[NodeRewriter, ...]:
    """Return rules as a tuple, which is imported when a graph has one of certain Ops.

    Parameters
    ----------
    rules
        The rules, in the order in which they are tried on a node.
    needs
        Classes of Ops, and scalar ops, for the elementwise Ops that apply them. Each rule tracks
        only nodes of these, or only applies if a node of one of them is an operand or within its
        depth. It is a list of names, which ``make index`` reads.

    Raises
    ------
    RewriteError
        A rule requires features of the graph, or nothing is needed.

    Examples
    --------
    >>> from phintys.passes.shapes import join_of_one
    >>> from phintys.rewriting import late_rules
    >>> from phintys.tensor.joining import Join
    >>> late_rules(join_of_one, needs=[Join])
    (<rule join_of_one: concatenate([x]) -> x>,)
    """
    for rule in rules:
        if rule.requires:
            msg = (
                f"The rule {rule.name} requires features of the graph, which are attached "
                "before it is known to be needed: list it among the rules that are not late."
            )
            raise RewriteError(msg)
    _check_needs(needs)
    return rules


_Rewriter = TypeVar("_Rewriter", bound=GraphRewriter)


def late_rewriter(rewriter: _Rewriter, *, needs: Sequence[object]) -> _Rewriter:
    """Return a rewriter of whole graphs, which is imported when a graph has one of certain Ops.

    Parameters
    ----------
    rewriter
        The rewriter, whose name is that of the variable.
    needs
        As for :func:`late_rules`.
    """
    _check_needs(needs)
    return rewriter


def _check_needs(needs: Sequence[object]) -> None:
    if not needs:
        msg = "Late rules need something: without it, they would never be imported."
        raise RewriteError(msg)


class _Late:
    """An object of a module that is imported when a graph has one of certain Ops.

    Parameters
    ----------
    module
        The module.
    name
        Name of the object in it.
    needs
        Names of classes of Ops, and of the functions of elementwise Ops, separated by spaces:
        without a node of one of them, or of a class derived from it, the object has nothing to do.
    """

    def __init__(self, module: LateModule, name: str, *, needs: str) -> None:
        self.module = module
        self.name = name
        self.needs = frozenset(needs.split())

    def load(self) -> Any:
        """Import the module, and return the object."""
        return getattr(self.module, self.name)

    def is_needed_for(self, op: Op) -> bool:
        """Return whether a node of this Op is one of those that it needs."""
        names = (op.function_name, *(base.__name__ for base in type(op).__mro__))
        return not self.needs.isdisjoint(names)

    def __repr__(self) -> str:
        return f"<{self.name} of {self.module.__name__}, for {', '.join(sorted(self.needs))}>"


class LateRules(_Late):
    """Rules that are imported when a graph has one of certain Ops.

    Parameters
    ----------
    module
        The module that defines the rules.
    name
        Name of a tuple of rules in the module, see :func:`late_rules`.
    needs
        Names of the Ops that they need, separated by spaces.

    Examples
    --------
    >>> from phintys._base.late import LateModule
    >>> from phintys.rewriting import LateRules, RuleList
    >>> shapes = LateModule("phintys.passes.shapes")
    >>> late = LateRules(shapes, "CANONICAL_JOIN", needs="Join")
    >>> late
    <CANONICAL_JOIN of phintys.passes.shapes, for Join>
    >>> [rule.name for rule in RuleList(late)]
    ['join_of_one', 'merge_joins', 'drop_empty_parts']
    """

    def load(self) -> tuple[NodeRewriter, ...]:
        """Import the module, and return the rules."""
        return super().load()


class RuleList(Sequence[NodeRewriter]):
    """An ordered list of rules, of which some are imported when they are needed.

    As a sequence, it has all of them.

    Parameters
    ----------
    parts
        Rules, :class:`LateRules`, and other lists, whose parts are taken over.
    """

    def __init__(self, *parts: NodeRewriter | LateRules | RuleList) -> None:
        self.parts: tuple[NodeRewriter | LateRules, ...] = tuple(
            inner
            for part in parts
            for inner in (part.parts if isinstance(part, RuleList) else (part,))
        )
        self._set_up()

    def _set_up(self) -> None:
        self._late = {
            1 << place: part for place, part in enumerate(self.parts) if isinstance(part, LateRules)
        }
        self._needed: dict[tuple[type[Op], str], int] = {}
        # The late parts that are in the index, and the index: replaced together.
        self._state: tuple[int, RuleIndex] | None = None

    def _at_once(self) -> RuleIndex:
        """Return an index of the rules that are not late."""
        parts = enumerate(self.parts)
        return RuleIndex(
            _placed({place: (one,) for place, one in parts if isinstance(one, NodeRewriter)})
        )

    def needed_for(self, op: Op) -> int:
        """Return the late parts that a graph with such a node needs, as a set of bits."""
        key = (type(op), op.function_name)
        found = self._needed.get(key)
        if found is None:
            bits = (bit for bit, part in self._late.items() if part.is_needed_for(op))
            found = self._needed[key] = sum(bits)
        return found

    def indexed(self, needed: int = -1) -> RuleIndex:
        """Return an index of the rules that has at least the given late parts; all by default."""
        there, index = self._state or (0, self._at_once())
        missing = [bit for bit in self._late if bit & needed & ~there]
        if missing:
            for bit, rules in zip(missing, run_whole(self._load, missing), strict=True):
                placed = _placed({bit.bit_length() - 1: rules})
                index = RuleIndex(placed, part=bit, base=index)
        # If threads take in different parts at once, those of one are taken in again later.
        self._state = (there | sum(missing), index)
        return index

    def _load(self, bits: Iterable[int]) -> list[tuple[NodeRewriter, ...]]:
        return [self._late[bit].load() for bit in bits]

    @kept_property
    def _all(self) -> tuple[NodeRewriter, ...]:
        late = dict(zip(self._late.values(), run_whole(self._load, self._late), strict=True))
        found: list[NodeRewriter] = []
        for part in self.parts:
            found += late[part] if isinstance(part, LateRules) else (part,)
        return tuple(found)

    @overload
    def __getitem__(self, index: int) -> NodeRewriter: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[NodeRewriter, ...]: ...
    def __getitem__(self, index: int | slice) -> NodeRewriter | tuple[NodeRewriter, ...]:
        return self._all[index]

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[NodeRewriter]:
        return iter(self._all)

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuleList) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def __getstate__(self) -> tuple[NodeRewriter | LateRules, ...]:
        return self.parts  # the index is rebuilt on demand

    def __setstate__(self, parts: tuple[NodeRewriter | LateRules, ...]) -> None:
        self.parts = parts
        self._set_up()


def _placed(
    parts: Mapping[int, tuple[NodeRewriter, ...]],
) -> Iterator[tuple[int, NodeRewriter]]:
    """Yield the rules of parts of a list, each with its place in the list of all rules."""
    for place, rules in parts.items():
        yield from enumerate(rules, place << _MOST_RULES)


class LateRewriter(_Late, GraphRewriter):
    """A rewriter of whole graphs that is imported when a graph has one of certain Ops.

    Parameters
    ----------
    module, name, needs
        As for :class:`LateRules`; the name of the rewriter in the module is its own as well.

    Examples
    --------
    >>> from phintys._base.late import LateModule
    >>> from phintys.rewriting import LateRewriter
    >>> choices = LateModule("phintys.passes.choices")
    >>> LateRewriter(choices, "combine_choices", needs="IfElse")
    <combine_choices of phintys.passes.choices, for IfElse>
    """

    def __init__(self, module: LateModule, name: str, *, needs: str) -> None:
        _Late.__init__(self, module, name, needs=needs)
        GraphRewriter.__init__(self, name=name)

    def load(self) -> GraphRewriter:
        """Import the module, and return the rewriter."""
        return run_whole(super().load)

    def apply(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
        if any(self.is_needed_for(node.op) for node in fgraph.apply_nodes):
            self.load().rewrite(fgraph, trace)


class LateParts:
    """The late rules and rewriters of the index, as attributes.

    Examples
    --------
    >>> from phintys._base import index
    >>> from phintys.rewriting import LateParts
    >>> LateParts(index.RULES, index.REWRITERS).CANONICAL_JOIN
    <CANONICAL_JOIN of phintys.passes.shapes, for Join>
    """

    def __init__(
        self,
        rules: Mapping[str, Mapping[str, str]],
        rewriters: Mapping[str, Mapping[str, str]],
    ) -> None:
        self._parts: dict[str, LateRules | LateRewriter] = {}
        for kind, table in ((LateRules, rules), (LateRewriter, rewriters)):
            for module, needs in zip(map(LateModule, table), table.values(), strict=True):
                for name, ops in needs.items():
                    self._parts[name] = kind(module, name, needs=ops)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._parts:
            msg = f"No module has late rules {name!r}: see late_rules(), and run `make index`."
            raise AttributeError(msg, name=name, obj=self)
        return self._parts[name]
