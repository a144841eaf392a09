"""Copying graphs, optionally with parts replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from phintys._base.errors import (
    OpContractError,
    PhintysError,
    RewriteError,
    TypeContractError,
    add_note,
    shown,
)
from phintys._base.origin import inherit_origin
from phintys.graph.inner import HasInnerGraph
from phintys.graph.order import nodes_below
from phintys.graph.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Collection

    from phintys.graph.apply import Apply

    Replacements = Mapping[Variable, Variable] | Iterable[tuple[Variable, Variable]]

Key = TypeVar("Key")


def clone(
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    copy_inputs: bool = True,
    copy_orphans: bool | None = None,
    clone_inner_graphs: bool = False,
) -> tuple[list[Variable], list[Variable]]:
    """Copy the graph between ``inputs`` and ``outputs``.

    Parameters
    ----------
    inputs
        The inputs of the graph.
    outputs
        The outputs of the graph.
    copy_inputs
        Whether the inputs are copied; otherwise the copy uses ``inputs`` themselves.
    copy_orphans
        Whether leaves that are not among the inputs (constants, shared variables) are copied;
        defaults to ``copy_inputs``.
    clone_inner_graphs
        Whether Ops with an inner graph are copied along with that graph.

    Returns
    -------
    tuple of two lists of Variable
        Inputs and outputs of the copy.

    Examples
    --------
    >>> from phintys.graph import Apply, Op, Type
    >>> anything, f = Type(), Op()
    >>> x = anything("x")
    >>> y = Apply(f, [x], [anything("y")]).out
    >>> (x2,), (y2,) = clone([x], [y])
    >>> x2 is x, y2.owner.inputs[0] is x2, y2.owner.origin is y.owner.origin
    (False, True, True)
    """
    if copy_orphans is None:
        copy_orphans = copy_inputs
    equiv = clone_get_equiv(
        inputs, outputs, copy_inputs, copy_orphans, clone_inner_graphs=clone_inner_graphs
    )
    return (
        [cast("Variable", equiv[variable]) for variable in inputs],
        [cast("Variable", equiv[variable]) for variable in outputs],
    )


def clone_get_equiv(
    inputs: Iterable[Variable],
    outputs: Iterable[Variable],
    copy_inputs: bool = True,
    copy_orphans: bool = True,
    memo: dict[Any, Any] | None = None,
    clone_inner_graphs: bool = False,
) -> dict[Any, Any]:
    """Return a mapping from each variable and node of a graph to its copy.

    Parameters
    ----------
    inputs, outputs, copy_inputs, copy_orphans, clone_inner_graphs
        As for :func:`clone`.
    memo
        Initial mapping: its variables are treated as already copied. It is extended and returned.

    Returns
    -------
    dict
        Variable -> Variable, Apply -> Apply, and with ``clone_inner_graphs`` Op -> Op.
    """
    equiv: dict[Any, Any] = {} if memo is None else memo
    for variable in inputs:
        if variable not in equiv:
            equiv[variable] = variable.clone() if copy_inputs else variable
    outputs = list(outputs)
    for node in nodes_below(_uncopied_owners(outputs, equiv), known=equiv, blockers=equiv):
        for variable in node.inputs:
            if variable not in equiv:  # a leaf, as nodes come after those that they need
                equiv[variable] = variable.clone() if copy_orphans else variable
        clone_node_and_cache(node, equiv, clone_inner_graphs)
    for variable in outputs:
        if variable not in equiv:
            equiv[variable] = variable.clone() if copy_orphans else variable
    return equiv


def _uncopied_owners(outputs: Iterable[Variable], equiv: Mapping[Any, Any]) -> Iterable[Apply]:
    return [
        variable.owner
        for variable in outputs
        if variable.owner is not None and variable not in equiv
    ]


def clone_node_and_cache(
    node: Apply, equiv: dict[Any, Any], clone_inner_graphs: bool = False
) -> Apply:
    """Copy one node, all of whose inputs are already copied, and add it to ``equiv``.

    Outputs that are already in ``equiv`` (inputs of the graph that a node computes) are kept.

    Parameters
    ----------
    node
        The node to copy.
    equiv
        Variable -> its copy; extended with the node, its outputs, and its Op if that is copied.
    clone_inner_graphs
        Whether an Op with an inner graph is copied along with that graph.
    """
    twin = node.clone([equiv[variable] for variable in node.inputs])
    if clone_inner_graphs and isinstance(node.op, HasInnerGraph):
        if node.op not in equiv:
            equiv[node.op] = _clone_op(node.op)
        twin.op = equiv[node.op]
    equiv[node] = twin
    for old, new in zip(node.outputs, twin.outputs, strict=True):
        equiv.setdefault(old, new)
    return twin


def _clone_op(op: HasInnerGraph) -> Any:
    twin: Any = op.clone()
    if not isinstance(twin, HasInnerGraph):
        msg = (
            f"{op}.with_inner and {op}.clone must return an Op with an inner graph, like {op} "
            f"itself, got {twin!r}."
        )
        raise OpContractError(msg)
    return twin


@overload
def clone_replace(
    output: Variable,
    replace: Replacements | None = None,
    *,
    rebuild_strict: bool = True,
    copy_inputs_over: bool = True,
) -> Variable: ...
@overload
def clone_replace(
    output: Sequence[Variable],
    replace: Replacements | None = None,
    *,
    rebuild_strict: bool = True,
    copy_inputs_over: bool = True,
) -> list[Variable]: ...
@overload
def clone_replace(
    output: Mapping[Key, Variable],
    replace: Replacements | None = None,
    *,
    rebuild_strict: bool = True,
    copy_inputs_over: bool = True,
) -> dict[Key, Variable]: ...
def clone_replace(
    output: Any,
    replace: Replacements | None = None,
    *,
    rebuild_strict: bool = True,
    copy_inputs_over: bool = True,
) -> Any:
    """Copy the graph that computes some outputs, with variables replaced.

    All replacements are simultaneous: the new variables are not searched for further replacements,
    so ``{x: y, y: x}`` swaps, and ``{x: f(x)}`` is valid. Nothing is replaced in inner graphs of
    Ops, which are closed.

    Parameters
    ----------
    output
        A variable, a sequence of variables, or a mapping with variables as values.
    replace
        Old variable -> new variable, as a mapping or as pairs. Old variables that the outputs do
        not depend on are ignored, whereas :func:`graph_replace` raises for them.
    rebuild_strict
        Require the type of each new variable to be compatible with that of the old one. Otherwise
        ``make_node`` rebuilds the nodes that depend on it, for whatever types result.
    copy_inputs_over
        Share the leaves of the graph with the copy; otherwise copy them too.

    Returns
    -------
    Variable, list or dict
        With the structure of ``output``.

    Raises
    ------
    TypeContractError
        ``rebuild_strict``, and a type is not compatible; or something is not a variable.

    Examples
    --------
    >>> from phintys.graph import Apply, Op, Type
    >>> anything, f = Type(), Op()
    >>> x, z = anything("x"), anything("z")
    >>> y = Apply(f, [x], [anything("y")]).out
    >>> clone_replace(y, {x: z}).owner.inputs
    [z]
    >>> y.owner.inputs
    [x]
    """
    outputs = _list_of_outputs(output)
    equiv: dict[Any, Any] = dict(_checked_pairs(replace, rebuild_strict))
    nodes = nodes_below(_uncopied_owners(outputs, equiv), blockers=equiv)
    for node in nodes:
        for variable in node.inputs:
            if variable not in equiv:
                equiv[variable] = variable if copy_inputs_over else variable.clone()
        _rebuild(node, equiv, rebuild_strict)
    for variable in outputs:
        if variable not in equiv:
            equiv[variable] = variable if copy_inputs_over else variable.clone()
    return _like(output, [equiv[variable] for variable in outputs])


@overload
def graph_replace(outputs: Variable, replace: Replacements, *, strict: bool = True) -> Variable: ...
@overload
def graph_replace(
    outputs: Sequence[Variable], replace: Replacements, *, strict: bool = True
) -> list[Variable]: ...
def graph_replace(outputs: Any, replace: Replacements, *, strict: bool = True) -> Any:
    """Return the outputs with variables replaced; unchanged parts are shared, not copied.

    All replacements are simultaneous, as for :func:`clone_replace`.

    Parameters
    ----------
    outputs
        A variable or a sequence of variables.
    replace
        Old variable -> new variable, as a mapping or as pairs.
    strict
        Require the outputs to depend on each old variable, and the type of each new variable to be
        compatible with that of the old one.

    Returns
    -------
    Variable or list
        With the structure of ``outputs``.

    Raises
    ------
    RewriteError
        ``strict``, and an old variable does not occur in the graph.
    TypeContractError
        ``strict``, and a type is not compatible; or something is not a variable.

    Examples
    --------
    >>> from phintys.graph import Apply, Op, Type
    >>> anything, f, g = Type(), Op(), Op()
    >>> x, y = anything("x"), anything("y")
    >>> left, right = Apply(f, [x], [anything()]).out, Apply(f, [y], [anything()]).out
    >>> z = Apply(g, [left, right], [anything("z")]).out
    >>> new = graph_replace(z, {x: y})
    >>> new.owner.inputs[0].owner.inputs, new.owner.inputs[1] is right
    ([y], True)
    """
    variables = _list_of_outputs(outputs)
    equiv: dict[Any, Any] = dict(_checked_pairs(replace, strict))
    missing = dict.fromkeys(equiv)
    for variable in variables:
        missing.pop(variable, None)
    for node in nodes_below(_uncopied_owners(variables, {}) if missing else ()):
        for variable in (*node.inputs, *node.outputs):
            missing.pop(variable, None)
    if strict and missing:
        names = ", ".join(f"{variable} (type {variable.type})" for variable in missing)
        msg = (
            f"Cannot replace {names}: the outputs do not depend on it. Variables are compared by "
            "identity, so an equal expression built a second time is another variable. Take the "
            "variable from the graph itself, or pass strict=False to ignore what does not occur."
        )
        raise RewriteError(msg)
    for node in nodes_below(_uncopied_owners(variables, equiv), blockers=equiv):
        if any(equiv.get(variable, variable) is not variable for variable in node.inputs):
            _rebuild(node, equiv, strict)
    return _like(outputs, [equiv.get(variable, variable) for variable in variables])


def _rebuild(node: Apply, equiv: dict[Any, Any], strict: bool) -> None:
    """Add to ``equiv`` a copy of the node whose inputs are taken from ``equiv``."""
    inputs = [equiv.get(variable, variable) for variable in node.inputs]
    try:
        twin = node.clone_with_new_inputs(inputs, strict=strict)
    except (TypeError, ValueError, PhintysError) as error:
        add_note(error, f"While rebuilding, for new inputs, the node made at\n  {node.origin}")
        raise
    for old, new in zip(node.outputs, twin.outputs, strict=True):
        equiv.setdefault(old, new)


def _list_of_outputs(output: object) -> list[Variable]:
    if isinstance(output, Variable):
        return [output]
    found: list[Any]
    if isinstance(output, Mapping):
        found = list(cast("Mapping[Any, Any]", output).values())
    elif isinstance(output, list | tuple):
        found = list(cast("Sequence[Any]", output))
    else:
        found = [output]
    for variable in found:
        if not isinstance(variable, Variable):
            msg = f"Expected variables as outputs, got {variable!r} of type {type(variable)}."
            raise TypeContractError(msg)
    return cast("list[Variable]", found)


def _like(output: Any, variables: list[Variable]) -> Any:
    if isinstance(output, Variable):
        return variables[0]
    if isinstance(output, Mapping):
        return dict(zip(cast("Mapping[Any, Any]", output), variables, strict=True))
    return variables


def _checked_pairs(
    replace: Replacements | None, strict: bool
) -> Collection[tuple[Variable, Variable]]:
    if replace is None:
        return []
    checked: list[tuple[Variable, Variable]] = []
    for old, new in cast("list[tuple[Any, Any]]", pairs_of(replace)):
        if not isinstance(old, Variable) or not isinstance(new, Variable):
            msg = (
                f"Replacements go from a Variable to a Variable, got {old!r} -> {shown(new)}. "
                "Make a value a constant first: old.type.make_constant(value)."
            )
            raise TypeContractError(msg)
        checked.append((old, fitting(old, new) if strict else new))
    return checked


def pairs_of(replacements: Replacements) -> list[tuple[Variable, Variable]]:
    """Return replacements, given as a mapping or as pairs, as a list of pairs (old, new)."""
    if isinstance(replacements, Mapping):
        return list(cast("Mapping[Variable, Variable]", replacements).items())
    return list(replacements)


def fitting(old: Variable, new: Variable) -> Variable:
    """Return ``new``, converted if necessary to a type that is compatible with that of ``old``.

    Raises
    ------
    TypeContractError
        There is no such conversion.
    """
    if old.type == new.type or old.type.is_super(new.type):
        return new
    try:
        with inherit_origin(old.origin):
            return old.type.filter_variable(new)
    except (TypeError, ValueError) as error:
        where = f", made at\n  {old.origin}\n" if old.origin else " "
        msg = (
            f"{new} of type {new.type} cannot stand for {old} of type {old.type}{where}"
            "Cast or reshape the new variable to the type of the old one first."
        )
        raise TypeContractError(msg) from error


class Inlinable(HasInnerGraph):
    """A mixin for Ops that compute their inner graph once, on the inputs of the node.

    The pass ``inline_graphs`` replaces their nodes by copies of the inner graph.
    """

    inline: bool | None = None
    """Whether the pass replaces nodes; ``None`` is like ``True``."""

    def inlined(self, inputs: Sequence[Variable]) -> list[Variable]:
        """Return the outputs of a copy of the inner graph, applied to the inputs of a node.

        Parameters
        ----------
        inputs
            One for each input of the inner graph.
        """
        memo: dict[Any, Any] = dict(zip(self.fgraph.inputs, inputs, strict=True))
        equiv = clone_get_equiv((), self.fgraph.outputs, copy_orphans=False, memo=memo)
        return [equiv[output] for output in self.fgraph.outputs]
