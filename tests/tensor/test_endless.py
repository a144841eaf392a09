"""Lists that contain themselves are refused; errors of any class are noted."""

import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import TypeContractError
from phintys.graph import Apply, Op


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
