"""Checks that outputs share memory only as ``view_map`` and ``destroy_map`` declare.

All reasoning about memory rests on these maps: which results are copied before they are returned,
what may be overwritten, when a buffer is free. An Op may return an input, a view of one, or one
array for two outputs, without declaring it. Such an output is copied immediately: the check takes
some ten nanoseconds, and it looks at the memory itself, not at what the Op declares. DebugMode
makes the same check and rejects such an Op.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.base import copy_value
from phintys.backends.reference.thunks import is_lazy
from phintys.graph.alias_map import shared_inputs
from phintys.graph.type import Type
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from phintys.backends.reference.thunks import Thunk
    from phintys.graph.apply import Apply
    from phintys.graph.op import StorageMap
    from phintys.graph.variable import Variable

    Cell = list[Any]


def owning_thunk(thunk: Thunk, node: Apply, storage_map: StorageMap) -> Thunk:
    """Return a thunk whose outputs share memory with inputs only as the Op's maps declare.

    Parameters
    ----------
    thunk
        Executes the node.
    node
        The node.
    storage_map
        The cells that the thunk operates on.
    """
    named = [{*shared_inputs(node.op, index)} for index in range(len(node.outputs))]
    pairs: list[tuple[Cell, list[Cell], list[Cell], Type]] = []
    for index, output in enumerate(node.outputs):
        if not _shows_memory(output):
            continue
        others = [
            variable
            for position, variable in enumerate(node.inputs)
            if position not in named[index]
        ]
        others += [
            other
            for before, other in enumerate(node.outputs[:index])
            if named[before].isdisjoint(named[index])
        ]
        others = [other for other in dict.fromkeys(others) if _shows_memory(other)]
        if others:
            arrays = [storage_map[one] for one in others if _are_arrays(output, one)]
            rest = [storage_map[one] for one in others if not _are_arrays(output, one)]
            pairs.append((storage_map[output], arrays, rest, output.type))
    if not pairs:
        return thunk
    if is_lazy(thunk):

        def owning_lazily() -> Sequence[int] | None:
            if wanted := thunk():
                return wanted
            for output, arrays, rest, type_ in pairs:
                # Inputs that were not needed have no value.
                cells = [cell for cell in (*arrays, *rest) if cell[0] is not None]
                _separate(output, cells, type_)
            return None

        return owning_lazily
    if any(rest for _, _, rest, _ in pairs):

        def owning_mixed() -> None:
            thunk()
            for output, arrays, rest, type_ in pairs:
                if arrays:
                    _separate_arrays(output, arrays, type_)
                _separate(output, rest, type_)

        return owning_mixed
    if len(pairs) > 1:

        def owning() -> None:
            thunk()
            for output, arrays, _, type_ in pairs:
                _separate_arrays(output, arrays, type_)

        return owning
    ((output, arrays, _, type_),) = pairs

    def owning_one() -> None:
        thunk()
        _separate_arrays(output, arrays, type_)

    return owning_one


def _are_arrays(*variables: Variable) -> bool:
    return all(isinstance(variable.type, TensorType) for variable in variables)


def _shows_memory(variable: Variable) -> bool:
    """Return whether the Type of a variable can detect that two values share memory."""
    return type(variable.type).may_share_memory is not Type.may_share_memory


def _separate(output: Cell, cells: list[Cell], type_: Type) -> None:
    """Copy an output that shares memory with any of the other values."""
    value = output[0]
    if any(type_.may_share_memory(value, cell[0]) for cell in cells):
        output[0] = copy_value(value)


def _separate_arrays(output: Cell, cells: list[Cell], type_: Type) -> None:
    """Do the same for arrays, without comparing addresses where their owners tell them apart.

    An array without a base has memory of its own, which only its views share. The base of a view
    is the array that owns the memory, even for a view of a view; if it is anything else, as after
    ``numpy.lib.stride_tricks.as_strided``, addresses are compared.
    """
    value = output[0]
    if value.base is None:
        for cell in cells:
            other = cell[0]
            base = other.base
            if other is value or not (base is None or _owns_other_memory(base, value)):
                break
        else:
            return
    _separate(output, cells, type_)


def _owns_other_memory(base: Any, value: Any) -> bool:
    """Return whether the base of a view is a plain array that owns memory, other than a value's."""
    return base is not value and base.__class__ is np.ndarray and base.base is None
