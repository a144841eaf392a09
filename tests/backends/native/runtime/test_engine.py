import ctypes
import gc
import math
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phintys._base.errors import IntegrityError, MethodNotDefinedError
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.elements import load, store
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.operations import emit
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.assembler.types import FLOAT64, INT64, PTR, VOID
from phintys.backends.native.runtime import engine
from phintys.backends.native.runtime.engine import (
    CompiledObject,
    compile_object,
    load_object,
    undefined_symbols,
)

pytestmark = pytest.mark.usefixtures("native")
DOUBLE = ctypes.c_double


def function_of(module, compute, name="f"):
    b = Builder(module.function(name, FLOAT64, [FLOAT64]))
    b.ret(compute(b, *b.arguments))
    return module


def as_python(code, name="f"):
    function = ctypes.CFUNCTYPE(DOUBLE, DOUBLE)(code.address(name))
    function.code = code
    return function


def test_code_is_compiled_and_called():
    module = function_of(Module(Target.host()), lambda b, x: x * 2.0 + 1.0)
    assert as_python(engine.load(module))(20.0) == 41.0


def test_functions_are_found_by_name_wherever_they_are():
    module = Module(Target.host())

    def compute(b, x):
        own = b.call("phintys_test_own", FLOAT64, [x])
        of_libm = b.call("hypot", FLOAT64, [own, own])
        return emit(b, "gamma", [emit(b, "exp", [of_libm], "float64")], "float64")

    function_of(module, compute)
    own = ctypes.CFUNCTYPE(DOUBLE, DOUBLE)(lambda x: x + 1.0)
    address = ctypes.cast(own, ctypes.c_void_p).value
    f = as_python(engine.load(module, {"phintys_test_own": address}))
    assert f(0.5) == pytest.approx(math.gamma(math.exp(math.hypot(1.5, 1.5))), rel=1e-12)


def test_a_function_that_is_nowhere_is_an_error_and_no_crash():
    module = function_of(
        Module(Target.host()), lambda b, x: b.call("phintys_no_such_function", FLOAT64, [x])
    )
    with pytest.raises(MethodNotDefinedError, match="phintys_no_such_function"):
        engine.load(module)


@pytest.mark.parametrize(
    "text",
    [
        "this is no code",
        "define i32 @f() { ret i64 0 }",
        "define i32 @f(i1 %c) {\n br i1 %c, label %a, label %b\na:\n ret i32 %x\n"  # noqa: ISC004
        "b:\n %x = add i32 1, 1\n ret i32 %x\n}",
    ],
)
def test_wrong_code_is_an_error_and_no_crash(text):
    with pytest.raises(IntegrityError, match="LLVM refuses"):
        compile_object(text, Target.host())


def test_a_function_that_code_does_not_define():
    code = engine.load(function_of(Module(Target.host()), lambda b, x: x))
    with pytest.raises(IntegrityError, match="no function 'g'"):
        code.address("g")


def test_what_llvm_calls_of_its_own_accord_is_needed_too():
    target = Target.host()
    if "linux" not in target.triple:
        pytest.skip("object files in another format")
    module = Module(target)
    b = Builder(module.function("f", VOID, [PTR, INT64]))
    b.write_void(
        f"call void @llvm.memset.p0.i64({b.arguments[0].typed}, i8 7, {b.arguments[1].typed}, i1 0)"
    )
    module.declare("llvm.memset.p0.i64", "void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    b.ret()
    compiled = compile_object(str(module), target)
    assert compiled.needs == ("memset",)
    assert undefined_symbols(*compiled.files) == {"memset"}
    data = np.zeros(100, np.uint8)
    code = load_object(compiled, target)
    fill = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(code.address("f"))
    fill(data.ctypes.data, 100)
    assert (data == 7).all()


def test_code_for_several_cpus_lives_side_by_side():
    x = np.linspace(-2, 2, 16)
    results = []
    for name in ("x86-64-v2", "x86-64-v3", "host"):
        try:
            target = Target.named(name)
            if not Target.host().triple.startswith(target.triple.partition("-")[0]):
                pytest.skip("another architecture")
        except KeyError:
            continue
        if name == "x86-64-v3" and not Target.host().has_fma:
            continue
        module = Module(target)
        b = Builder(module.function("f", VOID, [PTR, PTR]))
        out, source = b.arguments
        for at in range(0, 16, 2):
            value = load(b, FLOAT64.of(2), b.offset(source, at, FLOAT64))
            result = emit(b, "exp", [value], "float64")
            store(b, result, b.offset(out, at, FLOAT64))
        b.ret()
        code = engine.load(module)
        out = np.empty(16)
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address("f"))
        function(out.ctypes.data, x.ctypes.data)
        results.append((out, code))
    assert len(results) >= 2
    for out, _ in results:
        np.testing.assert_allclose(out, np.exp(x), rtol=1e-15)


@given(st.lists(st.from_regex(r"[a-z_]{1,9}", fullmatch=True)), st.lists(st.binary()))
def test_objects_are_packed_and_unpacked(needs, files):
    compiled = CompiledObject(tuple(needs), tuple(files))
    assert CompiledObject.unpack(compiled.pack()) == compiled


def test_parts_of_a_module_are_compiled_side_by_side(monkeypatch):
    monkeypatch.setattr(engine, "PART_LINES", 10)
    monkeypatch.setattr(engine, "thread_limit", lambda: 3)
    are_here = []
    compile_here = engine._object_file

    def noted(text, target, level):
        are_here.append(threading.current_thread() is threading.main_thread())
        return compile_here(text, target, level)

    monkeypatch.setattr(engine, "_object_file", noted)
    module = Module(Target.host())
    for number in range(4):
        b = Builder(module.function(f"half.{number}", FLOAT64, [FLOAT64], linkage="internal"))
        x = b.arguments[0]
        for _ in range(10 + number):
            x = x * 0.5
        b.ret(b.call("cos", FLOAT64, [x]))
    b = Builder(module.function("f", FLOAT64, [FLOAT64]))
    x = b.arguments[0]
    b.ret(sum((b.call(f"half.{number}", FLOAT64, [x]) for number in range(1, 4)), x))
    expected = 3.0
    for number in range(1, 4):  # the function sum compensates rounding
        expected += math.cos(3.0 / 2 ** (10 + number))
    for _ in range(2):  # the second time from the cache
        code, _ = engine.load_quickly(module, {})
        assert as_python(code)(3.0) == expected
    assert sorted(are_here) == [False, False, True]


def test_code_that_nobody_holds_is_freed():
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("no list of mappings")
    module = function_of(Module(Target.host()), lambda b, x: x)
    compiled = compile_object(str(module), module.target)

    def mappings():
        gc.collect()
        return len(maps.read_text().splitlines())

    load_object(compiled, module.target)
    before = mappings()
    for _ in range(50):
        as_python(load_object(compiled, module.target))(1.0)
    assert mappings() < before + 10


def test_two_threads_never_fight_for_a_code_generator(monkeypatch):
    class Emptied(list):
        """What another thread takes the last item of, just after this one has looked."""

        def __bool__(self):
            return True

    idle = Emptied()
    monkeypatch.setattr(engine, "_idle_machines", lambda target, level: idle)
    module = function_of(Module(Target.host()), lambda b, x: x * 5.0)
    assert engine._object_file(str(module), Target.host(), 0)
    assert len(idle) == 1
