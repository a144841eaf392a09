"""From a program to one object for linkers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from phintys._base.records import record
from phintys.backends.native.assembler.externals import EXTERNALS, USER_PREFIX
from phintys.backends.native.assembler.llvm_library import llvm
from phintys.backends.native.assembler.module import Module, ModuleFunction
from phintys.backends.native.assembler.user_functions import function_of, functions_called
from phintys.backends.native.export.bundled.routines import bundled, is_bundled
from phintys.backends.native.export.constants import constants_after_code
from phintys.backends.native.export.entry import EntryWriter
from phintys.backends.native.export.refusals import (
    check_callbacks,
    refuse,
    refuse_numpy,
    refuse_routine,
    refuse_scipy,
)
from phintys.backends.native.export.runtime import RuntimeWriter
from phintys.backends.native.limits import STACK_BYTES
from phintys.backends.native.memory import ALIGNMENT
from phintys.backends.native.routines.blas_threads import BLAS_THREADS, BLAS_THREADS_SYMBOL
from phintys.backends.native.routines.library import with_outlined
from phintys.backends.native.routines.numpy_functions import is_numpy_function
from phintys.backends.native.runtime.blas import is_routine
from phintys.backends.native.runtime.engine import undefined_symbols
from phintys.native.functions import LibraryFunction, LocalFunction, NativeFunction

if TYPE_CHECKING:
    from collections.abc import Iterable

    from phintys.backends.native.export.interface import Interface
    from phintys.backends.native.kernels.kernel_code import KernelCode
    from phintys.backends.native.plan import Plan
    from phintys.backends.native.writer.programs import EmittedProgram

_LEVEL = 2
_SYMBOL = re.compile(r"@([\w.$]+)")


@record(frozen=True)
class Assembled:
    """The machine code of an exported function.

    Attributes
    ----------
    data
        The object file.
    needs
        The functions that it calls.
    functions
        The functions that it offers.
    libraries
        The libraries of functions of users that it calls.
    """

    data: bytes
    needs: tuple[str, ...]
    functions: tuple[str, ...]
    libraries: tuple[str, ...]


def assemble(
    plan: Plan,
    emitted: EmittedProgram,
    interface: Interface,
    *,
    blas: str,
    blas_prefix: str,
    allocates: bool,
) -> Assembled:
    """Return a program as an object.

    Raises
    ------
    ArgumentError
        If the program needs something that an object cannot have; the message names the Op.
    """
    check_callbacks(emitted, interface)
    _check_allocations(plan, emitted, interface, allocates=allocates)
    target = plan.target
    own = Module(target)
    RuntimeWriter(own, emitted.layout, allocates=allocates).write()
    entry = EntryWriter(own, plan, emitted, interface, allocates=allocates)
    functions = entry.write()
    modules = [*with_outlined(emitted.module), own]
    if blas == "bundled":
        declared = {name for module in modules for name in module.declared}
        library = bundled(target, [s for s in declared if is_routine(s) and is_bundled(s)])
        # Their loops have several vectors already. If LLVM unrolled them as well, products would
        # take up to 1.8 times as long.
        for function in library.functions:
            function.attributes = "optsize"
        modules.append(library)
    defined = {function.name for module in modules for function in module.functions}
    wanted = {name for module in modules for name in module.declared} - defined
    wanted = {name for name in wanted if not name.startswith("llvm.")}
    names = {name: _outside(name, plan, interface, blas, blas_prefix) for name in sorted(wanted)}
    libraries = _libraries(wanted, defined, interface)
    _merge_equal(modules)
    texts = [_renamed(str(module), names) for module in modules]
    if BLAS_THREADS_SYMBOL in wanted:
        texts.append(_blas_threads(target.triple))
    internal = defined - set(functions)
    machine = target.machine(_LEVEL, for_linkers=True)
    data = constants_after_code(llvm().compile_together(texts, sorted(internal), machine))
    # LLVM may have dropped calls, and added some; formats other than ELF are not read here.
    called = {names[name] for name in wanted if name != BLAS_THREADS_SYMBOL}
    needs = undefined_symbols(data) if data.startswith(b"\x7fELF") else called
    return Assembled(data, tuple(sorted(needs)), tuple(functions), libraries)


def _merge_equal(modules: Iterable[Module]) -> None:
    """Let linked modules have one copy of a function that several of them have for themselves."""
    found: dict[str, list[ModuleFunction]] = {}
    for module in modules:
        for function in module.functions:
            if function.linkage == "internal":
                found.setdefault(function.name, []).append(function)
    texts = {name: {one.text("") for one in functions} for name, functions in found.items()}
    # What calls functions that differ is not the same either.
    different = {name for name, written in texts.items() if len(written) > 1}
    new = different
    while new:
        called = {
            name: {symbol for text in texts[name] for symbol in _SYMBOL.findall(text)}
            for name in found.keys() - different
        }
        new = {name for name, symbols in called.items() if symbols & different}
        different = different | new
    for name, functions in found.items():
        if name not in different and len(functions) > 1:
            for function in functions:
                function.linkage = "linkonce_odr"


# ---- symbols -------------------------------------------------------------------------------------


def _outside(name: str, plan: Plan, interface: Interface, blas: str, prefix: str) -> str:
    """Return the name of a function outside of the object."""
    if name in EXTERNALS:
        external = EXTERNALS[name]
        if external.source == "libm":
            return external.name
        refuse_scipy(external, plan, interface)
    if name.startswith(USER_PREFIX):
        return _own_function(function_of(name), interface)
    if name == BLAS_THREADS_SYMBOL:
        return name
    if is_numpy_function(name):
        refuse_numpy(name, name.removeprefix("phintys_numpy_"), plan, interface)
    if is_routine(name):
        short = name.split("_", 2)[2]
        if blas != "link":
            refuse_routine(name, short, plan, interface, bundled=blas == "bundled")
        return f"{prefix}{short}_"
    return name


def _own_function(function: NativeFunction, interface: Interface) -> str:
    """Return the name of a function of a user."""
    if isinstance(function, LocalFunction):
        refuse(
            interface,
            f"it calls {function}, which exists in this process only",
            "Compile it into a library, and name it there: phintys.native takes the pair (library, "
            "symbol).",
        )
    return function.symbol


def _libraries(symbols: Iterable[str], defined: set[str], interface: Interface) -> tuple[str, ...]:
    """Return the libraries of functions of users; each of these must have a name of its own."""
    places: dict[str, str] = {}
    for one in functions_called(symbols):
        assert isinstance(one, LibraryFunction)
        if one.symbol in defined:
            refuse(
                interface,
                f"it calls a function named {one.symbol!r}, as one of the object is named",
                "Rename it: a linker knows functions by their names alone.",
            )
        if places.setdefault(one.symbol, one.library) != one.library:
            refuse(
                interface,
                f"it calls functions named {one.symbol!r} of two libraries, {one.library!r} and "
                f"{places[one.symbol]!r}",
                "Rename one of them: a linker knows functions by their names alone.",
            )
    return tuple(sorted({library for library in places.values() if library}))


def _renamed(text: str, names: dict[str, str]) -> str:
    """Return the text of a module with the names of functions outside of it."""
    if BLAS_THREADS_SYMBOL in names:
        text = text.replace(
            f"declare void @{BLAS_THREADS_SYMBOL}()",
            f"@{BLAS_THREADS_SYMBOL} = external constant [{BLAS_THREADS.size} x i8]",
        )
    changed = {old: new for old, new in names.items() if old != new}
    return _SYMBOL.sub(lambda found: f"@{changed.get(found[1], found[1])}", text)


def _blas_threads(triple: str) -> str:
    """Return the record of the threads of BLAS: parts are computed one after the other.

    Large products are divided as in Python, so that results have the same bits. The threads of the
    library are left as they are: as that is constant, LLVM drops the code that would set them.
    """
    words = [0] * (BLAS_THREADS.size // 8)
    words[BLAS_THREADS.offset("is_ours") // 8] = 1
    content = ", ".join(f"i64 {word}" for word in words)
    kind = f"[{len(words)} x i64]"
    return (
        f'target triple = "{triple}"\n'
        f"@{BLAS_THREADS_SYMBOL} = linkonce_odr hidden constant {kind} [{content}], align 64\n"
    )


# ---- what cannot be exported ---------------------------------------------------------------------


def _check_allocations(
    plan: Plan, emitted: EmittedProgram, interface: Interface, *, allocates: bool
) -> None:
    if allocates:
        return
    if interface.dimensions:
        names = ", ".join(one.name for one in interface.dimensions)
        refuse(
            interface,
            f"with allocate=False, all lengths must be known, and {names} are not",
            "Give the arguments static shapes: pt.tensor(..., shape=(3, 4)).",
        )
    if "phintys_malloc" in emitted.module.declared:
        kernels = [one for one, code in emitted.kernels.items() if not _fits_on_stack(code)]
        steps = [*kernels, *emitted.shared_loops]
        if steps:
            refuse(
                interface,
                f"with allocate=False, no step may need more than {STACK_BYTES} bytes of memory of "
                "its own, and one does",
                "Let the function allocate, or make its arrays smaller."
                + _lengths_of_shared(interface),
                [f"{one.op}, made at {one.origin}" for step in steps for one in step.nodes()],
            )


def _lengths_of_shared(interface: Interface) -> str:
    """Return advice if there are lengths that only the values of shared variables tell."""
    if not any(isinstance(length, int) for length in interface.known.values()):
        return ""
    return " The shapes of shared variables are known with shared(value, shape=value.shape)."


def _fits_on_stack(code: KernelCode) -> bool:
    """Return whether a kernel surely has its memory on the stack."""
    plan = code.plan
    if plan.is_chunked and plan.nests[0].kept:  # as many totals as parts
        return False
    rooms = [room.known for room in plan.rooms.values()]
    needed = sum(STACK_BYTES + 1 if room is None else room + ALIGNMENT for room in rooms)
    return needed <= STACK_BYTES
