"""Time the native backend's vector math against NumPy and SciPy, and how long code takes to make.

    python -m benchmarks.vector_math [function ...]

Times are nanoseconds an element, the best of many runs over arrays that fit the cache.
"""

import ctypes
import sys
import time

import numpy as np
import scipy.special

from phintys.backends.native.assembler.llvm_library import llvm
from phintys.backends.native.assembler.math import FLOAT_FUNCTIONS, float_math
from phintys.backends.native.assembler.target import Target
from tools.native_functions import compile_module, elementwise_module

ELEMENTS = 16384
# fmt: off
FUNCTIONS = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "hypot", "pow",
    "logaddexp", "logaddexp2", "sigmoid", "softplus", "log1mexp", "sin", "cos", "tan", "arcsin",
    "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "erf",
    "erfc", "ndtr", "fmod", "mod", "int_div", "gammaln", "trigamma",
)
# fmt: on
SCIPY = {"sigmoid": "expit", "gammaln": "gammaln", "erf": "erf", "erfc": "erfc", "ndtr": "ndtr"}
NUMPY = {"pow": "power", "int_div": "floor_divide"}
RANGES = {"arccosh": (1.1, 3.0), "log1mexp": (-3.0, -0.1)}


def peer(name):
    if name in SCIPY:
        return getattr(scipy.special, SCIPY[name])
    return getattr(np, NUMPY.get(name) or name, None)


def nanoseconds(call):
    best = float("inf")
    for _ in range(300):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best / ELEMENTS * 1e9


def timed(name, dtype, target, inline):
    nin = FLOAT_FUNCTIONS[name].nin
    low, high = RANGES.get(name, (0.05, 0.95))
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(low, high, ELEMENTS).astype(dtype) for _ in range(nin)]
    out = np.empty(ELEMENTS, dtype)

    def compute(b, *values):
        return float_math(b, name, *values)

    module = elementwise_module(target, compute, [dtype] * nin, dtype, inline=inline)
    arguments = [ctypes.c_int64] + [ctypes.c_void_p] * (nin + 1)
    kernel = compile_module(module).function("kernel", *arguments)
    addresses = [array.ctypes.data for array in (out, *inputs)]
    ours = nanoseconds(lambda: kernel(ELEMENTS, *addresses))
    theirs = peer(name)
    return ours, nanoseconds(lambda: theirs(*inputs, out=out)) if theirs else float("nan")


def compile_times(target):
    """Print what a kernel like exp(-x**2 / 2) * sin(y) + tanh(z) costs, in milliseconds."""

    def compute(b, x, y, z):
        bell = float_math(b, "exp", x * x * -0.5)
        return bell * float_math(b, "sin", y) + float_math(b, "tanh", z)

    for inline, level in ((False, 0), (False, 1), (True, 1)):
        machine = target.machine(level)
        start = time.perf_counter()
        texts = [
            str(elementwise_module(target, compute, ["f8"] * 3, "f8", inline=inline))
            for _ in range(20)
        ]
        written = time.perf_counter()
        for text in texts:
            llvm().compile(text, machine)
        done = time.perf_counter()
        how = "in place" if inline else "outlined"
        print(
            f"math {how}, level {level}: {(written - start) * 50:.2f} ms to write "
            f"{len(texts[0].splitlines())} lines, {(done - written) * 50:.2f} ms to compile"
        )


def main(names):
    targets = [("host", False), ("host", True), ("x86-64-v3", False), ("x86-64-v2", False)]
    host = Target.host()
    runnable = [
        (name, inline)
        for name, inline in targets
        if Target.named(name).triple == host.triple
        and Target.named(name).vector_bytes <= host.vector_bytes
    ]
    for dtype in ("float64", "float32"):
        head = [f"{name}{' in place' if inline else ''}" for name, inline in runnable]
        print(f"\n{dtype:12}" + "".join(f"{title:>16}" for title in [*head, "NumPy, SciPy"]))
        for name in names:
            results = [timed(name, dtype, Target.named(t), inline) for t, inline in runnable]
            numbers = [ours for ours, _ in results] + [min(theirs for _, theirs in results)]
            print(f"{name:12}" + "".join(f"{number:16.2f}" for number in numbers), flush=True)
    print()
    compile_times(host)


if __name__ == "__main__":
    main(sys.argv[1:] or FUNCTIONS)
