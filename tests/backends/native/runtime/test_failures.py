"""Errors that native code finds: their words, the user's line, and what they leave behind."""

import gc
import sys

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import In, Out
from phintys._base.errors import IndexingError, ShapeError
from phintys.backends.native.failures import OwnFailure
from phintys.backends.native.lower.lowering import lowers
from phintys.graph import Apply, Op

MODE = "native"
pytestmark = pytest.mark.usefixtures("native")


def notes_of(error):
    return "\n".join([str(error.value), *getattr(error.value, "__notes__", [])])


@pytest.fixture
def x():
    return pt.dvector("x")


def test_the_users_line_is_named(x):
    y, i = pt.dvector("y"), pt.lvector("i")
    f = phintys.function(
        [x, y, i],
        [
            x * y,  # the first line
            pt.exp(x)[i],  # the second line
        ],
        mode=MODE,
    )
    index = np.array([0, 1])
    with pytest.raises(ShapeError, match="3") as error:
        f(np.ones(3), np.ones(4), index)
    assert "x * y,  # the first line" in notes_of(error)
    with pytest.raises(IndexingError, match=r"index 7 .* axis 0") as error:
        f(np.ones(3), np.ones(3), np.array([0, 7]))
    assert "pt.exp(x)[i],  # the second line" in notes_of(error)
    np.testing.assert_array_equal(f(np.ones(3), np.ones(3), index)[0], np.ones(3))


# ---- memory -------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [2**45, 2**59, 2**62, 2**63 - 1])
def test_a_result_of_absurd_size(length):
    n, s = pt.lscalar("n"), phintys.shared(0.0, name="s")
    kept = pt.alloc(1.5, n, 2)  # the line
    f = phintys.function([n], kept, updates=[(s, s + 1.0)], mode=MODE)
    reference = phintys.function([n], kept, updates=[(s, s + 1.0)], mode="reference")
    with pytest.raises((MemoryError, ValueError)) as expected:
        reference(length)
    with pytest.raises((MemoryError, ValueError)) as error:
        f(length)
    assert type(error.value) is type(expected.value)
    assert f"shape ({length}, 2)" in notes_of(error)
    assert "kept = pt.alloc(1.5, n, 2)  # the line" in notes_of(error)
    assert s.get_value() == 0.0
    np.testing.assert_array_equal(f(1), [[1.5, 1.5]])
    assert s.get_value() == 1.0


def test_intermediate_results_of_absurd_size(x, native):
    n = pt.lscalar("n")
    f = phintys.function([x, n], pt.sort(pt.alloc(x, n, 3)).sum(), mode=MODE)
    with pytest.raises(MemoryError):
        f(np.ones(3), 2**45)
    assert f(np.ones(3), 2) == 6.0


@pytest.mark.parametrize("length", [2**50, 2**58 + 2**57 + 11, 2**59 - 1])
def test_rows_of_absurd_size(x, length):
    """A kernel keeps several rows of its own; their bytes together do not wrap around."""
    n = pt.lscalar("n")
    first = pt.softmax(pt.alloc(x[:, None], 2, n), axis=1)
    second = pt.softmax(first * first + pt.exp(first) * first, axis=1)
    largest = (first * second).max(axis=1)  # the line
    f = phintys.function([x, n], largest, mode=MODE)
    with pytest.raises(MemoryError, match=r"for the [\d,]{22,} bytes that a thread") as error:
        f(np.ones(2), length)
    assert "largest = (first * second).max(axis=1)  # the line" in notes_of(error)
    assert "While computing the result of Max{axis=1}" in notes_of(error)
    assert f(np.ones(2), 3).shape == (2,)


@pytest.mark.skipif(sys.platform != "linux", reason="limits address space")
def test_totals_of_parts_without_memory(run_python, monkeypatch):
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")  # or there are addresses that malloc has reserved
    run_python("""
        import resource
        from pathlib import Path
        import numpy as np
        import phintys, phintys.tensor as pt

        A = pt.matrix("A", dtype="int8")
        f = phintys.function([A], A.sum(axis=0), mode="native")
        rows, columns = 4096, 1 << 14
        values = np.ones((rows, columns), np.int8)
        f(values[:, :100].copy())
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        used = pages * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 3_000_000,) * 2)
        try:
            f(values)
        except MemoryError as error:
            said = "\\n".join([str(error), *error.__notes__])
            assert "There is not enough memory for the " in said, said
            assert "bytes that a thread" in said and "Sum{axis=0}(A)\\nmade at" in said, said
        else:
            raise SystemExit("there was memory")
    """)


SHORT_OF_MEMORY = """
    import gc, resource, sys
    from pathlib import Path
    import numpy as np
    import phintys, phintys.tensor as pt

    phintys.config.num_threads = 1
    x, n = pt.dvector("x"), pt.lscalar("n")
    output, value, number = {
        "buffer": (pt.sort(pt.exp(x)), np.ones(50_000), 0),
        "strided": (x.sum(), np.ones(100_000)[::2], 0),
        "product": (pt.outer(x, x) @ x, np.ones(300), 0),
        "index": (x[pt.arange(n)], np.ones(3), 50_000),
    }[sys.argv[1]]
    f = phintys.function([x, n], output, mode="native", on_unused_input="ignore")

    def call():
        try:
            f(value, number)
        except MemoryError:  # NumPy has a class of its own
            return MemoryError
        except IndexError as error:
            return type(error)
        return None

    usual = call()
    f.vm.improve()  # LLVM ends the process where it finds no memory
    gc.disable()
    kept = [None] * 200_000
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    used = pages * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 20), resource.RLIM_INFINITY))
    count = 0
    for size in (1 << 16, 1 << 12, 1 << 9, 200, 64):
        try:
            while True:
                kept[count] = bytes(size)
                count += 1
        except MemoryError:
            pass
    found = set()
    while count:  # with a little more memory each time
        found.add(call())
        for count in range(count - 1, max(count - 11, -1), -1):
            kept[count] = None
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
    assert found == {MemoryError, usual}, found
    assert call() is usual
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits address space")
@pytest.mark.parametrize("kind", ["buffer", "strided", "product", "index"])
def test_with_little_memory_there_is_a_result_or_a_memory_error(run_python, kind):
    """Never ``SystemError: error return without exception set``, nor another error."""
    run_python(SHORT_OF_MEMORY, kind)


# ---- arguments that may be overwritten -----------------------------------------------------------


def overwriting(x, python_op):
    """A function that overwrites its argument before it finds that an index is out of range."""

    def fill(values):
        values[:] = 9.0
        return values

    i = pt.lvector("i")
    filled = python_op(fill, destroy_map={0: [0]})(x)
    # The indices are read from memory that the Op has written.
    chosen = (filled * 2.0)[pt.cast(filled[:1], "int64") + i]  # the line
    return i, [Out(filled, borrow=True), chosen]


def test_an_argument_that_was_overwritten_before_an_error(x, python_op):
    i, outputs = overwriting(x, python_op)
    f = phintys.function([In(x, mutable=True), i], outputs, mode=MODE, accept_inplace=True)
    value = np.arange(3.0)
    with pytest.raises(
        IndexingError, match=r"index 10 is out of range for axis 0 of Mul\.0, which has size 3"
    ) as error:
        f(value, [1])
    assert "# the line" in notes_of(error)
    assert "may overwrite some of its arguments" in notes_of(error)
    # With indices that fit, it goes on working.
    np.testing.assert_array_equal(f(np.arange(3.0), [-8])[1], [18.0])


def test_an_index_of_an_argument_that_was_overwritten(x, python_op):
    filled = overwriting(x, python_op)[1][0]
    n = pt.lscalar("n")
    f = phintys.function(
        [In(x, mutable=True), n],
        [filled, (filled.variable * 2.0)[pt.cast(filled.variable[0], "int64") + n]],
        mode=MODE,
        accept_inplace=True,
    )
    with pytest.raises(IndexingError, match="index 10 is out of range for axis 0"):
        f(np.arange(3.0), 1)
    np.testing.assert_array_equal(f(np.arange(3.0), -8)[1], 18.0)


def test_an_argument_that_may_be_overwritten_by_native_code(x):
    i = pt.lscalar("i")
    changed = pt.inc_subtensor(x[1:], 1.0)
    f = phintys.function([In(x, mutable=True), i], [changed, (x * 2.0)[i]], mode=MODE)
    with pytest.raises(IndexingError, match="index 7 is out of range for axis 0 of x") as error:
        f(np.arange(3.0), 7)
    assert "may overwrite some of its arguments" in notes_of(error)
    np.testing.assert_array_equal(f(np.arange(3.0), 1)[0], [0.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("build", "given", "words"),
    [
        (lambda y, n: y.reshape((2, n)), 3, "before and after must be equal, got 8 and 6"),
        (lambda y, n: pt.alloc(1.0, n), -3, "Alloc: each size: less than 0"),
        (lambda y, n: y.reshape((2, -1))[n], 3, "an index of axis 0 is out of range"),
    ],
)
def test_sizes_of_what_is_not_computed_beside_an_argument_that_is_overwritten(
    x, build, given, words
):
    y, n = pt.dvector("y"), pt.lscalar("n")
    sizes = pt.zeros_like(build(y, n))
    f = phintys.function(
        [In(x, mutable=True), y, n],
        [pt.inc_subtensor(x[1:], 1.0), sizes],
        mode=MODE,
        on_unused_input="ignore",
    )
    with pytest.raises((ShapeError, IndexingError), match=words):
        f(np.arange(3.0), np.ones(8), given)


def test_a_failing_call_loses_no_references(x, python_op):
    error = ZeroDivisionError("mine")

    def refuse(values):
        if values[0] > 0:
            raise error
        return values + 1.0

    s = phintys.shared(np.ones(3))
    f = phintys.function(
        [x], pt.exp(python_op(refuse)(x * 2.0)) + s, updates=[(s, s + x)], mode=MODE
    )
    good, bad = np.zeros(3), np.ones(3)
    held = s.get_value(borrow=True)

    def work():
        for _ in range(1000):
            with pytest.raises(ZeroDivisionError):
                f(bad)
            error.__traceback__ = None
            error.__notes__ = []

    work()
    f(good)
    gc.collect()  # what others have left
    counted = (bad, held, good.dtype, f, None, error)
    before = [sys.getrefcount(one) for one in counted]
    work()
    after = [sys.getrefcount(one) for one in counted]
    # One for each of the 1000 calls would be lost; other threads hold a few for a while.
    assert all(abs(one - other) < 100 for one, other in zip(before, after, strict=True))
    np.testing.assert_array_equal(s.get_value(), np.ones(3))


# ---- Python code of Ops runs once ---------------------------------------------------------------


@pytest.fixture
def counted(python_op):
    """An Op that counts how often its Python code has run."""
    calls = []

    def work(values):
        calls.append(values.copy())
        return values + len(calls)

    return python_op(work), calls


def in_a_kernel(made, n):
    return made * pt.alloc(1.0, n)


def in_a_product(made, n):
    return pt.dot(made, pt.alloc(1.0, n, 2))


def in_an_index(made, n):
    return (made * 2.0)[n + 100]


@pytest.mark.parametrize("use", [in_a_kernel, in_a_product, in_an_index])
@pytest.mark.parametrize("has_updates", [False, True])
def test_python_code_that_ran_before_an_error_does_not_run_again(x, counted, use, has_updates):
    op, calls = counted
    n, s = pt.lscalar("n"), phintys.shared(0.0)
    updates = [(s, s + x.sum())] if has_updates else []
    f = phintys.function([x, n], use(op(x), n), updates=updates, mode=MODE)
    with pytest.raises((ShapeError, IndexingError)) as error:
        f(np.ones(3), 4)
    assert len(calls) == 1
    assert use.__name__ in notes_of(error)
    assert s.get_value() == 0.0
    with pytest.raises((ShapeError, IndexingError)):
        f(np.ones(3), 5)
    assert len(calls) == 2


def test_an_error_shows_the_values_of_the_call_that_failed(x, counted):
    op, calls = counted
    i = pt.lvector("i")
    f = phintys.function([x, i], x[pt.cast(op(x), "int64") + i] + 1.0, mode=MODE)
    with pytest.raises(IndexingError, match="index 102 is out of range"):
        f(np.ones(3), np.full(3, 100))  # 1 + 1 + 100; another run would give 103
    assert len(calls) == 1


def test_python_code_that_an_error_does_not_depend_on_does_not_run_again(x, counted):
    op, calls = counted
    i = pt.lscalar("i")
    f = phintys.function([x, i], [op(x), x[i] + 1.0], mode=MODE)
    with pytest.raises(IndexingError, match="index 7 is out of"):
        f(np.ones(3), 7)
    assert len(calls) <= 1


def test_python_code_that_raises_runs_once(x, python_op):
    calls = []

    def refuse(values):
        calls.append(1)
        msg = "mine"
        raise ZeroDivisionError(msg)

    f = phintys.function([x], python_op(refuse)(x * 2.0) + 1.0, mode=MODE)
    with pytest.raises(ZeroDivisionError, match="mine") as error:
        f(np.ones(3))
    assert len(calls) == 1
    assert "While computing PythonOp" in notes_of(error)


# ---- words of native code ------------------------------------------------------------------------


class Limit(Op):
    """The first input, unless it has more elements than the second says; with words of its own."""

    __props__ = ()

    def make_node(self, x, most):
        return Apply(self, [x, most], [x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = inputs[0]

    def error(self, length, most):
        return LookupError(f"{{{length}}} of {{{most}}}")


@lowers(Limit)
def lower_limit(op, node, lowering):
    x, most = lowering.view(node.inputs[0]), lowering.size_of(node.inputs[1])
    lowering.require_equal(x.sizes[0], most, OwnFailure(node, "limit"))
    lowering.bind(node.outputs[0], x)


def overwriting_natively(x, checked):
    """A function that may overwrite its argument, so that errors are in words of native code."""
    changed = pt.inc_subtensor(x[1:], 1.0)
    n = pt.lscalar("n")
    return phintys.function([In(x, mutable=True), n], [changed, checked(n)], mode=MODE)


def test_an_error_of_the_op_itself(x):
    f = overwriting_natively(x, lambda n: Limit()(x * 2.0, n))
    with pytest.raises(LookupError, match=r"\{3\} of \{2\}"):
        f(np.arange(3.0), 2)
    message = "not {0}, and {unknown} is kept"
    f = overwriting_natively(x, lambda n: pt.CheckAndRaise(LookupError, message)(x * 2.0, n > 2))
    with pytest.raises(LookupError, match=r"not \{0\}, and \{unknown\} is kept"):
        f(np.arange(3.0), 2)


def test_an_integer_to_a_negative_power(x):
    f = overwriting_natively(x, lambda n: pt.arange(2, 5) ** n)
    with pytest.raises(ValueError, match="negative") as error:
        f(np.arange(3.0), -2)
    assert not isinstance(error.value, ShapeError)
