import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phintys._base.records import record


def classes(decorate, frozen, eq):
    options = {"frozen": frozen, "eq": eq}

    @decorate(**options)
    class Base:
        """A class."""

        a: int
        b: list[int] = field(default_factory=list)
        c: int = 3
        count: ClassVar[int] = 4

    @decorate(**options)
    class Derived(Base):
        """A class with all that fields can be."""

        d: int = field(kw_only=True, compare=False)
        e: int = field(default=5, init=False, repr=False)

        def total(self):
            return self.a + self.c + self.d + self.e

    return Base, Derived


def with_slots(**options):
    return dataclass(slots=True, **options)


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("eq", [False, True])
@given(a=st.integers(0, 1), b=st.none() | st.lists(st.integers(), max_size=2), d=st.integers(0, 1))
def test_records_are_like_dataclasses(frozen, eq, a, b, d):
    options = {} if b is None else {"b": b}
    seen = []
    for decorate in (record, with_slots):
        _, cls = classes(decorate, frozen, eq)
        one, other = cls(a, d=d, **options), cls(1, d=0, **options)
        seen.append(
            (
                [getattr(one, each.name) for each in fields(one)],
                repr(one).replace(cls.__qualname__, "Derived"),
                one == other,
                one.__eq__(3),
                cls.__hash__ is None,
                cls.__match_args__,
                replace_or_error(one, a=7),
                one.total(),
                cls.count,
                hasattr(one, "__dict__"),
                setting(one),
                deleting(one),
            )
        )
    assert seen[0] == seen[1]


def replace_or_error(one, **changes):
    changed = replace(one, **changes)
    return [getattr(changed, each.name) for each in fields(changed)]


def setting(one):
    try:
        one.a = 5
    except FrozenInstanceError as error:
        return str(error)
    return one.a


def deleting(one):
    try:
        del one.a
    except FrozenInstanceError as error:
        return str(error)
    return hasattr(one, "a")


def test_defaults_are_made_anew():
    _, cls = classes(record, False, True)
    assert cls(1, d=1).b is not cls(1, d=1).b


def test_what_the_class_defines_stays():
    @record(frozen=True)
    class Named:
        name: str

        def __repr__(self):
            return f"<{self.name}>"

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 1

    assert (repr(Named("x")), Named("x") == Named("y"), hash(Named("z"))) == ("<x>", True, 1)


@record(frozen=True)
class Pair:
    left: object
    right: int = 2


@record(eq=False)
class Node:
    next: object = None


def test_records_are_pickled_and_copied():
    for same in (pickle.loads(pickle.dumps(Pair("x"))), copy.deepcopy(Pair("x"))):
        assert same == Pair("x", 2)
        assert hash(same) == hash(Pair("x", 2))


def test_a_record_in_itself_is_shown():
    node = Node()
    node.next = node
    assert repr(node) == "Node(next=...)"


def test_arguments_are_checked():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'left'"):
        Pair()
    with pytest.raises(TypeError, match="unexpected keyword argument 'middle'"):
        Pair(1, middle=2)


def test_a_class_is_described_when_it_is_asked():
    @record(frozen=True)
    class Point:
        x: int
        y: int = 0

    made = Point(1)
    assert made == Point(1)
    assert hash(made) == hash(Point(1, 0))
    assert not isinstance(vars(Point)["__dataclass_fields__"], dict)
    match made:
        case Point(x, y):
            assert (x, y) == (1, 0)
    assert isinstance(vars(Point)["__dataclass_fields__"], dict)
    assert [each.name for each in fields(Point)] == ["x", "y"]
    assert made == replace(made)
