"""Pages of profiles: what the flame graphs divide, and the events of the time line."""

import json
import re

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys.inspect import profile_page
from phintys.inspect.profiles import time_line


def layer(x):
    return pt.tanh(x @ x)


@pytest.fixture(scope="module")
def f():
    x = pt.dmatrix("x")
    f = phintys.function([x], layer(x).sum(), profile=True, name="total </script>")
    for _ in range(3):
        f(np.ones((20, 20)))
    return f


def leaves(flame):
    return [leaf for part in flame.parts for leaf in leaves(part)] or [flame]


def walk(flame):
    yield flame
    for part in flame.parts:
        yield from walk(part)


@pytest.mark.parametrize("by", ["line", "Op", "step"])
def test_parts_are_inside_of_what_they_are_parts_of(f, by):
    root = profile_page(f).flames[by]
    for flame in walk(root):
        assert sum(part.seconds for part in flame.parts) <= flame.seconds * (1 + 1e-9)
        times = [part.seconds for part in flame.parts]
        assert times == sorted(times, reverse=True)
    total = sum(leaf.seconds for leaf in leaves(root))
    assert total <= f.profile.step_seconds * (1 + 1e-9)
    assert total >= 0.9 * f.profile.step_seconds


def test_lines_are_those_of_the_program(f):
    root = profile_page(f).flames["line"]
    found = [flame.label for flame in walk(root)]
    assert "layer" in found
    assert any(re.search(r"test_profiles\.py:\d+ return pt\.tanh", label) for label in found)


def test_the_time_line_has_all_events(f):
    events = time_line(f.profile)
    assert len(events) == sum(len(program.events) for program in f.profile.programs)
    assert min(event[1] for event in events) == 0
    steps = len(f.profile.steps)
    assert all(-1 <= step < steps and length >= 0 for step, _, length, _ in events)


def test_the_file_is_whole_and_its_data_can_be_read(f, tmp_path):
    page = profile_page(f.profile, tmp_path / "profile.html")
    text = (tmp_path / "profile.html").read_text("utf-8")
    assert text == page.html
    assert "{{" not in text
    assert not re.search(r'(?:src|href)="?(?:https?:)?//', text)
    data = json.loads(re.search(r'application/json">(.*?)</script>', text, re.DOTALL)[1])
    assert data["flames"]["Op"]["label"] == "total </script>"
    assert data["report"] == str(f.profile)
    assert "<iframe" in page._repr_html_()


def test_a_profile_without_calls_has_a_page():
    x = pt.dscalar("x")
    f = phintys.function([x], x + 1, profile=True)
    assert repr(profile_page(f)) == "<ProfilePage of a function, 0 calls>"
    assert '"events": []' in profile_page(f).html


@pytest.mark.parametrize("profiled", [False, None])
def test_what_is_not_profiled_is_refused(profiled):
    x = pt.dscalar("x")
    what = x if profiled is None else phintys.function([x], x + 1)
    with pytest.raises(ArgumentError, match="compiled with profile=True"):
        profile_page(what)
