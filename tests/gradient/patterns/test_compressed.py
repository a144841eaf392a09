"""No two columns of one colour touch the same row; compressed derivatives equal dense ones."""

import numpy as np
import pytest
import scipy.sparse

import phintys
import phintys.tensor as pt
from phintys._base.errors import DisconnectedInputError, GradientError, ShapeError
from phintys.gradient import compressed_hessian, compressed_jacobian, hessian, jacobian
from phintys.gradient.patterns.compressed import colors_of_columns, number_of_colors, star_colors


def random_matrix(rng, rows, columns):
    return rng.random((rows, columns)) < rng.random()


def test_no_row_has_two_columns_of_a_colour():
    rng = np.random.default_rng(0)
    for _ in range(100):
        dense = random_matrix(rng, *rng.integers(0, 12, 2))
        colors = colors_of_columns(scipy.sparse.csr_array(dense))
        for row in dense:
            assert len(set(colors[row])) == row.sum()


def test_each_element_of_a_symmetric_matrix_is_alone_in_one_of_two_places():
    rng = np.random.default_rng(1)
    for _ in range(100):
        n = rng.integers(0, 14)
        dense = random_matrix(rng, n, n)
        dense |= dense.T
        colors = star_colors(scipy.sparse.csr_array(dense))
        for i, j in np.argwhere(dense):
            same_as_j = np.sum(colors[dense[i]] == colors[j])
            same_as_i = np.sum(colors[dense[j]] == colors[i])
            assert same_as_j == 1 or same_as_i == 1, (i, j)
            assert (colors[i] == colors[j]) == (i == j) or not dense[i, j]


def stencil(n):
    line = scipy.sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(n, n))
    one = scipy.sparse.eye_array(n)
    return scipy.sparse.csr_array(scipy.sparse.kron(one, line) + scipy.sparse.kron(line, one))


def arrow(n, last):
    dense = np.eye(n, dtype=bool)
    at = n - 1 if last else 0
    dense[at] = dense[:, at] = True
    return scipy.sparse.csr_array(dense)


@pytest.mark.parametrize("last", [False, True])
def test_an_arrow_needs_two_colours(last):
    assert number_of_colors(star_colors(arrow(50, last))) == 2


def test_a_grid_needs_few_colours():
    grid = stencil(20)
    assert number_of_colors(star_colors(grid)) <= 6
    assert number_of_colors(colors_of_columns(grid)) <= 8


def test_a_diagonal_needs_one_colour():
    diagonal = scipy.sparse.csr_array(np.eye(5, dtype=bool))
    assert number_of_colors(colors_of_columns(diagonal)) == 1
    assert number_of_colors(star_colors(diagonal)) == 1


INDEX = np.array([3, 1, 1, 0])

JACOBIANS = {
    "chain": (lambda x: pt.exp(x[:-2]) * x[1:-1] - x[2:] ** 2, (7,)),
    "diagonal": (pt.sin, (5,)),
    "one row": (lambda x: (x**2).sum(), (5,)),
    "one column": (lambda x: x[0] ** 2 * np.arange(1.0, 5.0), (3,)),
    "one element": (lambda x: x**2, ()),
    "dense": (pt.special.softmax, (5,)),
    "matrices": (lambda x: x[1:] * x[:-1] + x[0] ** 2, (3, 4)),
    "repeated indices": (lambda x: pt.inc_subtensor(x[INDEX], x[:4] ** 2), (5,)),
    "no elements": (lambda x: x[:0] ** 2, (3,)),
    "of no elements": (lambda x: pt.zeros(3) + x.sum(), (0,)),
    "zeros by its pattern": (lambda x: x * np.zeros(3), (3,)),
    "loop": (
        lambda x: phintys.scan(
            lambda a, s: pt.tanh(s) + a, sequences=[x], outputs_info=[x[0]], return_updates=False
        ),
        (5,),
    ),
}

HESSIANS = {
    "chain": (lambda x: (pt.exp(x[:-1]) * x[1:]).sum(), (7,)),
    "arrow": (lambda x: (x[0] * x**3).sum(), (6,)),
    "diagonal": (lambda x: (x**4).sum(), (5,)),
    "dense": (lambda x: x.sum() ** 3, (4,)),
    "linear": (lambda x: x.sum(), (4,)),
    "grid": (lambda x: (pt.sin(x[1:] - x[:-1]) ** 2).sum() + (x[:, 1:] * x[:, :-1]).sum(), (3, 4)),
    "number": (pt.exp, ()),
    "no elements": (lambda x: (x**2).sum(), (0,)),
}


def both(record, dense, x, value):
    found, whole = phintys.function([x], [record.data, dense], mode="reference")(value)
    matrix = record.matrix(found)
    assert matrix.has_canonical_format
    return matrix, np.reshape(whole, matrix.shape)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("direction", [None, "forward", "reverse"])
@pytest.mark.parametrize("name", JACOBIANS)
def test_a_jacobian_has_the_values_of_the_dense_one(name, direction):
    build, shape = JACOBIANS[name]
    x = pt.tensor("x", shape=(None,) * len(shape))
    y = build(x)
    record = compressed_jacobian(y, x, sizes={x: shape}, direction=direction)
    assert direction in {None, record.direction}
    value = np.random.default_rng(0).uniform(0.2, 1, shape)
    matrix, dense = both(record, jacobian(y, x), x, value)
    np.testing.assert_allclose(matrix.toarray(), dense, rtol=1e-13)


@pytest.mark.parametrize("name", HESSIANS)
def test_a_hessian_has_the_values_of_the_dense_one(name):
    build, shape = HESSIANS[name]
    x = pt.tensor("x", shape=(None,) * len(shape))
    cost = build(x)
    record = compressed_hessian(cost, x, sizes={x: shape})
    value = np.random.default_rng(0).uniform(0.2, 1, shape)
    matrix, dense = both(record, hessian(cost, x), x, value)
    np.testing.assert_allclose(matrix.toarray(), dense, rtol=1e-12, atol=1e-14)
    assert (matrix != matrix.T).nnz == 0


@pytest.mark.parametrize(
    ("build", "direction", "sweeps"),
    [
        (lambda x: x[1:] * x[:-1], "forward", 2),
        (lambda x: x[:3] * x[3:6] * x[6:], "reverse", 1),
        (lambda x: (x**2).sum(), "reverse", 1),
        (lambda x: x[0] * np.arange(1.0, 10.0), "forward", 1),
    ],
)
def test_the_direction_with_fewer_sweeps_is_taken(build, direction, sweeps):
    x = pt.tensor("x", shape=(9,))
    found = compressed_jacobian(build(x), x)
    assert (found.direction, found.sweeps) == (direction, sweeps)


def test_float32_stays_float32():
    x = pt.tensor("x", shape=(4,), dtype="float32")
    assert compressed_jacobian(x[1:] * x[:-1], x).data.dtype == "float32"


def test_a_stated_size_is_checked_by_the_function():
    x = pt.dvector("x")
    f = phintys.function([x], compressed_jacobian(x**2, x, sizes={x: 3}).data)
    np.testing.assert_array_equal(f([1.0, 2.0, 3.0]), [2.0, 4.0, 6.0])
    with pytest.raises(ShapeError, match="3"):
        f([1.0, 2.0])


def test_givens_are_constants_of_the_result():
    x, i = pt.dvector("x"), pt.lvector("i")
    record = compressed_jacobian(x[i] ** 2, x, sizes={x: 3}, givens={i: [2, 0]})
    data = phintys.function([x], record.data)([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(record.matrix(data).toarray(), [[0, 0, 6], [2, 0, 0]])


def test_wrong_arguments_are_refused():
    x, y = pt.tensor("x", shape=(3,)), pt.tensor("y", shape=(3,))
    with pytest.raises(DisconnectedInputError):
        compressed_jacobian(x**2, y)
    empty = compressed_jacobian(x**2, y, disconnected_inputs="ignore")
    assert empty.pattern.nnz == 0
    with pytest.raises(GradientError, match="real floating dtype"):
        compressed_jacobian(pt.lvector("n"), x)
    with pytest.raises(GradientError, match="direction must be"):
        compressed_jacobian(x**2, x, direction="sideways")


def test_a_long_chain_is_never_dense():
    n = 20_000
    x = pt.tensor("x", shape=(n,))
    record = compressed_jacobian(pt.exp(x[:-2]) * x[1:-1] - x[2:] ** 2, x)
    assert record.sweeps == 3
    f = phintys.function([x], record.data)
    value = np.random.default_rng(0).uniform(0, 1, n)
    direction = np.random.default_rng(1).uniform(-1, 1, n)
    expected = np.exp(value[:-2]) * (direction[:-2] * value[1:-1] + direction[1:-1])
    expected -= 2 * value[2:] * direction[2:]
    np.testing.assert_allclose(record.matrix(f(value)) @ direction, expected, rtol=1e-11)
