"""Selection of values: extremes, clipping, conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.graph.variable import Variable
from phintys.scalar.comparison import eq, ge, gt, le, lt
from phintys.scalar.logic import and_
from phintys.scalar.op import Dtypes
from phintys.scalar.row import Row
from phintys.scalar.row_kinds import UfuncRow


class _ArrayRow(Row):
    """A row with its own rules and a function on arrays that is not a ufunc."""

    def __init__(self, name: str, function: Callable[..., Any], *, nin: int, **facts: Any) -> None:
        super().__init__(name, nin=nin, **facts)
        self.impl = function

    @property
    def reference(self) -> str:
        """The origin of the function."""
        return f"{__package__}:{self.name}"


# Where both are equal, the first takes the whole gradient.
def _pull_extreme(x: Any, y: Any, out: Any, g: Any) -> tuple[Any, Any]:
    first = eq(out, x)
    return switch(first, g, 0), switch(first, 0, g)


def _push_extreme(x: Any, y: Any, out: Any, v: Any) -> Any:
    return _push_choice(eq(out, x), *v)


def _push_choice(condition: Any, v: Any, w: Any) -> Any:
    if v is None and w is None:
        return None
    return switch(condition, 0 if v is None else v, 0 if w is None else w)


def _lowest(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return -np.inf
    if dtype.kind == "c":
        return complex(-np.inf, -np.inf)
    return False if dtype.kind == "b" else np.iinfo(dtype).min


def _highest(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return np.inf
    if dtype.kind == "c":
        return complex(np.inf, np.inf)
    return True if dtype.kind == "b" else np.iinfo(dtype).max


def _only_discrete(element: Callable[[Any], Any]) -> Callable[[Any], Any]:
    # NaN takes precedence over infinity.
    return lambda dtype: element(dtype) if dtype.kind in "biu" else None


def _nan_or(element: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda dtype: element(dtype) if dtype.kind in "biu" else np.nan


maximum = UfuncRow(
    "maximum",
    np.maximum,
    doc="The larger of x1 and x2; NaN if one is NaN.",
    example="[1.0, 5.0], 3.0",
    pullback=_pull_extreme,
    pushforward=_push_extreme,
    commutative=True,
    associative=True,
    identity=_lowest,
    absorbing=_only_discrete(_highest),
)

minimum = UfuncRow(
    "minimum",
    np.minimum,
    doc="The smaller of x1 and x2; NaN if one is NaN.",
    example="[1.0, 5.0], 3.0",
    pullback=_pull_extreme,
    pushforward=_push_extreme,
    commutative=True,
    associative=True,
    identity=_highest,
    absorbing=_only_discrete(_lowest),
)

fmax = UfuncRow(
    "fmax",
    np.fmax,
    doc="The larger of x1 and x2, ignoring a NaN.",
    example='[1.0, float("nan")], 3.0',
    pullback=_pull_extreme,
    pushforward=_push_extreme,
    commutative=True,
    associative=True,
    identity=_nan_or(_lowest),
    absorbing=_highest,
)

fmin = UfuncRow(
    "fmin",
    np.fmin,
    doc="The smaller of x1 and x2, ignoring a NaN.",
    example='[1.0, float("nan")], 3.0',
    pullback=_pull_extreme,
    pushforward=_push_extreme,
    commutative=True,
    associative=True,
    identity=_nan_or(_highest),
    absorbing=_lowest,
)

heaviside = UfuncRow(
    "heaviside",
    np.heaviside,
    doc="0 for x1 < 0, x2 for x1 == 0, 1 for x1 > 0.",
    example="[-1.0, 0.0, 2.0], 0.5",
    hint="Take the real part of a complex number first.",
    pullback=lambda x, y, out, g: (0, switch(eq(x, 0), g, 0)),
    pushforward=lambda x, y, out, v: None if v[1] is None else switch(eq(x, 0), v[1], 0),
)


class _Clip(_ArrayRow):
    def _resolve(self, dtypes: Dtypes) -> Dtypes:
        return (np.result_type(*dtypes),)


def _clip_cases(x: Any, lower: Any, upper: Any) -> tuple[Any, Any, Any]:
    """Return masks of where the output is each of the three inputs."""
    ordered = le(lower, upper)
    return (
        and_(ge(x, lower), le(x, upper)),
        and_(lt(x, lower), ordered),
        gt(maximum(x, lower), upper),
    )


def _pull_clip(x: Any, lower: Any, upper: Any, out: Any, g: Any) -> tuple[Any, ...]:
    return tuple(switch(case, g, 0) for case in _clip_cases(x, lower, upper))


def _push_clip(x: Any, lower: Any, upper: Any, out: Any, v: Any) -> Any:
    terms = [
        switch(case, direction, 0)
        for case, direction in zip(_clip_cases(x, lower, upper), v, strict=True)
        if direction is not None
    ]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


clip = _Clip(
    "clip",
    lambda x, lower, upper: np.minimum(np.maximum(x, lower), upper),
    doc="minimum(maximum(x, lower), upper). At a limit x takes the whole gradient.",
    parameters=("x", "lower", "upper"),
    example="[0.0, 2.0, 5.0], 1.0, 3.0",
    nin=3,
    pullback=_pull_clip,
    pushforward=_push_clip,
    cost=2,
)


class _Switch(_ArrayRow):
    def _resolve(self, dtypes: Dtypes) -> Dtypes:
        return (np.result_type(*dtypes[1:]),)

    def literal_dtypes(self, operands: Sequence[Any]) -> Dtypes:
        condition, *values = operands
        # The condition does not influence the dtype of the result.
        return (*super().literal_dtypes([condition]), *super().literal_dtypes(values))


def _pull_switch(condition: Any, x: Any, y: Any, out: Any, g: Any) -> tuple[Any, ...]:
    return 0, switch(condition, g, 0), switch(condition, 0, g)


switch = _Switch(
    "switch",
    np.where,
    doc="x where the condition is not 0, else y: NumPy's ``where``.",
    parameters=("condition", "x", "y"),
    example="[True, False], [1.0, 2.0], [3.0, 4.0]",
    nin=3,
    pullback=_pull_switch,
    pushforward=lambda condition, x, y, out, v: _push_choice(condition, *v[1:]),
)


class _Second(_ArrayRow):
    def _resolve(self, dtypes: Dtypes) -> Dtypes:
        return (dtypes[1],)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return that only the second input influences the output."""
        return [[False], [True]]

    def L_op(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        output_grads: Sequence[Variable],
    ) -> list[Variable]:
        return [disconnected_type(), super().L_op(inputs, outputs, output_grads)[1]]


second = _Second(
    "second",
    lambda x, y: np.broadcast_to(y, np.broadcast_shapes(np.shape(x), np.shape(y))).copy()[()],
    doc="x2 in the shape of both: x1 filled with x2.",
    example="[0.0, 0.0], 1.5",
    nin=2,
    derivative=lambda x, y, out: (0, 1),
)


class _Identity(_ArrayRow):
    def _resolve(self, dtypes: Dtypes) -> Dtypes:
        return dtypes


identity = _Identity(
    "identity",
    lambda x: np.array(x)[()],
    doc="x itself, as a new variable.",
    nin=1,
    derivative=lambda x, out: (1,),
    cost=0,
    slope_at_zero=1,
)
