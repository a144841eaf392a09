"""Calls of scalar functions for the lanes that need them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import computed_if, each_lane, loop, when
from phintys.backends.native.assembler.externals import EXTERNALS
from phintys.backends.native.assembler.types import INT32, INT64, type_of
from phintys.backends.native.assembler.values import Value


def _call(b: Builder, symbol: str, *scalars: Value) -> Value:
    external = EXTERNALS[symbol]
    b.module.externals.add(symbol)
    operands = list(scalars)
    if external.integer_after:
        operands.append(b.constant(INT32, 0))
    return b.call(symbol, type_of(external.dtype), operands)


def call_external(b: Builder, symbol: str, *values: Value) -> Value:
    """Call an external function for each lane.

    Parameters
    ----------
    b
        The builder.
    symbol
        One of :data:`~phintys.backends.native.assembler.externals.EXTERNALS`.
    values
        Its inputs. float32 values go through a function of float64 if it takes those.
    """
    type = values[0].type
    computed = type_of(EXTERNALS[symbol].dtype, type.lanes)
    inputs = [b.convert(value, computed) for value in values]
    result = each_lane(b, computed, lambda *scalars: _call(b, symbol, *scalars), *inputs)
    return b.convert(result, type)


def computed_where(b: Builder, where: Value, compute: Callable[[], Value]) -> Value:
    """Return the result of ``compute``, or zeros if it is needed in no lane.

    Parameters
    ----------
    b
        The builder; it writes a branch.
    where
        The mask of lanes that need the result.
    compute
        Writes the code for all lanes.
    """
    is_needed = where if where.type.lanes == 1 else b.any(where)
    (found,) = computed_if(b, is_needed, lambda: [compute()], [0.0])
    return found


def redo_lanes(
    b: Builder, result: Value, where: Value, symbol: str, values: Sequence[Value]
) -> Value:
    """Replace some lanes of a result by calls of an external function; usually none.

    Parameters
    ----------
    b
        The builder; it writes a branch that is not taken where no lane is set.
    result
        The result, right in most lanes.
    where
        The mask of lanes to recompute.
    symbol
        One of :data:`~phintys.backends.native.assembler.externals.EXTERNALS`, of the values' dtype.
    values
        Its inputs.
    """
    type = result.type
    if type.lanes == 1:
        (mended,) = computed_if(b, where, lambda: [_call(b, symbol, *values)], [result])
        return mended
    # The lanes are taken from memory one by one: a loop is little code.
    index_type = INT64.of(type.lanes) if type.bits == 64 else INT32.of(type.lanes)
    flags, *slots = (b.slot(t) for t in (index_type, type, *(type for _ in values)))
    size = type.lanes * type.itemsize

    def redo() -> list[Value]:
        b.store(b.convert(where, index_type), flags)
        for slot, value in zip(slots, (result, *values), strict=True):
            b.store(value, slot, align=size)
        scalar = type.of(1)
        with loop(b, 0, type.lanes, runs=True) as lane:
            flag = b.load(index_type.of(1), b.offset(flags, lane.index, index_type))
            with when(b, b.ne(flag, 0)):
                inputs = [b.load(scalar, b.offset(slot, lane.index, scalar)) for slot in slots[1:]]
                b.store(_call(b, symbol, *inputs), b.offset(slots[0], lane.index, scalar))
        return [b.load(type, slots[0], align=size)]

    (mended,) = computed_if(b, b.any(where), redo, [result])
    return mended
