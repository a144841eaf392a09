"""Small graphs on which native code was once wrong, each for a cause of its own."""

import warnings

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import IndexingError, ShapeError
from phintys.backends.native.lower.graph import lower_program
from phintys.graph.fgraph import FunctionGraph
from phintys.passes.pipelines import PIPELINES
from tools.native_programs import compile_program


def numbers(*shape, dtype="float64"):
    return np.linspace(-1.2, 1.3, int(np.prod(shape))).reshape(shape).astype(dtype)


def test_sizes_first_computed_in_a_loop_of_products_are_used_after_it(compare):
    x, y = pt.tensor4("x"), pt.tensor4("y")
    gradients = phintys.grad(pt.matmul(x, y).sum(), [x, y])
    compare([x, y], gradients, [numbers(2, 3, 4, 5), numbers(2, 3, 5, 6)])


def test_rows_of_scratch_are_read_at_other_elements_in_each_row(compare):
    # Several short rows at once: each lane reads another column of its row.
    x = pt.tensor(dtype="float32", shape=(3, 9))
    compare([x], [pt.diag(pt.tan(x), 4)], [numbers(3, 9, dtype="float32")])
    compare([x], [pt.diag(pt.tan(x), -1).sum()], [numbers(3, 9, dtype="float32")])


@pytest.mark.parametrize("write", [pt.set_subtensor, pt.inc_subtensor])
def test_an_index_is_not_looked_at_where_another_names_nothing(compare, write):
    # NumPy checks it for x[[], [[5]]] no more than for x[[]].
    x, none = pt.dmatrix("x"), np.array([], "int64")
    beyond, within = np.array([[15], [1]]), np.array([[0], [0]])
    value = numbers(4, 1)
    compare([x], [write(x[none, beyond], 2.0), x[none, beyond]], [value])
    compare([x], [write(x[none, within], 2.0), x[none, within]], [value])
    f = phintys.function([x], write(x[np.array([1]), beyond], 2.0), mode="native")
    with pytest.raises(IndexingError, match="15"):
        f(value)


def test_an_index_that_the_nest_itself_computes_is_not_read_before(compare):
    x, i = pt.dmatrix("x"), pt.lvector("i")
    at = i[0] % x.shape[0]
    gathered = x[pt.stack([at]), pt.stack([at + 1])]
    changed = pt.inc_subtensor(gathered[:1], 1.0)
    compare([x, i], [changed], [numbers(3, 5), np.array([4])])


@pytest.mark.parametrize("change", [False, True])
def test_indices_are_checked_where_there_is_nothing_to_read(change):
    x, i = pt.dmatrix("x"), pt.lvector("i")
    result = pt.inc_subtensor(x[:, i], 1.0) if change else x[:, i]
    program = lower_program(FunctionGraph([x, i], [result], clone=True))
    executable = compile_program(program)
    (found,) = executable(np.zeros((0, 3)), np.array([2, -3]))
    assert found.shape == ((0, 3) if change else (0, 2))
    with pytest.raises(IndexingError):
        executable(np.zeros((0, 3)), np.array([2, 3]))


def test_slices_known_to_be_empty_beside_indices(compare):
    x = pt.dmatrix("x")
    compare([x], [x[np.array([1, -1]), 6:2], x[6:2, np.array([1, -1])]], [numbers(3, 4)])


class Shorter(phintys.Op):
    """All but the first element, by Python code: how many there are is known when it has run."""

    def make_node(self, x):
        return phintys.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0][1:].copy()


def test_no_piece_is_written_before_the_size_of_the_whole_is_known():
    x = pt.dvector("x")
    second = Shorter()(x * 2)
    joined = pt.concatenate([x + 1, second])
    f = phintys.function([x], [joined, joined.reshape((-1, 1))], mode="native")
    for length in (1, 5, 1000):
        value = numbers(length)
        wanted = np.concatenate([value + 1, 2 * value[1:]])
        for found in f(value):
            np.testing.assert_array_equal(found.reshape(-1), wanted)


@pytest.mark.parametrize("value", [-3, 0, 1, 8])
def test_a_switch_of_integers_takes_anything_but_0_for_true(compare, value):
    n = pt.lscalar("n")
    compare([n], [pt.switch(n, n, 5), pt.switch(n > 0, n, 5)], [np.array(value)])


@pytest.mark.parametrize("start", [0, 1, 2**63 - 1, 2**63, 2**64 - 1])
def test_slices_begin_beyond_all_integers(compare, start):
    x, n = pt.dvector("x"), pt.scalar("n", dtype="uint64")
    compare([x, n], [x[n:], x[n::-1], x[:n]], [numbers(3), np.array(start, "uint64")])


def test_sizes_that_follow_from_others_are_checked():
    x, n = pt.tensor(dtype="float64", shape=(3, 2)), pt.lscalar("n")
    result = x.reshape((n, 3))
    assert result.type.shape == (2, 3)
    f = phintys.function([x, n], result, mode="native")
    for size in (2, -1):
        np.testing.assert_array_equal(f(numbers(3, 2), size), numbers(3, 2).reshape(2, 3))
    for size in (0, 1, 3):
        with pytest.raises(ShapeError):
            f(numbers(3, 2), size)


def test_constants_take_shapes_known_at_run_time(compare):
    x = pt.dmatrix("x")
    six = pt.constant(np.arange(6.0)).reshape(x.shape)
    compare([x], [six, six.T + 1, six.sum(axis=0), six[1, 0]], [numbers(2, 3)])


def test_a_check_that_always_fails_makes_no_numbers_equal():
    x = pt.tensor(dtype="float64", shape=(0, 4))
    outputs = [pt.max(x), x[np.array([], bool)]]
    with pytest.raises(ShapeError, match="no element along axis 0"):
        phintys.function([x], outputs, mode="native")(np.zeros((0, 4)))


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_a_mask_tells_how_many_rows_there_are(rows):
    # In a kernel for one row, its nests differ in which loops are left.
    x = pt.tensor(dtype="bool", shape=(None, 33))
    roots = pt.cbrt(x)
    outputs = [pt.dot(roots, roots.T) - 1.5, x[np.array([False])]]
    f = phintys.function([x], outputs, mode=phintys.Mode("native", PIPELINES["none"]))
    value = np.ones((rows, 33), bool)
    if rows != 1:
        with pytest.raises(phintys.PhintysError):
            f(value)
        return
    product, nothing = f(value)
    assert product.tolist() == [[31.5]]
    assert nothing.shape == (0, 33)


def test_vectors_of_nothing(compare):
    x = pt.dscalar("x")
    compare([x], [x.shape, x.shape + 1, pt.prod(x.shape)], [np.array(2.0)])


@pytest.mark.parametrize("mode", ["reference", "native"])
def test_nothing_warns_of_nan_and_infinities(mode):
    x = pt.dvector("x")
    f = phintys.function([x], [pt.log(x), 1 / x, pt.sort(pt.log(x)), x // 0], mode=mode)
    for result in f([-1.0, 0.0, 2.0]):
        assert not np.all(np.isfinite(result))


class Warner(phintys.Op):
    """An Op that warns, of its own accord."""

    def make_node(self, x):
        return phintys.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        warnings.warn("beware", UserWarning, stacklevel=1)
        output_storage[0][0] = inputs[0] + 1


@pytest.mark.parametrize("mode", ["reference", "native"])
def test_warnings_of_ops_pass(mode):
    x = pt.dvector("x")
    f = phintys.function([x], Warner()(pt.exp(x)), mode=mode)
    with pytest.warns(UserWarning, match="beware"):
        f([0.0])


def test_a_number_that_is_repeated_no_times_is_no_index(compare):
    x, number = pt.dvector("x"), pt.lscalar("number")
    index = pt.broadcast_to(number, (x.shape[0],))
    for count in (0, 3):
        compare([x, number], [x[index]], [numbers(count), np.array(2 if count else 7)])
