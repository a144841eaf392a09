"""``function``, ``grad`` and ``clone`` with their old signatures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys import compile as core
from phintys import gradient
from phintys._base.errors import ArgumentError, GradientError
from phintys._base.origin import current_origin
from phintys.compat import modes
from phintys.compat.debugging import profile_stats
from phintys.compat.rewriters import compiled_functions
from phintys.compat.sparse import as_matrices
from phintys.compat.test_values import as_one_step, forget
from phintys.compile import Function, In, Out
from phintys.compile.rebuild import check_givens, check_updates
from phintys.graph import Constant, SharedVariable, Variable, clone_replace
from phintys.graph.alias_map import AliasMap
from phintys.graph.null_type import NullType
from phintys.graph.traversal import applys_between

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "Lop",
    "Param",
    "Rop",
    "clone",
    "function",
    "grad",
    "hessian",
    "jacobian",
    "pfunc",
    "pullback",
    "pushforward",
    "rebuild_collect_shared",
    "subgraph_grad",
    "verify_grad",
]


def rebuild_collect_shared(
    outputs: Any,
    inputs: Iterable[Variable] | None = None,
    replace: Any = None,
    updates: Any = None,
    rebuild_strict: bool = True,
    copy_inputs_over: bool = True,
    no_default_updates: Any = False,
    clone_inner_graphs: bool = False,
) -> tuple[list[Variable], Any, list[Any]]:
    """Copy graphs, and collect their shared variables and updates.

    Parameters
    ----------
    outputs
        A variable, several, or ``None``.
    inputs
        Variables whose values are given.
    replace, updates
        Simultaneous replacements, and the next values of shared variables, as a dict or pairs.
    rebuild_strict
        Whether replacements must keep all types.
    copy_inputs_over
        Whether the copies have the same inputs and shared variables, rather than copies of them.
    no_default_updates
        ``True`` or a list: shared variables whose ``default_update`` is not used.
    clone_inner_graphs
        Has no effect: inner graphs are never modified.

    Returns
    -------
    tuple
        The inputs of the copies; the copies of the outputs; and a list of a dict from an input or
        shared variable to its copy, a dict of the updates, the updates as pairs, and the shared
        variables.
    """
    wanted = [] if outputs is None else outputs
    several = list(wanted) if isinstance(wanted, list | tuple) else [wanted]
    leaves = list(inputs or ())
    rebuilt = core.rebuild_collect_shared(
        several,
        leaves,
        givens=check_givens(replace, (), strict=rebuild_strict),
        updates=check_updates(updates, ()),
        rebuild_strict=rebuild_strict,
        no_default_updates=no_default_updates,
    )
    copies: dict[Variable, Variable] = {
        **dict(zip(leaves, rebuilt.inputs, strict=True)),
        **rebuilt.shared,
    }
    found = [*rebuilt.outputs, *rebuilt.updates.values()]
    if copy_inputs_over:
        found = clone_replace(found, {new: old for old, new in copies.items()})
        copies = {old: old for old in copies}
    new_outputs = found[: len(several)]
    new_updates = dict(zip(rebuilt.updates, found[len(several) :], strict=True))
    alike = new_outputs if isinstance(wanted, list | tuple) else new_outputs[0]
    collected = [copies, new_updates, list(new_updates.items()), list(rebuilt.shared)]
    return [copies[one] for one in leaves], alike, collected


Lop = as_one_step(gradient.Lop)
Rop = as_one_step(gradient.Rop)
hessian = as_one_step(gradient.hessian)
subgraph_grad = as_one_step(gradient.subgraph_grad)
verify_grad = as_one_step(gradient.verify_grad)


def Param(
    variable: Variable,
    default: Any = None,
    name: str | None = None,
    mutable: bool | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    implicit: bool | None = None,
    borrow: bool | None = None,
) -> In:
    """Return an input of a function with a default value: ``In(variable, value=default)``."""
    return In(
        variable,
        name,
        default,
        mutable=mutable,
        strict=strict,
        allow_downcast=allow_downcast,
        implicit=implicit,
        borrow=borrow,
    )


def _as_input(given: Any) -> Any:
    """Convert an input that can be a tuple.

    A tuple is ``(variable, value)``, ``(name, variable)`` or ``(name, variable, value)``, where
    ``(variable, update)`` can be given for the variable.
    """
    if not isinstance(given, tuple | list):
        return given
    parts: list[Any] = list(given)
    name = parts.pop(0) if parts and isinstance(parts[0], str) else None
    if len(parts) not in {1, 2}:
        msg = (
            "An input of a function is a variable, In(variable, ...), (variable, value), or these "
            f"two with a name in front; got {given!r}."
        )
        raise ArgumentError(msg)
    variable: Any = parts[0]
    update: Any = None
    if isinstance(variable, tuple | list):
        variable, update = variable
    if len(parts) == 2 and isinstance(parts[1], Variable) and not isinstance(parts[1], Constant):
        msg = (
            f"The value of the input {variable} is a number or array, got the variable {parts[1]}."
        )
        raise ArgumentError(msg)
    return In(variable, name, parts[1] if len(parts) == 2 else None, as_matrices(update))


@as_one_step
def function(
    inputs: Iterable[Any],
    outputs: Any = None,
    mode: Any = None,
    updates: Any = None,
    givens: Any = None,
    no_default_updates: Any = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: Any = None,
    on_unused_input: Any = None,
    trust_input: bool = False,
) -> Function:
    """Compile expressions; see :func:`phintys.function`.

    Inputs can be tuples with a default value. With ``accept_inplace``, an Op of the graph that
    overwrites an input overwrites the caller's array: such a function uses the reference backend,
    which runs each Op unchanged. A function without a name is named after the line of the call.
    Sparse results are matrices of SciPy, as ``csr_matrix``.
    """
    origin = current_origin()
    outputs = [] if outputs is None else outputs  # so that a call returns []
    inputs = [_as_input(one) for one in inputs] if isinstance(inputs, list | tuple) else inputs
    if accept_inplace and isinstance(inputs, list):
        overwritten = _overwritten(inputs, outputs, updates)
        if overwritten:
            inputs = [_lent(one) if _variable(one) in overwritten else one for one in inputs]
            mode = modes.get_mode(mode).clone(backend="reference")
    compiled = core.function(
        inputs,
        as_matrices(outputs),
        modes.chosen_mode(mode),
        as_matrices(updates),
        givens,
        no_default_updates=no_default_updates,
        accept_inplace=accept_inplace,
        name=name,
        rebuild_strict=rebuild_strict,
        allow_input_downcast=allow_input_downcast,
        profile=profile_stats(profile, name),
        on_unused_input=on_unused_input,
    )
    compiled.trust_input = trust_input
    if compiled.name is None:
        compiled.name = f"{origin.filename}:{origin.lineno}"
    compiled_functions.add(compiled)
    return compiled


def pfunc(params: Iterable[Any], *arguments: Any, **options: Any) -> Function:
    """Compile expressions, as :func:`function` does."""
    return function(params, *arguments, **options)


def _variable(given: Any) -> Any:
    return given.variable if isinstance(given, In) else given


def _lent(given: Any) -> In:
    """Convert an input to one whose memory may be overwritten."""
    if not isinstance(given, In):
        return In(given, mutable=True)
    return In(
        given.variable,
        given.name,
        given.value,
        given.update,
        mutable=True,
        strict=given.strict,
        allow_downcast=given.allow_downcast,
        implicit=given.implicit,
    )


def _overwritten(inputs: list[Any], outputs: Any, updates: Any) -> set[Any]:
    """Return the inputs that Ops of the graph overwrite, directly or through a view."""
    variables = [_variable(one) for one in inputs]
    wanted = outputs if isinstance(outputs, list | tuple) else [outputs]
    if isinstance(outputs, dict):
        wanted = list(outputs.values())
    pairs = updates.items() if isinstance(updates, dict) else updates or ()
    roots = [one.variable if isinstance(one, Out) else one for one in wanted]
    roots = [*roots, *(new for _, new in pairs)]
    leaves = [one for one in variables if isinstance(one, Variable)]
    nodes = applys_between(leaves, [one for one in roots if isinstance(one, Variable)])
    found = AliasMap.of_nodes(nodes).overwritten.intersection(leaves)
    return {one for one in found if not isinstance(one, SharedVariable)}


def pullback(f: Any, wrt: Any, cotangents: Any, *arguments: Any, **options: Any) -> Any:
    """Return ``cotangents`` times the Jacobian; see :func:`phintys.Lop`.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.functions import pullback
    >>> x, v = pt.dvectors("x", "v")
    >>> pullback(x**2, x, v).eval({x: [3.0], v: [2.0]})
    array([12.])
    """
    return Lop(f, wrt, cotangents, *arguments, **options)


def pushforward(
    f: Any,
    wrt: Any,
    tangents: Any,
    disconnected_outputs: Any = "raise",
    return_disconnected: Any = "zero",
    use_op_pushforward: bool = False,
) -> Any:
    """Return the Jacobian times ``tangents``; see :func:`phintys.Rop`.

    Raises
    ------
    NullGradientError
        It does not exist.
    """
    return Rop(
        f,
        wrt,
        tangents,
        disconnected_outputs,
        return_disconnected,
        use_op_rop_implementation=use_op_pushforward,
    )


@as_one_step
def grad(
    cost: Any,
    wrt: Any,
    consider_constant: Any = None,
    disconnected_inputs: Any = "raise",
    add_names: bool = True,
    known_grads: Any = None,
    return_disconnected: str = "zero",
    null_gradients: Any = "raise",
) -> Any:
    """Return gradients; see :func:`phintys.grad`. ``return_disconnected`` is case-insensitive."""
    if isinstance(cost, Variable) and getattr(cost.type, "ndim", 0):
        return gradient.grad(cost, wrt)
    if isinstance(cost, Variable) and isinstance(cost.type, NullType):
        msg = f"The cost {cost} is undefined: {cost.type.why_null}."
        raise GradientError(msg)
    policy: Any = return_disconnected.lower()
    return gradient.grad(
        cost,
        wrt,
        consider_constant,
        disconnected_inputs,
        add_names=add_names,
        known_grads=known_grads,
        return_disconnected=policy,
        null_gradients=null_gradients,
    )


@as_one_step
def jacobian(
    expression: Any,
    wrt: Any,
    consider_constant: Any = None,
    disconnected_inputs: Any = "raise",
    vectorize: bool = False,
) -> Any:
    """Return the Jacobian; without ``vectorize``, whether there is a loop is decided by cost."""
    at_once = True if vectorize else None
    return gradient.jacobian(expression, wrt, consider_constant, disconnected_inputs, at_once)


@as_one_step
def clone(
    output: Any,
    replace: Any = None,
    strict: bool = True,
    share_inputs: bool = True,
    copy_inputs: bool | None = None,
) -> Any:
    """Copy a graph; ``share_inputs`` (formerly ``copy_inputs``) shares its leaves."""
    shared = share_inputs if copy_inputs is None else copy_inputs
    copy = clone_replace(output, replace, rebuild_strict=strict, copy_inputs_over=shared)
    forget(copy, output)
    return copy
