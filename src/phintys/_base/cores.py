"""How many threads a call may use."""

from __future__ import annotations

import os

from phintys._base.config import config


def usable_cores() -> int:
    """Return the number of cores that the process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_limit() -> int:
    """Return the current limit on the threads of a call."""
    return config.num_threads or usable_cores()
