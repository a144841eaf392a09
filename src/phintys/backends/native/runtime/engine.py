"""Compiling LLVM text to machine code in memory, through the object cache.

Text is verified before it is compiled, and every symbol that code needs is resolved before the code
is linked, because LLVM ends the process on an error there. Symbols are bound separately for each
piece of code, so code for several CPUs can coexist in one process.
"""

from __future__ import annotations

import ctypes
import re
import struct
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from phintys._base.caches import Interned
from phintys._base.config import config, thread_limit
from phintys._base.errors import ConfigError, IntegrityError, MethodNotDefinedError
from phintys._base.late import LateModule
from phintys._base.locks import ProcessLock
from phintys._base.records import record
from phintys.backends.native.assembler.externals import EXTERNALS, USER_PREFIX, address_of
from phintys.backends.native.assembler.llvm_library import Engine, TargetMachine, llvm
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.limits import LARGE_TEXT_LINES, LINE_NANOSECONDS, PART_LINES
from phintys.backends.native.routines.blas_threads import BLAS_THREADS_SYMBOL
from phintys.backends.native.routines.library import (
    has_loops,
    is_convolution,
    is_outlined,
    library,
)
from phintys.backends.native.routines.numpy_functions import is_numpy_function, numpy_function
from phintys.backends.native.runtime.background import Background
from phintys.backends.native.runtime.blas import (
    blas_threads,
    is_loaded,
    is_routine,
    library_of,
    routine_address,
)
from phintys.backends.native.runtime.cache import CacheKey, object_cache

if TYPE_CHECKING:
    from phintys.backends.native.assembler import user_functions
else:
    user_functions = LateModule("phintys.backends.native.assembler.user_functions")

_QUICK, _WELL = 0, 1
"""Optimization levels of LLVM. At the lower one compiling takes a fifth of the time; the code gives
the same bits, mostly at nearly the same speed, but long reductions run several times as slowly.
Higher levels bring nothing."""


@record(frozen=True)
class CompiledObject:
    """Machine code in the form in which it is saved on disk.

    Attributes
    ----------
    needs
        Symbols that must be bound before it runs.
    files
        Object files, which are loaded in this order.
    """

    needs: tuple[str, ...]
    files: tuple[bytes, ...]

    def pack(self) -> bytes:
        """Return the object as bytes."""
        chunks = ("\n".join(self.needs).encode(), *self.files)
        return b"".join(len(chunk).to_bytes(8, "little") + chunk for chunk in chunks)

    @classmethod
    def unpack(cls, packed: bytes) -> CompiledObject:
        """Return the object that :meth:`pack` packed."""
        chunks: list[bytes] = []
        start = 0
        while start < len(packed):
            length = int.from_bytes(packed[start : start + 8], "little")
            chunks.append(packed[start + 8 : start + 8 + length])
            start += 8 + length
        names, *files = chunks
        return cls(tuple(filter(None, names.decode().split("\n"))), tuple(files))


class Code:
    """Machine code in memory; its addresses are valid as long as this object exists.

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
            If the code does not define it.
        """
        found = self._engine.address(symbol)
        if not found:
            msg = f"Compiled code has no function {symbol!r}."
            raise IntegrityError(msg)
        return found

    def data_address(self, symbol: str) -> int:
        """Return the address of a global variable of the code."""
        return self._engine.data_address(symbol)


# ---- compiling ---------------------------------------------------------------------------------


def compile_object(text: str, target: Target, level: int | None = None) -> CompiledObject:
    """Return the machine code of a module, from the object cache if possible.

    Parameters
    ----------
    text
        The module as LLVM IR.
    target
        The CPU.
    level
        LLVM's optimization level, 0 to 3; chosen by the length of the text if not given.

    Raises
    ------
    IntegrityError
        If LLVM's verifier rejects the text: a bug in Phintys.
    """
    if level is None:
        level = _best_level(text)
    found = cached_object(text, target, level)
    return _compile_and_keep(text, [text], target, level) if found is None else found


def _compile_and_keep(
    text: str, parts: Sequence[str], target: Target, level: int
) -> CompiledObject:
    compiled = _compile(parts, target, level)
    object_cache().put(CacheKey.of(text, target, str(level)), compiled.pack())
    return compiled


def cached_object(text: str, target: Target, level: int) -> CompiledObject | None:
    """Return the machine code of a module if the object cache has it."""
    packed = object_cache().get(CacheKey.of(text, target, str(level)))
    return None if packed is None else CompiledObject.unpack(packed)


def _best_cached(text: str, target: Target) -> tuple[int, CompiledObject] | None:
    """Return the best machine code of a module that the object cache has, and its level."""
    levels = (_WELL, _QUICK)
    found = object_cache().first_of([CacheKey.of(text, target, str(level)) for level in levels])
    return None if found is None else (levels[found[0]], CompiledObject.unpack(found[1]))


def _best_object(text: str, target: Target) -> CompiledObject:
    """Return that machine code, or compile the module quickly."""
    found = _best_cached(text, target)
    return _compile_and_keep(text, [text], target, _QUICK) if found is None else found[1]


def _part_count(text: str) -> int:
    """Return into how many parts a module is split, to be compiled by as many threads."""
    return max(1, min(thread_limit(), text.count("\n") // PART_LINES))


def _best_level(text: str) -> int:
    return _QUICK if text.count("\n") > LARGE_TEXT_LINES else _WELL


@contextmanager
def _needs_meanwhile(module: Module, math_level: int) -> Generator[None]:
    """Provide the libraries and the vector math that a module needs, in other threads."""
    work: list[Background[Any]] = []
    routines = [name for name in sorted(module.declared) if is_routine(name)]
    missing = {library_of(name): name for name in routines if not is_loaded(name)}
    work += [Background(routine_address, name) for name in missing.values()]
    functions = _math_library(module.target, math_level)
    if functions.lacks(module.math_functions):
        work.append(Background(functions.provide, module.math_functions))
    try:
        yield
    finally:
        for one in work:
            one.result()


def _compile(parts: Sequence[str], target: Target, level: int) -> CompiledObject:
    """Return the machine code of the parts of a module, which are compiled at the same time."""
    first, *others = parts
    work = [Background(_object_file, one, target, level) for one in others]
    try:
        files = [_object_file(first, target, level)]
    finally:
        for one in work:
            one.wait()
    files += [one.result() for one in work]
    needs = {name for text in parts for name in _declared(text)}
    needs |= {name for data in files for name in undefined_symbols(data)}
    defined = {name for text in others for name in _defined(text)}
    return CompiledObject(tuple(sorted(needs - defined)), tuple(files))


def _object_file(text: str, target: Target, level: int) -> bytes:
    idle = _idle_machines(target, level)
    try:  # a check first could race with another thread for the last one
        machine = idle.pop()
    except IndexError:
        machine = target.machine(level)
    data = llvm().compile(text, machine)
    idle.append(machine)
    return data


@Interned
def _idle_machines(target: Target, level: int) -> list[TargetMachine]:
    """Return code generators for reuse: creating one is slow, as it first analyses the CPU."""
    return []


def _declared(text: str) -> set[str]:
    """Return the functions that a module declares, without LLVM's intrinsics."""
    names = re.findall(r'^declare [^@\n]*@"?([\w.$]+)"?\(', text, re.MULTILINE)
    return {name for name in names if not name.startswith("llvm.")}


def _defined(text: str) -> list[str]:
    """Return the functions that a module defines."""
    return re.findall(r"^define [^@\n]*@([\w.$]+)\(", text, re.MULTILINE)


def undefined_symbols(data: bytes) -> set[str]:
    """Return the symbols that an object file needs; empty for formats other than 64-bit ELF.

    LLVM calls some functions without a declaration (``memset``, ``fmod``).
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
    # The symbol by which position-independent code refers to the linker's global offset table.
    return found - {"_GLOBAL_OFFSET_TABLE_"}


# ---- linking -----------------------------------------------------------------------------------


def load(
    module: Module, symbols: Mapping[str, int] | None = None, level: int | None = None
) -> Code:
    """Compile a module, or take it from the cache, and load it into memory.

    Parameters
    ----------
    module
        The module.
    symbols
        Addresses of functions that it calls, unless they are vector math, listed in
        :data:`~phintys.backends.native.assembler.externals.EXTERNALS`, or exported by the process.
    level
        As for :func:`compile_object`.
    """
    with _needs_meanwhile(module, _WELL):
        compiled = compile_object(str(module), module.target, level)
    return load_object(compiled, module.target, symbols)


def load_quickly(module: Module, symbols: Mapping[str, int]) -> tuple[Code, int]:
    """Load a module into memory with the least delay.

    Parameters
    ----------
    module, symbols
        As for :func:`load`.

    Returns
    -------
    tuple
        The code, and how many nanoseconds it should have run before :func:`load` pays off; 0 if
        there is no better code.
    """
    text, target = str(module), module.target
    if _best_level(text) == _QUICK or config.native_level == "high":
        return load(module, symbols), 0
    found = _best_cached(text, target)
    level = _QUICK if found is None else found[0]
    with _needs_meanwhile(module, level):
        if found is None:
            parts = module.parts(_part_count(text))
            compiled = _compile_and_keep(text, parts, target, level)
        else:
            compiled = found[1]
    code = load_object(compiled, target, symbols, math_level=level)
    return code, 0 if level == _WELL else LINE_NANOSECONDS * text.count("\n")


def load_object(
    compiled: CompiledObject,
    target: Target,
    symbols: Mapping[str, int] | None = None,
    *,
    math_level: int = _WELL,
) -> Code:
    """Load machine code into memory, with the symbols that it needs bound.

    Parameters
    ----------
    compiled, target
        The code and its CPU.
    symbols
        As for :func:`load`.
    math_level
        LLVM's optimization level for vector math that has to be compiled.

    Raises
    ------
    MethodNotDefinedError
        If a symbol cannot be resolved.
    """
    known = {} if symbols is None else symbols
    missing = [name for name in compiled.needs if name not in known]
    given = {name: known[name] for name in compiled.needs if name in known}
    return _link([compiled], given | _resolve_all(missing, target, math_level), target)


def _link(objects: Sequence[CompiledObject], symbols: Mapping[str, int], target: Target) -> Code:
    """Load objects into memory, with their symbols bound to addresses."""
    bound = {name: symbols[name] for one in objects for name in one.needs}
    files = [file for one in objects for file in one.files]
    return Code(llvm().link(files, bound, target.machine()))


def check_runs_here(target: Target) -> None:
    """Raise unless this process can run code for a CPU.

    Raises
    ------
    ConfigError
        If ``config.native_target`` names another kind of CPU, or instructions that this one lacks.
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
    """Outlined vector math for one CPU: compiled when first used, kept for the whole process.

    Parameters
    ----------
    target
        The CPU.
    level
        LLVM's optimization level.
    """

    def __init__(self, target: Target, level: int) -> None:
        self.target = target
        self.level = level
        self.addresses: dict[str, int] = {}
        self._lock = ProcessLock()

    def lacks(self, symbols: Iterable[str]) -> bool:
        """Return whether some of the functions are not in memory yet."""
        return not all(symbol in self.addresses for symbol in symbols)

    def provide(self, symbols: Iterable[str]) -> None:
        """Load those outlined functions into memory that are not there yet."""
        if not self.lacks(symbols):
            return
        with self._lock:
            missing = sorted(symbol for symbol in symbols if symbol not in self.addresses)
            if self.level == _QUICK:
                missing = self._without_better(missing)
            if not missing:
                return
            objects = self._objects(missing)
            needs = {name for one in objects for name in one.needs}
            bound = _resolve_all(needs, self.target, self.level)
            code = immortal(_link(objects, bound, self.target))
            self.addresses.update({symbol: code.address(symbol) for symbol in missing})

    def _without_better(self, symbols: Sequence[str]) -> list[str]:
        """Use better code where it is already in memory; return the remaining functions."""
        better = _math_library(self.target, _WELL).addresses
        self.addresses.update({one: better[one] for one in symbols if one in better})
        return [one for one in symbols if one not in better]

    def _objects(self, symbols: Sequence[str]) -> list[CompiledObject]:
        if self.level == _QUICK:
            return self._quick_objects(symbols)
        texts = [str(library(self.target, [symbol])) for symbol in symbols]
        return [compile_object(text, self.target, self.level) for text in texts]

    def _quick_objects(self, symbols: Sequence[str]) -> list[CompiledObject]:
        """Return vector math as one object, which is fastest, and each function with loops as one.

        These are several times slower at this level, but programs that were improved before have
        left better code of them in the cache. Convolutions have it from the start: it is compiled
        once on a machine, and a training step without it takes several times as long until then.
        """
        alone = [symbol for symbol in symbols if has_loops(symbol)]
        together = [symbol for symbol in symbols if symbol not in alone]
        texts = {symbol: str(library(self.target, [symbol])) for symbol in alone}
        well = [
            Background(compile_object, text, self.target, _WELL)
            for symbol, text in texts.items()
            if is_convolution(symbol)
        ]
        objects = [
            _best_object(text, self.target)
            for symbol, text in texts.items()
            if not is_convolution(symbol)
        ]
        if together:
            text = str(library(self.target, together))
            objects.append(compile_object(text, self.target, _QUICK))
        return [*objects, *(one.result() for one in well)]


@Interned
def _math_library(target: Target, level: int) -> _MathLibrary:
    return _MathLibrary(target, level)


def _resolve_all(names: Iterable[str], target: Target, math_level: int) -> dict[str, int]:
    """Return the address of each function.

    Raises
    ------
    MethodNotDefinedError
        If one of them cannot be resolved.
    """
    math = {name for name in names if name not in EXTERNALS and is_outlined(name)}
    functions = _math_library(target, math_level)
    functions.provide(math)
    return {name: functions.addresses[name] if name in math else _resolve(name) for name in names}


def _resolve(name: str) -> int:
    if name in EXTERNALS:
        return address_of(name)
    if name.startswith(USER_PREFIX):
        return user_functions.function_of(name).address
    if is_numpy_function(name):
        return numpy_function(name)
    if is_routine(name):
        return routine_address(name)
    if name == BLAS_THREADS_SYMBOL:
        return blas_threads()
    found = llvm().address_of_symbol(name) or _address_in_process(name)
    if not found:
        msg = (
            f"Native code needs the function {name!r}, which this process does not have. Use "
            "mode='reference' for this function."
        )
        raise MethodNotDefinedError(msg)
    return int(found)


@cache
def _c_libraries() -> tuple[ctypes.CDLL, ...]:
    """Return where C functions are; on Windows ``ntdll`` has ``__chkstk``, for large frames."""
    names = ("ucrtbase", "ntdll") if sys.platform == "win32" else (None,)
    return tuple(map(ctypes.CDLL, names))


def _address_in_process(name: str) -> int:
    """Return the address of a function of the C library, 0 if there is none."""
    found = (getattr(library, name, None) for library in _c_libraries())
    function = next(filter(None, found), None)
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0) if function else 0


# ---- lifetime ----------------------------------------------------------------------------------


def immortal(thing: Any) -> Any:
    """Keep an object alive forever, past the end of the interpreter, and return it.

    Arrays that outlive this module return their memory to native code; worker threads run it.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    return thing
