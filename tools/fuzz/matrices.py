"""Random expressions of linear algebra: decompositions and solvers of matrices that have results.

Matrices are made well conditioned where they are used, such that results agree to many digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tools.fuzz.drawing import Text
from tools.fuzz.rules import RULES

if TYPE_CHECKING:
    from tools.fuzz.drawing import Drawing, Entry

__all__ = ["MATRIX_RULES"]

_DEFINITE = (
    "pt.linalg.cholesky({a})",
    "pt.linalg.cholesky({a}, lower=False)",
    "pt.linalg.inv({a})",
    "pt.linalg.slogdet({a})[1]",
    "pt.log(pt.linalg.det({a}))",
    "pt.linalg.eigvalsh({a})",
    "pt.linalg.solve({a}, {0})",
    "pt.linalg.solve({a}, {0}, assume_a='pos')",
    "pt.linalg.inv({a}) @ {0}",
    "pt.linalg.solve_triangular(pt.linalg.cholesky({a}), {0}, lower=True)",
    "pt.linalg.cho_solve(pt.linalg.cho_factor({a}), {0})",
    "pt.linalg.solve(pt.tril({a}), {0})",
    "pt.linalg.solve({a}, {0}, assume_a='tridiagonal')",
    "pt.linalg.trace({a} @ {a})",
    "pt.linalg.det(pt.linalg.cholesky({a}))",
    "pt.linalg.sqrtm({a})",
    "pt.linalg.svdvals({a})",
    "(lambda q, r: q @ r)(*pt.linalg.qr({0}))",
    "pt.linalg.pinv({a})",
    "pt.linalg.inv(pt.linalg.block_diag({a}, {a}))",
    "pt.linalg.slogdet(pt.linalg.block_diag({a}, 2 * {a}))[1]",
    "{0}.mT @ {0}",
    "pt.linalg.expm(2 - {a})",
    "pt.linalg.expm(pt.tril({a}))",
    "(lambda t, z: z @ t @ z.mT)(*pt.linalg.schur(pt.tril({a})))",
    "(lambda s, t, q, z: q @ (s + t) @ z.mT)(*pt.linalg.qz({a}, pt.triu({a})))",
    "pt.linalg.solve_sylvester({a}, pt.tril({a}), {a})",
    "pt.linalg.solve_continuous_lyapunov(pt.tril({a}), {a})",
    "pt.linalg.solve_discrete_lyapunov({a} / 9, {a})",
    "abs(pt.linalg.eigvals({a}) - 9).sum(axis=-1)",
    "pt.einsum('...ij,...jk,...lk->...il', {a}, {0}, {0})",
)

# The signs of its columns jump where numbers below the diagonal are exactly 0.
_ROTATION = (
    "(lambda q, r: q * pt.sign(pt.diagonal(r, axis1=-2, axis2=-1))[..., None, :])"
    "(*pt.linalg.qr({a}))"
)

_REPEATED = (
    "pt.linalg.pinv({q})",
    "pt.linalg.pinv({q}[..., :1], 1e-6)",
    "pt.linalg.pinv({q} @ {q}.mT, hermitian=True)",
    "pt.linalg.pinv(pt.eye(3)[[0, 0, 1, 1, 2, 2]] / (2 + pt.cos({q}[..., :1, :1])))",
    "pt.linalg.lstsq({q}, {0}, b_ndim=2).x",
    "pt.linalg.lstsq({q} * 3, {0}, 1e-6, b_ndim=2).x",
)
"""Functions of rotations and designs, whose singular values are equal."""

_LARGEST = 20


def _is_fit(one: Entry) -> bool:
    if one.ndim not in {2, 3} or one.value.dtype.name not in {"float32", "float64"}:
        return False
    rows, columns = one.shape[-2:]
    if not (1 <= rows <= _LARGEST and 1 <= columns <= _LARGEST):
        return False
    return bool(np.isfinite(one.value).all() and np.abs(one.value).max(initial=0) < 1e3)


def made(drawing: Drawing) -> Text | None:
    """A matrix, or a stack of three, of the elements of another array."""
    entry = drawing.pick(
        lambda one: (
            one.value.dtype.name in {"float32", "float64"}
            and one.value.size > 0
            and bool(np.isfinite(one.value).all())
        )
    )
    if entry is None:
        return None
    rows = drawing.integer(1, _LARGEST)
    text = f"pt.outer(pt.tanh({{0}}).flatten(), pt.cos({{0}}).flatten())[:{rows}, :{rows}]"
    if drawing.chance(0.6):
        text += " * pt.arange(1, 4, dtype={0}.dtype)[:, None, None]"
    return Text(text, (entry,))


def definite(drawing: Drawing) -> Text | None:
    """A function of a positive definite matrix, or of a stack of them."""
    entry = drawing.pick(_is_fit)
    if entry is None:
        return None
    size = "pt.sqr({0}).sum(axis=(-2, -1), keepdims=True)"
    a = f"({{0}} @ {{0}}.mT / (1 + {size}) + pt.eye({entry.shape[-2]}, dtype={{0}}.dtype))"
    if drawing.chance(0.15):
        return Text(drawing.choose(_REPEATED).replace("{q}", _ROTATION).replace("{a}", a), (entry,))
    return Text(drawing.choose(_DEFINITE).replace("{a}", a), (entry,))


MATRIX_RULES = ((80.0, definite), (30.0, made), *RULES)
"""Those of all families, and of matrices."""
