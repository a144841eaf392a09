"""Lazy imports, which keep the import of Phintys fast.

A module that few programs need is declared at the top of the modules that use it, as an import for
type checkers and as a :class:`LateModule` at run time::

    if TYPE_CHECKING:
        from phintys.backends.native import explain
    else:
        explain = LateModule("phintys.backends.native.explain")

A package that exports names from such modules uses :func:`late_names`. For the layering of rooms,
both count as imports.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from phintys._base.naming import near_misses
from phintys._base.not_offered import NOT_OFFERED
from phintys._base.public import public_dir
from phintys._base.uninterrupted import import_whole

__all__ = ["LateModule", "absent", "is_instance_of_late", "late_names", "lend"]

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

_LENT: dict[tuple[str, str], tuple[str, str | None]] = {}
"""(package, name) -> the module of a higher room, or the name in it, that the package shows."""


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


def is_instance_of_late(value: object, module: ModuleType | LateModule, *names: str) -> bool:
    """Return whether a value is an instance of a class of a module, without importing the module.

    As long as nobody has imported it, nothing is.

    Parameters
    ----------
    value
        Any object.
    module
        The module.
    names
        Names of classes in it.

    Examples
    --------
    >>> from phintys._base.late import LateModule, is_instance_of_late
    >>> is_instance_of_late(3, LateModule("fractions"), "Fraction")
    False
    """
    if module.__name__ not in sys.modules:
        return False
    return isinstance(value, tuple(getattr(module, name) for name in names))


def late_names(
    package: str, homes: Mapping[str, str], exported: list[str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package that exports names of lazy modules.

    Parameters
    ----------
    package
        The package's ``__name__``.
    homes
        Lazy modules, and the names, separated by spaces, that the package exports from each.
        Modules of the package itself are found by their names too.
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
    home_of = {name: home for home, names in homes.items() for name in names.split()}
    if exported is not None:
        exported += [name for name in home_of if name not in exported]
    inside = {home.rpartition(".")[2]: home for home in homes if home.rpartition(".")[0] == package}

    def look_up(name: str) -> Any:
        if name in home_of:
            found = getattr(import_whole(home_of[name]), name)
        elif name in inside:
            found = import_whole(inside[name])
        elif (package, name) in _LENT:
            home, inner = _LENT[package, name]
            found = import_whole(home) if inner is None else getattr(import_whole(home), inner)
        else:
            raise absent(package, name)
        setattr(sys.modules[package], name, found)
        return found

    return look_up, public_dir(package, *home_of)


def _offered_by(home: str) -> list[str]:
    """Return the names that a package offers, if it has been imported."""
    return getattr(sys.modules.get(home), "__all__", [])


def absent(package: str, name: str) -> AttributeError:
    """Return the error for a name that a package does not have, with what to write instead.

    Python's own suggestions end at 750 names.
    """
    msg = f"module {package!r} has no attribute {name!r}"
    home = next((home for home in _HOMES if name in _offered_by(home)), None)
    if home is not None:
        msg = f"{msg}. It is {home}.{name}."
    elif name in NOT_OFFERED:
        msg = f"{msg}. {NOT_OFFERED[name]}."
    elif not name.startswith("_"):
        near = near_misses(name, dir(sys.modules[package]))
        msg = f"{msg}. Did you mean {near[0]!r}?" if near else msg
    return AttributeError(msg, name=name, obj=None)


def lend(module: str, package: ModuleType, names: str = "") -> None:
    """Show a module of a higher room, or names in it, in a package of :func:`late_names`.

    It is the caller, above both, that knows them: the package does not depend on the module.

    Parameters
    ----------
    module
        Full name of the module, whose last part is its name in the package.
    package
        The package.
    names
        The names, separated by spaces; none to show the module itself.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.random.__name__, pt.jacobian.__name__
    ('phintys.random', 'jacobian')
    """
    shown: list[str | None] = [*names.split()] or [None]
    for inner in shown:
        name = inner or module.rpartition(".")[2]
        _LENT[package.__name__, name] = (module, inner)
        package.__all__.append(name)
