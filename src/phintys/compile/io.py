"""In and Out: the inputs and outputs of a function, with their options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError, shown
from phintys._base.late import LateModule
from phintys.graph.shared_variable import Container, SharedVariable
from phintys.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from phintys.graph import sharding as shardings
else:
    shardings = LateModule("phintys.graph.sharding")


class In:
    """An input of a function.

    Parameters
    ----------
    variable
        The variable that gets the value.
    name
        Keyword for the argument; the variable's name by default (unless ``autoname=False``).
    value
        Default value. Without one, the argument is required.
    update
        Expression for the value of the input at the next call; the first value is ``value``.
    mutable
        Allow the argument's memory to be overwritten.
    strict
        Reject arguments that would have to be cast.
    allow_downcast
        Whether the cast may lose precision. ``None`` allows it for Python floats only.
    autoname
        Use the variable's name if ``name`` is not given.
    implicit
        The input is never passed as an argument; the default if ``value`` is a container.
    borrow
        Allow results to share the argument's memory; implied by ``mutable``.
    shared
        The input represents a shared variable.
    sharding
        How the value is divided among the devices of a mesh, in modes that know several; see
        docs/accelerators.md.

    Examples
    --------
    >>> import phintys
    >>> import phintys.tensor as pt
    >>> x, y = pt.dscalars("x", "y")
    >>> f = phintys.function([x, phintys.In(y, value=2.0)], x * y)
    >>> f(3.0), f(3.0, 5.0), f(3.0, y=7.0)
    (array(6.), array(15.), array(21.))

    An input with an update is internal state of the function:

    >>> count = pt.dscalar("count")
    >>> f = phintys.function([x, phintys.In(count, value=0.0, update=count + x)], count)
    >>> f(1.0), f(1.0), f[count]
    (array(0.), array(1.), array(2.))
    """

    def __init__(
        self,
        variable: Variable,
        name: str | None = None,
        value: Any = None,
        update: Any = None,
        mutable: bool | None = None,
        strict: bool = False,
        allow_downcast: bool | None = None,
        autoname: bool = True,
        implicit: bool | None = None,
        borrow: bool | None = None,
        shared: bool = False,
        sharding: Any = None,
    ) -> None:
        check_input_variable(variable, shared=shared)
        if name is not None and not isinstance(name, str):
            msg = f"In({variable}): the name of an input is a str, got {name!r}."
            raise ArgumentError(msg)
        self.variable = variable
        self.name = variable.name if name is None and autoname else name
        self.value = value
        self.mutable = bool(mutable)
        self.strict = strict
        self.allow_downcast = allow_downcast
        self.implicit = isinstance(value, Container) if implicit is None else implicit
        self.shared = shared
        self.sharding = None if sharding is None else shardings.as_sharding(sharding, variable)
        if self.mutable and borrow is False:
            msg = (
                f"In({variable}, mutable=True, borrow=False): an argument that may be overwritten "
                "is shared with the function anyway. Drop borrow=False, or mutable=True."
            )
            raise ArgumentError(msg)
        self.borrow = self.mutable if borrow is None else borrow
        if self.implicit and not shared and value is None:
            msg = f"In({variable}, implicit=True) can never get a value: give it value=..."
            raise ArgumentError(msg)
        self.update = None if update is None else _checked_update(variable, update)

    @property
    def is_lent_for_writing(self) -> bool:
        """Whether calls give an array that may be overwritten, of which nothing is kept."""
        return self.mutable and not self.shared and self.update is None and self.value is None

    def __repr__(self) -> str:
        parts = [str(self.variable), str(self.variable.type)]
        if self.value is not None:
            parts.append("has a value")
        if self.update is not None:
            parts.append(f"update={self.update}")
        if self.sharding is not None:
            parts.append(f"sharding={self.sharding}")
        flags = ("mutable", "strict", "borrow", "implicit", "shared")
        parts.extend(flag for flag in flags if getattr(self, flag))
        return f"In({', '.join(parts)})"


def check_input_variable(variable: Any, *, shared: bool = False) -> None:
    """Raise unless ``variable`` can be an input of a function."""
    if not isinstance(variable, Variable):
        msg = (
            f"An input of a function is a Variable or In(variable, ...), got {shown(variable)} "
            f"of type {type(variable).__name__}. Values are given when the function is called, or "
            "with In(variable, value=...)."
        )
        raise ArgumentError(msg)
    if isinstance(variable, Constant):
        msg = (
            f"The constant {variable} cannot be an input of a function: its value is fixed. Use a "
            "variable of the same type in the graph: x = constant.type('x')."
        )
        raise ArgumentError(msg)
    if isinstance(variable, SharedVariable) and not shared:
        msg = (
            f"The shared variable {variable} cannot be an explicit input of a function: functions "
            "read its value by themselves. Leave it out of the inputs; to use another value in "
            "this function only, write givens={shared: x} with x as the input."
        )
        raise ArgumentError(msg)


def _checked_update(variable: Variable, update: Any) -> Variable:
    try:
        return variable.type.filter_variable(update, allow_convert=False)
    except (TypeError, ValueError) as error:
        kind = f"type {update.type}" if isinstance(update, Variable) else type(update).__name__
        msg = (
            f"In({variable}): an update must have the input's type {variable.type}, got {update} "
            f"({kind}). Cast it to that type."
        )
        raise ArgumentError(msg) from error


class Out:
    """An output of a function.

    Parameters
    ----------
    variable
        The variable to compute; a number is converted to a constant.
    borrow
        Allow the result to share memory with the function or another result, which avoids a copy.
        Such a result may be overwritten by the next call.

    Examples
    --------
    >>> import phintys
    >>> import phintys.tensor as pt
    >>> x = pt.dvector("x")
    >>> f = phintys.function([phintys.In(x, borrow=True)], phintys.Out(x, borrow=True))
    >>> import numpy as np
    >>> value = np.zeros(3)
    >>> f(value) is value
    True
    """

    def __init__(self, variable: Any, borrow: bool = False) -> None:
        self.variable = variable
        self.borrow = borrow

    def __repr__(self) -> str:
        return f"Out({self.variable}{', borrow' if self.borrow else ''})"


def as_in(param: Any, *, strict: bool = False, allow_downcast: bool | None = None) -> In:
    """Return a parameter of a function as an :class:`In`."""
    if isinstance(param, In):
        return param
    if isinstance(param, list | tuple | dict | set):
        msg = (
            f"An input of a function is a Variable or In(variable, ...), got {shown(param)}. "
            "Lists of variables are not nested: write [*xs, y]."
        )
        raise ArgumentError(msg)
    return In(param, strict=strict, allow_downcast=allow_downcast)


def shared_input(variable: SharedVariable) -> In:
    """Return the implicit input that represents a shared variable."""
    return In(variable, value=variable.container, implicit=True, shared=True, borrow=True)
