import ctypes
import gc
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.runtime import engine
from phintys.backends.native.runtime.blocks import BLOCKS, emit_blocks
from tests.budget import budget


class Blocks:
    """A pool of memory of its own."""

    def __init__(self, limit):
        module = Module(Target.host())
        emit_blocks(module)
        self.code = engine.load(module)
        self.address = self.code.data_address("phintys_blocks")
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        self.acquire = self._function("phintys_acquire", pointer, number)
        self.release = self._function("phintys_release", None, pointer)
        self.trim = self._function("phintys_trim", None)
        self.malloc = self._function("phintys_numpy_malloc", pointer, pointer, number)
        self.calloc = self._function("phintys_numpy_calloc", pointer, pointer, number, number)
        self.realloc = self._function("phintys_numpy_realloc", pointer, pointer, pointer, number)
        BLOCKS.write(self.address, "limit", limit)

    def _function(self, name, returns, *types):
        return ctypes.CFUNCTYPE(returns, *types)(self.code.address(name))

    @property
    def kept(self):
        return BLOCKS.read(self.address, "kept")


@pytest.fixture
def blocks():
    blocks = Blocks(1 << 26)
    yield blocks
    blocks.trim()


@given(
    st.lists(
        st.tuples(
            st.booleans(), st.one_of(st.integers(0, 9000), st.integers(0, 1 << 22)), st.integers(0)
        ),
        max_size=60,
    )
)
@budget(60)
def test_blocks_do_not_overlap(commands):
    blocks = Blocks(1 << 24)
    held = {}
    for take, size, number in commands:
        if take or not held:
            block = blocks.acquire(size)
            assert block % 64 == 0
            assert all(block + size <= at or at + length <= block for at, length in held.items())
            ctypes.memset(block, 0xFF, size)
            held[block] = size
        else:
            block = sorted(held)[number % len(held)]
            del held[block]
            blocks.release(block)
        assert 0 <= blocks.kept <= 1 << 24
    for block in held:
        blocks.release(block)
    blocks.trim()
    assert blocks.kept == 0


def test_memory_is_used_again(blocks):
    first = blocks.acquire(1_000_000)
    blocks.release(first)
    assert blocks.kept >= 1_000_000
    assert blocks.acquire(1_000_000) == first
    assert blocks.kept == 0
    blocks.release(first)
    assert blocks.acquire(10_000) != first  # a small one does not take a large block


@given(st.integers(1, 1 << 30))
def test_at_most_a_quarter_of_a_block_is_unused(size):
    blocks = Blocks(1 << 40)
    block = blocks.acquire(size)
    blocks.release(block)
    assert max(size, 4096) <= blocks.kept <= max(1.25 * size + 1, 4096)
    blocks.trim()


def test_the_limit_holds():
    blocks = Blocks(1 << 20)
    held = [blocks.acquire(300_000) for _ in range(6)]
    for block in held:
        blocks.release(block)
        assert blocks.kept <= 1 << 20
    assert blocks.kept > 500_000
    blocks.trim()


@pytest.mark.parametrize("size", [1 << 45, 1 << 46, 1 << 60, (1 << 63) - 1])
def test_what_cannot_be_had_is_null(blocks, size):
    assert blocks.acquire(size) is None
    assert blocks.malloc(None, size) is None


def test_what_numpy_asks_for(blocks):
    block = blocks.malloc(None, 5000)
    ctypes.memset(block, 7, 5000)
    blocks.release(block)
    cleared = blocks.calloc(None, 500, 10)
    assert cleared == block
    assert ctypes.string_at(cleared, 5000) == bytes(5000)
    ctypes.memset(cleared, 9, 5000)
    larger = blocks.realloc(None, cleared, 50_000)
    assert ctypes.string_at(larger, 5000) == bytes([9]) * 5000
    smaller = blocks.realloc(None, larger, 5000)
    assert ctypes.string_at(smaller, 5000) == bytes([9]) * 5000


def test_several_threads_take_and_give(blocks):
    def work(seed):
        rng = np.random.default_rng(seed)
        held = []
        for _ in range(3000):
            if held and rng.random() < 0.5:
                block, size, mark = held.pop(rng.integers(len(held)))
                if ctypes.string_at(block, size) != bytes([mark]) * size:
                    wrong.append(seed)
                blocks.release(block)
            else:
                size, mark = int(rng.integers(1, 20_000)), int(rng.integers(256))
                block = blocks.acquire(size)
                ctypes.memset(block, mark, size)
                held.append((block, size, mark))
        for block, _, _ in held:
            blocks.release(block)

    wrong = []
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# ---- results of functions ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def doubled():
    x = pt.dvector("x")
    return phintys.function([x], 2.0 * x, mode="native")


LARGE = 100_000


def test_a_large_result_is_an_array_like_any_other(native, doubled):
    result = doubled(np.ones(LARGE))
    assert result.base is None
    assert result.flags.owndata
    assert result.flags.writeable
    assert result.flags.aligned
    result.resize(2 * LARGE, refcheck=False)
    assert (result[:LARGE] == 2).all()
    result.resize(10, refcheck=False)
    np.testing.assert_array_equal(result, 2 * np.ones(10))


def test_its_memory_comes_back_when_it_dies(native, doubled):
    value = np.ones(LARGE)
    result = doubled(value)
    address = result.ctypes.data
    kept = native.kept_bytes
    del result
    assert native.kept_bytes - kept >= 8 * LARGE
    assert doubled(value).ctypes.data == address


def test_nothing_that_lives_is_written_to(native, doubled, rng):
    results = []
    for _ in range(200):
        value = rng.normal(size=LARGE // 10 + rng.integers(LARGE))
        result = doubled(value)
        choice = rng.integers(3)
        if choice == 0:
            results.append((value, result))
        elif choice == 1:
            results.append((value[5:], result[5:]))  # a view keeps the memory alive
        if len(results) > 10:
            del results[rng.integers(len(results))]
        for value, result in results:
            assert result[-1] == 2 * value[-1]
    for value, result in results:
        np.testing.assert_array_equal(result, 2 * value)


def test_free_gives_memory_to_the_system(native, doubled):
    del_me = doubled(np.ones(LARGE))
    del del_me
    gc.collect()
    assert native.kept_bytes > 0
    doubled.free()
    assert native.kept_bytes == 0


def test_memory_is_given_back_when_all_functions_are_gone(run_python):
    program = """
        import numpy as np
        import phintys, phintys.tensor as pt
        from phintys.backends.native.runtime.support import support

        assert phintys.free_memory() == 0 and not support.is_known
        x = pt.dvector("x")
        f = phintys.function([x], x + 1, mode="native")
        value = np.ones(1_000_000)
        value is f(value)
        del f
        assert support().kept_bytes >= 8_000_000
        print(phintys.free_memory() >= 8_000_000, support().kept_bytes, phintys.free_memory())
    """
    assert run_python(program) == "True 0 0\n"


def test_the_pool_is_as_large_as_the_configuration_says(run_python):
    program = """
        import numpy as np
        import phintys, phintys.tensor as pt
        from phintys.backends.native.runtime.support import support

        x = pt.dvector("x")
        value = np.ones(1_000_000)

        def kept():
            f = phintys.function([x], x + 1, mode="native")
            f(value)
            return support().kept_bytes

        print(kept() >= 8_000_000)
        phintys.config.pool_megabytes = 4
        print(kept())
        phintys.config.pool_megabytes = 40
        print(kept() >= 8_000_000)
    """
    assert run_python(program) == "True\n0\nTrue\n"


def test_arrays_outlive_the_interpreter(run_python):
    program = """
        import sys
        import numpy as np
        import phintys, phintys.tensor as pt
        x = pt.dvector("x")
        f = phintys.function([x], 2.0 * x, mode="native")
        sys.kept = [f(np.ones(200_000)) for _ in range(5)]
        sys.modules["numpy"].kept = f(np.ones(300_000))
        f.me = f
        print("fine")
    """
    assert run_python(program) == "fine\n"
