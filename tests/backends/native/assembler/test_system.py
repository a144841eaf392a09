"""Code for systems whose C library lacks functions, and for CPUs with a weak memory order."""

import re
from types import SimpleNamespace

import pytest

from phintys.backends.native.assembler import llvm_library, system
from phintys.backends.native.assembler.atomics import pause
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.records import Record
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.assembler.types import INT32, INT64, PTR, VOID
from phintys.backends.native.runtime.blocks import emit_blocks
from phintys.backends.native.runtime.capi import c_api
from phintys.backends.native.runtime.entry import emit_entry
from phintys.backends.native.runtime.services import emit_parallel_for, emit_services
from phintys.backends.native.runtime.threads import POOL, emit_threads

PORTABLE = {"free", "malloc", "memcpy", "memset"}
CLOCK = {"clock_gettime"}
THREADS = {
    *("pthread_cond_broadcast", "pthread_cond_init", "pthread_cond_signal", "pthread_cond_wait"),
    *("pthread_cond_timedwait", "pthread_create", "pthread_join"),
    *("pthread_mutex_init", "pthread_mutex_lock", "pthread_mutex_unlock"),
}


@pytest.mark.parametrize(
    ("name", "beside"),
    [
        ("linux", CLOCK | THREADS | {"madvise"}),
        ("darwin", CLOCK | THREADS),
        ("win32", set()),
    ],
)
def test_what_the_runtime_calls_of_c(monkeypatch, name, beside):
    monkeypatch.setattr(system, "sys", SimpleNamespace(platform=name))
    api = c_api()
    module = Module(Target.host())
    emit_entry(module, api)
    called = set(module.declared)
    module = Module(Target.host())
    emit_blocks(module)
    emit_services(module, api)
    called |= set(module.declared)
    module = Module(Target.host())
    emit_threads(module)
    emit_parallel_for(module)
    called |= set(module.declared)
    of_c = {one for one in called if not one.startswith(("Py", "phintys_", "llvm."))} - {"clock"}
    assert of_c == PORTABLE | beside


def test_fields_that_threads_share_are_read_and_written_atomically():
    point = Record.packed(x=INT64, flag=INT32).with_atomic("flag")
    module = Module(Target.named("aarch64"))
    b = Builder(module.function("f", VOID, [PTR]))
    (base,) = b.arguments
    point.store(b, base, "x", point.load(b, base, "x") + 1)
    point.initialize(b, base, "flag", 0)
    point.store(b, base, "flag", point.load(b, base, "flag") + 1)
    b.ret()
    kinds = re.findall(r"(load|store)( atomic)? i\d\d", str(module))
    assert sorted(kinds) == [
        *(("load", ""), ("load", " atomic")),
        *(("store", ""), ("store", ""), ("store", " atomic")),
    ]


def test_a_worker_reads_plain_fields_of_the_pool_only_while_it_has_a_chunk():
    module = Module(Target.named("aarch64"))
    emit_threads(module)
    assert _plain_fields(module, "phintys_worker") == set()
    job = {"kernel", "arguments", "count", "chunk", "chunks"}
    assert _plain_fields(module, "phintys_drain") == job


def _plain_fields(module, function):
    """The fields of the pool, its first argument, that a function reads or writes plainly."""
    text = str(module).partition(f"@{function}(")[2].partition("\n}")[0]
    places = dict(re.findall(r"(%\w+) = getelementptr i8, ptr %a0, i64 (\d+)", text))
    used = re.findall(r"(?:= load|store) (?!atomic)[^@\n]*ptr (%\w+),", text)
    offsets = {int(places[name]) for name in used if name in places}
    return {name for name in POOL.fields if POOL.offset(name) in offsets}


@pytest.mark.parametrize(
    ("target", "hint"), [("x86-64", "sse2.pause"), ("aarch64", "aarch64.isb"), ("wasm32", None)]
)
def test_a_spin_loop_tells_the_cpu(target, hint):
    module = Module(Target.named(target))
    b = Builder(module.function("f", VOID, []))
    pause(b)
    b.ret()
    assert ("llvm." in str(module)) is (hint is not None)
    assert hint is None or hint in str(module)


def test_no_code_is_generated_on_windows_on_arm(monkeypatch):
    monkeypatch.setattr(llvm_library, "sys", SimpleNamespace(platform="win32"))
    llvm_library._check_system(SimpleNamespace(triple="x86_64-pc-windows-msvc"))
    with pytest.raises(ImportError, match="aarch64-pc-windows-msvc"):
        llvm_library._check_system(SimpleNamespace(triple="aarch64-pc-windows-msvc"))
