"""Trees: dicts, lists, tuples, dataclasses and classes of attrs, of any depth, around leaves.

Parameters of models are often kept so. :func:`phintys.grad` returns gradients in the form of
``wrt``, :func:`phintys.function` takes and returns trees, and loops carry them. A leaf is whatever
is not a tree: variables, arrays, numbers, ``None``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from phintys import tensor as pt
from phintys._base.errors import ArgumentError
from phintys._base.names import public_dir
from phintys._base.nested_containers import form_of, forms_of, matched, rebuilt, walk
from phintys.graph.variable import Variable

__all__ = ["flatten", "leaves", "leaves_with_paths", "map", "ravel"]

__dir__ = public_dir(__name__)


def leaves(tree: Any) -> list[Any]:
    """Return the leaves of a tree, in order.

    Examples
    --------
    >>> from phintys import tree
    >>> tree.leaves({"w": [1, 2], "b": 3})
    [1, 2, 3]
    """
    return [leaf for _, leaf in walk(tree)]


def leaves_with_paths(tree: Any) -> list[tuple[str, Any]]:
    """Return the leaves of a tree, each with the path to it.

    Examples
    --------
    >>> from phintys import tree
    >>> tree.leaves_with_paths({"w": [1, 2]})
    [("['w'][0]", 1), ("['w'][1]", 2)]
    """
    return list(walk(tree))


def flatten(tree: Any) -> tuple[list[Any], Callable[[Any], Any]]:
    """Return the leaves of a tree, and a function that builds such a tree around other leaves.

    Examples
    --------
    >>> from phintys import tree
    >>> found, build = tree.flatten({"w": [1, 2], "b": 3})
    >>> build([10 * leaf for leaf in found])
    {'w': [10, 20], 'b': 30}
    """
    found = leaves(tree)

    def build(new: Any) -> Any:
        given = list(new)
        if len(given) != len(found):
            msg = f"A tree of the form {form_of(tree)} has {len(found)} leaves, got {len(given)}."
            raise ArgumentError(msg)
        return rebuilt(tree, given)

    return found, build


def map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Return a tree of what a function returns for each leaf of a tree.

    Parameters
    ----------
    function
        It gets a leaf of each tree.
    tree, others
        Trees of the same form.

    Raises
    ------
    ArgumentError
        The forms of the trees differ.

    Examples
    --------
    >>> from phintys import tree
    >>> tree.map(lambda p, g: p - g, {"w": 1, "b": [2]}, {"w": 10, "b": [20]})
    {'w': -9, 'b': [-18]}
    """
    columns = [leaves(tree)]
    for number, other in enumerate(others):
        found = matched(other, tree)
        if found is None:
            expected, got = forms_of(tree, other)
            msg = (
                f"tree.map: tree {number + 2} has another form than the first one: expected "
                f"{expected}, got {got}."
            )
            raise ArgumentError(msg)
        columns.append(found)
    return rebuilt(tree, [function(*row) for row in zip(*columns, strict=True)])


def ravel(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return all elements of a tree as one vector, and a function from vectors to trees.

    Parameters
    ----------
    tree
        Around arrays and numbers, or around variables with a rank. They must have one dtype, or
        promote to one.

    Returns
    -------
    vector
        An array; a variable if a leaf is one.
    unravel
        From a vector of the same length, an array or a variable, to a tree of the same form. Leaves
        have the shapes of those of the first tree.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys import tree
    >>> vector, unravel = tree.ravel({"w": np.ones((2, 2)), "b": 3.0})
    >>> vector
    array([1., 1., 1., 1., 3.])
    >>> unravel(2 * vector)["w"]
    array([[2., 2.],
           [2., 2.]])
    """
    found = leaves(tree)
    if any(isinstance(leaf, Variable) for leaf in found):
        variables = [pt.as_tensor_variable(leaf) for leaf in found]
        shapes = [tuple(one.shape[axis] for axis in range(one.ndim)) for one in variables]
        vector = pt.concatenate([one.ravel() for one in variables])
    else:
        arrays = [np.asarray(leaf) for leaf in found]
        shapes = [array.shape for array in arrays]
        vector = np.concatenate([array.ravel() for array in arrays]) if arrays else np.empty(0)

    def unravel(values: Any) -> Any:
        return rebuilt(tree, _pieces(values, shapes))

    return vector, unravel


def _pieces(vector: Any, shapes: list[tuple[Any, ...]]) -> list[Any]:
    """Return the parts of a vector that have the shapes, one after the other."""
    pieces: list[Any] = []
    start: Any = 0
    for shape in shapes:
        size: Any = 1
        for length in shape:
            size = size * length
        part = vector[start : start + size]
        pieces.append(part.reshape(shape) if shape else part[0])
        start = start + size
    return pieces
