"""``phintys export``: compiled functions of a program, for other languages (docs/export.md)."""

from __future__ import annotations

import runpy
import sys
from typing import Any

from phintys.compile.executor import Function


def run(place: str, folder: str, options: dict[str, Any]) -> int:
    """Run a program, and export a function that it leaves under a name; return the exit status."""
    script, _, name = place.rpartition(":")
    if not script:
        sys.stderr.write(f"{place!r} must be SCRIPT.py:FUNCTION.\n")
        return 2
    found = runpy.run_path(script, run_name="__phintys_export__").get(name)
    if not isinstance(found, Function):
        sys.stderr.write(f"{script} has no compiled function {name!r}.\n")
        return 1
    options.setdefault("name", found.name or name)
    for path in found.export(folder, **options):
        sys.stdout.write(f"{path}\n")
    return 0
