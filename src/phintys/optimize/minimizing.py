"""``minimize``: a cost, its gradient and its Hessian products, compiled for SciPy's optimizers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from phintys import tensor as pt
from phintys import tree
from phintys._base.errors import ArgumentError
from phintys._base.late import LateModule
from phintys._base.nests import form_of, matched
from phintys.compile.build import function
from phintys.gradient.jacobians import hessian, hessian_vector_product
from phintys.gradient.reverse import grad
from phintys.graph.cloning import clone_replace
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.variable import Variable
from phintys.optimize.constraints import scipys_constraints

scipy_optimize: Any = LateModule("scipy.optimize")

__all__ = ["Minimum", "minimize"]

WITHOUT_GRADIENT = frozenset({"nelder-mead", "powell", "cobyla", "cobyqa"})
WITH_HESSIAN_PRODUCTS = frozenset(
    {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}  # as SciPy's documentation has it
)

WITH_HESSIANS = frozenset({"dogleg", "trust-exact"})


@dataclass(frozen=True)
class Minimum:
    """The lowest cost that an optimizer found, and where it is.

    Attributes
    ----------
    params
        The parameters there, a tree of arrays of the form of those that were given.
    value
        The cost there.
    success, message
        Whether the optimizer reached its goal and the cost is finite, and what it says.
    iterations, evaluations
        The number of steps, and of evaluations of the cost.
    history
        The cost after each step; the first one is that of the start.
    """

    params: Any
    value: float
    success: bool
    message: str
    iterations: int
    evaluations: int
    history: list[float]


def minimize(
    cost: Any,
    params: Any,
    start: Any = None,
    givens: Mapping[Any, Any] | None = None,
    *,
    method: str | None = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
    progress: bool | Callable[[int, float], Any] = False,
    mode: Any = None,
) -> Minimum:
    """Minimize a cost over a tree of parameters by one of SciPy's optimizers.

    The cost and its gradient are one compiled function; products with the Hessian are another one,
    for methods that take them. No value of a shared variable is changed.

    Parameters
    ----------
    cost
        A real scalar.
    params
        A variable, or a tree of variables with real floating dtypes: lists, tuples, dicts and
        dataclasses of any depth. Shared variables, and others that the cost depends on.
    start
        Where to begin: a tree of arrays of the same form. Not needed for shared variables, whose
        values are the start.
    givens
        The values of the other inputs of the cost: variable -> array.
    method
        A method of ``scipy.optimize.minimize``; by default ``"L-BFGS-B"``, and with constraints
        ``"SLSQP"``.
    bounds
        A pair of trees of the form of ``params``, the lowest and the highest values, for methods
        that respect bounds. They broadcast against the parameters; ``None`` is no bound, also in
        place of a whole tree.
    constraints
        What must hold: SciPy's constraints, or a list of them, with expressions in place of
        functions. ``{"type": "eq", "fun": y}`` says that all elements of y are 0, ``"ineq"`` that
        none is negative, and ``scipy.optimize.NonlinearConstraint(y, lowest, highest)`` where they
        are. Their Jacobians, and for ``"trust-constr"`` the products with their Hessians, are
        compiled.
    tol, options
        As for ``scipy.optimize.minimize``.
    progress
        ``True`` writes a line to stderr after each step; a function gets the number of the step and
        the cost.
    mode
        The mode of compilation.

    Returns
    -------
    Minimum

    Raises
    ------
    ArgumentError
        ``params``, ``start`` or ``bounds`` are not of the same form, a value is missing, or a
        constraint is not one, or not for the method.

    Examples
    --------
    >>> import numpy as np
    >>> import phintys.tensor as pt
    >>> from phintys.optimize import minimize
    >>> line = {"slope": pt.dscalar("slope"), "height": pt.dscalar("height")}
    >>> x, y = pt.dvectors("x", "y")
    >>> cost = ((line["slope"] * x + line["height"] - y) ** 2).mean()
    >>> found = minimize(
    ...     cost, line, {"slope": 0.0, "height": 0.0}, {x: np.arange(3.0), y: [1.0, 3.0, 5.0]}
    ... )
    >>> (
    ...     found.success,
    ...     round(float(found.params["slope"]), 4),
    ...     round(float(found.params["height"]), 4),
    ... )
    (True, 2.0, 1.0)

    The point of a line that is nearest to the origin:

    >>> at = pt.dvector("at")
    >>> on_the_line = {"type": "eq", "fun": at[0] + 2 * at[1] - 5}
    >>> minimize((at**2).sum(), at, [0.0, 0.0], constraints=on_the_line).params.round(6)
    array([1., 2.])
    """
    problem = _Problem(cost, params, start, dict(givens or {}), mode)
    is_bound = not isinstance(constraints, list | tuple) or len(constraints) > 0
    method = method or ("SLSQP" if is_bound else "L-BFGS-B")
    key = method.lower()
    has_gradient = key not in WITHOUT_GRADIENT
    value = problem.value_and_gradient() if has_gradient else problem.value()
    extras: dict[str, Any] = {}
    if key in WITH_HESSIAN_PRODUCTS:
        extras["hessp"] = problem.hessian_product()
    elif key in WITH_HESSIANS:
        extras["hess"] = problem.hessian()
    if is_bound:
        extras["constraints"] = scipys_constraints(constraints, problem, method)
    history = _History(value, has_gradient, _callback_for(progress))
    history.add(problem.start)

    found: Any = scipy_optimize.minimize(
        history.value,
        problem.start,
        method=method,
        jac=has_gradient,
        bounds=problem.bounds(bounds),
        tol=tol,
        options=dict(options or {}),
        callback=lambda at, *_: history.add(at),
        **extras,
    )
    return Minimum(
        params=problem.unravel(found.x),
        value=float(found.fun),
        success=bool(found.success and np.isfinite(found.fun)),
        message=_message(found),
        iterations=int(found.get("nit", len(history.costs) - 1)),
        evaluations=int(found.nfev),
        history=history.costs,
    )


def _message(found: Any) -> str:
    """Return what an optimizer says, which may be content with a cost that is not a number."""
    if np.isfinite(found.fun):
        return str(found.message)
    return f"The cost is {float(found.fun)} at the end. The optimizer says: {found.message}"


class _History:
    """The cost after each step, without more evaluations than the optimizer makes.

    Parameters
    ----------
    function
        From a vector to the cost, or to the cost and its gradient.
    has_gradient
        Which of both.
    tell
        Called with the number of each step and the cost.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        has_gradient: bool,
        tell: Callable[[int, float], Any],
    ) -> None:
        self.costs: list[float] = []
        self._function = function
        self._has_gradient = has_gradient
        self._tell = tell
        self._since_the_step: dict[bytes, float] = {}

    def value(self, at: Any) -> Any:
        """Return the value of the function, and remember its cost until the next step."""
        result = self._function(at)
        self._since_the_step[at.tobytes()] = result[0] if self._has_gradient else result
        return result

    def add(self, at: Any) -> None:
        """Note the cost at a point, the end of a step."""
        if at.tobytes() not in self._since_the_step:
            self.value(at)
        self.costs.append(self._since_the_step[at.tobytes()])
        self._since_the_step.clear()
        if len(self.costs) > 1:
            self._tell(len(self.costs) - 1, self.costs[-1])


class _Problem:
    """A cost over one vector of float64, the elements of all parameters."""

    def __init__(self, cost: Any, params: Any, start: Any, data: dict[Any, Any], mode: Any) -> None:
        variables = _checked_variables(params)
        self._params = params
        self._first = _checked_start(params, variables, start)
        vector, self._unravel = tree.ravel(self._first)
        self._dtypes = [variable.dtype for variable in variables]
        self.start = vector.astype("float64")
        self._data, self._mode = data, mode
        self.theta: Any = pt.vector("parameters", dtype="float64", shape=vector.shape)
        parts = map(pt.cast, tree.leaves(self._unravel(self.theta)), self._dtypes)
        self._parts = dict(zip(variables, parts, strict=True))
        self._cost: Any = self.over_the_vector(cost)

    def over_the_vector(self, expression: Any) -> Any:
        """Return an expression of the parameters as one of the vector."""
        return clone_replace(expression, self._parts)

    def value(self) -> Callable[[Any], float]:
        """Return the function of the cost."""
        compiled = self.compiled([self.theta], self._cost)
        return lambda at: float(compiled(at))

    def value_and_gradient(self) -> Callable[[Any], tuple[float, Any]]:
        """Return the function of the cost and its gradient."""
        compiled = self.compiled([self.theta], [self._cost, grad(self._cost, self.theta)])

        def both(at: Any) -> tuple[float, Any]:
            value, gradient = compiled(at)
            return float(value), gradient

        return both

    def hessian_product(self) -> Callable[[Any, Any], Any]:
        """Return the function of products of the Hessian with a direction."""
        direction = self.theta.type("direction")
        product = hessian_vector_product(self._cost, self.theta, direction)
        return self.compiled([self.theta, direction], product)

    def hessian(self) -> Callable[[Any], Any]:
        """Return the function of the Hessian."""
        return self.compiled([self.theta], hessian(self._cost, self.theta))

    def compiled(self, inputs: list[Any], outputs: Any) -> Callable[..., Any]:
        """Return a function that knows the values of all other inputs."""
        compiled: Any = function(
            [*inputs, *self._data], outputs, mode=self._mode, on_unused_input="ignore"
        )
        values = list(self._data.values())
        return lambda *given: compiled(*given, *values)

    def unravel(self, values: Any) -> Any:
        """Return the tree of parameters with the elements of a vector."""
        found, build = tree.flatten(self._unravel(values))
        arrays = [np.asarray(one, dtype) for one, dtype in zip(found, self._dtypes, strict=True)]
        return build(arrays)

    def bounds(self, given: Any) -> Any:
        """Return SciPy's form of bounds."""
        if given is None:
            return None
        if not isinstance(given, list | tuple) or len(given) != 2 or _are_intervals(given):
            msg = (
                f"minimize: bounds is a pair of trees, (lowest, highest), got {given!r}. From "
                "SciPy's pairs for each element, write tuple(zip(*bounds))."
            )
            raise ArgumentError(msg)
        sides = zip(given, (-np.inf, np.inf), strict=True)
        return scipy_optimize.Bounds(*(self._side(one, nothing) for one, nothing in sides))

    def _side(self, given: Any, nothing: float) -> Any:
        found = matched(given, self._params, of_arrays=True)
        if found is None:
            msg = (
                "minimize: each of bounds must have the form of params: expected "
                f"{form_of(self._params)}, got {form_of(given)}."
            )
            raise ArgumentError(msg)
        shapes = [np.shape(leaf) for leaf in tree.leaves(self._first)]
        filled = [nothing if one is None else one for one in found]
        parts = map(np.broadcast_to, filled, shapes)
        return np.concatenate([part.ravel() for part in parts])


def _are_intervals(given: Any) -> bool:
    """Return whether bounds are a list of tuples: SciPy's, of two elements, could be both."""
    return isinstance(given, list) and all(isinstance(one, tuple) for one in given)


def _checked_variables(params: Any) -> list[Any]:
    for path, leaf in tree.leaves_with_paths(params):
        dtype = getattr(leaf, "dtype", None) if isinstance(leaf, Variable) else None
        if dtype not in ("float32", "float64"):
            kind = getattr(leaf, "type", type(leaf).__name__)
            msg = (
                f"minimize: params{path} is not a variable of a real floating dtype, but {leaf!r} "
                f"of type {kind}."
            )
            raise ArgumentError(msg)
    return tree.leaves(params)


def _checked_start(params: Any, variables: list[Any], start: Any) -> Any:
    """Return the tree of arrays to begin at."""
    if start is None:
        for variable in variables:
            if not isinstance(variable, SharedVariable):
                msg = (
                    f"minimize: {variable} is not a shared variable, so start must say where to "
                    "begin."
                )
                raise ArgumentError(msg)
        return tree.map(lambda variable: variable.get_value(), params)
    given = matched(start, params, of_arrays=True)
    if given is None:
        msg = (
            "minimize: start must have the form of params: expected "
            f"{form_of(params)}, got {form_of(start)}."
        )
        raise ArgumentError(msg)
    _, build = tree.flatten(params)
    pairs = zip(variables, given, strict=True)  # a start may be rounded
    return build([one.type.filter(value, allow_downcast=True) for one, value in pairs])


def _callback_for(progress: Any) -> Callable[[int, float], Any]:
    """Return the function to call after each step."""
    if callable(progress):
        return progress
    if progress:
        return lambda step, cost: sys.stderr.write(f"step {step}: cost {cost:.6g}\n")
    return lambda step, cost: None
