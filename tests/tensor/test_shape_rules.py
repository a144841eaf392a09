"""One shape rule an Op: what types, values, inferred shapes and native code say is the same."""

import numpy as np
import pytest

import phintys.tensor as pt
from phintys import function
from phintys._base.errors import PhintysError, ShapeError
from phintys.tensor.blas import Gemm
from phintys.tensor.shape_rules import ShapedOp, StaticShapes


def _arrays(*shapes):
    return [np.ones(shape) for shape in shapes]


SIZES = np.array([1, 3])
FITTING = [
    (pt.Join(0), _arrays((2, 3), (4, 3), (0, 3))),
    (pt.Join(1), _arrays((2, 3, 1), (2, 1, 1))),
    (pt.Split(2, 1), [*_arrays((2, 4)), SIZES]),
    (pt.Dot(), _arrays((2, 3), (3, 4))),
    (pt.Dot(), _arrays((3,), (3, 4))),
    (pt.BatchedDot(), _arrays((5, 2, 3), (5, 3, 4))),
    (pt.Alloc(), [np.ones(3), np.array(2), np.array(3)]),
    (pt.AllocEmpty("float64"), [np.array(2), np.array(0)]),
    (Gemm(), [*_arrays((2, 3), (3, 4), (), (2, 4))]),
    (Gemm(), [*_arrays((2, 3), (3,), ())]),
]
WRONG = [
    (pt.Join(0), _arrays((2, 3), (4, 2))),
    (pt.Join(1), _arrays((2, 3, 1), (2, 1, 2))),
    (pt.Split(2, 1), [*_arrays((2, 5)), SIZES]),
    (pt.Split(2, 1), [*_arrays((2, 2)), np.array([3, -1])]),
    (pt.Split(3, 1), [*_arrays((2, 4)), SIZES]),
    (pt.Dot(), _arrays((2, 3), (4,))),
    (pt.BatchedDot(), _arrays((5, 2, 3), (5, 2, 4))),
    (pt.BatchedDot(), _arrays((5, 2, 3), (4, 3, 4))),
    (pt.Alloc(), [np.ones(3), np.array(2), np.array(4)]),
    (pt.Alloc(), [np.ones(3), np.array(-2), np.array(3)]),
    (pt.AllocEmpty("float64"), [np.array(-1)]),
    (Gemm(), [*_arrays((2, 3), (3, 4), (), (2, 5))]),
    (Gemm(), [*_arrays((2, 3), (4,), ())]),
]


def _name(value):
    return str(value) if isinstance(value, ShapedOp) else "-".join(str(x.shape) for x in value)


def _applied(op, values):
    inputs = [
        pt.as_tensor_variable(value).type.clone(shape=(None,) * value.ndim)() for value in values
    ]
    return inputs, op(*inputs, return_list=True)


def test_there_are_examples_of_each_op_with_a_rule():
    def subclasses(cls):
        return {cls}.union(*map(subclasses, cls.__subclasses__()))

    public = {cls for cls in subclasses(ShapedOp) if not cls.__name__.startswith("_")}
    ops = {cls for cls in public - {ShapedOp} if cls.__module__.startswith("phintys.")}
    assert ops == {type(op) for op, _ in FITTING} == {type(op) for op, _ in WRONG}


@pytest.mark.parametrize(("op", "values"), FITTING, ids=_name)
def test_all_kinds_of_sizes_agree(op, values):
    inputs, outputs = _applied(op, values)
    found = function(inputs, outputs, "reference")(*values)
    shapes = [value.shape for value in found]
    constants = list(map(pt.constant, values))
    assert op.output_shapes(StaticShapes(op, constants)) == shapes
    assert [out.type.shape for out in op(*constants, return_list=True)] == shapes
    inferred = [size for out in outputs for size in out.shape]
    for mode in ("reference", "native"):
        sizes = function(inputs, inferred, mode)(*values)
        assert [int(size) for size in sizes] == [size for shape in shapes for size in shape]
    native = function(inputs, outputs, "native")(*values)
    assert [value.shape for value in native] == shapes


@pytest.mark.parametrize(("op", "values"), WRONG, ids=_name)
def test_all_kinds_of_sizes_refuse_what_does_not_fit(op, values):
    with pytest.raises(ShapeError):
        op(*map(pt.constant, values))
    inputs, outputs = _applied(op, values)
    for mode in ("reference", "native"):
        with pytest.raises(PhintysError):
            function(inputs, outputs, mode)(*values)
        with pytest.raises(ShapeError):  # where only the shape is needed
            function(inputs, [out.shape for out in outputs], mode)(*values)


def test_unknown_sizes_take_part():
    x, y = pt.tensor("x", shape=(None, 3)), pt.tensor("y", shape=(4, None))
    assert pt.Join(0)(x, y).type.shape == (None, 3)
    assert pt.Join(1)(x, y).type.shape == (4, None)
    assert pt.Split(2, 0)(x, [1, 2])[1].type.shape == (2, 3)
    stacked = pt.BatchedDot()(pt.tensor("a", shape=(None, 2, 3)), pt.tensor("b", shape=(5, 3, 4)))
    assert stacked.type.shape == (5, 2, 4)


def test_lengths_that_cannot_be_negative_are_not_checked():
    x = pt.dvector("x")
    parts = pt.Split(2, 0)(pt.concatenate([x, x]), pt.stack([x.shape[0], x.shape[0]]))
    text = str(function([x], parts[0].shape[0]).maker.fgraph.outputs[0].owner)
    assert "at least" not in text
