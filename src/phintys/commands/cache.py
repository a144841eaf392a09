"""``phintys cache``: the compiled code on disk."""

from __future__ import annotations

import sys

from phintys.backends.native.runtime.cache import ObjectCache, object_cache


def run(action: str) -> int:
    """Show, verify or clear the cache; return the exit status."""
    cache = object_cache()
    problem = cache.problem()
    if problem and action != "show":
        sys.stderr.write(f"Nothing is touched: {problem}.\n")
        return 1
    return ACTIONS[action](cache)


def description(cache: ObjectCache) -> str:
    """Return where compiled code is kept, and how much of it."""
    if cache.folder is None:
        return "Compiled code is not kept: config.object_cache is False."
    entries = list(cache.entries())
    megabytes = sum(entry.size for entry in entries) / 2**20
    limit = cache.limit / 2**20
    return f"{cache.folder}: {len(entries)} entries, {megabytes:.1f} of {limit:.0f} megabytes"


def _show(cache: ObjectCache) -> int:
    sys.stdout.write(f"{description(cache)}\n")
    problem = cache.problem()
    if problem and cache.folder is not None:
        sys.stdout.write(f"The folder is not used: {problem}.\n")
    return 1 if problem and cache.folder is not None else 0


def _verify(cache: ObjectCache) -> int:
    damaged = cache.verify()
    for path in damaged:
        sys.stdout.write(f"damaged, removed: {path}\n")
    sys.stdout.write(f"{len(list(cache.entries()))} sound entries, {len(damaged)} damaged\n")
    return 1 if damaged else 0


def _clear(cache: ObjectCache) -> int:
    sys.stdout.write(f"{cache.clear()} entries removed\n")
    return 0


ACTIONS = {"show": _show, "verify": _verify, "clear": _clear}
"""What can be asked for -> the function that does it."""
