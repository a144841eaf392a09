"""Graphs as text: ``debugprint`` shows the structure, ``pprint`` the formula."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TextIO, cast

from phintys._base.errors import CycleError, TypeContractError
from phintys.graph.apply import Apply
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.inner import HasInnerGraph
from phintys.graph.pretty import (
    PRECEDENCE,
    DefaultPrinter,
    FunctionPrinter,
    OperatorPrinter,
    PatternPrinter,
    PrettyPrinter,
    Printer,
    Slot,
    Template,
    pprint,
)
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.traversal import ancestors
from phintys.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from phintys.graph.op import Roles

    IdType = Literal["CHAR", "int", "id", "auto", ""]

__all__ = [
    "PRECEDENCE",
    "DefaultPrinter",
    "FunctionPrinter",
    "OperatorPrinter",
    "PatternPrinter",
    "PrettyPrinter",
    "Printer",
    "Slot",
    "Template",
    "debugprint",
    "dprint",
    "first_lines",
    "pprint",
]

# Depth at which a tree is continued in a new one: otherwise indentation would make the text of a
# chain of n nodes grow with the square of n.
_FOLD = 30
_ID_TYPES = ("CHAR", "int", "id", "auto", "")
_MORE = " ···"


def debugprint(
    graph_like: Any,
    depth: int = -1,
    print_type: bool = False,
    print_shape: bool = False,
    file: TextIO | Literal["str"] | None = None,
    id_type: IdType = "CHAR",
    stop_on_name: bool = False,
    done: MutableMapping[Apply, str] | None = None,
    print_storage: bool | Mapping[Variable, list[Any]] = False,
    used_ids: MutableMapping[Apply | Variable, str] | None = None,
    print_destroy_map: bool = False,
    print_view_map: bool = False,
    print_origin: bool = False,
    print_fgraph_inputs: bool = False,
    profile: Any = None,
    print_op_info: bool = False,
) -> str | None:
    """Print graphs as trees, with each node above its inputs.

    A subgraph that is used several times is shown once; later uses show its id and ``···``. A tree
    that is deeper than 30 levels is continued in a separate tree, under the id where it was cut.
    Inner graphs of Ops are printed last. The nodes of a FunctionGraph are followed by their
    position in topological order.

    Parameters
    ----------
    graph_like
        A variable, a node, a FunctionGraph, a compiled function, or an iterable of these.
    depth
        How many levels to show; -1 for all.
    print_type, print_shape
        Show the type, or the static shape if the type has one, of each variable.
    file
        Where to print, by default standard output; ``"str"`` returns the text.
    id_type
        How nodes and leaves are identified: by letters (``"CHAR"``), numbers (``"int"``), numbers
        with a prefix (``"auto"``), Python's ``id`` (``"id"``), or not at all (``""``).
    stop_on_name
        Do not expand variables that have a name.
    done
        Node -> id, for nodes that have already been shown; updated in place.
    print_storage
        Show the values of constants, of shared variables, and in a compiled function's storage
        or in a mapping variable -> cell given here.
    used_ids
        Node or leaf -> id, to continue the ids of an earlier call; updated in place.
    print_destroy_map, print_view_map
        Show which inputs a node overwrites (``d=``) or may return views of (``v=``).
    print_origin
        Show the line of user code that made each node.
    print_fgraph_inputs
        Show the inputs of FunctionGraphs before their outputs.
    profile
        Show the time of each node, and its share of the total, in columns on the left. ``True``
        uses the times of the printed functions, which must have been compiled with
        ``profile=True``; alternatively a profile, or a mapping node -> seconds.
    print_op_info
        Show, once each, what the inputs and outputs of Ops are for, if the Ops say so
        (``Op.roles``): which bound of which axis an index is, or which argument of a loop a
        variable is outside and in the graph of a step.

    Returns
    -------
    str or None
        The text, if ``file`` is ``"str"``.

    Raises
    ------
    TypeContractError
        ``graph_like`` cannot be printed, or ``profile`` is not a profile.

    Examples
    --------
    >>> from phintys.graph import Apply, Op, Type
    >>> anything, f, g = Type(), Op(), Op()
    >>> f.name, g.name = "f", "g"
    >>> x = anything("x")
    >>> y = Apply(f, [x], [anything("y")]).out
    >>> debugprint(Apply(g, [y, x, y], [anything()]).out)
    g [id A]
     ├─ f [id B] 'y'
     │   └─ x [id C]
     ├─ x [id C]
     └─ f [id B] 'y' ···
    """
    text = tree_text(
        DebugPrinter,
        graph_like,
        depth=depth,
        print_type=print_type,
        print_shape=print_shape,
        id_type=id_type,
        stop_on_name=stop_on_name,
        done={} if done is None else done,
        print_storage=print_storage,
        used_ids={} if used_ids is None else used_ids,
        print_destroy_map=print_destroy_map,
        print_view_map=print_view_map,
        print_origin=print_origin,
        print_fgraph_inputs=print_fgraph_inputs,
        profile=profile,
        print_op_info=print_op_info,
    )
    return write_text(text, file)


def tree_text(
    printer: type[DebugPrinter],
    graph_like: Any,
    *,
    id_type: IdType = "CHAR",
    print_storage: bool | Mapping[Variable, list[Any]] = False,
    profile: Any = None,
    **options: Any,
) -> str:
    """Return the text of :func:`debugprint`, written by a class of printers."""
    if id_type not in _ID_TYPES:
        msg = f"id_type is one of {', '.join(map(repr, _ID_TYPES))}, got {id_type!r}."
        raise TypeContractError(msg)
    things = _as_list(graph_like)
    writer = printer(
        id_type=id_type,
        print_storage=bool(print_storage) or isinstance(print_storage, Mapping),
        profile=_times(profile, things),
        **options,
    )
    if isinstance(print_storage, Mapping):
        writer.storage.update(print_storage)
    for thing in things:
        writer.add(thing)
    writer.inner_graphs()
    return "".join(f"{line}\n" for line in writer.lines)


def write_text(text: str, file: TextIO | Literal["str"] | None) -> str | None:
    """Write a text to a file, by default standard output; ``"str"`` returns it."""
    if file == "str":
        return text
    stream = sys.stdout if file is None else file
    stream.write(_writable(text, stream))
    return None


dprint = debugprint


def first_lines(graph_like: Any, most: int) -> tuple[list[str], int]:
    """Return the first lines that :func:`debugprint` prints, in time for these lines.

    Parameters
    ----------
    graph_like
        A variable, a node, a FunctionGraph, a compiled function, or an iterable of these.
    most
        How many lines.

    Returns
    -------
    list of str
        The lines.
    int
        How many nodes are not shown.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> first_lines(pt.exp(pt.sin(pt.dvector("x"))), 1)
    (['Exp [id A]'], 1)
    """
    things = _as_list(graph_like)
    printer = DebugPrinter(most_lines=most)
    for thing in things:
        printer.add(thing)
    printer.inner_graphs()
    return printer.lines[:most], len(_nodes_of(things) - printer.done.keys())


def _nodes_of(things: Iterable[Any]) -> set[Apply]:
    """Return all nodes of what :func:`debugprint` takes, with those of inner graphs."""
    nodes: set[Apply] = set()
    inner: set[HasInnerGraph] = set()
    waiting = list(things)
    while waiting:
        thing = waiting.pop()
        thing = _fgraph_of(thing) or thing
        if isinstance(thing, FunctionGraph):
            found = set(thing.apply_nodes)
        else:
            outputs = thing.outputs if isinstance(thing, Apply) else [thing]
            found = {x.owner for x in ancestors(outputs) if x.owner is not None}
        new = {node.op for node in found if isinstance(node.op, HasInnerGraph)} - inner
        inner |= new
        waiting.extend(op.fgraph for op in new)
        nodes |= found
    return nodes


_IN_ASCII = str.maketrans({"├": "|", "│": "|", "└": "`", "─": "-", "·": ".", "←": "<", "→": ">"})


def _writable(text: str, stream: Any) -> str:
    """Return a text that the stream can encode: the tree in ASCII, other characters escaped."""
    encoding: Any = getattr(stream, "encoding", None)
    if not isinstance(encoding, str):
        return text
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_IN_ASCII).encode(encoding, "backslashreplace").decode(encoding)
    except LookupError:  # the stream names an unknown encoding
        return text
    return text


def _as_list(graph_like: Any) -> list[Any]:
    if isinstance(graph_like, Variable | Apply | FunctionGraph):
        return [graph_like]
    if _fgraph_of(graph_like) is not None:
        return [graph_like]
    if isinstance(graph_like, Iterable) and not isinstance(graph_like, str | Mapping):
        return list(cast("Iterable[Any]", graph_like))
    return [graph_like]


def _times(profile: Any, things: Iterable[Any]) -> Mapping[Apply, float] | None:
    """Return the argument ``profile`` as a mapping node -> seconds."""
    if profile is None or profile is False:
        return None
    if profile is True:
        profiles = [getattr(thing, "profile", None) for thing in things]
        times = [one.node_seconds for one in profiles if one is not None]
        if not times:
            msg = (
                "debugprint(profile=True) shows the times of compiled functions, and of these none "
                "has any: compile with phintys.function(..., profile=True) and call it first."
            )
            raise TypeContractError(msg)
        return {node: seconds for each in times for node, seconds in each.items()}
    profile = getattr(profile, "node_seconds", profile)
    if not isinstance(profile, Mapping):
        msg = f"profile is True, a profile, or a mapping from nodes to seconds; got {profile!r}."
        raise TypeContractError(msg)
    return cast("Mapping[Apply, float]", profile)


def _fgraph_of(function: Any) -> FunctionGraph | None:
    """Return the graph of a compiled function."""
    fgraph = getattr(getattr(function, "maker", None), "fgraph", None)
    return fgraph if isinstance(fgraph, FunctionGraph) else None


def _letters(number: int) -> str:
    """Return A, B, ..., Z, AA, AB, ..."""
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(ord("A") + rest) + text
    return text


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    limit = 60
    return text if len(text) <= limit else f"{text[: limit - 15]} ... {text[-10:]}"


_NO_ROLES: Roles = ((), ())


def _role_text(roles: Sequence[str], position: int) -> str:
    """Return the role at a position in parentheses, or nothing if there is none."""
    role = roles[position] if position < len(roles) else ""
    return f" ({role})" if role else ""


@dataclass(kw_only=True)
class DebugPrinter:
    """The options of :func:`debugprint`, and its state while printing."""

    more: ClassVar[str] = _MORE
    """What stands behind a node whose inputs are not shown here."""
    fold: ClassVar[int] = _FOLD
    """How many levels one tree has."""

    depth: int = -1
    print_type: bool = False
    print_shape: bool = False
    id_type: IdType = "CHAR"
    stop_on_name: bool = False
    done: MutableMapping[Apply, str] = field(default_factory=dict["Apply", str])
    print_storage: bool = False
    used_ids: MutableMapping[Apply | Variable, str] = field(
        default_factory=dict["Apply | Variable", str]
    )
    print_destroy_map: bool = False
    print_view_map: bool = False
    print_origin: bool = False
    print_fgraph_inputs: bool = False
    profile: Mapping[Apply, float] | None = None
    print_op_info: bool = False
    most_lines: float = inf

    lines: list[str] = field(default_factory=list[str])
    storage: dict[Variable, list[Any]] = field(default_factory=dict["Variable", list[Any]])
    order: dict[Apply, int] = field(default_factory=dict["Apply", int])
    labels: dict[Variable, str] = field(default_factory=dict["Variable", str])
    """Ids of the inputs of inner graphs."""
    roles: dict[Variable, str] = field(default_factory=dict["Variable", str])
    """Roles, not yet shown, of the outputs of nodes and of the inputs of inner graphs."""
    inner: dict[HasInnerGraph, Apply] = field(default_factory=dict["HasInnerGraph", "Apply"])
    """Ops with an inner graph, each with the first node that applies it."""

    def __post_init__(self) -> None:
        self.total = sum(self.profile.values()) if self.profile else 0.0
        if self.profile is not None:
            self.lines.append(f"{'seconds':>10} {'share':>6}")

    @property
    def is_full(self) -> bool:
        return len(self.lines) >= self.most_lines

    def add(self, thing: Any) -> None:
        """Print one variable, node, graph or compiled function."""
        if isinstance(thing, Variable):
            self.tree(thing)
        elif isinstance(thing, Apply):
            for output in thing.outputs:
                self.tree(output)
        elif isinstance(thing, FunctionGraph):
            self.fgraph(thing)
        elif (fgraph := _fgraph_of(thing)) is not None:
            machine = getattr(thing, "vm", thing)
            self.storage.update(getattr(machine, "storage_map", None) or {})
            self.fgraph(fgraph)
        else:
            msg = (
                "debugprint takes variables, Apply nodes, FunctionGraphs, compiled functions and "
                f"lists of these, got {thing!r} of type {type(thing).__name__}."
            )
            raise TypeContractError(msg)

    def fgraph(self, fgraph: FunctionGraph, margin: str = "", roles: Sequence[str] = ()) -> None:
        """Print a graph, output by output, with the roles of the outputs."""
        try:
            order = fgraph.toposort()
        except CycleError:  # a cyclic graph can be printed, too
            order = []
        self.order.update((node, place) for place, node in enumerate(order))
        if self.print_fgraph_inputs:
            for variable in fgraph.inputs:
                self.line(f"{margin} ← ", self.leaf_label(variable), None)
        for position, variable in enumerate(fgraph.outputs):
            updated = fgraph.update_mapping.get(position)
            note = "" if updated is None else f" updates {fgraph.inputs[updated]}"
            note += _role_text(roles, position)
            head = f"{margin} → " if margin else ""
            self.tree(variable, head, " " * len(head), note)

    def inner_graphs(self) -> None:
        """Print the inner graphs of all Ops printed, and of Ops inside these."""
        printed: set[HasInnerGraph] = set()
        while len(printed) < len(self.inner) and not self.is_full:
            if not printed:
                self.lines += ["", "Inner graphs:"]
            op, node = next((op, node) for op, node in self.inner.items() if op not in printed)
            printed.add(op)
            fgraph = op.fgraph
            inputs, outputs = op.inner_roles if self.print_op_info else _NO_ROLES
            for position, variable in enumerate(fgraph.inputs):
                self.labels[variable] = variable.name or f"*{position}"
                self.roles[variable] = _role_text(inputs, position)
            self.lines.append("")
            self.line("", f"{op}{self.id_of(node)}", None)
            self.fgraph(fgraph, margin="   ", roles=outputs)

    def tree(self, root: Variable, head: str = "", tail: str = "", note: str = "") -> None:
        """Print a tree and its continuations."""
        roots = deque([root])
        while roots and not self.is_full:
            variable = roots.popleft()
            if variable is not root:
                if variable.owner in self.done:
                    continue
                self.lines.append("")
            self.one_tree(variable, head, tail, note, roots)
            note = ""

    def one_tree(
        self, root: Variable, head: str, tail: str, note: str, folded: deque[Variable]
    ) -> None:
        stack = [(root, note, head, tail, 0)]
        while stack and not self.is_full:
            variable, note, head, tail, level = stack.pop()
            node = variable.owner
            if node is None or variable in self.labels:
                self.line(head, self.leaf_label(variable) + note, None)
                continue
            more = ""
            inputs = node.inputs
            input_roles: Sequence[str] = ()
            if node in self.done:
                more = self.more if inputs else ""
                inputs = []
            elif inputs and (
                (self.stop_on_name and variable.name is not None and level > 0)
                or 0 <= self.depth <= level + 1
            ):
                more = self.more
                inputs = []
            elif inputs and self.depth < 0 and level >= self.fold:
                more = f"{_MORE} (below)"
                folded.append(variable)
                inputs = []
            else:
                self.done[node] = self.id_of(node)
                if isinstance(node.op, HasInnerGraph):
                    self.inner.setdefault(node.op, node)
                if self.print_op_info:
                    input_roles, output_roles = node.op.roles(node)
                    for place, output in enumerate(node.outputs):
                        self.roles[output] = _role_text(output_roles, place)
            self.line(head, self.node_label(variable, node) + note + more, node)
            last = len(inputs) - 1
            for position in range(last, -1, -1):
                branch, below = self.branches(level, position == last)
                role = _role_text(input_roles, position)
                stack.append((inputs[position], role, tail + branch, tail + below, level + 1))

    def branches(self, level: int, is_last: bool) -> tuple[str, str]:
        """Return the text before an input of a node, and before the lines below it."""
        return (" └─ ", "    ") if is_last else (" ├─ ", " │  ")

    def line(self, head: str, label: str, node: Apply | None) -> None:
        column = ""
        if self.profile is not None:
            seconds = None if node is None else self.profile.get(node)
            if seconds is None:
                column = " " * 19
            else:
                share = f"{seconds / self.total:6.1%}" if self.total else "     -"
                column = f"{seconds:10.3e} {share}  "
        self.lines.append(column + head + label)

    def id_of(self, thing: Apply | Variable) -> str:
        """Return ``[id X]`` with a space before it, or an empty string."""
        if self.id_type == "":
            return ""
        text = self.used_ids.get(thing)
        if text is None:
            number = len(self.used_ids)
            if self.id_type == "CHAR":
                text = _letters(number)
            elif self.id_type == "id":
                text = str(id(thing))
            else:
                text = f"auto_{number}" if self.id_type == "auto" else str(number)
            self.used_ids[thing] = text
        return f" [id {text}]"

    def leaf_label(self, variable: Variable) -> str:
        label = self.labels.get(variable) or str(variable)
        return label + self.id_of(variable) + self.facts(variable) + self.roles.pop(variable, "")

    def node_label(self, variable: Variable, node: Apply) -> str:
        label = repr(node.op)
        if len(node.outputs) > 1:
            label += f".{variable.index}"
        label += self.id_of(node) + self.facts(variable)
        if variable.name is not None:
            label += f" '{variable.name}'"
        if self.print_destroy_map and node.op.destroy_map:
            label += f" d={dict(node.op.destroy_map)}"
        if self.print_view_map and node.op.view_map:
            label += f" v={dict(node.op.view_map)}"
        place = self.order.get(node)
        if place is not None:
            label += f" {place}"
        if self.print_origin:
            label += f" ({node.origin.filename}:{node.origin.lineno})"
        return label + self.roles.pop(variable, "")

    def facts(self, variable: Variable) -> str:
        text = f" <{variable.type}>" if self.print_type else ""
        if self.print_shape:
            shape = getattr(variable.type, "shape", None)
            text += "" if shape is None else f" shape={shape}"
        if self.print_storage:
            cell = self.storage.get(variable)
            if cell is not None:
                text += f" storage={_short(cell[0])}"
            elif isinstance(variable, Constant):
                text += f" storage={_short(variable.data)}"
            elif isinstance(variable, SharedVariable):
                text += f" storage={_short(variable.get_value(borrow=True))}"
        return text
