"""``python -m phintys``, or ``phintys``: the command line.

``phintys cache show|verify|clear`` looks after the compiled code on disk. ``phintys export`` writes
compiled functions of a program for other languages: docs/export.md.
"""

from __future__ import annotations

import runpy
import sys
from typing import Any

from phintys.backends.native.runtime.cache import ObjectCache, object_cache
from phintys.compile.executor import Function

USAGE = """\
usage: phintys cache show      where compiled code is kept, and how much of it
       phintys cache verify    check every entry, and remove those that are damaged
       phintys cache clear     remove all entries
       phintys export SCRIPT.py:FUNCTION FOLDER [--OPTION VALUE ...]
                               run a program, and write a compiled function of it for C;
                               options: target, kind, name, blas, blas-prefix
"""


def main(arguments: list[str] | None = None) -> int:
    """Run a command; return the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments in (["-h"], ["--help"]):
        sys.stdout.write(USAGE)
        return 0
    if arguments[:1] == ["export"]:
        return _export(arguments[1:])
    if len(arguments) != 2 or arguments[0] != "cache" or arguments[1] not in _COMMANDS:
        sys.stderr.write(USAGE)
        return 2
    cache = object_cache()
    problem = cache.problem()
    if problem and arguments[1] != "show":
        sys.stderr.write(f"Nothing is touched: {problem}.\n")
        return 1
    return _COMMANDS[arguments[1]](cache)


def _show(cache: ObjectCache) -> int:
    if cache.folder is None:
        sys.stdout.write("Compiled code is not kept: config.object_cache is False.\n")
        return 0
    entries = list(cache.entries())
    megabytes = sum(entry.size for entry in entries) / 2**20
    limit = cache.limit / 2**20
    sys.stdout.write(
        f"{cache.folder}: {len(entries)} entries, {megabytes:.1f} of {limit:.0f} megabytes\n"
    )
    problem = cache.problem()
    if problem:
        sys.stdout.write(f"The folder is not used: {problem}.\n")
    return 1 if problem else 0


def _verify(cache: ObjectCache) -> int:
    damaged = cache.verify()
    for path in damaged:
        sys.stdout.write(f"damaged, removed: {path}\n")
    sys.stdout.write(f"{len(list(cache.entries()))} sound entries, {len(damaged)} damaged\n")
    return 1 if damaged else 0


def _clear(cache: ObjectCache) -> int:
    sys.stdout.write(f"{cache.clear()} entries removed\n")
    return 0


_EXPORT_OPTIONS = ("target", "kind", "name", "blas", "blas_prefix")


def _export(arguments: list[str]) -> int:
    """Run a program, and export a function that it leaves under a name."""
    place, *rest = arguments or [""]
    script, _, name = place.rpartition(":")
    names, values = rest[1::2], rest[2::2]
    options = {one.removeprefix("--").replace("-", "_") for one in names}
    is_known = options.issubset(_EXPORT_OPTIONS) and all(one.startswith("--") for one in names)
    if not script or not rest or len(names) != len(values) or not is_known:
        sys.stderr.write(USAGE)
        return 2
    found = runpy.run_path(script, run_name="__phintys_export__").get(name)
    if not isinstance(found, Function):
        sys.stderr.write(f"{script} has no compiled function {name!r}.\n")
        return 1
    given: dict[str, Any] = {
        one.removeprefix("--").replace("-", "_"): value
        for one, value in zip(names, values, strict=True)
    }
    given.setdefault("name", found.name or name)
    for path in found.export(rest[0], **given):
        sys.stdout.write(f"{path}\n")
    return 0


_COMMANDS = {"show": _show, "verify": _verify, "clear": _clear}


if __name__ == "__main__":
    sys.exit(main())
