"""The arrays of matrices that a function returns are theirs alone, and stay as they are."""

import copy
import gc
import itertools
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys import Mode, sparse
from phintys._base.errors import ShapeError
from phintys.backends.native.steps.callback import Callback
from phintys.sparse.parts import FromParts
from phintys.sparse.type import arrays_of
from tools.fuzz.modes import StepByStep

N = 30
x, y = sparse.csr_matrix("x"), sparse.csr_matrix("y")
v = pt.vector("v", dtype="float64", shape=(N,))
CONSTANT = sp.random_array((N, N), density=0.2, format="csr", rng=np.random.default_rng(9))
kept = sparse.as_sparse_variable(CONSTANT)
state = sparse.shared(CONSTANT.copy(), name="state")

# Each is an expression, or two, whose results have arrays from elsewhere or in common.
EXPRESSIONS = {
    "argument": lambda: [x],
    "pattern of an argument": lambda: [x * 2.0],
    "two with one pattern": lambda: [x * v[0], x + x],
    "its elements too": lambda: [x * 2.0, x.elements],
    "its pattern too": lambda: [x * 2.0, *list(sparse.csm_properties(x))[1:3]],
    "columns": lambda: [x.tocsc()],
    "columns and the arrays of them": lambda: [x.tocsc(), *list(sparse.csm_properties(x.tocsc()))],
    "product": lambda: [x @ y],
    "product, and another on its pattern": lambda: [x @ y, (x @ y) * 3.0],
    "sum": lambda: [x + y],
    "constant": lambda: [kept * v[1]],
    "constant itself": lambda: [sparse.csm_properties(kept)[1], kept * 1.5],
    "shared": lambda: [state * 2.0, state * v[2]],
    "transpose": lambda: [x.T, y.T * 2.0],
    "gradient": lambda: phintys.grad(((x @ y) @ v).sum() + (x.elements**2).sum(), [x, y]),
    "of vectors": lambda: [
        sparse.from_parts(v, pt.arange(N), pt.arange(N + 1), (N, N)),
        sparse.from_parts(v * 2, pt.arange(N), pt.arange(N + 1), (N, N)),
    ],
    "elements as indices": lambda: [
        sparse.from_parts(*[pt.arange(N, dtype="int32")] * 2, pt.arange(N + 1), (N, N))
    ],
    "chosen": lambda: [phintys.ifelse(v[0] > 0, x * 2.0, x + y)],
    "rows": lambda: [x[3:17], x[:, 2:9] * 2.0],
}


def matrix(seed, shape=(N, N), density=0.2):
    return sp.random_array(shape, density=density, format="csr", rng=np.random.default_rng(seed))


def all_arrays(values):
    return [array for value in values for array in arrays_of(value)]


def changed(values):
    """Overwrite all arrays with other numbers."""
    for array in all_arrays(values):
        array[...] = 0


def check_alone(outputs, mode):
    inputs = [x, y, v]
    options = {"on_unused_input": "ignore"}
    f = phintys.function(inputs, outputs, mode=mode, **options)
    oracle = phintys.function(inputs, outputs, mode="reference", **options)
    given_ = [matrix(1), matrix(2), np.linspace(1, 2, N)]
    wanted = oracle(*copy.deepcopy(given_))
    found = f(*given_)
    inside = [CONSTANT, state.get_value(borrow=True)]
    everything = [array for array in all_arrays([*found, *given_, *inside]) if array.size]
    for one, another in itertools.combinations(everything, 2):
        assert not np.shares_memory(one, another)
    changed(given_)
    changed(f(matrix(1), matrix(2), np.linspace(1, 2, N)))
    changed(f(matrix(3), matrix(4), np.linspace(3, 4, N)))
    for one, right in zip(found, wanted, strict=True):
        assert type(one) is type(right)
        for mine, its in zip(arrays_of(one), arrays_of(right), strict=True):
            assert mine.dtype == its.dtype
            np.testing.assert_allclose(mine, its, rtol=1e-13)
        if sp.issparse(one):
            assert one.shape == right.shape
            one.check_format(full_check=True)
            same = type(one)(arrays_of(one), shape=one.shape)
            assert one.has_canonical_format == same.has_canonical_format
            assert one.has_canonical_format


@pytest.mark.parametrize("mode", ["native", "reference", "debug", "steps"])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_results_are_alone(name, mode):
    modes = {"steps": Mode(StepByStep()), "debug": "DEBUG_MODE"}
    check_alone(EXPRESSIONS[name](), modes.get(mode, mode))


@given(st.lists(st.sampled_from(sorted(EXPRESSIONS)), min_size=2, max_size=5))
def test_results_of_several_are_alone(names):
    check_alone([one for name in names for one in EXPRESSIONS[name]()], "native")


def test_shared_matrices_are_alone():
    total = sparse.shared(matrix(1), name="total")
    f = phintys.function([x, y], [x @ y, total], updates={total: x @ y}, mode="native")
    product, before = f(matrix(2), matrix(3))
    after = total.get_value(borrow=True)
    for one, another in itertools.combinations(all_arrays([product, before, after]), 2):
        assert not np.shares_memory(one, another)
    changed([product, before])
    changed([f(matrix(4), matrix(5))[1]])
    np.testing.assert_allclose(
        total.get_value().toarray(), (matrix(4) @ matrix(5)).toarray(), rtol=1e-13
    )


def test_threads_get_matrices_of_their_own():
    f = phintys.function([x, y], [x.tocsc(), x * 2.0, x @ y], mode="native")
    given_ = [(matrix(seed, density=0.5), matrix(seed + 50, density=0.5)) for seed in range(8)]

    def called(number):
        a, b = given_[number % 8]
        return number % 8, f(a, b)

    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(called, range(200)))
    for number, (columns, twice, product) in made:
        a, b = given_[number]
        np.testing.assert_array_equal(columns.toarray(), a.toarray())
        np.testing.assert_array_equal(twice.toarray(), 2 * a.toarray())
        np.testing.assert_allclose(product.toarray(), (a @ b).toarray(), rtol=1e-12)


def test_functions_are_pickled():
    f = phintys.function([x], [x.tocsc(), x * 2.0], mode="native")
    again = pickle.loads(pickle.dumps(f))
    for one, other in zip(again(matrix(1)), f(matrix(1)), strict=True):
        np.testing.assert_array_equal(one.toarray(), other.toarray())
        assert sp.issparse(one)


def test_nobody_else_holds_the_arrays():
    f = phintys.function([x, y], [x @ y, x * 2.0], mode="native")
    for seed in range(3):
        made = f(matrix(seed), matrix(seed + 1))
        arrays = all_arrays(made)
        memory = [array if array.base is None else array.base for array in arrays]
        assert all(
            one.flags.owndata and one.nbytes == array.nbytes
            for one, array in zip(memory, arrays, strict=True)
        )
        there = [weakref.ref(one) for one in memory]
        del made, arrays, memory
        gc.collect()
        assert not any(one() is not None for one in there)


def test_shapes_may_change_from_call_to_call():
    f = phintys.function([x], [x * 2.0, x.tocsc()], mode="native")
    for shape in [(3, 4), (4, 3), (3, 4), (0, 3), (3, 0), (1, 1), (1, 1)]:
        given_ = matrix(1, shape, 0.5)
        twice, columns = f(given_)
        assert twice.shape == columns.shape == shape
        np.testing.assert_array_equal(twice.toarray(), 2 * given_.toarray())
        np.testing.assert_array_equal(columns.toarray(), given_.toarray())


def test_room_behind_the_entries_is_left_out():
    f = phintys.function([x], x * 2.0, mode="native")
    whole = matrix(1)
    np.testing.assert_array_equal(f(whole).toarray(), 2 * whole.toarray())
    longer = whole.copy()
    longer.data, longer.indices = (np.append(a, [1] * 5) for a in (whole.data, whole.indices))
    longer.indices = longer.indices.astype("int32")
    for _ in range(2):
        made = f(longer)
        assert len(made.data) == len(made.indices) == whole.nnz
        np.testing.assert_array_equal(made.toarray(), 2 * whole.toarray())


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_elements_must_be_as_many_as_indices(mode):
    elements = pt.dvector("elements")
    made = FromParts("csr")(elements, *sparse.csm_properties(x)[1:])
    f = phintys.function([x, elements], made, mode=mode)
    given_ = matrix(1)
    f(given_, given_.data)
    for wrong in (given_.data[:-1], np.append(given_.data, 0.0), given_.data[:0]):
        with pytest.raises(ValueError, match="same size"):
            f(given_, wrong)
    np.testing.assert_array_equal(f(given_, given_.data).toarray(), given_.toarray())


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_rows_must_be_as_many_as_pointers(mode):
    data, indices, indptr, _ = sparse.csm_properties(x)
    sizes = pt.lvector("sizes")
    f = phintys.function([x, sizes], FromParts("csr")(data, indices, indptr, sizes), mode=mode)
    for rows in (N, N - 1, N + 1, N):
        if rows == N:
            np.testing.assert_array_equal(f(matrix(1), [N, N]).toarray(), matrix(1).toarray())
        else:
            with pytest.raises(ValueError, match="index pointer size"):
                f(matrix(1), [rows, N])


@pytest.mark.parametrize(
    ("outputs", "wanted"),
    [
        ([x @ y], [(0, 1, 2)]),
        ([x.tocsc()], [(0, 1, 2)]),
        ([x + y], [(0, 1, 2)]),
        ([x * 2.0], [(0,)]),
        ([(x @ y).T], [(0, 1, 2)]),
        ([x @ y, (x @ y) * 3.0], [(0, 1, 2), (0,)]),
    ],
)
def test_native_code_writes_them_where_they_stay(outputs, wanted):
    f = phintys.function([x, y], outputs, mode="native", on_unused_input="ignore")
    program, _ = f.vm.program_and_text()
    made = [step for step in program.steps if isinstance(step, Callback) and step.handed_over]
    assert [step.handed_over for step in made] == wanted


@pytest.mark.parametrize("mode", ["native", "reference"])
@pytest.mark.parametrize("indices", [[1, 0, 2], [0, 0, 2]], ids=["unsorted", "twice"])
def test_constant_patterns_are_looked_at(indices, mode):
    elements = pt.dvector("elements")
    indices, indptr = (np.array(values, "int32") for values in (indices, [0, 2, 3]))
    f = phintys.function([elements], FromParts("csr")(elements, indices, indptr, [2, 3]), mode=mode)
    for _ in range(2):
        with pytest.raises(ShapeError, match=r"must be sorted|stored once"):
            f([1.0, 2.0, 3.0])


RESULTS = {
    "product": x @ y,
    "sum": x + y,
    "elementwise product": x * y,
    "columns": x.tocsc(),
    "multiple": x * 2.0,
    "transpose": x.T,
    "constant pattern": kept * v[0],
    "transposed product": (x @ y).T,
    "gradient": phintys.grad((x @ v).sum(), x),
    "Jacobian": sparse.sparse_jacobian(v[1:] * v[:-1], v),
}


@pytest.mark.parametrize("name", RESULTS)
def test_patterns_are_not_searched_in_each_call(name, monkeypatch):
    result = RESULTS[name]
    f = phintys.function([x, y, v], result, mode="native", on_unused_input="ignore")
    given_ = matrix(1), matrix(2), np.linspace(1, 2, N)
    wanted = f(*given_)

    def searched(self, value, strict=False, allow_downcast=None):
        raise AssertionError("a result is looked at again")

    monkeypatch.setattr(type(result.type), "filter", searched)
    f.trust_input = True
    made = f(*given_)
    assert made.has_canonical_format
    np.testing.assert_array_equal(made.toarray(), wanted.toarray())
