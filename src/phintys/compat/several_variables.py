"""``scalars``, ``dvectors`` and similar constructors of several variables, with old semantics.

``T.scalars("xyz")`` returns three variables, ``T.scalars("x")`` a single one, not a list.
"""

from __future__ import annotations

from typing import Any

from phintys.compat.old_classes import looked_up_in
from phintys.tensor import constructors
from phintys.tensor.constructors import Several

__all__ = [name for name in constructors.__all__ if name.endswith("s")]  # pyright: ignore[reportUnsupportedDunderAll]


class _OldSeveral:
    """A constructor of several variables, with the old signature."""

    def __init__(self, several: Several) -> None:
        self._several = several
        self.__doc__ = several.__doc__

    def __call__(self, *names: Any, **options: Any) -> Any:
        """Return one variable for one name, else a list; a single str or list holds all names."""
        if len(names) == 1 and isinstance(names[0], int):
            return self._several(*names, **options)
        if len(names) == 1 and isinstance(names[0], str | list | tuple):
            names = tuple(names[0])
        made = self._several(*names, **options)
        return made[0] if len(made) == 1 else made


_OLD = {name: _OldSeveral(getattr(constructors, name)) for name in __all__}

__getattr__ = looked_up_in(_OLD, __name__)
