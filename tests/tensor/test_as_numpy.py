"""Calls give the values, dtypes and shapes that NumPy gives."""

import warnings

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, DtypeError, ShapeError

A = np.array([[1.5, np.nan, -2.0], [0.5, 4.0, 3.0]])
MASK = np.array([[True, True, False], [True, False, True]])
SINGLE = np.array([1.5, -2.0, 3.0], "float32")
WIDE = np.arange(1.0, 10.0).reshape(3, 3)
COLUMN = np.array([0.5, 2.0, -1.0])

CALLS = {
    "nansum": (lambda xp, a: xp.nansum(a, axis=0, where=MASK, initial=2.5), (A,)),
    "nanprod": (lambda xp, a: xp.nanprod(a, where=MASK, initial=2), (A,)),
    "nanmax of some": (lambda xp, a: xp.nanmax(a, axis=1, where=MASK, initial=-9), (A,)),
    "nanmin of none": (lambda xp, a: xp.nanmin(a, axis=0, where=False, initial=7), (A,)),
    "nanmean": (lambda xp, a: xp.nanmean(a, axis=0, where=MASK), (A,)),
    "nanvar": (lambda xp, a: xp.nanvar(a, axis=1, where=MASK, correction=1), (A,)),
    "nanstd": (lambda xp, a: xp.nanstd(a, keepdims=True, correction=0.5), (A,)),
    "nanmean in a dtype": (lambda xp, a: xp.nanmean(a, dtype=np.float32), (A,)),
    "nancumsum": (lambda xp, a: xp.nancumsum(a, 1, "float32"), (A,)),
    "nancumprod": (lambda xp, a: xp.nancumprod(a, dtype="complex64"), (A,)),
    "cumsum": (lambda xp, a: a.cumsum(0, dtype="float32"), (A,)),
    "cumprod": (lambda xp, a: a.cumprod(dtype="complex64"), (A,)),
    "trace": (lambda xp, a: a.trace(1, 1, 0, "float32"), (WIDE,)),
    "ravel": (lambda xp, a: a.ravel("F"), (WIDE,)),
    "select of weak numbers": (lambda xp, a: xp.select([a > 0, a > 2], [a, 7], 0), (SINGLE,)),
    "select of small integers": (
        lambda xp, a: xp.select([a > 0], [a], default=-1),
        (np.array([1, -2], "int16"),),
    ),
    "gradient": (lambda xp, a: xp.gradient(a, 2.0), (SINGLE,)),
    "no differences": (lambda xp, a: xp.diff(a, n=0, prepend=1.0), (SINGLE,)),
    "modf of int8": (lambda xp, a: xp.modf(a), (np.array([3, -2], "int8"),)),
    "frexp of bools": (lambda xp, a: xp.frexp(a), (np.array([True, False]),)),
    "frexp of int16": (lambda xp, a: xp.frexp(a), (np.array([3, -200], "int16"),)),
    "cond of zero": (lambda xp, a: xp.linalg.cond(a), (np.zeros((2, 2)),)),
    "cond of zero by sums": (lambda xp, a: xp.linalg.cond(a, 1), (np.zeros((2, 2)),)),
    "cond of NaN": (lambda xp, a: xp.linalg.cond(a, 1), (np.full((2, 2), np.nan),)),
    "pinv of no rows": (lambda xp, a: xp.linalg.pinv(a), (np.zeros((0, 3)),)),
    "rank by eigenvalues": (
        lambda xp, a: xp.linalg.matrix_rank(a, hermitian=True),
        (np.outer(COLUMN, COLUMN),),
    ),
    "eigenvalues of an upper triangle": (lambda xp, a: xp.linalg.eigh(a, UPLO="U")[0], (WIDE,)),
    "eigenvalues by position": (lambda xp, a: xp.linalg.eigvalsh(a, "u"), (WIDE,)),
    "vander": (lambda xp, a: xp.vander(a, 20), (np.array([3.0, -2.0], "float16"),)),
    "polyint": (lambda xp, a: xp.polyint(a, 2), (np.array([1.0, 2.0], "float16"),)),
    "polyder": (lambda xp, a: xp.polyder(a), (np.array([1, 2j, 3], "complex64"),)),
    "polyval of high degree": (lambda xp, a: xp.polyval(a, 0.99), (np.ones(300),)),
    "cross by position": (lambda xp, a, b: xp.cross(a, b, 0), (WIDE, WIDE[::-1] ** 2)),
    "cross along axes": (
        lambda xp, a, b: xp.cross(a, b, axisa=0, axisb=1, axisc=0),
        (WIDE, WIDE[::-1] ** 2),
    ),
    "around": (lambda xp, a: xp.around(a, 1), (COLUMN / 7,)),
    "average of float32": (
        lambda xp, a, w: xp.average(a, weights=w, returned=True),
        (SINGLE, np.array([1, 2, 3], "uint16")),
    ),
    "odd reflections of NaN": (
        lambda xp, a: xp.pad(a, ((5, 5), (0, 0)), "reflect", reflect_type="odd"),
        (np.array([[np.nan, 1.0, 2.0], [1.0, 3.0, 4.0], [2.0, 5.0, np.nan]]),),
    ),
    "odd reflections of float16": (
        lambda xp, a: xp.pad(a, 1, "symmetric", reflect_type="odd"),
        (np.array([0.1257, 300.0, -1.304], "float16"),),
    ),
    "odd reflections of uint8": (
        lambda xp, a: xp.pad(a, 4, "symmetric", reflect_type="odd"),
        (np.array([3, 250, 9], "uint8"),),
    ),
    "means of bools": (lambda xp, a: xp.pad(a, 2, "mean"), (MASK,)),
    "ramps of bools": (lambda xp, a: xp.pad(a, 2, "linear_ramp"), (MASK,)),
    "quantile 1 of integers": (lambda xp, a: xp.quantile(a, [1, 0]), (np.array([3, 9], "int16"),)),
    "exp in a dtype": (lambda xp, a: xp.exp(a, dtype="float32"), (np.arange(3, dtype="int64"),)),
    "add in a dtype": (lambda xp, a: xp.add(a, 1, dtype=np.int64), (np.arange(3, dtype="int8"),)),
    "np.add in a dtype": (lambda xp, a: np.add(a, a, dtype="complex64"), (COLUMN,)),
    "equal in a dtype": (lambda xp, a: xp.equal(a, a, dtype=bool), (A,)),
    "split in parts": (lambda xp, a: xp.split(a, 3), (WIDE,)),
    "a size of -1": (lambda xp, a: xp.fft.irfft2(a, (3, -1), (0, 1)), (WIDE + 0j,)),
    "sizes of -1": (lambda xp, a: xp.fft.fftn(a, (-1, 2), (0, 1)), (WIDE,)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mode", ["native", "reference"])
@pytest.mark.parametrize("name", CALLS)
def test_a_call_gives_what_numpy_gives(name, mode):
    call, arrays = CALLS[name]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = call(np, *arrays)
    variables = [pt.TensorType(array.dtype.name, (None,) * array.ndim)() for array in arrays]
    if name == "split in parts":
        variables = [pt.TensorType(array.dtype.name, array.shape)() for array in arrays]
    made = call(pt, *variables)
    several = isinstance(made, list | tuple)
    found = phintys.function(variables, list(made) if several else [made], mode=mode)(*arrays)
    for ours, theirs in zip(found, expected if several else [expected], strict=True):
        assert ours.dtype == np.asarray(theirs).dtype
        rtol = 1e-3 if ours.dtype == "float16" else 1e-5 if ours.dtype.itemsize == 4 else 1e-9
        np.testing.assert_allclose(ours, theirs, rtol=max(rtol, 1e-9), atol=1e-12)


# In which NumPy's oldest supported version differs from later ones: it raises, or gives NaN.
NEWER = {
    "rank of no rows": (pt.linalg.matrix_rank, np.zeros((0, 3)), 0),
    "quantile 0 beside an infinity": (lambda a: pt.quantile(a, 0), np.array([-0.5, np.inf]), -0.5),
    "padding of some axes": (
        lambda a: pt.pad(a, {0: 1}),
        np.ones((1, 2)),
        [[0, 0], [1, 1], [0, 0]],
    ),
}


@pytest.mark.parametrize("mode", ["native", "reference"])
@pytest.mark.parametrize("name", NEWER)
def test_a_call_gives_what_later_versions_of_numpy_give(name, mode):
    call, array, expected = NEWER[name]
    x = pt.TensorType(array.dtype.name, (None,) * array.ndim)()
    np.testing.assert_array_equal(phintys.function([x], call(x), mode=mode)(array), expected)


@pytest.mark.parametrize("cuts", [[5, 2], [-1], [1, 9], [-9, 3], [0, 0, 3], [2, 3]])
def test_cuts_are_bounds_of_slices(cuts):
    array = np.arange(4.0)
    for ours, theirs in zip(
        pt.array_split(pt.constant(array), cuts), np.array_split(array, cuts), strict=True
    ):
        np.testing.assert_array_equal(ours.eval(), theirs)


@pytest.mark.parametrize("k", range(-4, 5))
def test_a_diagonal_may_have_a_symbolic_offset(k):
    matrix, vector, offset = pt.dmatrix(), pt.dvector(), pt.lscalar()
    array = np.arange(6.0).reshape(2, 3)
    made = [
        pt.diag(matrix, offset),
        pt.diagonal(matrix, offset, 1, 0),
        pt.trace(matrix, offset),
        pt.diag(vector, offset),
        pt.diagflat(matrix, offset),
    ]
    found = phintys.function([matrix, vector, offset], made)(array, COLUMN, k)
    expected = [
        np.diag(array, k),
        np.diagonal(array, k, 1, 0),
        np.trace(array, k),
        np.diag(COLUMN, k),
        np.diagflat(array, k),
    ]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_gradient_of_a_diagonal_of_symbolic_offset_is_the_diagonal():
    vector, offset = pt.dvector(), pt.lscalar()
    weights = np.arange(25.0).reshape(5, 5)
    slope = phintys.grad((pt.diag(vector, offset) * weights).sum(), vector)
    found = slope.eval({vector: np.ones(4), offset: -1})
    np.testing.assert_array_equal(found, np.diag(weights, -1))


@pytest.mark.parametrize("truth", [True, False])
@pytest.mark.parametrize("mode", ["native", "reference"])
def test_a_bool_as_an_index_selects_all_or_nothing(truth, mode):
    x, n = pt.dmatrix(), pt.lscalar()
    array = np.arange(6.0).reshape(2, 3)
    made = [x[truth], x[n > 0], x[:, n > 0], x[None, truth, 0]]
    made += [pt.set_subtensor(x[n > 0], 9.0), phintys.grad((x[n > 0] ** 2).sum(), x)]
    found = phintys.function([x, n], made, mode=mode)(array, int(truth))
    changed = array.copy()
    changed[truth] = 9.0
    expected = [array[truth], array[truth], array[:, truth], array[None, truth, 0]]
    expected += [changed, 2 * array * truth]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: pt.average(np.ones((3, 1)), 1, [1.0, 2.0]), ShapeError),
        (lambda: pt.average(np.ones((3, 1)), weights=np.ones((3, 2))), ShapeError),
        (lambda: pt.interp([1.0], [1.0], [1.0], period=0), ArgumentError),
        (lambda: pt.fft.fft([1.0, 2.0], -1), ShapeError),
        (lambda: pt.fft.irfft([1.0, 2.0], n=-1), ShapeError),
        (lambda: pt.nanvar([1.0], ddof=1, correction=1), ArgumentError),
        (lambda: pt.linalg.eigh(np.eye(2), UPLO="X"), ArgumentError),
        (lambda: pt.nanmean(pt.dvector(), dtype="int64"), DtypeError),
        (lambda: pt.nanstd(pt.dvector(), dtype="int64"), DtypeError),
        (lambda: pt.add(pt.dvector(), 1, dtype=int), DtypeError),
        (lambda: pt.sqrt(pt.ivector(), dtype="int64"), DtypeError),
        (lambda: pt.equal(pt.ivector(), 1, dtype=float), DtypeError),
    ],
)
def test_what_numpy_refuses_is_refused(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_indices_are_checked_where_there_is_nothing_to_read(mode):
    x, r, n = pt.dtensor3(), pt.lvector(), pt.lscalar()
    for made in (
        x[r],
        x[r, :, :n],
        pt.take(x, r, axis=0),
        pt.set_subtensor(x[r], 1.0),
        pt.inc_subtensor(x[r], 1.0),
    ):
        f = phintys.function([x, r, n], made, mode=mode, on_unused_input="ignore")
        for shape in ((2, 0, 3), (2, 3, 0)):
            f(np.ones(shape), [0, -2], 0)
            for places in ([0, -3], [2] * 20):
                with pytest.raises(IndexError):
                    f(np.ones(shape), places, 0)


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_an_error_of_a_system_names_the_right_hand_sides(mode):
    a, b = pt.dmatrix("a"), pt.dmatrix("b")
    solve = phintys.function([a, b], pt.linalg.lu_solve(pt.linalg.lu_factor(a), b), mode=mode)
    with pytest.raises(ShapeError, match=r"right-hand sides b, of the shape \(2, 1\), do not fit"):
        solve(np.eye(3), np.ones((2, 1)))
