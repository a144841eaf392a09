"""Which PyMC and which nutpie the bridge needs."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version

_PYMC, _NUTPIE = (6, 0), (0, 16)


def check() -> None:
    """Check that a PyMC is installed that the bridge can read.

    Raises
    ------
    ImportError
        There is none, or it is too old.
    """
    _check("pymc", "PyMC", _PYMC)


def check_nutpie() -> None:
    """Check that a nutpie is installed that takes our models.

    Raises
    ------
    ImportError
        There is none, or it is too old.
    """
    _check("nutpie", "nutpie", _NUTPIE)


def _check(package: str, name: str, lowest: tuple[int, int]) -> None:
    wanted = ".".join(map(str, lowest))
    try:
        found = version(package)
    except PackageNotFoundError:
        msg = (
            f"phintys.bridge.pymc needs {name} {wanted} or newer, none found. "
            "Install it with: pip install 'phintys[pymc]'."
        )
        raise ModuleNotFoundError(msg, name=package) from None
    if tuple(map(int, re.findall(r"\d+", found)[:2])) < lowest:
        msg = (
            f"phintys.bridge.pymc needs {name} {wanted} or newer, found {found}. "
            "Install it with: pip install --upgrade 'phintys[pymc]'."
        )
        raise ImportError(msg, name=package)
