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


@pytest.mark.parametrize("mode", ["native", "reference", "debug"])
@pytest.mark.parametrize("error", [Silent, Loud])
def test_errors_whose_add_note_does_not_work(error, mode):
    class Failing(Op):
        __props__ = ()

        def make_node(self, x):
            return Apply(self, [x], [x.type()])

        def perform(self, node, inputs, output_storage):
            raise error

    x = pt.dvector("x")
    with pytest.raises(error) as caught:
        phintys.function([x], Failing()(x), mode=mode)([1.0])
    assert "Failing" in "".join(caught.value.__notes__)
