"""What gradients of loops keep of their forward passes, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import MethodNotDefinedError
from phintys.control.loop_derivatives.residuals import find_residuals
from phintys.control.loop_derivatives.row_gradients import RowGradients
from phintys.control.loop_derivatives.segments import plan_memory
from phintys.control.loop_derivatives.step_gradients import StepGradients
from phintys.control.loops.scan_op import Scan
from phintys.gradient.arithmetic import is_discrete
from phintys.graph.null_type import disconnected_type
from phintys.graph.traversal import toposort
from phintys.graph.variable import Variable
from phintys.tensor.known import known_int
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply


def gradient_memory(outputs: Variable | Sequence[Variable]) -> str:
    """Report the values that gradients keep for each step of the loops in a graph, and why.

    Each loop is described as if all of its results had gradients, and no rows were kept for their
    own sake. A gradient that needs less may decide otherwise: the name of a loop in it shows what
    was decided, as in ``gradient of Scan in segments of 1000``. A MB is 10^6 bytes.

    Parameters
    ----------
    outputs
        A variable, or several, that depend on the loops.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.control import gradient_memory
    >>> w, x = pt.matrix("w", shape=(500, 500)), pt.vector("x", shape=(500,))
    >>> states = phintys.scan(
    ...     lambda h: pt.tanh(w @ h), None, x, n_steps=1_000_000, return_updates=False
    ... )
    >>> print(gradient_memory(states[-1]))
    Scan keeps the states before every 1000 steps: everything would take 4000 MB for 1000000 steps.
    """
    listed = [outputs] if isinstance(outputs, Variable) else list(outputs)
    nodes = [node for node in toposort(listed) if isinstance(node.op, Scan)]
    return "\n".join(f"{node.op} {_decision(node)}." for node in nodes)


def _decision(node: Apply) -> str:
    op: Any = node.op
    grads = [
        output.type()
        if isinstance(output.type, TensorType) and not is_discrete(output.type)
        else disconnected_type()
        for output in node.outputs
    ]
    try:
        step = StepGradients(op, node.inputs, node.outputs, grads)
    except MethodNotDefinedError as error:
        return f"has no gradient: {error}"
    for state in step.states:
        state.given = RowGradients()
    results = op.arguments.node_outputs(node.outputs)
    n = node.inputs[0] if results.ran is None else results.ran
    kept = find_residuals(op, step.expressions, step.seeds, known_int(n))
    return plan_memory(op, node.inputs, n, step, kept).reason
