"""The tables of docs/bridge.md: PyTensor's Ops that have a conversion, from the registries.

``make bridge-page`` writes them below the heading "Ops with a conversion"; a test compares the page
with the registries.
"""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from phintys.bridge.pytensor import convert_op
from phintys.bridge.pytensor.families.elementwise import SCALARS
from phintys.bridge.pytensor.families.linear_algebra import BATCHED

__all__ = ["HEADING", "PAGE", "families", "page"]

PAGE = Path(__file__).parents[1] / "docs" / "bridge.md"
HEADING = "## Ops with a conversion\n"

_TABLES = """
{count} classes of Ops, and those derived from them, by the module of \
`phintys.bridge.pytensor.families` that converts them:

| module | Ops |
|---|---|
{families}
`Elemwise`, and scalar Ops elsewhere, are converted if their scalar Op is: `Cast`, `Composite` and \
other scalar Ops made of graphs, and these {scalar_count}:

{scalars}

`Blockwise` is converted if its core Op is. These take stacks of matrices themselves: {batched}.

`make bridge-page` writes this section.
"""
_ROOM = "phintys.bridge.pytensor.families."


def families() -> dict[str, list[str]]:
    """Return module -> the classes of Ops that it registers functions for, sorted."""
    found: dict[str, list[str]] = defaultdict(list)
    for cls, function in convert_op.registry.items():
        module = function.__module__
        if module.startswith(_ROOM):
            found[module.removeprefix(_ROOM)].append(cls.__name__)
    return {module: sorted(found[module]) for module in sorted(found)}


def page() -> str:
    """Return the text of the page: what is written by hand, and the tables."""
    text = PAGE.read_text(encoding="utf-8")
    begin = text.index(HEADING) + len(HEADING)
    rows = families()
    # PyMC's own scalar Ops are in the table once its bridge was imported.
    scalars = sorted(cls.__name__ for cls in SCALARS if cls.__module__.startswith("pytensor."))
    return text[:begin] + _TABLES.format(
        count=sum(map(len, rows.values())),
        families="".join(f"| `{module}` | {_code(names)} |\n" for module, names in rows.items()),
        scalar_count=len(scalars),
        scalars=_code(scalars) + ".",
        batched=_code(sorted(cls.__name__ for cls in BATCHED)),
    )


def _code(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
