"""Broadcasting as an explicit operation.

As everywhere, a dimension broadcasts only if its size is known to be 1 when the graph is built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import ShapeError
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import Alloc, as_sizes
from phintys.tensor.known import known_int
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import as_size, fold
from phintys.tensor.synonyms import also_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable


def broadcast_sizes(shapes: Sequence[Sequence[Any]], what: str = "broadcast_shape") -> list[Any]:
    """Return the sizes to which shapes broadcast.

    Of several symbolic sizes the first is returned: they must be equal, which is checked where the
    arrays are actually broadcast.

    Parameters
    ----------
    shapes
        Sequences of sizes, each an int or symbolic.
    what
        What broadcasts them, for errors.

    Returns
    -------
    list
        Ints where sizes are known, variables elsewhere.

    Raises
    ------
    ShapeError
        Two known sizes differ and neither is 1.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.broadcast_sizes([(2, 1), (3,)])
    [2, 3]
    """
    ndim = max((len(shape) for shape in shapes), default=0)
    result: list[Any] = []
    for dim in range(-ndim, 0):
        sizes = [shape[dim] for shape in shapes if len(shape) >= -dim]
        known = {size for size in sizes if isinstance(size, int) and size != 1}
        if len(known) > 1:
            texts = ", ".join(
                str(tuple(size if isinstance(size, int) else None for size in shape))
                for shape in shapes
            )
            msg = f"{what}: shapes do not fit together in dimension {dim}: {texts}."
            raise ShapeError(msg)
        if known:
            result.append(known.pop())
        else:
            result.append(next((size for size in sizes if not isinstance(size, int)), 1))
    return result


def broadcast_shape(*shapes: Any, arrays_are_shapes: bool = False) -> tuple[TensorVariable, ...]:
    """Return the shape to which shapes, or the shapes of tensors, broadcast.

    Parameters
    ----------
    shapes
        Each a tuple or list of sizes (ints or symbolic), or a tensor, whose shape is used.
    arrays_are_shapes
        Whether a tensor is a vector of sizes instead.

    Returns
    -------
    tuple of variables
        One int64 size for each dimension.

    Raises
    ------
    ShapeError
        Two known sizes differ and neither is 1.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> [int(size.eval()) for size in pt.broadcast_shape((5, 1), (3,))]
    [5, 3]
    """
    given: list[Sequence[Any]] = []
    for shape in shapes:
        if arrays_are_shapes or isinstance(shape, list | tuple):
            given.append([fold(size) for size in as_sizes(shape)])
        else:
            given.append(sizes_of(as_tensor_variable(shape)))
    return tuple(as_size(size) for size in broadcast_sizes(given))


def broadcast_shapes(*shapes: Any) -> tuple[Any, ...]:
    """Return the shape to which shapes broadcast, as ints where sizes are known.

    Parameters
    ----------
    shapes
        Each a size, or a tuple or list of sizes (ints or symbolic).

    Returns
    -------
    tuple
        An int for each known size, and an int64 variable for any other.

    Raises
    ------
    ShapeError
        Two known sizes differ and neither is 1.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.broadcast_shapes((5, 1), (3,))
    (5, 3)
    """
    given = [[fold(size) for size in as_sizes(shape)] for shape in shapes]
    return tuple(broadcast_sizes(given, "broadcast_shapes"))


@also_named
def broadcast_to(x: Any, shape: Any) -> TensorVariable:
    """Return ``x`` broadcast to a shape.

    Parameters
    ----------
    x
        A tensor.
    shape
        A list or tuple of sizes, ints or symbolic; or a symbolic vector of known length.

    Returns
    -------
    TensorVariable
        A tensor of that shape, with the dtype of ``x``.

    Raises
    ------
    ShapeError
        ``x`` does not broadcast to the shape.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.broadcast_to([1, 2], (2, 2)).eval()
    array([[1, 2],
           [1, 2]])
    """
    x = as_tensor_variable(x)
    sizes = as_sizes(shape)
    wanted = tuple(known_int(size) for size in sizes)
    if None not in wanted and wanted == x.type.shape:
        return x
    return Alloc()(x, *sizes)


def broadcast_arrays(*arrays: Any) -> tuple[TensorVariable, ...]:
    """Return tensors broadcast to a common shape.

    Parameters
    ----------
    arrays
        Tensors of any dtypes, whose shapes broadcast together.

    Returns
    -------
    tuple of TensorVariable
        As many tensors, all of the common shape, each with its own dtype.

    Raises
    ------
    ShapeError
        The shapes do not broadcast together.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> [x.type.shape for x in pt.broadcast_arrays([1, 2], [[1], [2], [3]])]
    [(3, 2), (3, 2)]
    """
    tensors = [as_tensor_variable(x) for x in arrays]
    sizes = broadcast_sizes([sizes_of(x) for x in tensors], "broadcast_arrays")
    return tuple(broadcast_to(x, [as_size(size) for size in sizes]) for x in tensors)
