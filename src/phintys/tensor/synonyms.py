"""The names that NumPy, the array API and PyTensor give to the same argument.

A function that is decorated with :func:`also_named` takes its arguments under all names that
:data:`SYNONYMS` lists for it. Positional calls pass through.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from phintys._base.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    F = TypeVar("F", bound=Callable[..., Any])
else:
    F = TypeVar("F")

_ARRAY = {"a": "x", "input": "x"}

SYNONYMS: dict[str, dict[str, str]] = {
    "all": _ARRAY,
    "angle": {"x": "z"},
    "any": _ARRAY,
    "append": {"arr": "x"},
    "argmax": {"a": "x"},
    "argmin": {"a": "x"},
    "argpartition": {"a": "x"},
    "argsort": {"a": "x"},
    "argwhere": {"a": "x"},
    "array_equal": {"a1": "a", "a2": "b"},
    "array_equiv": {"a1": "a", "a2": "b"},
    "array_split": {"ary": "x"},
    "average": _ARRAY,
    "broadcast_to": {"array": "x"},
    "can_cast": {"from_": "source"},
    "ceil_intdiv": {"a": "x", "b": "y"},
    "choose": {"a": "x"},
    "clip": {"a": "x", "a_min": "min", "lower": "min", "a_max": "max", "upper": "max"},
    "column_stack": {"tup": "tensors"},
    "compress": {"a": "x"},
    "concatenate": {"arrays": "tensors", "tensor_list": "tensors"},
    "copy": {"a": "x"},
    "count_nonzero": {"a": "x"},
    "cross": {"a": "x1", "b": "x2"},
    "cummax": {"a": "x"},
    "cummin": {"a": "x"},
    "cumprod": {"a": "x"},
    "cumsum": {"a": "x"},
    "delete": {"arr": "x"},
    "diag_indices_from": {"arr": "x"},
    "diagonal": {"a": "x"},
    "diff": {"a": "x"},
    "dot": {"a": "x", "b": "y", "l": "x", "r": "y"},
    "dstack": {"tup": "tensors"},
    "ediff1d": {"ary": "x"},
    "empty_like": {"a": "x", "prototype": "x"},
    "expand_dims": {"a": "x"},
    "extract": {"arr": "x"},
    "eye": {"N": "n", "M": "m", "n_rows": "n", "n_cols": "m"},
    "fft": {"a": "x"},
    "fft2": {"a": "x"},
    "fftn": {"a": "x"},
    "fill_diagonal": {"a": "x"},
    "flatnonzero": {"a": "x"},
    "flip": {"m": "x"},
    "fliplr": {"m": "x"},
    "flipud": {"m": "x"},
    "full_like": {"a": "x"},
    "hfft": {"a": "x"},
    "hstack": {"tup": "tensors"},
    "ifft": {"a": "x"},
    "ifft2": {"a": "x"},
    "ifftn": {"a": "x"},
    "ihfft": {"a": "x"},
    "inner": {"a": "x", "b": "y"},
    "insert": {"arr": "x"},
    "intersect1d": {"ar1": "a", "ar2": "b"},
    "irfft": {"a": "x"},
    "irfft2": {"a": "x"},
    "irfftn": {"a": "x"},
    "kron": {"a": "x", "b": "y", "x1": "x", "x2": "y"},
    "log_softmax": {"c": "x"},
    "matmul": {"x1": "x", "x2": "y"},
    "max": _ARRAY,
    "max_and_argmax": {"a": "x"},
    "mean": _ARRAY,
    "median": {"a": "x"},
    "min": _ARRAY,
    "moveaxis": {"a": "x"},
    "nanargmax": {"a": "x"},
    "nanargmin": {"a": "x"},
    "nancumprod": {"a": "x"},
    "nancumsum": {"a": "x"},
    "nanmax": {"a": "x"},
    "nanmean": {"a": "x"},
    "nanmedian": {"a": "x"},
    "nanmin": {"a": "x"},
    "nanpercentile": {"a": "x"},
    "nanprod": {"a": "x"},
    "nanquantile": {"a": "x"},
    "nanstd": {"a": "x"},
    "nansum": {"a": "x"},
    "nanvar": {"a": "x"},
    "nonzero": {"a": "x"},
    "ones_like": {"a": "x", "model": "x"},
    "outer": {"a": "x", "b": "y"},
    "pad": {"array": "x"},
    "partition": {"a": "x"},
    "percentile": {"a": "x"},
    "place": {"arr": "x", "vals": "values"},
    "polyadd": {"a1": "p", "a2": "q"},
    "polymul": {"a1": "p", "a2": "q"},
    "polysub": {"a1": "p", "a2": "q"},
    "prod": _ARRAY,
    "ptp": _ARRAY,
    "put": {"a": "x", "ind": "indices", "v": "values"},
    "put_along_axis": {"arr": "x"},
    "quantile": {"a": "x"},
    "ravel": {"a": "x"},
    "ravel_multi_index": {"dims": "shape"},
    "repeat": {"a": "x"},
    "reshape": {"a": "x", "newshape": "shape"},
    "rfft": {"a": "x"},
    "rfft2": {"a": "x"},
    "rfftn": {"a": "x"},
    "roll": {"a": "x"},
    "rot90": {"m": "x"},
    "round": {"a": "x"},
    "searchsorted": {"a": "x", "x1": "x", "x2": "v"},
    "setdiff1d": {"ar1": "a", "ar2": "b"},
    "setxor1d": {"ar1": "a", "ar2": "b"},
    "shape": {"a": "x"},
    "shape_padaxis": {"t": "x"},
    "shape_padleft": {"t": "x"},
    "shape_padright": {"t": "x"},
    "size": {"a": "x"},
    "softmax": {"c": "x"},
    "sort": {"a": "x"},
    "split": {"ary": "x"},
    "squeeze": {"a": "x"},
    "stack": {"arrays": "tensors"},
    "stacklists": {"arg": "tensors"},
    "std": _ARRAY,
    "sum": _ARRAY,
    "swapaxes": {"a": "x", "y": "x"},
    "take": {"a": "x"},
    "take_along_axis": {"arr": "x"},
    "tensordot": {"a": "x", "b": "y", "x1": "x", "x2": "y"},
    "tile": {"A": "x"},
    "trace": {"a": "x", "X": "x"},
    "transpose": {"a": "x"},
    "tri": {"N": "n", "M": "m"},
    "tril": {"m": "x"},
    "tril_indices_from": {"arr": "x"},
    "triu": {"m": "x"},
    "triu_indices_from": {"arr": "x"},
    "union1d": {"ar1": "a", "ar2": "b"},
    "unique": {"ar": "x"},
    "unravel_index": {"dims": "shape"},
    "var": _ARRAY,
    "vdot": {"a": "x", "b": "y"},
    "vstack": {"tup": "tensors"},
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
            options = our_names(call, options)
        return function(*args, **options)

    call.other_names = others  # pyright: ignore[reportAttributeAccessIssue]
    return call  # pyright: ignore[reportReturnType]


def our_names(function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments given by name under the names that a function has for them.

    Raises
    ------
    ArgumentError
        An argument is given under two names.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> our_names(pt.sum, {"a": [1, 2], "axis": 0})
    {'x': [1, 2], 'axis': 0}
    """
    others = getattr(function, "other_names", {})
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
    return named
