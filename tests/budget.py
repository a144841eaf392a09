"""The number of examples of tests with random cases, which grows with the profile."""

from hypothesis import settings

WHOLE = 25
"""The number of examples of the profile "whole", which ``make stress`` takes."""


def budget(count, **options):
    """Return settings with ``count`` examples in the profile "whole".

    The profile "default" has half as many, "thorough" and "search" several times as many, so that
    a test that is content with few cases in ``make test`` is not content with as few in
    ``make fuzz``.

    Parameters
    ----------
    count
        The number of examples in ``make stress``.
    options
        Further settings.
    """
    return settings(max_examples=max(1, count * settings().max_examples // WHOLE), **options)
