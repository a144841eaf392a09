"""Classes of Ops of indexing with a template: ``Subtensor(idx_list)(x, *indices)``.

An entry of a template is a slice, or one number. Types of scalars (Theano, Aesara) and positions
(PyTensor) in it stand for the indices that the Op is applied to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys.compat.old_classes import stands_for
from phintys.graph import Type

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["AdvancedIncSubtensor", "AdvancedSubtensor", "IncSubtensor", "Subtensor"]


def _index(idx_list: Sequence[Any], given: Sequence[Any]) -> tuple[Any, ...]:
    """Return a template with indices in their places."""
    rest = list(given)
    used = 0

    def filled(entry: Any) -> Any:
        nonlocal used
        if isinstance(entry, slice):
            return slice(filled(entry.start), filled(entry.stop), filled(entry.step))
        if isinstance(entry, Type) or (given and isinstance(entry, int)):
            place = used if isinstance(entry, Type) else entry
            used += 1
            if place >= len(rest):
                msg = f"The template {list(idx_list)} has more places than the {len(rest)} indices."
                raise ArgumentError(msg)
            return rest[place]
        return entry

    index = tuple(filled(entry) for entry in idx_list)
    if used < len(rest):
        msg = f"The template {list(idx_list)} has {used} places for indices; got {len(rest)}."
        raise ArgumentError(msg)
    return index


def _subtensor(idx_list: Sequence[Any]) -> Any:
    """Take a part of an array.

    Examples
    --------
    >>> import phintys.scalar as ps, phintys.tensor as pt
    >>> from phintys.compat.index_ops import Subtensor
    >>> x = pt.dmatrix("x")
    >>> part = Subtensor([slice(ps.int64, None, None), ps.int64])(x, 1, 0)
    >>> part.eval({x: [[1.0, 2.0], [3.0, 4.0]]})
    array([3.])
    """
    return lambda x, *indices: pt.as_tensor_variable(x)[_index(idx_list, indices)]


def _increment(
    idx_list: Sequence[Any],
    inplace: bool = False,
    set_instead_of_inc: bool = False,
    destroyhandler_tolerate_aliased: Any = None,
) -> Any:
    """Add to a part of an array, or replace it."""
    change = pt.set_subtensor if set_instead_of_inc else pt.inc_subtensor
    return lambda x, y, *indices: change(pt.as_tensor_variable(x)[_index(idx_list, indices)], y)


def _advanced(idx_list: Sequence[Any] | None = None) -> Any:
    """Take elements by arrays of indices."""

    def op(x: Any, *indices: Any) -> Any:
        index = indices if idx_list is None else _index(idx_list, indices)
        return pt.as_tensor_variable(x)[index]

    return op


def _advanced_increment(
    idx_list: Any = None,
    inplace: bool = False,
    set_instead_of_inc: bool = False,
    ignore_duplicates: bool = False,
) -> Any:
    """Add to elements, or replace them."""
    if isinstance(idx_list, bool):  # ``inplace`` came first in the older packages
        idx_list, set_instead_of_inc = None, inplace
    change = pt.set_subtensor if set_instead_of_inc else pt.inc_subtensor
    options = {"ignore_duplicates": True} if ignore_duplicates else {}

    def op(x: Any, y: Any, *indices: Any) -> Any:
        index = indices if idx_list is None else _index(idx_list, indices)
        return change(pt.as_tensor_variable(x)[index], y, **options)

    return op


Subtensor = stands_for("Subtensor", pt.Subtensor, _subtensor)
IncSubtensor = stands_for("IncSubtensor", pt.IncSubtensor, _increment)
AdvancedSubtensor = stands_for("AdvancedSubtensor", pt.AdvancedSubtensor, _advanced)
AdvancedIncSubtensor = stands_for(
    "AdvancedIncSubtensor", pt.AdvancedIncSubtensor, _advanced_increment
)
