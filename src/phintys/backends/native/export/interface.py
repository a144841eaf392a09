"""What a C caller has to know of an exported function."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError
from phintys._base.records import record
from phintys.backends.native.failures import Failure, OwnFailure, StatusFailure
from phintys.backends.native.memory import ALIGNMENT
from phintys.backends.native.sizes import Arithmetic
from phintys.backends.native.values import Array, Size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from phintys.backends.base import ExportNames
    from phintys.backends.native.program import Program
    from phintys.backends.native.writer.programs import EmittedProgram

ABI = 1
"""The version of the interface; it changes if existing callers have to."""

NULL_POINTER, MISALIGNED, WRONG_LENGTH, TOO_SMALL, NO_MEMORY, OTHER_SHAPE = -1, -2, -3, -4, -5, -6

CODES = {
    0: "No error.",
    NULL_POINTER: "A pointer is NULL that must not be.",
    MISALIGNED: "A pointer is not aligned to the size of its numbers.",
    WRONG_LENGTH: f"A length is negative or larger than 2^{48}.",
    TOO_SMALL: "A result has more elements than its capacity.",
    NO_MEMORY: "There is not enough memory: malloc has failed, or the work memory is too small.",
    OTHER_SHAPE: "An update has another shape than the value in the state.",
}
"""The return codes that all functions have in common, and their messages."""

MOST_LENGTH = 1 << 48

C_TYPES = {
    "bool": "uint8_t",
    "float16": "uint16_t",
    "float32": "float",
    "float64": "double",
    "complex64": "float",
    "complex128": "double",
} | {f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}
"""C's types of the elements of pointers; a complex number is two of them."""


@record(eq=False)
class Dimension:
    """A length that the caller passes: that of all axes that must be equal.

    Attributes
    ----------
    name
        A name of C.
    axes
        The arguments that have it, with the axis.
    """

    name: str
    axes: list[tuple[Array, int]] = field(default_factory=list)


@record(eq=False)
class PointerParameter:
    """A pointer that the caller passes: an argument or a result.

    Attributes
    ----------
    name
        A name of C.
    value
        The array.
    lengths
        For each axis its length if that is fixed, the dimension that has it, or the size from which
        it is computed.
    """

    name: str
    value: Array
    lengths: list[int | Dimension | Size]


@record(eq=False)
class StateValue:
    """A value that calls update, in the memory of the caller.

    Attributes
    ----------
    name
        A name of C.
    argument, update
        The value before and after a call.
    initial
        Its value at first.
    offset
        Where it begins in the state, in bytes.
    """

    name: str
    argument: Array
    update: Array
    initial: np.ndarray[Any, Any]
    offset: int


@record(eq=False)
class Interface:
    """The interface of an exported function.

    Attributes
    ----------
    name
        Its name, with which those of all its functions begin.
    dimensions, arguments, results
        What the caller passes.
    state
        The values that it updates.
    constants
        The shared values that it only reads.
    state_bytes
        The size of the state.
    failures
        The messages of the return codes 1, 2 ...; ``{0}`` and ``{1}`` stand for two numbers.
    known
        The sizes that are known, by the size that stands for those equal to it.
    """

    name: str
    dimensions: list[Dimension]
    arguments: list[PointerParameter]
    results: list[PointerParameter]
    state: list[StateValue]
    constants: list[tuple[Array, np.ndarray[Any, Any]]]
    state_bytes: int
    failures: list[str]
    known: dict[Size, int | Dimension]


def interface_of(program: Program, emitted: EmittedProgram, names: ExportNames) -> Interface:
    """Return the interface of a program.

    Raises
    ------
    ArgumentError
        If a value is not an array of numbers.
    """
    _check_arrays(program, names)
    count = len(names.inputs)
    hidden = program.arguments[count:]
    values = [np.asarray(value) for value in names.hidden]
    known: dict[Size, int | Dimension] = {}
    _fix_lengths(program, zip(hidden, values, strict=True), known)
    unique = _Names()
    labels = [unique.of(name, f"arg{number}") for number, name in enumerate(names.inputs)]
    dimensions: list[Dimension] = []
    arguments: list[PointerParameter] = []
    for label, value in zip(labels, program.arguments[:count], strict=True):
        assert isinstance(value, Array)
        for axis, size in enumerate(value.sizes):
            _note_dimension(program, size, f"{label}_{axis}", known, dimensions)
        lengths = [length_of(program, size, known) for size in value.sizes]
        for axis, length in enumerate(lengths):
            if isinstance(length, Dimension):
                length.axes.append((value, axis))
        arguments.append(PointerParameter(label, value, lengths))
    results = [
        PointerParameter(
            unique.of(name, f"result{number}"),
            value,
            [length_of(program, size, known) for size in value.sizes],
        )
        for number, (name, value) in enumerate(zip(names.outputs, program.results, strict=False))
        if isinstance(value, Array)
    ]
    updates = dict(zip(names.updated, program.results[len(names.outputs) :], strict=True))
    state: list[StateValue] = []
    constants: list[tuple[Array, np.ndarray[Any, Any]]] = []
    offset = 0
    unique = _Names()
    for number, (argument, value) in enumerate(zip(hidden, values, strict=True)):
        assert isinstance(argument, Array)
        if number not in updates:
            constants.append((argument, value))
            continue
        update = updates[number]
        assert isinstance(update, Array)
        name = unique.of(names.hidden_names[number], f"state{len(state)}")
        state.append(StateValue(name, argument, update, value, offset))
        offset += -(-max(1, value.nbytes) // ALIGNMENT) * ALIGNMENT
    failures = [_message(failure) for failure in emitted.layout.failures]
    return Interface(
        names.name, dimensions, arguments, results, state, constants, offset, failures, known
    )


def _check_arrays(program: Program, names: ExportNames) -> None:
    for value in [*program.arguments, *program.results]:
        if not isinstance(value, Array):
            msg = (
                f"export({names.name!r}): arguments, results and shared values must be arrays of "
                f"numbers, got {value.variable!r} of {getattr(value.variable, 'type', None)}. "
                "Random numbers of exported functions come from phintys.random.RandomStream."
            )
            raise ArgumentError(msg)


# ---- lengths -------------------------------------------------------------------------------------


def _fix_lengths(
    program: Program, hidden: Iterable[tuple[Any, Any]], known: dict[Size, int | Dimension]
) -> None:
    """Note the lengths of shared values, which have those of now."""
    for argument, value in hidden:
        for size, length in zip(argument.sizes, value.shape, strict=True):
            found = program.sizes.canonical(size)
            if found.known is None:
                known[found] = length


def _note_dimension(
    program: Program,
    size: Size,
    name: str,
    known: dict[Size, int | Dimension],
    dimensions: list[Dimension],
) -> None:
    """Make a length one that the caller passes, unless it is known or equal to another one."""
    found = program.sizes.canonical(size)
    if found.known is None and found not in known:
        dimension = known[found] = Dimension(name)
        dimensions.append(dimension)


def length_of(
    program: Program, size: Size, known: dict[Size, int | Dimension]
) -> int | Dimension | Size:
    """Return a length if it is fixed, the dimension that has it, or the size that stands for it."""
    found = program.sizes.canonical(size)
    return found.known if found.known is not None else known.get(found, found)


def depends_on_data(program: Program, size: Size, interface: Interface) -> bool:
    """Return whether a size is known only while the program runs."""
    stack, seen = [size], set()
    while stack:
        one = program.sizes.canonical(stack.pop())
        if one in seen or one.known is not None or one in interface.known:
            continue
        seen.add(one)
        if not isinstance(one, Arithmetic):
            return True
        stack.extend(one.arguments)
    return False


# ---- names and messages --------------------------------------------------------------------------

_C_WORDS = (
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const "
    "constexpr const_cast continue decltype default delete do double dynamic_cast else enum "
    "explicit export extern false float for friend goto if inline int long mutable namespace new "
    "noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast restrict return short signed sizeof static static_assert static_cast struct "
    "switch template this thread_local throw true try typedef typeid typename typeof union "
    "unsigned using virtual void volatile wchar_t while xor xor_eq "
    # The parameters of the typed form.
    "state work work_bytes numbers args dims results capacities shapes"
)


class _Names:
    """Names of C, each given once."""

    def __init__(self) -> None:
        self._used: set[str] = set(_C_WORDS.split())

    def of(self, wanted: str | None, otherwise: str) -> str:
        """Return a name that is like the one that is wanted."""
        name = re.sub(r"\W", "_", wanted or "", flags=re.ASCII).strip("_") or otherwise
        if not name[0].isalpha():
            name = f"v_{name}"
        found, number = name, 1
        while found in self._used:
            number += 1
            found = f"{name}_{number}"
        self._used.add(found)
        return found


_FIRST, _SECOND = 1234567890123, 1234567890124
"""Numbers that stand for those of a failure while its message is written."""


def _message(failure: Failure) -> str:
    """Return the message of a failure, with the line of the user's program."""
    if isinstance(failure, StatusFailure):
        text = failure.explanation
    elif isinstance(failure, OwnFailure):
        text = str(failure.exception(_FIRST, _SECOND))
        text = text.replace(str(_FIRST), "{0}").replace(str(_SECOND), "{1}")
    else:
        text = str(failure.exception("{0}", "{1}"))  # pyright: ignore[reportArgumentType]
    op = str(failure.node.op)
    named = "" if text.startswith(op) else f"{op}, "
    return f"{text} ({named}made at {failure.node.origin})"
