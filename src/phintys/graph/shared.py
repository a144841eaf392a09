"""Shared variables: symbolic variables with a value that outlives a call."""

from __future__ import annotations

import copy
from functools import singledispatch
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from phintys._base.errors import TypeContractError
from phintys.graph.type import generic
from phintys.graph.variable import Variable

if TYPE_CHECKING:
    from phintys.graph.type import Type

__all__ = ["Container", "SharedVariable", "shared", "shared_constructor"]


class Container:
    """A place for one value of a Type.

    Parameters
    ----------
    type
        What the value must fit.
    storage
        The cell, a list of length 1; other holders of the cell see each change.
    strict, allow_downcast
        How values are filtered.
    name
        For messages.
    """

    def __init__(
        self,
        type: Type,
        storage: list[Any],
        strict: bool = False,
        allow_downcast: bool | None = None,
        name: str | None = None,
    ) -> None:
        self.type = type
        self.storage = storage
        self.strict = strict
        self.allow_downcast = allow_downcast
        self.name = name

    @property
    def value(self) -> Any:
        """The value; assignment filters through the type."""
        return self.storage[0]

    @value.setter
    def value(self, value: Any) -> None:
        self.storage[0] = self.filter(value)

    def filter(self, value: Any) -> Any:
        """Return ``value`` as the container would hold it, without storing it."""
        try:
            if self.type.filter_inplace is not None:
                return self.type.filter_inplace(
                    value, self.storage[0], strict=self.strict, allow_downcast=self.allow_downcast
                )
            return self.type.filter(value, strict=self.strict, allow_downcast=self.allow_downcast)
        except Exception as error:
            error.add_note(f"While setting the value of {self.name or 'a shared variable'}.")
            raise


class SharedVariable(Variable):
    """A variable whose value is kept between calls and shared by all functions that use it.

    Make one with :func:`shared`.

    Parameters
    ----------
    type
        Type of the variable and its value.
    value
        First value; ``None`` with ``container``.
    strict, allow_downcast
        How values are filtered.
    container
        An existing container to share with another variable.
    name
        A name for people.

    Attributes
    ----------
    default_update : Variable or None
        Expression for the next value, used by every function that depends on the variable, unless
        the function gives another or says ``no_default_updates``.
    """

    def __init__(
        self,
        type: Type,
        value: Any = None,
        strict: bool = False,
        allow_downcast: bool | None = None,
        container: Container | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(type, None, None, name)
        self.default_update: Variable | None = None
        if container is not None:
            if value is not None:
                msg = f"Shared variable {name}: give either a value or a container, not both."
                raise TypeContractError(msg)
            self.container = container
        else:
            self.container = Container(type, [None], strict, allow_downcast, name)
            self.container.value = value

    def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> Any:
        """Return the value.

        Parameters
        ----------
        borrow
            Return the stored object itself rather than a copy. Changing it changes the variable.
        return_internal_type
            Accepted for programs that name it; a backend with its own storage returns that.
        """
        value = self.container.value
        return value if borrow else copy.deepcopy(value)

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Set the value.

        Parameters
        ----------
        new_value
            Filtered by the type.
        borrow
            Allow the object itself to be stored rather than a copy.
        """
        self.container.value = new_value if borrow else copy.deepcopy(new_value)

    def clone(self, name: str | None = None) -> SharedVariable:
        """Return another variable with the same container."""
        twin = self.__class__.__new__(self.__class__)
        twin.__dict__.update(self.__dict__)
        if name is not None:
            twin.name = name
        if self._tag is not None:
            twin._tag = SimpleNamespace(**vars(self._tag))
        return twin

    def __str__(self) -> str:
        return self.name if self.name is not None else f"<shared {self.type}>"


@singledispatch
def shared_constructor(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    **options: Any,
) -> SharedVariable:
    """Make a shared variable for a value of some Python type; extended by ``.register``.

    Without a constructor for its type, any object is kept as it is.
    """
    if options:
        msg = (
            f"shared({type(value).__name__}) takes no option {', '.join(map(repr, options))}: "
            "values of this type are kept as they are."
        )
        raise TypeContractError(msg)
    return SharedVariable(generic, value, strict, allow_downcast, name=name)


def shared(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    **options: Any,
) -> Any:
    """Return a shared variable that starts with ``value``.

    Parameters
    ----------
    value
        An array, a number, or any object for whose type a constructor is registered.
    name
        A name for people.
    strict
        Forbid casts when the value is set.
    allow_downcast
        Whether a cast may lose precision; ``None`` leaves it to the type.
    options
        For the constructor, such as ``shape=`` and ``borrow=`` for arrays.

    Raises
    ------
    TypeContractError
        ``value`` is itself symbolic.

    Examples
    --------
    >>> import numpy as np, phintys
    >>> w = phintys.shared(np.zeros(3), name="w")
    >>> w.set_value([1.0, 2.0, 3.0])
    >>> w.get_value()
    array([1., 2., 3.])
    """
    if isinstance(value, Variable):
        msg = (
            f"shared() takes a value, got the symbolic variable {value}. Use "
            f"shared({value}.eval()) to start from what it evaluates to."
        )
        raise TypeContractError(msg)
    try:
        return shared_constructor(
            value, name=name, strict=strict, allow_downcast=allow_downcast, **options
        )
    except (TypeError, ValueError) as error:
        error.add_note(f"While making a shared variable from a {type(value).__name__}.")
        raise
