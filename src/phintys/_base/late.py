"""Lazy imports, which keep the import of Phintys fast. There are two forms.

A module that few programs need is declared at the top of the modules that use it, as an import for
type checkers and as a :class:`LateModule` at run time::

    if TYPE_CHECKING:
        from phintys.backends.native import explain
    else:
        explain = LateModule("phintys.backends.native.explain")

What is looked up by name is found through the index, :mod:`phintys._base.index`, which ``make
index`` writes: rules for Ops, which are registered when their modules are imported
(:class:`Homes`), and what packages offer (:func:`late_names`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from phintys._base.index import FACADES
from phintys._base.names import NOT_OFFERED, NOT_OFFERED_BY, near_misses, public_dir
from phintys._base.uninterrupted import import_whole

_HOMES = (
    "phintys",
    "phintys.tensor",
    "phintys.control",
    "phintys.gradient",
    "phintys.random",
    "phintys.tensor.linalg",
    "phintys.tensor.signal",
    "phintys.tensor.fft",
)
"""Packages in which a name is looked for that another one does not have."""


class LateModule:
    """A module that is imported on first attribute access.

    Parameters
    ----------
    name
        Full name of the module.

    Examples
    --------
    >>> from phintys._base.late import LateModule
    >>> calendar = LateModule("calendar")
    >>> calendar.isleap(2000)
    True
    """

    __slots__ = ("__name__",)

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_whole(self.__name__), name)

    def __reduce__(self) -> tuple[type[LateModule], tuple[str]]:
        return LateModule, (self.__name__,)

    def __repr__(self) -> str:
        return f"LateModule({self.__name__!r})"


def is_imported(module: ModuleType | LateModule) -> bool:
    """Return whether a module has been imported; until then, nothing is an instance of its classes.

    Examples
    --------
    >>> from phintys._base.late import LateModule, is_imported
    >>> fractions = LateModule("fractions")
    >>> is_imported(fractions) and isinstance(3, fractions.Fraction)
    False
    """
    return module.__name__ in sys.modules


class Homes(Mapping[str, str]):
    """A table of the index, by name: name -> the module that registers it when it is imported.

    Parameters
    ----------
    table
        Modules, each with the names that it registers, separated by spaces.

    Examples
    --------
    >>> from phintys._base.index import LOWERINGS
    >>> from phintys._base.late import Homes
    >>> Homes(LOWERINGS)["Join"]
    'phintys.backends.native.lower.shapes'
    """

    def __init__(self, table: Mapping[str, str]) -> None:
        self._modules = {name: home for home, names in table.items() for name in names.split()}

    def __getitem__(self, name: str) -> str:
        return self._modules[name]

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def load(self, name: str) -> None:
        """Import the module that registers a name, if there is one."""
        home = self._modules.get(name)
        if home is not None:
            import_whole(home)

    def load_before(self, name: str) -> None:
        """Do the same before something else is registered under a name, so that it is replaced.

        A module that is being imported registers its own.
        """
        home = self._modules.get(name)
        if home is not None and home not in sys.modules:
            import_whole(home)


def late_names(
    package: str, exported: list[str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package that exports names of lazy modules.

    Type checkers see them imported; ``make index`` reads these imports. Modules of the package
    from which it takes names are found by their own names too.

    Parameters
    ----------
    package
        The package's ``__name__``.
    exported
        The package's ``__all__``, to which those names are added that it lacks.

    Examples
    --------
    >>> import phintys
    >>> "grad" in dir(phintys), phintys.grad.__module__
    (True, 'phintys.gradient.reverse')
    >>> phintys.gard
    Traceback (most recent call last):
    AttributeError: module 'phintys' has no attribute 'gard'. Did you mean 'grad'?
    """
    homes = FACADES.get(package, {})
    home_of = Homes(homes)
    parts = {home: home.rpartition(".") for home in homes}
    modules = {name: home for home, (_, _, name) in parts.items() if not homes[home]}
    offered = [*home_of, *modules]
    modules |= {name: home for home, (above, _, name) in parts.items() if above == package}
    if exported is not None:
        exported += [name for name in offered if name not in exported]

    def look_up(name: str) -> Any:
        if name in home_of:
            found = getattr(import_whole(home_of[name]), name)
        elif name in modules:
            found = import_whole(modules[name])
        else:
            raise absent(package, name)
        setattr(sys.modules[package], name, found)
        return found

    return look_up, public_dir(package, *offered)


def _offered_by(home: str) -> list[str]:
    """Return the names that a package offers, if it has been imported."""
    return getattr(sys.modules.get(home), "__all__", [])


def absent(package: str, name: str) -> AttributeError:
    """Return the error for a name that a package does not have, with what to write instead.

    Python's own suggestions end at 750 names.
    """
    msg = f"module {package!r} has no attribute {name!r}"
    home = next((home for home in _HOMES if name in _offered_by(home)), None)
    if name in (own := NOT_OFFERED_BY.get(package, {})):
        msg = f"{msg}. {own[name]}."
    elif home is not None:
        msg = f"{msg}. It is {home}.{name}."
    elif name in NOT_OFFERED:
        msg = f"{msg}. {NOT_OFFERED[name]}."
    elif not name.startswith("_"):
        near = near_misses(name, dir(sys.modules[package]))
        msg = f"{msg}. Did you mean {near[0]!r}?" if near else msg
    return AttributeError(msg, name=name, obj=None)
