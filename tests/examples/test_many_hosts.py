import os
import re
import subprocess
import sys

import numpy as np
import pytest

NAME = "many_hosts"

pytest.importorskip("jax", reason="needs the extra 'jax'")


@pytest.fixture(scope="module")
def twice(example, tmp_path_factory):
    """The weights after 20 steps, of which the last 10 began with a checkpoint."""
    folder = str(tmp_path_factory.mktemp("checkpoints") / "weights")
    example.main(["--steps", "10", "--checkpoint", folder])
    return example.main(["--steps", "10", "--checkpoint", folder])


def test_the_weights_are_those_of_gradient_descent(example, twice):
    rows = [example.read_block(number) for number in range(example.BLOCKS)]
    x, y = (np.concatenate(both) for both in zip(*rows, strict=True))
    w = np.zeros((example.FEATURES, example.CLASSES))
    for _ in range(20):
        chances = np.exp(x @ w)
        chances /= chances.sum(1, keepdims=True)
        chances[np.arange(len(y)), y] -= 1
        w -= 0.5 * (x.T @ chances / len(y) + 0.002 * w)
    np.testing.assert_allclose(twice, w, rtol=1e-11, atol=1e-13)


@pytest.mark.stress
def test_two_processes_find_what_one_does(example, twice, tmp_path):
    """They save the parts of the weights that they have; one process reads all of them."""
    folder = tmp_path / "weights"
    environment = {name: v for name, v in os.environ.items() if name != "MANY_HOSTS"}
    done = subprocess.run(
        [
            *(sys.executable, example.__file__),
            *("--processes", "2", "--steps", "10", "--checkpoint", str(folder)),
        ],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert re.search("8 devices in 2 processes: loss 1.609", done.stdout)
    assert len([*folder.glob("w.*.npy")]) == 8
    again = example.main(["--steps", "10", "--checkpoint", str(folder)])
    np.testing.assert_allclose(again, twice, rtol=1e-12, atol=1e-14)
