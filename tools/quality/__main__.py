"""Run the tests of NIST on every stream, and print a table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.stats import binomtest, kstest
from tqdm import tqdm

from tools.quality.nist import TESTS
from tools.quality.streams import STREAMS, bits_of

SIGNIFICANT = 0.01
"""A sequence fails a test whose p-value is below this; so do one in a hundred fair ones."""

IMPOSSIBLE = 1e-6
"""What is less likely than this, of fair bits, fails the stream."""


def judge(values: list[float]) -> tuple[float, float]:
    """Judge the p-values of one test over many sequences.

    Returns the probability that so many or more of them fail, and the probability that uniform
    numbers lie as far or farther from an even spread (Kolmogorov and Smirnov).
    """
    failed = sum(value < SIGNIFICANT for value in values)
    by_count = binomtest(failed, len(values), SIGNIFICANT, "greater").pvalue
    return float(by_count), float(kstest(values, "uniform").pvalue)


def p_values(sequences: Iterable[Any]) -> dict[str, list[list[float]]]:
    """Return the p-values of each test: a list for each of its parts, over the sequences."""
    found: dict[str, list[list[float]]] = {}
    for bits in sequences:
        for name, test in TESTS.items():
            values = test(bits)
            parts = found.setdefault(name, [])
            parts.extend([] for _ in range(len(values) - len(parts)))
            for part, value in zip(parts, values, strict=False):  # short walks give none
                part.append(value)
    return found


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")


def report(stream: str, sequences: list[Any]) -> int:
    """Print the table of a stream; return how many tests find what chance does not explain."""
    say(f"\n{stream}: {len(sequences)} sequences of {sequences[0].size} bits")
    say(f"  {'test':26} {'parts':>5} {'least chance of failures':>26} {'of the spread':>14}")
    failures = 0
    progress = tqdm(sequences, desc=stream, ncols=88, leave=False, disable=None)
    for name, parts in p_values(progress).items():
        if not parts:
            continue
        by_count, by_spread = np.min([judge(part) for part in parts], axis=0)
        is_wrong = min(by_count, by_spread) * len(parts) < IMPOSSIBLE
        failures += is_wrong
        mark = "   NOT RANDOM" if is_wrong else ""
        say(f"  {name:26} {len(parts):5} {by_count:26.3g} {by_spread:14.3g}{mark}")
    return failures


def main(arguments: list[str] | None = None) -> int:
    """Test all streams; return 1 if one of them is not random."""
    parser = argparse.ArgumentParser(description="Test the random bits of generators.")
    parser.add_argument("--sequences", type=int, default=100, help="of each stream")
    parser.add_argument("--bits", type=int, default=2**20, help="of each sequence, about a million")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)

    failures = sum(
        report(stream, bits_of(stream, options.sequences, options.bits, options.seed))
        for stream in STREAMS
    )
    say(f"\n{failures} tests find what fair bits do not show" if failures else "\nall passed")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
