from typing import Any, NamedTuple

import pytest

from phintys._base.nested_containers import matched, rebuilt, walk


class Pair(NamedTuple):
    a: Any
    b: Any


NESTS = [
    1,
    (),
    (1, 2),
    [1, (2, [3])],
    {"a": 1, 2: {"b": (2, 3)}},
    Pair(1, [2, 3]),
    {},
]


@pytest.mark.parametrize("nest", NESTS, ids=str)
def test_a_nest_is_rebuilt_from_its_values(nest):
    values = [value for _, value in walk(nest)]
    assert values == list(range(1, len(values) + 1))
    again = rebuilt(nest, values)
    assert again == nest
    assert type(again) is type(nest)
    assert matched(nest, nest) == values


@pytest.mark.parametrize("nest", NESTS, ids=str)
def test_paths_lead_to_values(nest):
    for path, value in walk(nest):
        assert eval(f"nest{path}", {"nest": nest}) == value


@pytest.mark.parametrize(
    ("given", "like", "found"),
    [
        (None, (1, [2, 3]), [None] * 3),
        ((1, None), (1, [2, 3]), [1, None, None]),
        ([1, (2, 3)], (1, [2, 3]), [1, 2, 3]),
        ({"b": 2, "a": 1}, {"a": 0, "b": 0}, [1, 2]),
        ((1,), (1, 2), None),
        (1, (1,), None),
        ((1,), 1, None),
        ({"a": 1}, {"b": 1}, None),
        ([1], {"a": 1}, None),
        ((1, 2), (1, (2,)), None),
    ],
    ids=str,
)
def test_nests_are_matched(given, like, found):
    assert matched(given, like) == found
