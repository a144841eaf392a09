"""Types of gradients without a value: undefined and disconnected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from phintys._base.errors import TypeContractError
from phintys.graph.type import Type

if TYPE_CHECKING:
    from phintys.graph.op import Op
    from phintys.graph.variable import Variable

__all__ = [
    "DisconnectedType",
    "NullType",
    "disconnected_type",
    "grad_not_implemented",
    "grad_undefined",
    "null_type",
]


class NullType(Type):
    """Type of a gradient that is undefined or not implemented; it has no values.

    All NullTypes are equal, whatever their reasons.

    Parameters
    ----------
    why_null
        The reason, shown in the error for a use of the gradient.

    Examples
    --------
    >>> from phintys.graph import NullType
    >>> NullType("argmax jumps")().type.why_null
    'argmax jumps'
    """

    def __init__(self, why_null: str = "no reason given") -> None:
        self.why_null = why_null

    def filter(
        self, value: Any, strict: bool = False, allow_downcast: bool | None = None
    ) -> NoReturn:
        """Raise TypeContractError: a NullType has no values."""
        msg = f"A NullType variable has no value ({self.why_null})."
        raise TypeContractError(msg)

    def filter_variable(self, other: Any, allow_convert: bool = True) -> NoReturn:
        """Raise TypeContractError: a NullType variable cannot be replaced."""
        msg = f"A NullType variable cannot be replaced ({self.why_null})."
        raise TypeContractError(msg)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return "NullType"


class DisconnectedType(Type):
    """Type of the gradient with respect to a variable that the cost does not depend on.

    Examples
    --------
    >>> from phintys.graph import DisconnectedType
    >>> DisconnectedType()().type == DisconnectedType()
    True
    """

    __props__ = ()

    def filter(
        self, value: Any, strict: bool = False, allow_downcast: bool | None = None
    ) -> NoReturn:
        """Raise TypeContractError: a DisconnectedType has no values."""
        msg = (
            "A disconnected gradient has no value: the cost does not depend on this variable. "
            "For zeros instead, use grad(..., disconnected_inputs='ignore')."
        )
        raise TypeContractError(msg)

    def filter_variable(self, other: Any, allow_convert: bool = True) -> NoReturn:
        """Raise TypeContractError: a DisconnectedType variable cannot be replaced."""
        msg = f"A DisconnectedType variable cannot be replaced by {other!r}."
        raise TypeContractError(msg)


null_type = NullType()
disconnected_type = DisconnectedType()


def is_null(variable: Variable) -> bool:
    """Return whether a gradient is undefined."""
    return isinstance(variable.type, NullType)


def is_disconnected(variable: Variable) -> bool:
    """Return whether a gradient is disconnected: the cost does not depend on the variable."""
    return isinstance(variable.type, DisconnectedType)


def grad_undefined(op: Op, x_pos: int, x: Variable, comment: str = "") -> Variable:
    """Return the value for ``Op.grad`` to return for an input whose gradient is undefined.

    Parameters
    ----------
    op
        The Op that is being differentiated.
    x_pos
        Which of its inputs has no gradient.
    x
        That input.
    comment
        Why it is undefined; included in the error for a use of the gradient.

    Returns
    -------
    Variable
        Of :class:`NullType`.

    Examples
    --------
    >>> from phintys.graph import Op, Variable, generic
    >>> from phintys.graph.null_type import grad_undefined
    >>> axis = Variable(generic, name="axis")
    >>> gradient = grad_undefined(Op(), 1, axis, "there is no fractional axis")
    >>> print(gradient.type.why_null)  # doctest: +NORMALIZE_WHITESPACE
    the gradient of Op with respect to input 1, axis (type generic), is undefined:
    there is no fractional axis
    """
    return NullType(_reason("undefined", op, x_pos, x, comment))()


def grad_not_implemented(op: Op, x_pos: int, x: Variable, comment: str = "") -> Variable:
    """Return the value for ``Op.grad`` to return for an input whose gradient is not implemented.

    Parameters
    ----------
    op
        The Op that is being differentiated.
    x_pos
        Which of its inputs has no gradient.
    x
        That input.
    comment
        Further details; included in the error for a use of the gradient.

    Returns
    -------
    Variable
        Of :class:`NullType`.
    """
    return NullType(_reason("not implemented", op, x_pos, x, comment))()


def _reason(what: str, op: Op, position: int, x: Variable, comment: str) -> str:
    named = f"{x.name} (type {x.type})" if x.name else f"of type {x.type}"
    reason = f"the gradient of {op} with respect to input {position}, {named}, is {what}"
    return f"{reason}: {comment}" if comment else reason
