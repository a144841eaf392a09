"""``make check``: the tests that are nearest to a change, within a minute.

    python -m tools.check                 what differs from the last commit, or the last commit
    python -m tools.check --since main    what differs from a branch

A test is as near to a changed module as there are imports between the module and those that the
test names or mirrors. The nearest tests run first, as many as fit into the time according to
``tests/durations.json``; those that did not fit are counted. Lint and types of changed files are
checked as well. ``make test`` remains the whole.
"""

from tools.check.choosing import Choice, choose
from tools.check.durations import read_durations
from tools.check.nearness import distances

__all__ = ["Choice", "choose", "distances", "read_durations"]
