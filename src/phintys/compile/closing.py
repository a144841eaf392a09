"""Checks before compilation: missing inputs, unused inputs, and Ops that overwrite inputs."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from phintys._base.config import config
from phintys._base.errors import ArgumentError, MissingInputError, UnusedInputError
from phintys.graph.aliasing import overwrites
from phintys.graph.inner import about_placeholder
from phintys.graph.sources import variables_used
from phintys.graph.traversal import ancestors

if TYPE_CHECKING:
    from phintys.compile.io import In
    from phintys.compile.rebuild import Rebuilt
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

_PACKAGE = __name__.partition(".")[0]


def missing_input(
    rebuilt: Rebuilt, specs: Sequence[In], roots: Mapping[Variable, str]
) -> MissingInputError:
    """Return the error for the first leaf without a value: where it is used, and how to fix it.

    Parameters
    ----------
    rebuilt
        The copied graph, with its missing leaves.
    specs
        The inputs.
    roots
        Original expression -> description of its role.
    """
    leaf = next(iter(rebuilt.missing))
    inputs = ", ".join(str(spec.variable) for spec in specs) or "(none)"
    lines = [
        f"The graph needs the variable {leaf} (type {leaf.type}), which is not among the inputs.",
        f"The inputs are: {inputs}.",
        *_way(leaf, roots),
    ]
    if any(spec.name is not None and spec.name == leaf.name for spec in specs):
        lines.append(
            f"An input has the same name {leaf.name!r}, but is another variable: two variables are "
            "the same only if they are the same object."
        )
    if len(rebuilt.missing) > 1:
        others = [str(one) for one in list(rebuilt.missing)[1:6]]
        lines.append(f"Missing as well: {', '.join(others)}.")
    about = about_placeholder(leaf)
    if about is not None:
        return MissingInputError("\n".join([*lines, about]))
    needing = _default_updates_needing(leaf, rebuilt, roots)
    if needing:
        text = _ONLY_FOR_UPDATES.format(leaf=leaf, shared=", ".join(map(str, needing)))
        return MissingInputError("\n".join([*lines, text]))
    lines.append(
        f"Add {leaf} to the inputs, replace it with givens={{{leaf}: value}}, or make it "
        "shared(value)."
    )
    return MissingInputError("\n".join(lines))


_ONLY_FOR_UPDATES = (
    "Only the next value of {shared}, its default update, needs {leaf}; for a generator of random "
    "numbers, {leaf} then tells how many are drawn. If vectorize_graph or clone_replace have put "
    "another variable in its place, they did so in the graph that they were given: the default "
    "update is that of the first graph, and neither graph tells the one for the other. Give "
    "function the same replacement, givens={{{leaf}: value}} (for a batch, the value for one "
    "item), replace {leaf} before drawing, or use pt.vectorize, which batches updates as well. "
    "no_default_updates=True leaves the value as it is. Otherwise, add {leaf} to the inputs."
)


def _default_updates_needing(
    leaf: Variable, rebuilt: Rebuilt, roots: Mapping[Variable, str]
) -> list[Variable]:
    """Return the shared variables for whose default updates alone a leaf is needed."""
    updates = {
        one.default_update: one
        for one in rebuilt.shared
        if one.default_update is not None and one.default_update in roots
    }
    if leaf in ancestors([root for root in roots if root not in updates]):
        return []
    return [one for update, one in updates.items() if leaf in ancestors([update])]


def _way(leaf: Variable, roots: Mapping[Variable, str]) -> list[str]:
    """Return the lines that trace a leaf to an expression that depends on it."""
    users: dict[Variable, Apply] = {}
    for variable in ancestors(roots):
        if variable.owner is not None:
            for needed in variable.owner.inputs:
                users.setdefault(needed, variable.owner)
    lines: list[str] = []
    most = max(config.traceback_limit, 1)
    here: Variable | None = leaf
    while here is not None and here not in roots:
        node = users[here]
        if len(lines) < most:
            lines.append(f"It is needed by {node.op}, made at\n  {node.origin}")
        elif len(lines) == most:
            lines.append("...")
        here = next((one for one in node.outputs if one in roots or one in users), None)
    if here is not None:
        lines.append(f"{'on the way to' if lines else 'It is'} {roots[here]}.")
    return lines


def check_unused(
    specs: Sequence[In], rebuilt: Rebuilt, choice: str, written: Iterable[Variable]
) -> None:
    """Raise or warn, depending on ``choice``, about the first input that the program does not use.

    ``written`` are the expressions as the user gave them. A variable that was simplified away when
    they were built, such as x in the gradient of ``3 * x``, counts as used.
    """
    if choice == "ignore":
        return
    used = set(ancestors([*rebuilt.outputs, *rebuilt.updates.values()]))
    by_program: set[Variable] | None = None
    for index, (spec, leaf) in enumerate(zip(specs, rebuilt.inputs, strict=True)):
        if leaf in used or spec.update is not None:
            continue
        by_program = variables_used(written) if by_program is None else by_program
        if spec.variable in by_program:
            continue
        msg = (
            f"The input {spec.variable} at index {index} has no influence on the outputs or "
            "updates. Leave it out, or call function(..., on_unused_input='ignore')."
        )
        twin = next(
            (one for one in used if one.name is not None and one.name == spec.variable.name), None
        )
        if twin is not None:
            msg += (
                f" The graph uses another variable named {twin.name!r}: two variables are the same "
                "only if they are the same object."
            )
        if choice == "raise":
            raise UnusedInputError(msg)
        warnings.warn(msg, UserWarning, stacklevel=_levels_to_user())


def _levels_to_user() -> int:
    """Return the ``stacklevel`` with which a warning points to the user's line."""
    frame = sys._getframe(1)
    level = 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    return level


def refuse_inplace(fgraph: FunctionGraph) -> None:
    """Raise if a node overwrites an input."""
    for node in fgraph.apply_nodes:
        if overwrites(node):
            msg = (
                f"The graph has {node.op}, which overwrites an input, made at\n  {node.origin}\n"
                "Use the Op that makes a new result (rewrites put in-place Ops where they are "
                "safe), or call function(..., accept_inplace=True)."
            )
            raise ArgumentError(msg)
