"""Which memory may be overwritten during lowering, and which values of the graph are where.

A program may place a value in the memory of another although its Op says that it makes new memory:
``alloc(x, 1, n)[0]`` is x itself. That is valid as long as both are only read. Before memory is
overwritten, handed to Python or returned, :class:`ValuesInMemory` is asked who else is there: by
what lowering has placed, by the roots of variables in the graph, and by the views that Ops in
Python may return, the last two according to :class:`~phintys.graph.alias_map.AliasMap`.

The result of ``set_subtensor``, ``inc_subtensor`` and gemm begins as a copy of its base. No copy is
needed if the base is not read afterwards: if it is memory of the program itself, an argument that
the caller declared mutable, or a shared value whose next value this is. The latter is overwritten
when a call commits, after everything that could fail, so that a call that fails leaves it
unchanged. The updates that may be made so are found here by the graph, and lowered as if they were;
which of them are is decided by the steps (:mod:`~phintys.backends.native.lower.commit`).
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from phintys._base.late import LateModule, is_imported
from phintys._base.records import record
from phintys.backends.native.lower.view import View
from phintys.backends.native.steps.claim import Claim
from phintys.backends.native.values import Array, Place, Value
from phintys.graph.alias_map import AliasMap, root_of, shared_inputs
from phintys.graph.aliasing import mutable_inputs
from phintys.graph.inner import HasInnerGraph
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from phintys.backends.native.lower.lowering import Lowering
    from phintys.backends.native.sizes import Size
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.op import Op
    from phintys.graph.variable import Variable
    from phintys.tensor import blas
    from phintys.tensor.indexing import update
else:
    blas = LateModule("phintys.tensor.blas")
    update = LateModule("phintys.tensor.indexing.update")


# ---- which values are in which memory ------------------------------------------------------------


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


# ---- what may be overwritten ---------------------------------------------------------------------


_FREE_KINDS = "fc"
"""Kinds of dtypes whose values cannot be part of sizes; sizes can depend on integers."""


@record()
class WrittenRow:
    """The only row that differs between the next value of a shared variable and the old one.

    Attributes
    ----------
    source
        The old value.
    position
        The number of the row.
    value
        What is written there.
    is_set
        Whether it is the new row, or is added to the old one.
    """

    source: View
    position: Size
    value: View
    is_set: bool


@record()
class Base:
    """The memory that an updating node writes to.

    Attributes
    ----------
    view
        The memory; it holds the value of the base.
    is_copy
        Whether the base itself still exists as well.
    is_late
        Whether it is written during the commit.
    """

    view: View
    is_copy: bool = False
    is_late: bool = False

    def settled(self, view: View, lowering: Lowering) -> View:
        """Return a view of a value to be written that still has that value when it is written."""
        memory, bases = view.array.memory, lowering.bases
        if not self.is_late or bases.stays(memory):
            return view
        if memory.place != Place.BUFFER:
            return lowering.copied(view)
        bases.kept.add(memory)
        return view


def base_of(node: Apply, variable: Variable, lowering: Lowering) -> Base:
    """Return the initial memory of a node's result: one of its inputs, or a copy of it."""
    bases, sizes = lowering.bases, lowering.sizes
    x = lowering.view(variable)
    memory = x.array
    target: Base | None = None
    is_chained = node in bases.chained
    if is_chained and memory in bases.claimed:
        bases.rows[memory] = None
        target = Base(x, is_late=True)
    elif x.is_whole(sizes) and memory.alias is None:
        is_free = memory.dtype.kind in _FREE_KINDS and bases.is_free(variable, memory)
        may_claim = bool(node.op.destroy_map) and variable in bases.mutable and is_free
        if memory.place == Place.ARGUMENT and (is_chained or may_claim):
            made = lowering.array(memory.dtype, x.sizes, Place.RESULT)
            if is_chained:
                bases.claimed[made] = node
                bases.late.add(made)
            else:
                bases.claimed_from[made] = variable
            is_long = _is_gemm(node.op)
            lowering.steps.append(Claim(memory, made, is_shared=is_chained, is_long=is_long))
            target = Base(View.of(made, sizes), is_late=is_chained)
        elif is_free and (
            memory.place == Place.BUFFER
            # An argument that was claimed before: the graph determines what may share its memory.
            or (memory.place == Place.RESULT and node.op.destroy_map)
        ):
            target = Base(x)
    if target is None:
        target = Base(lowering.copied(x, node), is_copy=True)
    lowering.bind(node.outputs[0], target.view)
    return target


class Bases:
    """Tracks which memory is still needed, during lowering.

    Attributes
    ----------
    chained
        Nodes whose result is, or leads to, the next value of a shared variable, each with that
        variable.
    mutable
        Inputs of the graph that may be overwritten.
    claimed
        Results whose initial memory may be a shared value, each with the first node that writes it.
    rows
        Those of which one row has been written; ``None`` for those with other changes as well.
    late
        Memory that may have its value only during the commit: these results, and what is computed
        from them.
    claimed_from
        Results that are in the memory of a mutable argument, each with its variable.
    sources
        Those shared values.
    kept
        Memory that must not change: it may be read during the commit, or was passed to Ops in
        Python.
    values
        Which values are in which memory.
    depth
        Number of bodies of branches and loops around the node that is being lowered.
    """

    def __init__(self) -> None:
        self.chained: dict[Apply, Variable] = {}
        self.mutable: frozenset[Variable] = frozenset()
        self.claimed: dict[Array, Apply] = {}
        self.rows: dict[Array, WrittenRow | None] = {}
        self.late: set[Array] = set()
        self.claimed_from: dict[Array, Variable] = {}
        self.sources: set[Array] = set()
        self.kept: set[Array] = set()
        self.values = ValuesInMemory()
        self.depth = 0
        self._readers: dict[Variable, int] = {}
        self._body: object = None
        self._own: dict[Array, object] = {}

    def look_at(self, fgraph: FunctionGraph) -> None:
        """Find which values of a whole graph may be overwritten; its inputs have been bound."""
        self.chained = update_chains(fgraph)
        self.mutable = frozenset(mutable_inputs(fgraph))
        updated = set(self.chained.values())
        self.sources = {
            array
            for array in self.values
            if isinstance(array, Array) and not updated.isdisjoint(self.values.variables(array))
        }

    @contextmanager
    def inside(self) -> Generator[None]:
        """Lower nodes in the body of a branch or loop, where only its own memory is free."""
        outer, self._body = self._body, object()
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            self._body = outer

    def own(self, array: Array) -> None:
        """Record that what an array holds is used only in the body that is being lowered."""
        self._own[array] = self._body

    def enter(self, fgraph: FunctionGraph) -> None:
        """Count the readers of the variables of a graph that is about to be lowered."""
        for variable in fgraph.variables:
            self._readers[variable] = len(fgraph.clients.get(variable, ()))

    def leave(self, node: Apply) -> None:
        """Record that a node has been lowered."""
        readers = self._readers
        for variable in node.inputs:
            if variable in readers:
                readers[variable] -= 1

    def is_free(self, variable: Variable, memory: Array) -> bool:
        """Return whether the node that is being lowered is the last to read an array.

        That is a question about the graph, most of which has no steps yet. How the node's own steps
        may read and write the memory is asked of the program, when it has been lowered.

        Parameters
        ----------
        variable
            The variable in that array that the node reads, once.
        memory
            The memory.
        """
        if memory in self.claimed or memory in self.kept:
            return False
        if self.depth and self._own.get(memory) is not self._body:
            return False
        readers = self._readers
        variables = self.values.variables(memory)
        is_there = False
        while variables:
            last = variables[-1]
            if last is variable:
                is_there = True
            elif readers.get(last, 1):
                break
            variables.pop()  # variables without readers are not checked again
        is_last = not variables
        if is_there:
            variables.append(variable)
        return is_last and (not is_there or readers.get(variable, 1) == 1)

    def is_late(self, arrays: Iterable[Array]) -> bool:
        """Return whether some memory has its value only during the commit."""
        return bool(self.late) and not self.late.isdisjoint(arrays)

    def note(self, reads: Iterable[Array], writes: Iterable[Array]) -> None:
        """Record that a step may run during the commit: what it reads must not change until then.

        That is so if it reads, or writes, what has its value only there. Steps in the bodies of
        branches and loops never do.
        """
        if not self.late or self.depth:
            return
        reads, writes = list(reads), list(writes)
        if not self.is_late([*reads, *writes]):
            return
        self.kept.update(memory for memory in reads if memory not in self.late)
        self.late.update(writes)

    def stays(self, memory: Array) -> bool:
        """Return whether memory stays unchanged during the commit, whatever is overwritten."""
        if memory.place == Place.CONSTANT:
            return True
        is_argument = memory.place == Place.ARGUMENT
        return is_argument and memory not in self.sources and not self.mutable


def update_chains(fgraph: FunctionGraph) -> dict[Apply, Variable]:
    """Return the nodes that lead from a shared value to its next one, each with its variable.

    These nodes write to indexed elements, or add a product, one after the other, and the values in
    between have no other readers. Other nodes can read the next value itself: they run once it has
    been written, during the commit.

    Parameters
    ----------
    fgraph
        The graph; it knows which input each update belongs to.
    """
    found: dict[Apply, Variable] = {}
    kept = handed_on(fgraph)
    for output, position in fgraph.update_mapping.items():
        source, variable = fgraph.inputs[position], fgraph.outputs[output]
        if type(source.type) is not TensorType or source in kept:
            continue
        chain: list[Apply] = []
        if not _is_read_in_commit(fgraph, variable):
            continue
        while (node := _updating(fgraph, variable, is_last=not chain)) is not None:
            base = _base_input(node)
            if _reads_all_first(node) and base is not source:
                break
            chain.append(node)
            variable = base
        if variable is source:
            found.update(dict.fromkeys(chain, source))
    return found


def handed_on(fgraph: FunctionGraph) -> set[Variable]:
    """Return the inputs whose memory an output may share, such as another one's next value."""
    if not fgraph.update_mapping:
        return set()
    inputs = set(fgraph.inputs)
    return {root for output in fgraph.outputs for root in root_of(output) if root in inputs}


def _is_read_in_commit(fgraph: FunctionGraph, variable: Variable) -> bool:
    """Return whether all readers of the next value of a shared variable may run in the commit.

    These are the update itself, and outputs that do not share its memory. Whether the steps of what
    is computed from it can run there is known when it has been lowered.
    """
    waiting = [variable]
    updates = 0
    while waiting:
        current = waiting.pop()
        for client, position in fgraph.clients.get(current, ()):
            if isinstance(client, str):
                updates += current is variable
                if current is not variable:
                    return False
            elif client.op.view_map:
                shared = {at: shared_inputs(client.op, at) for at in range(len(client.outputs))}
                waiting += [client.outputs[at] for at, found in shared.items() if position in found]
            elif client.op.destroy_map or isinstance(client.op, HasInnerGraph):
                return False
    return updates == 1


def _is_gemm(op: object) -> bool:
    return is_imported(blas) and isinstance(op, blas.Gemm)


def _is_update(op: object) -> bool:
    return is_imported(update) and isinstance(op, update.IncSubtensor | update.AdvancedIncSubtensor)


def _updating(fgraph: FunctionGraph, variable: Variable, *, is_last: bool) -> Apply | None:
    """Return the node that makes a variable by updating another with no other readers."""
    node = variable.owner
    if (
        node is None
        or not (_is_update(node.op) or _is_gemm(node.op))
        or node.op.destroy_map
        or (not is_last and len(fgraph.clients.get(variable, ())) != 1)
    ):
        return None
    if _is_gemm(node.op):
        is_whole = len(node.inputs) > 3 and node.inputs[3].type == variable.type
        return node if is_whole else None
    return node


def _base_input(node: Apply) -> Variable:
    return node.inputs[3 if _is_gemm(node.op) else 0]


def _reads_all_first(node: Apply) -> bool:
    """Return whether a node reads all that it adds to before it writes anything."""
    op: Any = node.op
    return (
        is_imported(update)
        and isinstance(op, update.AdvancedIncSubtensor)
        and op.ignore_duplicates
        and not op.set_instead_of_inc
    )
