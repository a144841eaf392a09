"""The tests of NIST for sequences of random bits.

Each takes a sequence of bits, a vector of 0 and 1 as uint8, and returns p-values, one or more:
uniform numbers in [0, 1] if the bits are fair and independent.

Source: A. Rukhin et al., A Statistical Test Suite for Random and Pseudorandom Number Generators for
Cryptographic Applications, NIST Special Publication 800-22, revision 1a (2010). Sections are named
in the docstrings. Sequences have a million bits or so, for which the sizes of blocks are chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import erfc, gammaincc, ndtr

__all__ = ["TESTS"]

Bits = np.ndarray[Any, np.dtype[np.uint8]]
Test = Callable[[Bits], list[float]]

TESTS: dict[str, Test] = {}
"""The name of a test -> the test."""


def nist_test(function: Test) -> Test:
    """Enter a test in the table."""
    TESTS[function.__name__.replace("_", " ")] = function
    return function


def _chi_square(counts: Any, expected: Any) -> float:
    """Return the p-value of counts whose expectations are known, and add up to the same."""
    counts, expected = np.asarray(counts, float), np.asarray(expected, float)
    return _upper_tail(((counts - expected) ** 2 / expected).sum(), len(expected) - 1)


def _upper_tail(statistic: float, degrees: float) -> float:
    """Return the probability that chi-square is above a number."""
    return float(gammaincc(degrees / 2, statistic / 2))


def _walk(bits: Bits) -> np.ndarray[Any, Any]:
    """Return the sums of -1 and 1 up to each bit."""
    return np.cumsum(2 * bits.astype(np.int64) - 1)


def _blocks(bits: Bits, length: int) -> Bits:
    """Return the whole blocks of a length, as rows."""
    return bits[: bits.size // length * length].reshape(-1, length)


@nist_test
def frequency(bits: Bits) -> list[float]:
    """There are as many zeros as ones (section 2.1)."""
    excess = abs(2 * int(bits.sum()) - bits.size)
    return [float(erfc(excess / np.sqrt(2 * bits.size)))]


@nist_test
def frequency_in_blocks(bits: Bits, length: int = 128) -> list[float]:
    """So there are in blocks (section 2.2)."""
    shares = _blocks(bits, length).mean(axis=1)
    return [_upper_tail(4 * length * ((shares - 0.5) ** 2).sum(), len(shares))]


@nist_test
def cumulative_sums(bits: Bits) -> list[float]:
    """The walk goes as far as it should, forwards and backwards (section 2.13)."""
    return [_of_the_farthest(np.abs(_walk(way)).max(), bits.size) for way in (bits, bits[::-1])]


def _of_the_farthest(z: int, n: int) -> float:
    """Return the probability that a walk of n steps reaches the distance z."""

    def total(first: float, last: float, low: int, high: int) -> float:
        k = np.arange(int(first), int(last) + 1)
        return float((ndtr((4 * k + high) * z / n**0.5) - ndtr((4 * k + low) * z / n**0.5)).sum())

    least, most = (-n / z + 1) / 4, (n / z - 1) / 4
    return 1 - total(least, most, -1, 1) + total((-n / z - 3) / 4, most, 1, 3)


@nist_test
def runs(bits: Bits) -> list[float]:
    """Runs of equal bits are as many as they should be (section 2.3)."""
    share = bits.mean()
    if abs(share - 0.5) >= 2 / np.sqrt(bits.size):
        return [0.0]
    count = 1 + int((bits[1:] != bits[:-1]).sum())
    expected = 2 * share * (1 - share)
    away = abs(count - bits.size * expected)
    return [float(erfc(away / (expected * np.sqrt(2 * bits.size))))]


@nist_test
def longest_run_of_ones(bits: Bits) -> list[float]:
    """So are the longest runs of ones in blocks of 10,000 (section 2.4)."""
    longest = np.array([_longest_run(block) for block in _blocks(bits, 10_000)])
    counts = np.bincount(np.clip(longest, 10, 16) - 10, minlength=7)
    shares = np.array([0.0882, 0.2092, 0.2483, 0.1933, 0.1208, 0.0675, 0.0727])
    return [_chi_square(counts, len(longest) * shares)]


def _longest_run(block: Bits) -> int:
    zeros = np.flatnonzero(np.concatenate(([0], block, [0])) == 0)
    return int(np.diff(zeros).max()) - 1


FULL_RANK = (0.2887880951538411, 0.5775761901732046, 0.1336357146729543)
"""How often a matrix of 32 by 32 bits has full rank, one less, or less."""


@nist_test
def rank_of_matrices(bits: Bits) -> list[float]:
    """Matrices of 32 by 32 bits have full rank as often as they should (section 2.5)."""
    rows = np.packbits(_blocks(bits, 32), axis=1).view(">u4").astype(np.uint32).ravel()
    ranks = _ranks(rows[: rows.size // 32 * 32].reshape(-1, 32))
    counts = np.array([(ranks == 32).sum(), (ranks == 31).sum(), (ranks < 31).sum()])
    return [_chi_square(counts, len(ranks) * np.array(FULL_RANK))]


def _ranks(matrices: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the ranks of matrices over the field of two elements; rows are words of 32 bits."""
    rows, all_matrices = matrices.copy(), np.arange(len(matrices))
    ranks = np.zeros(len(matrices), int)
    for bit in range(32):
        has_bit = (rows >> np.uint32(bit)) & np.uint32(1) == 1
        # A row that was a pivot once is not one again.
        is_free = has_bit & (np.arange(32) >= ranks[:, None])
        found, pivot = is_free.any(axis=1), is_free.argmax(axis=1)
        place = np.where(found, ranks, pivot)
        chosen = rows[all_matrices, pivot].copy()
        rows[all_matrices, pivot] = rows[all_matrices, np.minimum(place, 31)]
        rows[all_matrices, np.minimum(place, 31)] = chosen
        below = (rows >> np.uint32(bit)) & np.uint32(1) == 1
        below &= (np.arange(32) > place[:, None]) & found[:, None]
        rows ^= np.where(below, chosen[:, None], np.uint32(0))
        ranks += found
    return ranks


@nist_test
def spectrum(bits: Bits) -> list[float]:
    """No frequency stands out (section 2.6)."""
    n = bits.size
    heights = np.abs(np.fft.rfft(2.0 * bits - 1))[: n // 2]
    low = int((heights < np.sqrt(n * np.log(1 / 0.05))).sum())
    away = (low - 0.95 * n / 2) / np.sqrt(n * 0.95 * 0.05 / 4)
    return [float(erfc(abs(away) / np.sqrt(2)))]


def _windows(bits: Bits, length: int) -> np.ndarray[Any, Any]:
    """Return the numbers that the windows of a length are in binary; the last ones wrap around."""
    longer = np.concatenate((bits, bits[: length - 1])).astype(np.int64)
    numbers = np.zeros(bits.size, np.int64)
    for place in range(length):
        numbers = 2 * numbers + longer[place : place + bits.size]
    return numbers


@nist_test
def templates_without_overlap(bits: Bits, template: str = "000000001") -> list[float]:
    """A pattern occurs in eighths of the sequence as often as it should (section 2.7)."""
    m = len(template)
    blocks = _blocks(bits, bits.size // 8)
    length = blocks.shape[1]
    expected = (length - m + 1) / 2**m
    variance = length * (1 / 2**m - (2 * m - 1) / 2 ** (2 * m))
    counts = np.array([_count_apart(block, int(template, 2), m) for block in blocks])
    return [_upper_tail(((counts - expected) ** 2 / variance).sum(), len(blocks))]


def _count_apart(block: Bits, pattern: int, m: int) -> int:
    """Return how often a pattern occurs, where each occurrence begins after the one before."""
    places = np.flatnonzero(_windows(block, m)[: block.size - m + 1] == pattern)
    count, free = 0, 0
    for place in places.tolist():
        if place >= free:
            count, free = count + 1, place + m
    return count


@nist_test
def templates_with_overlap(bits: Bits) -> list[float]:
    """So does a run of nine ones, in blocks of 1032 (section 2.8)."""
    m, length = 9, 1032
    is_run = _windows(bits, m) == 2**m - 1
    counts = _blocks(is_run.astype(np.int64), length)[:, : length - m + 1].sum(axis=1)
    found = np.bincount(np.minimum(counts, 5), minlength=6)
    shares = np.array([0.364091, 0.185659, 0.139381, 0.100571, 0.0704323, 0.139865])
    return [_chi_square(found, len(counts) * shares / shares.sum())]


@nist_test
def universal(bits: Bits) -> list[float]:
    """Words of seven bits recur after the distances that they should (section 2.9)."""
    width, warm_up, expected, variance = 7, 1280, 6.1962507, 3.125
    words = _blocks(bits, width) @ (1 << np.arange(width)[::-1])
    order = np.argsort(words, kind="stable")
    is_same = words[order][1:] == words[order][:-1]
    distances = np.zeros(len(words), np.int64)
    distances[order[1:]] = np.where(is_same, np.diff(order), order[1:] + 1)
    tested = distances[warm_up:]
    count = len(tested)
    spread = 0.7 - 0.8 / width + (4 + 32 / width) * count ** (-3 / width) / 15
    away = np.log2(tested).mean() - expected
    return [float(erfc(abs(away) / (np.sqrt(2 * variance / count) * spread)))]


@nist_test
def linear_complexity(bits: Bits, length: int = 500) -> list[float]:
    """Blocks need shift registers as long as they should (section 2.10)."""
    sign = (-1) ** length
    expected = length / 2 + (9 - sign) / 36 - (length / 3 + 2 / 9) / 2**length
    needed = np.array([_shift_register(block) for block in _blocks(bits, length)])
    away = sign * (needed - expected) + 2 / 9
    classes = np.searchsorted([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], away)
    shares = np.array([0.010417, 0.03125, 0.125, 0.5, 0.25, 0.0625, 0.020833])
    counts = np.bincount(classes, minlength=7)
    return [_chi_square(counts, len(needed) * shares)]


def _shift_register(block: Bits) -> int:
    """Return the length of the shortest linear feedback shift register of a block.

    This is the algorithm of Berlekamp and Massey, with polynomials as the bits of integers.
    """
    connection, before, seen = 1, 1, 0
    length, last = 0, -1
    for n, bit in enumerate(block.tolist()):
        seen = (seen << 1) | bit
        if not (connection & seen).bit_count() & 1:
            continue
        kept = connection
        connection ^= before << (n - last)
        if 2 * length <= n:
            length, last, before = n + 1 - length, n, kept
    return length


def _spread_of_windows(bits: Bits, length: int) -> float:
    """Return the statistic of chi-square of the windows of a length."""
    if length == 0:
        return 0.0
    counts = np.bincount(_windows(bits, length), minlength=2**length).astype(float)
    return float((counts**2).sum() * 2**length / bits.size - bits.size)


@nist_test
def serial(bits: Bits, length: int = 16) -> list[float]:
    """All patterns of a length are equally frequent (section 2.11)."""
    whole, shorter, shortest = (_spread_of_windows(bits, length - i) for i in range(3))
    return [
        _upper_tail(whole - shorter, 2 ** (length - 1)),
        _upper_tail(whole - 2 * shorter + shortest, 2 ** (length - 2)),
    ]


@nist_test
def approximate_entropy(bits: Bits, length: int = 10) -> list[float]:
    """So says the entropy of patterns of two lengths (section 2.12)."""

    def entropy(width: int) -> float:
        counts = np.bincount(_windows(bits, width), minlength=2**width)
        shares = counts[counts > 0] / bits.size
        return float((shares * np.log(shares)).sum())

    rise = entropy(length) - entropy(length + 1)
    return [_upper_tail(2 * bits.size * (np.log(2) - rise), 2**length)]


def _cycles(bits: Bits) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], int]:
    """Return a walk, the number of the cycle of each step, and how many cycles there are.

    A cycle is what lies between two returns to zero.
    """
    walk = np.concatenate((_walk(bits), [0]))
    returns = walk == 0
    cycle = np.cumsum(returns) - returns
    return walk, cycle, int(returns.sum())


FEWEST_CYCLES = 500
"""Sequences with fewer cycles say too little about them (section 2.14.7)."""


@nist_test
def excursions(bits: Bits) -> list[float]:
    """Cycles visit the heights up to four as often as they should (section 2.14)."""
    walk, cycle, count = _cycles(bits)
    if count < FEWEST_CYCLES:
        return []
    values = []
    for height in (-4, -3, -2, -1, 1, 2, 3, 4):
        visits = np.bincount(cycle[walk == height], minlength=count)
        found = np.bincount(np.minimum(visits, 5), minlength=6)
        stays = 1 - 1 / (2 * abs(height))
        shares = [stays, *((1 - stays) ** 2 * stays ** (k - 1) for k in range(1, 5))]
        shares.append((1 - stays) * stays**4)
        values.append(_chi_square(found, count * np.array(shares)))
    return values


@nist_test
def visits(bits: Bits) -> list[float]:
    """The whole walk visits the heights up to nine as often as it should (section 2.15)."""
    walk, _, count = _cycles(bits)
    if count < FEWEST_CYCLES:
        return []
    heights = [height for height in range(-9, 10) if height]
    found = [int((walk == height).sum()) for height in heights]
    spreads = [np.sqrt(2 * count * (4 * abs(height) - 2)) for height in heights]
    return [
        float(erfc(abs(one - count) / spread)) for one, spread in zip(found, spreads, strict=True)
    ]
