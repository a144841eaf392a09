"""Turns of phrase that read like translations stay out of the code and the documents."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
INSTEAD = {
    r"Return what\b": "name the result: Return the sizes",
    r"Return the like of": "say what it has in common",
    r"Tell whether": "Return whether",
    r"(?<![Tt]here )\b(is|are|was|were) no (?!longer|such|more|less)[a-z]": "is not a",
    r"held against": "checked against, compared with",
    r"[Aa]s long as nobody": "while nothing",
    r"\bunasked\b": "without permission",
    r"\bby the way\b": "along the way",
}
PHRASE = re.compile("|".join(INSTEAD))


def texts():
    yield ROOT / "README.md"
    yield ROOT / "CONTRIBUTING.md"
    for folder, pattern in (("docs", "*.md"), ("src", "*.py"), ("tools", "*.py")):
        yield from sorted((ROOT / folder).rglob(pattern))


def found(text):
    """Return the phrases of a text, each with what to write instead."""
    return [
        (match[0], next(advice for phrase, advice in INSTEAD.items() if re.match(phrase, match[0])))
        for match in PHRASE.finditer(text)
    ]


def test_no_text_has_such_a_phrase():
    lines = [
        f"{path.relative_to(ROOT)}:{number}: {phrase!r}: {advice}"
        for path in texts()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for phrase, advice in found(line)
    ]
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize(
    "line",
    ['"""Return what a node computes."""', "x is no tensor", "values are held against bounds"],
)
def test_each_is_found(line):
    assert found(line)


def test_plain_english_is_not():
    assert not found("Return whether there is no such axis; it is no longer read.")


def test_the_glossary_names_files_that_there_are():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = text.split("## Glossary\n")[1].split("\n## ")[0].splitlines()
    named = [path for row in rows for path in re.findall(r"`([\w/]+(?:\.py|/))`", row)]
    assert len(named) > 30
    assert [path for path in named if not (ROOT / "src" / "phintys" / path).exists()] == []
