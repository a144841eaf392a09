"""A Hypothesis strategy of whole graphs, each with the values that NumPy computes along the way.

Every mode, rewrite and backend is checked against them: a graph's outputs must have the values that
came with it. Functions that jump are applied to integers and bools only, so that a difference in
the last digit never becomes a large one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import phintys.tensor as pt
from phintys.control import fori_loop, ifelse, reduce, scan, until
from phintys.graph.printing import debugprint
from phintys.tensor.type import TensorType

Array = np.ndarray[Any, Any]
Draw = Callable[[Any], Any]
Pair = tuple[Any, Array]
"""A variable and its value."""

_LARGEST = 64  # elements of any array in a graph
_MOST_DIMS = 4
_BOUND = 100.0  # larger numbers are squeezed, so that errors do not grow

DTYPES = ("float64", "float32", "int64", "bool")


@dataclass(eq=False)
class DrawnGraph:
    """A graph, values of its inputs, and the values that its outputs must have.

    Attributes
    ----------
    inputs
        Variables.
    values
        An array for each input.
    outputs
        Variables.
    expected
        For each output what NumPy computes, in its own order of operations.
    """

    inputs: list[Any] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    expected: list[Array] = field(default_factory=list)

    def __repr__(self) -> str:
        given = [
            f"{variable}: {variable.type} = {value!r}"
            for variable, value in zip(self.inputs, self.values, strict=True)
        ]
        return "\n".join([*given, str(debugprint(self.outputs, file="str", print_type=True))])


@st.composite
def graphs(
    draw: Draw,
    dtypes: Sequence[str] = DTYPES,
    max_inputs: int = 3,
    max_steps: int = 12,
    max_outputs: int = 2,
) -> DrawnGraph:
    """Return a strategy of graphs of elementwise ops, reductions, products, indexing and so on.

    Parameters
    ----------
    dtypes
        Dtypes of the inputs; ``float64``, ``float32``, ``int64`` and ``bool`` are understood.
    max_inputs, max_steps, max_outputs
        Limits of the graph's size.

    Returns
    -------
    strategy of DrawnGraph

    Examples
    --------
    >>> import phintys
    >>> from hypothesis import find
    >>> graph = find(graphs(), lambda graph: len(graph.outputs) == 1)
    >>> f = phintys.function(graph.inputs, graph.outputs, on_unused_input="ignore")
    >>> found = f(*graph.values)
    >>> all(np.allclose(a, b) for a, b in zip(found, graph.expected))
    True
    """
    graph = DrawnGraph()
    pool: list[Pair] = []
    for position in range(draw(st.integers(1, max_inputs))):
        value = _input_value(draw, dtypes)
        known = [size if size == 1 or draw(st.booleans()) else None for size in value.shape]
        variable = TensorType(value.dtype, known)(f"x{position}")
        graph.inputs.append(variable)
        graph.values.append(value)
        pool.append((variable, value))
    for _ in range(draw(st.integers(1, max_steps))):
        step = draw(st.sampled_from(STEPS))
        # Late results more often than early ones: deep graphs, with some sharing.
        chosen = draw(st.integers(0, len(pool) - 1) | st.just(len(pool) - 1))
        with np.errstate(all="ignore"):
            made = step(draw, pool[chosen], pool)
            if made is not None:
                pool.append(_squeezed(made))
    count = draw(st.integers(1, max_outputs))
    for variable, value in pool[-count:]:
        graph.outputs.append(variable)
        graph.expected.append(value)
    return graph


def _input_value(draw: Draw, dtypes: Sequence[str]) -> Array:
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if dtype == "int64":
        return np.asarray(rng.integers(-3, 4, shape))
    return np.asarray(rng.uniform(-2, 2, shape), dtype)


def _squeezed(pair: Pair) -> Pair:
    variable, value = pair
    value = np.asarray(value)
    if value.dtype.kind == "f" and np.max(np.abs(value), initial=0) > _BOUND:
        return pt.tanh(variable), np.asarray(np.tanh(value))
    if value.dtype.kind == "i" and np.max(np.abs(value), initial=0) > _BOUND:
        return variable % 7, value % 7
    return variable, value


# ---- steps: each takes a pair and the pool, and returns a pair, or None where it does not fit ----

Step = Callable[[Draw, Pair, Sequence[Pair]], Pair | None]


def _is_float(pair: Pair) -> bool:
    return pair[1].dtype.kind == "f"


def _as_float(pair: Pair) -> Pair:
    variable, value = pair
    return pair if _is_float(pair) else (pt.cast(variable, "float64"), value.astype("float64"))


def _sigmoid(x: Array) -> Array:
    one = x.dtype.type(1)
    return one / (one + np.exp(-x))


_UNARY: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "neg": (pt.neg, np.negative),
    "abs": (pt.abs, np.abs),
    "sqr": (pt.sqr, np.square),
    "exp": (lambda x: pt.exp(pt.tanh(x)), lambda x: np.exp(np.tanh(x))),
    "log": (lambda x: pt.log(1 + pt.sqr(x)), lambda x: np.log(1 + np.square(x))),
    "sqrt": (lambda x: pt.sqrt(1 + pt.abs(x)), lambda x: np.sqrt(1 + np.abs(x))),
    "sin": (pt.sin, np.sin),
    "tanh": (pt.tanh, np.tanh),
    "sigmoid": (pt.sigmoid, _sigmoid),
    "softplus": (pt.softplus, lambda x: np.logaddexp(x.dtype.type(0), x)),
    "clip": (lambda x: pt.clip(x, -1.0, 1.0), lambda x: np.clip(x, -1.0, 1.0)),
    "double": (lambda x: x + x, lambda x: x + x),
    "times one": (lambda x: x * 1, lambda x: x * 1),
    "plus zero": (lambda x: 0 + x, lambda x: 0 + x),
    "cube": (lambda x: x**3, lambda x: x**3),
}

_BINARY: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add": (pt.add, np.add),
    "sub": (pt.sub, np.subtract),
    "mul": (pt.mul, np.multiply),
    "maximum": (pt.maximum, np.maximum),
    "minimum": (pt.minimum, np.minimum),
    "div": (lambda x, y: x / (1 + pt.sqr(y)), lambda x, y: x / (1 + np.square(y))),
    "arctan2": (
        lambda x, y: pt.arctan2(x, 2 + pt.sqr(y)),
        lambda x, y: np.arctan2(x, 2 + np.square(y)),
    ),
}

_DISCRETE: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "lt": (lambda x: pt.lt(x, 1), lambda x: np.less(x, 1)),
    "eq": (lambda x: pt.eq(x, 0), lambda x: np.equal(x, 0)),
    "mod": (lambda x: pt.cast(x, "int64") % 3, lambda x: x.astype("int64") % 3),
    "int_div": (lambda x: pt.cast(x, "int64") // 2, lambda x: x.astype("int64") // 2),
    "to float": (lambda x: pt.cast(x, "float32"), lambda x: x.astype("float32")),
    "truth": (lambda x: pt.cast(x, "bool"), lambda x: x.astype("bool")),
}


def _unary(draw: Draw, pair: Pair, pool: Sequence[Pair]) -> Pair:
    variable, value = _as_float(pair)
    symbolic, numpy = _UNARY[draw(st.sampled_from(sorted(_UNARY)))]
    return symbolic(variable), np.asarray(numpy(value))


def _discrete(draw: Draw, pair: Pair, pool: Sequence[Pair]) -> Pair | None:
    if _is_float(pair):
        return None
    symbolic, numpy = _DISCRETE[draw(st.sampled_from(sorted(_DISCRETE)))]
    return symbolic(pair[0]), np.asarray(numpy(pair[1]))


def _fits(first: Pair, second: Pair) -> bool:
    """Return whether two operands broadcast: sizes are equal, or known to be 1."""
    for one, other in ((first, second), (second, first)):
        sizes = [1] * (_MOST_DIMS - one[1].ndim) + list(one[0].type.shape)
        own = (1,) * (_MOST_DIMS - one[1].ndim) + one[1].shape
        others = (1,) * (_MOST_DIMS - other[1].ndim) + other[1].shape
        if any(n != m and n == 1 and size != 1 for n, m, size in zip(own, others, sizes)):  # noqa: B905 - all have 4
            return False
        if any(n != m and 1 not in {n, m} for n, m in zip(own, others, strict=True)):
            return False
    return np.broadcast(first[1], second[1]).size <= _LARGEST


def _partner(draw: Draw, pair: Pair, pool: Sequence[Pair]) -> Pair:
    """Return another operand that goes with ``pair``."""
    return draw(st.sampled_from([other for other in pool if _fits(pair, other)] or [pair]))


def _binary(draw: Draw, pair: Pair, pool: Sequence[Pair]) -> Pair:
    first, second = _as_float(pair), _as_float(_partner(draw, pair, pool))
    if draw(st.booleans()):
        first, second = second, first
    symbolic, numpy = _BINARY[draw(st.sampled_from(sorted(_BINARY)))]
    return symbolic(first[0], second[0]), np.asarray(numpy(first[1], second[1]))


def _switch(draw: Draw, pair: Pair, pool: Sequence[Pair]) -> Pair | None:
    conditions = [other for other in pool if other[1].dtype.kind in "bi" and _fits(pair, other)]
    if not conditions:
        return None
    condition = draw(st.sampled_from(conditions))
    then, otherwise = _as_float(pair), (pt.constant(0.5), np.array(0.5))
    return (
        pt.switch(condition[0], then[0], otherwise[0]),
        np.where(condition[1], then[1], otherwise[1]),
    )


def _axes_of(draw: Draw, pair: Pair) -> Any:
    ndim = pair[1].ndim
    return draw(st.none() | st.lists(st.integers(0, ndim - 1), unique=True).map(tuple))


def _reduce(draw: Draw, pair: Pair, pool: Sequence[Pair]) -> Pair | None:
    variable, value = pair
    if not value.ndim or not value.size:
        return None
    axis, keepdims = _axes_of(draw, pair), draw(st.booleans())
    names = ["sum", "max", "min", "prod"] if value.dtype.kind != "b" else ["sum", "all", "any"]
    if _is_float(pair):
        names += ["mean", "var", "logsumexp"]
    name = draw(st.sampled_from(names))
    numpy = _logsumexp if name == "logsumexp" else getattr(np, name)
    return (
        getattr(pt, name)(variable, axis=axis, keepdims=keepdims),
        np.asarray(numpy(value, axis=axis, keepdims=keepdims)),
    )


def _logsumexp(x: Array, axis: Any, keepdims: bool) -> Array:
    return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))


def _arg(draw: Draw, pair: Pair, pool: Sequence[Pair]) -> Pair | None:
    variable, value = pair
    if _is_float(pair) or not value.ndim or not value.size:
        return None
    axis = draw(st.integers(0, value.ndim - 1))
    return pt.argmax(variable, axis), np.asarray(np.argmax(value, axis))


def _rearrange(draw: Draw, pair: Pair, pool: Sequence[Pair]) -> Pair:
    variable, value = pair
    order = draw(st.permutations(range(value.ndim)))
    if draw(st.booleans()) or value.ndim >= _MOST_DIMS:
        return variable.transpose(order) if order else variable, value.transpose(order)
    axis = draw(st.integers(0, value.ndim))
    return pt.expand_dims(variable, axis), np.expand_dims(value, axis)


def _reshape(draw: Draw, pair: Pair, pool: Sequence[Pair]) -> Pair:
    variable, value = pair
    how = draw(st.sampled_from(["flat", "symbolic", "split"]))
    if how == "flat" or not value.ndim:
        return variable.reshape((-1,)), value.reshape(-1)
    if how == "symbolic":
        shape = value.shape[::-1]
        sizes = [variable.shape[dim] for dim in reversed(range(value.ndim))]
        return variable.reshape(sizes), value.reshape(shape)
    return pt.flatten(variable, 1).reshape((1, -1)), value.reshape(1, -1)


def _slice(draw: Draw, pair: Pair, pool: Sequence[Pair]) -> Pair | None:
    variable, value = pair
    if not value.ndim:
        return None
    index: list[Any] = []
    for size in value.shape:
        pieces = [slice(None), slice(None, None, -1), slice(1, None), slice(None, -1)]
        choices = st.sampled_from(pieces)
        index.append(draw(choices | st.integers(-size, size - 1) if size else choices))
    key = tuple(index)
    return variable[key], np.asarray(value[key])


def _take(draw: Draw, pair: Pair, pool: Sequence[Pair]) -> Pair | None:
    variable, value = pair
    if not value.ndim or not value.shape[0]:
        return None
    size = value.shape[0]
    rows = draw(st.lists(st.integers(-size, size - 1), min_size=1, max_size=3))
    return variable[np.array(rows)], value[rows]


def _update(draw: Draw, pair: Pair, pool: Sequence[Pair]) -> Pair | None:
    variable, value = _as_float(pair)
    if not value.ndim or not value.shape[0]:
        return None
    changed = value.copy()
    if draw(st.booleans()):
        changed[0] = 0.5
        return pt.set_subtensor(variable[0], 0.5), changed
    changed[::-1] += value
    return pt.inc_subtensor(variable[::-1], variable), changed


def _join(draw: Draw, pair: Pair, pool: Sequence[Pair]) -> Pair | None:
    variable, value = pair
    if 2 * value.size > _LARGEST:
        return None
    others = [p for p in pool if p[1].shape == value.shape and p[1].dtype == value.dtype]
    other = draw(st.sampled_from(others))
    if value.ndim and draw(st.booleans()):
        axis = draw(st.integers(0, value.ndim - 1))
        return (
            pt.concatenate([variable, other[0]], axis),
            np.concatenate([value, other[1]], axis),
        )
    return (
        None
        if value.ndim >= _MOST_DIMS
        else (
            pt.stack([variable, other[0]]),
            np.stack([value, other[1]]),
        )
    )


def _product(draw: Draw, pair: Pair, pool: Sequence[Pair]) -> Pair | None:
    first = _as_float(pair)
    if not first[1].ndim:
        return None
    inner = first[1].shape[-1]
    fitting = [p for p in pool if 1 <= p[1].ndim <= 2 and p[1].shape[0] == inner]
    second = _as_float(draw(st.sampled_from(fitting))) if fitting else None
    if second is None or first[1].size * second[1].size > _LARGEST * max(inner, 1):
        return None
    return pt.dot(first[0], second[0]), np.asarray(np.dot(first[1], second[1]))


def _along(draw: Draw, pair: Pair, pool: Sequence[Pair]) -> Pair | None:
    variable, value = _as_float(pair)
    if not value.ndim:
        return None
    axis = draw(st.integers(0, value.ndim - 1))
    name = draw(st.sampled_from(["cumsum", "sort", "softmax"]))
    if name == "cumsum":
        return pt.cumsum(variable, axis), np.cumsum(value, axis)
    if name == "sort":
        return pt.sort(variable, axis), np.sort(value, axis)
    powers = np.exp(value)
    return pt.softmax(variable, axis), powers / powers.sum(axis=axis, keepdims=True)


def _choice(draw: Draw, pair: Pair, pool: Sequence[Pair]) -> Pair | None:
    conditions = [other for other in pool if other[1].dtype.kind in "bi"]
    if not conditions:
        return None
    symbolic, condition = draw(st.sampled_from(conditions))
    (then, one), (otherwise, other) = pair, pair
    if draw(st.booleans()):
        is_bool = one.dtype.kind == "b"
        then, one = (~then, ~one) if is_bool else (-then, -one)
    else:
        reverse = slice(None, None, -1) if other.ndim else ...
        otherwise, other = otherwise[reverse], other[reverse]
    found = ifelse(pt.any(pt.neq(symbolic, 0)), then, otherwise)
    return found, np.asarray(one if np.any(condition) else other)


def _loop(draw: Draw, pair: Pair, pool: Sequence[Pair]) -> Pair | None:
    variable, value = _as_float(pair)
    if not value.ndim or value.ndim >= _MOST_DIMS:
        return None
    return draw(st.sampled_from(LOOPS))(variable, value, draw(st.booleans()))


def _decay(variable: Any, value: Array, backwards: bool) -> Pair:
    """A state that reads the one before, of which all are returned."""
    rows, _ = scan(
        lambda row, h: pt.tanh(h * 0.5 + row),
        variable,
        pt.zeros_like(variable.sum(axis=0)),
        go_backwards=backwards,
    )
    h, found = np.zeros(value.shape[1:], value.dtype), np.zeros_like(value)
    for t, row in enumerate(value[::-1] if backwards else value):
        h = np.tanh(h * value.dtype.type(0.5) + row)
        found[t] = h
    return rows, found


def _last(variable: Any, value: Array, backwards: bool) -> Pair:
    """The last one of a state, which a loop in the loop computes."""

    def step(row: Any, h: Any) -> Any:
        return fori_loop(0, 2, lambda i, h: h * 0.25 + row + pt.cast(i, row.dtype), h)

    found, _ = reduce(step, variable, pt.ones_like(variable.sum(axis=0)), go_backwards=backwards)
    h = np.ones(value.shape[1:], value.dtype)
    for row in value[::-1] if backwards else value:
        for i in range(2):
            h = h * value.dtype.type(0.25) + row + value.dtype.type(i)
    return found, h


def _taps(variable: Any, value: Array, backwards: bool) -> Pair:
    """Rows that depend on the rows beside them alone."""
    rows, _ = scan(
        lambda row, after: after - row * 0.5,
        {"input": variable, "taps": [0, 1]},
        go_backwards=backwards,
    )
    found = value[1:] - value[:-1] * value.dtype.type(0.5)
    return rows, found[::-1] if backwards else found


def _until(variable: Any, value: Array, backwards: bool) -> Pair:
    """A loop that a condition ends after its second step."""

    def step(row: Any, h: Any, count: Any) -> Any:
        return [h + row, count + 1], until(count + 1 >= 2)

    (rows, _), _ = scan(step, variable, [variable.sum(axis=0) * 0.5, 0], go_backwards=backwards)
    half = np.asarray(value.sum(axis=0) * value.dtype.type(0.5))
    return rows, half + np.cumsum((value[::-1] if backwards else value)[:2], axis=0)


LOOPS: tuple[Callable[..., Pair], ...] = (_decay, _last, _taps, _until)

STEPS: tuple[Step, ...] = (
    _unary,
    _unary,
    _unary,
    _binary,
    _binary,
    _binary,
    _switch,
    _discrete,
    _reduce,
    _reduce,
    _arg,
    _rearrange,
    _reshape,
    _slice,
    _take,
    _update,
    _join,
    _product,
    _along,
    _choice,
    _loop,
)
"""What a graph is made of; what stands here twice is drawn twice as often."""
