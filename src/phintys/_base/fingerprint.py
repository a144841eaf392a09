"""A hash of the code of a package, whether its modules are files, in an archive, or frozen."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from importlib.machinery import ModuleSpec
from pkgutil import iter_modules
from types import CodeType
from typing import Any, cast


def fingerprint(package: str) -> str | None:
    """Return a hash of the code of all modules of a package.

    Equal code in equal files has the same hash in every process and on every machine.

    Parameters
    ----------
    package
        Name of the package, which has been imported.

    Returns
    -------
    str or None
        ``None`` if some of the code cannot be found or read, for example if a custom importer
        loaded the modules and does not list them.

    Examples
    --------
    >>> from phintys._base.fingerprint import fingerprint
    >>> fingerprint("phintys") == fingerprint("phintys")
    True
    """
    root = sys.modules[package]
    if root.__spec__ is None:
        return None
    hashed, met = sha256(), {package}
    found = [root.__spec__, *_specs_below(package, root.__path__)]
    for spec in sorted(found, key=lambda spec: spec.name):
        code = _code(spec)
        if code is None:
            return None
        met.add(spec.name)
        for part in (spec.name.encode(), code):
            hashed.update(len(part).to_bytes(8, "little"))
            hashed.update(part)
    loaded = {name for name in list(sys.modules) if name.startswith(f"{package}.")}
    return hashed.hexdigest() if loaded <= met else None


def _specs_below(package: str, places: Iterable[str]) -> Iterator[ModuleSpec]:
    """Yield the specs of the modules of a package, without importing them."""
    for finder, name, is_package in iter_modules(list(places)):
        full = f"{package}.{name}"
        spec: ModuleSpec | None = finder.find_spec(full, None)
        if spec is None:
            continue
        yield spec
        if is_package and spec.submodule_search_locations is not None:
            yield from _specs_below(full, spec.submodule_search_locations)


def _code(spec: ModuleSpec) -> bytes | None:
    """Return the file of a module, its code if there is no file, or ``None`` without either."""
    loader: Any = spec.loader
    try:
        return loader.get_data(spec.origin)
    except (AttributeError, OSError, TypeError, ValueError):
        pass  # this loader does not support files
    try:
        code = loader.get_code(spec.name)
    except (AttributeError, ImportError):
        return None
    return None if code is None else _described(code).encode()


def _described(thing: Any) -> str:
    """Return a text that identifies code, the same in every process.

    The output of ``marshal`` is not: it depends on reference counts.
    """
    if isinstance(thing, CodeType):
        parts = (
            thing.co_code,
            thing.co_consts,
            thing.co_names,
            thing.co_varnames,
            thing.co_freevars,
            thing.co_cellvars,
            thing.co_flags,
            thing.co_argcount,
            thing.co_posonlyargcount,
            thing.co_kwonlyargcount,
            thing.co_exceptiontable,
        )
        return f"code {_described(parts)}"
    if isinstance(thing, tuple):
        return f"({', '.join(map(_described, cast('tuple[Any, ...]', thing)))})"
    if isinstance(thing, frozenset):  # the iteration order differs between processes
        return f"{{{', '.join(sorted(map(_described, cast('frozenset[Any]', thing))))}}}"
    return f"{type(thing).__name__} {thing!r}"
