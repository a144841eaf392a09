"""Stand-ins for names that Phintys does not have, so that the tests beside them can run.

A test module that imports one name too many would fail as a whole. While tests are collected, a
stand-in can be called, subclassed and looked into; while they run, any use of it raises
:class:`InternalAskedFor`, which names it.
"""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

import scipy.sparse

from phintys import sparse
from phintys.compat import finder
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["InternalAskedFor", "StandIn", "fill_gaps", "start_running"]

_running = False

_HELPERS = {
    "_is_dense_variable": lambda x: isinstance(getattr(x, "type", None), TensorType),
    "_is_sparse": scipy.sparse.issparse,
    "_is_sparse_variable": lambda x: isinstance(getattr(x, "type", None), sparse.SparseType),
    "_mtypes": [scipy.sparse.csc_matrix, scipy.sparse.csr_matrix],
}
"""Private names of ``sparse.basic`` with which many tests make their arguments."""


def start_running() -> None:
    """From here on stand-ins raise."""
    global _running  # noqa: PLW0603 - one switch for one process
    _running = True


class InternalAskedFor(Exception):  # noqa: N818 - it is what happened
    """A test used a name that Phintys does not have."""


class StandIn:
    """Stands for what is missing."""

    def __init__(self, path: str, reason: str) -> None:
        self._path = path
        self._reason = reason

    def _use(self, path: str) -> StandIn:
        if _running:
            raise InternalAskedFor(f"{path}: {self._reason}")
        return StandIn(path, self._reason)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._use(f"{self._path}()")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._use(f"{self._path}.{name}")

    def __getitem__(self, key: Any) -> Any:
        return self._use(f"{self._path}[...]")

    def __iter__(self) -> Any:
        self._use(f"iter({self._path})")
        return iter(())

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        self._use(f"class of {self._path}")
        return ()

    def __instancecheck__(self, instance: object) -> bool:
        self._use(f"isinstance(..., {self._path})")
        return False

    def __subclasscheck__(self, subclass: type) -> bool:
        self._use(f"issubclass(..., {self._path})")
        return False

    def __bool__(self) -> bool:
        self._use(f"bool({self._path})")
        return False

    def __repr__(self) -> str:
        return f"<stand-in for {self._path}>"


class _Module(ModuleType):
    """A module of which every name is missing."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self._reason = reason

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(f"{self.__name__}.{name}", self._reason)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Answer as the function of this name would, such as ``scan``."""
        return StandIn(self.__name__, self._reason)(*arguments, **options)


class _Gaps(MetaPathFinder, Loader):
    """Finds the modules of a package that the finder of compat does not have."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith((f"{self.package}.", "tests.")):
            return None
        if fullname.startswith("tests."):
            here = PathFinder.find_spec(fullname, path)
            reason = "a helper of the tests that the distribution lacks"
            return here or ModuleSpec(fullname, self, is_package=True, loader_state=reason)
        reason = "there is no such module"
        for other in sys.meta_path:
            if isinstance(other, finder._Finder):
                try:
                    if other.find_spec(fullname, path, target) is not None:
                        return None
                except ModuleNotFoundError as error:
                    reason = str(error)
        parent, _, name = fullname.rpartition(".")
        # What is a name of the parent is not looked for as a module.
        if isinstance(sys.modules.get(parent), finder.OldModule) and name in dir(
            sys.modules[parent]
        ):
            return None
        spec = ModuleSpec(fullname, self, is_package=True)
        spec.loader_state = reason
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name, spec.loader_state)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing."""


def fill_gaps(package: str) -> None:
    """Put stand-ins wherever a name or module of ``package`` is missing."""
    look_up = finder.OldModule.__getattr__

    def found_or_stand_in(self: Any, name: str) -> Any:
        try:
            return look_up(self, name)
        except AttributeError as error:
            if name.startswith("__"):
                raise
            if name in _HELPERS and self.__name__.endswith(".sparse.basic"):
                return _HELPERS[name]
            return StandIn(f"{self.__name__}.{name}", str(error))

    finder.OldModule.__getattr__ = found_or_stand_in
    sys.meta_path.insert(0, _Gaps(package))
