"""``ShapeFeature``, and one-hot rows."""

from __future__ import annotations

import numpy as np
import pytest

import phintys.tensor as pt
from phintys.compat.shape_feature import ShapeFeature
from phintys.graph import FunctionGraph


def test_a_graph_knows_the_shapes_of_its_variables(aesara):
    from aesara.tensor.rewriting.shape import ShapeFeature as Old

    assert Old is ShapeFeature
    x = pt.dmatrix("x")
    total, more = x.sum(axis=0), x + 1
    feature = ShapeFeature()
    fgraph = FunctionGraph([x], [total, more], features=[feature], copy_inputs=False)
    assert fgraph.shape_feature is feature
    (size,) = feature.shape_of[total]
    assert size.eval({x: np.zeros((2, 3))}) == 3
    assert feature.get_shape(fgraph, total, 0) is size
    assert feature.same_shape(x, more)
    assert not feature.same_shape(x, total)
    fgraph.remove_feature(feature)
    assert not hasattr(fgraph, "shape_feature")


def test_a_class_that_there_is_not_has_no_row(theano):
    y = pt.lvector("y")
    rows = theano.tensor.extra_ops.to_one_hot(y, 3)
    np.testing.assert_array_equal(rows.eval({y: [2, 0]}), [[0, 0, 1], [1, 0, 0]])
    with pytest.raises(IndexError):
        rows.eval({y: [5]})
