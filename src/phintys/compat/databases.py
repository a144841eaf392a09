"""Databases of rewrites, which programs for the old packages make: ``SequenceDB`` and its kin.

A database has rewrites by name, each with tags; a query selects some of them and makes a rewriter
of these. The passes of Phintys are tuples (``phintys/passes/pipelines.py``):
:mod:`~phintys.compat.registered` has the one database that stands for them, ``optdb``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError, TypeContractError
from phintys._base.records import record
from phintys.compat.rewriters import (
    EquilibriumOptimizer,
    LocalOptGroup,
    SeqOptimizer,
    TopoOptimizer,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "EquilibriumDB",
    "LocalGroupDB",
    "ProxyDB",
    "RewriteDatabase",
    "RewriteDatabaseQuery",
    "SequenceDB",
    "TopoDB",
    "as_query",
]


_OF_REWRITERS = ("__call__", "apply", "optimize", "query", "rewrite", "transform")
"""Methods, of which a rewrite has at least one."""


class RewriteDatabaseQuery:
    """Which rewrites a database or a mode uses, by their tags and names.

    Parameters
    ----------
    include
        Rewrites with one of these tags are used.
    require
        Only those are used that have all of these tags.
    exclude
        Those with one of these tags are not used.
    subquery
        Queries for databases in the database, by name; this query by default.
    position_cutoff
        Only those of a sequence are used whose position is less.
    extra_rewrites
        Pairs ``(rewriter, position)`` that are used besides.

    Examples
    --------
    >>> from phintys.compat.databases import RewriteDatabaseQuery
    >>> query = RewriteDatabaseQuery(include=["fast_run"]).excluding("inplace")
    >>> query.selects({"fast_run", "stabilize"}), query.selects({"fast_run", "inplace"})
    (True, False)
    """

    def __init__(
        self,
        include: Iterable[str | None] | None = (),
        require: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        subquery: Mapping[str, RewriteDatabaseQuery] | None = None,
        position_cutoff: float = float("inf"),
        extra_rewrites: Iterable[Any] | None = None,
        **options: Any,
    ) -> None:
        self.include = frozenset(name for name in include or () if name is not None)
        self.require = frozenset(require or ())
        self.exclude = frozenset(exclude or ())
        self.subquery = dict(subquery or {})
        self.position_cutoff = position_cutoff
        self.extra_rewrites = tuple(extra_rewrites or options.get("extra_optimizations") or ())

    def _with(self, **changes: Any) -> RewriteDatabaseQuery:
        return RewriteDatabaseQuery(**{**vars(self), **changes})

    def including(self, *names: str) -> RewriteDatabaseQuery:
        """Return a query that includes these tags too."""
        return self._with(include=self.include.union(names))

    def excluding(self, *names: str) -> RewriteDatabaseQuery:
        """Return a query without rewrites of these tags."""
        return self._with(exclude=self.exclude.union(names))

    def requiring(self, *names: str) -> RewriteDatabaseQuery:
        """Return a query that requires these tags too."""
        return self._with(require=self.require.union(names))

    def register(self, *rewrites: Any) -> RewriteDatabaseQuery:
        """Return a query with further pairs ``(rewriter, position)``."""
        return self._with(extra_rewrites=(*self.extra_rewrites, *rewrites))

    def selects(self, tags: Iterable[str]) -> bool:
        """Return whether a rewrite with these tags is used."""
        known = frozenset(tags)
        asked = self.include or self.require
        return (
            not asked.isdisjoint(known) and self.require <= known and self.exclude.isdisjoint(known)
        )

    def within(self, name: str) -> RewriteDatabaseQuery:
        """Return the query for the database of this name inside of the one that is asked."""
        return self.subquery.get(name) or self._with(
            extra_rewrites=(), position_cutoff=float("inf")
        )

    def __repr__(self) -> str:
        parts = (f"{name}={sorted(getattr(self, name))}" for name in ("include", "require"))
        return f"RewriteDatabaseQuery({', '.join(parts)}, exclude={sorted(self.exclude)})"


def as_query(first: Any, *tags: str, **subqueries: Any) -> RewriteDatabaseQuery:
    """Return a query, or the one that tags such as ``"+fast_run"``, ``"-inplace"`` describe.

    Raises
    ------
    ArgumentError
        A tag does not begin with ``+`` (include), ``&`` (require) or ``-`` (exclude).

    Examples
    --------
    >>> from phintys.compat.databases import as_query
    >>> as_query("+canonicalize", "-merge")
    RewriteDatabaseQuery(include=['canonicalize'], require=[], exclude=['merge'])
    """
    if isinstance(first, RewriteDatabaseQuery):
        return first
    by_sign: dict[str, list[str]] = {"+": [], "&": [], "-": []}
    for tag in (first, *tags):
        if not isinstance(tag, str) or tag[:1] not in by_sign:
            msg = (
                "The tags of a query must begin with '+' (include), '&' (require) or '-' "
                f"(exclude), as in query('+fast_run', '-inplace'); got {tag!r}."
            )
            raise ArgumentError(msg)
        by_sign[tag[0]].append(tag[1:])
    return RewriteDatabaseQuery(by_sign["+"], by_sign["&"], by_sign["-"], subqueries)


@record()
class Entry:
    """A rewrite of a database.

    Attributes
    ----------
    name, rewriter
        The rewrite: a rule, a rewriter of whole graphs, or a database.
    tags
        Its name, its tags, and the name of its class.
    options
        Where it takes place: ``position``, ``final_rewriter``, ``cleanup``.
    """

    name: str
    rewriter: Any
    tags: set[str]
    options: dict[str, Any]

    def selected(self, query: RewriteDatabaseQuery) -> Any:
        """Return the rewriter that a query selects here, or ``None``."""
        inner = isinstance(self.rewriter, RewriteDatabase)
        # A query for a database in another one selects by the tags of what is in there, too.
        own = query.subquery.get(self.name) if inner else None
        if own is None and not query.selects(self.tags):
            return None
        return self.rewriter.query(query.within(self.name)) if inner else self.rewriter


class MissingEntryError(ArgumentError, KeyError):
    """A database has no rewrite of a name or tag, or several: a ``KeyError``, as before."""

    __str__ = Exception.__str__


class RewriteDatabase:
    """A set of rewrites with names and tags.

    Raises
    ------
    ArgumentError
        A name is registered twice.
    MissingEntryError
        ``database[name]`` is none or several.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.databases import SequenceDB
    >>> from phintys.compat.rewriters import OpRemove, in2out
    >>> from phintys.graph import FunctionGraph
    >>> database = SequenceDB()
    >>> database.register("no_exp", in2out(OpRemove(pt.exp)), "basic", position=2)
    >>> database.register("no_sin", in2out(OpRemove(pt.sin)), "other", position=1)
    >>> x = pt.dscalar("x")
    >>> fgraph = FunctionGraph([x], [pt.exp(pt.sin(x))], copy_inputs=False)
    >>> database.query("+basic").rewrite(fgraph)
    >>> fgraph.outputs[0].owner
    Sin(x)
    >>> "no_sin" in database, "nothing" in database
    (True, False)
    """

    def __init__(self) -> None:
        self.name: str | None = None
        self._entries: dict[str, Entry] = {}

    def register(
        self,
        name: str,
        rewriter: Any,
        *tags: Any,
        use_db_name_as_tag: bool = True,
        overwrite_existing: bool = False,
        **options: Any,
    ) -> None:
        """Add a rewrite.

        Parameters
        ----------
        name
            Its name, which is a tag of its own.
        rewriter
            A rule, a rewriter of whole graphs, or a database.
        tags
            Names by which queries select it.
        use_db_name_as_tag
            Whether the name of this database is a tag too.
        overwrite_existing
            Whether the rewrite takes the place of one of its name.
        options
            What single kinds of databases take, such as ``position``.

        Raises
        ------
        ArgumentError
            The name is that of a rewrite or a tag already, or a tag is the name of a rewrite.
        TypeContractError
            ``rewriter`` is none of these.
        """
        if not any(hasattr(rewriter, method) for method in _OF_REWRITERS):
            msg = (
                f"{rewriter!r} is not a valid rewrite: it must be a rule, a rewriter or a database."
            )
            raise TypeContractError(msg)
        if overwrite_existing:
            self._entries.pop(name, None)
        given = {tag for entry in self._entries.values() for tag in entry.tags}
        for word in (name, *tags):
            if word in self._entries or (word == name and word in given):
                msg = f"A rewrite is registered as {word!r} already: choose another name."
                raise ArgumentError(msg)
        if isinstance(rewriter, RewriteDatabase) and rewriter.name is None:
            rewriter.name = name
        words = {name, type(rewriter).__name__, *(one for one in tags if isinstance(one, str))}
        if use_db_name_as_tag and self.name is not None:
            words.add(self.name)
        self._entries[name] = Entry(name, rewriter, words, self._placed(tags, options))

    def _placed(self, tags: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
        """Return the options of an entry."""
        return options

    def unregister(self, name: str) -> None:
        """Remove a rewrite."""
        self._entry(name)
        del self._entries[name]

    def add_tags(self, name: str, *tags: str) -> None:
        """Give a rewrite further tags."""
        self._entry(name).tags.update(tags)

    def remove_tags(self, name: str, *tags: str) -> None:
        """Take tags from a rewrite."""
        self._entry(name).tags.difference_update(tags)

    def _entry(self, name: str) -> Entry:
        found = self._entries.get(name)
        if found is not None:
            return found
        several = [one for one in self._entries.values() if name in one.tags]
        if len(several) == 1:
            return several[0]
        known = ", ".join(self._entries) or "nothing"
        found_several = f"{', '.join(one.name for one in several)} have that tag. " * bool(several)
        msg = f"No single rewrite is named {name!r}. {found_several}The database has {known}."
        raise MissingEntryError(msg)

    def __getitem__(self, name: str) -> Any:
        """Return the rewrite or database with a name, or the only one with a tag."""
        return self._entry(name).rewriter

    def __contains__(self, name: str) -> bool:
        return any(name in one.tags for one in self._entries.values())

    def __iter__(self) -> Any:
        return iter(self._entries)

    def query(self, *tags: Any, **subqueries: Any) -> Any:
        """Return a rewriter of the rewrites with tags, as of :func:`as_query`."""
        return self._made(as_query(*tags, **subqueries))

    def _made(self, query: RewriteDatabaseQuery) -> Any:
        return [one.rewriter for one in self._selected(query)]

    def _selected(self, query: RewriteDatabaseQuery) -> list[Entry]:
        """Return the entries that a query selects, with databases as rewriters."""
        found = ((one, one.selected(query)) for one in self._in_order())
        return [Entry(one.name, made, one.tags, one.options) for one, made in found if made]

    def _in_order(self) -> list[Entry]:
        return list(self._entries.values())

    def print_summary(self, stream: Any = None) -> None:
        """Print the names and tags."""
        stream = stream or sys.stdout
        print(f"{type(self).__name__} (id {id(self)})", file=stream)
        print(f"  names {set(self._entries)}", file=stream)
        for one in self._in_order():
            print(f"  {one.name}: {', '.join(sorted(one.tags))}", file=stream)


class SequenceDB(RewriteDatabase):
    """Rewrites with positions, which run in the order of these.

    A position is a number, the first number among the tags, or ``"first"`` or ``"last"``.
    """

    def __init__(self, failure_callback: Any = None) -> None:
        super().__init__()

    def _placed(self, tags: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
        numbers = [one for one in tags if isinstance(one, int | float)]
        position: Any = options.pop("position", numbers[0] if numbers else "last")
        if isinstance(position, int | float):
            return options | {"position": float(position)}
        if position not in {"first", "last"}:
            msg = f"position must be a number, 'first' or 'last'; got {position!r}."
            raise ArgumentError(msg)
        return options | {"position": self._at_the_end(position)}

    def _at_the_end(self, which: str) -> float:
        positions = [one.options["position"] for one in self._entries.values()]
        if not positions:
            return 0.0
        return max(positions) + 1 if which == "last" else min(positions) - 1

    @property
    def __position__(self) -> dict[str, float]:
        """The positions by name."""
        return {one.name: one.options["position"] for one in self._entries.values()}

    def _in_order(self) -> list[Entry]:
        return sorted(self._entries.values(), key=lambda one: (one.options["position"], one.name))

    def query(self, *tags: Any, position_cutoff: float | None = None, **subqueries: Any) -> Any:
        """Return a rewriter of what a query selects, in order."""
        query = as_query(*tags, **subqueries)
        if position_cutoff is not None:
            query = query._with(position_cutoff=position_cutoff)
        return self._made(query)

    def _made(self, query: RewriteDatabaseQuery) -> Any:
        found = [
            (one.options["position"], one.rewriter)
            for one in self._selected(query)
            if one.options["position"] < query.position_cutoff
        ]
        found += [(position, rewriter) for rewriter, position in query.extra_rewrites]
        return SeqOptimizer([one for _, one in sorted(found, key=lambda pair: pair[0])])


class EquilibriumDB(RewriteDatabase):
    """Rewrites that run until nothing changes.

    ``register(..., final_rewriter=True)`` and ``cleanup=True`` add those that run after the others
    have ended, and after each of them.
    """

    def __init__(self, ignore_newtrees: bool = True, tracks_on_change_inputs: bool = False) -> None:
        super().__init__()

    def register(self, name: str, rewriter: Any, *tags: Any, **options: Any) -> None:
        """Add a rewrite.

        Raises
        ------
        ArgumentError
            It is to run both at the end and after each of the others.
        """
        final = any(map(options.get, ("final_rewriter", "final_opt")))
        if final and options.get("cleanup"):
            msg = f"`final_rewriter` and `cleanup` must not both be true, as they are for {name!r}."
            raise ArgumentError(msg)
        super().register(name, rewriter, *tags, **options)

    def _made(self, query: RewriteDatabaseQuery) -> Any:
        found = self._selected(query)

        def those(*names: str) -> list[Any]:
            return [one.rewriter for one in found if any(map(one.options.get, names))]

        final, cleanup = those("final_rewriter", "final_opt"), those("cleanup")
        rest = [one.rewriter for one in found if not _is_special(one)]
        return EquilibriumOptimizer(rest, final_rewriters=final, cleanup_rewriters=cleanup)


def _is_special(entry: Entry) -> bool:
    return any(map(entry.options.get, ("final_rewriter", "final_opt", "cleanup")))


class LocalGroupDB(SequenceDB):
    """Rules of nodes, which are tried in the order of their positions."""

    def __init__(self, apply_all_rewrites: bool = False, profile: bool = False, **options: Any):
        super().__init__()
        self.apply_all = apply_all_rewrites or options.get("apply_all_opts", False)

    def _made(self, query: RewriteDatabaseQuery) -> Any:
        rules = [one.rewriter for one in self._selected(query)]
        return LocalOptGroup(*rules, apply_all_rewrites=self.apply_all)


class TopoDB(RewriteDatabase):
    """A database of rules, which are tried in a walk over the graph."""

    def __init__(
        self,
        db: RewriteDatabase,
        order: str = "in_to_out",
        ignore_newtrees: bool = False,
        failure_callback: Any = None,
    ) -> None:
        super().__init__()
        self.db, self.order, self.ignore_newtrees = db, order, ignore_newtrees

    def _made(self, query: RewriteDatabaseQuery) -> Any:
        return TopoOptimizer(self.db.query(query), self.order, self.ignore_newtrees)


class ProxyDB(RewriteDatabase):
    """Another name of a database, which is asked in its place."""

    def __init__(self, db: RewriteDatabase) -> None:
        super().__init__()
        if not isinstance(db, RewriteDatabase):
            msg = f"ProxyDB takes a database of rewrites; got {db!r}."
            raise ArgumentError(msg)
        self.db = db

    def _made(self, query: RewriteDatabaseQuery) -> Any:
        return self.db.query(query)
