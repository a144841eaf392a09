"""Lists that contain themselves are refused; errors of any class are noted."""

import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, IndexingError, ShapeError, TypeContractError
from phintys.graph import Apply, Op
from phintys.tensor.introspection import known_number


def endless(first):
    found = [first]
    found.append(found)
    return found


@pytest.mark.parametrize(
    "function",
    [
        pt.as_tensor_variable,
        pt.constant,
        phintys.shared,
        pt.stack,
        pt.concatenate,
        pt.block,
        lambda x: pt.dvector("v") + x,
    ],
)
@pytest.mark.parametrize("first", [1.0, pt.dscalar("x")])
def test_a_list_that_contains_itself(function, first):
    with pytest.raises(TypeContractError):
        function(endless(first))


def deep(leaf, wrap=lambda inner: [inner]):
    for _ in range(5_000):
        leaf = wrap(leaf)
    return leaf


x = pt.dscalar("x")
FUNCTIONS_OF_NESTS = {
    "tensor of variables": lambda: pt.as_tensor_variable(deep(x)),
    "tensor of numbers": lambda: pt.as_tensor_variable(deep(1.0)),
    "shared": lambda: phintys.shared(deep(1.0)),
    "stack": lambda: pt.stack(deep(x)),
    "block": lambda: pt.block(deep(x)),
    "operator": lambda: pt.dvector("v") + deep(1.0),
    "index": lambda: pt.dvector("v")[deep(0)],
    "outputs": lambda: phintys.function([x], deep(x)),
    "outputs in dicts": lambda: phintys.function([x], deep(x, lambda inner: {"a": inner})),
    "inputs": lambda: phintys.function(deep(x), x),
    "inputs in dicts": lambda: phintys.function([deep(x, lambda inner: {"a": inner})], x),
    "argument": lambda: phintys.function([x], x, mode="reference")(deep(1.0)),
    "gradient": lambda: phintys.grad(x**2, deep(x)),
    "leaves": lambda: phintys.tree.leaves(deep(x)),
    "map": lambda: phintys.tree.map(lambda leaf: leaf, deep(x, lambda inner: (inner,))),
    "flatten": lambda: phintys.tree.flatten(deep(1.0)),
    "replacement": lambda: phintys.clone_replace(x, {x: deep(1.0)}),
    "steps": lambda: phintys.scan(lambda row: row, sequences=deep(pt.dvector("v"))),
}


@pytest.mark.parametrize("name", FUNCTIONS_OF_NESTS)
def test_what_is_nested_too_deeply_is_an_error_that_says_so(name):
    with pytest.raises((ArgumentError, TypeContractError, IndexingError, ShapeError)):
        FUNCTIONS_OF_NESTS[name]()


def test_a_container_that_contains_itself():
    around = {}
    around["self"] = around
    with pytest.raises(ArgumentError, match="contains itself"):
        phintys.tree.leaves(around)


def test_long_chains_of_powers_and_of_repeated_numbers_are_looked_through():
    power, number = x, pt.constant(2.0)
    for _ in range(1_000):
        power = pt.sqrt(power)
    for _ in range(600):
        number = pt.second(x, pt.second(x, number))
    assert phintys.grad(power, x).type == x.type
    assert known_number(number) == 2.0


def test_a_list_that_occurs_twice_is_fine():
    row = [pt.dscalar("x"), 1.0]
    assert pt.as_tensor_variable([row, row]).ndim == 2


class Silent(Exception):
    add_note = None


class Loud(Exception):
    def add_note(self, text):
        raise RuntimeError


class Failing(Op):
    """Raise an error, either at once or in the gradient."""

    __props__ = ("error", "at_once")

    def __init__(self, error, at_once=True):
        self.error, self.at_once = error, at_once

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        if self.at_once:
            raise self.error
        output_storage[0][0] = inputs[0].copy()

    def grad(self, inputs, output_grads):
        return [Failing(self.error)(output_grads[0])]


def at_once(error, x):
    return Failing(error)(x)


def steps(error, x):
    return phintys.scan(Failing(error), [x[:, None]])


def rows(error, x):
    return phintys.gradient.jacobian(Failing(error, at_once=False)(x), x, vectorize=False)


def notes(build, error, mode):
    x = pt.dvector("x")
    graph = build(error, x)
    with pytest.raises(error) as caught:
        phintys.function([x], graph, mode=mode)([1.0])
    return caught.value.__notes__


@pytest.mark.parametrize("mode", ["native", "reference", "debug"])
@pytest.mark.parametrize("error", [Silent, Loud])
@pytest.mark.parametrize("build", [at_once, steps, rows])
def test_errors_whose_add_note_does_not_work(build, error, mode):
    assert notes(build, error, mode)[0].startswith("While computing Failing")


@pytest.mark.parametrize("mode", ["native", "reference", "debug"])
@pytest.mark.parametrize("error", [Silent, Loud])
@pytest.mark.parametrize(("build", "note"), [(steps, "In step 0 of"), (rows, "In row 0 of")])
def test_the_steps_of_errors_whose_add_note_does_not_work(build, note, error, mode):
    assert notes(build, error, mode)[1].startswith(note)
