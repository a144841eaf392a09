"""Gradients of loops whose intermediate results have another shape in another step."""

import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys._base.errors import GradientError
from phintys.control import Scan, fori_loop, ifelse, loop, while_loop
from phintys.control import map as map_rows
from phintys.control.loop_derivatives.steady_shapes import SteadyShapes
from phintys.graph import Apply, Op
from phintys.graph.traversal import toposort
from phintys.random import RandomStream

EXAMPLES = max(1, settings().max_examples // 6)
START = np.array([0.31, -0.42, 0.77, 1.13])


class Doubled(Op):
    """An Op that infers no shapes."""

    __props__ = ()

    def make_node(self, x):
        x = pt.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * 2

    def L_op(self, inputs, outputs, output_grads):
        return [type(self)()(output_grads[0])]

    def R_op(self, inputs, eval_points):
        return [None if eval_points[0] is None else type(self)()(eval_points[0])]


# ---- sizes, and what is computed with them -------------------------------------------------------

SIZES = {
    "step": lambda t, h: t % 4 + 1,
    "state": lambda t, h: pt.cast(pt.floor(h.sum() * 7), "int64") % 4 + 1,
    "rows of a mask": lambda t, h: h[h > 0.4].shape[0] + 1,
    "the same": lambda t, h: h.shape[0] - 1,
}


def newton(n, h):
    """Solve y + y**3 = h by as many steps as that takes, for each n another bound."""

    def body(carry):
        y, _ = carry
        new = y - (y + y**3 - h) / (1 + 3 * y**2)
        return new, new + new**3 - h

    bound = 10.0 ** -pt.cast(2 * n, "float64")
    return while_loop(lambda carry: (carry[1] ** 2).sum() > bound, body, (h, h + 1))[0].sum()


def inner_scan(n, h):
    rows = phintys.scan(lambda a: pt.tanh(a) * 1.1 + 0.1, None, h, n_steps=n, return_updates=False)
    return (rows * pt.exp(rows)).sum() / 4


PARTS = {
    "slice": lambda n, h: (pt.exp(pt.sin(h[:n])) * pt.tanh(h[:n])).sum(),
    "product": lambda n, h: pt.tanh(pt.outer(h, h)[:, :n] @ pt.exp(h[:n])).sum(),
    "range": lambda n, h: pt.exp(pt.sin(pt.arange(n) * h[0])).sum(),
    "join": lambda n, h: pt.prod(pt.sin(pt.concatenate([h[:n], h]) + 2)),
    "sides": lambda n, h: pt.tanh(pt.exp(ifelse(n > 2, h[:2], h))).sum(),
    "mask": lambda n, h: pt.exp(pt.sin(h[h > 0.1 * n])).sum(),
    "own Op": lambda n, h: pt.exp(Doubled()(pt.sin(h[:n]))).sum(),
    "alloc": lambda n, h: pt.exp(pt.sin(pt.alloc(h[1], n))).prod(),
    "inner scan": inner_scan,
    "while": newton,
    "steady": lambda n, h: pt.exp(pt.sin(h)).sum(),
}


class Drawn(NamedTuple):
    """A loop: how it is written, and its step."""

    form: str
    size: str
    parts: list[str]
    n: int
    is_known: bool
    checkpoint: Any

    def step(self, t, h):
        """Return the next state, and a row."""
        n = SIZES[self.size](t, h)
        total = sum(PARTS[part](n, h) for part in self.parts)
        return pt.sin(h * 0.9 + 0.2) + 0.05 * pt.sin(total), total * h[0]

    def run(self, x, n):
        """Return the last state and the sum of the rows, by a loop."""
        start = (x, pt.constant(0.0))

        def joined(t, carry):
            state, row = self.step(t, carry[0])
            return state, carry[1] + row

        if self.form == "fori":
            return fori_loop(0, n, joined, start, checkpoint=self.checkpoint)
        if self.form == "while":
            _, last = while_loop(
                lambda carry: carry[0] < n,
                lambda carry: (carry[0] + 1, joined(*carry)),
                (np.int64(0), start),
                checkpoint=self.checkpoint,
            )
            return last
        if self.form == "map":
            rows = map_rows(lambda t: self.step(t, x)[1], pt.arange(n), return_updates=False)
            return self.step(n, x)[0], rows.sum()
        if self.form == "loop":
            state, rows = loop(
                lambda h, t: self.step(t, h), x, pt.arange(n), checkpoint=self.checkpoint
            )
            return state, rows.sum()
        states, rows = phintys.scan(
            self.step,
            pt.arange(n),
            [x, None],
            checkpoint=self.checkpoint,
            return_updates=False,
        )
        return states[-1], rows.sum()

    def unrolled(self, x):
        """Return the same without a loop."""
        state, total = x, pt.constant(0.0)
        if self.form == "map":
            rows = [self.step(pt.constant(t), x)[1] for t in range(self.n)]
            return self.step(pt.constant(self.n), x)[0], sum(rows)
        for t in range(self.n):
            state, row = self.step(pt.constant(t), state)
            total = total + row
        return state, total

    def costs(self, x, n):
        """Return a function of the results, with the loop and without it."""
        found = self.run(x, self.n if self.is_known else n), self.unrolled(x)
        return [(pt.arange(1.0, 5.0) * state**2).sum() + pt.sin(rows) for state, rows in found]


DRAWN = st.builds(
    Drawn,
    st.sampled_from(["scan", "scan", "loop", "fori", "while", "map"]),
    st.sampled_from(list(SIZES)),
    st.lists(st.sampled_from(list(PARTS)), min_size=1, max_size=2, unique=True),
    st.integers(1, 4),
    st.booleans(),
    st.sampled_from([None, None, None, False, 1, 2]),
)


def compare(drawn, derive, mode, rtol=1e-8):
    """Compare an expression of the cost of a loop with that of the program without it."""
    x, n = pt.dvector("x"), pt.lscalar("n")
    found = [derive(cost, x) for cost in drawn.costs(x, n)]
    f = phintys.function([x, n], found, mode=mode, on_unused_input="ignore")
    one, other = f(START, drawn.n)
    np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-9)


@settings(max_examples=EXAMPLES)
@given(DRAWN, st.sampled_from(["native", "reference"]))
def test_values_and_gradients_are_those_of_the_program_without_a_loop(drawn, mode):
    compare(drawn, lambda cost, x: pt.join(0, [cost], phintys.grad(cost, x)), mode)


@settings(max_examples=EXAMPLES)
@given(DRAWN)
def test_tangents_are_those_of_the_program_without_a_loop(drawn):
    compare(drawn, lambda cost, x: phintys.Rop(cost, x, pt.cos(x)), "native")


@settings(max_examples=max(1, EXAMPLES // 2))
@given(DRAWN)
def test_second_derivatives_are_those_of_the_program_without_a_loop(drawn):
    compare(
        drawn,
        lambda cost, x: phintys.grad((phintys.grad(cost, x) * pt.cos(x)).sum(), x),
        "native",
        rtol=1e-7,
    )


@pytest.mark.parametrize("part", list(PARTS))
def test_every_part_has_a_gradient(part):
    compare(Drawn("scan", "state", [part], 3, False, None), phintys.grad, "native")


ALL_KINDS = ["slice", "sides", "while"]


@pytest.mark.parametrize(
    ("mode", "parts"),
    [
        ("reference", ALL_KINDS),
        ("debug", ["slice"]),
        pytest.param("debug", ALL_KINDS, marks=pytest.mark.stress),
    ],
)
def test_all_modes_agree(mode, parts):
    compare(Drawn("scan", "step", parts, 2, False, None), phintys.grad, mode)


@pytest.mark.parametrize("part", ["slice", "inner scan", "while"])
def test_gradients_are_those_of_finite_differences(part):
    drawn = Drawn("scan", "step", [part], 3, True, None)
    phintys.gradient.verify_grad(lambda x: drawn.costs(x, 3)[0], [START])


@pytest.mark.parametrize("part", ["slice", "inner scan", "range"])
def test_gradients_of_batches_are_those_of_the_items(part):
    drawn = Drawn("scan", "step", [part], 3, True, None)
    x, xs = pt.dvector("x"), pt.dmatrix("xs")
    gradient = phintys.grad(drawn.costs(x, 3)[0], x)
    found = phintys.function([xs], pt.vectorize_graph(gradient, {x: xs}))
    one = phintys.function([x], gradient)
    rows = np.stack([START, START[::-1] * 0.7])
    np.testing.assert_allclose(found(rows), [one(row) for row in rows], rtol=1e-9)


def test_jacobians_of_loops_are_those_of_the_program_without_a_loop():
    drawn = Drawn("scan", "step", ["slice", "while"], 3, False, None)

    def jacobian(state):
        x, n = pt.dvector("x"), pt.lscalar("n")
        found = phintys.gradient.jacobian(state(x, n), x)
        return phintys.function([x, n], found, on_unused_input="ignore")(START, 3)

    one, other = map(jacobian, [lambda x, n: drawn.run(x, n)[0], lambda x, n: drawn.unrolled(x)[0]])
    np.testing.assert_allclose(one, other, rtol=1e-9)


# ---- what is kept --------------------------------------------------------------------------------


def stacked_by(gradient):
    """Return the names of the functions whose results the forward pass of a scan keeps."""
    found = set()
    for node in toposort([gradient]):
        if isinstance(node.op, Scan) and node.op.name == "forward":
            found |= {str(row.owner.op) for row in node.op.step_outputs.stacked if row.owner}
    return found


def test_only_what_has_another_shape_is_computed_again():
    x, k = pt.dvector("x"), pt.lscalar("k")

    def step(t, h):
        moving = pt.exp(h[: t + 1]).sum()
        return pt.tanh(h) + pt.sin(moving * h) + pt.log1p(h[:k] ** 2).sum()

    states = phintys.scan(step, pt.arange(3), x, name="forward", return_updates=False)
    kept = stacked_by(phintys.grad((states[-1] ** 2).sum(), x))
    assert {"Tanh", "Cos"} & kept
    assert "Exp" not in kept


def test_sizes_that_are_captured_are_the_same_in_all_steps():
    t, h, k = pt.lscalar("t"), pt.dvector("h"), pt.lscalar("k")
    steady = [
        h * 2,
        h[:k],
        pt.zeros(k) + h[:k],
        pt.zeros(h.shape[0] + 1),
        pt.concatenate([h, h[:k]]),
        pt.zeros(pt.exp(h).shape[0] * 2),
        pt.outer(h, h[1:k]).flatten(),
        ifelse(k > 2, h[:1], h),
        h[pt.arange(k)],
    ]
    other = [
        h[:t],
        h[h > 0],
        pt.zeros(t),
        pt.concatenate([h, h[:t]]),
        ifelse(t > 2, h[:1], h),
        Doubled()(h),
        pt.zeros(h[:t].shape[0] + k),
        pt.zeros(pt.cast(h[0], "int64")),
        pt.nonzero(h)[0],
    ]
    made = [*steady, *other]
    rows = [row.sum() for row in made]
    step = phintys.graph.FunctionGraph([t, h, k], [h * 2.0, *rows], clone=False)
    arguments = phintys.control.LoopArguments(taps=((-1,),), stacked=len(rows), captured=1)
    shapes = SteadyShapes(Scan(step, arguments), [])
    shapes.add(toposort(rows, [t, h, k]))
    assert [row in shapes for row in made] == [True] * len(steady) + [False] * len(other)


# ---- random numbers ------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("kind", "checkpoint"),
    [
        *itertools.product(["size", "side", "both"], [None, False, 1, 2]),
        ("side", 4),  # as many as there are steps
    ],
)
def test_numbers_that_are_not_drawn_alike_in_all_steps_are_drawn_again(kind, checkpoint):
    """Of another number in each step, or on one side of a choice."""

    def cost(x):
        stream = RandomStream(3)

        def step(h):
            n = SIZES["state"](None, h)
            noise = stream.normal(size=(n,) if kind == "size" else (4,))
            if kind == "size":
                return h * 0.9 + 0.1 * (pt.exp(noise) * pt.sin(h[:n])).sum()
            count = h.shape[0] if kind == "side" else n
            return 0.7 * ifelse(h.sum() > 1.5, h * pt.exp(noise), pt.sin(h) * count)

        states = phintys.scan(step, None, x, n_steps=4, checkpoint=checkpoint, return_updates=False)
        return (states**2).sum()

    x = pt.dvector("x")
    found = phintys.function([x], phintys.grad(cost(x), x))(START)

    def value(at):
        return phintys.function([x], cost(x), mode="reference")(at)

    moves = np.eye(4) * 1e-6
    expected = [(value(START + move) - value(START - move)) / 2e-6 for move in moves]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_truncated_gradient_does_not_draw_again():
    x, stream = pt.dvector("x"), RandomStream(3)
    states = phintys.scan(
        lambda h: ifelse(h.sum() > 1, h * pt.exp(stream.normal(size=(4,))), h),
        None,
        x,
        n_steps=4,
        truncate_gradient=2,
        return_updates=False,
    )
    with pytest.raises(GradientError, match="cannot be truncated"):
        phintys.grad(states.sum(), x)
