"""Big products: parts of them on the pool's threads, and BLAS with one thread meanwhile."""

import ctypes

import numpy as np
import pytest
from numpy._core._multiarray_umath import __cpu_features__

import phintys
import phintys.tensor as pt
from phintys import config
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.assembler.types import PTR, VOID
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.routines.blas_threads import BLAS_THREADS, begin_alone, end_alone
from phintys.backends.native.runtime import engine
from phintys.backends.native.runtime.blas import after_fork, blas_threads
from phintys.graph.fgraph import FunctionGraph
from phintys.tensor.blas import Gemm
from tools.native_programs import compile_program

DTYPES = ["float32", "float64", "complex64", "complex128"]
TOLERANCE = {"float32": 2e-3, "complex64": 2e-3, "float64": 1e-11, "complex128": 1e-11}


def draw(rng, shape, dtype):
    values = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.normal(size=shape)
    return values.astype(dtype)


def same_bits(inputs, output, values, ranges=(1, 2, 3, 7)):
    """The result of a program, the same whoever computes which parts of it."""
    program = lower_program(FunctionGraph(inputs, [output], clone=True))
    results = [compile_program(program, ranges=count)(*values)[0] for count in ranges]
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
    return results[0]


def check(inputs, output, values, wanted, **options):
    got = same_bits(inputs, output, values, **options)
    tolerance = TOLERANCE[got.dtype.name]
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


SHAPES = [
    (256, 256, 256),  # strips
    (64, 784, 256),  # two of unequal height
    (217, 333, 251),  # no length is a multiple of anything
    (40, 600, 700),  # few rows: columns
    (1, 700, 900),  # vectors
    (900, 700, 1),
    (60, 60, 60),  # in one piece, by one thread
    (20, 20, 20),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_parts_of_products_have_the_same_bits(rng, shape, dtype):
    m, k, n = shape
    x, y, c = (pt.matrix(name, dtype=dtype) for name in "xyc")
    a, b, added = (draw(rng, lengths, dtype) for lengths in ((m, k), (k, n), (m, n)))
    check([x, y], pt.dot(x, y), [a, b], a @ b)
    transposed = [np.ascontiguousarray(a.T), np.ascontiguousarray(b.T), added]
    check([x, y, c], Gemm()(x.T, y.T, -0.5, c), transposed, added - 0.5 * (a @ b))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 70, 1001])
def test_parts_of_products_with_vectors_have_the_same_bits(rng, rows, dtype):
    x, v = pt.matrix("x", dtype=dtype), pt.vector("v", dtype=dtype)
    a, right, left = (draw(rng, shape, dtype) for shape in ((rows, 800), 800, rows))
    check([x, v], pt.dot(x, v), [a, right], a @ right)
    check([x, v], pt.dot(v, x), [a, left], left @ a)


@pytest.mark.parametrize(
    ("count", "shape"),
    [(3, (200, 210, 220)), (40, (50, 60, 70)), (5, (300, 400, 1)), (0, (50,) * 3)],
)
def test_stacks_of_products_are_shared(rng, count, shape):
    m, k, n = shape
    x, y = pt.dtensor3("x"), pt.dtensor3("y")
    a, b = rng.normal(size=(count, m, k)), rng.normal(size=(count, k, n))
    check([x, y], pt.matmul(x, y), [a, b], a @ b)
    z = pt.tensor("z", dtype="float64", shape=(1, None, None))
    one = rng.normal(size=(1, k, n))
    check([x, z], pt.matmul(x, z), [a, one], a @ one)


def test_a_huge_product_is_made_of_tiles(rng):
    x, y = pt.dmatrix("x"), pt.dmatrix("y")
    a, b = rng.normal(size=(1030, 520)), rng.normal(size=(520, 2090))
    check([x, y], pt.dot(x, y), [a, b], a @ b, ranges=(1, 5))


LONG = 1 << 17
LOOKS = {
    "thin": ((60, 2 * LONG), (2 * LONG, 70), 3),
    "columns": ((2, 3 * LONG), (3 * LONG, 3), 2),
    "strips": ((100, LONG), (LONG, 60), 2),
    "two thin ones": ((2, 30, 2 * LONG), (2, 2 * LONG, 20), 4),
    "rows": ((3, 3_000_000), (3_000_000,), 1),
    "columns of a vector": ((3_000_000,), (3_000_000, 3), 1),
    "tall rows": ((70, 2 * LONG), (2 * LONG,), 2),
}


@pytest.mark.parametrize("kind", LOOKS)
def test_long_sums_are_made_of_pieces_between_which_signals_are_seen(kind):
    shape, other, looks = LOOKS[kind]
    x = pt.tensor("x", dtype="float64", shape=(None,) * len(shape))
    y = pt.tensor("y", dtype="float64", shape=(None,) * len(other))
    # The repeated numbers add up to whole ones, whatever the order.
    a, b = (np.resize(np.arange(-3.0, 5.0), lengths) for lengths in (shape, other))
    program = lower_program(FunctionGraph([x, y], [pt.matmul(x, y)], clone=True))
    results: list[np.ndarray] = []
    for ranges in (1, 3):
        run = compile_program(program, ranges=ranges)
        results += run(a, b)
        assert run.polls >= looks
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], a @ b)
    run.polls, run.interrupted_at = 0, 1
    with pytest.raises(KeyboardInterrupt):
        run(a, b)
    assert run.polls == 1  # it has ended at once
    assert BLAS_THREADS.read(blas_threads(), "users") == 0


# Kernels of the library, and what a processor must have to run them, as NumPy calls it.
KERNELS = {
    "Prescott": "SSE3",
    "Nehalem": "SSE42",
    "Sandybridge": "AVX",
    "Haswell": "AVX2",
    "SkylakeX": "AVX512F",
    "ARMV8": "ASIMD",
    "NEOVERSEN1": "ASIMD",
    "NEOVERSEV1": "SVE",
    "ARMV8SVE": "SVE",
}


@pytest.mark.stress
@pytest.mark.parametrize("kernels", KERNELS)
def test_strips_have_the_same_bits_with_all_kernels_of_the_library(
    run_python, monkeypatch, kernels
):
    if not __cpu_features__.get(KERNELS[kernels]):
        pytest.skip(f"this processor has no {KERNELS[kernels]}: the library would crash")
    monkeypatch.setenv("OPENBLAS_CORETYPE", kernels)
    run_python(
        """
        import numpy as np
        import phintys.tensor as pt
        from phintys.backends.native.lower.graph import lower_program
        from tools.native_programs import compile_program
        from phintys.graph.fgraph import FunctionGraph

        rng = np.random.default_rng(0)
        for dtype in ("float32", "float64", "complex64", "complex128"):
            x, y = pt.matrix("x", dtype=dtype), pt.matrix("y", dtype=dtype)
            for inputs in ([x, y], [x.T, y], [x, y.T], [x.T, y.T]):
                program = lower_program(FunctionGraph([x, y], [pt.dot(*inputs)], clone=True))
                runs = [compile_program(program, ranges=count) for count in (1, 2, 3, 7)]
                for _ in range(10):
                    m, k, n = rng.integers([48, 100, 100], [500, 500, 500])
                    a = rng.normal(size=(k, m) if inputs[0] is not x else (m, k)).astype(dtype)
                    b = rng.normal(size=(n, k) if inputs[1] is not y else (k, n)).astype(dtype)
                    first, *others = [run(a, b)[0] for run in runs]
                    assert all((other == first).all() for other in others), (dtype, m, k, n)
    """,
        timeout=600,
    )


def test_the_number_of_threads_does_not_change_results(rng):
    x, y = pt.dmatrix("x"), pt.dmatrix("y")
    f = phintys.function([x, y], [x @ y, x @ y[:, 0]])
    a, b = rng.normal(size=(700, 400)), rng.normal(size=(400, 300))
    results = []
    for threads in (1, 2, 8):
        with config.change_flags(num_threads=threads):
            results.append(f(a, b))
    for product, column in results:
        np.testing.assert_array_equal(product, results[0][0])
        np.testing.assert_array_equal(column, results[0][1])


# ---- the library's own threads -------------------------------------------------------------------


class Library:
    """Stands for a BLAS, and code that tells it how many threads it has."""

    def __init__(self, threads):
        self.threads = threads
        self.told = []
        self._get = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: self.threads)
        self._set = ctypes.CFUNCTYPE(None, ctypes.c_int)(self.tell)
        self._record = np.zeros(BLAS_THREADS.size // 8, np.int64)
        self.address = int(self._record.ctypes.data)
        for name, function in (("get", self._get), ("set", self._set)):
            BLAS_THREADS.write(
                self.address, name, ctypes.cast(function, ctypes.c_void_p).value or 0
            )
        module = Module(Target.host())
        for name, write in (("begin", begin_alone), ("end", end_alone)):
            b = Builder(module.function(name, VOID, [PTR]))
            write(b, b.arguments[0])
            b.ret()
        self._code = engine.load(module)

    def tell(self, threads):
        self.threads = threads
        self.told.append(threads)

    def call(self, name):
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._code.address(name))(self.address)


def test_blas_has_one_thread_until_the_last_product_is_done():
    library = Library(4)
    for name, threads in (("begin", 1), ("begin", 1), ("end", 1), ("begin", 1), ("end", 1)):
        library.call(name)
        assert library.threads == threads
    library.call("end")
    assert library.told == [1, 4]


def test_blas_keeps_the_threads_that_it_is_given_meanwhile():
    library = Library(4)
    library.call("begin")
    library.threads = 3
    library.call("end")
    assert library.threads == 3
    assert library.told == [1]


def test_blas_of_one_thread_is_left_alone():
    library = Library(1)
    library.call("begin")
    library.call("end")
    assert library.told == []


def test_blas_of_a_new_process_has_its_threads_back():
    library = Library(4)
    library.call("begin")
    after_fork(library.address)
    assert library.threads == 4
    library.call("begin")
    library.call("end")
    assert library.told == [1, 4, 1, 4]


def test_blas_keeps_its_threads(run_python):
    """SciPy's BLAS has one thread during a product, and as many as before after it."""
    printed = run_python("""
        import ctypes, threading
        import numpy as np
        import phintys, phintys.tensor as pt
        from phintys.backends.native.routines.blas_threads import BLAS_THREADS
        from phintys.backends.native.runtime.blas import blas_threads

        record = blas_threads()
        if not BLAS_THREADS.read(record, "is_ours") or not BLAS_THREADS.read(record, "set"):
            print("not told")
            raise SystemExit
        get = ctypes.CFUNCTYPE(ctypes.c_int)(BLAS_THREADS.read(record, "get"))
        set = ctypes.CFUNCTYPE(None, ctypes.c_int)(BLAS_THREADS.read(record, "set"))
        set(3)
        x = pt.dmatrix("x")
        f = phintys.function([x], x @ x)
        a = np.ones((1200, 1200))
        f(a)
        seen = {get()}
        worker = threading.Thread(target=f, args=(a,))
        worker.start()
        while worker.is_alive():
            seen.add(get())
        print(sorted(seen), get())
    """)
    assert printed in {"[1, 3] 3\n", "not told\n"}


def test_a_blas_whose_threads_are_its_own_is_called_for_all(rng):
    x, y, v = pt.dmatrix("x"), pt.dmatrix("y"), pt.dvector("v")
    a, b = rng.normal(size=(300, 200)), rng.normal(size=(200, 400))
    record = blas_threads()
    former = BLAS_THREADS.read(record, "is_ours")
    BLAS_THREADS.write(record, "is_ours", 0)
    try:
        check([x, y], pt.dot(x, y), [a, b], a @ b)
        check([x, v], pt.dot(x, v), [a, b[:, 0].copy()], a @ b[:, 0])
    finally:
        BLAS_THREADS.write(record, "is_ours", former)
