"""Which versions of other libraries the bridges need."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version

_LOWEST = {
    "nutpie": ("nutpie", (0, 16), "pymc"),
    "pymc": ("PyMC", (6, 0), "pymc"),
    "pytensor": ("PyTensor", (3, 3), "pytensor"),
}
"""Package -> the library's name, its lowest version, and the bridge, which is also the extra."""


def check(package: str) -> None:
    """Check that a library is installed that a bridge can use.

    Parameters
    ----------
    package
        ``"nutpie"``, ``"pymc"`` or ``"pytensor"``.

    Raises
    ------
    ImportError
        There is none, or it is too old.
    """
    name, lowest, bridge = _LOWEST[package]
    needs = f"phintys.bridge.{bridge} needs {name} {'.'.join(map(str, lowest))} or newer"
    try:
        found = version(package)
    except PackageNotFoundError:
        msg = f"{needs}, none found. Install it with: pip install 'phintys[{bridge}]'."
        raise ModuleNotFoundError(msg, name=package) from None
    if tuple(map(int, re.findall(r"\d+", found)[:2])) < lowest:
        upgrade = f"pip install --upgrade 'phintys[{bridge}]'"
        msg = f"{needs}, found {found}. Install it with: {upgrade}."
        raise ImportError(msg, name=package)
