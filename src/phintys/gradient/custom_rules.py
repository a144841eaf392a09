"""Functions with rules of their derivatives, and the derivatives of one call of such a function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phintys._base.errors import ArgumentError, GradientError, add_note
from phintys._base.nested_containers import matched, rebuilt, walk
from phintys.gradient.arithmetic import fit_dtype, is_complex, is_discrete, misfit_of, zero_like
from phintys.gradient.marks import disconnected_grad
from phintys.gradient.pullback import pull_back
from phintys.gradient.tracing import name_of, outputs_of, place_of
from phintys.graph.cloning import graph_replace
from phintys.graph.null_type import DisconnectedType, NullType, disconnected_type
from phintys.graph.variable import Variable
from phintys.tensor.convert import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.gradient.tracing import CallArguments


class FunctionWithRules:
    """A function of variables, and the rules that define its derivatives.

    Parameters
    ----------
    fun
        The function.
    name
        Its name, for messages, printing and profiles.
    nondiff
        The positions of the arguments that have no gradient, in order.

    Attributes
    ----------
    fwd, bwd
        The two halves of the reverse derivative, ``None`` unless it is defined by them.
    jvp
        The forward derivative, ``None`` unless it is defined.
    """

    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None
    jvp: Callable[..., Any] | None = None

    def __init__(self, fun: Callable[..., Any], name: str, nondiff: tuple[int, ...]) -> None:
        self.fun = fun
        self.name = name
        self.nondiff = nondiff

    def merged(self, fixed: Sequence[Any], others: Sequence[Any]) -> list[Any]:
        """Return all arguments in order."""
        total = len(fixed) + len(others)
        given, rest = iter(fixed), iter(others)
        return [next(given) if at in self.nondiff else next(rest) for at in range(total)]

    def split(self, result: Any) -> tuple[Any, Callable[..., Any]]:
        """Return the value and the gradient function that the function has returned."""
        if isinstance(result, tuple) and len(cast("tuple[Any, ...]", result)) == 2:
            value, pullback = cast("tuple[Any, Any]", result)
            if callable(pullback) and not isinstance(pullback, Variable):
                return value, pullback
        msg = (
            f"{self.name} has no gradient of its own: it must return a pair of its value and a "
            f"function that maps gradients for the value to gradients for its arguments, or have "
            f"rules, which {self.name}.defvjp(fwd, bwd) or {self.name}.defjvp(jvp) define before "
            f"it is called. It returned {result!r}.{place_of(self.fun)}"
        )
        raise ArgumentError(msg)


class Rules:
    """The derivatives of one call.

    Two calls of the same function with equal arguments, other than variables, have equal rules.

    Parameters
    ----------
    custom
        The function.
    fixed
        Its arguments that have no gradient.
    arguments
        The others.
    result
        The variables that it has returned.
    pullback
        The gradient function that it has returned, if any.
    inputs
        The variables that the function was called with, and those that it captured.
    """

    def __init__(
        self,
        custom: FunctionWithRules,
        fixed: tuple[Any, ...],
        arguments: CallArguments,
        result: Any,
        pullback: Callable[..., Any] | None,
        inputs: Sequence[Variable],
    ) -> None:
        self.custom = custom
        self.fixed = fixed
        self.arguments = arguments
        self.paths = [path for path, _ in walk(result)]
        self.form = rebuilt(result, [None] * len(self.paths))
        self._pullback = pullback
        self._inputs = list(inputs)

    @property
    def count(self) -> int:
        """The number of variables among the arguments."""
        return len(self.arguments.places)

    @property
    def goes_forward(self) -> bool:
        """Whether the forward derivative is defined."""
        return self.custom.jvp is not None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Rules) or self.custom is not other.custom:
            return False
        if self._pullback is not None or other._pullback is not None:
            return False
        try:
            return bool(self._key == other._key)
        except Exception:  # noqa: BLE001 - arguments can be anything, such as arrays
            return False

    def __hash__(self) -> int:
        return hash(id(self.custom))

    @property
    def _key(self) -> Any:
        arguments = self.arguments
        return self.fixed, arguments.nests, arguments.places, self.form

    def __getstate__(self) -> dict[str, Any]:
        # The gradient function and its variables belong to this process; they are made again.
        return {**self.__dict__, "_pullback": None, "_inputs": []}

    def __deepcopy__(self, memo: dict[int, Any]) -> Rules:
        return self

    # ---- reverse -------------------------------------------------------------------------------

    def pull_back(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return the gradients for the variables among the arguments.

        Parameters
        ----------
        inputs
            The inputs of the node: these variables, and those that were captured.
        outputs
            The outputs of the node.
        output_grads
            The gradients for the outputs; of ``DisconnectedType`` where there are none.
        """
        leaves, custom = inputs[: self.count], self.custom
        if custom.bwd is None and custom.jvp is not None:
            return self._transposed(inputs, output_grads)
        whole = [
            _zeros(output) if isinstance(g.type, DisconnectedType) else g
            for output, g in zip(outputs, output_grads, strict=True)
        ]
        gradients = rebuilt(self.form, whole)
        if custom.fwd is not None and custom.bwd is not None:
            rule = custom.bwd
            value, residuals = self._pair(custom.fwd(*self._all(leaves)), custom.fwd, "residuals")
            self._check_value(value, custom.fwd)
            _check_residuals(residuals, custom.fwd)
            found = self._outside(rule(*self.fixed, residuals, gradients), inputs)
        elif self._pullback is not None:
            rule = self._pullback
            found = self._outside(_called(rule, gradients), inputs)
        else:  # of a graph that was pickled
            _, rule = custom.split(custom.fun(*self._all(leaves)))
            found = self._outside(_called(rule, gradients), inputs)
        return self._for_arguments(found, leaves, rule)

    def _all(self, leaves: Sequence[Any]) -> list[Any]:
        return self.custom.merged(self.fixed, self.arguments.holding(leaves))

    def _outside(self, found: Any, inputs: Sequence[Any]) -> Any:
        """Return a nest of variables in terms of the inputs of the node."""
        pairs = [
            (inner, outer)
            for inner, outer in zip(self._inputs, inputs, strict=False)
            if inner is not outer
        ]
        values = [value for _, value in walk(found)]
        places = [place for place, value in enumerate(values) if isinstance(value, Variable)]
        if not pairs or not places:
            return found
        replaced = graph_replace([values[place] for place in places], pairs, strict=False)
        for place, one in zip(places, replaced, strict=True):
            values[place] = one
        return rebuilt(found, values)

    def _for_arguments(
        self, found: Any, leaves: Sequence[Variable], rule: Callable[..., Any]
    ) -> list[Any]:
        """Return the gradients of the variables from those of the arguments, checked."""
        arguments = self.arguments.nests
        count = len(arguments)
        if count == 1 and not isinstance(found, tuple | list):
            found = (found,)
        if not isinstance(found, tuple | list) or len(cast("tuple[Any]", found)) != count:
            given = len(cast("tuple[Any]", found)) if isinstance(found, tuple | list) else 1
            msg = (
                f"{name_of(rule)} must return a tuple of {count} gradients, one for each argument "
                f"of {self.custom.name}{' that has one' if self.fixed else ''}; it returned "
                f"{given}: {found!r}. None stands for zeros.{place_of(rule)}"
            )
            raise GradientError(msg)
        entries = matched(found, arguments)
        if entries is None:
            with_names = self.arguments.holding(leaves)
            msg = (
                f"{name_of(rule)} must return gradients in the form of the arguments of "
                f"{self.custom.name}, {with_names!r}; it returned {found!r}. None stands for zeros."
                f"{place_of(rule)}"
            )
            raise GradientError(msg)
        return [
            _fitting(entries[place], leaf, f"The gradient for {leaf}", rule)
            for place, leaf in zip(self.arguments.places, leaves, strict=True)
        ]

    # ---- forward -------------------------------------------------------------------------------

    def push_forward(self, inputs: Sequence[Any], points: Sequence[Any]) -> list[Any]:
        """Return the tangents of the outputs.

        Parameters
        ----------
        inputs
            As for :meth:`pull_back`.
        points
            A tangent for each variable among the arguments; ``None`` for zeros.
        """
        leaves, jvp = inputs[: self.count], self.custom.jvp
        assert jvp is not None
        primals = tuple(self.arguments.holding(leaves))
        moves = [
            _zeros(leaf) if point is None else point
            for leaf, point in zip(leaves, points, strict=True)
        ]
        tangents = tuple(self.arguments.holding(moves, alone=True))
        pair = self._pair(jvp(*self.fixed, primals, tangents), jvp, "tangents")
        value, found = self._outside(pair, inputs)
        outputs = self._check_value(value, jvp)
        entries = matched(found, self.form)
        if entries is None:
            msg = (
                f"{name_of(jvp)} must return tangents in the form of the value, {value!r}; it "
                f"returned {found!r}. None stands for zeros.{place_of(jvp)}"
            )
            raise GradientError(msg)
        return [
            _fitting(entry, output, f"The tangent of {self.custom.name}{path}", jvp)
            for entry, output, path in zip(entries, outputs, self.paths, strict=True)
        ]

    def _transposed(self, inputs: Sequence[Any], output_grads: Sequence[Any]) -> list[Any]:
        """Return the gradients by transposing the forward derivative, which is linear."""
        moves = [_zeros(leaf) for leaf in inputs[: self.count]]
        hidden = [None if one is None else disconnected_grad(one) for one in moves]
        pushed = self.push_forward(inputs, hidden)
        seeds: list[tuple[Variable, Variable]] = []
        for tangent, g in zip(pushed, output_grads, strict=True):
            if isinstance(g.type, DisconnectedType) or isinstance(tangent.type, DisconnectedType):
                continue
            if isinstance(tangent.type, NullType):
                return [tangent] * len(moves)
            seeds.append((tangent, fit_dtype(g, tangent.type)))
        targets = [one for one in hidden if one is not None]
        gradients = pull_back(seeds, targets)
        return [
            disconnected_type()
            if one is None
            else zero
            if (total := gradients.value(one)) is None
            else total
            for one, zero in zip(hidden, moves, strict=True)
        ]

    # ---- checks --------------------------------------------------------------------------------

    def _pair(self, found: Any, rule: Callable[..., Any], second: str) -> tuple[Any, Any]:
        if isinstance(found, tuple | list) and len(cast("tuple[Any, ...]", found)) == 2:
            one, other = cast("tuple[Any, Any]", found)
            return one, other
        msg = (
            f"{name_of(rule)} must return a pair: the value of {self.custom.name}, and the "
            f"{second}; it returned {found!r}.{place_of(rule)}"
        )
        raise GradientError(msg)

    def _check_value(self, value: Any, rule: Callable[..., Any]) -> list[Variable]:
        """Return the value that a rule has returned as variables."""
        outputs = outputs_of(value, rule, "custom_gradient")
        paths = [path for path, _ in walk(value)]
        if paths != self.paths:
            there, here = (
                ", ".join(path or "one" for path in some) for some in (paths, self.paths)
            )
            msg = (
                f"{name_of(rule)} must return the value of {self.custom.name} in the same form. "
                f"The function returns {here}, and the rule {there}.{place_of(rule)}"
            )
            raise GradientError(msg)
        return outputs


def _called(pullback: Callable[..., Any], gradients: Any) -> Any:
    try:
        return pullback(gradients)
    except TypeError as error:
        if isinstance(gradients, tuple):
            add_note(
                error,
                f"A gradient function has one argument: for a value that is a tuple, a tuple of "
                f"{len(cast('tuple[Any, ...]', gradients))} gradients.{place_of(pullback)}",
            )
        raise


def _check_residuals(residuals: Any, fwd: Callable[..., Any]) -> None:
    for path, value in walk(residuals):
        if value is None or isinstance(value, Variable | np.ndarray | np.generic | complex | float):
            continue
        if isinstance(value, int):
            continue
        msg = (
            f"The residuals of {name_of(fwd)} must be variables, numbers, arrays and None, or "
            f"tuples, lists and dicts of them; got {value!r} of type {type(value).__name__}"
            f"{f' at {path}' if path else ''}. What is not a variable can be an argument of the "
            f"function, listed in nondiff_argnums.{place_of(fwd)}"
        )
        raise GradientError(msg)


def _zeros(variable: Variable) -> Any:
    """Return zeros for a variable of numbers, ``None`` for others."""
    return None if getattr(variable.type, "dtype", None) is None else zero_like(variable)


def _fitting(given: Any, like: Variable, what: str, rule: Callable[..., Any]) -> Any:
    """Return a derivative that a rule has returned, as a variable that fits another."""
    if given is None:
        zeros = _zeros(like)
        return disconnected_type() if zeros is None else zeros
    if not isinstance(given, Variable):
        try:
            given = as_tensor_variable(given)
        except TypeError:
            msg = (
                f"{what}, of type {like.type}, must be a variable, got {given!r} of type "
                f"{type(given).__name__}. None stands for zeros.{place_of(rule)}"
            )
            raise GradientError(msg) from None
        if not is_complex(given.type):
            given = fit_dtype(given, like.type)
    type_ = given.type
    if isinstance(type_, DisconnectedType | NullType):
        return given
    remedy = ""
    if (misfit := misfit_of(type_, like.type)) != "":
        short = getattr(type_, "ndim", 0) < getattr(like.type, "ndim", 0)
        remedy = f"It must have {misfit} of {like}: " + (
            f"multiply it by pt.ones_like({like})" if short else "sum it over what was broadcast"
        )
    elif is_complex(type_) and not is_complex(like.type):
        remedy = "A real variable has a real one: take its .real"
    elif is_discrete(type_) and not is_discrete(like.type):
        remedy = "It must be continuous: cast it with .astype, or multiply it by what was passed in"
    elif hasattr(like.type, "dtype") and not hasattr(type_, "dtype"):
        remedy = "It must be an array of numbers"
    if remedy:
        msg = f"{what}, of type {like.type}, is {given} of type {type_}. {remedy}.{place_of(rule)}"
        raise GradientError(msg)
    return given
