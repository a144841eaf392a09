"""``pytensor.tensor.optimize``: roots and minima inside of graphs, and the classes of their Ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.compat.old_classes import StandsFor
from phintys.control.solving import optimize
from phintys.control.solving.implicit import ImplicitSolution
from phintys.control.solving.optimize import minimize, minimize_scalar, root_scalar
from phintys.graph import clone_replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "MinimizeOp",
    "MinimizeScalarOp",
    "RootOp",
    "RootScalarOp",
    "ScipyScalarWrapperOp",
    "ScipyVectorWrapperOp",
    "ScipyWrapperOp",
    "minimize",
    "minimize_scalar",
    "root",
    "root_scalar",
]


def root(
    equations: Any,
    variables: Any,
    method: str = "hybr",
    jac: bool = True,
    use_vectorized_jac: bool = False,
    optimizer_kwargs: Mapping[str, Any] | None = None,
) -> tuple[Any, Any]:
    """Return where equations are zero, by ``phintys.control.solving.optimize.root``.

    ``use_vectorized_jac`` has no effect: Jacobians are batched where that is cheaper.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.solvers import root
    >>> x, a = pt.dvector("x"), pt.dscalar("a")
    >>> solution, success = root(x**2 - a, x, "hybr", True, False, {"tol": 1e-12})
    >>> solution.eval({x: [1.0], a: 4.0}).round(9)
    array([2.])
    """
    del use_vectorized_jac
    return optimize.root(equations, variables, method, jac, optimizer_kwargs)


class _OfSolvers(StandsFor):
    """Makes ``isinstance(op, Old)`` true for the Ops that functions of these names make."""

    names: frozenset[str]

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, ImplicitSolution) and instance.name in self.names


def _solver(name: str, functions: Mapping[str, tuple[Callable[..., Any], str]]) -> Any:
    """Return a class for the Ops that ``functions`` make, by name.

    A class of one function can be called: ``Old(x, *args, objective=..., method=...)`` is applied
    to the point to begin at, and to arguments in place of ``args``.
    """

    def construct(cls: type, x: Any, *args: Any, **options: Any) -> Any:
        if len(functions) != 1:
            msg = f"{name} is the base of classes: construct one of its subclasses."
            raise TypeError(msg)
        ((function, what),) = functions.values()
        if what not in options:
            msg = f"{name}(x, *args) must be given {what}= and an expression of x and args."
            raise TypeError(msg)
        found = function(options.pop(what), x, **options)

        def apply(start: Any, *given: Any) -> list[Any]:
            replaced = dict(zip((x, *args), (start, *given), strict=True))
            return list(clone_replace(list(found), replaced))

        return apply

    members = {
        "names": frozenset(functions),
        "core": ImplicitSolution,
        "__new__": construct,
        "__doc__": f"The Op of {', '.join(functions)}.",
        "__module__": __name__,
    }
    return _OfSolvers(name, (), members)


_OF_NUMBERS = {
    "minimize_scalar": (minimize_scalar, "objective"),
    "root_scalar": (root_scalar, "equation"),
}
_OF_VECTORS = {"minimize": (minimize, "objective"), "root": (root, "equations")}


def _only(functions: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {name: functions[name]}


MinimizeOp = _solver("MinimizeOp", _only(_OF_VECTORS, "minimize"))
MinimizeScalarOp = _solver("MinimizeScalarOp", _only(_OF_NUMBERS, "minimize_scalar"))
RootOp = _solver("RootOp", _only(_OF_VECTORS, "root"))
RootScalarOp = _solver("RootScalarOp", _only(_OF_NUMBERS, "root_scalar"))
ScipyScalarWrapperOp = _solver("ScipyScalarWrapperOp", _OF_NUMBERS)
ScipyVectorWrapperOp = _solver("ScipyVectorWrapperOp", _OF_VECTORS)
ScipyWrapperOp = _solver("ScipyWrapperOp", _OF_NUMBERS | _OF_VECTORS)
