"""The reference documents every public name once."""

import importlib
import inspect

import pytest

from tools.site.chapters import ARRAYS, ROOMS, chapters
from tools.site.families import families

pytestmark = pytest.mark.docstrings


@pytest.fixture(scope="module")
def found():
    return chapters()


def test_no_name_is_documented_twice(found):
    names = [name for chapter in found for entry in chapter.entries for name in entry.names]
    assert len(names) == len(set(names))
    things = [id(entry.thing) for chapter in found for entry in chapter.entries]
    assert len(things) == len(set(things))


@pytest.mark.parametrize("room", [*ROOMS, "phintys.tensor", "phintys.tensor.linalg"])
def test_every_public_thing_of_a_room_is_documented(room, found):
    documented = {id(entry.thing) for chapter in found for entry in chapter.entries}
    module = importlib.import_module(room)
    missing = [
        name
        for name in module.__all__
        if not name.startswith("_")
        and callable(thing := getattr(module, name))
        and not inspect.ismodule(thing)
        and id(thing) not in documented
    ]
    assert not missing


def test_families_of_chapters_are_there():
    assert {family for group in ARRAYS.values() for family in group} <= set(families())


def test_pages_have_names_of_their_own(found):
    assert len({chapter.slug for chapter in found}) == len(found)
    assert all(chapter.entries for chapter in found)


def test_the_name_that_a_function_has_itself_comes_first(found):
    names = {entry.names[0]: entry.names for chapter in found for entry in chapter.entries}
    assert names["phintys.tensor.concatenate"]
    assert "phintys.tensor.absolute" in names["phintys.tensor.abs"]
