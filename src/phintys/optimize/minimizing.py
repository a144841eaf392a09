"""``minimize``: a cost, its gradient and its Hessian products, compiled for SciPy's optimizers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from phintys._base.errors import ArgumentError
from phintys._base.late import LateModule
from phintys._base.plotting import axes_or_new
from phintys._base.progress import Progress
from phintys.control.solving.methods import MINIMIZE, known_method
from phintys.optimize.constraints import scipys_constraints
from phintys.optimize.problem import Problem

scipy_optimize: Any = LateModule("scipy.optimize")


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
    x, fun, nit, nfev
        SciPy's names of ``params``, ``value``, ``iterations`` and ``evaluations``.
    """

    params: Any
    value: float
    success: bool
    message: str
    iterations: int
    evaluations: int
    history: list[float]

    @property
    def x(self) -> Any:
        """The parameters: SciPy's name of ``params``."""
        return self.params

    @property
    def fun(self) -> float:
        """The lowest cost: SciPy's name of ``value``."""
        return self.value

    @property
    def nit(self) -> int:
        """The number of steps: SciPy's name of ``iterations``."""
        return self.iterations

    @property
    def nfev(self) -> int:
        """The number of evaluations of the cost: SciPy's name of ``evaluations``."""
        return self.evaluations

    def plot(self, axes: Any = None) -> Any:
        """Plot the cost after each step by matplotlib.

        Parameters
        ----------
        axes
            Axes of matplotlib; new ones by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes; the scale is logarithmic if all costs are positive.
        """
        axes = axes_or_new(axes)
        axes.plot(self.history, marker="." if len(self.history) < 100 else "")
        axes.set_xlabel("step")
        axes.set_ylabel("cost")
        if min(self.history) > 0:
            axes.set_yscale("log")
        return axes


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
    progress: bool | Callable[[int, float], Any] | None = None,
    sparse: bool = False,
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
        that respect bounds. They broadcast against the parameters; ``None`` means no bound, also in
        place of a whole tree. For a single parameter also ``scipy.optimize.Bounds``.
    constraints
        What must hold: SciPy's constraints, or a list of them, with expressions in place of
        functions. ``{"type": "eq", "fun": y}`` says that all elements of y are 0, ``"ineq"`` that
        none is negative, and ``scipy.optimize.NonlinearConstraint(y, lowest, highest)`` where they
        are. Their Jacobians, and for ``"trust-constr"`` the products with their Hessians, are
        compiled.
    tol, options
        As for ``scipy.optimize.minimize``.
    progress
        Whether a line says which step it is and the cost: ``True``, ``False``, or ``None`` for
        where a person waits, as ``config.progress`` says. A function gets both after each step.
    sparse
        Whether the method gets the Hessian, and the Jacobians and Hessians of constraints, as
        sparse matrices, for ``"trust-constr"``. That pays for many parameters of which each depends
        on a few others only, and needs the sizes of all other inputs: see
        :func:`~phintys.gradient.compressed_hessian`.
    mode
        The mode of compilation.

    Returns
    -------
    Minimum

    Raises
    ------
    ArgumentError
        ``params``, ``start`` or ``bounds`` are not of the same form, a value is missing, or a
        constraint is not one, or not for the method; ``sparse``, and the method takes no sparse
        matrices.

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
    minimizer = Minimizer(
        cost,
        params,
        start,
        givens,
        method=method,
        bounds=bounds,
        constraints=constraints,
        tol=tol,
        options=options,
        sparse=sparse,
        mode=mode,
    )
    return minimizer(progress=progress)


class Minimizer:
    """A minimization that is compiled once and run for many starts and values.

    Such as at each time step of a controller, for each fold of a cross-validation, or for each
    sample of a bootstrap. Calls from several threads run one after the other.

    Parameters
    ----------
    cost, params, start, givens, method, bounds, constraints, tol, options, sparse, mode
        As for :func:`minimize`. ``start`` and ``givens`` are those of calls without others.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.optimize import Minimizer
    >>> x, target = pt.dvectors("x", "target")
    >>> nearest = Minimizer(
    ...     ((x - target) ** 2).sum(), x, [0.0, 0.0], {target: [0.0, 0.0]}, bounds=(-1.0, 1.0)
    ... )
    >>> first = nearest(givens={target: [0.5, 3.0]})
    >>> second = nearest(start=first.params, givens={target: [-2.0, 0.25]})
    >>> first.params, second.params
    (array([0.5, 1. ]), array([-1.  ,  0.25]))
    """

    def __init__(
        self,
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
        sparse: bool = False,
        mode: Any = None,
    ) -> None:
        is_bound = not isinstance(constraints, list | tuple) or len(constraints) > 0
        default = "SLSQP" if is_bound else "L-BFGS-B"
        method = known_method("minimize", default if method is None else method, MINIMIZE)
        takes = MINIMIZE[method]
        problem = Problem(cost, params, start, dict(givens or {}), mode)
        self._has_gradient = takes.gradient
        self._value = problem.value_and_gradient() if self._has_gradient else problem.value()
        self._options: dict[str, Any] = {
            "method": method,
            "jac": self._has_gradient,
            "bounds": problem.bounds(bounds),
            "tol": tol,
        }
        self._settings = dict(options or {})
        if sparse and not takes.sparse:
            msg = (
                f"minimize: the method {method!r} does not take sparse matrices. Use method="
                "'trust-constr', or leave sparse out."
            )
            raise ArgumentError(msg)
        if sparse:
            self._options["hess"] = problem.sparse_hessian()
        elif takes.hessian == "product":
            self._options["hessp"] = problem.hessian_product()
        elif takes.hessian == "matrix":
            self._options["hess"] = problem.hessian()
        if is_bound:
            self._options["constraints"] = scipys_constraints(constraints, problem, method, sparse)
        self._problem = problem
        self._lock = Lock()

    def __call__(
        self,
        start: Any = None,
        givens: Mapping[Any, Any] | None = None,
        *,
        progress: bool | Callable[[int, float], Any] | None = None,
    ) -> Minimum:
        """Minimize.

        Parameters
        ----------
        start
            Where to begin: a tree of arrays, of the form and shapes of the first one.
        givens
            Values of inputs of the cost, in place of the first ones.
        progress
            As for :func:`minimize`.

        Raises
        ------
        ArgumentError
            ``start`` has another form or another shape than the first one, or ``givens`` has an
            input that was not among the first ones.
        """
        with self._lock, self._problem.of(givens):
            at = self._problem.at(start)
            if callable(progress):
                return self._run(at, progress)
            with Progress("Minimizing", shown=progress) as line:
                return self._run(at, lambda _, cost: line.advance(f"cost {cost:.6g}"))

    def _run(self, start: Any, tell: Callable[[int, float], Any]) -> Minimum:
        history = _History(self._value, self._has_gradient, tell)
        history.add(start)
        found: Any = scipy_optimize.minimize(
            history.value,
            start,
            options=dict(self._settings),
            callback=lambda at, *_: history.add(at),
            **self._options,
        )
        return Minimum(
            params=self._problem.unravel(found.x),
            value=float(found.fun),
            success=bool(found.success and np.isfinite(found.fun)),
            message=_message(found),
            iterations=int(found.get("nit", len(history.costs) - 1)),
            evaluations=int(found.nfev),
            history=history.costs,
        )


def _message(found: Any) -> str:
    """Return an optimizer's message; some call a cost that is NaN a success."""
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
