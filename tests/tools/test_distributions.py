"""The page of distributions tells what there is."""

import scipy.stats

from phintys.random.distributions import DISTRIBUTIONS
from tools.distributions import PAGE, SCIPY_NAMES, page


def test_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make distributions`"


def test_names_of_scipy_are_those_of_distributions():
    assert SCIPY_NAMES.keys() <= DISTRIBUTIONS.keys()
    for name in SCIPY_NAMES.values():
        assert hasattr(scipy.stats, name)
