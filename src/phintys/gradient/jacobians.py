"""Jacobians and Hessians."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from phintys._base.errors import GradientError
from phintys.gradient.arguments import check_points, check_variable, unpack
from phintys.gradient.arithmetic import is_complex, is_discrete
from phintys.gradient.graph_ops import graph_ops
from phintys.gradient.reverse import Lop, grad
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.gradient.reverse import Policy
    from phintys.graph.variable import Variable
    from phintys.tensor.variable import TensorMethods, TensorVariable

    T = TypeVar("T", bound=TensorMethods)
    K = TypeVar("K")


@overload
def jacobian(
    expression: Any,
    wrt: TensorMethods,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
    vectorize: bool | None = None,
) -> TensorVariable: ...
@overload
def jacobian(
    expression: Any,
    wrt: list[T],
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
    vectorize: bool | None = None,
) -> list[TensorVariable]: ...
@overload
def jacobian(
    expression: Any,
    wrt: tuple[TensorMethods, ...],
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
    vectorize: bool | None = None,
) -> tuple[TensorVariable, ...]: ...
@overload
def jacobian(
    expression: Any,
    wrt: dict[K, T],
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
    vectorize: bool | None = None,
) -> dict[K, TensorVariable]: ...
@overload
def jacobian(
    expression: Any,
    wrt: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
    vectorize: bool | None = None,
) -> Any: ...
def jacobian(
    expression: Any,
    wrt: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
    vectorize: bool | None = None,
) -> Any:
    """Return all derivatives of each element of an expression.

    Parameters
    ----------
    expression
        A tensor of any rank, of a floating dtype.
    wrt
        A tensor variable, or a list, tuple or dict of them, of any ranks.
    consider_constant
        Expressions through which no gradient flows.
    disconnected_inputs
        What to do if the expression does not depend on one of ``wrt``: ``"raise"``, ``"warn"`` or
        ``"ignore"``; with the last two, its derivatives are zeros.
    vectorize
        Whether the gradients of all elements are computed together (``True``), or one after the
        other in a loop (``False``), which needs less memory. By default it is decided by an
        estimate.

    Returns
    -------
    Variable, or a list, tuple or dict of them as ``wrt``
        Of shape ``expression.shape + wrt.shape``: element ``[i, j]`` (where ``i`` and ``j`` are
        multi-indices) is the derivative of ``expression[i]`` with respect to ``wrt[j]``.

    Raises
    ------
    GradientError
        The expression is not a real floating-point tensor.
    DisconnectedInputError
        The expression does not depend on a variable in ``wrt``.

    Notes
    -----
    The gradient of one element is built symbolically. If it contains products or loops, it is
    batched for all elements, so that products of vectors and matrices become products of matrices.
    Loops whose steps mainly read single elements of arrays, and compute with these, are not: a step
    for one element keeps such numbers in registers.
    The few elements of a small vector that is computed from single numbers are differentiated one
    by one, without a loop, so that a row has no part for what its element does not depend on.
    Otherwise, where an Op has no batched form, and where the intermediate results of all elements
    are estimated to take more than ``config.loop_megabytes`` (unknown sizes count as 100), the
    gradients are computed one after the other, in a loop. Subexpressions common to all elements are
    computed once. The run-time cost is that of as many gradients as the expression has elements:
    for a product of the Jacobian and a vector, ``Rop`` and ``Lop`` are far cheaper.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.gradient import jacobian
    >>> x = pt.dvector("x")
    >>> jacobian(x**2, x).eval({x: [1.0, 2.0]})
    array([[2., 0.],
           [0., 4.]])
    """
    targets, pack = unpack(wrt, "wrt")
    check_expression(expression)
    if not isinstance(vectorize, bool | None):
        msg = f"vectorize must be None (decided by an estimate), True or False; got {vectorize!r}."
        raise GradientError(msg)
    for variable in targets:
        check_tensor(variable, "Each variable in wrt")
    if expression.type.ndim == 0:
        return pack(
            grad(
                expression,
                targets,
                consider_constant,
                disconnected_inputs,
                add_names=False,
            )
        )
    if consider_constant is not None:
        consider_constant = list(consider_constant)  # it is read several times
    flat = expression if expression.type.ndim == 1 else expression.flatten()
    stacked = None
    if vectorize is not False:
        seed = flat.type("v")
        rows = Lop(flat, targets, seed, consider_constant, disconnected_inputs)
        stacked = graph_ops().batched_rows(expression, flat.shape[0], seed, rows, vectorize is True)
        if stacked is None:
            stacked = graph_ops().few_rows(flat, seed, rows, targets, consider_constant or ())
        if disconnected_inputs == "warn":
            disconnected_inputs = "ignore"  # there was a warning
    if stacked is None:
        index = TensorType("int64", ())("i")
        rows = grad(flat[index], targets, consider_constant, disconnected_inputs, add_names=False)
        stacked = graph_ops().stacked_rows(flat.shape[0], index, rows, targets)
    if expression.type.ndim == 1:
        return pack(stacked)
    return pack(
        [
            _reshape(rows, expression, variable)
            for rows, variable in zip(stacked, targets, strict=True)
        ]
    )


def _reshape(rows: Any, expression: Any, variable: Any) -> Any:
    shape = [
        *(expression.shape[i] for i in range(expression.type.ndim)),
        *(variable.shape[i] for i in range(variable.type.ndim)),
    ]
    return rows.reshape(shape)


def check_tensor(given: Any, what: str) -> None:
    """Raise unless something is a tensor variable."""
    check_variable(given, what)
    if not isinstance(given.type, TensorType):
        msg = f"{what} must be a tensor, got {given} of type {given.type}."
        raise GradientError(msg)


def check_expression(expression: Any) -> None:
    """Raise unless something is a real floating-point tensor variable."""
    check_tensor(expression, "The expression")
    if is_discrete(expression.type) or is_complex(expression.type):
        msg = (
            f"The expression must be of a real floating dtype, got {expression} of type "
            f"{expression.type}. Differentiate the real and the imaginary part of a complex "
            "expression one by one; the derivatives of an integer are zero."
        )
        raise GradientError(msg)


@overload
def hessian(
    cost: Variable,
    wrt: TensorMethods,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
    vectorize: bool | None = None,
) -> TensorVariable: ...
@overload
def hessian(
    cost: Variable,
    wrt: list[T],
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
    vectorize: bool | None = None,
) -> list[TensorVariable]: ...
@overload
def hessian(
    cost: Variable,
    wrt: tuple[TensorMethods, ...],
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
    vectorize: bool | None = None,
) -> tuple[TensorVariable, ...]: ...
@overload
def hessian(
    cost: Variable,
    wrt: dict[K, T],
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
    vectorize: bool | None = None,
) -> dict[K, TensorVariable]: ...
@overload
def hessian(
    cost: Variable,
    wrt: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
    vectorize: bool | None = None,
) -> Any: ...
def hessian(
    cost: Variable,
    wrt: Any,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: Policy = "raise",
    vectorize: bool | None = None,
) -> Any:
    """Return the second derivatives of a scalar with respect to one or more variables.

    Parameters
    ----------
    cost
        A real scalar.
    wrt
        A tensor variable, or a list, tuple or dict of them, of any ranks.
    consider_constant, disconnected_inputs, vectorize
        As for :func:`~phintys.gradient.jacobian`.

    Returns
    -------
    Variable, or a list, tuple or dict of them as ``wrt``
        For each variable the derivatives of its gradient with respect to the same variable, of
        shape ``wrt.shape + wrt.shape``. (For derivatives with respect to two different variables
        use ``jacobian(grad(cost, x), y)``.)

    Raises
    ------
    GradientError
        The cost is not a real scalar.
    DisconnectedInputError
        The cost does not depend on a variable in ``wrt``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.gradient import hessian
    >>> x = pt.dvector("x")
    >>> hessian((x**3).sum(), x).eval({x: [1.0, 2.0]})
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    targets, pack = unpack(wrt, "wrt")
    for variable in targets:
        check_tensor(variable, "Each variable in wrt")
    gradients = grad(cost, targets, consider_constant, disconnected_inputs, add_names=False)
    # A gradient that no longer depends on the variable belongs to a linear cost: the second
    # derivatives are zero, which is not an error.
    return pack(
        [
            jacobian(gradient, variable, consider_constant, "ignore", vectorize)
            for gradient, variable in zip(gradients, targets, strict=True)
        ]
    )


@overload
def hessian_vector_product(
    cost: Variable, wrt: TensorMethods, p: Any, **grad_options: Any
) -> TensorVariable: ...
@overload
def hessian_vector_product(
    cost: Variable, wrt: list[T], p: Any, **grad_options: Any
) -> list[TensorVariable]: ...
@overload
def hessian_vector_product(
    cost: Variable, wrt: tuple[TensorMethods, ...], p: Any, **grad_options: Any
) -> tuple[TensorVariable, ...]: ...
@overload
def hessian_vector_product(
    cost: Variable, wrt: dict[K, T], p: Any, **grad_options: Any
) -> dict[K, TensorVariable]: ...
@overload
def hessian_vector_product(cost: Variable, wrt: Any, p: Any, **grad_options: Any) -> Any: ...
def hessian_vector_product(cost: Variable, wrt: Any, p: Any, **grad_options: Any) -> Any:
    """Return the product of the Hessian of a scalar and a vector, without forming the Hessian.

    Parameters
    ----------
    cost
        A real scalar.
    wrt
        A variable, or a list, tuple or dict of variables.
    p
        The vector: one variable or value for each of ``wrt``, of its shape.
    grad_options
        Options of the gradient, such as ``consider_constant``.

    Returns
    -------
    Variable, or a list, tuple or dict of them as ``wrt``
        For each variable x in ``wrt`` the sum over all y in ``wrt`` of ``d²cost/dxdy * p_y``.

    Raises
    ------
    GradientError
        The cost is not a real scalar, or ``p`` does not match ``wrt``.
    DisconnectedInputError
        The cost does not depend on a variable in ``wrt``.

    Notes
    -----
    It is the gradient of ``<gradient, p>`` and costs about as much as two gradients
    (B. Pearlmutter, "Fast exact multiplication by the Hessian", 1994, in reverse over reverse).

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.gradient import hessian_vector_product
    >>> x, p = pt.dvectors("x", "p")
    >>> hessian_vector_product((x**3).sum(), x, p).eval({x: [1.0, 2.0], p: [1.0, 1.0]})
    array([ 6., 12.])
    """
    targets, pack = unpack(wrt, "wrt")
    points = check_points(targets, p, "p", "wrt")
    options: dict[str, Any] = {"add_names": False, **grad_options}
    gradients = grad(cost, targets, **options)
    used: Sequence[Any] = [point for point in points if point is not None]
    moved = [g for g, point in zip(gradients, points, strict=True) if point is not None]
    products = Lop(
        moved,
        targets,
        used,
        consider_constant=grad_options.get("consider_constant"),
        disconnected_inputs="ignore",
    )
    return pack(products)
