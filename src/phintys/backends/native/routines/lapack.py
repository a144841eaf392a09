"""Functions of LAPACK: they work on whole matrices in place, and return a status.

LAPACK is column-major and arrays are row-major: it is passed the transpose of each matrix, so that
the upper triangle of an array is the lower one for LAPACK.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from phintys._base.errors import IntegrityError
from phintys.backends.native.assembler.types import INT32, VOID, type_of
from phintys.backends.native.routines.blas_functions import Routines
from phintys.backends.native.steps.call import CallWriter, LibraryCall, Routine
from phintys.tensor.blas import BLAS_LETTERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.backends.native.assembler.builder import Builder
    from phintys.backends.native.assembler.values import Value
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array


class Caller(Protocol):
    """What writes the function in which a routine is called."""

    b: Builder

    def size(self, size: Size) -> Value:
        """Return the value of a size."""
        ...

    def pointer(self, array: Array) -> Value:
        """Return the address of an array."""
        ...


class LapackRoutine(Routine):
    """A function of LAPACK, in one variant for each dtype.

    Subclasses say what its arguments are, which outputs it changes and how long it takes.

    Parameters
    ----------
    name
        Its name, without the letter of the dtype.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def narrow(self, call: LibraryCall[Any]) -> Mapping[str, Size]:
        """Return all sizes, also those of workspaces."""
        spaces = enumerate(call.workspace, 1)
        return call.lengths | {f"the size of workspace {n}": one.sizes[0] for n, one in spaces}

    def arguments(self, call: LibraryCall[Any], given: Arguments) -> Sequence[Value]:
        """Return the addresses of all arguments but the status, which is the last one."""
        raise NotImplementedError

    def emit(self, call: LibraryCall[Any], writer: CallWriter) -> Value:
        """Write the call, and return the status."""
        given = Arguments(call, writer)
        return given.lapack(self.name, self.arguments(call, given))


class Arguments:
    """The arguments of calls of LAPACK, all of which are passed by address.

    Parameters
    ----------
    call
        The call.
    writer
        Writes the code around it.
    """

    def __init__(self, call: LibraryCall[Any], writer: Caller) -> None:
        self._call = call
        self._writer = writer
        dtype = call.outputs[0].dtype
        if dtype.name not in BLAS_LETTERS:
            msg = f"There is no routine {call.routine.name!r} of {dtype} in LAPACK."
            raise IntegrityError(msg)
        self.letter_of_dtype = BLAS_LETTERS[dtype.name]
        self._scalars = Routines(writer.b, type_of(dtype))

    def letter(self, letter: str) -> Value:
        """Return the address of a letter."""
        return self._scalars.letter(letter)

    def integer(self, size: Size) -> Value:
        """Return the address of a size."""
        return self._scalars.integer(self._size(size))

    def stride(self, size: Size) -> Value:
        """Return the address of the distance between columns, which must be positive."""
        b = self._writer.b
        return self._scalars.integer(b.maximum_number(self._size(size), 1))

    def array(self, array: Array) -> Value:
        """Return the address of an array."""
        return self._writer.pointer(array)

    def _size(self, size: Size) -> Value:
        return self._writer.size(self._call.routine.checked(self._call, size))

    def lapack(self, name: str, arguments: Sequence[Value]) -> Value:
        """Write a call of LAPACK, and return its status, an int32."""
        b = self._writer.b
        status = b.slot(INT32)
        b.call(f"phintys_lapack_{self.letter_of_dtype}{name}", VOID, [*arguments, status])
        return b.load(INT32, status)
