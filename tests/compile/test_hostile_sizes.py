"""Lengths that are too long for arrays, or for an int64: an error, never memory of others."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ShapeError, TypeContractError
from phintys.compile import Mode
from phintys.passes import PIPELINES

MODES = [Mode("native", PIPELINES["none"]), Mode("native"), Mode("reference")]
WRAPPING = (2**64 + 2**21) // 3  # three times this is 2**21, modulo 2**64
PROGRAM = Path(__file__).with_name("hostile_sizes.py")


def in_another_process(*arguments):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.sampled(4)
@pytest.mark.parametrize("part", range(4))
def test_native_code_takes_and_refuses_the_lengths_that_the_reference_backend_does(part):
    done = in_another_process(PROGRAM, part, 4, 4)  # all: run it without arguments
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr[-2000:]


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_the_line_is_named(mode):
    x, n = pt.dvector("x"), pt.lscalar("n")
    y = pt.repeat(x, n)  # the line
    f = phintys.function([x, n], y, mode=mode)
    message = rf"of shape \(3, {WRAPPING}\) has too many elements"
    with pytest.raises(ValueError, match=message) as error:
        f(np.ones(3), WRAPPING)
    notes = "\n".join(error.value.__notes__)
    assert "pt.repeat(x, n)  # the line" in notes


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_a_range_of_more_numbers_than_can_be(mode):
    n = pt.lscalar("n")
    f = phintys.function([n], pt.arange(n), mode=mode)
    with pytest.raises(ShapeError, match="more numbers"):
        f(2**63 - 1)  # NumPy returns an empty array
    g = phintys.function([n], pt.arange(n, n + 3), mode=mode)
    assert g(2**63 - 1).shape == (0,)  # n + 3 is negative


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_counts_whose_sum_wraps_around(mode):
    x, counts = pt.dvector("x"), pt.lvector("counts")
    f = phintys.function([x, counts], pt.repeat(x, counts), mode=mode)
    for given in ([2**62] * 4, [2**63 - 1, 2**63 - 1, 4, 0]):
        with pytest.raises(ShapeError, match="sum of the counts"):
            f(np.ones(4), np.array(given))


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("offset", [2**31, 2**63 - 1, -(2**63)])
def test_diagonals_far_outside(mode, offset):
    m = pt.dmatrix("m")
    f = phintys.function([m], pt.diagonal(m, offset=offset), mode=mode)
    assert f(np.ones((3, 3))).shape == (0,)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_triangles_beside_diagonals_far_outside(mode):
    m, k = pt.dmatrix("m"), pt.lscalar("k")
    outputs = [pt.tril(m, k), pt.triu(m, k), pt.eye(2, k=k), *pt.triu_indices(2, k)]
    f = phintys.function([m, k], outputs, mode=mode)
    ones, zeros = np.ones((2, 2)), np.zeros((2, 2))
    for offset in (2**31, 2**63 - 1, -(2**31), -(2**63)):
        lower, upper, diagonal, rows, columns = f(ones, offset)
        np.testing.assert_array_equal(lower, ones if offset > 0 else zeros)
        np.testing.assert_array_equal(upper, zeros if offset > 0 else ones)
        np.testing.assert_array_equal(diagonal, zeros)
        assert len(rows) == len(columns) == (0 if offset > 0 else 4)


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("kind", ["constant", "edge", "wrap", "mean"])
def test_arrays_padded_to_more_than_can_be(mode, kind):
    x, n = pt.dvector("x"), pt.lscalar("n")
    f = phintys.function([x, n], pt.pad(x, (n, n), mode=kind), mode=mode)
    for width in (2**61 - 1, 2**62, 2**63 - 1):
        with pytest.raises((ShapeError, MemoryError)):
            f(np.ones(4), width)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_any_number_of_groups_of_no_channels(mode):
    images, filters = pt.dtensor3("images"), pt.dtensor3("filters")
    y = pt.signal.conv(images, filters, groups=2**31 - 1)
    given = [np.zeros((2, 0, 3)), np.zeros((0, 0, 2))]
    outputs = [y, *phintys.grad(y.sum(), [images, filters])]
    f = phintys.function([images, filters], outputs, mode=mode)
    assert [one.shape for one in f(*given)] == [(2, 0, 2), (2, 0, 3), (0, 0, 2)]


def test_static_lengths_fit_into_64_bits():
    with pytest.raises(ShapeError, match="64 bits"):
        pt.diagonal(pt.dmatrix("m"), offset=2**70)
    # A diagonal of zeros and ones may be anywhere, as NumPy has it.
    assert pt.eye(0, k=2**63).eval().shape == (0, 0)
    assert pt.tri(2, k=-(2**70)).eval().tolist() == [[0, 0], [0, 0]]
    with pytest.raises(TypeContractError, match="at most 63 bits"):
        pt.tensor(dtype="float64", shape=(2**63,))
    with pytest.raises(TypeContractError, match="at most 63 bits"):
        pt.zeros((2**40, 2**40)).flatten()


@pytest.mark.parametrize("mode", MODES[:2], ids=str)
def test_a_memory_error_names_the_node_and_its_size(mode):
    x, n = pt.dvector("x"), pt.lscalar("n")
    y = pt.cumsum(pt.alloc(x, n, 3), axis=0)  # the line
    f = phintys.function([x, n], pt.cumsum(y, axis=1)[0], mode=mode)
    with pytest.raises(MemoryError, match="the largest takes 844,424,930,131,968 bytes") as error:
        f(np.ones(3), 2**45)
    notes = "\n".join(error.value.__notes__)
    assert "# the line" in notes or "pt.cumsum(y, axis=1)" in notes
    assert "Cumsum" in notes
    assert "of type Matrix(float64, shape=(?, 3))" in notes
