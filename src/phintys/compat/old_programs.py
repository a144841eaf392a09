"""What a program finds that was written for Python 2 or an older NumPy, while it runs.

The script and the modules of its folder have the names that Python 2 had as builtins, and the
modules are translated as the script is. NumPy has its old names for them, with a warning each.
"""

from __future__ import annotations

import collections
import itertools
import os
import pickle
import sys
import warnings
from collections import abc
from contextlib import contextmanager
from functools import partial, reduce, wraps
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.compat.python2 import NAMES
from phintys.compat.python_names import MOVES, cmp

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from types import CodeType

__all__ = ["GLOBALS", "old_surroundings"]

GLOBALS: dict[str, Any] = {
    **NAMES,
    "basestring": str,
    "cmp": cmp,
    "long": int,
    "raw_input": input,
    "reduce": reduce,
    "unichr": chr,
    "unicode": str,
    "xrange": range,
}
"""Names that the modules of an old program have from the start."""

_MODULES = {
    "ConfigParser": "configparser",
    "Queue": "queue",
    "__builtin__": "builtins",
    "copy_reg": "copyreg",
    "urllib2": "urllib.request",
    "urlparse": "urllib.parse",
}
"""The module in Python 2 -> its name today."""

_MADE: dict[str, dict[str, Any]] = {
    "StringIO": {"StringIO": MOVES["StringIO"]},
    "cStringIO": {"StringIO": MOVES["StringIO"]},
    # Texts in files that Python 2 wrote are bytes of any value.
    "cPickle": {
        **{name: getattr(pickle, name) for name in pickle.__all__},
        "load": partial(pickle.load, encoding="latin1"),
        "loads": partial(pickle.loads, encoding="latin1"),
    },
}
"""Modules of Python 2 whose contents are not those of one module today."""

_OF_COLLECTIONS = {name: getattr(abc, name) for name in abc.__all__ if name not in dir(collections)}
"""Names of abstract classes, which were in ``collections`` until Python 3.9."""

_ITERATORS = {"ifilter": filter, "ifilterfalse": itertools.filterfalse, "imap": map, "izip": zip}
_ITERATORS |= {"izip_longest": itertools.zip_longest}


class _Casts:
    """``np.cast[dtype](value)``."""

    def __getitem__(self, dtype: Any) -> Callable[[Any], Any]:
        return lambda value: np.asarray(value).astype(dtype)


_OF_NUMPY: dict[str, tuple[Any, str]] = {
    "Inf": (np.inf, "np.inf"),
    "Infinity": (np.inf, "np.inf"),
    "NaN": (np.nan, "np.nan"),
    "PINF": (np.inf, "np.inf"),
    "NINF": (-np.inf, "-np.inf"),
    "alltrue": (np.all, "np.all"),
    "asscalar": (lambda a: a.item(), "a.item()"),
    "bool": (bool, "bool"),
    "cast": (_Casts(), "np.asarray(value, dtype)"),
    "complex": (complex, "complex"),
    "complex_": (np.complex128, "np.complex128"),
    "cumproduct": (np.cumprod, "np.cumprod"),
    "float": (float, "float"),
    "float_": (np.float64, "np.float64"),
    "infty": (np.inf, "np.inf"),
    "int": (int, "int"),
    "int0": (np.intp, "np.intp"),
    "long": (int, "int"),
    "object": (object, "object"),
    "object0": (np.object_, "object"),
    "product": (np.prod, "np.prod"),
    "rank": (np.ndim, "np.ndim"),
    "round_": (np.round, "np.round"),
    "row_stack": (np.vstack, "np.vstack"),
    "sometrue": (np.any, "np.any"),
    "str": (str, "str"),
    "string_": (np.bytes_, "np.bytes_"),
    "unicode": (str, "str"),
    "unicode_": (np.str_, "np.str_"),
}
"""An old name in NumPy -> what it was, and how it is written today."""


_WITH_SIZES = {
    "empty": (0, "shape"),
    "eye": (0, "N"),
    "full": (0, "shape"),
    "identity": (0, "n"),
    "ones": (0, "shape"),
    "repeat": (1, "repeats"),
    "reshape": (1, "shape"),
    "tile": (1, "reps"),
    "zeros": (0, "shape"),
}
"""Functions of NumPy with sizes, which could be floats: the position and name of the argument."""


class _Program:
    """The program that runs: the modules that were translated, and all others in its folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = f"{folder}{os.sep}"
        self._warned: set[str] = set()

    def calls(self, depth: int) -> bool:
        """Return whether a calling frame is of the program, rather than of a library."""
        names = sys._getframe(depth + 1).f_globals
        return next(iter(NAMES)) in names or str(names.get("__file__")).startswith(self._folder)

    def warn_once(self, name: str, msg: str) -> None:
        """Warn of an old name, in the line that uses it."""
        if name not in self._warned:
            self._warned.add(name)
            warnings.warn(msg, UserWarning, stacklevel=3)


@contextmanager
def _numpy_as_before(program: _Program) -> Generator[None]:
    """Let a program use the old names of NumPy; one warning for each name."""
    core: Any = vars(np)["__getattr__"]

    def look_up(name: str) -> Any:
        if name not in _OF_NUMPY or not program.calls(1):
            return core(name)
        value, today = _OF_NUMPY[name]
        msg = f"NumPy no longer has np.{name}, which is taken as {today} here. Write {today}."
        program.warn_once(name, msg)
        return value

    functions = {name: getattr(np, name) for name in _WITH_SIZES}
    # bool, long and others are names of scalar types in NumPy 2, and what they were for programs.
    setattr(np, "__getattr__", look_up)  # noqa: B010 - a function of the module
    for name, function in functions.items():
        setattr(np, name, _with_whole_sizes(function, *_WITH_SIZES[name], program))
    try:
        yield
    finally:
        setattr(np, "__getattr__", core)  # noqa: B010 - as above
        for name, function in functions.items():
            setattr(np, name, function)


def _with_whole_sizes(
    function: Callable[..., Any], position: int, name: str, program: _Program
) -> Callable[..., Any]:
    """Return a function that takes floats as sizes, where the program calls it; one warning."""

    @wraps(function)
    def adapted(*args: Any, **kwargs: Any) -> Any:
        is_positional = len(args) > position
        given = args[position] if is_positional else kwargs.get(name)
        sizes = given if isinstance(given, tuple | list) else [given]
        if not any(isinstance(size, float) for size in sizes) or not program.calls(1):
            return function(*args, **kwargs)
        whole = [int(size) if isinstance(size, float) else size for size in sizes]
        new = whole if isinstance(given, tuple | list) else whole[0]
        program.warn_once(
            function.__name__,
            f"np.{function.__name__} no longer takes floats as sizes: {given!r} is taken as "
            f"{new!r} here. Write int(size), or size // 2 for size / 2.",
        )
        if is_positional:
            return function(*args[:position], new, *args[position + 1 :], **kwargs)
        return function(*args, **{**kwargs, name: new})

    return adapted


class _Renamed(MetaPathFinder, Loader):
    """Finds the modules of Python 2 under their old names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in _MODULES or fullname in _MADE:
            return ModuleSpec(fullname, self)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if spec.name in _MADE:
            return ModuleType(spec.name)
        today = import_module(_MODULES[spec.name])
        renamed = ModuleType(spec.name)
        vars(renamed).update(
            {name: value for name, value in vars(today).items() if name[:2] != "__"}
        )
        return renamed

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(_MADE.get(module.__name__, {}))


class _Translating(SourceFileLoader):
    """Loads a module of the program's folder, translated if it is Python 2."""

    def __init__(self, name: str, path: str, compiled: Callable[[str, str], CodeType]) -> None:
        super().__init__(name, path)
        self._compiled = compiled

    def get_code(self, fullname: str) -> CodeType:
        """Compile the source; translations are not cached as bytecode."""
        path = self.get_filename(fullname)
        return self._compiled(self.get_source(fullname) or "", path)

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(GLOBALS)
        super().exec_module(module)


class _Folder(MetaPathFinder):
    """Finds the modules of a program in its folder."""

    def __init__(self, folder: Path, compiled: Callable[[str, str], CodeType]) -> None:
        self._folder = folder
        self._compiled = compiled

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        places = [str(self._folder)] if path is None else path
        spec = PathFinder.find_spec(fullname, places, target)
        if spec is None or not isinstance(spec.loader, SourceFileLoader) or spec.origin is None:
            return None
        if not Path(spec.origin).resolve().is_relative_to(self._folder):
            return None
        spec.loader = _Translating(spec.name, spec.origin, self._compiled)
        return spec


@contextmanager
def old_surroundings(folder: Path, compiled: Callable[[str, str], CodeType]) -> Generator[None]:
    """While the block runs, programs in ``folder`` find what they were written for.

    Parameters
    ----------
    folder
        The script's.
    compiled
        Compiles a source of a file name, which may be Python 2.
    """
    finders = [_Folder(folder, compiled), _Renamed()]
    absent = [
        (module, name, value)
        for module, names in ((itertools, _ITERATORS), (collections, _OF_COLLECTIONS))
        for name, value in names.items()
        if not hasattr(module, name)
    ]
    sys.meta_path.insert(0, finders[0])
    sys.meta_path.append(finders[1])
    for module, name, value in absent:
        setattr(module, name, value)
    try:
        with _numpy_as_before(_Program(folder)):
            yield
    finally:
        sys.meta_path[:] = [one for one in sys.meta_path if one not in finders]
        for module, name, _ in absent:
            delattr(module, name)
        for name in (*_MODULES, *_MADE):
            if isinstance(getattr(sys.modules.get(name), "__loader__", None), _Renamed):
                del sys.modules[name]
