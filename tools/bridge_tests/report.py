"""What the tests came to, with PyTensor's own mode and with Phintys."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tools.tests_of_others import markdown_table

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["Outcome", "compare", "read_notes", "table"]


@dataclass(frozen=True)
class Outcome:
    """What one module came to.

    Attributes
    ----------
    module
        Its name.
    passed
        How many tests pass with both modes.
    failures
        Test -> error, of those that pass with PyTensor's mode and not with ours.
    outdated
        How many fail with PyTensor's mode: they are of another release.
    gained
        How many of these pass with ours.
    """

    module: str
    passed: int
    failures: dict[str, str]
    outdated: int
    gained: int


def read_notes(notes: Path) -> dict[str, dict[str, Any]]:
    """Return the plugin's notes on each test that was not skipped."""
    if not notes.exists():
        return {}
    facts = [json.loads(line) for line in notes.read_text().splitlines()]
    return {one["test"]: one for one in facts if one["outcome"] != "skipped"}


def compare(module: str, theirs: dict[str, Any], ours: dict[str, Any]) -> Outcome:
    """Summarize a module from the notes with both modes."""
    good = {name for name, one in theirs.items() if one["outcome"] == "passed"}
    found = {name for name, one in ours.items() if one["outcome"] == "passed"}
    return Outcome(
        module,
        len(good & found),
        {name: ours.get(name, {}).get("error", "not run") for name in sorted(good - found)},
        len(theirs) - len(good),
        len(found & set(theirs) - good),
    )


def table(outcomes: Iterable[Outcome]) -> str:
    """Return the counts as a table in Markdown, with their sums."""
    heads = ["module", "passed", "failed", "fail in PyTensor too", "pass in Phintys alone"]
    return markdown_table(
        heads,
        (
            (one.module, (one.passed, len(one.failures), one.outdated - one.gained, one.gained))
            for one in outcomes
        ),
    )
