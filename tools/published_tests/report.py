"""What the tests came to: classes of failures, and the table."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tools.published_tests.selection import (
    DECIDED,
    INTERNAL_ERRORS,
    INTERNAL_LINES,
    LATER,
    LEFT_OUT,
)
from tools.tests_of_others import markdown_table

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["CLASSES", "Failure", "Outcome", "classify", "read_notes", "table"]

CLASSES = {
    "internal": "asks for internals of the package",
    "later": "asks for what Phintys does not offer yet",
    "decided": "a difference that was decided",
    "fault": "everything else: faults, and what nobody has looked at",
}


@dataclass(frozen=True)
class Failure:
    """A test that failed."""

    test: str
    kind: str
    error: str
    where: str


@dataclass
class Outcome:
    """What one module came to."""

    module: str
    passed: int = 0
    skipped: int = 0
    not_run: int = 0
    failures: list[Failure] = field(default_factory=list[Failure])

    @property
    def kinds(self) -> Counter[str]:
        """How many failures of each class."""
        return Counter(failure.kind for failure in self.failures)


def classify(test: str, error: str, where: str = "") -> str:
    """Return the class of a failure."""
    if any(sign in error for sign in LATER):
        return "later"
    if any(
        re.search(decision.test, test) and re.search(decision.error, error) for decision in DECIDED
    ):
        return "decided"
    if error.startswith("InternalAskedFor") or "in Phintys." in error:
        return "internal"
    if any(re.search(sign, error) for sign in INTERNAL_ERRORS):
        return "internal"
    line = where.partition(" | ")[0]
    if any(re.search(sign, line) for sign in INTERNAL_LINES):
        return "internal"
    if "stand-in for" in error or "'_Module'" in error or "_Module.__init__" in error:
        return "internal"
    return "fault"


def _left_out(test: str) -> bool:
    return any(part in test for part in LEFT_OUT)


def read_notes(module: str, notes: Path) -> Outcome:
    """Return the plugin's notes on a module."""
    outcome = Outcome(module)
    lines: list[dict[str, Any]] = []
    if notes.exists():
        lines = [json.loads(line) for line in notes.read_text().splitlines()]
    collected = 0
    for line in lines:
        if "collected" in line:
            collected = sum(not _left_out(test) for test in line["collected"])
        elif _left_out(line["test"]):
            continue
        elif line["outcome"] == "failed":
            kind = classify(line["test"], line["error"], line["where"])
            outcome.failures.append(Failure(line["test"], kind, line["error"], line["where"]))
        elif line["outcome"] == "passed":
            outcome.passed += 1
        else:
            outcome.skipped += 1
    outcome.not_run = max(0, collected - outcome.passed - outcome.skipped - len(outcome.failures))
    return outcome


def table(outcomes: Iterable[Outcome]) -> str:
    """Return the counts as a table in Markdown, with their sums."""
    heads = ["module", "passed", "failed", *CLASSES, "skipped", "not run"]
    return markdown_table(heads, ((one.module, _numbers(one)) for one in outcomes))


def _numbers(outcome: Outcome) -> list[int]:
    kinds = [outcome.kinds[kind] for kind in CLASSES]
    return [outcome.passed, len(outcome.failures), *kinds, outcome.skipped, outcome.not_run]
