"""Matrices of SciPy whose arrays were changed are errors: they are not read out of bounds."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import phintys
import phintys.tensor as pt
from phintys import sparse
from phintys._base.errors import ShapeError
from phintys.sparse.structure import check_structure

FORMATS = ["csr", "csc", "bsr", "coo", "lil", "dia", "dok"]


def changed(rng, format):
    """Return a matrix with one of its arrays changed, as a program could change it."""
    full = np.where(rng.random((6, 4)) < 0.5, rng.normal(size=(6, 4)), 0) + np.eye(6, 4)
    matrix = sp.csr_array(full).asformat(format)
    wrong = int(rng.choice([-(10**9), -1, 7, 10**6]))
    place = int(rng.integers(4))
    if format == "coo":
        matrix.coords[rng.integers(2)][place] = wrong
    elif format == "lil":
        if rng.random() < 0.5:
            matrix.rows[place][0] = wrong
        else:
            matrix.rows = matrix.rows[:place]
    elif format == "dia":
        matrix.offsets = matrix.offsets[: place % len(matrix.offsets)]
    elif format != "dok":  # which has no arrays
        name = rng.choice(["indices", "indptr", "data"])
        array = getattr(matrix, name).copy()
        place %= len(array) - 1  # there are few blocks, if these are large
        if name == "data" or rng.random() < 0.3:
            array = array[:place]
        elif name == "indptr":
            array[place + 1] = rng.choice([-1, 10**6])
        else:
            array[place] = wrong
        setattr(matrix, name, array)
    return matrix


@pytest.mark.parametrize("format", FORMATS)
def test_whole_matrices_pass(format):
    rng = np.random.default_rng(1)
    for shape in [(6, 4), (1, 1), (0, 3), (3, 0)]:
        for density in (0.0, 0.3, 1.0):
            whole = sp.random_array(shape, density=density, rng=rng).asformat(format)
            check_structure(whole)


@pytest.mark.parametrize("format", FORMATS[:-1])
def test_changed_matrices_are_told(format, repeats):
    rng = np.random.default_rng(2)
    for _ in range(repeats(50, 1000)):
        with pytest.raises(ShapeError, match=rf"The arrays of a {format} matrix must fit together"):
            check_structure(changed(rng, format))


PROGRAM = """
import numpy as np
import phintys
import phintys.tensor as pt
from phintys import sparse
from tests.sparse.test_structure import FORMATS, changed

rng = np.random.default_rng(3)
told = 0
for make in (sparse.csr_matrix, sparse.csc_matrix):
    a, stored = make("a"), phintys.shared(make("b").type.filter(changed(rng, "dok")))
    square = sparse.dot(a.T, a)
    f = phintys.function([a], [a @ np.ones(4), square.toarray(), a[1:3, :2].toarray()])
    for format in FORMATS[:-1]:
        for _ in range(COUNT):
            for use in (f, stored.set_value, sparse.as_sparse_variable):
                try:
                    use(changed(rng, format))
                except (ValueError, IndexError):
                    told += 1
print(told)
"""


def test_programs_that_are_given_changed_matrices_do_not_crash(repeats):
    count = repeats(10, 200)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("COUNT", str(count))],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    # A wrong index of a matrix in the format of the program is found where it is read.
    assert 2 * 6 * 3 * count * 0.8 < int(done.stdout) <= 2 * 6 * 3 * count


def test_a_matrix_of_wrong_parts_is_an_error():
    indices, indptr = pt.ivectors("indices", "indptr")
    matrix = sparse.from_parts(np.ones(2), indices, indptr, (2, 2))
    f = phintys.function([indices, indptr], [matrix, matrix @ np.ones(2)])
    columns = np.array([0, 1], dtype="int32")
    assert f(columns, np.array([0, 1, 2], dtype="int32"))[1].tolist() == [1, 1]
    for wrong in ([0, 10**9, 2], [0, -5, 2], [1, 1, 2], [0, 2]):
        with pytest.raises((ValueError, IndexError)):
            f(columns, np.array(wrong, dtype="int32"))
