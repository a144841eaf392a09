"""The catalog of all rules, from which ``docs/rules.md`` is generated.

``python -m phintys.passes.catalog`` prints it.
"""

from __future__ import annotations

import sys
from itertools import groupby
from typing import TYPE_CHECKING

from phintys.passes.pipelines import PIPELINES, keeps_extremes, keeps_zeros
from phintys.rewriting import RuleDriver

if TYPE_CHECKING:
    from phintys.rewriting import NodeRewriter

_HEAD = """\
# The rules

This page is generated from the rules by `python -m phintys.passes.catalog`; a test checks that it
is up to date. [Rewriting](rewriting.md) describes what the rules guarantee, and their effect on NaN
and infinities. A rule marked with * can change the result for infinities, for NaN, and where the
original expression overflows, and with it the sign of a zero. A rule marked with ± can change
nothing but the sign of a zero.

The passes of the full pipeline, in order:

{pipeline}
"""


def catalog() -> str:
    """Return a Markdown page of all rules, in the order in which they are tried.

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
    """Return the name of the module that defines a rule."""
    return rule.__module__.rpartition(".")[2]


def _row(rule: NodeRewriter) -> str:
    mark = "" if keeps_zeros(rule) else " ±" if keeps_extremes(rule) else " *"
    equation = rule.equation.replace("|", "\\|")
    return f"| `{rule.name}`{mark} | `{equation}` |"


if __name__ == "__main__":
    sys.stdout.write(catalog())
