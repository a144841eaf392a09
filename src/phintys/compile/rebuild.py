"""Construction of a closed graph from the user's expressions: givens, shared variables, updates.

The user's graph is copied once. The copy has new leaves for the inputs (which can be computed
variables in the user's graph) and for the shared variables.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError
from phintys._base.late import LateModule
from phintys._base.records import record
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.traversal import toposort
from phintys.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from phintys.compile import default_updates
    from phintys.graph.apply import Apply
else:
    default_updates = LateModule("phintys.compile.default_updates")

_WANTED_PAIRS = "expected a dict or a list of pairs (variable, expression)"


@record()
class Rebuilt:
    """A copy of a graph.

    Attributes
    ----------
    inputs, outputs
        Copies of the given inputs and outputs.
    shared
        The shared variables that the outputs or updates depend on, or that are updated, with their
        copies, which are leaves.
    updates
        Shared variable -> copy of the expression for its next value.
    missing
        Leaves of the original graph without a value, as keys.
    """

    inputs: list[Variable]
    outputs: list[Variable]
    shared: dict[SharedVariable, Variable] = field(default_factory=dict)
    updates: dict[SharedVariable, Variable] = field(default_factory=dict)
    missing: dict[Variable, None] = field(default_factory=dict)


class _Copier:
    """Copies expressions, with some variables replaced.

    Parameters
    ----------
    leaves
        Original variable -> its copy, for variables at which copying stops.
    strict
        Whether replacements must keep the types of variables computed from them.
    """

    def __init__(self, rebuilt: Rebuilt, leaves: dict[Variable, Variable], strict: bool) -> None:
        self.rebuilt = rebuilt
        self.copies = leaves
        self.strict = strict

    def copy(self, variables: Sequence[Variable]) -> list[Variable]:
        """Return the copies of expressions."""
        copies = self.copies
        for node in toposort(variables, blockers=copies.keys()):
            self._copy_node(node)
        return [copies[one] if one in copies else self._copy_leaf(one) for one in variables]

    def _copy_node(self, node: Apply) -> None:
        copies = self.copies
        inputs = [copies[one] if one in copies else self._copy_leaf(one) for one in node.inputs]
        new = node.clone_with_new_inputs(inputs, strict=self.strict)
        for old, copied in zip(node.outputs, new.outputs, strict=True):
            copies.setdefault(old, copied)

    def _copy_leaf(self, leaf: Variable) -> Variable:
        rebuilt = self.rebuilt
        if isinstance(leaf, Constant):
            copied: Variable = leaf
        elif isinstance(leaf, SharedVariable):
            copied = add_shared(rebuilt, leaf)
        else:
            rebuilt.missing[leaf] = None
            copied = leaf
        self.copies[leaf] = copied
        return copied


def add_shared(rebuilt: Rebuilt, variable: SharedVariable) -> Variable:
    """Return the leaf that represents a shared variable, creating it on first use."""
    if variable not in rebuilt.shared:
        rebuilt.shared[variable] = variable.clone()
    return rebuilt.shared[variable]


def rebuild_collect_shared(
    outputs: Sequence[Variable],
    inputs: Sequence[Variable],
    *,
    givens: Mapping[Variable, Variable] | None = None,
    updates: Mapping[SharedVariable, Variable] | None = None,
    rebuild_strict: bool = True,
    no_default_updates: bool | Sequence[SharedVariable] = False,
) -> Rebuilt:
    """Copy the graph of ``outputs``, and collect its shared variables and their updates.

    Parameters
    ----------
    outputs
        The expressions to compute.
    inputs
        Variables whose values are given; the graph is cut there.
    givens
        Simultaneous replacements: they are not applied to each other.
    updates
        Expressions for the next values of shared variables.
    rebuild_strict
        Whether replacements must keep all types.
    no_default_updates
        ``True`` or a list: shared variables whose ``default_update`` is not used.
    """
    leaves = {variable: variable.clone() for variable in inputs}
    rebuilt = Rebuilt([leaves[variable] for variable in inputs], [])
    replacer = _Copier(rebuilt, dict(leaves), rebuild_strict)
    if givens:
        plain = _Copier(rebuilt, dict(leaves), rebuild_strict)
        replacer.copies.update(zip(givens, plain.copy(list(givens.values())), strict=True))
    rebuilt.outputs = replacer.copy(outputs)
    for variable in updates or ():
        add_shared(rebuilt, variable)
    rebuilt.updates.update(
        zip(updates or (), replacer.copy(list((updates or {}).values())), strict=True)
    )
    _add_default_updates(rebuilt, replacer, no_default_updates)
    return rebuilt


def _add_default_updates(
    rebuilt: Rebuilt, replacer: _Copier, without: bool | Sequence[SharedVariable]
) -> None:
    if without is True:
        return
    refused = set(without or ())
    # Copying an update can add shared variables with updates of their own.
    done: set[SharedVariable] = set()
    while waiting := [variable for variable in rebuilt.shared if variable not in done]:
        done.update(waiting)
        expressions = {
            variable: default_updates.reduced_update(
                filtered_update(variable, variable.default_update, "default_update"),
                replacer.copies.keys(),
            )
            for variable in waiting
            if variable.default_update is not None
            and variable not in refused
            and variable not in rebuilt.updates
        }
        copied = replacer.copy(list(expressions.values()))
        rebuilt.updates.update(zip(expressions, copied, strict=True))


def filtered_update(variable: SharedVariable, expression: Any, what: str = "update") -> Variable:
    """Return an update as a variable of the shared variable's type."""
    try:
        return variable.type.filter_variable(expression, allow_convert=False)
    except (TypeError, ValueError) as error:
        came = (
            f"type {expression.type}"
            if isinstance(expression, Variable)
            else type(expression).__name__
        )
        msg = (
            f"The {what} of the shared variable {variable} must have its type {variable.type}, "
            f"got {expression} ({came}). {_remedy(variable, expression)}"
        )
        raise ArgumentError(msg) from error


def _remedy(variable: Variable, expression: Any) -> str:
    given = getattr(expression, "type", expression)
    shapes = getattr(variable.type, "shape", None), getattr(given, "shape", ())
    wanted, came = getattr(variable.type, "dtype", None), getattr(given, "dtype", None)
    if isinstance(expression, int | float | complex):
        came = np.asarray(expression).dtype
    if wanted is None or came is None:
        return "Make the expression one of that type."
    alike = shapes[0] is None or shapes[1] is None or len(shapes[0]) == len(shapes[1])
    is_fraction = np.dtype(wanted).kind in "biu" and np.dtype(came).kind in "fc"
    if (alike and np.dtype(wanted) != came) or is_fraction:
        return _remedy_of_dtype(variable, np.dtype(wanted), np.dtype(came))
    if alike or shapes[1] != ():
        return _remedy_of_shape(*shapes)
    return f"To make all elements that number, write pt.full_like({variable}, expression)."


def _remedy_of_shape(wanted: Any, came: Any) -> str:
    """Return how to fix an update with another number of dimensions or other static sizes."""
    if not isinstance(wanted, tuple) or not isinstance(came, tuple) or len(wanted) != len(came):
        return "The numbers of dimensions differ: reshape the expression."
    left_open = f"shared(value, shape={(None,) * len(wanted)})"
    sizes = zip(wanted, came, strict=True)
    if all(size is None or known in {None, size} for size, known in sizes):
        return (
            f"If its sizes are always those, state them: pt.specify_shape(expression, {wanted}). "
            f"If not, leave the shape of the shared variable open: {left_open}."
        )
    return (
        "A static size differs: reshape the expression, or leave the shape of the shared variable "
        f"open: {left_open}."
    )


def _remedy_of_dtype(variable: Variable, wanted: np.dtype[Any], came: np.dtype[Any]) -> str:
    """Return how to fix an update of another dtype; a cast only where it keeps the meaning.

    An integer weight that is updated with floats must become a float weight: a cast would truncate
    each new value, so that small steps are lost.
    """
    cast = f"expression.astype({wanted.name!r})"
    if wanted.kind in "biu" and came.kind in "fc":
        return (
            f"Make the shared variable one of {came.name}: shared(np.asarray(value, "
            f"{came.name!r})). ({cast} would cut off the fraction of each new value, so that small "
            "steps are lost.)"
        )
    if came.kind == "c" and wanted.kind != "c":
        return (
            "Take the real part, expression.real, or make the shared variable one of "
            f"{came.name}: shared(np.asarray(value, {came.name!r}))."
        )
    return f"Cast it: {cast}."


def check_updates(updates: Any, inputs: Iterable[Variable]) -> dict[SharedVariable, Variable]:
    """Return the ``updates`` argument of ``function`` as a checked mapping."""
    taken = set(inputs)
    checked: dict[SharedVariable, Variable] = {}
    for variable, expression in as_pairs(updates, "updates"):
        if not isinstance(variable, SharedVariable):
            msg = (
                f"updates: each key is a shared variable, got {variable!r} of type "
                f"{type(variable).__name__}. Make one with phintys.shared(value); an input keeps "
                "a state with In(variable, value=..., update=...)."
            )
            raise ArgumentError(msg)
        if variable in taken:
            msg = f"updates: {variable} is an input of the function and cannot be updated as well."
            raise ArgumentError(msg)
        if variable in checked:
            msg = (
                f"updates: the shared variable {variable} has two new values, {checked[variable]} "
                f"and {expression}. Give it one."
            )
            raise ArgumentError(msg)
        checked[variable] = filtered_update(variable, expression)
    return checked


def check_givens(
    givens: Any, inputs: Iterable[Variable], *, strict: bool
) -> dict[Variable, Variable]:
    """Return the ``givens`` argument of ``function`` as a checked mapping."""
    taken = set(inputs)
    checked: dict[Variable, Variable] = {}
    for old, new in as_pairs(givens, "givens"):
        if not isinstance(old, Variable):
            msg = f"givens: each key is a variable of the graph, got {old!r}."
            raise ArgumentError(msg)
        if old in taken:
            msg = (
                f"givens: {old} is an input of the function, so replacing it has no effect. To "
                f"compute f(g(y)) from y, make y the input: function([y], f(x), givens={{x: "
                f"g(y)}})."
            )
            raise ArgumentError(msg)
        if old in checked:
            msg = f"givens: {old} has two replacements, {checked[old]} and {new}. Give it one."
            raise ArgumentError(msg)
        checked[old] = _filtered_given(old, new, strict)
    return checked


def _filtered_given(old: Variable, new: Any, strict: bool) -> Variable:
    if not strict and isinstance(new, Variable):
        return new
    try:
        return old.type.filter_variable(new)
    except (TypeError, ValueError) as error:
        came = f"type {new.type}" if isinstance(new, Variable) else type(new).__name__
        msg = (
            f"givens: the replacement of {old} must have its type {old.type}, got {new} ({came}). "
            "Cast it; or, if the graph can do with the other type, call function(..., "
            "rebuild_strict=False)."
        )
        raise ArgumentError(msg) from error


def as_pairs(pairs: Any, argument: str) -> list[tuple[Any, Any]]:
    """Return a list of pairs or a mapping as a list of pairs."""
    if pairs is None:
        return []
    if isinstance(pairs, Mapping):
        return list(pairs.items())
    if isinstance(pairs, Iterator | ItemsView):  # e.g. zip(...), a generator, dict.items()
        pairs = list(pairs)
    if isinstance(pairs, list | tuple):
        if all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
            return [(pair[0], pair[1]) for pair in pairs]
        if len(pairs) == 2 and isinstance(pairs[0], Variable):
            hint = f" For a single pair write [{pairs!r}]."
        else:
            hint = ""
        msg = f"{argument}: {_WANTED_PAIRS}, got {pairs!r}.{hint}"
        raise ArgumentError(msg)
    kind = type(pairs).__name__
    order = " A set has no order and no pairs." if isinstance(pairs, set | frozenset) else ""
    msg = f"{argument}: {_WANTED_PAIRS}, got a {kind}.{order}"
    raise ArgumentError(msg)
