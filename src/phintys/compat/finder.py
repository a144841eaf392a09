"""The import hook that makes ``import theano`` import Phintys."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from phintys._base.errors import ConfigError
from phintys.compat.configuration import set_flags
from phintys.compat.methods import borrow_methods, return_methods
from phintys.compat.names import CALLED, MISSING, MISSING_NAMES, PACKAGES, Source
from phintys.compat.refusals import reason_by_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["install", "uninstall", "watch_imports"]


_watchers: list[Callable[[str], None]] = []


def watch_imports(watcher: Callable[[str], None]) -> Callable[[], None]:
    """Call a function with the name of each old package that is imported from now on.

    Returns
    -------
    function
        Ends it.
    """
    _watchers.append(watcher)
    return lambda: _watchers.remove(watcher)


class NotOfferedError(ModuleNotFoundError):
    """Raised for a module or name of the old package that Phintys does not provide.

    Its ``name`` is not set: otherwise ``from package import name`` would replace the message.
    """


class OldModule(ModuleType):
    """A module of an old package, whose names are looked up lazily in its sources."""

    def __init__(self, name: str, sources: Sequence[Source]) -> None:
        super().__init__(name, f"Phintys under the name of {name}.")
        self.__dict__["_sources"] = sources

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a name; importing the module ``tensor.sort`` does not hide the function."""
        sources = self.__dict__.get("_sources", ())
        if isinstance(value, OldModule) and any(_is_not_module(source, name) for source in sources):
            return
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [each for each in self.__dir__() if not each.startswith("_")]
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        for source in self.__dict__["_sources"]:
            found, value = _look_up(source, name)
            # A module of Phintys does not replace the old one, which has more names.
            is_other = isinstance(value, ModuleType) and not isinstance(value, OldModule)
            if found and not (is_other and self._has_module(name)):
                self.__dict__[name] = value
                return value
        try:
            return import_module(f"{self.__name__}.{name}")
        except ModuleNotFoundError as error:
            if isinstance(error, NotOfferedError):
                raise AttributeError(str(error)) from None
        near = get_close_matches(name, self.__dir__(), n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        msg = f"{self.__name__} has no {name!r} in Phintys.{hint}"
        raise AttributeError(msg)

    def _has_module(self, name: str) -> bool:
        package, _, inside = f"{self.__name__}.{name}".partition(".")
        return inside in PACKAGES[package]

    def __dir__(self) -> list[str]:
        names: set[str] = set()
        for source in self.__dict__["_sources"]:
            names.update(source if isinstance(source, dict) else _public_names(source))
        return sorted(names)


class CalledModule(OldModule):
    """A module that a function of the old package hides, and that can be called like it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return getattr(self, CALLED[self.__name__])(*args, **kwargs)


def _public_names(module: str) -> list[str]:
    home = import_module(module)
    listed: list[str] | None = getattr(home, "__all__", None)
    if listed is not None:
        return listed
    # Modules are left out: they are listed among the old modules.
    return [
        name
        for name, value in vars(home).items()
        if name[0] != "_" and not isinstance(value, ModuleType)
    ]


def _look_up(source: Source, name: str) -> tuple[bool, Any]:
    if isinstance(source, dict):
        target = source.get(name)
        if target is None:
            return False, None
        module, _, attribute = target.partition(":")
        home = import_module(module)
        return True, getattr(home, attribute) if attribute else home
    if name in _public_names(source):
        return True, getattr(import_module(source), name)
    return False, None


def _is_not_module(source: Source, name: str) -> bool:
    """Return whether a source has something of this name that is not a module."""
    found, value = _look_up(source, name)
    return found and not isinstance(value, ModuleType)


def _reason_missing(path: str) -> str | None:
    """Return the purpose of a module or name that Phintys does not provide, if it is listed."""
    for old, reason in MISSING.items():
        if path == old or path.startswith(f"{old}."):
            return reason
    return MISSING_NAMES.get(path.rpartition(".")[2]) or reason_by_kind(path)


class _Finder(MetaPathFinder, Loader):
    """Imports the modules of one old package."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.modules = PACKAGES[package]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        head, _, rest = fullname.partition(".")
        if head != self.package:
            return None
        if rest in self.modules:
            # ``from package import name`` also looks for a module of that name here.
            return ModuleSpec(fullname, self, is_package=True)
        reason = _reason_missing(rest)
        if reason is not None:
            msg = f"{fullname}: Phintys does not offer {reason}."
            raise NotOfferedError(msg)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        _, _, rest = spec.name.partition(".")
        kind = CalledModule if spec.name in CALLED else OldModule
        return kind(spec.name, self.modules[rest])

    def exec_module(self, module: ModuleType) -> None:
        """Set the options that the environment names; names are looked up lazily."""
        if module.__name__ == self.package:
            set_flags(self.package)
            for watcher in _watchers:
                watcher(self.package)


def install(package: str = "theano") -> None:
    """Make ``import package`` import Phintys.

    Parameters
    ----------
    package
        ``"theano"``, ``"aesara"`` or ``"pytensor"``.

    Raises
    ------
    ConfigError
        The package is not one of these, or the real one is already imported.

    Examples
    --------
    >>> import phintys.compat
    >>> phintys.compat.install("aesara")
    >>> import aesara.tensor as at
    >>> at.vector("x").type
    Vector(float64, shape=(?,))
    >>> phintys.compat.uninstall("aesara")
    """
    if package not in PACKAGES:
        msg = f"install() takes one of {', '.join(PACKAGES)}, got {package!r}."
        raise ConfigError(msg)
    if any(isinstance(finder, _Finder) and finder.package == package for finder in sys.meta_path):
        return
    if package in sys.modules:
        place = getattr(sys.modules[package], "__file__", "?")
        msg = (
            f"{package} is imported already, from {place}. "
            "Call install() before the first import of it."
        )
        raise ConfigError(msg)
    sys.meta_path.insert(0, _Finder(package))
    borrow_methods(package)


def uninstall(package: str = "theano") -> None:
    """Undo :func:`install`: remove the modules, so that the real package can be imported."""
    sys.meta_path[:] = [
        finder
        for finder in sys.meta_path
        if not (isinstance(finder, _Finder) and finder.package == package)
    ]
    return_methods(package)
    for name, module in list(sys.modules.items()):
        if isinstance(module, OldModule) and name.partition(".")[0] == package:
            del sys.modules[name]
