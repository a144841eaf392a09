"""The arguments ``sequences`` and ``outputs_info`` of ``scan``, in all their forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phintys._base.errors import ArgumentError, ShapeError, add_note
from phintys._base.records import record
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
