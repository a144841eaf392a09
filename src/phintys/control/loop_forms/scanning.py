"""``scan``: a loop written as a function of one step."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError, DtypeError, ShapeError, TypeContractError, add_note
from phintys.control.graph_ops.default_updates import DefaultUpdates
from phintys.control.loop_forms.builder import LoopBuilder, check_alike, errors_name
from phintys.control.loop_forms.scan_arguments import (
    as_list,
    described,
    initial_states,
    returned,
    sequences_of,
    tap_name,
)
from phintys.control.loops.arguments import StepOutputs
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.traversal import ancestors
from phintys.graph.variable import Constant, Variable
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.functions import minimum
from phintys.tensor.known import known_int
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from phintys.control.loop_forms.builder import LoopState
    from phintys.control.loop_forms.scan_arguments import Initial, Returned, Rows, Step


def scan(
    fn: Step,
    sequences: Any = None,
    outputs_info: Any = None,
    non_sequences: Any = None,
    n_steps: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
    profile: Any = False,
    allow_gc: bool | None = None,
    strict: bool = False,
    return_list: bool = False,
    return_updates: bool = True,
    checkpoint: int | None = None,
) -> Any:
    """Return the results of a function that is applied repeatedly, to rows and earlier results.

    ``fn`` is called once, with variables that stand for what a step reads, and returns the
    expressions that a step computes. It can use any variables of the surrounding program too; what
    does not depend on the step is computed once, before the loop.

    Parameters
    ----------
    fn
        The step. Its arguments are the rows of the sequences, a variable for each tap; then the
        states, a variable for each tap; then the non-sequences. It returns outputs (a variable or a
        list), updates of shared variables (a dict or a list of pairs), and the condition that ends
        the loop (:func:`~phintys.until`), or any of these.
    sequences
        Tensors; step t reads row t. ``dict(input=x, taps=[-1, 0, 2])`` is a sequence of which it
        reads several rows: the first step is the first for which all of them exist, and the last
        step the last. Or a list of these.
    outputs_info
        For each output the value before the first step, which makes it a state that the next step
        reads; ``dict(initial=x, taps=[-1, -3])`` if steps read other rows, of which ``x`` has those
        before the first step; or ``None`` if later steps do not read it. A Python number takes the
        dtype of the state that the step computes. Of a state that is not a tensor, only the last
        value is kept. By default all are ``None``.
    non_sequences
        Further arguments, the same in all steps.
    n_steps
        The number of steps; by default that of the shortest sequence.
    truncate_gradient
        How many steps, counted from the last one, gradients are propagated through; -1 for all.
    go_backwards
        Whether the sequences are read from their ends.
    mode
        Accepted for compatibility: the steps run in the mode of the function that contains the
        loop. A mode here has no effect.
    name
        A name, for printing and profiles.
    profile
        A string is the name, if there is no other. The profile of a function shows its loops in any
        case.
    allow_gc
        Accepted for compatibility: the memory of a step is used for all of them.
    strict
        Whether shared variables in the step that are not among the sequences or non-sequences are
        an error; those that the step updates, such as generators of random numbers, are not.
    return_list
        Return a list of outputs even if there is a single one.
    return_updates
        Return the updates too. ``False`` is refused if the step returns updates.
    checkpoint
        What gradients keep of the steps. ``None``: all that they need, or, if that is estimated to
        take more than ``config.loop_megabytes``, the states before some of the steps; the others
        are run again. A number: the states before every that many steps. ``False``: all.

    Returns
    -------
    outputs
        For each output its rows, stacked; a single output, or a list; ``None`` if there are none.
    updates
        Shared variable -> its value after the last step. Pass them to ``phintys.function``. Those
        of shared variables with default updates that are set in the step, such as the generators
        of random numbers, become their default updates, so that they need not be passed.

    Raises
    ------
    ArgumentError
        An argument is invalid, or the function does not return what ``outputs_info`` says.
    ShapeError, DtypeError, TypeContractError
        A state does not have the same rank, dtype or shape in all steps.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> x = pt.dvector("x")
    >>> smooth, _ = phintys.scan(lambda x, s: 0.5 * s + 0.5 * x, sequences=x, outputs_info=0.0)
    >>> smooth.eval({x: [2.0, 4.0, 8.0]})
    array([1.  , 2.5 , 5.25])

    The numbers of Fibonacci, from two rows before the first step:

    >>> fibonacci, _ = phintys.scan(
    ...     lambda a, b: a + b,
    ...     outputs_info=dict(initial=pt.constant([0, 1]), taps=[-2, -1]),
    ...     n_steps=8,
    ... )
    >>> fibonacci.eval()
    array([ 1,  2,  3,  5,  8, 13, 21, 34])
    """
    if not callable(fn):
        msg = f"The step of a scan must be a function, got {fn!r} of type {type(fn).__name__}."
        raise ArgumentError(msg)
    _check_options(truncate_gradient, name)
    rows, initial = sequences_of(sequences), initial_states(outputs_info)
    fixed = [
        x if isinstance(x, Variable) else as_tensor_variable(x) for x in as_list(non_sequences)
    ]
    builder = LoopBuilder()
    names = _parameters(fn)
    parts = [part for each in rows for part in each.parts(go_backwards)]
    arguments = _sequence_arguments(builder, rows, parts, names)
    n = _number_of_steps(n_steps, rows, parts)
    states: list[LoopState | None] = []
    for entry in initial or ():
        state = _state(builder, entry, names)
        states.append(state)
        if state is not None:
            arguments += _in_order(state, entry.taps)
    with errors_name(fn):
        _check_arguments(fn, [*arguments, *fixed])
    defaults = DefaultUpdates()
    with defaults.watching():
        values = fn(*arguments, *fixed)
    with errors_name(fn):
        made = returned(values)
        if made.updates and not return_updates:
            raise _dropped(made.updates)
        _add_default_updates(made, defaults)
        if strict:
            _check_strict(made, [*arguments, *fixed, *made.updates, *(each.x for each in rows)])
        if initial is None:
            states = [None] * len(made.outputs)
        _check_count(made.outputs, states)
        for shared in made.updates:
            builder.add_updated(shared)
        outputs = builder.settle_dtypes(_sorted(made, states))
        _check_states(builder, outputs, states)
    known = {x for x in fixed if not isinstance(x, Constant) and x not in made.updates}
    results = builder.build(
        n,
        outputs,
        name or (profile if isinstance(profile, str) else None),
        truncate_gradient,
        checkpoint,
        known,
    )
    carried, untraced, stacked = map(iter, (results.carried, results.untraced, results.stacked))
    found: list[Any] = []
    for state in states:
        if state is None:
            found.append(next(stacked))
        elif state.taps:
            found.append(next(carried)[-state.taps[0] :])
        else:
            found.append(next(untraced))
    updates = dict(zip(made.updates, untraced, strict=True))
    defaults.keep(updates[shared] for shared in defaults.taken)
    whole: Any = found
    if not return_list:
        whole = None if not found else found[0] if len(found) == 1 else found
    return (whole, updates) if return_updates else whole


class _Names:
    """The names of the parameters of a function, which name what a step reads."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = iter(names)

    def next(self) -> str | None:
        """Return the name of the next parameter; ``None`` if there is none."""
        return next(self._names, None)


def _parameters(fn: Callable[..., Any]) -> _Names:
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):  # of a function that is not written in Python
        return _Names(())
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return _Names([one.name for one in parameters if one.kind in kinds])


def _check_options(truncate_gradient: Any, name: Any) -> None:
    if not isinstance(truncate_gradient, int) or truncate_gradient < -1 or truncate_gradient == 0:
        msg = (
            "truncate_gradient must be a positive number of steps, or -1 for all; got "
            f"{truncate_gradient!r}."
        )
        raise ArgumentError(msg)
    if name is not None and not isinstance(name, str):
        msg = f"The name of a scan must be a string, got {name!r}."
        raise ArgumentError(msg)


# ---- what a step reads ---------------------------------------------------------------------------


def _sequence_arguments(
    builder: LoopBuilder, rows: Sequence[Rows], parts: Sequence[Any], names: _Names
) -> list[Any]:
    """Return the arguments that a step gets from the sequences."""
    taps = [(each, tap) for each in rows for tap in each.taps]
    return [
        builder.add_sequence(part, tap_name(each.x, names.next(), tap))
        for (each, tap), part in zip(taps, parts, strict=True)
    ]


def _state(builder: LoopBuilder, entry: Initial, names: _Names) -> LoopState | None:
    """Return the state of an output; ``None`` if steps do not read it."""
    value = entry.value
    if value is None:
        return None
    given = {tap: tap_name(value, names.next(), tap) for tap in entry.taps}
    taps = tuple(sorted(entry.taps))
    if not isinstance(value.type, TensorType):
        return builder.add_untraced(value, given[-1])
    if taps == (-1,):
        first = value[None]
    else:
        depth = -taps[0]
        first = value if value.type.shape[0] == depth else value[:depth]
    return builder.add_carried(first, taps, [given[tap] for tap in taps], entry.is_weak)


def _in_order(state: LoopState, taps: Sequence[int]) -> list[Any]:
    """Return the arguments that a step gets from a state, in their order."""
    if not state.taps:
        return list(state.rows)
    found = dict(zip(state.taps, state.rows, strict=True))
    return [found[tap] for tap in taps]


def _number_of_steps(n_steps: Any, rows: Sequence[Rows], parts: Sequence[Any]) -> Any:
    if n_steps is None:
        if not rows:
            msg = (
                "A scan needs the number of steps: give n_steps, or a sequence, whose length is "
                "the number of steps."
            )
            raise ArgumentError(msg)
        firsts: list[Any] = []
        at = 0
        for each in rows:  # the parts of a sequence have the same length
            firsts.append(parts[at])
            at += len(each.taps)
        known = [part.type.shape[0] for part in firsts]
        if None not in known:
            return as_tensor_variable(min(known))
        n = firsts[0].shape[0]
        for part in firsts[1:]:
            n = minimum(n, part.shape[0])
        return n
    if isinstance(n_steps, bool):
        msg = f"The number of steps of a scan must be an integer, got {n_steps!r}."
        raise DtypeError(msg)
    try:
        n: Any = as_tensor_variable(n_steps)
    except TypeError as error:
        add_note(error, "It is n_steps, the number of steps of a scan, an integer.")
        raise
    if n.type.ndim:
        msg = (
            f"The number of steps of a scan must be a tensor of rank 0, got {described(n)}\nFor "
            "the length of a tensor x, write x.shape[0]."
        )
        raise ShapeError(msg)
    if n.type.numpy_dtype.kind not in "iu":
        msg = (
            f"The number of steps of a scan must be an integer, got {described(n)}\nConvert it "
            'with n.astype("int64").'
        )
        raise DtypeError(msg)
    _check_known(known_int(n), rows, parts)
    return n


def _check_known(n: int | None, rows: Sequence[Rows], parts: Sequence[Any]) -> None:
    """Check a number of steps that is known."""
    if n is None:
        return
    if n < 0:
        msg = (
            f"A scan cannot have {n} steps: n_steps must not be negative. For sequences that are "
            "read from their ends, give go_backwards=True."
        )
        raise ArgumentError(msg)
    at = 0
    for number, each in enumerate(rows):
        size = parts[at].type.shape[0]
        at += len(each.taps)
        if size is not None and size < n:
            taps = "" if each.taps == (0,) else f" for the taps {list(each.taps)}"
            msg = (
                f"Sequence {number} of a scan has rows for {size} steps{taps}, and n_steps is {n}: "
                f"{described(each.x)}\nPass a longer sequence, or fewer steps."
            )
            raise ShapeError(msg)


# ---- what a step computes ------------------------------------------------------------------------


def _check_arguments(fn: Callable[..., Any], arguments: Sequence[Any]) -> None:
    """Check that the function of a step can be called with its arguments."""
    try:
        inspect.signature(fn).bind(*arguments)
    except ValueError:  # it is not written in Python
        pass
    except TypeError as error:
        listed = ", ".join(map(str, arguments)) or "none"
        msg = (
            f"The function of a scan is called with {len(arguments)} arguments, the sequences, "
            f"states and non-sequences in this order ({listed}), which do not fit its parameters: "
            f"{error}."
        )
        raise ArgumentError(msg) from error


def _add_default_updates(made: Returned, defaults: DefaultUpdates) -> None:
    """Add the default updates that the step set and depends on."""
    outputs = [*made.outputs, *made.updates.values()]
    if made.condition is not None:
        outputs.append(made.condition)
    defaults.take(outputs, made.updates)
    made.updates.update(defaults.taken)


def _dropped(updates: Iterable[SharedVariable]) -> ArgumentError:
    return ArgumentError(
        f"The step of a scan updates {', '.join(map(str, updates))}, and with return_updates=False "
        "these updates would be lost. Leave it out, and pass the updates that scan returns to "
        "phintys.function."
    )


def _check_strict(made: Returned, known: Iterable[Variable]) -> None:
    """Check that all shared variables that a step uses are known."""
    blockers = set(known)
    outputs = [*made.outputs, *made.updates, *made.updates.values()]
    if made.condition is not None:
        outputs.append(made.condition)
    found = [
        variable
        for variable in ancestors(outputs, blockers)
        if isinstance(variable, SharedVariable) and variable not in blockers
    ]
    if found:
        listed = ", ".join(map(str, found))
        msg = (
            f"The step of a scan uses the shared variables {listed}, which strict=True forbids "
            "unless they are among the non_sequences. Add them there, as in non_sequences="
            f"[{listed}], or leave strict off."
        )
        raise ArgumentError(msg)


def _check_count(outputs: Sequence[Any], states: Sequence[Any]) -> None:
    if len(outputs) == len(states):
        return
    listed = "".join(f"\n  {described(output)}" for output in outputs)
    msg = (
        f"The function of a scan returned {len(outputs)} outputs, and outputs_info has "
        f"{len(states)} entries. It needs one for each output, in the same order: the value before "
        "the first step, or None for an output that steps do not read."
    )
    if outputs:
        msg = f"{msg} The outputs:{listed}"
    raise ArgumentError(msg)


def _sorted(made: Returned, states: Sequence[LoopState | None]) -> StepOutputs[Any]:
    """Sort the results of a step by kind."""
    found = StepOutputs[Any]([], [], [], made.condition)
    for output, state in zip(made.outputs, states, strict=True):
        if state is None:
            found.stacked.append(output)
        elif state.taps:
            found.carried.append(output)
        else:
            found.untraced.append(output)
    found.untraced += made.updates.values()
    return found


def _check_states(
    builder: LoopBuilder, outputs: StepOutputs[Any], states: Sequence[LoopState | None]
) -> None:
    """Check that what a step computes can be stacked, and be what the next step reads."""
    numbers = [number for number, state in enumerate(states) if state is None]
    for number, output in zip(numbers, outputs.stacked, strict=True):
        if not isinstance(output.type, TensorType):
            msg = (
                f"Output {number} of the function of a scan cannot be stacked, since it is not a "
                f"tensor: {described(output)}\nGive it an initial value in outputs_info: then its "
                "last value is the result."
            )
            raise TypeContractError(msg)
    place = {id(state): number for number, state in enumerate(states) if state is not None}
    pairs = zip(
        [*builder.carried, *builder.untraced], [*outputs.carried, *outputs.untraced], strict=True
    )
    for state, new in pairs:
        if id(state) in place:
            check_alike(state, new, f"State {place[id(state)]} of a scan")
