"""Exported functions give the same bits as in Python, through a shared library."""

import ctypes
import json
import re
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import phintys
import phintys.native as pn
import phintys.tensor as pt
from phintys._base.config import config
from phintys._base.errors import ArgumentError, ConfigError, DtypeError
from phintys.backends.base import ExportNames, ExportOptions
from phintys.backends.native.assembler.externals import EXTERNALS
from phintys.backends.native.assembler.llvm_library import llvm
from phintys.backends.native.assembler.scalar_ops import can_emit
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.export import assembling
from phintys.backends.native.export.exporting import export_program
from phintys.backends.native.export.toolchain import has_zig
from phintys.backends.native.runtime.blas import WHEEL
from phintys.graph import FunctionGraph
from phintys.native.functions import LocalFunction
from phintys.scalar import FloatRow
from phintys.scalar.table import SCALAR_OPS

CC = shutil.which("cc")
needs_cc = pytest.mark.skipif(CC is None, reason="there is no C compiler")
needs_nm = pytest.mark.skipif(shutil.which("nm") is None, reason="there is no nm")

LIBM = {"sin", "cos", "tan", "fmod", "sinf", "cosf", "tanf", "fmodf", "exp", "log", "pow"}
ALLOWED = {"malloc", "free", "memset", "memcpy", "memmove"} | LIBM


def blas_options():
    """Return the options for a library that has the functions of BLAS here."""
    library = WHEEL()
    if library is None:
        pytest.skip("SciPy has no OpenBLAS of its own here")
    return {"blas_prefix": "scipy_", "libraries": [library._name]}


def loaded(f, folder, **options):
    """Export a function, and return the module of Python that calls it."""
    *_, path = f.export(folder, kind="python", **options)
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def same_bits(found, expected):
    expected = [np.asarray(one) for one in expected]
    return all(
        one.tobytes() == other.tobytes() and one.shape == other.shape
        for one, other in zip(found, expected, strict=True)
    )


def programs():
    """Yield a name, inputs, outputs, values and whether BLAS is needed."""
    rng = np.random.default_rng(30)
    x = pt.dvector("x")
    X, Y, F, k = pt.dmatrix("X"), pt.dmatrix("Y"), pt.fmatrix("F"), pt.lvector("k")

    def of(*shape):
        return rng.standard_normal(shape)

    square = of(6, 6)
    spd = square @ square.T + 6 * np.eye(6)
    yield "softmax", [X], [pt.special.softmax(X, axis=1)], [of(5, 7)], False
    e = pt.exp(x)
    scalars = [pt.gammaln(e).sum(), pt.digamma(e), pt.erf(x), e, pt.log1p(e), pt.tanh(x)]
    yield "scalars", [x], scalars, [of(33)], False
    yield "gather", [x, k], [x[k], pt.zeros_like(x)[k].inc(1.0)], [of(9), [1, 3, 3, 8]], False
    views = [X.T, X[::2] ** 3, X.reshape((-1,)), X, pt.constant(of(3))]
    yield "views", [X], views, [of(4, 6)], False
    yield "mask", [x], [x[x > 0], x[x > 0].sum()], [of(20)], False
    sums = [pt.cumsum(X, axis=0), X.max(axis=1), pt.argmax(X, axis=1)]
    yield "sums", [X], sums, [of(5, 4)], False
    p = pt.tensor("p", dtype="float64", shape=(3,))
    a, c = p[0] + 0.1 * p[1] * pt.sin(p[2]), p[1] - 0.1 * pt.exp(p[0]) / p[2]
    written = [phintys.jacobian(pt.stack([a, c, a * c]), p), phintys.hessian(a * c, p)]
    yield "rows", [p], written, [of(3)], False  # of derivatives, written out
    yield "complex", [x], [pt.exp(1j * x), x > 0], [of(7)], False
    rows = phintys.scan(
        lambda s, h: pt.tanh(s + h * 0.5), sequences=[X], outputs_info=[pt.zeros_like(X[0])]
    )[0]
    yield "loop", [X], [rows, phintys.grad(rows.sum(), X)], [of(12, 5)], False
    states = phintys.scan(
        lambda s, h: pt.tanh(s + h @ Y), sequences=[X], outputs_info=[pt.zeros_like(X[0])]
    )[0]
    gradients = phintys.grad(states.sum(), [X, Y])
    yield "recurrent", [X, Y], [states, *gradients], [of(12, 5), of(5, 5)], True
    yield "factor", [X], [pt.linalg.cholesky(X)], [spd], True
    yield "solve", [X, x], [pt.linalg.solve(X, x), pt.linalg.slogdet(X)[1]], [spd, of(6)], True
    yield "product", [X, Y], [X @ Y], [of(120, 130), of(130, 140)], True
    W, y, b, v = pt.dmatrix("W"), pt.dvector("y"), pt.dvector("b"), pt.dvector("v")
    loss = pt.mean((pt.tanh(X @ W + b) @ v - y) ** 2)
    perceptron = [loss, *phintys.grad(loss, [W, b, v])]
    values = [of(16, 4), of(16), of(4, 8), of(8), of(8)]
    yield "perceptron", [X, y, W, b, v], perceptron, values, True
    yield "single", [F], [pt.tanh(F) @ F], [of(9, 9).astype("f4")], True


PROGRAMS = {name: rest for name, *rest in programs()}
BY_DEFAULT = ("softmax", "views", "mask", "solve")


@needs_cc
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_exported_function_gives_the_same_bits(name, tmp_path, repeats):
    if not repeats(0, 1) and name not in BY_DEFAULT:
        pytest.skip("make stress and make export-tests run all programs")
    inputs, outputs, values, needs_blas = PROGRAMS[name]
    f = phintys.function(inputs, outputs, name=f"f_{name}")
    module = loaded(f, tmp_path, **(blas_options() if needs_blas else {}))
    call = getattr(module, f.name)
    assert same_bits(call(*values, capacities=[10_000] * len(outputs)), f(*values))
    assert (tmp_path / f"{f.name}.o").stat().st_size < 30_000


@needs_cc
@pytest.mark.parametrize("name", [name for name, (*_, blas) in PROGRAMS.items() if blas])
def test_bundled_functions_need_no_library(name, tmp_path, repeats):
    if not repeats(0, 1) and name not in BY_DEFAULT:
        pytest.skip("make stress and make export-tests run all programs")
    inputs, outputs, values, _ = PROGRAMS[name]
    f = phintys.function(inputs, outputs, name=f"f_{name}")
    module = loaded(f, tmp_path, blas="bundled")
    assert set(module.DESCRIPTION["needs"]) <= ALLOWED
    for found, expected in zip(getattr(module, f.name)(*values), f(*values), strict=True):
        tolerance = 1e-5 if expected.dtype == "float32" else 1e-12
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.stress
@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "x86-64-v4", "aarch64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_objects_are_small_on_every_cpu(name, target, tmp_path):
    # For the CPU of the host, LLVM unrolls loops as it sees fit: that adds up to 6 %.
    inputs, outputs, _, needs_blas = PROGRAMS[name]
    f = phintys.function(inputs, outputs, name="f")
    blas = "bundled" if needs_blas else "link"
    assert f.export(tmp_path, target=target, blas=blas)[0].stat().st_size < 30_000


@needs_cc
@pytest.mark.parametrize(
    ("build", "z", "rest"),
    [
        (lambda x, y, z: x * y + z, -1.0, -(2.0**-60)),
        (lambda x, y, z: z - x * y, 1.0, 2.0**-60),
        (lambda x, y, z: x * x - z, 1 + 2.0**-29, 2.0**-60),
        (lambda x, y, z: z - y**2, 1 - 2.0**-29, -(2.0**-60)),
    ],
)
def test_products_and_sums_are_joined_if_that_is_allowed(build, z, rest, tmp_path):
    inputs = pt.dvectors("x", "y", "z")
    values = [np.full(7, one) for one in (1 + 2.0**-30, 1 - 2.0**-30, z)]
    f = phintys.function(inputs, build(*inputs), name="f", on_unused_input="ignore")
    assert not loaded(f, tmp_path).f(*values)[0].any()
    joined = loaded(f, tmp_path, name="joined", contract=True).joined(*values)[0]
    assert (joined == (rest if Target.host().has_fma else 0.0)).all()
    assert json.loads((tmp_path / "joined.json").read_text())["contracts"]


@needs_cc
def test_small_results_that_are_not_wanted_need_no_memory(tmp_path):
    x = pt.tensor("x", dtype="float64", shape=(3,))
    f = phintys.function([x], [pt.exp(x), x.sum()], name="f")
    module = loaded(f, tmp_path)
    assert not set(module.DESCRIPTION["needs"]) & {"malloc", "free"}
    library = ctypes.CDLL(str(next(tmp_path.glob("libf.*"))))
    values, total = np.arange(3.0), ctypes.c_double()
    arguments = (ctypes.c_void_p * 1)(values.ctypes.data)
    results = (ctypes.c_void_p * 2)(None, ctypes.addressof(total))
    capacities = (ctypes.c_int64 * 2)(0, 1)  # of the first one: it is not wanted
    library.f.argtypes = [ctypes.c_void_p] * 8 + [ctypes.c_int64]
    assert library.f(arguments, None, results, capacities, None, None, None, None, 0) == 0
    assert total.value == 3.0


@needs_cc
def test_several_objects_are_linked_together(tmp_path):
    X, Y = pt.dmatrix("X"), pt.dmatrix("Y")
    objects = []
    for name in ("first", "second"):
        f = phintys.function([X, Y], pt.exp(X @ Y), name=name)
        objects.append(f.export(tmp_path, blas="bundled")[0])
    library = tmp_path / "both.so"
    subprocess.run([CC, "-shared", "-o", library, *objects, "-lm"], check=True)
    both = ctypes.CDLL(str(library))
    assert hasattr(both, "first")
    assert hasattr(both, "second")


@needs_cc
@needs_nm
def test_an_object_needs_only_memory_and_libm(tmp_path):
    inputs, outputs, _, _ = PROGRAMS["loop"]
    phintys.function(inputs, outputs, name="f").export(tmp_path)
    run = subprocess.run(["nm", "-u", tmp_path / "f.o"], capture_output=True, text=True, check=True)
    assert set(run.stdout.split()) - {"U", "_GLOBAL_OFFSET_TABLE_"} <= ALLOWED
    needs = json.loads((tmp_path / "f.json").read_text())["needs"]
    assert set(needs) <= ALLOWED


# ---- the state -----------------------------------------------------------------------------------


@needs_cc
def test_updates_are_in_the_state_of_the_caller(tmp_path):
    x = pt.dvector("x")
    total = phintys.shared(np.zeros(3), name="total")
    old = phintys.shared(np.ones(3), name="old")
    scale = phintys.shared(2.0, name="scale")
    f = phintys.function(
        [x], [total, total.sum()], updates={total: total + scale * x, old: total}, name="f"
    )
    module = loaded(f, tmp_path)
    first, second = module.State(), module.State()
    for value in (np.arange(3.0), np.ones(3)):
        assert same_bits(module.f(value, state=first), f(value))
    assert same_bits([first["total"], first["old"]], [total.get_value(), old.get_value()])
    assert same_bits([second["total"], second["old"]], [np.zeros(3), np.ones(3)])
    second["total"] = 5.0
    assert module.f(np.zeros(3), state=second)[1] == 15.0


@needs_cc
def test_values_can_be_exchanged(tmp_path):
    a, b = (phintys.shared(np.arange(4.0) + n, name=name) for n, name in ((0, "a"), (9, "b")))
    f = phintys.function([], [a * 1], updates={a: b, b: a}, name="f")
    module = loaded(f, tmp_path)
    for _ in range(3):
        assert same_bits(module.f(), f())
    assert same_bits([module.STATE["a"], module.STATE["b"]], [a.get_value(), b.get_value()])


@needs_cc
def test_a_failed_call_leaves_the_state_unchanged(tmp_path):
    k, x = pt.lscalar("k"), pt.dvector("x")
    total = phintys.shared(np.zeros(3), name="total")
    f = phintys.function([k, x], x[k], updates={total: total + x.sum()}, name="f")
    module = loaded(f, tmp_path)
    assert module.f(1, np.arange(3.0))[0] == 1.0
    before = module.STATE["total"]
    message = r"Subtensor.*out of range.*test_exporting\.py"
    with pytest.raises(module.ExportedError, match=message) as error:
        module.f(7, np.arange(3.0))
    assert error.value.code > 0
    assert same_bits([module.STATE["total"]], [before])


@needs_cc
def test_random_numbers_continue_as_in_python(tmp_path):
    stream = phintys.random.RandomStream(seed=5)
    f = phintys.function([], stream.normal(size=(4,)), name="f")
    module = loaded(f, tmp_path)
    for _ in range(3):
        assert same_bits(module.f(), [f()])


@needs_cc
def test_sorting_needs_no_python(tmp_path):
    m = pt.dmatrix("m")
    parts = [pt.sort(m, axis=0), pt.argsort(m), *pt.unique(m, True, True, True)]
    rows = pt.unique(m, return_counts=True, axis=0)
    f = phintys.function([m], [*parts, *rows], name="f")
    module = loaded(f, tmp_path)
    value = np.random.default_rng(3).integers(-2, 2, (300, 3)).astype(float)
    value[::7, 1] = np.nan
    assert same_bits(module.f(value, capacities=[2000] * 8), f(value))
    assert not module.DESCRIPTION["libraries"]


@needs_cc
def test_transforms_and_partitions_need_no_python(tmp_path):
    m, z = pt.dmatrix("m"), pt.zmatrix("z")
    transforms = [pt.fft.rfft2(m), pt.fft.fft(z, axis=0), pt.fft.irfft(z), pt.fft.ifft(m)]
    f = phintys.function(
        [m, z], [*transforms, pt.partition(m, -2), pt.argpartition(m, 3)], name="f"
    )
    module = loaded(f, tmp_path)
    rng = np.random.default_rng(4)
    value = rng.standard_normal((12, 22))
    spectrum = value + 1j * rng.standard_normal((12, 22))
    *found, parted, order = module.f(value, spectrum)
    *wanted, _, _ = f(value, spectrum)
    assert same_bits(found, wanted)
    np.testing.assert_array_equal(parted, np.sort(value))
    np.testing.assert_array_equal(order, np.argsort(value))
    assert not module.DESCRIPTION["libraries"]
    with pytest.raises(module.ExportedError, match="fewer than 4 elements"):
        module.f(value[:, :3], spectrum)


# ---- what cannot be exported ---------------------------------------------------------------------


X, V, Z = pt.dmatrix("X"), pt.dvector("V"), pt.zvector("Z")
HALVES = FloatRow("halves", np.floor, doc="halves of x.", example="[1.0]")
REFUSED = {
    "Print": (lambda: pt.Print("x")(V), {}, "Print{'x'} of float64. Leave it out"),
    "no code": (
        lambda: pt.linalg.solve_discrete_are(X, X, X, X),
        {},
        "DiscreteRiccati{on_error=raise} of float64. Compute it before",
    ),
    "two": (lambda: pt.erf(Z) * pt.arccos(Z), {}, "Arccos of complex128 and Erf of complex128. It"),
    "largest": (Z.max, {}, "Max of complex128. Compute it before"),
    "a user's": (lambda: pt.Elemwise(HALVES)(V), {}, "Halves of float64. Compute it before"),
    "no BLAS": (
        lambda: [X @ X, pt.tanh(X)],
        {"blas": "none"},
        "the routine 'dgemm' of BLAS or LAPACK for Dot of float64. Export with",
    ),
    "not bundled": (
        lambda: [X @ X, pt.linalg.svd(X, compute_uv=False)],
        {"blas": "bundled"},
        "the routine 'dgesdd' of BLAS or LAPACK, which is not bundled, for SVD{full_matrices=",
    ),
}


def message_of_refusal(inputs, outputs, folder, **options):
    """The error of an export, without compiling the function for Python first."""
    fgraph = FunctionGraph(inputs, outputs, clone=True)
    phintys.get_mode("native").rewrite(fgraph)
    names = ExportNames("f", [None] * len(inputs), [None] * len(outputs), [], [], [])
    with pytest.raises(ArgumentError) as error:
        export_program(fgraph, names, ExportOptions(str(folder), **options))
    assert not list(folder.iterdir())
    return str(error.value)


@pytest.mark.parametrize("name", REFUSED)
def test_what_an_object_cannot_do_is_refused_by_name(name, tmp_path):
    build, options, what = REFUSED[name]
    made = build()
    outputs = made if isinstance(made, list) else [made]
    message = message_of_refusal([X, V, Z], outputs, tmp_path, **options)
    assert message.startswith("export('f'): an object ")
    assert what in message
    assert re.search(r"\n  .* of (float64|complex128).*, made at .*test_exporting\.py", message)
    assert message.count("made at") == (2 if name == "two" else 1)


def has_dtype(row, dtype):
    """Return whether a scalar op takes numbers of a dtype."""
    try:
        row.resolve_dtypes([dtype] * row.nin)
    except DtypeError:
        return False
    return True


SCIPY = sorted({one.op for one in EXTERNALS.values() if one.source == "scipy"})
IN_PYTHON = sorted(
    (name, dtype)
    for name, row in SCALAR_OPS.items()
    for dtype in ("float64", "complex128")
    if isinstance(row, FloatRow) and has_dtype(row, dtype)
    if not can_emit(row, [dtype] * row.nin)
)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("name", "dtype"), [*((name, "float64") for name in SCIPY), *IN_PYTHON], ids=str
)
def test_a_scalar_function_without_code_is_refused_with_its_dtype(name, dtype, tmp_path):
    row = SCALAR_OPS[name]
    inputs = [pt.vector(dtype=dtype) for _ in range(row.nin)]
    message = message_of_refusal(inputs, [pt.Elemwise(row)(*inputs)], tmp_path)
    assert re.search(rf"(Python, which|function '\w+') computes .* of {dtype}\. [A-Z]", message)
    assert re.search(rf"(?i)\n  {name} of {dtype}.*, made at .*test_exporting\.py", message)


def test_the_page_names_the_functions_that_call_scipy():
    page = (Path(__file__).parents[4] / "docs" / "export.md").read_text()
    (names,) = re.findall(r"without code of their own \((.*?)\)", page)
    assert re.findall(r"`(\w+)`", names) == SCIPY


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"kind": "exe"}, "kind is one of"),
        ({"blas": "mkl"}, "blas is one of"),
        ({"name": "a b"}, "the name must be one of C"),
        ({"allocate": False}, "x_0"),
        ({"threads": 4}, "threads must be 1, got 4: the pool of threads belongs to this process"),
    ],
)
def test_options_are_checked(options, what, tmp_path):
    x = pt.dvector("x")
    with pytest.raises(ArgumentError, match=re.escape(what)):
        phintys.function([x], x + 1, name="f").export(tmp_path, **options)


def test_the_reference_backend_has_nothing_to_export(tmp_path):
    x = pt.dvector("x")
    with pytest.raises(ConfigError, match="reference"):
        phintys.function([x], x + 1, mode="reference", name="f").export(tmp_path)


# ---- other machines ------------------------------------------------------------------------------

FORMATS = {
    "x86-64": b"\x7fELF\x02\x01",
    "x86-64-v4": b"\x7fELF\x02\x01",
    "aarch64": b"\x7fELF\x02\x01",
    "aarch64-macos": b"\xcf\xfa\xed\xfe\x0c\x00\x00\x01",
    "wasm32": b"\0asm",
}
MACHINES = {"x86-64": 62, "x86-64-v4": 62, "aarch64": 183}


@pytest.mark.parametrize("target", FORMATS)
def test_objects_for_other_machines_have_their_format(target, tmp_path):
    X = pt.dmatrix("X")
    f = phintys.function([X], pt.special.softmax(X, axis=1), name="f")
    f.export(tmp_path, target=target)
    data = (tmp_path / "f.o").read_bytes()
    assert data.startswith(FORMATS[target])
    if target in MACHINES:
        assert int.from_bytes(data[18:20], "little") == MACHINES[target]


QEMU = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
ARM_CC = shutil.which("aarch64-linux-gnu-gcc")

ON_ARM = """
#include <stdio.h>
static void show(const unsigned char *bytes, long long count) {
  while (count--) printf("%02x", *bytes++);
  printf("\\n");
}
int main(void) {
"""


def numbers_in_c(name, array):
    text = ", ".join(map(str, np.ascontiguousarray(array).tobytes())) or "0"
    return f"static const _Alignas(16) unsigned char {name}[] = {{{text}}};"


def calls_on_arm(f, values, expected, description):
    """The lines of C that call a function, and print the bytes of its results."""
    name = f.name
    arrays = [
        np.asarray(value, one["dtype"])
        for one, value in zip(description["arguments"], values, strict=True)
    ]
    lengths = {
        length: found
        for one, array in zip(description["arguments"], arrays, strict=True)
        for length, found in zip(one["shape"], array.shape, strict=True)
    }
    dims = ", ".join(str(lengths[one]) for one in description["dimensions"]) or "0"
    yield "{"
    yield from (numbers_in_c(f"a{at}", array) for at, array in enumerate(arrays))
    for at, one in enumerate(expected):
        yield f"static _Alignas(16) unsigned char r{at}[{max(1, np.asarray(one).nbytes)}];"
    yield f"const void *args[] = {{{', '.join(f'a{at}' for at in range(len(arrays)))}}};"
    yield f"void *results[] = {{{', '.join(f'r{at}' for at in range(len(expected)))}}};"
    yield f"const int64_t dims[] = {{{dims}}};"
    yield f"if ({name}(args, dims, results, 0, 0, 0, 0, 0, 0)) return 1;"
    for at, one in enumerate(expected):
        yield f"show(r{at}, {np.asarray(one).nbytes});"
    yield "}"


def arm_compiler():
    """Return the command of a compiler for aarch64; that of the distribution is quicker."""
    if ARM_CC is not None:
        return [ARM_CC]
    return [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-musl"]


@pytest.mark.skipif(not (ARM_CC or has_zig()), reason="there is no compiler for aarch64")
@pytest.mark.skipif(QEMU is None, reason="there is no qemu-user for aarch64")
def test_programs_run_on_arm(tmp_path):
    made = {}
    includes, body = [], []
    for name, (inputs, outputs, values, _) in PROGRAMS.items():
        f = phintys.function(inputs, outputs, name=f"f_{name}")
        f.export(tmp_path, target="aarch64", blas="bundled")
        made[name] = expected = f(*values)
        description = json.loads((tmp_path / f"f_{name}.json").read_text())
        includes.append(f'#include "f_{name}.h"')
        body += calls_on_arm(f, values, expected, description)
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text("\n".join([*includes, ON_ARM, *body, "return 0; }"]))
    command = [*arm_compiler(), "-static", "-o", program, source]
    objects = [tmp_path / f"f_{name}.o" for name in made]
    subprocess.run([*command, *objects, "-lm"], check=True)
    run = subprocess.run([QEMU, program], capture_output=True, text=True, check=True)
    lines = iter(run.stdout.splitlines())
    for expected in made.values():
        for one in map(np.asarray, expected):
            found = np.frombuffer(bytes.fromhex(next(lines)), one.dtype).reshape(one.shape)
            tolerance = 1e-5 if one.dtype == "float32" else 1e-12
            np.testing.assert_allclose(found, one, rtol=tolerance, atol=tolerance)


SECOND_POINTER = """
target triple = "wasm32-unknown-unknown"
define ptr @second(ptr %0) {
  %2 = getelementptr ptr, ptr %0, i64 1
  %3 = load ptr, ptr %2
  ret ptr %3
}
"""


def test_pointers_have_the_length_of_the_target():
    with config.change_flags(native_target="wasm32"):
        machine = Target.configured().machine(2, for_linkers=True)
    code = llvm().compile_together([SECOND_POINTER], [], machine)
    assert b"\x41\x04\x6a\x28\x02" in code  # i32.const 4, i32.add, i32.load


@pytest.mark.skipif(not has_zig(), reason="there is no linker for WebAssembly (ziglang)")
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_a_module_of_webassembly_imports_nothing(tmp_path):
    X = pt.dmatrix("X")
    f = phintys.function([X], pt.special.softmax(X, axis=1), name="f")
    f.export(tmp_path, target="wasm32", kind="wasm")
    value = np.arange(6.0).reshape(2, 3) ** 2 * 0.1
    program = f"""
const bytes = require('fs').readFileSync({json.dumps(str(tmp_path / "f.wasm"))});
const module = new WebAssembly.Module(bytes);
const e = new WebAssembly.Instance(module, {{}}).exports;
if (e._initialize) e._initialize();
const put = (type, a) => {{
  const p = e.malloc(type.BYTES_PER_ELEMENT * a.length);
  new type(e.memory.buffer, p, a.length).set(a);
  return p;
}};
const out = put(Float64Array, new Array(6).fill(0)), shape = put(BigInt64Array, [0n, 0n]);
const args = put(Uint32Array, [put(Float64Array, {value.ravel().tolist()})]);
const code = e.f(args, put(BigInt64Array, [2n, 3n]), put(Uint32Array, [out]),
                 put(BigInt64Array, [6n]), shape, 0, 0, 0, 0n);
console.log(JSON.stringify({{
  imports: WebAssembly.Module.imports(module).length, code,
  values: [...new Float64Array(e.memory.buffer, out, 6)],
  shape: [...new BigInt64Array(e.memory.buffer, shape, 2)].map(Number),
}}));
"""
    run = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    found = json.loads(run.stdout)
    assert (found["imports"], found["code"], found["shape"]) == (0, 0, [2, 3])
    np.testing.assert_allclose(np.reshape(found["values"], (2, 3)), f(value), rtol=1e-14)


# ---- the interface -------------------------------------------------------------------------------


@needs_cc
def test_wrong_calls_return_codes(tmp_path):
    x, k = pt.dvector("x"), pt.lvector("k")
    f = phintys.function([x, k], [pt.exp(x), x[k], x.sum()], name="f")
    files = f.export(tmp_path, kind="shared")
    program = f"""
import ctypes, numpy as np
f = ctypes.CDLL({str(files[-1])!r}).f
pointer, int64 = ctypes.c_void_p, ctypes.c_int64
f.argtypes = [pointer] * 8 + [int64]
x, k, long = np.ones(4), np.array([0, 3]), np.ones(5)
outs = [np.empty(4), np.empty(2), np.empty(())]
def call(args=(x.ctypes.data, k.ctypes.data), dims=(4, 2), capacities=(4, 2, 1), results=None):
    results = [one.ctypes.data for one in outs] if results is None else results
    a, r = (pointer * 2)(*args), (pointer * 3)(*results)
    d, c = (int64 * 2)(*dims), (int64 * 3)(*capacities)
    return f(a, d, r, c, None, None, None, None, 0)
print(call(), call(args=(None, k.ctypes.data)), call(args=(x.ctypes.data + 4, k.ctypes.data)),
      call(dims=(-1, 2)), call(dims=(2**60, 2)), call(capacities=(3, 2, 1)),
      call(capacities=(4, -1, 1)), call(results=[None, None, outs[2].ctypes.data]),
      call(results=[outs[0].ctypes.data + 1, None, None]), call(args=(None, None), dims=(0, 0)),
      f(None, None, None, None, None, None, None, None, 0))
k[1] = 9
print(call())
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    good, bad = run.stdout.splitlines()
    assert [int(one) for one in good.split()] == [0, -1, -2, -3, -3, -4, -4, 0, -2, 0, -1]
    assert int(bad) > 0


@needs_cc
def test_static_shapes_need_no_malloc(tmp_path):
    X = pt.tensor("X", dtype="float32", shape=(40, 40))
    f = phintys.function([X], [pt.special.softmax(pt.exp(X), axis=1), X.sum(axis=1)], name="f")
    module = loaded(f, tmp_path, allocate=False)
    value = np.random.default_rng(0).random((40, 40), "f4")
    assert same_bits(module.f(value), f(value))
    assert "malloc" not in module.DESCRIPTION["needs"]
    assert module.DESCRIPTION["dimensions"] == []


def test_what_takes_memory_while_it_runs_is_refused_without_malloc(tmp_path):
    X = pt.tensor("X", dtype="float32", shape=(4000, 4000))
    f = phintys.function([X], pt.special.softmax(pt.exp(X), axis=0), name="f")
    with pytest.raises(ArgumentError, match=r"Softmax.*test_exporting\.py"):
        f.export(tmp_path, allocate=False)


def test_unknown_shapes_of_shared_variables_are_refused_without_malloc(tmp_path):
    X = pt.tensor("X", dtype="float32", shape=(16, 8))
    weights = phintys.shared(np.ones((8, 4), "f4"))
    f = phintys.function([X], pt.special.softmax(X @ weights, axis=1), name="f")
    with pytest.raises(ArgumentError, match=r"shared\(value, shape=value.shape\)"):
        f.export(tmp_path, allocate=False, blas="bundled")


@needs_cc
def test_work_memory_is_enough(tmp_path):
    x = pt.dvector("x")
    f = phintys.function([x], pt.outer(x, x).cumsum(axis=0).cumsum(axis=1).sum(axis=0), name="f")
    files = f.export(tmp_path, kind="shared")
    library = ctypes.CDLL(str(files[-1]))
    library.f.argtypes = [ctypes.c_void_p] * 8 + [ctypes.c_int64]
    library.f_work_bytes.restype = ctypes.c_int64
    value, out = np.arange(40.0), np.empty(40)
    dims = (ctypes.c_int64 * 1)(40)
    needed = library.f_work_bytes(dims)
    guard = np.full(needed + 64, 0x5A, np.uint8)
    args, results = ((ctypes.c_void_p * 1)(one.ctypes.data) for one in (value, out))
    assert library.f(args, dims, results, None, None, None, None, guard.ctypes.data, needed) == 0
    assert same_bits([out], [f(value)])
    assert (guard[needed:] == 0x5A).all()


THREADS = """
#include <pthread.h>
#include <stdio.h>
#include "f.h"
static void *calls(void *given) {
  double x[10], y[10], first[10];
  for (int i = 0; i < 10; i++) x[i] = 0.1 * i + *(int *)given;
  if (f_typed(10, x, first, 10, NULL, 0)) return given;
  for (int call = 0; call < CALLS; call++) {
    if (f_typed(10, x, y, 10, NULL, 0)) return given;
    for (int i = 0; i < 10; i++) if (y[i] != first[i]) return given;
  }
  return NULL;
}
int main(void) {
  pthread_t threads[4];
  int numbers[4] = {0, 1, 2, 3}, failed = 0;
  void *result;
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, calls, &numbers[i]);
  for (int i = 0; i < 4; i++) { pthread_join(threads[i], &result); failed |= result != NULL; }
  return failed;
}
"""


def built(source, folder, *others):
    """Compile a C program with exported objects, and options; return its path."""
    path = folder / "program"
    command = [CC, "-O1", "-Wall", "-Werror", "-pthread", f"-I{folder}", "-o", path, source]
    subprocess.run([*command, *others, "-lm"], check=True)
    return path


@needs_cc
def test_threads_call_at_the_same_time(tmp_path, repeats):
    x = pt.dvector("x")
    f = phintys.function([x], pt.cumsum(pt.outer(x, pt.exp(x)), axis=0).sum(axis=0), name="f")
    f.export(tmp_path)
    (tmp_path / "threads.c").write_text(THREADS)
    calls = f"-DCALLS={repeats(5_000, 250_000)}"
    program = built(tmp_path / "threads.c", tmp_path, tmp_path / "f.o", calls)
    subprocess.run([program], check=True, timeout=300)


@needs_cc
def test_the_example_in_c_prints_what_python_prints(tmp_path, sanitizers):
    example = Path(__file__).parents[4] / "examples" / "exported.py"
    python = [sys.executable, str(example)]
    expected = subprocess.run(python, capture_output=True, text=True, check=True).stdout
    command = [sys.executable, "-m", "phintys", "export", f"{example}:smoother", tmp_path]
    subprocess.run(command, check=True, capture_output=True)
    program = built(example.with_suffix(".c"), tmp_path, tmp_path / "smoother.o", *sanitizers)
    found = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert found == expected


@needs_cc
def test_code_of_one_lane_gives_the_same_numbers(tmp_path):
    inputs, outputs, values, _ = PROGRAMS["softmax"]
    f = phintys.function(inputs, outputs, name="f")
    (found,) = loaded(f, tmp_path, target="one-lane").f(*values)
    np.testing.assert_allclose(found, f(*values)[0], rtol=1e-14)


# ---- functions of users --------------------------------------------------------------------------

OWN = """
#include <stdint.h>
double half_square(double x) { return x * x / 2; }
int scale(const double *x, const double *a, double *y, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    if (x[i] < 0) return -7;
    y[i] = a[0] * x[i];
  }
  return 0;
}
"""


@pytest.fixture
def own_library(tmp_path):
    if CC is None:
        pytest.skip("there is no C compiler")
    (tmp_path / "own.c").write_text(OWN)
    path = tmp_path / "libown.so"
    subprocess.run([CC, "-shared", "-fPIC", tmp_path / "own.c", "-o", path], check=True)
    return str(path)


def test_functions_of_users_are_linked(own_library, tmp_path):
    x, a = pt.dvector("x"), pt.dscalar("a")
    half = pn.scalar("half", (own_library, "half_square"), nin=1, derivative=lambda x: x)
    scale = pn.call((own_library, "scale"), signature="(n),()->(n)", messages={-7: "a negative"})
    y = half(x)
    f = phintys.function([x, a], [scale(y, a), phintys.grad(y.sum(), x)], name="f")
    module = loaded(f, tmp_path / "out")
    assert same_bits(module.f(np.arange(4.0), 3.0), f(np.arange(4.0), 3.0))
    assert module.DESCRIPTION["libraries"] == [own_library]
    assert {"half_square", "scale"} <= set(module.DESCRIPTION["needs"])
    g = phintys.function([x, a], scale(x, a), name="g")
    module = loaded(g, tmp_path / "out")
    with pytest.raises(
        module.ExportedError, match=r"status -7 \(-7: a negative\).*test_exporting\.py"
    ):
        module.g([1.0, -1.0], 3.0)


def test_functions_of_this_process_are_refused(tmp_path, monkeypatch):
    x = pt.dvector("x")
    half = pn.scalar("half", (None, "cbrt"), nin=1)
    f = phintys.function([x], half(x), name="f")
    monkeypatch.setattr(assembling, "function_of", lambda symbol: LocalFunction(half, 1))
    with pytest.raises(ArgumentError, match=r"in this process only.*\(library, symbol\)"):
        f.export(tmp_path)


def test_functions_of_one_name_in_two_libraries_are_refused(own_library, tmp_path):
    x = pt.dvector("x")
    other = shutil.copy(own_library, tmp_path / "libother.so")
    first, second = (
        pn.scalar(name, (str(path), "half_square"), nin=1)
        for name, path in (("first", own_library), ("second", other))
    )
    f = phintys.function([x], first(x) + second(x), name="f")
    with pytest.raises(ArgumentError, match="'half_square' of two libraries"):
        f.export(tmp_path)
