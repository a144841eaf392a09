"""Notes on errors of nodes: the line of the node, its inputs, and a hint."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.config import config
from phintys._base.errors import OpContractError, PhintysError, add_note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.op import StorageMap

_MOST_ELEMENTS_SHOWN = 10
_MOST_CHARACTERS_SHOWN = 120


def describe_value(value: Any) -> str:
    """Describe a value in one line: type, and for arrays dtype, shape, strides and elements."""
    if isinstance(value, np.ndarray):
        text = f"array of dtype {value.dtype}, shape {value.shape}"
        if value.ndim:
            text += f", strides {value.strides}"
        if value.size <= _MOST_ELEMENTS_SHOWN:
            text += f", value {_short(np.array2string(value, separator=', '))}"
        return text
    if value is None:
        return "None"
    return f"{_short(repr(value))} of type {type(value).__module__}.{type(value).__qualname__}"


def _short(text: str) -> str:
    text = " ".join(text.split())
    if len(text) <= _MOST_CHARACTERS_SHOWN:
        return text
    return f"{text[: _MOST_CHARACTERS_SHOWN - 4]} ..."


def _whose_step(node: Apply) -> str:
    function = node.origin.step_of
    is_step = function and getattr(node.op, "called", "") != function
    return f", a step of {function}" if is_step else ""


def explain_failure(error: Exception, node: Apply, storage_map: StorageMap) -> None:
    """Add a note to an error: which node failed, where it was made, and its input values."""
    lines = [
        f"While computing {_short(str(node))}{_whose_step(node)}",
        f"made at\n  {node.origin}",
        "with the inputs",
    ]
    for index, variable in enumerate(node.inputs):
        name = f" {variable.name!r}" if variable.name else ""
        cell = storage_map.get(variable, [None])
        value = describe_value(cell[0] if cell else None)
        lines.append(f"  {index}{name}, {variable.type}: {value}")
    if not node.inputs:
        lines.append("  (none)")
    types = ", ".join(str(variable.type) for variable in node.outputs)
    lines.append(f"for outputs of type {types}")
    lines.extend(_upstream(node))
    if hint := _hint(error, [storage_map.get(variable, [None]) for variable in node.inputs]):
        lines.append(f"Hint: {hint}")
    add_note(error, "\n".join(lines))


def _upstream(node: Apply) -> list[str]:
    """Return the lines that made the nodes directly upstream, nearest first."""
    if config.exception_verbosity != "high":
        return []
    lines: list[str] = []
    seen = {node}
    queue = deque([node])
    while queue and len(lines) < config.traceback_limit:
        for variable in queue.popleft().inputs:
            owner = variable.owner
            if owner is None or owner in seen or len(lines) >= config.traceback_limit:
                continue
            seen.add(owner)
            queue.append(owner)
            lines.append(f"  {_short(str(owner))}\n    {owner.origin}")
    return ["whose inputs come from", *lines] if lines else []


_TOO_LONG = ("array is too big", "Maximum allowed", "maximum supported")
"""NumPy's message for an array that is too large for any memory."""


def _hint(error: Exception, cells: Sequence[list[Any]]) -> str:
    arrays = [cell[0] for cell in cells if cell and isinstance(cell[0], np.ndarray)]
    if isinstance(error, OpContractError):
        return "this is a mistake in the Op itself, not in the values."
    if isinstance(error, PhintysError) or hasattr(error, "__notes__"):
        return ""  # the message is complete; or the failure of an inner graph has been explained
    if isinstance(error, MemoryError):
        total = sum(array.nbytes for array in arrays)
        return f"the inputs take {total:,} bytes; work on smaller pieces, or with float32."
    if isinstance(error, ValueError) and str(error).startswith(_TOO_LONG):
        numbers = [int(array) for array in arrays if not array.ndim and array.dtype.kind in "iu"]
        return f"look at the sizes: there is no array of shape {tuple(numbers)}." if numbers else ""
    is_of_shapes = isinstance(error, ValueError) and not isinstance(error, np.linalg.LinAlgError)
    if is_of_shapes and len({array.shape for array in arrays}) > 1:
        shapes = " and ".join(str(array.shape) for array in arrays)
        return f"look at the shapes {shapes} above: do they fit this operation?"
    if isinstance(error, TypeError) and len({array.dtype for array in arrays}) > 1:
        dtypes = " and ".join(str(array.dtype) for array in arrays)
        return f"look at the dtypes {dtypes} above: cast with x.astype(dtype)."
    if config.exception_verbosity != "high":
        return "config.exception_verbosity = 'high' shows where the inputs come from as well."
    return ""
