"""Ops that return their input and observe it: checks, prints, breakpoints.

They can wrap any variable. Gradients and shapes pass through unchanged.

Examples
--------
>>> import phintys, phintys.tensor as pt
>>> x = pt.dvector("x")
>>> positive = pt.Assert("x must be positive")(x, (x > 0).all())
>>> f = phintys.function([x], pt.log(positive))
>>> f([1.0])
array([0.])
>>> f([-1.0])
Traceback (most recent call last):
...
AssertionError: x must be positive...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, DtypeError, add_note
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.graph.op import Op
from phintys.graph.variable import Variable
from phintys.tensor._rules import is_missing
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.shape_rules import S, ShapedOp, Shapes, TakesShape

if TYPE_CHECKING:
    from phintys.graph.fgraph import FunctionGraph


def _as_variable(x: Any) -> Any:
    return x if isinstance(x, Variable) else as_tensor_variable(x)


def _as_condition(op: Op, condition: Any) -> Any:
    variable: Any = as_tensor_variable(condition)
    if variable.type.numpy_dtype.kind not in "biuf":
        msg = f"{op}: a condition is an array of bools or real numbers, got {variable.type}."
        raise DtypeError(msg)
    return variable


class _Observer(TakesShape):
    """Base class of Ops whose first output is their first input."""

    view_map = {0: [0]}

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """Only the first input influences the value."""
        return [[True], *([False] for _ in node.inputs[1:])]

    def do_constant_folding(self, fgraph: FunctionGraph, node: Any) -> bool:
        """Never fold: the Op has an effect at each call."""
        return False

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        return [output_grads[0], *(disconnected_type() for _ in inputs[1:])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        point = eval_points[0]
        return [None if is_missing(point) else point]


class CheckAndRaise(_Observer):
    """Return the first input, or raise an exception if a condition is false.

    Parameters
    ----------
    exc_type
        The class of the exception to raise.
    msg
        The message of the exception.

    Notes
    -----
    ``op(value, *conditions)`` returns ``value``. A condition is true if all its elements are. The
    check runs where the result of the op is used; if nothing uses it, nothing is checked.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> x = pt.dscalar("x")
    >>> checked = pt.CheckAndRaise(ValueError, "x is too large")(x, x < 10)
    >>> f = phintys.function([x], checked * 2)
    >>> f(4.0)
    array(8.)
    >>> f(40.0)
    Traceback (most recent call last):
    ...
    ValueError: x is too large...
    """

    __props__ = ("exc_type", "msg")

    def __init__(self, exc_type: type[Exception], msg: str = "") -> None:
        if not (isinstance(exc_type, type) and issubclass(exc_type, Exception)):
            text = f"CheckAndRaise(exc_type, msg): expected a class of exceptions, got {exc_type!r}"
            raise ArgumentError(text)
        self.exc_type = exc_type
        self.msg = msg

    def make_node(self, value: Any, *conditions: Any) -> Apply:
        value = _as_variable(value)
        return Apply(self, [value, *(_as_condition(self, c) for c in conditions)], [value.type()])

    def perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        value, *conditions = inputs
        for condition in conditions:
            if not np.all(condition):
                error = self.error()
                _explain(error, value, condition)
                raise error
        output_storage[0][0] = value

    def error(self, *_numbers: int) -> Exception:
        """Return the error for a condition that is false."""
        return self.exc_type(self.msg)

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.exc_type.__name__}, {self.msg!r}}}"


def _explain(error: Exception, value: Any, condition: Any) -> None:
    """Add a note to an error: for which element of a value its condition is false."""
    if np.ndim(condition) and np.shape(value) == np.shape(condition):
        place = tuple(map(int, np.argwhere(~np.asarray(condition, bool))[0]))
        add_note(error, f"The check fails first at element {list(place)}, which is {value[place]}.")


class Assert(CheckAndRaise):
    """Return the first input, or raise AssertionError if a condition is false.

    Parameters
    ----------
    msg
        The message of the exception.
    """

    __props__ = ("msg",)

    def __init__(self, msg: str = "An Assert of the graph failed.") -> None:
        super().__init__(AssertionError, msg)

    def __str__(self) -> str:
        return f"Assert{{{self.msg!r}}}"


assert_op = Assert()
"""``assert_op(value, *conditions)``, without a message of its own."""


def _print_attributes(op: Print, value: Any) -> None:
    for attribute in op.attrs:
        found = getattr(value, attribute)
        shown = found() if callable(found) else found
        print(op.message, attribute, "=", shown)  # noqa: T201 - the purpose of the Op


class Print(_Observer):
    """Return the input, and print it each time it is computed.

    Parameters
    ----------
    message
        Printed before the value.
    attrs
        What to print: attributes, or methods without arguments, such as ``"shape"`` or ``"min"``.
    global_fn
        Called with the Op and the value instead of printing.

    Notes
    -----
    A value that is not computed is not printed: put the Op where its result is used. Rewrites do
    not see through it, so an expression that contains it can be less stable numerically.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> x = pt.dvector("x")
    >>> f = phintys.function([x], pt.Print("x:", attrs=("shape", "max"))(x) * 2)
    >>> f([1.0, 3.0])
    x: shape = (2,)
    x: max = 3.0
    array([2., 6.])
    """

    __props__ = ("message", "attrs", "global_fn")

    def __init__(
        self,
        message: str = "",
        attrs: Sequence[str] = ("__str__",),
        global_fn: Callable[[Print, Any], None] = _print_attributes,
    ) -> None:
        self.message = message
        self.attrs = tuple(attrs)
        self.global_fn = global_fn

    def make_node(self, x: Any) -> Apply:
        x = _as_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        self.global_fn(self, inputs[0])
        output_storage[0][0] = inputs[0]

    # Once is enough where DebugMode computes everything several times.
    debug_perform = perform

    def __str__(self) -> str:
        return f"Print{{{self.message!r}}}"


_MOST_VARIABLES = 2**20
"""Each is an output of a node."""


class Breakpoint(ShapedOp):
    """Return the inputs after the first, and stop in the debugger if the first is true.

    Parameters
    ----------
    name
        Shown when the breakpoint is reached.
    action
        Called with the Op and the values instead; by default Python's ``breakpoint()``, with the
        values in a list ``values``.

    Notes
    -----
    ``op(condition, *variables)`` returns one variable for each of ``variables`` (the variable
    itself, not a list, if there is one). Use those in place of the originals.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> x = pt.dvector("x")
    >>> stop = pt.Breakpoint("NaN", action=lambda op, values: print(op.name, "in", values[0]))
    >>> f = phintys.function([x], stop(pt.isnan(x).any(), x) + 1)
    >>> f([1.0])
    array([2.])
    >>> f([float("nan")])
    NaN in [nan]
    array([nan])
    """

    __props__ = ("name", "action", "count")

    def __init__(
        self,
        name: str = "breakpoint",
        action: Callable[[Breakpoint, list[Any]], None] | None = None,
        count: int = 1,
    ) -> None:
        self.name = name
        self.action = action
        if not 1 <= count <= _MOST_VARIABLES:
            msg = (
                f"Breakpoint: count, the number of variables, must be from 1 to "
                f"{_MOST_VARIABLES:,}, got {count:,}."
            )
            raise ArgumentError(msg)
        self.count = count
        self.view_map = {index: [index + 1] for index in range(count)}

    def make_node(self, condition: Any, *variables: Any) -> Apply:
        if not variables:
            msg = f"{self}(condition, *variables): expected at least one variable to return."
            raise ArgumentError(msg)
        # The view map is an attribute of the Op, and depends on the number of inputs.
        known = len(variables) == self.count
        op = self if known else Breakpoint(self.name, self.action, len(variables))
        given = [_as_variable(variable) for variable in variables]
        condition = _as_condition(self, condition)
        return Apply(op, [condition, *given], [variable.type() for variable in given])

    def perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        condition, *values = inputs
        for cell, value in zip(output_storage, values, strict=True):
            cell[0] = value
        if not np.all(condition):
            return
        if self.action is not None:
            self.action(self, values)
            return
        print(f"Breakpoint {self.name!r}, made at\n  {node.origin}")  # noqa: T201
        breakpoint()  # noqa: T100 - the purpose of the Op

    # Once is enough where DebugMode computes everything several times.
    debug_perform = perform

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        return list(shapes.shapes[1:])

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """Each input except the first influences its own output only."""
        count = len(node.outputs)  # of another Breakpoint, if there are more or fewer variables
        return [[False] * count, *([i == j for j in range(count)] for i in range(count))]

    def do_constant_folding(self, fgraph: FunctionGraph, node: Any) -> bool:
        """Never fold: the Op has an effect at each call."""
        return False

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        return [disconnected_type(), *output_grads]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None if is_missing(point) else point for point in eval_points[1:]]

    def __str__(self) -> str:
        return f"Breakpoint{{{self.name!r}}}"
