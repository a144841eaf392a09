"""Loops, given or random, for tests of what works on any loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.tensor as pt
from phintys._base.errors import IndexingError
from phintys.control.loops.arguments import LoopArguments
from phintys.control.loops.scan_op import Scan
from phintys.graph.fgraph import FunctionGraph
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random


def make_loop(
    step: Callable[..., Sequence[Any]],
    n: Any,
    sequences: Sequence[Any] = (),
    carried: Sequence[tuple[tuple[int, ...], Any]] = (),
    untraced: Sequence[Any] = (),
    captured: Sequence[Any] = (),
    *,
    until: bool = False,
    name: str | None = None,
) -> list[Any]:
    """Return the outputs of a :class:`~phintys.control.Scan`.

    Parameters
    ----------
    step
        Called once with the variables of a step: its number, the rows of the sequences, a row for
        each tap of each carried argument, the untraced and the captured values. Returns the new
        rows, the new values, the rows to stack, and the condition if there is one.
    n
        The number of steps.
    sequences, untraced, captured
        The sequences, the first values, and the captured values.
    carried
        The taps and the first rows of each carried argument.
    until
        Whether the step returns a condition.
    name
        The name of the loop.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.testing.random_loops import make_loop
    >>> x = pt.dvector("x")
    >>> (total,) = make_loop(lambda t, row, s: [s + row], x.shape[0], sequences=[x], untraced=[0.0])
    >>> total.eval({x: [1.0, 2.0, 3.0]})
    array(6.)
    """
    xs = [as_tensor_variable(x) for x in sequences]
    firsts = [(taps, as_tensor_variable(first)) for taps, first in carried]
    values = [as_tensor_variable(x) for x in untraced]
    constants = [as_tensor_variable(x) for x in captured]
    inner: list[Any] = [TensorType("int64", ())("t"), *map(_row, xs)]
    for taps, first in firsts:
        inner += [_row(first) for _ in taps]
    inner += [x.type() for x in (*values, *constants)]
    made = [as_tensor_variable(x) for x in step(*inner)]
    arguments = LoopArguments(
        sequences=len(xs),
        taps=tuple(taps for taps, _ in firsts),
        untraced=len(values),
        stacked=len(made) - len(firsts) - len(values) - until,
        captured=len(constants),
        has_until=until,
    )
    op = Scan(FunctionGraph(inner, made), arguments, name)
    given = [*xs, *(first for _, first in firsts), *values, *constants]
    return op(n, *given, return_list=True)


def _row(x: Any) -> Any:
    return TensorType(x.type.dtype, x.type.shape[1:])()


_TAPS = ((-1,), (-1,), (-1,), (-2, -1), (-2,), (-3, -1))
_SIZE = 2


def random_loops(choose: Random) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the inputs and outputs of a program of one or two loops, and values for the inputs.

    Rows and states are numbers and vectors of length 2, of float64, float32 and int64. Steps apply
    elementwise functions, products, reductions, and a loop; they copy, repeat and ignore what they
    are given, so that there is something to simplify.

    Parameters
    ----------
    choose
        The source of the choices.

    Examples
    --------
    >>> from random import Random
    >>> import phintys
    >>> from phintys.testing.random_loops import random_loops
    >>> inputs, outputs, values = random_loops(Random(1))
    >>> f = phintys.function(inputs, outputs, mode="reference", on_unused_input="ignore")
    >>> len(f(*values)) == len(outputs)
    True
    """
    return _Program(choose).build()


class _Program:
    def __init__(self, choose: Random) -> None:
        self.choose = choose
        self.length = choose.choice([0, 1, 2, 3, 5])
        self.inputs: list[Any] = []
        self.values: list[Any] = []
        self.rng = np.random.default_rng(choose.randrange(1000))

    def leaf(self, dtype: str, shape: Sequence[int], known: bool) -> Any:
        """Return a new input, and note a value for it."""
        sizes = [size if known or dim else None for dim, size in enumerate(shape)]
        variable = pt.tensor(f"x{len(self.inputs)}", dtype=dtype, shape=tuple(sizes))
        value = np.asarray(self.rng.integers(-8, 9, tuple(shape)) / 4.0)
        if dtype.startswith("float") and value.size and self.choose.random() < 0.1:
            value.flat[self.choose.randrange(value.size)] = self.choose.choice([np.nan, np.inf])
        self.inputs.append(variable)
        self.values.append(value.astype(dtype))
        return variable

    def one_of(self, make: Any, pool: list[Any]) -> Any:
        """Return a value of a pool, or a new one."""
        if not pool or self.choose.random() < 0.7:
            pool.append(make())
        return self.choose.choice(pool)

    def build(self) -> tuple[list[Any], list[Any], list[Any]]:
        choose = self.choose
        dtype = choose.choice(["float64", "float64", "float64", "float32", "int64"])
        rank = choose.choice([0, 1, 1])
        row = (_SIZE,) * rank
        is_known = choose.random() < 0.4
        extra = choose.choice([0, 0, 0, 1])
        pools: dict[str, list[Any]] = {"sequences": [], "first": [], "value": []}

        def sequence() -> Any:
            return self.leaf(dtype, (self.length + extra, *row), is_known)

        def value() -> Any:
            if choose.random() < 0.2:
                return pt.constant(self.rng.integers(-4, 5, row).astype(dtype))
            return self.leaf(dtype, row, choose.random() < 0.5)

        sequences = [self.one_of(sequence, pools["sequences"]) for _ in range(choose.randrange(3))]
        n: Any = self.length
        if sequences and not extra and choose.random() < 0.6:
            n = sequences[0].shape[0]
        elif choose.random() < 0.4:
            n = pt.lscalar("n")
            self.inputs.append(n)
            self.values.append(np.asarray(choose.choice([self.length] * 6 + [-1, 7])))
        outputs: list[Any] = []
        for _ in range(choose.choice([1, 1, 2])):
            outputs += self.loop(n, sequences, value, pools, dtype, rank)
            sequences = [
                self.one_of(sequence, pools["sequences"]) for _ in range(choose.randrange(3))
            ]
            rows = [one for one in outputs if one.ndim == rank + 1 and one.dtype == dtype]
            sequences += choose.sample(rows, min(len(rows), choose.randrange(2)))
        return self.inputs, outputs, self.values

    def loop(
        self, n: Any, sequences: list[Any], value: Any, pools: Any, dtype: str, rank: int
    ) -> list[Any]:
        """Return the results of one loop that the program reads."""
        choose = self.choose
        carried: list[Any] = []
        for _ in range(choose.randrange(3)):
            taps = choose.choice(_TAPS)
            first = self.leaf(dtype, (-taps[0], *(_SIZE,) * rank), True)
            for known_taps, known in pools["first"]:
                if known_taps == taps and choose.random() < 0.5:
                    first = known
            pools["first"].append((taps, first))
            carried.append((taps, first))
        untraced = [self.one_of(value, pools["value"]) for _ in range(choose.randrange(3))]
        captured = [self.one_of(value, pools["value"]) for _ in range(choose.randrange(3))]
        matrices = [self.leaf(dtype, (_SIZE, _SIZE), False) for _ in range(choose.randrange(2))]
        sums = [self.leaf(dtype, (_SIZE, _SIZE), False) for _ in range(choose.randrange(2) * rank)]
        has_until = choose.random() < 0.2
        states = len(carried) + len(untraced)
        stacked = choose.randrange(0 if states else 1, 3)

        def step(t: Any, *given: Any) -> list[Any]:
            pool = [x for x in given if x.ndim == rank]
            pool = pool or [pt.constant(np.ones((_SIZE,) * rank, dtype))]
            pool.append(pt.cast(t, dtype) + pool[0])
            squares = [x for x in given if x.ndim == 2]
            for _ in range(choose.randrange(6)):
                pool.append(self.grown(pool, squares, rank, dtype))
            made = [choose.choice(pool[-6:] + pool) for _ in range(states + stacked)]
            rows = self.last_rows(given, len(sequences), [taps for taps, _ in carried])
            for number, row in enumerate(rows[:states]):
                if choose.random() < 0.3:
                    made[number] = choose.choice([row + made[number], row * made[number]])
            for row in given[len(given) - len(matrices) - len(captured) - len(sums) :][: len(sums)]:
                made.insert(states, self.summed(row, pool))
            return [*made, *([pt.gt(made[0].sum(), 1)] if has_until else [])]

        results = make_loop(
            step,
            n,
            sequences,
            carried,
            [*untraced, *sums],
            [*captured, *matrices],
            until=has_until,
        )
        found: list[Any] = []
        for number, result in enumerate(results):
            depth = -carried[number][0][0] if number < len(carried) else 0
            ways: list[Any] = [lambda x, k: x, lambda x, k: x]
            if depth:
                ways += [
                    lambda x, k: x[k:],
                    lambda x, k: x[-1],
                    lambda x, k: x[k:][-1],
                    lambda x, k: x[:-1],
                    lambda x, k: x.shape[0],
                ]
            if choose.random() < 0.7:
                try:
                    found.append(choose.choice(ways)(result, depth))
                except IndexingError:  # there is no last row
                    found.append(result)
        return found or [results[0]]

    def last_rows(self, given: Sequence[Any], first: int, taps: Sequence[Any]) -> list[Any]:
        """Return the last row of each carried argument, and what follows them."""
        rows: list[Any] = []
        for one in taps:
            first += len(one)
            rows.append(given[first - 1])
        return [*rows, *given[first:]]

    def summed(self, matrix: Any, pool: list[Any]) -> Any:
        """Return a matrix to which a product is added."""
        x, y = self.choose.choice(pool), self.choose.choice(pool)
        terms = [
            lambda: x[:, None] * y,
            lambda: x[None] * y[:, None] * y.sum() * 2,
            lambda: pt.dot(pt.stack([x, y]).T, pt.stack([y, x])),
            lambda: pt.inc_subtensor(pt.zeros_like(matrix)[0], x) + x[:, None] * x,
        ]
        return matrix + pt.cast(self.choose.choice(terms)(), matrix.dtype)

    def grown(self, pool: list[Any], squares: list[Any], rank: int, dtype: str) -> Any:
        """Return one more value of a step."""
        choose = self.choose
        x, y = choose.choice(pool), choose.choice(pool)
        kinds: list[Any] = [
            lambda: x + y,
            lambda: x * y,
            lambda: x - y,
            lambda: pt.maximum(x, y),
            lambda: pt.switch(x > y, x, y * 2),
            lambda: pt.minimum(x, 3),
            lambda: x,
        ]
        if dtype != "int64":
            kinds += [lambda: pt.tanh(x), lambda: pt.exp(-(x * x)), lambda: pt.tanh(x + y)]
        if rank:
            kinds += [lambda: x * y.sum(), lambda: x[::-1], lambda: y + x[0]]
            if squares:
                matrix = choose.choice(squares)
                kinds += 2 * [lambda: pt.dot(matrix, x), lambda: pt.dot(x, matrix)]
                kinds += [lambda: pt.dot(matrix, matrix)[0] + x]
        elif choose.random() < 0.1:
            kinds = [
                lambda: make_loop(
                    lambda t, u, v: [u + v * pt.cast(t, dtype)], 2, untraced=[x], captured=[y]
                )[0]
            ]
        return pt.cast(choose.choice(kinds)(), dtype)
