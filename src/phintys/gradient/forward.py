"""The forward engine: from tangents of the inputs to tangents of the outputs.

``Rop`` walks the graph once, from the inputs, and calls each Op's ``R_op``. For an Op without one,
``L_op`` is applied twice: ``L_op`` maps an output gradient ``w`` to ``w J``, which is linear in
``w``, so the gradient with respect to ``w`` of ``<w J, v>`` is ``J v``. (J. Townsend, "A new trick
for calculating Jacobian vector products", 2017.)
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from phintys._base.errors import (
    DisconnectedInputError,
    MethodNotDefinedError,
    NullGradientError,
    OpContractError,
    add_note,
)
from phintys._base.late import LateModule
from phintys._base.origin import inherit_origin
from phintys.gradient.arguments import check_choice, check_points, unpack
from phintys.gradient.arithmetic import fit_dtype, is_discrete, misfit_of, sum_of, zero_like
from phintys.gradient.marks import disconnected_grad
from phintys.gradient.paths import influence
from phintys.gradient.pullback import pull_back
from phintys.gradient.reverse import POLICIES
from phintys.graph import contract
from phintys.graph.null_type import DisconnectedType, NullType, disconnected_type
from phintys.graph.op import Op
from phintys.graph.sources import note_sources
from phintys.graph.traversal import toposort

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from phintys.gradient.paths import PathStep
    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable
    from phintys.tensor.variable import TensorMethods, TensorVariable

    T = TypeVar("T", bound=TensorMethods)
    Policy = Literal["raise", "warn", "ignore"]

_spectral: Any = LateModule("phintys.gradient.spectral")


@overload
def Rop(
    f: TensorMethods,
    wrt: Any,
    eval_points: Any,
    disconnected_outputs: Policy = "raise",
    return_disconnected: Literal["zero", "none", "disconnected"] = "zero",
    use_op_rop_implementation: bool = True,
) -> TensorVariable: ...
@overload
def Rop(
    f: list[T],
    wrt: Any,
    eval_points: Any,
    disconnected_outputs: Policy = "raise",
    return_disconnected: Literal["zero", "none", "disconnected"] = "zero",
    use_op_rop_implementation: bool = True,
) -> list[TensorVariable]: ...
@overload
def Rop(
    f: Any,
    wrt: Any,
    eval_points: Any,
    disconnected_outputs: Policy = "raise",
    return_disconnected: Literal["zero", "none", "disconnected"] = "zero",
    use_op_rop_implementation: bool = True,
) -> Any: ...
def Rop(
    f: Any,
    wrt: Any,
    eval_points: Any,
    disconnected_outputs: Policy = "raise",
    return_disconnected: Literal["zero", "none", "disconnected"] = "zero",
    use_op_rop_implementation: bool = True,
) -> Any:
    """Return the R-operator: the Jacobian of ``f`` with respect to ``wrt``, times a vector.

    Parameters
    ----------
    f
        A variable, or a list, tuple or dict of variables, of any shapes.
    wrt
        A variable, or a list or tuple of variables. They can be inputs or intermediate results; the
        tangent given for one that depends on another is added to the tangent computed for it.
    eval_points
        The vector: one variable or value for each of ``wrt``, of its shape. ``None`` means zero.
    disconnected_outputs
        What to do if one of ``f`` does not depend on ``wrt``: ``"raise"`` an error, ``"warn"``, or
        ``"ignore"``.
    return_disconnected
        The result for such a variable: ``"zero"``, ``"none"`` or ``"disconnected"`` (a variable of
        ``DisconnectedType``).
    use_op_rop_implementation
        Use the ``R_op`` of Ops that have one. Otherwise the whole graph is differentiated twice
        in reverse (:func:`pushforward_through_pullback`).

    Returns
    -------
    Variable, or a list, tuple or dict of them as ``f``
        For each variable in ``f`` the sum over ``wrt`` of ``df/dwrt * eval_point``, of the shape
        of that variable.

    Raises
    ------
    GradientError
        The number, rank, shape or dtype of the points does not match.
    DisconnectedInputError
        A variable in ``f`` does not depend on ``wrt``.
    NullGradientError
        A derivative is undefined or not implemented.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> x, v = pt.dvectors("x", "v")
    >>> phintys.Rop(x**2, x, v).eval({x: [1.0, 2.0], v: [1.0, 10.0]})
    array([ 2., 40.])
    """
    check_choice("disconnected_outputs", disconnected_outputs, POLICIES)
    check_choice("return_disconnected", return_disconnected, ("zero", "none", "disconnected"))
    outputs, pack = unpack(f, "f")
    variables, _ = unpack(wrt, "wrt")
    points = check_points(variables, eval_points, "eval_points", "wrt")
    given = [(x, v) for x, v in zip(variables, points, strict=True) if v is not None]
    _, reached = influence(toposort(outputs), variables)
    push = push_forward if use_op_rop_implementation else _twice_in_reverse
    found = push(outputs, given)
    results: list[Variable | None] = []
    for output, tangent in zip(outputs, found, strict=True):
        if tangent is not None:
            if isinstance(tangent.type, NullType):
                raise _null_error(tangent, output)
            if not any(tangent is point for point in points):
                note_sources(tangent, [output])
            results.append(tangent)
        elif output in reached:
            results.append(zero_like(output))
        else:
            results.append(_disconnected(output, disconnected_outputs, return_disconnected))
    return pack(results)


def pushforward_through_pullback(
    outputs: Sequence[Variable],
    inputs: Sequence[Variable],
    tangents: Sequence[Any],
    disconnected_outputs: Policy = "raise",
    return_disconnected: Literal["zero", "none", "disconnected"] = "zero",
) -> list[Any]:
    """Return the Jacobian times a vector by two reverse passes, without any ``R_op``.

    Parameters
    ----------
    outputs, inputs, tangents
        As ``f``, ``wrt`` and ``eval_points`` of :func:`Rop`, as lists.
    disconnected_outputs, return_disconnected
        As for :func:`Rop`.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.gradient import pushforward_through_pullback
    >>> x, v = pt.dvectors("x", "v")
    >>> (jv,) = pushforward_through_pullback([x**2], [x], [v])
    >>> jv.eval({x: [1.0, 2.0], v: [1.0, 10.0]})
    array([ 2., 40.])
    """
    return Rop(
        list(outputs),
        list(inputs),
        list(tangents),
        disconnected_outputs,
        return_disconnected,
        use_op_rop_implementation=False,
    )


def _null_error(tangent: Any, output: Variable) -> NullGradientError:
    return NullGradientError(
        f"The derivative of {output} (type {output.type}) along the given directions does not "
        f"exist: {tangent.type.why_null}. If it should be zero there, wrap the "
        "expression in phintys.gradient.zero_grad."
    )


def _disconnected(output: Variable, policy: str, kind: str) -> Variable | None:
    msg = (
        f"{output} (type {output.type}) does not depend on any variable in wrt in a "
        "differentiable way. With disconnected_outputs='ignore' (or 'warn') its derivative is zero "
        "instead of an error."
    )
    if policy == "raise":
        raise DisconnectedInputError(msg)
    if policy == "warn":
        warnings.warn(msg, UserWarning, stacklevel=3)
    if kind == "zero":
        return zero_like(output)
    return None if kind == "none" else disconnected_type()


def push_forward(
    outputs: Sequence[Variable],
    given: Sequence[tuple[Variable, Variable]],
    blocked: Collection[Variable] = (),
) -> list[Variable | None]:
    """Return the tangent of each output, ``None`` for zero.

    Parameters
    ----------
    outputs
        The variables whose tangents are wanted.
    given
        Pairs of a variable and its tangent; any tangent computed for the variable is added to it.
    blocked
        Variables through which nothing flows, unless they are given.
    """
    order = toposort(outputs, blocked)
    variables = [variable for variable, _ in given]
    steps, _ = influence(order, variables, blocked)
    if any(step.node.op.is_decomposition for step in steps):
        order = _spectral.with_whole_products(order, outputs, {*variables, *blocked})
        steps, _ = influence(order, variables, blocked)
    used = {x for node in order for x in node.inputs} | set(outputs)
    tangents = Tangents(given)
    for step in steps:
        _push_forward_through(step, tangents, used)
    return [tangents.total(output) for output in outputs]


class Tangents:
    """The known tangents of variables. A missing tangent is zero."""

    def __init__(self, given: Sequence[tuple[Variable, Variable]]) -> None:
        self._terms: dict[Variable, list[Variable]] = {}
        for variable, point in given:
            self.add(variable, point)

    def add(self, variable: Variable, tangent: Variable) -> None:
        """Add to the tangent of a variable."""
        self._terms.setdefault(variable, []).append(tangent)

    def total(self, variable: Variable) -> Variable | None:
        """Return the tangent of a variable, ``None`` for zero."""
        terms = self._terms.get(variable)
        if terms is None:
            return None
        if len(terms) > 1:
            null = next((term for term in terms if isinstance(term.type, NullType)), None)
            self._terms[variable] = terms = [sum_of(terms) if null is None else null]
        return terms[0]


def _push_forward_through(step: PathStep, tangents: Tangents, used: Collection[Variable]) -> None:
    """Propagate the tangents of a node's inputs to its outputs."""
    node, pattern = step.node, step.pattern
    points: list[Variable | None] = [None] * len(node.inputs)
    nulls: dict[int, Variable] = {}
    for position in step.positions:
        point = tangents.total(node.inputs[position])
        if point is not None and isinstance(point.type, NullType):
            nulls[position] = point
        elif point is not None and not isinstance(point.type, DisconnectedType):
            points[position] = point
    wanted: list[int] = []
    for o, output in enumerate(node.outputs):
        if output not in used:
            continue
        null = next((v for i, v in nulls.items() if pattern is None or pattern[i][o]), None)
        if null is not None:
            tangents.add(output, null)
        elif any(
            point is not None and (pattern is None or pattern[i][o]) and _may_move(node, i, output)
            for i, point in enumerate(points)
        ):
            wanted.append(o)
    if not wanted:
        return
    with inherit_origin(node.origin):
        _compute(node, points, wanted, tangents)


def _may_move(node: Apply, position: int, output: Variable) -> bool:
    """Return whether an output can change with an input at all.

    An integer does not change with a float. (Whether it changes with an integer is left to the
    Op, which can report that there is no answer.)
    """
    return not is_discrete(output.type) or is_discrete(node.inputs[position].type)


def _compute(
    node: Apply, points: Sequence[Variable | None], wanted: Sequence[int], tangents: Tangents
) -> None:
    try:
        found: list[Variable | None] = [None] * len(node.outputs)
        if _has_r_op(node.op):
            found = contract.push_forward(node, points)
        missing = [o for o in wanted if found[o] is None or is_discrete(node.outputs[o].type)]
        if missing:
            through = _through_pullback(node, points, missing)
            for o in missing:
                found[o] = through.get(o)
    except Exception as error:
        add_note(error, f"While differentiating {node.op} forward, applied at\n  {node.origin}")
        raise
    for o in wanted:
        tangent = found[o]
        if tangent is not None and not isinstance(tangent.type, DisconnectedType):
            tangents.add(node.outputs[o], _checked(node, o, tangent))


def _has_r_op(op: Op) -> bool:
    return type(op).R_op is not Op.R_op or "R_op" in vars(op)


def _checked(node: Apply, o: int, tangent: Variable) -> Variable:
    """Return the tangent that an Op gave for output ``o``, in that output's dtype."""
    output = node.outputs[o]
    if tangent.type is output.type or isinstance(tangent.type, NullType):
        return tangent
    misfit = misfit_of(tangent.type, output.type)
    if misfit:
        msg = (
            f"{node.op}.R_op must return, for each output, a direction with {misfit} of that "
            f"output. Output {o} is of type {output.type}; its direction is of type "
            f"{tangent.type}.\nThe Op was applied at\n  {node.origin}"
        )
        raise OpContractError(msg)
    return fit_dtype(tangent, output.type)


def _through_pullback(
    node: Apply, points: Sequence[Variable | None], wanted: Sequence[int]
) -> dict[int, Variable]:
    """Return the tangents of some outputs of a node by differentiating its ``L_op``."""
    weights = {o: _weight(node.outputs[o]) for o in wanted}
    output_grads = [
        weights[o] if o in weights else disconnected_type() for o in range(len(node.outputs))
    ]
    try:
        pulled = contract.input_gradients(node, output_grads)
    except MethodNotDefinedError as error:
        add_note(
            error, f"The R-operator needs the R_op of {node.op} or, failing that, its grad or L_op."
        )
        raise
    seeds: list[tuple[Variable, Variable]] = []
    for gradient, point, variable in zip(pulled, points, node.inputs, strict=True):
        if point is None or isinstance(gradient.type, DisconnectedType):
            continue
        if isinstance(gradient.type, NullType):
            return dict.fromkeys(wanted, gradient)
        seeds.append((fit_dtype(gradient, variable.type), point))
    return {
        o: tangent
        for o, tangent in zip(weights, _pull(seeds, list(weights.values())), strict=True)
        if tangent is not None and not is_discrete(node.outputs[o].type)
    }


def _weight(output: Variable) -> Variable:
    """Return a gradient for ``output`` to differentiate with respect to; its value is irrelevant.

    It is zero, but hidden as such: known zeros would not be propagated at all.
    """
    return disconnected_grad(zero_like(output))


def _pull(
    seeds: Sequence[tuple[Variable, Variable]], targets: Sequence[Variable]
) -> list[Variable | None]:
    gradients = pull_back(seeds, targets)
    return [gradients.value(target) for target in targets]


def _twice_in_reverse(
    outputs: Sequence[Variable], given: Sequence[tuple[Variable, Variable]]
) -> list[Variable | None]:
    """Return the tangents of ``outputs`` by differentiating the gradient of the whole graph."""
    weights = [_weight(output) for output in outputs]
    variables = [variable for variable, _ in given]
    gradients = pull_back(zip(outputs, weights, strict=True), variables)
    seeds: list[tuple[Variable, Variable]] = []
    for variable, point in given:
        gradient = gradients.value(variable)
        if gradient is None:
            continue
        if isinstance(gradient.type, NullType):
            return [gradient] * len(outputs)
        seeds.append((gradient, point))
    return _pull(seeds, weights)
