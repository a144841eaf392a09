"""Variables and constants."""

import copy
import math

import pytest

from phintys._base.errors import MissingInputError
from phintys.graph import Constant, SharedVariable, Type, Variable, generic
from phintys.graph.variable import require_owner


def test_a_leaf(toys):
    x = toys.number("x")
    assert (x.type, x.owner, x.index, x.name) == (toys.number, None, None, "x")
    assert str(x) == repr(x) == "x"
    assert str(toys.number()) == "<number>"
    assert x.get_parents() == []


def test_a_computed_variable(toys):
    x = toys.number("x")
    y = toys.Named("f")(x)
    assert str(y) == "f.0"
    assert y.get_parents() == [y.owner]
    assert require_owner(y) is y.owner
    with pytest.raises(MissingInputError, match=r"x .*is a leaf"):
        require_owner(x)


def test_variables_are_equal_only_if_identical(toys):
    assert toys.number("x") != toys.number("x")
    assert len({toys.number("x"), toys.number("x")}) == 2


def test_clone_is_a_leaf_of_the_same_class_and_state(toys):
    class Special(Variable):
        def __init__(self, type, extra):
            super().__init__(type, name="special")
            self.extra = extra

    special = Special(toys.number, [1])
    special.tag.note = 1
    twin = special.clone()
    assert (type(twin), twin.extra, twin.name, twin.type) == (
        Special,
        [1],
        "special",
        toys.number,
    )
    twin.tag.note = 2
    assert special.tag.note == 1
    assert special.clone(name="other").name == "other"

    y = toys.Named("f")(toys.number("x"), name="y")
    twin = y.clone()
    assert (twin.owner, twin.index, twin.name) == (None, None, "y")


def test_shallow_copies_are_of_leaves_only(toys):
    x = toys.number("x")
    assert copy.copy(x) is not x
    assert copy.copy(x).type is x.type
    assert copy.copy(toys.number.make_constant(3)).data == 3
    with pytest.raises(TypeError, match="clone_replace"):
        copy.copy(toys.Named("f")(x))


def test_constants_filter_their_value():
    class Even(Type):
        def filter(self, value, strict=False, allow_downcast=None):
            if value % 2:
                raise TypeError("odd")
            return float(value)

    constant = Constant(Even(), 2, name="two")
    assert (constant.data, constant.value, constant.name) == (2.0, 2.0, "two")
    assert type(constant.data) is float
    with pytest.raises(TypeError, match="odd"):
        Constant(Even(), 3)


def test_constants_print_their_value(toys):
    assert str(Constant(toys.number, 2)) == "Constant{2}"
    assert str(Constant(toys.number, 2, "two")) == "two"
    assert str(Constant(toys.number, list(range(100)))) == (
        "Constant{[0, 1, 2, 3, 4, 5, 6 ... 7, 98, 99]}"
    )
    assert str(Constant(generic, "a\nb")) == "Constant{a b}"


def test_clones_of_constants(toys):
    data = [1, 2]
    constant = Constant(toys.number, data, "c")
    constant.tag.note = 1
    twin = constant.clone()
    assert twin is not constant
    assert twin.data is data
    assert twin.equals(constant)
    assert twin.tag.note == 1
    assert twin.name == "c"
    assert constant.clone("d").name == "d"
    assert constant.name == "c"


class Blank:
    def __repr__(self):
        return "Blank"


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (1, 1, True),
        (1, 2, False),
        (1, True, False),
        (1, 1.0, False),
        (0.0, -0.0, False),
        (math.nan, float("nan"), True),
        (complex(0, math.nan), complex(0, math.nan), True),
        ("a", "a", True),
        ((1, 2), (1, 2), True),
        ((0.0,), (-0.0,), False),
        ([1], [1], False),  # not hashable: told apart by identity
        (Blank(), Blank(), False),  # printed alike, yet not equal
    ],
)
def test_signatures_of_constants(toys, a, b, same):
    left, right = Constant(toys.number, a), Constant(toys.number, b)
    assert left.equals(left)
    assert left.equals(right) is same
    assert (left.signature() == right.signature()) is same
    assert not left.equals(Constant(toys.other_number, a))
    assert not left.equals(toys.number("x"))
    hash(left.signature())


def test_a_shared_variable_is_a_variable(toys):
    shared = SharedVariable(toys.number, 1)
    assert isinstance(shared, Variable)
    assert str(shared) == "<shared number>"


def test_variables_with_an_index_are_not_iterated_without_an_end():
    class Indexed(Variable):
        def __getitem__(self, index):
            return index

    x = Indexed(Type())
    for use in (iter, list, lambda x: 3 in x, max):
        with pytest.raises(TypeError, match="not iterable"):
            use(x)
