"""``sparsity``: which elements of outputs depend on which elements of inputs."""

from __future__ import annotations

import warnings
from math import prod
from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError, GradientError
from phintys.gradient.arguments import check_choice, check_variable, unpack
from phintys.gradient.patterns.index_sets import identity, no_sets
from phintys.gradient.patterns.rules import Facts, Walk
from phintys.graph.cloning import clone_replace
from phintys.tensor.convert import constant
from phintys.tensor.shapes import specify_shape
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.graph.op import Op

POLICIES = ("ignore", "warn", "raise")


def sparsity(
    outputs: Any,
    wrt: Any,
    sizes: Mapping[Any, Any] | None = None,
    givens: Mapping[Any, Any] | None = None,
    ops_without_rule: str = "warn",
) -> Any:
    """Return which elements of some outputs depend on which elements of some inputs.

    It is the pattern of the Jacobian: where it is ``False`` the derivative is 0, whatever the
    values of variables are. Only shapes, and constants of the graph, are taken into account.

    Parameters
    ----------
    outputs
        A tensor variable, or a list, tuple or dict of them, of any ranks.
    wrt
        A tensor variable, or a list, tuple or dict of them, of any ranks.
    sizes
        Shapes of variables, where their types do not say them: variable -> int or tuple of ints.
        All sizes must be known.
    givens
        Values of variables that count as constants, such as indices or numbers of steps: variable
        -> array.
    ops_without_rule
        What to do for Ops without a rule, such as those of users: ``"warn"``, ``"raise"`` or
        ``"ignore"``. All elements of their outputs count as depending on all elements of the inputs
        that are connected to them by ``connection_pattern``.

    Returns
    -------
    scipy.sparse.csr_array of bool, or lists, tuples or dicts of them
        Of shape ``(output.size, wrt.size)``, with the elements in C order. In the form of
        ``outputs``, and within it in the form of ``wrt``.

    Raises
    ------
    ShapeError
        A size is not known.
    GradientError
        ``ops_without_rule`` is ``"raise"``, and there is one; or a variable is not a tensor.

    Notes
    -----
    Sets of inputs, the rows of boolean sparse matrices, are carried from node to node (the forward
    propagation of index sets of A. Griewank and A. Walther, "Evaluating Derivatives", 2nd edition,
    2008, section 7.2). An integer depends on nothing, since it has no derivative; an index, a
    condition or a factor of 0 counts as known only if it is computed from constants and shapes. A
    loop of a known number of steps is followed step by step; otherwise single states have a
    pattern, which holds for any number of steps.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.gradient import sparsity
    >>> x = pt.dvector("x")
    >>> sparsity(x[1:] - x[:-1] ** 2, x, sizes={x: 4}).toarray().astype(int)
    array([[1, 1, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 1, 1]])
    """
    check_choice("ops_without_rule", ops_without_rule, POLICIES)
    listed, pack_outputs = unpack(outputs, "outputs")
    variables, pack_wrt = unpack(wrt, "wrt")
    for one in (*listed, *variables):
        check_variable(one, "Each variable in outputs and wrt")
        if not isinstance(one.type, TensorType):
            msg = f"A sparsity pattern is one of tensors, got {one} of type {one.type}."
            raise GradientError(msg)
    listed, variables = with_known(listed, variables, sizes, givens)
    return pack_outputs([pack_wrt(row) for row in patterns_of(listed, variables, ops_without_rule)])


def with_known(
    outputs: Sequence[Any],
    wrt: Sequence[Any],
    sizes: Mapping[Any, Any] | None,
    givens: Mapping[Any, Any] | None,
) -> tuple[list[Any], list[Any]]:
    """Return outputs and inputs with shapes that are stated and checked, and with constants.

    Raises
    ------
    ArgumentError
        A variable of ``wrt`` is among the givens.
    """
    replaced: dict[Any, Any] = {}
    for variable, value in (givens or {}).items():
        if variable in wrt:
            msg = f"{variable} is a variable in wrt, so it cannot be among the givens."
            raise ArgumentError(msg)
        check_variable(variable, "Each key of givens")
        replaced[variable] = constant(variable.type.filter(value, allow_downcast=True))
    for variable, shape in (sizes or {}).items():
        check_variable(variable, "Each key of sizes")
        if variable not in replaced:
            whole = (shape,) if isinstance(shape, int) else tuple(shape)
            replaced[variable] = specify_shape(variable, whole)
    if not replaced:
        return list(outputs), list(wrt)
    # A variable that is computed from another keeps its place in the graph.
    found = clone_replace([*outputs, *wrt], replaced, rebuild_strict=False)
    return found[: len(outputs)], found[len(outputs) :]


def patterns_of(
    outputs: Sequence[Any], wrt: Sequence[Any], ops_without_rule: str
) -> list[list[Any]]:
    """Return a matrix for each pair of an output and an input, whose sizes must be known."""
    facts = Facts()
    without_rule: set[Op] = set()
    walk = Walk({}, 0, facts, without_rule)
    facts.learn(wrt)
    counts = [prod(walk.shape(variable)) for variable in wrt]
    walk.width = sum(counts)
    starts: list[int] = []
    for variable, count in zip(wrt, counts, strict=True):
        starts.append(sum(counts[: len(starts)]))
        walk.sets[variable] = identity(count, starts[-1], walk.width)
    found = walk.run(outputs)
    _report(without_rule, ops_without_rule)
    rows: list[list[Any]] = []
    for output, sets in zip(outputs, found, strict=True):
        whole = no_sets(prod(walk.shape(output)), walk.width) if sets is None else sets
        if not whole.has_sorted_indices:
            whole.sort_indices()
        if len(wrt) == 1:
            rows.append([whole])
            continue
        columns = whole.tocsc()
        rows.append(
            [
                columns[:, start : start + count].tocsr()
                for start, count in zip(starts, counts, strict=True)
            ]
        )
    return rows


def _report(ops: set[Op], policy: str) -> None:
    if not ops or policy == "ignore":
        return
    names = ", ".join(sorted({str(op) for op in ops}))
    msg = (
        f"No rule says which elements depend on which for {names}: all elements count as depending "
        "on all. Register one with @phintys.gradient.pattern_of, or pass "
        "ops_without_rule='ignore'."
    )
    if policy == "raise":
        raise GradientError(msg)
    warnings.warn(msg, UserWarning, stacklevel=3)
