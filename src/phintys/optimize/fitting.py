"""``least_squares``: residuals and their Jacobian, dense or sparse, compiled for SciPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from phintys import tensor as pt
from phintys._base.errors import ArgumentError
from phintys._base.late import LateModule
from phintys.control.solving.methods import LEAST_SQUARES, known_method
from phintys.graph.variable import Variable
from phintys.optimize.constraints import slopes_of
from phintys.optimize.problem import Problem

scipy_optimize: Any = LateModule("scipy.optimize")


@dataclass(frozen=True)
class Fit:
    """Parameters with small residuals.

    Attributes
    ----------
    params
        The parameters, a tree of arrays of the form of those that were given.
    residuals
        The residuals there, a vector.
    jacobian
        Their Jacobian there, with a column for each element of the parameters in order: an array,
        or a sparse matrix of SciPy.
    value
        Half the sum of squares of the residuals; with another ``loss``, what SciPy minimizes.
    success, message
        Whether the method reached its goal and the value is finite, and what it says.
    evaluations
        The number of evaluations of the residuals.
    """

    params: Any
    residuals: Any
    jacobian: Any
    value: float
    success: bool
    message: str
    evaluations: int


def least_squares(
    residuals: Any,
    params: Any,
    start: Any = None,
    givens: Mapping[Any, Any] | None = None,
    *,
    method: str = "trf",
    bounds: Any = None,
    options: Mapping[str, Any] | None = None,
    sparse: bool = False,
    mode: Any = None,
) -> Fit:
    """Minimize a sum of squares over a tree of parameters by ``scipy.optimize.least_squares``.

    Parameters
    ----------
    residuals
        A tensor of any rank, of a real floating dtype.
    params, start, givens, bounds, mode
        As for :func:`~phintys.optimize.minimize`.
    method
        ``"trf"``, ``"dogbox"`` or, for small problems without bounds, ``"lm"``.
    options
        Further arguments of ``scipy.optimize.least_squares``, such as ``xtol`` or ``loss``.
    sparse
        Whether the Jacobian is a sparse matrix, for ``"trf"`` and ``"dogbox"``. That pays for many
        parameters of which few are in each residual, and needs the sizes of all inputs: see
        :func:`~phintys.gradient.compressed_jacobian`.

    Returns
    -------
    Fit

    Raises
    ------
    ArgumentError
        The residuals are not real floating-point numbers; ``params``, ``start`` or ``bounds`` are
        not of the same form; a value is missing; or ``sparse``, and the method takes no sparse
        matrices.

    Examples
    --------
    >>> import numpy as np
    >>> import phintys.tensor as pt
    >>> from phintys.optimize import least_squares
    >>> rate, t, seen = pt.dscalar("rate"), pt.dvector("t"), pt.dvector("seen")
    >>> times = np.arange(4.0)
    >>> fit = least_squares(
    ...     pt.exp(-rate * t) - seen, rate, 1.0, {t: times, seen: np.exp(-0.5 * times)}
    ... )
    >>> fit.success, round(float(fit.params), 6)
    (True, 0.5)
    """
    if not isinstance(residuals, Variable) or getattr(residuals.type, "dtype", None) not in {
        "float32",
        "float64",
    }:
        kind = getattr(residuals, "type", type(residuals).__name__)
        msg = (
            "least_squares: the residuals must be a variable of a real floating dtype, got "
            f"{residuals} of type {kind}."
        )
        raise ArgumentError(msg)
    method = known_method("least_squares", method, LEAST_SQUARES)
    if sparse and not LEAST_SQUARES[method]:
        msg = (
            f"least_squares: the method {method!r} does not take sparse matrices. Use method='trf' "
            "or 'dogbox', or leave sparse out."
        )
        raise ArgumentError(msg)
    problem = Problem(residuals, params, start, dict(givens or {}), mode, "least_squares")
    vector = pt.cast(problem.over_the_vector(residuals).ravel(), "float64")
    limits = {} if bounds is None else {"bounds": problem.bounds(bounds)}
    found: Any = scipy_optimize.least_squares(
        problem.compiled([problem.theta], vector),
        problem.start,
        jac=slopes_of(vector, problem, sparse),
        method=method,
        **limits,
        **(options or {}),
    )
    return Fit(
        params=problem.unravel(found.x),
        residuals=found.fun,
        jacobian=found.jac,
        value=float(found.cost),
        success=bool(found.success and np.isfinite(found.cost)),
        message=str(found.message),
        evaluations=int(found.nfev),
    )
