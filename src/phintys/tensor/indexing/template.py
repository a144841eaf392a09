"""The structure of an index, apart from the values known only at run time.

An indexing Op keeps a *template*: a tuple with one entry for each part of the index. Ints are
stored in the template; symbolic numbers and arrays are inputs of the node, and the template says
where they belong. An entry is one of

- an int;
- :data:`SCALAR`: a 0-d integer, the next input;
- a :class:`Slice`, each of whose bounds is ``None``, an int, or :data:`SCALAR`;
- :data:`ARRAY`: an integer array, the next input;
- a :class:`Mask`: a bool array, the next input;
- :data:`NEWAXIS`: a new dimension of size 1;
- :data:`SEPARATOR`: nothing, but it separates arrays, and so decides where their dimensions go
  (``x[:, a, ..., b]`` where the ellipsis covers no dimension).
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from phintys._base.errors import IndexingError, OpContractError, ShapeError, add_note
from phintys.tensor import math
from phintys.tensor.sizes import (
    add_sizes,
    as_size,
    ceil_div_sizes,
    clip_size,
    fold,
    subtract_sizes,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class Kind(Enum):
    """Entries of a template that carry no data."""

    SCALAR = "i"
    ARRAY = "array"
    NEWAXIS = "newaxis"
    SEPARATOR = "..."

    def __repr__(self) -> str:
        return self.name


SCALAR = Kind.SCALAR
ARRAY = Kind.ARRAY
NEWAXIS = Kind.NEWAXIS
SEPARATOR = Kind.SEPARATOR


class Slice(NamedTuple):
    """A slice in a template."""

    start: Bound = None
    stop: Bound = None
    step: Bound = None

    def __str__(self) -> str:
        start, stop, step = ("" if b is None else _bound_text(b) for b in self)
        return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"


def _bound_text(bound: Any) -> str:
    return bound.value if isinstance(bound, Kind) else str(bound)


FULL = Slice()


def is_full(entry: Any) -> bool:
    """Return whether an entry is the slice ``:``, without comparing symbolic bounds."""
    return isinstance(entry, Slice) and entry.start is entry.stop is entry.step is None


class Mask(NamedTuple):
    """A bool array in a template."""

    ndim: int

    def __str__(self) -> str:
        return "mask"


Bound = int | Kind | None
Template = tuple[int | Kind | Slice | Mask, ...]


def as_template(entries: Iterable[Any]) -> Template:
    """Return a template; Python slices and ``None`` (a new dimension) are accepted as well.

    Raises
    ------
    OpContractError
        An entry is not a valid template entry.
    """
    template: list[Any] = []
    for entry in entries:
        if isinstance(entry, slice):
            entry = Slice(*(_as_bound(b) for b in (entry.start, entry.stop, entry.step)))
        elif entry is None:
            entry = NEWAXIS
        if not isinstance(entry, Kind | Slice | Mask):
            if isinstance(entry, bool | np.bool_) or not hasattr(entry, "__index__"):
                msg = f"{entry!r} is not a valid entry of an index template."
                raise OpContractError(msg)
            entry = entry.__index__()
        if isinstance(entry, Slice) and entry.step == 0:
            msg = "The step of a slice cannot be 0."
            raise IndexingError(msg)
        template.append(entry)
    return tuple(template)


def _as_bound(bound: Any) -> Bound:
    return bound if bound is None or bound is SCALAR else bound.__index__()


def template_text(template: Template) -> str:
    """Return the printed form of a template."""
    if not template:
        return "..."
    return ", ".join(str(e.value) if isinstance(e, Kind) else str(e) for e in template)


def count_inputs(template: Template) -> int:
    """Return the number of inputs that a template takes."""
    total = 0
    for entry in template:
        if isinstance(entry, Slice):
            total += sum(bound is SCALAR for bound in entry)
        elif entry is SCALAR or entry is ARRAY or isinstance(entry, Mask):
            total += 1
    return total


def count_dims(template: Template) -> int:
    """Return the number of dimensions of the indexed array that a template covers."""
    total = 0
    for entry in template:
        if isinstance(entry, Mask):
            total += entry.ndim
        elif entry is not NEWAXIS and entry is not SEPARATOR:
            total += 1
    return total


def is_advanced(template: Template) -> bool:
    """Return whether an index contains arrays."""
    return any(entry is ARRAY or isinstance(entry, Mask) for entry in template)


def fill(template: Template, values: Iterable[Any]) -> Iterator[Any]:
    """Yield the entries, with the inputs in place of their placeholders.

    A slice is yielded as a :class:`Slice`, a tuple of three.
    """
    following = iter(values)
    for entry in template:
        if isinstance(entry, Slice):
            yield Slice(*(next(following) if bound is SCALAR else bound for bound in entry))
        elif entry is SCALAR or entry is ARRAY or isinstance(entry, Mask):
            yield next(following)
        else:
            yield entry


@lru_cache(maxsize=256)
def input_kinds(template: Template) -> tuple[Any, ...]:
    """Return, for each index input, the template entry that it belongs to."""
    return tuple([entry for entry in template for _ in range(count_inputs((entry,)))])


def roles_of_indices(template: Template) -> list[str]:
    """Describe the roles of the index inputs.

    Examples
    --------
    >>> from phintys.tensor.indexing.template import NEWAXIS, SCALAR, Slice
    >>> from phintys.tensor.indexing.template import ARRAY, roles_of_indices
    >>> roles_of_indices((Slice(SCALAR, -1), NEWAXIS, 0, ARRAY))
    ['start of axis 0', 'index of axis 2']
    """
    roles: list[str] = []
    axis = 0
    for entry in template:
        if isinstance(entry, Slice):
            bounds = zip(("start", "stop", "step"), entry, strict=True)
            roles += [f"{name} of axis {axis}" for name, bound in bounds if bound is SCALAR]
        elif isinstance(entry, Mask):
            roles.append(f"mask of axis {axis}")
        elif entry is SCALAR or entry is ARRAY:
            roles.append(f"index of axis {axis}")
        axis += count_dims((entry,))
    return roles


def numpy_index(template: Template, values: Sequence[Any]) -> tuple[Any, ...]:
    """Return the index in NumPy's form, given the values of the inputs."""
    index: list[Any] = []
    following = iter(values)
    for entry in template:
        if isinstance(entry, Slice):
            index.append(
                slice(*(int(next(following)) if bound is SCALAR else bound for bound in entry))
            )
        elif entry is SCALAR:
            index.append(int(next(following)))
        elif entry is ARRAY or isinstance(entry, Mask):
            index.append(next(following))
        elif entry is NEWAXIS:
            index.append(None)
        else:
            index.append(... if entry is SEPARATOR else entry)
    return tuple(index)


# ---- the shape of the result -----------------------------------------------------------------


class Kept(NamedTuple):
    """A dimension of the result that is a slice of a dimension of the indexed array."""

    dim: int
    position: int  # of the slice in the template; -1 for a dimension that no entry covers


class Placed(Enum):
    """Dimensions of the result that are not slices of the indexed array."""

    NEW = 0
    ADVANCED = 1  # all dimensions of the broadcast index arrays


@lru_cache(maxsize=256)
def layout(template: Template, ndim: int) -> tuple[Kept | Placed, ...]:
    """Return where the dimensions of the result come from, in order, by NumPy's rules.

    The dimensions of index arrays replace the arrays if these are adjacent, and else come first.
    Ints next to arrays count as arrays.
    """
    result: list[Kept | Placed] = []
    advanced = is_advanced(template)
    place: int | None = None
    interrupted = apart = False
    dim = 0
    for position, entry in enumerate(template):
        if isinstance(entry, Slice):
            result.append(Kept(dim, position))
            dim += 1
        elif entry is NEWAXIS:
            result.append(Placed.NEW)
        elif entry is not SEPARATOR:
            dim += entry.ndim if isinstance(entry, Mask) else 1
            if not advanced:
                continue
            if place is None:
                place = len(result)
            apart = apart or interrupted
            continue
        interrupted = place is not None
    result.extend(Kept(rest, -1) for rest in range(dim, ndim))
    if place is not None:
        result.insert(0 if apart else place, Placed.ADVANCED)
    return tuple(result)


def slice_length(size: Any, bounds: Slice) -> Any:
    """Return the length of a slice of a dimension.

    Parameters
    ----------
    size
        Size of the dimension, an int or symbolic.
    bounds
        Start, stop and step: ``None``, ints or symbolic.
    """
    start, stop, step = (None if bound is None else fold(as_size(bound)) for bound in bounds)
    if start is None and stop is None and step in {None, 1, -1}:
        return size
    step = 1 if step is None else step
    if all(isinstance(known, int | None) for known in (size, start, stop, step)):
        return len(range(*slice(start, stop, step).indices(size)))
    if isinstance(step, int):
        return _length_for(size, start, stop, step, forward=step > 0)
    return math.switch(
        math.gt(step, 0),
        _length_for(size, start, stop, step, forward=True),
        _length_for(size, start, stop, step, forward=False),
    )


def _length_for(size: Any, start: Any, stop: Any, step: Any, forward: bool) -> Any:
    # Going backward, the position before the first element is a valid stop.
    lowest: Any = 0 if forward else -1
    highest = size if forward else subtract_sizes(size, 1)
    first = _place(start, size, lowest, highest, lowest if forward else highest)
    last = _place(stop, size, lowest, highest, highest if forward else lowest)
    return clip_size(ceil_div_sizes(subtract_sizes(last, first), step), 0, None)


def _place(bound: Any, size: Any, lowest: Any, highest: Any, default: Any) -> Any:
    """Return the position in the dimension that a bound of a slice refers to."""
    if bound is None:
        return default
    if isinstance(bound, int):
        if bound < 0:
            return clip_size(add_sizes(size, bound), lowest, None)
        return clip_size(bound, None, highest)
    from_end = math.switch(math.lt(bound, 0), add_sizes(bound, size), bound)
    return clip_size(from_end, lowest, highest)


# ---- errors ----------------------------------------------------------------------------------


def check_rank(op: Any, x: Any, template: Template) -> None:
    """Raise if a template covers more dimensions than an array has."""
    covered = count_dims(template)
    if covered > x.type.ndim:
        msg = (
            f"{op}: too many indices: {x} of type {x.type} has {x.type.ndim} dimensions, and "
            f"{covered} are indexed."
        )
        raise IndexingError(msg)


def out_of_range(op: Any, x: Any, index: Any, dim: int, size: int) -> IndexingError:
    """Return the error for an index that is out of range for a dimension."""
    return IndexingError(
        f"{op}: index {index} is out of range for axis {dim} of {x}, which has size {size}: "
        f"expected an index from {-size} to {size - 1}."
        if size
        else f"{op}: index {index} is out of range for axis {dim} of {x}, which is empty."
    )


def explain(op: Any, x: Any, shape: Sequence[int], template: Template, values: Any) -> Exception:
    """Return the error for an index that NumPy rejected."""
    dim = 0
    for entry, value in zip(template, fill(template, values), strict=True):
        if entry in {NEWAXIS, SEPARATOR}:
            continue
        if isinstance(entry, Mask):
            covered = tuple(shape[dim : dim + entry.ndim])
            if value.shape != covered:
                return mask_misfit(op, x, value.shape, dim, covered)
            dim += entry.ndim
            continue
        if isinstance(entry, Slice):
            if value.step is not None and int(value.step) == 0:
                return IndexingError(f"{op}: the step of a slice of axis {dim} is 0.")
        else:
            size = shape[dim]
            indices = np.asarray(value)
            is_wrong = (indices < -size) | (indices >= size)
            if is_wrong.any():
                place = np.unravel_index(is_wrong.argmax(), is_wrong.shape)
                error = out_of_range(op, x, indices[place], dim, size)
                if place:
                    shown = ", ".join(map(str, place))
                    add_note(error, f"It is element [{shown}] of the index array.")
                return error
        dim += 1
    shapes = [np.shape(value) for value in values]
    return ShapeError(f"{op}: the index arrays, of shapes {shapes}, do not broadcast together.")


def arrays_misfit(op: Any, shapes: Iterable[Sequence[Any]]) -> ShapeError:
    """Return the error for index arrays of shapes that do not broadcast."""
    given = ", ".join(str(tuple(shape)) for shape in shapes)
    return ShapeError(
        f"{op}: the index arrays, of shapes {given}, do not fit together. A dimension "
        "broadcasts only if its size is known to be 1 when the graph is built: use x[:, "
        "None] for a new dimension, or pt.specify_broadcastable(x, axis)."
    )


def mask_misfit(
    op: Any, x: Any, mask: Sequence[Any], dim: int, covered: Sequence[Any]
) -> IndexingError:
    """Return the error for a mask whose shape differs from that of the dimensions it covers."""
    return IndexingError(
        f"{op}: a mask of shape {tuple(mask)} covers {x} from dimension {dim}, where it "
        f"has sizes {tuple(covered)}. The two must be equal."
    )
