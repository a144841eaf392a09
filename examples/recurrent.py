"""Learn to write like Shakespeare, letter by letter: a recurrent network.

A network with gates (a GRU: K. Cho and others, Learning Phrase Representations using RNN
Encoder-Decoder for Statistical Machine Translation, 2014) reads a text one letter after the other,
and says how likely each letter is to be the next. Reading is a loop, ``phintys.scan``; training
differentiates through it. Afterwards the network writes: each letter that it draws is what it reads
next.

    python examples/recurrent.py                   # train, print what it writes
    python examples/recurrent.py --epochs 20 --start "My love "

Data: five sonnets (see ``examples/data/README.md``). With so little text the network soon knows it
by heart.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import phintys
import phintys.tensor as pt

HERE = Path(__file__).parent
DATA = HERE / "data" / "sonnets.txt"
SEED = 1609
UNITS = 96
ROWS, LETTERS = 16, 40  # a batch: pieces of text, and letters in each
RATE = 4e-3


class Network:
    """A layer of gated units between letters and the odds of the next letter.

    Parameters
    ----------
    letters
        Number of different letters.
    units
        Number of units.
    """

    def __init__(self, letters: int, units: int) -> None:
        rng = np.random.default_rng(SEED)

        def weights(name: str, *shape: int) -> Any:
            values = rng.normal(0, 1 / np.sqrt(units), shape)
            return phintys.shared(values.astype("float32"), name=name)

        self.units = units
        self.table = weights("table", letters, 3 * units)  # what each letter adds to the gates
        self.gates = weights("gates", units, 2 * units)
        self.candidate = weights("candidate", units, units)
        self.scores = weights("scores", units, letters)
        self.parameters = [self.table, self.gates, self.candidate, self.scores]

    def step(self, read: Any, state: Any) -> Any:
        """Return the state after a letter, given the letter's row of the table."""
        n = self.units
        gates = pt.sigmoid(read[:, : 2 * n] + state @ self.gates)
        reset, update = gates[:, :n], gates[:, n:]
        new = pt.tanh(read[:, 2 * n :] + (reset * state) @ self.candidate)
        return update * state + (1 - update) * new

    def states(self, text: Any, first: Any) -> Any:
        """Return the state after each letter.

        Parameters
        ----------
        text
            Numbers of letters: a column for each piece of text.
        first
            The state before, a row for each piece.
        """
        states, _ = phintys.scan(self.step, sequences=self.table[text], outputs_info=first)
        return states


class Model:
    """A network with the programs that train and sample it."""

    def __init__(self, text: str) -> None:
        self.alphabet = sorted(set(text))
        self.numbers = np.array([self.alphabet.index(letter) for letter in text])
        self.network = Network(len(self.alphabet), UNITS)
        self.losses: list[float] = []
        start = time.perf_counter()
        self._train = self._compile_training()
        self._write = self._compile_writing()
        self.compile_seconds = time.perf_counter() - start

    def _compile_training(self) -> Any:
        """Return a function that takes letters and those that follow, and returns the loss."""
        text, following = pt.lmatrix("text"), pt.lmatrix("following")
        states = self.network.states(text, pt.zeros((text.shape[1], UNITS), "float32"))
        odds = pt.log_softmax(states @ self.network.scores, axis=-1)
        times, pieces = pt.arange(text.shape[0])[:, None], pt.arange(text.shape[1])
        loss = -odds[times, pieces, following].mean()
        updates = adam(loss, self.network.parameters)
        return phintys.function([text, following], loss, updates=updates)

    def _compile_writing(self) -> Any:
        """Return a function of a letter and the state: the odds of the next one, and the state."""
        letter, state = pt.lvector("letter"), pt.fmatrix("state")
        new = self.network.step(self.network.table[letter], state)
        return phintys.function([letter, state], [pt.softmax(new @ self.network.scores)[0], new])

    def train(self, epochs: int) -> None:
        """Read as many random pieces as the text has, ``epochs`` times."""
        rng = np.random.default_rng(SEED)
        batches = max(1, len(self.numbers) // (ROWS * LETTERS))
        offsets = np.arange(LETTERS)[:, None]
        seconds = 0.0
        progress = tqdm(range(epochs), desc="reading", unit="epoch", ncols=88)
        for _ in progress:
            total = 0.0
            for _ in range(batches):
                places = rng.integers(0, len(self.numbers) - LETTERS, ROWS) + offsets
                text, following = self.numbers[places], self.numbers[places + 1]
                start = time.perf_counter()
                total += float(self._train(text, following))
                seconds += time.perf_counter() - start
            self.losses.append(total / batches)
            progress.set_postfix(loss=f"{self.losses[-1]:.3f}")
        self.milliseconds = seconds / max(1, epochs * batches) * 1e3

    def write(self, start: str, letters: int, courage: float = 1.5) -> str:
        """Return a text that begins in a given way.

        Parameters
        ----------
        start
            The beginning, of letters that the network has read.
        letters
            Number of letters to add.
        courage
            The power to which odds are raised: the larger it is, the more likely are the letters
            that are drawn.
        """
        rng = np.random.default_rng(SEED)
        state = np.zeros((1, UNITS), "float32")
        odds = np.ones(len(self.alphabet)) / len(self.alphabet)
        for letter in start:
            odds, state = self._write([self.alphabet.index(letter)], state)
        written = start
        for _ in range(letters):
            chances = odds.astype("float64") ** courage
            number = rng.choice(len(chances), p=chances / chances.sum())
            written += self.alphabet[number]
            odds, state = self._write([number], state)
        return written

    def report(self) -> str:
        """Return the figures."""
        return (
            f"compiled in {self.compile_seconds * 1e3:.0f} ms, {self.milliseconds:.2f} ms a step; "
            f"loss {self.losses[0]:.2f} -> {self.losses[-1]:.2f} nats a letter"
        )


def adam(loss: Any, parameters: list[Any]) -> list[tuple[Any, Any]]:
    """Return the updates of a step of Adam (D. Kingma and J. Ba, 2015).

    Parameters
    ----------
    loss
        What to minimize.
    parameters
        Shared variables.
    """
    count = phintys.shared(np.float32(0), name="count")
    updates: list[tuple[Any, Any]] = [(count, count + 1)]
    rate = RATE * pt.sqrt(1 - 0.999 ** (count + 1)) / (1 - 0.9 ** (count + 1))
    for parameter, slope in zip(parameters, phintys.grad(loss, parameters), strict=True):
        zeros = np.zeros_like(parameter.get_value())
        mean, square = phintys.shared(zeros), phintys.shared(zeros)
        new_mean = 0.9 * mean + 0.1 * slope
        new_square = 0.999 * square + 0.001 * slope**2
        change = rate * new_mean / (pt.sqrt(new_square) + 1e-8)
        updates += [(mean, new_mean), (square, new_square), (parameter, parameter - change)]
    return updates


def main(arguments: list[str] | None = None) -> Model:
    """Train the network and print what it writes."""
    parser = argparse.ArgumentParser(description="Learn to write, letter by letter.")
    parser.add_argument("--epochs", type=int, default=150, help="passes over the text")
    parser.add_argument("--letters", type=int, default=300, help="letters to write")
    parser.add_argument("--start", default="Shall I ", help="how the text begins")
    options = parser.parse_args(arguments)

    text = DATA.read_text(encoding="utf-8")
    unknown = sorted(set(options.start) - set(text))
    if unknown:
        parser.error(f"the sonnets have no {''.join(unknown)!r} to start with")
    model = Model(text)
    print(f"{len(text)} letters to learn from, {len(model.alphabet)} different ones")
    model.train(options.epochs)
    print(model.report())
    print("\n" + model.write(options.start, options.letters))
    return model


if __name__ == "__main__":
    main()
