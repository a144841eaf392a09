"""Random graphs that read one intermediate value through pairs of views of it.

A view has no memory of its own, so a value may be overwritten only after all of its views have been
read for the last time: by one kernel or by several, by loops, by routines of BLAS and LAPACK, by
updates of shared variables. Rewriting makes many pairs one; those that it cannot are what matters.
"""

from __future__ import annotations

from collections.abc import Sequence

from tools.fuzz.case import Case
from tools.fuzz.checking import Disagreement, check
from tools.fuzz.drawing import Drawing, Entry, Text
from tools.fuzz.modes import NATIVE, STRICT, VARIANTS, StepByStep, Variant

__all__ = ["check_views", "draw_views"]

_MADE = (
    "pt.tanh({0})",
    "pt.tanh({0})",
    "pt.cumsum({0}, axis={axis})",
    "{0} * 2 - {0}.max()",
    "pt.softmax({0}, axis={axis})",
    "{0} + {0}.sum(axis={axis}, keepdims=True)",
    "pt.sort({0}, axis={axis})",
    "pt.concatenate([{0}, {0}], axis={axis})",
    "pt.set_subtensor({0}[:1], 2)",
    "loop_ops.decayed({0}, True)",
)
"""What makes the value; ``{axis}`` is one of its axes."""

_WHOLE = (
    "{0}.flatten()",
    "{0}.flatten()",
    "{0}.reshape(({0}.size,))",
    "{0}.reshape(({0}.size,))",
    "{0}.reshape((-1,))",
    "pt.prod({0}.shape, dtype='int64') * 0 + {0}.flatten()",
    "{0}.reshape((pt.prod({0}.shape),))",
    "{0}.reshape({known})",
    "{0}.reshape(({0}.shape[0], -1))",
    "{0}.reshape((-1, {0}.shape[-1])).flatten()",
    "pt.join_dims({0})",
    "pt.join_dims(pt.expand_dims({0}, 0))",
    "pt.split_dims(pt.join_dims({0}), {0}.shape)",
    "pt.split_dims(pt.join_dims({0}), ({0}.size, 1))[:, 0]",
    "{0}.ravel()",
    "pt.expand_dims({0}, {axis})",
    "pt.shape_padleft({0})",
    "pt.shape_padleft({0}).reshape({0}.shape)",
    "pt.atleast_3d({0})",
    "pt.squeeze(pt.expand_dims({0}, 0), 0)",
    "pt.specify_shape({0}, {0}.shape)",
    "{0}.reshape({0}.shape)",
    "gradient.disconnected_grad({0})",
    "user_ops.view({0})",
    "{0}[:]",
    "{0}",
)
"""Views of all elements in their order."""

_OTHER = (
    "{0}[::-1]",
    "{0}.flatten()[::-1]",
    "{0}.T",
    "{0}.T.flatten()",
    "{0}.reshape({0}.shape[::-1])",
    "pt.swapaxes({0}, 0, -1)",
    "pt.moveaxis({0}, -1, 0)",
    "{0}[1:]",
    "{0}[:-1]",
    "{0}[::2]",
    "{0}[{0}.shape[0] // 2 :]",
    "{0}.flatten()[1:]",
    "{0}[0]",
    "{0}[-1:]",
    "{0}[..., 0]",
    "pt.diagonal(pt.atleast_2d({0}))",
    "pt.broadcast_to({0}, (2, *{0}.shape))",
    "pt.split({0}, [{0}.shape[0] - 1, 1], 2)[0]",
    "user_ops.strided({0})",
    "{0}[pt.arange({0}.shape[0])[::-1]]",
)
"""Views of some elements, or in another order."""

_READERS = (
    "{0} * 3",
    "{0} * 3",
    "pt.exp(-pt.sqr({0}))",
    "pt.cumsum({0} * 2)",
    "pt.cumsum({0}, axis=0)",
    "{0}.sum()",
    "{0}.sum(axis=0)",
    "{0} + {0}.sum(axis=-1, keepdims=True)",
    "pt.softmax({0}, axis=-1)",
    "pt.sort({0})",
    "pt.max({0}, axis=0)",
    "{0} - {0}[::-1]",
    "pt.concatenate([{0}, {0} * 2])",
    "pt.inc_subtensor({0}[:1], 1)",
    "loop_ops.decayed({0}, False)",
    "loop_ops.windowed({0}, False)",
    "pt.dot(pt.atleast_2d({0}).reshape((-1, {0}.shape[-1])), {0}.reshape((-1, {0}.shape[-1])).T)",
    "pt.linalg.cholesky({square})",
    "pt.linalg.solve({square}, pt.sqr({0}).flatten()[:1] * pt.ones(2))",
    "pt.linalg.inv({square})",
    "user_ops.zeroed(pt.tensor_copy({0}))",
    "pt.cumsum({1} * {0}.sum())",
)
_SQUARE = "(pt.eye(2) * 3 + pt.tanh({0}.mean()))"

_OF_BOTH = (
    "{0} + {1}",
    "{0} * {1}",
    "pt.tanh({0}) - {1} * 2",
    "{0} * {1}[::-1]",
    "{0} * {1}.sum()",
    "pt.cumsum({0}) * pt.cumsum({1})",
    "pt.dot({0}.flatten(), {1}.flatten())",
    "pt.outer({0}.flatten()[:5], {1}.flatten()[:5])",
    "pt.concatenate([{0}.flatten(), {1}.flatten() * 2])",
    "pt.maximum({0}, {1}.max())",
    "pt.sin(pt.dot({0}.flatten(), {1}.flatten()))",
    "gradient.grad(pt.sin(pt.dot({0}.flatten(), {1}.flatten())), {2})",
    "gradient.grad(({0} * 2).sum() + pt.sqr({1}).sum(), {2})",
)
"""With both views and what the value was made of."""


class _Views(Drawing):
    """A case of pairs of views in the making."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.readers: list[str] = []

    def _line(self, pattern: str, *operands: Entry) -> Entry | None:
        entry = operands[0]
        text = pattern.replace("{square}", _SQUARE).replace("{known}", str(entry.shape[::-1]))
        text = text.replace("{axis}", str(self.axis(entry.ndim) if entry.ndim else 0))
        made = self.apply(Text(text, operands))
        return made[0] if made else None

    def draw_pair(self) -> None:
        """Make a value, two views of it, and what reads them."""
        given = self.pick(lambda one: one.kind in "if" and one.ndim > 0)
        if given is None:
            return
        # A value of an earlier line may have two more views.
        is_made = given.name.startswith("v") and self.chance(0.3)
        value = given if is_made else self._line(self.choose(_MADE), given)
        if value is None or value.ndim == 0:
            return
        views = [self._view(value) for _ in range(self.choose((2, 2, 2, 3)))]
        found = [view for view in views if view is not None]
        for view in found:
            for _ in range(self.choose((0, 1, 1, 2))):
                self._read(self._line(self.choose(_READERS), view, self.choose(found)))
        if len(found) > 1 and self.chance(0.6):
            self._read(self._line(self.choose(_OF_BOTH), *found[:2], given))

    def _view(self, value: Entry) -> Entry | None:
        return self._line(self.choose(_WHOLE if self.chance(0.7) else _OTHER), value)

    def _read(self, made: Entry | None) -> None:
        if made is None:
            return
        # Results have memory that nothing is written over; what is between does not.
        if self.chance(0.5) and made.ndim:
            made = self._line(self.choose(_READERS), made, made) or made
        self.readers.append(made.name)


def draw_views(seed: int, most_steps: int = 3) -> Case:
    """Return the case of a seed.

    Parameters
    ----------
    seed
        Of all random choices.
    most_steps
        The number of values of which views are drawn, at most.
    """
    drawing = _Views(seed)
    drawing.make_inputs()
    for _ in range(drawing.integer(1, most_steps)):
        drawing.draw_pair()
    return drawing.finish(drawing.readers)


def check_views(case: Case, variants: Sequence[Variant] | None = None) -> Disagreement | None:
    """Run a case in native code, and every other one in another way or step by step."""
    if variants is None:
        number, at = divmod(case.seed, 4)
        usual = (STRICT, NATIVE)[at % 2]
        other = VARIANTS[number % len(VARIANTS)]
        if at > 1:
            most = (None, None, 1, 3)[number % 4]
            other = Variant("step by step", StepByStep(), usual.pipeline, most_statements=most)
        variants = (usual, other) if at in {0, 3} and other.runs_here else (usual,)
    return check(case, variants)
