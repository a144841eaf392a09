"""Type: a set of values and the operations on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

from phintys._base.copies import copy_of
from phintys._base.errors import MethodNotDefinedError, TypeContractError
from phintys.graph.identity import missing_prop, props_eq, values_getter
from phintys.graph.shared_variable import SharedVariable, shared_class
from phintys.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self


class Type:
    """A constraint on values: the static annotation of a :class:`Variable`.

    A new Type is a subclass that defines :meth:`filter`, or a plain ``Type()`` with ``filter`` set
    on the instance; everything else has a default.

    Two Types that compare equal are interchangeable. The default comparison is identity;
    a parametrised Type lists its parameters in ``__props__`` and gets ``__eq__``, ``__hash__``
    and ``__repr__`` from them, or defines these methods itself.

    Examples
    --------
    >>> from phintys.graph import Type
    >>> class Even(Type):
    ...     def filter(self, value, strict=False, allow_downcast=None):
    ...         if isinstance(value, int) and value % 2 == 0:
    ...             return value
    ...         raise TypeError(f"expected an even int, got {value!r}")
    >>> even = Even()
    >>> x = even("x")
    >>> even.is_valid_value(4), even.is_valid_value(3)
    (True, False)
    """

    variable_type: type[Variable] = Variable
    """Class of the variables that :meth:`make_variable` makes."""

    constant_type: type[Constant] = Constant
    """Class of the constants that :meth:`make_constant` makes."""

    shared_type: type[SharedVariable] | None = None
    """Class of the shared variables that :meth:`make_shared` makes; ``None`` for one that has the
    methods of ``variable_type``."""

    holds_arrays: ClassVar[bool] = False
    """Whether values are plain arrays of ``numpy_dtype`` and ``shape``: native code takes them."""

    __props__: ClassVar[tuple[str, ...]]
    _props_key: ClassVar[Callable[[Any], tuple[Any, ...]]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__eq__" in cls.__dict__ and cls.__dict__.get("__hash__") is None:
            # Python removes __hash__ from a class that only defines __eq__. Equal Types must hash
            # equal, and Types that compare equal here are of this class.
            cls.__hash__ = lambda self: hash(cls)
        props = cls.__dict__.get("__props__")
        if props is None:
            return
        if not isinstance(props, tuple):
            msg = f"{cls.__name__}.__props__ must be a tuple of names, got {props!r}."
            raise TypeContractError(msg)
        cls._props_key = staticmethod(values_getter(cast("tuple[str, ...]", props)))
        for name, method in (("__eq__", props_eq), ("__hash__", _props_hash)):
            if name not in cls.__dict__:
                setattr(cls, name, method)

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return ``value`` cast to this Type.

        Parameters
        ----------
        value
            Any object.
        strict
            Disallow casting: return ``value`` itself or raise.
        allow_downcast
            Whether a cast may lose precision; ``None`` leaves it to the Type.

        Raises
        ------
        TypeError
            ``value`` is not valid for this Type.
        """
        msg = (
            f"The Type {self!r} has no filter. Define filter(value, strict=False, "
            "allow_downcast=None) in its class, or set it on the instance."
        )
        raise MethodNotDefinedError(msg)

    filter_inplace: Any = None
    """Optional ``filter_inplace(value, storage, strict=False, allow_downcast=None)``: like
    :meth:`filter`, but may reuse ``storage``, the old value. Used when a shared value is set."""

    def is_valid_value(self, value: Any) -> bool:
        """Return whether ``value`` belongs to the Type without a cast."""
        try:
            self.filter(value, strict=True)
        except MethodNotDefinedError:
            raise
        except Exception:  # noqa: BLE001 - whatever filter raises, the value does not belong
            return False
        return True

    def values_eq(self, a: Any, b: Any) -> bool:
        """Return whether two values are equal."""
        return bool(a == b)

    def values_eq_approx(self, a: Any, b: Any) -> bool:
        """Return whether two values are equal up to differences that rewriting may cause."""
        return self.values_eq(a, b)

    def filter_variable(self, other: Any, allow_convert: bool = True) -> Variable:
        """Convert ``other`` to a variable of this Type.

        Parameters
        ----------
        other
            A variable, or a value to convert to a constant.
        allow_convert
            Try :meth:`convert_variable` on a variable of another Type.

        Raises
        ------
        TypeError
            ``other`` cannot be converted.
        """
        if not isinstance(other, Variable):
            return self.make_constant(self.filter(other))
        if other.type == self or self.is_super(other.type):
            return other
        if allow_convert:
            converted = self.convert_variable(other)
            if converted is not None:
                return converted
        msg = f"Cannot use {other} (type {other.type}) as a variable of type {self}."
        raise TypeContractError(msg)

    def convert_variable(self, variable: Variable) -> Variable | None:
        """Return an expression of this Type with the value of ``variable``, or ``None``."""
        return variable if self.is_super(variable.type) else None

    def is_super(self, other: Type) -> bool:
        """Return whether every value of ``other`` is also a value of this Type."""
        return self == other

    def in_same_class(self, other: Type) -> bool:
        """Return whether the two Types differ at most in static information such as sizes."""
        return self == other

    def make_variable(self, name: str | None = None) -> Variable:
        """Make a variable of this Type."""
        return self.variable_type(self, name=name)

    def make_constant(self, value: Any, name: str | None = None) -> Constant:
        """Make a constant of this Type."""
        return self.constant_type(self, value, name=name)

    def make_shared(
        self,
        value: Any,
        name: str | None = None,
        strict: bool = False,
        allow_downcast: bool | None = None,
        borrow: bool = False,
    ) -> SharedVariable:
        """Make a shared variable of this Type; ``shared(value, type=...)`` calls it.

        Parameters
        ----------
        value
            The initial value, filtered by the Type.
        name
            Name of the variable, for display.
        strict, allow_downcast
            How the initial value and later values are filtered.
        borrow
            Allow the object itself to be stored rather than a copy.

        Examples
        --------
        >>> from phintys.scalar import float64
        >>> w = float64.make_shared(2.0, name="w")
        >>> w + 1  # it has the operators of the Type's variables
        add.0
        >>> w.get_value().item()
        2.0
        """
        cls = self.shared_type
        if cls is None:
            cls = shared_class(self.variable_type)
        elif not (isinstance(cls, type) and issubclass(cls, SharedVariable)):  # pyright: ignore[reportUnnecessaryIsInstance]
            msg = f"shared_type of {self!r} must be a subclass of SharedVariable, got {cls!r}."
            raise TypeContractError(msg)
        first = value if borrow else copy_of(value)
        return cls(self, first, strict, allow_downcast, name=name)

    def __call__(self, name: str | None = None) -> Variable:
        """Make a variable of this Type; short for :meth:`make_variable`."""
        return self.make_variable(name)

    def clone(self, **changes: Any) -> Self:
        """Return the Type with some parameters changed; defined by parametrised Types."""
        if not changes:
            return self
        msg = f"The Type {self!r} has no parameters to change (got {', '.join(changes)})."
        raise MethodNotDefinedError(msg)

    def get_shape_info(self, obj: Any) -> Any:
        """Return the information about ``obj`` that :meth:`get_size` needs; must be fast."""
        msg = f"The Type {self!r} does not define get_shape_info, which profiling memory needs."
        raise MethodNotDefinedError(msg)

    def get_size(self, shape_info: Any) -> int:
        """Return the size in bytes of a value described by ``shape_info``."""
        msg = f"The Type {self!r} does not define get_size, which profiling memory needs."
        raise MethodNotDefinedError(msg)

    @staticmethod
    def may_share_memory(a: Any, b: Any) -> bool:
        """Return whether two values could share memory; by default only if identical."""
        return a is b

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # a Type does not change, and one without parameters equals only itself

    def __repr__(self) -> str:
        props = getattr(self, "__props__", None)
        if props is None:
            return type(self).__name__
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in props)
        return f"{type(self).__name__}({values})"


def _props_hash(self: Any) -> int:
    try:
        return hash((self.__class__, self._props_key(self)))
    except AttributeError as error:
        raise missing_prop(self, error) from error


class Generic(Type):
    """The Type of any Python object; no constraint at all."""

    __props__ = ()

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return ``value``."""
        return value

    def is_valid_value(self, value: Any) -> bool:
        """Return ``True``."""
        return True

    def __repr__(self) -> str:
        return "generic"


generic = Generic()
