"""Variable.transfer and the functions behind it."""

import pytest

from phintys._base.errors import TransferError
from phintys.graph import register_transfer, transfer


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch):
    monkeypatch.setattr(transfer, "_TRANSFERS", [])


def test_cpu_is_where_everything_begins(toys):
    x = toys.number("x")
    assert x.transfer("cpu") is x


def test_an_unknown_target(toys):
    x = toys.number("x")
    with pytest.raises(TransferError, match="no transfer function is registered"):
        x.transfer("moon")

    @register_transfer
    def to_mars(variable, target):
        return None

    with pytest.raises(ValueError, match=r"'moon'.*to_mars.*\"cpu\""):
        x.transfer("moon")


def test_the_newest_function_is_asked_first(toys):
    x, moon, dark_side = (toys.number(name) for name in ("x", "moon", "dark side"))
    asked = []

    def to_moon(variable, target):
        asked.append("first")
        return moon if target == "moon" else None

    def to_dark_side(variable, target):
        asked.append("second")
        return dark_side if target == "dark side" else None

    assert register_transfer(to_moon) is to_moon
    register_transfer(to_dark_side)
    register_transfer(to_moon)  # known already
    assert x.transfer("moon") is moon
    assert asked == ["second", "first"]
    assert x.transfer("dark side") is dark_side
    assert asked == ["second", "first", "second"]


def test_a_function_may_take_cpu_too(toys):
    x, here = toys.number("x"), toys.number("here")
    register_transfer(lambda variable, target: here if target == "cpu" else None)
    assert x.transfer("cpu") is here


def test_wrong_answers_and_wrong_functions(toys):
    def odd(variable, target):
        return 3

    register_transfer(odd)
    with pytest.raises(TransferError, match=r"odd must return a Variable or None, got 3"):
        toys.number("x").transfer("moon")
    with pytest.raises(TransferError, match="takes a function"):
        register_transfer("moon")
