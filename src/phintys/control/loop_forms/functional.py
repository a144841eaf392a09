"""Loops in functional form: ``loop``, ``while_loop`` and ``fori_loop``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phintys._base.errors import ArgumentError, DtypeError, ShapeError, add_note
from phintys._base.nested_containers import forms_of, matched, rebuilt, walk
from phintys._base.records import record
from phintys.control.graph_ops.default_updates import DefaultUpdates
from phintys.control.loop_forms.builder import LoopBuilder, check_alike, errors_name
from phintys.control.loop_forms.scan_arguments import described, tap_name
from phintys.control.loops.arguments import StepOutputs
from phintys.graph.variable import Variable
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.functions import eq, maximum, switch
from phintys.tensor.known import known_int
from phintys.tensor.observing import Assert
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.control.loop_forms.builder import LoopState

_ENDLESS = np.iinfo(np.int64).max


def loop(
    body: Callable[[Any, Any], Any],
    init: Any,
    xs: Any = None,
    length: Any = None,
    reverse: bool = False,
    name: str | None = None,
    truncate_gradient: int = -1,
    checkpoint: int | None = None,
) -> tuple[Any, Any]:
    """Return the last carry of a loop, and the rows that its steps computed.

    It is :func:`~phintys.scan` in functional form: ``body(carry, x) -> (carry, row)`` is called
    once, with variables that stand for what a step reads. Carry, x and row are each a variable, or
    tuples, lists and dicts of any depth around variables; ``None`` stands for no value.

    Parameters
    ----------
    body
        The step. It returns a carry of the same form, dtypes and shapes as it was given, and a row.
    init
        The carry before the first step. Python numbers take the dtype that the step computes.
    xs
        Tensors with a row for each step, all of the same length. Without it, x is ``None``.
    length
        The number of steps; needed without ``xs``.
    reverse
        Whether the steps go from the last row to the first. The rows of the result are in the order
        of ``xs`` in any case.
    name, truncate_gradient, checkpoint
        As for :func:`~phintys.scan`.

    Returns
    -------
    carry
        The carry after the last step.
    rows
        What the steps computed, stacked.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.control import loop
    >>> x = pt.dvector("x")
    >>> def body(carry, x):
    ...     count, total = carry
    ...     return (count + 1, total + x), (total + x) / (count + 1)
    >>> (count, total), means = loop(body, (0, 0.0), x)
    >>> phintys.function([x], [count, total, means])([1.0, 3.0, 8.0])
    [array(3), array(12.), array([1., 2., 4.])]
    """
    _check_function(body, "body", "loop")
    builder = LoopBuilder()
    sequences = [_sequence(path, x) for path, x in walk(xs) if x is not None]
    n = _length(length, sequences)
    given: list[Any] = []
    parts = iter(sequences)
    for path, x in walk(xs):
        if x is None:
            given.append(None)
            continue
        _, part = next(parts)
        ordered = part[::-1] if reverse else part
        given.append(builder.add_sequence(ordered, tap_name(part, f"x{path}", 0)))
    carry = _Carry(builder, init, traced=True, what="loop")
    defaults = DefaultUpdates()
    with defaults.watching():
        found = body(carry.given, rebuilt(xs, given))
    with errors_name(body):
        made, row = _pair(found, carry)
        defaults.add_to(builder, made)
        made = builder.settle_dtypes(made)
        carry.check(made)
    results = builder.build(n, made, name, truncate_gradient, checkpoint)
    defaults.keep_last(results.untraced)
    rows = iter([stack[::-1] for stack in results.stacked] if reverse else results.stacked)
    listed = [None if entry is None else next(rows) for _, entry in walk(row)]
    return carry.last(results), rebuilt(row, listed)


def while_loop(
    condition: Callable[[Any], Any],
    body: Callable[[Any], Any],
    init: Any,
    name: str | None = None,
    checkpoint: int | None = None,
) -> Any:
    """Return the last carry of a loop that runs as long as a condition is true.

    Only the last carry is kept, so memory does not grow with the number of steps, unless a gradient
    needs the earlier ones.

    Parameters
    ----------
    condition
        A function of the carry, which returns a truth value, a tensor of rank 0.
    body
        A function from a carry to the next one, of the same form, dtypes and shapes.
    init
        The carry before the first step: a variable, or tuples, lists and dicts of any depth around
        variables. Python numbers take the dtype that the step computes.
    name
        A name, for printing and profiles.
    checkpoint
        As for :func:`~phintys.scan`.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.control import while_loop
    >>> a, b = pt.lscalars("a", "b")
    >>> divisor, _ = while_loop(lambda pair: pair[1] > 0, lambda p: (p[1], p[0] % p[1]), (a, b))
    >>> divisor.eval({a: 48, b: 36})
    array(12)
    """
    _check_function(condition, "condition", "while_loop")
    _check_function(body, "body", "while_loop")
    builder = LoopBuilder()
    carry = _Carry(builder, init, traced=False, what="while_loop")
    defaults = DefaultUpdates()
    with defaults.watching():
        new = body(carry.given)
    with errors_name(body):
        made = carry.results(new)
    with defaults.watching():
        ends = condition(rebuilt(init, carry.whole(made.untraced)))
    with errors_name(condition):
        made.until = eq(_condition(ends), 0)
    defaults.add_to(builder, made)
    with errors_name(body):
        made = builder.settle_dtypes(made)
        carry.check(made)
    first = _condition(condition(carry.initial))
    n = switch(first, np.int64(_ENDLESS), np.int64(0))
    results = builder.build(n, made, name, checkpoint=checkpoint)
    defaults.keep_last(results.untraced)
    return carry.last(results)


def fori_loop(
    lower: Any,
    upper: Any,
    body: Callable[[Any, Any], Any],
    init: Any,
    name: str | None = None,
    truncate_gradient: int = -1,
    checkpoint: int | None = None,
) -> Any:
    """Return the last carry of a loop over the integers from ``lower`` to ``upper - 1``.

    Parameters
    ----------
    lower, upper
        Integers, or integer tensors of rank 0. There are no steps if ``upper <= lower``.
    body
        A function ``body(i, carry) -> carry``.
    init
        The carry before the first step, as for :func:`while_loop`.
    name, truncate_gradient, checkpoint
        As for :func:`~phintys.scan`.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.control import fori_loop
    >>> n = pt.lscalar("n")
    >>> factorial = fori_loop(1, n + 1, lambda i, product: product * i, 1)
    >>> factorial.eval({n: 5})
    array(120)
    """
    _check_function(body, "body", "fori_loop")
    first, stop = _bound(lower, "lower"), _bound(upper, "upper")
    builder = LoopBuilder()
    carry = _Carry(builder, init, traced=True, what="fori_loop")
    start = known_int(first)
    at = builder.index if start == 0 else builder.index + first
    defaults = DefaultUpdates()
    with defaults.watching():
        new = body(at, carry.given)
    with errors_name(body):
        made = carry.results(new)
        defaults.add_to(builder, made)
        made = builder.settle_dtypes(made)
        carry.check(made)
    end = known_int(stop)
    n: Any = maximum(stop - first, 0)
    if start is not None and end is not None:
        n = np.int64(max(end - start, 0))
    results = builder.build(n, made, name, truncate_gradient, checkpoint)
    defaults.keep_last(results.untraced)
    return carry.last(results)


# ---- carries -------------------------------------------------------------------------------------


@record(eq=False)
class _Entry:
    """A value of a carry: where it is, and the state that it is; ``None`` for nothing."""

    path: str
    state: LoopState | None


class _Carry:
    """The carry of a loop.

    Parameters
    ----------
    builder
        The loop.
    init
        The carry before the first step.
    traced
        Whether the values of all steps are kept, of tensors.
    what
        The name of the function, for messages.
    """

    def __init__(self, builder: LoopBuilder, init: Any, traced: bool, what: str) -> None:
        self._builder = builder
        self._init = init
        self._what = what
        self._entries = [
            _Entry(path, None if value is None else self._state(path, value, traced))
            for path, value in walk(init)
        ]
        rows = [entry.state and entry.state.rows[0] for entry in self._entries]
        self.given = rebuilt(init, rows)

    def _state(self, path: str, value: Any, traced: bool) -> LoopState:
        is_weak = isinstance(value, bool | int | float | complex) and not isinstance(
            value, np.generic
        )
        variable: Any = value
        if not isinstance(value, Variable) or isinstance(value.type, TensorType):
            try:
                variable = as_tensor_variable(value)
            except TypeError as error:
                add_note(error, f"It is the initial carry{path} of a {self._what}.")
                raise
        name = tap_name(variable, f"carry{path}", -1)
        if traced and isinstance(variable.type, TensorType):
            return self._builder.add_carried(variable[None], (-1,), [name], is_weak)
        return self._builder.add_untraced(variable, name, is_weak)

    @property
    def initial(self) -> Any:
        """The carry before the first step, of an untraced loop."""
        return rebuilt(self._init, [entry.state and entry.state.initial for entry in self._entries])

    def whole(self, values: list[Any]) -> list[Any]:
        """Return values of an untraced loop with ``None`` where the carry has it."""
        rest = iter(values)
        return [entry.state and next(rest) for entry in self._entries]

    def results(self, new: Any) -> StepOutputs[Any]:
        """Return the results of a step, given the carry that its function returned."""
        listed = matched(new, self._init)
        if listed is None or any(
            (value is None) is not (entry.state is None)
            for value, entry in zip(listed, self._entries, strict=True)
        ):
            expected, got = forms_of(self._init, new)
            msg = (
                f"The body of a {self._what} must return a carry of the same form as the initial "
                f"one, {expected}; got {got}."
            )
            raise ArgumentError(msg)
        made = StepOutputs[Any]([], [], [])
        for value, entry in zip(listed, self._entries, strict=True):
            if entry.state is None:
                continue
            old = entry.state.rows[0]
            (made.carried if entry.state.taps else made.untraced).append(
                self._converted(value, old, entry.path)
            )
        return made

    def _converted(self, value: Any, old: Any, path: str) -> Any:
        if isinstance(value, Variable) and not isinstance(old.type, TensorType):
            return value
        try:
            return as_tensor_variable(value)
        except TypeError as error:
            add_note(error, f"It is the new carry{path} of a {self._what}, which was {old.type}.")
            raise

    def check(self, made: StepOutputs[Any]) -> None:
        """Check that the new carry can be what the next step reads."""
        carried, untraced = iter(made.carried), iter(made.untraced)
        for entry in self._entries:
            if entry.state is not None:
                new = next(carried if entry.state.taps else untraced)
                check_alike(entry.state, new, f"The carry{entry.path} of a {self._what}")

    def last(self, results: Any) -> Any:
        """Return the carry after the last step."""
        carried, untraced = iter(results.carried), iter(results.untraced)
        found = [
            entry.state and (next(carried)[-1] if entry.state.taps else next(untraced))
            for entry in self._entries
        ]
        return rebuilt(self._init, found)


def _pair(found: Any, carry: _Carry) -> tuple[StepOutputs[Any], Any]:
    """Return the results of a step, and its row in the form in which the body returned it."""
    if not isinstance(found, tuple | list) or len(cast("list[Any]", found)) != 2:
        msg = (
            "The body of a loop must return a pair of the new carry and a row; got "
            f"{found!r}. Without a row, return (carry, None)."
        )
        raise ArgumentError(msg)
    new, row = cast("list[Any]", found)
    made = carry.results(new)
    made.stacked = [_row(path, entry) for path, entry in walk(row) if entry is not None]
    return made, row


# ---- other arguments -----------------------------------------------------------------------------


def _check_function(function: Any, argument: str, what: str) -> None:
    if not callable(function):
        msg = (
            f"The {argument} of a {what} must be a function, got {function!r} of type "
            f"{type(function).__name__}."
        )
        raise ArgumentError(msg)


def _sequence(path: str, x: Any) -> tuple[str, Any]:
    what = f"xs{path} of a loop"
    try:
        found: Any = as_tensor_variable(x)
    except TypeError as error:
        add_note(error, f"It is {what}, which must be a tensor.")
        raise
    if found.type.ndim == 0:
        msg = (
            f"{what} must have a row for each step, got a tensor of rank 0: {described(found)}\n"
            "Use a value that is the same in all steps in the body as it is."
        )
        raise ShapeError(msg)
    return what, found


def _length(length: Any, sequences: list[tuple[str, Any]]) -> Any:
    """Return the number of steps, checked against the lengths of all sequences."""
    sizes: list[tuple[str, Any]] = [(what, x.shape[0]) for what, x in sequences]
    if length is not None:
        sizes.insert(0, ("length", _bound(length, "length")))
    if not sizes:
        msg = "A loop needs the number of steps: give length, or xs, which has a row for each."
        raise ArgumentError(msg)
    first, n = sizes[0]
    known = known_int(n)
    if known is not None and known < 0:
        msg = f"The length of a loop must not be negative, got {known}."
        raise ArgumentError(msg)
    conditions: list[Any] = []
    for what, size in sizes[1:]:
        other = known_int(size)
        if known is None or other is None:
            conditions.append(eq(n, size))
        elif known != other:
            begins = f"{first} is {known}" if first == "length" else f"{first} has {known} rows"
            msg = (
                f"{begins}, and {what} has {other}. All must have the same length: take "
                "a part of the longer one, such as x[:n]."
            )
            raise ShapeError(msg)
    if not conditions:
        return n if known is None else np.int64(known)
    listed = ", ".join(what for what, _ in sizes)
    return Assert(f"The lengths of {listed} must be equal.")(n, *conditions)


def _row(path: str, entry: Any) -> Any:
    try:
        return as_tensor_variable(entry)
    except TypeError as error:
        add_note(
            error,
            f"It is row{path} that the body of a loop returned: rows are tensors, which are "
            "stacked. Return None for no row.",
        )
        raise


def _bound(given: Any, argument: str) -> Any:
    if isinstance(given, bool):
        msg = f"{argument} must be an integer, got {given!r}."
        raise DtypeError(msg)
    try:
        found: Any = as_tensor_variable(given)
    except TypeError as error:
        add_note(error, f"It is {argument}, an integer.")
        raise
    if found.type.ndim:
        msg = f"{argument} must be an integer tensor of rank 0, got {described(found)}"
        raise ShapeError(msg)
    if found.type.numpy_dtype.kind not in "iu":
        msg = (
            f"{argument} must be an integer, got {described(found)}\nConvert it with "
            'n.astype("int64").'
        )
        raise DtypeError(msg)
    return found.astype("int64")


def _condition(given: Any) -> Any:
    try:
        found: Any = as_tensor_variable(given)
    except TypeError as error:
        add_note(error, "The condition of a while_loop returned it, and must return a truth value.")
        raise
    if found.type.ndim:
        msg = (
            "The condition of a while_loop must return a single truth value, a tensor of rank 0; "
            f"got {described(found)}\nReduce it with .any() or .all()."
        )
        raise ShapeError(msg)
    return found
