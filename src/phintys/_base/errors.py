"""The exceptions of Phintys.

Each derives from :class:`PhintysError` and from the built-in exception that a caller would expect,
so that ``except ValueError`` and ``except PhintysError`` both work. Messages say what was expected,
what came, where in the user's program, and what to write instead.
"""

__all__ = [
    "ArgumentError",
    "AxisError",
    "BadDestroyMap",
    "BadInferShape",
    "BadPreallocatedOutput",
    "BadRewrite",
    "BadStorage",
    "BadThunkOutput",
    "BadViewMap",
    "ConfigError",
    "CycleError",
    "DebugModeError",
    "DisconnectedInputError",
    "DtypeError",
    "GradientError",
    "InconsistencyError",
    "IndexingError",
    "IntegrityError",
    "InvalidValueError",
    "MethodNotDefinedError",
    "MissingInputError",
    "MissingOutputError",
    "NanGuardError",
    "NullGradientError",
    "OpCheckError",
    "OpContractError",
    "OutOfBoundsError",
    "PhintysError",
    "RewriteError",
    "ShapeError",
    "StochasticOrder",
    "TransferError",
    "TypeContractError",
    "UnreproducibleOutput",
    "UnusedInputError",
]


class PhintysError(Exception):
    """Base of all errors that Phintys itself raises."""


class ConfigError(PhintysError, ValueError):
    """A configuration option was given a value that it cannot take."""


class TypeContractError(PhintysError, TypeError):
    """A Type does not fulfil its contract, or a value does not belong to it."""


class OpContractError(PhintysError, TypeError):
    """An Op broke a rule of its contract; the message names the Op and the rule."""


class OpCheckError(PhintysError, AssertionError):
    """A check of an Op failed: it breaks a promise, or disagrees with its reference."""


class MethodNotDefinedError(PhintysError, NotImplementedError):
    """An optional method of an Op is needed here and the Op does not define it."""


class DtypeError(PhintysError, TypeError):
    """Operands have dtypes that an operation does not take."""


class ShapeError(PhintysError, ValueError):
    """Operands have shapes or ranks that do not fit together."""


class AxisError(ShapeError, IndexError):
    """An array has no such axis; also a ``ShapeError`` and an ``IndexError``, as in NumPy."""


class IndexingError(PhintysError, IndexError):
    """An index is out of range, or of a kind that arrays do not take."""


class OutOfBoundsError(PhintysError, OverflowError):
    """A number is too large for the dtype that it must take."""


class TransferError(PhintysError, ValueError):
    """A variable was to be moved to a place that nobody registered."""


class InconsistencyError(PhintysError):
    """A change of a FunctionGraph was refused because it would make the graph invalid."""


class CycleError(InconsistencyError, ValueError):
    """A graph depends on itself."""


class IntegrityError(PhintysError, AssertionError):
    """The verifier found a broken invariant of a graph: a bug in an Op, a rewrite, or Phintys."""


class ArgumentError(PhintysError, TypeError):
    """A compiled function, or the compiler, was given arguments that it does not take."""


class NanGuardError(PhintysError, FloatingPointError):
    """``NanGuardMode`` found a NaN, an infinity or a huge value."""


class MissingInputError(PhintysError, ValueError):
    """A graph needs a variable that is neither an input, a constant, nor shared."""


class UnusedInputError(PhintysError, ValueError):
    """An input of a function has no influence on its outputs."""


class RewriteError(PhintysError):
    """A rewrite rule returned something that cannot replace what it was given."""


class GradientError(PhintysError, ValueError):
    """A gradient was asked for that makes no sense; also a failed ``verify_grad``."""


class NullGradientError(PhintysError, TypeError):
    """A gradient is undefined or not implemented along the path from a cost to a variable."""


class DisconnectedInputError(PhintysError, ValueError):
    """A gradient was asked for with respect to a variable that the cost does not depend on."""


# ---- what DebugMode finds ------------------------------------------------------------------------


class DebugModeError(PhintysError):
    """Base of the faults that ``DebugMode`` looks for."""


class BadStorage(DebugModeError, OpContractError):  # noqa: N818 - the names that users know
    """An Op exchanged or resized its storage cells, or keeps hold of the memory of a result."""


class InvalidValueError(DebugModeError, OpContractError):
    """An Op stored a value that does not belong to the Type of its output."""


class MissingOutputError(InvalidValueError):
    """An Op left a storage cell empty."""


class BadDestroyMap(DebugModeError, OpContractError):  # noqa: N818
    """An Op changed an input that is not in its ``destroy_map``, or the map makes no sense."""


class BadViewMap(DebugModeError, OpContractError):  # noqa: N818
    """An output shares memory that ``view_map`` does not tell of, or the map makes no sense."""


class BadThunkOutput(DebugModeError, OpContractError):  # noqa: N818
    """Two ways to compute the same node, such as Python and native code, give other values."""


class UnreproducibleOutput(BadThunkOutput):
    """A node computed twice from the same inputs gives other values."""


class BadPreallocatedOutput(BadThunkOutput):
    """The result of a node depends on the memory that was offered for it."""


class BadInferShape(DebugModeError, OpContractError):  # noqa: N818
    """``infer_shape`` says another shape than a value has."""


class BadRewrite(DebugModeError, RewriteError):  # noqa: N818
    """A rewrite put something of another value in the place of a variable."""


class StochasticOrder(DebugModeError, RewriteError):  # noqa: N818
    """Rewriting the same graph twice went two ways."""
