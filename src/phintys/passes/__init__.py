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

from phintys.passes.constant_folding import ConstantFolding as ConstantFolding
from phintys.passes.constant_folding import constant_folding as constant_folding
from phintys.passes.inplace import InPlace as InPlace
from phintys.passes.inplace import inplace_everywhere as inplace_everywhere
from phintys.passes.inplace import register_inplace as register_inplace
from phintys.passes.merge import Merge as Merge
from phintys.passes.merge import merge as merge
from phintys.passes.pipelines import CANONICAL as CANONICAL
from phintys.passes.pipelines import PIPELINES as PIPELINES
from phintys.passes.pipelines import rewrite_graph as rewrite_graph
from phintys.passes.shape_inference import ShapeInference as ShapeInference
from phintys.passes.shape_inference import infer_shapes as infer_shapes
from phintys.passes.shape_inference import shape_inference as shape_inference
from phintys.passes.specialize import SPECIALIZE as SPECIALIZE
from phintys.passes.stabilize import STABILIZE as STABILIZE
