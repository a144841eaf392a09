"""Methods of ``scipy.optimize``: their names, and what they take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from phintys._base.errors import ArgumentError
from phintys._base.names import near_misses


@dataclass(frozen=True)
class MinimizeMethod:
    """What a method of ``scipy.optimize.minimize`` takes.

    Attributes
    ----------
    gradient
        The gradient of the cost.
    hessian
        ``"matrix"``, ``"product"`` with a vector, or neither.
    constraints
        Constraints that are functions of the parameters.
    sparse
        Hessians, and Jacobians of constraints, that are sparse matrices.
    """

    gradient: bool = True
    hessian: str = ""
    constraints: bool = False
    sparse: bool = False


MINIMIZE = {
    "Nelder-Mead": MinimizeMethod(gradient=False),
    "Powell": MinimizeMethod(gradient=False),
    "CG": MinimizeMethod(),
    "BFGS": MinimizeMethod(),
    "Newton-CG": MinimizeMethod(hessian="product"),
    "L-BFGS-B": MinimizeMethod(),
    "TNC": MinimizeMethod(),
    "COBYLA": MinimizeMethod(gradient=False, constraints=True),
    "COBYQA": MinimizeMethod(gradient=False, constraints=True),
    "SLSQP": MinimizeMethod(constraints=True),
    "trust-constr": MinimizeMethod(hessian="product", constraints=True, sparse=True),
    "dogleg": MinimizeMethod(hessian="matrix"),
    "trust-ncg": MinimizeMethod(hessian="product"),
    "trust-exact": MinimizeMethod(hessian="matrix"),
    "trust-krylov": MinimizeMethod(hessian="product"),
}
"""As the documentation of ``scipy.optimize.minimize`` has it."""

MINIMIZE_SCALAR = ("brent", "bounded", "golden")
ROOT = {
    "hybr": True,
    "lm": True,
    "broyden1": False,
    "broyden2": False,
    "anderson": False,
    "linearmixing": False,
    "diagbroyden": False,
    "excitingmixing": False,
    "krylov": False,
    "df-sane": False,
}
"""Whether the method takes the Jacobian."""
ROOT_SCALAR = ("bisect", "brentq", "brenth", "ridder", "toms748", "newton", "secant", "halley")
LEAST_SQUARES = {"trf": True, "dogbox": True, "lm": False}
"""Whether the Jacobian may be a sparse matrix."""


def known_method(what: str, method: Any, known: Iterable[str]) -> str:
    """Return the name of a method as SciPy writes it.

    Parameters
    ----------
    what
        The name of the function, for messages.
    method
        What was given; upper and lower case are the same.
    known
        The methods of the function.

    Raises
    ------
    ArgumentError
        There is no such method.
    """
    names = {name.lower(): name for name in known}
    if isinstance(method, str) and method.lower() in names:
        return names[method.lower()]
    close = near_misses(str(method).lower(), names)
    hint = f" Did you mean {names[close[0]]!r}?" if close else ""
    msg = (
        f"{what}: method must be one of {', '.join(map(repr, names.values()))}, "
        f"got {method!r}.{hint}"
    )
    raise ArgumentError(msg)
