import ctypes
import gc
import threading
import weakref
from functools import partial

import pytest

from phintys._base.errors import IntegrityError
from phintys.backends.native.assembler import llvm_library
from phintys.backends.native.assembler.llvm_library import Engine, llvm
from phintys.backends.native.assembler.target import Target

TEXT = """
@memory = global [8 x i8] zeroinitializer
declare double @given(double)
define double @f(double %x) {
  %y = call double @given(double %x)
  %z = fadd double %y, 1.0
  ret double %z
}
"""
DOUBLE = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)


def test_signatures_are_those_of_llvmlite():
    llvm_library._check_signatures("here")


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("ContextDispose", (None, (ctypes.c_int,))),
        ("ContextCreate", (ctypes.c_int, ())),
        ("FinalizeObject", (None, ())),
    ],
)
def test_other_signatures_are_noticed(monkeypatch, name, signature):
    table = llvm_library._SHORT if name in llvm_library._SHORT else llvm_library._LONG
    monkeypatch.setitem(table, name, signature)
    with pytest.raises(ImportError, match=rf"llvmlite 9.*LLVMPY_{name}"):
        llvm_library._check_signatures("9.0")


def test_an_unknown_version_is_checked(monkeypatch):
    checked = []
    monkeypatch.setattr(llvm_library, "_LAST_KNOWN", (0, 44))
    monkeypatch.setattr(llvm_library, "_check_signatures", checked.append)
    found = llvm_library.llvm.__wrapped__()
    assert len(checked) == 1
    assert found.triple == llvm().triple


def test_a_library_that_cannot_be_loaded(monkeypatch, tmp_path):
    (tmp_path / "library").write_text("nothing")
    with pytest.raises(OSError, match="library"):
        llvm_library._opened(str(tmp_path / "library"))


def test_what_llvmlite_says_of_the_machine():
    binding = pytest.importorskip("llvmlite.binding")
    found = llvm()
    assert found.triple == binding.get_process_triple()
    assert found.cpu == binding.get_host_cpu_name()
    assert found.features == binding.get_host_cpu_features().flatten()
    assert found.version == ".".join(map(str, binding.llvm_version_info))


def compiled():
    found = llvm()
    data = found.compile(TEXT, Target.host().machine())
    given = DOUBLE(lambda x: 2 * x)
    address = ctypes.cast(given, ctypes.c_void_p).value
    engine = found.link([data], {"given": address}, Target.host().machine())
    return engine, given


def test_code_is_compiled_linked_and_freed():
    engine, given = compiled()
    assert DOUBLE(engine.address("f"))(20.0) == 41.0
    assert ctypes.c_int64.from_address(engine.data_address("memory")).value == 0
    assert engine.address("nothing") == 0
    freed = weakref.ref(given)
    del engine, given
    gc.collect()
    assert freed() is None


def test_an_unlinked_engine_is_unlinked_once(monkeypatch):
    freed = []
    monkeypatch.setattr(
        llvm_library.Llvm, "freeing", lambda self, *which: (partial(freed.append, which),)
    )
    Engine(llvm(), 1, 2)
    gc.collect()
    assert freed == [(1, 2)]


def test_threads_compile_side_by_side():
    results = []

    def work():
        engine, _given = compiled()
        results.append(DOUBLE(engine.address("f"))(0.5))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [2.0] * 8


def test_targets_that_llvm_does_not_know():
    assert llvm().knows(llvm().triple)
    assert not llvm().knows("nothing-unknown-none")
    with pytest.raises(IntegrityError, match="no code generator for 'nothing-unknown-none'"):
        llvm().machine("nothing-unknown-none", "", "", 1)


def test_data_that_is_no_object_file():
    with pytest.raises(IntegrityError, match="cannot read an object file"):
        llvm().link([b"nothing"], {}, Target.host().machine())
