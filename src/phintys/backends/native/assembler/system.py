"""What the C library of this system has for native code.

docs/platforms.md says what takes the place of the rest.
"""

from __future__ import annotations

import sys


def has_clock() -> bool:
    """Return whether native code can read a clock: where C has ``clock_gettime``."""
    return sys.platform != "win32"


def has_pool() -> bool:
    """Return whether native code can have threads of its own: where C has ``pthread_create``."""
    return sys.platform != "win32"


def has_huge_pages() -> bool:
    """Return whether the kernel takes advice about huge pages: ``madvise`` of Linux."""
    return sys.platform == "linux"
