"""Functions of users: their symbols in code, and the code of scalar ops that call them.

A symbol contains the library and the name of the function, not an address. So the text of a program
is the same in every process, and its machine code, in the cache or a pickle, is bound to the right
function wherever it is loaded. Functions of one process have numbers instead: their code is bound
to what has the number there, and is not pickled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.casting import cast
from phintys.backends.native.assembler.control import each_lane
from phintys.backends.native.assembler.externals import LOCAL_PREFIX, USER_PREFIX
from phintys.backends.native.assembler.scalar_ops import CODE
from phintys.backends.native.assembler.types import type_of
from phintys.backends.native.assembler.values import Value
from phintys.native.functions import LibraryFunction, LocalFunction, NativeFunction, local_function
from phintys.native.scalars import NativeScalar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def symbol_of(function: NativeFunction) -> str:
    """Return the symbol of a function in code.

    Examples
    --------
    >>> from phintys.native import LibraryFunction
    >>> from phintys.backends.native.assembler.user_functions import function_of, symbol_of
    >>> function_of(symbol_of(LibraryFunction("libm.so.6", "cbrt")))
    LibraryFunction(library='libm.so.6', symbol='cbrt')
    """
    if isinstance(function, LocalFunction):
        return f"{LOCAL_PREFIX}{function.number}"
    return USER_PREFIX + f"{function.library}\0{function.symbol}".encode().hex()


def function_of(symbol: str) -> NativeFunction:
    """Return the function that a symbol names.

    Raises
    ------
    NativeFunctionError
        If it was one of this process that no longer exists.
    """
    if symbol.startswith(LOCAL_PREFIX):
        return local_function(int(symbol.removeprefix(LOCAL_PREFIX)))
    library, _, name = bytes.fromhex(symbol.removeprefix(USER_PREFIX)).decode().partition("\0")
    return LibraryFunction(library, name)


def functions_called(symbols: Iterable[str]) -> list[NativeFunction]:
    """Return the functions of users among the symbols that code needs, such as a module declares.

    Each :class:`~phintys.native.LibraryFunction` is a pair of a library and a symbol, which code
    outside of the process can be linked to; a :class:`~phintys.native.LocalFunction` cannot.

    Examples
    --------
    >>> from phintys.native import LibraryFunction
    >>> from phintys.backends.native.assembler.user_functions import functions_called, symbol_of
    >>> cbrt = symbol_of(LibraryFunction("libm.so.6", "cbrt"))
    >>> [(one.library, one.symbol) for one in functions_called(["malloc", cbrt])]
    [('libm.so.6', 'cbrt')]
    """
    return [function_of(one) for one in sorted(symbols) if one.startswith(USER_PREFIX)]


@CODE.register(NativeScalar)
def emit_native_scalar(b: Builder, op: NativeScalar, values: Sequence[Any]) -> Value:
    """Call the function for each lane."""
    symbol, lanes = symbol_of(op.function), values[0].type.lanes
    returns = type_of(op.dtype, lanes)
    inputs: list[Any] = [cast(b, value, returns) for value in values]
    one = type_of(op.dtype)
    return each_lane(b, returns, lambda *scalars: b.call(symbol, one, list(scalars)), *inputs)
