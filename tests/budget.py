"""The number of examples of tests with random cases, which grows with the profile."""

from hypothesis import settings

DEFAULT = 25
"""The number of examples of the profile "default"."""


def budget(count, **options):
    """Return settings with ``count`` examples in the profile "default", and more in the others.

    The profiles "thorough" and "search" have several times as many, so that a test that is content
    with few cases in ``make test`` is not content with as few in ``make fuzz``.

    Parameters
    ----------
    count
        The number of examples.
    options
        Further settings.
    """
    return settings(max_examples=max(1, count * settings().max_examples // DEFAULT), **options)
