"""Results that turn out to lie in memory that is not theirs: decided by the memory, not the Op."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import phintys
import phintys.tensor as pt
from phintys.compile import In, Mode, function
from phintys.graph.alias_map import root_of
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.passes import PIPELINES
from tools.fuzz import memory_ops, undeclared, user_ops

MODES = {
    "native": Mode("native", PIPELINES["none"]),
    "native, rewritten": Mode("native"),
    "reference": Mode("reference", PIPELINES["none"]),
    "reference, rewritten": Mode("reference"),
}
IDENTITIES = {
    "alloc": lambda x, n, one: pt.flatten(pt.alloc(x, 1, n)),
    "alloc of a dimension": lambda x, n, one: pt.alloc(x, one, n)[0],
    "alloc of the same shape": lambda x, n, one: pt.alloc(x, n),
    "alloc of everything": lambda x, n, one: pt.alloc(x, one, n).reshape((n,)),
    "broadcast_to": lambda x, n, one: pt.broadcast_to(x, (n,)),
    "broadcast_to, flat": lambda x, n, one: pt.broadcast_to(x, (one, n)).reshape((n,)),
    "repeat": lambda x, n, one: pt.repeat(x, one),
    "repeat once": lambda x, n, one: pt.repeat(x, 1),
    "tile": lambda x, n, one: pt.tile(x, one),
    "tile once": lambda x, n, one: pt.tile(x, 1),
    "roll": lambda x, n, one: pt.roll(x, n),
    "concatenate": lambda x, n, one: pt.concatenate([x, x[:0]]),
    "join of one": lambda x, n, one: pt.concatenate([x]),
    "reshape": lambda x, n, one: x.reshape((one, n)).reshape((n,)),
    "flatten": lambda x, n, one: x.flatten(),
    "squeeze": lambda x, n, one: pt.squeeze(pt.shape_padleft(x)),
    "slice": lambda x, n, one: x[:n],
    "slice with a step": lambda x, n, one: x[::one],
    "cast": lambda x, n, one: pt.cast(x, "float64"),
    "sum over nothing": lambda x, n, one: x.sum(axis=()),
    "fill": lambda x, n, one: pt.fill(pt.zeros((n,)), x),
    "split": lambda x, n, one: pt.split(x, [0, n], 2)[1],
    "view of a user's Op": lambda x, n, one: user_ops.view(pt.alloc(x, one, n)[0]),
    "an undeclared input": lambda x, n, one: undeclared.returned(x),
    "an undeclared view": lambda x, n, one: undeclared.turned(undeclared.turned(x)),
    "one of two inputs": lambda x, n, one: undeclared.larger(x, x - 1000),
    "the wrong input": lambda x, n, one: undeclared.returned_and_new(x + 1, x)[1],
}
"""Programs that return their input x, of length n, if ``one`` is 1."""

VALUE = np.array([3.0, 1.0, 2.0, 5.0, 4.0])
SIZES = (np.array(5), np.array(1))


@pytest.fixture(params=MODES, ids=str)
def mode(request):
    return MODES[request.param]


def compiled(inputs, build, mode, **options):
    """Return a function of inputs, the length and 1, with an output for each identity."""
    n, one = pt.lscalar("n"), pt.lscalar("one")
    outputs = [out for make in IDENTITIES.values() for out in build(lambda x: make(x, n, one))]  # noqa: B023
    return function([*inputs, n, one], outputs, mode=mode, on_unused_input="ignore", **options)


def check_apart(results, others, expected):
    """Check that results, and they and others, share no memory, by writing to them, too."""
    kept = [np.array(other) for other in others]
    names = [name for name in IDENTITIES for _ in range(len(results) // len(IDENTITIES))]
    for number, (name, result) in enumerate(zip(names, results, strict=True)):
        np.testing.assert_array_equal(result, expected, name)
        for other in (*others, *results[:number]):
            assert not np.shares_memory(result, other), name
        result[...] = -number  # before the others are looked at
    for other, value in zip(others, kept, strict=True):
        np.testing.assert_array_equal(other, value)


def test_results_share_nothing_with_an_argument_and_with_one_another(mode):
    x = pt.dvector("x")
    f = compiled([x], lambda same: [same(x)], mode)
    value = VALUE.copy()
    first = f(value, *SIZES)
    check_apart(first, [value], VALUE)
    check_apart(f(value, *SIZES), [value, *first], VALUE)


def test_an_argument_that_is_lent_is_not_lent_to_what_is_new(mode):
    x = pt.dvector("x")
    f = compiled([In(x, borrow=True)], lambda same: [same(x)], mode)
    check_apart(f(value := VALUE.copy(), *SIZES), [value], VALUE)


@pytest.mark.parametrize("make", [lambda value: phintys.shared(value, borrow=True), pt.constant])
def test_results_share_nothing_with_shared_values_and_constants(mode, make):
    value = VALUE.copy()
    x = make(value)
    f = compiled([], lambda same: [same(x)], mode)
    first = f(*SIZES)
    check_apart(first, [value], VALUE)
    check_apart(f(*SIZES), [value, *first], VALUE)


def test_results_share_nothing_with_what_they_are_computed_from(mode):
    x = pt.dvector("x")
    y = x + 1
    f = compiled([x], lambda same: [y, same(y), same(same(y))], mode)
    check_apart(f(VALUE, *SIZES), [], VALUE + 1)


def test_new_values_of_shared_variables_are_apart(mode):
    s = phintys.shared(VALUE.copy())
    n, one = pt.lscalar("n"), pt.lscalar("one")
    new = {phintys.shared(np.zeros(5)): make(s, n, one) for make in IDENTITIES.values()}
    f = function([n, one], list(new.values()), updates=new, mode=mode, on_unused_input="ignore")
    results = f(*SIZES)
    values = [t.get_value(borrow=True) for t in (s, *new)]
    check_apart(values[1:], [*results, values[0]], VALUE)


def test_what_is_new_by_contract_may_be_overwritten(mode):
    x = pt.dvector("x")

    def dipped(same):
        y = same(x)
        return [y - 1 if x in root_of(y) else memory_ops.dipped(y)]  # nothing twice

    f = compiled([x], dipped, mode, accept_inplace=True)
    value = VALUE.copy()
    check_apart(f(value, *SIZES), [value], VALUE - 1)
    np.testing.assert_array_equal(value, VALUE)


def test_what_was_overwritten_is_not_read_by_what_lies_there(mode):
    """Of two values in one memory one is overwritten, and the other read afterwards."""
    x, one = pt.dvector("x"), pt.lscalar("one")
    y = pt.sort(x)
    seen = pt.tile(y, one)
    f = function(
        [x, one],
        [memory_ops.dipped(y), seen + 0, seen],
        mode=mode,
        accept_inplace=True,
        on_unused_input="ignore",
    )
    changed, *same = f(VALUE, SIZES[1])
    np.testing.assert_array_equal(changed, np.sort(VALUE) - 1)
    for result in same:
        np.testing.assert_array_equal(result, np.sort(VALUE))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", IDENTITIES)
def test_an_argument_that_is_read_no_more_is_not_lent_to_what_is_overwritten(mode, name):
    x, n, one = pt.dvector("x"), pt.lscalar("n"), pt.lscalar("one")
    y = IDENTITIES[name](x, n, one)
    if x in root_of(y):
        pytest.skip("a view by contract, which accept_inplace permits to overwrite")
    written = pt.set_subtensor(y[:0], 1.0)  # the last to read x, by its new name
    out = memory_ops.merged(written, y)
    f = function([x, n, one], out, mode=mode, accept_inplace=True, on_unused_input="ignore")
    value = VALUE.copy()
    np.testing.assert_array_equal(f(value, *SIZES), 2 * VALUE)
    np.testing.assert_array_equal(value, VALUE)


def test_a_value_of_another_type_beside_them(mode):
    """The Op has a generator among its inputs, and returns an array and a view undeclared."""

    class Returned(Op):
        __props__ = ()

        def make_node(self, x, rng):
            return Apply(self, [x, rng], [x.type(), x.type(), rng.type()])

        def perform(self, node, inputs, output_storage):
            x, rng = inputs
            for cell, value in zip(output_storage, (x, x[::-1], rng), strict=True):
                cell[0] = value

    x, rng = pt.dvector("x"), phintys.random.shared_rng(1)
    same, turned, _ = Returned()(x, rng)
    value = VALUE.copy()
    first, second, third = function([x], [same, turned, turned], mode=mode)(value)
    first[:] = second[:] = 0.0
    np.testing.assert_array_equal(value, VALUE)
    np.testing.assert_array_equal(third, VALUE[::-1])


def test_one_array_for_two_outputs_becomes_two(mode):
    x = pt.dvector("x")
    first, second = function([x], undeclared.made_twice(x), mode=mode)(VALUE)
    first[:] = 0.0
    np.testing.assert_array_equal(second, VALUE + 1)


def test_a_temporary_that_an_op_hands_back_outlives_the_call(mode):
    x = pt.dvector("x")
    f = function([x], undeclared.returned(pt.exp(x) + 1), mode=mode)
    results = [f(np.full(1000, float(number))) for number in range(3)]
    for number, result in enumerate(results):
        np.testing.assert_allclose(result, np.exp(number) + 1)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (1,), ()])
def test_views_without_elements_or_with_one(mode, shape):
    x = pt.tensor(dtype="float64", shape=(None,) * len(shape), name="x")
    f = function([x], [undeclared.returned(x), x.flatten(), pt.alloc(x, 1, *x.shape)[0]], mode=mode)
    value = np.ones(shape)
    for result in f(value):
        result[...] = 5.0
    np.testing.assert_array_equal(value, np.ones(shape))


class Owners(Op):
    """Return the array that owns the memory of the input, and what is made from it."""

    __props__ = ("count",)

    def __init__(self, count):
        self.count = count

    def make_node(self, x):
        return Apply(self, [x], [x.type() for _ in range(self.count)])

    def perform(self, node, inputs, output_storage):
        (owner,) = inputs
        while owner.base is not None:
            owner = owner.base
        for number, cell in enumerate(output_storage):
            cell[0] = owner + number if number else owner


@pytest.mark.parametrize("count", [1, 2])
def test_the_owner_of_a_view_whose_base_is_not_an_array(mode, count):
    owner = VALUE.copy()
    x = pt.dvector("x")
    f = function([x], Owners(count)(x, return_list=True), mode=mode)
    view = as_strided(owner, (3,))
    assert not isinstance(view.base, np.ndarray)
    first, *others = f(view)
    assert not np.shares_memory(first, owner)
    assert not any(np.shares_memory(first, other) for other in others)
    np.testing.assert_array_equal(first, VALUE)
