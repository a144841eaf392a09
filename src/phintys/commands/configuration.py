"""``phintys config``: the options and their values."""

from __future__ import annotations

import sys

from phintys._base.config import OPTIONS, config
from phintys._base.names import near_misses


def run(name: str | None) -> int:
    """Print one option, or all of them with what they mean; return the exit status."""
    if name is None:
        config.describe(sys.stdout)
        return 0
    if name not in OPTIONS:
        near = "".join(f" Did you mean {one!r}?" for one in near_misses(name, OPTIONS))
        sys.stderr.write(f"There is no option {name!r}.{near}\n")
        return 2
    sys.stdout.write(f"{getattr(config, name)}\n")
    return 0


def changed() -> dict[str, object]:
    """Return the options whose values are not the defaults."""
    values = {name: getattr(config, name) for name in OPTIONS}
    return {name: value for name, value in values.items() if value != OPTIONS[name].default}
