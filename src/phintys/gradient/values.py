"""Functions of variables that return values together with gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from phintys._base.errors import ArgumentError
from phintys.gradient.reverse import grad


def value_and_grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes what another one does, and its gradient.

    Parameters
    ----------
    function
        A function of variables, and of nests of them: lists, tuples, dicts and dataclasses of any
        depth. It returns a real scalar.
    argnums
        The position of the argument that the gradient is with respect to, or several of them.
    has_aux
        Whether the function returns a pair: the scalar, and something else, which is passed on.

    Returns
    -------
    callable
        Of the same arguments. It returns the value, or the pair, and the gradient: of the form of
        the argument, or a tuple of one for each of several.

    Raises
    ------
    ArgumentError
        What is given is not a function, ``argnums`` is neither an int nor several of them, or it
        names an argument that a call does not give by position.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> def loss(line, x, y):
    ...     return ((line["slope"] * x + line["height"] - y) ** 2).mean()
    >>> line = {"slope": pt.dscalar("slope"), "height": pt.dscalar("height")}
    >>> x, y = pt.dvectors("x", "y")
    >>> results = phintys.gradient.value_and_grad(loss)(line, x, y)
    >>> f = phintys.function([line, x, y], results)
    >>> f({"slope": 1.0, "height": 0.0}, [1.0, 3.0], [3.0, 5.0])
    [array(4.), {'slope': array(-8.), 'height': array(-4.)}]
    """
    if not callable(function):
        msg = (
            f"value_and_grad takes a function of variables, got {function!r}. The gradient of a "
            "variable is phintys.grad(cost, wrt)."
        )
        raise ArgumentError(msg)
    positions = (argnums,) if isinstance(argnums, int) else argnums
    if not isinstance(positions, Sequence) or not all(isinstance(one, int) for one in positions):
        msg = (
            f"value_and_grad: argnums is the position of an argument, or several, got {argnums!r}."
        )
        raise ArgumentError(msg)

    @wraps(function)
    def both(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        for position in positions:
            if not -len(args) <= position < len(args):
                msg = (
                    f"value_and_grad: argnums names the argument {position}, but there are "
                    f"{len(args)} arguments by position."
                )
                raise ArgumentError(msg)
        found = function(*args, **kwargs)
        value = found[0] if has_aux else found
        wrt = tuple([args[position] for position in positions])
        return found, grad(value, wrt[0] if isinstance(argnums, int) else wrt)

    return both
