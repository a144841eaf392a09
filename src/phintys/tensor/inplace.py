"""The elementwise ops that overwrite their first operand.

``add_inplace(x, y)`` returns the sum in the memory of ``x``, which is destroyed. Graphs are built
from the pure ops; rewrites introduce these where ``x`` is not used afterwards. The operand must
have the dtype and the size of the result. For type checkers, ``make stubs`` writes the names into
``inplace.pyi``.

Examples
--------
>>> import phintys.tensor as pt
>>> from phintys.tensor.inplace import add_inplace
>>> add_inplace.destroy_map
{0: [0]}
"""

from phintys._base.names import public_dir
from phintys.tensor.elemwise import Elemwise, name_functions
from phintys.tensor.functions import ELEMENTWISE

_NAMED = {
    f"{name.rstrip('_')}_inplace": Elemwise(op.scalar_op, {0: 0})
    for name, op in ELEMENTWISE.items()
    if name not in {"tensor_copy", "ldexp"}
}
globals().update(_NAMED)

__all__ = list(_NAMED)  # pyright: ignore[reportUnsupportedDunderAll] - see inplace.pyi

name_functions(_NAMED, __name__)

__dir__ = public_dir(__name__)
