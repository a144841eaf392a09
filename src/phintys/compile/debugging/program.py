"""A program that computes a graph in several ways, and compares the results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from phintys._base.errors import BadThunkOutput, DebugModeError
from phintys.backends.inner import InnerPrograms
from phintys.backends.reference.backend import VM
from phintys.backends.reference.thunks import has_default_thunk
from phintys.compile.debugging.node_checks import check_node, fault, run_checked
from phintys.compile.debugging.options import DebugOptions
from phintys.compile.debugging.replacements import Replacements
from phintys.compile.debugging.rewrite_checks import RewriteChecks
from phintys.compile.debugging.rounding import rounding_explains, spread
from phintys.compile.debugging.running import chosen_inputs, native_whole, needed_nodes
from phintys.compile.debugging.values import agree, describe_difference, duplicate
from phintys.graph.alias_map import check_maps
from phintys.graph.choosing import Choosing
from phintys.graph.identity import is_among
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.traversal import graph_inputs, toposort
from phintys.graph.variable import Constant, Variable
from phintys.passes.inner_graphs import inner_graphs

if TYPE_CHECKING:
    from phintys.backends.measurements import Profiler
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.rewriting import NodeRewriter


@dataclass
class _Evaluation:
    """The result for each variable, computed node by node, with no value ever overwritten.

    Attributes
    ----------
    known : dict
        Variable -> value.
    failed : dict
        Variable -> the error with which its node failed.
    """

    known: dict[Variable, Any] = field(default_factory=dict["Variable", Any])
    failed: dict[Variable, Exception] = field(default_factory=dict["Variable", Exception])

    def values_for(self, node: Apply) -> list[Any] | None:
        """Return the values of a node's inputs, or ``None`` if some are not available."""
        values: list[Any] = []
        for variable in node.inputs:
            if isinstance(variable, Constant):
                values.append(variable.data)
            elif variable in self.known:
                values.append(self.known[variable])
            else:
                return None
        return values

    def choose(self, node: Apply) -> None:
        """Note the outputs of a node that chooses some of its inputs, if these are known."""
        for output, variable in zip(
            node.outputs, chosen_inputs(node, self.known) or (), strict=False
        ):
            if isinstance(variable, Constant):
                self.known[output] = variable.data
            elif variable in self.known:
                self.known[output] = self.known[variable]


class DebugProgram:
    """A graph and the variables that rewriting replaced in it, computed with all checks.

    Parameters
    ----------
    fgraph
        The graph. Replaced variables are compared if it has the feature
        :class:`~phintys.compile.debugging.replacements.Replacements`.
    options
        The checks to make.
    rules
        The rules by name, for messages.
    profiler
        Receives the measurements.
    """

    def __init__(
        self,
        fgraph: FunctionGraph,
        options: DebugOptions,
        rules: Mapping[str, NodeRewriter],
        profiler: Profiler | None = None,
    ) -> None:
        self.fgraph = fgraph
        self.options = options
        check_maps(fgraph.apply_nodes)
        self.vm = VM(fgraph, debug=True, profiler=profiler)
        # An inner graph is checked as this one is, when its node is first run in a call.
        self._inner = InnerPrograms(lambda node, op: DebugProgram(op.fgraph, options, rules))
        feature = next((f for f in fgraph.features if isinstance(f, Replacements)), None)
        replacements = feature.found() if feature and options.check_rewrites else []
        # The rewriting of an inner graph is checked step by step, inside of it.
        replacements = [one for one in replacements if one.rule != inner_graphs.name]
        wanted = [v for one in replacements for v in (one.old, one.new)]
        self._leaves = [
            leaf
            for leaf in graph_inputs([*fgraph.outputs, *wanted])
            if isinstance(leaf, SharedVariable) and not is_among(leaf, fgraph.inputs)
        ]
        self.nodes = toposort([*fgraph.outputs, *wanted], blockers=fgraph.inputs)
        self._chooses = any(isinstance(node.op, Choosing) for node in self.nodes)
        self._used = {*fgraph.outputs, *wanted}
        self._used.update(v for node in self.nodes for v in node.inputs)
        order = {v: place for place, node in enumerate(self.nodes) for v in node.outputs}
        self._rewrites = RewriteChecks(replacements, rules, order)
        self._native = None
        stand_ins = any(
            getattr(node.op, "debug_perform", None) is not None for node in fgraph.apply_nodes
        )
        # A single node is already compared with its native code.
        # Native code computes all inputs of a lazy node, also those that may not be computed,
        # unless it knows how the node chooses.
        stand_ins |= self.vm.is_lazy and not all(
            has_default_thunk(node.op) or isinstance(node.op, Choosing)
            for node in fgraph.apply_nodes
        )
        if options.check_native and len(fgraph.apply_nodes) > 1 and not stand_ins:
            self._native = native_whole(fgraph)

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the values of the outputs, after all checks.

        Raises
        ------
        DebugModeError
            A check failed.
        """
        found = self._evaluate(inputs)
        for_native = [duplicate(value) for value in inputs]
        results = self.vm(inputs)
        self._compare(found, results, "Python, in place")
        if self._native is not None:
            self._compare(found, self._native(for_native), "native code")
        return results

    def free(self) -> None:
        """Release memory kept for the next call."""
        self.vm.free()
        self._inner.free()

    def _evaluate(self, inputs: Sequence[Any]) -> _Evaluation:
        """Compute each node by itself, and check it against the contract of its Op."""
        found = _Evaluation()
        for variable, value in zip(self.fgraph.inputs, inputs, strict=True):
            found.known[variable] = duplicate(value)
        for leaf in self._leaves:
            found.known[leaf] = leaf.get_value()
        first_error: Exception | None = None
        alive = self.fgraph.apply_nodes
        for node in self._nodes_to_run(found):
            values = found.values_for(node)
            if values is None:
                found.choose(node)
                continue
            try:
                run = run_checked(node, values, self._used, self._inner)
            except DebugModeError:
                raise
            except Exception as error:  # noqa: BLE001 - it is raised below
                found.failed.update(dict.fromkeys(node.outputs, error))
                if node in alive and first_error is None:
                    first_error = error
                continue
            found.known.update(zip(node.outputs, run.results, strict=True))
            if node in alive:
                check_node(run, self.options, found.known)
        self._rewrites.check(found.known, found.failed)
        # If a thunk is lazy, the node that failed may not be needed: the machine raises if it is.
        if first_error is not None and not self.vm.is_lazy:
            raise first_error
        return found

    def _nodes_to_run(self, found: _Evaluation) -> Iterable[Apply]:
        """Return all nodes, or those that are needed in a graph that chooses what to compute."""
        if not self._chooses:
            return self.nodes
        fgraph = self.fgraph
        given = {*fgraph.inputs, *self._leaves}
        return needed_nodes(fgraph.outputs, self._rewrites.replacements, given, found.known)

    def _compare(self, found: _Evaluation, results: Sequence[Any], how: str) -> None:
        """Check that a whole program gives the same results as its nodes run one by one."""
        for index, (variable, result) in enumerate(zip(self.fgraph.outputs, results, strict=True)):
            # What a branch that fails would have given is not known, if the branch is not taken.
            if isinstance(variable, Constant) or variable not in found.known:
                continue
            expected = found.known[variable]
            if agree(variable.type, expected, result):
                continue
            nodes = toposort([variable], blockers=self.fgraph.inputs)
            if rounding_explains(expected, result, spread(nodes, variable, found.known)):
                continue
            difference = describe_difference(expected, result, "node by node", how)
            problem = f"output {index} of the graph differs when all is computed by {how}."
            if variable.owner is None:
                raise BadThunkOutput(f"{variable}: {problem}\n{difference}")
            raise fault(
                BadThunkOutput,
                variable.owner,
                f"{problem}\n{difference}",
                "An Op in this graph may share or overwrite memory that its maps do not declare, "
                "or the backend has a bug.",
            )


@dataclass(frozen=True)
class DebugBackend:
    """Runs graphs as :class:`DebugProgram`.

    Parameters
    ----------
    options
        The checks to make.
    """

    options: DebugOptions = field(default_factory=DebugOptions)
    rules: tuple[NodeRewriter, ...] = ()

    @property
    def name(self) -> str:
        """Return ``"debug"``."""
        return "debug"

    def link(self, fgraph: FunctionGraph, *, profiler: Profiler | None = None) -> DebugProgram:
        """Return the program of a graph."""
        rules = {rule.name: rule for rule in self.rules}
        return DebugProgram(fgraph, self.options, rules, profiler)
