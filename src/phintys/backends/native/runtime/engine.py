"""From LLVM text to machine code in memory, by way of the object cache.

Text is verified before it is compiled, and every symbol that code needs is found before the code is
linked: LLVM would end the process where it stumbles. Symbols are bound for each piece of code by
itself, so code for several CPUs can live side by side in one process.
"""

from __future__ import annotations

import ctypes
import re
import struct
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from phintys._base.errors import ConfigError, IntegrityError, MethodNotDefinedError
from phintys._base.locks import ProcessLock
from phintys._base.records import record
from phintys.backends.native.emit.externals import EXTERNALS, address_of
from phintys.backends.native.emit.library import is_outlined, library
from phintys.backends.native.emit.llvm_library import Engine, Machine, llvm
from phintys.backends.native.emit.module import Module
from phintys.backends.native.emit.target import Target
from phintys.backends.native.runtime.background import Background
from phintys.backends.native.runtime.blas import blas_address, is_blas
from phintys.backends.native.runtime.cache import CacheKey, object_cache

__all__ = [
    "Code",
    "CompiledObject",
    "cached_object",
    "check_runs_here",
    "compile_module",
    "compile_object",
    "immortal",
    "load",
    "load_object",
]

_LARGE = 60_000
"""Lines of text above which LLVM tries less hard: twice as fast to compile, a tenth slower."""

_MATH_LEVEL = 1
"""For vector math more effort changes nothing; less makes it a quarter slower."""


@record(frozen=True)
class CompiledObject:
    """Machine code as it lies on disk.

    Attributes
    ----------
    needs
        Symbols that must be bound before it runs.
    data
        An object file.
    """

    needs: tuple[str, ...]
    data: bytes

    def pack(self) -> bytes:
        """Return all of it as bytes."""
        names = "\n".join(self.needs).encode()
        return len(names).to_bytes(4, "little") + names + self.data

    @classmethod
    def unpack(cls, packed: bytes) -> CompiledObject:
        """Return what :meth:`pack` packed."""
        end = 4 + int.from_bytes(packed[:4], "little")
        names = packed[4:end].decode()
        return cls(tuple(filter(None, names.split("\n"))), packed[end:])


class Code:
    """Machine code in memory; its addresses are valid while this object lives.

    Parameters
    ----------
    engine
        LLVM's execution engine.
    """

    __slots__ = ("__weakref__", "_engine")

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def address(self, symbol: str) -> int:
        """Return the address of a function.

        Raises
        ------
        IntegrityError
            The code does not define it.
        """
        found = self._engine.address(symbol)
        if not found:
            msg = f"Compiled code has no function {symbol!r}."
            raise IntegrityError(msg)
        return found

    def data_address(self, symbol: str) -> int:
        """Return the address of memory that the code names."""
        return self._engine.data_address(symbol)


# ---- compiling ---------------------------------------------------------------------------------


def compile_object(text: str, target: Target, level: int | None = None) -> CompiledObject:
    """Return the machine code of a module, from the object cache if it is there.

    Parameters
    ----------
    text
        The module in LLVM's language.
    target
        The CPU.
    level
        LLVM's effort, 0 to 3; by the length of the text if not given.

    Raises
    ------
    IntegrityError
        LLVM's verifier refuses the text: a bug in Phintys.
    """
    if level is None:
        level = 0 if text.count("\n") > _LARGE else 1
    found = cached_object(text, target, level)
    if found is not None:
        return found
    compiled = _compile(text, target, level)
    object_cache().put(CacheKey.of(text, target, str(level)), compiled.pack())
    return compiled


def cached_object(text: str, target: Target, level: int) -> CompiledObject | None:
    """Return the machine code of a module if the object cache has it."""
    packed = object_cache().get(CacheKey.of(text, target, str(level)))
    return None if packed is None else CompiledObject.unpack(packed)


def compile_module(module: Module, level: int | None = None) -> CompiledObject:
    """Return the machine code of a module; another thread sees to the vector math that it needs."""
    functions = _math_library(module.target)
    if not functions.lacks(module.math_functions):
        return compile_object(str(module), module.target, level)
    provided = Background(functions.provide, module.math_functions)
    try:
        return compile_object(str(module), module.target, level)
    finally:
        provided.result()


def _compile(text: str, target: Target, level: int) -> CompiledObject:
    idle = _idle_machines(target, level)
    machine = idle.pop() if idle else target.machine(level)
    data = llvm().compile(text, machine)
    idle.append(machine)
    return CompiledObject(tuple(sorted(_declared(text) | undefined_symbols(data))), data)


@cache
def _idle_machines(target: Target, level: int) -> list[Machine]:
    """Return code generators to be used again: what they do first is to learn the CPU."""
    return []


def _declared(text: str) -> set[str]:
    """Return the functions that a module declares, but for LLVM's own."""
    names = re.findall(r'^declare [^@\n]*@"?([\w.$]+)"?\(', text, re.MULTILINE)
    return {name for name in names if not name.startswith("llvm.")}


def undefined_symbols(data: bytes) -> set[str]:
    """Return the symbols that an object file needs; nothing for formats other than 64-bit ELF.

    LLVM calls some functions of its own accord (``memset``, ``fmod``), which no declaration names.
    The layout is that of the System V ABI, "Object files".
    """
    if data[:6] != b"\x7fELF\x02\x01":
        return set()
    (sections_at,) = struct.unpack_from("<Q", data, 0x28)
    entry_size, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [
        struct.unpack_from("<IIQQQQIIQQ", data, sections_at + entry_size * number)
        for number in range(count)
    ]
    found: set[str] = set()
    for _, kind, _, _, start, size, link, _, _, _ in sections:
        if kind != 2:  # SHT_SYMTAB
            continue
        names_at = sections[link][4]
        for name, _, _, section, _, _ in struct.iter_unpack("<IBBHQQ", data[start : start + size]):
            if section == 0 and name:  # SHN_UNDEF
                first = names_at + name
                found.add(data[first : data.index(b"\0", first)].decode())
    # What position-independent code calls the table of addresses that the linker makes.
    return found - {"_GLOBAL_OFFSET_TABLE_"}


# ---- linking -----------------------------------------------------------------------------------


def load(
    module: Module, symbols: Mapping[str, int] | None = None, level: int | None = None
) -> Code:
    """Compile a module, or take it from the cache, and bring it into memory.

    Parameters
    ----------
    module
        The module.
    symbols
        Addresses of functions that it calls, where they are not vector math, listed in
        :data:`~phintys.backends.native.emit.externals.EXTERNALS`, or exported by the process.
    level
        As for :func:`compile_object`.
    """
    return load_object(compile_module(module, level), module.target, symbols)


def load_object(
    compiled: CompiledObject, target: Target, symbols: Mapping[str, int] | None = None
) -> Code:
    """Bring machine code into memory, with the symbols that it needs bound.

    Raises
    ------
    MethodNotDefinedError
        A symbol is nowhere to be found.
    """
    known = {} if symbols is None else symbols
    missing = [name for name in compiled.needs if name not in known]
    given = {name: known[name] for name in compiled.needs if name in known}
    return _link([compiled], given | _resolve_all(missing, target), target)


def _link(objects: Sequence[CompiledObject], symbols: Mapping[str, int], target: Target) -> Code:
    """Return objects in memory, with their symbols bound to addresses."""
    bound = {name: symbols[name] for one in objects for name in one.needs}
    return Code(llvm().link([one.data for one in objects], bound, target.machine()))


def check_runs_here(target: Target) -> None:
    """Raise unless this process can run code for a CPU.

    Raises
    ------
    ConfigError
        ``config.native_target`` names another kind of CPU, or instructions that this one lacks.
    """
    host = Target.host()
    architecture = target.triple.partition("-")[0]
    lacking = [
        name
        for name, asked, there in (
            ("AVX-512", target.has_avx512, host.has_avx512),
            ("FMA", target.has_fma, host.has_fma),
            ("float16 conversions", target.has_float16, host.has_float16),
        )
        if asked and not there
    ]
    if architecture != host.triple.partition("-")[0] or lacking:
        what = f"it lacks {' and '.join(lacking)}" if lacking else f"it is {host.triple}"
        msg = (
            f"config.native_target = {target.name!r}: this CPU cannot run such code ({what}). "
            "Set config.native_target = 'host'."
        )
        raise ConfigError(msg)


class _MathLibrary:
    """Outlined vector math for one CPU: compiled when first used, kept for the whole process."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.addresses: dict[str, int] = {}
        self._lock = ProcessLock()

    def lacks(self, symbols: Iterable[str]) -> bool:
        """Tell whether some functions are not in memory yet."""
        return not all(symbol in self.addresses for symbol in symbols)

    def provide(self, symbols: Iterable[str]) -> None:
        """Bring outlined functions into memory, those that are not there yet."""
        if not self.lacks(symbols):
            return
        with self._lock:
            missing = sorted(symbol for symbol in symbols if symbol not in self.addresses)
            objects = [
                compile_object(str(library(self.target, [symbol])), self.target, _MATH_LEVEL)
                for symbol in missing
            ]
            needs = {name for one in objects for name in one.needs}
            code = immortal(_link(objects, _resolve_all(needs, self.target), self.target))
            self.addresses.update({symbol: code.address(symbol) for symbol in missing})


@cache
def _math_library(target: Target) -> _MathLibrary:
    return _MathLibrary(target)


def _resolve_all(names: Iterable[str], target: Target) -> dict[str, int]:
    """Return the address of each function.

    Raises
    ------
    MethodNotDefinedError
        One of them is nowhere to be found.
    """
    math = {name for name in names if name not in EXTERNALS and is_outlined(name)}
    functions = _math_library(target)
    functions.provide(math)
    return {name: functions.addresses[name] if name in math else _resolve(name) for name in names}


def _resolve(name: str) -> int:
    if name in EXTERNALS:
        return address_of(name)
    if is_blas(name):
        return blas_address(name)
    found = llvm().address_of_symbol(name) or _address_in_process(name)
    if not found:
        msg = (
            f"Native code needs the function {name!r}, which this process does not have. Use "
            "mode='reference' for this function."
        )
        raise MethodNotDefinedError(msg)
    return int(found)


@cache
def _process() -> ctypes.CDLL:
    return ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)


def _address_in_process(name: str) -> int:
    """Return the address of a function of the C library, 0 if there is none."""
    try:
        return int(ctypes.cast(getattr(_process(), name), ctypes.c_void_p).value or 0)
    except AttributeError:
        return 0


# ---- lifetime ----------------------------------------------------------------------------------


def immortal(thing: Any) -> Any:
    """Keep an object for good, past the end of the interpreter, and return it.

    Arrays that outlive this module hand their memory back to native code; worker threads run it.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    return thing
