"""The elements of sparse Jacobians and Hessians, by one sweep for each colour of columns.

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

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from phintys._base.late import LateModule
from phintys._base.records import record
from phintys.gradient.arguments import check_choice
from phintys.gradient.forward import Rop
from phintys.gradient.jacobians import check_expression, check_tensor
from phintys.gradient.patterns.sparsity import patterns_of, with_known
from phintys.gradient.reverse import Lop, grad
from phintys.graph.cloning import clone_replace
from phintys.tensor.batching import vectorize_graph
from phintys.tensor.convert import constant
from phintys.tensor.creation import alloc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from phintys.gradient.reverse import Policy


def colors_of_columns(pattern: Any) -> Any:
    """Return a colour for each column of a CSR matrix, so that no row has two of one colour.

    Columns without elements have colour 0. Colours are numbered from 0, with few of them: the
    columns are coloured in their order, and again with the longest ones first if that may need
    fewer.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from phintys.gradient.patterns.compressed import colors_of_columns
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
    >>> from phintys.gradient.patterns.compressed import star_colors
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


Direction = Literal["forward", "reverse"]

scipy_sparse: Any = LateModule("scipy.sparse")

DIRECTIONS = ("forward", "reverse")


@record()
class Compressed:
    """A sparse matrix of derivatives: its elements, and where they are.

    Attributes
    ----------
    data : TensorVariable
        A vector with the elements of the pattern, row by row: ``data`` of the CSR form.
    pattern
        A ``scipy.sparse.csr_array`` of bools with sorted indices, which does not depend on values.
    sweeps
        How many sweeps compute the elements: the number of colours.
    direction
        Whether these are R-operators, ``"forward"``, or L-operators, ``"reverse"``.
    """

    data: Any
    pattern: Any
    sweeps: int
    direction: Direction

    def matrix(self, values: Any) -> Any:
        """Return the sparse matrix of SciPy with the values of the elements.

        Parameters
        ----------
        values
            The value of ``data``, an array.
        """
        parts = (values, self.pattern.indices, self.pattern.indptr)
        return scipy_sparse.csr_array(parts, shape=self.pattern.shape)


def compressed_jacobian(
    expression: Any,
    wrt: Any,
    sizes: Mapping[Any, Any] | None = None,
    givens: Mapping[Any, Any] | None = None,
    disconnected_inputs: Policy = "raise",
    ops_without_rule: str = "warn",
    direction: Direction | None = None,
) -> Compressed:
    """Return the elements of a sparse Jacobian.

    Parameters
    ----------
    expression
        A tensor of any rank, of a real floating dtype.
    wrt
        A tensor variable of any rank.
    sizes, givens, ops_without_rule
        As for :func:`~phintys.gradient.sparsity`. The stated sizes are checked when a function is
        called, and the givens are constants of the result.
    disconnected_inputs
        What to do if the expression does not depend on ``wrt``: ``"raise"``, ``"warn"`` or
        ``"ignore"``.
    direction
        Whether columns are found by R-operators, ``"forward"``, or rows by L-operators,
        ``"reverse"``. By default that which needs fewer sweeps.

    Returns
    -------
    Compressed
        The elements of the Jacobian of the flattened expression with respect to the flattened
        variable, of shape ``(expression.size, wrt.size)``.

    Raises
    ------
    ShapeError
        A size is not known.
    GradientError
        The expression is not a real floating-point tensor.
    DisconnectedInputError
        The expression does not depend on ``wrt``.

    Notes
    -----
    Columns that have no nonzero in a common row are found by one sweep, along the sum of their unit
    vectors (A. Curtis, M. Powell and J. Reid, "On the estimation of sparse Jacobian matrices",
    1974), and all sweeps are one batch. A single full row makes the columns need as many sweeps as
    there are, and a single full column the rows: a matrix with both is best found in two parts.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.gradient import compressed_jacobian
    >>> x = pt.dvector("x")
    >>> found = compressed_jacobian(x[1:] * x[:-1], x, sizes={x: 4})
    >>> found.sweeps
    2
    >>> elements = phintys.function([x], found.data)
    >>> found.matrix(elements([1.0, 2.0, 3.0, 4.0])).toarray()
    array([[2., 1., 0., 0.],
           [0., 3., 2., 0.],
           [0., 0., 4., 3.]])
    """
    check_expression(expression)
    check_tensor(wrt, "The variable wrt")
    if direction is not None:
        check_choice("direction", direction, DIRECTIONS)
    (y,), (x,) = with_known([expression], [wrt], sizes, givens)
    ((pattern,),) = patterns_of([y], [x], ops_without_rule)
    chosen, colors = _colors(pattern, direction)
    rows, columns = _elements(pattern)
    if chosen == "forward":
        seed = x.type("direction")
        swept = Rop(y, x, seed, disconnected_outputs=disconnected_inputs)
        found = _compressed(swept, seed, colors, x.type.shape)
        places = colors[columns] * pattern.shape[0] + rows
    else:
        seed = y.type("weights")
        swept = Lop(y, x, seed, disconnected_inputs=disconnected_inputs)
        found = _compressed(swept, seed, colors, y.type.shape)
        places = colors[rows] * pattern.shape[1] + columns
    return Compressed(found[constant(places)], pattern, number_of_colors(colors), chosen)


def compressed_hessian(
    cost: Any,
    wrt: Any,
    sizes: Mapping[Any, Any] | None = None,
    givens: Mapping[Any, Any] | None = None,
    disconnected_inputs: Policy = "raise",
    ops_without_rule: str = "warn",
) -> Compressed:
    """Return the elements of a sparse Hessian.

    Parameters
    ----------
    cost
        A real scalar.
    wrt
        A tensor variable of any rank.
    sizes, givens, disconnected_inputs, ops_without_rule
        As for :func:`compressed_jacobian`.

    Returns
    -------
    Compressed
        The elements of the matrix of second derivatives, of shape ``(wrt.size, wrt.size)``. It is
        exactly symmetric.

    Raises
    ------
    ShapeError
        A size is not known.
    GradientError
        The cost is not a real scalar.
    DisconnectedInputError
        The cost does not depend on ``wrt``.

    Notes
    -----
    The sweeps are R-operators of the gradient, along the sums of the unit vectors of a star
    colouring (T. Coleman and J. Moré, "Estimation of sparse Hessian matrices and graph coloring
    problems", 1984): an element can be read in either of two places, so that an arrow-shaped
    Hessian, of parameters of a group and those of its members, needs two of them.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.gradient import compressed_hessian
    >>> x = pt.dvector("x")
    >>> found = compressed_hessian((x[0] * x**2).sum(), x, sizes={x: 4})
    >>> found.sweeps
    2
    >>> elements = phintys.function([x], found.data)
    >>> found.matrix(elements([1.0, 2.0, 3.0, 4.0])).toarray()
    array([[6., 4., 6., 8.],
           [4., 2., 0., 0.],
           [6., 0., 2., 0.],
           [8., 0., 0., 2.]])
    """
    check_tensor(wrt, "The variable wrt")
    (value,), (x,) = with_known([cost], [wrt], sizes, givens)
    gradient = grad(value, x, disconnected_inputs=disconnected_inputs, add_names=False)
    ((found,),) = patterns_of([gradient], [x], ops_without_rule)
    pattern = found.multiply(found.T).tocsr()  # each of both has all nonzeros
    pattern.sort_indices()
    colors = star_colors(pattern)
    seed = x.type("direction")
    swept = Rop(gradient, x, seed, disconnected_outputs="ignore")
    elements = _compressed(swept, seed, colors, x.type.shape)
    return Compressed(
        elements[constant(_places_of_stars(pattern, colors))],
        pattern,
        number_of_colors(colors),
        "forward",
    )


def _colors(pattern: Any, wanted: Direction | None) -> tuple[Direction, Any]:
    """Return the direction that needs fewer sweeps, and its colours; forward ones are cheaper."""
    forward = None if wanted == "reverse" else colors_of_columns(pattern)
    least = int(np.bincount(pattern.indices, minlength=1).max())
    if forward is not None and (wanted == "forward" or number_of_colors(forward) <= least):
        return "forward", forward
    reverse = colors_of_columns(pattern.T.tocsr())
    if forward is None or number_of_colors(reverse) < number_of_colors(forward):
        return "reverse", reverse
    return "forward", forward


def _elements(pattern: Any) -> tuple[Any, Any]:
    """Return the rows and columns of the elements of a CSR matrix."""
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    return rows, pattern.indices.astype(np.int64)


def _places_of_stars(pattern: Any, colors: Any) -> Any:
    """Return where each element of a symmetric matrix is in its products with all colours.

    Of the two elements that mirror each other, the one above the diagonal is read where it is alone
    in the products of its row, and otherwise that below it is, for both.
    """
    rows, columns = _elements(pattern)
    count, width = pattern.shape[0], number_of_colors(colors)
    upper, lower = np.minimum(rows, columns), np.maximum(rows, columns)
    summed = np.bincount(rows * width + colors[columns], minlength=count * width)
    is_alone = summed[upper * width + colors[lower]] == 1
    row, column = np.where(is_alone, (upper, lower), (lower, upper))
    return colors[column] * count + row


def _compressed(swept: Any, seed: Any, colors: Any, shape: Any) -> Any:
    """Return the results of all sweeps, one after the other, as a vector.

    Parameters
    ----------
    swept
        The result of one sweep.
    seed
        The variable that it starts from, of a known shape.
    colors
        The colour of each element of the seed.
    shape
        Its shape.
    """
    width = number_of_colors(colors)
    if width == 1:
        ones = constant(np.ones(shape, seed.dtype))
        return clone_replace(swept, {seed: ones}, rebuild_strict=False).ravel()
    seeds = (colors == np.arange(width)[:, None]).astype(seed.dtype)
    (found,) = vectorize_graph([swept], {seed: constant(seeds.reshape(width, *shape))})
    if found.ndim == swept.ndim:  # it does not depend on the seed
        found = alloc(found, width, *swept.type.shape)
    return found.ravel()
