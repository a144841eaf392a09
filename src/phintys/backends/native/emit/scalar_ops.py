"""Code for the scalar ops of the graph."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import DtypeError
from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.operations import emit, supports
from phintys.backends.native.emit.types import Type
from phintys.backends.native.emit.values import Complex, Value
from phintys.scalar.table import SCALAR_OPS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.scalar.op import ScalarOp

__all__ = ["can_emit", "emit_literal", "emit_scalar_op"]


def can_emit(op: ScalarOp, dtypes: Sequence[Any]) -> bool:
    """Return whether there is native code for a scalar op.

    Parameters
    ----------
    op
        The op. Only those of the table have code: a user's op of the same name is another one.
    dtypes
        Dtypes of its inputs.

    Examples
    --------
    >>> import phintys.scalar as ps
    >>> can_emit(ps.exp, ["float32"]), can_emit(ps.polygamma, ["int64", "float64"])
    (True, False)
    """
    if op.nout != 1 or op.name is None or SCALAR_OPS.get(op.name) is not op:
        return False
    return _has_code(op.name, tuple(dtypes))


@cache
def _has_code(name: str, dtypes: tuple[Any, ...]) -> bool:
    try:
        (out,) = SCALAR_OPS[name].resolve_dtypes(dtypes)
    except DtypeError:
        return False
    return supports(name, dtypes, out)


def emit_scalar_op(
    b: Builder, op: ScalarOp, values: Sequence[Value | Complex], dtype: np.dtype[Any]
) -> Value | Complex:
    """Write a scalar op on values of the dtypes of its inputs; the result has the given dtype."""
    assert op.name is not None
    return emit(b, op.name, values, dtype)


def emit_literal(b: Builder, value: Any, type: Type) -> Value | Complex:
    """Write a number of any dtype, the same in all lanes."""
    if type.kind == "c":
        return Complex(b.constant(type.part, value.real), b.constant(type.part, value.imag))
    return b.constant(type, value.item() if isinstance(value, np.generic) else value)
