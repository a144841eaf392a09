"""Random expressions of sparse matrices, which are made of dense ones and end as such.

Which elements are stored depends on the numbers, so that patterns, their unions and products differ
from call to call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.fuzz.drawing import Text
from tools.fuzz.rules import RULES

if TYPE_CHECKING:
    from tools.fuzz.drawing import Drawing

__all__ = ["SPARSE_RULES"]

_LARGEST = 33

_ONE = (
    "{a}.toarray()",
    "{a}.T.toarray()",
    "(-{a}).toarray()",
    "abs({a}).toarray()",
    "{a}.sum({axis})",
    "{a}.max({axis})",
    "{a}.min({axis})",
    "{a}.count_nonzero({axis})",
    "{a}.nnz",
    "{a}.diagonal()",
    "{a}.trace()",
    "({a} @ {a}.T).toarray()",
    "({a}.T @ {a}).toarray()",
    "{a} @ {0}.T",
    "{0}.T @ {a}",
    "{a}.T @ ({a} @ {0}[0])",
    "{0}[:, 0] @ {a}",
    "({a} + {0}.sum())",
    "({a} * {0}[0]).toarray()",
    "({a} * {0}[:, :1]).toarray()",
    "{a}[1:, ::-1].toarray()",
    "{a}[{rows}].toarray()",
    "{a}[:, {columns}].sum(1)",
    "{a}[{rows}, {columns}]",
    "sparse.row_scale({a}, {0}[:, 0]).toarray()",
    "sparse.col_scale({a}, {0}[0]).toarray()",
    "sparse.cast({a}, {dtype!r}).sum(0)",
    "sparse.cast({a}, {dtype!r}).toarray()",
    "sparse.remove0({a} - {a}).toarray()",
    "sparse.structured({a}, pt.cos).toarray()",
    "({a} > {0}).sum(0)",
    "({a} <= {a}.T.T).toarray()",
    "sparse.sampling_dot({0}, pt.ones(({0}.shape[1], {0}.shape[1]), {0}.dtype), {a}).toarray()",
)
"""Functions of one matrix."""

_TWO = (
    "({a} + {b}).toarray()",
    "({a} - {b}).sum(1)",
    "({a} * {b}).toarray()",
    "({a} @ {b}.T).toarray()",
    "({a}.T @ {b}).toarray()",
    "({a} > {b}).toarray()",
    "sparse.neq({a}, {b}).sum(0)",
    "{a}.maximum({b}).toarray()",
    "{a}.minimum({b}).sum(1)",
    "sparse.vstack([{a}, {b}]).toarray()",
    "sparse.hstack([{a}, {b}]).sum(1)",
    "sparse.block_diag({a}, {b}).sum(0)",
    "({a} + {b}) @ {0}[0]",
    "sparse.usmm(2, {a}, {b}.T, {0}[:1, :1])",
)
"""Functions of two matrices of one shape."""

_SLOPES = (
    "gradient.grad(({a} @ {0}.T).sum(), {0})",
    "gradient.grad(pt.sqr({a}.sum(0)).sum(), {0})",
    "gradient.grad(({a} * {b}).sum() + {a}.max(1).sum(), {0})",
    "gradient.grad(({a} @ ({b}.T @ {0}[:, 0])).sum(), {0})",
    "gradient.grad(pt.sqr(({a} @ {b}.T).toarray()).sum(), {0})",
    "gradient.grad((sparse.cast({a}, 'int8') * {b}).sum(), {0})",
)
"""Gradients; only real numbers have them."""

_MADE = (
    "sparse.csr_from_dense(pt.switch(pt.cos(3 * {x}) > 0, {x}, pt.zeros_like({x})))",
    "sparse.csc_from_dense(pt.switch(pt.cos(5 * {x}) > 0, {x}, pt.zeros_like({x})))",
    "sparse.csr_from_dense({x})",
)


def sparse_line(drawing: Drawing) -> Text | None:
    """A function of one or two sparse matrices."""
    x = drawing.pick(lambda one: one.ndim == 2 and max(one.shape) <= _LARGEST)
    if x is None:
        return None
    others = [
        one
        for one in drawing.pool
        if one.ndim == 2 and one.shape == x.shape and one.value.dtype == x.value.dtype
    ]
    y = drawing.choose(others)
    patterns = _ONE + _TWO + (_SLOPES if x.value.dtype.name in {"float32", "float64"} else ())
    text = drawing.choose(patterns)
    for name, at in (("{a}", "{0}"), ("{b}", "{1}")):
        text = text.replace(name, drawing.choose(_MADE).replace("{x}", at))
    rows, columns = (
        [drawing.integer(0, max(0, size - 1)) for _ in range(3)] if size else [] for size in x.shape
    )
    text = text.replace("{rows}", f"pt.constant({rows}, dtype='int64')")
    text = text.replace("{columns}", f"pt.constant({columns}, dtype='int64')")
    text = text.replace("{axis}", drawing.choose(("", "0", "1", "-1")))
    text = text.replace("{dtype!r}", repr(drawing.choose(("float32", "float64", "int8", "bool"))))
    return Text(text, (x, y))


SPARSE_RULES = ((120.0, sparse_line), *RULES)
"""Those of all families, and of sparse matrices."""
