"""Shared variables: symbolic variables whose value persists between calls."""

from __future__ import annotations

import copy
from contextlib import contextmanager
from contextvars import ContextVar
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from phintys._base.copies import copy_of
from phintys._base.errors import TypeContractError, add_note
from phintys._base.locks import ProcessLock
from phintys.graph.pickling import reduce_variable
from phintys.graph.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Generator

    from phintys.graph.type import Type

_SET: ContextVar[list[SharedVariable] | None] = ContextVar("set_shared", default=None)


class DeviceValue:
    """A value that a backend keeps on a device, in the cell of a container.

    Programs that can read it where it is get the object itself; all others get a copy on the host.
    """

    __slots__ = ()

    def on_host(self) -> Any:
        """Return the value as its Type has it, in memory that must not be written to."""
        raise NotImplementedError

    def on_device(self, *, copied: bool) -> Any:
        """Return the value as the device has it; a later update may overwrite it unless copied."""
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        return (copy.copy, (self.on_host(),))


def on_host(value: Any) -> Any:
    """Return a stored value as its Type has it, wherever it is."""
    return value.on_host() if isinstance(value, DeviceValue) else value


class Container:
    """A container for one value of a Type.

    Parameters
    ----------
    type
        The Type of the value.
    storage
        The cell, a list of length 1; changes are visible to all holders of the cell.
    strict, allow_downcast
        How values are filtered.
    name
        For messages.

    Attributes
    ----------
    sharding : Sharding or None
        How backends that know several devices divide the value.
    """

    sharding: Any = None

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
        """The value; an assigned value is filtered by the type."""
        return on_host(self.storage[0])

    @value.setter
    def value(self, value: Any) -> None:
        self.storage[0] = self.filter(value)

    def filter(self, value: Any) -> Any:
        """Return ``value`` filtered by the type, without storing it."""
        try:
            if self.type.filter_inplace is not None:
                return self.type.filter_inplace(
                    value, self.value, strict=self.strict, allow_downcast=self.allow_downcast
                )
            return self.type.filter(value, strict=self.strict, allow_downcast=self.allow_downcast)
        except Exception as error:
            add_note(error, f"While setting the value of {self.name or 'a shared variable'}.")
            raise


class SharedVariable(Variable):
    """A variable whose value is kept between calls and shared by all functions that use it.

    Use :func:`shared` to create one.

    Parameters
    ----------
    type
        Type of the variable and of its value.
    value
        Initial value; ``None`` if ``container`` is given.
    strict, allow_downcast
        How values are filtered.
    container
        An existing container to share with another variable.
    name
        Name of the variable, for display.

    Attributes
    ----------
    default_update : Variable or None
        Expression for the next value, used by every function that depends on the variable, unless
        the function is given another update or ``no_default_updates``.
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
        self._default_update: Variable | None = None
        if container is not None:
            if value is not None:
                msg = f"Shared variable {name}: give either a value or a container, not both."
                raise TypeContractError(msg)
            self.container = container
        else:
            self.container = Container(type, [None], strict, allow_downcast, name)
            self.container.value = value

    @property
    def default_update(self) -> Variable | None:
        """The expression for the next value in functions that do not give another."""
        return self._default_update

    @default_update.setter
    def default_update(self, new: Variable | None) -> None:
        found = _SET.get()
        if found is not None:
            found.append(self)
        self._default_update = new

    def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> Any:
        """Return the value.

        Parameters
        ----------
        borrow
            Return the stored object itself rather than a copy. Changes to it affect the variable.
            Of a value on a device, this is a copy on the host that must not be written to.
        return_internal_type
            Return the array of the device if the value is on one. With ``borrow`` the next update
            may delete it.
        """
        stored = self.container.storage[0]
        if return_internal_type and isinstance(stored, DeviceValue):
            return stored.on_device(copied=not borrow)
        value = self.container.value
        return value if borrow else copy.deepcopy(value)

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Set the value.

        Parameters
        ----------
        new_value
            The new value, which is filtered by the type.
        borrow
            Allow the object itself to be stored rather than a copy.
        """
        self.container.value = new_value if borrow else copy_of(new_value)

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

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        variable_type = vars(type(self)).get("_made_for")
        if variable_type is None:
            return reduce_variable(self)
        return (_new_shared, (variable_type,), dict(self.__dict__))


@contextmanager
def set_within() -> Generator[list[SharedVariable]]:
    """Collect the shared variables whose default updates are set in a ``with`` block.

    Examples
    --------
    >>> import phintys
    >>> from phintys.graph.shared_variable import set_within
    >>> count = phintys.shared(0)
    >>> with set_within() as found:
    ...     count.default_update = count + 1
    >>> found == [count]
    True
    """
    outer = _SET.get()
    found: list[SharedVariable] = []
    token = _SET.set(found)
    try:
        yield found
    finally:
        _SET.reset(token)
        if outer is not None:
            outer += found


def shared_class(variable_type: type[Variable]) -> type[SharedVariable]:
    """Return a class of shared variables that have the methods of a class of variables.

    The class is created at the first call and reused afterwards.

    Parameters
    ----------
    variable_type
        The class of a Type's variables.

    Raises
    ------
    TypeContractError
        ``variable_type`` has an ``__init__`` of its own, which cannot be called for a shared
        variable.

    Examples
    --------
    >>> from phintys.graph import Variable
    >>> from phintys.graph.shared_variable import shared_class
    >>> class Addable(Variable):
    ...     def __add__(self, other): ...
    >>> shared_class(Addable).__mro__[:3]
    (<class '...SharedAddable'>, <class '...Addable'>, <class '...SharedVariable'>)
    """
    if issubclass(variable_type, SharedVariable):
        return variable_type
    if variable_type is Variable:
        return SharedVariable
    if variable_type.__init__ is not Variable.__init__:
        name = variable_type.__name__
        msg = (
            f"Shared variables of a Type whose variables are {name} need a class of their own, "
            f"because {name} defines __init__. Write class Shared{name}({name}, SharedVariable) "
            f"and set it as shared_type of the Type."
        )
        raise TypeContractError(msg)
    with _MAKING:
        made = vars(variable_type).get("_shared_class")
        if made is None:
            namespace = {
                "__module__": variable_type.__module__,
                "__init__": SharedVariable.__init__,
                "_made_for": variable_type,
            }
            bases: tuple[Any, ...] = (variable_type, SharedVariable)
            made = type(f"Shared{variable_type.__name__}", bases, namespace)
            variable_type._shared_class = made  # pyright: ignore[reportAttributeAccessIssue]
    return made


_MAKING = ProcessLock()


def _new_shared(variable_type: type[Variable]) -> SharedVariable:
    """Return an empty variable for pickle to fill, since its class cannot be looked up by name."""
    cls = shared_class(variable_type)
    return cls.__new__(cls)
