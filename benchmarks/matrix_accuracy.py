"""Measure how accurate decompositions are, and write the chapter "Matrices" of docs/accuracy.md.

    python -m benchmarks.matrix_accuracy

Errors are those of whole results in the Frobenius norm, relative to the exact result, which mpmath
computes, in units of the machine epsilon.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np
import scipy.linalg

import phintys
import phintys.tensor as pt
from benchmarks.accuracy import DOCUMENT, MATRICES

DIGITS = 60
CONDITIONS = (1e2, 1e6, 1e10)
SIZE = 8
COUNT = 4
EPSILON = 2.0**-52

HEADER = f"""{MATRICES}

Errors of results in the Frobenius norm, relative to the exact ones, which mpmath computes, in units
of the machine epsilon (float64): the largest of {COUNT} symmetric positive definite matrices of
{SIZE} rows, by their condition number. Factors and solutions of a *stack* are computed in the lanes
of vector registers, those of a *single* matrix by LAPACK, which *SciPy* calls too, but for Cholesky
factors. LAPACK's bounds are a small multiple of the size and of the last column.

This chapter is written by `benchmarks/matrix_accuracy.py`.

| function | condition | stack | single | SciPy | bound: size times |
| --- | --- | --- | --- | --- | --- |
"""


@dataclass(frozen=True)
class Measured:
    """A function of a matrix and a vector: symbolic, by SciPy, and exact.

    ``bound`` is the factor of the condition number in the bound of LAPACK: 1, or 0 if it does not
    depend on it.
    """

    symbolic: Callable[[Any, Any], Any]
    scipy: Callable[[Any, Any], Any]
    exact: Callable[[Any, Any], Any]
    bound: int = 1


def ascending(values):
    return mp.matrix(sorted(values))


FUNCTIONS = {
    "cholesky": Measured(
        lambda a, b: pt.linalg.cholesky(a),
        lambda a, b: scipy.linalg.cholesky(a, lower=True),
        lambda a, b: mp.cholesky(a),
    ),
    "solve": Measured(
        lambda a, b: pt.linalg.solve(a, b, b_ndim=1),
        scipy.linalg.solve,
        mp.lu_solve,
    ),
    'solve, "pos"': Measured(
        lambda a, b: pt.linalg.solve(a, b, assume_a="pos", b_ndim=1),
        lambda a, b: scipy.linalg.solve(a, b, assume_a="pos"),
        mp.lu_solve,
    ),
    "inv": Measured(
        lambda a, b: pt.linalg.inv(a), lambda a, b: scipy.linalg.inv(a), lambda a, b: a**-1
    ),
    "det": Measured(
        lambda a, b: pt.linalg.det(a),
        lambda a, b: scipy.linalg.det(a),
        lambda a, b: mp.matrix([mp.det(a)]),
    ),
    "slogdet": Measured(
        lambda a, b: pt.linalg.slogdet(a)[1],
        lambda a, b: np.linalg.slogdet(a)[1],
        lambda a, b: mp.matrix([mp.log(mp.det(a))]),
    ),
    "eigvalsh": Measured(
        lambda a, b: pt.linalg.eigvalsh(a),
        lambda a, b: scipy.linalg.eigvalsh(a),
        lambda a, b: ascending(mp.eigsy(a, eigvals_only=True)),
        bound=0,
    ),
    "svdvals": Measured(
        lambda a, b: pt.linalg.svdvals(a)[..., ::-1],
        lambda a, b: scipy.linalg.svdvals(a)[::-1],
        lambda a, b: ascending(mp.svd_r(a, compute_uv=False)),
        bound=0,
    ),
    "sqrtm": Measured(
        lambda a, b: pt.linalg.sqrtm(a),
        lambda a, b: scipy.linalg.sqrtm(a),
        lambda a, b: symmetric_function(a, mp.sqrt),
    ),
    "logm": Measured(
        lambda a, b: pt.linalg.logm(a),
        lambda a, b: scipy.linalg.logm(a),
        lambda a, b: symmetric_function(a, mp.log),
    ),
    "expm": Measured(
        lambda a, b: pt.linalg.expm(a),
        lambda a, b: scipy.linalg.expm(a),
        lambda a, b: symmetric_function(a, mp.exp),
        bound=0,
    ),
}


def symmetric_function(a, function):
    """Apply a function to the eigenvalues of a symmetric matrix."""
    values, vectors = mp.eigsy(a)
    return vectors * mp.diag([function(value) for value in values]) * vectors.T


def drawn(rng, condition):
    """Return a symmetric positive definite matrix with a given condition number."""
    vectors = np.linalg.qr(rng.normal(size=(SIZE, SIZE)))[0]
    a = vectors * np.geomspace(1, 1 / condition, SIZE) @ vectors.T
    return (a + a.T) / 2


def frobenius(matrix):
    """Return the square root of the sum of the squared elements."""
    return mp.sqrt(mp.fsum(element**2 for element in matrix))


def error(found, exact):
    """Return the relative error in units of the machine epsilon."""
    difference = mp.matrix(np.atleast_1d(found).tolist()) - exact
    return float(frobenius(difference) / frobenius(exact)) / EPSILON


def measure(measured, condition):
    """Return the largest errors in a stack, of single matrices, and of SciPy."""
    rng = np.random.default_rng(int(condition) % 1000 + 1)
    matrices = np.array([drawn(rng, condition) for _ in range(COUNT)])
    right = rng.normal(size=(COUNT, SIZE))
    a, b = pt.dtensor3("a"), pt.dmatrix("b")
    one, vector = pt.dmatrix("one"), pt.dvector("vector")
    stacked = phintys.function([a, b], measured.symbolic(a, b), on_unused_input="ignore")(
        matrices, right
    )
    single = phintys.function(
        [one, vector], measured.symbolic(one, vector), on_unused_input="ignore"
    )
    errors = []
    for at in range(COUNT):
        exact = measured.exact(mp.matrix(matrices[at].tolist()), mp.matrix(right[at].tolist()))
        values = [
            stacked[at],
            single(matrices[at], right[at]),
            measured.scipy(matrices[at], right[at]),
        ]
        errors.append([error(np.asarray(value), exact) for value in values])
    return np.max(errors, axis=0)


def main():
    mp.mp.dps = DIGITS
    rows = []
    for name, measured in FUNCTIONS.items():
        for condition in CONDITIONS:
            cells = " | ".join(f"{value:.3g}" for value in measure(measured, condition))
            bound = f"{condition:.0e}" if measured.bound else "1"
            rows.append(f"| {name} | {condition:.0e} | {cells} | {bound} |")
            print(rows[-1], flush=True)
    before = DOCUMENT.read_text("utf-8").partition(MATRICES)[0].rstrip()
    DOCUMENT.write_text(f"{before}\n\n{HEADER}" + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
