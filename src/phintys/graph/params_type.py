"""Parameters of C code: values of an Op that its code reads as the fields of a structure."""

from __future__ import annotations

from typing import Any

from phintys._base.errors import TypeContractError
from phintys.graph.type import Type


class Params:
    """The values of a :class:`ParamsType`, as attributes.

    Parameters
    ----------
    params_type
        The Type.
    fields
        The values.
    """

    def __init__(self, params_type: ParamsType, **fields: Any) -> None:
        missing = [name for name in params_type.fields if name not in fields]
        if missing:
            msg = f"Params: the values must be {', '.join(params_type.fields)}; lacks {missing[0]}."
            raise TypeContractError(msg)
        self.__dict__.update({name: fields[name] for name in params_type.fields})
        self.params_type = params_type

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Params)
            and self.params_type == other.params_type
            and self.params_type.values_eq(self, other)
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType] - arrays have none

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.params_type.fields)
        return f"Params({fields})"


class ParamsType(Type):
    """The Type of several parameters of C code, which is ``params_type`` of an Op.

    An Op whose attributes have the names of the fields needs no ``get_params``. In C code,
    ``sub["params"]`` is a pointer to a structure: ``params->name``.

    Parameters
    ----------
    fields
        The Types of the values, by name.

    Examples
    --------
    >>> from phintys.graph.params_type import ParamsType
    >>> import phintys.scalar as ps
    >>> kind = ParamsType(scale=ps.float64, count=ps.int64)
    >>> kind.filter(kind.get_params(scale=2, count=3)).scale
    np.float64(2.0)
    """

    __props__ = ("names", "types")

    def __init__(self, **fields: Type) -> None:
        self.fields = dict(sorted(fields.items()))
        self.names = tuple(self.fields)
        self.types = tuple(self.fields.values())

    def get_params(self, *objects: Any, **fields: Any) -> Params:
        """Return the values: those of attributes of objects, or those that are given."""
        found = dict(fields)
        for name in self.fields:
            for one in objects:
                if name not in found and hasattr(one, name):
                    found[name] = getattr(one, name)
        return self.filter(Params(self, **found))

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        if not isinstance(value, Params) or value.params_type != self:
            msg = f"expected Params of {', '.join(self.fields)}, got {value!r}"
            raise TypeContractError(msg)
        filtered = {
            name: kind.filter(getattr(value, name), strict, allow_downcast)
            for name, kind in self.fields.items()
        }
        if strict:
            return value
        return Params(self, **filtered)

    def values_eq(self, a: Any, b: Any) -> bool:
        return all(
            kind.values_eq(getattr(a, name), getattr(b, name)) for name, kind in self.fields.items()
        )
