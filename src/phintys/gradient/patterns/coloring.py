"""Colours of columns and rows: those of one colour are found by one sweep.

Columns of a matrix may have one colour if no row has nonzeros in two of them: then the product with
the sum of their unit vectors shows all of their elements (A. Curtis, M. Powell and J. Reid, "On the
estimation of sparse Jacobian matrices", 1974). Of a symmetric matrix, an element can be read in
either of two places, so a star colouring is enough: neighbours differ, and no path of four vertices
has two colours (T. Coleman and J. Moré, "Estimation of sparse Hessian matrices and graph coloring
problems", 1984; A. Gebremedhin, F. Manne and A. Pothen, "What color is your Jacobian? Graph
coloring for computing derivatives", 2005). Vertices get the first colour that is free.

Sets of colours are the bits of ints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable


def colors_of_columns(pattern: Any) -> Any:
    """Return a colour for each column of a CSR matrix, so that no row has two of one colour.

    Columns without elements have colour 0. Colours are numbered from 0, with few of them: the
    columns are coloured in their order, and again with the longest ones first if that may need
    fewer.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from phintys.gradient.patterns.coloring import colors_of_columns
    >>> band = scipy.sparse.csr_array(np.tri(6, k=1) - np.tri(6, k=-2))
    >>> colors_of_columns(band)
    array([0, 1, 2, 0, 1, 2])
    """
    columns = pattern.tocsc()
    least = int(np.diff(pattern.indptr).max(initial=0))
    found = _colored(columns, range(columns.shape[1]))
    if number_of_colors(found) > least:
        longest_first = np.argsort(-np.diff(columns.indptr), kind="stable")
        other = _colored(columns, longest_first.tolist())
        found = min(found, other, key=number_of_colors)
    return found


def number_of_colors(colors: Any) -> int:
    """Return how many colours there are."""
    return int(colors.max(initial=-1)) + 1


def _colored(columns: Any, order: Iterable[int]) -> Any:
    pointers, rows = columns.indptr.tolist(), columns.indices.tolist()
    used = [0] * columns.shape[0]  # the colours of each row
    colors = [0] * columns.shape[1]
    for column in order:
        own = rows[pointers[column] : pointers[column + 1]]
        taken = 0
        for row in own:
            taken |= used[row]
        free = ~taken & (taken + 1)
        colors[column] = free.bit_length() - 1
        for row in own:
            used[row] |= free
    return np.array(colors, dtype=np.int64)


def star_colors(pattern: Any) -> Any:
    """Return a colour for each column of a symmetric CSR matrix, a star colouring.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from phintys.gradient.patterns.coloring import star_colors
    >>> arrow = np.eye(5, dtype=bool)
    >>> arrow[0] = arrow[:, 0] = True
    >>> star_colors(scipy.sparse.csr_array(arrow))
    array([0, 1, 1, 1, 1])
    """
    pointers, indices = pattern.indptr.tolist(), pattern.indices.tolist()
    count = pattern.shape[0]
    colors = [-1] * count
    around = [0] * count  # the colours of the coloured neighbours of each vertex
    hubs = [0] * count  # the colours of the centres of the stars of which a vertex is a leaf
    first: list[dict[int, int]] = [{} for _ in range(count)]  # a neighbour of each colour
    for vertex in range(count):
        neighbours: dict[int, list[int]] = {}
        for other in indices[pointers[vertex] : pointers[vertex + 1]]:
            if colors[other] >= 0:
                neighbours.setdefault(colors[other], []).append(other)
        taken = 0
        for color, others in neighbours.items():
            taken |= 1 << color
            if len(others) == 1:  # it may join the star around its neighbour, or a lone vertex
                taken |= hubs[others[0]]
            else:  # it becomes the centre, so its neighbours cannot be in other stars
                for other in others:
                    taken |= around[other]
        free = ~taken & (taken + 1)
        own = free.bit_length() - 1
        colors[vertex] = own
        for color, others in neighbours.items():
            around[vertex] |= 1 << color
            first[vertex][color] = others[0]
            for other in others:
                if len(others) > 1:
                    hubs[other] |= free
                elif around[other] & free:  # the neighbour is a centre now, if it was not before
                    hubs[vertex] |= 1 << color
                    hubs[first[other][own]] |= 1 << color
                around[other] |= free
                first[other].setdefault(own, vertex)
    return np.array(colors, dtype=np.int64)
