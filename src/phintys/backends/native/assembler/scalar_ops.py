"""Code for the scalar ops of the graph."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base import index
from phintys._base.errors import DtypeError
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.casting import cast
from phintys.backends.native.assembler.operations import FOLDED, emit, supports
from phintys.backends.native.assembler.types import MachineType, type_of
from phintys.backends.native.assembler.values import Complex, Value
from phintys.graph.rules import OpRules
from phintys.scalar.expansion import expanded
from phintys.scalar.row import Row
from phintys.scalar.table import SCALAR_OPS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.scalar.formula import Formula
    from phintys.scalar.op import ScalarOp

CODE: OpRules[Callable[[Builder, Any, Sequence[Any]], Value]] = OpRules(
    "native code of scalar ops", index.SCALAR_CODE
)
"""``(b, op, values)`` writes a scalar op of a class; other ops have code by their names."""


def can_emit(op: ScalarOp, dtypes: Sequence[Any]) -> bool:
    """Return whether there is native code for a scalar op: of its own, or of its expansion.

    Parameters
    ----------
    op
        The op. Only those of the table have code of their own: a user's op of the same name is
        another one.
    dtypes
        Dtypes of its inputs.

    Examples
    --------
    >>> import phintys.scalar as ps
    >>> can_emit(ps.exp, ["float32"]), can_emit(ps.polygamma, ["int64", "float64"])
    (True, False)
    >>> can_emit(ps.sinc, ["complex64"])
    True
    """
    return isinstance(op, Row) and _has_code(op, tuple(dtypes))


@cache
def _has_code(row: Row, dtypes: tuple[Any, ...]) -> bool:
    try:
        (out,) = row.resolve_dtypes(dtypes)
    except DtypeError:
        return False
    if _has_own_code(row, dtypes, out) or CODE.find(type(row)) is not None:
        return True
    if row.expansion is None:
        return False
    formula = expanded(row, dtypes).formula
    return all(
        can_emit(step.op, [formula.types[arg].numpy_dtype for arg in step.args])
        for step in formula.steps
    )


def _has_own_code(row: Row, dtypes: Sequence[Any], out: Any) -> bool:
    return SCALAR_OPS.get(row.name) is row and supports(row.name, dtypes, out)


def is_folded(op: ScalarOp) -> bool:
    """Return whether an op of many operands is that of the first two, then of that and the third.

    Examples
    --------
    >>> import phintys.scalar as ps
    >>> is_folded(ps.add), is_folded(ps.clip)
    (True, False)
    """
    return op.name in FOLDED and SCALAR_OPS.get(op.name) is op


def emit_scalar_op(
    b: Builder, op: ScalarOp, values: Sequence[Value | Complex], dtype: np.dtype[Any]
) -> Value | Complex:
    """Write a scalar op on values of the dtypes of its inputs; the result has the given dtype."""
    assert op.name is not None
    if SCALAR_OPS.get(op.name) is not op:
        code = CODE.find(type(op))
        if code is not None:
            return code(b, op, values)
    if isinstance(op, Row) and op.expansion is not None:
        dtypes = [value.type.name for value in values]
        if not _has_own_code(op, dtypes, dtype):
            (result,) = emit_formula(b, expanded(op, dtypes).formula, values)
            return cast(b, result, type_of(dtype, result.type.lanes))
    return emit(b, op.name, values, dtype)


def emit_formula(
    b: Builder, formula: Formula, values: Sequence[Value | Complex]
) -> list[Value | Complex]:
    """Write the steps of a formula, and return its results."""
    lanes = values[0].type.lanes
    types = [type_of(type.numpy_dtype, lanes) for type in formula.types]
    computed = [cast(b, value, type) for value, type in zip(values, types, strict=False)]
    for constant in formula.constants:
        computed.append(emit_literal(b, constant.data, types[len(computed)]))
    for step in formula.steps:
        (type,) = step.types
        arguments = [computed[arg] for arg in step.args]
        computed.append(emit_scalar_op(b, step.op, arguments, type.numpy_dtype))
    return [computed[result] for result in formula.results]


def emit_literal(b: Builder, value: Any, type: MachineType) -> Value | Complex:
    """Write a number of any dtype, the same in all lanes."""
    if type.kind == "c":
        return Complex(b.constant(type.part, value.real), b.constant(type.part, value.imag))
    return b.constant(type, value.item() if isinstance(value, np.generic) else value)
