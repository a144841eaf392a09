"""The catalog of all rules, as ``docs/rules.md`` has it.

``python -m phintys.passes.catalog`` prints it.
"""

from __future__ import annotations

import sys
from itertools import groupby
from typing import TYPE_CHECKING

from phintys.passes.pipelines import PIPELINES, keeps_extremes
from phintys.rewriting import RuleDriver

if TYPE_CHECKING:
    from phintys.rewriting import NodeRewriter

__all__ = ["catalog"]

_HEAD = """\
# The rules

Written by `python -m phintys.passes.catalog` from the rules themselves; a test sees to it that it
is up to date. What rules promise, and what they may do to NaN and infinities, is told in
[Rewriting](rewriting.md). A rule marked with * may change what comes out at infinities, at NaN and
where the original overflows.

The passes of the full pipeline, in order:

{pipeline}
"""


def catalog() -> str:
    """Return a page on all rules, in the order in which they are tried, in Markdown.

    Examples
    --------
    >>> from phintys.passes.catalog import catalog
    >>> print(catalog().splitlines()[0])
    # The rules
    """
    pipeline = PIPELINES["full"]
    parts = [_HEAD.format(pipeline=pipeline)]
    listed: set[NodeRewriter] = set()
    for one in pipeline:
        if not isinstance(one.step, RuleDriver):
            continue
        parts.append(f"## {one.name}\n")
        again = [f"`{rule.name}`" for rule in one.step if rule in listed]
        if again:
            parts.append(f"Once more: {', '.join(again)}.\n")
        new = [rule for rule in one.step if rule not in listed]
        listed.update(new)
        for module, rules in groupby(new, key=_family):
            parts.append(f"### {module}\n\n| Rule | Equation |\n|---|---|")
            parts.append("\n".join(map(_row, rules)) + "\n")
    return "\n".join(parts)


def _family(rule: NodeRewriter) -> str:
    """Return the name of the file that a rule stands in."""
    return rule.__module__.rpartition(".")[2]


def _row(rule: NodeRewriter) -> str:
    star = "" if keeps_extremes(rule) else " *"
    equation = rule.equation.replace("|", "\\|")
    return f"| `{rule.name}`{star} | `{equation}` |"


if __name__ == "__main__":
    sys.stdout.write(catalog())
