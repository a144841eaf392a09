"""Common mistakes with functions of arrays, and what the errors say."""

import pytest

from phintys._base.errors import (
    ArgumentError,
    AxisError,
    DomainError,
    DtypeError,
    IndexingError,
    ShapeError,
)
from tests.test_wrong_inputs import Case, check

ARRAYS = {
    "an axis that is not there": Case(
        "pt.flip(pt.dmatrix('X'), axis=2)", IndexError, ["Axis 2 is out of range", "rank 2"]
    ),
    "flipping the columns of a vector": Case(
        "pt.fliplr(pt.dvector('x'))", ShapeError, ["rank 2 or more", "x of type Vector"]
    ),
    "a rotation in a single axis": Case(
        "pt.rot90(pt.dmatrix('X'), axes=(0, -2))", ShapeError, ["two different axes", "(0, -2)"]
    ),
    "a symbolic number of turns": Case(
        "pt.rot90(pt.dmatrix('X'), pt.lscalar('k'))", ShapeError, ["k is symbolic", "Python int"]
    ),
    "an order of memory": Case(
        "pt.ravel(pt.dmatrix('X'), order='K')", ShapeError, ['"C" or "F"', "'K'"]
    ),
    "arrays that are not in a list": Case(
        "pt.column_stack(pt.dmatrix('X'))", ShapeError, ["list or tuple", "column_stack([a, b])"]
    ),
    "blocks nested unequally": Case(
        """
        A = pt.dmatrix("A")
        pt.block([[A, A], A])
        """,
        ShapeError,
        ["nested equally deep", "depths [1, 2]"],
    ),
    "slices of unknown number": Case(
        "a, b = pt.unstack(pt.dmatrix('X'))",
        ShapeError,
        ["length of axis 0 of X", "pt.specify_shape"],
    ),
    "keeping an axis in the middle": Case(
        "pt.pack(pt.dtensor3('X'), keep_axes=1)", ShapeError, ["first axes", "keep_axes", "got 1"]
    ),
    "an unknown side": Case(
        "pt.dvector('x').searchsorted(1.0, side='middle')", ArgumentError, ["right", "'middle'"]
    ),
    "searching in a matrix": Case(
        "pt.searchsorted(pt.dmatrix('X'), 1.0)", ShapeError, ["x is a vector", "X of type"]
    ),
    "a sorter of floats": Case(
        "pt.searchsorted(pt.dvector('x'), 1.0, sorter=[0.5])", DtypeError, ["argsort", "float64"]
    ),
    "edges in no order": Case(
        "pt.digitize(pt.dvector('x'), [0.0, 2.0, 1.0])", DomainError, ["in ascending or in", "2."]
    ),
    "counting floats": Case(
        "pt.bincount(pt.dvector('x'))", DtypeError, ["counts integers", "Cast it to int64"]
    ),
    "counting negative numbers": Case(
        """
        x = pt.lvector("x")
        counts = pt.bincount(x)
        counts.eval({x: [0, -1]})
        """,
        DomainError,
        ["must not be negative", "line 2"],
    ),
    "a rule of bins for unknown elements": Case(
        "pt.histogram(pt.dvector('x'), 'auto')", ArgumentError, ["'auto'", "not known for x"]
    ),
    "more elements than there are": Case(
        "pt.topk([1, 2, 3], 4)", ShapeError, ["at least 4 elements", "got 3"]
    ),
    "no largest elements": Case(
        "pt.argtopk(pt.dvector('x'), 0)", ArgumentError, ["not 0", "got 0"]
    ),
    "an unknown end of the order": Case(
        "pt.top_k([1, 2], 1, mode='middle')", ArgumentError, ['"largest"', "'middle'"]
    ),
    "a partition behind the end": Case(
        "pt.partition([1, 2], 2)", IndexingError, ["no element 2", "length 2"]
    ),
    "an unknown number of keys": Case(
        "pt.lexsort(pt.dmatrix('K'))", ShapeError, ["number of keys", "list of tensors"]
    ),
    "unique slices along an axis that is not there": Case(
        "pt.unique(pt.dmatrix('X'), axis=2)", AxisError, ["Axis 2", "rank 2"]
    ),
    "no bins": Case(
        "pt.histogram(pt.dvector('x'), 0)", ArgumentError, ["at least one bin", "bins=0"]
    ),
    "deleting by floats": Case(
        "pt.delete(pt.dvector('x'), [0.5])", DtypeError, ["integers or bools", "float64"]
    ),
    "deleting what is not there": Case(
        """
        x, i = pt.dvector("x"), pt.lscalar("i")
        y = pt.delete(x, i)
        y.eval({x: [1.0, 2.0], i: 2})
        """,
        ShapeError,
        ["last possible index", "at least 2, got 1", "line 2"],
    ),
    "inserting behind the end": Case(
        "pt.insert(pt.constant([1, 2]), 5, 0)", IndexingError, ["index 5", "length 2"]
    ),
    "an unknown way to pad": Case(
        "pt.pad(pt.dvector('x'), 2, mode='mirror')", ArgumentError, ["'mirror'", "reflect"]
    ),
    "an argument of another way to pad": Case(
        "pt.pad(pt.dvector('x'), 2, 'edge', end_values=1)",
        ArgumentError,
        ["no argument end_values", "It has: none"],
    ),
    "padding by less than nothing": Case(
        "pt.pad(pt.dvector('x'), -1)", ShapeError, ["must not be negative", "-1"]
    ),
    "padding with nothing": Case(
        "pt.pad(pt.zeros((0,)), 1, 'edge')", ShapeError, ["no elements to pad with", "constant"]
    ),
    "three widths for two axes": Case(
        "pt.pad(pt.dmatrix('X'), [(1, 1)] * 3)", ShapeError, ["each of the 2 axes"]
    ),
    "indices along an axis of another rank": Case(
        "pt.take_along_axis(pt.dmatrix('X'), pt.lvector('i'), 1)",
        ShapeError,
        ["rank of x, 2", "pt.expand_dims"],
    ),
    "conditions that are numbers": Case(
        "pt.select([pt.lvector('c')], [1.0])", DtypeError, ["dtype bool", "pt.neq(x, 0)"]
    ),
    "more conditions than choices": Case(
        "pt.select([pt.bvector('b') > 0], [1, 2])", ArgumentError, ["as many", "got 1 and 2"]
    ),
    "too few functions for the pieces": Case(
        """
        x = pt.dvector("x")
        pt.piecewise(x, [x < 0, x > 0], [pt.neg])
        """,
        ArgumentError,
        ["2 functions", "got 1"],
    ),
    "a choice that is not there": Case(
        """
        n = pt.lvector("n")
        pt.choose(n, [n, -n]).eval({n: [0, 2]})
        """,
        IndexingError,
        ["out of range", "line 2"],
    ),
    "an index for each of too many dimensions": Case(
        "pt.ravel_multi_index(([1], [2]), (2, 3, 4))", ShapeError, ["2 indices", "3 dimensions"]
    ),
    "the diagonal of a box": Case(
        "pt.fill_diagonal(pt.zeros((2, 2, 3)), 1.0)", ShapeError, ["equal lengths"]
    ),
    "an unknown way to index a grid": Case(
        "pt.meshgrid([1], [2], indexing='rows')", ArgumentError, ['"xy" or "ij"', "'rows'"]
    ),
    "a grid without an end": Case(
        "pt.mgrid[0:]", ArgumentError, ["slices with an end", "mgrid[0:3]"]
    ),
    "a percentile beyond 100": Case(
        "pt.percentile(pt.dvector('x'), 101)", DomainError, ["between 0 and 100", "fraction 1.01"]
    ),
    "an unknown kind of quantile": Case(
        "pt.quantile(pt.dvector('x'), 0.5, method='cubic')", ArgumentError, ["'cubic'", "hazen"]
    ),
    "the median of complex numbers": Case(
        "pt.median(pt.zvector('z'))", DtypeError, ["no order", "complex128"]
    ),
    "the place of the largest of nothing but NaN": Case(
        "pt.nanargmax(pt.constant([np.nan])).eval()", DomainError, ["only NaN", "line 1"]
    ),
    "variables in three dimensions": Case(
        "pt.cov(pt.dtensor3('X'))", ShapeError, ["vectors and matrices", "X of type"]
    ),
    "powers of a matrix": Case("pt.vander(pt.dmatrix('X'))", ShapeError, ["a vector", "X of type"]),
    "roots of a polynomial of unknown degree": Case(
        "pt.roots(pt.dvector('p'))", ShapeError, ["length of p", "pt.specify_shape"]
    ),
    "a constant for one of two integrations": Case(
        "pt.polyint([1.0, 2.0], 2, [0.0])", ShapeError, ["1 constants for 2 integrations"]
    ),
    "a derivative of negative order": Case(
        "pt.polyder([1.0, 2.0], -1)", ArgumentError, ["must not be negative; got -1"]
    ),
    "an antiderivative of negative order": Case(
        "pt.polyint([1.0, 2.0], -1)", ArgumentError, ["must not be negative; got -1"]
    ),
    "a split of a number along its columns": Case(
        "pt.hsplit(pt.dscalar('x'), 2)", ShapeError, ["rank 1 or more", "got x"]
    ),
    "running sums along no axis": Case(
        "pt.cumulative_sum(pt.dmatrix('X'))", ArgumentError, ["needs an axis", "axis=..."]
    ),
    "segments numbered by floats": Case(
        "pt.segment_sum(pt.dvector('x'), pt.dvector('ids'))",
        DtypeError,
        ["integers", "ids of type"],
    ),
    "segments of a number": Case(
        "pt.segment_sum(pt.dscalar('x'), pt.lvector('ids'))", ShapeError, ["takes rows"]
    ),
    "a histogram of an unknown number of dimensions": Case(
        "pt.histogramdd(pt.dmatrix('X'))",
        ShapeError,
        ["known number of columns", "X of type Matrix", "pt.specify_shape"],
    ),
    "bins for two of three dimensions": Case(
        "pt.histogramdd([[0.0], [1.0], [2.0]], bins=[1, 2])",
        ArgumentError,
        ["bins has one entry for each of the 3 dimensions", "[1, 2]"],
    ),
    "complex coordinates": Case(
        "pt.histogram2d(pt.zvector('z'), [1.0])", DtypeError, ["real", "z of dtype complex128"]
    ),
    "a matrix of coordinates": Case(
        "pt.histogram2d(pt.dmatrix('X'), [1.0])", ShapeError, ["are vectors", "Flatten"]
    ),
    "floats packed as bits": Case(
        "pt.packbits(pt.dvector('x'))", DtypeError, ["bools and integers", "Compare it with 0"]
    ),
    "an unknown order of bits": Case(
        "pt.packbits(pt.bvector('b'), bitorder='middle')", ArgumentError, ['"little"', "'middle'"]
    ),
    "bits of long integers": Case(
        "pt.unpackbits(pt.lvector('n'))", DtypeError, ["uint8", "n of dtype int64", "Cast it"]
    ),
    "fewer bits than none": Case(
        "pt.unpackbits(np.zeros(1, 'uint8'), count=-9)", ShapeError, ["at least 9, got 8"]
    ),
    "a symbolic number of bits": Case(
        "pt.unpackbits(pt.vector('b', dtype='uint8'), count=pt.lscalar('n'))",
        ArgumentError,
        ["Python integer", "got n"],
    ),
    "complex angles": Case(
        "pt.unwrap(pt.zvector('z'))", DtypeError, ["real angles", "z of dtype complex128"]
    ),
    "zeros trimmed at the left": Case(
        "pt.trim_zeros(pt.dvector('x'), 'l')", ArgumentError, ['"f", "b" or "fb"', "'l'"]
    ),
    "a negative size": Case(
        "pt.resize(pt.dvector('x'), (2, -1))", ShapeError, ["must not be negative", "-1"]
    ),
    "classes that are floats": Case(
        "pt.to_one_hot(pt.dvector('y'), 3)", DtypeError, ["integers", "float64", "Cast"]
    ),
    "a permutation of floats": Case(
        "pt.inverse_permutation(pt.dvector('p'))", DtypeError, ["has integers", "float64"]
    ),
    "a number as a permutation": Case(
        "pt.permute_row_elements(pt.dmatrix('X'), 1)", ShapeError, ["is a vector"]
    ),
    "limits of integers asked of floats": Case(
        "pt.iinfo('float32')", DtypeError, ["integer dtype", "pt.finfo"]
    ),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_a_mistake_is_explained(name):
    check(ARRAYS[name])
