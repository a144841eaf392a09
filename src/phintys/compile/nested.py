"""Functions of nests: arguments and results are dicts, tuples and dataclasses around arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from phintys._base.errors import ArgumentError
from phintys._base.nested_containers import forms_of, is_nest, matched, rebuilt, walk
from phintys._base.records import record


def has_nests(inputs: Any, outputs: Any) -> bool:
    """Return whether an input or an output of a function is a nest around variables.

    A list of variables in the list of inputs is refused: it is usually a forgotten star. In outputs
    it is what ``grad`` returns for a list.
    """
    if isinstance(inputs, list | tuple) and any(map(_is_deep, inputs)):
        return True
    if isinstance(outputs, dict):
        return any(map(is_nest, outputs.values()))
    if isinstance(outputs, list | tuple):
        return any(map(is_nest, outputs))
    return is_nest(outputs)


def _is_deep(entry: Any) -> bool:
    """Return whether a nest other than a list is in lists, or is the entry itself."""
    waiting, seen = [entry], set[int]()
    while waiting:
        one = waiting.pop()
        if not isinstance(one, list):
            if is_nest(one):
                return True
        elif id(one) not in seen:
            seen.add(id(one))
            waiting.extend(one)
    return False


def leaves_of(nest: Any) -> list[Any]:
    """Return the variables in a nest, or in the top of the inputs or outputs of a function."""
    return [leaf for _, leaf in walk(nest)]


@record(frozen=True, eq=False)
class Nests:
    """The forms of the arguments and results of a function, where some of them are nests.

    Attributes
    ----------
    inputs : list
        For each argument, a nest of the same form around the numbers of its values.
    outputs
        The same for what is returned.
    """

    inputs: list[Any]
    outputs: Any

    @classmethod
    def around(cls, inputs: Iterable[Any], outputs: Any) -> Nests:
        """Return the forms of inputs and outputs, which are nests around variables."""
        returned = list(outputs) if isinstance(outputs, tuple) else outputs
        return cls(rebuilt(list(inputs), count()), rebuilt(returned, count()))

    def values(self, args: Sequence[Any], called: str) -> list[Any]:
        """Return the values in the arguments of a call, in order.

        Raises
        ------
        ArgumentError
            An argument is not of the form of its input, or there are too many.
        """
        if len(args) > len(self.inputs):
            msg = f"{called}() takes {len(self.inputs)} arguments, got {len(args)}."
            raise ArgumentError(msg)
        values: list[Any] = []
        for position, (given, form) in enumerate(zip(args, self.inputs, strict=False)):
            if not is_nest(form):
                values.append(given)
                continue
            found = None if given is None else matched(given, form, of_arrays=True)
            if found is None:
                expected, got = forms_of(form, given)
                msg = (
                    f"Argument {position} of {called}() has another form than its input: expected "
                    f"{expected}, got {got}."
                )
                raise ArgumentError(msg)
            values += found
        return values

    def places(self) -> list[str]:
        """Return where each value stands in the arguments, for messages."""
        return [
            f"at {path} of argument {position}" if path else f"at index {position}"
            for position, form in enumerate(self.inputs)
            for path, _ in walk(form)
        ]

    def chosen(self, subset: Any, called: str) -> Any:
        """Return a nest around the numbers of some of the outputs, given by index or by key.

        Raises
        ------
        ArgumentError
            There is no such output.
        """
        outputs = self.outputs if isinstance(self.outputs, dict | list) else [self.outputs]
        there = [*outputs] if isinstance(outputs, dict) else [*range(len(outputs))]
        if isinstance(subset, str) or not isinstance(subset, Sequence):
            msg = f"output_subset is a list of outputs, got {subset!r}."
            raise ArgumentError(msg)
        for key in subset:
            if key not in there:
                msg = f"output_subset: {called}() has no output {key!r}; it has {there}."
                raise ArgumentError(msg)
        found = [outputs[key] for key in subset]
        return dict(zip(subset, found, strict=True)) if isinstance(outputs, dict) else found


class NestedCall:
    """The call of a function whose arguments or results are nests.

    Parameters
    ----------
    nests
        Their forms.
    flat
        The call that takes and returns the values in them.
    called
        The name of the function, for messages.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> x = pt.dvector("x")
    >>> line = {"slope": pt.dscalar("slope"), "height": pt.dscalar("height")}
    >>> y = line["slope"] * x + line["height"]
    >>> f = phintys.function([line, x], (y, {"first": y[0]}))
    >>> f({"slope": 2.0, "height": 1.0}, [0.0, 1.0])
    [array([1., 3.]), {'first': array(1.)}]
    """

    __slots__ = ("_called", "_flat", "_nests")

    def __init__(self, nests: Nests, flat: Callable[..., Any], called: str) -> None:
        self._nests = nests
        self._flat = flat
        self._called = called

    def __call__(self, /, *args: Any, output_subset: Any = None, **kwargs: Any) -> Any:
        """Compute the outputs, and store the updates.

        Parameters
        ----------
        args
            A value for each input, of its form.
        output_subset
            Indices or keys of the outputs to compute.
        kwargs
            Values of inputs that have names and come after those in ``args``.

        Raises
        ------
        ArgumentError
            An argument is not of the form of its input, or there are too many.
        """
        values = self._nests.values(args, self._called)
        if output_subset is None:
            results = self._flat(*values, **kwargs)
            return None if results is None else rebuilt(self._nests.outputs, results)
        chosen = self._nests.chosen(output_subset, self._called)
        results = self._flat(*values, output_subset=leaves_of(chosen), **kwargs)
        return rebuilt(chosen, results)
