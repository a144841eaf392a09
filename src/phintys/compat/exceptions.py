"""Errors as programs of the old packages catch them.

These programs write ``except TypeError`` where Phintys raises a ``ShapeError``, a ``ValueError``.
While an old package is installed, the errors of Phintys are therefore also of the classes that the
old packages raise in their place. This is for the whole process, as it is for methods: an error is
raised far from the program, by code that does not know who catches it.
"""

from __future__ import annotations

from phintys._base import errors

__all__ = [
    "NAMES",
    "AliasedMemoryError",
    "CachedConstantError",
    "ConfigAccessViolation",
    "ConfigWarning",
    "EmptyConstantError",
    "InnerFunctionError",
    "IntegerDivisionError",
    "MetaNodeRewriterSkip",
    "ProtocolError",
    "ReplacementDidNotRemoveError",
    "narrow",
    "widen",
]

_WIDER: dict[type[errors.PhintysError], tuple[type[Exception], ...]] = {
    errors.DtypeError: (ValueError, NotImplementedError),
    errors.GradientError: (TypeError,),
    errors.IndexingError: (TypeError,),
    errors.NanGuardError: (AssertionError,),
    errors.NullGradientError: (ValueError,),
    errors.OpContractError: (ValueError,),
    errors.RewriteError: (TypeError, ValueError),
    errors.ShapeError: (TypeError, AssertionError),
    errors.TypeContractError: (ValueError, NotImplementedError),
}
"""A class of Phintys -> what the old packages raise where it is raised, besides its own base.

``DtypeError``: a state of a ``scan`` that changes (``ValueError``), remainders of complex numbers
(``NotImplementedError``). ``GradientError``: a cost that is not a scalar. ``IndexingError``: an
index of floats. ``NanGuardError``: a NaN. ``NullGradientError``: a derivative along a direction.
``OpContractError``: lengths that are not known, a wrong order of dimensions. ``RewriteError``: a
replacement of another type (``TypeError``), a variable to replace that is not in the graph.
``ShapeError``: ranks that differ (``TypeError``), ``specify_shape`` (``AssertionError``).
``TypeContractError``: a text for a number (``ValueError``), an object of no type
(``NotImplementedError``).
"""

_HERE = "phintys.compat.exceptions:"
_ERRORS = "phintys._base.errors:"

_OF_INDEXING = {
    "AdvancedBooleanIndexingError": f"{_ERRORS}IndexingError",
    "AdvancedIndexingError": f"{_ERRORS}IndexingError",
}
_OF_CONSTANTS = {"EmptyConstantError": f"{_HERE}EmptyConstantError"}
_OF_MEMORY = {"AliasedMemoryError": f"{_HERE}AliasedMemoryError"}
_OF_FEATURES = {
    "BadOptimization": f"{_ERRORS}BadRewrite",
    "ReplacementDidNotRemoveError": f"{_HERE}ReplacementDidNotRemoveError",
    "ReplacementDidntRemovedError": f"{_HERE}ReplacementDidNotRemoveError",
}
_OF_PROTOCOL = {"ProtocolError": f"{_HERE}ProtocolError"}
_OF_SCALARS = {
    "ComplexError": f"{_ERRORS}DtypeError",
    "IntegerDivisionError": f"{_HERE}IntegerDivisionError",
}
_OF_STEPS = {"InnerFunctionError": f"{_HERE}InnerFunctionError"}

NAMES: dict[str, dict[str, str]] = {
    "compile.executor": _OF_MEMORY,
    "compile.function.types": _OF_MEMORY,
    "compile.function_module": _OF_MEMORY,
    "configparser": {
        "AesaraConfigWarning": f"{_HERE}ConfigWarning",
        "ConfigAccessViolation": f"{_HERE}ConfigAccessViolation",
        "PyTensorConfigWarning": f"{_HERE}ConfigWarning",
        "TheanoConfigWarning": f"{_HERE}ConfigWarning",
    },
    "gof.destroyhandler": _OF_PROTOCOL,
    "gof.fg": {"CachedConstantError": f"{_HERE}CachedConstantError"},
    "gof.opt": {"LocalMetaOptimizerSkipAssertionError": f"{_HERE}MetaNodeRewriterSkip"},
    "gof.toolbox": _OF_FEATURES,
    "graph.destroyhandler": _OF_PROTOCOL,
    "graph.features": _OF_FEATURES,
    "graph.rewriting.basic": {"MetaNodeRewriterSkip": f"{_HERE}MetaNodeRewriterSkip"},
    "scalar": _OF_SCALARS,
    "scalar.basic": _OF_SCALARS,
    "scan.utils": _OF_STEPS,
    "tensor": {**_OF_CONSTANTS, **_OF_INDEXING},
    "tensor.basic": _OF_CONSTANTS,
    "tensor.exceptions": _OF_INDEXING,
    "tensor.subtensor": _OF_INDEXING,
    "tensor.var": {"AsTensorError": f"{_ERRORS}TypeContractError"},
}
"""Names of errors in modules of the old packages, besides those that have a class of their own."""

_before: dict[type, tuple[type, ...]] = {}


def widen() -> None:
    """Let errors of Phintys be of the classes above, too.

    Examples
    --------
    >>> from phintys._base.errors import ShapeError
    >>> from phintys.compat.exceptions import narrow, widen
    >>> widen()
    >>> issubclass(ShapeError, TypeError)
    True
    >>> narrow()
    >>> issubclass(ShapeError, TypeError)
    False
    """
    for cls, others in _WIDER.items():
        _before.setdefault(cls, cls.__bases__)
        cls.__bases__ = (*_before[cls], *others)


def narrow() -> None:
    """Undo :func:`widen`."""
    for cls, bases in _before.items():
        cls.__bases__ = bases
    _before.clear()


class EmptyConstantError(errors.OpContractError):
    """A constant has no element, and so not one value."""


# ---- errors that nothing here raises: it does not exist here, or succeeds ------------------------


class AliasedMemoryError(Exception):
    """Inputs share memory. A copy is made of one of them."""


class CachedConstantError(Exception):
    """A constant belongs to a cache. Graphs have no such constants."""


class ConfigAccessViolation(AttributeError):  # noqa: N818 - the names that programs know
    """An option was set at a time when it cannot be. Each can be at any time."""


class ConfigWarning(UserWarning):
    """An option has no effect."""


class InnerFunctionError(Exception):
    """The function of a step was compiled for the values of its graph. Steps are graphs."""


class IntegerDivisionError(Exception):
    """Two integers were divided, with an option that forbids it."""


class MetaNodeRewriterSkip(AssertionError):  # noqa: N818
    """A rewriter that tries several leaves one out."""


class ProtocolError(Exception):
    """A feature of graphs was told of a change that it cannot know."""


class ReplacementDidNotRemoveError(Exception):
    """A rewriter did not remove a node that it said it would."""
