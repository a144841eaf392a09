"""Fourier transforms, against ``scipy.fft``."""

import numpy as np
import scipy.fft
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.tensor.fourier import FFT, IRFFT, RFFT
from phintys.testing import Example, OpRecord, Tolerance

TRANSFORMED = Tolerance("sums are taken in another order", ulps=64, normwise=True)
REAL = ("float64", "float32", "float16", "int64", "bool")
COMPLEX = ("complex128", "complex64")


def numbers(draw, dtype, shape):
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    x = rng.uniform(-2, 2, shape)
    if dtype.startswith("complex"):
        return (x + 1j * rng.uniform(-2, 2, shape)).astype(dtype)
    return (x > 0 if dtype == "bool" else x).astype(dtype)


def _draw(dtypes, *, several):
    """Return a draw of an array, and of the arguments of a transform."""

    def draw_example(draw, smooth):
        kinds = [dtype for dtype in dtypes if dtype in {"float64", "complex128"} or not smooth]
        rank = draw(st.integers(1, 3))
        shape = [draw(st.integers(1, 4)) for _ in range(rank)]
        count = draw(st.integers(1, min(rank, 2))) if several else 1
        axes = draw(st.permutations(range(rank)))[:count]
        if rank > count and draw(st.integers(0, 4)) == 0:
            shape[next(axis for axis in range(rank) if axis not in axes)] = 0
        x = numbers(draw, draw(st.sampled_from(kinds)), tuple(shape))
        points = [draw(st.integers(2, 5)) for _ in axes]
        params = {"norm": draw(st.sampled_from(["backward", "ortho", "forward"]))}
        # By default there are 2 * (m - 1) points of half a spectrum, which may be none.
        is_stated = draw(st.booleans()) or shape[axes[-1]] == 1
        if several:
            params |= {"axes": tuple(axes), "s": tuple(points) if is_stated else None}
        else:
            params |= {"axis": axes[0] - rank, "n": points[0] if is_stated else None}
        known = draw(st.booleans())
        type_ = pt.TensorType(x.dtype, [n if known or n == 1 else None for n in x.shape])
        return Example((x,), params, (type_,))

    return draw_example


def _wide(x):
    return x.astype("float64") if x.dtype.kind in "iub" else x


def _record(names, dtypes, op, *, several=False):
    """One record for functions that are the same Op's: a parameter says which one is called."""
    draw_example = _draw(dtypes, several=several)

    def draw_named(draw, smooth):
        example = draw_example(draw, smooth)
        params = {"name": draw(st.sampled_from(names)), **example.params}
        return Example(example.values, params, example.types)

    return OpRecord(
        name=", ".join(f"fft.{name}" for name in names),
        build=lambda x, name, **params: getattr(pt.fft, name)(x, **params),
        reference=lambda x, name, **params: getattr(scipy.fft, name)(_wide(x), **params),
        draw=draw_named,
        ops=(op,),
        tolerance=TRANSFORMED,
        broadcasts=True,
        # Those of transforms along one axis are the same.
        differentiable=None if several else (),
    )


def _shift(draw, smooth):
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=2)))
    x = numbers(draw, "float64", shape)
    axes = draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    return Example((x,), {"axes": axes})


def _frequencies(draw, smooth):
    return Example((np.float64(draw(st.floats(0.5, 2.0))),), {"n": draw(st.integers(1, 6))})


RECORDS = [
    _record(["fft", "ifft"], REAL + COMPLEX, FFT),
    _record(["fftn", "ifftn"], REAL + COMPLEX, FFT, several=True),
    _record(["rfft", "ihfft"], REAL, RFFT),
    _record(["rfftn"], REAL, RFFT, several=True),
    _record(["irfft", "hfft"], COMPLEX, IRFFT),
    _record(["irfftn"], COMPLEX, IRFFT, several=True),
    OpRecord(
        name="fft.fftfreq, fft.rfftfreq",
        build=lambda d, n: [pt.fft.fftfreq(n, d, "float64"), pt.fft.rfftfreq(n, d, "float64")],
        reference=lambda d, n: [np.fft.fftfreq(n, d), np.fft.rfftfreq(n, d)],
        draw=_frequencies,
        tolerance=Tolerance("divisions are in another order", ulps=4),
        differentiable=(),
    ),
    OpRecord(
        name="fft.fftshift, fft.ifftshift",
        build=lambda x, axes: [pt.fft.fftshift(x, axes), pt.fft.ifftshift(x, axes)],
        reference=lambda x, axes: [np.fft.fftshift(x, axes), np.fft.ifftshift(x, axes)],
        draw=_shift,
        differentiable=(),
    ),
]
