"""Learn to read handwritten digits: multinomial logistic regression, then a small neural network.

Both models are written as symbolic expressions. ``phintys.grad`` differentiates the cost, and one
call of ``phintys.function`` compiles a training step: cost in, parameters updated.

    python examples/digits.py                   # train both, print figures, save a picture
    python examples/digits.py --epochs 5 --no-picture

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

HERE = Path(__file__).parent
DATA = HERE / "data" / "digits.csv.gz"
PICTURE = HERE / "digits.png"
SEED = 1797
CLASSES = 10


@dataclass
class Digits:
    """Images as rows of pixels in 0...1, with the digit that each shows."""

    images: np.ndarray[Any, Any]
    labels: np.ndarray[Any, Any]

    def __len__(self) -> int:
        return len(self.labels)


def load_digits() -> tuple[Digits, Digits]:
    """Return the training part and the held-out third, split the same way each time."""
    table = np.loadtxt(DATA, delimiter=",")
    order = np.random.default_rng(SEED).permutation(len(table))
    images = (table[order, :-1] / 16).astype(phintys.config.floatX)
    labels = table[order, -1].astype("int64")
    held_out = len(table) // 3
    return (
        Digits(images[held_out:], labels[held_out:]),
        Digits(images[:held_out], labels[:held_out]),
    )


@dataclass
class Layer:
    """An affine map with parameters that a training step changes."""

    weights: Any
    bias: Any

    @classmethod
    def random(cls, name: str, n_in: int, n_out: int, rng: np.random.Generator) -> Layer:
        """Return a layer with small random weights."""
        scale = np.sqrt(2 / n_in)
        weights = rng.normal(0, scale, (n_in, n_out)).astype(phintys.config.floatX)
        return cls(
            phintys.shared(weights, name=f"{name}_weights"),
            phintys.shared(np.zeros(n_out, phintys.config.floatX), name=f"{name}_bias"),
        )

    def __call__(self, x: Any) -> Any:
        return x @ self.weights + self.bias

    @property
    def parameters(self) -> list[Any]:
        return [self.weights, self.bias]


@dataclass
class Classifier:
    """A stack of layers with rectified units between them; one layer is logistic regression."""

    title: str
    layers: list[Layer]
    learning_rate: float
    decay: float
    losses: list[float] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)

    def compile(self) -> None:
        """Compile the training step and the prediction."""
        images, labels = pt.matrix("images"), pt.lvector("labels")
        scores = images
        for layer in self.layers[:-1]:
            scores = pt.maximum(layer(scores), 0)
        log_probabilities = pt.log_softmax(self.layers[-1](scores), axis=-1)

        likelihood = log_probabilities[pt.arange(labels.shape[0]), labels]
        parameters = [p for layer in self.layers for p in layer.parameters]
        penalty = sum((layer.weights**2).sum() for layer in self.layers)
        cost = -likelihood.mean() + self.decay * penalty

        velocities = [phintys.shared(np.zeros_like(p.get_value())) for p in parameters]
        updates: list[tuple[Any, Any]] = []
        gradients = phintys.grad(cost, parameters)
        for parameter, velocity, gradient in zip(parameters, velocities, gradients, strict=True):
            new_velocity = 0.9 * velocity - self.learning_rate * gradient
            updates += [(velocity, new_velocity), (parameter, parameter + new_velocity)]

        start = time.perf_counter()
        self.step = phintys.function([images, labels], cost, updates=updates)
        self.predict = phintys.function([images], log_probabilities.argmax(axis=1))
        self.compile_seconds = time.perf_counter() - start

    def train(self, training: Digits, held_out: Digits, epochs: int, batch: int = 50) -> None:
        """Go through the training part ``epochs`` times in mini-batches."""
        rng = np.random.default_rng(SEED)
        step_seconds = 0.0
        steps = 0
        progress = tqdm(range(epochs), desc=f"{self.title:<20}", unit="epoch", ncols=88)
        for _ in progress:
            order = rng.permutation(len(training))
            total = 0.0
            for first in range(0, len(order), batch):
                chosen = order[first : first + batch]
                images, labels = training.images[chosen], training.labels[chosen]
                start = time.perf_counter()
                cost = self.step(images, labels)
                step_seconds += time.perf_counter() - start
                steps += 1
                total += float(cost) * len(chosen)
            self.losses.append(total / len(training))
            self.accuracies.append(self.accuracy(held_out))
            progress.set_postfix(loss=f"{self.losses[-1]:.4f}", test=f"{self.accuracies[-1]:.4f}")
        self.microseconds_a_step = step_seconds / steps * 1e6

    def accuracy(self, digits: Digits) -> float:
        """Return the share of images that are read correctly."""
        return float(np.mean(self.predict(digits.images) == digits.labels))

    def report(self) -> str:
        """Return one line of figures."""
        return (
            f"{self.title:<20} compiled in {self.compile_seconds * 1e3:7.1f} ms   "
            f"{self.microseconds_a_step:7.1f} us a step   "
            f"test accuracy {self.accuracies[-1]:.4f}"
        )


def make_classifiers() -> list[Classifier]:
    """Return the two models, untrained."""
    rng = np.random.default_rng(SEED)
    return [
        Classifier(
            "logistic regression",
            [Layer.random("softmax", 64, CLASSES, rng)],
            learning_rate=0.1,
            decay=1e-4,
        ),
        Classifier(
            "neural network",
            [Layer.random("hidden", 64, 128, rng), Layer.random("softmax", 128, CLASSES, rng)],
            learning_rate=0.1,
            decay=1e-4,
        ),
    ]


def draw(classifiers: list[Classifier], held_out: Digits, path: Path) -> None:
    """Save the learning curves and the digits that the last model misreads."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    predicted = classifiers[-1].predict(held_out.images)
    misread = np.flatnonzero(predicted != held_out.labels)[:12]
    figure = plt.figure(figsize=(11, 4.6), layout="constrained")
    curves, gallery = figure.subfigures(1, 2, squeeze=False, width_ratios=[1.5, 1])[0]
    loss_axes, accuracy_axes = curves.subplots(1, 2)
    for model in classifiers:
        epochs = np.arange(1, len(model.losses) + 1)
        loss_axes.plot(epochs, model.losses, label=model.title)
        accuracy_axes.plot(epochs, model.accuracies, label=model.title)
    loss_axes.set(title="training loss", xlabel="epoch", yscale="log")
    accuracy_axes.set(title="accuracy on the held-out third", xlabel="epoch", ylim=(0.85, 1.0))
    accuracy_axes.legend(loc="lower right")
    for axes in (loss_axes, accuracy_axes):
        axes.grid(alpha=0.3)
    gallery.suptitle(f"misread by the {classifiers[-1].title}")
    for axes, number in zip(gallery.subplots(3, 4).flat, [*misread, *[None] * 12], strict=False):
        axes.axis("off")
        if number is not None:
            axes.imshow(held_out.images[number].reshape(8, 8), cmap="gray_r")
            truth, guess = held_out.labels[number], predicted[number]
            axes.set_title(f"{truth}, read as {guess}", fontsize=8)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> list[Classifier]:
    """Train both models and print what came of it."""
    parser = argparse.ArgumentParser(description="Learn to read handwritten digits.")
    parser.add_argument("--epochs", type=int, default=60, help="passes over the training part")
    parser.add_argument("--no-picture", action="store_true", help="do not save a picture")
    options = parser.parse_args(arguments)

    training, held_out = load_digits()
    print(f"{len(training)} images to learn from, {len(held_out)} held out")
    classifiers = make_classifiers()
    for model in classifiers:
        model.compile()
        model.train(training, held_out, options.epochs)
    for model in classifiers:
        print(model.report())
    if not options.no_picture:
        draw(classifiers, held_out, PICTURE)
        print(f"learning curves and misread digits: {PICTURE}")
    return classifiers


if __name__ == "__main__":
    main()
