"""Scan is a loop of steps in native code."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, ShapeError
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.program import walk_steps
from phintys.backends.native.steps.call import LibraryCall
from phintys.backends.native.steps.callback import Callback
from phintys.backends.native.steps.check import Check
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.steps.loop import Loop
from phintys.control import IfElse, LoopArguments, Scan
from phintys.graph.apply import Apply
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.op import Op
from phintys.tensor.type import TensorType


def like(variable, drop=0):
    """Return a new variable like a row of another."""
    type_ = variable.type
    return TensorType(type_.dtype, type_.shape[drop:])() if drop else type_()


def loop(step, n, sequences=(), carried=(), untraced=(), captured=(), stacked=0, has_until=False):
    """Return the outputs of a loop; ``step`` takes the inputs of a step in order."""
    t = pt.lscalar("t")
    inputs = [t, *(like(x, 1) for x in sequences)]
    inputs += [like(first, 1) for first, taps in carried for _ in taps]
    inputs += [like(x) for x in (*untraced, *captured)]
    arguments = LoopArguments(
        sequences=len(sequences),
        taps=tuple(tuple(taps) for _, taps in carried),
        untraced=len(untraced),
        stacked=stacked,
        captured=len(captured),
        has_until=has_until,
    )
    firsts = [
        pt.specify_shape(first, (-taps[0], *[None] * (first.ndim - 1))) for first, taps in carried
    ]
    op = Scan(FunctionGraph(inputs, list(step(*inputs))), arguments)
    return list(op(n, *sequences, *firsts, *untraced, *captured, return_list=True))


def draw(*shape, dtype="float64"):
    values = np.random.default_rng(7).normal(size=shape)
    return (values * 5).astype(dtype) if dtype == "int32" else values.astype(dtype)


n, k = pt.lscalars("n", "k")
x, y, h = pt.dvectors("x", "y", "h")
X, H, W = pt.dmatrices("X", "H", "W")
A = pt.dtensor3("A")
f = pt.fmatrix("f")
g = pt.fvector("g")
i = pt.ivector("i")
z = pt.zvector("z")


def nested(count):
    def inner(u, y, m):
        return loop(lambda t, u, y: [pt.cos(u) + y * t], m, untraced=[u], captured=[y])

    return loop(
        lambda t, u, y, m: [inner(u, y, m)[0], u.sum()],
        count,
        untraced=[x],
        captured=[y, k],
        stacked=1,
    )


def choice(count):
    def step(t, row, u):
        return [
            IfElse(1)(pt.gt(row.sum(), 0), u + row, pt.tanh(u)),
            IfElse(1)(pt.eq(t % 2, 0), u * row[0], loop_in(row, u)),
        ]

    def loop_in(row, u):
        return loop(lambda t, u, row: [u * row[t]], 3, untraced=[u], captured=[row])[0]

    return loop(step, count, [X], untraced=[x], stacked=1)


PROGRAMS = {
    "recurrent net": (
        [n, X, H, W],
        loop(lambda t, x, h, w: [pt.tanh(x + w @ h)], n, [X], [(H, [-1])], captured=[W]),
        [draw(6, 3), draw(1, 3), draw(3, 3)],
    ),
    "filter of scalars": (
        [n, x, h],
        loop(lambda t, x, h: [0.9 * h + x], n, [x], [(h, [-1])]),
        [draw(6), draw(1)],
    ),
    "distant taps": (
        [n, h],
        loop(lambda t, a, b: [a - 0.5 * b], n, carried=[(h, [-4, -1])]),
        [draw(4)],
    ),
    "distant taps of matrices": (
        [n, A],
        loop(lambda t, a, b: [a.T - 0.5 * b], n, carried=[(A, [-3, -2])]),
        [draw(3, 2, 2)],
    ),
    "reversed rows, every second": (
        [n, X, h],
        loop(lambda t, row, total: [total + row], n, [X[::-2]], untraced=[h]),
        [draw(12, 3), draw(3)],
    ),
    "columns": (
        [n, X, h],
        loop(lambda t, col, total: [total * col, col], n, [X.T], untraced=[h], stacked=1),
        [draw(3, 6), draw(3)],
    ),
    "states that read each other": (
        [n, x],
        loop(lambda t, a, b, c: [b, c + t, a * b], n, untraced=[x[0], x[1], x[2]]),
        [draw(3)],
    ),
    "vectors that read each other": (
        [n, x, y],
        loop(lambda t, a, b: [b[::-1], a + b, a], n, untraced=[x, y], stacked=1),
        [draw(5), draw(5)],
    ),
    "an element is overwritten": (
        [n, x],
        loop(lambda t, a: [pt.set_subtensor(a[t % 3], a.sum())], n, untraced=[x]),
        [draw(4)],
    ),
    "an element is overwritten, and the old ones are returned": (
        [n, x],
        loop(lambda t, a: [pt.inc_subtensor(a[0], 1.0), a], n, untraced=[x], stacked=1),
        [draw(4)],
    ),
    "an element of a row is overwritten": (
        [n, H],
        loop(lambda t, a: [pt.inc_subtensor(a[t % 2], 1.0)], n, carried=[(H, [-1])]),
        [draw(1, 3)],
    ),
    "rows alone": (
        [n, X, W],
        loop(lambda t, row, w: [w @ row * t, row.sum()], n, [X], captured=[W], stacked=2),
        [draw(6, 3), draw(2, 3)],
    ),
    "products that are rows": (
        [n, A, W, h],
        loop(
            lambda t, p, w, v: [w @ p, p @ w.T, w @ p @ v, (w @ p @ v).sum(), w @ v],
            n,
            carried=[(A[:1], [-1])],
            captured=[W, h],
            stacked=4,
        ),
        [draw(2, 3, 3), draw(3, 3), draw(3)],
    ),
    "products that are rows and states": (
        [n, W, H, h],
        loop(
            lambda t, p, v, w: [w @ p, w @ v, w @ p, w @ p, p],
            n,
            untraced=[H, h],
            captured=[W],
            stacked=3,
        ),
        [draw(3, 3), draw(3, 2), draw(3)],
    ),
    "products that are rows, and are added to": (
        [n, A, W, X],
        loop(
            lambda t, p, w, x: [x + w @ p, x - 2 * (w @ p), p.T @ (x + w @ p)],
            n,
            carried=[(A[:2], [-2])],
            captured=[W, X],
            stacked=2,
        ),
        [draw(2, 3, 2), draw(3, 3), draw(3, 2)],
    ),
    "products that are rows, and are read in parts": (
        [n, A, W],
        loop(
            lambda t, p, w: [
                w @ p,
                (w @ p)[t % 3],
                (w @ p).reshape((-1,)),
                IfElse(1)(pt.gt(p[0, 0], 0), (w @ p).sum(), (w @ p)[0, 0]),
            ],
            n,
            carried=[(A[:1], [-1])],
            captured=[W],
            stacked=3,
        ),
        [draw(1, 3, 3), draw(3, 3)],
    ),
    "no inputs": ([n], loop(lambda t: [t * t], n, stacked=1), []),
    "integers": (
        [n, i],
        loop(lambda t, a, u: [u + 1, a * 3 - u], n, [i], untraced=[i[0]], stacked=1),
        [draw(6, dtype="int32")],
    ),
    "float32": (
        [n, f, g],
        loop(lambda t, a, u: [pt.exp(-u) * a, a], n, [f], untraced=[g], stacked=1),
        [draw(6, 3, dtype="float32"), draw(3, dtype="float32")],
    ),
    "complex numbers": (
        [n, z],
        loop(lambda t, u: [u * 1j + t, pt.real(u)], n, untraced=[z], stacked=1),
        [draw(3, dtype="complex128")],
    ),
    "bools": (
        [n, x],
        loop(lambda t, a, u: [pt.gt(a, 0) | u, u], n, [x], untraced=[pt.lt(x, 100)], stacked=1),
        [draw(6)],
    ),
    "a state that is a length": (
        [n, x, k],
        loop(lambda t, u, x: [(u + 1) % 3, x[:u].sum()], n, untraced=[k], captured=[x], stacked=1),
        [draw(6), np.int64(1)],
    ),
    "reductions and products": (
        [n, W, H],
        loop(lambda t, a, w: [a @ w / a.sum(axis=1, keepdims=True)], n, untraced=[H], captured=[W]),
        [draw(3, 3) ** 2, draw(2, 3) ** 2],
    ),
    "numbers in registers that other kernels read": (
        [n, x, W],
        loop(
            lambda t, a, u, w: [u * 0.5 + w @ u + a * w.sum(), u.sum() * a],
            n,
            [x],
            untraced=[W[0]],
            captured=[W],
            stacked=1,
        ),
        [draw(6), draw(3, 3)],
    ),
    "numbers that only a step computes with, as sizes are computed with": (
        [n, k],
        loop(lambda t, u, k: [u + pt.minimum(k, 3)], n, untraced=[k], captured=[k]),
        [np.int64(1)],
    ),
    "nested": ([n, x, y, k], nested(n), [draw(3), draw(3), np.int64(4)]),
    "choices": ([n, X, x], choice(n), [draw(6, 3), draw(3)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(compare, name):
    inputs, outputs, values = PROGRAMS[name]
    for count in (0, 1, 2, 6):
        program = compare(inputs, outputs, [np.int64(count), *values])
        assert any(isinstance(step, Loop) for step in program.steps)


def test_empty_rows(compare):
    inputs, outputs, _ = PROGRAMS["recurrent net"]
    compare(inputs, outputs, [np.int64(4), np.zeros((4, 0)), np.zeros((1, 0)), np.zeros((0, 0))])
    inputs, outputs, _ = PROGRAMS["vectors that read each other"]
    compare(inputs, outputs, [np.int64(4), np.zeros(0), np.zeros(0)])


def test_what_a_step_checks_does_not_hold_outside(compare):
    inputs, outputs, _ = PROGRAMS["recurrent net"]
    compare(inputs, outputs, [np.int64(0), draw(6, 3), draw(1, 3), draw(4, 3)])


def body_of(inputs, outputs):
    program = lower_program(FunctionGraph(inputs, outputs, clone=True))
    (found,) = [step for step in program.steps if isinstance(step, Loop)]
    return [step for step in found.body if not isinstance(step, Check)]


def test_states_are_overwritten_where_they_are_read_last():
    outputs = loop(lambda t, x, u: [u + x * t], n, [A], untraced=[W])
    (kernel,) = body_of([n, A, W], outputs)
    (written,) = kernel.writes()
    assert written in list(kernel.reads())
    outputs = loop(lambda t, u: [pt.inc_subtensor(u[t], 1.0)], n, untraced=[x])
    (kernel,) = body_of([n, x], outputs)
    assert list(kernel.writes()) == [statement.target for statement in kernel.statements]


def test_what_depends_on_nothing_is_computed_before_the_loop(compare):
    def step(t, u):
        ones = pt.eye(u.shape[0]) * 2.0
        return [pt.tanh(u @ ones + pt.arange(u.shape[0]))]

    outputs = loop(step, n, untraced=[W])
    assert not any(
        isinstance(inner, Kernel) and not list(inner.reads()) for inner in body_of([n, W], outputs)
    )
    for count in (0, 3):
        compare([n, W], outputs, [np.int64(count), draw(4, 4)])


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_a_state_that_all_steps_make_the_same_has_its_first_value_in_the_first(compare, count):
    vectors = [pt.tensor("u", shape=(3,)), pt.tensor("v", shape=(3,))]
    number = pt.dscalar("number")

    def step(t, a, u, v):
        return [pt.constant(0.5), pt.zeros(3), v + u * a, u]

    outputs = loop(step, n, carried=[(number[None], [-1])], untraced=vectors, stacked=1)
    compare([n, number, *vectors], outputs, [np.int64(count), np.array(7.0), draw(3), draw(3)])


def test_rows_are_written_where_they_are_returned():
    outputs = loop(lambda t, h: [pt.tanh(h)], n, carried=[(H, [-1])])
    (kernel,) = body_of([n, H], outputs)
    (written,) = kernel.writes()
    assert written in list(kernel.reads())


def test_products_are_written_where_they_are_returned():
    def step(t, p, w):
        turned = p @ w.T
        return [w @ p, turned, turned[0] @ w]

    outputs = loop(step, n, carried=[(A, [-1])], captured=[W], stacked=2)
    body = body_of([n, A, W], outputs)
    assert len(body) == 3
    assert all(isinstance(step, LibraryCall) for step in body)


def test_products_write_states_that_nothing_reads_any_more():
    outputs = loop(lambda t, s, w: [w @ pt.tanh(s)], n, untraced=[x], captured=[W])
    body = body_of([n, x, W], outputs)
    assert [type(step) for step in body] == [Kernel, LibraryCall]
    state, matrix = draw(5), draw(5, 5)
    expected = state
    for _ in range(3):
        expected = matrix @ np.tanh(expected)
    f = phintys.function([n, x, W], outputs, mode="native")
    np.testing.assert_allclose(f(3, state, matrix)[0], expected, rtol=1e-12)
    np.testing.assert_array_equal(f(0, state, matrix)[0], state)


@pytest.mark.parametrize(
    "step",
    [
        lambda t, s, r, w: [w @ s, r],
        lambda t, s, r, w: [w @ pt.tanh(s), s + r],
        lambda t, s, r, w: [w @ r, w @ s],
        lambda t, s, r, w: [r, w @ s],
        lambda t, s, r, w: [w @ pt.sin(s), w @ (pt.cos(s) + w @ r)],
        lambda t, s, r, w: [s + w @ pt.sin(r), w @ pt.sin(r)],
        lambda t, s, r, w: [(w @ pt.sin(s))[::-1], w @ pt.sin(r)],
    ],
)
def test_products_of_states_read_the_old_ones(step):
    outputs = loop(step, n, untraced=[x, y], captured=[W])
    values = 3, draw(5), draw(5) ** 2, draw(5, 5)
    native = phintys.function([n, x, y, W], outputs, mode="native")(*values)
    expected = phintys.function([n, x, y, W], outputs, mode="reference")(*values)
    for found, wanted in zip(native, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_half_of_a_symmetric_product_is_written_to_its_row():
    outputs = loop(lambda t, x: [x @ x.T], n, [A], stacked=1)
    value = draw(2, 260, 70)
    f = phintys.function([n, A], outputs, mode="native")
    np.testing.assert_allclose(f(2, value)[0], value @ value.mT, rtol=1e-9)


def test_a_product_of_another_length_than_the_rows_before_is_refused():
    outputs = loop(lambda t, p, w: [w @ p], n, carried=[(A, [-1])], captured=[W])
    f = phintys.function([n, A, W], outputs, mode="native")
    with pytest.raises(ShapeError, match=r"the shape \(5, 3\); it had \(3, 3\) before"):
        f(3, draw(1, 3, 3), draw(5, 3))


def test_old_values_are_kept_until_they_have_been_read(compare):
    outputs = loop(lambda t, a, b: [a + b, a[::-1] * 0.5], n, untraced=[x, y])
    compare([n, x, y], outputs, [np.int64(5), draw(4), draw(4)])
    outputs = loop(lambda t, a: [a / a.sum() + a[0], a.max()], n, untraced=[x], stacked=1)
    compare([n, x], outputs, [np.int64(5), draw(40) ** 2])


# ---- ends ----------------------------------------------------------------------------------------


def halving(limit=1e-3):
    """A loop that ends when its state is small, with outputs of all kinds."""
    return loop(
        lambda t, c, a, u: [a * 0.5 + c, u * 0.5, u + t, pt.lt(u, limit)],
        n,
        [x],
        [(h, [-1])],
        [y[0]],
        stacked=1,
        has_until=True,
    )


def test_a_condition_ends_the_loop(compare):
    for count in (0, 1, 5, 30):
        for first in (4.0, 1e-9):
            compare(
                [n, x, h, y], halving(), [np.int64(count), draw(30), draw(1), np.full(1, first)]
            )
    results = phintys.function([n, x, h, y], halving())(30, draw(30), draw(1), np.full(1, 4.0))
    assert [len(one) for one in (results[0], results[2])] == [14, 13]
    assert results[3] == 13


def test_a_condition_without_a_limit():
    newton = loop(
        lambda t, u, a: [0.5 * (u + a / u), pt.lt(abs(u * u - a), 1e-12)],
        2**63 - 1,
        untraced=[x[0]],
        captured=[y[0]],
        has_until=True,
    )
    root, ran = phintys.function([x, y], newton)(np.ones(1), np.full(1, 2.0))
    np.testing.assert_allclose(root, np.sqrt(2), rtol=1e-15)
    assert 4 <= ran <= 7


def test_conditions_of_other_dtypes_and_in_nested_loops(compare):
    def inner(t, u, k):
        found = loop(
            lambda t, v, k: [v + k, v >= 10], 100, untraced=[u], captured=[k], has_until=True
        )
        return [found[0] % 7, found[1]]

    compare(
        [n, k],
        loop(inner, n, untraced=[k * 1], captured=[k], stacked=1),
        [np.int64(5), np.int64(3)],
    )
    ends = loop(lambda t, u: [u - 1, u - 3], n, untraced=[k], has_until=True)
    compare([n, k], ends, [np.int64(50), np.int64(8)])


# ---- what has only Python code -------------------------------------------------------------------


class Twice(Op):
    """An Op that has only Python code."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.asarray(inputs[0] * 2)

    def infer_shape(self, fgraph, node, input_shapes):
        return input_shapes


def test_ops_in_python_are_callbacks_in_the_loop():
    outputs = loop(lambda t, u: [Twice()(u) * 0.7 + t, u.sum()], n, untraced=[x], stacked=1)
    program = lower_program(FunctionGraph([n, x], outputs, clone=True))
    (body,) = [step.body for step in program.steps if isinstance(step, Loop)]
    assert [type(step) for step in walk_steps(body)].count(Callback) == 1
    run = phintys.function([n, x], outputs)
    u, sums = draw(3), []
    for count in range(30):
        for one, other in zip(run(count, draw(3)), [u, sums], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)
        sums.append(u.sum())
        u = 2 * u * 0.7 + count


def test_sizes_that_only_the_steps_know():
    def step(t, u):
        return [pt.nonzero(pt.gt(u, t))[0].sum() + u * 0.5]

    outputs = loop(step, n, untraced=[x])
    program = lower_program(FunctionGraph([n, x], outputs, clone=True))
    assert [step.why for step in program.steps if isinstance(step, Callback)]
    given = np.arange(5.0)
    for mode in ("native", "reference"):
        run = phintys.function([n, x], outputs, mode=mode)
        np.testing.assert_allclose(run(2, given)[0], _halved(given), rtol=1e-14)


def _halved(u):
    for t in range(2):
        u = np.nonzero(u > t)[0].sum() + u * 0.5
    return u


# ---- failures ------------------------------------------------------------------------------------


def test_a_failing_step_leaves_shared_values_as_they_were():
    state, count = phintys.shared(np.ones(3)), phintys.shared(0)
    u, _ = loop(lambda t, u, x: [u * x[t], u], 5, untraced=[state], captured=[x], stacked=1)
    run = phintys.function([x], u.sum(), updates={state: u, count: count + 1})
    with pytest.raises(IndexError, match="3"):
        run(np.full(3, 2.0))
    np.testing.assert_array_equal(state.get_value(), np.ones(3))
    assert count.get_value() == 0
    run(np.full(5, 2.0))
    np.testing.assert_array_equal(state.get_value(), np.full(3, 32.0))


@pytest.mark.parametrize(
    ("values", "error", "text"),
    [
        ((-1, 6, 3, 3), (ArgumentError, ShapeError), "-1"),
        ((7, 6, 3, 3), ShapeError, "7.* 6"),
        ((6, 6, 3, 4), ShapeError, r"In step 0 .* has the shape \(4,\); it had \(3,\) before"),
    ],
)
def test_wrong_lengths(values, error, text):
    count, rows, width, other = values
    outputs = loop(lambda t, x, h, w: [pt.tanh(w @ x)], n, [X], [(H, [-1])], captured=[W])
    run = phintys.function([n, X, H, W], outputs)
    with pytest.raises(error, match=text):
        run(count, draw(rows, width), draw(1, width), draw(other, width))


def test_too_many_rows_for_any_memory():
    rows = phintys.function([n], loop(lambda t: [t * t], n, stacked=1))
    with pytest.raises((MemoryError, ValueError)):
        rows(2**62)


class OfPython(Op):
    """Has no native code, and is not run again to find the words of an error."""

    def make_node(self, a):
        return Apply(self, [a], [a.type()])

    def perform(self, node, inputs, storage):
        storage[0][0] = inputs[0].copy()

    def infer_shape(self, fgraph, node, shapes):
        return shapes


def test_a_state_of_another_length_is_named_with_both_lengths():
    outputs = loop(lambda t, u, w: [w @ OfPython()(u)], n, untraced=[x], captured=[W])
    f = phintys.function([n, x, W], outputs, mode="native")
    with pytest.raises(ShapeError, match=r"state 0 has the shape \(3,\); it had \(5,\) before"):
        f(2, draw(5), draw(3, 5))
