"""Expressions of random bits, in exact steps.

A sampler is written with the functions of tensors; :func:`in_exact_steps` puts those of
:mod:`~phintys.random.exact.functions` in their places. So a quantile function need not be written
twice, and the draws from it are the same bits everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from phintys import scalar as ps
from phintys.graph.traversal import io_toposort
from phintys.random.exact import functions as exact
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from phintys.graph.variable import Variable


def _logit(x: Any) -> Any:
    return ps.sub(exact.exact_log(x), exact.exact_log1p(-x))


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + exact.exact_exp(-x))


def _tan(x: Any) -> Any:
    turns = x * (1 / math.pi)
    return exact.exact_sin_pi(turns) / exact.exact_cos_pi(turns)


_EXACT = {
    ps.arcsin: exact.exact_arcsin,
    ps.cos: lambda x: exact.exact_cos_pi(x * (1 / math.pi)),
    ps.erfcinv: exact.exact_erfcinv,
    ps.erfinv: exact.exact_erfinv,
    ps.exp: exact.exact_exp,
    ps.expm1: exact.exact_expm1,
    ps.log: exact.exact_log,
    ps.log1p: exact.exact_log1p,
    ps.logit: _logit,
    ps.ndtri: exact.exact_ndtri,
    ps.pow: exact.exact_power,
    ps.sigmoid: _sigmoid,
    ps.sin: lambda x: exact.exact_sin_pi(x * (1 / math.pi)),
    ps.tan: _tan,
}


def in_exact_steps(draws: Variable, given: Sequence[Variable]) -> Any:
    """Return draws with each function in exact steps that has such a form.

    Parameters
    ----------
    draws
        An expression of random bits and parameters.
    given
        The bits and the parameters; how those are computed is left as it is.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.random.exact.expressions import in_exact_steps
    >>> u = pt.dscalar("u")
    >>> in_exact_steps(-pt.log(u), [u]).owner.inputs[0].owner.op
    Exact_log
    """
    made: dict[Variable, Any] = {variable: variable for variable in given}
    for node in io_toposort(given, [draws]):
        inputs = [made.get(variable, variable) for variable in node.inputs]
        function = _EXACT.get(node.op.scalar_op) if isinstance(node.op, Elemwise) else None
        dtypes = {one.type.dtype for one in node.outputs if isinstance(one.type, TensorType)}
        if function is not None and dtypes <= {"float32", "float64"}:
            dtype = dtypes.pop()
            made[node.outputs[0]] = function(*(ps.cast(one, dtype) for one in inputs))
        elif inputs != node.inputs:
            made.update(zip(node.outputs, node.op.make_node(*inputs).outputs, strict=True))
    return made.get(draws, draws)
