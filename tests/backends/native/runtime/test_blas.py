"""SciPy's BLAS is loaded once, whoever asks for it meanwhile."""

import textwrap

import pytest

from phintys.backends.native.runtime.blas import WHEEL

WITHOUT_WHEEL = """
from phintys._base.caches import Once
from phintys.backends.native.runtime import blas
blas.WHEEL = Once(lambda: None)
"""

COLD = """
    import sys, threading
    import numpy as np
    import phintys, phintys.tensor as pt

    sys.setswitchinterval(1e-6)

    def product(number):
        a = pt.dmatrix("a")
        f = phintys.function([a], a @ a + number)
        assert f(np.ones((40, 40)))[0, 0] == 40 + number

    def load(number):
        from phintys.backends.native.runtime.blas import routine_address
        assert routine_address("phintys_blas_dgemm")

    def import_linalg(number):
        import scipy.linalg
        assert scipy.linalg.cython_blas.__pyx_capi__
        assert scipy.linalg.det(np.eye(3)) == 1

    def run(job, number):
        gate.wait()
        try:
            job(number)
        except BaseException as error:
            print(job.__name__, repr(error))

    work = [globals()[name] for name in sys.argv[1:]]
    gate = threading.Barrier(len(work))
    threads = [threading.Thread(target=run, args=(job, at)) for at, job in enumerate(work)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


@pytest.mark.parametrize(
    "jobs", [["load"] * 4, ["load", "import_linalg"]], ids=["threads", "import"]
)
def test_threads_load_blas_together(run_python, jobs, repeats):
    for _ in range(repeats(1, 10)):
        assert run_python(COLD, *jobs) == ""
        assert run_python(WITHOUT_WHEEL + textwrap.dedent(COLD), *jobs) == ""


@pytest.mark.skipif(WHEEL() is None, reason="SciPy is not one of its wheels for Linux")
def test_the_library_of_a_wheel_is_used_without_an_import_of_scipy(run_python):
    run_python("""
        import sys
        import numpy as np
        import phintys, phintys.tensor as pt
        a = pt.dmatrix("a")
        f = phintys.function([a], [a @ a.T, pt.linalg.cholesky(a @ a.T)])
        value = np.tril(np.ones((40, 40)))
        product, factor = f(value)
        assert not [name for name in sys.modules if name.partition(".")[0] == "scipy"]
        np.testing.assert_allclose(product, value @ value.T)
        np.testing.assert_allclose(factor, value)
        import scipy.linalg
        np.testing.assert_allclose(scipy.linalg.cholesky(product, lower=True), factor)
    """)


@pytest.mark.skipif(WHEEL() is None, reason="SciPy is not one of its wheels for Linux")
def test_scipys_modules_have_the_library_of_the_wheel(run_python):
    """Its number of threads, which is one for the library, is the same from both sides."""
    run_python("""
        import ctypes
        from phintys.backends.native.runtime import blas
        import scipy.linalg.cython_blas as module
        ours, theirs = blas.WHEEL(), ctypes.CDLL(module.__file__)
        for name in ("scipy_dgemm_", "scipy_openblas_set_num_threads"):
            one, other = (ctypes.cast(getattr(library, name), ctypes.c_void_p).value
                          for library in (ours, theirs))
            assert one == other
    """)


def test_threads_compile_their_first_products_together(run_python):
    assert run_python(COLD, "import_linalg", *["product"] * 4) == ""


def test_scipy_can_be_imported_as_ever_after_blas_was_loaded(run_python):
    run_python(
        WITHOUT_WHEEL
        + textwrap.dedent("""
        import sys
        from phintys.backends.native.runtime.blas import routine_address
        address = routine_address("phintys_blas_dgemm")
        assert "scipy.linalg" not in sys.modules
        import scipy.linalg
        from phintys._base.capsules import read_capsule
        module = scipy.linalg.cython_blas
        assert module is sys.modules["scipy.linalg.cython_blas"]
        assert read_capsule(module.__pyx_capi__["dgemm"])[1] == address
    """)
    )


def test_blas_is_found_where_scipy_was_imported_before(run_python):
    run_python(
        WITHOUT_WHEEL
        + textwrap.dedent("""
        import scipy.linalg
        from phintys._base.capsules import read_capsule
        from phintys.backends.native.runtime.blas import routine_address
        capsule = scipy.linalg.cython_blas.__pyx_capi__["dgemm"]
        assert read_capsule(capsule)[1] == routine_address("phintys_blas_dgemm")
    """)
    )


def test_a_python_without_the_lock_of_imports_takes_the_whole_package(run_python):
    run_python(
        WITHOUT_WHEEL
        + textwrap.dedent("""
        import sys
        from phintys.backends.native.runtime.blas import routine_address
        import _frozen_importlib
        kept = _frozen_importlib
        hidden = sys.modules["_frozen_importlib"] = type(sys)("_frozen_importlib")
        vars(hidden).update(vars(kept))
        del hidden._ModuleLockManager
        try:
            assert routine_address("phintys_blas_dgemm")
        finally:
            sys.modules["_frozen_importlib"] = kept
        assert "scipy.linalg" in sys.modules
    """)
    )
