"""Calls of the optional methods of Ops, with their results checked against the contract.

All other modules call Ops through these functions. They adapt the older signatures
(``infer_shape(node, shapes)``, ``do_constant_folding(node)``), supply the defaults, and raise an
error that names the Op and the rule for an invalid return value.
"""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import numpy as np

from phintys._base.errors import MethodNotDefinedError, OpContractError, ShapeError, add_note
from phintys.graph.inner import require_calls
from phintys.graph.null_type import DisconnectedType, NullType
from phintys.graph.op import Op
from phintys.graph.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph

    Shape = tuple[Any, ...]


def _is_list(thing: object) -> TypeGuard[Sequence[Any]]:
    """Return whether a value returned by an Op is a list or a tuple."""
    return isinstance(thing, list | tuple)


def defines(op: object, method: str) -> bool:
    """Return whether an Op defines an optional method, on its class or on the instance."""
    own = getattr(type(op), method, None)
    from_base = getattr(Op, method, None)
    return method in getattr(op, "__dict__", {}) or (own is not None and own is not from_base)


def _takes_arguments(method: Callable[..., Any], most: int) -> int:
    """Return how many positional arguments, at most ``most``, a method takes."""
    if inspect.ismethod(method) and inspect.isfunction(method.__func__):
        return min(most, _count_arguments(method.__func__, most + 1) - 1)
    if inspect.isfunction(method):
        return _count_arguments(method, most)
    return _count_arguments.__wrapped__(method, most)  # may not be hashable


# Inspecting a signature takes longer than everything else that is done for a node.
@lru_cache(maxsize=4096)
def _count_arguments(method: Callable[..., Any], most: int) -> int:
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return most
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return most
    positional = [p for p in parameters if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}]
    return min(most, len(positional))


def do_constant_folding(fgraph: FunctionGraph | None, node: Apply) -> bool:
    """Return whether a node with constant inputs may be computed at compile time."""
    method: Callable[..., Any] = node.op.do_constant_folding
    older = _takes_arguments(method, 2) == 1
    return bool(method(node) if older else method(fgraph, node))


def infer_shape(
    fgraph: FunctionGraph | None, node: Apply, input_shapes: Sequence[Shape | None]
) -> list[Shape | None]:
    """Return the symbolic shape of each output of a node.

    Parameters
    ----------
    input_shapes
        One tuple of sizes (0-d integer variables or ints) for each input; ``None`` for an input
        whose Type has no shape.

    Raises
    ------
    MethodNotDefinedError
        The Op does not define ``infer_shape``.
    OpContractError
        It returned something other than one tuple for each output, of the output's rank.
    """
    method = getattr(node.op, "infer_shape", None)
    if method is None:
        msg = f"The Op {node.op} does not define infer_shape."
        raise MethodNotDefinedError(msg)
    older = _takes_arguments(method, 3) == 2
    try:
        shapes = method(node, input_shapes) if older else method(fgraph, node, input_shapes)
    except ShapeError as error:
        add_note(error, f"Raised by {node.op}.infer_shape for the node made at\n  {node.origin}")
        raise
    if not _is_list(shapes) or len(shapes) != len(node.outputs):
        msg = (
            f"{node.op}.infer_shape must return a list with one shape for each of its "
            f"{len(node.outputs)} outputs, got {shapes!r}."
        )
        raise OpContractError(msg)
    checked: list[Shape | None] = []
    for position, (shape, output) in enumerate(zip(shapes, node.outputs, strict=True)):
        ndim = getattr(output.type, "ndim", None)
        if shape is None or ndim is None:
            checked.append(None)
            continue
        if not _is_list(shape) or len(shape) != ndim:
            msg = (
                f"{node.op}.infer_shape must return a tuple of {ndim} sizes for output {position} "
                f"(type {output.type}), got {shape!r}."
            )
            raise OpContractError(msg)
        checked.append(tuple(shape))
    return checked


def connection_pattern(node: Apply) -> list[list[bool]]:
    """Return ``[input][output] -> bool``; all true for an Op without ``connection_pattern``.

    Raises
    ------
    OpContractError
        The result does not have one row for each input and one entry for each output.
    """
    method = getattr(node.op, "connection_pattern", None)
    if method is None:
        return [[True] * len(node.outputs) for _ in node.inputs]
    require_calls(node.op)
    pattern = method(node)
    if (
        not _is_list(pattern)
        or len(pattern) != len(node.inputs)
        or any(not _is_list(row) or len(row) != len(node.outputs) for row in pattern)
    ):
        msg = (
            f"{node.op}.connection_pattern must return a list of {len(node.inputs)} lists (one "
            f"for each input) of {len(node.outputs)} bools (one for each output), got {pattern!r}."
        )
        raise OpContractError(msg)
    return [[bool(entry) for entry in row] for row in pattern]


_DISCRETE = frozenset(np.dtype(code).name for code in np.typecodes["AllInteger"] + "?")


def _is_discrete(variable: Variable) -> bool:
    dtype = getattr(variable.type, "dtype", None)
    return dtype in _DISCRETE if isinstance(dtype, str) else getattr(dtype, "kind", "O") in "biu"


def _pullback(op: object) -> str:
    return f"{op}.L_op" if defines(op, "L_op") else f"{op}.grad"


def input_gradients(node: Apply, output_grads: Sequence[Variable]) -> list[Variable]:
    """Return the gradient with respect to each input of a node.

    ``None`` in the Op's result becomes a NullType variable.

    Raises
    ------
    MethodNotDefinedError
        The Op defines neither ``grad`` nor ``L_op``.
    OpContractError
        The result is not a list with one Variable for each input, or one has an integer dtype.
    """
    op = node.op
    require_calls(op)
    gradients = op.L_op(node.inputs, node.outputs, output_grads)
    if isinstance(gradients, Variable) or not isinstance(gradients, list | tuple):
        msg = (
            f"{_pullback(op)} must return a list or tuple with one gradient for each input, got "
            f"{gradients!r}. With one input, write `return [gx]`."
        )
        raise OpContractError(msg)
    gradients = cast("Sequence[Any]", gradients)
    if len(gradients) != len(node.inputs):
        msg = (
            f"{_pullback(op)} returned {len(gradients)} gradients for {len(node.inputs)} inputs: "
            "it must return one for each input, in their order."
        )
        raise OpContractError(msg)
    checked: list[Variable] = []
    for position, gradient in enumerate(gradients):
        if gradient is None:
            reason = f"{_pullback(op)} returned None for input {position}: no gradient is defined"
            checked.append(NullType(reason)())
            continue
        if not isinstance(gradient, Variable):
            msg = (
                f"{_pullback(op)} must return Variables, got {gradient!r} (type "
                f"{type(gradient).__name__}) for input {position}."
            )
            raise OpContractError(msg)
        if _is_discrete(gradient):
            msg = (
                f"{_pullback(op)} returned a gradient of integer type {gradient.type} for input "
                f"{position}. Gradients must be of a floating dtype; if it is zero because an "
                "output is an integer, return zeros of dtype config.floatX."
            )
            raise OpContractError(msg)
        checked.append(gradient)
    return checked


def push_forward(node: Apply, eval_points: Sequence[Variable | None]) -> list[Variable | None]:
    """Return the Jacobian-vector product for each output of a node.

    ``None`` is a missing tangent: the Op has no result (it may also return ``None`` for all outputs
    at once), or returned a ``DisconnectedType`` variable. It does not mean zero; callers determine
    from the reverse rule which of the two cases applies.

    Raises
    ------
    MethodNotDefinedError
        The Op does not define ``R_op``.
    OpContractError
        The result does not have one Variable or ``None`` for each output.
    """
    op = node.op
    require_calls(op)
    tangents = op.R_op(node.inputs, eval_points)
    if tangents is None:
        return [None] * len(node.outputs)
    if isinstance(tangents, Variable) or not isinstance(tangents, list | tuple):
        msg = (
            f"{op}.R_op must return a list with one entry for each output, got {tangents!r}. "
            "With one output, write `return [result]`."
        )
        raise OpContractError(msg)
    tangents = cast("Sequence[Any]", tangents)
    if len(tangents) != len(node.outputs):
        msg = (
            f"{op}.R_op returned {len(tangents)} results for {len(node.outputs)} outputs: it must "
            "return one for each output, in their order."
        )
        raise OpContractError(msg)
    checked: list[Variable | None] = []
    for position, tangent in enumerate(tangents):
        if tangent is not None and not isinstance(tangent, Variable):
            msg = f"{op}.R_op must return Variables, got {tangent!r} for output {position}."
            raise OpContractError(msg)
        disconnected = tangent is not None and isinstance(tangent.type, DisconnectedType)
        checked.append(None if disconnected else tangent)
    return checked
