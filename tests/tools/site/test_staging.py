"""The pages of docs/ become the sources of the site, and nothing in them leads out of it."""

import re
from pathlib import Path

import pytest

from tools.site import sections, stage
from tools.site.staging import DOCS, OUTSIDE, linked


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    stage(folder, ["reference/index"])
    return folder


def test_every_page_is_in_one_list_of_the_first_page():
    found = sections((DOCS / "index.md").read_text(encoding="utf-8"))
    pages = [page for section in found for part in (section, *section.parts) for page in part.pages]
    expected = {path.name for path in DOCS.glob("*.md")} - {"index.md"}
    assert sorted(pages) == sorted(expected | {"../CONTRIBUTING.md"})


def test_the_doors_are_pages_of_the_section_start():
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    start = sections(text)[0]
    doors = re.findall(r"^- \[[^]]+\]\((start_\w+\.md)\)", text.split("## Start")[0], re.MULTILINE)
    assert start.title == "Start"
    assert len(doors) == 6
    assert set(doors) <= set(start.pages)


def test_no_link_leads_out_of_the_sources(source):
    pages = sorted(source.glob("*.md"))
    assert len(pages) > 40
    for page in pages:
        text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
            assert ".." not in target, page.name
            assert (source / target).is_file(), f"{page.name}: {target}"


def test_what_is_linked_is_there_to_be_read(source):
    assert (source / "files/examples/custom_op.py").read_text("utf-8").startswith('"""')
    assert set(OUTSIDE.values()) <= {path.name for path in source.iterdir()}


def test_the_navigation_has_the_sections(source):
    first = (source / "index.md").read_text("utf-8")
    assert first.endswith(
        "```{toctree}\n:hidden:\n\nstart\nguides\nnumbers\nreference/index\nunder_the_hood\nchanges\n```\n"
    )
    assert "\nlinear_algebra\n" in (source / "guides.md").read_text("utf-8")


def test_code_is_left_as_it_is(tmp_path):
    text = "```python\na = f[0](b)\n```\n"
    assert linked(text, DOCS / "index.md", tmp_path) == text


def test_what_is_unchanged_is_not_written(source):
    before = {path: path.stat().st_mtime_ns for path in Path(source).glob("*.md")}
    stage(source, ["reference/index"])
    assert before == {path: path.stat().st_mtime_ns for path in Path(source).glob("*.md")}


def test_pages_of_earlier_builds_are_removed(source):
    (source / "old.md").write_text("# Old\n", encoding="utf-8")
    stage(source, ["reference/index"])
    assert not (source / "old.md").exists()
    assert (source / "guides.md").exists()
