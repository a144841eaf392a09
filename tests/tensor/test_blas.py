"""Gemm: what it takes, and how it computes; records check all else."""

import pickle

import numpy as np
import pytest

import phintys.tensor as pt
from phintys._base.errors import DtypeError, ShapeError
from phintys.tensor.blas import BLAS_LETTERS, Gemm

SHAPES = [((3, 4), (4, 5)), ((3, 4), (4,)), ((4,), (4, 5)), ((3, 0), (0, 2)), ((0, 3), (3, 2))]
LAYOUTS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=0)[::2],
    "backwards": lambda x: np.ascontiguousarray(x[::-1])[::-1],
}


def draw(rng, shape, dtype):
    value = rng.normal(size=shape)
    if dtype.startswith("complex"):
        value = value + 1j * rng.normal(size=shape)
    return np.asarray(value, dtype)


def performed(op, values):
    variables = [pt.tensor(dtype=v.dtype, shape=(None,) * v.ndim) for v in values]
    node = op.make_node(*variables)
    cell = [None]
    op.perform(node, values, [cell])
    return node, cell


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("dtype", BLAS_LETTERS)
def test_all_layouts_are_added_to(dtype, shapes, layout, inplace):
    rng = np.random.default_rng(0)
    change = LAYOUTS[layout]
    x, y = (change(draw(rng, shape, dtype)) for shape in shapes)
    c = change(draw(rng, shapes[0][:-1] + shapes[1][1:], dtype))
    before = c.copy()
    alpha = draw(rng, (), dtype)
    _, (result,) = performed(Gemm(inplace), [x, y, alpha, c])
    tolerance = 1e-4 if dtype in {"float32", "complex64"} else 1e-12
    wanted = alpha * (x @ y) + before
    np.testing.assert_allclose(result, wanted, rtol=tolerance, atol=tolerance)
    assert result.dtype == dtype
    assert (result is c) == inplace
    assert inplace or np.array_equal(c, before)


@pytest.mark.parametrize("added", [(), (np.ones((3, 5)),)], ids=["scaled", "added"])
def test_a_former_result_is_used_again(added):
    x, y = np.ones((3, 4)), np.ones((4, 5))
    op = Gemm()
    node, cell = performed(op, [x, y, np.asarray(2.0), *added])
    former = cell[0]
    op.perform(node, [x + 1, y, np.asarray(2.0), *added], [cell])
    assert cell[0] is former
    np.testing.assert_array_equal(former, np.full((3, 5), 16.0 + len(added)))


def test_the_type():
    x = pt.tensor("x", dtype="float32", shape=(3, None))
    c = pt.tensor("c", dtype="float32", shape=(None, 1))
    y = pt.fmatrix("y")
    assert Gemm()(x, y, 2).type == pt.TensorType("float32", (3, None))
    assert Gemm()(x, y, 2, c).type == pt.TensorType("float32", (3, None))
    assert Gemm()(y, x, 2, pt.tensor(dtype="float32", shape=(7, 4))).type.shape == (7, 4)
    assert str(Gemm()(x, y, 2, c).owner.op) == "Gemm"
    assert pickle.loads(pickle.dumps(Gemm(inplace=True))) == Gemm(inplace=True) != Gemm()


D, F = pt.dmatrix("D"), pt.fmatrix("F")
V, S = pt.dvector("V"), pt.dscalar("S")


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ((D, F, S), DtypeError, "one dtype"),
        ((D, D, pt.fscalar()), DtypeError, "one dtype"),
        ((pt.lmatrix(), pt.lmatrix(), pt.lscalar()), DtypeError, "alpha \\* pt.dot"),
        ((V, V, S), ShapeError, "a matrix and a vector"),
        ((D, D, V), ShapeError, "no dimensions"),
        ((D, D, S, V), ShapeError, "rank of their product"),
        ((D, V, S, D), ShapeError, "rank of their product"),
        (
            (D, pt.tensor(dtype="float64", shape=(None, 3)), S, pt.drow()[:, :1].T * np.ones(2)),
            ShapeError,
            "do not fit",
        ),
    ],
)
def test_what_does_not_fit_is_refused(arguments, error, says):
    with pytest.raises(error, match=says):
        Gemm()(*arguments)


def test_what_is_overwritten_does_not_broadcast():
    with pytest.raises(ShapeError, match="if it is not overwritten"):
        Gemm(inplace=True)(D, D, S, pt.drow())
    with pytest.raises(ShapeError):
        Gemm(inplace=True)(D, D, S)


@pytest.mark.parametrize("shapes", [((3, 4), (5, 6), (3, 6)), ((3, 4), (4, 6), (1, 6))])
def test_sizes_are_checked_when_it_runs(shapes):
    x, y, c = map(np.ones, shapes)
    with pytest.raises(ShapeError, match="do not fit together"):
        performed(Gemm(), [x, y, np.asarray(1.0), c])


def test_flops():
    assert Gemm().flops([(3, 4), (4, 5), (), (3, 5)], [(3, 5)]) == 2 * 3 * 4 * 5
