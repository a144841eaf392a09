"""The check of docstrings finds what one lacks."""

import pytest

from tests.documented import lacks

pytestmark = pytest.mark.docstrings


def complete(x, *more, y=1):
    """Add numbers.

    Parameters
    ----------
    x, y
        Numbers.
    more
        Further numbers.

    Returns
    -------
    int
        A number.

    Raises
    ------
    ValueError
        There are further ones.

    Examples
    --------
    >>> 1 + 1
    2
    """
    if more:
        raise ValueError
    return x + y


def changed(old, new):
    def function(x, *more, y=1):
        if more:
            raise ValueError
        return x + y

    assert old in complete.__doc__
    function.__doc__ = complete.__doc__.replace(old, new)
    return function


def test_a_complete_one_lacks_nothing():
    assert lacks(complete) == []


@pytest.mark.parametrize(
    ("old", "new", "lack"),
    [
        ("Add numbers.", "Add\n    numbers.", "a summary of one line"),
        ("x, y\n", "x\n", "Parameters: ['x', 'more', 'y'], not ['x', 'more']"),
        ("more\n", "more, z\n", "Parameters: ['x', 'more', 'y'], not ['x', 'y', 'more', 'z']"),
        ("Returns", "Results", "Returns"),
        ("Raises", "Errors", "Raises"),
        (">>> 1", "1", "Examples"),
    ],
)
def test_what_is_left_out_is_named(old, new, lack):
    assert lacks(changed(old, new)) == [lack]


def test_none_at_all_is_named():
    assert lacks(lambda x: x) == ["a docstring"]
