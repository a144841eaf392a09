"""Reverse-mode gradients: ``grad`` and ``Lop``."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack, overload

from phintys._base.errors import GradientError, NullGradientError
from phintys._base.origin import inherit_origin
from phintys.gradient.arguments import (
    check_choice,
    check_point,
    check_points,
    check_variable,
    unpack,
    variables_in,
)
from phintys.gradient.arithmetic import is_complex, is_discrete, one_like, zero_like
from phintys.gradient.paths import explain_disconnection
from phintys.gradient.pullback import pull_back
from phintys.graph.null_type import DisconnectedType, NullType, disconnected_type
from phintys.graph.sources import note_sources
from phintys.graph.traversal import toposort
from phintys.graph.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from phintys.gradient.pullback import Gradients
    from phintys.tensor.variable import TensorMethods, TensorVariable

    T = TypeVar("T", bound=TensorMethods)
    K = TypeVar("K")
    Policy = Literal["raise", "warn", "ignore"]

    class GradOptions(TypedDict, total=False):
        """The remaining options of :func:`grad`."""

        add_names: bool
        known_grads: Mapping[Variable, Any] | None
        return_disconnected: Literal["zero", "none", "disconnected"]
        null_gradients: Literal["raise", "return"]


POLICIES = ("raise", "warn", "ignore")


@overload
def grad(
    cost: Variable | None,
    wrt: TensorMethods,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
    **options: Unpack[GradOptions],
) -> TensorVariable: ...
@overload
def grad(
    cost: Variable | None,
    wrt: list[T],
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
    **options: Unpack[GradOptions],
) -> list[TensorVariable]: ...
@overload
def grad(
    cost: Variable | None,
    wrt: tuple[TensorMethods, ...],
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
    **options: Unpack[GradOptions],
) -> tuple[TensorVariable, ...]: ...
@overload
def grad(
    cost: Variable | None,
    wrt: dict[K, T],
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
    **options: Unpack[GradOptions],
) -> dict[K, TensorVariable]: ...
@overload
def grad(
    cost: Variable | None,
    wrt: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
    **options: Unpack[GradOptions],
) -> Any: ...
def grad(
    cost: Variable | None,
    wrt: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
    add_names: bool = True,
    known_grads: Mapping[Variable, Any] | None = None,
    return_disconnected: Literal["zero", "none", "disconnected"] = "zero",
    null_gradients: Literal["raise", "return"] = "raise",
) -> Any:
    """Return the gradient of a scalar with respect to one or more variables.

    Parameters
    ----------
    cost
        A real scalar: a 0-d variable of a floating dtype. ``None`` if ``known_grads`` says where
        gradients start.
    wrt
        A variable, or a nest of them: lists, tuples, dicts and dataclasses of any depth. They can
        be inputs or intermediate results, and can be repeated.
    consider_constant
        Expressions through which no gradient flows. One that is itself in ``wrt`` still gets its
        gradient.
    disconnected_inputs
        What to do if the cost does not depend on one of ``wrt``: ``"raise"`` an error, ``"warn"``,
        or ``"ignore"``.
    add_names
        Name the results ``(dcost/dx)`` where both have a name.
    known_grads
        Variable -> its gradient, used instead of the one that would be computed.
    return_disconnected
        The gradient of a variable that the cost does not depend on: ``"zero"``, an array of zeros;
        ``"none"``; or ``"disconnected"``, a variable of ``DisconnectedType``.
    null_gradients
        Whether a gradient that is undefined or not implemented is an error (``"raise"``) or a
        result of ``NullType`` (``"return"``).

    Returns
    -------
    Variable, or a nest of them of the form of ``wrt``
        Of the shapes of ``wrt``, and of their dtypes if these are floating or complex; for
        integers the gradients have a floating dtype.

    Raises
    ------
    GradientError
        The cost is not a real scalar, or an argument is invalid.
    DisconnectedInputError
        The cost does not depend on a variable in ``wrt``.
    NullGradientError
        A gradient is undefined or not implemented.

    Notes
    -----
    For complex ``z = a + ib`` the gradient is ``dC/da + i dC/db``, the direction in which a real
    cost C rises fastest. For a holomorphic function ``w = f(z)`` it is the gradient with respect
    to w, times the conjugate of ``f'(z)``.

    The derivative of a step function, such as anything of integer dtype, is zero almost everywhere.
    So the gradient with respect to a float that was cast to an integer is zero; with respect to
    an integer that was cast to a float it is the gradient with respect to the float.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> x = pt.dvector("x")
    >>> cost = (x**2).sum()
    >>> phintys.grad(cost, x).eval({x: [1.0, 2.0, 3.0]})
    array([2., 4., 6.])
    """
    check_choice("disconnected_inputs", disconnected_inputs, POLICIES)
    check_choice("return_disconnected", return_disconnected, ("zero", "none", "disconnected"))
    check_choice("null_gradients", null_gradients, ("raise", "return"))
    targets, pack = unpack(wrt, "wrt")
    blocked = set(variables_in(consider_constant, "consider_constant"))
    fixed = _check_known(known_grads)
    seeds: list[tuple[Variable, Variable]] = []
    if cost is not None:
        _check_cost(cost)
        with inherit_origin(cost.origin):
            seeds.append((cost, one_like(cost)))
    elif not fixed:
        msg = "Nothing to differentiate: cost is None and there are no known_grads."
        raise GradientError(msg)
    gradients = pull_back(seeds, targets, blocked, fixed)
    starts = [*(variable for variable, _ in seeds), *fixed]

    def disconnected(variable: Variable) -> Variable | None:
        _apply_policy(
            disconnected_inputs,
            lambda: explain_disconnection(variable, starts, blocked, gradients.cuts),
        )
        if return_disconnected == "zero":
            return zero_like(variable)
        return None if return_disconnected == "none" else disconnected_type()

    results = _results(gradients, targets, disconnected, null_gradients == "return", cost)
    if add_names and cost is not None and cost.name:
        _name(results, targets, cost)
    return pack(results)


def _check_cost(cost: Any) -> None:
    check_variable(cost, "The cost")
    type_ = cost.type
    if isinstance(type_, NullType):
        msg = f"The cost {cost} is undefined: {type_.why_null}."
        raise NullGradientError(msg)
    if isinstance(type_, DisconnectedType):
        msg = f"The cost {cost} is a disconnected gradient: it depends on nothing."
        raise GradientError(msg)
    if getattr(type_, "ndim", 0):
        msg = (
            f"The cost must be a scalar, a variable of rank 0; got {cost} of type {type_}. "
            "Reduce it with cost.sum() or cost.mean(); for all derivatives of a vector use "
            f"jacobian, for the product of a vector with them use Lop.{_made(cost)}"
        )
        raise GradientError(msg)
    if is_discrete(type_):
        msg = (
            f"The cost must be of a floating dtype, got {cost} of type {type_}. A small change "
            "of anything leaves an integer as it is, so its derivatives are zero. Cast it "
            f"(cost.astype('floatX')) if zeros are what you want.{_made(cost)}"
        )
        raise GradientError(msg)
    if is_complex(type_):
        msg = (
            f"The cost must be real, got {cost} of type {type_}. Take cost.real, cost.imag or "
            f"abs(cost); only a real number has a direction in which it rises fastest.{_made(cost)}"
        )
        raise GradientError(msg)


def _made(cost: Any) -> str:
    """Return the line of an error that says where the cost was made."""
    return f"\nThe cost was made at\n  {cost.origin}" if cost.origin else ""


def _check_known(known_grads: Any) -> dict[Variable, Variable]:
    if known_grads is None:
        return {}
    if not isinstance(known_grads, Mapping):
        msg = (
            "known_grads must be a dict from variables to their gradients, got "
            f"{known_grads!r} of type {type(known_grads).__name__}."
        )
        raise GradientError(msg)
    return {
        check_variable(variable, "Each key of known_grads"): check_point(
            variable, gradient, f"known_grads[{variable}]"
        )
        for variable, gradient in known_grads.items()
    }


def _apply_policy(policy: str, make_error: Callable[[], Exception]) -> None:
    """Raise, warn or do nothing."""
    if policy == "raise":
        raise make_error()
    if policy == "warn":
        warnings.warn(str(make_error()), UserWarning, stacklevel=5)


def _results(
    gradients: Gradients,
    targets: Sequence[Variable],
    disconnected: Callable[[Variable], Variable | None],
    return_null: bool,
    cost: Variable | None,
) -> list[Variable | None]:
    """Return the gradient of each target, once for each distinct one."""
    found: dict[Variable, Variable | None] = {}
    for variable in targets:
        if variable in found:
            continue
        gradient = gradients.value(variable)
        if gradient is None:
            gradient = disconnected(variable)
        elif isinstance(gradient.type, NullType) and not return_null:
            raise _null_error(gradient, variable, gradients, cost)
        # A gradient given by the user can be part of the cost; it is not new.
        if gradient is not None and cost is not None and not gradients.fixed:
            note_sources(gradient, [cost, variable])
        found[variable] = gradient
    return [found[variable] for variable in targets]


def _null_error(
    gradient: Any, variable: Variable, gradients: Gradients, cost: Variable | None
) -> NullGradientError:
    node = gradients.blame.get(gradient)
    where = "" if node is None else f"\n{node.op} was applied at\n  {node.origin}"
    of = "" if cost is None else f" of {cost}"
    return NullGradientError(
        f"The gradient{of} with respect to {variable} (type {variable.type}) does not exist: "
        f"{gradient.type.why_null}.{where}\nIf no gradient should flow there, wrap the "
        "expression in phintys.gradient.disconnected_grad or list it in consider_constant; "
        "null_gradients='return' returns such gradients instead of raising."
    )


def _name(
    results: Sequence[Variable | None],
    targets: Sequence[Variable],
    cost: Variable,
) -> None:
    """Name gradients that are not part of the user's own graph."""
    pairs = [
        (gradient, variable)
        for gradient, variable in zip(results, targets, strict=True)
        if gradient is not None and gradient.name is None and gradient.owner and variable.name
    ]
    theirs = set(toposort([cost])) if pairs else set()
    for gradient, variable in pairs:
        if gradient.owner not in theirs:
            gradient.name = f"(d{cost.name}/d{variable.name})"


@overload
def Lop(
    f: Any,
    wrt: TensorMethods,
    eval_points: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
) -> TensorVariable: ...
@overload
def Lop(
    f: Any,
    wrt: list[T],
    eval_points: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
) -> list[TensorVariable]: ...
@overload
def Lop(
    f: Any,
    wrt: tuple[TensorMethods, ...],
    eval_points: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
) -> tuple[TensorVariable, ...]: ...
@overload
def Lop(
    f: Any,
    wrt: dict[K, T],
    eval_points: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
) -> dict[K, TensorVariable]: ...
@overload
def Lop(
    f: Any,
    wrt: Any,
    eval_points: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
) -> Any: ...
def Lop(
    f: Any,
    wrt: Any,
    eval_points: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
) -> Any:
    """Return the L-operator: a vector times the Jacobian of ``f`` with respect to ``wrt``.

    Parameters
    ----------
    f
        A variable, or a list or tuple of variables, of any shapes.
    wrt
        A variable, or a list, tuple or dict of variables.
    eval_points
        The vector: one variable or value for each of ``f``, of its shape. ``None`` means zero.
    consider_constant
        Expressions through which no gradient flows.
    disconnected_inputs
        What to do if ``f`` does not depend on one of ``wrt``: ``"raise"``, ``"warn"`` or
        ``"ignore"``; with the last two, its result is zero.

    Returns
    -------
    Variable, or a list, tuple or dict of them as ``wrt``
        For each variable in ``wrt`` the sum over ``f`` of ``eval_point * df/dwrt``, of the shape
        of that variable.

    Raises
    ------
    GradientError
        The number, rank, shape or dtype of the points does not match.
    DisconnectedInputError
        ``f`` does not depend on a variable in ``wrt``.
    NullGradientError
        A gradient is undefined or not implemented.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> x, v = pt.dvectors("x", "v")
    >>> phintys.Lop(pt.exp(x), x, v).eval({x: [0.0, 0.0], v: [1.0, 2.0]})
    array([1., 2.])
    """
    check_choice("disconnected_inputs", disconnected_inputs, POLICIES)
    outputs, _ = unpack(f, "f")
    targets, pack = unpack(wrt, "wrt")
    blocked = set(variables_in(consider_constant, "consider_constant"))
    points = check_points(outputs, eval_points, "eval_points", "f")
    gradients = pull_back(
        [
            (variable, point)
            for variable, point in zip(outputs, points, strict=True)
            if point is not None
        ],
        targets,
        blocked,
    )

    def disconnected(variable: Variable) -> Variable:
        _apply_policy(
            disconnected_inputs,
            lambda: explain_disconnection(variable, outputs, blocked, gradients.cuts),
        )
        return zero_like(variable)

    return pack(_results(gradients, targets, disconnected, return_null=False, cost=None))
