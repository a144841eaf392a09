"""SciPy's algorithms for roots and minima, as values that an Op can keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from phintys._base.late import LateModule
from phintys._base.records import record

scipy_optimize: Any = LateModule("scipy.optimize")

Algorithm = Callable[..., tuple[Any, bool]]
"""Takes a function, from a point to the values that the algorithm needs, the point to begin at, and
limits of the search by name; returns the solution, and whether it is one."""


@record()
class RootSearch:
    """``scipy.optimize.root``; the function returns the equations, and their Jacobian."""

    method: str
    jac: bool
    options: dict[str, Any]

    def __call__(self, function: Callable[[Any], Any], start: Any) -> tuple[Any, bool]:
        found = scipy_optimize.root(
            function, start, method=self.method, jac=self.jac, **self.options
        )
        return found.x, found.success


@record()
class Minimization:
    """``scipy.optimize.minimize``; the function returns the objective, and its derivatives."""

    method: str
    jac: bool
    hess: bool
    options: dict[str, Any]

    def __call__(self, function: Callable[[Any], Any], start: Any) -> tuple[Any, bool]:
        parts: dict[str, Any] = {"jac": self.jac}
        if self.hess:
            kept = _LastPoint(function)
            function = kept.part(0)
            parts = {"jac": kept.part(1) if self.jac else None, "hess": kept.part(-1)}
        found = scipy_optimize.minimize(
            function, start, method=self.method, **parts, **self.options
        )
        return found.x, found.success


@record()
class ScalarRootSearch:
    """``scipy.optimize.root_scalar``; the function returns the equation, and its derivatives."""

    method: str
    jac: bool
    hess: bool
    options: dict[str, Any]

    def __call__(
        self, function: Callable[[Any], Any], start: Any, **limits: Any
    ) -> tuple[Any, bool]:
        options = self.options | limits

        def values(at: Any) -> Any:
            results = function(at)
            return tuple(map(float, results)) if isinstance(results, tuple) else float(results)

        found = scipy_optimize.root_scalar(
            values,
            x0=None if "bracket" in options else float(start),
            method=self.method,
            fprime=self.jac or None,
            fprime2=self.hess or None,
            **options,
        )
        return found.root, found.converged


@record()
class ScalarMinimization:
    """``scipy.optimize.minimize_scalar``; the function returns the objective."""

    method: str
    options: dict[str, Any]

    def __call__(
        self, function: Callable[[Any], Any], start: Any, **limits: Any
    ) -> tuple[Any, bool]:
        found = scipy_optimize.minimize_scalar(
            lambda at: float(function(at)), method=self.method, **self.options, **limits
        )
        return found.x, found.success


class _LastPoint:
    """A function that is computed once for several requests at one point."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._point: bytes | None = None
        self._values: Any = None

    def part(self, position: int) -> Callable[[Any], Any]:
        """Return the function of one of the values."""

        def value(at: Any) -> Any:
            if self._point != at.tobytes():
                self._values = self._function(at)
                self._point = at.tobytes()
            return self._values[position]

        return value
