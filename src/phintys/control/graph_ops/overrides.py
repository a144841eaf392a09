"""Derivatives that replace those of an inner graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from phintys._base.errors import ArgumentError, OpContractError
from phintys._base.records import record
from phintys.graph.null_type import DisconnectedType, NullType
from phintys.graph.op import Op
from phintys.graph.variable import Variable

if TYPE_CHECKING:
    from collections.abc import MutableSequence

_FORMS = (
    "a function, an OpFromGraph, a list of these, or in a list a variable of DisconnectedType or "
    "NullType, or None for the derivative of the inner graph"
)


@record(frozen=True)
class Overrides:
    """What an OpFromGraph computes instead of the derivatives of its inner graph.

    Attributes
    ----------
    argument
        The argument that they were given as: ``lop_overrides`` ...
    whole
        Computes all of them; ``None`` if there is an entry for each.
    entries
        For each input (or output), what computes its derivative; ``None`` for the inner graph.
    least
        The least number of derivatives that ``whole`` must return.
    """

    argument: str = ""
    whole: Any = None
    entries: tuple[Any, ...] = ()
    least: int = 0

    def __bool__(self) -> bool:
        return self.whole is not None or any(entry is not None for entry in self.entries)

    @property
    def functions(self) -> tuple[Any, ...]:
        """The functions and Ops that compute derivatives."""
        return (self.whole, *self.entries)

    def entry(self, position: int) -> Any:
        """Return the override of a derivative, ``None`` without one."""
        if self.whole is not None:
            return self.whole if position < self.least else None
        return self.entries[position] if position < len(self.entries) else None

    def apply(
        self, arguments: Sequence[Sequence[Variable]], found: MutableSequence[Any], op: Op
    ) -> None:
        """Compute the derivatives.

        Parameters
        ----------
        arguments
            Lists of variables: the inputs, and others.
        found
            Where the derivatives are stored; those that are not overridden are left alone.
        op
            The Op, for messages.
        """
        if self.whole is None:
            for position, entry in enumerate(self.entries):
                if entry is not None:
                    found[position] = self._one(entry, arguments, position, op)
            return
        results: Any = _call(self.whole, arguments)
        if isinstance(results, Variable):
            results = [results]
        if not isinstance(results, list | tuple) or not (
            self.least <= len(cast("Sequence[Any]", results)) <= len(found)
        ):
            msg = (
                f"The {self.argument} of {op} must return a list of {self.least} variables, got "
                f"{results!r}."
            )
            raise OpContractError(msg)
        for position, result in enumerate(cast("Sequence[Any]", results)):
            found[position] = _checked(result, self.argument, position, op)

    def _one(
        self, entry: Any, arguments: Sequence[Sequence[Variable]], position: int, op: Op
    ) -> Any:
        if isinstance(entry, Variable):
            return entry
        result = _call(entry, arguments)
        if isinstance(result, list | tuple) and len(cast("Sequence[Any]", result)) == 1:
            result = cast("Sequence[Any]", result)[0]
        return _checked(result, self.argument, position, op)


NOTHING = Overrides()


def overrides_of(given: Any, argument: str, counts: Sequence[int]) -> Overrides:
    """Return an argument of OpFromGraph as overrides.

    Parameters
    ----------
    given
        The argument.
    argument
        Its name.
    counts
        How many entries a list may have.

    Raises
    ------
    ArgumentError
        It has none of the possible forms.
    """
    if _is_default(given):
        return NOTHING
    if isinstance(given, list | tuple):
        entries = cast("Sequence[Any]", given)
        if len(entries) not in counts:
            msg = (
                f"A list of {argument} must have {counts[0]} entries, one for each "
                f"{'output' if argument == 'rop_overrides' else 'input'}, got {len(entries)}."
            )
            raise ArgumentError(msg)
        checked = tuple(_entry(entry, argument, position) for position, entry in enumerate(entries))
        return Overrides(argument, None, checked, counts[0])
    if isinstance(given, Variable):
        entry = _entry(given, argument, 0)
        return Overrides(argument, None, (entry,) * counts[0], counts[0])
    if not isinstance(given, Op) and not callable(given):
        msg = f"The {argument} must be {_FORMS}; got {given!r} of type {type(given).__name__}."
        raise ArgumentError(msg)
    return Overrides(argument, given, (), counts[0])


def _is_default(given: Any) -> bool:
    return given is None or (isinstance(given, str) and given == "default")


def _entry(given: Any, argument: str, position: int) -> Any:
    if _is_default(given):
        return None
    if isinstance(given, Variable):
        if isinstance(given.type, DisconnectedType | NullType):
            return given
    elif isinstance(given, Op) or callable(given):
        return given
    msg = f"Entry {position} of {argument} must be {_FORMS}; got {given!r}."
    raise ArgumentError(msg)


def _call(override: Callable[..., Any], arguments: Sequence[Sequence[Variable]]) -> Any:
    """Return the result of a function for lists of variables, or of an Op for all of them."""
    if isinstance(override, Op):
        flat = [variable for some in arguments for variable in some]
        return override(*flat, return_list=True)
    return override(*(list(some) for some in arguments))


def _checked(result: Any, argument: str, position: int, op: Op) -> Any:
    if not isinstance(result, Variable):
        msg = (
            f"The {argument} of {op} must return variables, got {result!r} of type "
            f"{type(result).__name__} for position {position}. Where there is no derivative, "
            "return phintys.gradient.disconnected_type() or grad_undefined(op, position, input)."
        )
        raise OpContractError(msg)
    return result
