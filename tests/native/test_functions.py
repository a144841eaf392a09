"""Where functions of users are, and what they take."""

import copy
import ctypes
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import scipy
from scipy.special import cython_special

import phintys
import phintys.native as pn
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, NativeFunctionError
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.assembler.user_functions import functions_called
from phintys.backends.native.lower import lower_program
from phintys.backends.native.writer.programs import emit_program
from phintys.native import functions
from phintys.native.functions import LibraryFunction, LocalFunction, native_function


def typed(library, name, returns=ctypes.c_double, takes=(ctypes.c_double,)):
    function = getattr(ctypes.CDLL(library), name)
    function.restype, function.argtypes = returns, list(takes)
    return function


def test_a_function_of_ctypes_is_known_by_its_library(library):
    function, prototype = native_function(typed(library, "half_square"))
    assert function == LibraryFunction(library, "half_square")
    assert str(prototype) == "float64 (float64)"


def test_an_address_that_a_library_exports_is_known_by_the_library(library):
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    address = LibraryFunction(library, "half_square").address
    assert native_function(kind(address))[0] == LibraryFunction(library, "half_square")


def test_a_relative_path_is_that_of_the_folder_at_the_time(library, monkeypatch, tmp_path):
    folder, name = os.path.split(library)
    monkeypatch.chdir(folder)
    function, _ = native_function((f"./{name}", "twice"))
    monkeypatch.chdir(tmp_path)
    assert pickle.loads(pickle.dumps(function)).address


def test_functions_of_this_process_have_no_library():
    assert native_function((None, "strtod"))[0] == LibraryFunction("", "strtod")
    assert native_function(ctypes.CDLL(None).strtod)[0] == LibraryFunction("", "strtod")


def test_a_low_level_callable_states_its_types(library):
    kind = "double (double)"
    callable_ = scipy.LowLevelCallable(typed(library, "half_square"), signature=kind)
    function, prototype = native_function(callable_)
    assert function == LibraryFunction(library, "half_square")
    assert str(prototype) == "float64 (float64)"
    cython = scipy.LowLevelCallable.from_cython(cython_special, "__pyx_fuse_1ndtr")
    assert native_function(cython)[1].returns == "float64"


def test_user_data_is_refused(library):
    data = ctypes.c_void_p(0)
    callable_ = scipy.LowLevelCallable(
        typed(library, "half_square"), ctypes.cast(data, ctypes.c_void_p)
    )
    with pytest.raises(ArgumentError, match="user_data"):
        native_function(callable_)


def test_python_in_disguise_is_refused():
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    with pytest.raises(ArgumentError, match=r"runs Python code.*wrap_py"):
        native_function(kind(lambda x: x))
    with pytest.raises(ArgumentError, match="GIL"):
        native_function(ctypes.pythonapi.PyObject_Repr)
    with pytest.raises(ArgumentError, match="wrap_py"):
        native_function(abs)


def test_wrong_names_are_errors_where_they_are_written(library):
    with pytest.raises(NativeFunctionError, match=r"no function 'no_such'.*extern"):
        native_function((library, "no_such"))
    with pytest.raises(NativeFunctionError, match=r"'libnone.so'.*cannot be loaded"):
        native_function(("libnone.so", "f"))


@pytest.mark.parametrize(
    ("name", "returns", "takes", "dtype", "nin"),
    [
        ("half_square", ctypes.c_double, [ctypes.c_double], "float32", 1),
        ("half_square", ctypes.c_float, [ctypes.c_double], "float64", 1),
        ("half_square", ctypes.c_double, [ctypes.c_double], "float64", 2),
        ("matvec", None, [ctypes.c_void_p] * 3, "float64", 3),
    ],
)
def test_wrong_types_are_errors(library, name, returns, takes, dtype, nin):
    with pytest.raises(ArgumentError, match=r"must be .*, got .* which is"):
        pn.scalar("f", typed(library, name, returns, takes), dtype, nin=nin)


def closed(library, name):
    """Return a function of which only the address is known."""
    found = native_function((library, name))[0]
    return LocalFunction(object(), found.address)


def test_an_address_alone_is_not_pickled_but_copied(library):
    local = closed(library, "half_square")
    with pytest.raises(NativeFunctionError, match="means nothing in another process"):
        pickle.dumps(local)
    assert copy.deepcopy(local) is local


def test_code_that_calls_addresses_is_not_kept_in_pickles(library, monkeypatch):
    # Code of functions by address is bound to numbers of one process: it must be compiled again.
    local = closed(library, "half_square")
    functions._BY_NUMBER.setdefault(local.number, local)
    monkeypatch.setattr(
        LocalFunction, "__reduce__", lambda self: (LibraryFunction, (library, "half_square"))
    )
    op = pn.NativeScalar("f", local, "float64", 1, None, None, "", 30.0)
    x = pt.dvector("x")
    f = phintys.function([x], op(x), mode="native")
    assert f([2.0]) == 2.0
    data = pickle.dumps(f)
    assert b"phintys_user_local" not in data
    assert pickle.loads(data)([2.0]) == 2.0


def test_a_program_lists_the_functions_that_it_calls(library):
    x = pt.dvector("x")
    y = pn.scalar("f", (library, "half_square"))(x) + pn.scalar("g", (library, "identity"))(x).sum()
    z = pn.call((library, "scale"), "(n),()->(n)")(y, 2.0)
    program = lower_program(phintys.graph.FunctionGraph([x], [z]))
    module = emit_program(program, Target.host()).module
    assert functions_called(module.declared) == sorted(
        [LibraryFunction(library, name) for name in ("half_square", "identity", "scale")],
        key=lambda one: one.symbol.encode().hex(),
    )


LOADING = """
import pickle, sys
f = pickle.load(open(sys.argv[1], "rb"))
try:
    print(f([1.0, 2.0]).tolist())
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("is_there", [True, False])
def test_another_process_finds_the_function_or_says_what_is_missing(library, tmp_path, is_there):
    moved = tmp_path / "libmoved.so"
    moved.write_bytes(Path(library).read_bytes())
    x = pt.dvector("x")
    op = pn.scalar("f", (moved, "half_square"))
    f = phintys.function([x], pn.call((moved, "scale"), "(n),()->(n)")(op(x), 2.0))
    (tmp_path / "f.pickle").write_bytes(pickle.dumps(f))
    if not is_there:
        moved.unlink()
    program = LOADING if is_there else LOADING.replace("f = pickle", "try:\n  f = pickle", 1)
    if not is_there:
        program = program.replace("\ntry:\n    print", "\n  print", 1)
    run = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "f.pickle"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    if is_there:
        assert run.stdout == "[1.0, 4.0]\n"
    else:
        assert "NativeFunctionError The library" in run.stdout
        assert "libmoved.so" in run.stdout
        assert "cannot be loaded" in run.stdout


def test_functions_of_cffi(library):
    cffi = pytest.importorskip("cffi", reason="cffi is not installed")
    ffi = cffi.FFI()
    ffi.cdef("double half_square(double); float half_square_float(float);")
    function, prototype = native_function(ffi.dlopen(library).half_square)
    assert function == LibraryFunction(library, "half_square")
    assert str(prototype) == "float64 (float64)"
    x = pt.dvector("x")
    op = pn.scalar("f", ffi.dlopen(library).half_square)
    assert phintys.function([x], op(x))([2.0]) == 2.0
    with pytest.raises(ArgumentError, match="which is float32"):
        pn.scalar("f", ffi.dlopen(library).half_square_float)


NUMBA = """
import ctypes
import numba
from numba import types

@numba.cfunc("float64(float64)")
def square(x):
    return x * x

@numba.cfunc("float64(float64)")
def slope(x):
    return 2 * x

@numba.cfunc(types.int32(types.CPointer(types.float64), types.CPointer(types.float64), types.int64))
def running(x, y, n):
    total = 0.0
    for i in range(n):
        total += x[i]
        y[i] = total
    return 0

def pull(inputs, outputs, gradients):
    import phintys.tensor as pt
    return [pt.cumsum(gradients[0][::-1])[::-1]]
"""


def test_functions_of_numba(tmp_path, monkeypatch):
    pytest.importorskip("numba", reason="numba is not installed")
    (tmp_path / "own_numba.py").write_text(NUMBA)
    monkeypatch.syspath_prepend(tmp_path)
    import own_numba as own

    square = pn.scalar("square", own.square, derivative=own.slope)
    running = pn.call(own.running, "(n)->(n)", pullback=own.pull)
    x = pt.dvector("x")
    y = running(square(x))
    for mode in ("native", "reference"):
        f = phintys.function([x], [y, phintys.grad(y.sum(), x)], mode=mode)
        value, slope = f([1.0, 2.0, 3.0])
        assert value.tolist() == [1.0, 5.0, 14.0]
        assert slope.tolist() == [6.0, 8.0, 6.0]
    assert "callback" not in phintys.function([x], y).explain()
    (tmp_path / "f.pickle").write_bytes(pickle.dumps(phintys.function([x], y)))
    run = subprocess.run(
        [sys.executable, "-c", LOADING, tmp_path / "f.pickle"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
    )
    assert run.stdout == "[1.0, 5.0]\n"
    with pytest.raises(NativeFunctionError, match="cannot be pickled"):
        pickle.dumps(pn.scalar("square", own.numba.cfunc("float64(float64)")(lambda x: x)))
