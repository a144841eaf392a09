"""The code of scalar ops, by name, for each kind of dtype.

Modules that define it are imported when one of their functions is first looked up. Functions that
SciPy computes, lane by lane, are defined here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from phintys._base import index
from phintys._base.errors import OpContractError
from phintys._base.late import Homes, LateModule
from phintys._base.records import record
from phintys._base.uninterrupted import is_imported_again
from phintys.backends.native.assembler.externals import EXTERNALS, External

if TYPE_CHECKING:
    from phintys.backends.native.assembler.builder import Builder
    from phintys.backends.native.assembler.math import lanewise
    from phintys.backends.native.assembler.values import Value
else:
    lanewise = LateModule("phintys.backends.native.assembler.math.lanewise")

__all__ = [
    "COMPLEX_FUNCTIONS",
    "FLOAT_FUNCTIONS",
    "INTEGER_FUNCTIONS",
    "Emitter",
    "FloatFunction",
    "Functions",
    "complex_function",
    "float_function",
    "integer_function",
]

_T = TypeVar("_T")

Emitter = Callable[..., Any]


@record(frozen=True)
class FloatFunction:
    """A function of float32 or float64 values of one type, with a result of that type.

    Attributes
    ----------
    name
        Name of the scalar op.
    nin
        Number of inputs.
    emit
        ``emit(b, *values)`` writes it in place.
    outlined
        Whether kernels call it, because it is long.
    """

    name: str
    nin: int
    emit: Emitter
    outlined: bool


class Functions(Mapping[str, _T]):
    """The code of scalar ops on one kind of dtype, by name.

    Modules of the package are imported when one of their functions is first looked up. Other
    modules, such as those of users, register their functions when they are imported.

    Parameters
    ----------
    homes
        The table of the index that names the functions of our modules.
    """

    def __init__(self, homes: Mapping[str, str]) -> None:
        self._late = Homes(homes)
        self._there: dict[str, _T] = {}
        self._homes: dict[str, Mapping[str, object]] = {}

    def add(self, name: str, function: _T, home: Mapping[str, object]) -> None:
        """Register a function.

        Parameters
        ----------
        name
            Name of the scalar op.
        function
            The function.
        home
            The namespace of the module that defines it.

        Raises
        ------
        OpContractError
            Another module has registered one of that name.
        """
        if name in self._there and not is_imported_again(self._homes[name], home):
            msg = f"There are two functions named {name!r} for the same kind of dtype."
            raise OpContractError(msg)
        self._there[name] = function
        self._homes[name] = home

    def __getitem__(self, name: str) -> _T:
        if name not in self._there:
            self._late.load(name)
        return self._there[name]

    def __contains__(self, name: object) -> bool:
        return name in self._there or name in self._late

    def __iter__(self) -> Iterator[str]:
        return iter({**self._late, **self._there})

    def __len__(self) -> int:
        return len({**self._late, **self._there})


FLOAT_FUNCTIONS: Functions[FloatFunction] = Functions(index.FLOAT_FUNCTIONS)
"""By name; float16 values go through float32."""

INTEGER_FUNCTIONS: Functions[Emitter] = Functions(index.INTEGER_FUNCTIONS)
"""Functions of integers of one type."""

COMPLEX_FUNCTIONS: Functions[Emitter] = Functions(index.COMPLEX_FUNCTIONS)
"""Functions of complex numbers of one type; the result may be real."""


def float_function(
    name: str, nin: int = 1, *, outlined: bool = True
) -> Callable[[Emitter], Emitter]:
    """Register what is decorated as the code of a scalar op on floats.

    Parameters
    ----------
    name
        Name of the scalar op.
    nin
        Number of inputs.
    outlined
        Whether kernels call it instead of containing a copy.
    """

    def register(emitter: Emitter) -> Emitter:
        function = FloatFunction(name, nin, emitter, outlined)
        FLOAT_FUNCTIONS.add(name, function, emitter.__globals__)
        return emitter

    return register


def integer_function(*names: str) -> Callable[[Emitter], Emitter]:
    """Register what is decorated as the code of scalar ops on integers."""

    def register(emitter: Emitter) -> Emitter:
        for name in names:
            INTEGER_FUNCTIONS.add(name, emitter, emitter.__globals__)
        return emitter

    return register


def complex_function(*names: str) -> Callable[[Emitter], Emitter]:
    """Register what is decorated as the code of scalar ops on complex numbers."""

    def register(emitter: Emitter) -> Emitter:
        for name in names:
            COMPLEX_FUNCTIONS.add(name, emitter, emitter.__globals__)
        return emitter

    return register


def _caller(external: External) -> Emitter:
    def call(b: Builder, *values: Value) -> Value:
        return lanewise.call_external(b, external.symbol, *values)

    call.__doc__ = f"scipy.special's {external.name}."
    return call


for _external in EXTERNALS.values():
    if _external.source == "scipy":
        float_function(_external.op, _external.nin)(_caller(_external))
