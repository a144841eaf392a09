"""Which PyTensor the bridge needs."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version

LOWEST = (3, 3)
_INSTALL = "Install it with: pip install 'phintys[pytensor]'."


def check() -> None:
    """Check that a PyTensor is installed that the bridge can read.

    Raises
    ------
    ImportError
        There is none, or it is too old.

    Examples
    --------
    >>> from phintys.bridge.pytensor import requirement
    >>> requirement.check()
    """
    lowest = ".".join(map(str, LOWEST))
    try:
        found = version("pytensor")
    except PackageNotFoundError:
        msg = f"phintys.bridge.pytensor needs PyTensor {lowest} or newer, none found. {_INSTALL}"
        raise ModuleNotFoundError(msg, name="pytensor") from None
    numbers = tuple(map(int, re.findall(r"\d+", found)[:2]))
    if numbers < LOWEST:
        msg = f"phintys.bridge.pytensor needs PyTensor {lowest} or newer, found {found}. {_INSTALL}"
        raise ImportError(msg, name="pytensor")
