"""Functions whose intermediate results are recomputed for gradients: ``checkpoint``."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError
from phintys._base.nested_containers import rebuilt
from phintys.gradient.graph_ops import graph_ops
from phintys.gradient.tracing import captured_by, name_of, outputs_of, separate, updates_outside
from phintys.graph.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["checkpoint"]


def checkpoint(fun: Callable[..., Any] | None = None, *, name: str | None = None) -> Any:
    """Recompute the intermediate results of a function for its gradient; a decorator.

    A gradient needs intermediate results of what it differentiates, which therefore stay in memory
    until then. Under ``checkpoint`` only the arguments and results of the function do: what is
    between them is computed again, when the gradient for the results is known. That takes the time
    of one more evaluation of the function.

    Parameters
    ----------
    fun
        The function. Its arguments and results are variables of any Types, or tuples, lists and
        dicts of them, of any depth. Arguments can be anything else, too, which is passed on as it
        is. It can use variables from outside: these are kept, like arguments.
    name
        A name, for printing and profiles; by default that of the function.

    Returns
    -------
    function
        With the same arguments and results. Without ``fun``, a decorator.

    Raises
    ------
    ArgumentError
        ``fun`` is not a function. Calls raise it if the function does not return variables.

    Notes
    -----
    Values and derivatives are the same as without it. A network of n layers, in checkpointed blocks
    of sqrt(n), keeps about 3 sqrt(n) arrays of the size of a layer at a time instead of 2 n.
    Checkpointed functions can call each other.

    What does not depend on an argument is computed outside, and kept.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.gradient import checkpoint
    >>> @checkpoint
    ... def block(h, weights):
    ...     for w in weights:
    ...         h = pt.tanh(h @ w)
    ...     return h
    >>> x, w = pt.dmatrices("x", "w")
    >>> loss = (block(block(x, [w, w]), [w, w]) ** 2).sum()
    >>> f = phintys.function([x, w], phintys.grad(loss, w))
    >>> f([[1.0, 2.0]], [[0.5, 0.0], [0.0, 0.5]]).shape
    (2, 2)
    """
    if fun is None:
        return functools.partial(checkpoint, name=name)
    if not callable(fun) or isinstance(fun, Variable):
        msg = (
            f"checkpoint is a decorator of functions, got {fun!r} of type {type(fun).__name__}. "
            "Write checkpoint(f)(x) for the result of a function f."
        )
        raise ArgumentError(msg)
    title = name_of(fun) if name is None else name

    @functools.wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        names = tuple(kwargs)
        arguments, leaves = separate([*args, *kwargs.values()])
        stand_ins = [leaf.type.make_variable(leaf.name) for leaf in leaves]
        given = arguments.holding(stand_ins)
        by_name = dict(zip(names, given[len(args) :], strict=True))
        with updates_outside(stand_ins, leaves):
            result = fun(*given[: len(args)], **by_name)
        outputs = outputs_of(result, fun, "checkpoint")
        captured = captured_by(outputs, stand_ins)
        op = graph_ops().checkpoint([*stand_ins, *captured], outputs, title)
        return rebuilt(result, op(*leaves, *captured, return_list=True))

    return checkpointed
