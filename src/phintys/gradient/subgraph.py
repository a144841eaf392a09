"""Gradients of a graph, computed piecewise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import GradientError
from phintys.gradient.arguments import variables_in
from phintys.gradient.reverse import grad

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.graph.variable import Variable


def subgraph_grad(
    wrt: Sequence[Variable],
    end: Sequence[Variable],
    start: Mapping[Variable, Any] | None = None,
    cost: Variable | None = None,
    details: bool = False,
) -> Any:
    """Return gradients for a part of a graph, from known ones back to ``end``.

    This differentiates a long graph piece by piece, each piece starting from the gradients at which
    the last one ended.

    Parameters
    ----------
    wrt
        Variables, such as the parameters of the piece, whose gradients are wanted.
    end
        Variables where the piece ends: gradients do not flow beyond them.
    start
        Variable -> its gradient, where the piece starts.
    cost
        A scalar whose gradient is added, such as a penalty on the parameters.
    details
        Return the contributions of ``start`` and of ``cost`` as well.

    Returns
    -------
    wrt_grads, end_grads : list of Variable
        The gradients with respect to ``wrt`` and to ``end``; zeros where disconnected.
    start_grads, cost_grads : list of Variable or None
        Only with ``details``: the contributions of ``start`` and of ``cost`` to ``wrt_grads``;
        ``None`` if that was not given.

    Raises
    ------
    GradientError
        Neither ``start`` nor ``cost`` is given.

    Notes
    -----
    If the gradients in ``start`` already include those of ``cost``, the latter count twice.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.gradient import subgraph_grad
    >>> x, w1, w2 = pt.dscalars("x", "w1", "w2")
    >>> hidden = w1 * x
    >>> cost = (w2 * hidden) ** 2
    >>> (to_w2,), (to_hidden,) = subgraph_grad([w2], [hidden], cost=cost)
    >>> (to_w1,), _ = subgraph_grad([w1], [x], start={hidden: to_hidden})
    >>> float(to_w1.eval({x: 2.0, w1: 3.0, w2: 5.0})) == 2 * (5 * 3 * 2) * 5 * 2
    True
    """
    if not start and cost is None:
        msg = "subgraph_grad needs gradients to start from: give start, cost, or both."
        raise GradientError(msg)
    wrt, end = variables_in(wrt, "wrt"), variables_in(end, "end")
    targets = [*wrt, *end]
    parts: list[list[Any] | None] = []
    for known, scalar in ((start, None), (None, cost)):
        part = None
        if known or scalar is not None:
            part = grad(
                scalar,
                targets,
                consider_constant=end,
                disconnected_inputs="ignore",
                known_grads=known,
                add_names=False,
            )
        parts.append(part)
    from_start, from_cost = parts
    if from_start is None or from_cost is None:
        total = from_start if from_cost is None else from_cost
    else:
        total = [a + b for a, b in zip(from_start, from_cost, strict=True)]
    assert total is not None
    result = (total[: len(wrt)], total[len(wrt) :])
    if not details:
        return result
    return (*result, *(part if part is None else part[: len(wrt)] for part in parts))
