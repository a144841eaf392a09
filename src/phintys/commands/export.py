"""``phintys export``: compiled functions of a program, for other languages (docs/export.md)."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

from phintys._base.errors import PhintysError
from phintys.compile.executor import Function


def run(place: str, folder: str, options: dict[str, Any]) -> int:
    """Run a program, and export a function that it leaves under a name; return the exit status."""
    script, _, name = place.rpartition(":")
    if not script:
        sys.stderr.write(f"{place!r} must be SCRIPT.py:FUNCTION.\n")
        return 2
    if not Path(script).exists():
        sys.stderr.write(f"There is no file {script!r}.\n")
        return 2
    left = runpy.run_path(script, run_name="__phintys_export__")
    found = left.get(name)
    if not isinstance(found, Function):
        others = [other for other, value in left.items() if isinstance(value, Function)]
        which = f"it has {', '.join(others)}" if others else "it leaves none"
        sys.stderr.write(f"{script} has no compiled function {name!r}: {which}.\n")
        return 1
    options.setdefault("name", found.name or name)
    try:
        written = found.export(folder, **options)
    except (PhintysError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.writelines(f"{path}\n" for path in written)
    return 0
