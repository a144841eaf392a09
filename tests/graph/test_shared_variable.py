"""Shared variables and their containers."""

import copy
import pickle

import pytest

from phintys._base.errors import TypeContractError
from phintys.graph import SharedVariable, Type, Variable, generic, shared
from phintys.graph.shared_variable import Container
from phintys.graph.sharing import shared_constructor


class Thing:
    pass


def test_any_object_can_be_shared():
    thing = Thing()
    variable = shared(thing, name="thing")
    assert isinstance(variable, SharedVariable)
    assert variable.type == generic
    assert variable.name == "thing"
    assert variable.get_value() is not thing


def test_options_that_nobody_knows_are_refused():
    with pytest.raises(TypeContractError, match="'colour'"):
        shared(Thing(), colour="red")


def test_symbolic_values_are_refused(toys):
    with pytest.raises(TypeContractError, match=r"shared\(x\.eval\(\)\)"):
        shared(toys.number("x"))


def test_constructors_are_chosen_by_type():
    class Own:
        pass

    @shared_constructor.register
    def _(value: Own, name=None, strict=False, allow_downcast=None, size=1):
        return SharedVariable(generic, (value, size), name=name)

    own = Own()
    assert shared(own, "own", size=3).get_value(borrow=True) == (own, 3)
    with pytest.raises(TypeError) as caught:
        shared(own, wrong=1)
    assert "While making a shared variable from a Own." in caught.value.__notes__


def test_borrowing():
    inside = [1, 2]
    variable = SharedVariable(generic, inside)
    variable.set_value(inside)
    inside.append(3)
    assert variable.get_value() == [1, 2]
    variable.set_value(inside, borrow=True)
    assert variable.get_value(borrow=True) is inside
    variable.get_value().append(4)
    assert inside == [1, 2, 3]


def test_a_value_that_does_not_fit_changes_nothing():
    class Even(Type):
        def filter(self, value, strict=False, allow_downcast=None):
            if value % 2:
                raise TypeError("odd")
            return value

    variable = SharedVariable(Even(), 2, name="even")
    with pytest.raises(TypeError, match="odd") as caught:
        variable.set_value(3)
    assert caught.value.__notes__ == ["While setting the value of even."]
    assert variable.get_value() == 2
    with pytest.raises(TypeError):
        SharedVariable(Even(), 3)


class Length(Type):
    """Numbers that can be added."""

    __props__ = ()

    def filter(self, value, strict=False, allow_downcast=None):
        if not isinstance(value, int):
            raise TypeError(f"expected an int, got {value!r}")
        return value


class LengthVariable(Variable):
    def __add__(self, other):
        return ("added", self, other)


Length.variable_type = LengthVariable
length = Length()


def test_shared_variables_have_the_operators_of_their_type():
    x = shared(3, name="x", type=length)
    assert isinstance(x, SharedVariable)
    assert isinstance(x, LengthVariable)
    assert x.type == length
    assert x + 1 == ("added", x, 1)
    assert x.get_value() == 3
    x.set_value(5)
    assert x.clone().get_value() == 5
    with pytest.raises(TypeError, match="expected an int"):
        x.set_value("a")
    assert type(length.make_shared(1)) is type(x)


def test_they_can_be_copied_and_pickled():
    x = shared(3, name="x", type=length)
    for twin in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(twin) is type(x)
        assert (twin.name, twin.get_value()) == ("x", 3)
        twin.set_value(4)
        assert x.get_value() == 3


def test_a_type_may_have_its_own_class_of_shared_variables():
    class Tape(LengthVariable, SharedVariable):
        def __init__(self, type, value, strict=False, allow_downcast=None, name=None):
            SharedVariable.__init__(self, type, value, strict, allow_downcast, name=name)
            self.extra = 1

    class OwnLength(Length):
        shared_type = Tape

    class WrongLength(Length):
        shared_type = LengthVariable

    assert shared(3, type=OwnLength()).extra == 1
    with pytest.raises(TypeContractError, match="subclass of SharedVariable"):
        shared(3, type=WrongLength())


def test_variables_with_an_init_of_their_own_need_a_class_for_shared_ones():
    class Special(Variable):
        def __init__(self, type, owner=None, index=None, name=None):
            super().__init__(type, owner, index, name)
            self.extra = 1

    class SpecialLength(Length):
        variable_type = Special

    with pytest.raises(TypeContractError, match=r"class SharedSpecial\(Special, SharedVariable\)"):
        shared(3, type=SpecialLength())


def test_a_first_value_is_copied_unless_borrowed():
    anything = generic
    inside = [1]
    assert anything.make_shared(inside).get_value(borrow=True) is not inside
    assert anything.make_shared(inside, borrow=True).get_value(borrow=True) is inside
    assert type(anything.make_shared(1)) is SharedVariable


def test_strict_and_allow_downcast_are_passed_on():
    seen = []

    class Spy(Type):
        def filter(self, value, strict=False, allow_downcast=None):
            seen.append((value, strict, allow_downcast))
            return value

    SharedVariable(Spy(), 1, strict=True, allow_downcast=False)
    assert seen == [(1, True, False)]


def test_filter_inplace_is_used_where_there_is_one():
    class Buffer(Type):
        def filter(self, value, strict=False, allow_downcast=None):
            return list(value)

        def filter_inplace(self, value, storage, strict=False, allow_downcast=None):
            if storage is None:
                return self.filter(value)
            storage[:] = value
            return storage

    variable = SharedVariable(Buffer(), [1, 2])
    before = variable.get_value(borrow=True)
    variable.set_value([3, 4, 5])
    assert variable.get_value(borrow=True) is before
    assert before == [3, 4, 5]


def test_a_container_can_be_shared_by_several_variables(toys):
    first = SharedVariable(toys.number, 1, name="first")
    second = SharedVariable(toys.number, container=first.container, name="second")
    second.set_value(2)
    assert first.get_value() == 2
    with pytest.raises(TypeContractError, match="not both"):
        SharedVariable(toys.number, 1, container=first.container)


def test_clones_share_the_container_and_keep_what_a_subclass_knows(toys):
    class Special(SharedVariable):
        def __init__(self, value, extra):
            super().__init__(toys.number, value, name="special")
            self.extra = extra

    special = Special(1, extra="extra")
    special.default_update = toys.Named("next")(special)
    special.tag.note = 1
    twin = special.clone()
    assert type(twin) is Special
    assert twin.extra == "extra"
    assert twin.default_update is special.default_update
    twin.set_value(5)
    assert special.get_value() == 5
    twin.tag.note = 2
    assert special.tag.note == 1
    assert special.clone("other").name == "other"


def test_a_container_deep_copied_keeps_its_type():
    unnamed = Type()
    unnamed.filter = lambda value, strict=False, allow_downcast=None: value
    container = Container(unnamed, [[1]], name="c")
    twin = copy.deepcopy(container)
    assert twin.type is unnamed
    assert twin.value == [1]
    assert twin.value is not container.value
