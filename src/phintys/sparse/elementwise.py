"""Functions of the stored elements of sparse matrices.

Those of the first kind are 0 at 0, so that they are functions of the whole matrix. Others are
*structured*: elements that are not stored stay 0, whatever the function of 0 is.
"""

from __future__ import annotations

from typing import Any

import phintys.tensor as pt
from phintys._base.errors import TypeContractError
from phintys.sparse.operations import as_sparse_variable, is_sparse, structured
from phintys.sparse.parts import parts


def _of(function: Any, name: str, text: str) -> Any:
    def apply(x: Any) -> Any:
        return structured(x, function)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = text
    return apply


def _zero_at_zero(name: str, function: Any = None) -> Any:
    function = getattr(pt, name) if function is None else function
    return _of(function, name, f"Return ``{name}`` of the elements of a sparse matrix.")


abs = _zero_at_zero("abs")
arcsin = _zero_at_zero("arcsin")
arcsinh = _zero_at_zero("arcsinh")
arctan = _zero_at_zero("arctan")
arctanh = _zero_at_zero("arctanh")
ceil = _zero_at_zero("ceil")
conj = _zero_at_zero("conj")
deg2rad = _zero_at_zero("deg2rad")
expm1 = _zero_at_zero("expm1")
floor = _zero_at_zero("floor")
log1p = _zero_at_zero("log1p")
rad2deg = _zero_at_zero("rad2deg")
rint = _zero_at_zero("rint")
sign = _zero_at_zero("sign")
sin = _zero_at_zero("sin")
sinh = _zero_at_zero("sinh")
sqr = _zero_at_zero("sqr")
sqrt = _zero_at_zero("sqrt")
tan = _zero_at_zero("tan")
tanh = _zero_at_zero("tanh")
trunc = _zero_at_zero("trunc")

structured_exp = _of(pt.exp, "structured_exp", "Return ``exp`` of the stored elements.")
structured_log = _of(pt.log, "structured_log", "Return ``log`` of the stored elements.")
structured_sigmoid = _of(
    pt.sigmoid, "structured_sigmoid", "Return ``sigmoid`` of the stored elements."
)


def structured_pow(x: Any, y: Any) -> Any:
    """Return the stored elements to the power of a number.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys import sparse
    >>> sparse.structured_pow(scipy.sparse.csr_array([[0.0, 3.0]]), 2).sum().eval()
    array(9.)
    """
    return structured(x, lambda data: data ** _number(y))


def structured_maximum(x: Any, y: Any) -> Any:
    """Return the larger of each stored element and a number."""
    return structured(x, lambda data: pt.maximum(data, _number(y)))


def structured_minimum(x: Any, y: Any) -> Any:
    """Return the smaller of each stored element and a number."""
    return structured(x, lambda data: pt.minimum(data, _number(y)))


def structured_add(x: Any, y: Any) -> Any:
    """Return the stored elements plus a number."""
    return structured(x, lambda data: data + _number(y))


def structured_add_s_v(x: Any, y: Any) -> Any:
    """Return the stored elements plus that of a vector which belongs to their column."""
    form, y = parts(as_sparse_variable(x)), pt.as_tensor_variable(y)
    vector = pt.specify_shape(y, (form.size(1),))
    return form.with_data(form.data + vector[form.columns]).variable


def _number(y: Any) -> Any:
    if is_sparse(y) or getattr(y, "ndim", 0):
        msg = f"The second operand must be a number (0-d), got {y}."
        raise TypeContractError(msg)
    return y


def sp_ones_like(x: Any) -> Any:
    """Return ones on the pattern of a sparse matrix."""
    return structured(x, pt.ones_like)


def sp_zeros_like(x: Any) -> Any:
    """Return a matrix of the shape of another one, without entries."""
    form = parts(as_sparse_variable(x))
    return form.with_pattern(form.data[:0], form.indices[:0], pt.zeros_like(form.indptr)).variable
