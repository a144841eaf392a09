"""ImplicitSolution: an Op whose output solves equations, or minimizes, by algorithms of SciPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.caches import kept_property
from phintys._base.late import LateModule
from phintys._base.records import record
from phintys.gradient.forward import Rop
from phintys.gradient.jacobians import jacobian
from phintys.gradient.paths import connections
from phintys.gradient.reverse import Lop, grad
from phintys.graph.apply import Apply
from phintys.graph.cloning import clone_get_equiv
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.inner import HasInnerGraph
from phintys.graph.null_type import DisconnectedType, disconnected_type
from phintys.graph.op import Op
from phintys.graph.traversal import graph_inputs
from phintys.graph.variable import Constant, Variable
from phintys.tensor.linear_algebra.solving import solve
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from phintys.graph.inner import InnerProgram


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
            function, start, method=self.method, jac=self.jac or None, **self.options
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
        parts: dict[str, Any] = {"jac": self.jac or None}
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


class ImplicitSolution(HasInnerGraph, Op):
    """Find the point where equations hold, or where an objective is lowest.

    The inputs are the point to begin at, of rank 0 or 1, what else the inner graph depends on, and
    the limits of the search; the outputs are the solution, and whether the algorithm reached its
    goal.

    The derivative of the solution ``x`` of ``F(x, p) = 0`` by the parameters is
    ``-(dF/dx)**-1 dF/dp``, by the implicit function theorem; it does not depend on the algorithm,
    on the point where it begins, or on limits. For an objective, F is its gradient.

    Parameters
    ----------
    fgraph
        From the inputs to what the algorithm evaluates: the equations, or the objective, first.
    algorithm
        What finds the solution.
    name
        The name of the function that made the Op.
    minimizes
        Whether the first inner output is an objective.
    limits
        The names by which the algorithm is given the last inputs, which are vectors.
    """

    def __init__(
        self,
        fgraph: FunctionGraph,
        algorithm: Algorithm,
        name: str,
        minimizes: bool,
        limits: Sequence[str] = (),
    ) -> None:
        self.fgraph = fgraph
        self.algorithm = algorithm
        self.name = name
        self.minimizes = minimizes
        self.limits = tuple(limits)

    def __str__(self) -> str:
        return self.name

    def with_inner(self, fgraph: FunctionGraph) -> ImplicitSolution:
        """Return an Op like this one with another graph."""
        return ImplicitSolution(fgraph, self.algorithm, self.name, self.minimizes, self.limits)

    def make_node(self, start: Any, *others: Any) -> Apply:
        """Apply to a starting point, the parameters, and the limits."""
        types: list[Any] = [inner.type for inner in self.fgraph.inputs]
        types += [TensorType(types[0].dtype, (None,)) for _ in self.limits]
        inputs = [
            type_.filter_variable(given)
            for type_, given in zip(types, (start, *others), strict=True)
        ]
        return Apply(self, inputs, [inputs[0].type(), TensorType("bool", ())()])

    def perform_with(
        self,
        program: InnerProgram,
        node: Apply,
        inputs: Sequence[Any],
        output_storage: Sequence[list[Any]],
    ) -> None:
        """Run the algorithm."""
        start, *others = inputs
        count = len(others) - len(self.limits)
        parameters = others[:count]
        limits = dict(zip(self.limits, map(tuple, others[count:]), strict=True))
        type_: Any = node.outputs[0].type

        def evaluate(point: Any) -> Any:
            at = np.asarray(point, type_.dtype).reshape(start.shape)
            results = program([at, *parameters])
            return results[0] if len(results) == 1 else tuple(results)

        solution, success = self.algorithm(evaluate, start, **limits)
        output_storage[0][0] = np.array(solution, type_.dtype).reshape(start.shape)
        output_storage[1][0] = np.array(bool(success))

    def infer_shape(self, fgraph: Any, node: Apply, input_shapes: Sequence[Any]) -> list[Any]:
        """Return the shape of the point, and that of a truth value."""
        return [input_shapes[0], ()]

    # ---- derivatives ---------------------------------------------------------------------------

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return ``[input][output] -> bool``."""
        return [[connected, False] for connected in self._reached]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return the gradients by the implicit function theorem."""
        if isinstance(output_grads[0].type, DisconnectedType):
            return [disconnected_type() for _ in inputs]
        reached = [position for position, row in enumerate(self._reached) if row]
        at_solution = [outputs[0], *inputs[1 : len(self.fgraph.inputs)]]
        equations, slope = self._equations()
        multipliers = equations.type("multipliers")
        wrt = [self.fgraph.inputs[position] for position in reached]
        pulled = Lop(equations, wrt, multipliers, disconnected_inputs="ignore")
        (slope,) = self._at([slope], at_solution)
        values = -solve(slope.T, output_grads[0].reshape((-1,)))
        found: list[Any] = [disconnected_type() for _ in inputs]
        gradients = self._at(pulled, at_solution, {multipliers: values})
        for position, gradient in zip(reached, gradients, strict=True):
            found[position] = gradient
        return found

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return the derivative in the direction of tangents of the parameters."""
        moved = [
            position
            for position, tangent in enumerate(eval_points)
            if tangent is not None and self._reached[position]
        ]
        if not moved:
            return [None, None]
        solution = self(*inputs)[0]
        at_solution = [solution, *inputs[1 : len(self.fgraph.inputs)]]
        equations, slope = self._equations()
        tangents = {eval_points[position].type(): eval_points[position] for position in moved}
        change = Rop(
            equations, [self.fgraph.inputs[position] for position in moved], list(tangents)
        )
        slope, change = self._at([slope, change], at_solution, tangents)
        return [-solve(slope, change).reshape(solution.shape), None]

    @kept_property
    def _reached(self) -> list[bool]:
        """Which inputs the equations depend on, other than the starting point."""
        inner = (row[0] for row in connections(self.fgraph)[1:])
        return [False, *inner, *(False for _ in self.limits)]

    def _equations(self) -> tuple[Any, Any]:
        """Return the equations of the inner graph, as a vector, and their Jacobian."""
        found: Any = self.fgraph.outputs[0]
        x: Any = self.fgraph.inputs[0]
        if self.minimizes:
            found = grad(found, x)
        equations = found.reshape((-1,))
        slope: Any = jacobian(equations, x, disconnected_inputs="ignore")
        return equations, slope.reshape((equations.shape[0], equations.shape[0]))

    def _at(
        self,
        expressions: Sequence[Any],
        inputs: Sequence[Any],
        further: Mapping[Any, Any] | None = None,
    ) -> list[Any]:
        """Return expressions of the inner graph, applied to other inputs."""
        memo: dict[Any, Any] = dict(zip(self.fgraph.inputs, inputs, strict=True))
        equiv = clone_get_equiv(
            (), expressions, copy_orphans=False, memo={**memo, **(further or {})}
        )
        return [equiv[expression] for expression in expressions]


def apply_solver(
    outputs: Sequence[Variable],
    x: Variable,
    start: Variable,
    algorithm: Algorithm,
    name: str,
    minimizes: bool,
    limits: Mapping[str, Variable] | None = None,
) -> list[Variable]:
    """Return the solution, and whether the algorithm converged.

    Parameters
    ----------
    outputs
        What the algorithm evaluates.
    x
        The variable that is found, a leaf of the outputs.
    start
        The point to begin at.
    algorithm, name, minimizes
        As for :class:`ImplicitSolution`.
    limits
        The limits of the search, by name.
    """
    limits = limits or {}
    leaves = dict.fromkeys(
        leaf for leaf in graph_inputs(outputs) if not isinstance(leaf, Constant) and leaf is not x
    )
    memo: dict[Any, Any] = {one: one.type.make_variable(one.name) for one in (x, *leaves)}
    inner = list(memo.values())
    equiv = clone_get_equiv((), outputs, copy_orphans=False, memo=memo)
    fgraph = FunctionGraph(inner, [equiv[output] for output in outputs], clone=False)
    op = ImplicitSolution(fgraph, algorithm, name, minimizes, tuple(limits))
    return op(start, *leaves, *limits.values(), return_list=True)
