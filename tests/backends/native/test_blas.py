"""Calls of BLAS in programs, against NumPy."""

import numpy as np
import pytest

from phintys._base.errors import IntegrityError, MethodNotDefinedError
from phintys.backends.native.program import Program
from phintys.backends.native.routines.products import GEMM, GEMV
from phintys.backends.native.runtime.blas import is_routine, routine_address
from phintys.backends.native.sizes import Sizes
from phintys.backends.native.steps.call import LibraryCall
from phintys.backends.native.values import Array, Place
from tools.native_programs import compile_program

DTYPES = ["float32", "float64", "complex64", "complex128"]
TOLERANCE = {"float32": 1e-4, "complex64": 1e-4, "float64": 1e-12, "complex128": 1e-12}


class Node:
    op = "Dot"


def draw(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=shape)
    if dtype.startswith("complex"):
        values = values + 1j * rng.normal(size=shape)
    return np.asarray(values, dtype)


def called(routine, values, out_shape, make_options):
    """The result of one call on arrays; ``make_options`` takes the function that makes sizes."""
    sizes = Sizes()
    dtype = values[0].dtype
    arguments = []
    for value in values:
        array = Array(Place.ARGUMENT, dtype, (), f"a{len(arguments)}")
        array.sizes = tuple(sizes.extent(array, axis) for axis in range(value.ndim))
        arguments.append(array)
    out = Array(Place.RESULT, dtype, tuple(map(sizes.fixed, out_shape)), "out")
    options = make_options(sizes, *(array.sizes for array in arguments))
    call = LibraryCall(routine, tuple(arguments), (out,), options, Node)
    program = Program(arguments, [out], [call], sizes)
    (result,) = compile_program(program)(*values)
    return result


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("b_transposed", [False, True])
@pytest.mark.parametrize("a_transposed", [False, True])
@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 1, 1), (20, 1, 30), (0, 3, 2), (2, 3, 0)])
def test_gemm(dtype, a_transposed, b_transposed, shape):
    m, n, k = shape
    a = draw((k, m) if a_transposed else (m, k), dtype, 0)
    b = draw((n, k) if b_transposed else (k, n), dtype, 1)

    def options(sizes, a_sizes, b_sizes):
        return {
            "m": a_sizes[1 if a_transposed else 0],
            "k": a_sizes[0 if a_transposed else 1],
            "n": b_sizes[0 if b_transposed else 1],
            "a_stride": a_sizes[1],
            "b_stride": b_sizes[1],
            "c_stride": sizes.fixed(n),
            "a_transposed": a_transposed,
            "b_transposed": b_transposed,
            "alpha": 2.0,
        }

    got = called(GEMM, [a, b], (m, n), options)
    wanted = 2 * (a.T if a_transposed else a) @ (b.T if b_transposed else b)
    np.testing.assert_allclose(got, wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_gemm_of_slices_in_batches():
    a, b = draw((2, 3, 6, 7), "float64", 0), draw((3, 9, 8), "float64", 1)

    def options(sizes, a_sizes, b_sizes):
        fixed = sizes.fixed
        return {
            "m": fixed(4),
            "n": fixed(5),
            "k": fixed(3),
            "a_offset": fixed(2),  # a[..., :4, 2:5]
            "b_offset": fixed(8 + 1),  # b[..., 1:4, 1:6]
            "a_stride": a_sizes[3],
            "b_stride": b_sizes[2],
            "c_stride": fixed(5),
            "batch": [
                (fixed(2), fixed(3 * 42), fixed(0), fixed(3 * 20)),
                (fixed(3), fixed(42), fixed(72), fixed(20)),
            ],
        }

    got = called(GEMM, [a, b], (2, 3, 4, 5), options)
    wanted = a[..., :4, 2:5] @ b[..., 1:4, 1:6]
    np.testing.assert_allclose(got, wanted, rtol=1e-12)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (50, 3), (0, 3), (4, 0)])
def test_gemv(dtype, transposed, shape):
    m, n = shape
    a = draw((n, m) if transposed else (m, n), dtype, 0)
    x = draw((2 * n,), dtype, 1)

    def options(sizes, a_sizes, x_sizes):
        return {
            "m": a_sizes[1 if transposed else 0],
            "n": a_sizes[0 if transposed else 1],
            "a_stride": a_sizes[1],
            "a_transposed": transposed,
            "x_step": sizes.fixed(2),
        }

    got = called(GEMV, [a, x], (m,), options)
    wanted = (a.T if transposed else a) @ x[::2]
    np.testing.assert_allclose(got, wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_unwritten_output_is_not_read():
    a, x = np.full((3, 4), 2.0), np.ones(4)
    for _ in range(3):  # memory that was used before holds NaN in tests
        got = called(
            GEMV,
            [a, x],
            (3,),
            lambda sizes, a_sizes, x_sizes: {
                "m": a_sizes[0],
                "n": a_sizes[1],
                "a_stride": a_sizes[1],
            },
        )
        np.testing.assert_array_equal(got, [8.0] * 3)


def test_symbols():
    assert is_routine("phintys_blas_dgemm")
    assert not is_routine("phintys_exp_float64_x8")
    assert not is_routine("dgemm")
    with pytest.raises(MethodNotDefinedError, match="no BLAS function 'qgemm'"):
        routine_address("phintys_blas_qgemm")


def test_routines_that_blas_lacks_are_refused():
    with pytest.raises(IntegrityError, match="no routine 'gemm' of int64"):
        called(GEMM, [np.ones((2, 2), "int64")] * 2, (2, 2), lambda *sizes: {})
    with pytest.raises(IntegrityError, match="needs the option 'm'"):
        called(GEMM, [np.ones((2, 2))] * 2, (2, 2), lambda *sizes: {})
