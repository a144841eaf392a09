"""``function``: compilation of expressions into a callable."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack, overload

from phintys._base.errors import add_note
from phintys._base.garbage_collection import collector_paused
from phintys._base.late import LateModule
from phintys._base.origin import current_origin
from phintys.compile.arguments import (
    checked_choice,
    checked_inputs,
    checked_name,
    checked_no_default_updates,
    checked_outputs,
)
from phintys.compile.closing import check_unused, missing_input, refuse_inplace
from phintys.compile.executor import Function
from phintys.compile.io import In, shared_input
from phintys.compile.maker import FunctionMaker
from phintys.compile.mode import Mode, get_mode
from phintys.compile.nested import Nests, has_nests, leaves_of
from phintys.compile.ownership import guard_memory, separate_outputs
from phintys.compile.profile import as_profile
from phintys.compile.rebuild import check_givens, check_updates, rebuild_collect_shared
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.shared_variable import Container, SharedVariable
from phintys.graph.variable import Variable
from phintys.rewriting import RewriteTrace

if TYPE_CHECKING:
    import numpy as np

    from phintys._base import progress
    from phintys.compile.io import Out
    from phintys.compile.mode import ModeName
    from phintys.compile.profile import Profile
    from phintys.compile.rebuild import Rebuilt
    from phintys.rewriting import Pass
    from phintys.tensor.variable import TensorMethods

    AfterPass = Callable[[Pass, FunctionGraph], None]
    T = TypeVar("T", bound=TensorMethods)
    Number = complex | np.ndarray[Any, Any] | np.generic

    class FunctionOptions(TypedDict, total=False):
        """The keyword options of :func:`function`."""

        no_default_updates: bool | Sequence[SharedVariable]
        accept_inplace: bool
        name: str | None
        rebuild_strict: bool
        allow_input_downcast: bool | None
        profile: bool | str | Profile | None
        on_unused_input: Literal["raise", "warn", "ignore"] | None
        trust_input: bool

else:
    progress = LateModule("phintys._base.progress")

_LARGE = 1_000
"""Nodes of a graph whose compilation may take over a second."""


@overload
def function(
    inputs: Iterable[Variable | In],
    outputs: None = None,
    mode: ModeName | Mode | None = None,
    updates: Any = None,
    givens: Any = None,
    **options: Unpack[FunctionOptions],
) -> Function[None]: ...
@overload
def function(
    inputs: Iterable[Variable | In],
    outputs: TensorMethods | Number,
    mode: ModeName | Mode | None = None,
    updates: Any = None,
    givens: Any = None,
    **options: Unpack[FunctionOptions],
) -> Function[np.ndarray[Any, Any]]: ...
@overload
def function(
    inputs: Iterable[Variable | In],
    outputs: list[T] | tuple[T, ...],
    mode: ModeName | Mode | None = None,
    updates: Any = None,
    givens: Any = None,
    **options: Unpack[FunctionOptions],
) -> Function[list[np.ndarray[Any, Any]]]: ...
@overload
def function(
    inputs: Iterable[Variable | In],
    outputs: dict[str, T],
    mode: ModeName | Mode | None = None,
    updates: Any = None,
    givens: Any = None,
    **options: Unpack[FunctionOptions],
) -> Function[dict[str, np.ndarray[Any, Any]]]: ...
@overload
def function(
    inputs: Iterable[Variable | In],
    outputs: list[Any] | tuple[Any, ...],
    mode: ModeName | Mode | None = None,
    updates: Any = None,
    givens: Any = None,
    **options: Unpack[FunctionOptions],
) -> Function[list[Any]]: ...
@overload
def function(
    inputs: Iterable[Variable | In],
    outputs: dict[str, Any],
    mode: ModeName | Mode | None = None,
    updates: Any = None,
    givens: Any = None,
    **options: Unpack[FunctionOptions],
) -> Function[dict[str, Any]]: ...
@overload
def function(
    inputs: Iterable[Any],
    outputs: Any = None,
    mode: ModeName | Mode | None = None,
    updates: Any = None,
    givens: Any = None,
    **options: Unpack[FunctionOptions],
) -> Function[Any]: ...
def function(
    inputs: Iterable[Any],
    outputs: Any = None,
    mode: ModeName | Mode | None = None,
    updates: Any = None,
    givens: Any = None,
    no_default_updates: bool | Sequence[SharedVariable] = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: bool | str | Profile | None = None,
    on_unused_input: Literal["raise", "warn", "ignore"] | None = None,
    trust_input: bool = False,
) -> Function:
    """Compile expressions into a function.

    Parameters
    ----------
    inputs
        Variables, or :class:`In` for more control. A computed variable can be an input: its value
        is then given instead of computed. An input can be a dict, a tuple or a dataclass, of any
        depth, around variables: its argument then has the same form.
    outputs
        A variable, a list of variables, a dict from str to variables, or ``None``: a call returns
        an array, a list, a dict, or ``None``, respectively. Use :class:`Out` for more control. 0-d
        results are 0-d arrays. In place of a variable, a dict, a tuple or a dataclass can be
        returned.
    mode
        A :class:`Mode` or its name; ``config.mode`` by default.
    updates
        Pairs or a dict: shared variable -> expression for its next value. All outputs and updates
        are computed from the old values; a call that fails changes no value.
    givens
        Pairs or a dict: variable of the graph -> its replacement. The replacements are
        simultaneous: they are not applied to each other.
    no_default_updates
        ``True``, or a list of shared variables whose ``default_update`` is not applied.
    accept_inplace
        Allow the graph to contain Ops that overwrite their inputs.
    name
        Name of the function, for messages.
    rebuild_strict
        Require replacements in ``givens`` to keep the types of the variables.
    allow_input_downcast
        Allow casts of arguments that lose precision. ``None`` allows them for Python floats if the
        input has the dtype ``config.floatX``.
    profile
        ``True``, a name, or a :class:`Profile`: measure each node. ``config.profile`` by default.
    on_unused_input
        ``"raise"``, ``"warn"`` or ``"ignore"``: what to do about inputs that no output depends on;
        ``config.on_unused_input`` by default.
    trust_input
        Do not check arguments: they must be arrays of the inputs' types. The function has this as
        an attribute, too.

    Returns
    -------
    Function

    Raises
    ------
    MissingInputError
        An expression depends on a variable that is not among the inputs.
    UnusedInputError
        An input is not used, and ``on_unused_input`` is ``"raise"``.
    ArgumentError
        An argument is not valid.

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
    nests = None
    if has_nests(inputs, outputs):
        nests = Nests.around(inputs, outputs)
        inputs, outputs = leaves_of(inputs), None if outputs is None else leaves_of(outputs)
    with collector_paused():
        start = perf_counter()
        specs = checked_inputs(inputs, allow_input_downcast)
        outs, keys, unpack = checked_outputs(outputs)
        mode = get_mode(mode)
        name = checked_name(name)
        unused = checked_choice(on_unused_input)
        profiled = as_profile(profile, name)
        variables = [spec.variable for spec in specs]
        replaced = check_givens(givens, variables, strict=rebuild_strict)
        new_values = check_updates(updates, variables)
        states = {spec: spec.update for spec in specs if spec.update is not None}
        rebuilt = rebuild_collect_shared(
            [*(out.variable for out in outs), *states.values()],
            variables,
            givens=replaced,
            updates=new_values,
            rebuild_strict=rebuild_strict,
            no_default_updates=checked_no_default_updates(no_default_updates),
        )
        if rebuilt.missing:
            raise missing_input(rebuilt, specs, _roots(outs, states, replaced, new_values, rebuilt))
        written = [out.variable for out in outs]
        for expressions in (states, new_values, replaced):
            written.extend(expressions.values())
        check_unused(specs, rebuilt, unused, written)

        fgraph, all_specs, updated = _close(specs, rebuilt, states, len(outs))
        if not accept_inplace:
            refuse_inplace(fgraph)
        with _watched(fgraph, mode, name) as after_pass:
            try:
                guard_memory(fgraph, all_specs)
                trace = _rewrite(fgraph, mode, profiled, after_pass)
            except Exception as error:
                add_note(error, f"While compiling {name or 'a function'} with {mode!r}.")
                raise
            separate_outputs(fgraph, all_specs, [out.borrow for out in outs], updated)
            for feature in fgraph.features:
                if not getattr(feature, "outlives_rewriting", False):
                    fgraph.remove_feature(feature)
            maker = FunctionMaker(
                fgraph,
                all_specs,
                outs,
                updated,
                mode,
                name,
                profiled,
                keys=keys,
                unpack=unpack,
                nests=nests,
                trace=trace,
                origin=current_origin(),
            )
            compiled = Function(maker, [_container(spec) for spec in all_specs])
        compiled.trust_input = trust_input
        if profiled is not None:
            profiled.compile_seconds += perf_counter() - start
        return compiled


@contextmanager
def _watched(fgraph: FunctionGraph, mode: Mode, name: str | None) -> Generator[AfterPass | None]:
    """Show the progress of the compilation of a large graph; yield what to call after passes."""
    count = len(fgraph.apply_nodes)
    if count < _LARGE:
        yield None
        return
    passes = len(mode.pipeline.names)
    doing = f"Compiling {name or 'a function'} of {count:,} nodes"
    with progress.Progress(doing, passes, "passes", alike=False, shown=None) as line:
        yield lambda _, __: line.advance("machine code" if line.done + 1 == passes else "")


def _rewrite(
    fgraph: FunctionGraph, mode: Mode, profile: Profile | None, after_pass: AfterPass | None
) -> RewriteTrace | None:
    """Run the passes of a mode; return a trace of the rewrites if the mode is tracing.

    The time of each pass and rule is added to the profile.
    """
    if profile is None and not mode.traced:
        mode.rewrite(fgraph, None, after_pass)
        return None
    trace = RewriteTrace()
    mode.rewrite(fgraph, trace, after_pass)
    if profile is None:
        return trace
    for name, seconds in trace.passes:
        profile.compiled(name, seconds)
    counts = trace.counts()
    for rule, seconds in trace.seconds().items():
        profile.rewritten(rule, counts[rule], seconds)
    return trace if mode.traced else None


def _roots(
    outs: Sequence[Out],
    states: Mapping[In, Variable],
    replaced: Mapping[Variable, Variable],
    new_values: Mapping[SharedVariable, Variable],
    rebuilt: Rebuilt,
) -> dict[Variable, str]:
    """Return the expressions that the user gave, each with a description of its role."""
    roots: dict[Variable, str] = {}
    for index, out in enumerate(outs):
        roots.setdefault(out.variable, f"output {index}, {out.variable}")
    for spec, expression in states.items():
        roots.setdefault(expression, f"the update of the input {spec.variable}")
    for variable, expression in new_values.items():
        roots.setdefault(expression, f"the update of {variable}")
    for variable, expression in replaced.items():
        roots.setdefault(expression, f"what givens puts in place of {variable}")
    for variable in rebuilt.shared:
        if variable.default_update is not None:
            roots.setdefault(variable.default_update, f"the default update of {variable}")
    return roots


def _close(
    specs: Sequence[In], rebuilt: Rebuilt, states: Iterable[In], returned: int
) -> tuple[FunctionGraph, list[In], list[int]]:
    """Return the graph with shared variables as inputs, its inputs, and the updated ones.

    Explicit inputs come first.
    """
    of_shared = {variable: shared_input(variable) for variable in rebuilt.shared}
    leaves = dict(zip(specs, rebuilt.inputs, strict=True))
    leaves.update(zip(of_shared.values(), rebuilt.shared.values(), strict=True))
    for spec, leaf in leaves.items():
        if spec.sharding is not None:
            leaf.tag.sharding = spec.sharding
    ordered = sorted(leaves, key=lambda spec: spec.implicit)
    place = {spec: position for position, spec in enumerate(ordered)}
    updated = [place[spec] for spec in states]
    updated.extend(place[of_shared[variable]] for variable in rebuilt.updates)
    fgraph = FunctionGraph(
        [leaves[spec] for spec in ordered],
        [*rebuilt.outputs, *rebuilt.updates.values()],
        clone=False,
        update_mapping={returned + i: position for i, position in enumerate(updated)},
    )
    return fgraph, ordered, updated


def _container(spec: In) -> Container:
    """Return the container for an input's value."""
    if isinstance(spec.value, Container):
        return spec.value
    container = Container(spec.variable.type, [None], spec.strict, spec.allow_downcast, spec.name)
    if spec.value is not None:
        value = spec.value.get_value() if isinstance(spec.value, SharedVariable) else spec.value
        container.value = value
    return container
