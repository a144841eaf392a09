from pathlib import Path

from phintys._base.config import OPTIONS
from phintys._base.config_page import config_page

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_the_page_is_up_to_date():
    told = "run python -m phintys._base.config_page > docs/configuration.md"
    assert PAGE.read_text("utf-8") == config_page(), told


def test_every_option_is_on_the_page():
    text = config_page()
    assert all(f"| `{name}` |" in text and option.doc in text for name, option in OPTIONS.items())
