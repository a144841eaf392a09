"""Loops of steps on short vectors keep them in registers, whatever their length turns out to be."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import ifelse, scan, until
from phintys._base.errors import IndexingError
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.kernels.short_vectors import short_vectors_of
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.polynomials import Polynomials
from phintys.graph.fgraph import FunctionGraph

u, y = pt.dvectors("u", "y")
X, w = pt.dmatrices("X", "w")
i, k = pt.lvector("i"), pt.lscalar("k")
z = pt.zvector("z")


def nested():
    """A loop in a loop."""

    def outer(u):
        return pt.tanh(scan(lambda u: 0.9 * u + y, None, u, n_steps=5)[0][-1])

    return [scan(outer, None, u, n_steps=4)[0]]


def filtered():
    """Rows that are read by the next step, and sums."""

    def step(x, h):
        new = h * x + 0.1 * h.sum()
        return new, (new**2).max()

    return scan(step, X, [u, None])[0]


def halved():
    """A condition, a number and a vector of which the last values are kept."""

    def step(h, c):
        new = 0.5 * h
        return [new, c + new.sum()], until(new.sum() < 0.5)

    squares, sums = scan(step, None, [y**2, pt.constant(0.0)], n_steps=20)[0]
    return [squares[-1], sums]


def mixed():
    """Vectors of several dtypes, in a step that chooses."""

    def step(x, i, z, flags):
        kept = ifelse(i.sum() > 30, z, z * (1 + 1j))
        return [i * 3 + flags, kept + i, ~flags]

    return scan(step, X, [i, z, pt.gt(i, 2)])[0]


def softmax():
    """Sums inside of a step, and a gradient."""
    rows, _ = scan(lambda x, h: pt.exp(x + h) / pt.exp(x + h).sum(), X, u)
    return [rows, phintys.grad((rows**2).sum(), u)]


def markov():
    """Products in the step, a branch with kernels on matrices, and gradients."""
    rows, _ = scan(lambda x, h: pt.logsumexp(h[:, None] + w, axis=0) + x, X, u)
    cost = pt.logsumexp(rows[-1])
    return [rows, *phintys.grad(cost, [w, X])]


def network():
    """A product, an argument that changes nothing, and a loop in the loop."""

    def step(x, h):
        inner, _ = scan(lambda h: pt.tanh(w @ h + x), None, h, n_steps=2)
        return inner[-1] + y

    rows, _ = scan(step, X, u)
    return [rows, phintys.grad((rows**2).sum(), w)]


PROGRAMS = {
    f"{make.__name__} {number}": output
    for make in (nested, filtered, halved, mixed, softmax, markov, network)
    for number, output in enumerate(make())
}


def values_of(length):
    random = np.random.default_rng(length)
    return [
        random.normal(size=length),
        random.normal(size=length),
        random.normal(size=(6, length)),
        random.integers(0, 9, length),
        random.normal(size=length) * (1 - 2j),
        random.normal(size=(length, length)),
    ]


def test_values_for_each_length():
    inputs = [u, y, X, i, z, w]
    native, expected = (
        phintys.function(inputs, PROGRAMS, mode=mode) for mode in (None, "reference")
    )
    for length in (1, 2, 3, 4, 5, 7, 8, 9, 19):
        values = values_of(length)
        mine, theirs = native(*values), expected(*values)
        for name in PROGRAMS:
            message = f"{name}, length {length}"
            np.testing.assert_allclose(mine[name], theirs[name], rtol=1e-11, err_msg=message)


def loops_of(inputs, outputs):
    program = lower_program(FunctionGraph(inputs, outputs, clone=True))
    polynomials = Polynomials(program.sizes)
    return list(short_vectors_of(program.steps, polynomials, Target.named("x86-64-v4")).values())


def test_states_are_in_registers():
    (found,) = loops_of([X, u], [scan(lambda x, h: 0.9 * h + x, X, u)[0]])
    assert not found.is_certain
    assert found.lanes == 8
    (latest,) = [row for rows in found.latest.values() for row in rows]
    assert latest.array.ndim == 2


def test_products_may_be_in_such_a_loop():
    (found,) = loops_of([X, u, w], [scan(lambda x, h: pt.tanh(w @ h + x), X, u)[0]])
    assert not found.is_certain


def test_a_known_length_needs_one_version():
    v = pt.vector("v", shape=(5,))
    (found,) = loops_of([v], [scan(pt.sin, None, v, n_steps=4)[0]])
    assert found.is_certain


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        ([u, k], lambda: scan(lambda n: u[: n + 1].sum().astype("int64"), None, k, n_steps=3)[0]),
        ([X, u], lambda: scan(lambda h: X @ h, None, u, n_steps=3)[0]),
        ([u], lambda: scan(pt.cumsum, None, u, n_steps=3)[0]),
        ([u], lambda: scan(lambda h: h + pt.concatenate([h, h]).sum(), None, u, n_steps=3)[0]),
    ],
)
def test_other_loops(inputs, outputs):
    """Lengths that change from step to step, products, sums so far, vectors of other lengths."""
    assert not loops_of(inputs, [outputs()])


def test_a_length_that_turns_out_to_be_one_after_the_loop():
    """The kernels of the loop were made for any length."""
    one = pt.specify_shape(u, (1,))
    rows, _ = scan(lambda h: 0.5 * h + u, None, u, n_steps=3)
    assert not loops_of([u], [rows[-1], one])
    unchanged = phintys.Mode("native", phintys.passes.PIPELINES["none"])
    last, same = phintys.function([u], [rows[-1], one], mode=unchanged)([8.0])
    assert (last, same) == (15.0, 8.0)


def test_an_index_that_is_out_of_range():
    """The error names the first such index, and its place."""
    rows, _ = scan(lambda t, h: h + y[i + t], pt.arange(4), u)
    f = phintys.function([u, y, i], rows)
    assert f(np.zeros(3), np.arange(10.0), [0, 1, 2])[-1].tolist() == [6.0, 10.0, 14.0]
    with pytest.raises(IndexingError, match="index 5 is out of range for axis 0 of y"):
        f(np.zeros(3), np.arange(5.0), [0, 1, 2])
