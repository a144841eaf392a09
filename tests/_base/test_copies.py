"""Copies of large and of transposed arrays, in parts between which signals are seen."""

import signal

import numpy as np
import pytest

from phintys._base import copies
from phintys._base.copies import blocks, copied, pieces

SHAPES = [(17,), (1, 40), (3, 7), (5, 4, 3), (2, 3, 30), (40, 1, 1), (0, 50), (50, 0)]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(copies, "LARGE", 8)
    monkeypatch.setattr(copies, "_ALONG", 2)
    monkeypatch.setattr(copies, "_ACROSS", 3)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_copy_is_that_of_numpy(shape):
    rng = np.random.default_rng(0)
    whole = rng.integers(-9, 9, [2 * size for size in shape])
    reversed_ = whole[tuple(slice(None, None, -2) for _ in shape)]
    for source in (reversed_, reversed_.T, whole, whole.T):
        for name in ("int64", "float32", "complex128", "int8"):
            found = copied(source, np.dtype(name))
            np.testing.assert_array_equal(found, source.astype(name), strict=True)
            assert found.flags.c_contiguous
            assert not np.shares_memory(found, source)


@pytest.mark.parametrize("shape", SHAPES)
def test_pieces_are_small_and_cover_everything_once(shape):
    counts = np.zeros(shape, int)
    for piece in pieces(shape):
        assert counts[piece].size <= 8
        counts[piece] += 1
    assert (counts == 1).all()


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if len(shape) > 1])
def test_blocks_are_small_and_cover_everything_once(shape):
    for axis in range(len(shape) - 1):
        counts = np.zeros(shape, int)
        for block in blocks(shape, axis):
            assert counts[block].size <= 6
            counts[block] += 1
        assert (counts == 1).all()


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_transposed_arrays_are_copied_in_blocks(monkeypatch, order):
    monkeypatch.setattr(copies, "LARGE", 1000)
    source = np.arange(5 * 6 * 7).reshape(5, 6, 7).transpose(order)
    sizes = []
    copyto = np.copyto

    def copying(target, part, **options):
        sizes.append(part.size)
        copyto(target, part, **options)

    monkeypatch.setattr(copies.np, "copyto", copying)
    found = copied(source, source.dtype)
    np.testing.assert_array_equal(found, source, strict=True)
    assert found.flags.c_contiguous
    # Neighbours along the last axis need no blocks: NumPy reads and writes along it.
    assert (max(sizes) <= 6) if order[-1] != 2 else not sizes


def test_handlers_run_between_pieces(monkeypatch):
    class Stop(Exception):
        pass

    def stop(*_):
        raise Stop

    calls = []
    copyto = np.copyto

    def copying(*args, **kwargs):
        calls.append(args)
        copyto(*args, **kwargs)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(copies.np, "copyto", copying)
    former = signal.signal(signal.SIGINT, stop)
    try:
        with pytest.raises(Stop):
            copied(np.arange(100)[::-1], np.dtype("int64"))
    finally:
        signal.signal(signal.SIGINT, former)
    assert len(calls) == 2
