"""Programs in other languages that call exported functions."""

import base64
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.backends.native.export.toolchain import has_zig

CC, CXX, RUSTC = shutil.which("cc"), shutil.which("c++"), shutil.which("rustc")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
EXAMPLES = Path(__file__).parents[4] / "examples"

needs_cc = pytest.mark.skipif(CC is None, reason="there is no C compiler")
needs_zig = pytest.mark.skipif(not has_zig(), reason="there is no linker for WebAssembly (ziglang)")


def output(*command):
    """Run a program that must not fail; return what it prints."""
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def model(name="model"):
    """A function with an argument of any length, and its values."""
    x, k = pt.dvector("x"), pt.lvector("k")
    f = phintys.function([x, k], [pt.exp(x) * 2, x[k], pt.cumsum(x)], name=name)
    return f, (np.array([0.5, -1.0, 2.0]), np.array([2, 0]))


# ---- C++ -----------------------------------------------------------------------------------------

IN_CPP = """
#include <cstdio>
#include <vector>
#include "model.h"
int main() {
  const std::vector<double> x{0.5, -1.0, 2.0};
  const std::vector<int64_t> k{2, 0};
  std::vector<double> y(3), chosen(2), sums(3);
  const int32_t code = model_typed(3, 2, x.data(), k.data(), y.data(), 3, chosen.data(), 2,
                                        sums.data(), 3, nullptr, 0);
  if (code) { std::puts(model_message(code)); return 1; }
  for (const auto *one : {&y, &chosen, &sums})
    for (double number : *one) std::printf("%.17g ", number);
}
"""


@pytest.mark.skipif(CXX is None, reason="there is no C++ compiler")
def test_a_program_in_cpp_is_linked_with_a_static_library(tmp_path):
    f, values = model()
    names = [file.name for file in f.export(tmp_path, kind="static")]
    assert names[-1] == "libmodel.a"
    source, program = tmp_path / "program.cpp", tmp_path / "program"
    source.write_text(IN_CPP)
    warnings = ["-std=c++17", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    output(
        CXX, *warnings, f"-I{tmp_path}", source, f"-L{tmp_path}", "-lmodel", "-lm", "-o", program
    )
    found = np.array(output(program).split(), float)
    np.testing.assert_array_equal(found, np.concatenate(f(*values)))


# ---- Rust ----------------------------------------------------------------------------------------


@pytest.mark.skipif(RUSTC is None, reason="there is no Rust compiler")
def test_the_example_in_rust_prints_what_python_prints(tmp_path):
    example = EXAMPLES / "exported.py"
    export = ["-m", "phintys", "export", f"{example}:smoother", tmp_path, "--kind", "static"]
    output(sys.executable, *export)
    program = tmp_path / "program"
    output(RUSTC, "-D", "warnings", "-L", tmp_path, "-o", program, example.with_suffix(".rs"))
    assert output(program) == output(sys.executable, example)


# ---- wrong calls ---------------------------------------------------------------------------------

WRONG_CALLS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "model.h"

/* Memory that ends where none is: what is beyond it cannot be touched. */
static void *guarded(size_t bytes) {
  char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(pages + 4096, 4096, PROT_NONE);
  return pages + 4096 - bytes;
}

int main(void) {
  double *x = guarded(3 * 8), *y = guarded(3 * 8), *chosen = guarded(2 * 8), *sums = guarded(3 * 8);
  int64_t *k = guarded(2 * 8), *dims = guarded(2 * 8), *capacities = guarded(3 * 8);
  int64_t *shapes = guarded(3 * 8), *numbers = guarded(2 * 8);
  const void **args = guarded(2 * sizeof(void *));
  void **results = guarded(3 * sizeof(void *));
  for (long at = 0; at < 1L << 14; at++) {
    for (int i = 0; i < 3; i++) x[i] = i;
    k[0] = 2, k[1] = 0;
    args[0] = x, args[1] = k;
    results[0] = y, results[1] = chosen, results[2] = sums;
    dims[0] = 3, dims[1] = 2;
    capacities[0] = 3, capacities[1] = 2, capacities[2] = 3;
    /* Each bit of the number is one thing that is wrong, or left out. */
    if (at & 1) args[0] = NULL;
    if (at & 2) args[1] = (char *)k + 1;
    if (at & 4) dims[0] = -5;
    if (at & 8) dims[1] = (int64_t)1 << 60;
    if (at & 16) capacities[0] = 2;
    if (at & 32) capacities[1] = -1;
    if (at & 64) results[2] = (char *)sums - 4;
    if (at & 128) k[0] = 3;
    if (at & 256) k[1] = -4;
    if (at & 512) results[0] = NULL;
    if (at & 1024) results[1] = NULL;
    int64_t *s = at & 2048 ? NULL : shapes, *n = at & 4096 ? NULL : numbers;
    const int64_t *c = at & 8192 ? NULL : capacities;
    int is_small = c && ((at & (16 | 512)) == 16 || (at & (32 | 1024)) == 32);
    int is_wrong = is_small || (at & (1 | 2 | 4 | 8 | 64 | 128 | 256)) != 0;
    int32_t code = model(args, dims, results, c, s, n, NULL, NULL, 0);
    if ((code != 0) != is_wrong || !strlen(model_message(code))) {
      printf("case %ld: the code is %d\n", at, code);
      return 1;
    }
  }
  if (model(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0) != PHINTYS_NULL_POINTER) return 2;
  args[0] = x, args[1] = k, k[0] = k[1] = 0, dims[0] = 3, dims[1] = 2;
  if (model(args, dims, NULL, NULL, NULL, NULL, NULL, NULL, 0)) return 3;
  /* Too little work memory, and misaligned: the rest comes from malloc, and is freed. */
  char *work = malloc(model_work_bytes(dims) + 1);
  for (int64_t bytes = 0; bytes <= model_work_bytes(dims); bytes += 13)
    if (model(args, dims, NULL, NULL, NULL, NULL, NULL, work + 1, bytes)) return 4;
  free(work);
  puts("all right");
  return 0;
}
"""


@needs_cc
def test_wrong_calls_touch_no_memory_but_the_callers(tmp_path, sanitizers):
    f, _ = model()
    f.export(tmp_path)
    (tmp_path / "wrong.c").write_text(WRONG_CALLS)
    options = ["-O1", "-g", "-Wall", "-Werror", f"-I{tmp_path}", *sanitizers]
    program = tmp_path / "wrong"
    output(CC, *options, tmp_path / "wrong.c", tmp_path / "model.o", "-lm", "-o", program)
    assert output(program) == "all right\n"


# ---- small machines ------------------------------------------------------------------------------

WITHOUT_LIBRARIES = """
#include <stddef.h>
void *memset(void *p, int c, size_t n) { char *q = p; while (n--) *q++ = c; return p; }
void *memcpy(void *p, const void *s, size_t n) {
  char *q = p; const char *r = s; while (n--) *q++ = *r++; return p;
}
void *memmove(void *p, const void *s, size_t n) {
  char *q = p; const char *r = s;
  if (q < r) while (n--) *q++ = *r++; else while (n--) q[n] = r[n];
  return p;
}
"""


@needs_cc
def test_a_network_for_a_machine_without_any_library(tmp_path):
    """float32, no malloc, no libm, no BLAS, no vectors of float64; weights are constants."""
    rng = np.random.default_rng(3)
    X = pt.tensor("X", dtype="float32", shape=(16, 8))
    first, second = (
        phintys.shared(rng.standard_normal(shape).astype("f4"), shape=shape)
        for shape in ((8, 24), (24, 3))
    )
    y = pt.special.softmax(pt.tanh(X @ first) @ second, axis=1)
    f = phintys.function([X], [y, pt.argmax(y, axis=1)], name="network")
    f.export(tmp_path, target="one-lane", allocate=False, blas="bundled")
    needs = json.loads((tmp_path / "network.json").read_text())["needs"]
    assert set(needs) <= {"memset", "memcpy", "memmove"}
    assert (tmp_path / "network.o").stat().st_size < 30_000
    (tmp_path / "memory.c").write_text(WITHOUT_LIBRARIES)
    library = tmp_path / "network.so"
    freestanding = [
        "-ffreestanding",
        "-fno-builtin",
        "-fPIC",
        "-shared",
        "-nostdlib",
        "-Wl,-z,defs",
    ]
    output(CC, *freestanding, tmp_path / "memory.c", tmp_path / "network.o", "-o", library)
    value = rng.standard_normal((16, 8)).astype("f4")
    program = f"""
import ctypes, numpy as np
library = ctypes.CDLL({str(library)!r})
library.network.argtypes = [ctypes.c_void_p] * 8 + [ctypes.c_int64]
library.network_work_bytes.restype = ctypes.c_int64
x = np.array({value.tolist()}, np.float32)
y, best = np.zeros((16, 3), np.float32), np.zeros(16, np.int64)
work = np.zeros(library.network_work_bytes(None), np.uint8)
args = (ctypes.c_void_p * 1)(x.ctypes.data)
results = (ctypes.c_void_p * 2)(y.ctypes.data, best.ctypes.data)
call = lambda bytes: library.network(
    args, None, results, None, None, None, None, work.ctypes.data, bytes)
assert call(0) in {0, -5}
assert call(len(work)) == 0
print(y.tolist() + [best.tolist()])
"""
    *found, best = json.loads(output(sys.executable, "-c", program))
    expected = f(value)
    np.testing.assert_allclose(found, expected[0], rtol=1e-5)
    np.testing.assert_array_equal(best, expected[1])


# ---- samplers ------------------------------------------------------------------------------------


@needs_cc
def test_a_log_density_for_samplers_in_c(tmp_path):
    """The example's density, called by a sampler that knows a C function and a pointer."""
    example = EXAMPLES / "log_density.py"
    expected = output(sys.executable, example)
    output(sys.executable, "-m", "phintys", "export", f"{example}:log_density", tmp_path)
    program = tmp_path / "sampler"
    options = ["-O1", "-Wall", "-Werror", f"-I{tmp_path}", "-o", program]
    source = example.with_suffix(".c")
    output(CC, *options, source, tmp_path / "log_density.o", "-lm")
    assert output(program) == expected


# ---- browsers ------------------------------------------------------------------------------------


@needs_zig
@pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs Chromium and its driver")
def test_a_page_runs_a_model(tmp_path):
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    X = pt.dmatrix("X")
    weights = phintys.shared(np.random.default_rng(1).standard_normal((4, 3)))
    f = phintys.function([X], pt.special.softmax(X @ weights, axis=1), name="model")
    f.export(tmp_path, target="wasm32", kind="wasm", blas="bundled")
    page = (EXAMPLES / "exported.html").read_text()
    code = base64.b64encode((tmp_path / "model.wasm").read_bytes()).decode()
    page = re.sub(r'fetch\("model.wasm"\)', f'fetch("data:application/wasm;base64,{code}")', page)
    (tmp_path / "page.html").write_text(page)
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ("--headless", "--no-sandbox", "--disable-gpu"):
        options.add_argument(argument)
    service = webdriver.ChromeService(executable_path=DRIVER)
    with webdriver.Chrome(options=options, service=service) as driver:
        driver.set_page_load_timeout(60)
        driver.set_script_timeout(60)
        driver.get((tmp_path / "page.html").as_uri())
        found = driver.execute_async_script("ready.then(arguments[0], e => arguments[0](`${e}`))")
    np.testing.assert_allclose(found, f([[1.0, 2, 3, 4], [0, -1, 1, 0.5]]), rtol=1e-13)
