"""Values that are divided among eight devices, in a process of its own."""

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys.graph.sharding import Mesh

pytest.importorskip("jax", reason="needs jax")

import jax

ROOT = Path(__file__).parents[3]
MEASURED_WITH = "0.10.2"
BY_DEFAULT = ("both", "draws", "callbacks")
STRESS = ("data", "model", "FSDP", "errors", "others")
PARTS = {"data": [64, 256], "model": [64, 32], "both": [64, 64], "FSDP": [8, 256]}
NAMES = {"data": "data", "model": "model", "both": "data and model", "FSDP": "FSDP"}

x = pt.dmatrix("x")


@cache
def _found(parts: tuple[str, ...]) -> Any:
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.backends.jax.eight_devices", *parts],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        cwd=ROOT,
        env={**os.environ, **flags},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _part(name: str) -> Any:
    return _found(BY_DEFAULT if name in BY_DEFAULT else STRESS)[name]


def _collectives_in_docs() -> dict[str, str]:
    text = (ROOT / "docs" / "accelerators.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| (.+?) \| `.*` \| (.+?) \|$", text, re.MULTILINE))


@pytest.mark.parametrize(
    "name", ["both", *(pytest.param(one, marks=pytest.mark.stress) for one in STRESS[:3])]
)
def test_training_on_eight_devices_has_the_values_of_one(name):
    found = _part(name)
    assert found["error"] < 1e-13
    assert found["devices"] == 8
    assert found["part"] == PARTS[name]
    assert found["traces"] == 1
    assert found["donated"]
    if jax.__version__ == MEASURED_WITH:  # XLA's partitioner decides
        assert found["collectives"].rstrip(".") == _collectives_in_docs()[NAMES[name]]


def test_draws_are_equal_however_they_are_divided():
    assert _part("draws") == {"equal": True, "part": [8, 4]}


def test_elementwise_callbacks_get_parts_and_others_are_refused():
    found = _part("callbacks")
    assert found["error"] == found["odd"] == 0
    assert found["collectives"] == "none."
    assert re.search(r"Sqrtm would run on the host(?s:.*)eight_devices\.py", found["refused"])


@pytest.mark.stress
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("odd argument", r"ShapeError: The value of x, of shape \(7, 7\), cannot be divided"),
        ("odd value", r"The value of w(?s:.*)size, 7, must be a multiple"),
        ("odd inside", r"size, 7, must be a multiple(?s:.*)eight_devices\.py"),
        ("two meshes", r"several meshes, mesh\(data=8\), mesh\(model=4\)"),
        ("a device", r"Leave device=None"),
        ("too many devices", r"needs 9 devices, and JAX has 8 here"),
        ("failing call", r"index 9 is out of range(?s:.*)\[2\.0, 2\.0"),
    ],
)
def test_what_cannot_be_divided_is_refused(name, expected):
    assert re.search(expected, _part("errors")[name])


@pytest.mark.stress
def test_meshes_of_jax_loops_batches_and_other_modes():
    found = _part("others")
    assert found.pop("mesh") == "mesh(data=4, model=2)"
    assert set(found.values()) == {0}


MESH = Mesh(("data", "model"), (2, 4))


def test_a_sharding_is_nothing_in_other_modes():
    """The values, the gradient, and the graph that runs are those without it."""
    h = pt.with_sharding(pt.exp(x), MESH("data", "model"))
    w = phintys.shared(np.ones((3, 3)), sharding=MESH("none", "none"))
    f = phintys.function([phintys.In(x, sharding=MESH("data"))], [h * w, phintys.grad(h.sum(), x)])
    value = np.arange(9.0).reshape(3, 3)
    for found in f(value):
        np.testing.assert_allclose(found, np.exp(value))
    assert "WithSharding" not in str(f.maker.fgraph)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MESH("dato"), r"no axis 'dato'(.*)Did you mean 'data'\?"),
        (lambda: MESH("data", "data"), "can divide one axis of an array only"),
        (lambda: pt.with_sharding(x, MESH(None, None, "data")), "the array has 2"),
        (lambda: pt.with_sharding(x, "data"), "must be one of a mesh"),
        (lambda: phintys.In(pt.tensor("t", shape=(3,)), sharding=MESH("data")), "multiple"),
        (lambda: phintys.shared({"a": 1}, sharding=MESH("data")), "of type generic"),
    ],
)
def test_shardings_are_checked_where_they_are_given(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_batches_are_not_divided():
    rows = pt.vectorize(lambda row: pt.with_sharding(row, MESH("data")), signature="(n)->(n)")(x)
    assert rows.owner.op.sharding == MESH(None, "data")
