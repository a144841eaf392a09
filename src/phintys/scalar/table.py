"""All scalar ops by name, and those that operators and derivative rules use.

The rows of the families are names of this module as well, and so of :mod:`phintys.scalar`. For type
checkers, ``make stubs`` writes them into ``table.pyi``.
"""

from __future__ import annotations

from phintys.scalar import (
    arithmetic,
    casting,
    comparison,
    complex_parts,
    expansion,
    exponential,
    hypergeometric,  # noqa: F401 - defines rows
    incomplete_beta,  # noqa: F401 - defines rows
    integrals,  # noqa: F401 - defines rows
    logic,
    rounding,
    selection,
    special,  # noqa: F401 - defines rows
    statistical,  # noqa: F401 - defines rows
    trigonometric,
)
from phintys.scalar.operators import OPERATORS
from phintys.scalar.row import Row, all_rows

SCALAR_OPS: dict[str, Row] = all_rows()
"""Every row, by its name."""

_NAMED = {name: row for name, row in SCALAR_OPS.items() if not isinstance(row, casting.Cast)}
globals().update(_NAMED)

__all__ = ["SCALAR_OPS"]
__all__ += list(_NAMED)  # pyright: ignore[reportUnsupportedDunderAll] - see table.pyi

OPERATORS.fill(
    add=arithmetic.add,
    sub=arithmetic.sub,
    mul=arithmetic.mul,
    true_div=arithmetic.true_div,
    int_div=arithmetic.int_div,
    mod=arithmetic.mod,
    pow=arithmetic.pow,
    pow_less_one=arithmetic.pow_less_one,
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
    xlogy=arithmetic.xlogy,
    sqr=arithmetic.sqr,
    sqrt=exponential.sqrt,
    cbrt=exponential.cbrt,
    sigmoid=exponential.sigmoid,
    tanh=trigonometric.tanh,
    real=complex_parts.real,
    imag=complex_parts.imag,
    conj=complex_parts.conj,
    complex=complex_parts.complex,
    switch=selection.switch,
    second=selection.second,
    cast=casting.cast,
    expanded=expansion.expanded,
)
