"""Decompositions and solvers, on stacks of matrices that are well conditioned."""

import numpy as np
import scipy.linalg
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.tensor.linear_algebra.assumptions import Assume
from phintys.tensor.linear_algebra.banded import SolveBanded
from phintys.tensor.linear_algebra.cholesky import Cholesky, CholeskyAdjoint, CholeskyInverse
from phintys.tensor.linear_algebra.determinants import Det, SlogDet
from phintys.tensor.linear_algebra.eigen import Eigh
from phintys.tensor.linear_algebra.least_squares import Lstsq, Pinv
from phintys.tensor.linear_algebra.lu import LUFactor, PermuteRows, PivotToPermutation
from phintys.tensor.linear_algebra.powers import Expm, ExpmDerivative
from phintys.tensor.linear_algebra.qr import QR
from phintys.tensor.linear_algebra.singular_values import SVD
from phintys.tensor.linear_algebra.solving import Inv, Solve
from phintys.tensor.linear_algebra.triangular import SolveTriangular
from phintys.tensor.linear_algebra.tridiagonal import SolveTridiagonalLU, TridiagonalLU
from phintys.testing import Example, OpRecord, Tolerance

DTYPES = ("float64", "float32", "complex128", "complex64", "int64", "int8", "bool")
SOLVED = Tolerance("factors are computed in another order", ulps=4096, normwise=True)


def numbers(draw, dtype, shape):
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    if dtype.startswith("complex"):
        return (rng.uniform(-1, 1, shape) + 1j * rng.uniform(-1, 1, shape)).astype(dtype)
    if dtype.startswith("float"):
        return rng.uniform(-1, 1, shape).astype(dtype)
    return rng.integers(0 if dtype == "bool" else -1, 2, shape).astype(dtype)


def dominated(x):
    """Square matrices with a large diagonal, of alternating signs, in another order of the rows."""
    n = x.shape[-1]
    if x.dtype == bool:
        return (x & np.tri(n, dtype=bool)) | np.eye(n, dtype=bool)
    signs = np.where(np.arange(n) % 2, -1, 1)
    return (x + np.diag(signs * (n + 1)))[..., np.roll(np.arange(n), 1), :].astype(x.dtype)


def triangular(x):
    if x.dtype == bool:
        return x | np.eye(x.shape[-1], dtype=bool)
    return (x + 2 * np.eye(x.shape[-1])).astype(x.dtype)


def positive(x):
    if x.dtype == bool:
        return np.broadcast_to(np.eye(x.shape[-1], dtype=bool), x.shape).copy()
    whole = (x + x.mT.conj()) / 2 if x.dtype.kind in "fc" else np.minimum(x, x.mT)
    return (whole + x.shape[-1] * 2 * np.eye(x.shape[-1])).astype(x.dtype)


def symmetric(x):
    whole = positive(x)
    if x.dtype == bool:
        return whole
    signs = np.where(np.arange(x.shape[-1]) % 2, -1, 1)
    return (whole - np.diag((1 - signs) * 2 * x.shape[-1])).astype(x.dtype)


def draw_matrices(make, *rights, columns=True, params=None, mixed=True):
    """Return a draw of square matrices, and of right sides if there are any."""

    def draw_example(draw, smooth):
        kinds = DTYPES[:4:2] if smooth else DTYPES
        n = draw(st.integers(0, 4))
        leading = tuple(draw(st.lists(st.sampled_from([2, 1, 3, 0]), max_size=2)))
        a = make(numbers(draw, draw(st.sampled_from(kinds)), (*leading, n, n)))
        values, types = [a], [pt.TensorType(a.dtype, [None if s != 1 else 1 for s in a.shape])]
        chosen = params(draw) if params else {}
        for _ in rights:
            own = tuple(leading[draw(st.integers(0, len(leading))) :])
            own = tuple(draw(st.sampled_from([size, 1])) for size in own)
            if columns and draw(st.booleans()):
                shape = (*own, n, draw(st.integers(0, 3)))
            else:
                shape, chosen = (*own, n), chosen | {"b_ndim": 1}
            b = numbers(draw, draw(st.sampled_from(kinds)) if mixed else a.dtype.name, shape)
            values.append(b)
            types.append(pt.TensorType(b.dtype, [None if s != 1 else 1 for s in shape]))
        return Example(tuple(values), chosen, tuple(types))

    return draw_example


def _draw_pairs(make):
    """Return a draw of square matrices, and of others of the same shape and dtype."""

    def draw_example(draw, smooth):
        n = draw(st.integers(0, 4))
        shape = (*draw(st.lists(st.sampled_from([2, 1]), max_size=1)), n, n)
        dtype = draw(st.sampled_from(DTYPES[:4:2] if smooth else DTYPES[:4]))
        values = make(numbers(draw, dtype, shape)), numbers(draw, dtype, shape)
        types = [pt.TensorType(dtype, [None if s != 1 else 1 for s in shape]) for _ in values]
        return Example(values, {}, tuple(types))

    return draw_example


def _floats(*arrays):
    dtype = np.result_type(*arrays)
    dtype = np.dtype("float64") if dtype.kind in "biu" else dtype
    return [x.astype(dtype) for x in arrays]


def _each(function, *cores):
    """Return a function of stacks of matrices, from a function of matrices."""

    def of_stacks(*arrays, **params):
        arrays = _floats(*arrays)
        batch = np.broadcast_shapes(
            *(x.shape[: x.ndim - core] for x, core in zip(arrays, cores, strict=True))
        )
        shown = [
            np.broadcast_to(x, (*batch, *x.shape[x.ndim - core :]))
            for x, core in zip(arrays, cores, strict=True)
        ]
        outs = [function(*(x[at] for x in shown), **params) for at in np.ndindex(batch)]
        if not outs:
            one = [
                np.ones(x.shape[x.ndim - core :], x.dtype)
                for x, core in zip(shown, cores, strict=True)
            ]
            one[0] = np.eye(*one[0].shape, dtype=one[0].dtype)
            example = function(*one, **params)
            if not isinstance(example, tuple):
                return np.zeros((*batch, *np.shape(example)), np.asarray(example).dtype)
            return [np.zeros((*batch, *np.shape(x)), np.asarray(x).dtype) for x in example]
        if not isinstance(outs[0], tuple):
            return np.array(outs).reshape((*batch, *np.shape(outs[0])))
        return [
            np.array([out[at] for out in outs]).reshape((*batch, *np.shape(outs[0][at])))
            for at in range(len(outs[0]))
        ]

    return of_stacks


def _solved(function):
    """Return a solver of stacks of vectors or matrices."""

    def solve(a, b, b_ndim=2, **params):
        return _each(lambda x, y: function(x, y, **params), 2, b_ndim)(a, b)

    return solve


def _symmetric_part(a):
    """Return a matrix of floats; halves first, since the sum of two bools is a bool."""
    return a / 2 + a.mT / 2


def _cholesky(a, lower):
    factor = np.linalg.cholesky(a)
    return factor if lower else factor.T.conj()


def _by_inverse(a, b, **_):
    return np.linalg.solve(a, b) if a.size else b


def _triangle(a, b, lower, trans, unit_diagonal, on_error="raise"):
    if not b.size:
        return b
    return scipy.linalg.solve_triangular(
        a, b, lower=lower, trans=trans, unit_diagonal=unit_diagonal
    )


def _how(draw):
    return {
        "lower": draw(st.booleans()),
        "trans": draw(st.sampled_from([0, 1, 2, "N", "T", "C"])),
        "unit_diagonal": draw(st.booleans()),
    }


def _lu(a):
    if not a.size:
        return a, np.zeros(0, "int32"), np.zeros(0, "int64")
    factors, pivots = scipy.linalg.lu_factor(a)
    return factors, pivots, _rows(pivots)


def _lu_factors(a):
    return tuple(factor.astype(a.dtype) for factor in scipy.linalg.lu(a, permute_l=True))


def _rows(pivots):
    rows = np.arange(len(pivots))
    for i, p in enumerate(pivots):
        rows[[i, p]] = rows[[p, i]]
    return rows


def _with_factors(a, b, b_ndim=2, trans=0):
    return pt.linalg.lu_solve(pt.linalg.lu_factor(a), b, trans, b_ndim=b_ndim)


def _with_cholesky(a, b, b_ndim=2, lower=True):
    return pt.linalg.cho_solve(pt.linalg.cho_factor(a, lower), b, b_ndim=b_ndim)


def _transposed(draw):
    return {"trans": draw(st.sampled_from([0, 1, 2]))}


def _turned(a, b, trans):
    return _by_inverse([a, a.T, a.T.conj()][trans], b)


def _assumed(*kinds):
    def params(draw):
        return {
            "assume_a": draw(st.sampled_from(kinds)),
            "transposed": draw(st.booleans()),
            "lower": draw(st.booleans()),
        }

    return params


def _assuming(a, b, assume_a, transposed, lower):
    if "triangular" in assume_a:
        a = np.tril(a) if assume_a.startswith("lower") else np.triu(a)
    return _by_inverse(
        np.diag(np.diag(a)) if assume_a == "diagonal" else a.T if transposed else a, b
    )


def _assuming_triangular(a, b, assume_a, transposed, lower):
    if assume_a != "diagonal":
        a = np.tril(a) if assume_a.startswith("lower") else np.triu(a)
    return _assuming(a, b, "diagonal" if assume_a == "diagonal" else "gen", transposed, lower)


def _exchanges(draw, smooth):
    n = draw(st.integers(0, 5))
    leading = tuple(draw(st.lists(st.sampled_from([2, 1, 0]), max_size=2)))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    pivots = rng.integers(np.broadcast_to(np.arange(n), (*leading, n)), max(n, 1))
    return Example((pivots.astype("int32"),), {"inverse": draw(st.booleans())})


def _permutation(p, inverse):
    rows = np.empty(p.shape, "int64")
    for at in np.ndindex(p.shape[:-1]):
        rows[at] = _rows(p[at])
    return np.argsort(rows, axis=-1) if inverse else rows


def _slogdet(a):
    sign, logarithm = np.linalg.slogdet(a)
    return sign, logarithm


def _lower(draw):
    return {"lower": draw(st.booleans())}


def _record(name, build, reference, draw, *ops, **facts):
    # Second derivatives are checked in tests/tensor/linear_algebra/test_derivatives.py.
    facts = {"tolerance": SOLVED, "broadcasts": True, "second": False} | facts
    return OpRecord(name=name, build=build, reference=reference, draw=draw, ops=ops, **facts)


def lower(x):
    """Factors, with real diagonals."""
    entries = np.diagonal(triangular(x), axis1=-2, axis2=-1).real
    return (np.tril(x, -1) + entries[..., None] * np.eye(x.shape[-1])).astype(x.dtype)


def _adjoint(factor, g):
    inner = np.tril(factor.conj().T @ np.tril(g))
    inner -= np.diag(np.diagonal(inner)) / 2
    inverse = np.linalg.inv(factor)
    half = inverse.conj().T @ inner @ inverse
    return np.tril(half + half.conj().T, -1) + np.diag(np.diagonal(half).real)


def _inverse_of_product(factor):
    return np.tril(np.linalg.inv(factor @ factor.conj().T))


def _draw_factors(draw, smooth):
    # Diagonals are real, which differences of complex numbers would not keep.
    n = draw(st.integers(0, 4))
    shape = (*draw(st.lists(st.sampled_from([2, 1, 0]), max_size=1)), n, n)
    dtype = draw(st.sampled_from(DTYPES[:1] if smooth else DTYPES[:4]))
    type_ = pt.TensorType(dtype, [None if s != 1 else 1 for s in shape])
    return Example((lower(numbers(draw, dtype, shape)),), {}, (type_,))


FACTORS = [
    _record(
        "cholesky_adjoint",
        CholeskyAdjoint(),
        _each(_adjoint, 2, 2),
        _draw_pairs(lower),
        CholeskyAdjoint,
    ),
    _record(
        "cholesky_inverse",
        CholeskyInverse(),
        _each(_inverse_of_product, 2),
        _draw_factors,
        CholeskyInverse,
    ),
    _record(
        "cholesky",
        pt.linalg.cholesky,
        _each(_cholesky, 2),
        draw_matrices(positive, params=_lower),
        Cholesky,
    ),
    _record(
        "cho_solve",
        _with_cholesky,
        _solved(lambda a, b, lower: _by_inverse(a, b)),
        draw_matrices(positive, "b", params=_lower, mixed=False),
        Cholesky,
        SolveTriangular,
        differentiable=(),
    ),
    _record(
        "lu_factor",
        LUFactor(),
        _each(_lu, 2),
        draw_matrices(dominated),
        LUFactor,
    ),
    _record(
        "lu",
        lambda a: list(pt.linalg.lu(a, permute_l=True)),
        _each(
            lambda a: tuple(
                factor.astype(a.dtype) for factor in scipy.linalg.lu(a, permute_l=True)
            ),
            2,
        ),
        draw_matrices(dominated),
        LUFactor,
        PermuteRows,
        differentiable=(),
    ),
    _record(
        "lu_solve",
        _with_factors,
        _solved(_turned),
        draw_matrices(dominated, "b", params=_transposed, mixed=False),
        LUFactor,
        PermuteRows,
        SolveTriangular,
        differentiable=(),
    ),
    _record(
        "pivot_to_permutation",
        pt.linalg.pivot_to_permutation,
        _permutation,
        _exchanges,
        PivotToPermutation,
        differentiable=(),
    ),
]

SOLVERS = [
    _record(
        "solve_triangular",
        pt.linalg.solve_triangular,
        _solved(_triangle),
        draw_matrices(triangular, "b", params=_how),
        SolveTriangular,
    ),
    _record(
        "solve",
        pt.linalg.solve,
        _solved(_assuming),
        draw_matrices(dominated, "b", params=_assumed("gen", "general")),
        Solve,
    ),
    _record(
        "solve, positive",
        pt.linalg.solve,
        _solved(_assuming),
        draw_matrices(positive, "b", params=_assumed("pos", "her", "hermitian")),
        Solve,
    ),
    _record(
        "solve, symmetric",
        lambda a, b, **params: pt.linalg.solve(_symmetric_part(a), b, **params),
        lambda a, b, **params: _solved(_assuming)(_symmetric_part(a), b, **params),
        draw_matrices(symmetric, "b", params=_assumed("sym")),
        Solve,
    ),
    _record(
        "solve, by structure",
        pt.linalg.solve,
        _solved(_assuming_triangular),
        draw_matrices(
            triangular,
            "b",
            params=_assumed("diagonal", "lower triangular", "upper triangular"),
        ),
    ),
    _record("inv", pt.linalg.inv, _each(np.linalg.inv, 2), draw_matrices(dominated), Inv),
    OpRecord(
        name="assume",
        build=lambda a: pt.assume(a, "positive_definite"),
        reference=lambda a: a,
        draw=draw_matrices(positive),
        ops=(Assume,),
        differentiable=(),  # finite differences are not symmetric
    ),
]


def _draw_bands(draw, smooth):
    kinds = DTYPES[:4:2] if smooth else DTYPES
    n, below, above = (draw(st.integers(0, most)) for most in (4, 2, 2))
    leading = tuple(draw(st.lists(st.sampled_from([2, 1]), max_size=1)))
    ab = numbers(draw, draw(st.sampled_from(kinds)), (*leading, below + above + 1, n))
    if ab.dtype == bool:
        ab[...] = False
    ab[..., above, :] = 7
    b = numbers(draw, ab.dtype.name, (*leading, n, draw(st.integers(0, 2))))
    types = [pt.TensorType(x.dtype, [1 if s == 1 else None for s in x.shape]) for x in (ab, b)]
    chosen = {"l_and_u": (below, above), "transposed": draw(st.booleans())}
    return Example((ab, b), chosen, tuple(types))


def _banded(ab, b, l_and_u, transposed):
    n = ab.shape[-1]
    rows, columns = np.indices((n, n))
    places = l_and_u[1] + rows - columns
    inside = (places >= 0) & (places < ab.shape[0])
    a = np.where(inside, ab[np.clip(places, 0, ab.shape[0] - 1), columns], 0)
    return _by_inverse(a.T if transposed else a, b)


def _tridiagonal(a, b, assume_a, transposed, lower):
    return _by_inverse(np.triu(np.tril(a.T if transposed else a, 1), -1), b)


def _turn(draw):
    return {"transposed": draw(st.booleans())}


def _with_diagonals(a, b, transposed, b_ndim=2):
    factors = pt.linalg.tridiagonal_lu_factor(a)
    return pt.linalg.tridiagonal_lu_solve(factors, b, b_ndim=b_ndim, transposed=transposed)


def _of_diagonals(a, b, transposed):
    return _tridiagonal(a, b, "tridiagonal", transposed, lower=True)


BANDED = [
    _record(
        "solve_banded",
        lambda ab, b, l_and_u, transposed: pt.linalg.solve_banded(
            l_and_u, ab, b, transposed=transposed
        ),
        _each(_banded, 2, 2),
        _draw_bands,
        SolveBanded,
    ),
    _record(
        "solve, tridiagonal",
        pt.linalg.solve,
        _solved(_tridiagonal),
        draw_matrices(positive, "b", params=_assumed("tridiagonal")),
        SolveBanded,
        differentiable=(),  # as above
    ),
    _record(
        "tridiagonal_lu_solve",
        _with_diagonals,
        _solved(_of_diagonals),
        draw_matrices(positive, "b", params=_turn, mixed=False),
        TridiagonalLU,
        SolveTridiagonalLU,
        differentiable=(),  # for the right side only: see test_tridiagonal.py
    ),
]

DETERMINANTS = [
    _record("det", pt.linalg.det, _each(np.linalg.det, 2), draw_matrices(dominated), Det),
    _record(
        "slogdet",
        lambda a: list(pt.linalg.slogdet(a)),
        _each(_slogdet, 2),
        draw_matrices(dominated),
        SlogDet,
    ),
]

# ---- decompositions by iterations, of which products are compared that are unique ----------------


def draw_rectangles(*rights, params=None, least=0, make=lambda draw, x: spread(x)):
    def draw_example(draw, smooth):
        kinds = DTYPES[:4:2] if smooth else DTYPES[:5]
        rows, columns = draw(st.integers(least, 3)), draw(st.integers(least, 3))
        leading = tuple(draw(st.lists(st.sampled_from([2, 1, 0]), max_size=1)))
        dtype = draw(st.sampled_from(kinds))
        values = [make(draw, numbers(draw, dtype, (*leading, rows, columns)))]
        if rights:
            values.append(numbers(draw, dtype, (*leading, rows, draw(st.integers(0, 2)))))
        return Example(tuple(values), params(draw) if params else {})

    return draw_example


def spread(x):
    """Matrices of full rank whose singular values differ."""
    m, n = x.shape[-2:]
    return (x + np.eye(m, n) * (np.arange(n) + 1) * 4).astype(x.dtype)


def repeated(draw, x):
    """The same, or matrices some or all of whose singular values are equal."""
    kind = draw(st.sampled_from(["spread", "identity", "design", "rotation", "some"]))
    m, n = x.shape[-2:]
    if kind == "identity":
        return np.broadcast_to(np.eye(m, n, dtype=x.dtype), x.shape).copy()
    if kind == "design" and m >= n > 0:  # each row is of one of some groups of equal sizes
        return np.broadcast_to(np.eye(n, dtype=x.dtype)[np.arange(m) % n], x.shape).copy()
    if kind in {"spread", "design"} or x.dtype.kind not in "fc":
        return spread(x)
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    s = np.ones_like(s) if kind == "rotation" else np.minimum(np.arange(s.shape[-1]) + 1, 2)
    return ((u * s[..., None, :]) @ vh).astype(x.dtype)


def symmetric_repeated(draw, x):
    """Hermitian matrices, some or all of whose eigenvalues are equal."""
    if x.dtype.kind not in "fc":
        return positive(x)
    kind = draw(st.sampled_from(["identity", "some", "projection"]))
    n = x.shape[-1]
    if kind == "identity":
        return np.broadcast_to(np.eye(n, dtype=x.dtype), x.shape).copy()
    q = np.linalg.qr(x + 2 * np.eye(n))[0]
    w = np.minimum(np.arange(n) + 1.0, 2) if kind == "some" else np.arange(n) % 2
    whole = (q * w) @ q.mT.conj()
    return ((whole + whole.mT.conj()) / 2).astype(x.dtype)


def _eigh(a, **how):
    w, v = pt.linalg.eigh(a, **how)
    return [w, (v * pt.tanh(w)[..., None, :]) @ v.mT.conj()]


def _eigh_reference(a, lower):
    w, v = np.linalg.eigh(a, "L" if lower else "U")
    return w, (v * np.tanh(w)) @ v.T.conj()


def _svd(a):
    u, s, vh = pt.linalg.svd(a, full_matrices=False)
    return [s, u @ vh]


def _svd_reference(a):
    if not a.size:
        return np.zeros(0, a.real.dtype), a
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return s, u @ vh


def _qr(a):
    if not a.size:
        q, r = np.linalg.qr(a)
        return q.astype(a.dtype), r.astype(a.dtype)
    return tuple(np.linalg.qr(a))


def _lstsq(a, b):
    x, residuals, rank, s = pt.linalg.lstsq(a, b)
    return [x, residuals, rank, s]


def _lstsq_reference(a, b):
    x = np.linalg.pinv(a) @ b if a.size else np.zeros((a.shape[1], b.shape[1]), a.dtype)
    rest = b - a @ x
    rank = np.int64(min(a.shape))
    return x, np.sum((rest * rest.conj()).real, axis=0), rank, _svd_reference(a)[0]


def _pinv(a):
    return np.linalg.pinv(a) if a.size else a.T


def _cut(draw):
    return {"rcond": draw(st.sampled_from([None, 1e-3]))}


def _power(draw):
    return {"n": draw(st.integers(-2, 5))}


def _order(draw):
    return {"p": draw(st.sampled_from([None, 2, -2, 1, -1, np.inf, "fro"]))}


def _chain(draw, smooth):
    sizes = [draw(st.integers(0, 4)) for _ in range(4)]
    dtype = draw(st.sampled_from(DTYPES[:1] if smooth else DTYPES[:6]))
    shapes = [(sizes[at], sizes[at + 1]) for at in range(3)]
    if draw(st.booleans()):
        shapes[0] = shapes[0][1:]
    if draw(st.booleans()):
        shapes[2] = shapes[2][:1]
    values = tuple(numbers(draw, dtype, shape) for shape in shapes)
    known = draw(st.booleans())
    types = [
        pt.TensorType(x.dtype, [n if known or n == 1 else None for n in x.shape]) for x in values
    ]
    return Example(values, {}, tuple(types))


def _expm(a):
    return scipy.linalg.expm(a) if a.size else a


def _expm_slope(a, direction):
    n = len(a)
    block = np.block([[a, direction], [np.zeros_like(a), a]])
    return scipy.linalg.expm(block)[:n, n:] if n else a


# Derivatives of what is made of the Ops here are checked in that file, too.
ITERATED = [
    _record("eigh", _eigh, _each(_eigh_reference, 2), draw_matrices(positive, params=_lower), Eigh),
    _record(
        "eigh, function of a matrix",
        lambda a: _eigh(a)[1],
        _each(lambda a: _eigh_reference(a, True)[1], 2),
        lambda draw, smooth: draw_matrices(lambda x: symmetric_repeated(draw, x))(draw, smooth),
        Eigh,
    ),
    _record(
        "eigvalsh",
        pt.linalg.eigvalsh,
        _each(lambda a: np.linalg.eigvalsh(a), 2),  # noqa: PLW0108 - NumPy's has another signature
        draw_matrices(positive),
        Eigh,
    ),
    _record("svd", _svd, _each(_svd_reference, 2), draw_rectangles(), SVD),
    _record(
        "svd, polar factor",
        lambda a: _svd(a)[1],
        _each(lambda a: _svd_reference(a)[1], 2),
        draw_rectangles(make=repeated),
        SVD,
    ),
    _record(
        "svdvals",
        pt.linalg.svdvals,
        _each(lambda a: _svd_reference(a)[0], 2),
        draw_rectangles(),
        SVD,
    ),
    _record("qr", lambda a: list(pt.linalg.qr(a)), _each(_qr, 2), draw_rectangles(), QR),
    _record(
        "pinv",
        pt.linalg.pinv,
        _each(lambda a, rcond: _pinv(a), 2),
        draw_rectangles(least=1, make=repeated, params=_cut),
        Pinv,
        second=True,
    ),
    _record(
        "pinv, Hermitian",
        lambda a: pt.linalg.pinv(a, hermitian=True),
        _each(_pinv, 2),
        draw_matrices(positive),
        Pinv,
        second=True,
    ),
    _record(
        "lstsq",
        _lstsq,
        _each(_lstsq_reference, 2, 2),
        draw_rectangles("b", least=1, make=repeated),
        Lstsq,
        differentiable=(),  # equal singular values, which are outputs, have no derivatives
    ),
    _record(
        "lstsq, solution",
        lambda a, b, rcond: pt.linalg.lstsq(a, b, rcond).x,
        _each(lambda a, b, rcond: _lstsq_reference(a, b)[0], 2, 2),
        draw_rectangles("b", least=1, make=repeated, params=_cut),
        Lstsq,
        second=True,
    ),
    _record(
        "matrix_rank",
        pt.linalg.matrix_rank,
        _each(lambda a: np.int64(np.linalg.matrix_rank(a)), 2),
        draw_rectangles(least=1),
        SVD,
        differentiable=(),
    ),
    _record(
        "cond",
        pt.linalg.cond,
        _each(lambda x, p: np.real(np.linalg.cond(x, p)), 2),  # complex in NumPy 2.0
        lambda draw, smooth: _nonempty(draw_matrices(dominated, params=_order), draw, smooth),
        differentiable=(),
    ),
    _record(
        "expm_derivative",
        ExpmDerivative(),
        _each(_expm_slope, 2, 2),
        _draw_pairs(triangular),
        ExpmDerivative,
    ),
    _record("expm", pt.linalg.expm, _each(_expm, 2), draw_matrices(triangular), Expm),
    _record(
        "matrix_power",
        pt.linalg.matrix_power,
        np.linalg.matrix_power,
        draw_matrices(dominated, params=_power),
        differentiable=(),
    ),
    _record(
        "multi_dot",
        lambda *factors: pt.linalg.multi_dot(factors),
        lambda *factors: np.linalg.multi_dot(factors),
        _chain,
    ),
]


def _nonempty(draw_example, draw, smooth):
    example = draw_example(draw, smooth)
    if example.values[0].shape[-1]:
        return example
    return Example((np.diag([1.0, 3.0]),), example.params)


RECORDS = [*FACTORS, *SOLVERS, *BANDED, *DETERMINANTS, *ITERATED]
