"""Every row of the table of scalar ops, on arrays that broadcast."""

import numpy as np

import phintys.scalar as ps
import phintys.tensor as pt
from phintys.scalar import SCALAR_OPS, bessel, bessel_recurrence
from phintys.scalar.row_kinds import FloatRow
from phintys.tensor.type import DTYPES
from phintys.testing import EXACT, ROUNDED, Argument, OpRecord, Tolerance
from phintys.testing.scalar_domains import DOMAINS, complex_, complex_from_polar
from phintys.testing.strategies import broadcastable

# Named differently as a tensor function, or only there as a scalar op.
FUNCTIONS = {"identity": pt.tensor_copy}

CORRECTLY_ROUNDED = {
    "abs",
    "add",
    "int_div",
    "mul",
    "neg",
    "pos",
    "sign",
    "sub",
    *(name for name, domain in DOMAINS.items() if not {"f", "c"} & set(domain.kinds)),
    *("eq", "ge", "gt", "isfinite", "isinf", "isnan", "le", "lt", "ne", "signbit"),
    *("logical_and", "logical_not", "logical_or", "logical_xor"),
    *("ceil", "floor", "rint", "trunc", "clip", "fmax", "fmin", "identity", "maximum", "minimum"),
    *("second", "switch", "conj", "real", "imag"),
}

TOLERANCES = {
    "gammaln": Tolerance("SciPy's loses digits towards 1 and 2, where it is 0", ulps=32),
    "log_gamma_bend": Tolerance(
        "differences of eighth order multiply the rounding errors of log_gamma_slope", ulps=50_000
    ),
    "log1mexp": Tolerance("the reference takes log(1 - e^x) as it stands", ulps=1000),
    "mul": Tolerance(
        "products of complex numbers may be rounded once or twice, depending on strides",
        per_dtype={"complex64": 4, "complex128": 4},
    ),
}

# References that hold for finite numbers in the interval only.
NO_SPECIAL = {"complex", "complex_from_polar", "log1mexp", "trigamma"}


def _far_from_integers(x):
    return not x.size or np.min(np.abs(x - np.rint(x))) > 1e-3


SMOOTH = {
    "ceil": _far_from_integers,
    "floor": _far_from_integers,
    "trunc": _far_from_integers,
    "rint": lambda x: all(_far_from_integers(part + 0.5) for part in (np.real(x), np.imag(x))),
    "round_half_away": lambda x: _far_from_integers(x + 0.5),
    "mod": lambda x, y: _far_from_integers(np.true_divide(x, y)),
    "fmod": lambda x, y: _far_from_integers(np.true_divide(x, y)),
    "int_div": lambda x, y: _far_from_integers(np.true_divide(x, y)),
}


def _reference(row, function):
    if not isinstance(row, FloatRow):
        return function

    def reference(*arrays):
        """Compute integers in float64, and float16 in float32."""
        wide = np.result_type(*("float64" if a.dtype.kind in "biu" else a.dtype for a in arrays))
        computed = np.dtype("float32") if wide == np.float16 else wide
        return np.asarray(function(*(a.astype(computed) for a in arrays))).astype(wide)

    return reference


def _together(function):
    """Return a function that casts its arguments to the floating dtype of all of them."""

    def reference(*arrays):
        wide = ("float64" if a.dtype.kind in "biu" else a.dtype for a in arrays)
        dtype = np.result_type(*wide)
        return function(*(a.astype(dtype) for a in arrays))

    return reference


REFERENCES = {
    "complex": _together(complex_),
    "complex_from_polar": _together(complex_from_polar),
    # SciPy's lose digits; tests/scalar/test_bessel.py compares these with mpmath.
    "j0": _reference(SCALAR_OPS["j0"], bessel.j0),
    "j1": _reference(SCALAR_OPS["j1"], bessel.j1),
    "iv": _reference(SCALAR_OPS["iv"], bessel.iv),
    "ive": _reference(SCALAR_OPS["ive"], bessel.ive),
    "kv": _reference(SCALAR_OPS["kv"], bessel.kv),
    "kve": _reference(SCALAR_OPS["kve"], bessel.kve),
    "jv": _reference(SCALAR_OPS["jv"], bessel_recurrence.jv),
    "yv": _reference(SCALAR_OPS["yv"], bessel_recurrence.yv),
}

# With derivatives for real numbers only.
REAL_DERIVATIVES = {"digamma"}


def _argument(name, domain, position):
    kinds = "i" if position in domain.integers else domain.kinds
    constant = position in {*domain.undefined, *domain.integers}
    return Argument(
        dtypes=tuple(d for d in DTYPES if np.dtype(d).kind in kinds),
        interval=domain.intervals[position],
        int_interval=domain.interval(position, "i"),
        special=not (constant or name in NO_SPECIAL or (name, position) == ("pow", 1)),
        whole=position in domain.whole,
        smooth_dtypes=("float32", "float64") if name in REAL_DERIVATIVES else None,
    )


def _record(name, domain):
    count = len(domain.intervals)
    return OpRecord(
        name=name,
        build=FUNCTIONS.get(name) or getattr(pt, name),
        reference=REFERENCES.get(name) or _reference(SCALAR_OPS[name], domain.function),
        arguments=tuple(_argument(name, domain, position) for position in range(count)),
        shapes=broadcastable(count),
        smooth=SMOOTH.get(name),
        ops=(SCALAR_OPS[name],),
        mixed="f" in domain.kinds,  # NumPy has no bitwise operations on int64 and uint64
        broadcasts=True,
        tolerance=TOLERANCES.get(name, EXACT if name in CORRECTLY_ROUNDED else ROUNDED),
        differentiable=tuple(
            p for p in range(count) if p not in {*domain.undefined, *domain.integers}
        ),
    )


def _cast(dtype):
    real = tuple(d for d in DTYPES if not d.startswith("complex"))
    return OpRecord(
        name=f"cast_{dtype}",
        build=pt.Elemwise(ps.CASTS[dtype]),
        reference=lambda x: x.astype(dtype),
        arguments=(
            Argument(
                dtypes=DTYPES if dtype.startswith(("complex", "bool")) else real,
                # What a float outside of an integer's range becomes is up to the processor.
                special=not dtype.startswith(("int", "uint")),
                interval=(0.1, 0.9) if dtype[0] in "iub" else (-3.0, 3.0),
                int_interval=(-3.0, 3.0),
            ),
        ),
        ops=(ps.CASTS[dtype],),
    )


RECORDS = [_record(name, domain) for name, domain in DOMAINS.items()] + [
    _cast(dtype) for dtype in ps.CASTS
]
