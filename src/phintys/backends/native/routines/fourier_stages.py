"""Stages of Fourier transforms of several sequences at once, and the roots of unity that they use.

Numbers are in two planes, the real and the imaginary parts, in which the elements of all sequences
at one place are side by side. A stage for a factor r of the number of points reads r rows that are
far from each other and writes r neighbours, so that the last stage leaves the results in order
(Stockham's autosort: Cochran and others 1967; Temperton, Self-sorting mixed-radix fast Fourier
transforms, 1983; Van Loan, Computational Frameworks for the Fast Fourier Transform, 1992, 1.7).
Sums over odd factors use the symmetry of their roots (Singleton 1969).
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import ending_if, loop, repeated
from phintys.backends.native.assembler.math.coefficients import COS, SIN
from phintys.backends.native.assembler.math.exact import polynomial
from phintys.backends.native.assembler.types import FLOAT64, INT32, INT64, PTR, VOID, MachineType
from phintys.backends.native.assembler.values import Complex, Value
from phintys.backends.native.routines.ranges import runtime_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.backends.native.assembler.module import Module

RADICES = (4, 2, 3, 5, 7)
"""The factors for which there are stages; those before are taken out first."""


# ---- complex numbers -----------------------------------------------------------------------------


def plus(x: Complex, y: Complex) -> Complex:
    """Return the sum of two numbers."""
    return Complex(x.re + y.re, x.im + y.im)


def minus(x: Complex, y: Complex) -> Complex:
    """Return the difference of two numbers."""
    return Complex(x.re - y.re, x.im - y.im)


def times(b: Builder, x: Complex, y: Complex) -> Complex:
    """Return the product of two numbers."""
    return Complex(
        b.madd(x.re, y.re, b.neg(x.im * y.im)),
        b.madd(x.re, y.im, x.im * y.re),
    )


def _turned(b: Builder, x: Complex) -> Complex:
    """Return ``-i x``."""
    return Complex(x.im, b.neg(x.re))


def load(b: Builder, type: MachineType, planes: Complex, at: Value) -> Complex:
    """Return the numbers from a place on."""
    part = type.of(1)
    places = [b.offset(plane, at, part) for plane in planes]
    return Complex(*[b.load(type, place, align=part.itemsize) for place in places])


def store(b: Builder, x: Complex, planes: Complex, at: Value) -> None:
    """Write numbers from a place on."""
    part = x.re.type.of(1)
    for value, plane in zip(x, planes, strict=True):
        b.store(value, b.offset(plane, at, part), align=part.itemsize)


def in_lanes(b: Builder, part: MachineType, count: Value, body: Callable[..., None]) -> None:
    """Write ``body(at, lanes)`` for a count of neighbours: as many at once as a vector has."""
    lanes = b.target.lanes(part)
    whole = b.constant(INT64, 0)
    if lanes > 1:
        whole = count & -lanes
        with loop(b, 0, whole, lanes) as each:
            body(each.index, lanes)
    with loop(b, whole, count) as each:
        body(each.index, 1)


# ---- roots of unity ------------------------------------------------------------------------------


def root(b: Builder, k: Value, n: Value) -> Complex:
    """Return ``exp(-2 pi i k / n)`` of float64 integers ``0 <= k <= n``.

    Angles are reduced to an eighth of a turn in integers, so that they are rounded once.
    """
    type = k.type
    is_behind = k + k > n
    place = b.select(is_behind, n - k, k) * 8.0  # in eighths, up to 4 n
    double, four = n * 2.0, n * 4.0
    is_left = place > double
    place = b.select(is_left, four - place, place)
    is_steep = place > n
    place = b.select(is_steep, double - place, place)
    angle = place * (math.pi / 4) / n
    square = angle * angle
    sine = b.madd(angle * square, polynomial(b, square, SIN["float64"]), angle)
    rest = b.madd(square * square, polynomial(b, square, COS["float64"]), square * -0.5)
    cosine = rest + b.constant(type, 1.0)
    real = b.select(is_steep, sine, cosine)
    imaginary = b.select(is_steep, cosine, sine)
    real = b.select(is_left, b.neg(real), real)
    return Complex(real, b.select(is_behind, imaginary, b.neg(imaginary)))


def rounded(b: Builder, x: Complex, part: MachineType) -> Complex:
    """Return float64 numbers in the type of the planes."""
    type = part.of(x.re.type.lanes)
    return Complex(*[b.convert(one, type) for one in x])


def roots_symbol(part: MachineType) -> str:
    """Return the symbol of ``void (re, im, count, n)``: roots ``exp(-2 pi i k / n)``, k < count."""
    return f"fourier_roots.{part.name}"


def _write_roots(module: Module, part: MachineType) -> None:
    parameters = [PTR, PTR, INT64, INT64]
    b = Builder(module.function(roots_symbol(part), VOID, parameters, linkage="internal"))
    real, imaginary, count, n = b.arguments
    total = b.convert(n, FLOAT64)

    def write(at: Value, lanes: int) -> None:
        first = b.splat(b.convert(at, FLOAT64), lanes)
        if lanes > 1:
            first = first + b.convert(b.lane_numbers(INT64.of(lanes)), FLOAT64.of(lanes))
        found = rounded(b, root(b, first, b.splat(total, lanes)), part)
        store(b, found, Complex(real, imaginary), at)

    in_lanes(b, FLOAT64, count, write)
    b.ret()


# ---- stages --------------------------------------------------------------------------------------


def _transform(b: Builder, x: Sequence[Complex]) -> list[Complex]:
    """Return the Fourier transform of 2, 4, or a small odd count of numbers."""
    if len(x) == 2:
        return [plus(*x), minus(*x)]
    if len(x) == 4:
        even, odd = plus(x[0], x[2]), minus(x[0], x[2])
        other_even, other_odd = plus(x[1], x[3]), _turned(b, minus(x[1], x[3]))
        return [
            plus(even, other_even),
            plus(odd, other_odd),
            minus(even, other_even),
            minus(odd, other_odd),
        ]
    return _odd_transform(b, x)


def _odd_transform(b: Builder, x: Sequence[Complex]) -> list[Complex]:
    """Return the Fourier transform of an odd count of numbers.

    Numbers j and n - j have conjugate roots: their sum is multiplied by a cosine, their difference
    by a sine.
    """
    n = len(x)
    pairs = [(plus(x[j], x[n - j]), minus(x[j], x[n - j])) for j in range(1, n // 2 + 1)]
    total = x[0]
    for both, _ in pairs:
        total = plus(total, both)
    found = [total] * n
    for k in range(1, n // 2 + 1):
        even = x[0]
        odd: Complex | None = None
        for j, (both, difference) in enumerate(pairs, start=1):
            angle = 2 * math.pi * (j * k % n) / n
            cosine, sine = math.cos(angle), math.sin(angle)
            even = Complex(*[b.madd(p, cosine, e) for p, e in zip(both, even, strict=True)])
            turned = _turned(b, difference)
            if odd is None:
                odd = Complex(turned.re * sine, turned.im * sine)
            else:
                odd = Complex(*[b.madd(p, sine, o) for p, o in zip(turned, odd, strict=True)])
        assert odd is not None  # there are pairs
        found[k], found[n - k] = plus(even, odd), minus(even, odd)
    return found


def _stage_symbol(part: MachineType, radix: int) -> str:
    return f"fourier_stage_{radix}.{part.name}"


def _write_stage(module: Module, part: MachineType, radix: int) -> None:
    """Write ``void (source, target, roots, rows, side, step)``, with planes in pairs.

    ``target[(radix p + k) side + q]`` is the k-th sum of ``source[(p + rows j) side + q]`` over j,
    times the root of number ``p k step``.
    """
    parameters = [PTR] * 6 + [INT64] * 3
    symbol = _stage_symbol(part, radix)
    b = Builder(module.function(symbol, VOID, parameters, linkage="internal"))
    source, target, roots = (Complex(*b.arguments[at : at + 2]) for at in (0, 2, 4))
    rows, side, step = b.arguments[6:]
    with loop(b, 0, rows, runs=True) as row:
        p = row.index
        factors = [load(b, part, roots, p * step * k) for k in range(1, radix)]
        reads = [(p + rows * j) * side for j in range(radix)]
        writes = [(p * radix + k) * side for k in range(radix)]
        body = partial(_transform_rows, b, part, (source, target), factors, reads, writes)
        in_lanes(b, part, side, body)
    b.ret()


def _transform_rows(
    b: Builder,
    part: MachineType,
    planes: tuple[Complex, Complex],
    factors: Sequence[Complex],
    reads: Sequence[Value],
    writes: Sequence[Value],
    at: Value,
    lanes: int,
) -> None:
    """Transform the numbers at one place of some rows, and multiply all but the first result."""
    source, target = planes
    rows = [load(b, part.of(lanes), source, place + at) for place in reads]
    first, *others = _transform(b, rows)
    store(b, first, target, writes[0] + at)
    for one, factor, place in zip(others, factors, writes[1:], strict=True):
        store(b, times(b, one, _spread(b, factor, lanes)), target, place + at)


def _spread(b: Builder, x: Complex, lanes: int) -> Complex:
    """Return a number in all lanes."""
    return Complex(*[b.splat(value, lanes) for value in x])


def stages_symbol(part: MachineType) -> str:
    """Return the symbol of the function that :func:`write_stages` writes."""
    return f"fourier_stages.{part.name}"


def write_stages(module: Module, part: MachineType) -> None:
    """Write ``i32 (state, parallel_for, poll, planes, others, roots, n, side, is_other)``.

    It transforms ``side`` sequences of n numbers, which is a product of :data:`RADICES`. Results
    are in the other planes if it stores 1 at the last address, else 0. A signal ends it.
    """
    symbol = stages_symbol(part)
    if any(function.name == symbol for function in module.functions):
        return
    parameters = [PTR] * 9 + [INT64, INT64, PTR]
    b = Builder(module.function(symbol, INT32, parameters, linkage="internal"))
    runtime = runtime_of(b)
    planes, others, roots = b.arguments[3:5], b.arguments[5:7], b.arguments[7:9]
    n, side, place = b.arguments[9:]
    state = [*planes, *others, n, side, b.constant(INT64, 0)]
    for radix in RADICES:
        state = _repeated(b, part, radix, state, roots, n, runtime)
    b.store(state[-1], place)
    b.ret(b.constant(INT32, 0))
    _write_roots(module, part)
    for radix in RADICES:
        _write_stage(module, part, radix)


def _repeated(
    b: Builder,
    part: MachineType,
    radix: int,
    state: list[Value],
    roots: Sequence[Value],
    n: Value,
    runtime: Any,
) -> list[Value]:
    """Write stages while the number of points that are left is a multiple of a factor."""

    def is_multiple(*state: Value) -> Value:
        return b.eq(b.binary("srem", state[-3], radix), 0)

    def stage(*state: Value) -> list[Value]:
        *planes, left, side, is_other = state
        rows = b.binary("sdiv", left, radix)
        step = b.binary("sdiv", n, left)
        b.call(_stage_symbol(part, radix), VOID, [*planes, *roots, rows, side, step])
        runtime.look(b)
        with ending_if(b, ~runtime.is_going(b)):
            b.ret(b.load(INT32, runtime.status))
        return [*planes[2:], *planes[:2], rows, side * radix, b.sub(1, is_other)]

    return repeated(b, state, is_multiple, stage)


# ---- products with a row of numbers --------------------------------------------------------------


def products_symbol(part: MachineType) -> str:
    """Return the symbol of the function that :func:`write_products` writes."""
    return f"fourier_products.{part.name}"


def write_products(module: Module, part: MachineType) -> None:
    """Write ``void (planes, factors, n, side)``: all numbers of a row times one factor."""
    symbol = products_symbol(part)
    if any(function.name == symbol for function in module.functions):
        return
    b = Builder(module.function(symbol, VOID, [PTR] * 4 + [INT64] * 2, linkage="internal"))
    planes, factors = Complex(*b.arguments[:2]), Complex(*b.arguments[2:4])
    n, side = b.arguments[4:]
    with loop(b, 0, n) as row:
        factor = load(b, part, factors, row.index)
        start = row.index * side

        body = partial(_multiply_row, b, part, planes, factor, start)
        in_lanes(b, part, side, body)
    b.ret()


def _multiply_row(
    b: Builder,
    part: MachineType,
    planes: Complex,
    factor: Complex,
    start: Value,
    at: Value,
    lanes: int,
) -> None:
    """Multiply the numbers at one place of a row by a factor."""
    numbers = load(b, part.of(lanes), planes, start + at)
    store(b, times(b, numbers, _spread(b, factor, lanes)), planes, start + at)


def without_factor(b: Builder, x: Value, factor: int) -> Value:
    """Return a positive number, divided by a factor while it is a multiple of that."""
    (rest,) = repeated(
        b,
        [x],
        lambda x: b.eq(b.binary("srem", x, factor), 0),
        lambda x: [b.binary("sdiv", x, factor)],
    )
    return rest
