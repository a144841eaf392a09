"""``check_op``: checks the whole contract of an Op on examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from phintys._base.errors import ArgumentError
from phintys.graph.op import Op
from phintys.graph.type import Type
from phintys.scalar.op import ScalarOp
from phintys.tensor.elemwise import Elemwise
from phintys.testing._derivative_checks import check_derivatives
from phintys.testing._node_checks import (
    NODE_CHECKS,
    check_batching,
    check_modes,
    check_reference,
    check_same_graph,
)
from phintys.testing._trial import Trial, start
from phintys.testing.records import EXACT, Example, OpRecord, Tolerance

CHECKS: tuple[str, ...] = (
    *NODE_CHECKS,
    "same graph",
    "batching",
    "reference",
    "modes",
    "derivatives",
)
"""Names of the checks, in the order in which they are run."""

MODES: tuple[str, ...] = ("reference", "debug")


def check_op(
    op: Op | Callable[..., Any] | OpRecord,
    examples: Iterable[Any],
    *,
    reference: Callable[..., Any] | None = None,
    types: Sequence[Type] | None = None,
    tolerance: Tolerance | None = None,
    differentiable: Sequence[int] | None = None,
    rop: bool = False,
    second: bool = False,
    modes: Sequence[Any] = MODES,
    skip: Iterable[str] = (),
) -> None:
    """Check on examples that an Op fulfils its contract and computes the right values.

    The following is checked for each node created by ``op``: its values belong to the Types of its
    outputs; ``make_node(*node.inputs)`` returns an equivalent node; the Op equals itself and its
    copies; only inputs in ``destroy_map`` are changed; the previous contents of the storage cells
    do not matter; memory is shared only as declared by ``view_map``; ``infer_shape`` returns the
    right shapes; copies and pickles compute the same. Then graphs for batches of the inputs are
    compared with those for one item, values with ``reference`` and between modes, and derivatives
    with finite differences.

    Parameters
    ----------
    op
        An Op, a function that applies one or several Ops, or an :class:`OpRecord`, which includes
        the reference, the tolerance, and information on derivatives.
    examples
        For each example, a list with one value for each input, or an :class:`Example`. Derivatives
        are checked with respect to floating and complex inputs; the function must be smooth there.
    reference
        Takes the values and returns the expected outputs (a list, if there are several).
    types
        Types of the inputs, if they are not tensors.
    tolerance
        Allowed difference from the reference; by default, values must be equal.
    differentiable
        Positions of the inputs with respect to which derivatives are checked; by default all
        tensors. Pass an empty list for an Op without derivatives.
    rop
        Check the R-operator too.
    second
        Check that the gradient can be differentiated in turn.
    modes
        The modes whose results are compared.
    skip
        Names of checks in :data:`CHECKS` to skip.

    Raises
    ------
    OpCheckError
        A check failed: the message names the check, the node, and the example.
    GradientError
        A derivative disagrees with finite differences.
    ArgumentError
        The arguments are invalid, for example if there are no examples.

    Notes
    -----
    Derivatives of in-place Ops are not checked, since their inputs are overwritten: check the Op
    that returns a new result.

    Derivatives are not checked through outputs that are not tensors either, since the meaning of a
    gradient depends on their Type.

    An Op whose class cannot be imported by name, because it was defined in a function or in an
    interactive session, cannot be pickled; it is only copied.

    Examples
    --------
    An Op that does not declare that it can return its input:

    >>> import numpy as np, phintys, phintys.tensor as pt
    >>> from phintys.testing import check_op
    >>> class Relu(phintys.Op):
    ...     __props__ = ()
    ...
    ...     def make_node(self, x):
    ...         x = pt.as_tensor_variable(x)
    ...         return phintys.Apply(self, [x], [x.type()])
    ...
    ...     def perform(self, node, inputs, output_storage):
    ...         (x,) = inputs
    ...         output_storage[0][0] = x if (x > 0).all() else np.maximum(x, 0)
    ...
    ...     def grad(self, inputs, output_grads):
    ...         return [pt.switch(inputs[0] > 0, output_grads[0], 0.0)]
    >>> check_op(Relu(), [[np.array([-1.0, 2.0])]], reference=lambda x: np.maximum(x, 0))
    >>> check_op(Relu(), [[np.array([1.0, 2.0])]])
    Traceback (most recent call last):
    ...
    phintys._base.errors.OpCheckError: Relu: Relu: its output 0 shares memory with its input 0 ...
    """
    record = _as_record(op, reference, tolerance, differentiable, rop, second)
    skipped = _check_names(skip) | _check_names(record.skip)
    count = 0
    for given in examples:
        with np.errstate(all="ignore"):  # infinities are ordinary values here
            _check_example(record, Example.of(given, types), modes, skipped)
        count += 1
    if not count:
        msg = f"check_op({record}): no examples were given, so nothing would be checked."
        raise ArgumentError(msg)


def _check_names(skip: Iterable[str]) -> frozenset[str]:
    skipped = frozenset([skip] if isinstance(skip, str) else skip)
    unknown = skipped - set(CHECKS)
    if unknown:
        msg = f"check_op: there are no checks {sorted(unknown)}; there are {', '.join(CHECKS)}."
        raise ArgumentError(msg)
    return skipped


def _as_record(
    op: Any,
    reference: Callable[..., Any] | None,
    tolerance: Tolerance | None,
    differentiable: Sequence[int] | None,
    rop: bool,
    second: bool,
) -> OpRecord:
    if isinstance(op, OpRecord):
        if reference or tolerance or differentiable is not None or rop or second:
            msg = f"The record {op} says all about its Op; change it with dataclasses.replace."
            raise ArgumentError(msg)
        return op
    if not callable(op):
        msg = f"check_op takes an Op, a function that applies one, or an OpRecord; got {op!r}."
        raise ArgumentError(msg)
    return OpRecord(
        name=str(op) if isinstance(op, Op) else getattr(op, "__name__", repr(op)),
        build=op,
        reference=reference,
        tolerance=EXACT if tolerance is None else tolerance,
        differentiable=None if differentiable is None else tuple(differentiable),
        rop=rop,
        second=second,
    )


def _check_example(
    record: OpRecord, example: Example, modes: Sequence[Any], skipped: frozenset[str]
) -> None:
    trial = start(record, example)
    _check_kinds(trial)
    for run in trial.runs:
        for name, check in NODE_CHECKS.items():
            if name not in skipped:
                with trial.explaining(name):
                    check(trial, run)
    if "same graph" not in skipped:
        with trial.explaining("same graph"):
            check_same_graph(trial)
    if "batching" not in skipped:
        with trial.explaining("batching"):
            check_batching(trial)
    expected = None
    if "reference" not in skipped:
        with trial.explaining("reference"):
            expected = check_reference(trial)
    if "modes" not in skipped:
        check_modes(trial, modes, expected)
    if "derivatives" not in skipped:
        check_derivatives(trial)


def _check_kinds(trial: Trial) -> None:
    """Check that the Ops of the record occur in the graph."""
    there = [run.node.op for run in trial.runs]
    there += [op.scalar_op for op in there if isinstance(op, Elemwise)]
    for wanted in trial.record.ops:
        found = (
            wanted in there
            if isinstance(wanted, ScalarOp | Op)
            else any(isinstance(op, wanted) for op in there)
        )
        if not found:
            trial.fail("ops", f"the record is about {wanted}, which does not occur in the graph.")
