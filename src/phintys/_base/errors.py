"""The exceptions of Phintys.

Each derives from :class:`PhintysError` and from the built-in exception that a caller would expect,
so that ``except ValueError`` and ``except PhintysError`` both work. Messages say what was expected,
what was given, where in the user's program, and what to write instead.
"""

from contextlib import suppress
from typing import Any, Self

from phintys._base.origin import hide_frames


def add_note(error: BaseException, text: str) -> None:
    """Add a note to an error, whatever its class makes of ``add_note``.

    Errors of users are of any class, and nothing that is wrong with it may take their place.

    Examples
    --------
    >>> from phintys._base.errors import add_note
    >>> class Silent(Exception):
    ...     add_note = None
    >>> error = Silent("no")
    >>> add_note(error, "It was raised here.")
    >>> error.__notes__
    ['It was raised here.']
    """
    with suppress(Exception):  # __notes__ may be anything, too
        BaseException.add_note(error, text)


def shown(value: object) -> str:
    """Return the text of a value for a message, however deeply it is nested.

    Examples
    --------
    >>> from phintys._base.errors import shown
    >>> deep = []
    >>> for _ in range(100_000):
    ...     deep = [deep]
    >>> shown([1, "a"]), shown(deep)
    ("[1, 'a']", '[...], nested too deeply to be shown')
    """
    try:
        return repr(value)
    except RecursionError:
        return "[...], nested too deeply to be shown"
    except ValueError:  # Python shows ints of up to 4300 digits
        return f"{type(value).__name__} of too many digits to be shown"


class PhintysError(Exception):
    """Base of all errors that Phintys itself raises."""

    def __new__(cls, *values: Any, **options: Any) -> Self:
        error = super().__new__(cls, *values, **options)
        hide_frames(error)
        return error


class ConfigError(PhintysError, ValueError):
    """A configuration option was set to a value that it does not allow."""


class TypeContractError(PhintysError, TypeError):
    """A Type does not fulfil its contract, or a value does not belong to it."""


class OpContractError(PhintysError, TypeError):
    """An Op broke a rule of its contract; the message names the Op and the rule."""


class OpCheckError(PhintysError, AssertionError):
    """A check of an Op failed: it breaks a promise, or disagrees with its reference."""


class MethodNotDefinedError(PhintysError, NotImplementedError):
    """An optional method of an Op is needed here and the Op does not define it."""


class CCodeError(PhintysError, RuntimeError):
    """C code of an Op does not compile, or there is no compiler for it."""


class NativeFunctionError(PhintysError, RuntimeError):
    """A function of a user in machine code cannot be found, or reported that it failed."""


class DtypeError(PhintysError, TypeError):
    """Operands have dtypes that an operation does not support."""


class ShapeError(PhintysError, ValueError):
    """Operands have incompatible shapes or ranks."""


class AxisError(ShapeError, IndexError):
    """An array has no such axis; also a ``ShapeError`` and an ``IndexError``, as in NumPy."""


class IndexingError(PhintysError, IndexError):
    """An index is out of range, or of a kind that arrays do not support."""


class OutOfBoundsError(PhintysError, OverflowError):
    """A number is out of range for the dtype that it must be converted to."""


class DomainError(PhintysError, ValueError):
    """A number is outside of the domain of a function or a parameter."""


class TransferError(PhintysError, ValueError):
    """A variable was transferred to a target that is not registered."""


class DeadlockError(PhintysError, RuntimeError):
    """Calls of functions with updates, in several threads, would wait for each other forever."""


class TaskError(PhintysError, RuntimeError):
    """A task of ``phintys.parallel.map`` has no result, and its own error cannot be shown."""


class InconsistencyError(PhintysError):
    """A change of a FunctionGraph was refused because it would make the graph invalid."""


class CycleError(InconsistencyError, ValueError):
    """A graph contains a cycle."""


class IntegrityError(PhintysError, AssertionError):
    """The verifier found a broken invariant of a graph: a bug in an Op, a rewrite, or Phintys."""


class ArgumentError(PhintysError, TypeError, ValueError):
    """A function, such as a compiled one or ``phintys.function``, was given invalid arguments.

    Their kind, their number or their values may be wrong, so it is both a ``TypeError`` and a
    ``ValueError``: which of them the older libraries raise differs from function to function.
    """


class NanGuardError(PhintysError, FloatingPointError):
    """``NanGuardMode`` found a NaN, an infinity or a huge value."""


class MissingInputError(PhintysError, ValueError):
    """A graph needs a variable that is neither an input, a constant, nor shared."""


class UnusedInputError(PhintysError, ValueError):
    """An input of a function has no influence on its outputs."""


class RewriteError(PhintysError):
    """A rewrite rule returned something that cannot replace what it was given."""


class GradientError(PhintysError, ValueError):
    """A gradient was requested that is not defined, or ``verify_grad`` failed."""


class NullGradientError(PhintysError, TypeError):
    """A gradient is undefined or not implemented along the path from a cost to a variable."""


class DisconnectedInputError(PhintysError, ValueError):
    """A gradient was requested with respect to a variable that the cost does not depend on."""


# ---- faults found by DebugMode -------------------------------------------------------------------


class DebugModeError(PhintysError):
    """Base of the errors that ``DebugMode`` raises."""


class BadStorage(DebugModeError, OpContractError):  # noqa: N818 - the names that users know
    """An Op replaced or resized its storage cells, or keeps a reference to a result's memory."""


class InvalidValueError(DebugModeError, OpContractError):
    """An Op stored a value that does not belong to the Type of its output."""


class MissingOutputError(InvalidValueError):
    """An Op left a storage cell empty."""


class BadDestroyMap(DebugModeError, OpContractError):  # noqa: N818
    """An Op changed an input that is not in its ``destroy_map``, or the map is invalid."""


class BadViewMap(DebugModeError, OpContractError):  # noqa: N818
    """An output shares memory that ``view_map`` does not declare, or the map is invalid."""


class BadThunkOutput(DebugModeError, OpContractError):  # noqa: N818
    """Two ways of computing a node, such as Python and native code, give different values."""


class UnreproducibleOutput(BadThunkOutput):
    """A node computed twice from the same inputs gives different values."""


class BadPreallocatedOutput(BadThunkOutput):
    """The result of a node depends on the memory that was offered for it."""


class BadInferShape(DebugModeError, OpContractError):  # noqa: N818
    """``infer_shape`` returned a shape that differs from that of the value."""


class BadRewrite(DebugModeError, RewriteError):  # noqa: N818
    """A rewrite replaced a variable with one that has a different value."""


class StochasticOrder(DebugModeError, RewriteError):  # noqa: N818
    """Rewriting the same graph twice gave different results."""
