"""Gradient-based optimisers, as dictionaries of updates.

Each function takes a cost, or its gradients, and the shared variables to optimise, and returns the
``updates`` argument of ``phintys.function``. The state that an optimiser keeps between steps is
stored in additional shared variables. All arithmetic is done in the dtype of the parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys._base.names import public_dir
from phintys.gradient import grad
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.variable import Variable
from phintys.tensor.shared_variable import TensorSharedVariable, shared_array
from phintys.tensor.type import TensorType

__all__ = ["Updates", "adagrad", "adam", "adamw", "averaged", "clip_by_norm", "momentum", "sgd"]

__dir__ = public_dir(__name__)

Updates = dict[SharedVariable, Any]
"""Shared variable -> expression for its next value."""


def sgd(cost_or_grads: Any, params: Sequence[SharedVariable], learning_rate: Any = 0.01) -> Updates:
    """Return the updates of gradient descent: ``p - learning_rate * g``.

    Parameters
    ----------
    cost_or_grads
        A scalar to minimise, or a list of gradients, one for each of ``params``, for example after
        clipping or scaling them.
    params
        The shared variables to optimise, with floating dtypes.
    learning_rate
        A number or a scalar variable; a shared variable can be changed between steps.

    Raises
    ------
    ArgumentError
        A parameter is not a shared variable with a floating dtype or occurs twice, or the number
        of gradients differs from that of the parameters.

    Notes
    -----
    H. Robbins and S. Monro, "A stochastic approximation method", 1951.

    Examples
    --------
    >>> import phintys
    >>> from phintys.contrib import sgd
    >>> w = phintys.shared([1.0, -2.0], name="w")
    >>> cost = (w**2).sum()
    >>> step = phintys.function([], cost, updates=sgd(cost, [w], learning_rate=0.25))
    >>> float(step()), float(step()), w.get_value()
    (5.0, 1.25, array([ 0.25, -0.5 ]))
    """
    return {p: p - _as(learning_rate, p) * g for p, g in _pairs("sgd", cost_or_grads, params)}


def momentum(
    cost_or_grads: Any,
    params: Sequence[SharedVariable],
    learning_rate: Any = 0.01,
    momentum: Any = 0.9,
    nesterov: bool = False,
) -> Updates:
    """Return the updates of gradient descent with momentum.

    The velocity becomes ``v = momentum * v - learning_rate * g``, and the parameter ``p + v``; with
    ``nesterov`` it becomes ``p + momentum * v - learning_rate * g`` for the new v.

    Parameters
    ----------
    cost_or_grads, params, learning_rate
        As for :func:`sgd`.
    momentum
        The factor by which the velocity decays in each step: a number or a scalar variable.
    nesterov
        Use Nesterov momentum, which treats the gradient as that at the look-ahead point.

    Notes
    -----
    B. T. Polyak, "Some methods of speeding up the convergence of iteration methods", 1964; for
    ``nesterov`` I. Sutskever et al., "On the importance of initialization and momentum in deep
    learning", 2013.

    Examples
    --------
    >>> import phintys
    >>> from phintys.contrib import momentum
    >>> w = phintys.shared(1.0, name="w")
    >>> step = phintys.function([], updates=momentum(w**2 / 2, [w], learning_rate=0.5))
    >>> for _ in range(2):
    ...     step()
    >>> round(float(w.get_value()), 10)
    -0.2
    """
    updates: Updates = {}
    for p, g in _pairs("momentum", cost_or_grads, params):
        rate, keep = _as(learning_rate, p), _as(momentum, p)
        velocity = _state(p, "velocity")
        new = keep * velocity - rate * g
        updates[velocity] = new
        updates[p] = p + keep * new - rate * g if nesterov else p + new
    return updates


def adagrad(
    cost_or_grads: Any,
    params: Sequence[SharedVariable],
    learning_rate: Any = 0.01,
    epsilon: Any = 1e-8,
) -> Updates:
    """Return the updates of AdaGrad, whose steps shrink where gradients have been large.

    The sum of squares becomes ``s = s + g**2``, and the parameter
    ``p - learning_rate * g / (sqrt(s) + epsilon)``.

    Parameters
    ----------
    cost_or_grads, params, learning_rate
        As for :func:`sgd`.
    epsilon
        Avoids division by zero: a number or a scalar variable.

    Notes
    -----
    J. Duchi, E. Hazan and Y. Singer, "Adaptive subgradient methods for online learning and
    stochastic optimization", 2011; the form with a diagonal matrix.

    Examples
    --------
    >>> import phintys
    >>> from phintys.contrib import adagrad
    >>> w = phintys.shared([1.0, 100.0], name="w")
    >>> step = phintys.function([], updates=adagrad((w**2).sum(), [w], learning_rate=0.5))
    >>> step()
    >>> w.get_value().round(6)
    array([ 0.5, 99.5])
    """
    updates: Updates = {}
    for p, g in _pairs("adagrad", cost_or_grads, params):
        squares = _state(p, "squares")
        updates[squares] = new = squares + pt.sqr(g)
        updates[p] = p - _as(learning_rate, p) * g / (pt.sqrt(new) + _as(epsilon, p))
    return updates


def adam(
    cost_or_grads: Any,
    params: Sequence[SharedVariable],
    learning_rate: Any = 0.001,
    beta1: Any = 0.9,
    beta2: Any = 0.999,
    epsilon: Any = 1e-8,
) -> Updates:
    """Return the updates of Adam, which scales steps by running means of gradients.

    At step t, counted from 1, the means become ``m = beta1 * m + (1 - beta1) * g`` and
    ``v = beta2 * v + (1 - beta2) * g**2``, and the parameter
    ``p - learning_rate * (m / (1 - beta1**t)) / (sqrt(v / (1 - beta2**t)) + epsilon)``.

    Parameters
    ----------
    cost_or_grads, params, learning_rate
        As for :func:`sgd`.
    beta1, beta2
        Decay rates of the running means: numbers or scalar variables.
    epsilon
        Avoids division by zero where gradients vanish: a number or a scalar variable.

    Notes
    -----
    D. P. Kingma and J. Ba, "Adam: a method for stochastic optimization", 2015, Algorithm 1.

    Examples
    --------
    >>> import phintys
    >>> from phintys.contrib import adam
    >>> w = phintys.shared([1.0, -100.0], name="w")
    >>> step = phintys.function([], updates=adam((w**2).sum(), [w], learning_rate=0.5))
    >>> step()
    >>> w.get_value().round(6)
    array([  0.5, -99.5])
    """
    pairs = _pairs("adam", cost_or_grads, params)
    if not pairs:
        return {}
    steps = shared_array(np.zeros((), "int64"), name="adam_steps")
    t = steps + 1
    updates: Updates = {steps: t}
    for p, g in pairs:
        first, second = _as(beta1, p), _as(beta2, p)
        mean, square = _state(p, "mean"), _state(p, "square")
        updates[mean] = m = first * mean + (1 - first) * g
        updates[square] = v = second * square + (1 - second) * pt.sqr(g)
        m = m / (1 - first ** _as(t, p))
        v = v / (1 - second ** _as(t, p))
        updates[p] = p - _as(learning_rate, p) * m / (pt.sqrt(v) + _as(epsilon, p))
    return updates


def adamw(
    cost_or_grads: Any,
    params: Sequence[SharedVariable],
    learning_rate: Any = 0.001,
    beta1: Any = 0.9,
    beta2: Any = 0.999,
    epsilon: Any = 1e-8,
    weight_decay: Any = 0.01,
) -> Updates:
    """Return the updates of AdamW: Adam with weight decay that is not scaled by the gradients.

    The parameter becomes that of :func:`adam`, less ``learning_rate * weight_decay * p``.

    Parameters
    ----------
    cost_or_grads, params, learning_rate, beta1, beta2, epsilon
        As for :func:`adam`.
    weight_decay
        A number or a scalar variable.

    Notes
    -----
    I. Loshchilov and F. Hutter, "Decoupled weight decay regularization", 2019, Algorithm 2.

    Examples
    --------
    >>> import phintys
    >>> from phintys.contrib import adamw
    >>> w = phintys.shared([1.0, -100.0], name="w")
    >>> updates = adamw((w**2).sum(), [w], learning_rate=0.5, weight_decay=0.1)
    >>> phintys.function([], updates=updates)()
    >>> w.get_value().round(6)
    array([  0.45, -94.5 ])
    """
    updates = adam(cost_or_grads, params, learning_rate, beta1, beta2, epsilon)
    for p in params:
        updates[p] -= _as(learning_rate, p) * _as(weight_decay, p) * p
    return updates


def clip_by_norm(gradients: Sequence[Any], largest: Any) -> list[Any]:
    """Return gradients, scaled so that the norm of all of them together is at most ``largest``.

    Parameters
    ----------
    gradients
        Floating tensors of any shapes, such as ``phintys.grad(cost, params)``.
    largest
        A positive number or a scalar variable.

    Returns
    -------
    list of TensorVariable
        Tensors of the same shapes and dtypes; they are unchanged where the norm is not larger.

    Notes
    -----
    R. Pascanu, T. Mikolov and Y. Bengio, "On the difficulty of training recurrent neural networks",
    2013, Algorithm 1, with one norm for all parameters.

    Examples
    --------
    >>> import phintys
    >>> from phintys.contrib import clip_by_norm, sgd
    >>> w = phintys.shared([3.0, 4.0], name="w")
    >>> gradients = clip_by_norm([phintys.grad((w**2).sum(), w)], 5.0)
    >>> phintys.function([], gradients)()
    [array([3., 4.])]
    """
    if isinstance(gradients, Variable):
        msg = f"clip_by_norm: gradients must be a list of variables; write [{gradients}] for one."
        raise ArgumentError(msg)
    found = [pt.as_tensor_variable(g) for g in gradients]
    if not found:
        return []
    squares = [pt.sqr(g).sum() for g in found]
    norm = pt.sqrt(pt.add(*squares) if len(squares) > 1 else squares[0])
    scale = pt.switch(norm > largest, largest / norm, 1)
    return [_as(scale, g) * g for g in found]


def averaged(
    updates: Updates, params: Sequence[SharedVariable], decay: Any = 0.999
) -> tuple[Updates, list[SharedVariable]]:
    """Return updates that also keep running averages of parameters, and the averages.

    Each average becomes ``decay * average + (1 - decay) * p`` for the new value of its parameter p,
    and starts with its present value.

    Parameters
    ----------
    updates
        Updates of the parameters, such as those of :func:`adam`.
    params
        The shared variables to average.
    decay
        A number or a scalar variable from 0 to 1.

    Returns
    -------
    updates : dict
    averages : list of SharedVariable
        In the order of ``params``. ``givens=dict(zip(params, averages))`` computes with them.

    Raises
    ------
    ArgumentError
        A parameter has no update.

    Notes
    -----
    B. T. Polyak and A. B. Juditsky, "Acceleration of stochastic approximation by averaging", 1992,
    with exponential weights.

    Examples
    --------
    >>> import phintys
    >>> from phintys.contrib import averaged, sgd
    >>> w = phintys.shared(8.0, name="w")
    >>> updates, (mean,) = averaged(sgd(w**2, [w], learning_rate=0.25), [w], decay=0.5)
    >>> step = phintys.function([], w, updates=updates)
    >>> float(step()), float(step()), float(w.get_value()), float(mean.get_value())
    (8.0, 4.0, 2.0, 4.0)
    """
    found = dict(updates)
    averages: list[SharedVariable] = []
    for p in params:
        _check_parameter("averaged", p)
        if p not in updates:
            msg = f"averaged: the updates must have one of each parameter, and have none of {p}."
            raise ArgumentError(msg)
        average = _like(p, p.get_value(), "average")
        keep = _as(decay, p)
        found[average] = keep * average + (1 - keep) * updates[p]
        averages.append(average)
    return found, averages


def _pairs(
    function: str, cost_or_grads: Any, params: Sequence[SharedVariable]
) -> list[tuple[Any, Any]]:
    """Return each parameter with its gradient, in the parameter's dtype."""
    if isinstance(params, Variable):
        msg = (
            f"{function}: params is a list of shared variables; write [{params}] for a single one."
        )
        raise ArgumentError(msg)
    params = list(params)
    for p in params:
        _check_parameter(function, p)
    twice = [p for i, p in enumerate(params) if p in params[:i]]
    if twice:
        msg = f"{function}: the parameter {twice[0]} is given twice."
        raise ArgumentError(msg)
    if isinstance(cost_or_grads, Variable):
        gradients = grad(cost_or_grads, params) if params else []
    else:
        gradients = [pt.as_tensor_variable(g) for g in cost_or_grads]
        if len(gradients) != len(params):
            msg = f"{function}: {len(gradients)} gradients were given for {len(params)} parameters."
            raise ArgumentError(msg)
    return [(p, _as(g, p)) for p, g in zip(params, gradients, strict=True)]


def _check_parameter(function: str, p: Any) -> None:
    if not isinstance(p, SharedVariable):
        msg = (
            f"{function}: a parameter is a shared variable, got {p!r} of type {type(p).__name__}. "
            "Make it with phintys.shared(value)."
        )
        raise ArgumentError(msg)
    if not isinstance(p.type, TensorType) or p.type.numpy_dtype.kind != "f":
        msg = (
            f"{function}: the parameter {p} is of type {p.type}; only floats can be learned. Make "
            "it with phintys.shared(np.asarray(value, 'float64'))."
        )
        raise ArgumentError(msg)


def _as(number: Any, p: Any) -> Any:
    """Return a number or a variable in the dtype of a parameter."""
    return pt.cast(number, p.dtype)


def _state(p: Any, what: str) -> TensorSharedVariable:
    """Return a shared variable of zeros with the shape, dtype and static sizes of a parameter."""
    return _like(p, np.zeros_like(p.get_value(borrow=True)), what)


def _like(p: Any, value: Any, what: str) -> TensorSharedVariable:
    """Return a shared variable of the dtype and static sizes of a parameter."""
    name = f"{p.name}_{what}" if p.name else what
    return shared_array(value, name=name, shape=p.type.shape)
