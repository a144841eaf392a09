"""``dir`` of public modules, which shows the names that they offer, not those that they import."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def public_dir(module: str, *more: str) -> Callable[[], list[str]]:
    """Return ``__dir__`` of a module: the names in its ``__all__``, and those of Python's own.

    Parameters
    ----------
    module
        The module's ``__name__``.
    more
        Other names that it offers.

    Examples
    --------
    >>> import phintys.tensor.linalg
    >>> "norm" in dir(phintys.tensor.linalg), "np" in dir(phintys.tensor.linalg)
    (True, False)
    """

    def all_names() -> list[str]:
        namespace = vars(sys.modules[module])
        own = {name for name in namespace if name.startswith("__")} - {"__dir__", "__getattr__"}
        return sorted({*own, *namespace["__all__"], *more})

    return all_names
