"""Rules defined by patterns: ``sub(x, x) -> zeros_like(x)``.

A pattern is a nested tuple ``(op, argument, ...)``. ``op`` is an Op or a class of Ops; an argument
is another such tuple, a :class:`Wild` (or a string, short for one), a number, which matches a
constant of that value, or a variable, which matches itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import permutations
from numbers import Number
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from phintys._base.errors import RewriteError
from phintys.graph.op import Op
from phintys.graph.variable import Constant, Variable
from phintys.rewriting.rewriter import NodeRewriter, Result, equation_of

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.rewriting.rewriter import Case

Bindings: TypeAlias = "dict[str, Variable]"


class _NotConstant:
    def __repr__(self) -> str:
        return "NOT_CONSTANT"


NOT_CONSTANT: Any = _NotConstant()
"""Returned by :func:`constant_value` for a variable whose value is not known."""


class Wild:
    """A placeholder in a pattern: matches any variable, the same one at each occurrence.

    Parameters
    ----------
    name
        Name by which the right-hand side refers to the variable.
    guard
        A predicate that the variable must satisfy.

    Examples
    --------
    >>> from phintys.rewriting import Wild
    >>> Wild("x", guard=lambda v: v.name == "bias")
    Wild('x')
    """

    def __init__(self, name: str, guard: Callable[[Variable], bool] | None = None) -> None:
        self.name = name
        self.guard = guard

    def where(self, guard: Callable[[Variable], bool]) -> Wild:
        """Return the placeholder with a guard, for use in patterns built by a lambda."""
        return Wild(self.name, guard)

    def __repr__(self) -> str:
        return f"Wild({self.name!r})"


class _AnyOrder(tuple[Any, ...]):
    """A pattern whose arguments can be in any order."""

    __slots__ = ()


def any_order(op: Op | type[Op], *arguments: Any) -> Any:
    """Return a pattern for ``op`` applied to the arguments in any order.

    Examples
    --------
    >>> from phintys.graph import Op
    >>> from phintys.rewriting import any_order
    >>> add = Op()
    >>> any_order(add, "x", 0)
    (Op, 'x', 0)
    """
    return _AnyOrder((op, *arguments))


def _read_constant(variable: Variable) -> Any:
    return variable.data if isinstance(variable, Constant) else NOT_CONSTANT


_READERS: list[Callable[[Variable], Any]] = [_read_constant]


def set_constant_reader(reader: Callable[[Variable], Any]) -> None:
    """Set the function with which patterns read constant values of variables.

    Parameters
    ----------
    reader
        Returns the value, a scalar for an array whose elements are all equal, or
        :data:`NOT_CONSTANT`. The tensor package sets one that sees through broadcasting.
    """
    _READERS[-1] = reader


def constant_value(variable: Variable) -> Any:
    """Return the known constant value of a variable, or :data:`NOT_CONSTANT`."""
    return _READERS[-1](variable)


def _is_number(thing: object) -> bool:
    return isinstance(thing, Number | np.generic)


def _equals_number(variable: Variable, number: Any) -> bool:
    value = constant_value(variable)
    if value is NOT_CONSTANT or np.ndim(value) != 0:
        return False
    return bool(value == number)


def _same(a: Variable, b: Variable) -> bool:
    return a is b or (isinstance(a, Constant) and a.equals(b))


def _op_matches(op: Op, wanted: Op | type[Op]) -> bool:
    return isinstance(op, wanted) if isinstance(wanted, type) else op == wanted


def _main_output(node: Apply) -> int | None:
    """Return the index of the output that represents the node in a pattern."""
    if node.op.default_output is not None:
        return node.op.default_output
    return 0 if len(node.outputs) == 1 else None


class _Matcher:
    """Finds the matches of a pattern with a variable."""

    def __init__(self, fgraph: FunctionGraph, allow_shared: bool) -> None:
        self.fgraph = fgraph
        self.allow_shared = allow_shared

    def match(self, pattern: Any, variable: Variable, bound: Bindings) -> Iterator[Bindings]:
        if isinstance(pattern, Wild):
            yield from self._match_wild(pattern, variable, bound)
        elif isinstance(pattern, tuple):
            node = variable.owner
            if node is None or variable.index != _main_output(node):
                return
            if not self.allow_shared and len(self.fgraph.clients[variable]) > 1:
                return
            yield from self.match_node(cast("tuple[Any, ...]", pattern), node, bound)
        elif isinstance(pattern, Variable):
            if _same(pattern, variable):
                yield bound
        elif _equals_number(variable, pattern):
            yield bound

    def match_node(
        self, pattern: tuple[Any, ...], node: Apply, bound: Bindings
    ) -> Iterator[Bindings]:
        arguments = pattern[1:]
        if len(arguments) != len(node.inputs) or not _op_matches(node.op, pattern[0]):
            return
        orders = permutations(arguments) if isinstance(pattern, _AnyOrder) else (arguments,)
        for order in orders:
            yield from self._match_all(order, node.inputs, bound)

    def _match_all(
        self, patterns: Sequence[Any], variables: Sequence[Variable], bound: Bindings
    ) -> Iterator[Bindings]:
        if not patterns:
            yield bound
            return
        for first in self.match(patterns[0], variables[0], bound):
            yield from self._match_all(patterns[1:], variables[1:], first)

    def _match_wild(self, wild: Wild, variable: Variable, bound: Bindings) -> Iterator[Bindings]:
        known = bound.get(wild.name)
        if known is not None and not _same(known, variable):
            return
        if wild.guard is not None and not wild.guard(variable):
            return
        yield bound if known is not None else {**bound, wild.name: variable}


def _normalise(pattern: Any, rule: str) -> Any:
    """Validate a pattern, and return it with strings converted to placeholders."""
    if isinstance(pattern, str):
        return Wild(pattern)
    if isinstance(pattern, Wild | Variable) or _is_number(pattern):
        return pattern
    if isinstance(pattern, tuple) and pattern:
        parts = cast("tuple[Any, ...]", pattern)
        op = parts[0]
        if isinstance(op, Op) or (isinstance(op, type) and issubclass(op, Op)):
            rest = (_normalise(part, rule) for part in parts[1:])
            return type(parts)((op, *rest))
    msg = (
        f"The rule {rule} has {pattern!r} in its pattern: expected (op, argument, ...) with an Op "
        "or a class of Ops first, or a name, a Wild, a number or a variable as argument."
    )
    raise RewriteError(msg)


def _levels(pattern: Any) -> int:
    if not isinstance(pattern, tuple):
        return 0
    parts = cast("tuple[Any, ...]", pattern)
    return 1 + max((_levels(part) for part in parts[1:]), default=0)


def _may_match(pattern: tuple[Any, ...], node: Apply) -> bool:
    """Quickly check whether the operands are computed by the Ops that a pattern requires."""
    if isinstance(pattern, _AnyOrder) or len(pattern) != len(node.inputs) + 1:
        return isinstance(pattern, _AnyOrder)
    for part, variable in zip(pattern[1:], node.inputs, strict=True):
        if isinstance(part, tuple):
            inner = variable.owner
            if inner is None or not _op_matches(inner.op, cast("tuple[Any, ...]", part)[0]):
                return False
    return True


class PatternRewriter(NodeRewriter):
    """A rule defined by patterns.

    Parameters
    ----------
    left
        The pattern, or a list of alternatives.
    right
        The replacement: a pattern with the same names, or a function that takes the matched
        variables by name (and the matched node as ``node`` and the graph as ``fgraph``, if it has
        these parameters) and returns a variable, or ``None`` for no change.
    allow_shared
        Also match inner nodes whose results are used elsewhere.
    name, equation, tags
        As for :class:`~phintys.rewriting.NodeRewriter`.

    Examples
    --------
    >>> from phintys.graph import Apply, Op, Type
    >>> from phintys.rewriting import PatternRewriter
    >>> class Negate(Op):
    ...     __props__ = ()
    ...
    ...     def make_node(self, x):
    ...         return Apply(self, [x], [x.type()])
    >>> neg = Negate()
    >>> PatternRewriter((neg, (neg, "x")), "x", name="double_negation").depth
    2
    """

    def __init__(
        self,
        left: Any,
        right: Any,
        *,
        allow_shared: bool = True,
        name: str | None = None,
        equation: str = "",
        tags: Iterable[str] = (),
    ) -> None:
        name = name or str(getattr(right, "__name__", f"{left} -> {right}"))
        alternatives = cast("list[Any]", left) if isinstance(left, list) else [left]
        self.left = [_normalise(alternative, name) for alternative in alternatives]
        for alternative in self.left:
            if not isinstance(alternative, tuple):
                msg = f"The rule {name} must start from a node, (op, ...), not from {alternative}."
                raise RewriteError(msg)
        self.allow_shared = allow_shared
        self.right = right if callable(right) else _normalise(right, name)
        self._wants: frozenset[str] = frozenset()
        if callable(right):
            self._wants = frozenset(inspect.signature(right).parameters) & {"node", "fgraph"}
        super().__init__(
            tracks=[alternative[0] for alternative in self.left],
            name=name,
            equation=equation,
            depth=max(map(_levels, self.left)),
            tags=tags,
        )

    def cases(self) -> Iterable[Case]:
        """Return, for each alternative, its Op and that of the first operand that is not a leaf."""
        for alternative in self.left:
            parts = cast("tuple[Any, ...]", alternative)
            nested = [cast("tuple[Any, ...]", part) for part in parts if isinstance(part, tuple)]
            yield parts[0], (nested[0][0],) if nested else None

    def transform(self, fgraph: FunctionGraph, node: Apply) -> Result:
        main = _main_output(node)
        if main is None:
            return None
        matcher = _Matcher(fgraph, self.allow_shared)
        for alternative in self.left:
            if not _may_match(alternative, node):
                continue
            for bound in matcher.match_node(alternative, node, {}):
                new = self._build(fgraph, node, bound)
                if new is None or new is False:
                    continue
                outputs: list[Variable | None] = [None] * len(node.outputs)
                outputs[main] = new
                return outputs
        return None

    def _build(self, fgraph: FunctionGraph, node: Apply, bound: Bindings) -> Any:
        if not callable(self.right):
            return _instantiate(self.right, node, bound)
        context: dict[str, Any] = {"node": node, "fgraph": fgraph}
        return self.right(**bound, **{name: context[name] for name in self._wants})


def _instantiate(pattern: Any, node: Apply, bound: Bindings) -> Any:
    """Build the expression described by a right-hand pattern."""
    if isinstance(pattern, Wild):
        return bound[pattern.name]
    if isinstance(pattern, tuple):
        parts = cast("tuple[Any, ...]", pattern)
        arguments = [
            part if _is_number(part) else _instantiate(part, node, bound) for part in parts[1:]
        ]
        return parts[0](*arguments)
    if isinstance(pattern, Variable):
        return pattern
    return node.default_output().type.filter_variable(pattern)


class _DecoratedPattern(PatternRewriter):
    """A rule created by :func:`pattern`, which is pickled by its decorated name."""

    def __init__(self, left: Any, right: Callable[..., Any], **options: Any) -> None:
        super().__init__(left, right, **options)
        self.__doc__ = right.__doc__
        self.__module__ = right.__module__
        self.__qualname__ = right.__qualname__
        self.__wrapped__ = right

    def __reduce__(self) -> str:
        return self.__qualname__


def pattern(
    *left: Callable[..., Any],
    name: str | None = None,
    allow_shared: bool = True,
    tags: Iterable[str] = (),
) -> Callable[[Callable[..., Any]], PatternRewriter]:
    """Define a rule by lambdas for its left-hand side and a function that builds the right one.

    Parameters
    ----------
    left
        Functions that return a pattern of their parameters, which are placeholders. The rule
        applies where any of the patterns matches.
    name, allow_shared, tags
        As for :class:`PatternRewriter`.

    Examples
    --------
    >>> from phintys.graph import Apply, Op, Type
    >>> from phintys.rewriting import pattern
    >>> class Negate(Op):
    ...     __props__ = ()
    ...
    ...     def make_node(self, x):
    ...         return Apply(self, [x], [x.type()])
    >>> neg = Negate()
    >>> @pattern(lambda x: (neg, (neg, x)))
    ... def double_negation(x):
    ...     '''neg(neg(x)) -> x'''
    ...     return x
    >>> double_negation
    <rule double_negation: neg(neg(x)) -> x>
    """

    def decorate(right: Callable[..., Any]) -> PatternRewriter:
        patterns = [side(*map(Wild, inspect.signature(side).parameters)) for side in left]
        return _DecoratedPattern(
            patterns,
            right,
            allow_shared=allow_shared,
            name=name or right.__name__,
            equation=equation_of(right),
            tags=tags,
        )

    return decorate
