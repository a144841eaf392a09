"""LLVM: the functions of llvmlite's shared library that Phintys uses.

Importing ``llvmlite.binding`` takes three times as long as loading its library, because it comes
with an IR builder. So the dozen functions that turn text into machine code are called directly.
Each piece of code has its own LLVM context: threads compile in parallel, and no state is left
behind.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from ctypes import POINTER, c_bool, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from functools import partial
from pathlib import Path
from typing import Any

from phintys._base.caches import Once
from phintys._base.dropped import cancel, when_dropped
from phintys._base.errors import IntegrityError
from phintys._base.locks import ProcessLock
from phintys._base.uninterrupted import finished_before_forks, import_whole
from phintys.backends.native.limits import LONG_TEXT

_OUT = POINTER(c_char_p)

# name: (result, parameters); all handles are pointers.
_SHORT: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "GetVersionInfo": (c_uint, ()),
    "InitializeNativeTarget": (None, ()),
    "InitializeNativeAsmPrinter": (None, ()),
    "InitializeAllTargetInfos": (None, ()),
    "InitializeAllTargets": (None, ()),
    "InitializeAllTargetMCs": (None, ()),
    "InitializeAllAsmPrinters": (None, ()),
    "DisposeString": (None, (c_void_p,)),
    "GetProcessTriple": (None, (_OUT,)),
    "GetHostCPUName": (None, (_OUT,)),
    "GetHostCPUFeatures": (c_int, (_OUT,)),
    "GetTargetFromTriple": (c_void_p, (c_char_p, _OUT)),
    "CreateTargetMachine": (
        c_void_p,
        (c_void_p, *[c_char_p] * 3, c_int, c_char_p, c_char_p, c_int, c_int, c_char_p),
    ),
    "DisposeTargetMachine": (None, (c_void_p,)),
    "CreateTargetMachineData": (c_void_p, (c_void_p,)),
    "CopyStringRepOfTargetData": (None, (c_void_p, _OUT)),
    "DisposeTargetData": (None, (c_void_p,)),
    "SetDataLayout": (None, (c_void_p, c_char_p)),
    "ContextCreate": (c_void_p, ()),
    "ContextDispose": (None, (c_void_p,)),
    "DisposeModule": (None, (c_void_p,)),
    "GetNamedFunction": (c_void_p, (c_void_p, c_char_p)),
    "SetLinkage": (None, (c_void_p, c_int)),
    "GetBufferStart": (c_void_p, (c_void_p,)),
    "GetBufferSize": (c_size_t, (c_void_p,)),
    "DisposeMemoryBuffer": (None, (c_void_p,)),
    "CreateMCJITCompiler": (c_void_p, (c_void_p, c_void_p, c_bool, _OUT)),
    "DisposeExecutionEngine": (None, (c_void_p,)),
    "AddGlobalMapping": (None, (c_void_p, c_void_p, c_void_p)),
    "CreateObjectFile": (c_void_p, (c_char_p, c_size_t)),
    "DisposeObjectFile": (None, (c_void_p,)),
    "MCJITAddObjectFile": (None, (c_void_p, c_void_p)),
    "GetFunctionAddress": (c_uint64, (c_void_p, c_char_p)),
    "GetGlobalValueAddress": (c_uint64, (c_void_p, c_char_p)),
    "SearchAddressOfSymbol": (c_void_p, (c_char_p,)),
    "FinalizeObject": (None, (c_void_p,)),
    "CreatePipelineTuningOptions": (c_void_p, ()),
    "PTOSetLoopVectorization": (None, (c_void_p, c_bool)),
    "PTOSetSLPVectorization": (None, (c_void_p, c_bool)),
    "DisposePipelineTuningOptions": (None, (c_void_p,)),
    "CreatePassBuilder": (c_void_p, (c_void_p, c_void_p)),
    "DisposePassBuilder": (None, (c_void_p,)),
    "buildPerModuleDefaultPipeline": (c_void_p, (c_void_p, c_int, c_int)),
    "DisposeNewModulePassManger": (None, (c_void_p,)),
}
_LONG: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "ParseAssembly": (c_void_p, (c_void_p, c_char_p, _OUT)),
    "VerifyModule": (c_bool, (c_void_p, _OUT)),
    "LinkModules": (c_int, (c_void_p, c_void_p, _OUT)),
    "RunNewModulePassManager": (None, (c_void_p, c_void_p, c_void_p)),
    "TargetMachineEmitToMemory": (c_void_p, (c_void_p, c_void_p, c_int, _OUT)),
}
"""The GIL is released during these. Acquiring it again can take milliseconds, so shorter calls do
not release it."""


_DROPPED = {"buildPerModuleDefaultPipeline": 1}
"""How many of the last parameters newer versions of llvmlite lack. They are passed in registers,
which a function without them does not read."""

_READING = {name: _LONG[name] for name in ("ParseAssembly", "VerifyModule")}

_INTERNAL = 8
"""The linkage of functions that only their own module sees: ``LLVMInternalLinkage``."""

_OPTIMIZED, _NOT_SMALLER = 2, 0
"""LLVM's level of passes between functions, and how much they make code smaller."""

_FIRST_KNOWN, _LAST_KNOWN = (0, 45), (0, 50)
"""Versions of llvmlite whose library is known to have exactly these functions."""


class Llvm:
    """LLVM's library in this process.

    Parameters
    ----------
    path
        Where it is.

    Attributes
    ----------
    triple, cpu, features
        LLVM's names for this machine.
    version
        LLVM's version.
    """

    @finished_before_forks
    def __init__(self, path: str) -> None:
        library = _opened(path)
        holding = ctypes.PyDLL(path, handle=library._handle)
        self._functions = _bound(holding, _SHORT) | _bound(library, _LONG)
        self._reading_short = _bound(holding, _READING)
        self._has_all_targets = False
        # Engines share tables of the process, such as those for unwinding.
        self._linking = ProcessLock()
        self._call("InitializeNativeTarget")
        self._call("InitializeNativeAsmPrinter")
        number = self._call("GetVersionInfo")
        self.version = ".".join(str(number >> shift & 0xFF) for shift in (16, 8, 0))
        self.triple = self._told("GetProcessTriple")
        self.cpu = self._told("GetHostCPUName")
        self.features = ",".join(
            sorted(filter(None, self._told("GetHostCPUFeatures").split(",")), key=_feature_name)
        )

    # A fork in the middle would leave what LLVM shares within a process half initialized.
    @finished_before_forks
    def _call(self, name: str, *arguments: Any) -> Any:
        return self._functions[name](*arguments)

    @contextmanager
    def _message(self) -> Generator[c_char_p]:
        """Provide memory for a string that LLVM creates."""
        text = c_char_p()
        try:
            yield text
        finally:
            if text:
                self._call("DisposeString", text)

    def _told(self, name: str, *given: Any) -> str:
        with self._message() as text:
            self._call(name, *given, ctypes.byref(text))
            return (text.value or b"").decode()

    # ---- targets

    def initialize_all_targets(self) -> None:
        """Make code generators for all CPUs known that LLVM was built with."""
        if not self._has_all_targets:
            for part in ("TargetInfos", "Targets", "TargetMCs", "AsmPrinters"):
                self._call(f"InitializeAll{part}")
            self._has_all_targets = True

    def knows(self, triple: str) -> bool:
        """Return whether there is a code generator for a kind of machine."""
        with self._message() as error:
            return bool(self._call("GetTargetFromTriple", triple.encode(), ctypes.byref(error)))

    def machine(
        self, triple: str, cpu: str, features: str, level: int, *, for_linkers: bool = False
    ) -> TargetMachine:
        """Return a code generator.

        Parameters
        ----------
        triple, cpu, features
            The kind of machine.
        level
            LLVM's optimization level.
        for_linkers
            Whether its objects are for linkers, in the format of that machine, and independent of
            their position; otherwise they are loaded into this process.

        Raises
        ------
        IntegrityError
            If LLVM has none for such machines.
        """
        with self._message() as error:
            target = self._call("GetTargetFromTriple", triple.encode(), ctypes.byref(error))
            if not target:
                msg = f"LLVM has no code generator for {triple!r}: {_text(error)}"
                raise IntegrityError(msg)
        # On Windows, too, LLVM links ELF objects in memory.
        is_loaded = sys.platform == "win32" and not for_linkers
        full = f"{triple}-elf" if is_loaded else triple
        words = [word.encode() for word in (full, cpu, features)]
        models = (b"pic", b"default") if for_linkers else (b"default", b"jitdefault")
        in_memory = not for_linkers
        handle = self._call(
            "CreateTargetMachine", target, *words, level, *models, 0, in_memory, b""
        )
        if not handle:
            msg = f"LLVM has no code generator for {triple}, CPU {cpu!r} with {features!r}."
            raise IntegrityError(msg)
        return TargetMachine(self, handle)

    # ---- from text to machine code

    @contextmanager
    @finished_before_forks
    def _module(self, text: str) -> Generator[int]:
        """Parse and verify text.

        Raises
        ------
        IntegrityError
            If it is invalid.
        """
        context = self._call("ContextCreate")
        module = None
        try:
            module = self._parsed(context, text)
            yield module
        finally:
            if module:
                self._call("DisposeModule", module)
            self._call("ContextDispose", context)

    def _parsed(self, context: int, text: str) -> int:
        """Return a module that has been parsed and verified."""
        functions = self._functions if len(text) > LONG_TEXT else self._reading_short
        with self._message() as error:
            where = ctypes.byref(error)
            module = functions["ParseAssembly"](context, text.encode(), where)
            if module and not error and not functions["VerifyModule"](module, where):
                return int(module)
            msg = f"LLVM refuses code that Phintys has written, a bug in Phintys: {_text(error)}"
            if module:
                self._call("DisposeModule", module)
        raise IntegrityError(msg)

    def verify(self, text: str) -> None:
        """Raise :class:`~phintys._base.errors.IntegrityError` unless a module is valid."""
        with self._module(text):
            pass

    def compile(self, text: str, machine: TargetMachine) -> bytes:
        """Return a module as an object file.

        Raises
        ------
        IntegrityError
            If LLVM's verifier rejects it: a bug in Phintys.
        """
        with self._module(text) as module:
            return self._emitted(module, machine)

    def _emitted(self, module: int, machine: TargetMachine) -> bytes:
        with self._message() as error:
            buffer = self._call(
                "TargetMachineEmitToMemory", machine.handle, module, 1, ctypes.byref(error)
            )
            if not buffer:
                msg = f"LLVM cannot write an object file: {_text(error)}"
                raise IntegrityError(msg)
            data = ctypes.string_at(
                self._call("GetBufferStart", buffer), self._call("GetBufferSize", buffer)
            )
            self._call("DisposeMemoryBuffer", buffer)
            return data

    @finished_before_forks
    def compile_together(
        self, texts: Iterable[str], internal: Iterable[str], machine: TargetMachine
    ) -> bytes:
        """Return several modules as one object file.

        Parameters
        ----------
        texts
            The modules.
        internal
            Functions of theirs that are not visible from outside of the object.
        machine
            The code generator.

        Raises
        ------
        IntegrityError
            If one is invalid, or they do not fit together: a bug in Phintys.
        """
        context = self._call("ContextCreate")
        whole = None
        try:
            for text in texts:
                module = self._parsed(context, text)
                if whole is None:
                    whole = module
                    continue
                with self._message() as error:
                    if self._functions["LinkModules"](whole, module, ctypes.byref(error)):
                        msg = f"LLVM cannot join modules that Phintys has written: {_text(error)}"
                        raise IntegrityError(msg)
            assert whole is not None
            for name in internal:
                function = self._call("GetNamedFunction", whole, name.encode())
                if function:
                    self._call("SetLinkage", function, _INTERNAL)
            self._optimize(whole, machine)
            return self._emitted(whole, machine)
        finally:
            if whole:
                self._call("DisposeModule", whole)
            self._call("ContextDispose", context)

    def _optimize(self, module: int, machine: TargetMachine) -> None:
        """Run LLVM's passes at its second level on a whole module; it already has its vectors.

        They compute addresses, so they must know how long the pointers of the target are.
        """
        data = self._call("CreateTargetMachineData", machine.handle)
        layout = self._told("CopyStringRepOfTargetData", data)
        self._call("DisposeTargetData", data)
        self._call("SetDataLayout", module, layout.encode())
        options = self._call("CreatePipelineTuningOptions")
        for name in ("PTOSetLoopVectorization", "PTOSetSLPVectorization"):
            self._call(name, options, False)
        builder = self._call("CreatePassBuilder", machine.handle, options)
        passes = self._call("buildPerModuleDefaultPipeline", builder, _OPTIMIZED, _NOT_SMALLER)
        try:
            self._call("RunNewModulePassManager", passes, module, builder)
        finally:
            self._call("DisposeNewModulePassManger", passes)
            self._call("DisposePassBuilder", builder)
            self._call("DisposePipelineTuningOptions", options)

    # ---- from objects to memory

    def link(
        self, objects: Iterable[bytes], symbols: Mapping[str, int], machine: TargetMachine
    ) -> Engine:
        """Load object files into memory, ready to be called.

        Parameters
        ----------
        objects
            The files.
        symbols
            Addresses of the symbols that they need. Missing ones are looked up in the process, and
            LLVM ends the process if that fails.
        machine
            A code generator, which is consumed.
        """
        stub = "".join(f'declare void @"{name}"()\n' for name in symbols).encode()
        with self._linking, self._message() as error:
            context = self._call("ContextCreate")
            where = ctypes.byref(error)
            module = self._reading_short["ParseAssembly"](context, stub, where)
            handle = module and self._call(
                "CreateMCJITCompiler", module, machine.release(), _is_arm(self.triple), where
            )
            if not handle:
                msg = f"LLVM cannot bring code into memory: {_text(error)}"
                raise IntegrityError(msg)
            engine = Engine(self, handle, context)
            for name, address in symbols.items():
                function = self._call("GetNamedFunction", module, name.encode())
                self._call("AddGlobalMapping", handle, function, address)
            for data in objects:
                file = self._call("CreateObjectFile", data, len(data))
                if not file:
                    msg = "LLVM cannot read an object file."
                    raise IntegrityError(msg)
                self._call("MCJITAddObjectFile", handle, file)
                self._call("DisposeObjectFile", file)
            self._call("FinalizeObject", handle)
        return engine

    def freeing(self, engine: int, context: int) -> tuple[Callable[[], None], ...]:
        """Return the calls that free code in memory.

        They hold the GIL, so none of them runs in the middle of another call for an engine.
        """
        return (
            partial(self._functions["DisposeExecutionEngine"], engine),
            partial(self._functions["ContextDispose"], context),
        )

    def address_in(self, engine: int, symbol: str, *, is_data: bool) -> int:
        """Return the address of a function, or of data, in an engine; 0 if there is none."""
        name = "GetGlobalValueAddress" if is_data else "GetFunctionAddress"
        with self._linking:
            return int(self._call(name, engine, symbol.encode()))

    def address_of_symbol(self, name: str) -> int:
        """Return the address of a function of the process, 0 if there is none."""
        return int(self._call("SearchAddressOfSymbol", name.encode()) or 0)

    def freeing_machine(self, handle: int) -> Callable[[], None]:
        """Return the call that frees a code generator."""
        return partial(self._functions["DisposeTargetMachine"], handle)


class TargetMachine:
    """A code generator, for one thread at a time.

    Attributes
    ----------
    handle
        LLVM's.
    """

    __slots__ = ("__weakref__", "_freeing", "handle")

    def __init__(self, llvm: Llvm, handle: int) -> None:
        self.handle = handle
        self._freeing = when_dropped(self, llvm.freeing_machine(handle))

    def release(self) -> int:
        """Return the handle, and transfer its ownership to the caller."""
        cancel(self._freeing)
        handle, self.handle = self.handle, 0
        return handle


class Engine:
    """Machine code in memory; it is freed with this object."""

    __slots__ = ("__weakref__", "_handle", "_llvm")

    def __init__(self, llvm: Llvm, handle: int, context: int) -> None:
        self._llvm = llvm
        self._handle = handle
        when_dropped(self, *llvm.freeing(handle, context))

    def address(self, symbol: str) -> int:
        """Return the address of a function; 0 if there is none."""
        return self._llvm.address_in(self._handle, symbol, is_data=False)

    def data_address(self, symbol: str) -> int:
        """Return the address of data; 0 if there is none."""
        return self._llvm.address_in(self._handle, symbol, is_data=True)


def _opened(path: str) -> Any:
    """Return a shared library; other threads may run Python while it is being loaded."""
    if os.name != "posix":
        return ctypes.CDLL(path)
    dlopen = ctypes.CDLL(None).dlopen
    dlopen.restype, dlopen.argtypes = c_void_p, (c_char_p, c_int)
    handle = dlopen(os.fsencode(path), os.RTLD_NOW)
    # Without a handle, ctypes tries once more, and raises with the system's message.
    return ctypes.CDLL(path, handle=handle)


def _bound(library: Any, signatures: Mapping[str, tuple[Any, tuple[Any, ...]]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, (returns, parameters) in signatures.items():
        function = getattr(library, f"LLVMPY_{name}")
        function.restype, function.argtypes = returns, parameters
        found[name] = function
    return found


def _text(message: c_char_p) -> str:
    return (message.value or b"").decode(errors="replace")


def _feature_name(feature: str) -> str:
    return feature[1:]


def _is_arm(triple: str) -> bool:
    """Return whether code must be close together, as llvmlite's own memory manager ensures."""
    return triple.startswith(("aarch64", "arm64"))


@Once
def llvm() -> Llvm:
    """Return LLVM, ready to generate code for this machine.

    Raises
    ------
    ImportError
        If llvmlite is missing, or its version or this system is not supported by Phintys.
    """
    llvmlite = import_whole("llvmlite")
    version = tuple(int(part) for part in llvmlite.__version__.split(".")[:2] if part.isdecimal())
    if not _FIRST_KNOWN <= version <= _LAST_KNOWN:
        _check_signatures(llvmlite.__version__)
    name = import_whole("llvmlite.utils").get_library_name()
    path = Path(llvmlite.__path__[0]) / "binding" / name
    try:
        found = Llvm(str(path))
    except (OSError, AttributeError) as error:
        raise ImportError(str(error)) from error
    _check_system(found)
    return found


def _check_system(found: Llvm) -> None:
    """Raise unless LLVM can generate code for this process.

    Raises
    ------
    ImportError
        On Windows on ARM, for which LLVM ends the process by a failed assertion when it lays out
        the frame of a function in an ELF object.
    """
    if sys.platform == "win32" and _is_arm(found.triple):
        msg = f"LLVM generates no code in memory for {found.triple}"
        raise ImportError(msg)


def _check_signatures(version: str) -> None:
    """Check our signatures against those of ``llvmlite.binding``, which loads slowly.

    Raises
    ------
    ImportError
        If a function has other parameters or another result.
    """
    import_whole("llvmlite.binding")
    library = import_whole("llvmlite.binding.ffi").lib
    for name, (returns, parameters) in (_SHORT | _LONG).items():
        function = getattr(library, f"LLVMPY_{name}")
        theirs = function.argtypes
        ours = list(map(_kind, parameters))
        fewer = ours[: len(ours) - _DROPPED.get(name, 0)]
        if theirs is not None and list(map(_kind, theirs)) not in (ours, fewer):
            msg = f"llvmlite {version} has another LLVMPY_{name} than Phintys knows"
            raise ImportError(msg)
        if returns is not None and _kind(function.restype) != _kind(returns):
            msg = f"llvmlite {version} returns something else from LLVMPY_{name}"
            raise ImportError(msg)


def _kind(type_: Any) -> Any:
    """Return a key that is equal for types that are passed in the same way."""
    is_pointer = type_ in {c_char_p, c_void_p} or hasattr(type_, "contents")
    return "pointer" if is_pointer else type_
