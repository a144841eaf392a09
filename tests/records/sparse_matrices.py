"""Ops on sparse matrices: products, solutions, determinants, and what patterns are made of."""

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys import sparse
from phintys.sparse import linalg
from phintys.sparse.determinants import (
    InverseAtEntries,
    LogDet,
    LowerFactor,
    RootFactor,
    RootFactorGradient,
    SelectedInverse,
)
from phintys.sparse.factors import Factorize
from phintys.sparse.indexing import EntryPlaces
from phintys.sparse.parts import ElementsAt, FromParts, Parts, PlacesIn
from phintys.sparse.patterns import (
    CheckedPattern,
    CommonPattern,
    Converted,
    MergedPattern,
    ProductPattern,
)
from phintys.sparse.products import (
    FirstAtEntries,
    ProductAtEntries,
    ProductByColumns,
    ProductByRows,
    ProductGradients,
    ProductOfRows,
    ProductWithPattern,
    SecondAtEntries,
)
from phintys.sparse.solving import (
    PreconditionedIteration,
    SolveByFactors,
    SolveByIteration,
    SolveTriangularMatrix,
)
from phintys.testing import EXACT, Example, OpRecord, Tolerance

SUMS = Tolerance("sums may be taken in another order", ulps=64, normwise=True)
SOLVED = Tolerance("solutions have a condition", ulps=2**14, normwise=True)
FLOATS = ("float64", "float32")


def _type(dtype, ndim):
    return pt.TensorType(dtype, (None,) * ndim)


def _pattern(rng, shape):
    full = rng.random(shape) < 0.4
    matrix = sp.csr_array(full)
    return matrix.indices.astype("int32"), matrix.indptr.astype("int32")


# ---- products ------------------------------------------------------------------------------------


def _product(of_rows, of_columns, has_elements, widths=((), (3,), (9,))):
    """Return a rule for examples: elements and a dense operand, or two dense operands."""

    def draw(draw, smooth):
        rng = np.random.default_rng(draw(st.integers(0, 2**16)))
        shape = draw(st.sampled_from([(4, 5), (1, 3), (3, 0), (0, 2)]))
        dtype = draw(st.sampled_from(FLOATS if smooth else (*FLOATS, "int16", "complex128")))
        columns = draw(st.sampled_from(widths))
        indices, indptr = _pattern(rng, shape)
        sizes = [(len(indices),)] if has_elements else []
        sizes += [(shape[0], *columns)] if of_rows else []
        sizes += [(shape[1], *columns)] if of_columns else []
        values = tuple((4 * rng.uniform(-1, 1, size)).astype(dtype) for size in sizes)
        types = tuple(_type(dtype, value.ndim) for value in values)
        params = {"indices": indices, "indptr": indptr, "columns": shape[1]}
        return Example(values, params, types)

    return draw


def _csr(data, indices, indptr, columns):
    return sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, columns))


def _of_rows(y, x, indices, indptr, columns):
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    products = y[rows] * x[indices]
    return products if products.ndim == 1 else products.sum(1, dtype=y.dtype)


def _product_by_columns(d, y, indices, indptr, columns):
    return ProductByColumns()(d, y, indices, indptr, columns)


PRODUCTS = [
    OpRecord(
        name="ProductByRows",
        build=lambda d, x, indices, indptr, columns: ProductByRows()(d, x, indices, indptr),
        reference=lambda d, x, **pattern: _csr(d, **pattern) @ x,
        draw=_product(False, True, True),
        ops=(ProductByRows,),
        tolerance=SUMS,
    ),
    OpRecord(
        name="ProductByColumns",
        build=_product_by_columns,
        reference=lambda d, y, **pattern: _csr(d, **pattern).T @ y,
        draw=_product(True, False, True),
        ops=(ProductByColumns,),
        tolerance=SUMS,
    ),
    OpRecord(
        name="ProductOfRows",
        build=lambda y, x, indices, indptr, columns: ProductOfRows()(y, x, indices, indptr),
        reference=_of_rows,
        draw=_product(True, True, False),
        ops=(ProductOfRows,),
        tolerance=SUMS,
    ),
    OpRecord(
        name="ProductGradients",
        build=lambda d, y, x, **pattern: ProductGradients()(d, x, y, **pattern, return_list=True),
        reference=lambda d, y, x, **pattern: [
            _of_rows(y, x, **pattern),
            _csr(d, **pattern).T @ y,
        ],
        draw=_product(True, True, True, widths=((),)),
        ops=(ProductGradients,),
        tolerance=SUMS,
        differentiable=(),  # it comes after differentiation
        rop=False,
    ),
]


def _three_matrices(draw, smooth):
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    m, k, n = draw(st.sampled_from([(4, 5, 3), (1, 3, 70), (3, 0, 2), (0, 2, 4), (40, 9, 5)]))
    dtype = draw(st.sampled_from(FLOATS if smooth else (*FLOATS, "int16", "complex128")))
    patterns = [_pattern(rng, shape) for shape in ((m, k), (k, n), (m, n))]
    values = tuple((4 * rng.uniform(-1, 1, len(p[0]))).astype(dtype) for p in patterns)
    params = {"patterns": patterns, "n": n}
    return Example(values, params, (_type(dtype, 1),) * 3)


def _entry_products(*elements, patterns, n):
    """Return each of three products of two of the matrices, at the entries of the third."""
    arrays = [array for pattern in patterns for array in pattern]
    ops = ProductAtEntries(), FirstAtEntries(), SecondAtEntries()
    return [op(*(elements[at] for at in op.operands), *arrays, n) for op in ops]


def _full_entry_products(*elements, patterns, n):
    widths = len(patterns[1][1]) - 1, n, n
    x, y, z = (
        _csr(data, *pattern, width).toarray()
        for data, pattern, width in zip(elements, patterns, widths, strict=True)
    )
    products = (patterns[2], x @ y), (patterns[0], z @ y.T), (patterns[1], x.T @ z)
    return [
        full[np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), indices]
        for (indices, indptr), full in products
    ]


PRODUCTS += [
    OpRecord(
        name="products of sparse matrices at entries",
        build=_entry_products,
        reference=_full_entry_products,
        draw=_three_matrices,
        ops=(ProductAtEntries, FirstAtEntries, SecondAtEntries),
        skip=("batching",),
        tolerance=SUMS,
    ),
]


# ---- systems and determinants --------------------------------------------------------------------


def _matrix(rng, n, *, is_positive):
    full = np.where(rng.random((n, n)) < 0.3, rng.uniform(-1, 1, (n, n)), 0) + 3 * np.eye(n)
    return full @ full.T if is_positive else full


def _system(is_positive=False, has_right=True):
    def draw(draw, smooth):
        rng = np.random.default_rng(draw(st.integers(0, 2**16)))
        n = draw(st.sampled_from([1, 4]))
        matrix = sp.csr_array(_matrix(rng, n, is_positive=is_positive))
        columns = draw(st.sampled_from([(), (2,)]))
        values = [matrix.data] + [rng.uniform(-1, 1, (n, *columns))] * has_right
        types = tuple(_type("float64", value.ndim) for value in values)
        params = {"indices": matrix.indices, "indptr": matrix.indptr}
        return Example(tuple(values), params, types)

    return draw


def _square(data, indices, indptr):
    n = len(indptr) - 1
    return sparse.from_parts(data, indices, indptr, (n, n))


def _dense(data, indices, indptr):
    n = len(indptr) - 1
    return sp.csr_array((data, indices, indptr), shape=(n, n)).toarray()


def _solution(solve, used=lambda a: a):
    return (
        lambda d, b, **pattern: solve(_square(d, **pattern), b),
        lambda d, b, **pattern: np.linalg.solve(used(_dense(d, **pattern)), b),
    )


def _record(name, functions, draw, ops, **facts):
    build, reference = functions
    # Factors are values of another Type, which has no batches.
    facts = {"tolerance": SOLVED, "skip": ("batching",)} | facts
    return OpRecord(name=name, build=build, reference=reference, draw=draw, ops=ops, **facts)


def _inverse(data, indices, indptr):
    a = _dense(data, indices, indptr)
    rows = np.repeat(np.arange(len(a)), np.diff(indptr))
    return np.linalg.inv(a).T[rows, indices]


def _build_inverse(data, indices, indptr, is_positive=False):
    factors = Factorize(is_positive)(data, indices, indptr, len(indptr) - 1)
    # The arrays are those of the transposed matrix in the format csc.
    return InverseAtEntries(is_positive)(factors, data, indices, indptr)


def _selected(data, indices, indptr):
    factors = Factorize(True)(data, indices, indptr, len(indptr) - 1)
    lower = LowerFactor()(factors, data, return_list=True)
    return SelectedInverse()(*lower, indices, indptr)


def _covariance(data, indices, indptr):
    root = linalg.solve_root(_square(data, indices, indptr), np.eye(len(indptr) - 1))
    return root @ root.T


def _slope_of_root(data, indices, indptr):
    """Return the gradient of the sum of logarithms of the factor's diagonal."""
    factors = Factorize(True)(data, indices, indptr, len(indptr) - 1)
    elements, rows, starts, order = RootFactor()(factors, data, indices, indptr, return_list=True)
    first = starts[:-1]
    gradient = pt.set_subtensor(pt.zeros_like(elements)[first], 1 / elements[first])
    return RootFactorGradient()(gradient, elements, rows, starts, order, indices, indptr)


SYSTEMS = [
    _record(
        "solve of a sparse system", _solution(linalg.solve), _system(), (Factorize, SolveByFactors)
    ),
    _record(
        "solve_triangular of a sparse system",
        _solution(linalg.solve_triangular, np.tril),
        _system(),
        (SolveTriangularMatrix,),
    ),
    _record("gmres of a sparse system", _solution(linalg.gmres), _system(), (SolveByIteration,)),
    _record(
        "slogdet of a sparse matrix",
        (
            lambda d, **pattern: list(linalg.slogdet(_square(d, **pattern))),
            lambda d, **pattern: [np.asarray(v) for v in np.linalg.slogdet(_dense(d, **pattern))],
        ),
        _system(has_right=False),
        (LogDet,),
    ),
    _record(
        "gmres with a preconditioner",
        _solution(lambda a, b: linalg.gmres(a, b, M=lambda r: r / a.diagonal())),
        _system(),
        (PreconditionedIteration,),
        tolerance=Tolerance("it stops at rtol", ulps=2**24, normwise=True),
    ),
    _record(
        "InverseAtEntries",
        (_build_inverse, _inverse),
        _system(has_right=False),
        (InverseAtEntries,),
    ),
    _record(
        "SelectedInverse",
        (_selected, _inverse),
        _system(is_positive=True, has_right=False),
        (LowerFactor, SelectedInverse),
        differentiable=(),  # the derivative is that of InverseAtEntries
    ),
    _record(
        "solve_root of a sparse matrix",
        (_covariance, lambda d, **pattern: np.linalg.inv(_dense(d, **pattern))),
        _system(is_positive=True, has_right=False),
        (RootFactor,),
        differentiable=(),  # it is that of symmetric matrices
        rop=False,
    ),
    _record(
        "RootFactorGradient",
        (_slope_of_root, lambda d, **pattern: _inverse(d, **pattern) / 2),
        _system(is_positive=True, has_right=False),
        (RootFactorGradient,),
        differentiable=(),
        rop=False,
    ),
]


# ---- patterns ------------------------------------------------------------------------------------


def _patterns(count, *more):
    """Return a rule for examples: patterns of one shape, and numbers."""

    def draw(draw, smooth):
        rng = np.random.default_rng(draw(st.integers(0, 2**16)))
        patterns = [_pattern(rng, (4, 4)) for _ in range(count)]
        arrays = [array for pattern in patterns for array in pattern]
        arrays += [np.asarray(value, "int64") for value in more]
        types = tuple(_type(array.dtype, array.ndim) for array in arrays)
        return Example(tuple(arrays), {}, types)

    return draw


def _numbered(indices, indptr):
    """Return a matrix of the numbers of entries, from 1 on; others are 0."""
    return sp.csr_array((np.arange(1, len(indices) + 1), indices, indptr), shape=(4, 4)).toarray()


def _arrays(full, *places):
    matrix = sp.csr_array(full)
    return [np.asarray(v, "int32") for v in (matrix.indices, matrix.indptr, *places)]


def _union(a, b, c, d):
    x, y = _numbered(a, b), _numbered(c, d)
    found = (x > 0) | (y > 0)
    numbers = np.cumsum(found).reshape(4, 4) - 1
    return _arrays(found, numbers[x > 0], numbers[y > 0])


def _intersection(a, b, c, d):
    x, y = _numbered(a, b), _numbered(c, d)
    common = (x > 0) & (y > 0)
    return _arrays(common, x[common] - 1, y[common] - 1)


def _turned(indices, indptr, size):
    x = _numbered(indices, indptr).T
    return _arrays(x > 0, x[x > 0] - 1)


def _entries(indices, indptr, rows, columns, size):
    at = _numbered(indices, indptr)[rows, columns]
    return [np.where(at > 0, at - 1, len(indices))]


def _multiplied(a, b, c, d, columns, width):
    x, y = _numbered(a, b), _numbered(c, d)
    return _arrays((x > 0).astype(int) @ (y > 0))


def _places_in(a, b, c, d):
    x, y = _numbered(a, b), _numbered(c, d)
    at = y[x > 0]
    return np.where(at > 0, at - 1, len(c))


def _product_factors(draw, smooth):
    found = _patterns(2, 4, 4)(draw, smooth)
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    dtype = draw(st.sampled_from((*FLOATS, "int16", "complex64")))
    lengths = (len(found.values[at]) for at in (0, 2))
    elements = [(4 * rng.uniform(-1, 1, length)).astype(dtype) for length in lengths]
    values = (*elements, *found.values)
    return Example(values, {}, tuple(_type(v.dtype, v.ndim) for v in values))


def _elements_of_product(x, y, a, b, c, d, columns, width):
    indices, indptr = _multiplied(a, b, c, d, columns, width)
    shape = (len(b) - 1, 4)
    full = sp.csr_array((x, a, b), shape=shape) @ sp.csr_array((y, c, d), shape=shape)
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return [indices, indptr, full.toarray()[rows, indices]]


def _of_pattern(op, reference, draw, tolerance=EXACT):
    return OpRecord(
        name=type(op).__name__,
        build=lambda *inputs: op(*inputs, return_list=True),
        reference=reference,
        draw=draw,
        ops=(type(op),),
        differentiable=(),
        rop=False,
        skip=("batching",),
        tolerance=tolerance,
    )


PATTERNS = [
    _of_pattern(MergedPattern(), _union, _patterns(2)),
    _of_pattern(CommonPattern(), _intersection, _patterns(2)),
    _of_pattern(Converted(), _turned, _patterns(1, 4)),
    _of_pattern(CheckedPattern(), lambda i, p, m, n: [i, p], _patterns(1, 4, 4)),
    _of_pattern(ProductPattern(), _multiplied, _patterns(2, 4, 4)),
    _of_pattern(ProductWithPattern(), _elements_of_product, _product_factors, SUMS),
    _of_pattern(PlacesIn(), lambda *v: [_places_in(*v)], _patterns(2)),
    _of_pattern(EntryPlaces(), _entries, _patterns(1, [3, 0, -1], [2, -4, 1], 4)),
]


# ---- matrices and what they are made of ----------------------------------------------------------


def _elements(draw, smooth):
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    format = draw(st.sampled_from(["csr", "csc"]))
    indices, indptr = _pattern(rng, (4, 4))
    dtype = draw(st.sampled_from(FLOATS))
    data = rng.uniform(-1, 1, len(indices)).astype(dtype)
    params = {"indices": indices, "indptr": indptr, "format": format}
    return Example((data,), params, (_type(dtype, 1),))


def _there_and_back(data, indices, indptr, format):
    made = FromParts(format)(data, indices, indptr, [4, 4])
    return Parts()(made)[0]


def _at_others(draw, smooth):
    example = _elements(draw, smooth)
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    others, other_indptr = _pattern(rng, (4, 4))
    params = example.params | {"others": others, "other_indptr": other_indptr}
    del params["format"]
    return Example(example.values, params, example.types)


def _built_at(data, indices, indptr, others, other_indptr):
    return ElementsAt()(data, indices, indptr, others, other_indptr)


def _taken_at(data, indices, indptr, others, other_indptr):
    full = sp.csr_array((data, indices, indptr), shape=(4, 4)).toarray()
    return full[_numbered(others, other_indptr) > 0]


MATRICES = [
    OpRecord(
        name="ElementsAt",
        build=_built_at,
        reference=_taken_at,
        draw=_at_others,
        ops=(ElementsAt,),
        skip=("batching",),
        tolerance=EXACT,
    ),
    OpRecord(
        name="Parts of FromParts",
        build=_there_and_back,
        reference=lambda data, **_: data,
        draw=_elements,
        ops=(Parts, FromParts),
        skip=("batching",),
    ),
]

RECORDS = [*PRODUCTS, *SYSTEMS, *PATTERNS, *MATRICES]
