"""Functions of nests: arguments and results are dicts, tuples and dataclasses around arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

from phintys._base.errors import ArgumentError
from phintys._base.nested_containers import form_of, is_nest, matched, rebuilt, walk
from phintys.compile.executor import Function


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


class FunctionOfNests:
    """A compiled function whose arguments or results are nests; see :func:`phintys.function`.

    Parameters
    ----------
    flat
        The function of the values in the nests, in their order.
    inputs, outputs
        The nests, around variables.

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

    def __init__(self, flat: Function[Any], inputs: Iterable[Any], outputs: Any) -> None:
        self.flat = flat
        self._inputs = [emptied(nest) for nest in inputs]
        self._outputs = list(emptied(outputs)) if isinstance(outputs, tuple) else emptied(outputs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs, and store the updates.

        Parameters
        ----------
        args
            A value for each input, of its form.
        kwargs
            Values of inputs that have names and come after those in ``args``.

        Raises
        ------
        ArgumentError
            An argument is not of the form of its input, or there are too many.
        """
        results = self.flat(*self._leaves(args), **kwargs)
        if self.flat.maker.unpack == "none":
            return None
        return rebuilt(self._outputs, results)

    def _leaves(self, args: Sequence[Any]) -> list[Any]:
        """Return the values of the arguments, in order."""
        if len(args) > len(self._inputs):
            msg = f"{self!r} takes {len(self._inputs)} arguments, got {len(args)}."
            raise ArgumentError(msg)
        values: list[Any] = []
        for position, (given, form) in enumerate(zip(args, self._inputs, strict=False)):
            if not is_nest(form):
                values.append(given)
                continue
            found = None if given is None else matched(given, form, of_arrays=True)
            if found is None:
                msg = (
                    f"Argument {position} of {self!r} has another form than its input: expected "
                    f"{form_of(form)}, got {form_of(given)}."
                )
                raise ArgumentError(msg)
            values += found
        return values

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "flat" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.flat, name)

    def __repr__(self) -> str:
        inputs = ", ".join(map(form_of, self._inputs))
        return f"<Function {self.flat.name or ''}({inputs}) -> {form_of(self._outputs)}>"


def emptied(nest: Any) -> Any:
    """Return a nest of the same form around nothing."""
    return rebuilt(nest, repeat(...))
