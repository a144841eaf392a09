"""The code of scalar ops by name, for each kind of dtype, and that of other outlined functions.

Modules that define it are imported when one of their functions is first looked up. Functions that
SciPy computes, lane by lane, are defined here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from phintys._base import index
from phintys._base.errors import OpContractError
from phintys._base.late import Homes, LateModule
from phintys._base.records import record
from phintys._base.uninterrupted import is_imported_again
from phintys.backends.native.assembler.externals import EXTERNALS, FOR_SOME_ARGUMENTS, External

if TYPE_CHECKING:
    from phintys.backends.native.assembler.builder import Builder
    from phintys.backends.native.assembler.math import lanewise
    from phintys.backends.native.assembler.module import Module
    from phintys.backends.native.assembler.values import Value
else:
    lanewise = LateModule("phintys.backends.native.assembler.math.lanewise")

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


class OutlinedSymbol(NamedTuple):
    """Which function an outlined symbol stands for.

    Examples
    --------
    >>> OutlinedSymbol("exp", "float64", 8).symbol
    'phintys_exp_float64_x8'
    >>> OutlinedSymbol.parse("phintys_exp_float64_x8")
    OutlinedSymbol(name='exp', dtype='float64', lanes=8)
    """

    name: str
    dtype: str
    lanes: int

    @property
    def symbol(self) -> str:
        """The symbol."""
        return f"phintys_{self.name}_{self.dtype}_x{self.lanes}"

    @classmethod
    def parse(cls, symbol: str) -> OutlinedSymbol:
        """Return the function that a :attr:`symbol` stands for."""
        rest, _, lanes = symbol.removeprefix("phintys_").rpartition("_x")
        name, _, dtype = rest.rpartition("_")
        return cls(name, dtype, int(lanes))


class Functions(Mapping[str, _T]):
    """Code by name, such as that of scalar ops on one kind of dtype.

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
            Its name, such as that of a scalar op.
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
            msg = f"There are two functions named {name!r} of the same kind."
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

OUTLINED_FUNCTIONS: Functions[Callable[[Module, OutlinedSymbol], None]] = Functions(
    index.OUTLINED_FUNCTIONS
)
"""``(module, symbol)`` writes a function that is more than vector math into a module."""


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


def outlined_function(*names: str) -> Callable[[Emitter], Emitter]:
    """Register what is decorated as what writes outlined functions into a module.

    Parameters
    ----------
    *names
        The names in their symbols.
    """

    def register(write: Emitter) -> Emitter:
        for name in names:
            OUTLINED_FUNCTIONS.add(name, write, write.__globals__)
        return write

    return register


def _caller(external: External) -> Emitter:
    def call(b: Builder, *values: Value) -> Value:
        return lanewise.call_external(b, external.symbol, *values)

    call.__doc__ = f"scipy.special's {external.name}."
    return call


for _external in EXTERNALS.values():
    if _external.source == "scipy" and _external.op not in FOR_SOME_ARGUMENTS:
        float_function(_external.op, _external.nin)(_caller(_external))
