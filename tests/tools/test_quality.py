"""The tests of random bits: known answers, and what they must find."""

from math import lgamma, log

import numpy as np
import pytest

from tools.quality.__main__ import main, report
from tools.quality.nist import TESTS

# Appendix B of the publication: the first million bits of e. Its numbers of the templates with
# overlap and of the linear complexity are of less exact probabilities than those of its text.
KNOWN = {
    "frequency": [0.953749],
    "frequency in blocks": [0.211072],
    "cumulative sums": [0.669887, 0.724266],
    "runs": [0.561917],
    "longest run of ones": [0.718945],
    "rank of matrices": [0.306156],
    "spectrum": [0.847187],
    "templates without overlap": [0.078790],
    "universal": [0.282568],
    "serial": [0.766182, 0.462921],
    "approximate entropy": [0.700073],
}


def terms(first, last):
    """Return p and q of the sum of 1/first! ... as a quotient, by halves."""
    if last - first == 1:
        return 1, last
    middle = (first + last) // 2
    (p, q), (r, s) = terms(first, middle), terms(middle, last)
    return p * s + r, q * s


@pytest.fixture(scope="module")
def bits_of_e():
    count, last = 10**6, 1
    while lgamma(last) / log(2) < count + 64:
        last += 2000
    p, q = terms(0, last)
    digits = ((p + q) << (count + 6)) // q  # 2.718... has two bits before its point
    return np.unpackbits(np.frombuffer(digits.to_bytes(count // 8 + 1, "big"), np.uint8))[:count]


def test_known_answers(bits_of_e):
    for name, expected in KNOWN.items():
        np.testing.assert_allclose(TESTS[name](bits_of_e), expected, atol=2e-6, err_msg=name)
    np.testing.assert_allclose(TESTS["excursions"](bits_of_e)[4], 0.786868, atol=2e-6)
    np.testing.assert_allclose(TESTS["visits"](bits_of_e)[8], 0.826009, atol=2e-6)
    np.testing.assert_allclose(TESTS["linear complexity"](bits_of_e), 0.826335, atol=2e-4)


def fair():
    return np.random.default_rng(5).integers(0, 2, 2**20, dtype=np.uint8)


def biased(bits):
    bits[::150] = 1


def repeated(bits):
    bits[2**19 :] = bits[: 2**19]


def echoed(bits):
    bits[7::4] = bits[:-7:4]


def of_short_register(bits):
    for at in range(40, 2**14):
        bits[at] = bits[at - 7] ^ bits[at - 40]
    bits[:] = np.tile(bits[: 2**14], 2**6)


@pytest.mark.parametrize(
    ("spoil", "name"),
    [
        (biased, "frequency"),
        (repeated, "spectrum"),
        (echoed, "serial"),
        (of_short_register, "linear complexity"),
    ],
)
def test_bits_that_are_not_random_are_found(spoil, name):
    bits = fair()
    assert min(TESTS[name](bits)) > 1e-3
    spoil(bits)
    assert max(TESTS[name](bits)) < 1e-6


def test_a_stream_that_is_not_random_is_reported(capsys):
    bits = fair()[: 2**17]
    bits[::20] = 1
    assert report("biased", [bits] * 4)
    assert "NOT RANDOM" in capsys.readouterr().out


def test_the_command_tests_all_streams(capsys):
    assert main(["--sequences", "2", "--bits", "131072"]) == 0
    out = capsys.readouterr().out
    assert out.count("sequences of 131072 bits") == 8
    assert "all passed" in out
