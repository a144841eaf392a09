"""Constraints of a minimization: expressions, compiled with their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np

from phintys import tensor as pt
from phintys._base.errors import ArgumentError
from phintys._base.late import LateModule
from phintys.control.solving.methods import MINIMIZE
from phintys.gradient.jacobians import hessian_vector_product, jacobian
from phintys.gradient.patterns.compressed import compressed_hessian, compressed_jacobian
from phintys.graph.variable import Variable

scipy_optimize: Any = LateModule("scipy.optimize")
scipy_operators: Any = LateModule("scipy.sparse.linalg")

FORMS = (
    'a dict such as {"type": "eq", "fun": y} for y = 0, or "ineq" for y >= 0, or '
    "scipy.optimize.NonlinearConstraint(y, lowest, highest)"
)


class _OverAVector(Protocol):
    """A problem whose parameters are one vector."""

    theta: Any
    start: Any

    @property
    def sizes(self) -> dict[Any, tuple[int, ...]]:
        """The shapes of the values of other inputs."""
        ...

    def over_the_vector(self, expression: Any) -> Any:
        """Return an expression of the parameters as one of the vector."""
        ...

    def compiled(self, inputs: list[Any], outputs: Any) -> Callable[..., Any]:
        """Return a function that knows the values of all other inputs."""
        ...


def scipys_constraints(
    given: Any, problem: _OverAVector, method: str, sparse: bool = False
) -> list[Any]:
    """Return constraints on expressions as SciPy's constraints on functions of a vector.

    Parameters
    ----------
    given
        A constraint, or a list or tuple of them.
    problem
        The problem that they belong to.
    method
        The name of the method, as SciPy writes it, which must take constraints.
    sparse
        Whether Jacobians and Hessians are sparse matrices.

    Raises
    ------
    ArgumentError
        One of them has another form, or the method takes none.
    """
    listed = list(cast("Sequence[Any]", given)) if isinstance(given, list | tuple) else [given]
    if listed and not MINIMIZE[method].constraints:
        others = [name for name, takes in MINIMIZE.items() if takes.constraints]
        msg = (
            f"minimize: the method {method!r} does not take constraints. Use one of "
            f"{', '.join(others)}."
        )
        raise ArgumentError(msg)
    has_curvature = method == "trust-constr"
    return [
        _compiled(*_parts(one, f"constraint {number}"), problem, has_curvature, sparse)
        for number, one in enumerate(listed)
    ]


def _parts(given: Any, which: str) -> tuple[Any, Any, Any]:
    """Return the expression of a constraint, and the least and greatest values that it may have."""
    expression: Any = None
    lowest: Any = 0.0
    highest: Any = 0.0
    if isinstance(given, Mapping):
        named = cast("Mapping[str, Any]", given)
        expression, kind = named.get("fun"), named.get("type")
        unknown = set(named) - {"type", "fun"}
        if kind not in {"eq", "ineq"} or unknown:
            msg = f"minimize: {which} is {given!r}. Write {FORMS}; derivatives are compiled."
            raise ArgumentError(msg)
        highest = 0.0 if kind == "eq" else np.inf
    elif isinstance(given, scipy_optimize.NonlinearConstraint):
        constraint: Any = given
        expression, lowest, highest = constraint.fun, constraint.lb, constraint.ub
    if isinstance(expression, list | tuple):
        expression = pt.stack(expression)
    if not isinstance(expression, Variable):
        msg = (
            f"minimize: {which} is {given!r}. A constraint is {FORMS}, where y is an expression of "
            "the parameters."
        )
        raise ArgumentError(msg)
    if getattr(expression, "dtype", None) not in {"float32", "float64"}:
        msg = (
            f"minimize: the expression of {which}, {expression} of type {expression.type}, does "
            "not have a real floating dtype. Write y >= 0 as the expression y of an inequality."
        )
        raise ArgumentError(msg)
    return expression, lowest, highest


def _compiled(
    expression: Any,
    lowest: Any,
    highest: Any,
    problem: _OverAVector,
    has_curvature: bool,
    sparse: bool,
) -> Any:
    """Return a constraint of SciPy on the elements of an expression."""
    theta = problem.theta
    values = problem.over_the_vector(expression)
    shape = problem.compiled([theta], values)(problem.start).shape
    vector = pt.cast(values.ravel(), "float64")
    options: dict[str, Any] = {}
    if has_curvature:
        options["hess"] = (_sparse_curvature if sparse else _curvature)(vector, problem)
    return scipy_optimize.NonlinearConstraint(
        problem.compiled([theta], vector),
        *(np.broadcast_to(side, shape).ravel() for side in (lowest, highest)),
        jac=slopes_of(vector, problem, sparse),
        **options,
    )


def slopes_of(vector: Any, problem: _OverAVector, sparse: bool) -> Callable[[Any], Any]:
    """Return the function of the Jacobian of a vector."""
    theta = problem.theta
    if not sparse:
        return problem.compiled([theta], jacobian(vector, theta))
    found = compressed_jacobian(vector, theta, problem.sizes)
    elements = problem.compiled([theta], found.data)
    return lambda at: found.matrix(elements(at))


def _curvature(vector: Any, problem: _OverAVector) -> Callable[[Any, Any], Any]:
    """Return the function of the Hessian of a weighted sum, by its products."""
    theta = problem.theta
    weights, direction = pt.dvector("weights"), theta.type("direction")
    product = problem.compiled(
        [theta, weights, direction],
        hessian_vector_product((weights * vector).sum(), theta, direction),
    )
    return lambda at, weights: _operator(product, at, weights)


def _sparse_curvature(vector: Any, problem: _OverAVector) -> Callable[[Any, Any], Any]:
    """Return the function of the Hessian of a weighted sum as a sparse matrix."""
    theta, weights = problem.theta, pt.dvector("weights")
    count = problem.compiled([theta], vector.size)(problem.start)
    sizes = {**problem.sizes, weights: int(count)}
    found = compressed_hessian((weights * vector).sum(), theta, sizes)
    elements = problem.compiled([theta, weights], found.data)
    return lambda at, weights: found.matrix(elements(at, weights))


def _operator(product: Callable[..., Any], at: Any, weights: Any) -> Any:
    """Return the Hessian of a weighted sum of constraints, by its products."""
    return scipy_operators.LinearOperator(
        (at.size, at.size), lambda direction: product(at, weights, direction.ravel())
    )
