"""What ``scan`` takes and what its steps return, in all their forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phintys._base.errors import ArgumentError, ShapeError, add_note
from phintys._base.origin import current_origin
from phintys._base.records import record
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.variable import Variable
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable

    # By numbers of arguments, and not with `...`, so that checkers know the parameters of lambdas.
    Step = (
        Callable[[], Any]
        | Callable[[Any], Any]
        | Callable[[Any, Any], Any]
        | Callable[[Any, Any, Any], Any]
        | Callable[[Any, Any, Any, Any], Any]
        | Callable[[Any, Any, Any, Any, Any], Any]
        | Callable[[Any, Any, Any, Any, Any, Any], Any]
        | Callable[[Any, Any, Any, Any, Any, Any, Any], Any]
        | Callable[[Any, Any, Any, Any, Any, Any, Any, Any], Any]
        | Callable[[Any, Any, Any, Any, Any, Any, Any, Any, Any], Any]
        | Callable[[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any], Any]
        | Callable[[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any], Any]
        | Callable[[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any], Any]
    )


@record()
class Rows:
    """A sequence and the taps that a step reads.

    Attributes
    ----------
    x
        The tensor.
    taps
        The taps, in the order of the arguments of the step.
    """

    x: Any
    taps: tuple[int, ...]

    def parts(self, go_backwards: bool) -> list[Any]:
        """Return, for each tap, a tensor whose row t is what step t reads."""
        first, last = min(*self.taps, 0), max(*self.taps, 0)
        found: list[Any] = []
        for tap in self.taps:
            stop = tap - last
            part = self.x
            if first != last:
                part = part[tap - first : stop or None]
            found.append(part[::-1] if go_backwards else part)
        return found


@record()
class Initial:
    """What ``outputs_info`` says about an output.

    Attributes
    ----------
    value
        The value before the first step, or the rows before it; ``None`` if steps do not read it.
    taps
        The taps, in the order of the arguments of the step.
    is_weak
        Whether the value is a Python number.
    """

    value: Any
    taps: tuple[int, ...] = ()
    is_weak: bool = False


def as_list(given: Any) -> list[Any]:
    """Return an argument as a list: ``None`` is empty, and a single value is a list of one."""
    if given is None:
        return []
    return list(cast("list[Any]", given)) if isinstance(given, list | tuple) else [given]


def described(variable: Any) -> str:
    """Return a variable with its type and the line that made it."""
    where = f"\nIt was made at\n  {variable.origin}" if variable.origin is not None else ""
    return f"{variable} of type {variable.type}.{where}"


def tap_name(x: Any, fallback: str | None, tap: int) -> str | None:
    """Return a name such as ``x[t-1]``, or that of the parameter if the variable has none."""
    name = getattr(x, "name", None)
    if name is None:
        return fallback
    return f"{name}[t]" if tap == 0 else f"{name}[t{tap:+d}]"


# ---- sequences -----------------------------------------------------------------------------------


def sequences_of(given: Any) -> list[Rows]:
    """Return the argument ``sequences``, checked."""
    return [_rows(entry, number) for number, entry in enumerate(as_list(given))]


def _rows(entry: Any, number: int) -> Rows:
    what = f"Sequence {number} of a scan"
    taps: Any = None
    x = entry
    if isinstance(entry, dict):
        fields = cast("dict[str, Any]", entry)
        _check_keys(fields, {"input", "taps"}, what)
        if fields.get("input") is None:
            msg = (
                f"{what} has no input: {fields!r}. Write dict(input=x, taps=[-1, 0]), or pass the "
                "tensor itself."
            )
            raise ArgumentError(msg)
        x, taps = fields["input"], fields.get("taps")
    tensor: Any = _as_tensor(x, what)
    if tensor.type.ndim == 0:
        msg = (
            f"{what} must have a row for each step, got a tensor of rank 0: {described(tensor)}\n"
            "Pass a value that is the same in all steps among the non_sequences, or use it in the "
            "step as it is."
        )
        raise ShapeError(msg)
    return Rows(tensor, (0,) if taps is None else _taps(taps, what, lambda _: True))


def _taps(given: Any, what: str, fits: Callable[[int], bool]) -> tuple[int, ...]:
    listed = list(given) if isinstance(given, list | tuple | range | np.ndarray) else [given]
    for tap in listed:
        if not isinstance(tap, int | np.integer) or isinstance(tap, bool):
            msg = f"The taps of {what[0].lower()}{what[1:]} must be integers, got {given!r}."
            raise ArgumentError(msg)
    taps = tuple(int(tap) for tap in listed)
    if not taps:
        msg = (
            f"{what} has an empty list of taps, so steps would not read it. Leave it out, or name "
            "a tap."
        )
        raise ArgumentError(msg)
    if len(set(taps)) < len(taps):
        msg = f"The taps of {what[0].lower()}{what[1:]} must all be different, got {given!r}."
        raise ArgumentError(msg)
    for tap in taps:
        if not fits(tap):
            msg = (
                f"The taps of {what[0].lower()}{what[1:]} must be negative, since a step reads "
                f"what earlier ones computed: -1 is the step before. Got {tap} in {given!r}."
            )
            raise ArgumentError(msg)
    return taps


def _check_keys(fields: dict[str, Any], known: set[str], what: str) -> None:
    unknown = fields.keys() - known
    if unknown:
        listed = ", ".join(sorted(map(repr, unknown)))
        msg = f"{what} has unknown keys {listed}; the keys are {', '.join(sorted(known))}."
        raise ArgumentError(msg)


def _as_tensor(x: Any, what: str) -> Any:
    try:
        return as_tensor_variable(x)
    except TypeError as error:
        add_note(error, f"It is {what[0].lower()}{what[1:]}, which must be a tensor.")
        raise


# ---- states --------------------------------------------------------------------------------------


def initial_states(given: Any) -> list[Initial] | None:
    """Return the argument ``outputs_info``, checked; ``None`` if it says nothing."""
    listed = as_list(given)
    return [_initial(entry, number) for number, entry in enumerate(listed)] if listed else None


def _initial(entry: Any, number: int) -> Initial:
    what = f"Entry {number} of outputs_info"
    if entry is None:
        return Initial(None)
    taps: Any = None
    value = entry
    if isinstance(entry, dict):
        fields = cast("dict[str, Any]", entry)
        _check_keys(fields, {"initial", "taps", "inplace"}, what)
        value, taps = fields.get("initial"), fields.get("taps")
        if value is None:
            if taps is None:
                return Initial(None)
            msg = (
                f"{what} has taps but no initial value: {fields!r}. The first steps read rows "
                "before the first one: write dict(initial=x, taps=[-1]); or None for an output "
                "that steps do not read."
            )
            raise ArgumentError(msg)
    order = (-1,) if taps is None else _taps(taps, what, lambda tap: tap < 0)
    is_weak = isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic)
    if isinstance(value, Variable) and not isinstance(value.type, TensorType):
        value = _untraced(value, order, what)
        if not isinstance(value.type, TensorType):
            return Initial(value, order)
    tensor: Any = _as_tensor(value, what)
    if order != (-1,):
        _check_rows(tensor, order, what)
    return Initial(tensor, order, is_weak)


def _untraced(value: Variable, taps: tuple[int, ...], what: str) -> Variable:
    """Return a value that is not a tensor, as a tensor if its Type has a conversion."""
    try:
        return as_tensor_variable(value)
    except TypeError:
        pass
    if taps != (-1,):
        msg = (
            f"{what} has the taps {list(taps)}, and is {described(value)}\nOnly the last value of "
            "what is not a tensor is kept: use the tap -1."
        )
        raise ArgumentError(msg)
    return value


def _check_rows(tensor: Any, taps: tuple[int, ...], what: str) -> None:
    needed = -min(taps)
    listed = list(taps)
    if tensor.type.ndim == 0:
        msg = (
            f"{what} has the taps {listed}, so its initial value must have {needed} rows, of which "
            f"the last is the one before the first step. Got {described(tensor)}"
        )
        raise ShapeError(msg)
    rows = tensor.type.shape[0]
    if rows is not None and rows < needed:
        msg = (
            f"{what} has the taps {listed}, so its initial value needs {needed} rows; it has "
            f"{rows}: {described(tensor)}"
        )
        raise ShapeError(msg)


class until:
    """The condition that ends a :func:`~phintys.scan` after the step that computes it.

    Parameters
    ----------
    condition
        A tensor of rank 0; all numbers but 0 are true.

    Examples
    --------
    >>> import phintys
    >>> powers, _ = phintys.scan(
    ...     lambda x: (x * 2, phintys.until(x * 2 > 50)), outputs_info=1, n_steps=100
    ... )
    >>> powers.eval()
    array([ 2,  4,  8, 16, 32, 64])
    """

    def __init__(self, condition: Any) -> None:
        try:
            self.condition: Any = as_tensor_variable(condition)
        except TypeError as error:
            add_note(error, "It is the condition of until, a single truth value.")
            raise
        if self.condition.type.ndim:
            msg = (
                "The condition of until must be a single truth value, a tensor of rank 0; got "
                f"{described(self.condition)}\nReduce it with .any() or .all()."
            )
            raise ShapeError(msg)
        self.origin = current_origin()


@record()
class Returned:
    """What a step returned.

    Attributes
    ----------
    outputs
        The outputs.
    updates
        Shared variable -> its new value.
    condition
        The condition of ``until``, if there is one.
    """

    outputs: list[Any]
    updates: dict[Any, Any]
    condition: Any = None


def returned(given: Any) -> Returned:
    """Sort the results of the function of a scan.

    Outputs are a variable, several, or a list of them; updates are a dict or a list of pairs whose
    first is a shared variable; the condition is an :class:`until`. They can be in any order.
    """
    found = Returned([], {})
    if given is None:
        msg = (
            "The function of a scan returned None. It must return outputs, updates, or both: is a "
            "return statement missing?"
        )
        raise ArgumentError(msg)
    if not isinstance(given, list | tuple) or _is_group(given):
        _add(found, given)
        return found
    entries = list(cast("list[Any]", given))
    groups = [entry for entry in entries if isinstance(entry, list | tuple) and _is_outputs(entry)]
    if groups and (len(groups) > 1 or any(isinstance(entry, Variable) for entry in entries)):
        msg = (
            f"The function of a scan returned {given!r}, in which outputs are both in lists and on "
            "their own. Return one list of outputs, as in [a, b], updates; updates as pairs are a "
            "list of them, as in [a], [(shared, new)]."
        )
        raise ArgumentError(msg)
    for entry in entries:
        _add(found, entry)
    return found


def _is_outputs(given: Any) -> bool:
    return all(isinstance(entry, Variable) for entry in given)


def _is_pairs(given: Any) -> bool:
    entries = list(given)
    return bool(entries) and all(
        isinstance(entry, list | tuple)
        and len(cast("list[Any]", entry)) == 2
        and isinstance(entry[0], Variable)
        for entry in entries
    )


def _is_group(given: Any) -> bool:
    if _is_outputs(given):
        return True
    # Two lists of two variables can be outputs and updates only if the first is not a pair.
    return _is_pairs(given) and all(isinstance(pair[0], SharedVariable) for pair in given)


def _add(found: Returned, entry: Any) -> None:
    """Add a part of what was returned."""
    if isinstance(entry, until):
        if found.condition is not None:
            msg = (
                "The function of a scan returned two conditions. Combine them: until(a | b).\n"
                f"The second was made at\n  {entry.origin}"
            )
            raise ArgumentError(msg)
        found.condition = entry.condition
    elif isinstance(entry, Mapping):
        _add_updates(found, list(cast("Mapping[Any, Any]", entry).items()))
    elif isinstance(entry, list | tuple) and not _is_outputs(entry) and _is_pairs(entry):
        _add_updates(found, list(cast("list[Any]", entry)))
    elif isinstance(entry, Variable):
        found.outputs.append(entry)
    elif isinstance(entry, list | tuple):
        for each in cast("list[Any]", entry):
            if not isinstance(each, Variable):
                raise _not_symbolic(each)
            found.outputs.append(each)
    else:
        raise _not_symbolic(entry)


def _not_symbolic(entry: Any) -> ArgumentError:
    advice = ""
    if isinstance(entry, bool | int | float | complex) or hasattr(entry, "__array__"):
        advice = f" For a constant, write phintys.tensor.constant({entry!r})."
    return ArgumentError(
        "The function of a scan must return variables, updates (a dict or pairs) and until("
        f"condition); got {entry!r} of type {type(entry).__name__}.{advice}"
    )


def _add_updates(found: Returned, pairs: list[tuple[Any, Any]]) -> None:
    for shared, new in pairs:
        if not isinstance(shared, SharedVariable):
            what = described(shared) if isinstance(shared, Variable) else repr(shared)
            msg = (
                f"The updates of a step are for shared variables, got one for {what}\nA state "
                "that is not shared is an output with an initial value in outputs_info."
            )
            raise ArgumentError(msg)
        if shared in found.updates:
            both = "".join(
                f"\n{described(one) if isinstance(one, Variable) else one!r}"
                for one in (found.updates[shared], new)
            )
            msg = f"A step updates {shared} twice, with these values:{both}\nGive one of them."
            raise ArgumentError(msg)
        try:
            value = shared.type.filter_variable(new)
        except TypeError as error:
            where = f"\nThe new value is {described(new)}" if isinstance(new, Variable) else ""
            add_note(
                error,
                f"It is the update of {shared} in a step: the new value must have the dtype, rank "
                f"and shape of {shared.type}, as new.astype(dtype) has.{where}",
            )
            raise
        found.updates[shared] = value
