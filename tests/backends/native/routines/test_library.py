"""Outlined math, external functions, and what code for another CPU needs."""

import re
import subprocess
import sys

import numpy as np
import pytest

from phintys._base.errors import MethodNotDefinedError, OpContractError
from phintys.backends.native.assembler import externals
from phintys.backends.native.assembler.externals import address_of
from phintys.backends.native.assembler.llvm_library import llvm
from phintys.backends.native.assembler.math import FLOAT_FUNCTIONS, OutlinedSymbol, float_math
from phintys.backends.native.assembler.math.registry import float_function
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.routines.library import library
from tools.native_functions import elementwise, elementwise_module


def test_symbols_name_all_functions():
    for name in FLOAT_FUNCTIONS:
        key = OutlinedSymbol(name, "float32", 16)
        assert OutlinedSymbol.parse(key.symbol) == key


def test_library_defines_what_is_asked_for():
    symbols = {"phintys_exp_float64_x4", "phintys_pow_float32_x8"}
    text = str(library(Target.named("x86-64-v3"), symbols))
    assert set(re.findall(r"define .*?@(\w+)\(", text)) == symbols


@pytest.mark.parametrize("target", ["x86-64-v4", "x86-64-v3", "x86-64-v2", "aarch64"])
def test_callers_and_the_library_agree_on_how_functions_are_called(target):
    target = Target.named(target)
    module = elementwise_module(target, lambda b, x: float_math(b, "exp", x), ["f8"], "f8")
    (symbol,) = module.math_functions
    heads = rf"^(?:define|declare)(.*) <.*@{symbol}\("
    defined = re.findall(heads, str(library(target, [symbol])), re.MULTILINE)
    assert re.findall(heads, str(module), re.MULTILINE) == defined
    assert re.findall(rf"call(.*) <.*@{symbol}\(", str(module)) == 2 * defined
    assert ("intel_ocl_bicc" in defined[0]) == target.has_avx512


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", sorted(FLOAT_FUNCTIONS))
def test_outlined_and_inline_code_give_the_same_bits(name):
    function = FLOAT_FUNCTIONS[name]
    x = np.random.default_rng(0).uniform(0.1, 0.9, (function.nin, 37))

    def compute(b, *values):
        return float_math(b, name, *values)

    dtypes = ["f8"] * function.nin
    results = [
        elementwise(compute, dtypes, "f8", lanes=lanes, inline=inline)(*x)
        for lanes, inline in ((8, False), (8, True), (4, True), (1, True))
    ]
    for result in results[1:]:
        assert np.array_equal(results[0], result, equal_nan=True)


def test_externals_are_found():
    for symbol in externals.EXTERNALS:
        assert address_of(symbol)


def test_a_missing_external_says_so(monkeypatch):
    missing = externals.External("frob", "scipy", "frob")
    misspelt = externals.External("frob", "libm", "frobf")
    for external in (missing, misspelt):
        monkeypatch.setitem(externals.EXTERNALS, external.symbol, external)
        with pytest.raises(MethodNotDefinedError, match=r"has no function 'frobf?' here"):
            address_of(external.symbol)


def test_a_name_is_registered_once():
    with pytest.raises(OpContractError, match="two functions named 'exp'"):
        float_function("exp")(lambda b, x: x)


@pytest.mark.parametrize("name", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_the_library_is_sound_for_each_target(name):
    target = Target.named(name)
    symbols = [
        OutlinedSymbol(function, dtype, lanes).symbol
        for function in FLOAT_FUNCTIONS
        for dtype, lanes in (("float64", target.vector_bytes // 8), ("float32", 1))
    ]
    llvm().verify(str(library(target, symbols)))


MACHINE_CODE = """
from phintys.backends.native.routines.library import library
from phintys.backends.native.assembler.llvm_library import llvm
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.assembler.math import FLOAT_FUNCTIONS, OutlinedSymbol
target = Target.named({name!r})
variants = ("float64", {lanes}), ("float32", {lanes} * 2), ("float64", 1)
symbols = [
    OutlinedSymbol(name, *variant).symbol for name in FLOAT_FUNCTIONS for variant in variants
]
print(len(llvm().compile(str(library(target, symbols)), target.machine(0))))
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("name", "lanes"), [("aarch64", 2), ("x86-64-v2", 2), ("x86-64-v3", 4), ("x86-64-v4", 8)]
)
def test_machine_code_for_each_target(name, lanes):
    # In a process of its own: what a target cannot do would end the process.
    if name == "aarch64":
        llvm().initialize_all_targets()
        if not llvm().knows("aarch64-unknown-linux-gnu"):
            pytest.skip("this LLVM has no such target")
    run = subprocess.run(
        [sys.executable, "-c", MACHINE_CODE.format(name=name, lanes=lanes)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 100_000
