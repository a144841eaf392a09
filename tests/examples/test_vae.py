import numpy as np
import pytest

NAME = "vae"


@pytest.fixture(scope="module")
def trained(example, tmp_path_factory):
    example.PICTURE = tmp_path_factory.mktemp("vae") / "vae.png"
    return example.main(["--epochs", "20"]), example.PICTURE


def test_images_become_more_likely(trained):
    trainer = trained[0]
    assert trainer.losses[-1] < 0.8 * trainer.losses[0]
    # As likely as it makes the images that it learned from, without dropout.
    assert trainer.held_out_losses[-1] < trainer.losses[-1] + 0.5


def test_images_are_rebuilt_better_than_by_their_mean(example, trained):
    training, held_out = example.load_images()
    rebuilt = trained[0].rebuild(held_out)
    error = np.mean((rebuilt - held_out) ** 2)
    assert error < 0.7 * np.mean((training.mean(axis=0) - held_out) ** 2)


def test_each_step_draws_anew(example, trained):
    _, held_out = example.load_images()
    loss = trained[0].loss
    assert loss(held_out) != loss(held_out)


def test_training_is_the_same_each_time(example):
    first, second = (example.Trainer(example.Model()) for _ in range(2))
    training, held_out = example.load_images()
    for trainer in (first, second):
        trainer.train(training[:200], held_out, epochs=1)
    assert first.losses == second.losses


def test_the_picture_is_a_picture(trained):
    assert trained[1].read_bytes().startswith(b"\x89PNG")
    assert "held out" in trained[0].report()
