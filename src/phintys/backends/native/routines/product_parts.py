"""Large products, outlined: BLAS computes parts of them, each in one thread of Phintys' own pool.

A library's own threads spin while they wait for each other, which is fast on an idle machine and a
hundred times slower if several processes share its cores. So BLAS is told to use one thread while
this code calls it (see :mod:`~phintys.backends.native.routines.blas_threads`), and threads of the
pool call it for parts.

Results must not depend on which thread computes what, so parts depend on lengths alone. The inner
axis is split only if a single call would delay interrupts too long; the sums of its pieces are
added in order, with signal checks in between. There are two ways:

*Strips* of rows begin at multiples of :data:`ROWS`, the least common multiple of the rows that the
kernels of the library compute together. The bits of a strip then do not depend on how many
neighbours are computed along with it, so adjacent strips of one thread are one call; a single
thread makes one call for all.

*Tiles* of rows and columns are one call each, whichever thread computes them: the kernels for the
last columns differ. They are for matrices of few rows, and for large results.

Products with a vector are split into tiles of rows. A stack of small products is split between
products.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.backends.native.assembler.atomics import (
    call_pointer,
)
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import divide_up, either, loop, when
from phintys.backends.native.assembler.math import OutlinedSymbol, outlined_function
from phintys.backends.native.assembler.records import Record
from phintys.backends.native.assembler.types import INT32, INT64, PTR, VOID, MachineType, type_of
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import (
    BATCH_WORK,
    BLAS_TILE_COLUMNS,
    BLAS_TILE_ROWS,
    BLAS_TILE_WORK,
    BLAS_TILED_ELEMENTS,
    INNER_UNIT,
    LEAST_STRIP_COLUMNS,
    LEAST_STRIP_ROWS,
    MOST_PRODUCT_PARTS,
    PRODUCT_CALL_INNER,
    PRODUCT_CALL_WORK,
    PRODUCT_PART_WORK,
    STRIP_COLUMNS,
    STRIPS_CALL_ELEMENTS,
    VECTOR_CALL_ELEMENTS,
    VECTOR_PART_ELEMENTS,
)
from phintys.backends.native.routines.blas_functions import Matrix, Routines, call_product
from phintys.backends.native.routines.blas_threads import (
    BLAS_THREADS,
    begin_alone,
    end_alone,
    threads_of_blas,
)
from phintys.backends.native.routines.ranges import run_ranges, runtime_of

if TYPE_CHECKING:
    from phintys.backends.native.assembler.module import Module


ROWS = 24
"""Rows of a strip are a multiple of this."""

_LONGEST_LENGTH = 1 << 30
"""Lengths above which a product is always divided, as libraries count with 32 bits."""

_PRODUCT = Record.packed(
    m=INT64,
    n=INT64,
    k=INT64,
    first=PTR,
    first_down=INT64,
    first_along=INT64,
    second=PTR,
    second_down=INT64,
    second_along=INT64,
    c=PTR,
    c_down=INT64,
    alpha=PTR,
    adds=INT64,
    down=INT64,  # number of parts along the rows
    across=INT64,  # and columns
    merges=INT64,  # 1: neighbours are one call
    first_move=INT64,  # from one product of a stack to the next
    second_move=INT64,
    c_move=INT64,
)


def parts_symbol(name: str, type: MachineType) -> str:
    """Return the symbol of a function whose product is shared by threads.

    ``product_parts`` is ``i32 (state, parallel_for, poll, m, n, k, a, a_down, a_along, b, b_down,
    b_along, c, c_down, alpha, adds, count, a_move, b_move, c_move)`` for ``count`` products
    ``c = alpha a b``, or ``c +=`` it if ``adds`` is 1; ``vector_parts`` is ``i32 (state,
    parallel_for, poll, m, n, a, a_down, a_along, x, x_step, y, y_step, alpha, adds)`` for
    ``y = alpha a x`` or ``y +=`` it. Both return what ``parallel_for`` and ``poll`` do.
    """
    return OutlinedSymbol(name, type.name, 1).symbol


def _is_cut(b: Builder, threads: Value, lengths: Value) -> Value:
    """Return whether a product is divided here; a library with its own threads divides the others.

    Long axes are divided in any case: lengths are passed to a library as 32-bit integers.
    """
    is_ours = b.ne(BLAS_THREADS.load(b, threads, "is_ours"), 0)
    return is_ours | (lengths > _LONGEST_LENGTH)


# ---- matrices ----------------------------------------------------------------------------------


@outlined_function("product_parts")
def write_product_parts(module: Module, key: OutlinedSymbol) -> None:
    """Write the function that shares products of matrices into a module."""
    type = type_of(key.dtype)
    _write_cell(module, type)
    _write_kernel(module, type)
    _write_stack_kernel(module, type)
    _vector_routine(module, type)
    numbers, matrix = [INT64] * 3, [PTR, INT64, INT64]
    parameters = [PTR, PTR, PTR, *numbers, *matrix, *matrix, PTR, INT64, PTR, *[INT64] * 5]
    b = Builder(module.function(key.symbol, INT32, parameters))
    _write_shared(b, type)


def _names(type: MachineType) -> tuple[str, str, str]:
    return f"cell.{type.name}", f"cells.{type.name}", f"stack.{type.name}"


def _write_cell(module: Module, type: MachineType) -> None:
    """``cell(product, row, next row, column, next column)``: one call of BLAS."""
    name, _, _ = _names(type)
    b = Builder(module.function(name, VOID, [PTR, *[INT64] * 4], linkage="internal"))
    block, row, row_end, column, column_end = b.arguments

    def field(name: str) -> Value:
        return _PRODUCT.load(b, block, name)

    first = Matrix(field("first"), field("first_down"), field("first_along"))
    second = Matrix(field("second"), field("second_down"), field("second_along"))
    c_down, one = field("c_down"), b.constant(INT64, 1)
    start = Matrix(field("c"), c_down, one).at(b, row, column, type)
    zero = b.constant(INT64, 0)
    arguments = [
        row_end - row,
        column_end - column,
        field("k"),
        first.at(b, row, zero, type),
        *first.parts[1:],
        second.at(b, zero, column, type),
        *second.parts[1:],
        start,
        c_down,
        field("alpha"),
    ]
    call_product(b, type, field("adds"), arguments)
    b.ret()


def _edge(b: Builder, number: Value, parts: Value, length: Value, unit: int) -> Value:
    """Return where a part begins: a multiple of a unit, but for the end of the last one."""
    share = b.binary("sdiv", length * number, parts)
    rounded = b.binary("sdiv", share + unit // 2, b.value(INT64, unit)) * unit
    return b.select(b.eq(number, parts), length, rounded)


def _write_kernel(module: Module, type: MachineType) -> None:
    """``cells(product, begin, end)``: the parts of a range."""
    cell, name, _ = _names(type)
    b = Builder(module.function(name, VOID, [PTR, INT64, INT64], linkage="internal"))
    block, begin, end = b.arguments
    m, n = _PRODUCT.load(b, block, "m"), _PRODUCT.load(b, block, "n")
    down, across = _PRODUCT.load(b, block, "down"), _PRODUCT.load(b, block, "across")
    # A thread computes all of its strips in one call.
    step = b.select(b.eq(_PRODUCT.load(b, block, "merges"), 0), b.constant(INT64, 1), end - begin)
    with loop(b, begin, end, step) as each:
        row = b.binary("sdiv", each.index, across)
        column = each.index - row * across
        # Several parts at once are whole rows.
        next_row = row + b.maximum_number(b.binary("sdiv", step, across), 1)
        rows = [_edge(b, number, down, m, ROWS) for number in (row, next_row)]
        columns = [_edge(b, number, across, n, STRIP_COLUMNS) for number in (column, column + 1)]
        b.call(cell, VOID, [block, *rows, *columns])
    b.ret()


def _write_stack_kernel(module: Module, type: MachineType) -> None:
    """``stack(product, begin, end)``: whole products of a stack."""
    _, _, name = _names(type)
    b = Builder(module.function(name, VOID, [PTR, INT64, INT64], linkage="internal"))
    block, begin, end = b.arguments

    def field(name: str) -> Value:
        return _PRODUCT.load(b, block, name)

    lengths = [field(name) for name in ("m", "n", "k")]
    others = {name: [field(f"{name}_down"), field(f"{name}_along")] for name in ("first", "second")}
    with loop(b, begin, end) as each:
        first, second, c = (
            b.offset(field(name), each.index * field(f"{name}_move"), type)
            for name in ("first", "second", "c")
        )
        arguments = [*lengths, first, *others["first"], second, *others["second"], c]
        call_product(b, type, field("adds"), [*arguments, field("c_down"), field("alpha")])
    b.ret()


def _write_shared(b: Builder, type: MachineType) -> None:
    _, kernel, stack = _names(type)
    m, n, k = b.arguments[3:6]
    count, *moves = b.arguments[16:]
    work = m * n * k
    block = b.slot(INT64, _PRODUCT.size // 8)
    values = dict(zip(_PRODUCT.fields, [*b.arguments[3:16]], strict=False))
    names = ("first_move", "second_move", "c_move")
    values |= dict(zip(names, moves, strict=True))
    for name, value in values.items():
        _PRODUCT.store(b, block, name, value)
    threads, runtime = threads_of_blas(b), runtime_of(b)
    zero = b.constant(INT64, 0)
    ours, theirs, stacked, singly, end = (
        b.new_block(name) for name in ("ours", "theirs", "stacked", "singly", "end")
    )
    b.branch(_is_cut(b, threads, m | k), ours, theirs)
    b.begin(theirs)
    call_pointer(b, Value(b, PTR, f"@{stack}"), VOID, [block, zero, count])
    b.ret(b.constant(INT32, 0))

    b.begin(ours)
    begin_alone(b, threads)
    is_stack = b.lt(1, count) & b.lt(work, 2 * _least_work(type))
    b.branch(is_stack, stacked, singly)

    b.begin(stacked)
    share = b.binary("sdiv", b.constant(INT64, BATCH_WORK), b.maximum_number(work, 1))
    run_ranges(b, stack, runtime, block, count, zero - b.maximum_number(share, 1))
    b.jump(end)

    b.begin(singly)
    is_column = b.eq(n, 1)
    is_vector = is_column | b.eq(m, 1)
    down, across, grain, merges, inner = _cut(b, type, m, n, k, work)
    for name, value in (("down", down), ("across", across), ("merges", merges)):
        _PRODUCT.store(b, block, name, value)
    with loop(b, 0, count) as each, when(b, runtime.is_going(b)):
        for at, name in ((6, "first"), (9, "second"), (12, "c")):
            move = values[f"{name}_move"]
            _PRODUCT.store(b, block, name, b.offset(b.arguments[at], each.index * move, type))
        with either(b, is_vector) as (if_vector, if_matrix):
            with if_vector:
                b.store(_vector_of_product(b, type, block, is_column), runtime.status)
            with if_matrix:
                for name, value in (("k", k), ("adds", values["adds"])):
                    _PRODUCT.store(b, block, name, value)
                _run_pieces(b, type, (kernel, runtime, block, down * across, grain), k, inner)
        with when(b, each.index + 1 < count):
            runtime.look(b)
    b.jump(end)

    b.begin(end)
    end_alone(b, threads)
    b.ret(b.load(INT32, runtime.status))


def _run_pieces(b: Builder, type: MachineType, run: tuple[Any, ...], k: Value, most: Value) -> None:
    """Compute a product; a long inner axis is processed in pieces, in order."""
    kernel, runtime, block, count, grain = run
    with either(b, b.le(k, most)) as (if_short, if_long):
        with if_short:
            run_ranges(b, kernel, runtime, block, count, grain)
        with if_long:
            starts = {name: _PRODUCT.load(b, block, name) for name in ("first", "second")}
            steps = [_PRODUCT.load(b, block, name) for name in ("first_along", "second_down")]
            with loop(b, 0, k, most, runs=True) as piece, when(b, runtime.is_going(b)):
                for (name, start), step in zip(starts.items(), steps, strict=True):
                    _PRODUCT.store(b, block, name, b.offset(start, piece.index * step, type))
                _PRODUCT.store(b, block, "k", b.minimum_number(k - piece.index, most))
                run_ranges(b, kernel, runtime, block, count, grain)
                _PRODUCT.store(b, block, "adds", b.constant(INT64, 1))
                with when(b, piece.index + most < k):
                    runtime.look(b)


def _least_work(type: MachineType) -> int:
    """Return the number of multiplications that take as long as those of a part of float64."""
    of_type = {"float32": 2.0, "float64": 1.0, "complex64": 0.5, "complex128": 0.25}[type.name]
    return int(PRODUCT_PART_WORK * of_type)


def _cut(
    b: Builder, type: MachineType, m: Value, n: Value, k: Value, work: Value
) -> tuple[Value, Value, Value, Value, Value]:
    """Return how a product is divided.

    The number of parts along rows and columns, how many are computed between two signal checks (a
    grain), whether adjacent parts are one call, and the longest piece of the inner axis.
    """
    one, zero = b.constant(INT64, 1), b.constant(INT64, 0)
    least = _least_work(type)
    most = b.minimum_number(_quotient(b, work, least), MOST_PRODUCT_PARTS)
    # Matrices with too few rows for two good strips are divided in two nevertheless.
    by_rows = b.maximum_number(
        _quotient(b, m, LEAST_STRIP_ROWS), b.minimum_number(_quotient(b, m, ROWS), 2)
    )
    strips = _power_of_two(b, b.minimum_number(most, by_rows))
    by_columns = _quotient(b, n, LEAST_STRIP_COLUMNS)
    few_rows = m < 2 * ROWS
    columns = _power_of_two(b, b.minimum_number(most, by_columns))
    columns = b.select(few_rows, columns, one)

    elements = m * n
    is_tiled = b.lt(BLAS_TILE_WORK * least // PRODUCT_PART_WORK, work) & b.lt(
        BLAS_TILED_ELEMENTS, elements
    )
    longest = PRODUCT_CALL_INNER * least // PRODUCT_PART_WORK
    length = b.maximum_number(b.minimum_number(k, longest), 1)
    tile = BLAS_TILE_WORK // 2 if type.name == "complex128" else BLAS_TILE_WORK
    width = b.maximum_number(b.minimum_number(n, BLAS_TILE_COLUMNS), 1)
    rows = _tile_length(b, tile, length * width, width, LEAST_STRIP_ROWS, BLAS_TILE_ROWS)
    height = b.maximum_number(b.minimum_number(m, rows), 1)
    width = _tile_length(b, tile, length * height, height, STRIP_COLUMNS, BLAS_TILE_COLUMNS)
    down = b.select(is_tiled, b.maximum_number(b.binary("sdiv", m, rows), 1), strips)
    across = b.select(is_tiled, b.maximum_number(b.binary("sdiv", n, width), 1), columns)
    is_strips = ~(is_tiled | few_rows)

    # A few thick strips are best: a thread may compute all of them in one call.
    some = b.binary("sdiv", STRIPS_CALL_ELEMENTS * down, b.maximum_number(elements, 1))
    some = b.select(
        b.lt(2 * STRIPS_CALL_ELEMENTS, elements), zero - b.maximum_number(some, 1), zero
    )
    grain = b.select(is_strips, some, zero - 1)
    part = divide_up(b, m, down) * divide_up(b, n, across)
    largest = b.maximum_number(b.select(is_strips, elements, part), 1)
    inner = b.binary(
        "sdiv", b.constant(INT64, PRODUCT_CALL_WORK * least // PRODUCT_PART_WORK), largest
    )
    inner = b.maximum_number(b.minimum_number(inner, longest), 1)
    pieces = b.maximum_number(divide_up(b, k, inner), 1)
    inner = divide_up(b, b.maximum_number(divide_up(b, k, pieces), 1), INNER_UNIT) * INNER_UNIT
    return down, across, grain, b.select(is_strips, one, zero), inner


def _quotient(b: Builder, x: Value, divisor: int) -> Value:
    return b.binary("sdiv", x, b.constant(INT64, divisor))


def _tile_length(b: Builder, tile: int, work: Value, other: Value, least: int, most: int) -> Value:
    """Return how long a tile is, by its work for each unit of it and its other length.

    Thin tiles are longer, so that each is worth a call.
    """
    length = b.binary("sdiv", b.constant(INT64, tile), work)
    longest = b.binary("sdiv", b.constant(INT64, BLAS_TILE_ROWS * BLAS_TILE_COLUMNS), other)
    return b.minimum_number(b.maximum_number(length, least), b.maximum_number(longest, most))


def _power_of_two(b: Builder, x: Value) -> Value:
    """Return the largest power of two up to a number; 1 for less: it is shared evenly."""
    x = b.maximum_number(x, 1)
    zeros = b.write(INT64, f"call i64 @llvm.ctlz.i64({x.typed}, i1 true)")
    b.module.declare("llvm.ctlz.i64", "i64 @llvm.ctlz.i64(i64, i1)")
    return b.binary("shl", b.constant(INT64, 1), 63 - zeros)


# ---- vectors -----------------------------------------------------------------------------------

_VECTOR = Record.packed(
    rows=INT64,
    columns=INT64,
    matrix=PTR,
    matrix_down=INT64,
    matrix_along=INT64,
    x=PTR,
    x_step=INT64,
    y=PTR,
    y_step=INT64,
    alpha=PTR,
    adds=INT64,
    parts=INT64,
)


def _vector_of_product(b: Builder, type: MachineType, block: Value, is_column: Value) -> Value:
    """Write a product of which one matrix is a vector, in parts; return the status.

    A row times a matrix is the matrix, transposed, times a column.
    """

    def field(name: str) -> Value:
        return _PRODUCT.load(b, block, name)

    def choose(x: Value, y: Value) -> Value:
        return b.select(is_column, x, y)

    one = b.constant(INT64, 1)
    rows = choose(field("m"), field("n"))
    arguments = [
        rows,
        field("k"),
        choose(field("first"), field("second")),
        choose(field("first_down"), field("second_along")),
        choose(field("first_along"), field("second_down")),
        choose(field("second"), field("first")),
        choose(field("second_down"), field("first_along")),
        field("c"),
        choose(field("c_down"), one),
        field("alpha"),
        field("adds"),
    ]
    return b.call(_vector_routine(b.module, type), INT32, [*b.arguments[:3], *arguments])


_VECTOR_PARAMETERS = [
    *[PTR, PTR, PTR, INT64, INT64],
    *[PTR, INT64, INT64, PTR, INT64, PTR, INT64, PTR, INT64],
]


@outlined_function("vector_parts")
def write_vector_parts(module: Module, key: OutlinedSymbol) -> None:
    """Write the function that shares a product of a matrix and a vector into a module."""
    b = Builder(module.function(key.symbol, INT32, _VECTOR_PARAMETERS))
    b.ret(b.call(_vector_routine(module, type_of(key.dtype)), INT32, b.arguments))


def _vector_routine(module: Module, type: MachineType) -> str:
    """Return the function of a module that shares a product of a matrix and a vector."""
    name, kernel = f"vector.{type.name}", f"rows.{type.name}"
    if all(function.name != name for function in module.functions):
        _write_vector_kernel(module, type, kernel)
        _write_vector(module, type, name, kernel)
    return name


def _write_vector(module: Module, type: MachineType, name: str, kernel: str) -> None:
    b = Builder(module.function(name, INT32, _VECTOR_PARAMETERS, linkage="internal"))
    rows, columns = b.arguments[3:5]
    threads, runtime = threads_of_blas(b), runtime_of(b)
    block = b.slot(INT64, _VECTOR.size // 8)
    given = dict(zip(_VECTOR.fields, b.arguments[3:], strict=False))
    for field, value in given.items():
        _VECTOR.store(b, block, field, value)
    elements, most = (
        size * 8 // type.itemsize for size in (VECTOR_PART_ELEMENTS, VECTOR_CALL_ELEMENTS)
    )
    # Rows may be long, too.
    low = b.maximum_number(b.minimum_number(rows, STRIP_COLUMNS), 1)
    inner = b.binary("sdiv", b.constant(INT64, 2 * most), low)
    length = b.maximum_number(b.minimum_number(columns, inner), 1)
    height = divide_up(b, b.constant(INT64, elements), length)
    height = divide_up(b, height, STRIP_COLUMNS) * STRIP_COLUMNS
    parts = b.maximum_number(b.binary("sdiv", rows, height), 1)
    parts = b.select(_is_cut(b, threads, rows), parts, 1)
    _VECTOR.store(b, block, "parts", parts)
    share = b.binary("sdiv", b.constant(INT64, most), height * length)
    grain = b.constant(INT64, 0) - b.maximum_number(share, 1)
    begin_alone(b, threads)
    with (
        loop(b, 0, b.maximum_number(columns, 1), inner, runs=True) as piece,
        when(b, runtime.is_going(b)),
    ):
        for field in ("matrix", "x"):
            start = given[field]
            step = given["matrix_along" if field == "matrix" else "x_step"]
            _VECTOR.store(b, block, field, b.offset(start, piece.index * step, type))
        _VECTOR.store(b, block, "columns", b.minimum_number(columns - piece.index, inner))
        run_ranges(b, kernel, runtime, block, parts, grain)
        _VECTOR.store(b, block, "adds", b.constant(INT64, 1))
        with when(b, piece.index + inner < columns):
            runtime.look(b)
    end_alone(b, threads)
    b.ret(b.load(INT32, runtime.status))


def _write_vector_kernel(module: Module, type: MachineType, name: str) -> None:
    """``rows(product, begin, end)``: each part by a call of its own."""
    b = Builder(module.function(name, VOID, [PTR, INT64, INT64], linkage="internal"))
    block, begin, end = b.arguments
    routines = Routines(b, type)

    def field(name: str) -> Value:
        return _VECTOR.load(b, block, name)

    rows, parts = field("rows"), field("parts")
    matrix = Matrix(field("matrix"), field("matrix_down"), field("matrix_along"))
    y_step = field("y_step")
    with loop(b, begin, end) as each:
        row, next_row = (
            _edge(b, number, parts, rows, STRIP_COLUMNS) for number in (each.index, each.index + 1)
        )
        start = matrix.at(b, row, b.constant(INT64, 0), type)
        y = b.offset(field("y"), row * y_step, type)
        with when(b, b.eq(field("adds"), 0)):
            routines.clear(y, y_step, next_row - row)
        routines.matrix_vector(
            (Matrix(start, matrix.down, matrix.along), next_row - row, field("columns")),
            (field("x"), field("x_step")),
            (y, y_step),
            field("alpha"),
            1,
        )
    b.ret()
