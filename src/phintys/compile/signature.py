"""The arguments of a compiled function: binding to inputs, and error messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from phintys._base.errors import ArgumentError, add_note, shown
from phintys._base.names import near_misses
from phintys._base.nested_containers import form_of, is_nest, walk
from phintys.backends.reference.values import value_test
from phintys.graph.variable import Variable
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.compile.io import In
    from phintys.compile.nested import Nests
    from phintys.graph.shared_variable import Container

_MOST_CHARACTERS_SHOWN = 80


class Parameter:
    """One explicit input of a compiled function.

    Attributes
    ----------
    spec : In
        The specification of the input.
    default : Container or None
        The container of the default value; ``None`` if the argument is required.
    takes_numbers : bool
        Whether a number of the same precision is a valid argument.
    filter : callable
        Returns an argument as a value of the input's Type, or raises.
    """

    def __init__(self, spec: In, default: Container | None) -> None:
        self.spec = spec
        self.name = spec.name
        self.default = default
        self.filter = _filter_of(spec)
        type_ = spec.variable.type
        # Such a number is what the filter makes an array of, without a loss.
        self.takes_numbers = isinstance(type_, TensorType) and not type_.ndim and not spec.strict

    def __str__(self) -> str:
        name = self.name or "(unnamed)"
        default = "" if self.default is None else f" = {_short(self.default.value)}"
        return f"{name}: {self.spec.variable.type}{default}"


def _filter_of(spec: In) -> Callable[[Any], Any]:
    type_, strict, allow_downcast = spec.variable.type, spec.strict, spec.allow_downcast
    if type(type_).filter is TensorType.filter:
        return _array_filter(type_, strict, allow_downcast)
    if not strict and allow_downcast is None:
        return type_.filter
    return lambda value: type_.filter(value, strict=strict, allow_downcast=allow_downcast)


def _array_filter(type_: Any, strict: bool, allow_downcast: bool | None) -> Callable[[Any], Any]:
    """Return a filter with a fast path for arrays that are already valid."""
    ndarray, dtype, ndim = np.ndarray, type_.numpy_dtype, type_.ndim
    open_shape = all(size is None for size in type_.shape)
    full = type_.filter

    def filter_value(value: Any) -> Any:
        if (
            value.__class__ is ndarray
            and value.dtype is dtype
            and value.ndim == ndim
            and open_shape
        ):
            return value
        return full(value, strict, allow_downcast)

    return filter_value


class CallSignature:
    """The explicit inputs of a compiled function, in order.

    Parameters
    ----------
    parameters
        The inputs.
    function_name
        Name of the function, for messages.
    nests
        The forms of the arguments, if some are nests around the inputs.

    Attributes
    ----------
    reads_devices : bool
        Defaults are given as they are stored, even on a device.
    """

    def __init__(
        self,
        parameters: Sequence[Parameter],
        function_name: str | None,
        nests: Nests | None = None,
    ) -> None:
        self.parameters = list(parameters)
        self.function_name = function_name
        self.nests = nests
        self.reads_devices = False
        self.by_name: dict[str, int] = {}
        self.ambiguous: set[str] = set()
        for index, parameter in enumerate(self.parameters):
            if parameter.name is None:
                continue
            if parameter.name in self.by_name:
                self.ambiguous.add(parameter.name)
            self.by_name.setdefault(parameter.name, index)

    @property
    def called(self) -> str:
        """The function's name for messages."""
        return f"{self.function_name or 'function'}"

    def __str__(self) -> str:
        if self.nests is None:
            return f"{self.called}({', '.join(map(str, self.parameters))})"
        types = [str(parameter.spec.variable.type) for parameter in self.parameters]
        shown = [
            form_of(form, [types[number] for _, number in walk(form)])
            if is_nest(form)
            else str(self.parameters[form])
            for form in self.nests.inputs
        ]
        return f"{self.called}({', '.join(shown)})"

    def _place(self, index: int) -> str:
        """Return where the value of an input stands in the arguments."""
        return f"at index {index}" if self.nests is None else self.nests.places()[index]

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any], *, trust: bool) -> list[Any]:
        """Return a filtered value for each parameter.

        Raises
        ------
        ArgumentError
            Too many, unknown, repeated or missing arguments.
        """
        if len(args) > len(self.parameters):
            msg = f"{self.called}() takes {_count(len(self.parameters))}, got {len(args)}: {self}."
            raise ArgumentError(msg)
        given = dict(enumerate(args))
        for name, value in kwargs.items():
            given[self._position(name, given)] = value
        values: list[Any] = []
        for index, parameter in enumerate(self.parameters):
            if index in given:
                values.append(given[index] if trust else self.filter(index, given[index]))
            elif parameter.default is not None:
                default = parameter.default
                values.append(default.storage[0] if self.reads_devices else default.value)
            else:
                self._missing(given)
        return values

    def _position(self, name: str, given: Mapping[int, Any]) -> int:
        if name in self.ambiguous:
            msg = (
                f"{self.called}() has several inputs named {name!r}, so it cannot be given by "
                f"keyword: {self}. Give it by position, or rename one with In(variable, name=...)."
            )
            raise ArgumentError(msg)
        index = self.by_name.get(name)
        if index is None:
            close = near_misses(name, self.by_name)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            msg = f"{self.called}() has no input named {name!r}: {self}.{hint}"
            raise ArgumentError(msg)
        if index in given:
            msg = f"{self.called}() got two values for the input {name!r}: {self}."
            raise ArgumentError(msg)
        return index

    def _missing(self, given: Mapping[int, Any]) -> NoReturn:
        missing = [
            f"{parameter.name or '(unnamed)'} {self._place(index)}"
            for index, parameter in enumerate(self.parameters)
            if parameter.default is None and index not in given
        ]
        msg = f"{self.called}() lacks a value for {' and '.join(missing)}: {self}."
        raise ArgumentError(msg)

    def filter(self, index: int, value: Any) -> Any:
        """Return an argument as a value of its input's Type, adding a note to errors."""
        try:
            return self.parameters[index].filter(value)
        except Exception as error:
            self.explain(error, index, value)
            raise

    def explain(self, error: Exception, index: int, value: Any) -> None:
        """Add a note to an error: which argument is bad, and how to fix it."""
        parameter = self.parameters[index]
        type_ = parameter.spec.variable.type
        name = f" ({parameter.name!r})" if parameter.name else ""
        lines = [
            f"Bad argument {self._place(index)}{name} of {self.called}():",
            f"expected a value of type {type_}, got {_describe(value)}.",
            f"Signature: {self}",
        ]
        if hint := self._hint(parameter, value):
            lines.append(f"Hint: {hint}")
        add_note(error, "\n".join(lines))

    def _hint(self, parameter: Parameter, value: Any) -> str:
        spec = parameter.spec
        if isinstance(value, Variable):
            return (
                "a compiled function takes values. Build the expression first and compile it "
                "with phintys.function, or use value.eval()."
            )
        fitting = [
            index
            for index, other in enumerate(self.parameters)
            if other is not parameter and _fits(other, value)
        ]
        if spec.strict:
            return "the input is strict, so nothing is cast: convert the value, or drop strict."
        hint = ""
        if isinstance(value, np.ndarray) and isinstance(spec.variable.type, TensorType):
            hint = _array_hint(value, spec.variable.type)
        if fitting:
            hint += f" It would fit {self._place(fitting[0])}: are the arguments in order?"
        return hint.strip()


def _array_hint(value: np.ndarray[Any, Any], type_: TensorType) -> str:
    """Return how to make a valid argument of an array, or nothing."""
    if value.ndim != type_.ndim:
        return f"the input takes {type_.ndim}-d arrays, the value is {value.ndim}-d: reshape it."
    if value.dtype == type_.numpy_dtype:
        return ""
    if np.can_cast(value.dtype, type_.dtype, "same_kind"):
        return (
            f"cast it with value.astype({type_.dtype!r}), or allow the loss of precision with "
            "In(variable, allow_downcast=True)."
        )
    if value.dtype.kind in "biuf":
        return f"round it, or cast it with value.astype({type_.dtype!r})."
    return ""


def _fits(parameter: Parameter, value: Any) -> bool:
    return isinstance(value, np.ndarray) and value_test(parameter.spec.variable.type)(value)


def _count(number: int) -> str:
    return {0: "no arguments", 1: "1 argument"}.get(number, f"at most {number} arguments")


def _describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of dtype {value.dtype} and shape {value.shape}"
    return f"{_short(value)} of type {type(value).__name__}"


def _short(value: Any) -> str:
    text = " ".join(shown(value).split())
    return text if len(text) <= _MOST_CHARACTERS_SHOWN else f"{text[:_MOST_CHARACTERS_SHOWN]}..."
