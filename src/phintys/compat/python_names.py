"""``theano.compat``: names for programs that ran on Python 2 and 3, as in the package six."""

from __future__ import annotations

import builtins
import collections
import collections.abc as collections_abc
import configparser
import copyreg
import functools
import io
import itertools
import operator
import os
import pickle
import queue
import sys
import types
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any

from phintys.compat.old_classes import looked_up_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["MOVES", "NAMES"]


class DefaultOrderedDict(collections.OrderedDict[Any, Any]):
    """An OrderedDict that makes missing values."""

    def __init__(self, default_factory: Any = None, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.default_factory = default_factory

    def __missing__(self, key: Any) -> Any:
        if self.default_factory is None:
            raise KeyError(key)
        self[key] = value = self.default_factory()
        return value


def cmp(a: Any, b: Any) -> int:
    """Return -1, 0 or 1 as ``a`` is less than, equal to or greater than ``b``."""
    return (a > b) - (a < b)


def reraise(kind: Any, value: Any, traceback: Any = None) -> None:
    """Raise an exception with its traceback."""
    raise (kind() if value is None else value).with_traceback(traceback)


def with_metaclass(meta: type, *bases: type) -> type:
    """Return a base class whose subclasses are made by ``meta``."""
    return meta("Base", bases or (object,), {})


def add_metaclass(meta: type) -> Callable[[type], type]:
    """Return a decorator that makes a class anew with a metaclass."""

    def wrapper(cls: type) -> type:
        unwanted = {"__dict__", "__weakref__"}
        members = {name: value for name, value in vars(cls).items() if name not in unwanted}
        return meta(cls.__name__, cls.__bases__, members)

    return wrapper


def exc_message(error: BaseException) -> Any:
    """Return the first argument of an exception, which is its message."""
    return error.args[0] if error.args else ""


def _encoded(text: str) -> bytes:
    return text.encode("latin-1")


def _views(name: str) -> Callable[[Any], Iterator[Any]]:
    return lambda mapping: iter(getattr(mapping, name)())


def _decoded(text: Any) -> Any:
    return text.decode() if isinstance(text, bytes) else text


def _all_decoded(texts: Iterable[Any]) -> Iterator[Any]:
    return map(_decoded, texts)


_ITERATORS = {f"iter{name}": _views(name) for name in ("keys", "values", "items")}

MOVES: dict[str, Any] = {
    "StringIO": io.StringIO,
    "builtins": builtins,
    "cPickle": pickle,
    "cStringIO": io.StringIO,
    "configparser": configparser,
    "copyreg": copyreg,
    "filter": filter,
    "filterfalse": itertools.filterfalse,
    "getcwd": os.getcwd,
    "input": input,
    "intern": sys.intern,
    "map": map,
    "pickle": pickle,
    "queue": queue,
    "range": range,
    "reduce": functools.reduce,
    "urllib": urllib,
    "xrange": range,
    "zip": zip,
    "zip_longest": itertools.zip_longest,
}
"""What has another name in Python 3: ``theano.compat.six.moves``."""

NAMES: dict[str, Any] = {
    **_ITERATORS,
    "BytesIO": io.BytesIO,
    "Counter": collections.Counter,
    "DefaultOrderedDict": DefaultOrderedDict,
    "Iterable": collections_abc.Iterable,
    "OrderedDict": collections.OrderedDict,
    "PY2": False,
    "PY3": True,
    "StringIO": io.StringIO,
    "add_metaclass": add_metaclass,
    "b": _encoded,
    "binary_type": bytes,
    "callable": callable,
    "class_types": (type,),
    "cmp": cmp,
    "decode": _decoded,
    "decode_iter": _all_decoded,
    "decode_with": lambda text, encoding: text.decode(encoding),
    "defaultdict": collections.defaultdict,
    "deque": collections.deque,
    "exc_message": exc_message,
    "get_unbound_function": lambda method: getattr(method, "__func__", method),
    "ifilter": filter,
    "imap": map,
    "integer_types": (int,),
    "izip": zip,
    "next": next,
    "operator_div": operator.truediv,
    "partial": functools.partial,
    "product": itertools.product,
    "python_all": all,
    "python_any": any,
    "reraise": reraise,
    "string_types": (str,),
    "text_type": str,
    "types": types,
    "u": str,
    "with_metaclass": with_metaclass,
}
"""``theano.compat`` and ``theano.compat.six``."""

__getattr__ = looked_up_in(MOVES | NAMES, __name__)
