from pathlib import Path

import pytest

from phintys.passes.catalog import catalog
from phintys.passes.pipelines import all_rules

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"


@pytest.mark.docstrings
def test_the_page_is_up_to_date():
    told = "run python -m phintys.passes.catalog > docs/rules.md"
    assert PAGE.read_text("utf-8") == catalog(), told


def test_every_rule_is_on_the_page():
    text = catalog()
    assert all(f"`{rule.name}`" in text for rule in all_rules())
