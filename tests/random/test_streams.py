"""Streams: two draws never share numbers unless asked, in functions, loops and inner graphs."""

import pickle

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import random
from phintys._base.errors import ArgumentError, DtypeError
from phintys.control import (
    OpFromGraph,
    cond,
    filter,
    fori_loop,
    ifelse,
    loop,
    reduce,
    while_loop,
)
from phintys.gradient import checkpoint, custom_gradient


def numbers_of(expression, calls=2):
    """Return the numbers of some calls of a function of no inputs, flattened."""
    f = phintys.function([], expression)
    return np.concatenate([np.ravel(f()) for _ in range(calls)])


def assert_fresh(numbers):
    assert len(np.unique(numbers)) == len(numbers) > 1


# ---- what draws ----------------------------------------------------------------------------------


class Doubled(random.Distribution):
    """Twice a uniform number."""

    defaults = {"high": 1.0}

    def draw(self, rng, size=None):
        return rng.uniform(0.0, 2 * self.high, size)


def test_module_functions_methods_and_gen_draw_the_same():
    r = random.rng("r")
    after, of_method = r.normal(1.0, 2.0, (3,))
    later, of_function = pt.random.normal(1.0, 2.0, size=3, rng=r, return_next_rng=True, name="z")
    stream = random.RandomStream(3)
    draws = [
        stream.gen(random.Normal, 1.0, 2.0, 3),
        stream.gen("normal", 1.0, 2.0, size=(3,)),
        stream.gen(random.Normal(1.0, 2.0), size=3),
    ]
    f = phintys.function([r], [of_method, of_function, after, later, *draws])
    one, other, state, same, *rest = f(random.state(1))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(state, same)
    assert of_function.name == "z"
    assert all(draw.shape == (3,) for draw in rest)
    assert_fresh(np.concatenate([one, *rest]))
    generators = [generator for generator, _ in stream.updates()]
    expected = [generator.normal(1.0, 2.0, 3)[1] for generator in generators]
    stream.seed(3)
    for draw, again in zip(rest, phintys.function([], expected)(), strict=True):
        np.testing.assert_array_equal(draw, again)


def test_functions_without_a_generator_draw_anew():
    assert_fresh(numbers_of(random.uniform(size=3)))
    assert_fresh(numbers_of([random.uniform(), random.uniform()]))


@pytest.mark.parametrize(
    "namespace", [{"doubled": Doubled}, type("Mine", (), {"doubled": Doubled})]
)
def test_namespaces_give_streams_further_distributions(namespace):
    draws = random.RandomStream(1, namespace=namespace).doubled(4.0, size=40).eval()
    assert 6 < draws.max() < 8
    with pytest.raises(AttributeError, match="no attribute 'tripled'"):
        _ = random.RandomStream(1, namespace=namespace).tripled


def test_classes_that_are_no_distributions_are_no_methods():
    stream = random.RandomStream(1, namespace=np)
    assert not hasattr(stream, "ndarray")
    with pytest.raises(AttributeError, match="no attribute 'float64'"):
        _ = stream.float64


def test_distributions_of_users_become_methods_everywhere():
    class Halved(Doubled, method="halved"):
        def draw(self, rng, size=None):
            return rng.uniform(0.0, self.high / 2, size)

    try:
        assert 0 <= random.halved(0.1).eval() < 0.05
        assert 0 <= random.RandomStream(1).halved(0.1).eval() < 0.05
        assert 0 <= random.shared_rng(1).halved(0.1)[1].eval() < 0.05
    finally:
        del random.distributions.DISTRIBUTIONS["halved"]
        del random.GeneratorVariable.halved, random.RandomStream.halved


def test_dtypes():
    stream = random.RandomStream(4)
    assert stream.normal(0.0, 1.0, size=2, dtype="float32").dtype == "float32"
    assert stream.normal(np.float32(0), dtype="float64").dtype == "float64"
    assert stream.bernoulli(0.5, size=2, dtype="int8").dtype == "int8"
    assert stream.bernoulli(0.5, size=2, dtype="float32").dtype == "float32"
    with pytest.raises(DtypeError, match=r"Normal are floats.*int32.*round\(\)"):
        stream.normal(dtype="int32")


def test_sizes_may_be_symbolic():
    x, stream = pt.dmatrix("x"), random.RandomStream(5)
    draws = [stream.uniform(size=size) for size in (x.shape, (x.shape[0], 1), x.shape[1], ())]
    shapes = [value.shape for value in phintys.function([x], draws)(np.ones((2, 3)))]
    assert shapes == [(2, 3), (2, 1), (3,), ()]


# ---- functions -----------------------------------------------------------------------------------


def test_functions_that_share_a_stream_go_on_where_the_other_stopped():
    stream = random.RandomStream(6)
    draw = stream.uniform(size=2)
    f, g = phintys.function([], draw), phintys.function([], draw * 2)
    twin = f.copy()
    apart = pickle.loads(pickle.dumps(f))
    first = f()
    np.testing.assert_array_equal(apart(), first)
    assert_fresh(np.concatenate([first, g() / 2, twin(), f()]))


def test_default_updates_can_be_switched_off_one_by_one():
    stream = random.RandomStream(7)
    still, moving = stream.uniform(), stream.uniform()
    f = phintys.function([], [still, moving], no_default_updates=[stream.updates()[0][0]])
    first, second = f(), f()
    assert first[0] == second[0]
    assert first[1] != second[1]
    state = stream.updates()[0][0]
    given = phintys.function([], still, givens={state: random.shared_rng(1)})
    assert given() == given() != first[0]


def test_copies_of_a_draw_with_other_parameters_have_its_numbers():
    stream, x, y = random.RandomStream(8), pt.dvector("x"), pt.dvector("y")
    draw = stream.normal(x)
    f = phintys.function([x, y], [draw, phintys.clone_replace(draw, {x: y})])
    one, other = f([0.0, 0.0], [1.0, 1.0])
    np.testing.assert_allclose(other, one + 1)
    one, other = f([0.0, 0.0], [1.0, 1.0, 1.0])
    np.testing.assert_allclose(other[:2], one + 1)


def test_numbers_do_not_depend_on_what_else_is_computed():
    def build(more):
        stream = random.RandomStream(9)
        x = stream.normal(0.0, 1.0, size=100)
        y = stream.normal(0.0, 1.0, size=100)
        return [x, y, (x * y).sum(), (x + x).sum(), pt.sort(y)[0]] if more else [x, y]

    few, many = phintys.function([], build(more=False)), phintys.function([], build(more=True))
    alone = phintys.function([], build(more=False)[1])
    for _ in range(2):
        x, y = few()
        np.testing.assert_array_equal(many()[:2], [x, y])
        np.testing.assert_array_equal(alone(), y)


# ---- loops and inner graphs ----------------------------------------------------------------------

STREAM = random.RandomStream(10)
U = STREAM.uniform
ONES = pt.ones(4)


def _given_as_default():
    generator = random.shared_rng(11)

    def step():
        generator.default_update, draw = generator.uniform()
        return draw

    return phintys.scan(step, n_steps=3, return_updates=False)


def _nested():
    return phintys.scan(
        lambda: phintys.scan(U, n_steps=2, return_updates=False),
        n_steps=3,
        return_updates=False,
    )


LOOPS = {
    "scan": lambda: phintys.scan(U, n_steps=3, return_updates=False),
    "scan whose updates are not passed": lambda: phintys.scan(lambda: U(size=2), n_steps=3)[0],
    "nested": _nested,
    "a default update of an outer generator": _given_as_default,
    "loop": lambda: loop(lambda c, _: (c + 1, U()), 0, length=3)[1],
    "rows of fori_loop": lambda: fori_loop(
        0, 3, lambda i, rows: pt.set_subtensor(rows[i], U()), pt.zeros(3)
    ),
    "reduce": lambda: reduce(lambda x, total: total + x * U(), ONES, 0.0, return_updates=False),
}


def test_steps_of_loops_draw_anew():
    outputs = [build() for build in LOOPS.values()]
    f = phintys.function([], outputs)
    for name, first, second in zip(LOOPS, f(), f(), strict=True):
        assert len(np.unique([first, second])) == 2 * first.size, name
    g = phintys.function([], outputs, no_default_updates=True)
    for first, second in zip(g(), g(), strict=True):
        np.testing.assert_array_equal(first, second)


def test_conditions_and_masks_draw_anew():
    waiting = while_loop(lambda _: U() < 0.7, lambda count: count + 1, 0)
    kept = filter(lambda _: U() < 0.5, pt.arange(40))
    f = phintys.function([], [waiting, kept])
    counts, rows = zip(*(f() for _ in range(6)), strict=True)
    assert len(set(map(int, counts))) > 1
    assert 10 < len(rows[0]) < 30
    assert list(rows[0]) != list(rows[1])


def test_a_draw_made_outside_of_a_loop_is_one_draw():
    draw = U()
    rows = phintys.scan(lambda x: x * draw, ONES, return_updates=False)
    numbers = numbers_of(rows)
    assert len(set(numbers[:4])) == len(set(numbers[4:])) == 1
    assert numbers[0] != numbers[4]


def test_updates_that_a_step_returns_are_not_dropped():
    count = phintys.shared(0, name="count")
    with pytest.raises(ArgumentError, match=r"updates count.*return_updates=False.*lost"):
        phintys.scan(lambda: {count: count + 1}, n_steps=2, return_updates=False)


def test_branches():
    c, x = pt.bscalar("c"), pt.dvector("x")
    chosen = cond(c, lambda y: y * U(size=y.shape), lambda y: y, x)
    f = phintys.function([c, x], [chosen, ifelse(c, x * U(size=x.shape), -x)])
    yes, no, again = (f(flag, [1.0, 1.0, 1.0]) for flag in (1, 0, 1))
    np.testing.assert_array_equal(no[0], 1)
    assert_fresh(np.concatenate([*yes, *again]))


def test_inner_graphs():
    x, y = pt.dvectors("x", "y")
    stream = random.RandomStream(12)
    noise = OpFromGraph([x], [stream.uniform(size=x.shape) * x], name="noise")
    kept = checkpoint(lambda z: z * stream.uniform(size=z.shape))
    clipped = custom_gradient(lambda z: (z * stream.uniform(size=z.shape), lambda g: g))
    f = phintys.function([y], [noise(y), kept(y), clipped(y)])
    first, second = f([1.0, 1.0]), f([1.0, 1.0, 1.0])
    assert_fresh(np.concatenate([*first, *second]))
    with pytest.raises(ArgumentError, match="noise is applied to several inputs"):
        noise(x)


def test_gradients_go_through_loops_with_draws():
    x, stream = pt.dscalar("x"), random.RandomStream(13)
    products = phintys.scan(
        lambda t: t * stream.normal(x, 0.1), outputs_info=1.0, n_steps=5, return_updates=False
    )
    value = products[-1]
    slope, draws = phintys.grad(value, x), products / pt.concatenate([[1.0], products[:-1]])
    f = phintys.function([x], [value, slope, draws])
    for _ in range(2):
        value, slope, draws = f(1.0)
        np.testing.assert_allclose(slope, (value / draws).sum())


@pytest.mark.parametrize("checkpoint", [1, 2, False])
def test_checkpoints_of_loops_keep_the_states_of_generators(checkpoint):
    x, stream = pt.dscalar("x"), random.RandomStream(13)
    products = phintys.scan(
        lambda t: t * stream.normal(x, 0.1),
        outputs_info=1.0,
        n_steps=5,
        return_updates=False,
        checkpoint=checkpoint,
    )
    draws = products / pt.concatenate([[1.0], products[:-1]])
    f = phintys.function([x], [products[-1], phintys.grad(products[-1], x), draws])
    for _ in range(2):
        value, slope, draws = f(1.0)
        np.testing.assert_allclose(slope, (value / draws).sum())


@pytest.mark.parametrize("name", ["normal", "integers", "permutation", "choice"])
def test_draws_have_names(name):
    arguments = {"normal": (0.0, 1.0), "integers": (0, 4), "permutation": (4,), "choice": (4,)}
    given = arguments[name]
    assert getattr(random.RandomStream(1), name)(*given, name="draw").name == "draw"
    assert random.RandomStream(1).gen(name, *given, name="draw").name == "draw"
    for generator in (random.rng(), phintys.shared(np.random.default_rng(1))):
        assert getattr(generator, name)(*given, name="draw")[1].name == "draw"


def test_legacy_generators_are_refused():
    with pytest.raises(ArgumentError, match=r"numpy\.random\.default_rng"):
        random.RandomStream(1, rng_ctor=np.random.RandomState)


def test_generators_advance_where_a_function_of_items_draws():
    """Their next states depend on the items: on their shapes, or on the loops that they start."""
    stream = random.RandomStream(6)

    def walk(start):
        states, _ = phintys.scan(lambda x: x + stream.normal(), outputs_info=start, n_steps=3)
        return states

    def noisy(row):
        return row + stream.normal(size=row.shape)

    starts, rows = pt.dvector("starts"), pt.dmatrix("rows")
    walks = phintys.function([starts], pt.vectorize(walk, "()->(t)")(starts))
    first, second = walks([0.0, 1.0]), walks([0.0, 1.0])
    np.testing.assert_allclose(first[1], first[0] + 1)
    assert not np.isin(first, second).any()

    noise = phintys.function([rows], pt.vectorize(noisy, "(n)->(n)")(rows))
    assert len(np.unique([noise(np.zeros((2, 3))), noise(np.zeros((2, 3)))])) == 6
