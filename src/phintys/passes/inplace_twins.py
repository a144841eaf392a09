"""In-place twins of updates of elements and of products, for the pass ``inplace``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from phintys.passes.inplace import BUILT_IN
from phintys.tensor.blas import Gemm
from phintys.tensor.indexing.update import AdvancedIncSubtensor, IncSubtensor

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.op import Op

__all__: list[str] = []


@BUILT_IN.register(IncSubtensor)
def update_twins(op: IncSubtensor, node: Apply) -> Iterator[Op]:
    """Yield the update that overwrites the array."""
    if not op.inplace:
        yield IncSubtensor(op.idx_list, inplace=True, set_instead_of_inc=op.set_instead_of_inc)


@BUILT_IN.register(AdvancedIncSubtensor)
def advanced_update_twins(op: AdvancedIncSubtensor, node: Apply) -> Iterator[Op]:
    """Yield the update that overwrites the array."""
    if not op.inplace:
        yield AdvancedIncSubtensor(
            op.idx_list,
            inplace=True,
            set_instead_of_inc=op.set_instead_of_inc,
            ignore_duplicates=op.ignore_duplicates,
        )


@BUILT_IN.register(Gemm)
def gemm_twins(op: Gemm, node: Apply) -> Iterator[Op]:
    """Yield the product that overwrites the matrix that it is added to."""
    if not op.inplace and len(node.inputs) > 3:
        yield Gemm(inplace=True)
