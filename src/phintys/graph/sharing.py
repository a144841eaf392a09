"""``shared``: shared variables for values of any type."""

from __future__ import annotations

from functools import partial, singledispatch
from typing import TYPE_CHECKING, Any

from phintys._base import index
from phintys._base.errors import TypeContractError, add_note
from phintys._base.late import Homes, LateModule
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.type import Type, generic
from phintys.graph.variable import Variable

if TYPE_CHECKING:
    from phintys.graph import sharding as shardings
else:
    shardings = LateModule("phintys.graph.sharding")

_HOMES = Homes(index.SHARED_CONSTRUCTORS)


@singledispatch
def shared_constructor(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    **options: Any,
) -> SharedVariable:
    """Return a shared variable for a value, by its Python type; extended with ``.register``.

    A value whose type has no constructor is stored unchanged.
    """
    cls = value.__class__
    before = shared_constructor.dispatch(cls)
    for base in cls.__mro__:
        _HOMES.load(base.__name__)
    found = shared_constructor.dispatch(cls)
    if found is not before:
        return found(value, name, strict, allow_downcast, **options)
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
    type: Type | None = None,
    *,
    sharding: Any = None,
    **options: Any,
) -> Any:
    """Return a shared variable that starts with ``value``.

    Parameters
    ----------
    value
        An array, also of another library, a number, (nested) lists of numbers, or an object for
        whose class a constructor is registered. Other objects are stored unchanged, in a variable
        of the Type ``generic``.
    name
        Name of the variable, for display.
    strict
        Disallow casts when the value is set.
    allow_downcast
        Whether a cast may lose precision; ``None`` leaves it to the type.
    type
        Type of the variable; by default inferred from the class of ``value``.
    sharding
        How the value is divided among the devices of a mesh, where a function runs on several; see
        docs/accelerators.md.
    options
        Passed to the constructor, such as ``shape=`` and ``borrow=`` for arrays.

    Returns
    -------
    SharedVariable
        A variable of the Type that the value has; each type has its own class.

    Raises
    ------
    TypeContractError
        ``value`` is symbolic.

    Examples
    --------
    >>> import numpy as np, phintys
    >>> w = phintys.shared(np.zeros(3), name="w")
    >>> w.set_value([1.0, 2.0, 3.0])
    >>> w.get_value()
    array([1., 2., 3.])

    With ``type``, the variable has the operators of that Type:

    >>> phintys.shared(2, type=phintys.scalar.float64) * 3
    mul.0
    """
    if isinstance(value, Variable):
        msg = (
            f"shared() takes a value, got the symbolic variable {value}. Use "
            f"shared({value}.eval()) to start from what it evaluates to."
        )
        raise TypeContractError(msg)
    make = partial(shared_constructor, value) if type is None else partial(type.make_shared, value)
    try:
        made = make(name=name, strict=strict, allow_downcast=allow_downcast, **options)
        if sharding is not None:
            made.container.sharding = shardings.as_sharding(sharding, made)
    except (TypeError, ValueError) as error:
        add_note(error, f"While making a shared variable from a {value.__class__.__name__}.")
        raise
    return made
