"""Files of parameters."""

import os
from dataclasses import dataclass

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError


@dataclass
class Layer:
    w: object
    b: object


def parameters():
    return {
        "layers": [Layer(phintys.shared(np.ones((2, 3), "float32")), phintys.shared(np.zeros(3)))],
        "steps": phintys.shared(7),
        "a/b \u00e9": phintys.shared(np.array(1 + 2j)),
        "none": phintys.shared(np.zeros((0, 4))),
    }


def values(tree):
    return [leaf.get_value() for leaf in phintys.tree.leaves(tree)]


def test_what_is_saved_is_loaded(tmp_path):
    tree, other = parameters(), parameters()
    for leaf in phintys.tree.leaves(tree):
        leaf.set_value(leaf.get_value() * 3)
    phintys.save(tmp_path / "model.npz", tree)
    assert phintys.load(tmp_path / "model.npz", other) is None
    for new, old in zip(values(other), values(tree), strict=True):
        assert new.dtype == old.dtype
        np.testing.assert_array_equal(new, old)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.npz"]


def test_a_single_array_and_numbers(tmp_path):
    phintys.save(str(tmp_path / "one"), np.arange(3))
    np.testing.assert_array_equal(phintys.load(tmp_path / "one", None)[""], np.arange(3))
    phintys.save(tmp_path / "two", {"a": 1.5, "b": [True]})
    loaded = phintys.load(tmp_path / "two", {"a": 0.0, "b": [False]})
    assert loaded["a"] == 1.5
    assert loaded["b"][0].dtype == bool


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tree: tree | {"more": phintys.shared(1.0)}, r"lacks \[\"\['more'\]\"\]"),
        (lambda tree: {**tree, "steps": phintys.shared(1.0)}, r"dtype float64 and shape \(\)"),
        (lambda tree: {**tree, "steps": phintys.shared(np.arange(2))}, r"int64 and shape \(2,\)"),
        (
            lambda tree: {**tree, "none": phintys.shared(np.zeros((2, 4)))},
            r"shape \(2, 4\), .*, got .* shape \(0, 4\)",
        ),
    ],
)
def test_a_file_of_another_form_changes_nothing(tmp_path, change, message):
    phintys.save(tmp_path / "model", parameters())
    tree = change(parameters())
    tree["layers"][0].w.set_value(np.full((2, 3), 5, "float32"))
    with pytest.raises(ArgumentError, match=message):
        phintys.load(tmp_path / "model", tree)
    assert (tree["layers"][0].w.get_value() == 5).all()


@pytest.mark.parametrize(
    ("leaf", "message"),
    [
        (pt.dvector("x"), r"tree\['p'\] must be a shared variable or an array, got the symbolic x"),
        ("text", "must have a numeric dtype, got 'text' of type str"),
        (None, "must have a numeric dtype, got None"),
    ],
)
def test_a_tree_that_cannot_be_saved_leaves_the_file(tmp_path, leaf, message):
    path = tmp_path / "model"
    phintys.save(path, [1.0])
    with pytest.raises(ArgumentError, match=message):
        phintys.save(path, {"p": leaf})
    assert phintys.load(path) == {"[0]": 1.0}


def test_a_write_that_fails_leaves_the_file(tmp_path, monkeypatch):
    path = tmp_path / "model"
    phintys.save(path, [1.0])

    def fail(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="No space"):
        phintys.save(path, [2.0])
    monkeypatch.undo()
    assert phintys.load(path) == {"[0]": 1.0}
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no permissions of this kind")
def test_the_permissions_are_those_of_a_new_file(tmp_path):
    phintys.save(tmp_path / "model", [1.0])
    (tmp_path / "other").touch()
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_pickles_are_refused(tmp_path):
    np.savez(tmp_path / "bad.npz", a=np.array([object()]))
    with pytest.raises(ValueError, match="allow_pickle"):
        phintys.load(tmp_path / "bad.npz")


@pytest.mark.parametrize("kind", ["cut", "changed", "empty", "another format", "one array"])
def test_a_damaged_file_is_named_and_changes_nothing(tmp_path, kind, repeats):
    path, w = tmp_path / "model.npz", phintys.shared(np.arange(100.0), name="w")
    phintys.save(path, [w])
    whole = path.read_bytes()
    rng = np.random.default_rng(1)
    for _ in range(repeats(20, 500)):
        damaged = bytearray(whole)
        if kind == "cut":
            del damaged[rng.integers(len(whole)) :]
        elif kind == "changed":
            for place in rng.integers(len(whole), size=3):
                damaged[place] ^= rng.integers(1, 256)
        path.write_bytes({"empty": b"", "another format": b"{}"}.get(kind, damaged))
        if kind == "one array":
            with path.open("wb") as file:
                np.save(file, np.arange(3.0))
        try:
            phintys.load(path, [w])
        except ArgumentError as error:
            assert str(path) in str(error)  # noqa: PT017 - bytes that nothing reads may change
        else:
            assert kind == "changed"
        assert (w.get_value() == np.arange(100.0)).all()


def test_errors_of_the_system_name_the_file_of_the_user(tmp_path):
    path = tmp_path / "missing" / "model.npz"
    for use in (lambda: phintys.save(path, [1.0]), lambda: phintys.load(path)):
        with pytest.raises(FileNotFoundError) as caught:
            use()
        assert caught.value.filename == str(path)
