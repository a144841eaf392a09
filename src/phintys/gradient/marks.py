"""Marks on a graph that change gradients but not values.

Each is an Op that returns its input, so it can be applied to a variable of any Type. The compiler
removes them once the gradients have been built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np

from phintys._base.errors import GradientError, TypeContractError
from phintys.gradient.arithmetic import zero_like
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type, grad_undefined
from phintys.graph.variable import Variable
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.shape_rules import KeepsShape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorMethods, TensorVariable

    Number = complex | np.ndarray[Any, Any] | np.generic


class GradientMark(KeepsShape):
    """Base class of Ops that return their input; subclasses define its gradient."""

    __props__ = ()
    view_map: ClassVar[dict[int, list[int]]] = {0: [0]}

    @property
    def is_identity(self) -> bool:
        """Whether the Op does nothing else, so that it need not run."""
        return type(self).perform is GradientMark.perform

    def make_node(self, x: Any) -> Apply:
        """Apply to a variable of any Type, or to a value that can be converted to a tensor."""
        x = x if isinstance(x, Variable) else as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Return the value unchanged."""
        output_storage[0][0] = inputs[0]


class ZeroGrad(GradientMark):
    """See :func:`zero_grad`."""

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return zeros."""
        return [zero_like(inputs[0])]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return zeros."""
        return [None if eval_points[0] is None else zero_like(inputs[0])]


class ConsiderConstant(ZeroGrad):
    """See :func:`consider_constant`."""


class DisconnectedGrad(GradientMark):
    """See :func:`disconnected_grad`."""

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Report that the input is not connected to the output."""
        return [[False]]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return a disconnected gradient."""
        return [disconnected_type()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return no tangent."""
        return [None]


class UndefinedGrad(GradientMark):
    """See :func:`undefined_grad`."""

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return a null gradient."""
        return [grad_undefined(self, 0, inputs[0], "it was marked so with undefined_grad")]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return a null tangent."""
        return [grad_undefined(self, 0, inputs[0], "it was marked so with undefined_grad")]


class GradClip(GradientMark):
    """See :func:`grad_clip`."""

    __props__ = ("clip_lower_bound", "clip_upper_bound")

    def __init__(self, clip_lower_bound: float, clip_upper_bound: float) -> None:
        if not clip_lower_bound <= clip_upper_bound:
            msg = (
                f"grad_clip needs a lower bound that is not above the upper one, got "
                f"{clip_lower_bound!r} and {clip_upper_bound!r}."
            )
            raise GradientError(msg)
        self.clip_lower_bound = clip_lower_bound
        self.clip_upper_bound = clip_upper_bound

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Clip the gradient."""
        return [output_grads[0].clip(self.clip_lower_bound, self.clip_upper_bound)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return the tangent unchanged: the mark is on gradients, and clipping has no transpose."""
        return [eval_points[0]]


class GradScale(GradientMark):
    """See :func:`grad_scale`."""

    __props__ = ("multiplier",)

    def __init__(self, multiplier: float) -> None:
        self.multiplier = multiplier

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Multiply the gradient."""
        return [output_grads[0] * self.multiplier]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Multiply the tangent, as the transpose of a multiplication does."""
        return [None if eval_points[0] is None else eval_points[0] * self.multiplier]


zero_grad_ = ZeroGrad()
_consider_constant = ConsiderConstant()
disconnected_grad_ = DisconnectedGrad()
undefined_grad_ = UndefinedGrad()


@overload
def consider_constant(x: TensorMethods | Number) -> TensorVariable: ...
@overload
def consider_constant(x: Any) -> Any: ...
def consider_constant(x: Any) -> Any:
    """Return ``x`` treated as a constant: gradients through it are zero.

    Parameters
    ----------
    x
        A variable of any Type, or a value.

    See Also
    --------
    zero_grad : the same under another name.
    disconnected_grad : makes it an error to request a gradient that flows only through it.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.gradient import consider_constant
    >>> x = pt.dscalar("x")
    >>> float(phintys.grad(x * consider_constant(x), x).eval({x: 3.0}))
    3.0
    """
    return _consider_constant(x)


@overload
def zero_grad(x: TensorMethods | Number) -> TensorVariable: ...
@overload
def zero_grad(x: Any) -> Any: ...
def zero_grad(x: Any) -> Any:
    """Return ``x`` with a zero gradient.

    Parameters
    ----------
    x
        A variable of any Type, or a value.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.gradient import zero_grad
    >>> x = pt.dscalar("x")
    >>> float(phintys.grad(zero_grad(x**2), x).eval())
    0.0
    """
    return zero_grad_(x)


@overload
def disconnected_grad(x: TensorMethods | Number) -> TensorVariable: ...
@overload
def disconnected_grad(x: Any) -> Any: ...
def disconnected_grad(x: Any) -> Any:
    """Return ``x``, through which no gradient flows.

    Unlike with :func:`zero_grad`, the variables behind it count as disconnected, so a gradient that
    would flow only through it raises ``DisconnectedInputError`` (see ``disconnected_inputs`` of
    :func:`~phintys.grad`).

    Parameters
    ----------
    x
        A variable of any Type, or a value.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.gradient import disconnected_grad
    >>> x = pt.dscalar("x")
    >>> float(phintys.grad(x * disconnected_grad(x), x).eval({x: 3.0}))
    3.0
    """
    return disconnected_grad_(x)


@overload
def undefined_grad(x: TensorMethods | Number) -> TensorVariable: ...
@overload
def undefined_grad(x: Any) -> Any: ...
def undefined_grad(x: Any) -> Any:
    """Return ``x`` with an undefined gradient, so that requesting it is an error.

    Parameters
    ----------
    x
        A variable of any Type, or a value.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.gradient import NullGradientError, undefined_grad
    >>> x = pt.dscalar("x")
    >>> try:
    ...     phintys.grad(undefined_grad(x), x)
    ... except NullGradientError:
    ...     print("refused")
    refused
    """
    return undefined_grad_(x)


@overload
def grad_clip(
    x: TensorMethods | Number, lower_bound: float, upper_bound: float
) -> TensorVariable: ...
@overload
def grad_clip(x: Any, lower_bound: float, upper_bound: float) -> Any: ...
def grad_clip(x: Any, lower_bound: float, upper_bound: float) -> Any:
    """Return ``x``, clipping each element of its gradient.

    Parameters
    ----------
    x
        A variable, or a value.
    lower_bound, upper_bound
        The bounds to which the elements of the gradient are clipped.

    Raises
    ------
    GradientError
        The lower bound is above the upper bound.

    Notes
    -----
    The R-operator passes tangents unclipped: clipping is not linear, so it has no transpose.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.gradient import grad_clip
    >>> x = pt.dscalar("x")
    >>> float(phintys.grad(grad_clip(x, -1, 1) ** 2, x).eval({x: 3.0}))
    1.0
    """
    return GradClip(_number("lower_bound", lower_bound), _number("upper_bound", upper_bound))(x)


@overload
def grad_scale(x: TensorMethods | Number, multiplier: float) -> TensorVariable: ...
@overload
def grad_scale(x: Any, multiplier: float) -> Any: ...
def grad_scale(x: Any, multiplier: float) -> Any:
    """Return ``x``, multiplying its gradient by a number.

    Parameters
    ----------
    x
        A variable, or a value.
    multiplier
        The factor; -1 reverses the gradient, as in adversarial training.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.gradient import grad_scale
    >>> x = pt.dscalar("x")
    >>> float(phintys.grad(grad_scale(x, -1) ** 2, x).eval({x: 3.0}))
    -6.0
    """
    return GradScale(_number("multiplier", multiplier))(x)


def _number(name: str, given: Any) -> float:
    try:
        return float(given)
    except (TypeError, ValueError):
        msg = f"{name} must be a number, got {given!r} of type {type(given).__name__}."
        raise TypeContractError(msg) from None
