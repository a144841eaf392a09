"""Does it ignite? A differential equation in the plane, by Newton's method with a sparse Jacobian.

A gas in a square vessel reacts faster the hotter it is; its walls are cold (G. Bratu, 1914):

    laplacian(u) + rate * exp(u) = 0,    u = 0 on the boundary

The equation is written with slices. ``compressed_jacobian`` finds that each of the equations has
at most five unknowns, and computes all elements by a few sweeps; SuperLU solves the linear systems.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import spsolve

import phintys
import phintys.tensor as pt
from phintys.gradient import compressed_jacobian

POINTS = 100  # along each axis


def residuals(u: Any, rate: float, points: int) -> Any:
    """Return the equations for the values at ``points * points`` inner points."""
    inner = u.reshape((points, points))
    padded = pt.pad(inner, 1)
    neighbours = padded[2:, 1:-1] + padded[:-2, 1:-1] + padded[1:-1, 2:] + padded[1:-1, :-2]
    spacing = 1.0 / (points + 1)
    return (neighbours - 4.0 * inner + spacing**2 * rate * pt.exp(inner)).ravel()


def temperature(rate: float, points: int = POINTS) -> tuple[Any, list[float], int]:
    """Return the temperatures, the largest residual after each step, and the number of sweeps."""
    u = pt.tensor("u", shape=(points**2,))
    r = residuals(u, rate, points)
    jacobian = compressed_jacobian(r, u)
    both = phintys.function([u], [r, jacobian.data])
    at, errors = np.zeros(points**2), []
    for _ in range(20):
        value, elements = both(at)
        errors.append(float(abs(value).max()))
        if errors[-1] < 1e-12:
            break
        at = at - spsolve(jacobian.matrix(elements).tocsc(), value)
    return at.reshape(points, points), errors, jacobian.sweeps


def main() -> None:
    """Print how hot it gets."""
    found, errors, sweeps = temperature(rate=6.0)
    print(f"{found.size} unknowns, {sweeps} sweeps for each Jacobian")
    print("residuals:", ", ".join(f"{error:.1e}" for error in errors))
    print(f"hottest point: {found.max():.4f}")


if __name__ == "__main__":
    main()
