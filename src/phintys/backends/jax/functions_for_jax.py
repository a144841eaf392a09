"""Compiled functions as pure functions of JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError
from phintys.backends.jax.arrays import jax, jnp
from phintys.backends.jax.program import JaxProgram
from phintys.backends.jax.requirement import with_64_bits
from phintys.backends.jax.tracing import Session, Trace
from phintys.compile.executor import Function

if TYPE_CHECKING:
    from phintys.graph.variable import Variable


def to_jax(function: Function[Any]) -> Callable[..., Any]:
    """Return a function of JAX that computes what a compiled function does.

    It is pure, so that ``jax.jit``, ``jax.vmap`` and ``jax.grad`` apply to it, alone or in
    functions of JAX. Conditions on values are not checked.

    Parameters
    ----------
    function
        A function that was compiled in a mode of JAX, without updates. Its shared variables have
        the values of the time when it is traced.

    Returns
    -------
    Callable
        Takes and returns arrays of JAX, by position or by name, in the form of ``function``. NumPy
        arrays and numbers are known while it is traced, and so may be sizes.

    Raises
    ------
    ArgumentError
        The function was compiled in another mode, or has updates.

    Examples
    --------
    >>> import jax, phintys, phintys.tensor as pt
    >>> x = pt.fvector("x")
    >>> f = phintys.function([x], (x**2).sum(), mode="jax")
    >>> jax.grad(phintys.jax.to_jax(f))(jax.numpy.arange(3.0)).tolist()
    [0.0, 2.0, 4.0]
    """
    program = getattr(function, "vm", None)
    if not isinstance(function, Function) or not isinstance(program, JaxProgram):
        msg = (
            "phintys.jax.to_jax(f): f must be a function compiled in a mode of JAX, as by "
            f"phintys.function(..., mode='jax'); got {function!r}."
        )
        raise ArgumentError(msg)
    maker = function.maker
    if maker.updated:
        names = ", ".join(str(maker.inputs[index].variable) for index in maker.updated)
        msg = (
            f"phintys.jax.to_jax(f): {function!r} updates {names}, and functions of JAX change "
            "nothing. Compile one that returns the new values instead."
        )
        raise ArgumentError(msg)
    options, fgraph = program.options, program.fgraph
    dtypes = [getattr(variable.type, "dtype", None) for variable in fgraph.inputs]
    arity = sum(not spec.implicit for spec in maker.inputs)
    names = [variable.name for variable in fgraph.inputs[:arity]]

    def pure(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *(kwargs[name] for name in names[len(args) :] if name in kwargs)]
        if len(given) != arity or len(kwargs) != arity - len(args):
            msg = f"{function!r} takes {arity} arguments, {names}; got {len(args)} and {[*kwargs]}."
            raise ArgumentError(msg)
        hidden = [container.value for container in function.input_storage[arity:]]
        session = Session(checks=False, host=options.host == "allow", precision=options.matmul)
        with with_64_bits():
            values = [_as_given(v, d) for v, d in zip([*given, *hidden], dtypes, strict=True)]
            _check_ranks(function, fgraph.inputs, values)
            found = Trace(session).evaluate(fgraph.inputs, fgraph.outputs, values)
            results = [jnp.asarray(value) for value in found]
        match maker.unpack:
            case "one":
                return results[0]
            case "none":
                return None
            case "dict":
                return dict(zip(maker.keys or (), results, strict=True))
            case _:
                return results

    return pure


def _check_ranks(function: Any, variables: Sequence[Variable], values: Sequence[Any]) -> None:
    """Check that arguments have as many axes as the variables: functions of JAX take any arrays.

    Raises
    ------
    ArgumentError
        One has not.
    """
    for variable, value in zip(variables, values, strict=True):
        rank = getattr(variable.type, "ndim", value.ndim)
        if value.ndim != rank:
            msg = (
                f"The argument {variable} of {function!r} must have {rank} axes, got an array of "
                f"the shape {value.shape}. jax.vmap adds an axis to a function; to apply one to "
                "each element, compile it for scalars."
            )
            raise ArgumentError(msg)


def _as_given(value: Any, dtype: Any) -> Any:
    """Return an argument in the dtype of its variable: known, unless it is an array of JAX."""
    if not isinstance(value, jax.Array):
        return np.asarray(value, dtype)
    return value if dtype is None else value.astype(dtype)  # states of generators have none
