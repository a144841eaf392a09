"""Functions of variables, as graphs with inputs of their own.

A function is called once, with variables that stand for those in its arguments. What it uses from
outside, as a closure, is found in the graph that it returns: these variables are *captured*.
"""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError
from phintys._base.nested_containers import rebuilt, walk
from phintys._base.origin import shown_file
from phintys._base.records import record
from phintys.graph.cloning import graph_replace
from phintys.graph.shared_variable import set_within
from phintys.graph.traversal import toposort
from phintys.graph.variable import Constant, Variable
from phintys.tensor.convert import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence


@record(eq=False)
class CallArguments:
    """The arguments of a call, without the variables in them.

    Attributes
    ----------
    nests
        The arguments, with ``None`` where the variables were.
    places
        The numbers of these places, in the order of :func:`~phintys._base.nested_containers.walk`.
    """

    nests: tuple[Any, ...]
    places: tuple[int, ...]

    def holding(self, variables: Iterable[Any], *, alone: bool = False) -> tuple[Any, ...]:
        """Return the arguments with something in the places of the variables.

        Parameters
        ----------
        variables
            One for each place.
        alone
            Whether all other values are replaced by ``None``.
        """
        values = [None if alone else value for _, value in walk(self.nests)]
        for place, variable in zip(self.places, variables, strict=True):
            values[place] = variable
        return rebuilt(self.nests, values)


def separate(given: Sequence[Any]) -> tuple[CallArguments, list[Variable]]:
    """Return arguments without the variables in them, and the variables."""
    values = [value for _, value in walk(tuple(given))]
    places = tuple(place for place, one in enumerate(values) if isinstance(one, Variable))
    rest = [None if isinstance(value, Variable) else value for value in values]
    return CallArguments(rebuilt(tuple(given), rest), places), [values[place] for place in places]


def outputs_of(result: Any, function: Callable[..., Any], what: str) -> list[Variable]:
    """Return the results of a function as variables; numbers and arrays become constants.

    Parameters
    ----------
    result
        What it has returned: a variable or a nest of them.
    function
        The function.
    what
        What uses the function, for the message.

    Raises
    ------
    ArgumentError
        There is something else in it, or nothing.
    """
    found: list[Variable] = []
    for path, value in walk(result):
        if isinstance(value, Variable):
            found.append(value)
            continue
        try:
            if value is None:
                raise TypeError
            found.append(as_tensor_variable(value))
        except TypeError:
            msg = (
                f"A function under {what} must return variables, or tuples, lists and dicts of "
                f"them; {name_of(function)} returned {value!r} of type {type(value).__name__}"
                f"{f' at {path}' if path else ''}.{place_of(function)}"
            )
            raise ArgumentError(msg) from None
    if not found:
        msg = f"{name_of(function)} returned no variable at all, but {result!r}."
        raise ArgumentError(msg + place_of(function))
    return found


def captured_by(outputs: Sequence[Variable], stand_ins: Iterable[Variable]) -> list[Variable]:
    """Return the variables from outside that outputs depend on.

    Everything that depends on no placeholder is outside; constants do not count.
    """
    inside = set(stand_ins)
    captured: dict[Variable, None] = {}
    for node in toposort(outputs):
        if any(variable in inside for variable in node.inputs):
            captured.update((v, None) for v in node.inputs if v not in inside)
            inside.update(node.outputs)
    captured.update((variable, None) for variable in outputs if variable not in inside)
    return [variable for variable in captured if not isinstance(variable, Constant)]


@contextmanager
def updates_outside(stand_ins: Sequence[Variable], given: Sequence[Variable]) -> Generator[None]:
    """Express the default updates that a function sets by the given variables.

    A draw from a generator sets such an update, for example.

    Parameters
    ----------
    stand_ins
        The variables that the function, called in the ``with`` block, is given.
    given
        What they stand for.
    """
    with set_within() as found:
        yield
    for shared in found:
        if shared.default_update is not None:
            replacements = dict(zip(stand_ins, given, strict=True))
            shared.default_update = graph_replace(shared.default_update, replacements, strict=False)


def name_of(function: Any) -> str:
    """Return the name of a function, for messages."""
    return getattr(function, "__name__", None) or repr(function)


def place_of(function: Any) -> str:
    """Return where a function was defined, as lines of a message; nothing if it is not known."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return ""
    return (
        f"\n{name_of(function)} was defined at\n  "
        f"{shown_file(code.co_filename)}, line {code.co_firstlineno}"
    )
