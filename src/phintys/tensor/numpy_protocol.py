"""NumPy's functions and methods of ufuncs, called with symbolic arrays.

``np.median(x)`` is ``pt.median(x)``: the function of the same name, in ``pt.linalg`` and ``pt.fft``
for those of ``np.linalg`` and ``np.fft``.
"""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError
from phintys.tensor._operators import operators
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.devices import DEVICE
from phintys.tensor.dim_shuffle import shape_padright
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.synonyms import our_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType

    import numpy as np

_OTHER_NAMES = {"amax": "max", "amin": "min", "shape": "shape_tuple", "split": "array_split"}
"""Functions of NumPy whose meaning another name has here."""

_IN_PLACE = {"fill_diagonal", "place", "put", "put_along_axis"}
"""Functions that change their argument in NumPy, and return a changed copy here."""

_REDUCTIONS = {
    "reduce": {
        "add": "sum",
        "logical_and": "all",
        "logical_or": "any",
        "maximum": "max",
        "minimum": "min",
        "multiply": "prod",
    },
    "accumulate": {"add": "cumsum", "multiply": "cumprod"},
}
"""Method of a ufunc -> name of the ufunc -> the function that computes it."""


def call_function(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Return the expression for a call of one of NumPy's functions.

    Raises
    ------
    ArgumentError
        There is no such function here, or it does not have an argument.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> x = pt.dvector("x")
    >>> np.median(x).eval({x: [1.0, 5.0, 2.0]})
    array(2.)
    """
    name = function.__name__
    place = function.__module__.removeprefix("numpy").removeprefix(".")
    if name in _IN_PLACE:
        msg = (
            f"np.{name} changes its argument, and a symbolic array does not change. "
            f"phintys.tensor.{name} returns a changed copy: x = pt.{name}(x, ...)."
        )
        raise ArgumentError(msg)
    ours = _ours(place, _OTHER_NAMES.get(name, name))
    if ours is None:
        msg = (
            f"NumPy's {name} does not work on symbolic arrays, and phintys.tensor has no function "
            "of that name. Express it in others, call it through phintys.wrap_py, or use x.eval() "
            "to get a value."
        )
        raise ArgumentError(msg)
    given = our_names(ours, _without_defaults(kwargs))
    _check_arguments(ours, name, args, given)
    return ours(*args, **given)


def _without_defaults(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options without those that change nothing: no ``out``, and the only device."""
    return {
        key: value
        for key, value in options.items()
        if not (key == "out" and value is None)
        and not (key == "device" and (value is None or value == DEVICE))
    }


def _ours(place: str, name: str) -> Callable[..., Any] | None:
    home = operators.namespace
    for part in place.split(".") if place in {"linalg", "fft"} else ():
        home = getattr(home, part)
    found = getattr(home, name, None)
    return found if callable(found) else None


def _special(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """Return the function of SciPy's name, such as ``expit``, where ours has another one."""
    found = getattr(operators.namespace.special, ufunc.__name__, None)
    return found if isinstance(found, Elemwise) else None


def _check_arguments(
    ours: Callable[..., Any], name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    signature = inspect.signature(ours)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        msg = f"np.{name} is {ours.__module__}.{ours.__name__}{signature} here: {error}."
        raise ArgumentError(msg) from None


def call_ufunc(
    ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """Return the expression for a call of a ufunc, or of one of its methods.

    Raises
    ------
    ArgumentError
        There is no such function here, or it does not have an option.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> x = pt.dvector("x")
    >>> np.add.reduce(x).eval({x: [1.0, 2.0]}), np.multiply.outer(x, x).type.ndim
    (array(3.), 2)
    """
    function = operators.ufuncs.get(ufunc) or _ours("", ufunc.__name__) or _special(ufunc)
    given = _without_defaults(options)
    is_plain = not given or (given.keys() == {"dtype"} and isinstance(function, Elemwise))
    if method == "__call__" and function is not None and is_plain:
        return function(*inputs, **given)
    if method == "outer" and function is not None and not given:
        a, b = map(as_tensor_variable, inputs)
        return function(shape_padright(a, b.ndim), b)
    reduction = _REDUCTIONS.get(method, {}).get(ufunc.__name__)
    if reduction is not None:
        ours = getattr(operators.namespace, reduction)
        _check_arguments(ours, f"{ufunc.__name__}.{method}", inputs, {"axis": 0} | given)
        return ours(*inputs, **(given if len(inputs) > 1 else {"axis": 0} | given))
    what = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    using = f" with {', '.join(given)}" if given else ""
    msg = (
        f"NumPy's {what}{using} does not work on symbolic arrays. Use the functions of "
        "phintys.tensor, or x.eval() to get a value."
    )
    raise ArgumentError(msg)


def no_array(variable: object) -> TypeError:
    """Return the error for a caller that makes an array of a variable.

    If it is a function of SciPy, the error names the one to call in its place.
    """
    instead = "Use the functions of phintys.tensor on it, or its eval() to get a value"
    # SciPy has called __array__, which has called this.
    for place, name in _functions_of_scipy(sys._getframe(2)):
        homes = [f".{place}", ""] if place in {"linalg", "fft", "signal"} else ["", f".{place}"]
        home = next((home for home in homes if _offers(home, name)), None)
        if home is not None:
            instead = f"In place of SciPy's {name}, write phintys.tensor{home}.{name}"
    msg = f"NumPy cannot make an array of {variable}, which is symbolic. {instead}."
    return TypeError(msg)


def _offers(home: str, name: str) -> bool:
    package = operators.namespace
    if home:
        package = getattr(package, home.removeprefix("."), None)
    return callable(getattr(package, name, None))


def _functions_of_scipy(frame: FrameType | None) -> Iterator[tuple[str, str]]:
    """Yield the packages and names of the functions of SciPy that are called, innermost first."""
    while frame is not None and (package := _package_of(frame)) in {"numpy", "scipy"}:
        # SciPy makes some arrays by functions of NumPy.
        yield from _functions_in(frame) if package == "scipy" else ()
        frame = frame.f_back


def _package_of(frame: FrameType) -> str:
    return frame.f_globals.get("__name__", "").partition(".")[0]


def _functions_in(frame: FrameType) -> Iterator[tuple[str, str]]:
    """Yield the package and name of the function of a frame, and of the one that it decorates."""
    code, values = frame.f_code, frame.f_locals
    # A decorator's function has the decorated one among its free variables.
    decorated = [values.get(name) for name in code.co_freevars]
    functions = [(frame.f_globals["__name__"], code.co_name)]
    functions += [(one.__module__, one.__name__) for one in decorated if inspect.isfunction(one)]
    for module, name in functions:
        place = module.split(".")[1]
        if not place.startswith("_"):
            yield place, name
