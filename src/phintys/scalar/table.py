"""All scalar ops by name, and those that operators and derivative rules use."""

from __future__ import annotations

from phintys.scalar import (
    arithmetic,
    casting,
    comparison,
    complex_parts,
    exponential,
    logic,
    rounding,
    selection,
    special,
    trigonometric,
)
from phintys.scalar.operators import OPERATORS
from phintys.scalar.row import Row

__all__ = ["SCALAR_OPS"]

FAMILIES = (
    arithmetic,
    comparison,
    logic,
    rounding,
    exponential,
    trigonometric,
    special,
    complex_parts,
    selection,
)


SCALAR_OPS: dict[str, Row] = {
    name: row
    for family in FAMILIES
    for name in family.__all__
    if isinstance(row := getattr(family, name), Row)
} | {row.name: row for row in casting.CASTS.values()}
"""Every row, by its name."""


OPERATORS.fill(
    add=arithmetic.add,
    sub=arithmetic.sub,
    mul=arithmetic.mul,
    true_div=arithmetic.true_div,
    int_div=arithmetic.int_div,
    mod=arithmetic.mod,
    pow=arithmetic.pow,
    neg=arithmetic.neg,
    pos=arithmetic.pos,
    abs=arithmetic.abs,
    lt=comparison.lt,
    le=comparison.le,
    gt=comparison.gt,
    ge=comparison.ge,
    eq=comparison.eq,
    ne=comparison.ne,
    and_=logic.and_,
    or_=logic.or_,
    xor=logic.xor,
    invert=logic.invert,
    left_shift=logic.left_shift,
    right_shift=logic.right_shift,
    ceil=rounding.ceil,
    floor=rounding.floor,
    trunc=rounding.trunc,
    round=rounding.rint,
    exp=exponential.exp,
    log=exponential.log,
    log1p=exponential.log1p,
    sqrt=exponential.sqrt,
    real=complex_parts.real,
    imag=complex_parts.imag,
    conj=complex_parts.conj,
    complex=complex_parts.complex,
    switch=selection.switch,
    second=selection.second,
    cast=casting.cast,
)
