"""Function: what :func:`phintys.function` returns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import repeat
from operator import setitem
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, overload

from phintys._base.errors import ArgumentError, ConfigError
from phintys._base.late import LateModule
from phintys._base.locks import while_held
from phintys._base.origin import hide_frames
from phintys._base.records import record
from phintys.backends.base import (
    C_SIGNATURES,
    AddressableProgram,
    CallShape,
    DeviceProgram,
    ExportableProgram,
    ExportNames,
    ExportOptions,
    FastProgram,
    SavableProgram,
)
from phintys.compile.arguments import checked_name
from phintys.compile.io import shared_input
from phintys.compile.locks import locks_of
from phintys.compile.maker import FunctionMaker, link_outputs
from phintys.compile.nested import NestedCall
from phintys.compile.profile import as_profile
from phintys.compile.rebuild import as_pairs
from phintys.compile.signature import CallSignature, Parameter
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.shared_variable import Container, SharedVariable, on_host
from phintys.graph.variable import Variable
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    from typing_extensions import TypeVar

    from phintys.backends.base import LinkedProgram, SavedLinkedProgram
    from phintys.compile import description, sharing
    from phintys.compile.io import In
    from phintys.compile.profile import Profile
    from phintys.graph import notebooks, printing
    from phintys.graph.type import Type
    from phintys.rewriting import RewriteTrace

    R_co = TypeVar("R_co", covariant=True, default=Any)

    class _Returning(Generic[R_co]):
        """The return type of a call, for type checkers."""
else:
    description = LateModule("phintys.compile.description")
    sharing = LateModule("phintys.compile.sharing")
    notebooks = LateModule("phintys.graph.notebooks")
    printing = LateModule("phintys.graph.printing")
    R_co = Any

    class _Returning:
        __slots__ = ()

        def __class_getitem__(cls, returned: Any) -> type:
            # At run time Function[np.ndarray] is Function: every function has a class of its own,
            # and making those with typing.Generic costs too much.
            return cls


@record()
class _Values:
    """Access to the values that a function keeps: ``f.value["x"]``."""

    function: Function
    pick: Callable[[Container], Any] = field(default=lambda container: container.value)

    def __getitem__(self, key: Variable | str | int) -> Any:
        return self.pick(self.function.container_of(key))

    def __setitem__(self, key: Variable | str | int, value: Any) -> None:
        self.function[key] = value

    def __contains__(self, key: Variable | str | int) -> bool:
        return key in self.function

    def __iter__(self) -> Iterator[Any]:
        return (self.pick(container) for container in self.function.input_storage)

    def __len__(self) -> int:
        return len(self.function.input_storage)


class _Described:
    """An attribute that is made when it is read, which few programs do.

    Parameters
    ----------
    describe
        The function of :mod:`phintys.compile.description` that makes it.
    """

    def __init__(self, describe: str) -> None:
        self._describe = describe

    def __get__(self, function: Any, owner: type) -> Any:
        if function is None:
            raise AttributeError(self._describe)
        return getattr(description, self._describe)(function.maker, function.signature)


class Function(_Returning[R_co]):
    """A compiled function; created by :func:`phintys.function`.

    Calls are thread-safe and reentrant.

    Attributes
    ----------
    maker : FunctionMaker
        The graph, the inputs and outputs, and the mode.
    vm : Program
        The program that the backend compiled the graph to.
    name : str or None
        Name of the function, for display.
    profile : Profile or None
        Times of calls and nodes, if the function is profiled.
    trust_input : bool
        Skip the checks of arguments, which saves a little time. Invalid arguments then lead to
        wrong results or obscure errors.
    input_storage : list of Container
        Values of the inputs that keep one, in the order of ``maker.inputs``.

    Examples
    --------
    >>> import phintys
    >>> import phintys.tensor as pt
    >>> x = pt.dscalar("x")
    >>> f = phintys.function([x], x**2, name="square")
    >>> f(3.0)
    array(9.)
    >>> f
    <Function square(x: Scalar(float64)) -> Scalar(float64)>
    """

    __signature__ = _Described("signature_of")

    def __init__(
        self,
        maker: FunctionMaker,
        containers: Sequence[Container],
        program: LinkedProgram | None = None,
    ) -> None:
        self.maker = maker
        self.name = maker.name
        # As functions of Python have them: functools.wraps, joblib and others read both.
        self.__name__ = self.__qualname__ = maker.function_name
        self.profile = maker.profile
        self.trust_input = False
        self.input_storage = list(containers)
        explicit = [spec for spec in maker.inputs if not spec.implicit]
        self._arity = len(explicit)
        self.signature = CallSignature(
            [
                Parameter(spec, None if spec.value is None else container)
                for spec, container in zip(explicit, containers, strict=False)
            ],
            maker.name,
            maker.nests,
        )
        self._cells = [container.storage for container in self.input_storage[self._arity :]]
        updated = [self.input_storage[index] for index in maker.updated]
        self._updated_cells = [container.storage for container in updated]
        self._locks = locks_of(updated)
        self._returned = len(maker.outputs)
        self._returns_one = maker.unpack == "one"
        self._is_plain = not self._locks and maker.unpack in {"one", "list"}
        self._programs: dict[tuple[int, ...], LinkedProgram] = {}
        if program is None:
            program = maker.mode.backend.link(maker.fgraph, profiler=maker.profile)
        self.vm = program
        self._program = self._separated(program)
        self._reads_devices = isinstance(program, DeviceProgram)
        if isinstance(program, DeviceProgram):
            self.signature.reads_devices = True
            for parameter in self.signature.parameters:
                type_ = parameter.spec.variable.type
                parameter.filter = program.device_filter(type_, parameter.filter)
        self._filters = [parameter.filter for parameter in self.signature.parameters]
        self._update: Callable[..., list[Any]] | None = None
        self._c_entries: dict[str, Any] = {}
        # Python looks up both on the class, so each function has a class of its own.
        attributes = {"__call__": self._class_call(), "__doc__": _Described("documentation_of")}
        cls = type(self)
        own: Any = type(cls.__name__, (cls,), {"__slots__": (), **attributes})
        self.__class__ = own

    def _separated(self, program: LinkedProgram) -> LinkedProgram:
        """Return a program that overwrites no argument that shares its memory with another."""
        if not any(spec.is_lent_for_writing for spec in self.maker.inputs):
            return program
        return sharing.without_sharing(program, self.maker.inputs)

    def _class_call(self) -> Callable[..., Any]:
        """Return the ``__call__`` of the class that this function alone has."""
        call, nests = self._fast_call(), self.maker.nests
        if nests is None:
            return call
        if call is type(self).__call__:
            call = MethodType(call, self)
        return NestedCall(nests, call, self.signature.called)

    def _fast_call(self) -> Callable[..., Any]:
        """Return a call of the program itself, if it can check its arguments."""
        maker, program = self.maker, self._program
        types = [type(parameter.spec.variable.type) for parameter in self.signature.parameters]
        if (
            not isinstance(program, FastProgram)
            or maker.unpack == "dict"
            or not all(map(_takes_arrays, types))
        ):
            return type(self).__call__
        return program.fast_call(
            CallShape(
                self._arity,
                slow=MethodType(type(self).__call__, self),
                cells=self._cells,
                as_list=maker.unpack == "list",
                updated_cells=self._updated_cells,
                locks=self._locks,
                numbers=[
                    position
                    for position, parameter in enumerate(self.signature.parameters)
                    if parameter.takes_numbers
                ],
            )
        )

    def _updating_call(self) -> Callable[..., list[Any]]:
        """Return a callable that takes checked arguments, stores updates and returns the outputs.

        A program that reads and writes the cells itself can overwrite values that are not
        referenced elsewhere.
        """
        program = self._program
        if not self._updated_cells or not isinstance(program, FastProgram):
            return self._update_cells
        return program.fast_call(
            CallShape(
                self._arity,
                slow=self._update_cells,
                cells=self._cells,
                updated_cells=self._updated_cells,
            )
        )

    def _update_cells(self, *arguments: Any) -> list[Any]:
        return self._run(self._program, arguments)

    # ---- calls -------------------------------------------------------------------------------

    @overload
    def __call__(self, /, *args: Any, output_subset: None = None, **kwargs: Any) -> R_co: ...
    @overload
    def __call__(
        self, /, *args: Any, output_subset: Sequence[int | str], **kwargs: Any
    ) -> list[Any] | dict[str, Any]: ...
    def __call__(
        self, /, *args: Any, output_subset: Sequence[int | str] | None = None, **kwargs: Any
    ) -> Any:
        """Compute the outputs, and store the updates.

        Parameters
        ----------
        args, kwargs
            Values of the inputs, by position or by name.
        output_subset
            Indices (or keys, if a dict is returned) of the outputs to compute; the others are not
            computed. All updates are made regardless.

        Raises
        ------
        ArgumentError
            Too many, unknown, repeated or missing arguments.
        TypeError
            An argument is not valid for its input's Type.
        """
        try:
            if self._is_plain and output_subset is None:
                # The fast path, which is sufficient for most calls.
                values = self._arguments(args, kwargs)
                if self._cells:
                    values += self._stored()
                results = self._program(values)
                return results[0] if self._returns_one else results
            return while_held(self._locks, self._call, args, kwargs, output_subset)
        except Exception as error:
            hide_frames(error)
            raise

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return the checked values of the explicit inputs."""
        if kwargs or len(args) != self._arity:
            values = self.signature.bind(args, kwargs, trust=self.trust_input)
        elif self.trust_input:
            values = list(args)
        else:
            values = []
            filters = self._filters
            try:
                for argument in args:
                    values.append(filters[len(values)](argument))
            except Exception as error:
                # Past the last argument, a signal handler raised it.
                if (index := len(values)) < len(args):
                    self.signature.explain(error, index, args[index])
                raise
        return values

    def _call(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], subset: Sequence[int | str] | None
    ) -> Any:
        if subset is not None:
            program = self._subset_program(subset)
            return self._pack_subset(subset, self._run(program, self._arguments(args, kwargs)))
        if self._update is None:
            self._update = self._updating_call()
        results = self._update(*self._arguments(args, kwargs))
        if self.maker.unpack == "none":
            return None
        if self.maker.keys is not None:
            return dict(zip(self.maker.keys, results, strict=True))
        return results[0] if self._returns_one else results

    def _stored(self) -> list[Any]:
        """Return the values of the cells, as the program reads them."""
        values = [cell[0] for cell in self._cells]
        return values if self._reads_devices else [*map(on_host, values)]

    def _run(self, program: LinkedProgram, arguments: Sequence[Any]) -> list[Any]:
        """Return the outputs of a program, and store the updates."""
        results = program([*arguments, *self._stored()])
        if self._updated_cells:
            # All outputs are computed by now, so a call that fails changes nothing.
            first = len(results) - len(self._updated_cells)
            _store(self._updated_cells, results[first:])
            del results[first:]
        return results

    def _subset(self, output_subset: Sequence[int | str]) -> tuple[int, ...]:
        if isinstance(output_subset, str) or not isinstance(output_subset, Sequence):
            msg = f"output_subset is a list of outputs, got {output_subset!r}."
            raise ArgumentError(msg)
        keys = self.maker.keys
        chosen: list[int] = []
        for key in output_subset:
            if keys is not None and isinstance(key, str) and key in keys:
                chosen.append(keys.index(key))
            elif keys is None and isinstance(key, int) and 0 <= key < self._returned:
                chosen.append(key)
            else:
                there = keys if keys is not None else f"0 to {self._returned - 1}"
                called = self.signature.called
                msg = f"output_subset: {called}() has no output {key!r}; it has {there}."
                raise ArgumentError(msg)
        return tuple(chosen)

    def _subset_program(self, output_subset: Sequence[int | str]) -> LinkedProgram:
        chosen = self._subset(output_subset)
        program = self._programs.get(chosen)
        if program is None:
            updates = range(self._returned, self._returned + len(self.maker.updated))
            fgraph = self.maker.fgraph
            program = link_outputs(fgraph, [*chosen, *updates], self.maker.mode, self.profile)
            program = self._separated(program)
            self._programs[chosen] = program
        return program

    def _pack_subset(self, output_subset: Sequence[int | str], results: list[Any]) -> Any:
        if self.maker.keys is not None:
            return dict(zip(output_subset, results, strict=True))
        return results

    # ---- values that the function keeps --------------------------------------------------------

    def container_of(self, key: Variable | str | int) -> Container:
        """Return the container of an input, given by variable, name or position.

        Raises
        ------
        KeyError
            No input has the name, or several do.
        """
        return self.input_storage[self._index_of(key)]

    def _index_of(self, key: Variable | str | int) -> int:
        specs = self.maker.inputs
        if isinstance(key, int) and -len(specs) <= key < len(specs):
            return key % len(specs)
        found = [
            index
            for index, spec in enumerate(specs)
            if spec.variable is key or (isinstance(key, str) and spec.name == key)
        ]
        if len(found) == 1:
            return found[0]
        names = ", ".join(str(spec.name or spec.variable) for spec in specs)
        problem = "several inputs" if found else "no input"
        msg = f"{self.signature.called} has {problem} {key!r}; its inputs are {names}."
        raise KeyError(msg)

    def __getitem__(self, key: Variable | str | int) -> Any:
        return self.container_of(key).value

    def __setitem__(self, key: Variable | str | int, value: Any) -> None:
        index = self._index_of(key)
        spec = self.maker.inputs[index]
        if spec.value is None:
            msg = (
                f"The input {spec.name or spec.variable} of {self.signature.called} keeps no "
                "value between calls: give it as an argument, or compile the function with "
                "In(variable, value=...)."
            )
            raise ArgumentError(msg)
        self.input_storage[index].value = value

    def __contains__(self, key: Variable | str | int) -> bool:
        try:
            self._index_of(key)
        except KeyError:
            return False
        return True

    @property
    def value(self) -> _Values:
        """The stored values of inputs, by variable, name or position."""
        return _Values(self)

    @property
    def container(self) -> _Values:
        """The containers of the stored values."""
        return _Values(self, lambda container: container)

    def get_shared(self) -> list[SharedVariable]:
        """Return the shared variables that the function reads or updates."""
        return [
            spec.variable for spec in self.maker.inputs if isinstance(spec.variable, SharedVariable)
        ]

    def address(self, signature: str = "value_and_gradient") -> int:
        """Return the address of a C function that computes the outputs.

        The address is valid as long as this function exists. The C function needs neither Python
        nor its lock, and any number of threads can call it at once.

        Parameters
        ----------
        signature
            ``"value_and_gradient"`` for a function of one float64 vector that returns a number and
            a vector of the same length::

                int f(size_t n, const double *x, double *gradient, double *value, void *data)

            ``"vector"`` for one that returns a vector of length ``m``::

                int f(size_t n, size_t m, const double *x, double *y, void *data)

            ``data`` is ignored. The result is 0; -1 if a length is wrong; 1 if the computation
            fails (call the function from Python for the message); 2 if there is no memory; 3 or 4
            if the gradient or the value is not finite, though both are written.

        Raises
        ------
        ArgumentError
            The function has another form, updates shared variables, or needs Python.
        ConfigError
            Its backend has no native code.

        Notes
        -----
        Shared variables have the values of the first request for the address.

        Examples
        --------
        >>> import ctypes, numpy as np, phintys, phintys.tensor as pt
        >>> x = pt.dvector("x")
        >>> cost = (x**2).sum()
        >>> f = phintys.function([x], [cost, phintys.grad(cost, x)])
        >>> pointer = ctypes.POINTER(ctypes.c_double)
        >>> kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, *[pointer] * 3, ctypes.c_void_p)
        >>> native = kind(f.address("value_and_gradient"))
        >>> at, gradient, value = np.array([1.0, 2.0]), np.empty(2), np.empty(())
        >>> native(2, *(a.ctypes.data_as(pointer) for a in (at, gradient, value)), None)
        0
        >>> value, gradient
        (array(5.), array([2., 4.]))
        """
        if signature not in C_SIGNATURES:
            msg = f"address({signature!r}): the signature is one of {sorted(C_SIGNATURES)}."
            raise ArgumentError(msg)
        entry = self._c_entries.get(signature)
        if entry is None:
            if not isinstance(self.vm, AddressableProgram):
                backend = self.maker.mode.backend.name
                msg = (
                    f"address({signature!r}): the {backend} backend has no native code. Compile "
                    "the function in the default mode."
                )
                raise ConfigError(msg)
            hidden = [on_host(cell[0]) for cell in self._cells]
            made = self.vm.c_entry(signature, hidden)
            entry = self._c_entries.setdefault(signature, made)
        return entry.address

    def export(
        self,
        path: str | PathLike[str],
        target: str = "host",
        kind: str = "object",
        *,
        name: str | None = None,
        blas: str = "link",
        blas_prefix: str = "",
        allocate: bool = True,
        libraries: Sequence[str] = (),
        threads: int = 1,
        contract: bool = False,
    ) -> list[Path]:
        """Write the function as an object with a header of C, which need no Python.

        See docs/export.md for the interface and for what can be exported.

        Parameters
        ----------
        path
            The folder for the files, which is made if need be.
        target
            The machine: ``"host"``, ``"x86-64"`` and its levels ``"x86-64-v2"`` to ``"x86-64-v4"``,
            ``"aarch64"``, ``"aarch64-macos"``, ``"wasm32"``, or ``"one-lane"``.
        kind
            ``"object"`` writes an object ``name.o``, ``name.h`` and ``name.json``. Beside these,
            ``"shared"`` and ``"static"`` write a library, ``"python"`` a shared library with a
            module of Python that loads it, and ``"wasm"`` a module of WebAssembly.
        name
            The name of the C function; that of this function if not given.
        blas
            ``"link"``: functions of BLAS and LAPACK are called by their Fortran names.
            ``"bundled"``: code of Phintys for products, triangular systems, Cholesky and LU
            factors is part of the object, and functions that need others are refused. ``"none"``:
            functions that need some are refused.
        blas_prefix
            What these names begin with: ``"scipy_"`` for the library of SciPy's wheels.
        allocate
            Whether the code may call ``malloc``; if not, all shapes must be static.
        libraries
            What a library is linked with: options of the linker, or paths.
        threads
            How many threads share a call: 1, since the pool of threads is not exported.
        contract
            Whether a product and a sum with it may be one fused multiply-add, as compilers of C
            have it: faster, and rounded once where Python rounds twice.

        Returns
        -------
        list of Path
            The files.

        Raises
        ------
        ArgumentError
            The function has Ops that only Python code implements, or an option is invalid.
        ConfigError
            Its backend has no native code.

        Examples
        --------
        >>> import tempfile, phintys, phintys.tensor as pt
        >>> x = pt.dvector("x")
        >>> f = phintys.function([x], pt.exp(x).sum(), name="model")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [file.name for file in f.export(folder)]
        ['model.o', 'model.h', 'model.json']
        """
        if not isinstance(self.vm, ExportableProgram):
            backend = self.maker.mode.backend.name
            msg = (
                f"export: the {backend} backend has no native code. Compile the function in the "
                "default mode."
            )
            raise ConfigError(msg)
        specs = self.maker.inputs
        given = [index for index in self.maker.updated if index < self._arity]
        if given:
            msg = (
                f"export: the argument {specs[given[0]].variable} has an update. Make it a shared "
                "variable, which is kept in the state."
            )
            raise ArgumentError(msg)
        names = ExportNames(
            name=name or self.name or "function",
            inputs=[spec.name for spec in specs[: self._arity]],
            outputs=[spec.variable.name for spec in self.maker.outputs],
            hidden=[on_host(cell[0]) for cell in self._cells],
            hidden_names=[spec.variable.name for spec in specs[self._arity :]],
            updated=[index - self._arity for index in self.maker.updated],
        )
        options = ExportOptions(
            str(path),
            target,
            kind,
            blas,
            blas_prefix,
            allocate,
            tuple(libraries),
            threads,
            contract,
        )
        return self.vm.export(names, options)

    def dprint(self, **options: Any) -> str | None:
        """Print the compiled graph; see :func:`phintys.debugprint`."""
        return printing.debugprint(self, **options)

    def explain(self) -> str:
        """Return a description of the compiled program: kernels, buffers, callbacks."""
        explain = getattr(self.vm, "explain", None)
        if explain is not None:
            return notebooks.Explanation(explain())
        backend = self.maker.mode.backend.name
        graph = printing.debugprint(self.maker.fgraph, file="str")
        return notebooks.Explanation(f"The {backend} backend computes node by node:\n{graph}")

    def trace(self) -> RewriteTrace:
        """Return the trace of the rewrites made during compilation, in order.

        Raises
        ------
        ConfigError
            The function was compiled without tracing.

        Examples
        --------
        >>> import phintys
        >>> import phintys.tensor as pt
        >>> x = pt.dscalar("x")
        >>> f = phintys.function([x], pt.log(1 + x), mode=phintys.get_mode().tracing())
        >>> f.trace().counts()
        Counter({'log_of_one_plus': 1})
        """
        if self.maker.trace is None:
            msg = (
                f"{self.name or 'This function'} was compiled without a trace of its rewrites. "
                "Compile it with mode=phintys.get_mode().tracing()."
            )
            raise ConfigError(msg)
        return self.maker.trace

    def free(self) -> None:
        """Release memory kept for the next call."""
        self.vm.free()
        self._programs.clear()

    # ---- copies --------------------------------------------------------------------------------

    def copy(
        self,
        share_memory: bool = False,
        swap: Mapping[SharedVariable, SharedVariable] | None = None,
        delete_updates: bool = False,
        name: str | None = None,
        profile: bool | str | Profile | None = None,
    ) -> Function:
        """Return a copy of the function, without compiling it again.

        Stored values of inputs are copied; shared variables remain shared.

        Parameters
        ----------
        share_memory
            Use the same memory for the intermediate results of both functions.
        swap
            Shared variable -> replacement of the same type.
        delete_updates
            Drop the updates.
        name
            Name of the copy; this function's name with ``" copy"`` by default.
        profile
            As for :func:`phintys.function`.

        Examples
        --------
        >>> import phintys
        >>> import phintys.tensor as pt
        >>> s, t = phintys.shared(0.0), phintys.shared(10.0)
        >>> count = phintys.function([], s, updates=[(s, s + 1)])
        >>> other = count.copy(swap={s: t})
        >>> other(), other(), count()
        (array(10.), array(11.), array(0.))
        """
        maker = self.maker
        swap = dict(as_pairs(swap, "copy(swap=...)"))
        self._check_swap(swap)
        inputs = [_swapped(spec, swap) for spec in maker.inputs]
        containers = [
            _twin(spec, container, swap)
            for spec, container in zip(maker.inputs, self.input_storage, strict=True)
        ]
        fgraph, updated = maker.fgraph, maker.updated
        if delete_updates and updated:
            fgraph = _without_updates(fgraph, len(maker.outputs))
            updated = []
        _check_distinct([containers[index] for index in updated])
        copied_profile = as_profile(profile, name)
        reuse = share_memory and fgraph is maker.fgraph and copied_profile is maker.profile
        new_maker = replace(
            maker,
            fgraph=fgraph,
            inputs=inputs,
            updated=updated,
            name=checked_name(name, "copy") or (f"{self.name} copy" if self.name else None),
            profile=copied_profile,
        )
        twin = Function(new_maker, containers, self.vm if reuse else None)
        twin.trust_input = self.trust_input
        return twin

    def _check_swap(self, swap: Mapping[Any, Any]) -> None:
        mine = set(self.get_shared())
        for old, new in swap.items():
            if old not in mine:
                names = ", ".join(map(str, mine)) or "none"
                msg = f"copy(swap=...): the function has no shared variable {old}; it has {names}."
                raise ArgumentError(msg)
            if not isinstance(new, SharedVariable):
                msg = f"copy(swap=...): {old} is swapped for a shared variable, got {new!r}."
                raise ArgumentError(msg)
            if new.type != old.type and not old.type.is_super(new.type):
                msg = (
                    f"copy(swap=...): {old} of type {old.type} cannot be swapped for {new} of type "
                    f"{new.type}: the types must be the same."
                )
                raise ArgumentError(msg)

    def __reduce__(self) -> tuple[Any, ...]:
        maker = self.maker
        state = {name: getattr(maker, name) for name in maker.__dataclass_fields__}
        fgraph = state.pop("fgraph")
        state["trace"] = None  # it refers to the nodes of many graphs
        saved = None
        if maker.profile is not None:
            state["profile"] = as_profile(True, maker.profile.name)
        elif isinstance(self.vm, SavableProgram):
            saved = self.vm.saved()
        return (
            _restore,
            (fgraph.inputs, fgraph.outputs, state, self.input_storage, self.trust_input, saved),
        )

    def __copy__(self) -> Function:
        return self.copy(share_memory=True, name=self.name)

    def __repr__(self) -> str:
        returned = description.returned_by(self.maker)
        updated = [self.maker.inputs[index] for index in self.maker.updated]
        if updated:
            names = ", ".join(str(spec.name or spec.variable) for spec in updated)
            returned += f", updates {names}"
        return f"<Function {self.signature} -> {returned}>"

    def _repr_html_(self) -> str | None:
        """Return HTML for notebooks: signature, mode, and the graph as a tree to unfold."""
        return notebooks.html_of_function(self)


def _store(cells: Sequence[list[Any]], values: Sequence[Any]) -> None:
    """Put values into cells: all of them, since no signal is handled between builtins."""
    deque(map(setitem, cells, repeat(0), values), maxlen=0)


def _takes_arrays(cls: type[Type]) -> bool:
    """Return whether every array of the right dtype, rank and static shape is valid unchanged."""
    is_tensor = issubclass(cls, TensorType)
    return cls.holds_arrays and (not is_tensor or cls.filter is TensorType.filter)


def _swapped(spec: In, swap: Mapping[Any, SharedVariable]) -> In:
    new = swap.get(spec.variable)
    return spec if new is None else shared_input(new)


def _twin(
    spec: In, container: Container, swap: Mapping[SharedVariable, SharedVariable]
) -> Container:
    """Return the container for an input's copy."""
    if isinstance(spec.variable, SharedVariable) and spec.variable in swap:
        return swap[spec.variable].container
    if isinstance(spec.value, Container):
        return container
    # The value is only ever replaced, not written to, so both can start from the same one.
    return Container(
        container.type,
        [container.value],
        container.strict,
        container.allow_downcast,
        container.name,
    )


def _check_distinct(updated: Sequence[Container]) -> None:
    if len({id(container) for container in updated}) < len(updated):
        msg = "copy(swap=...): two updates would go to the same shared variable."
        raise ArgumentError(msg)


def _without_updates(fgraph: FunctionGraph, returned: int) -> FunctionGraph:
    return FunctionGraph(fgraph.inputs, fgraph.outputs[:returned], clone=True)


def _restore(
    inputs: list[Variable],
    outputs: list[Variable],
    state: dict[str, Any],
    containers: list[Container],
    trust_input: bool,
    saved: SavedLinkedProgram | None = None,
) -> Function:
    returned = len(state["outputs"])
    updated = {returned + number: position for number, position in enumerate(state["updated"])}
    fgraph = FunctionGraph(inputs, outputs, clone=False, update_mapping=updated)
    program = None if saved is None else saved.link(fgraph)
    function = Function(FunctionMaker(fgraph=fgraph, **state), containers, program)
    function.trust_input = trust_input
    return function
