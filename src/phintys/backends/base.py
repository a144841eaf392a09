"""The backend protocol and the backend registry.

A backend turns a FunctionGraph into a :class:`Program`. The graph is explicit about memory: values
that must not be modified or shared are copied by nodes of the graph, so a backend need not know
which values are shared, borrowed or mutable.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from phintys._base import index
from phintys._base.errors import ConfigError
from phintys._base.late import Homes
from phintys._base.names import near_misses
from phintys._base.records import record

if TYPE_CHECKING:
    from phintys._base.locks import CallLock
    from phintys.backends.measurements import Profiler
    from phintys.graph.fgraph import FunctionGraph


class LinkedProgram(Protocol):
    """Computes the outputs of a graph from values of its inputs.

    A program can be called by several threads at once, and recursively.
    """

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """Return a value for each output of the graph.

        The values belong to the caller: later calls do not modify them.

        Parameters
        ----------
        inputs
            A valid value for each input of the graph.
        """
        ...

    def free(self) -> None:
        """Release memory kept for the next call."""
        ...


@record(frozen=True)
class CallShape:
    """How a function takes its inputs and returns its results.

    Attributes
    ----------
    explicit
        Number of inputs that are arguments; the others are read from cells.
    slow
        Called with the arguments of unusual calls: those with keywords, or with arguments that are
        not arrays of exactly the expected dtype, rank and static shape.
    cells
        Lists of length 1, one for each of the remaining inputs.
    as_list
        Return a list; otherwise return the single result itself, or ``None`` if there is none.
    updated_cells
        Lists of length 1 that receive the last results as their new values. Those are not returned.
    locks
        Locks held during a call with updates, in the order in which they are acquired.
    numbers
        Positions of arguments of rank 0 for which numbers of the same precision may be given:
        scalars of NumPy, and Python's floats for float64.
    """

    explicit: int
    slow: Callable[..., Any]
    cells: Sequence[list[Any]] = ()
    as_list: bool = True
    updated_cells: Sequence[list[Any]] = ()
    locks: Sequence[CallLock] = ()
    numbers: Collection[int] = ()


@runtime_checkable
class FastProgram(Protocol):
    """A program that can be called without going through Python."""

    def fast_call(self, shape: CallShape) -> Callable[..., Any]:
        """Return a function that checks its arguments, runs the program and stores updates.

        All tensor arguments must have types that accept any array of their dtype, rank and static
        shape unchanged.
        """
        ...


@runtime_checkable
class DeviceProgram(Protocol):
    """A program that reads stored values and arguments where they are, also on a device."""

    def device_filter(self, type: Any, filter: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return a filter of arguments that lets arrays of the device pass.

        Parameters
        ----------
        type
            The Type of the argument.
        filter
            The filter of all other arguments.
        """
        ...


@runtime_checkable
class CheckingProgram(Protocol):
    """A program that may itself copy arguments that it would overwrite."""

    @property
    def checks_arguments(self) -> bool:
        """Whether it copies those whose memory others share, and those that are read-only."""
        ...


@record(frozen=True)
class CSignature:
    """The signature of a C function, and what it asks of a program.

    Attributes
    ----------
    prototype
        How it is declared in C.
    names, types
        Its parameters; a type is ``"size"`` or ``"pointer"``.
    ranks, results
        The ranks of the results, and a description of them.
    targets, lengths
        For each result the parameters with its address and its length; no length for a number.
    """

    prototype: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    ranks: tuple[int, ...]
    results: str
    targets: tuple[str, ...]
    lengths: tuple[str | None, ...]


C_SIGNATURES = {
    "value_and_gradient": CSignature(
        "int f(size_t n, const double *x, double *gradient, double *value, void *data)",
        ("n", "x", "gradient", "value", "data"),
        ("size", "pointer", "pointer", "pointer", "pointer"),
        (0, 1),
        "a number and a vector",
        ("value", "gradient"),
        (None, "n"),
    ),
    "vector": CSignature(
        "int f(size_t n, size_t m, const double *x, double *y, void *data)",
        ("n", "m", "x", "y", "data"),
        ("size", "size", "pointer", "pointer", "pointer"),
        (1,),
        "one vector",
        ("y",),
        ("m",),
    ),
}
"""The C functions that a program can become."""


@runtime_checkable
class AddressableProgram(Protocol):
    """A program that can be called from C."""

    def c_entry(self, signature: str, hidden: Sequence[Any]) -> Any:
        """Return an object whose ``address`` is that of a C function, valid while it exists.

        Parameters
        ----------
        signature
            A key of :data:`C_SIGNATURES`.
        hidden
            Values of all inputs but the first.
        """
        ...


@record(frozen=True, eq=False)
class ExportNames:
    """The names of the values of a function that is exported.

    Attributes
    ----------
    name
        The name of the function.
    inputs, outputs
        Those of its arguments and results, where they have some.
    hidden
        The values of the other inputs, which are shared variables.
    hidden_names
        Their names.
    updated
        The positions of those that are updated, in the order of the program's last results.
    """

    name: str
    inputs: Sequence[str | None]
    outputs: Sequence[str | None]
    hidden: Sequence[Any]
    hidden_names: Sequence[str | None]
    updated: Sequence[int]


@record(frozen=True)
class ExportOptions:
    """How a function is exported; see :meth:`phintys.compile.executor.Function.export`."""

    path: str
    target: str = "host"
    kind: str = "object"
    blas: str = "link"
    blas_prefix: str = ""
    allocate: bool = True
    libraries: tuple[str, ...] = ()
    threads: int = 1
    contract: bool = False


@runtime_checkable
class ExportableProgram(Protocol):
    """A program that can be written to files for other languages."""

    def export(self, names: ExportNames, options: ExportOptions) -> list[Any]:
        """Write the files; return their paths."""
        ...


class SavedLinkedProgram(Protocol):
    """The pickled form of a program; its graph is pickled separately."""

    def link(self, fgraph: FunctionGraph) -> LinkedProgram | None:
        """Return the program of the graph; ``None`` if it has to be linked again here."""
        ...


@runtime_checkable
class SavableProgram(Protocol):
    """A program that is expensive to build and can be pickled."""

    def saved(self) -> SavedLinkedProgram | None:
        """Return the object to pickle; ``None`` if the program cannot be saved here."""
        ...


@runtime_checkable
class Backend(Protocol):
    """A way to run graphs."""

    @property
    def name(self) -> str:
        """The name used in messages and modes."""
        ...

    def link(self, fgraph: FunctionGraph, *, profiler: Profiler | None = None) -> LinkedProgram:
        """Return a program for a graph, which must not be modified afterwards.

        Parameters
        ----------
        fgraph
            The graph.
        profiler
            Receives the measurements of the program at each call.
        """
        ...


_BACKENDS: dict[str, Backend] = {}
_HOMES = Homes(index.BACKENDS)


def register_backend(name: str, backend: Backend) -> None:
    """Register a backend under a name."""
    checked = _checked(name, backend)
    _HOMES.load_before(name)
    _BACKENDS[name] = checked


def _checked(name: str, backend: Any) -> Backend:
    if not isinstance(backend, Backend):
        msg = f"register_backend({name!r}, ...): {backend!r} has no name and link(fgraph)."
        raise ConfigError(msg)
    return backend


def check_backend(backend: str | Backend) -> str | Backend:
    """Return a backend, or the name of one, unchanged; the backend is not imported.

    Raises
    ------
    ConfigError
        If no backend has the name.
    """
    if isinstance(backend, str):
        names = sorted({*_BACKENDS, *_HOMES})
        if backend in names:
            return backend
        close = near_misses(backend, names)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        msg = f"There is no backend {backend!r}; there are {names}.{hint}"
        raise ConfigError(msg)
    if isinstance(backend, Backend):
        return backend
    msg = f"Expected a backend or its name, got {backend!r}."
    raise ConfigError(msg)


def get_backend(backend: str | Backend) -> Backend:
    """Return the backend with a name; a backend is returned unchanged.

    Raises
    ------
    ConfigError
        If no backend has the name.

    Examples
    --------
    >>> import phintys
    >>> get_backend("reference").name
    'reference'
    """
    if not isinstance(backend, str):
        check_backend(backend)
        return backend
    if backend not in _BACKENDS:
        check_backend(backend)
        _HOMES.load(backend)
    return _BACKENDS[backend]


def copy_value(value: Any) -> Any:
    """Return a copy that shares no memory with ``value``; arrays keep their memory layout."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value.copy(order="K")
    return copy.deepcopy(value)
