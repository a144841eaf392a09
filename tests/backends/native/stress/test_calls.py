"""Very many calls: of every kind of argument, and of memory that must not grow."""

import sys

import pytest

MOST_KILOBYTES = 1_000
FOR_FUNCTIONS = (
    6_000  # the interpreter's own heap is cut into pieces when 500 functions come and go
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_any_argument_gives_a_result_or_an_error(run, seed):
    # The program names the seed where it finds something wrong.
    results, errors = map(int, run("random_calls.py", seed, 4_000).split())
    assert results > 500
    assert errors > 500
    assert results + errors == 4_000


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_stays_flat(run, repeats):
    grown = dict(line.split() for line in run("memory.py", repeats(5, 1)).splitlines())
    assert len(grown) > 5
    for kind, kilobytes in grown.items():
        most = FOR_FUNCTIONS if kind in {"functions", "copies"} else MOST_KILOBYTES
        assert int(kilobytes) < most, (kind, kilobytes)
