"""Systems of equations with few diagonals."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, ShapeError

RNG = np.random.default_rng(4)
BANDS = RNG.normal(size=(4, 6)) + 5 * (np.arange(4) == 1)[:, None]
RIGHT = RNG.normal(size=(6, 2))


@pytest.mark.parametrize("transposed", [False, True])
def test_second_derivatives(transposed):
    phintys.gradient.verify_grad(
        lambda ab, b: phintys.grad(
            (pt.linalg.solve_banded((2, 1), ab, b, transposed=transposed) ** 2).sum(), ab
        ),
        [BANDS, RIGHT],
        rng=RNG,
    )


def test_it_is_native_and_names_a_singular_matrix():
    ab, b = pt.dtensor3("ab"), pt.dtensor3("b")
    bad = np.stack([BANDS, BANDS])
    bad[1, :, 3] = 0
    rights = np.stack([RIGHT, RIGHT])
    f = phintys.function([ab, b], pt.linalg.solve_banded((2, 1), ab, b), mode="native")
    assert "call gbsv" in f.explain()
    assert "callback" not in f.explain().splitlines()[0]
    with pytest.raises(np.linalg.LinAlgError, match=r"position \[1\] of the stack .*singular") as e:
        f(bad, rights)
    assert "test_banded.py" in "\n".join([str(e.value), *e.value.__notes__])
    g = phintys.function([ab, b], pt.linalg.solve_banded((2, 1), ab, b, on_error="nan"))
    out = g(bad, rights)
    assert np.isnan(out[1]).all()
    np.testing.assert_array_equal(out[0], f(bad[:1], rights[:1])[0])
    with pytest.raises(ShapeError, match="for each column"):
        f(bad[:, :3], rights)


@pytest.mark.parametrize(
    ("build", "error", "words"),
    [
        (lambda: pt.linalg.solve_banded(1, BANDS, RIGHT), ArgumentError, "is a pair"),
        (lambda: pt.linalg.solve_banded((1, -1), BANDS, RIGHT), ArgumentError, "-1 above"),
        (lambda: pt.linalg.solve_banded((1.0, 1), BANDS, RIGHT), ArgumentError, "1.0 below"),
        (lambda: pt.linalg.solve_banded((1, 1), BANDS, RIGHT), ShapeError, "are 3 rows of ab"),
        (lambda: pt.linalg.solve_banded((2, 1), BANDS[0], RIGHT), ShapeError, "of rank 2"),
        (lambda: pt.linalg.solve_banded((2, 1), BANDS, RIGHT[:4]), ShapeError, "do not fit"),
        (
            lambda: pt.linalg.solve_banded((2, 1), BANDS, RIGHT, on_error="x"),
            ArgumentError,
            "on_error is",
        ),
        (
            lambda: pt.linalg.solve_banded((2, 1), BANDS, RIGHT, b_ndim=0),
            ArgumentError,
            "b_ndim is 1",
        ),
        (
            lambda: pt.linalg.solve(np.ones((2, 3)), np.ones(2), assume_a="tridiagonal"),
            ShapeError,
            "square matrices",
        ),
    ],
)
def test_wrong_inputs(build, error, words):
    with pytest.raises(error, match=words):
        build()


@pytest.mark.parametrize("kind", ["tridiagonal", "diagonal"])
def test_matrices_that_are_not_square(kind):
    a, b = pt.dmatrix("a"), pt.dvector("b")
    f = phintys.function([a, b], pt.linalg.solve(a, b, assume_a=kind))
    with pytest.raises(ShapeError):
        f(np.ones((2, 3)), np.ones(2))
