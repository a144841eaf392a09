"""What the native backend knows about a library routine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from phintys._base.errors import IntegrityError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.backends.native.assembler.values import Value
    from phintys.backends.native.explain import Explainer
    from phintys.backends.native.polynomials import Polynomial
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.steps.call import LibraryCall
    from phintys.backends.native.values import Array
    from phintys.backends.native.writer.main_function import MainFunction
    from phintys.backends.native.writer.step_writer import StepWriter

__all__ = ["Routine"]


class Routine:
    """A routine of a library, as the steps that call it see it.

    A family of routines is a file with subclasses, or with instances of one. Nothing else lists
    routines: lowerings name the object in :class:`~phintys.backends.native.steps.call.LibraryCall`,
    and the loader finds a function by its symbol, ``phintys_blas_dgemm``.
    """

    name: str
    """Its name, for people."""

    shares_work: ClassVar[bool] = False
    """Whether it hands parts of its work to the thread pool, and checks for signals meanwhile.

    Other routines use one thread: those of a library would spin while they wait for each other.
    """

    ignores_sizes_of_output: ClassVar[bool] = False
    """Whether its only output can be any array with as many elements, which is a reshaped result.

    That is so if it is passed strides among its options, not those of the array.
    """

    reads_once: ClassVar[bool] = False
    """Whether it reads no element of its largest input twice: it takes no longer than a copy."""

    def updates(self, call: LibraryCall[Any]) -> Sequence[Array]:
        """Return the outputs whose former values it reads."""
        return ()

    def narrow(self, call: LibraryCall[Any]) -> Mapping[str, Size]:
        """Return the sizes that it is passed as 32-bit integers, by their names for messages.

        A call fails if one of them is larger. Sizes that the routine is passed in pieces are not
        among them.
        """
        return {}

    def checked(self, call: LibraryCall[Any], size: Size) -> Size:
        """Return a size that is about to be passed; it must be one of :meth:`narrow`.

        Raises
        ------
        IntegrityError
            It is not, so that calls would not check its range.
        """
        if not any(size is one for one in self.narrow(call).values()):
            msg = f"{self.name!r} is passed {size}, which is not in its narrow()."
            raise IntegrityError(msg)
        return size

    def divides(self, call: LibraryCall[Any]) -> bool:
        """Return whether it hands parts of a call to the thread pool."""
        return self.shares_work

    def work(self, call: LibraryCall[Any], main: MainFunction) -> Polynomial | None:
        """Return a rough estimate of its time, from :meth:`MainFunction.scaled`."""
        return None

    def line(self, call: LibraryCall[Any], explainer: Explainer) -> str:
        """Return a call as text."""
        given, made = (
            ", ".join(map(explainer.name, arrays)) for arrays in (call.inputs, call.outputs)
        )
        names = [name for name in call.options if name in call.lengths]
        sizes = ", ".join(f"{name} = {explainer.size(call.lengths[name])}" for name in names)
        return f"call {self.name}({given}) -> {made}" + f"    [{sizes}]" * bool(sizes)

    def emit(
        self, call: LibraryCall[Any], writer: StepWriter
    ) -> Value | tuple[Value, Value] | None:
        """Write a call, and return its status if it has one: 0 if all is well.

        A call for a stack of matrices also returns the position of the one that the status is of.
        """
        raise NotImplementedError
