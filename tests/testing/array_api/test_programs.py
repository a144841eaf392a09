"""Programs in the array API's terms, run by the eager namespace and by NumPy, which conforms."""

import numpy as np
import pytest

import phintys
from phintys.testing import eager

ARRAYS = {
    "x": np.array([[3.0, -1.5, 2.0], [0.5, 4.0, -2.25]]),
    "m": np.array([[[4.0, 1.0], [2.0, 3.0]], [[2.0, -1.0], [-1.0, 2.5]]]),
    "v": np.array([1.0, -2.0, 0.5]),
    "w": np.array([2.0, 0.25, -1.0]),
    "f": np.array([1.5, 2.5], "float32"),
    "i": np.array([3, 1, 2, 3], "int32"),
    "u": np.array([7, 0, 255], "uint8"),
    "b": np.array([[True, False, True], [False, False, True]]),
    "c": np.array([1 + 2j, -0.5j, 3.0 + 0j]),
    "k": np.array([1, 0]),
    "one": np.array(2.5),
    "none": np.zeros((2, 0)),
}
"""What programs call their arrays."""

FUNCTIONS = """
arange(5); arange(1, 7, 2); arange(0.0, 1.0, 0.25); arange(3, dtype=xp.float32)
asarray(1.5); asarray([[1, 2], [3, 4]]); asarray([1, 2], dtype=xp.int8); asarray(True); asarray(2j)
zeros((2, 3)); zeros(2, dtype=xp.int16); ones((2,), dtype=xp.bool); full((2, 2), 7); full(3, 1.5)
full((), True); full_like(x, 2); ones_like(i); zeros_like(f, dtype=xp.int64)
eye(3); eye(2, 3, k=1, dtype=xp.float32); linspace(0.0, 1.0, 5); linspace(0, 4, 4, endpoint=False)
linspace(0, 1, num=3, dtype=xp.float32); tril(x); triu(x, k=1); meshgrid(v, w)
meshgrid(v, i, indexing='ij')
astype(x, xp.int32); astype(b, xp.float32); astype(u, xp.int64, copy=False)
can_cast(xp.int32, xp.float64); can_cast(x, xp.float32); isdtype(xp.int8, 'signed integer')
isdtype(xp.float32, ('integral', 'real floating')); isdtype(xp.bool, xp.bool)
result_type(xp.int8, xp.uint8); result_type(f, xp.float64); result_type(i, 2)
iinfo(xp.int16).max; iinfo(xp.uint8).bits; finfo(xp.float32).bits
broadcast_arrays(x, v); broadcast_shapes((2, 1), (3,)); broadcast_to(v, (2, 3))
concat([x, x]); concat([v, i], axis=None); concat((x, x), axis=1); concat([i, u])
expand_dims(x, axis=1); expand_dims(x, axis=-1); flip(x); flip(x, axis=1); moveaxis(m, 0, -1)
moveaxis(m, (0, 1), (1, 0)); permute_dims(m, (2, 0, 1)); repeat(v, 2); repeat(x, 2, axis=0)
repeat(v, xp.asarray([1, 0, 2])); reshape(x, (3, 2)); reshape(x, (-1,)); reshape(x, (6,), copy=True)
roll(x, 1); roll(x, (1, -1), axis=(0, 1)); squeeze(xp.zeros((1, 2, 1)), axis=0)
squeeze(xp.zeros((1, 2, 1)), axis=(0, 2)); stack([v, w]); stack([v, w], axis=-1); tile(v, (2, 1))
unstack(x); unstack(x, axis=1); matrix_transpose(m)
argmax(x); argmax(x, axis=0); argmin(x, axis=1, keepdims=True); nonzero(b); where(b, x, -x)
where(b, x, 0); searchsorted(xp.sort(v), w); searchsorted(xp.sort(v), w, side='right')
searchsorted(v, w, sorter=xp.argsort(v)); count_nonzero(x, axis=0); count_nonzero(b)
argsort(i); argsort(x, axis=0, stable=False); sort(x); sort(x, axis=0); sort(u)
take(x, k, axis=1); take(v, k); take_along_axis(x, xp.argsort(x)); isin(i, k); isin(i, 3)
isin(i, k, invert=True); unique_values(xp.flip(i)).shape
all(b); all(b, axis=0); any(b, axis=1, keepdims=True); any(none); all(none, axis=1)
diff(v); diff(x, n=2); diff(x, axis=0); diff(v, prepend=w, append=xp.asarray([1.0]))
max(x); max(i, axis=0); min(x, axis=(0, 1)); min(u, keepdims=True); mean(x); mean(x, axis=1)
mean(c); mean(f); prod(x, axis=0); prod(i); prod(u); sum(b); sum(i); sum(u, dtype=xp.uint8)
sum(x, axis=(0, 1), keepdims=True); sum(none); sum(f, dtype=xp.float64); std(x); var(x, axis=0)
std(x, axis=1, correction=1, keepdims=True); var(v, correction=0.5)
cumulative_sum(v); cumulative_sum(x, axis=1, include_initial=True); cumulative_sum(i)
cumulative_prod(v); cumulative_prod(x, axis=0, dtype=xp.float32); cumulative_prod(u)
matmul(x, xp.matrix_transpose(x)); matmul(m, m); tensordot(x, x); tensordot(x, x, axes=((1,), (1,)))
tensordot(v, w, axes=0); vecdot(v, w); vecdot(c, c); vecdot(x, x, axis=0)
clip(x, 0, 1); clip(x, min=-1); clip(x, max=xp.asarray([0.0, 1.0, 2.0])); clip(i, 1, 2); clip(x)
add(x, 1); subtract(2.0, v); multiply(f, 2); divide(i, 2); divide(f, i[:2]); pow(v, 2); pow(2, i)
maximum(v, 0); logaddexp(v, w); hypot(3.0, v); copysign(v, w); nextafter(f, 0.0); atan2(v, w)
floor_divide(i, 2); remainder(i, -2); equal(i, 3); less(x, v); bitwise_and(i, 2); logical_not(b)
abs(c); abs(u); real(c); imag(c); conj(c); sign(c); signbit(v); reciprocal(v); round(x); round(c)
square(u); sqrt(c); exp(c); log(f); trunc(x); ceil(i); isnan(x); isfinite(c); isinf(v); positive(v)
linalg.cholesky(m @ m.mT); linalg.cholesky(m @ m.mT, upper=True); linalg.cross(v, w)
linalg.det(m); linalg.diagonal(x); linalg.diagonal(m, offset=1); linalg.eigvalsh(m @ m.mT)
linalg.inv(m); linalg.matmul(m, m); linalg.matrix_norm(m); linalg.matrix_norm(x, ord=1)
linalg.matrix_norm(x, ord='nuc', keepdims=True); linalg.matrix_power(m, 3)
linalg.matrix_power(m, -1); linalg.matrix_rank(m); linalg.matrix_rank(x, rtol=0.5)
linalg.matrix_transpose(x); linalg.outer(v, w)
linalg.pinv(x); linalg.pinv(x, rtol=1e-3); linalg.slogdet(m); linalg.solve(m, m); linalg.solve(m, k)
linalg.svdvals(x); linalg.tensordot(x, x); linalg.trace(x); linalg.trace(m, offset=1)
linalg.trace(m, dtype=xp.float32); linalg.vecdot(v, w); linalg.vector_norm(x)
linalg.vector_norm(x, axis=1, ord=1); linalg.vector_norm(c, ord=3, keepdims=True)
linalg.vector_norm(x, ord=xp.inf)
fft.fft(c); fft.fft(x, n=4, axis=0); fft.ifft(c, norm='ortho'); fft.fftn(x); fft.ifftn(x, axes=(0,))
fft.fftn(x, s=(4, 4), axes=(0, 1), norm='forward'); fft.rfft(v); fft.rfft(f); fft.irfft(c)
fft.irfft(c, n=5); fft.rfftn(x); fft.irfftn(x); fft.hfft(c); fft.ihfft(v, n=4)
fft.fftfreq(5); fft.fftfreq(4, d=0.5, dtype=xp.float32); fft.rfftfreq(5)
fft.fftshift(v); fft.ifftshift(x, axes=(1,))
e; inf; nan; pi; newaxis
"""
EXPRESSIONS = """
x[0]; x[0, 1]; x[..., 1:]; x[:, ::-1]; x[None, 0]; x[b]; x[k, :]; x[k, k]; x[-1, ..., xp.newaxis]
x + 1; 1 - x; x * f[0]; 2 / v; i // 2; 7 % i; v ** 2; 2 ** i; -u; +x; abs(x); ~i; ~b; i & 1; 1 | i
i ^ i; i << 1; i >> 1; m @ m; x == x; x != 0; x < v; x >= 1; b & b; b | True; i + True; i * 2.5
x.T; m.mT; x.shape; x.ndim; x.size; x.dtype; x.device; x.to_device('cpu')
bool(one); int(one); float(one); complex(one); [10, 20, 30][xp.asarray(1)]
"""


def _split(text):
    return [one.strip() for line in text.strip().splitlines() for one in line.split(";")]


PROGRAMS = [f"xp.{call}" for call in _split(FUNCTIONS)] + _split(EXPRESSIONS)


def _run(program, xp, make):
    """Return the value of a program, whose functions are those of a namespace."""
    return eval(program, {"xp": xp} | {name: make(array) for name, array in ARRAYS.items()})


def _leaves(value):
    """Return the arrays of a result as NumPy's, and everything else as it is."""
    if isinstance(value, tuple | list):
        return [leaf for entry in value for leaf in _leaves(entry)]
    return [np.asarray(value) if isinstance(value, eager.Array) else value]


def _assert_same(found, wanted):
    if isinstance(wanted, int) and isinstance(found, np.ndarray):
        wanted = np.int64(wanted)  # by a function of an older NumPy
    assert type(found) is type(wanted) or isinstance(wanted, np.generic | np.ndarray)
    if isinstance(wanted, np.generic | np.ndarray):
        wanted = np.asarray(wanted)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        exact = wanted.dtype.kind in "biu"
        tolerance = 0 if exact else 64 * np.finfo(wanted.dtype).eps
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
    else:
        assert found == wanted or found is wanted is None or np.isnan(found) == np.isnan(wanted)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_of_the_standard_has_numpys_results(program, mode):
    try:
        wanted = _leaves(_run(program, np, np.copy))
    except (AttributeError, TypeError) as error:  # an older NumPy
        pytest.skip(f"NumPy {np.__version__} does not run it: {error}")
    with phintys.config.change_flags(mode=mode):
        found = _leaves(_run(program, eager, eager.Array))
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        _assert_same(one, other)
