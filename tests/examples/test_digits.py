import gzip
import hashlib
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def digits():
    for name in ("tqdm", "matplotlib"):
        pytest.importorskip(name, reason="needs the extra 'examples'")
    spec = importlib.util.spec_from_file_location("digits", EXAMPLES / "digits.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["digits"] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    yield module
    del sys.modules["digits"]


@pytest.fixture(scope="module")
def trained(digits, tmp_path_factory):
    picture = tmp_path_factory.mktemp("digits") / "digits.png"
    digits.PICTURE = picture
    return digits.main([]), picture


def test_both_models_learn_to_read(trained):
    logistic, network = trained[0]
    assert logistic.accuracies[-1] >= 0.94
    assert network.accuracies[-1] >= 0.97


def test_the_loss_falls(trained):
    for model in trained[0]:
        assert model.losses[-1] < model.losses[0] / 5
        assert np.all(np.isfinite(model.losses))


def test_a_third_is_held_out_and_always_the_same(digits):
    training, held_out = digits.load_digits()
    assert (len(training), len(held_out)) == (1198, 599)
    assert training.images.shape == (1198, 64)
    assert training.images.min() == 0
    assert training.images.max() == 1
    again = digits.load_digits()[1]
    assert np.array_equal(again.images, held_out.images)
    seen = {image.tobytes() for image in training.images}
    new = [image for image in held_out.images if image.tobytes() not in seen]
    assert len(new) == len(held_out)


def test_the_picture_is_a_picture(trained):
    content = trained[1].read_bytes()
    assert content.startswith(b"\x89PNG")
    assert len(content) > 20_000


def test_the_report_has_the_figures(trained):
    for model in trained[0]:
        report = model.report()
        assert model.title in report
        assert "ms" in report
        assert "us a step" in report
        assert f"{model.accuracies[-1]:.4f}" in report


def test_the_program_says_what_it_does(digits, capsys):
    models = digits.main(["--epochs", "1", "--no-picture"])
    said = capsys.readouterr()
    assert "1198 images to learn from, 599 held out" in said.out
    assert "logistic regression" in said.out
    assert "digits.png" not in said.out
    assert "100%" in said.err  # the progress bar
    assert [len(model.losses) for model in models] == [1, 1]


def test_the_data_come_with_source_and_licence():
    about = (EXAMPLES / "data" / "README.md").read_text(encoding="utf-8")
    assert "UCI" in about
    assert "licen" in about.lower()
    text = gzip.decompress((EXAMPLES / "data" / "digits.csv.gz").read_bytes())
    assert hashlib.sha256(text).hexdigest() in about
