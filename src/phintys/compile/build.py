"""function: from expressions to something that can be called."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from phintys._base.config import config
from phintys._base.errors import (
    ArgumentError,
    DisconnectedInputError,
    MissingInputError,
    NullGradientError,
    PhintysError,
    UnusedInputError,
)
from phintys.compile.executor import Function, FunctionMaker, as_profile, shared_input
from phintys.compile.io import In, Out, as_in
from phintys.compile.mode import Mode, get_mode
from phintys.compile.ownership import guard_memory, separate_outputs
from phintys.compile.rebuild import check_givens, check_updates, rebuild_collect_shared
from phintys.graph.aliasing import DestroyHandler
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.null_type import DisconnectedType, NullType
from phintys.graph.shared import Container, SharedVariable
from phintys.graph.traversal import ancestors
from phintys.graph.variable import Variable
from phintys.tensor.convert import as_tensor_variable

if TYPE_CHECKING:
    from phintys.compile.profile import Profile
    from phintys.compile.rebuild import Rebuilt
    from phintys.graph.apply import Apply

__all__ = ["function"]

_PACKAGE = __name__.partition(".")[0]


def function(
    inputs: Iterable[Variable | In],
    outputs: Any = None,
    mode: str | Mode | None = None,
    updates: Any = None,
    givens: Any = None,
    no_default_updates: bool | Sequence[SharedVariable] = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: bool | str | Profile | None = None,
    on_unused_input: str | None = None,
) -> Function:
    """Compile expressions into a function.

    Parameters
    ----------
    inputs
        Variables, or :class:`In` for more control. A computed variable may be an input: the graph
        is cut there.
    outputs
        One variable, a list of them, a dict from str to them, or ``None``: a call returns an
        array, a list, a dict, or ``None``. :class:`Out` gives more control. 0-d results are 0-d
        arrays.
    mode
        A :class:`Mode` or the name of one; ``config.mode`` by default.
    updates
        Pairs or a dict: shared variable -> expression for its next value. All outputs and updates
        are computed from the old values; a call that fails changes nothing.
    givens
        Pairs or a dict: variable of the graph -> what to use in its place. All at once: they do
        not see each other.
    no_default_updates
        ``True``, or a list of shared variables: leave out their ``default_update``.
    accept_inplace
        Accept Ops in the graph that overwrite their inputs.
    name
        A name for people, shown in messages.
    rebuild_strict
        Require that ``givens`` keep all types.
    allow_input_downcast
        Let arguments be cast with loss of precision. ``None`` allows it for Python floats where
        the input has the dtype ``config.floatX``.
    profile
        ``True``, a name, or a :class:`Profile`: measure each node. ``config.profile`` by default.
    on_unused_input
        ``"raise"``, ``"warn"`` or ``"ignore"`` inputs that have no influence on any output;
        ``config.on_unused_input`` by default.

    Returns
    -------
    Function

    Raises
    ------
    MissingInputError
        An expression needs a variable that is not among the inputs.
    UnusedInputError
        An input has no influence, and ``on_unused_input`` is ``"raise"``.
    ArgumentError
        An argument is not what is described above.

    Examples
    --------
    >>> import phintys
    >>> import phintys.tensor as pt
    >>> x, y = pt.dscalars("x", "y")
    >>> f = phintys.function([x, y], x + y)
    >>> f(2.0, 3.0), f(y=1.0, x=4.0)
    (array(5.), array(5.))
    >>> total = phintys.shared(0.0, name="total")
    >>> add = phintys.function([x], total, updates={total: total + x})
    >>> add(5.0), add(1.0), total.get_value()
    (array(0.), array(5.), array(6.))
    """
    start = perf_counter()
    specs = _checked_inputs(inputs, allow_input_downcast)
    outs, keys, unpack = _checked_outputs(outputs)
    mode = get_mode(mode)
    name = _checked_name(name)
    on_unused_input = _checked_choice(on_unused_input)
    variables = [spec.variable for spec in specs]
    states = {spec: spec.update for spec in specs if spec.update is not None}
    rebuilt = rebuild_collect_shared(
        [*(out.variable for out in outs), *states.values()],
        variables,
        givens=check_givens(givens, variables, strict=rebuild_strict),
        updates=check_updates(updates, variables),
        rebuild_strict=rebuild_strict,
        no_default_updates=_checked_no_default_updates(no_default_updates),
    )
    if rebuilt.missing:
        raise _missing_input(rebuilt, specs, outs)
    _check_unused(specs, rebuilt, on_unused_input)

    shared = list(rebuilt.shared)
    all_specs = [*specs, *map(shared_input, shared)]
    leaves = [*rebuilt.inputs, *rebuilt.shared.values()]
    numbers = {id(spec): number for number, spec in enumerate(all_specs)}
    updated = [numbers[id(spec)] for spec in states]
    updated += [len(specs) + shared.index(variable) for variable in rebuilt.updates]
    expressions = [*rebuilt.outputs, *rebuilt.updates.values()]
    order = sorted(range(len(all_specs)), key=lambda number: all_specs[number].implicit)
    place = {number: position for position, number in enumerate(order)}
    updated = [place[number] for number in updated]

    fgraph = FunctionGraph(
        [leaves[number] for number in order],
        expressions,
        clone=False,
        update_mapping={len(outs) + i: position for i, position in enumerate(updated)},
    )
    all_specs = [all_specs[number] for number in order]
    if not accept_inplace:
        _refuse_inplace(fgraph)
    try:
        guard_memory(fgraph, all_specs)
        mode.pipeline.apply(fgraph, verify=mode.verify or None)
    except Exception as error:
        error.add_note(f"While compiling {name or 'a function'} with {mode!r}.")
        raise
    separate_outputs(fgraph, all_specs, [out.borrow for out in outs], updated)
    for feature in fgraph.features:
        if not isinstance(feature, DestroyHandler):
            fgraph.remove_feature(feature)
    profiled = as_profile(config.profile if profile is None else profile, name)
    maker = FunctionMaker(
        fgraph, all_specs, outs, updated, mode, name, profiled, keys=keys, unpack=unpack
    )
    compiled = Function(maker, [_container(spec) for spec in all_specs])
    if profiled is not None:
        profiled.compile_seconds += perf_counter() - start
    return compiled


def _container(spec: In) -> Container:
    """Return the place for an input's value."""
    if isinstance(spec.value, Container):
        return spec.value
    container = Container(spec.variable.type, [None], spec.strict, spec.allow_downcast, spec.name)
    if spec.value is not None:
        value = spec.value.get_value() if isinstance(spec.value, SharedVariable) else spec.value
        container.value = value
    return container


# ---- arguments ----------------------------------------------------------------------------------


def _checked_inputs(inputs: Any, allow_downcast: bool | None) -> list[In]:
    if isinstance(inputs, Variable | In):
        msg = f"function: inputs is a list, got {inputs!r}. Write [{inputs}]."
        raise ArgumentError(msg)
    if isinstance(inputs, str | bytes | Mapping | None) or not isinstance(inputs, Iterable):
        msg = (
            "function: inputs is a list of variables, got "
            f"{inputs!r} of type {type(inputs).__name__}. For no inputs write []."
        )
        raise ArgumentError(msg)
    if isinstance(inputs, set | frozenset):
        msg = "function: inputs is a list of variables, got a set, which has no order."
        raise ArgumentError(msg)
    specs = [as_in(one, allow_downcast=allow_downcast) for one in inputs]
    seen: dict[Variable, int] = {}
    for index, spec in enumerate(specs):
        if spec.variable in seen:
            msg = (
                f"function: the variable {spec.variable} is at index {seen[spec.variable]} and at "
                f"index {index} of the inputs. Give each input once."
            )
            raise ArgumentError(msg)
        seen[spec.variable] = index
    return specs


def _checked_outputs(outputs: Any) -> tuple[list[Out], list[str] | None, str]:
    """Return the outputs, the keys of the returned dict if any, and what a call returns."""
    if outputs is None:
        return [], None, "none"
    if isinstance(outputs, dict):
        for key in outputs:
            if not isinstance(key, str):
                msg = f"function: the keys of an outputs dict are str, got {key!r}."
                raise ArgumentError(msg)
        return [_as_out(one) for one in outputs.values()], list(outputs), "dict"
    if isinstance(outputs, list | tuple):
        return [_as_out(one) for one in outputs], None, "list"
    return [_as_out(outputs)], None, "one"


def _as_out(output: Any) -> Out:
    out = output if isinstance(output, Out) else Out(output)
    variable = out.variable
    if not isinstance(variable, Variable):
        variable = _as_constant(variable)
        out = Out(variable, out.borrow)
    if isinstance(variable.type, NullType):
        msg = f"function: the output {variable} is an undefined gradient: {variable.type.why_null}."
        raise NullGradientError(msg)
    if isinstance(variable.type, DisconnectedType):
        msg = (
            f"function: the output {variable} is a disconnected gradient, which has no value. For "
            "zeros, use grad(..., disconnected_inputs='ignore')."
        )
        raise DisconnectedInputError(msg)
    return out


def _as_constant(output: Any) -> Variable:
    msg = (
        f"function: an output is a variable, or a number or array, got {output!r} of type "
        f"{type(output).__name__}. Outputs may be one variable, a list, a dict or None, not nested."
    )
    if isinstance(output, list | tuple | set | frozenset | Mapping):
        raise ArgumentError(msg)
    try:
        return as_tensor_variable(output)
    except (TypeError, ValueError) as error:
        raise ArgumentError(msg) from error


def _checked_name(name: object) -> str | None:
    if name is not None and not isinstance(name, str):
        msg = f"function: name is a str, got {name!r}."
        raise ArgumentError(msg)
    return name


def _checked_choice(on_unused_input: object) -> str:
    chosen = config.on_unused_input if on_unused_input is None else on_unused_input
    if chosen not in {"raise", "warn", "ignore"}:
        msg = f"function: on_unused_input is 'raise', 'warn' or 'ignore', got {on_unused_input!r}."
        raise ArgumentError(msg)
    return str(chosen)


def _checked_no_default_updates(refused: Any) -> bool | list[SharedVariable]:
    if isinstance(refused, bool):
        return refused
    if isinstance(refused, list | tuple | set | frozenset) and all(
        isinstance(one, SharedVariable) for one in refused
    ):
        return list(refused)
    msg = (
        "function: no_default_updates is True, False or a list of shared variables, got "
        f"{refused!r}."
    )
    raise ArgumentError(msg)


# ---- checks of the graph ------------------------------------------------------------------------


def _missing_input(rebuilt: Rebuilt, specs: Sequence[In], outs: Sequence[Out]) -> PhintysError:
    """Return the error about the first leaf without a value: which, who needs it, what to do."""
    leaf, client = next(iter(rebuilt.missing.items()))
    inputs = ", ".join(str(spec.variable) for spec in specs) or "(none)"
    lines = [
        f"The graph needs the variable {leaf} (type {leaf.type}), which is not among the inputs.",
        f"The inputs are: {inputs}.",
    ]
    lines.extend(_path(leaf, client, rebuilt, outs))
    if any(spec.name is not None and spec.name == leaf.name for spec in specs):
        lines.append(
            f"An input has the same name {leaf.name!r}, but is another variable: two variables are "
            "the same only if they are the same object."
        )
    if len(rebuilt.missing) > 1:
        others = [str(one) for one in list(rebuilt.missing)[1:6]]
        lines.append(f"Missing as well: {', '.join(others)}.")
    lines.append(
        f"Add {leaf} to the inputs, replace it with givens={{{leaf}: value}}, or make it "
        "shared(value)."
    )
    return MissingInputError("\n".join(lines))


def _path(leaf: Variable, client: Apply | None, rebuilt: Rebuilt, outs: Sequence[Out]) -> list[str]:
    """Return lines that lead from a leaf to an output or update that needs it."""
    if client is None:
        return ["It is itself an output, an update or a given."]
    steps: dict[Variable, Apply] = {}
    wanted = [out.variable for out in outs]
    wanted.extend(variable for variable in rebuilt.copies if variable not in wanted)
    # From what is wanted down to the leaf, remembering who needs what; found backwards then.
    for variable in ancestors(wanted[: len(outs)] or wanted):
        if variable.owner is not None:
            for needed in variable.owner.inputs:
                steps.setdefault(needed, variable.owner)
    lines: list[str] = []
    node: Apply | None = client
    most = max(config.traceback_limit, 1)
    while node is not None and len(lines) < most:
        lines.append(f"It is needed by {node.op}, made at\n  {node.origin}")
        node = next((steps[one] for one in node.outputs if one in steps), None)
    if node is not None:
        lines.append("...")
    for index, out in enumerate(outs):
        if node is None and lines and out.variable.owner is not None:
            lines.append(f"on the way to output {index}, {out.variable}.")
            break
    return lines


def _check_unused(specs: Sequence[In], rebuilt: Rebuilt, choice: str) -> None:
    if choice == "ignore":
        return
    used = set(ancestors([*rebuilt.outputs, *rebuilt.updates.values()]))
    for index, (spec, leaf) in enumerate(zip(specs, rebuilt.inputs, strict=True)):
        if leaf in used or spec.update is not None:
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
    """Return the ``stacklevel`` at which a warning shows the user's line."""
    frame = sys._getframe(1)
    level = 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    return level


def _refuse_inplace(fgraph: FunctionGraph) -> None:
    for node in fgraph.apply_nodes:
        if node.op.destroy_map:
            msg = (
                f"The graph has {node.op}, which overwrites an input, made at\n  {node.origin}\n"
                "Use the Op that makes a new result (rewrites put in-place Ops where they are "
                "safe), or call function(..., accept_inplace=True)."
            )
            raise ArgumentError(msg)
