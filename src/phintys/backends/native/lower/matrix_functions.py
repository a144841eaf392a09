"""Lowering of functions of matrices that are not expressions in other Ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.native.lower.linear_algebra import (
    Operands,
    count_of,
    matrix_failure,
    turned,
)
from phintys.backends.native.lower.lowering import Lowering, lowers
from phintys.backends.native.lower.schur_forms import FAILED, workspace_of_form
from phintys.backends.native.routines.exponentials import EXPM, EXPM_DERIVATIVE, ROOMS
from phintys.backends.native.routines.schur_forms import GEES
from phintys.backends.native.routines.triangular_functions import COMPLEX_FORM, LOGM, SQRTM
from phintys.backends.native.steps.call import LibraryCall
from phintys.graph.apply import Apply
from phintys.tensor.linear_algebra.matrix_functions import Logm, Sqrtm
from phintys.tensor.linear_algebra.powers import Expm, ExpmDerivative

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.lower.view import View
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array


@lowers(Expm)
def lower_expm(op: Expm, node: Apply, lowering: Lowering) -> None:
    """A copy, which becomes the exponential."""
    (a,), core, _ = Operands.of(op, node, lowering)
    n = core["n"]
    target, loops = lowering.compute(node.outputs[0], a.sizes)
    lowering.store(target, lowering.load(a, loops), loops, nodes=(node,))
    _exponentiate((target.array,), n, a.sizes[:-2], node, lowering)


@lowers(ExpmDerivative)
def lower_expm_derivative(op: ExpmDerivative, node: Apply, lowering: Lowering) -> None:
    """Copies of the matrix and of the direction, which becomes the derivative."""
    (a, direction), core, lengths = Operands.of(op, node, lowering)
    n = core["n"]
    copy = lowering.copied(a, node)
    target, loops = lowering.compute(node.outputs[0], direction.sizes)
    lowering.store(target, lowering.load(direction, loops), loops, nodes=(node,))
    _exponentiate((copy.array, target.array), n, lengths, node, lowering)


def _exponentiate(
    outputs: tuple[Array, ...], n: Size, lengths: Sequence[Size], node: Apply, lowering: Lowering
) -> None:
    """Add the call for matrices, or for matrices and directions."""
    sizes, dtype = lowering.sizes, outputs[0].dtype
    whole = sizes.mul(n, n)
    workspace = (
        lowering.array(dtype, (sizes.mul(sizes.fixed(ROOMS * len(outputs)), whole),)),
        lowering.array(dtype.type(0).real.dtype, (sizes.mul(sizes.fixed(2), n),)),
        lowering.array("int32", (n,)),
    )
    options = {"n": n, "count": count_of(lengths, lowering), "move": whole}
    routine = EXPM if len(outputs) == 1 else EXPM_DERIVATIVE
    lowering.steps.append(LibraryCall(routine, (), outputs, options, node, workspace))


@lowers(Sqrtm, Logm)
def lower_by_form(op: Sqrtm | Logm, node: Apply, lowering: Lowering) -> None:
    """The Schur form, its complex form, and the function of that."""
    sizes, is_nan = lowering.sizes, op.on_error == "nan"
    (a,), core, _ = Operands.of(op, node, lowering)
    n = core["n"]
    whole = sizes.mul(n, n)
    options = {"n": n, "count": count_of(a.sizes[:-2], lowering), "move": whole, "nan": is_nan}
    forms, vectors = _complex_form(a, node, lowering, options)
    target, _ = lowering.compute(node.outputs[0], a.sizes)
    is_root = isinstance(op, Sqrtm)
    rooms = sizes.mul(sizes.fixed(1 if is_root else 3), whole)
    workspace = (lowering.array(forms.dtype, (rooms,)),)
    if not is_root:
        workspace += (lowering.array(forms.dtype, (n,)),)
    failure = matrix_failure(node, "it is singular (status {0}): matrix {1}", is_nan)
    routine, outputs = SQRTM if is_root else LOGM, (forms, target.array)
    call = LibraryCall(routine, (vectors,), outputs, options, node, workspace, failure)
    lowering.steps.append(call)


def _complex_form(
    a: View, node: Apply, lowering: Lowering, options: dict[str, Any]
) -> tuple[Array, Array]:
    """Write column-major Schur forms and unitary matrices, and return both.

    Those of real matrices are computed in real numbers, which takes a fraction of the time, and
    shows without doubt whether an eigenvalue is real.
    """
    dtype, n, is_nan = a.array.dtype, options["n"], options["nan"]
    forms = lowering.copied(turned(a, lowering), node).array
    vectors = lowering.array(dtype, forms.sizes)
    workspace = workspace_of_form(dtype, n, lowering)
    failure, outputs = matrix_failure(node, FAILED, is_nan), (forms, vectors)
    own = options | {"sort": None}
    lowering.steps.append(LibraryCall(GEES, (), outputs, own, node, workspace, failure))
    if dtype.kind == "c":
        return outputs
    wide = np.result_type(dtype, np.complex64)
    made = lowering.array(wide, forms.sizes), lowering.array(wide, forms.sizes)
    failure = matrix_failure(node, "a negative eigenvalue (status {0}) of matrix {1}", is_nan)
    lowering.steps.append(LibraryCall(COMPLEX_FORM, outputs, made, options, node, (), failure))
    return made
