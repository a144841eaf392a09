"""Random cases."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phintys._base.errors import PhintysError
from phintys.graph.apply import Apply
from phintys.graph.traversal import toposort
from phintys.tensor.shape_rules import ShapedOp
from phintys.tensor.type import DTYPES, TensorType
from phintys.testing._trial import evaluate, value_of
from phintys.testing.layouts import LAYOUTS
from tools.fuzz.case import Case, Given, Step

__all__ = ["Drawing", "Entry", "Rule", "Text", "draw_case"]

Array = np.ndarray[Any, Any]

_LENGTHS = (0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 9, 16, 17, 33)
_MOST_ELEMENTS = 600
_MOST_ELEMENTS_INSIDE = 1_000_000  # of an input, and of a node inside of a line
_MOST_ELEMENTS_LATER = 20_000  # in calls with other sizes, which make more of a line than the first


@dataclass(frozen=True)
class Text:
    """A line that a rule proposes.

    Attributes
    ----------
    text
        With ``{0}``, ``{1}`` ... where operands stand.
    operands
        What is put there.
    count
        How many variables it makes, if they come in a list.
    """

    text: str
    operands: tuple[Entry, ...] = ()
    count: int | None = None


@dataclass(frozen=True, eq=False)
class Entry:
    """A variable that lines may use, and its value at the first call."""

    name: str
    variable: Any
    value: Array

    @property
    def kind(self) -> str:
        """NumPy's letter of the dtype's kind."""
        return self.value.dtype.kind

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.value.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the value."""
        return self.value.shape

    @property
    def is_static(self) -> bool:
        """Whether all sizes of the variable's type are known."""
        return None not in self.variable.type.shape


Rule = Callable[["Drawing"], Text | None]


class Drawing:
    """A case in the making.

    Parameters
    ----------
    seed
        Where all random choices come from.

    Attributes
    ----------
    pool
        What lines may use.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)  # noqa: S311 - a test must be repeatable
        self.numbers = np.random.default_rng(seed)
        self.lengths = [self.choose(_LENGTHS) for _ in range(3)]
        if self.chance(0.03):
            self.lengths[0] = self.choose((70, 260, 520))
        self.calls = self.choose((1, 2, 2))
        self.pool: list[Entry] = []
        self.givens: list[Given] = []
        self.steps: list[Step] = []
        self.known: dict[str, Any] = {}
        self.values: list[dict[Any, Any]] = [{}]  # of each call
        self.failing: str | None = None
        other = [self.choose(_LENGTHS) for _ in range(3)]
        self._lengths = {0: dict(zip(self.lengths, self.lengths, strict=True))}
        self._lengths[1] = dict(zip(self.lengths, other, strict=True))

    # ---- choices -----------------------------------------------------------------------------

    def choose(self, choices: Sequence[Any]) -> Any:
        """Return one of some choices."""
        return choices[self.random.randrange(len(choices))]

    def chance(self, probability: float) -> bool:
        """Return True as often as is said."""
        return self.random.random() < probability

    def integer(self, low: int, high: int) -> int:
        """Return an integer from ``low`` to ``high``."""
        return self.random.randint(low, high)

    def pick(self, fits: Callable[[Entry], bool] | None = None) -> Entry | None:
        """Return an entry of the pool that fits; late ones more often."""
        fitting = [entry for entry in self.pool if fits is None or fits(entry)]
        if not fitting:
            return None
        if self.chance(0.4):
            return fitting[-1 - self.integer(0, min(2, len(fitting) - 1))]
        return self.choose(fitting)

    def axis(self, ndim: int) -> int:
        """Return an axis, from the front or from the back."""
        return self.integer(-ndim, ndim - 1)

    def axes(self, ndim: int) -> Any:
        """Return ``None``, an axis, or several."""
        if not ndim or self.chance(0.3):
            return None if ndim or self.chance(0.5) else ()
        if self.chance(0.5):
            return self.axis(ndim)
        return tuple(self.random.sample(range(ndim), self.integer(0, ndim)))

    # ---- inputs ------------------------------------------------------------------------------

    def make_inputs(self) -> None:
        """Draw inputs and shared variables."""
        count = self.integer(1, 4)
        for number in range(count):
            ndim = self.choose((0, 1, 1, 2, 2, 2, 3))
            sizes = [1 if self.chance(0.15) else self.choose(self.lengths) for _ in range(ndim)]
            sizes = _of_few_elements(sizes)
            static = [size if self.chance(0.5) else None for size in sizes]
            if self.chance(0.85):  # or it broadcasts at run time, which is an error
                static = [
                    1 if size == 1 else known for size, known in zip(sizes, static, strict=True)
                ]
            dtype = self.choose((*DTYPES, "float64", "float64", "float32", "int64"))
            wild = self.chance(0.2)
            values = [
                self.array(dtype, self._sizes(call, sizes, static), wild=wild)
                for call in range(self.calls)
            ]
            layout = self.choose(LAYOUTS) if self.chance(0.5) else "C"
            self.add_given(Given(f"x{number}", tuple(static), tuple(values), layout))

    def _sizes(
        self, call: int, sizes: Sequence[int], static: Sequence[int | None]
    ) -> tuple[int, ...]:
        """Return the shape of an input at a call; sizes that are not known may change."""
        return tuple(
            size if known is not None else self._lengths[call].get(size, size)
            for size, known in zip(sizes, static, strict=True)
        )

    def add_given(self, given: Given) -> Entry:
        """Add an input to the pool."""
        variable = TensorType(given.dtype, given.shape)(given.name)
        self.givens.append(given)
        self.known[given.name] = variable
        self.values += [dict(self.values[-1]) for _ in given.values[len(self.values) :]]
        for call, values in enumerate(self.values):
            values[variable] = given.values[min(call, len(given.values) - 1)]
        entry = Entry(given.name, variable, given.values[0])
        self.pool.append(entry)
        return entry

    def array(self, dtype: str, shape: tuple[int, ...], *, wild: bool) -> Array:
        """Return an array of small numbers, or with NaN, infinities and extremes among them."""
        kind = np.dtype(dtype).kind
        rng = self.numbers
        if kind == "b":
            return np.asarray(rng.random(shape) < 0.5)
        if kind in "iu":
            small = rng.integers(0 if kind == "u" else -5, 9, size=shape).astype(dtype)
            info = np.iinfo(dtype)
            extremes = np.array([info.min, info.max, 0, 1], dtype)
        else:
            coarse = rng.integers(-12, 13, size=shape) / 4
            fine = rng.normal(size=shape)
            small = np.where(rng.random(shape) < 0.5, coarse, fine)
            if kind == "c":
                small = small + 1j * rng.integers(-12, 13, size=shape) / 4
            small = np.asarray(small, dtype)
            extremes = _extremes(dtype)
        small = np.asarray(small)
        if not wild:
            return small
        odd = extremes[rng.integers(len(extremes), size=shape)]
        return np.asarray(np.where(rng.random(shape) < 0.3, odd, small), dtype)

    # ---- lines -------------------------------------------------------------------------------

    def apply(self, proposed: Text | None) -> list[Entry]:
        """Add a line, if it can be built and computed; return what it makes."""
        if proposed is None:
            return []
        first = len(self.steps)
        count = proposed.count
        names = (f"v{first}",) if count is None else tuple(f"v{first}_{at}" for at in range(count))
        operands = [entry.name for entry in proposed.operands]
        uses = tuple(name for place, name in enumerate(operands) if f"{{{place}}}" in proposed.text)
        step = Step(names, proposed.text.format(*operands), uses)
        known = dict(self.known)
        try:
            step.run(known)
        except AssertionError:  # no program may end so
            raise
        except PhintysError:
            return []
        variables = [known[name] for name in names]
        if not all(isinstance(variable.type, TensorType) for variable in variables):
            return []
        values = [dict(one) for one in self.values]
        try:
            with np.errstate(all="ignore"):
                is_moderate = _compute(variables, values[0])
        except AssertionError:
            raise
        except Exception:  # noqa: BLE001 - all modes must raise alike; seldom shown
            if self.failing is None and self.chance(0.05):
                self.known = known
                self.steps.append(step)
                self.failing = names[0]
            return []
        if not is_moderate:
            return []
        made = [
            Entry(name, variable, np.asarray(value_of(variable, values[0])))
            for name, variable in zip(names, variables, strict=True)
        ]
        if any(entry.value.size > _MOST_ELEMENTS for entry in made):
            return []
        if not all(_is_moderate(variables, later) for later in values[1:]):
            return []
        self.known, self.values = known, values
        self.steps.append(step)
        self.pool += made
        return made

    def finish(self, outputs: Sequence[str] = ()) -> Case:
        """Return the case, with some outputs if they are not to be drawn."""
        made = self.pool[len(self.givens) :] or self.pool
        count = self.integer(1, 3)
        chosen = [made[-1], *(self.choose(made) for _ in range(count - 1))]
        outputs = list(outputs) or [entry.name for entry in chosen]
        if self.chance(0.05):
            outputs.append(self.givens[0].name)
        if self.failing is not None:
            outputs.append(self.failing)
        givens = [self._shared(given) for given in self.givens]
        case = Case(
            self.seed, tuple(givens), tuple(self.steps), tuple(dict.fromkeys(outputs)), self.calls
        )
        return case.pruned()

    def _shared(self, given: Given) -> Given:
        """Return an input, made a shared variable with an update where that is possible."""
        if not self.chance(0.15):
            return given
        fitting = [
            entry
            for entry in self.pool
            if entry.value.dtype == given.values[0].dtype
            and self.known[given.name].type.is_super(entry.variable.type)
        ]
        if not fitting:
            return given
        return replace(given, layout="C", update=self.choose(fitting).name)


def _of_few_elements(sizes: Sequence[int]) -> list[int]:
    """Return sizes with 2 in place of those that would make an input too large."""
    few: list[int] = []
    for size in sizes:
        few.append(size if math.prod(few) * size <= _MOST_ELEMENTS_INSIDE else 2)
    return few


def _is_moderate(variables: Sequence[Any], values: dict[Any, Any]) -> bool:
    """Return whether variables can be computed at small cost, or not at all, and compute them."""
    try:
        with np.errstate(all="ignore"):
            if not _compute(variables, values):
                return False
    except AssertionError:
        raise
    except Exception:  # noqa: BLE001 - as at the first call
        return True
    sizes = (np.size(value_of(variable, values)) for variable in variables)
    return max(sizes, default=0) <= _MOST_ELEMENTS_LATER


def _compute(variables: Sequence[Any], values: dict[Any, Any]) -> bool:
    """Compute variables node by node; return False before a node that makes large values."""
    for node in toposort(variables, blockers=list(values)):
        if _elements(node, values) > _MOST_ELEMENTS_INSIDE:
            return False
        evaluate(node.outputs, values)
    return True


def _elements(node: Apply, values: dict[Any, Any]) -> int:
    """Return the size of the largest output of a node by its shape rule; 0 if it has none."""
    if not isinstance(node.op, ShapedOp):
        return 0
    given = [value_of(variable, values) for variable in node.inputs]
    shapes = [np.shape(value) for value in given]
    try:
        made = node.op.shapes_of_results(node.inputs, shapes, [_as_ints(value) for value in given])
    except PhintysError:  # which perform raises, too
        return 0
    return max((math.prod(shape) for shape in made), default=0)


def _as_ints(value: Any) -> Any:
    """Return the ints of an array of integers: sizes of them do not overflow."""
    return value.tolist() if getattr(value, "dtype", np.dtype(object)).kind in "iu" else value


def _extremes(dtype: str) -> Array:
    if np.dtype(dtype).kind == "c":
        parts = [0.0, -0.0, 1.0, np.nan, np.inf, -np.inf]
        return np.array([complex(re, im) for re in parts for im in parts], dtype)
    info = np.finfo(dtype)
    sizes = [0.0, 1.0, np.inf, float(info.max), float(info.tiny), float(info.smallest_subnormal)]
    return np.array([np.nan, 0.5, *sizes, *(-size for size in sizes)], dtype)


def draw_case(seed: int, rules: Sequence[tuple[float, Rule]], most_steps: int = 16) -> Case:
    """Return the case of a seed.

    Parameters
    ----------
    seed
        Of all random choices.
    rules
        What lines are made by, each with how often it is tried.
    most_steps
        The number of lines that are tried at most.
    """
    drawing = Drawing(seed)
    drawing.make_inputs()
    weights = [weight for weight, _ in rules]
    for _ in range(drawing.integer(2, most_steps)):
        (chosen,) = drawing.random.choices(rules, weights)
        drawing.apply(chosen[1](drawing))
        if len(drawing.steps) > 2 * most_steps:
            break
    return drawing.finish()
