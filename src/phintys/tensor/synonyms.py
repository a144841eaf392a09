"""The names that NumPy, the array API and PyTensor give to the same argument.

A function that is decorated with :func:`also_named` takes its arguments under all names that
:data:`SYNONYMS` lists for it. Positional calls pass through.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from phintys._base.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    F = TypeVar("F", bound=Callable[..., Any])
else:
    F = TypeVar("F")

__all__ = ["SYNONYMS", "also_named"]

_ARRAY = {"a": "x", "input": "x"}

SYNONYMS: dict[str, dict[str, str]] = {
    "all": _ARRAY,
    "any": _ARRAY,
    "argsort": {"a": "x"},
    "average": _ARRAY,
    "concatenate": {"arrays": "tensors", "tensor_list": "tensors"},
    "diagonal": {"a": "x"},
    "diff": {"a": "x"},
    "empty_like": {"a": "x", "prototype": "x"},
    "expand_dims": {"a": "x"},
    "eye": {"N": "n", "M": "m", "n_rows": "n", "n_cols": "m"},
    "full_like": {"a": "x"},
    "max": _ARRAY,
    "mean": _ARRAY,
    "min": _ARRAY,
    "moveaxis": {"a": "x"},
    "ones_like": {"a": "x", "model": "x"},
    "prod": _ARRAY,
    "ptp": _ARRAY,
    "repeat": {"a": "x"},
    "sort": {"a": "x"},
    "stack": {"arrays": "tensors"},
    "std": _ARRAY,
    "sum": _ARRAY,
    "swapaxes": {"a": "x", "y": "x"},
    "tile": {"A": "x"},
    "trace": {"a": "x"},
    "tri": {"N": "n", "M": "m"},
    "tril": {"m": "x"},
    "triu": {"m": "x"},
    "var": _ARRAY,
    "where": {"cond": "condition", "ift": "x", "iff": "y", "x1": "x", "x2": "y"},
    "zeros_like": {"a": "x", "model": "x"},
}
"""Function -> another name of an argument -> its name here."""


def also_named(function: F) -> F:
    """Let a function take its arguments under other names too, those in :data:`SYNONYMS`.

    Raises
    ------
    ArgumentError
        When it is called: an argument is given under two names.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.sum(a=[1, 2]).eval(), pt.sum(input=[1, 2]).eval()
    (array(3), array(3))
    """
    others = SYNONYMS[function.__name__]

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if options and not others.keys().isdisjoint(options):
            named: dict[str, Any] = {}
            for key, value in options.items():
                ours = others.get(key, key)
                if ours in named:
                    msg = (
                        f"{function.__name__} got its argument {ours!r} twice, also as {key!r}: "
                        "these are names of the same argument."
                    )
                    raise ArgumentError(msg)
                named[ours] = value
            options = named
        return function(*args, **options)

    return call  # pyright: ignore[reportReturnType]
