"""Functions of arrays in machine code."""

import pickle

import numpy as np
import pytest

import phintys
import phintys.native as pn
import phintys.tensor as pt
from phintys._base.errors import (
    ArgumentError,
    DtypeError,
    NativeFunctionError,
    NullGradientError,
    OpContractError,
    ShapeError,
)

MODES = ("native", "reference", "debug")


@pytest.fixture(scope="module")
def matvec(library):
    return pn.call((library, "matvec"), "(m,n),(n)->(m)", graph=pt.dot, status=False)


@pytest.fixture(scope="module")
def scale(library):
    return pn.call(
        (library, "scale"),
        "(n),()->(n)",
        pullback=lambda inputs, outputs, gs: [gs[0] * inputs[1], (gs[0] * inputs[0]).sum()],
        pushforward=lambda inputs, outputs, vs: [vs[0] * inputs[1] + inputs[0] * vs[1]],
        messages={-7: "x must not be negative"},
    )


@pytest.mark.parametrize("mode", MODES)
def test_values_and_derivatives(scale, mode):
    x, a = pt.dvector("x"), pt.dscalar("a")
    y = scale(x, a)
    f = phintys.function(
        [x, a], [y, *phintys.grad(y.sum(), [x, a]), phintys.Rop(y, [x, a], [x, a])], mode=mode
    )
    value, by_x, by_a, push = f([1.0, 2.0], 3.0)
    assert value.tolist() == [3.0, 6.0]
    assert by_x.tolist() == [3.0, 3.0]
    assert by_a == 3.0
    assert push.tolist() == [6.0, 12.0]


@pytest.mark.parametrize("mode", MODES)
def test_stacks_broadcast(matvec, mode):
    rng = np.random.default_rng(1)
    matrices, vectors = rng.normal(size=(4, 2, 3)), rng.normal(size=(4, 3))
    a, x = pt.dtensor3("a"), pt.dmatrix("x")
    y = matvec(a, x)
    outputs = [y, *phintys.grad((y**2).sum(), [a, x]), matvec(a, x[0]), matvec(a[0], x)]
    found = phintys.function([a, x], outputs, mode=mode)(matrices, vectors)
    product = np.einsum("bij,bj->bi", matrices, vectors)
    np.testing.assert_allclose(found[0], product)
    np.testing.assert_allclose(found[1], 2 * np.einsum("bi,bj->bij", product, vectors))
    np.testing.assert_allclose(found[2], 2 * np.einsum("bij,bi->bj", matrices, product))
    np.testing.assert_allclose(found[3], matrices @ vectors[0])
    np.testing.assert_allclose(found[4], vectors @ matrices[0].T)


def test_an_operand_of_all_items_is_not_copied(matvec):
    a, x = pt.dmatrix("a"), pt.dmatrix("x")
    text = phintys.function([a, x], matvec(a, x), mode="native").explain()
    assert "kernel" not in text
    assert "callback" not in text


@pytest.mark.parametrize("mode", MODES[:2])
def test_views_are_passed_row_by_row(matvec, mode):
    a, x = pt.dmatrix("a"), pt.dvector("x")
    f = phintys.function([a, x], matvec(a.T[::-1], x[::2]), mode=mode)
    matrix = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(f(matrix, np.arange(3.0)), matrix.T[::-1] @ [0.0, 2.0])


@pytest.mark.parametrize("mode", MODES[:2])
def test_dtypes_fixed_sizes_and_several_results(library, mode):
    dtypes = ["float32", "int32", "float32", "int64"]
    op = pn.call((library, "ends"), "(n),()->(2),()", dtypes, status=False)
    x = pt.fvector("x")
    ends, where = op(x, np.int8(10))
    assert ends.type.shape == (2,)
    found = phintys.function([x], [ends, where, ends.shape], mode=mode)([1, 2, 3])
    assert found[0].tolist() == [11.0, 3.0]
    assert found[1] == 2
    assert found[2].tolist() == [2]


@pytest.mark.parametrize("mode", MODES)
def test_a_status_is_an_error_at_the_users_line(scale, mode):
    x = pt.dmatrix("x")
    y = scale(x, 2.0)  # this line
    f = phintys.function([x], y, mode=mode)
    with pytest.raises(NativeFunctionError, match="status -7: x must not be negative") as raised:
        f([[1.0, 2.0], [1.0, -1.0]])
    assert "# this line" in "\n".join(raised.value.__notes__)
    assert f([[1.0, 2.0]]).tolist() == [[2.0, 4.0]]


@pytest.mark.parametrize("mode", MODES[:2])
def test_sizes_that_differ_are_errors(matvec, mode):
    a, x = pt.dmatrix("a"), pt.dvector("x")
    f = phintys.function([a, x], matvec(a, x), mode=mode)
    with pytest.raises(ShapeError, match="the dimensions named n"):
        f(np.ones((2, 3)), np.ones(2))


def test_in_loops_batches_and_pickles(matvec):
    a, x = pt.dmatrix("a"), pt.dvector("x")
    last = phintys.scan(
        lambda v, m: matvec(m, v), outputs_info=x, non_sequences=a, n_steps=3, return_updates=False
    )[-1]
    slope = phintys.grad(last.sum(), x)
    many = pt.dmatrix("many")
    f = phintys.function([a, many], pt.vectorize_graph([last, slope], {x: many}))
    assert "callback" not in f.explain()
    matrix, vectors = np.array([[1.0, 2.0], [0.5, 1.0]]), np.array([[1.0, 0.0], [2.0, 3.0]])
    cube = np.linalg.matrix_power(matrix, 3)
    for g in (f, pickle.loads(pickle.dumps(f))):
        value, slopes = g(matrix, vectors)
        np.testing.assert_allclose(value, vectors @ cube.T)
        np.testing.assert_allclose(slopes, np.broadcast_to(cube.sum(axis=0), (2, 2)))


def test_without_rules_there_are_no_derivatives(library):
    op = pn.call((library, "scale"), "(n),()->(n)")
    x = pt.dvector("x")
    with pytest.raises(NullGradientError, match="pullback= or graph="):
        phintys.grad(op(x, 1.0).sum(), x)


def test_a_rule_must_return_one_expression_for_each(library):
    op = pn.call((library, "scale"), "(n),()->(n)", pullback=lambda inputs, outputs, gs: gs)
    x = pt.dvector("x")
    with pytest.raises(OpContractError, match="pullback must return 2 expressions, got 1"):
        phintys.grad(op(x, 1.0).sum(), x)


@pytest.mark.parametrize(
    ("signature", "options", "message"),
    [
        ("n->n", {}, "signature must be like"),
        ("(n)->(k)", {}, "'k' of an output is not that of an input"),
        ("(n),()->(n)", {"dtypes": ["float64"]}, "or 3 of them"),
        ("(n),()->(n)", {"graph": pt.mul, "pullback": pt.mul}, "graph states the derivatives"),
    ],
)
def test_what_does_not_fit_is_an_error(library, signature, options, message):
    with pytest.raises(ArgumentError, match=message):
        pn.call((library, "scale"), signature, **options)


def test_operands_that_do_not_fit_are_errors(scale, matvec):
    with pytest.raises(DtypeError, match="without loss"):
        scale(pt.zvector("x"), 1.0)
    with pytest.raises(ShapeError, match="rank 2 or more"):
        matvec(pt.dvector("a"), pt.dvector("x"))
    with pytest.raises(ArgumentError, match="2 inputs, got 1"):
        scale(pt.dvector("x"))
