"""Compiling C++ code to modules of Python, kept in the object cache by content."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from phintys._base.config import config
from phintys._base.errors import CCodeError
from phintys._base.locks import ProcessLock
from phintys._base.records import record
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.c_code.source import NAME
from phintys.backends.native.runtime.cache import CacheKey, object_cache

_COMPILERS = ("c++", "g++", "clang++")


def compiler() -> tuple[str, ...]:
    """Return the command of the C++ compiler; empty if there is none, or none can be used.

    It is ``config.cxx``, or the first that is found: ``c++``, ``g++``, ``clang++``, the package
    ``ziglang``. The headers of Python must be there as well.
    """
    return _compiler(config.cxx)


@cache
def _compiler(command: str) -> tuple[str, ...]:
    if not Path(_python_headers(), "Python.h").exists() or not command:
        return ()
    if command != "auto":
        return tuple(shlex.split(command))
    for name in _COMPILERS:
        if shutil.which(name):
            return (name,)
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "c++")
    return ()


def _python_headers() -> str:
    return sysconfig.get_paths()["include"]


@record(frozen=True)
class Build:
    """What is compiled, and how.

    Attributes
    ----------
    text
        The source.
    options
        Arguments of the compiler before the source, and after it for libraries.
    libraries
        The latter.
    versions
        What the result depends on beyond that.
    """

    text: str
    options: tuple[str, ...]
    libraries: tuple[str, ...]
    versions: tuple[str, ...]


def options_of(
    header_dirs: Sequence[str],
    lib_dirs: Sequence[str],
    arguments: Sequence[str],
    without: Sequence[str],
) -> tuple[str, ...]:
    """Return the arguments of the compiler."""
    shared = ["-dynamiclib", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
    options = ["-O2", "-fPIC", "-w", *(shared or ["-shared"])]
    options += [f"-I{one}" for one in (*header_dirs, _python_headers(), np.get_include())]
    for one in lib_dirs:
        options += [f"-L{one}", f"-Wl,-rpath,{one}"]
    return tuple(one for one in (*options, *arguments) if one not in set(without))


_MODULES: dict[bytes, Any] = {}
_LOCK = ProcessLock()


def module_of(build: Build, called: str) -> Any:
    """Return the module of a source, from the process, the cache, or the compiler.

    Parameters
    ----------
    build
        The source and the options.
    called
        The Op, for messages.

    Raises
    ------
    CCodeError
        If it does not compile, or there is no compiler.
    """
    key = _key(build)
    with _LOCK:
        found = _MODULES.get(key.digest)
        if found is None:
            data = object_cache().get(key)
            if data is None:
                data = _compiled(build, called)
                object_cache().put(key, data)
            found = _MODULES[key.digest] = _loaded(data, called)
    return found


def _key(build: Build) -> CacheKey:
    parts = (*build.options, *build.libraries, *build.versions, *compiler(), sys.version)
    return CacheKey.of(build.text, Target.host(), "\0".join(("C", np.__version__, *parts)))


def _compiled(build: Build, called: str) -> bytes:
    command = compiler()
    if not command:
        raise no_compiler(called)
    with tempfile.TemporaryDirectory(prefix="phintys") as folder:
        source, made = Path(folder, "code.cpp"), Path(folder, "code.so")
        source.write_text(build.text, encoding="utf-8")
        arguments = [*command, *build.options, str(source), "-o", str(made), *build.libraries]
        try:
            run = subprocess.run(  # noqa: S603 - the user's own compiler
                arguments, capture_output=True, text=True, check=False, cwd=folder
            )
        except OSError as error:
            msg = f"config.cxx = {config.cxx!r}: the compiler {command[0]!r} cannot be run: {error}"
            raise CCodeError(msg) from error
        if run.returncode:
            raise _error(build.text, run.stderr, str(source), called)
        return made.read_bytes()


def no_compiler(called: str) -> CCodeError:
    """Return the error for an Op that cannot be compiled here, and that nothing else computes."""
    return CCodeError(
        f"{called} has C code and no perform, and there is no C++ compiler with the headers of "
        "Python here. Install one (pip install 'phintys[c]'), or define perform."
    )


def _error(text: str, messages: str, source: str, called: str) -> CCodeError:
    """Return the error of the compiler, with the lines of the code."""
    lines = text.splitlines()
    plain = messages.replace(source, "code").strip()
    numbers = [
        int(found)
        for found in re.findall(r"^code:(\d+):(?:\d+:)? (?:fatal )?error", plain, re.MULTILINE)
    ]
    shown = sorted({near for at in numbers[:5] for near in range(at - 3, at + 4)})
    code = "\n".join(f"{at:5} | {lines[at - 1]}" for at in shown if 0 < at <= len(lines))
    return CCodeError(f"The C code of {called} does not compile:\n{plain}\n{code}".rstrip())


def _loaded(data: bytes, called: str) -> Any:
    """Load a module from a file that only the user can have written, which is removed."""
    with tempfile.TemporaryDirectory(prefix="phintys") as folder:
        path = os.path.join(folder, NAME + (sysconfig.get_config_var("EXT_SUFFIX") or ".so"))  # noqa: PTH118
        Path(path).write_bytes(data)
        loader = importlib.machinery.ExtensionFileLoader(NAME, path)
        spec = importlib.util.spec_from_file_location(NAME, path, loader=loader)
        assert spec is not None
        try:
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
        except ImportError as error:
            msg = f"The compiled C code of {called} cannot be loaded: {error}"
            raise CCodeError(msg) from error
    return module
