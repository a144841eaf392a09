"""Programs whose time a limit of the native backend decides; see benchmarks/limits.py.

Each is a function without arguments that returns a compiled function and its arguments. They use
one thread, but for those of ``SHARED``.
"""

from __future__ import annotations

import sys
import tempfile
import time

import numpy as np

import phintys
import phintys.tensor as pt
from phintys import config
from phintys.control import scan

SHARED = {"shared_kernel", "shared_small_kernels", "shared_vector_product", "shared_product"}
BATCH_SECONDS = 0.002


def rng():
    """Return a generator of random numbers with a fixed seed."""
    return np.random.default_rng(0)


def positive(*shape):
    """Return positive definite matrices."""
    x = rng().normal(size=shape)
    return x @ np.swapaxes(x, -1, -2) + shape[-1] * np.eye(shape[-1])


# ---- kernels -------------------------------------------------------------------------------------


def many_statements():
    """A hundred results of one vector."""
    x = pt.dvector("x")
    results = [pt.sqrt(x * k + 1.0) * (x + k) for k in range(1, 101)]
    return phintys.function([x], results), [rng().uniform(size=1000)]


def many_numbers():
    """Single numbers: the second derivatives of eight steps of an oscillator."""
    x = pt.tensor("x", dtype="float64", shape=(3,))
    position, speed = x[0], x[1]
    for _ in range(8):
        force = (1 - position * position) * speed - position + x[2]
        position, speed = position + 0.01 * speed, speed + 0.01 * force
    return phintys.function([x], phintys.hessian(speed, x)), [rng().uniform(size=3)]


def many_nests():
    """Statistics of rows, each of which needs the one before."""
    x = pt.dmatrix("x")
    y = x
    for _ in range(4):
        y = (y - y.mean(1, keepdims=True)) / pt.sqrt(y.var(1, keepdims=True) + 1e-5)
    return phintys.function([x], y), [rng().normal(size=(500, 200))]


def transposed():
    """A matrix and the transpose of another."""
    x, y = pt.dmatrices("x", "y")
    return phintys.function([x, y], x + y.T), [rng().normal(size=(1000, 1000)) for _ in range(2)]


def long_nest():
    """Many statements for few elements."""
    x = pt.dvector("x")
    results = [pt.sqrt(x * k + 1.0) * (x + k) for k in range(1, 16)]
    return phintys.function([x], results), [rng().uniform(size=13)]


def short_columns():
    """Sums of columns, 12 of a known number."""
    x = pt.tensor("x", dtype="float64", shape=(None, 12))
    return phintys.function([x], x.sum(0)), [rng().normal(size=(2000, 12))]


def wide_known_columns():
    """The same of 48."""
    x = pt.tensor("x", dtype="float64", shape=(None, 48))
    return phintys.function([x], x.sum(0)), [rng().normal(size=(500, 48))]


def short_rows():
    """Sums of rows of 20 elements."""
    x = pt.dmatrix("x")
    return phintys.function([x], pt.exp(x).sum(1)), [rng().normal(size=(2000, 20))]


def longer_rows():
    """The same of 40."""
    x = pt.dmatrix("x")
    return phintys.function([x], pt.exp(x).sum(1)), [rng().normal(size=(1000, 40))]


def short_copies():
    """Rows of 4 elements by their indices."""
    x, index = pt.dmatrix("x"), pt.lvector("i")
    places = rng().integers(0, 2000, 2000)
    return phintys.function([x, index], x[index] * 2.0), [rng().normal(size=(2000, 4)), places]


def longer_copies():
    """The same of 12."""
    x, index = pt.dmatrix("x"), pt.lvector("i")
    places = rng().integers(0, 2000, 2000)
    return phintys.function([x, index], x[index] * 2.0), [rng().normal(size=(2000, 12)), places]


def light():
    """A sum of products."""
    x, y = pt.dvectors("x", "y")
    return phintys.function([x, y], (x * y).sum()), [rng().normal(size=2000) for _ in range(2)]


def medium():
    """A sum of exponentials."""
    x = pt.dvector("x")
    return phintys.function([x], pt.exp(x).sum()), [rng().normal(size=2000)]


def few_draws():
    """A hundred uniform numbers."""
    stream = phintys.random.RandomStream(1)
    return phintys.function([], stream.uniform(size=(100,))), []


def attempts():
    """Gamma numbers, drawn by attempts."""
    stream = phintys.random.RandomStream(1)
    return phintys.function([], stream.gamma(2.5, 1.0, size=(2000,))), []


def long_row():
    """The sum of a vector in a cache."""
    x = pt.dvector("x")
    return phintys.function([x], x.sum()), [rng().normal(size=16000)]


def narrow_columns():
    """Sums of 8 columns."""
    x = pt.dmatrix("x")
    return phintys.function([x], x.sum(0)), [rng().normal(size=(4000, 8))]


def many_columns():
    """Sums of 4000 columns."""
    x = pt.dmatrix("x")
    return phintys.function([x], x.sum(0)), [rng().normal(size=(200, 4000))]


def elements():
    """A cheap kernel of a vector in a cache."""
    x = pt.dvector("x")
    return phintys.function([x], pt.sqr(x).sum()), [rng().normal(size=250_000)]


def rows_in_order():
    """Many short rows."""
    x = pt.dtensor3("x")
    return phintys.function([x], pt.cumsum(x, axis=1)), [rng().normal(size=(2000, 10, 3))]


# ---- loops ---------------------------------------------------------------------------------------


def quick_steps():
    """A loop over numbers."""
    x = pt.dvector("x")
    last = scan(lambda r, p: p * 0.5 + r, sequences=[x], outputs_info=[pt.constant(0.0)])[0][-1]
    return phintys.function([x], last), [rng().normal(size=20_000)]


def steps():
    """A loop over short vectors."""
    x, start = pt.dmatrix("x"), pt.dvector("start")
    last = scan(lambda r, p: pt.tanh(p) + r, sequences=[x], outputs_info=[start])[0][-1]
    return phintys.function([x, start], last), [rng().normal(size=(2000, 6)), np.ones(6)]


def lags():
    """A loop whose steps read six earlier ones."""
    x = pt.dvector("x")
    last = scan(
        lambda r, *p: 0.1 * sum(p) + r,
        sequences=[x],
        outputs_info=[{"initial": x[:6], "taps": [-6, -5, -4, -3, -2, -1]}],
    )[0]
    return phintys.function([x], last), [rng().normal(size=20_000)]


def products_by_columns():
    """A loop that multiplies a vector by a matrix of 48 columns."""
    x, a, start = pt.dmatrix("x"), pt.dmatrix("a"), pt.dvector("start")
    last = scan(lambda r, p: pt.tanh(a @ p + r), sequences=[x], outputs_info=[start])[0][-1]
    values = [rng().normal(size=(500, 48)), rng().normal(size=(48, 48)) / 48, np.ones(48)]
    return phintys.function([x, a, start], last), values


def larger_products_by_columns():
    """The same of 96."""
    f, _ = products_by_columns()
    return f, [rng().normal(size=(500, 96)), rng().normal(size=(96, 96)) / 96, np.ones(96)]


def products_by_rows():
    """The same by the transpose of a matrix of 7 columns."""
    x, a, start = pt.dmatrix("x"), pt.dmatrix("a"), pt.dvector("start")
    last = scan(lambda r, p: pt.tanh(a.T @ p + r), sequences=[x], outputs_info=[start])[0][-1]
    values = [rng().normal(size=(2000, 7)), rng().normal(size=(7, 7)) / 7, np.ones(7)]
    return phintys.function([x, a, start], last), values


def larger_products_by_rows():
    """The same of 14 columns."""
    f, _ = products_by_rows()
    return f, [rng().normal(size=(2000, 14)), rng().normal(size=(14, 14)) / 14, np.ones(14)]


def systems():
    """A loop that solves systems of 12 rows."""
    x, a, start = pt.dmatrix("x"), pt.dmatrix("a"), pt.dvector("start")
    last = scan(lambda r, p: pt.linalg.solve(a, p) + r, sequences=[x], outputs_info=[start])[0][-1]
    values = [rng().normal(size=(1000, 12)), positive(12, 12), np.ones(12)]
    return phintys.function([x, a, start], last), values


def many_right_sides():
    """A loop that solves triangular systems of 16 rows and right sides."""
    x, a, start = pt.dmatrix("x"), pt.dmatrix("a"), pt.dmatrix("start")
    solve = pt.linalg.solve_triangular
    last = scan(lambda r, p: solve(a, p) + r[0], sequences=[x], outputs_info=[start])[0][-1]
    values = [rng().normal(size=(500, 16)), positive(16, 16), np.ones((16, 16))]
    return phintys.function([x, a, start], last), values


def many_steps_of_program():
    """Two hundred kernels that cannot be joined."""
    x = pt.dvector("x")
    y = x
    for k in range(100):
        y = pt.cumsum(pt.sqrt(y + k) / (k + 2.0))
    return phintys.function([x], y), [rng().uniform(size=3)]


# ---- matrices ------------------------------------------------------------------------------------


def product_in_tiles():
    """Products of 16 rows."""
    x, y = (pt.tensor(name, dtype="float64", shape=(16, 16)) for name in "xy")
    return phintys.function([x, y], x @ y), [rng().normal(size=(16, 16)) for _ in range(2)]


def symmetric():
    """A matrix of 600 rows times its transpose."""
    x = pt.dmatrix("x")
    return phintys.function([x], x @ x.T), [rng().normal(size=(600, 600))]


def small_symmetric():
    """The same of 200 rows."""
    x = pt.dmatrix("x")
    return phintys.function([x], x @ x.T), [rng().normal(size=(200, 200))]


def thin_symmetric():
    """The same of 600 rows and 40 columns."""
    x = pt.dmatrix("x")
    return phintys.function([x], x @ x.T), [rng().normal(size=(600, 40))]


def expressed():
    """The determinant and a system of a matrix of 4 rows."""
    x, y = (
        pt.tensor("x", dtype="float64", shape=(4, 4)),
        pt.tensor("y", dtype="float64", shape=(4,)),
    )
    results = [pt.linalg.det(x), pt.linalg.solve(x, y)]
    return phintys.function([x, y], results), [positive(4, 4), np.ones(4)]


def larger_expressed():
    """The same of 6 rows."""
    x, y = (
        pt.tensor("x", dtype="float64", shape=(6, 6)),
        pt.tensor("y", dtype="float64", shape=(6,)),
    )
    results = [pt.linalg.det(x), pt.linalg.solve(x, y)]
    return phintys.function([x, y], results), [positive(6, 6), np.ones(6)]


def stack():
    """Cholesky factors of 500 matrices of 12 rows."""
    x = pt.dtensor3("x")
    return phintys.function([x], pt.linalg.cholesky(x)), [positive(500, 12, 12)]


def stack_of_larger():
    """The same of 24 rows."""
    x = pt.dtensor3("x")
    return phintys.function([x], pt.linalg.cholesky(x)), [positive(500, 24, 24)]


def unrolled_stack():
    """Solutions of 1000 systems of 4 rows."""
    x = pt.tensor("x", dtype="float64", shape=(None, 4, 4))
    y = pt.tensor("y", dtype="float64", shape=(None, 4))
    return phintys.function([x, y], pt.linalg.solve(x, y[..., None])), [
        positive(1000, 4, 4),
        rng().normal(size=(1000, 4)),
    ]


def larger_unrolled_stack():
    """The same of 6 rows."""
    x = pt.tensor("x", dtype="float64", shape=(None, 6, 6))
    y = pt.tensor("y", dtype="float64", shape=(None, 6))
    return phintys.function([x, y], pt.linalg.solve(x, y[..., None])), [
        positive(1000, 6, 6),
        rng().normal(size=(1000, 6)),
    ]


def stack_of_three():
    """Cholesky factors of 1000 matrices of 3 rows, a size that only a call knows."""
    x = pt.dtensor3("x")
    return phintys.function([x], pt.linalg.cholesky(x)), [positive(1000, 3, 3)]


def factor():
    """The Cholesky factor of a matrix of 300 rows."""
    x = pt.dmatrix("x")
    return phintys.function([x], pt.linalg.cholesky(x)), [positive(300, 300)]


def factor_and_inverse():
    """The logarithm of the determinant of a matrix of 500 rows, with its gradient."""
    x = pt.dmatrix("x")
    value = pt.log(pt.diagonal(pt.linalg.cholesky(x))).sum()
    return phintys.function([x], [value, phintys.grad(value, x)]), [positive(500, 500)]


def larger_factor():
    """The same of 800 rows."""
    x = pt.dmatrix("x")
    return phintys.function([x], pt.linalg.cholesky(x)), [positive(800, 800)]


# ---- convolutions, searches ----------------------------------------------------------------------


def convolved():
    """A convolution of vectors."""
    x, y = pt.dvectors("x", "y")
    values = [rng().normal(size=5000), rng().normal(size=60)]
    return phintys.function([x, y], pt.signal.convolve1d(x, y)), values


def images():
    """A convolution of images."""
    x, y = pt.dtensor4("x"), pt.dtensor4("y")
    values = [rng().normal(size=(16, 8, 28, 28)), rng().normal(size=(16, 8, 3, 3))]
    return phintys.function([x, y], pt.signal.conv(x, y)), values


def image_gradients():
    """The gradients of the same."""
    x, y = pt.dtensor4("x"), pt.dtensor4("y")
    values = [rng().normal(size=(16, 8, 28, 28)), rng().normal(size=(16, 8, 3, 3))]
    cost = pt.sqr(pt.signal.conv(x, y)).sum()
    return phintys.function([x, y], phintys.grad(cost, [x, y])), values


def pooled():
    """The largest elements of small images, four windows a line."""
    x = pt.ftensor4("x")
    values = [rng().normal(size=(64, 50, 8, 8)).astype("float32")]
    return phintys.function([x], pt.signal.max_pool(x, 2)), values


def searches():
    """Searches in a sorted vector."""
    x, y = pt.dvectors("x", "y")
    values = [np.sort(rng().normal(size=10_000)), rng().normal(size=10_000)]
    return phintys.function([x, y], pt.searchsorted(x, y)), values


def transforms():
    """Fourier transforms of 64 rows of 128 points."""
    z = pt.zmatrix("z")
    values = [rng().normal(size=(64, 128)) + 1j * rng().normal(size=(64, 128))]
    return phintys.function([z], pt.fft.fft(z)), values


def short_transforms():
    """Fourier transforms of 512 rows of 16 points."""
    z = pt.zmatrix("z")
    values = [rng().normal(size=(512, 16)) + 1j * rng().normal(size=(512, 16))]
    return phintys.function([z], pt.fft.fft(z)), values


def single_transforms():
    """Fourier transforms of 64 rows of 256 points, in single precision."""
    z = pt.cmatrix("z")
    values = rng().normal(size=(64, 256)) + 1j * rng().normal(size=(64, 256))
    return phintys.function([z], pt.fft.fft(z)), [values.astype("complex64")]


def longer_transforms():
    """Fourier transforms of 16 rows of 2,048 points."""
    z = pt.zmatrix("z")
    values = [rng().normal(size=(16, 2048)) + 1j * rng().normal(size=(16, 2048))]
    return phintys.function([z], pt.fft.fft(z)), values


def large_transforms():
    """Fourier transforms of 128 rows of 1,024 points."""
    z = pt.zmatrix("z")
    values = [rng().normal(size=(128, 1024)) + 1j * rng().normal(size=(128, 1024))]
    return phintys.function([z], pt.fft.fft(z)), values


def long_transform():
    """A Fourier transform of 16,384 points."""
    z = pt.zvector("z")
    values = [rng().normal(size=16_384) + 1j * rng().normal(size=16_384)]
    return phintys.function([z], pt.fft.fft(z)), values


def results():
    """A result of 48 KiB."""
    x = pt.dvector("x")
    return phintys.function([x], x + 1.0), [rng().normal(size=6000)]


def larger_results():
    """A result of 200 KiB."""
    x = pt.dvector("x")
    return phintys.function([x], x + 1.0), [rng().normal(size=25_000)]


# ---- shared by threads ---------------------------------------------------------------------------


def shared_kernel():
    """A kernel of a quarter of a millisecond."""
    x = pt.dvector("x")
    return phintys.function([x], pt.exp(x) + pt.sin(x)), [rng().normal(size=100_000)]


def shared_small_kernels():
    """Kernels of 20 microseconds, one after the other."""
    x = pt.dvector("x")
    y = x
    for _ in range(10):
        y = pt.tanh(y - y.sum())
    return phintys.function([x], y), [rng().normal(size=8000)]


def shared_vector_product():
    """A product of a matrix and a vector."""
    x, y = pt.dmatrix("x"), pt.dvector("y")
    return phintys.function([x, y], x @ y), [rng().normal(size=(1000, 1000)), np.ones(1000)]


def shared_product():
    """A product of matrices of 500 rows."""
    x, y = pt.dmatrices("x", "y")
    return phintys.function([x, y], x @ y), [rng().normal(size=(500, 500)) for _ in range(2)]


def large_product():
    """A product of matrices of 2000 rows."""
    x, y = pt.dmatrices("x", "y")
    return phintys.function([x, y], x @ y), [rng().normal(size=(2000, 2000)) for _ in range(2)]


# ---- times ---------------------------------------------------------------------------------------


def serve(name):
    """Compile a program, and write the time of a call for each line that is read.

    The time of a program that uses one thread is that of the thread, however busy the machine is.
    """
    clock = time.perf_counter if name in SHARED else time.thread_time
    with tempfile.TemporaryDirectory() as folder:
        flags = {"cache_dir": folder, "native_level": "high"}
        with config.change_flags(**flags, num_threads=0 if name in SHARED else 1):
            begin = time.process_time()
            function, values = globals()[name]()
            function(*values)
            print(time.process_time() - begin, flush=True)
            calls = 1
            while _seconds(function, values, calls, clock) < BATCH_SECONDS:
                calls *= 2
            for _ in sys.stdin:
                print(_seconds(function, values, calls, clock) / calls, flush=True)


def _seconds(function, values, calls, clock):
    begin = clock()
    for _ in range(calls):
        function(*values)
    return clock() - begin
