"""Graphs of pure, view and overwriting Ops: order, refusals with both lines, all modes alike."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, CycleError, InconsistencyError
from phintys.compile import In, Mode, function, get_mode
from phintys.graph import Apply, Op
from phintys.passes import PIPELINES
from phintys.tensor import blas
from phintys.tensor.inplace import add_inplace, exp_inplace, neg_inplace
from tests.budget import budget
from tools.fuzz import inner_ops

MODES = ["reference", "native", "debug"]


def values():
    return np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0])


@pytest.mark.parametrize("mode", MODES)
def test_the_value_is_read_before_it_is_overwritten(mode):
    """The example of the contract: r3 is written later, and computed before r2."""
    x, y = pt.dvectors("x", "y")
    r1 = pt.log(x)
    r2 = add_inplace(x, y)
    r3 = pt.log(x)
    r4 = pt.log(r2)
    f = function([In(x, mutable=True), y], [r1, r2, r3, r4], mode, accept_inplace=True)
    a, b = values()
    log, total = np.log(a), a + b
    for found, expected in zip(f(a, b), [log, total, log, np.log(total)], strict=True):
        np.testing.assert_allclose(found, expected)
    assert a.tolist() in ([1.0, 2.0, 3.0], total.tolist())  # as was allowed, if it helps


class Spoil(Op):
    """Sums its inputs, and leaves zeros behind in all of them."""

    __props__ = ()

    destroy_map = {None: [0, 1]}

    def make_node(self, x, y):
        return Apply(self, [x, y], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] + inputs[1]
        for one in inputs:
            one[...] = 0.0


class Swap(Op):
    """Exchanges its inputs, in their own memory."""

    __props__ = ()

    destroy_map = {0: [0], 1: [1]}

    def make_node(self, x, y):
        return Apply(self, [x, y], [x.type(), y.type()])

    def perform(self, node, inputs, output_storage):
        one, other = inputs
        one[...], other[...] = other.copy(), one.copy()
        output_storage[0][0], output_storage[1][0] = one, other


class Pick(Op):
    """Returns one of its inputs, whichever is larger: a view of either."""

    __props__ = ()

    view_map = {0: [0, 1]}

    def make_node(self, x, y):
        return Apply(self, [x, y], [x.type()])

    def perform(self, node, inputs, output_storage):
        one, other = inputs
        output_storage[0][0] = one if one.sum() >= other.sum() else other


@pytest.mark.parametrize("mode", MODES)
def test_scratch_use_of_inputs(mode):
    x, y = pt.dvectors("x", "y")
    f = function([x, y], [Spoil()(x + 0.5, y * 2), x, y], mode, accept_inplace=True)
    a, b = values()
    for _ in range(2):
        total, first, second = f(a, b)
        np.testing.assert_allclose(total, a + 0.5 + 2 * b)
        np.testing.assert_array_equal([first, second], values())
    np.testing.assert_array_equal([a, b], values())
    # As arguments that may be overwritten, and as others, which are copied.
    f = function([In(x, mutable=True), y], Spoil()(x, y), mode, accept_inplace=True)
    np.testing.assert_allclose(f(a, b), [11.0, 22.0, 33.0])
    np.testing.assert_array_equal([a, b], [[0.0] * 3, values()[1]])


@pytest.mark.parametrize("mode", MODES)
def test_two_outputs_overwrite_two_inputs(mode):
    x, y = pt.dvectors("x", "y")
    u, v = Swap()(x * 1.5, y * 2.0)
    f = function([x, y], [u, v, x * 1.5], mode, accept_inplace=True)
    a, b = values()
    for found, expected in zip(f(a, b), [2 * b, 1.5 * a, 1.5 * a], strict=True):
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("mode", MODES)
def test_a_view_of_either_input(mode):
    x, y = pt.dvectors("x", "y")
    a, b = values()
    u, v = x * 1.5, y * 2.0
    late = u.sum() + v.sum()  # both must be read before what may be either is overwritten
    f = function([x, y], [neg_inplace(Pick()(u, v)), late], mode, accept_inplace=True)
    found, total = f(a, b)
    np.testing.assert_allclose(found, -2 * b)
    np.testing.assert_allclose(total, (1.5 * a).sum() + (2 * b).sum())
    with pytest.raises(InconsistencyError, match="overwritten twice"):
        function([x, y], [neg_inplace(Pick()(u, v)), exp_inplace(v)], mode, accept_inplace=True)


@pytest.mark.parametrize("mode", MODES)
def test_a_result_that_views_two_values_one_of_which_is_overwritten(mode):
    """It is copied, though what it views beside was overwritten on the way to it."""
    x, y, z = pt.dvectors("x", "y", "z")
    seen = Pick()(neg_inplace(z), y)
    f = function([x, y, z], [Spoil()(x, y), seen], mode, accept_inplace=True)
    a, b = values()
    total, found = f(a, b, np.array([0.0, 1.0, 2.0]))
    np.testing.assert_array_equal(total, a + b)
    np.testing.assert_array_equal(found, b)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("through", ["itself", "a view", "either"])
@pytest.mark.parametrize("how", ["computed", "set", "copied"])
def test_a_shared_value_that_is_handed_on_is_not_overwritten(mode, through, how):
    """v gets the memory of w, so the next w needs its own, however it is made."""
    v, w = phintys.shared(np.zeros(40)), phintys.shared(np.arange(40.0))
    x = pt.dvector("x")
    given = {"itself": w, "a view": w[::-1], "either": Pick()(w, w)}[through]
    new = {"computed": w * 2.0, "set": pt.set_subtensor(w[1:3], -1.0), "copied": x}[how]
    f = function([x], [], mode, updates=[(v, given), (w, new)], on_unused_input="ignore")
    for _ in range(2):
        old = w.get_value()
        f(-old)
        np.testing.assert_array_equal(v.get_value(), old[::-1] if through == "a view" else old)
        expected = old.copy()
        expected[1:3] = -1.0
        wanted = {"computed": old * 2.0, "set": expected, "copied": -old}[how]
        np.testing.assert_array_equal(w.get_value(), wanted)


class Row(Op):
    """Returns the first row of a matrix: a view of it."""

    __props__ = ()

    view_map = {0: [0]}

    def make_node(self, x):
        return Apply(self, [x], [pt.dvector()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0][0]


class Cleared(Op):
    """Sets all to 0, in place."""

    __props__ = ()

    destroy_map = {0: [0]}

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        inputs[0][...] = 0.0
        output_storage[0][0] = inputs[0]


class Doubled(Op):
    """Twice the input, by Python."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * 2.0


@pytest.mark.parametrize("mode", MODES)
def test_an_update_is_computed_before_its_source_is_overwritten_through_a_view(mode):
    w = phintys.shared(np.ones((2, 2)), shape=(2, 2))
    doubled = Doubled()(w)
    f = function([], Cleared()(Row()(doubled)), mode, updates=[(w, doubled)], accept_inplace=True)
    np.testing.assert_array_equal(f(), [0.0, 0.0])
    np.testing.assert_array_equal(w.get_value(), np.full((2, 2), 2.0))


class Exchanged(Op):
    """Returns its inputs in the other order, as they are."""

    __props__ = ()

    view_map = {0: [1], 1: [0]}

    def make_node(self, x, y):
        return Apply(self, [x, y], [y.type(), x.type()])

    def perform(self, node, inputs, output_storage):
        (output_storage[0][0], output_storage[1][0]) = reversed(inputs)


@pytest.mark.parametrize("mode", MODES)
def test_a_view_is_read_before_its_source_is_overwritten(mode):
    """Though what is computed from it is needed only later, beside the new value."""
    x, y = (pt.vector(name, shape=(3,)) for name in "xy")
    doubled = Doubled()(x)
    cleared = Cleared()(doubled)
    seen, _ = Exchanged()(y, doubled)
    f = function([x, y], cleared - seen * 3.0, mode, accept_inplace=True)
    np.testing.assert_array_equal(f([1.0, 2.0, 3.0], [0.0] * 3), [-6.0, -12.0, -18.0])


# ---- refusals ------------------------------------------------------------------------------------


def build_two_destroyers(x, y):
    inner = x * 2
    first = add_inplace(inner, y)  # line one
    return [first, exp_inplace(inner)]  # line two


def build_feedback(x, y):
    inner = x * 2
    result = add_inplace(inner, y)  # line one
    return [inner * result]  # line two


def build_two_views(x, y):
    inner = x * 2
    first = neg_inplace(inner[1:][::-1])  # line one
    return [first, add_inplace(inner[:2], y[:2])]  # line two


@pytest.mark.parametrize("mode", ["reference", "native"])
@pytest.mark.parametrize(
    ("build", "error"),
    [
        (build_two_destroyers, InconsistencyError),
        (build_feedback, CycleError),
        (build_two_views, InconsistencyError),
    ],
)
def test_a_refusal_shows_both_lines(build, error, mode):
    x, y = pt.dvectors("x", "y")
    with pytest.raises(error) as caught:
        function([x, y], build(x, y), mode, accept_inplace=True)
    told = str(caught.value)
    assert told.count("# line one") == told.count("# line two") == 1
    assert inspect.getsourcefile(build) in told


def test_reading_what_one_overwrites_is_refused():
    x = pt.dvector("x")
    inner = x * 2
    for other in (inner, inner[::-1]):
        with pytest.raises(InconsistencyError, match=r"reads the same memory as input 1") as caught:
            function([x], add_inplace(inner, other), accept_inplace=True)
        assert __file__ in str(caught.value)


# ---- generated graphs ----------------------------------------------------------------------------


# Name -> the Op on variables, the function on arrays, the number of inputs.
STEPS = {
    "add": (lambda x, y: x + y, np.add, 2),
    "double": (lambda x: x * 2.0, lambda x: x * 2.0, 1),
    "flip": (lambda x: x[::-1], lambda x: x[::-1], 1),
    "pick": (Pick(), lambda x, y: x if x.sum() >= y.sum() else y, 2),
    "add_inplace": (add_inplace, np.add, 2),
    "neg_inplace": (neg_inplace, np.negative, 1),
    "spoil": (Spoil(), np.add, 2),
}


@st.composite
def programs(draw):
    """Draw inputs, and pairs of a variable and its value; all values are exact."""
    inputs = list(pt.dvectors("x", "y"))
    pool = list(zip(inputs, values(), strict=True))
    for _ in range(draw(st.integers(1, 7))):
        build, compute, count = STEPS[draw(st.sampled_from(sorted(STEPS)))]
        chosen = [pool[draw(st.integers(0, len(pool) - 1))] for _ in range(count)]
        variables, arrays = zip(*chosen, strict=True)
        pool.append((build(*variables), compute(*arrays)))
    outputs = draw(st.lists(st.sampled_from(pool[2:]), min_size=1, max_size=3, unique_by=id))
    return inputs, outputs


@budget(60)
@given(programs(), st.booleans(), st.data())
def test_what_is_accepted_is_right_in_all_modes(program, mutable, data):
    inputs, pairs = program
    outputs = [variable for variable, _ in pairs]
    mode = data.draw(
        st.sampled_from(
            [
                Mode("reference"),
                get_mode("reference"),
                get_mode("native"),
                get_mode("debug"),
                Mode("reference", PIPELINES["full"].including("inplace_everywhere")),
                get_mode("native").including("inplace_everywhere"),
            ]
        )
    )
    specs = [In(variable, mutable=mutable) for variable in inputs]
    try:
        f = function(specs, outputs, mode, accept_inplace=True, on_unused_input="ignore")
    except InconsistencyError:
        return  # two nodes would overwrite one value, or there is no order
    for _ in range(2):
        given_values = values()
        results = f(*given_values)
        for (_variable, expected), found in zip(pairs, results, strict=True):
            np.testing.assert_array_equal(found, expected)
        if not mutable:
            np.testing.assert_array_equal(given_values, values())


PLAIN = [Mode(name, PIPELINES["none"]) for name in ("reference", "native")]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", [*MODES, *PLAIN], ids=str)
@pytest.mark.parametrize("within", [inner_ops.overwriting, inner_ops.twice, inner_ops.rows])
def test_an_inner_graph_overwrites_copies(mode, within):
    x, y = pt.dvectors("x", "y")
    middle = x * 2
    for victim in (x, middle):
        f = function([x, y], [within(victim, y), victim + 1], mode, accept_inplace=True)
        a, b = values()
        once = a if victim is x else a * 2
        times = 3 if within is inner_ops.rows else 1
        for _ in range(2):
            found, after = f(a, b)
            np.testing.assert_array_equal(found, times * (once + b))
            np.testing.assert_array_equal(after, once + 1)
            np.testing.assert_array_equal((a, b), values())


def test_an_inner_graph_that_overwrites_must_be_accepted():
    x, y = pt.dvectors("x", "y")
    with pytest.raises(ArgumentError, match="overwrites an input"):
        function([x, y], inner_ops.overwriting(x, y))


@pytest.mark.parametrize("within", [inner_ops.overwriting, inner_ops.twice, inner_ops.rows])
def test_perform_keeps_the_inputs_of_an_inner_graph(within):
    x, y = pt.dvectors("x", "y")
    node = within(x, y).owner
    a, b = values()
    inputs = [np.array(3), a, b] if within is inner_ops.rows else [a, b]
    cell = [None]
    node.op.perform(node, inputs, [cell])
    np.testing.assert_array_equal(cell[0], (a + b) * (3 if within is inner_ops.rows else 1))
    np.testing.assert_array_equal((a, b), values())


@pytest.mark.parametrize("mode", [*MODES, *PLAIN], ids=str)
def test_an_argument_is_not_returned_as_memory_of_another_op(mode):
    """A copy by name may be its operand: not if that lies in the memory of an argument."""
    x, y = pt.dmatrices("x", "y")
    product = blas.Gemm(inplace=True)(y, y, 2.0, x)
    copy = pt.alloc(product, 1 + y.shape[0] - y.shape[0], *product.shape)[0]
    f = function([In(x, mutable=True), y], copy, mode, accept_inplace=True)
    a, b = np.ones((2, 2)), np.eye(2)
    found = f(a, b)
    np.testing.assert_array_equal(found, 2 * np.eye(2) + np.ones((2, 2)))
    assert not np.shares_memory(found, a)
