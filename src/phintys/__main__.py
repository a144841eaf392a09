"""``python -m phintys``, or ``phintys``: the command line.

``phintys cache show|verify|clear`` looks after the compiled code on disk.
"""

from __future__ import annotations

import sys

from phintys.backends.native.runtime.cache import ObjectCache, object_cache

USAGE = """\
usage: phintys cache show      where compiled code is kept, and how much of it
       phintys cache verify    check every entry, and remove those that are damaged
       phintys cache clear     remove all entries
"""


def main(arguments: list[str] | None = None) -> int:
    """Run a command; return the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments in (["-h"], ["--help"]):
        sys.stdout.write(USAGE)
        return 0
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


_COMMANDS = {"show": _show, "verify": _verify, "clear": _clear}


if __name__ == "__main__":
    sys.exit(main())
