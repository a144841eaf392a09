"""Programs written by hand: gathers, scatters, positions, pieces, checks."""

import numpy as np
import pytest

import phintys.scalar as ps
from phintys._base.errors import IndexingError, IntegrityError, ShapeError
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.expressions import (
    Conversion,
    Index,
    IndexCheck,
    Literal,
    Load,
    Operation,
    Position,
    SizeValue,
    Statement,
)
from phintys.backends.native.failures import Failure
from phintys.backends.native.kernels.fusion import fuse
from phintys.backends.native.program import Program
from phintys.backends.native.sizes import Sizes
from phintys.backends.native.steps.branch import Branch
from phintys.backends.native.steps.check import Check
from phintys.backends.native.steps.kernel import Kernel, Nest
from phintys.backends.native.steps.loop import Loop
from phintys.backends.native.values import Array, LoopVariable, Place
from phintys.backends.native.verify import verify_program
from tools.native_programs import compile_program, target_here

LENGTHS = [0, 1, 7, 8, 9, 100]


class Node:
    """Stands for a node of a graph in failures."""

    op = "Op"


class Maker:
    """Builds a program statement by statement."""

    def __init__(self):
        self.sizes = Sizes()
        self.one = self.sizes.fixed(1)
        self.steps = []
        self.arguments = []
        self.results = []

    def argument(self, dtype, ndim):
        array = Array(Place.ARGUMENT, np.dtype(dtype), (), f"a{len(self.arguments)}")
        array.sizes = tuple(self.sizes.extent(array, axis) for axis in range(ndim))
        self.arguments.append(array)
        return array

    def result(self, dtype, *lengths):
        array = self.buffer(dtype, *lengths)
        array.place = Place.RESULT
        self.results.append(array)
        return array

    def buffer(self, dtype, *lengths):
        return Array(Place.BUFFER, np.dtype(dtype), lengths, f"t{len(self.steps)}")

    def at(self, *positions):
        """Return indices: each is a loop, or an Index."""
        return tuple(p if isinstance(p, Index) else Index(((p, self.one),)) for p in positions)

    def store(self, target, positions, value, loops, **more):
        statement = Statement(target, self.at(*positions), value, tuple(loops), **more)
        self.steps.append(statement)

    def program(self):
        steps = fuse(self.steps, self.sizes, self.results)
        program = Program(self.arguments, self.results, steps, self.sizes)
        verify_program(program)
        return program


def run(maker, *values, target="host", ranges=3):
    return compile_program(maker.program(), target_here(target), ranges=ranges)(*values)


def picked(index, size):
    """An index from memory, checked."""
    return Index(
        (), None, IndexCheck(index, size, Failure(Node, "index", "{0} of {1}", IndexingError))
    )


@pytest.fixture(params=["host", "x86-64-v3", "x86-64-v2"])
def target(request):
    return request.param


@pytest.mark.sampled(5)
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "bool", "complex64", "float16"])
def test_gather_of_elements(n, dtype, target):
    maker = Maker()
    x, where = maker.argument(dtype, 1), maker.argument("int64", 1)
    i = LoopVariable(where.sizes[0], "i")
    out = maker.result(dtype, where.sizes[0])
    load = Load(x, (picked(Load(where, maker.at(i)), x.sizes[0]),))
    maker.store(out, [i], load, [i])
    rng = np.random.default_rng(n)
    values = rng.integers(-5, 5, 11).astype(dtype)
    index = rng.integers(-11, 11, n)
    (got,) = run(maker, values, index, target=target)
    np.testing.assert_array_equal(got, values[index])


@pytest.mark.parametrize("index_dtype", ["int8", "uint8", "int32", "uint32"])
def test_indices_of_other_dtypes(index_dtype):
    maker = Maker()
    x, where = maker.argument("float64", 1), maker.argument(index_dtype, 1)
    i = LoopVariable(where.sizes[0], "i")
    out = maker.result("float64", where.sizes[0])
    maker.store(out, [i], Load(x, (picked(Load(where, maker.at(i)), x.sizes[0]),)), [i])
    index = np.array([3, 0, 9, 9, 1] * 4, index_dtype)
    (got,) = run(maker, np.arange(10.0), index)
    np.testing.assert_array_equal(got, index)


@pytest.mark.parametrize("n", [1, 9, 40])
@pytest.mark.parametrize("bad", [10, -11, 1 << 40])
def test_first_index_out_of_bounds_is_reported(n, bad, target):
    maker = Maker()
    x, where = maker.argument("float64", 1), maker.argument("int64", 1)
    i = LoopVariable(where.sizes[0], "i")
    out = maker.result("float64", where.sizes[0])
    maker.store(out, [i], Load(x, (picked(Load(where, maker.at(i)), x.sizes[0]),)), [i])
    index = np.zeros(n, np.int64)
    index[n - 1] = bad
    index[n // 2] = bad
    executable = compile_program(maker.program(), target_here(target))
    with pytest.raises(IndexingError, match=rf"{bad} of 10"):
        executable(np.arange(10.0), index)
    (got,) = executable(np.arange(10.0), index % 10)
    np.testing.assert_array_equal(got, index % 10)


@pytest.mark.parametrize("shape", [(5, 3), (5, 40), (1, 1), (4, 0), (0, 4)])
def test_gather_of_rows_reads_neighbours(shape):
    maker = Maker()
    x, where = maker.argument("float64", 2), maker.argument("int64", 1)
    i, j = LoopVariable(where.sizes[0], "i"), LoopVariable(x.sizes[1], "j")
    out = maker.result("float64", where.sizes[0], x.sizes[1])
    load = Load(x, (picked(Load(where, maker.at(i)), x.sizes[0]), *maker.at(j)))
    maker.store(out, [i, j], load, [i, j])
    values = np.random.default_rng(0).normal(size=shape)
    index = np.array([0, -1, 2, 0] if shape[0] > 2 else [0, -1] * min(1, shape[0]), np.int64)
    (got,) = run(maker, values, index)
    np.testing.assert_array_equal(got, values[index])
    text = str(compile_program(maker.program()).emitted.module)
    assert "gather" not in text


@pytest.mark.parametrize("n", LENGTHS)
def test_gather_with_two_indices_and_an_expression(n):
    maker = Maker()
    x = maker.argument("float64", 2)
    rows, columns = maker.argument("int64", 1), maker.argument("int64", 1)
    i = LoopVariable(rows.sizes[0], "i")
    j = Index(((i, maker.one),))
    out = maker.result("float64", rows.sizes[0])
    indices = (
        picked(Load(rows, (j,)), x.sizes[0]),
        picked(Operation(ps.neg, (Load(columns, (j,)),), np.dtype("int64")), x.sizes[1]),
    )
    value = Operation(ps.exp, (Load(x, indices),), np.dtype("float64"))
    maker.store(out, [i], value, [i])
    rng = np.random.default_rng(n)
    values, r, c = rng.normal(size=(4, 6)), rng.integers(-4, 4, n), rng.integers(-5, 7, n)
    (got,) = run(maker, values, r, c)
    np.testing.assert_allclose(got, np.exp(values[r, -c]), rtol=1e-15)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", ["float64", "bool", "complex128", "int16"])
def test_scatter_writes_the_last_of_equal_indices(n, dtype, target):
    maker = Maker()
    where, y = maker.argument("int64", 1), maker.argument(dtype, 1)
    i = LoopVariable(where.sizes[0], "i")
    k = LoopVariable(maker.sizes.fixed(5), "k")
    out = maker.result(dtype, k.extent)
    maker.store(out, [k], Literal(np.dtype(dtype).type(1), np.dtype(dtype)), [k])
    place = picked(Load(where, maker.at(i)), k.extent)
    maker.store(out, [place], Load(y, maker.at(i)), [i])
    rng = np.random.default_rng(n)
    index, values = rng.integers(-5, 5, n), rng.integers(0, 9, n).astype(dtype)
    (got,) = run(maker, index, values, target=target)
    wanted = np.ones(5, dtype)
    for at, value in zip(index, values, strict=True):
        wanted[at] = value
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", ["float64", "float16", "complex64", "int8"])
def test_scatter_adds_in_order(n, dtype, target):
    maker = Maker()
    where, y = maker.argument("int64", 1), maker.argument(dtype, 1)
    i = LoopVariable(where.sizes[0], "i")
    k = LoopVariable(maker.sizes.fixed(3), "k")
    out = maker.result(dtype, k.extent)
    maker.store(out, [k], Literal(np.dtype(dtype).type(0), np.dtype(dtype)), [k])
    place = picked(Load(where, maker.at(i)), k.extent)
    maker.store(out, [place], Load(y, maker.at(i)), [i], accumulate="add")
    rng = np.random.default_rng(n)
    index, values = rng.integers(-3, 3, n), rng.normal(size=n).astype(dtype) * 3
    values = values.astype(dtype)
    (got,) = run(maker, index, values, target=target)
    wanted = np.zeros(3, dtype)
    np.add.at(wanted, index, values)
    np.testing.assert_array_equal(got, wanted)


def test_scatter_adds_rows():
    maker = Maker()
    where, y = maker.argument("int64", 1), maker.argument("float64", 2)
    i, j = LoopVariable(where.sizes[0], "i"), LoopVariable(y.sizes[1], "j")
    out = maker.result("float64", maker.sizes.fixed(4), y.sizes[1])
    k = LoopVariable(maker.sizes.fixed(4), "k")
    maker.store(out, [k, j], Literal(np.float64(0), np.dtype("float64")), [k, j])
    place = picked(Load(where, maker.at(i)), k.extent)
    maker.store(out, [place, j], Load(y, maker.at(i, j)), [i, j], accumulate="add")
    rng = np.random.default_rng(0)
    index, values = rng.integers(0, 4, 20), rng.normal(size=(20, 11))
    (got,) = run(maker, index, values)
    wanted = np.zeros((4, 11))
    np.add.at(wanted, index, values)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize(("start", "step"), [(0, 1), (2, 3), (-1, -1), (-2, -2)])
def test_slices(n, start, step):
    length = 3 * n + 2
    maker = Maker()
    x = maker.argument("float32", 1)
    i = LoopVariable(maker.sizes.fixed(n), "i")
    first = maker.sizes.fixed(start)
    if start < 0:
        first = maker.sizes.add(x.sizes[0], first)
    out = maker.result("float32", i.extent)
    index = Index(((i, maker.sizes.fixed(step)),), first)
    maker.store(out, [i], Load(x, (index,)), [i])
    values = np.arange(length, dtype="float32")
    (got,) = run(maker, values)
    np.testing.assert_array_equal(got, values[start::step][:n])


@pytest.mark.parametrize("n", LENGTHS)
def test_pieces_of_one_array_and_positions(n):
    maker = Maker()
    x = maker.argument("float64", 1)
    size = x.sizes[0]
    both = maker.sizes.add(size, size)
    i, j = LoopVariable(size, "i"), LoopVariable(size, "j")
    out = maker.result("float64", both)
    number = Conversion(Position(Index(((j, maker.sizes.fixed(3)),), size)), np.dtype("float64"))
    maker.store(out, [i], Load(x, maker.at(i)), [i])
    maker.store(out, [Index(((j, maker.one),), size)], number, [j])
    values = np.random.default_rng(0).normal(size=n)
    (got,) = run(maker, values)
    np.testing.assert_array_equal(got, np.concatenate([values, 3 * np.arange(n) + n]))


def element(maker, number):
    """Return the index of an element."""
    return Index((), maker.sizes.fixed(number))


def test_elements_of_one_array_are_written_by_one_kernel():
    maker = Maker()
    x = maker.argument("float64", 0)
    double = Operation(ps.add, (Load(x, ()), Load(x, ())), np.dtype("float64"))
    out = maker.result("float64", maker.sizes.fixed(2))
    maker.store(out, [element(maker, 0)], double, [])
    maker.store(out, [element(maker, 1)], Load(x, ()), [])
    program = maker.program()
    assert len(program.steps) == 1
    (got,) = compile_program(program, Target.host())(np.array(1.5))
    np.testing.assert_array_equal(got, [3.0, 1.5])


@pytest.mark.parametrize("again", [0, 1])
def test_elements_that_are_read_or_written_again_are_in_memory_first(again):
    maker = Maker()
    x = maker.argument("float64", 0)
    middle = maker.buffer("float64", maker.sizes.fixed(2))
    for number in (0, 1, again):
        added = Literal(np.float64(number), np.dtype("float64"))
        value = Operation(ps.add, (Load(x, ()), added), added.dtype)
        maker.store(middle, [element(maker, number)], value, [])
    out = maker.result("float64", maker.sizes.fixed(2))
    for number in (0, 1):
        maker.store(out, [element(maker, number)], Load(middle, (element(maker, number),)), [])
    (got,) = run(maker, np.array(1.5))
    np.testing.assert_array_equal(got, [1.5, 2.5])


def test_identity_matrix_and_sizes():
    maker = Maker()
    x = maker.argument("float64", 1)
    i, j = LoopVariable(x.sizes[0], "i"), LoopVariable(x.sizes[0], "j")
    out = maker.result("bool", x.sizes[0], x.sizes[0])
    count = maker.result("int64")
    row, column = (Position(*maker.at(loop)) for loop in (i, j))
    maker.store(out, [i, j], Operation(ps.eq, (row, column), np.dtype("bool")), [i, j])
    maker.store(count, [], SizeValue(maker.sizes.mul(x.sizes[0], x.sizes[0])), [])
    eye, n = run(maker, np.zeros(19))
    np.testing.assert_array_equal(eye, np.eye(19, dtype=bool))
    assert n == 19 * 19


def test_sizes_are_computed_as_python_computes_them():
    pairs = [(7, 3), (-7, 3), (7, -3), (0, 3), (6, 3)]
    operations = ["add", "sub", "mul", "floordiv", "mod", "max", "min", "lt"]
    maker = Maker()
    x = maker.argument("int64", 1)
    for at in range(len(pairs)):
        left = maker.sizes.element(x, 2 * at)
        right = maker.sizes.element(x, 2 * at + 1)
        for operation in operations:
            size = maker.sizes.arithmetic(operation, left, right)
            maker.store(maker.result("int64"), [], SizeValue(size), [])
    got = run(maker, np.array(pairs).reshape(-1))
    wanted = [
        value
        for a, b in pairs
        for value in (a + b, a - b, a * b, a // b, a % b, max(a, b), min(a, b), a < b)
    ]
    assert [int(x) for x in got] == wanted


def test_failed_checks_stop_the_program():
    maker = Maker()
    x, y = maker.argument("float64", 1), maker.argument("float64", 1)
    maker.steps.append(Check(x.sizes[0], y.sizes[0], Failure(Node, "broadcast", "{0} and {1}")))
    maker.sizes.equate(x.sizes[0], y.sizes[0])
    i = LoopVariable(x.sizes[0], "i")
    value = Operation(ps.add, (Load(x, maker.at(i)), Load(y, maker.at(i))), np.dtype("float64"))
    maker.store(maker.result("float64", x.sizes[0]), [i], value, [i])
    executable = compile_program(maker.program())
    with pytest.raises(ShapeError, match="3 and 4"):
        executable(np.zeros(3), np.zeros(4))
    np.testing.assert_array_equal(executable(np.ones(3), np.ones(3))[0], np.full(3, 2.0))


def test_scratch_larger_than_the_stack_has():
    maker = Maker()
    x = maker.argument("float64", 2)
    i, j = (LoopVariable(size, name) for size, name in zip(x.sizes, "ij", strict=True))
    float64 = np.dtype("float64")
    e = maker.buffer("float64", *x.sizes)
    s = maker.buffer("float64", x.sizes[0])
    out = maker.result("float64", *x.sizes)
    maker.store(e, [i, j], Operation(ps.exp, (Load(x, maker.at(i, j)),), float64), [i, j])
    load = Load(e, maker.at(i, j))
    maker.store(s, [i], load, [i, j], reduction=(j,), reducer="add")
    quotient = Operation(ps.true_div, (load, Load(s, maker.at(i))), float64)
    maker.store(out, [i, j], quotient, [i, j])
    program = maker.program()
    assert len(program.steps) == 1
    for n in (5, 3000):
        values = np.random.default_rng(n).normal(size=(4, n))
        (got,) = compile_program(program, ranges=2)(values)
        e_ = np.exp(values)
        np.testing.assert_allclose(got, e_ / e_.sum(axis=1, keepdims=True), rtol=1e-14)


def test_two_sets_of_reduced_loops_in_a_nest_are_refused():
    maker = Maker()
    x = maker.argument("float64", 2)
    i, j = (LoopVariable(size, name) for size, name in zip(x.sizes, "ij", strict=True))
    load = Load(x, maker.at(i, j))
    rows, columns = maker.result("float64", x.sizes[0]), maker.result("float64", x.sizes[1])
    statements = [
        Statement(rows, maker.at(i), load, (i, j), (j,), "add"),
        Statement(columns, maker.at(j), load, (i, j), (i,), "add"),
    ]
    kernel = Kernel((), [Nest((i, j), statements)])
    program = Program(maker.arguments, maker.results, [kernel], maker.sizes)
    with pytest.raises(IntegrityError, match="several sets"):
        verify_program(program)
    maker.steps = statements
    assert len(maker.program().steps) == 2


def kernel_of(*statements):
    """A kernel of statements with the same loops."""
    return Kernel((), [Nest(statements[0].loops, list(statements))])


def test_branches_run_one_arm():
    maker = Maker()
    condition, x = maker.argument("bool", 0), maker.argument("float64", 1)
    i = LoopVariable(x.sizes[0], "i")
    out = maker.result("float64", x.sizes[0])
    float64 = np.dtype("float64")

    def filled(op):
        value = Operation(op, (Load(x, maker.at(i)),), float64)
        return [kernel_of(Statement(out, maker.at(i), value, (i,)))]

    program = Program(
        maker.arguments,
        maker.results,
        [Branch(condition, filled(ps.exp), filled(ps.neg))],
        maker.sizes,
    )
    verify_program(program)
    executable = compile_program(program)
    values = np.random.default_rng(0).normal(size=20)
    np.testing.assert_allclose(executable(np.array(True), values)[0], np.exp(values), rtol=1e-15)
    np.testing.assert_array_equal(executable(np.array(False), values)[0], -values)


@pytest.mark.parametrize("count", [0, 1, 5])
@pytest.mark.parametrize("stop_at", [2.5, 1e9])
def test_loops_repeat_steps_and_may_end_early(count, stop_at):
    # row k + 1 = 2 * row k + k, until an element exceeds a limit
    maker = Maker()
    x, n = maker.argument("float64", 1), maker.argument("int64", 0)
    sizes, float64 = maker.sizes, np.dtype("float64")
    steps = sizes.element(n)
    out = maker.result("float64", sizes.add(steps, maker.one), x.sizes[0])
    i, k = LoopVariable(x.sizes[0], "i"), LoopVariable(steps, "k")
    zero = Index()
    start = Statement(out, (zero, *maker.at(i)), Load(x, maker.at(i)), (i,))
    before = Load(out, maker.at(k, i))
    doubled = Operation(ps.add, (before, before), float64)
    counter = Conversion(Position(*maker.at(k)), float64)
    following = Operation(ps.add, (doubled, counter), float64)
    next_row = Index(((k, maker.one),), maker.one)
    body = Statement(out, (next_row, *maker.at(i)), following, (i,))
    largest = maker.buffer("float64")
    reduction = Statement(largest, (), Load(out, (next_row, *maker.at(i))), (i,), (i,), "maximum")
    until = maker.buffer("bool")
    limit = Literal(np.float64(stop_at), float64)
    test = Operation(ps.gt, (Load(largest, ()), limit), np.dtype("bool"))
    loop = Loop(
        steps,
        k,
        [kernel_of(body), kernel_of(reduction), kernel_of(Statement(until, (), test, ()))],
        until,
    )
    checked = at_least_zero(sizes, steps)
    program = Program(maker.arguments, maker.results, [checked, kernel_of(start), loop], sizes)
    verify_program(program)
    values = np.random.default_rng(count).uniform(0, 1, size=11)
    (got,) = compile_program(program)(values, np.array(count))
    row = values
    for at in range(count):
        row = 2 * row + at
        np.testing.assert_allclose(got[at + 1], row, rtol=1e-14)
        if row.max() > stop_at:
            break


def at_least_zero(sizes, size):
    """A check that a size that is read from memory is a length."""
    return Check(
        sizes.arithmetic("lt", sizes.fixed(-1), size), sizes.fixed(1), Failure(Node, "shape")
    )


def element_at(maker, array, size):
    """A statement's value: the element of a vector at a size."""
    return Load(array, (Index((), size),))


@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_sizes_that_change_from_pass_to_pass(count):
    """``out[k] = x[place]``; then ``place = (2 * place + k) % n``, read back as a size."""
    maker = Maker()
    sizes = maker.sizes
    int64 = np.dtype("int64")
    x, steps = maker.argument("float64", 1), maker.argument("int64", 0)
    repeats = sizes.element(steps)
    out, last = maker.result("float64", repeats), maker.result("int64")
    place = maker.buffer("int64")
    k = LoopVariable(repeats, "k")
    now, number = sizes.element(place), sizes.counter(k)
    following = sizes.add(sizes.add(now, now), number)
    following = sizes.arithmetic("mod", following, x.sizes[0])
    check = Check(sizes.arithmetic("lt", now, x.sizes[0]), maker.one, Failure(Node, "shape"))
    body = [
        check,
        kernel_of(Statement(out, (Index((), number),), element_at(maker, x, now), ())),
        kernel_of(Statement(place, (), SizeValue(following), ())),
        kernel_of(Statement(last, (), SizeValue(now), ())),
    ]
    begin = Statement(place, (), Literal(np.int64(1), int64), ())
    first = Statement(last, (), Literal(np.int64(1), int64), ())
    program = Program(
        maker.arguments,
        maker.results,
        [at_least_zero(sizes, repeats), kernel_of(begin), kernel_of(first), Loop(repeats, k, body)],
        sizes,
    )
    verify_program(program)
    values = np.linspace(0, 1, 7)
    got, ended = compile_program(program)(values, np.array(count))
    at = 1
    for number in range(count):
        assert got[number] == values[at]
        at = (2 * at + number) % 7
    assert ended == at


@pytest.mark.parametrize("flag", [False, True])
def test_sizes_that_are_computed_in_a_branch(flag):
    maker = Maker()
    sizes = maker.sizes
    x, condition = maker.argument("float64", 1), maker.argument("bool", 0)
    place, out = maker.buffer("int64"), maker.result("float64")
    at = sizes.element(place)
    pick = Statement(out, (), element_at(maker, x, at), ())

    def arm(number):
        found = Statement(place, (), Literal(np.int64(number), np.dtype("int64")), ())
        return [kernel_of(found), kernel_of(pick)]

    branch = Branch(condition, arm(2), arm(3))
    program = Program(maker.arguments, maker.results, [branch], sizes)
    verify_program(program)
    (got,) = compile_program(program)(np.arange(5.0), np.array(flag))
    assert got == (2 if flag else 3)


def test_room_that_is_known_only_inside_is_refused():
    maker = Maker()
    x = maker.argument("float64", 1)
    k = LoopVariable(x.sizes[0], "k")
    length = maker.sizes.counter(k)
    piece = maker.buffer("float64", length)
    i = LoopVariable(length, "i")
    body = [kernel_of(Statement(piece, maker.at(i), Load(x, maker.at(i)), (i,)))]
    loop = Loop(x.sizes[0], k, body)
    program = Program(maker.arguments, [], [loop], maker.sizes)
    with pytest.raises(IntegrityError, match="size that is not known before"):
        verify_program(program)


def test_what_reads_its_own_results_says_so():
    maker = Maker()
    x = maker.argument("float64", 1)
    i = LoopVariable(x.sizes[0], "i")
    out = maker.result("float64", x.sizes[0])
    later = Index(((i, maker.one),), maker.one)
    value = Operation(ps.add, (Load(out, maker.at(i)), Load(x, maker.at(i))), np.dtype("float64"))
    start = Statement(out, (Index(),), Literal(np.float64(0), np.dtype("float64")), ())
    statement = Statement(out, (later,), value, (i,))
    program = Program(
        maker.arguments, maker.results, [kernel_of(start), kernel_of(statement)], maker.sizes
    )
    with pytest.raises(IntegrityError, match="read out of order"):
        verify_program(program)


def test_kernels_of_the_same_text_are_one_function():
    maker = Maker()
    float64 = np.dtype("float64")
    for _ in range(3):
        x = maker.argument("float64", 1)
        i = LoopVariable(x.sizes[0], "i")
        out = maker.result("float64", x.sizes[0])
        maker.store(out, [i], Operation(ps.exp, (Load(x, maker.at(i)),), float64), [i])
    executable = compile_program(maker.program())
    names = [function.name for function in executable.emitted.module.functions]
    assert names == ["kernel0", "run"]
    values = [np.full(n, n / 10) for n in (3, 9, 20)]
    for got, value in zip(executable(*values), values, strict=True):
        np.testing.assert_allclose(got, np.exp(value), rtol=1e-15)


def test_long_programs_are_several_functions():
    maker = Maker()
    float64 = np.dtype("float64")
    x = maker.argument("float64", 1)
    i = LoopVariable(x.sizes[0], "i")
    sums = []
    for number in range(100):
        total = maker.result("float64")
        literal = Literal(np.float64(number), float64)
        value = Operation(ps.add, (Load(x, maker.at(i)), literal), float64)
        maker.store(total, [], value, [i], reduction=(i,), reducer="add")
        sums.append(total)
    size = maker.sizes.arithmetic("max", x.sizes[0], maker.one)
    maker.store(maker.result("int64"), [], SizeValue(size), [])
    program = maker.program()
    steps = [Kernel((), [Nest((i,), [s])]) for step in program.steps for s in all_statements(step)]
    program = Program(maker.arguments, maker.results, steps[:-1] + program.steps[-1:], maker.sizes)
    verify_program(program)
    executable = compile_program(program)
    assert "run.part3" in {function.name for function in executable.emitted.module.functions}
    got = executable(np.ones(4))
    assert [float(total) for total in got[:-1]] == [4.0 + 4 * k for k in range(100)]
    assert got[-1] == 4


def all_statements(step):
    return [s for nest in step.nests for s in nest.statements]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("reducer", ["argmax", "argmin", "maximum", "add", "mul", "or_"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float64"])
@pytest.mark.parametrize("lengths", [(1, 1), (9, 1), (1, 9), (0, 1)])
def test_reductions_of_loops_with_one_iteration(reducer, dtype, lengths):
    if reducer == "or_" and dtype == "float64":
        return
    maker = Maker()
    x = maker.argument(dtype, 2)
    i, j = (LoopVariable(maker.sizes.fixed(n), name) for n, name in zip(lengths, "ij", strict=True))
    out = maker.result("int64" if reducer.startswith("arg") else dtype, i.extent)
    load = Load(x, maker.at(i, j))
    maker.store(out, [i], load, [i, j], reduction=(j,), reducer=reducer)
    values = np.random.default_rng(1).integers(0, 5, lengths).astype(dtype)
    (got,) = run(maker, values)
    function = {
        "argmax": np.argmax,
        "argmin": np.argmin,
        "maximum": np.max,
        "add": np.any if dtype == "bool" else np.sum,
        "mul": np.all if dtype == "bool" else np.prod,
        "or_": np.bitwise_or.reduce,
    }[reducer]
    np.testing.assert_array_equal(got, function(values, axis=1).astype(got.dtype))
