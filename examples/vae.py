"""Draw digits: a variational autoencoder, trained by derivatives through random draws.

An encoder says, for each image, which codes of a few numbers may stand for it: a normal
distribution. A decoder says how likely a code makes each pixel ink. Both are trained together to
make the images likely, by a bound on the log-likelihood: what an image loses on its way through a
drawn code, and how far its codes are from standard normal ones. The draws are part of the graph,
and ``phintys.grad`` differentiates through them; dropout in the encoder is one more draw. Each call
of the training step draws anew, for the generators of a ``RandomStream`` are updated by it.

    python examples/vae.py                   # train, print figures, save a picture
    python examples/vae.py --epochs 5 --no-picture

Source: D. P. Kingma and M. Welling, arXiv:1312.6114; the optimizer is Adam, arXiv:1412.6980.
Data: 1,797 images of 8x8 pixels (see ``examples/data/README.md``), a third of them held out.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import phintys
import phintys.tensor as pt
from phintys.random import Bernoulli, Normal, RandomStream, logp

HERE = Path(__file__).parent
DATA = HERE / "data" / "digits.csv.gz"
PICTURE = HERE / "vae.png"
SEED = 1797
PIXELS, HIDDEN, CODES = 64, 256, 8
KEPT = 0.9
"""The share of hidden units of the encoder that dropout keeps."""

Array = np.ndarray[Any, Any]


def load_images() -> tuple[Array, Array]:
    """Return the training part and the held-out third, pixels in 0...1."""
    table = np.loadtxt(DATA, delimiter=",")
    order = np.random.default_rng(SEED).permutation(len(table))
    images = (table[order, :-1] / 16).astype(phintys.config.floatX)
    held_out = len(table) // 3
    return images[held_out:], images[:held_out]


# ---- the model -----------------------------------------------------------------------------------


@dataclass
class Layer:
    """A linear map with shared parameters."""

    weights: Any
    bias: Any

    @classmethod
    def random(cls, name: str, n_in: int, n_out: int, source: np.random.Generator) -> Layer:
        """Return a layer with small random weights."""
        weights = source.normal(0, n_in**-0.5, (n_in, n_out)).astype(phintys.config.floatX)
        return cls(
            phintys.shared(weights, name=f"{name}_weights"),
            phintys.shared(np.zeros(n_out, phintys.config.floatX), name=f"{name}_bias"),
        )

    def __call__(self, x: Any) -> Any:
        return x @ self.weights + self.bias


class Model:
    """An encoder and a decoder, of one hidden layer each."""

    def __init__(self) -> None:
        source = np.random.default_rng(SEED)
        self.read = Layer.random("read", PIXELS, HIDDEN, source)
        self.mean = Layer.random("mean", HIDDEN, CODES, source)
        self.log_spread = Layer.random("log_spread", HIDDEN, CODES, source)
        self.write = Layer.random("write", CODES, HIDDEN, source)
        self.ink = Layer.random("ink", HIDDEN, PIXELS, source)

    @property
    def parameters(self) -> list[Any]:
        """All shared values."""
        layers = (self.read, self.mean, self.log_spread, self.write, self.ink)
        return [part for layer in layers for part in (layer.weights, layer.bias)]

    def encode(self, images: Any, mask: Any = 1.0) -> tuple[Any, Any]:
        """Return means and standard deviations of codes; ``mask`` drops hidden units."""
        hidden = pt.maximum(self.read(images), 0) * mask
        return self.mean(hidden), pt.exp(self.log_spread(hidden))

    def decode(self, codes: Any) -> Any:
        """Return the probability that each pixel is ink."""
        return pt.sigmoid(self.ink(pt.maximum(self.write(codes), 0)))

    def bound(self, images: Any, codes: Any, mean: Any, spread: Any) -> Any:
        """Return a lower bound on the log-likelihood of each image, given a draw of its code."""
        ink = self.decode(codes)
        # The grey of a pixel is the share of its ink.
        likelihood = (images * pt.log(ink) + (1 - images) * pt.log1p(-ink)).sum(axis=1)
        known = logp(Normal(0.0, 1.0), codes) - logp(Normal(mean, spread), codes)
        return likelihood + known.sum(axis=1)


def adam(cost: Any, parameters: list[Any], rate: float) -> list[tuple[Any, Any]]:
    """Return the updates of one step against the gradient, scaled by its running moments."""
    count = phintys.shared(np.asarray(0.0, phintys.config.floatX), name="count")
    now = count + 1
    updates: list[tuple[Any, Any]] = [(count, now)]
    for parameter, slope in zip(parameters, phintys.grad(cost, parameters), strict=True):
        mean, square = (phintys.shared(np.zeros_like(parameter.get_value())) for _ in range(2))
        new_mean = 0.9 * mean + 0.1 * slope
        new_square = 0.999 * square + 0.001 * slope**2
        step = new_mean / (1 - 0.9**now) / (pt.sqrt(new_square / (1 - 0.999**now)) + 1e-8)
        updates += [(mean, new_mean), (square, new_square), (parameter, parameter - rate * step)]
    return updates


# ---- training ------------------------------------------------------------------------------------


@dataclass
class Trainer:
    """The compiled functions of a model, and its learning curves."""

    model: Model
    losses: list[float] = field(default_factory=list)
    held_out_losses: list[float] = field(default_factory=list)
    microseconds_a_step: float = 0.0

    def __post_init__(self) -> None:
        images, codes = pt.matrix("images"), pt.matrix("codes")
        stream = RandomStream(SEED)

        mask = stream.draw(Bernoulli(KEPT), (images.shape[0], HIDDEN)) / KEPT
        mean, spread = self.model.encode(images, mask)
        drawn = stream.draw(Normal(mean, spread))
        cost = -self.model.bound(images, drawn, mean, spread).mean()

        whole_mean, whole_spread = self.model.encode(images)
        whole_drawn = stream.draw(Normal(whole_mean, whole_spread))
        whole_cost = -self.model.bound(images, whole_drawn, whole_mean, whole_spread).mean()

        start = time.perf_counter()
        self.step = phintys.function(
            [images], cost, updates=adam(cost, self.model.parameters, 2e-3)
        )
        self.loss = phintys.function([images], whole_cost)
        self.rebuild = phintys.function([images], self.model.decode(whole_mean))
        self.imagine = phintys.function([codes], self.model.decode(codes))
        self.compile_seconds = time.perf_counter() - start

    def train(self, training: Array, held_out: Array, epochs: int, batch: int = 100) -> None:
        """Go through the training part ``epochs`` times in mini-batches."""
        source = np.random.default_rng(SEED)
        seconds, steps = 0.0, 0
        progress = tqdm(range(epochs), desc="training", unit="epoch", ncols=88)
        for _ in progress:
            order = source.permutation(len(training))
            start = time.perf_counter()
            costs = [self.step(training[order[i : i + batch]]) for i in range(0, len(order), batch)]
            seconds += time.perf_counter() - start
            steps += len(costs)
            self.losses.append(float(np.mean(costs)))
            self.held_out_losses.append(float(self.loss(held_out)))
            progress.set_postfix(
                loss=f"{self.losses[-1]:.2f}", test=f"{self.held_out_losses[-1]:.2f}"
            )
        self.microseconds_a_step = seconds / steps * 1e6

    def report(self) -> str:
        """Return the figures."""
        return (
            f"compiled in {self.compile_seconds * 1e3:.0f} ms, "
            f"{self.microseconds_a_step:.0f} us a step\n"
            f"bound on the log-likelihood of an image: {-self.losses[-1]:.2f} in training, "
            f"{-self.held_out_losses[-1]:.2f} held out"
        )


def draw(trainer: Trainer, held_out: Array, path: Path) -> None:
    """Save images with what the model rebuilds of them, and images that it imagines."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    shown = held_out[:10]
    codes = np.random.default_rng(SEED).normal(size=(20, CODES)).astype(phintys.config.floatX)
    titles = {0: "held out", 1: "rebuilt from their codes", 2: "imagined"}
    rows = [*shown, *trainer.rebuild(shown), *trainer.imagine(codes)]
    figure, axes = plt.subplots(4, 10, figsize=(9, 4.2), layout="constrained")
    for cell, pixels in zip(axes.flat, rows, strict=True):
        cell.imshow(pixels.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        cell.set(xticks=[], yticks=[])
    for row, title in titles.items():
        axes[row, 0].set_title(title, fontsize=9, loc="left")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> Trainer:
    """Train the model and print what came of it."""
    parser = argparse.ArgumentParser(description="Learn to draw handwritten digits.")
    parser.add_argument("--epochs", type=int, default=100, help="passes over the training part")
    parser.add_argument("--no-picture", action="store_true", help="do not save a picture")
    options = parser.parse_args(arguments)

    training, held_out = load_images()
    print(f"{len(training)} images to learn from, {len(held_out)} held out")
    trainer = Trainer(Model())
    trainer.train(training, held_out, options.epochs)
    print(trainer.report())
    if not options.no_picture:
        draw(trainer, held_out, PICTURE)
        print(f"rebuilt and imagined digits: {PICTURE}")
    return trainer


if __name__ == "__main__":
    main()
