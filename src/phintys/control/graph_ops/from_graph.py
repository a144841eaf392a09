"""OpFromGraph: an Op that is defined by expressions of other Ops."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from phintys._base.caches import kept_property
from phintys._base.errors import (
    ArgumentError,
    InconsistencyError,
    MissingInputError,
    add_note,
)
from phintys.control.graph_ops.default_updates import FormalUpdates
from phintys.control.graph_ops.inner_shapes import shapes_of_outputs
from phintys.control.graph_ops.overrides import NOTHING, overrides_of
from phintys.gradient.arithmetic import is_known_zero, zero_like
from phintys.gradient.forward import push_forward
from phintys.gradient.paths import connections
from phintys.gradient.pullback import ZERO, pull_back
from phintys.graph.alias_map import AliasMap
from phintys.graph.aliasing import DestroyHandler
from phintys.graph.apply import Apply
from phintys.graph.cloning import Inlinable, clone_get_equiv
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.inner import about_placeholder
from phintys.graph.null_type import DisconnectedType, NullType, disconnected_type
from phintys.graph.op import Op
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.traversal import graph_inputs
from phintys.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from phintys.graph.inner import InnerProgram


class OpFromGraph(Inlinable, Op):
    """An Op that computes given expressions of its inputs.

    A function that builds an expression does the same, with less to write. An OpFromGraph also has
    a name, can have derivatives of its own, and is one node of a graph until it is compiled.

    Parameters
    ----------
    inputs
        The variables that stand for the inputs. They can be intermediate results, with what they
        are computed from left out.
    outputs
        The expressions. Shared variables in them that are not among the inputs become further
        inputs of every node, after the others.
    inline
        Whether nodes are replaced by their inner graphs before anything else is rewritten. By
        default they are, since rewriting and fusion then see the whole program. ``False`` keeps
        one node, which is rewritten and measured on its own.
    lop_overrides
        The vector-Jacobian product: ``f(inputs, outputs, output_grads)``, which returns a list with
        one gradient for each input; or an Op, such as another OpFromGraph, that is applied to
        ``(*inputs, *outputs, *output_grads)``. Or a list with an entry for each input, which is a
        function or Op that returns that gradient alone, a variable of ``DisconnectedType`` or
        ``NullType``, or ``None`` (or ``"default"``) for the gradient of the inner graph. Gradients
        for shared variables are those of the inner graph, unless they are in the list.
    grad_overrides
        Like ``lop_overrides``, but without ``outputs``: ``f(inputs, output_grads)``.
    rop_overrides
        The Jacobian-vector product: ``f(inputs, eval_points)``, which returns a list with one
        result for each output; or any other of the forms above, with an entry for each output.
    connection_pattern
        ``[input][output] -> bool``, which inputs affect which outputs; determined from the inner
        graph by default. An input whose gradient is overridden is taken to affect every output.
    strict
        Whether shared variables that are not among the inputs are an error.
    name
        A name, for printing and profiles.
    destroy_map
        Output -> the inputs that the inner graph overwrites.

    Raises
    ------
    ArgumentError
        An argument is invalid, or ``strict`` and there are shared variables.
    MissingInputError
        The outputs depend on a variable that is not among the inputs.
    InconsistencyError
        The inner graph overwrites an input that is not in ``destroy_map``.

    Notes
    -----
    If the reverse derivative is overridden and the forward one is not, the latter follows from the
    former, and from the inner graph otherwise.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.control import OpFromGraph
    >>> u, v = pt.dvectors("u", "v")
    >>> distance = OpFromGraph([u, v], [pt.sqrt(((u - v) ** 2).sum())], name="distance")
    >>> x = pt.dvector("x")
    >>> phintys.function([x], distance(x, 2 * x))([3.0, 4.0])
    array(5.)

    With a gradient of its own, which is bounded:

    >>> square = OpFromGraph(
    ...     [u], [u**2], grad_overrides=lambda inputs, grads: [pt.clip(2 * inputs[0], -1, 1)]
    ... )
    >>> phintys.grad(square(x).sum(), x).eval({x: [0.25, 3.0]})
    array([0.5, 1. ])
    """

    __props__ = ("inline", "name", "shared", "_lop", "_rop", "_pattern", "_destroyed")

    def __init__(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        inline: bool | None = None,
        lop_overrides: Any = None,
        grad_overrides: Any = None,
        rop_overrides: Any = None,
        connection_pattern: Sequence[Sequence[bool]] | None = None,
        strict: bool = False,
        name: str | None = None,
        destroy_map: Mapping[int, Sequence[int]] | None = None,
    ) -> None:
        inputs, outputs = _variables(inputs, "inputs"), _variables(outputs, "outputs")
        if name is not None and not isinstance(name, str):
            msg = f"The name of an OpFromGraph must be a string, got {name!r}."
            raise ArgumentError(msg)
        if lop_overrides is not None and grad_overrides is not None:
            msg = (
                "An OpFromGraph takes either lop_overrides or grad_overrides, which differ in that "
                "the former get the outputs too. Got both."
            )
            raise ArgumentError(msg)
        self.inline = inline
        self.name = name
        self.shared = _shared(inputs, outputs, strict)
        self._formal = FormalUpdates(inputs, self.shared)
        self.fgraph = _closed(inputs, outputs, self.shared)
        self._explicit = len(inputs)
        counts = len(inputs), len(self.fgraph.inputs)
        self._lop = NOTHING
        if lop_overrides is not None:
            self._lop = overrides_of(lop_overrides, "lop_overrides", counts)
        elif grad_overrides is not None:
            self._lop = overrides_of(grad_overrides, "grad_overrides", counts)
        self._rop = overrides_of(rop_overrides, "rop_overrides", (len(outputs),))
        self._holds([*self._lop.functions, *self._rop.functions])
        self._pattern = self._given_pattern(connection_pattern)
        self._destroyed = _pairs(destroy_map, len(inputs), len(outputs))
        self.destroy_map = dict(self._destroyed)
        self.mutable_inner = sorted({at for _, found in self._destroyed for at in found})
        self._check_overwritten()

    def __str__(self) -> str:
        return self.name or "OpFromGraph"

    def _given_pattern(self, given: Any) -> tuple[tuple[bool, ...], ...] | None:
        if given is None:
            return None
        wide = len(self.fgraph.outputs)
        is_list = isinstance(given, Sequence) and len(given) in {
            self._explicit,
            len(self.fgraph.inputs),
        }
        if not is_list or any(not isinstance(row, Sequence) or len(row) != wide for row in given):
            msg = (
                f"The connection_pattern of an OpFromGraph must be a list of {self._explicit} "
                f"lists (one for each input) of {wide} bools (one for each output), got {given!r}."
            )
            raise ArgumentError(msg)
        return tuple(tuple(bool(entry) for entry in row) for row in given)

    def _check_overwritten(self) -> None:
        handler = DestroyHandler(self.fgraph.inputs[position] for position in self.mutable_inner)
        probe = FunctionGraph(self.fgraph.inputs, self.fgraph.outputs, copy_inputs=False)
        probe.attach_feature(handler)
        try:
            probe.validate()
        except InconsistencyError as error:
            add_note(
                error,
                f"In the inner graph of {self}. Inputs that it overwrites must be declared, as in "
                "OpFromGraph(..., destroy_map={0: [0]}), from an output to inputs.",
            )
            raise

    # ---- the inner graph -----------------------------------------------------------------------

    def with_inner(self, fgraph: FunctionGraph) -> OpFromGraph:
        """Return an Op like this one that computes another graph."""
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        for kept in ("_aliased", "_connections", "_own_program", "_kept_hash"):
            vars(twin).pop(kept, None)
        twin.fgraph = fgraph
        twin._holds([*self._lop.functions, *self._rop.functions])
        return twin

    def make_node(self, *inputs: Any) -> Apply:
        """Apply to values for the inputs; those for shared variables may be left out."""
        if len(inputs) == self._explicit and self.shared:
            self._formal.apply(self, inputs)
            inputs = (*inputs, *self.shared)
        if len(inputs) != len(self.fgraph.inputs):
            given = ", ".join(map(str, inputs))
            msg = f"{self} takes {self._explicit} inputs, got {len(inputs)}: ({given})."
            raise ArgumentError(msg)
        variables: list[Variable] = []
        for position, (inner, given) in enumerate(zip(self.fgraph.inputs, inputs, strict=True)):
            try:
                variables.append(inner.type.filter_variable(given))
            except TypeError as error:
                add_note(error, f"It is input {position} of {self}, {inner.name or 'unnamed'}.")
                raise
        return Apply(self, variables, [output.type() for output in self.fgraph.outputs])

    def perform_with(
        self,
        program: InnerProgram,
        node: Apply,
        inputs: Sequence[Any],
        output_storage: Sequence[list[Any]],
    ) -> None:
        """Run the inner graph."""
        results = program(list(inputs))
        for position in self._aliased:
            results[position] = copy.deepcopy(results[position])
        for cell, value in zip(output_storage, results, strict=True):
            cell[0] = value

    @kept_property
    def _aliased(self) -> tuple[int, ...]:
        """The outputs that may share memory with an input, a constant or an earlier output."""
        aliases = AliasMap.of_graph(self.fgraph)
        overwritten = {self.fgraph.inputs[position] for position in self.mutable_inner}
        taken: set[Variable] = set(self.fgraph.inputs) - overwritten
        found: list[int] = []
        for position, output in enumerate(self.fgraph.outputs):
            of = aliases.roots(output)
            if any(root in taken or isinstance(root, Constant) for root in of):
                found.append(position)
            taken.update(of)
        return tuple(found)

    def infer_shape(
        self, fgraph: FunctionGraph | None, node: Apply, input_shapes: Sequence[Any]
    ) -> list[Any]:
        """Return the shapes that the Ops of the inner graph infer."""
        return shapes_of_outputs(node.inputs, input_shapes, self.inlined(node.inputs))

    # ---- derivatives ---------------------------------------------------------------------------

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return ``[input][output] -> bool``."""
        rows = [list(row) for row in self._connections]
        for position, row in enumerate(self._pattern or ()):
            rows[position] = list(row)
        return rows

    @kept_property
    def _connections(self) -> list[list[bool]]:
        rows = connections(self.fgraph)
        for position, row in enumerate(rows):
            entry = self._lop.entry(position)
            if entry is not None:
                is_apart = isinstance(entry, Variable) and isinstance(entry.type, DisconnectedType)
                rows[position] = [not is_apart] * len(row)
        return rows

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Pull the gradients back through the inner graph, or as overridden."""
        found: list[Any] = [None] * len(inputs)
        if self._lop:
            grads = [
                zero_like(output) if isinstance(g.type, DisconnectedType) else g
                for output, g in zip(outputs, output_grads, strict=True)
            ]
            given = [list(inputs), list(outputs), grads]
            if self._lop.argument == "grad_overrides":
                del given[1]
            self._lop.apply(given, found, self)
        missing = [position for position, gradient in enumerate(found) if gradient is None]
        if missing:
            pulled = self._pulled(inputs, output_grads, missing)
            for position, gradient in zip(missing, pulled, strict=True):
                found[position] = gradient
        return found

    def _pulled(
        self, inputs: Sequence[Any], output_grads: Sequence[Any], wanted: Sequence[int]
    ) -> list[Any]:
        """Return gradients for some inputs, as outputs of another OpFromGraph."""
        seeds: list[tuple[Variable, Variable]] = []
        outer: list[Variable] = []
        for output, g in zip(self.fgraph.outputs, output_grads, strict=True):
            if not isinstance(g.type, DisconnectedType):
                seeds.append((output, g.type()))
                outer.append(g)
        targets = [self.fgraph.inputs[position] for position in wanted]
        gradients = pull_back(seeds, targets)
        found: list[Any] = []
        computed: list[Variable] = []
        for position, target in zip(wanted, targets, strict=True):
            gradient = gradients.total(target)
            if gradient is None:
                found.append(disconnected_type())
            elif gradient is ZERO or is_known_zero(cast("Variable", gradient)):
                found.append(zero_like(inputs[position]))
            else:
                found.append(gradient)
                if not isinstance(cast("Variable", gradient).type, NullType):
                    computed.append(cast("Variable", gradient))
        further = [inner for _, inner in seeds]
        return self._derived("gradient", further, [*inputs, *outer], found, computed)

    def _derived(
        self,
        kind: str,
        further: Sequence[Variable],
        outer: Sequence[Any],
        found: Sequence[Any],
        computed: Sequence[Variable],
    ) -> list[Any]:
        """Return the variables found, with expressions of the inner graph computed by another Op.

        Parameters
        ----------
        kind
            What it computes, for its name.
        further
            Its inputs after those of the inner graph.
        outer
            Values for all of them.
        found
            The expressions, and variables that are not part of the inner graph.
        computed
            The expressions.
        """
        if not computed:
            return list(found)
        inner = [*self.fgraph.inputs, *further]
        needed = set(graph_inputs(computed, set(inner)))
        pairs = [(one, value) for one, value in zip(inner, outer, strict=True) if one in needed]
        op = self.like([one for one, _ in pairs], computed, f"{kind} of {self}")
        results = op(*(value for _, value in pairs), return_list=True)
        outside: dict[Any, Any] = dict(zip(computed, results, strict=True))
        return [outside.get(variable, variable) for variable in found]

    def like(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], name: str
    ) -> OpFromGraph:
        """Return an Op of this kind that computes other expressions, with their derivatives."""
        return OpFromGraph(inputs, outputs, self.inline, name=name)

    @property
    def has_own_derivatives(self) -> bool:
        """Whether derivatives are given, so that they are not those of the inner graph."""
        return bool(self._lop) or bool(self._rop) or self._pattern is not None

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Push the tangents forward through the inner graph, or as overridden."""
        found: list[Any] = [None] * len(self.fgraph.outputs)
        if self._rop:
            points = [
                zero_like(variable) if point is None else point
                for variable, point in zip(inputs, eval_points, strict=True)
            ]
            self._rop.apply([list(inputs), points], found, self)
        if self._lop:
            return found  # what is missing follows from the overridden L_op
        missing = [o for o, tangent in enumerate(found) if tangent is None]
        if missing:
            pushed = self._pushed(inputs, eval_points, missing)
            for o, tangent in zip(missing, pushed, strict=True):
                found[o] = tangent
        return found

    def _pushed(
        self, inputs: Sequence[Any], eval_points: Sequence[Any], wanted: Sequence[int]
    ) -> list[Any]:
        """Return tangents of some outputs, as outputs of another OpFromGraph."""
        given: list[tuple[Variable, Variable]] = []
        outer: list[Variable] = []
        for inner, point in zip(self.fgraph.inputs, eval_points, strict=True):
            if point is not None:
                given.append((inner, point.type()))
                outer.append(point)
        found = push_forward([self.fgraph.outputs[o] for o in wanted], given)
        computed = [v for v in found if v is not None and not isinstance(v.type, NullType)]
        further = [inner for _, inner in given]
        return self._derived("tangent", further, [*inputs, *outer], found, computed)


def _variables(given: Any, name: str) -> list[Variable]:
    if not isinstance(given, list | tuple):
        msg = (
            f"The {name} of an OpFromGraph must be a list of variables, got {given!r}. With a "
            f"single one, write [x]."
        )
        raise ArgumentError(msg)
    found = list(cast("Sequence[Any]", given))
    for position, variable in enumerate(found):
        if not isinstance(variable, Variable):
            msg = (
                f"The {name} of an OpFromGraph must be variables, got {variable!r} of type "
                f"{type(variable).__name__} at position {position}."
            )
            raise ArgumentError(msg)
        if name != "inputs":
            continue
        if isinstance(variable, Constant):
            msg = (
                f"Input {position} of an OpFromGraph is the constant {variable}: its value would "
                "be replaced. Leave it out, or use a variable."
            )
            raise ArgumentError(msg)
        if variable in found[:position]:
            msg = (
                f"{variable} is given twice, as inputs {found.index(variable)} and {position} of "
                "an OpFromGraph. Use another variable for one of them."
            )
            raise ArgumentError(msg)
    return found


def _shared(
    inputs: Sequence[Variable], outputs: Sequence[Variable], strict: bool
) -> tuple[SharedVariable, ...]:
    """Return the shared variables that the outputs depend on, other than the inputs."""
    known = set(inputs)
    found: dict[SharedVariable, None] = {}
    for leaf in graph_inputs(outputs, known):
        if leaf in known or isinstance(leaf, Constant):
            continue
        if not isinstance(leaf, SharedVariable):
            listed = ", ".join(map(str, inputs))
            msg = (
                f"The outputs of an OpFromGraph depend on {leaf} (type {leaf.type}), which is not "
                f"among its inputs ({listed}). "
                f"{about_placeholder(leaf) or 'Add it to the inputs.'}"
            )
            raise MissingInputError(msg)
        found[leaf] = None
    if found and strict:
        listed = ", ".join(map(str, found))
        msg = (
            f"The outputs of an OpFromGraph depend on the shared variables {listed}, which strict="
            "True forbids. Add them to the inputs, and apply the Op to them; or leave strict off."
        )
        raise ArgumentError(msg)
    return tuple(found)


def _closed(
    inputs: Sequence[Variable], outputs: Sequence[Variable], shared: Sequence[Variable]
) -> FunctionGraph:
    """Return the inner graph: a copy in which shared variables are ordinary inputs."""
    memo: dict[Any, Any] = {one: one.type.make_variable(one.name) for one in (*inputs, *shared)}
    leaves = list(memo.values())
    equiv = clone_get_equiv((), outputs, copy_orphans=False, memo=memo)
    return FunctionGraph(leaves, [equiv[output] for output in outputs], clone=False)


def _pairs(given: Any, inputs: int, outputs: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Return a destroy_map as a tuple, checked."""
    if not given:
        return ()
    found = tuple((o, tuple(positions)) for o, positions in dict(given).items())
    for o, positions in found:
        if o not in range(outputs) or any(position not in range(inputs) for position in positions):
            msg = (
                f"The destroy_map of an OpFromGraph is from its {outputs} outputs to lists of its "
                f"{inputs} inputs, by number; got {given!r}."
            )
            raise ArgumentError(msg)
    return found
