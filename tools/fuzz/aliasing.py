"""Random scenarios: graphs of pure, view and overwriting Ops, with numbers that are exact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from phintys.testing.layouts import LAYOUTS
from tools.fuzz.case import Given
from tools.fuzz.drawing import Drawing, Entry, Text
from tools.fuzz.oracle import some_order_is_right
from tools.fuzz.scenario import Made, Scenario, Shared

__all__ = ["draw_scenario"]

_LARGEST = 2**17
"""Sums of such numbers, and their products with small ones, are exact in any order."""

_DTYPES = ("float64", "float64", "float64", "int64", "float32")
_LENGTHS = (1, 2, 3, 3, 4, 5, 5, 8, 17, 40)
_CALM = tuple(layout for layout in LAYOUTS if layout not in {"broadcast", "read-only"})
"""How values lie in memory that may be overwritten."""

_PURE = (
    "{0} + {1}",
    "{0} - {1}",
    "{0} * 2",
    "-{0}",
    "pt.abs({0})",
    "pt.maximum({0}, {1})",
    "pt.switch({0} > {1}, {0}, {1})",
    "{0} + {0}.sum()",
    "{0}.sum(axis=0)",
    "{0}.max()",
    "{0} + {1}[::-1]",
    "{0} - {1} * 2",
    "{0} + pt.tanh({1}) * 0",
    "{0} - 2 * pt.dot(pt.eye({1}.shape[0], dtype={1}.dtype)[::-1], {1})",
    "blas.Gemm()(pt.eye({1}.shape[0], dtype={1}.dtype)[::-1], {1}, 2.0, {0})",
    "{0} + memory_ops.first({0})",
    "{0} - memory_ops.first({1})",
    "{0} + {0}[-1]",
    "pt.concatenate([{0}, {1}])",
    "pt.stack([{0}, {1}])[0]",
    "pt.zeros_like({0})",
    "pt.tensor_copy({0})",
    "pt.clip({0}, -3, {1})",
    "pt.set_subtensor({0}[:1], {1}[-1:])",
    "pt.inc_subtensor({0}[::-1], {1})",
    "pt.inc_subtensor({0}[np.array([0, 0, -1])], 1)",
    "{0}[np.array([0, -1])]",
    "user_ops.doubled({0})",
    "user_ops.keeping({0})",
    "user_ops.taken({0})",
    "user_ops.taken({0} + 1)",
    "memory_ops.shift({0})",
    "memory_ops.shift({0})",
    "memory_ops.shift(memory_ops.shift({0}) + {1})",
    "inner_ops.pure({0}, {1})",
    "inner_ops.overwriting({0}, {1})",
    "inner_ops.scratching({0}, {1})",
    "inner_ops.twice({0}, {1})",
    "inner_ops.rows({0}, {1})",
)
_VIEWS = (
    "{0}[::-1]",
    "{0}[1:]",
    "{0}[:-1]",
    "{0}[::2]",
    "{0}[0]",
    "{0}[-1:]",
    "{0}.T",
    "{0}.dimshuffle('x', *range({0}.ndim))",
    "{0}.reshape((-1,))",
    "{0}.reshape({0}.shape)",
    "pt.diagonal({0})",
    "pt.specify_shape({0}, {0}.shape)",
    "user_ops.view({0})",
    "user_ops.strided({0})",
    "memory_ops.first({0})",
    "memory_ops.larger({0}, {1})",
    "memory_ops.largest({0}, {1}, {2})",
    "inner_ops.shown({0})",
)
_IN_PLACE = (
    "inplace.add_inplace({0}, {1})",
    "inplace.add_inplace({0}, {1})",
    "inplace.sub_inplace({0}, {1})",
    "inplace.maximum_inplace({0}, {1})",
    "inplace.neg_inplace({0})",
    "inplace.abs_inplace({0})",
    "inplace.mul_inplace({0}, pt.constant(np.array(2, {0}.dtype)))",
    "pt.set_subtensor({0}[1:], {1}[1:], inplace=True)",
    "pt.set_subtensor({0}[:1], 7, inplace=True)",
    "pt.inc_subtensor({0}[::-1], {1}, inplace=True)",
    "pt.inc_subtensor({0}[:-1], 1, inplace=True)",
    "pt.inc_subtensor({0}[np.array([0, 0, -1])], 1, inplace=True)",
    "pt.set_subtensor({0}[np.array([-1, 0])], 5, inplace=True)",
    "blas.Gemm(inplace=True)(pt.eye({1}.shape[0], dtype={1}.dtype)[::-1], {1}, 2.0, {0})",
    "user_ops.zeroed({0})",
    "memory_ops.merged({0}, {1})",
    "memory_ops.scratch({0}, {1})",
    "memory_ops.scratch_one({0}, {1})",
    "memory_ops.dipped({0})",
    "inner_ops.lent({0}, {1})",
)
_ONE = "(1 + {1}.shape[0] - {0}.shape[0])"
"""A number that is 1, which only a call shows."""
_NEW_BY_NAME = (
    "pt.alloc({0}, *{0}.shape)",
    "pt.alloc({0}, 1, *{1}.shape)[0]",
    "pt.alloc({0}, 1, *{1}.shape).flatten()",
    f"pt.alloc({{0}}, {_ONE}, *{{1}}.shape)[0]",
    f"pt.alloc({{0}}, {_ONE}, *{{1}}.shape).reshape({{1}}.shape)",
    "pt.broadcast_to({0}, {1}.shape)",
    "pt.broadcast_to({0}, (1, *{1}.shape))[0]",
    f"pt.broadcast_to({{0}}, ({_ONE}, *{{1}}.shape)).reshape({{0}}.shape)",
    "pt.fill({1}, {0})",
    "pt.tile({0}, 1)",
    f"pt.tile({{0}}, {_ONE}, ndim={{0}}.ndim)",
    "pt.repeat({0}, 1, axis=0)",
    f"pt.repeat({{0}}, {_ONE}, axis=0)",
    "pt.roll({0}, 0)",
    f"pt.roll({{0}}, {_ONE} - 1)",
    "pt.concatenate([{0}])",
    "pt.concatenate([{0}, {1}[:0]])",
    "pt.stack([{0}])[0]",
    "pt.cast({0}, {0}.dtype)",
    "+{0}",
    "pt.conj({0})",
    "pt.real({0})",
    "{0}.sum(axis=())",
    "{0}.max(axis=())",
    "pt.switch(True, {0}, {1})",
    "pt.clip({0}, {0}, {0})",
    "pt.sort({0}[:1])",
    "pt.cumsum({0}[:1])",
    "pt.triu(pt.stack([{0}]))[0]",
    "pt.set_subtensor({0}[:0], 1)",
    f"pt.inc_subtensor({{0}}[: {_ONE} - 1], 1)",
    "{0}[pt.arange({1}.shape[0])]",
    "{0}.flatten()",
    "pt.squeeze(pt.shape_padleft({0}))",
    "pt.expand_dims({0}, 0)[0]",
    "{0}[:]",
    "{0}[: {1}.shape[0]]",
    f"{{0}}[::{_ONE}]",
    "{0}.reshape({1}.shape)",
    f"{{0}}.reshape(({_ONE}, -1)).flatten()",
    "pt.swapaxes({0}, 0, 0)",
    "pt.moveaxis({0}, 0, -1)",
    "pt.diagonal(pt.stack([{0}]))",
    "gradient.disconnected_grad({0})",
    "undeclared.returned({0})",
    "undeclared.turned({0})",
    "undeclared.larger({0}, {1})",
)
"""What may turn out to be its operand, or a view of it: declared, or new memory by contract."""

_OF_TWO_OUTPUTS = (
    "pt.split({0}, [0, {1}.shape[0]], 2)",
    "undeclared.given_twice({0})",
    "undeclared.made_twice({0})",
    "undeclared.returned_and_new({0}, {1})",
    "user_ops.both({0})",
    "memory_ops.exchanged({0}, {1})",
    "memory_ops.halves({0})",
    "memory_ops.swapped({0}, {1})",
    "memory_ops.crossed({0}, {1})",
    "memory_ops.late({0})",
    "memory_ops.double_negated({0})",
    "memory_ops.summed_and_seen({0}, {1})",
)
_FAILING = (
    "memory_ops.trap({0}, {3})",
    "{0} + {0}[{3}]",
    "memory_ops.trap({0}, {3}) + {0}[{3}]",
)
"""With a number that is 0, or so small that there is an error."""


def _is_like(entry: Entry) -> Callable[[Entry], bool]:
    return lambda one: (one.value.dtype, one.shape) == (entry.value.dtype, entry.shape)


class _Scene(Drawing):
    """A scenario in the making."""

    def __init__(self, seed: int, most_steps: int) -> None:
        super().__init__(seed)
        self.most_steps = most_steps
        self.calls = self.choose((1, 2, 3, 3, 4))
        self.shared: list[Shared] = []
        self.number: Entry | None = None

    def make_inputs(self) -> None:
        """Draw inputs and shared variables, most of one shape."""
        dtype = self.choose(_DTYPES)
        n, m = self.choose(_LENGTHS), self.choose((1, 2, 3, 4, 9))
        shape = (n,) if self.chance(0.65) else (n, m)
        for number in range(self.integer(1, 3)):
            self._add_input(f"x{number}", dtype, self._own_shape(shape))
        for number in range(self.choose((0, 0, 1, 1, 2))):
            self._add_shared(f"s{number}", dtype, self._own_shape(shape))
        if self.chance(0.2):
            values = tuple(np.array(0 if self.chance(0.6) else -99) for _ in range(self.calls))
            self.number = self.add_given(Given("k", (), (np.array(0), *values[1:])))
            self.pool.pop()

    def _own_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if self.chance(0.85):
            return shape
        return shape[:1] if len(shape) > 1 else (*shape, self.integer(1, 3))

    def _static(self, shape: tuple[int, ...]) -> tuple[int | None, ...]:
        if self.chance(0.6):
            return tuple(size if size == 1 else None for size in shape)
        return shape

    def _numbers(self, dtype: str, shape: tuple[int, ...]) -> Any:
        return np.asarray(self.numbers.integers(-9, 10, size=shape), dtype)

    def _add_input(self, name: str, dtype: str, shape: tuple[int, ...]) -> None:
        layout = self.choose(LAYOUTS) if self.chance(0.4) else "C"
        values = tuple(self._numbers(dtype, shape) for _ in range(self.calls))
        self.add_given(Given(name, self._static(shape), values, layout))

    def _add_shared(self, name: str, dtype: str, shape: tuple[int, ...]) -> None:
        one = Shared(name, self._numbers(dtype, shape), self._static(shape))
        # It stands among the inputs only until it is known to the pool.
        self.add_given(Given(name, one.shape, (one.value,)))
        self.givens.pop()
        self.shared.append(one)

    # ---- lines -------------------------------------------------------------------------------

    def draw_line(self) -> None:
        """Try one more line."""
        (patterns,) = self.random.choices(
            (_PURE, _VIEWS, _NEW_BY_NAME, _IN_PLACE, _OF_TWO_OUTPUTS, _FAILING),
            (8, 6, 8, 9, 3, 0 if self.number is None else 1.5),
        )
        pattern = self.choose(patterns)
        shared = {one.name for one in self.shared}
        of_shared = self.chance(0.25)
        entry = self.pick(lambda one: one.ndim > 0 and (not of_shared or one.name in shared))
        if entry is None:
            return
        others = [self.pick(_is_like(entry)) or entry for _ in range(2)]
        count = 2 if patterns is _OF_TWO_OUTPUTS else None
        last = entry if self.number is None else self.number
        self._try(Text(pattern, (entry, *others, last), count))

    def _try(self, text: Text) -> None:
        """Add a line, but seldom one with which no order of computation is right."""
        steps, pool, known, values = len(self.steps), len(self.pool), self.known, self.values
        made = self.apply(text)
        if not made:
            return
        is_small = all(np.abs(entry.value).max(initial=0) < _LARGEST for entry in made)
        computed = [entry.variable for entry in self.pool[len(self.givens) :]]
        if is_small and (some_order_is_right(computed) or self.chance(0.06)):
            return
        del self.steps[steps:], self.pool[pool:]
        self.known, self.values = known, values

    # ---- functions ---------------------------------------------------------------------------

    def scenario(self) -> Scenario:
        """Return the scenario."""
        functions = [self._function() for _ in range(self.choose((1, 1, 2)))]
        calls = [self.integer(0, len(functions) - 1) for _ in range(self.calls)]
        mutable = {name for made in functions for name, how in made.inputs.items() if how}
        for at, given in enumerate(self.givens):
            if given.name in mutable and given.layout not in _CALM:
                self.givens[at] = Given(given.name, given.shape, given.values)
        return Scenario(
            self.seed,
            tuple(self.givens),
            tuple(self.shared),
            tuple(self.steps),
            tuple(functions),
            tuple(calls),
        ).pruned()

    def _function(self) -> Made:
        names = [given.name for given in self.givens]
        inputs = {name: self.choose(("", "", "mutable", "borrow")) for name in names}
        chosen = [self.pick() for _ in range(self.integer(1, 4))]
        outputs = dict.fromkeys(entry.name for entry in chosen if entry is not None)
        updates = {one.name: self._update(one) for one in self.shared if self.chance(0.6)}
        return Made(
            inputs,
            tuple((name, self.chance(0.3)) for name in outputs),
            {name: new for name, new in updates.items() if new is not None},
        )

    def _update(self, one: Shared) -> str | None:
        type_ = self.known[one.name].type
        fitting: Sequence[Entry] = [
            entry
            for entry in self.pool
            if entry.value.dtype == one.value.dtype and type_.is_super(entry.variable.type)
        ]
        if not fitting:
            return None
        return (fitting[-1] if self.chance(0.5) else self.choose(fitting)).name


def draw_scenario(seed: int, most_steps: int = 14) -> Scenario:
    """Return the scenario of a seed.

    Parameters
    ----------
    seed
        Of all random choices.
    most_steps
        The number of lines that are tried at most.
    """
    scene = _Scene(seed, most_steps)
    scene.make_inputs()
    for _ in range(scene.integer(3, most_steps)):
        scene.draw_line()
    return scene.scenario()
