"""The rewrites, in modules that mirror ``tensor/``, and the pipelines built from them.

The rules guarantee that:

- A replacement has the same dtype, rank and static shape information.
- Values are preserved up to rounding. The sign of a zero can change (``x + 0 -> x``). Where the
  original expression overflows or cancels, a stable form can give the correct value instead
  (``stabilize``).
- NaN and infinities are ordinary values: ``x * 0`` and ``x - x`` are not replaced by zeros.
- Unneeded values are not computed, so their errors are not raised. Mismatched shapes, however,
  raise with and without rewriting, unless only a shape is computed.
- Every node keeps the line of the user's program that made it, or the node that it replaces.
"""

from typing import TYPE_CHECKING

from phintys._base.late import late_names
from phintys.passes.folding import ConstantFolding, constant_folding
from phintys.passes.inference import ShapeInference, infer_shapes, shape_inference
from phintys.passes.inplace import InPlace, inplace_everywhere, register_inplace
from phintys.passes.merging import Merge, merge
from phintys.passes.pipelines import CANONICAL, PIPELINES, rewrite_graph
from phintys.passes.specialize import SPECIALIZE

if TYPE_CHECKING:
    from phintys.passes.stabilize import STABILIZE
else:
    __getattr__, __dir__ = late_names(__name__)

__all__ = [
    "CANONICAL",
    "PIPELINES",
    "SPECIALIZE",
    "STABILIZE",
    "ConstantFolding",
    "InPlace",
    "Merge",
    "ShapeInference",
    "constant_folding",
    "infer_shapes",
    "inplace_everywhere",
    "merge",
    "register_inplace",
    "rewrite_graph",
    "shape_inference",
]
