"""Results of old programs are SciPy's matrices, whose ``*`` is the matrix product."""

from __future__ import annotations

from collections.abc import Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any

from phintys._base.late import LateModule
from phintys.compile import Out
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.variable import Variable

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = LateModule("scipy.sparse")


class AsMatrix(Op):
    """A value of class ``csr_matrix`` or ``csc_matrix`` with the arrays of a sparse value."""

    __props__ = ()
    view_map = {0: [0]}

    def make_node(self, x: Any) -> Apply:
        """Build a node for a sparse variable."""
        return Apply(self, [x], [x.type(x.name)])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Convert an array of SciPy; a matrix is itself."""
        (x,) = inputs
        if not isinstance(x, sp.spmatrix):
            made: Any = sp.csr_matrix if x.format == "csr" else sp.csc_matrix
            x = made((x.data, x.indices, x.indptr), shape=x.shape)
        output_storage[0][0] = x

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        """Return the gradient itself."""
        return list(output_grads)

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        """Return the direction itself."""
        return list(eval_points)


def as_matrices(given: Any) -> Any:
    """Return the results of a function, or its updates, with sparse ones as matrices of SciPy."""
    if isinstance(given, Mapping):
        kind: Any = type(given)
        return kind((key, as_matrices(value)) for key, value in given.items())
    if isinstance(given, list):
        return [as_matrices(one) for one in given]
    if type(given) is tuple:
        return tuple(as_matrices(one) for one in given)
    if isinstance(given, Out):
        return Out(as_matrices(given.variable), borrow=given.borrow)
    # Leaves are returned as users have given them.
    if not hasattr(getattr(given, "type", None), "format") or given.owner is None:
        return given
    # Kept with the variable, so that eval() compiles it once.
    known = getattr(given.tag, "as_matrix", None)
    if known is None or known.owner.inputs[0] is not given:
        known = given.tag.as_matrix = AsMatrix()(given)
    return known


_eval = Variable.eval  # which is replaced while an old package is installed


@wraps(_eval)
def evaluated(self: Any, *arguments: Any, **options: Any) -> Any:
    """Return the value of a variable; that of a sparse one is a matrix of SciPy."""
    return _eval(as_matrices(self), *arguments, **options)
