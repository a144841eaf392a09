"""Loops whose passes are independent are shared by threads, with the same bits."""

import ctypes
import signal
import subprocess
import threading

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import ifelse, scan
from phintys._base.errors import IntegrityError
from phintys.backends.native import plan as planning
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.frame import STATUS
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.program import walk_steps
from phintys.backends.native.runtime.support import support
from phintys.backends.native.runtime.threads import POOL
from phintys.backends.native.steps.loop import Loop
from phintys.backends.native.verify import verify_program
from phintys.backends.native.writer import programs, shared_passes
from phintys.control import fori_loop, while_loop
from phintys.gradient import jacobian
from phintys.graph.fgraph import FunctionGraph
from tests.control.loop_forms.test_random_programs import CAPTURED, SHAPES, Draw
from tools.native_programs import compile_program

x, v = pt.dvectors("x", "v")
S, X = pt.dtensor3("S"), pt.dtensor3("X")


def rows_of(step, sequences, *others):
    """Return the rows that a function of one row of each sequence returns."""
    return scan(step, sequences, None, list(others), return_list=True)[0]


def newton(a, v):
    """Return a root that takes as many steps as it needs."""
    root = while_loop(lambda c: abs(c**2 - a) > 1e-9, lambda c: 0.5 * (c + a / c), a + 1.0)
    return root * v.sum()


def filtered(rows, v):
    """Return the last state of a loop over the rows of a row, and a state in the middle."""
    states = scan(lambda row, h: pt.tanh(row + 0.9 * h * v), rows, pt.zeros_like(rows[0]))[0]
    return states[-1], states[1]


def positive(x):
    return x @ x.T + 2.0 * pt.eye(x.shape[0])


def factored(x, v):
    """Use LAPACK in a step, and in a loop in it."""
    factor = pt.linalg.cholesky(positive(x))
    solved = fori_loop(0, 3, lambda _, h: pt.linalg.solve_triangular(factor, h, lower=True), v)
    return solved, pt.linalg.slogdet(positive(x))[1]


def spectrum(x, v):
    values, vectors = pt.linalg.eigh(positive(x))
    return vectors @ (v / values), pt.linalg.solve(positive(x), v)


def chosen(x, v):
    """Use a branch, a gather by a number computed in the step, and sizes that depend on it."""
    at = pt.argmax(x[0])
    moved = fori_loop(0, at, lambda _, h: pt.sin(h) + x[at], v)
    return ifelse(moved.sum() > 0, moved, -2.0 * v), x[at, : at + 1].sum()


STEPS = {
    "roots": (newton, x),
    "filters": (filtered, S),
    "factors": (factored, X),
    "spectra": (spectrum, X),
    "choices": (chosen, X),
}


def draw(variable, passes, seed=0):
    values = np.random.default_rng(seed).normal(size=(passes, 4, 3 if variable is S else 4))
    return values[:, 0, 0] ** 2 + 0.1 if variable is x else values


@pytest.fixture(autouse=True)
def every_loop_is_worth_it(monkeypatch):
    """Share all loops that can be shared, each pass for itself."""
    monkeypatch.setattr(planning, "PARALLEL_NANOSECONDS", 0)
    monkeypatch.setattr(shared_passes, "PARALLEL_NANOSECONDS", 0)
    monkeypatch.setattr(shared_passes, "GRAIN_NANOSECONDS", 0)


@pytest.fixture(autouse=True, scope="module")
def eight_threads():
    """Let the pool have as many workers as that, however many cores there are."""
    pool = support().threads()._pool
    before = POOL.read(pool, "wanted")
    POOL.write(pool, "wanted", 7)
    yield
    POOL.write(pool, "wanted", before)


def with_threads(function, *values):
    """Return the results of a call for each number of threads, which must be the same bits."""
    results = []
    for threads in (1, 2, 8):
        with phintys.config.change_flags(num_threads=threads):
            results += [function(*values) for _ in range(3)]
    for others in results[1:]:
        for one, other in zip(results[0], others, strict=True):
            np.testing.assert_array_equal(one, other)
    return results[0]


def check(inputs, outputs, *values):
    """Compare native code with the reference, and return how many of its loops are shared."""
    native, reference = (
        phintys.function(inputs, outputs, mode=mode, on_unused_input="ignore")
        for mode in ("native", "reference")
    )
    for some in values:
        for mine, expected in zip(with_threads(native, *some), reference(*some), strict=True):
            np.testing.assert_allclose(mine, expected, rtol=1e-9, atol=1e-11)
    return shared_in(native)


def shared_in(function):
    lines = str(function.explain()).splitlines()
    return sum("step" in line and "shared by threads (" in line for line in lines)


# ---- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STEPS)
def test_values(name):
    step, rows = STEPS[name]
    length = 3 if rows is S else 4
    values = [(draw(rows, passes), np.linspace(-1, 2, length)) for passes in (0, 1, 2, 7, 40)]
    assert check([rows, v], rows_of(step, [rows], v), *values) == 1


@pytest.mark.parametrize("name", [*STEPS][:-1])
def test_gradients(name):
    step, rows = STEPS[name]
    outputs = rows_of(step, [rows], v)
    cost = sum((out**2).sum() for out in outputs)
    gradients = phintys.grad(cost, [rows, v])  # that for v is a sum over the steps
    others = np.linspace(-1, 2, 3 if rows is S else 4)
    # Roots that keep what their gradient needs are computed in Python, as their steps may differ.
    most, shared = (7, 1) if name == "roots" else (70, 2)
    values = [(draw(rows, passes), others) for passes in (0, 1, most)]
    assert check([rows, v], [cost, *gradients], *values) == shared


def test_several_sequences_and_known_sizes():
    rows, numbers = pt.tensor("rows", shape=(9, 4)), pt.tensor("numbers", shape=(9,))

    def step(row, number):
        return scan(lambda h: pt.cos(h * number), None, row, n_steps=5)[0]

    random = np.random.default_rng(1)
    values = random.normal(size=(9, 4)), random.normal(size=9)
    assert check([rows, numbers], rows_of(step, [rows, numbers]), values) == 1


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int64", "bool"])
def test_dtypes(dtype):
    rows = pt.TensorType(dtype, (None, None))("rows")

    def step(row):
        if dtype == "bool":
            return scan(lambda h: ~h ^ row, None, row, n_steps=3)[0]
        return scan(lambda h: (h * row + 1).astype(dtype), None, row, n_steps=3)[0]

    values = (np.random.default_rng(2).normal(size=(6, 5)) * 3).astype(dtype)
    native = phintys.function([rows], rows_of(step, [rows]), mode="native")
    reference = phintys.function([rows], rows_of(step, [rows]), mode="reference")
    (mine,), (expected,) = with_threads(native, values), reference(values)
    np.testing.assert_allclose(mine, expected, rtol=1e-5)
    assert shared_in(native) == 1


def test_the_outermost_of_nested_maps_is_shared():
    def outer(row, v):
        return rows_of(newton, [row], v)[0]

    values = draw(X, 5)[:, 0] ** 2 + 0.1, np.ones(2)
    matrix = pt.dmatrix("matrix")
    assert check([matrix, v], rows_of(outer, [matrix], v), values) == 1


def matrix_of(a, v):
    return pt.outer(v, newton(a, v) * v)


SUMS = {
    "a number": (lambda a, s: s + newton(a, v), pt.constant(0.5)),
    "a matrix": (lambda a, s: matrix_of(a, v) + s + 1.0, pt.zeros((v.shape[0], v.shape[0]))),
    "complex": (lambda a, s: s + newton(a, v) * v * 1j, v * (1 + 2j)),
    "float32": (lambda a, s: s + newton(a, v).astype("float32"), pt.constant(np.float32(2))),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_over_steps(name):
    step, first = SUMS[name]
    outputs = [scan(step, x, first)[0][-1]]
    native, reference = (
        phintys.function([x, v], outputs, mode=mode) for mode in ("native", "reference")
    )
    assert shared_in(native) == 1
    for passes in (1, 2, 63, 64, 65, 500):
        values = draw(x, passes), np.linspace(-1, 1, 5)
        (mine,), (expected,) = with_threads(native, *values), reference(*values)
        tolerance = 1e-4 if name == "float32" else 1e-10
        np.testing.assert_allclose(mine, expected, rtol=tolerance)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_sums_are_read_after_the_loop(monkeypatch, steps):
    """Addresses that only the code of shared passes reads are read again."""
    monkeypatch.setattr(programs, "STEPS_IN_A_PART", steps)

    def step(a, s, numbers):
        root = newton(a, v)
        return s + root * v, numbers + root

    total, number = scan(step, x, [v * 2, pt.constant(0.5)])[0]
    outputs = [(total[-1] ** 2).sum() * number[-1]]
    assert check([x, v], outputs, (draw(x, 70), np.ones(3)), (draw(x, 1), np.ones(2))) == 1


def test_sums_in_a_loop():
    """Numbers that are in registers of the loop around, but for sums of its steps' loops."""

    def around(t, before, v):
        total = fori_loop(0, x.shape[0], lambda i, s: s + newton(x[i] + before**2, v), before * 0.1)
        return pt.tanh(total) + t

    states = scan(around, pt.arange(4), pt.constant(0.5), [v])[0]
    assert check([x, v], [states], (draw(x, 70), np.ones(3))) == 1


def test_maps_in_loops_and_branches():
    """The number of the step around, and states in registers, reach the passes."""

    def around(t, total, v, rows):
        some = rows_of(lambda a, t, total: newton(a + total**2, v) + t * total, [rows], t, total)[0]
        chosen = ifelse(pt.gt(t, 1), rows_of(newton, [rows * t], v)[0], -some)
        return pt.tanh(chosen.sum()), some, chosen

    states = scan(around, pt.arange(4), [pt.constant(0.5), None, None], [v, x], return_list=True)[0]
    values = [(draw(x, passes), np.ones(3)) for passes in (1, 6)]
    assert check([x, v], states, *values) == 2


def test_rows_of_a_jacobian():
    state = scan(lambda h: pt.tanh(h[::-1] + x * 0.5), None, x, n_steps=4)[0][-1]
    rows = jacobian(state, x, vectorize=False)
    outputs = [rows, phintys.grad((rows**2).sum(), x)]  # which is a sum over rows
    native = phintys.function([x], outputs, mode="native")
    reference = phintys.function([x], outputs, mode="reference")
    values = np.linspace(-1, 1, 70)
    for mine, expected in zip(with_threads(native, values), reference(values), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-9, atol=1e-12)
    assert str(native.explain()).count("for row < x.0, shared by threads") >= 2


def test_steps_that_depend_on_each_other_are_not_shared():
    def counted(row, h):
        return newton(row, v) + h

    def drawn(row):
        return newton(row, v) * random.normal()

    random = phintys.random.RandomStream(1)
    carried = scan(counted, x, pt.constant(0.0))[0]
    read = fori_loop(0, x.shape[0], lambda i, s: s + newton(x[i] + s**2, v), pt.constant(0.0))
    twice = fori_loop(0, x.shape[0], lambda i, s: s + s * newton(x[i], v), pt.constant(1.0))
    numbers = fori_loop(
        0, x.shape[0], lambda i, s: s + newton(x[i], v).astype("int64"), pt.constant(1)
    )
    draws, updates = scan(drawn, x)
    until = scan(lambda a: (newton(a, v), phintys.until(a > 2)), x)[0]
    for output in (carried, read, twice, numbers, draws, until):
        native = phintys.function([x, v], output, updates=updates, on_unused_input="ignore")
        assert shared_in(native) == 0


def test_steps_in_python_are_not_shared():
    @phintys.wrap_py([pt.dscalar], [pt.dscalar])
    def python(a):
        return np.asarray(a * 2)

    native = phintys.function([x, v], rows_of(lambda a, v: python(newton(a, v)), [x], v))
    assert shared_in(native) == 0
    np.testing.assert_allclose(native([4.0, 9.0], [1.0])[0], [4.0, 6.0])


class MapDraw(Draw):
    """Draws steps with more loops, and with factors of matrices."""

    def expression(self, pool, ndim, depth):
        if depth == 0 or self.random.random() < 0.2:
            return self.leaf(pool, ndim)
        kinds = [self.same_rank, self.other_rank, self.rearranged, self.controlled, self.factored]
        kind = self.random.choices(kinds, [4, 3, 3, 4, 3])[0]
        return kind(lambda n=ndim: self.expression(pool, n, depth - 1), ndim)

    def factored(self, inner, ndim):
        matrix = positive(pt.tanh(pt.specify_shape(inner(2), (3, 3))))
        if ndim == 2:
            return self.random.choice([pt.linalg.cholesky, pt.linalg.inv])(matrix)
        if ndim == 1:
            return pt.linalg.solve(matrix, pt.specify_shape(inner(1), (3,)))
        return pt.linalg.slogdet(matrix)[1]


def program(number):
    """Return a map, maybe in a map or loop: its inputs, outputs with gradients, and values."""
    draw = MapDraw(number)
    random = draw.random
    ranks = [random.randrange(3) for _ in range(random.randint(1, 2))]
    captured = [pt.tensor(name, shape=random.choice(shapes)) for name, shapes in CAPTURED]
    rows = [pt.tensor(f"rows{i}", shape=(None, *SHAPES[ndim])) for i, ndim in enumerate(ranks)]
    count = random.randint(1, 2)

    def step(*pool):
        return [
            draw.expression(pool, random.randrange(3), random.randint(2, 4)) for _ in range(count)
        ]

    def in_a_map(*pool):
        pairs = [pt.stack([row, 2 * row]) for row in pool[: len(rows)]]
        return rows_of(step, pairs, *pool[len(rows) :])

    def in_a_loop(t, state, *others):
        made = rows_of(step, [row * state for row in rows], *others)
        return [pt.tanh(sum(each.sum() for each in made) + state * t), *made]

    kind = random.randrange(3)
    if kind < 2:
        outputs = rows_of([step, in_a_map][kind], rows, *captured)
    else:
        states = [pt.constant(0.3), *[None] * count]
        outputs = scan(in_a_loop, pt.arange(3), states, captured, return_list=True)[0]
    inputs = [*captured, *rows]
    cost = sum(pt.sin(output).sum() for output in outputs)
    gradients = phintys.grad(cost, inputs, disconnected_inputs="ignore")
    shapes = [[3 if size is None else size for size in one.type.shape] for one in captured]
    length = random.choice([0, 1, 2, 3, 4, 6])
    shapes += [(length, *SHAPES[ndim]) for ndim in ranks]
    normal = np.random.default_rng(number).normal
    return inputs, [*outputs, *gradients], [normal(size=shape) for shape in shapes]


@pytest.mark.parametrize("part", range(2))
def test_random_maps(part, repeats):
    count = repeats(3, 500)
    for number in range(part * count, part * count + count):
        inputs, outputs, values = program(number)
        check(inputs, outputs, values)


# ---- failures ------------------------------------------------------------------------------------


def failing(*numbers):
    """Return matrices of which those of some numbers have no Cholesky factor."""
    values = np.broadcast_to(np.eye(4) * 4, (30, 4, 4)).copy()
    for number in numbers:
        values[number, 1, 1] = -1.0 - number
    return values


def error_of(function, values):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the tests compare what it is
        function(values)
    error = caught.value
    return type(error), str(error), getattr(error, "__notes__", [])


def test_the_first_pass_that_fails_is_named():
    def step(x):
        factor = pt.linalg.cholesky(x)
        return fori_loop(0, 2, lambda _, h: factor @ h, x)

    outputs = rows_of(step, [X])
    native = phintys.function([X], outputs, mode="native")
    reference = phintys.function([X], outputs, mode="reference")
    sums = scan(lambda x, s: s + step(x), X, pt.zeros((4, 4)))[0][-1]
    total = phintys.function([X], sums, mode="native")
    assert shared_in(native) == shared_in(total) == 1
    for numbers in [(29,), (3, 4, 20), (0, 1), tuple(range(30))]:
        values = failing(*numbers)
        wanted = error_of(reference, values)[:2]
        for threads in (1, 2, 8):
            with phintys.config.change_flags(num_threads=threads):
                assert error_of(native, values)[:2] == wanted
                assert error_of(total, values)[:2] == wanted
    np.testing.assert_allclose(native(failing())[0][0], np.eye(4) * 16)
    np.testing.assert_allclose(total(failing()), np.eye(4) * 480)


def test_the_numbers_of_the_first_failure_are_reported():
    """The ranges run backwards here, so that later passes fail before."""

    def step(x):
        factor = pt.linalg.cholesky(x)
        return fori_loop(0, 2, lambda _, h: factor @ h, x)

    program = lower_program(FunctionGraph([X], rows_of(step, [X]), clone=True))
    values = failing()
    for number, row in ((13, 2), (17, 1), (29, 3)):
        values[number, row, row] = -1.0
    for ranges in (1, 4, 30):
        executable = compile_program(program, Target.host(), ranges=ranges)
        with pytest.raises(np.linalg.LinAlgError):
            executable(values)
        assert executable.frame[STATUS + 1] == 3  # the order of the minor in pass 13
        (rows,) = executable(failing())
        np.testing.assert_allclose(rows[0], np.eye(4) * 16)


@pytest.mark.parametrize("most_bytes", [0, 1000])
def test_no_memory_for_a_thread(most_bytes):
    outputs = rows_of(factored, [X], v)
    outputs.append(phintys.grad(outputs[1].sum(), v, disconnected_inputs="ignore"))
    graph = FunctionGraph([X, v], outputs, clone=True)
    executable = compile_program(lower_program(graph), Target.host(), ranges=3)
    values = draw(X, 6), np.ones(4)
    expected = executable(*values)
    executable.most_bytes = most_bytes
    with pytest.raises(MemoryError):
        executable(*values)
    executable.most_bytes = None
    for mine, before in zip(executable(*values), expected, strict=True):
        np.testing.assert_array_equal(mine, before)


def test_large_private_memory_is_not_taken_for_each_thread(monkeypatch):
    monkeypatch.setattr(shared_passes, "PRIVATE_BYTES", 1000)
    graph = FunctionGraph([X, v], rows_of(factored, [X], v), clone=True)
    executable = compile_program(lower_program(graph), Target.host(), ranges=3)
    executable.most_bytes = 0  # of memory that is asked for while steps run
    for mine, expected in zip(
        executable(draw(X, 6), np.ones(4)),
        phintys.function([X, v], rows_of(factored, [X], v), mode="reference")(
            draw(X, 6), np.ones(4)
        ),
        strict=True,
    ):
        np.testing.assert_allclose(mine, expected, rtol=1e-9)


def test_a_few_passes_with_large_products_share_these():
    def step(x):
        return fori_loop(0, 2, lambda _, h: h * 0.5, (x @ x.T).sum(axis=0))

    graph = FunctionGraph([X], rows_of(step, [X]), clone=True)
    executable = compile_program(lower_program(graph), Target.host(), ranges=3)
    executable.most_bytes = 1 << 16  # no range has a block of its own
    large = np.random.default_rng(0).normal(size=(3, 300, 300))
    expected = np.einsum("nij,nkj->nk", large, large) / 4
    np.testing.assert_allclose(executable(large)[0], expected, rtol=1e-9)
    with pytest.raises(MemoryError):
        executable(np.concatenate([large] * 3))


# ---- calls ---------------------------------------------------------------------------------------


def test_callers_at_once():
    native = phintys.function([X, v], rows_of(factored, [X], v), mode="native")
    given = [(draw(X, 20, seed), np.linspace(0, seed + 1, 4)) for seed in range(4)]
    expected = [native(*values) for values in given]
    wrong = []

    def call(number):
        for _ in range(50):
            for mine, other in zip(native(*given[number]), expected[number], strict=True):
                if not np.array_equal(mine, other):
                    wrong.append(number)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_c_callers():
    rows = rows_of(lambda a: fori_loop(0, 9, lambda i, h: pt.sin(h + a * i), a), [x])[0]
    root = x[0]
    total = scan(lambda a, s: s + fori_loop(0, 5, lambda i, h: h * root, a), x, pt.constant(0.0))
    cost = (rows**2).sum() * total[0][-1]
    function = phintys.function([x], [cost, phintys.grad(cost, x)], mode="native")
    assert shared_in(function) >= 2
    given = np.linspace(0.5, 2, 100)
    value, gradient = with_threads(function, given)
    pointer = ctypes.c_void_p
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, *[pointer] * 4)(
        function.address("value_and_gradient")
    )
    made = np.zeros(101)
    assert call(100, given.ctypes.data, made.ctypes.data, made[100:].ctypes.data, None) == 0
    np.testing.assert_array_equal(made[:100], gradient)
    assert made[100] == value


INTERRUPTED = """
import signal
import time

import numpy as np

import phintys
import phintys.tensor as pt
from phintys.control import fori_loop


def interrupt(*_):
    raise KeyboardInterrupt


x = pt.dvector("x")
calls = phintys.shared(0)
rows, _ = phintys.scan(lambda a: fori_loop(0, 10**9, lambda i, h: pt.sin(h + i), a), x)
run = phintys.function([x], rows, updates={calls: calls + 1})
assert "for step < x.0, shared by threads" in str(run.explain())
signal.signal(signal.SIGALRM, interrupt)
for count in (2, 50):
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    due = time.perf_counter() + 0.3
    try:
        run(np.ones(count))
    except KeyboardInterrupt:
        assert calls.get_value() == 0
        print("ended after", time.perf_counter() - due)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX timers")
def test_signals_end_the_passes_of_all_threads(python_command):
    found = subprocess.run(
        python_command(INTERRUPTED), capture_output=True, text=True, timeout=60, check=False
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.count("ended after") == 2, found.stdout


def test_profiles():
    native = phintys.function([X, v], rows_of(factored, [X], v), mode="native", profile=True)
    with_threads(native, draw(X, 8), np.ones(4))
    (loops,) = [step for step in native.profile.steps if step.kind == "loop"]
    assert loops.calls == 9


# ---- programs ------------------------------------------------------------------------------------


def test_short_loops_are_not_shared(monkeypatch):
    monkeypatch.undo()
    rows = pt.tensor("rows", shape=(9, 4))
    outputs = rows_of(lambda row: scan(pt.cos, None, row, n_steps=5)[0], [rows])
    assert shared_in(phintys.function([rows], outputs, mode="native")) == 0


def test_the_verifier_finds_passes_that_depend_on_each_other():
    program = lower_program(FunctionGraph([X, v], rows_of(factored, [X], v), clone=True))
    verify_program(program)
    (loop,) = [s for s in walk_steps(program.steps) if isinstance(s, Loop) and s.own_rows]
    loop.own_rows = loop.own_rows[1:]  # the other array is read after the loop
    with pytest.raises(IntegrityError, match="is returned unwritten"):
        verify_program(program)
