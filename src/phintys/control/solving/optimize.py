"""Roots and minima inside of graphs, found by SciPy, with derivatives by their parameters.

The solution is an expression of the parameters of the equations or of the objective, and is
differentiated by the implicit function theorem. The equations, the objective and the derivatives
that an algorithm takes are compiled; the algorithm itself is SciPy's. To minimize a cost once,
outside of a graph, there is :func:`phintys.optimize.minimize`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phintys import tree
from phintys._base.errors import ArgumentError
from phintys._base.names import public_dir
from phintys.control.solving.implicit import (
    Algorithm,
    Minimization,
    RootSearch,
    ScalarMinimization,
    ScalarRootSearch,
    apply_solver,
)
from phintys.control.solving.methods import (
    MINIMIZE,
    MINIMIZE_SCALAR,
    ROOT,
    ROOT_SCALAR,
    known_method,
)
from phintys.gradient.jacobians import hessian, jacobian
from phintys.gradient.reverse import grad
from phintys.graph.cloning import clone_replace
from phintys.graph.traversal import ancestors
from phintys.graph.variable import Variable
from phintys.tensor.convert import as_tensor_variable

__all__ = ["minimize", "minimize_scalar", "root", "root_scalar"]

__dir__ = public_dir(__name__)


def root(
    equations: Any,
    variables: Any,
    method: str = "hybr",
    jac: bool = True,
    optimizer_kwargs: Mapping[str, Any] | None = None,
) -> tuple[Any, Any]:
    """Return where equations are zero.

    Parameters
    ----------
    equations
        As many as the variables have elements: a variable, or a tree of variables.
    variables
        A variable, or a tree of them: lists, tuples, dicts and dataclasses. The search begins at
        their values.
    method
        A method of ``scipy.optimize.root``.
    jac
        Whether the method gets the Jacobian of the equations, if it takes one.
    optimizer_kwargs
        Further arguments of ``scipy.optimize.root``, such as ``tol``.

    Returns
    -------
    solution
        Of the form of ``variables``.
    success
        Whether the method found it.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> x, a = pt.dvector("x"), pt.dscalar("a")
    >>> solution, success = pt.optimize.root(x**2 - a, x)
    >>> f = phintys.function([x, a], [solution, success, phintys.grad(solution.sum(), a)])
    >>> f([1.0], 4.0)
    [array([2.]), array(True), array(0.25)]
    """
    method = known_method("root", method, ROOT)
    jac = jac and ROOT[method]
    system = _System(tree.ravel(equations)[0], variables, "root")
    outputs = [system.objective]
    if jac:
        outputs.append(jacobian(system.objective, system.x, disconnected_inputs="ignore"))
    options = dict(optimizer_kwargs or {})
    return system.solved(outputs, RootSearch(method, jac, options), minimizes=False)


def minimize(
    objective: Any,
    x: Any,
    method: str = "BFGS",
    jac: bool = True,
    hess: bool = False,
    use_vectorized_jac: bool = False,
    optimizer_kwargs: Mapping[str, Any] | None = None,
) -> tuple[Any, Any]:
    """Return where an objective is lowest.

    Parameters
    ----------
    objective
        A real scalar.
    x
        A variable, or a tree of them: lists, tuples, dicts and dataclasses. The search begins at
        their values.
    method
        A method of ``scipy.optimize.minimize``.
    jac, hess
        Whether the method gets the gradient, if it takes one, and the Hessian.
    use_vectorized_jac
        Accepted for programs of PyTensor: Jacobians are batched where that is cheaper.
    optimizer_kwargs
        Further arguments of ``scipy.optimize.minimize``, such as ``bounds`` and ``tol``.

    Returns
    -------
    solution
        Of the form of ``x``.
    success
        Whether the method found it.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> x, a = pt.dscalar("x"), pt.dscalar("a")
    >>> solution, success = pt.optimize.minimize((x - a) ** 2, x)
    >>> f = phintys.function([x, a], [solution, success, phintys.grad(solution, a)])
    >>> f(0.0, 3.0)
    [array(3.), array(True), array(1.)]
    """
    method = known_method("minimize", method, MINIMIZE)
    jac = jac and MINIMIZE[method].gradient
    del use_vectorized_jac
    system = _System(objective, x, "minimize")
    _check_objective(system)
    outputs = [system.objective]
    if jac:
        outputs.append(grad(system.objective, system.x))
    if hess:
        outputs.append(hessian(system.objective, system.x))
    options = dict(optimizer_kwargs or {})
    return system.solved(outputs, Minimization(method, jac, hess, options), minimizes=True)


def root_scalar(
    equation: Any,
    variable: Any,
    method: str = "secant",
    jac: bool = False,
    hess: bool = False,
    optimizer_kwargs: Mapping[str, Any] | None = None,
    *,
    bracket: Any = None,
) -> tuple[Any, Any]:
    """Return where an equation of one number is zero.

    Parameters
    ----------
    equation, variable
        Variables of rank 0. The search begins at the value of ``variable``.
    method
        A method of ``scipy.optimize.root_scalar``; some search an interval.
    jac, hess
        Whether the method gets the derivative, and the second one.
    optimizer_kwargs
        Further arguments of ``scipy.optimize.root_scalar``.
    bracket
        The ends of the interval, where the equation has different signs: numbers, or variables.

    Returns
    -------
    solution, success
        Where it is zero, and whether the method found that.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> x, a = pt.dscalars("x", "a")
    >>> solution, success = pt.optimize.root_scalar(x**3 - a, x, method="newton", jac=True)
    >>> f = phintys.function([x, a], [solution, success])
    >>> f(1.0, 27.0)
    [array(3.), array(True)]
    >>> solution, success = pt.optimize.root_scalar(x**3 - a, x, "brentq", bracket=(0, a))
    >>> phintys.function([x, a], solution.round(6))(1.0, 27.0)
    array(3.)
    """
    method = known_method("root_scalar", method, ROOT_SCALAR)
    system = _System(equation, variable, "root_scalar", is_scalar=True)
    outputs = [system.objective]
    for _ in range(jac + hess):
        outputs.append(grad(outputs[-1], system.x, disconnected_inputs="ignore"))
    options = dict(optimizer_kwargs or {})
    limits = system.limits(options, bracket=bracket)
    algorithm = ScalarRootSearch(method, jac, hess, options)
    return system.solved(outputs, algorithm, minimizes=False, limits=limits)


def minimize_scalar(
    objective: Any,
    x: Any,
    method: str = "brent",
    optimizer_kwargs: Mapping[str, Any] | None = None,
    *,
    bracket: Any = None,
    bounds: Any = None,
) -> tuple[Any, Any]:
    """Return where an objective of one number is lowest.

    Parameters
    ----------
    objective, x
        Variables of rank 0. The methods begin at points of their own, not at the value of ``x``.
    method
        A method of ``scipy.optimize.minimize_scalar``.
    optimizer_kwargs
        Further arguments of it.
    bracket
        Two or three points around a minimum, at which the methods ``"brent"`` and ``"golden"``
        begin: numbers, or variables.
    bounds
        The ends of the interval that the method ``"bounded"`` searches. The derivatives of the
        solution are those of a minimum between them.

    Returns
    -------
    solution, success
        Where it is lowest, and whether the method found that.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> x, a = pt.dscalars("x", "a")
    >>> solution, success = pt.optimize.minimize_scalar(pt.cosh(x - a), x)
    >>> phintys.function([x, a], [solution.round(6), success])(0.0, 0.5)
    [array(0.5), array(True)]
    """
    method = known_method("minimize_scalar", method, MINIMIZE_SCALAR)
    system = _System(objective, x, "minimize_scalar", is_scalar=True)
    _check_objective(system)
    options = dict(optimizer_kwargs or {})
    limits = system.limits(options, bracket=bracket, bounds=bounds)
    algorithm = ScalarMinimization(method, options)
    return system.solved([system.objective], algorithm, minimizes=True, limits=limits)


class _System:
    """An objective, or equations, of one variable: a vector of all elements, or a number.

    Parameters
    ----------
    objective
        The objective, or the equations.
    variables
        The variable, or a tree of variables.
    what
        The name of the function, for messages and of the Op.
    is_scalar
        Whether there is one variable, of rank 0.
    """

    def __init__(self, objective: Any, variables: Any, what: str, is_scalar: bool = False) -> None:
        self._what = what
        leaves = tree.leaves(variables)
        for path, leaf in tree.leaves_with_paths(variables):
            self._check_variable(path, leaf, is_scalar)
        self.objective: Any = as_tensor_variable(objective)
        if set(leaves).isdisjoint(ancestors([self.objective])):
            msg = (
                f"{what}: {self.objective} does not depend on {', '.join(map(str, leaves))}, which "
                "the search would change. Pass the very variables that it was built from."
            )
            raise ArgumentError(msg)
        if is_scalar or (len(leaves) == 1 and leaves[0].ndim == 1):
            self.x, self._start = leaves[0].type("x"), leaves[0]
            self._unravel = tree.flatten(variables)[1]
            replaced = {leaves[0]: self.x}
        else:
            self._start, unravel = tree.ravel(variables)
            self.x = self._start.type("x")
            self._unravel = lambda found: unravel(found[0])
            replaced = dict(zip(leaves, tree.leaves(unravel(self.x)), strict=True))
        self.objective = clone_replace(self.objective, replaced)
        if is_scalar and self.objective.ndim:
            msg = f"{what}: expected an expression of rank 0, got {self.objective.type}."
            raise ArgumentError(msg)

    def _check_variable(self, path: str, leaf: Any, is_scalar: bool) -> None:
        kind: Any = leaf.type if isinstance(leaf, Variable) else type(leaf).__name__
        is_real = getattr(kind, "dtype", None) in ("float32", "float64")
        if is_real and not (is_scalar and kind.ndim):
            return
        rank = "of rank 0 and " if is_scalar else ""
        msg = (
            f"{self._what}: what is found is a variable {rank}of a real floating dtype, got "
            f"{leaf!r} of type {kind}{f' at {path}' if path else ''}."
        )
        raise ArgumentError(msg)

    def limits(self, options: Mapping[str, Any], **given: Any) -> dict[str, Any]:
        """Return the limits of the search that are given, as vectors."""
        found: dict[str, Any] = {}
        for name, ends in given.items():
            if ends is None:
                continue
            if name in options:
                msg = f"{self._what}: {name} is given twice, also in optimizer_kwargs."
                raise ArgumentError(msg)
            found[name] = as_tensor_variable(ends).astype(self.x.dtype)
            if found[name].ndim != 1:
                msg = f"{self._what}: {name} is a vector of points, got {found[name].type}."
                raise ArgumentError(msg)
        return found

    def solved(
        self,
        outputs: list[Any],
        algorithm: Algorithm,
        minimizes: bool,
        limits: Mapping[str, Any] | None = None,
    ) -> tuple[Any, Any]:
        """Return the solution in the form of the variables, and whether the algorithm converged."""
        solution, success = apply_solver(
            outputs, self.x, self._start, algorithm, self._what, minimizes, limits
        )
        return self._unravel([solution]), success


def _check_objective(system: _System) -> None:
    if system.objective.ndim:
        msg = f"An objective is a number, of rank 0; got {system.objective.type}."
        raise ArgumentError(msg)
