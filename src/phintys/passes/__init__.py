"""The rewrites, in files that mirror ``tensor/``, and the pipelines that are made of them.

What the rules promise:

- The dtype and rank of what is replaced stay, and so does all that its type knows of its shape.
- Values stay, up to rounding. The sign of a zero may change (``x + 0 -> x``). Where the original
  expression overflows or cancels, a stable form may give the right value instead (``stabilize``).
- NaN and infinities are values like others: ``x * 0`` and ``x - x`` are no zeros.
- What is not needed is not computed, and its errors do not come. But shapes that do not fit raise
  with and without rewriting, except where nothing but a shape is asked for.
- Every node keeps the line of the user's program that made it, or what it stands for.
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
