"""A cost over a tree of parameters, as compiled functions of one vector."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from phintys import tensor as pt
from phintys import tree
from phintys._base.errors import ArgumentError, add_note
from phintys._base.late import LateModule
from phintys._base.nested_containers import forms_of, matched
from phintys.compile.build import function
from phintys.gradient.jacobians import hessian, hessian_vector_product
from phintys.gradient.patterns.compressed import compressed_hessian
from phintys.gradient.reverse import grad
from phintys.graph.cloning import clone_replace
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.variable import Variable
from phintys.tensor.type import TensorType

scipy_optimize: Any = LateModule("scipy.optimize")


class Problem:
    """A cost over one vector of float64, the elements of all parameters."""

    def __init__(
        self,
        cost: Any,
        params: Any,
        start: Any,
        data: dict[Any, Any],
        mode: Any,
        called: str = "minimize",
    ) -> None:
        self._called = called
        variables = _checked_variables(params, called)
        self._params, self._variables = params, variables
        self._first = _checked_start(params, variables, start, called)
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

    def sparse_hessian(self) -> Callable[[Any], Any]:
        """Return the function of the Hessian as a sparse matrix."""
        found = compressed_hessian(self._cost, self.theta, self.sizes)
        elements = self.compiled([self.theta], found.data)
        return lambda at: found.matrix(elements(at))

    @property
    def sizes(self) -> dict[Any, tuple[int, ...]]:
        """The shapes of the values of other inputs, which sparse matrices are made for."""
        return {
            variable: np.shape(value)
            for variable, value in self._data.items()
            if isinstance(variable.type, TensorType)
        }

    def compiled(self, inputs: list[Any], outputs: Any) -> Callable[..., Any]:
        """Return a function that knows the values of all other inputs."""
        compiled: Any = function(
            [*inputs, *self._data], outputs, mode=self._mode, on_unused_input="ignore"
        )
        return lambda *given: compiled(*given, *self._data.values())

    def at(self, start: Any) -> Any:
        """Return the vector of a start, by default of the first one."""
        if start is None:
            return self.start
        given = _checked_start(self._params, self._variables, start, self._called)
        shapes, first = (
            [np.shape(leaf) for leaf in tree.leaves(one)] for one in (given, self._first)
        )
        if shapes != first:
            msg = (
                f"Minimizer: a start has the shapes {shapes}, and it was compiled for {first}. "
                "Make another one for other shapes."
            )
            raise ArgumentError(msg)
        return tree.ravel(given)[0].astype("float64")

    @contextmanager
    def of(self, givens: Mapping[Any, Any] | None) -> Generator[None]:
        """Use other values of inputs within a ``with`` block."""
        former = self._data
        unknown = [one for one in givens or () if one not in former]
        if unknown:
            msg = (
                f"Minimizer: {unknown[0]} was not among the givens that it was made with, which "
                f"are {', '.join(map(str, former)) or '(none)'}."
            )
            raise ArgumentError(msg)
        self._data = {**former, **(givens or {})}
        try:
            yield
        finally:
            self._data = former

    def unravel(self, values: Any) -> Any:
        """Return the tree of parameters with the elements of a vector."""
        found, build = tree.flatten(self._unravel(values))
        arrays = [np.asarray(one, dtype) for one, dtype in zip(found, self._dtypes, strict=True)]
        return build(arrays)

    def bounds(self, given: Any) -> Any:
        """Return SciPy's form of bounds."""
        if given is None:
            return None
        if isinstance(given, scipy_optimize.Bounds):
            given = tuple(_of_single(side) for side in (given.lb, given.ub))
        if not isinstance(given, list | tuple) or len(given) != 2 or _are_intervals(given):
            msg = (
                f"{self._called}: bounds is a pair of trees, (lowest, highest), got {given!r}. "
                "From SciPy's pairs for each element, write tuple(zip(*bounds))."
            )
            raise ArgumentError(msg)
        sides = zip(given, (-np.inf, np.inf), strict=True)
        return scipy_optimize.Bounds(*(self._side(one, nothing) for one, nothing in sides))

    def _side(self, given: Any, nothing: float) -> Any:
        found = matched(given, self._params, of_arrays=True)
        if found is None:
            expected, got = forms_of(self._params, given)
            msg = (
                f"{self._called}: each of bounds must have the form of params: expected "
                f"{expected}, got {got}."
            )
            raise ArgumentError(msg)
        shapes = [np.shape(leaf) for leaf in tree.leaves(self._first)]
        filled = [nothing if one is None else one for one in found]
        parts = map(np.broadcast_to, filled, shapes)
        return np.concatenate([part.ravel() for part in parts])


def _of_single(side: Any) -> Any:
    """Return one side of SciPy's bounds, which has made an array of a number."""
    return side[0] if np.shape(side) == (1,) else side


def _are_intervals(given: Any) -> bool:
    """Return whether bounds are a list of tuples: SciPy's, of two elements, could be both."""
    return isinstance(given, list) and all(isinstance(one, tuple) for one in given)


def _checked_variables(params: Any, called: str) -> list[Any]:
    for path, leaf in tree.leaves_with_paths(params):
        dtype = getattr(leaf, "dtype", None) if isinstance(leaf, Variable) else None
        if dtype not in ("float32", "float64"):
            kind = getattr(leaf, "type", type(leaf).__name__)
            msg = (
                f"{called}: params{path} is not a variable of a real floating dtype, but {leaf!r} "
                f"of type {kind}."
            )
            raise ArgumentError(msg)
    return tree.leaves(params)


def _checked_start(params: Any, variables: list[Any], start: Any, called: str) -> Any:
    """Return the tree of arrays to begin at."""
    if start is None:
        for variable in variables:
            if not isinstance(variable, SharedVariable):
                msg = (
                    f"{called}: {variable} is not a shared variable, so start must say where to "
                    "begin."
                )
                raise ArgumentError(msg)
        return tree.map(lambda variable: variable.get_value(), params)
    given = matched(start, params, of_arrays=True)
    if given is None:
        expected, got = forms_of(params, start)
        msg = f"{called}: start must have the form of params: expected {expected}, got {got}."
        raise ArgumentError(msg)
    _, build = tree.flatten(params)
    pairs = zip(variables, given, strict=True)
    return build([_first_value(one, value, called) for one, value in pairs])


def _first_value(variable: Any, value: Any, called: str) -> Any:
    """Return an array to begin at, in the type of its variable; it may be rounded."""
    try:
        return variable.type.filter(value, allow_downcast=True)
    except Exception as error:
        add_note(error, f"{called}: start has this value for {variable} of type {variable.type}.")
        raise
