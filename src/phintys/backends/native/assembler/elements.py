"""Reading and writing elements of arrays, as NumPy lays them out.

A bool is a byte in memory, a complex number two floats side by side. Addresses need no alignment
beyond what ``align`` promises, and masked-out lanes touch no memory.
"""

from __future__ import annotations

from phintys._base.errors import DtypeError
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.types import INT32, INT64, PTR, UINT8, VOID, MachineType
from phintys.backends.native.assembler.values import Complex, Value


def load(
    b: Builder,
    type: MachineType,
    pointer: Value,
    mask: Value | None = None,
    *,
    align: int | None = None,
) -> Value | Complex:
    """Read neighbouring elements.

    Parameters
    ----------
    b
        The builder.
    type
        Type of the elements, with as many lanes as elements are to be read.
    pointer
        Address of the first.
    mask
        Which lanes to read; the others are 0. ``None`` reads all.
    align
        What the address is a multiple of; an element's size (of a complex number: its part's) if
        not given, 1 for arrays that are not aligned.
    """
    if type.kind == "b":
        return b.ne(_load(b, UINT8.of(type.lanes), pointer, mask, 1), 0)
    if type.kind != "c":
        return _load(b, type, pointer, mask, align)
    lanes, part = type.lanes, type.part
    if lanes == 1:
        second = b.offset(pointer, 1, part)
        return Complex(_load(b, part, pointer, None, align), _load(b, part, second, None, align))
    both = _load(b, part.of(2 * lanes), pointer, _doubled(b, mask), align)
    even, odd = range(0, 2 * lanes, 2), range(1, 2 * lanes, 2)
    return Complex(b.shuffle(both, both, even), b.shuffle(both, both, odd))


def store(
    b: Builder,
    x: Value | Complex,
    pointer: Value,
    mask: Value | None = None,
    *,
    align: int | None = None,
) -> None:
    """Write neighbouring elements; parameters as for :func:`load`."""
    if isinstance(x, Complex):
        lanes = x.re.type.lanes
        if lanes == 1:
            _store(b, x.re, pointer, None, align)
            _store(b, x.im, b.offset(pointer, 1, x.im.type), None, align)
            return
        order = [part * lanes + lane for lane in range(lanes) for part in (0, 1)]
        _store(b, b.shuffle(x.re, x.im, order), pointer, _doubled(b, mask), align)
    elif x.type.kind == "b":
        _store(b, b.convert(x, UINT8.of(x.type.lanes)), pointer, mask, 1)
    else:
        _store(b, x, pointer, mask, align)


def gather(
    b: Builder,
    type: MachineType,
    pointers: Value,
    mask: Value | None = None,
    *,
    align: int | None = None,
) -> Value | Complex:
    """Read an element for each lane, from separate addresses.

    Parameters
    ----------
    b
        The builder.
    type
        Type of the elements.
    pointers
        Addresses, one per lane, computed by a single instruction ``b.offset(base, indices, type)``.
    mask, align
        As for :func:`load`.
    """
    if type.lanes == 1:
        return load(b, type, pointers, align=align)
    if type.kind == "b":
        return b.ne(_gather(b, UINT8.of(type.lanes), pointers, mask, 1), 0)
    if type.kind != "c":
        return _gather(b, type, pointers, mask, align)
    second = b.offset(pointers, b.constant(_index(type), 1), type.part)
    return Complex(
        _gather(b, type.part, pointers, mask, align), _gather(b, type.part, second, mask, align)
    )


def scatter(
    b: Builder,
    x: Value | Complex,
    pointers: Value,
    mask: Value | None = None,
    *,
    align: int | None = None,
) -> None:
    """Write an element for each lane to separate addresses; of equal ones the last lane wins."""
    if isinstance(x, Complex):
        second = b.offset(pointers, b.constant(_index(x.type), 1), x.im.type)
        scatter(b, x.re, pointers, mask, align=align)
        scatter(b, x.im, second, mask, align=align)
        return
    if x.type.lanes == 1:
        store(b, x, pointers, align=align)
        return
    if x.type.kind == "b":
        x, align = b.convert(x, UINT8.of(x.type.lanes)), 1
    align = x.type.itemsize if align is None else align
    mask = b.constant(x.type.mask, 1) if mask is None else mask
    b.call(
        f"llvm.masked.scatter.{x.type.suffix}.{pointers.type.suffix}",
        VOID,
        [x, pointers, b.constant(INT32, align), b.value(x.type.mask, mask)],
    )


def _index(type: MachineType) -> MachineType:
    return INT64.of(type.lanes)


def _load(
    b: Builder, type: MachineType, pointer: Value, mask: Value | None, align: int | None
) -> Value:
    if mask is None:
        return b.load(type, pointer, align=align)
    if type.lanes == 1:
        nothing = b.slot(type)
        b.store(b.constant(type, 0), nothing)
        return b.load(type, b.select(mask, pointer, nothing), align=align)
    align = type.itemsize if align is None else align
    rest = b.constant(_storable(type), 0)
    return b.call(
        f"llvm.masked.load.{type.suffix}.p0",
        type,
        [b.value(PTR, pointer), b.constant(INT32, align), b.value(type.mask, mask), rest],
    )


def _store(b: Builder, x: Value, pointer: Value, mask: Value | None, align: int | None) -> None:
    if mask is None:
        b.store(x, pointer, align=align)
        return
    if x.type.lanes == 1:
        b.store(x, b.select(mask, pointer, b.slot(x.type)), align=align)
        return
    align = x.type.itemsize if align is None else align
    b.call(
        f"llvm.masked.store.{_storable(x.type).suffix}.p0",
        VOID,
        [x, b.value(PTR, pointer), b.constant(INT32, align), b.value(x.type.mask, mask)],
    )


def _gather(
    b: Builder, type: MachineType, pointers: Value, mask: Value | None, align: int | None
) -> Value:
    align = type.itemsize if align is None else align
    if mask is None:
        return _lane_by_lane(b, type, pointers, align)
    return b.call(
        f"llvm.masked.gather.{type.suffix}.{pointers.type.suffix}",
        type,
        [
            b.value(PTR.of(type.lanes), pointers),
            b.constant(INT32, align),
            b.value(type.mask, mask),
            b.constant(_storable(type), 0),
        ],
    )


def _lane_by_lane(b: Builder, type: MachineType, pointers: Value, align: int) -> Value:
    """Read each lane by its own load: some CPUs take three times as long for one of all lanes."""
    found = b.constant(type, 0)
    for lane in range(type.lanes):
        element = b.load(type.of(1), b.extract(pointers, lane), align=align)
        found = b.insert(found, element, lane)
    return found


def _storable(type: MachineType) -> MachineType:
    if type.kind not in "iufh" or type.lanes == 1:
        msg = f"Masked memory is for vectors of integers and floats, got {type!r}."
        raise DtypeError(msg)
    return type


def _doubled(b: Builder, mask: Value | None) -> Value | None:
    """Return a mask of complex numbers as a mask of their parts."""
    if mask is None:
        return None
    return b.shuffle(mask, mask, [lane // 2 for lane in range(2 * mask.type.lanes)])
