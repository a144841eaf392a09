"""Batching: graphs with extra leading axes, without a loop over the items in Python."""

from typing import TYPE_CHECKING

from phintys._base.late import late_names

if TYPE_CHECKING:
    from phintys.tensor.batching.blockwise import Blockwise
    from phintys.tensor.batching.engine import Batch, vectorize_graph
    from phintys.tensor.batching.functions import vectorize
    from phintys.tensor.batching.rules import BATCHING, batches
else:
    __getattr__, __dir__ = late_names(__name__)

__all__ = ["BATCHING", "Batch", "Blockwise", "batches", "vectorize", "vectorize_graph"]
