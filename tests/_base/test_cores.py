"""The limit on the threads of a call."""

import os

from phintys._base.config import config, thread_limit, usable_cores


def test_the_limit_is_the_configured_one_or_the_number_of_cores():
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)
    with config.change_flags(num_threads=0):
        assert thread_limit() == usable_cores()
    with config.change_flags(num_threads=3):
        assert thread_limit() == 3
