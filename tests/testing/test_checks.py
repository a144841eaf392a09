"""check_op passes good Ops, and says what is wrong with bad ones."""

import dataclasses
import itertools

import numpy as np
import pytest

import phintys.tensor as pt
from phintys import Mode, config
from phintys._base.errors import ArgumentError, GradientError, OpCheckError, OpContractError
from phintys.compile.mode import register_mode
from phintys.gradient import DisconnectedType, grad_scale, grad_undefined
from phintys.graph import Apply, Op, Type
from phintys.passes import PIPELINES
from phintys.rewriting import pattern
from phintys.scalar import float64
from phintys.tensor.type import TensorType
from phintys.testing import (
    CHECKS,
    EXACT,
    ROUNDED,
    Argument,
    Example,
    OpRecord,
    Tolerance,
    check_op,
    verify_grad,
    verify_rop,
)

X = np.array([[1.0, -2.0, 0.5], [3.0, 0.25, -1.0]])
EXAMPLES = [[X], [X.T], [X[:, :1]], [np.zeros((0, 2))]]


class Double(Op):
    """2 x, with everything that an Op may have; the Ops below spoil one thing each."""

    __props__ = ()

    def make_node(self, x):
        x = pt.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * 2

    def infer_shape(self, fgraph, node, input_shapes):
        return input_shapes

    def grad(self, inputs, output_grads):
        return [output_grads[0] * 2]

    def R_op(self, inputs, eval_points):
        return [None if eval_points[0] is None else eval_points[0] * 2]


class InPlace(Double):
    destroy_map = {0: [0]}

    def perform(self, node, inputs, output_storage):
        inputs[0] *= 2
        output_storage[0][0] = inputs[0]


class View(Double):
    view_map = {0: [0]}

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0][::-1]


class Reusing(Double):
    def perform(self, node, inputs, output_storage):
        (cell,) = output_storage
        if cell[0] is None or cell[0].shape != inputs[0].shape:
            cell[0] = np.empty(inputs[0].shape)
        np.multiply(inputs[0], 2, out=cell[0])


class ByThunk(Double):
    perform = Op.perform

    def make_thunk(self, node, storage_map, compute_map, no_recycling, impl=None):
        def thunk():
            storage_map[node.outputs[0]][0] = storage_map[node.inputs[0]][0] * 2
            compute_map[node.outputs[0]][0] = True

        return thunk


def double(x):
    return x * 2


@pytest.mark.parametrize("op_class", [Double, Reusing, ByThunk])
def test_good_ops(op_class):
    check_op(op_class(), EXAMPLES, reference=double, rop=True, second=True)


def test_an_op_that_works_in_place():
    given = X.copy()
    check_op(InPlace(), [[given]], reference=double)
    np.testing.assert_array_equal(given, X)


def test_a_view():
    check_op(View(), EXAMPLES, reference=lambda x: x[::-1], differentiable=[])


def test_functions_and_several_outputs():
    check_op(
        lambda x, y: [x + y, pt.sum(x * y, axis=0)],
        [[X, X + 1], Example((X, 2 * X))],
        reference=lambda x, y: [x + y, (x * y).sum(axis=0)],
        rop=True,
        second=True,
    )


class Text(Type):
    def filter(self, value, strict=False, allow_downcast=None):
        if isinstance(value, str):
            return value
        raise TypeError("expected a str")


text = Text()


class Shout(Op):
    __props__ = ()
    itypes = (text,)
    otypes = (text,)

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0].upper()


class Listing(Op):
    """Returns a list that it also keeps."""

    __props__ = ()
    itypes = (text,)
    otypes = (Type(),)
    kept: list = []

    def __init__(self):
        self.otypes[0].filter = lambda value, strict=False, allow_downcast=None: value

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = self.kept


def test_types_of_ones_own():
    check_op(Shout(), [["hello"]], reference=str.upper, types=[text])
    with pytest.raises(OpCheckError, match="it is 'HELLO', expected 'Hello'"):
        check_op(Shout(), [["hello"]], reference=str.title, types=[text])


class Samples:
    """A value of a class of its own, which an array can be made into."""

    def __init__(self, array):
        self.array = array


class SamplesType(Type):
    __props__ = ()

    def filter(self, value, strict=False, allow_downcast=None):
        if isinstance(value, Samples):
            return value
        if strict:
            raise TypeError(f"expected Samples, got {value!r}")
        return Samples(np.asarray(value, "float64"))

    def values_eq(self, a, b):
        return np.array_equal(a.array, b.array)


samples = SamplesType()


class Collect(Op):
    """From a tensor to another Type."""

    __props__ = ()

    def make_node(self, x):
        x = pt.as_tensor_variable(x)
        return Apply(self, [x], [samples()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = Samples(inputs[0].copy())

    def grad(self, inputs, output_grads):
        return [grad_undefined(self, 0, inputs[0])]


class CollectInto(Collect):
    """Keeps what is in its storage cell."""

    def perform(self, node, inputs, output_storage):
        if output_storage[0][0] is None:
            output_storage[0][0] = Samples(inputs[0].copy())
        else:
            output_storage[0][0].array += inputs[0]


class Weigh(Op):
    """From another Type and a tensor to a tensor, and to the other Type."""

    __props__ = ()

    def make_node(self, s, x):
        assert s.type == samples  # what comes is a variable, also where it stays constant
        x = pt.as_tensor_variable(x)
        return Apply(self, [s, x], [x.type(), samples()])

    def perform(self, node, inputs, output_storage):
        s, x = inputs
        output_storage[0][0] = np.asarray(s.array.sum() * x)
        output_storage[1][0] = Samples(s.array * x.sum())

    def grad(self, inputs, output_grads):
        s, _x = inputs
        return [grad_undefined(self, 0, s), self(s, output_grads[0])[0]]


def test_ops_between_tensors_and_types_of_ones_own():
    check_op(Collect(), [[X]], reference=Samples)
    check_op(Weigh(), [[[1.0, 2.0], np.array([3.0, 4.0])]], types=[samples, pt.dvector])
    check_op(
        Weigh(),
        [[[1.0, 2.0], [3.0, 4.0]]],
        reference=lambda s, x: [s.array.sum() * x, Samples(s.array * x.sum())],
        types=[samples, pt.dvector],
    )


def test_what_is_wrong_with_ops_between_types_is_found():
    with pytest.raises(OpCheckError, match=r"previous cells: <.*Samples"):
        check_op(CollectInto(), [[X]])
    with pytest.raises(GradientError):
        check_op(
            lambda s, x: Weigh()(s, grad_scale(x, 2.0)),
            [[[1.0, 2.0], [3.0, 4.0]]],
            types=[samples, pt.dvector],
        )


def test_results_of_other_types_are_not_kept():
    with pytest.raises(OpCheckError, match="output 0 is in the same memory both times"):
        check_op(Listing(), [["a"]], types=[text])


def test_scalars():
    from phintys.scalar import exp

    check_op(exp, [[np.float64(0.5)]], reference=np.exp, types=[float64], tolerance=ROUNDED)


# ---- bad Ops -------------------------------------------------------------------------------------


class ReturnsItsInput(Double):
    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0]


class ChangesItsInput(Double):
    def perform(self, node, inputs, output_storage):
        inputs[0][...] *= 2
        output_storage[0][0] = inputs[0].copy()


class WrongDtype(Double):
    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = (inputs[0] * 2).astype("float32")


class NumpyScalar(Double):
    def make_node(self, x):
        return Apply(self, [x], [pt.dscalar()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0].sum()


class AddsToStorage(Double):
    def perform(self, node, inputs, output_storage):
        (cell,) = output_storage
        if cell[0] is None or cell[0].shape != inputs[0].shape:
            cell[0] = np.zeros(inputs[0].shape)
        cell[0] += inputs[0] * 2


class TrustsTheShapeInStorage(Double):
    def perform(self, node, inputs, output_storage):
        (cell,) = output_storage
        if cell[0] is None:
            cell[0] = np.empty(inputs[0].shape)
        cell[0][: inputs[0].shape[0], : inputs[0].shape[1]] = inputs[0] * 2


class KeepsItsResult(Double):
    kept = {}

    def perform(self, node, inputs, output_storage):
        kept = self.kept.setdefault(inputs[0].shape, np.empty(inputs[0].shape))
        output_storage[0][0] = np.multiply(inputs[0], 2, out=kept)


class ResizesStorage(Double):
    def perform(self, node, inputs, output_storage):
        output_storage[0].append(inputs[0] * 2)


class WrongShape(Double):
    def infer_shape(self, fgraph, node, input_shapes):
        return [input_shapes[0][::-1]]


class FloatShape(Double):
    def infer_shape(self, fgraph, node, input_shapes):
        return [(pt.constant(2.0), pt.constant(3.0))]


class WrapsItsInput(Double):
    def make_node(self, x):
        x = pt.tensor_copy(x)
        return Apply(self, [x], [x.type()])


class ForgetsAType(Double):
    def make_node(self, x):
        known = getattr(x, "known", None)
        x.known = True
        return Apply(self, [x], [x.type() if known is None else pt.drow()])


class OfTwoArguments(Double):
    def make_node(self, x):
        variable = pt.as_tensor_variable(x)
        return Apply(self, [variable, pt.constant(2.0)], [variable.type()])


class NotEqualToItself(Double):
    def __eq__(self, other):
        return False

    __hash__ = Op.__hash__


class EqualToAnything(Double):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


class ChangingHash(Double):
    counter = itertools.count()

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return next(self.counter)


class NoProps(Op):
    make_node, perform = Double.make_node, Double.perform


class PicklesBadly(Double):
    __props__ = ("factor",)

    def __init__(self):
        self.factor = 2

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * self.factor

    def __getstate__(self):
        return {"factor": 3}


class WrongPattern(Double):
    def connection_pattern(self, node):
        return [[True, False]]


class WrongGradient(Double):
    def grad(self, inputs, output_grads):
        return [output_grads[0] * 3]


class WrongRop(Double):
    def R_op(self, inputs, eval_points):
        return [eval_points[0] * 3]


class NoRop(Double):
    R_op = Op.R_op


class CoarseInSinglePrecision(Double):
    def grad(self, inputs, output_grads):
        (g,) = output_grads
        if g.dtype == "float32":
            g = pt.cast(pt.cast(g, "float16"), "float32") * np.float32(1.01)
        return [g * 2]


class DependsOnTheMode(Double):
    def debug_perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * 2 + 1


BAD = {
    ReturnsItsInput: r"shares memory with its input 0 (?s:.*)Return a copy, or declare view_map",
    ChangesItsInput: r"it changed its input 0 (?s:.*)Work on a copy, or declare destroy_map",
    WrongDtype: r"output 0 is not a Matrix.* gave an array of dtype float32 and shape \(2, 3\)",
    NumpyScalar: r"output 0 is not a Scalar\(float64\): perform gave np.float64\(.*\(float64\)",
    AddsToStorage: r"output 0 .* depends on how it is computed(?s:.*)previous cells:",
    TrustsTheShapeInStorage: r"(?s)empty cells: .*\(2, 3\).*wrong_size cells: .*\(3, 4\)",
    KeepsItsResult: r"output 0 is in the same memory both times",
    WrongShape: r"output 0 has the shape \(3, 2\); its value has the shape \(2, 3\)",
    FloatShape: r"infer_shape must return integers of rank 0 as sizes, but gave .*float64",
    WrapsItsInput: r"make_node\(\*node.inputs\) has other inputs",
    ForgetsAType: r"make_node\(\*node.inputs\) has outputs of other types",
    NotEqualToItself: r"the Op does not equal itself",
    EqualToAnything: r"the Op equals objects that are not Ops",
    ChangingHash: r"the Op's hash changes",
    PicklesBadly: r"the (copied|pickled) Op does not equal the Op, or has another hash",
    DependsOnTheMode: r"in mode debug, output 0 is wrong: element \[0, 0\]",
}


@pytest.mark.parametrize("op_class", BAD, ids=lambda cls: cls.__name__)
def test_bad_ops(op_class):
    with pytest.raises(OpCheckError, match=BAD[op_class]) as caught:
        check_op(op_class(), [[X.copy()]], differentiable=[])
    message = str(caught.value)
    assert message.startswith(op_class.__name__)
    assert "Check: " in message
    assert "Example:" in message


def test_a_pattern_of_the_wrong_size():
    with pytest.raises(OpContractError, match="connection_pattern must return") as caught:
        check_op(WrongPattern(), [[X]], differentiable=[])
    assert "WrongPattern: raised while it was checked." in caught.value.__notes__


def test_cells_of_the_wrong_size():
    with pytest.raises(OpContractError, match="must not resize its storage cells") as caught:
        check_op(ResizesStorage(), [[X]])
    assert any("Check: perform" in note for note in caught.value.__notes__)


def test_the_line_that_made_the_node_is_named():
    with pytest.raises(OpCheckError) as caught:
        check_op(lambda x: ReturnsItsInput()(x * 1), [[X]])
    assert "lambda x: ReturnsItsInput()(x * 1)" in str(caught.value)


def test_an_op_made_anew_without_props():
    check_op(NoProps(), [[X]], differentiable=[])
    with pytest.raises(OpCheckError, match=r"two graphs that are not equal.*__props__"):
        check_op(lambda x: NoProps()(x + 1), [[X]], differentiable=[])


def test_an_op_that_cannot_take_its_own_inputs():
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given") as caught:
        check_op(OfTwoArguments(), [[X]], differentiable=[])
    assert any("Check: make_node" in note for note in caught.value.__notes__)


def test_a_local_class_is_not_pickled():
    class Local(Double):
        pass

    check_op(Local(), [[X]], reference=double)


def test_no_variable():
    with pytest.raises(OpCheckError, match="it returned 3, which is not a Variable"):
        check_op(lambda x: 3, [[X]])


# ---- values --------------------------------------------------------------------------------------


def test_the_reference():
    with pytest.raises(OpCheckError, match=r"element \[0, 0\] is .*2.0\), expected .*3.0\)"):
        check_op(Double(), [[X]], reference=lambda x: x * 3)
    with pytest.raises(OpCheckError, match="its dtype is float64, expected float32"):
        check_op(Double(), [[X]], reference=lambda x: (x * 2).astype("float32"))
    with pytest.raises(OpCheckError, match=r"its shape is \(2, 3\), expected \(3, 2\)"):
        check_op(Double(), [[X]], reference=lambda x: x.T * 2)
    with pytest.raises(OpCheckError, match="it has 1 outputs, and the reference returned 2"):
        check_op(Double(), [[X]], reference=lambda x: [x, x])


def test_tolerance():
    tolerance = Tolerance("it is said to be so", ulps=4)

    def almost(x):
        return x * (2 + 3e-16)

    check_op(Double(), [[X]], reference=lambda x: almost(x) * 1, tolerance=tolerance)
    with pytest.raises(OpCheckError, match=r"relative tolerance 8.9e-16: it is said"):
        check_op(Double(), [[X]], reference=lambda x: x * (2 + 4e-15), tolerance=tolerance)


@pytest.mark.parametrize(
    ("value", "expected", "agree"),
    [
        (np.nan, np.nan, True),
        (np.inf, np.inf, True),
        (np.inf, -np.inf, False),
        (np.nan, 0.0, False),
        (0.0, -0.0, False),
        (-0.0, -0.0, True),
    ],
)
def test_special_numbers(value, expected, agree):
    def checked():
        examples = [[np.array([value])]]
        skip = ["modes", "derivatives"]
        check_op(pt.tensor_copy, examples, reference=lambda x: np.array([expected]), skip=skip)

    if agree:
        checked()
    else:
        with pytest.raises(OpCheckError, match="expected"):
            checked()


def test_a_normwise_tolerance():
    tolerance = Tolerance("terms cancel", ulps=2, normwise=True)
    x = np.array([1e8, 1.0])
    off = np.array([0.0, 1e-9])  # much for 1, little for 1e8
    check_op(
        pt.tensor_copy,
        [[x]],
        reference=lambda x: x + off,
        tolerance=tolerance,
        differentiable=[],
    )
    assert tolerance.of("float64") == 2 * np.finfo("float64").eps
    assert Tolerance("", ulps=1, per_dtype={"float32": 3}).of("float32") == 3 * np.float32(2**-23)


# ---- derivatives ---------------------------------------------------------------------------------


def test_derivatives():
    with pytest.raises(GradientError, match=r"every element is 1\.5 times") as caught:
        check_op(WrongGradient(), [[X]])
    assert any("Check: gradient" in note for note in caught.value.__notes__)
    check_op(WrongGradient(), [[X]], skip="derivatives")
    check_op(WrongGradient(), [[X]], differentiable=[])
    check_op(WrongRop(), [[X]])
    with pytest.raises(GradientError, match="The R-operator is wrong"):
        check_op(WrongRop(), [[X]], rop=True)
    with pytest.raises(OpCheckError, match="NoRop has no R_op"):
        check_op(NoRop(), [[X]], rop=True)
    check_op(NoRop(), [[X]], second=True)


def test_precision_of_gradients():
    check_op(CoarseInSinglePrecision(), [[X]])
    with pytest.raises(
        OpCheckError, match=r"\(dtype float32.*differs from that in double precision"
    ):
        check_op(CoarseInSinglePrecision(), [[X.astype("float32")]])


@pattern(lambda x: (pt.cos, x))
def wrong_cosine(x):
    """cos(x) -> x"""
    return x


def test_derivatives_of_the_default_mode_are_compared_with_those_of_another():
    """Whichever derivative a mode spoils: that of a value, a tangent, or a second one."""
    right = OpRecord(name="sin", build=pt.sin, reference=np.sin, rop=True, second=True)
    wrong = Mode("reference", PIPELINES["full"].adding(wrong_cosine), name="wrong")
    register_mode("wrong", wrong)
    check_op(right, [[X]])
    for record, what in (
        (dataclasses.replace(right, rop=False, second=False), "the gradient for input 0"),
        (dataclasses.replace(right, second=False), "the tangent of output 0 [^\n]* differs"),
        (dataclasses.replace(right, rop=False), "the tangent of output 0 .*, by the gradient of"),
    ):
        with (
            config.change_flags(mode="wrong"),
            pytest.raises(OpCheckError, match=rf"(?s){what}.*in the mode 'reference'"),
        ):
            check_op(record, [[X]])


class GradientOfWrongShape(Double):
    def grad(self, inputs, output_grads):
        return [pt.sum(output_grads[0] * 2, axis=0, keepdims=True)]


def test_a_gradient_of_the_wrong_shape():
    with pytest.raises((GradientError, OpContractError), match="shape"):
        check_op(GradientOfWrongShape(), [[X]])


class Rounded(Double):
    """A gradient that is not zero, though the output is an integer, when computed directly."""

    def make_node(self, x):
        return Apply(self, [x], [TensorType("int64", x.type.shape)()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.rint(inputs[0]).astype("int64")

    def grad(self, inputs, output_grads):
        return [DisconnectedType()()]


def test_discrete_outputs_have_zero_gradients():
    check_op(Rounded(), [[X]])


def test_integers_get_the_gradients_of_floats():
    check_op(pt.exp, [[np.array([1, 2, 3])]], reference=np.exp)
    check_op(pt.add, [[np.array([1, 2, 3]), np.array([0.5])]], reference=np.add)


# ---- arguments -----------------------------------------------------------------------------------


def test_arguments():
    with pytest.raises(ArgumentError, match="no examples were given"):
        check_op(Double(), [])
    with pytest.raises(ArgumentError, match=r"no checks \['memroy'\]; there are values, equality"):
        check_op(Double(), [[X]], skip=["memroy"])
    with pytest.raises(ArgumentError, match="An example is a list or tuple"):
        check_op(Double(), [X])
    with pytest.raises(ArgumentError, match="one Type for each of the 1 values"):
        check_op(Double(), [[X]], types=[text, text])
    with pytest.raises(ArgumentError, match="check_op takes an Op"):
        check_op(3, [[X]])


def test_every_check_can_be_skipped():
    others = ["memory", "repetition", "modes", "derivatives"]
    for name in CHECKS:
        check_op(ReturnsItsInput(), [[X]], skip=[name, *others])


def test_records():
    record = OpRecord(
        name="twice",
        build=Double(),
        reference=double,
        arguments=(Argument(dtypes=("float64",)),),
        ops=(Double,),
    )
    check_op(record, EXAMPLES)
    assert str(record) == "twice"
    assert repr(record) == "<record of twice>"
    with pytest.raises(ArgumentError, match=r"change it with dataclasses\.replace"):
        check_op(record, [[X]], tolerance=EXACT)
    with pytest.raises(ArgumentError, match=r"dataclasses\.replace"):
        check_op(record, [[X]], reference=double)
    other = OpRecord(name="thrice", build=pt.exp, reference=None, ops=(Double,))
    with pytest.raises(OpCheckError, match=r"Double.*does not occur in the graph"):
        check_op(other, [[X]])


def test_an_example_can_be_read():
    example = Example.of([X[:, ::2], np.arange(100)], types=None)
    shown = "  Vector(int64, shape=(?,)): array of shape (100,), dtype int64: 100 elements"
    assert repr(example).splitlines()[1] == shown
    assert "strides (24, 16)" in repr(example)
    assert repr(Example((), {"axis": 0})) == "  axis = 0"


def test_verify_functions_are_here_too():
    verify_grad(pt.tanh, [X])
    verify_rop(pt.tanh, [X])
