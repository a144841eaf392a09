"""The functions of the array language by family: the module of ``phintys.tensor`` that has them."""

from __future__ import annotations

import inspect
from collections import defaultdict
from importlib import import_module
from typing import Any

from phintys.graph.op import Op
from phintys.scalar.row import Row
from phintys.tensor.elemwise import Elemwise
from tools.stubs import home_of

__all__ = ["PLACES", "families"]

PLACES = {
    "pt": "phintys.tensor",
    "pt.fft": "phintys.tensor.fft",
    "pt.linalg": "phintys.tensor.linalg",
    "pt.random": "phintys.random",
    "pt.signal": "phintys.tensor.signal",
}
"""What a program calls a namespace -> its module."""

ELEMENTWISE = {
    "arithmetic": "Arithmetic",
    "casting": "Casts",
    "comparison": "Comparisons",
    "complex_parts": "Parts of complex numbers",
    "exponential": "Exponentials and logarithms",
    "hypergeometric": "Hypergeometric functions",
    "incomplete_beta": "Incomplete beta functions",
    "integrals": "Integrals, factorials",
    "logic": "Bits and truth",
    "rounding": "Rounding",
    "selection": "Selection",
    "special": "Special functions",
    "statistical": "Functions of statistics",
    "trigonometric": "Trigonometric functions",
}
"""The file of a scalar function's row -> the heading of its family."""


def families() -> dict[str, dict[str, Any]]:
    """Return the functions by family and by their full name.

    Examples
    --------
    >>> from tools.site.families import families
    >>> found = families()
    >>> "pt.sinc" in found["Special functions"], "pt.fft.rfft" in found["fft"]
    (True, True)
    """
    found: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for place, module in PLACES.items():
        namespace = import_module(module)
        for name in dir(namespace):
            thing = getattr(namespace, name)
            if not name.startswith("_") and _is_function(thing):
                found[_family(thing)][f"{place}.{name}"] = thing
    return dict(sorted(found.items()))


def _is_function(thing: Any) -> bool:
    return callable(thing) and not inspect.isclass(thing) and bool(inspect.getdoc(thing))


def _family(thing: Any) -> str:
    """Return the name of a function's family: that of its module, or of its package."""
    if isinstance(thing, Elemwise) and isinstance(thing.scalar_op, Row):
        return ELEMENTWISE[home_of(thing.scalar_op).rpartition(".")[2]]
    module = type(thing).__module__ if isinstance(thing, Op) else str(thing.__module__)
    family = module.removeprefix("phintys.").removeprefix("tensor.").split(".")[0]
    return family.replace("_", " ")
