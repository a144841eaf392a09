"""Validation and normalization of the arguments of ``function``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from phintys._base.config import config
from phintys._base.errors import ArgumentError, DisconnectedInputError, NullGradientError
from phintys.compile.io import In, Out, as_in
from phintys.graph.null_type import DisconnectedType, NullType
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.variable import Variable
from phintys.tensor.convert import as_tensor_variable


def checked_inputs(inputs: Any, allow_downcast: bool | None) -> list[In]:
    """Return ``inputs`` as a list of distinct :class:`In` objects."""
    if isinstance(inputs, Variable | In):
        msg = f"function: inputs is a list, got {inputs!r}. Write [{inputs}]."
        raise ArgumentError(msg)
    if isinstance(inputs, str | bytes | Mapping | None) or not isinstance(inputs, Iterable):
        msg = (
            "function: inputs is a list of variables, got "
            f"{inputs!r} of type {type(inputs).__name__}. For no inputs write []."
        )
        raise ArgumentError(msg)
    if isinstance(inputs, set | frozenset):
        msg = "function: inputs is a list of variables, got a set, which has no order."
        raise ArgumentError(msg)
    specs = [as_in(one, allow_downcast=allow_downcast) for one in inputs]
    seen: dict[Variable, int] = {}
    for index, spec in enumerate(specs):
        if spec.variable in seen:
            msg = (
                f"function: the variable {spec.variable} is at index {seen[spec.variable]} and at "
                f"index {index} of the inputs. Give each input once."
            )
            raise ArgumentError(msg)
        seen[spec.variable] = index
    return specs


def checked_outputs(outputs: Any) -> tuple[list[Out], list[str] | None, str]:
    """Return the outputs, the keys of the returned dict if any, and the form of the result."""
    if outputs is None:
        return [], None, "none"
    if isinstance(outputs, dict):
        for key in outputs:
            if not isinstance(key, str):
                msg = f"function: the keys of an outputs dict are str, got {key!r}."
                raise ArgumentError(msg)
        return [_as_out(one) for one in outputs.values()], list(outputs), "dict"
    if isinstance(outputs, list | tuple):
        return [_as_out(one) for one in outputs], None, "list"
    return [_as_out(outputs)], None, "one"


def _as_out(output: Any) -> Out:
    out = output if isinstance(output, Out) else Out(output)
    variable = out.variable
    if not isinstance(variable, Variable):
        variable = _as_constant(variable)
        out = Out(variable, out.borrow)
    if isinstance(variable.type, NullType):
        msg = f"function: the output {variable} is an undefined gradient: {variable.type.why_null}."
        raise NullGradientError(msg)
    if isinstance(variable.type, DisconnectedType):
        msg = (
            f"function: the output {variable} is a disconnected gradient, which has no value. For "
            "zeros, use grad(..., disconnected_inputs='ignore')."
        )
        raise DisconnectedInputError(msg)
    return out


def _as_constant(output: Any) -> Variable:
    msg = (
        f"function: an output is a variable, or a number or array, got {output!r} of type "
        f"{type(output).__name__}. Outputs are one variable, None, or lists, tuples, dicts and "
        "dataclasses of variables, of any depth."
    )
    if isinstance(output, list | tuple | set | frozenset | Mapping):
        raise ArgumentError(msg)
    try:
        return as_tensor_variable(output)
    except (TypeError, ValueError) as error:
        raise ArgumentError(msg) from error


def checked_name(name: object, called: str = "function") -> str | None:
    """Return ``name``, which must be a str or ``None``."""
    if name is not None and not isinstance(name, str):
        msg = f"{called}: name is a str, got {name!r}."
        raise ArgumentError(msg)
    return name


def checked_choice(on_unused_input: object) -> str:
    """Return ``on_unused_input``, or the configured default if it is ``None``."""
    chosen = config.on_unused_input if on_unused_input is None else on_unused_input
    if chosen not in {"raise", "warn", "ignore"}:
        msg = f"function: on_unused_input is 'raise', 'warn' or 'ignore', got {on_unused_input!r}."
        raise ArgumentError(msg)
    return str(chosen)


def checked_no_default_updates(refused: Any) -> bool | list[SharedVariable]:
    """Return ``no_default_updates`` as a bool or a list."""
    if isinstance(refused, bool):
        return refused
    if isinstance(refused, list | tuple | set | frozenset) and all(
        isinstance(one, SharedVariable) for one in refused
    ):
        return list(refused)
    msg = (
        "function: no_default_updates is True, False or a list of shared variables, got "
        f"{refused!r}."
    )
    raise ArgumentError(msg)
