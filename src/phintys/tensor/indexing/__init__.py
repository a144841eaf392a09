"""Indexing, and setting the elements that an index selects."""

from typing import TYPE_CHECKING

from phintys._base.late import late_names

if TYPE_CHECKING:
    from phintys.tensor.indexing.advanced import AdvancedSubtensor
    from phintys.tensor.indexing.basic import Subtensor
    from phintys.tensor.indexing.parse import index
    from phintys.tensor.indexing.setting import inc_subtensor, set_subtensor, take
    from phintys.tensor.indexing.template import (
        ARRAY,
        FULL,
        NEWAXIS,
        SCALAR,
        SEPARATOR,
        Mask,
        Slice,
        numpy_index,
    )
    from phintys.tensor.indexing.update import AdvancedIncSubtensor, IncSubtensor
else:
    __getattr__, __dir__ = late_names(__name__)

__all__ = [
    "ARRAY",
    "FULL",
    "NEWAXIS",
    "SCALAR",
    "SEPARATOR",
    "AdvancedIncSubtensor",
    "AdvancedSubtensor",
    "IncSubtensor",
    "Mask",
    "Slice",
    "Subtensor",
    "inc_subtensor",
    "index",
    "numpy_index",
    "set_subtensor",
    "take",
]
