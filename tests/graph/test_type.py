"""The contract of Types, for subclasses and for plain instances."""

import copy

import pytest

from phintys._base.errors import MethodNotDefinedError, TypeContractError
from phintys.graph import (
    Constant,
    DisconnectedType,
    NullType,
    Type,
    Variable,
    generic,
)


def only_int(value, strict=False, allow_downcast=None):
    if isinstance(value, int):
        return value
    if strict or (not allow_downcast and int(value) != value):
        raise TypeError(f"expected an int, got {value!r}")
    return int(value)


class Int(Type):
    def filter(self, value, strict=False, allow_downcast=None):
        return only_int(value, strict, allow_downcast)


def plain():
    made = Type()
    made.filter = only_int
    return made


@pytest.fixture(params=[Int, plain])
def integer(request):
    return request.param()


def test_defaults_of_the_contract(integer):
    assert integer.is_valid_value(3)
    assert not integer.is_valid_value(3.0)
    assert integer.values_eq(3, 3)
    assert integer.values_eq_approx(3, 3)
    assert not integer.values_eq_approx(3, 4)
    assert integer == integer
    assert integer != type(integer)()
    assert hash(integer) == hash(integer)
    assert integer.may_share_memory(integer, integer)
    assert not integer.may_share_memory([], [])
    assert integer.clone() is integer
    assert integer.is_super(integer)
    assert integer.in_same_class(integer)
    assert integer.filter_inplace is None


def test_variables_of_a_type(integer):
    for make in (integer, integer.make_variable):
        assert make().name is None
        assert make("x").name == "x"
        assert make("x").type is integer
        assert type(make()) is Variable
    constant = integer.make_constant(3.0, "three")
    assert (type(constant), constant.data, constant.name) == (Constant, 3, "three")


def test_values_eq_approx_uses_a_values_eq_set_on_the_instance(integer):
    integer.values_eq = lambda a, b: a % 10 == b % 10
    assert integer.values_eq_approx(3, 13)


def test_filter_variable(integer, toys):
    x = integer("x")
    assert integer.filter_variable(x) is x
    assert integer.filter_variable(2.0).data == 2
    with pytest.raises(TypeError, match="expected an int"):
        integer.filter_variable(2.5)
    with pytest.raises(TypeContractError, match="type number"):
        integer.filter_variable(toys.number("n"))


def test_filter_variable_converts_and_takes_special_cases(toys):
    wide, narrow = toys.Wide("w", 2), toys.Wide("w", 1)
    x = narrow("x")
    assert wide.filter_variable(x) is x
    with pytest.raises(TypeContractError):
        narrow.filter_variable(wide("y"))
    z = toys.Kind("w-convertible")("z")
    assert str(wide.filter_variable(z).owner) == "convert(z)"
    with pytest.raises(TypeContractError):
        wide.filter_variable(z, allow_convert=False)


def test_a_type_without_filter_says_how_to_make_one():
    lame = Type()
    with pytest.raises(MethodNotDefinedError, match="Define filter"):
        lame.filter(1)
    with pytest.raises(MethodNotDefinedError, match="Define filter"):
        lame.is_valid_value(1)


def test_whatever_filter_raises_means_not_valid():
    class Picky(Type):
        def filter(self, value, strict=False, allow_downcast=None):
            return value.no_such_attribute

    assert not Picky().is_valid_value(1)


def test_optional_methods(integer):
    for ask in (integer.get_shape_info, integer.get_size):
        with pytest.raises(MethodNotDefinedError, match="profiling memory"):
            ask(1)
    with pytest.raises(MethodNotDefinedError, match="dtype"):
        integer.clone(dtype="int8")


def test_props_give_equality_hash_and_repr():
    class Sized(Type):
        __props__ = ("size",)

        def __init__(self, size):
            self.size = size

    class Special(Sized):
        pass

    assert Sized(1) == Sized(1)
    assert Sized(1) != Sized(2)
    assert Sized(1) != Special(1)
    assert len({Sized(1), Sized(1), Sized(2)}) == 2
    assert repr(Sized(1)) == "Sized(size=1)"
    with pytest.raises(TypeContractError, match="must be a tuple"):

        class Wrong(Type):
            __props__ = "size"


def test_a_type_that_defines_only_equality_can_be_hashed():
    class Double(Type):  # noqa: PLW1641 - the point
        def __eq__(self, other):
            return type(self) is Double and type(other) is Double

    assert Double() == Double()
    assert len({Double(), Double()}) == 1

    class Keyed(Type):
        def __init__(self, key):
            self.key = key

        def __eq__(self, other):
            return isinstance(other, Keyed) and self.key == other.key

        def __hash__(self):
            return hash(self.key)

    assert len({Keyed(1), Keyed(1), Keyed(2)}) == 2


def test_deep_copies_of_a_type_are_itself(integer):
    assert copy.deepcopy(integer) is integer
    assert copy.deepcopy([integer, integer("x")])[1].type is integer


def test_a_type_may_choose_the_class_of_its_variables():
    class Mine(Variable):
        pass

    class MyConstant(Constant):
        pass

    class Kind(Type):
        variable_type = Mine
        constant_type = MyConstant

        def filter(self, value, strict=False, allow_downcast=None):
            return value

    assert type(Kind()("x")) is Mine
    assert type(Kind()("x").clone()) is Mine
    assert type(Kind().make_constant(1)) is MyConstant


def test_generic_takes_everything():
    thing = object()
    assert generic.filter(thing, strict=True) is thing
    assert generic.is_valid_value(None)
    assert repr(generic) == "generic"
    assert type(generic)() == generic


@pytest.mark.parametrize("type_", [NullType("because"), DisconnectedType()])
def test_types_without_values(type_, toys):
    with pytest.raises(TypeContractError):
        type_.filter(1)
    assert not type_.is_valid_value(1)
    with pytest.raises(TypeContractError):
        type_.filter_variable(toys.number("x"))
    assert type_("x").type is type_


def test_null_types_are_equal_whatever_their_reasons():
    assert NullType("a") == NullType("b")
    assert hash(NullType("a")) == hash(NullType("b"))
    assert NullType() != DisconnectedType()
    with pytest.raises(TypeContractError, match="no tea"):
        NullType("no tea").filter(1)
