"""Compiled programs as bytes, for pickles of functions.

What is saved is the runtime's description of a program, and its machine code. Both carry the seal
of the user's object cache: only code that was sealed there, for this CPU and by this version of the
code of Phintys, is ever loaded. If the source files of Phintys cannot be read, nothing is sealed or
loaded. The graph is pickled with the function, so references to parts of it are saved as numbers.
"""

from __future__ import annotations

import io
import pickle
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.fingerprint import fingerprint
from phintys.backends.native.assembler.externals import LOCAL_PREFIX
from phintys.backends.native.runtime.cache import CacheKey, object_cache
from phintys.backends.native.runtime.context import ProgramInterface
from phintys.backends.native.runtime.engine import CompiledObject
from phintys.backends.native.sizes import Fixed, Size
from phintys.graph.apply import Apply
from phintys.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.assembler.target import Target


def seal_program(
    interface: ProgramInterface, compiled: CompiledObject, target: Target
) -> tuple[list[Any], bytes] | None:
    """Return a program as parts of its graph and bytes.

    ``None`` if there is no secret, or if the code calls functions that only this process knows.

    Parameters
    ----------
    interface
        The runtime's description of the program.
    compiled
        Its machine code.
    target
        The CPU that the code is for.
    """
    if any(name.startswith(LOCAL_PREFIX) for name in compiled.needs):
        return None
    file = io.BytesIO()
    pickler = _Pickler(file, interface)
    pickler.dump((interface, compiled.pack()))
    key = _key(target)
    sealed = None if key is None else object_cache().seal(key, file.getvalue())
    return None if sealed is None else (list(pickler.parts), sealed)


def open_program(
    parts: Sequence[Any], sealed: bytes, target: Target
) -> tuple[ProgramInterface, CompiledObject] | None:
    """Return the program that :func:`seal_program` sealed here, for this CPU; else ``None``."""
    key = _key(target)
    content = None if key is None else object_cache().unseal(key, sealed)
    if content is None:
        return None
    interface, packed = _Unpickler(io.BytesIO(content), parts).load()
    return interface, CompiledObject.unpack(packed)


def _key(target: Target) -> CacheKey | None:
    code = _code_of_phintys()
    return None if code is None else CacheKey.of(code, target, "a saved program")


@cache
def _code_of_phintys() -> str | None:
    """Return a hash of all code of Phintys: a program is valid only for the code that made it.

    Ops, rewrites and lowerings determine what a program does as much as the backend does.
    """
    return fingerprint("phintys")


class _Pickler(pickle.Pickler):
    """Writes parts of the graph as numbers, and of sizes only whether they are known."""

    def __init__(self, file: io.BytesIO, interface: ProgramInterface) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.parts: dict[Any, int] = {}
        self._constants = _constants_by_data(interface)

    def persistent_id(self, obj: Any) -> tuple[str, Any] | None:
        """Return an identifier for an object that is not pickled itself."""
        if isinstance(obj, Apply | Variable):
            return "part", self.parts.setdefault(obj, len(self.parts))
        if isinstance(obj, np.dtype):
            return "dtype", obj.str
        if isinstance(obj, Size):
            return "size", obj.known
        if id(obj) in self._constants:
            constant = self._constants[id(obj)]
            return "data", self.parts.setdefault(constant, len(self.parts))
        return None


class _Unpickler(pickle.Unpickler):
    """Reads the output of :class:`_Pickler`."""

    def __init__(self, file: io.BytesIO, parts: Sequence[Any]) -> None:
        super().__init__(file)
        self._parts = parts

    def persistent_load(self, pid: tuple[str, Any]) -> Any:
        """Return the object with an identifier."""
        kind, value = pid
        if kind == "dtype":
            return np.dtype(value)  # NumPy's own object, which the entry compares by identity
        if kind == "size":
            return Size() if value is None else Fixed(value)
        part = self._parts[value]
        return part.data if kind == "data" else part


def _constants_by_data(interface: ProgramInterface) -> dict[int, Constant]:
    """Return the constants of the graph, by the identity of their data in the program.

    Native code has views of arrays; if a view is equivalent to the constant's own array, that array
    can be used instead.
    """
    layout = interface.layout
    values = [*interface.results, *layout.constants]
    for callback in layout.callbacks:
        values.extend(callback.inputs)
    found: dict[int, Constant] = {}
    for value in values:
        constant = value.variable
        if isinstance(constant, Constant):
            found[id(constant.data)] = constant
            if value.data is not None and _shows(value.data, constant.data):
                found[id(value.data)] = constant
    return found


def _shows(view: Any, data: Any) -> bool:
    return (
        isinstance(view, np.ndarray)
        and isinstance(data, np.ndarray)
        and (
            (view.ctypes.data, view.dtype, view.shape, view.strides)
            == (data.ctypes.data, data.dtype, data.shape, data.strides)
        )
    )
