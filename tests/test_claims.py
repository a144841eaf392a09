"""What the documents say to be missing is missing, and what is there is not said to be."""

import re
from pathlib import Path

import pytest

from phintys.compat import names

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
COMPAT = (ROOT / "docs" / "compat.md").read_text()


@pytest.mark.parametrize("command", ["make demo", "make test"])
def test_readme_has_the_commands_of_a_fresh_machine(command):
    assert re.search(rf"^{command}\b", README, re.MULTILINE)


def missing_in_compat():
    chapter = COMPAT.split("## Not supported yet\n")[1].split("\n## ")[0]
    first = chapter.split(" is an Op that its rewrites make")[0]
    return re.findall(r"`([A-Za-z_0-9]+)`", first)


@pytest.mark.parametrize("name", missing_in_compat())
def test_what_compat_says_to_be_missing_is_missing(name):
    offered = Path(names.__file__).read_text().split("\nMISSING: dict")[0]
    assert not re.search(rf"\b{name}\b", offered)
