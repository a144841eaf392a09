"""Linkers, where there are some: shared and static libraries, WebAssembly.

An object needs none. Otherwise the compiler of the machine is asked to link, ``cc``, or the one in
the wheel ``ziglang``, which links for all targets.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from phintys._base.errors import ConfigError
from phintys.backends.native.export.loader import loader_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from phintys.backends.base import ExportOptions

_ZIG_TARGETS = {"aarch64": "aarch64-linux-gnu", "aarch64-macos": "aarch64-macos"}
_WASM = ["-target", "wasm32-wasi", "-mexec-model=reactor", "-Wl,--export=malloc,--export=free"]


def link(
    folder: Path, name: str, description: dict[str, Any], options: ExportOptions
) -> list[Path]:
    """Link an object as asked for; return the files.

    Raises
    ------
    ConfigError
        If there is no linker for the target, or it fails.
    """
    if options.kind == "object":
        return []
    made = folder / f"{name}.o"
    libraries = [*options.libraries, *map(_linked, description["libraries"])]
    if options.kind == "static":
        target = folder / f"lib{name}.a"
        target.unlink(missing_ok=True)
        _run([*_archiver(), "rcs", str(target), str(made)])
        return [target]
    if options.kind == "wasm":
        target = folder / f"{name}.wasm"
        exports = [f"-Wl,--export={one}" for one in description["functions"]]
        _run([*_zig("wasm"), *_WASM, *exports, "-O2", "-o", str(target), str(made)])
        return [target]
    target = folder / f"lib{name}{_suffix(options.target)}"
    command = [*_compiler(options.target), "-shared", "-o", str(target), str(made)]
    for library in libraries:
        command.append(library)
        if "/" in library:
            command.append(f"-Wl,-rpath,{library.rpartition('/')[0]}")
    _run([*command, "-lm"])
    if options.kind == "shared":
        return [target]
    module = folder / f"{name}.py"
    module.write_text(loader_of(name, description["phintys"], target.name), encoding="utf-8")
    return [target, module]


def _linked(library: str) -> str:
    """Return the argument that links a library: its path, or its file name as an option."""
    return library if "/" in library else f"-l:{library}"


def _suffix(target: str) -> str:
    is_mac = target == "aarch64-macos" or (sys.platform == "darwin" and target != "aarch64")
    return ".dylib" if is_mac else ".so"


def has_zig() -> bool:
    """Return whether the wheel ``ziglang`` is installed."""
    return find_spec("ziglang") is not None


def _zig(kind: str) -> list[str]:
    if not has_zig():
        msg = f"export: {kind} needs a linker. Install one: pip install phintys[export]."
        raise ConfigError(msg)
    return [sys.executable, "-m", "ziglang", "cc"]


def _compiler(target: str) -> list[str]:
    """Return the command that links for a target."""
    if target in _ZIG_TARGETS:
        return [*_zig(f"target {target!r}"), "-target", _ZIG_TARGETS[target]]
    found = shutil.which("cc")
    return [found] if found is not None else _zig('kind "shared"')


def _archiver() -> list[str]:
    found = shutil.which("ar")
    return [found] if found is not None else [*_zig('kind "static"')[:-1], "ar"]


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    if done.returncode:
        msg = f"export: the linker has failed.\n{' '.join(command)}\n{done.stderr.strip()}"
        raise ConfigError(msg)
