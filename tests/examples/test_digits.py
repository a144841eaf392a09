import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

NAME = "digits"
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def trained(example, tmp_path_factory):
    picture = tmp_path_factory.mktemp("digits") / "digits.png"
    example.PICTURE = picture
    return example.main([]), picture


def test_both_models_learn_to_read(trained):
    logistic, network = trained[0]
    assert logistic.accuracies[-1] >= 0.94
    assert network.accuracies[-1] >= 0.97


def test_the_loss_falls(trained):
    for model in trained[0]:
        assert model.losses[-1] < model.losses[0] / 5
        assert np.all(np.isfinite(model.losses))


def test_a_third_is_held_out_and_always_the_same(example):
    training, held_out = example.load_digits()
    assert (len(training), len(held_out)) == (1198, 599)
    assert training.images.shape == (1198, 64)
    assert training.images.min() == 0
    assert training.images.max() == 1
    again = example.load_digits()[1]
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


def test_the_program_says_what_it_does(example, capsys):
    models = example.main(["--epochs", "1", "--no-picture"])
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
