"""One shape rule an Op: what types, values, inferred shapes and native code say is the same."""

import ast
from pathlib import Path

import numpy as np
import pytest

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys import In, function, grad
from phintys._base.errors import IndexingError, PhintysError, ShapeError
from phintys.passes._facts import is_size_of
from phintys.tensor.blas import Gemm
from phintys.tensor.cumulative import CumOp, LinearRecurrence
from phintys.tensor.extremes import Argmax, Argmin
from phintys.tensor.images.convolutions import Conv
from phintys.tensor.indexing import ARRAY, SCALAR, AdvancedSubtensor, Mask, Subtensor
from phintys.tensor.indexing.basic import IndexingOp
from phintys.tensor.linear_algebra.banded import SolveBanded
from phintys.tensor.linear_algebra.cholesky import Cholesky
from phintys.tensor.reduce import Reduce
from phintys.tensor.running_extremes import RunningArgExtreme, RunningExtreme
from phintys.tensor.shape_rules import ShapedOp, SizeSources, StaticShapes
from phintys.tensor.softmaxes import LogSoftmax, LogSumExp, Softmax, SoftmaxOrZero
from phintys.tensor.sorting import ArgSortOp, SortOp


def _arrays(*shapes):
    return [np.ones(shape) for shape in shapes]


SIZES = np.array([1, 3])
MASK = np.array([[True, False, True], [False, True, True]])
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
    (SolveBanded(0, 1), _arrays((3, 2), (3, 1))),
    (pt.Reshape(3), [*_arrays((2, 6)), np.array([3, -1, 2])]),
    (pt.Reshape(2), [*_arrays((0, 6)), np.array([3, 0])]),
    (Subtensor([slice(SCALAR, None, SCALAR), SCALAR]), [*_arrays((7, 3, 2)), 1, 2, -3]),
    (Subtensor([slice(None, SCALAR, -2)]), [*_arrays((7, 3)), -4]),
    (AdvancedSubtensor([0, ARRAY, SCALAR]), [*_arrays((2, 3, 4)), np.array([[1, 0]]), 3]),
    (AdvancedSubtensor([None, Mask(2), slice(1, 3)]), [*_arrays((2, 3, 4)), MASK]),
    (AdvancedSubtensor([ARRAY, slice(None), Mask(1)]), [*_arrays((2, 3, 3)), SIZES * 0, MASK[1]]),
]
FITTING_ALWAYS = [
    *((op(axis=(1,)), _arrays((2, 3))) for op in (Softmax, SoftmaxOrZero, LogSoftmax, LogSumExp)),
    *((op(axis=(0, 2)), _arrays((2, 3, 4))) for op in (Argmax, Argmin)),
    (Reduce(ps.add, (0,)), _arrays((2, 3))),
    (CumOp(1), _arrays((2, 3))),
    *((op(0), _arrays((2, 3))) for op in (SortOp, ArgSortOp)),
    *((op(0, "max"), _arrays((2, 3))) for op in (RunningExtreme, RunningArgExtreme)),
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
    (SolveBanded(0, 1), _arrays((3, 3), (3, 1))),
    (pt.Reshape(2), [*_arrays((2, 6)), np.array([5, -1])]),
    (pt.Reshape(2), [*_arrays((2, 6)), np.array([5, 2])]),
    (Subtensor([slice(None), SCALAR]), [*_arrays((7, 3)), -4]),
    (Subtensor([2]), [*_arrays((2, 3))]),
    (AdvancedSubtensor([SCALAR, ARRAY]), [*_arrays((2, 3)), 2, SIZES]),
]


SOURCE = Path(phintys.__file__).parent

BY_THEMSELVES = {
    # the rule itself
    "tensor/shape_rules.ShapedOp",
    # shapes of graphs and of other Ops inside
    "control/branches.IfElse",
    "control/graph_ops/from_graph.OpFromGraph",
    "control/loops/scan_op.Scan",
    "control/rows/row_loop.RowLoop",
    "control/solving/implicit.ImplicitSolution",
    "tensor/batching/blockwise.Blockwise",
    # what functions of users say
    "backends/jax/functions_of_jax.JaxOp",
    "backends/jax/functions_of_jax.JaxShapes",
    "random/generators/variables.RandomVariable",
    # sizes that are counted in values
    "tensor/batching/uneven.EvenRows",
    "tensor/ranges.ARange",
    "tensor/tiling.RepeatIndex",
    # to do
    "sparse/determinants.InverseAtEntries",
    "sparse/determinants.LogDet",
    "sparse/determinants.SelectedInverse",
    "sparse/products.PatternProduct",
    "sparse/solving.SolvingOp",
}
"""Classes with an ``infer_shape`` of their own, which may only become fewer."""


def _name(value):
    if isinstance(value, ShapedOp):
        return str(value)
    return "-".join(str(np.shape(x)) for x in value)


def _applied(op, values):
    inputs = [
        pt.as_tensor_variable(value).type.clone(shape=(None,) * np.ndim(value))()
        for value in values
    ]
    return inputs, op(*inputs, return_list=True)


def _with_an_inferred_shape(path):
    """Return the classes of a module that define ``infer_shape``."""
    text = path.read_text()
    if "def infer_shape" not in text:
        return set()
    module = path.relative_to(SOURCE).with_suffix("").as_posix()
    return {
        f"{module}.{cls.name}"
        for cls in ast.walk(ast.parse(text))
        if isinstance(cls, ast.ClassDef)
        and any(isinstance(one, ast.FunctionDef) and one.name == "infer_shape" for one in cls.body)
    }


def test_ops_state_their_shape_once():
    """A new Op is a ShapedOp: its ``output_shapes`` serves types, values and symbolic sizes."""
    found = set().union(*map(_with_an_inferred_shape, SOURCE.rglob("*.py")))
    assert found == BY_THEMSELVES


def test_ops_that_refuse_sizes_have_both_examples():
    assert {type(op) for op, _ in FITTING} == {type(op) for op, _ in WRONG}


@pytest.mark.parametrize(("op", "values"), FITTING_ALWAYS, ids=_name)
def test_rules_know_which_sizes_are_handed_on(op, values):
    """Those of argmax are those of rows that could be empty, which are an error."""
    (x,), (out,) = _applied(op, values)
    sources = SizeSources([x])
    (found,) = op.output_shapes(sources)
    assert not sources.is_checked
    assert len(found) == out.ndim
    for dim, (_, source) in enumerate(found):
        assert is_size_of(x.shape[source], out, dim) == (not isinstance(op, Argmax | Argmin))


@pytest.mark.parametrize(("op", "values"), [*FITTING, *FITTING_ALWAYS], ids=_name)
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
    error = IndexingError if isinstance(op, IndexingOp) else ShapeError
    with pytest.raises(error):
        op(*map(pt.constant, values))
    inputs, outputs = _applied(op, values)
    for mode in ("reference", "native"):
        with pytest.raises(PhintysError):
            function(inputs, outputs, mode)(*values)
        with pytest.raises(error):  # where only the shape is needed
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


SELECTIONS = {
    "rows": (lambda x, n: x[1:], {1: 1}),
    "backward": (lambda x, n: x[::-1, ::-1], {0: 0, 1: 1}),
    "up to a bound": (lambda x, n: x[:, :n], {0: 0}),
    "every other": (lambda x, n: x[:, ::2], {0: 0}),
    "a column": (lambda x, n: x[:, 0], {}),  # it can be out of bounds
    "steps": (lambda x, n: x[::n], {}),  # of 0
}


@pytest.mark.parametrize("name", SELECTIONS)
def test_slices_hand_on_the_sizes_of_whole_dimensions(name):
    select, kept = SELECTIONS[name]
    x = pt.dmatrix("x")
    out = select(x, pt.lscalar("n"))
    found = {
        dim: at for dim in range(out.ndim) for at in (0, 1) if is_size_of(x.shape[at], out, dim)
    }
    assert found == kept


def test_the_gradient_of_a_sum_of_logarithms_has_no_product_with_ones():
    x = pt.dmatrix("x")
    f = function([x], grad(pt.logsumexp(x, axis=1).sum(), x))
    assert [type(node.op) for node in f.maker.fgraph.toposort()] == [SoftmaxOrZero]


def test_errors_of_shapes_are_kept_where_a_size_is_known_from_what_raises():
    x, y = pt.dmatrix("x"), pt.dmatrix("y")
    joined = pt.concatenate([x, y], axis=1)
    f = function([x, y], x[:, 0] * pt.ones_like(joined[:, 0]))
    with pytest.raises(ShapeError):
        f(np.ones((2, 3)), np.ones((3, 3)))


def _raised(f, *values):
    with pytest.raises(PhintysError) as caught:
        f(*values)
    return caught.value


WRONG_IN_NATIVE_CODE = [
    *(one for one in WRONG if not isinstance(one[0], AdvancedSubtensor)),  # whose words are kept
    (pt.DimShuffle(2, [1]), _arrays((2, 3))),
    (Cholesky(), _arrays((3, 4))),
    (LinearRecurrence(0), _arrays((4, 2), (5, 2))),
    (Conv((1, 1)), _arrays((1, 3, 5, 5), (2, 4, 3, 3))),
]


@pytest.mark.parametrize(("op", "values"), WRONG_IN_NATIVE_CODE, ids=_name)
def test_native_code_has_the_words_of_the_rule_where_it_cannot_be_run_again(op, values):
    """Beside an argument that is overwritten, and in a loop whose steps call Python."""
    inputs, outputs = _applied(op, values)
    for at, variable in enumerate(inputs):
        variable.name = f"x{at}"
    expected = str(_raised(function(inputs, outputs, "reference"), *values))
    v = pt.dvector("v")
    changed = pt.inc_subtensor(v[1:], 1.0)
    beside = function([In(v, mutable=True), *inputs], [changed, *outputs], "native")
    assert str(_raised(beside, np.ones(3), *values)) == expected

    def step(state):
        given = [variable + state.astype(variable.dtype) for variable in inputs]
        for one, variable in zip(given, inputs, strict=True):
            one.name = variable.name
        return pt.partition(pt.stack([state, state]), 1)[0], *op(*given, return_list=True)

    n, state = pt.lscalars("n", "state")
    initial = [state, *[None] * len(outputs)]
    looped, _ = phintys.scan(step, outputs_info=initial, n_steps=n)
    error = _raised(function([n, state, *inputs], looped, "native"), 9, 0, *values)
    assert str(error) == expected
    assert "In step 0" in "".join(error.__notes__)
