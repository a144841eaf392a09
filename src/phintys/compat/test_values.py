"""Test values: the old packages computed each expression as it was written, to test it.

While ``config.compute_test_value`` is not ``"off"``, values are computed from ``x.tag.test_value``
of the inputs by the reference backend, and stored as ``tag.test_value`` of the results. What cannot
be computed raises its error in the line that writes it. The steps of a loop are computed once it is
complete.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from typing import TYPE_CHECKING, Any

import phintys.tensor as pt
from phintys import compile as core
from phintys._base.errors import PhintysError, add_note
from phintys._base.origin import current_origin, is_inheriting
from phintys.compat.configuration import ASKED_FOR_TEST_VALUES, config
from phintys.graph import Constant, Op, SharedVariable, Variable
from phintys.graph.inner import about_placeholder
from phintys.graph.traversal import ancestors, walk
from phintys.scalar import ScalarType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from phintys.graph import Apply

__all__ = [
    "TestValueError",
    "as_one_step",
    "call",
    "compute_test_value",
    "forget",
    "get_debug_values",
    "get_test_value",
]

_core_call = Op.__call__


class TestValueError(PhintysError, ValueError, AttributeError):
    """A variable has no test value."""

    __test__ = False  # for pytest, which collects classes of such names


def get_test_value(variable: Any) -> Any:
    """Return the test value of a variable, computed from those of the inputs if need be.

    Raises
    ------
    TestValueError
        An input has none.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.dvector("x")
    >>> x.tag.test_value = [1.0, 2.0]
    >>> get_test_value(x * 2)
    array([2., 4.])
    """
    variable = variable if isinstance(variable, Variable) else pt.as_tensor_variable(variable)
    missing = _missing([variable])
    if missing:
        msg = f"{missing[0]} has no test value. Set {missing[0]}.tag.test_value."
        raise TestValueError(msg)
    _compute([variable])
    return _value(variable)


def get_debug_values(*variables: Any) -> list[tuple[Any, ...]]:
    """Return a list of one tuple, the test values of all variables; empty if they are off.

    Raises
    ------
    TestValueError
        A variable has none, and ``config.compute_test_value`` is ``"raise"``.
    """
    if config.compute_test_value == "off":
        return []
    try:
        return [tuple(map(get_test_value, variables))]
    except TestValueError as error:
        _report(str(error))
        return []


def compute_test_value(node: Apply) -> None:
    """Compute the test values of the outputs of a node, which its inputs have."""
    _test(node.outputs)


def call(self: Op, *inputs: Any, **options: Any) -> Any:
    """Apply an Op, and compute the test values of its outputs if the option says so."""
    found = _core_call(self, *inputs, **options)
    if ASKED_FOR_TEST_VALUES and config.compute_test_value != "off" and not is_inheriting():
        _test(found if isinstance(found, list) else [found])
    return found


def as_one_step(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that computes test values of its results only, not of what it writes."""

    @functools.wraps(function)
    def wrapped(*args: Any, **options: Any) -> Any:
        if config.compute_test_value == "off":
            return function(*args, **options)
        with config.change_flags(compute_test_value="off"):
            found = function(*args, **options)
        _test(_variables(found))
        return found

    vars(wrapped)["__signature__"] = inspect.signature(function)  # for inspect.getfullargspec

    return wrapped


def forget(copies: Any, originals: Any) -> None:
    """Remove the test values that a copied graph has from the original: its own may be others."""
    kept = set(ancestors(_variables(originals)))
    for variable in ancestors(_variables(copies)):
        if variable not in kept and variable.owner is not None:
            vars(variable.tag).pop("test_value", None)


def _variables(found: Any) -> Iterable[Variable]:
    if isinstance(found, Variable):
        yield found
    elif isinstance(found, list | tuple):
        for one in found:
            yield from _variables(one)


def _test(outputs: Iterable[Variable]) -> None:
    outputs = [one for one in outputs if one.owner is not None and not _is_of_number(one)]
    missing = _missing(outputs)
    if any(about_placeholder(leaf) for leaf in missing):
        return  # a step of a loop, or one item of a batch
    if missing:
        _report(
            f"The test value of {outputs[0]} cannot be computed, since {missing[0]} has "
            f"none. Set {missing[0]}.tag.test_value, or config.compute_test_value = 'off'."
        )
    else:
        _compute(outputs)


def _is_of_number(variable: Variable) -> bool:
    """Return whether a variable is of scalar Ops, of which elementwise ones are made."""
    return isinstance(variable.type, ScalarType)


def _report(message: str) -> None:
    if config.compute_test_value == "warn":
        line = current_origin()
        warnings.warn_explicit(message, UserWarning, line.filename, line.lineno or 1)
    elif config.compute_test_value != "ignore":
        raise TestValueError(message)


def _has_value(variable: Variable) -> bool:
    return isinstance(variable, Constant | SharedVariable) or hasattr(variable.tag, "test_value")


def _value(variable: Variable) -> Any:
    if isinstance(variable, Constant):
        return variable.data
    if isinstance(variable, SharedVariable):
        return variable.get_value(borrow=True)
    value = variable.tag.test_value
    try:
        return variable.type.filter(value)
    except (TypeError, ValueError) as error:
        add_note(error, f"It is the test value of {variable}.")
        raise


def _sources(outputs: Iterable[Variable]) -> list[Variable]:
    """Return the sources of outputs: variables with a value, and inputs without one."""

    def inputs_of(variable: Variable) -> Iterable[Variable] | None:
        return None if variable.owner is None or _has_value(variable) else variable.owner.inputs

    return [one for one in walk(outputs, inputs_of) if one.owner is None or _has_value(one)]


def _missing(outputs: Iterable[Variable]) -> list[Variable]:
    return [one for one in _sources(outputs) if not _has_value(one)]


def _compute(outputs: Iterable[Variable]) -> None:
    """Compute and store the values that there are not yet."""
    wanted = [one for one in outputs if not _has_value(one)]
    sources = _sources(wanted)
    given = [one for one in sources if not isinstance(one, Constant | SharedVariable)]
    if not wanted:
        return
    with config.change_flags(compute_test_value="off"):
        compiled = core.function(
            given, wanted, core.Mode("reference"), accept_inplace=True, no_default_updates=True
        )
        for variable, value in zip(wanted, compiled(*map(_value, given)), strict=True):
            variable.tag.test_value = value
