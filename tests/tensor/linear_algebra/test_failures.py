"""Matrices that have no result, and operands that do not fit."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, DtypeError, ShapeError

MODES = ("reference", "native")
BAD = np.array([np.eye(3), np.diag([1.0, 1.0, -1.0]), np.eye(3)])
SINGULAR = np.array([np.eye(3), np.diag([1.0, 0.0, 1.0])])


@pytest.mark.parametrize("mode", MODES)
def test_the_matrix_of_a_stack_without_a_factor_is_named(mode):
    a = pt.dtensor3("a")
    f = phintys.function([a], pt.linalg.cholesky(a), mode=mode)
    with pytest.raises(np.linalg.LinAlgError) as caught:
        f(BAD)
    text = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert "position [1] of the stack a" in text
    assert "leading minor of order 3 is not positive" in text
    assert "test_failures.py" in text
    np.testing.assert_array_equal(f(BAD[::2]), BAD[::2])


@pytest.mark.parametrize("mode", MODES)
def test_other_matrices_of_the_stack_are_not_affected(mode):
    a = pt.dtensor3("a")
    f = phintys.function([a], pt.linalg.cholesky(a, on_error="nan"), mode=mode)
    out = f(BAD)
    assert np.isnan(out[1]).all()
    np.testing.assert_array_equal(out[::2], BAD[::2])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "solve",
    [
        pt.linalg.solve,
        lambda a, b, **how: pt.linalg.inv(a, **how) @ b,
        pt.linalg.solve_triangular,
        lambda a, b, **how: pt.linalg.solve(a, b, assume_a="diagonal", **how),
        lambda a, b, **how: pt.linalg.lu_solve(pt.linalg.lu_factor(a), b, **how),
    ],
)
def test_a_singular_matrix(mode, solve):
    a, b = pt.dtensor3("a"), pt.dtensor3("b")
    f = phintys.function([a, b], solve(a, b), mode=mode)
    right = np.ones((2, 3, 2))
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        f(SINGULAR, right)
    f = phintys.function([a, b], solve(a, b, on_error="nan"), mode=mode)
    out = f(SINGULAR, right)
    assert np.isnan(out[1]).all()
    np.testing.assert_array_equal(out[0], right[0])


def test_overwritten_arguments_leave_native_words():
    a = pt.dtensor3("a")
    given = phintys.In(a, mutable=True)
    f = phintys.function(
        [given], [pt.linalg.cholesky(a), pt.set_subtensor(a[0], 1.0)], mode="native"
    )
    with pytest.raises(np.linalg.LinAlgError, match="minor of order 3 of matrix 1 is not positive"):
        f(BAD.copy())


@pytest.mark.parametrize("mode", MODES)
def test_a_determinant_of_a_singular_matrix_is_no_error(mode):
    a = pt.dmatrix("a")
    outputs = [pt.linalg.det(a), *pt.linalg.slogdet(a)]
    f = phintys.function([a], outputs, mode=mode)
    assert [value.item() for value in f(SINGULAR[1])] == [0.0, 0.0, -np.inf]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("build", "shapes"),
    [
        (pt.linalg.cholesky, [(2, 3)]),
        (pt.linalg.inv, [(2, 3)]),
        (pt.linalg.det, [(2, 3)]),
        (lambda a: pt.linalg.lu_factor(a)[0], [(2, 3)]),
        (pt.linalg.solve, [(3, 3), (2, 3)]),
        (pt.linalg.solve_triangular, [(3, 3), (2, 3)]),
        (pt.linalg.solve, [(2, 3, 3), (3, 3, 1)]),
    ],
)
def test_sizes_that_do_not_fit_at_run_time(mode, build, shapes):
    inputs = [pt.tensor(dtype="float64", shape=(None,) * len(shape)) for shape in shapes]
    f = phintys.function(inputs, build(*inputs), mode=mode)
    with pytest.raises(ShapeError):
        f(*(np.ones(shape) for shape in shapes))


@pytest.mark.parametrize(
    ("build", "error", "words"),
    [
        (lambda: pt.linalg.cholesky(pt.dvector("v")), ShapeError, "of rank 2 or more"),
        (lambda: pt.linalg.inv(np.ones((2, 3))), ShapeError, "square matrices"),
        (lambda: pt.linalg.solve(np.eye(3), np.ones(2)), ShapeError, "do not fit together"),
        (lambda: pt.linalg.solve(np.eye(3), 1.0), ShapeError, "right side is a vector"),
        (
            lambda: pt.linalg.solve(np.ones((2, 3, 3)), np.ones((4, 3, 1))),
            ShapeError,
            "stacks do not fit together",
        ),
        (
            lambda: pt.linalg.solve(np.eye(3), np.ones(3), assume_a="spd"),
            ArgumentError,
            "assume_a is one of 'gen'.*'spd'",
        ),
        (lambda: pt.linalg.solve(np.eye(3), np.ones(3), b_ndim=3), ArgumentError, "b_ndim is 1"),
        (lambda: pt.linalg.cholesky(np.eye(3), on_error="ignore"), ArgumentError, "on_error is"),
        (lambda: pt.linalg.cho_solve(np.eye(3), np.ones(3)), ArgumentError, "takes the pair"),
        (lambda: pt.linalg.lu_solve(np.eye(3), np.ones(3)), ArgumentError, "takes the pair"),
        (
            lambda: pt.linalg.solve_triangular(np.eye(3), np.ones(3), trans="X"),
            ArgumentError,
            "trans is 0, 1, 2",
        ),
        (lambda: pt.linalg.pivot_to_permutation(np.ones(3)), ArgumentError, "takes integers"),
        (lambda: pt.linalg.inv(np.eye(3, dtype="float16")), DtypeError, "got float16"),
    ],
)
def test_wrong_inputs_when_the_graph_is_built(build, error, words):
    with pytest.raises(error, match=words):
        build()


@pytest.mark.parametrize("p_indices", [False, True])
def test_the_permutation_of_lu(p_indices):
    a = np.random.default_rng(3).normal(size=(2, 4, 4))
    p, lower, upper = (x.eval() for x in pt.linalg.lu(a, p_indices=p_indices))
    product = lower @ upper
    whole = np.take_along_axis(product, p[..., None], axis=-2) if p_indices else p @ product
    np.testing.assert_allclose(whole, a)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_matrices_without_rows_or_columns_have_inverses_as_in_numpy(shape, mode):
    a = pt.dmatrix("a")
    outputs = [pt.linalg.pinv(a), pt.linalg.lstsq(a, a)[0], pt.linalg.matrix_rank(a)]
    inverse, solution, rank = phintys.function([a], outputs, mode=mode)(np.zeros(shape))
    assert inverse.shape == np.linalg.pinv(np.zeros(shape)).shape
    assert solution.shape == (shape[1], shape[1])
    assert not solution.any()
    assert rank == 0
