"""Lines of random programs: gradients, Ops of the user, long chains; and all rules together."""

from __future__ import annotations

from phintys.graph.traversal import ancestors
from tools.fuzz import arrays, control_flow, elementwise
from tools.fuzz.drawing import Drawing, Entry, Rule, Text

__all__ = ["RULES", "chain", "diamond", "forward", "reverse", "user_op"]


def _is_continuous(entry: Entry) -> bool:
    return entry.kind in "fc"


def _cost_and_wrt(drawing: Drawing) -> tuple[Entry, Entry] | None:
    """Return a float entry and another from which it was computed."""
    cost = drawing.pick(lambda one: one.kind == "f")
    if cost is None:
        return None
    above = set(ancestors([cost.variable]))
    wrt = drawing.pick(lambda one: one.kind == "f" and one is not cost and one.variable in above)
    return None if wrt is None else (cost, wrt)


def reverse(drawing: Drawing) -> Text | None:
    """A gradient of a part of the graph."""
    found = _cost_and_wrt(drawing)
    if found is None:
        return None
    cost = "{0}" if found[0].ndim == 0 else drawing.choose(("{0}.sum()", "({0} * {0}).sum()"))
    return Text(f'gradient.grad({cost}, {{1}}, disconnected_inputs="ignore")', found)


def forward(drawing: Drawing) -> Text | None:
    """A directional derivative of a part of the graph."""
    found = _cost_and_wrt(drawing)
    if found is None:
        return None
    direction = drawing.choose(("pt.ones_like({1})", "{1}"))
    return Text(f'gradient.Rop({{0}}, {{1}}, {direction}, disconnected_outputs="ignore")', found)


def user_op(drawing: Drawing) -> Text | None:
    """An Op with nothing but Python code."""
    entry = drawing.pick()
    if entry is None:
        return None
    name = drawing.choose(("doubled", "view", "strided", "zeroed", "both", "keeping", "taken"))
    operand = "pt.tensor_copy({0})" if name == "zeroed" else "{0}"
    return Text(f"user_ops.{name}({operand})", (entry,), 2 if name == "both" else None)


def chain(drawing: Drawing) -> Text | None:
    """Many elementwise steps in a row."""
    entry = drawing.pick(_is_continuous)
    if entry is None:
        return None
    length = drawing.integer(5, 25)
    current = entry
    for _ in range(length):
        pattern = drawing.choose(
            ("pt.tanh({0})", "{0} * 0.5", "{0} + {1}", "pt.abs({0})", "-{0}", "pt.sin({0})")
        )
        operands = (current, entry)[: 2 if "{1}" in pattern else 1]
        made = drawing.apply(Text(pattern, operands))
        if not made:
            return None
        current = made[0]
    return None


def diamond(drawing: Drawing) -> Text | None:
    """Values that are used twice, again and again."""
    entry = drawing.pick(_is_continuous)
    for _ in range(drawing.integer(3, 8)):
        if entry is None:
            return None
        made = drawing.apply(Text("{0} * 0.25 + pt.cos({0})", (entry,)))
        entry = made[0] if made else None
    return None


RULES: tuple[tuple[float, Rule], ...] = (
    (6.0, elementwise.arithmetic),
    (8.0, elementwise.scalar_op),
    (3.0, elementwise.literal),
    (2.0, elementwise.cast),
    (2.0, elementwise.choice),
    (0.5, elementwise.composite),
    (3.0, arrays.rearrange),
    (2.0, arrays.shapes),
    (2.5, arrays.reshape),
    (1.5, arrays.broadcast_to),
    (0.7, arrays.constant),
    (5.0, arrays.reduce),
    (2.0, arrays.along),
    (4.0, arrays.sliced),
    (2.5, arrays.gather),
    (1.0, arrays.mask),
    (3.0, arrays.update),
    (2.5, arrays.join),
    (1.0, arrays.split),
    (1.0, arrays.tiled),
    (2.0, arrays.create),
    (3.0, arrays.product),
    (3.0, arrays.scaled_product),
    (1.5, reverse),
    (0.7, forward),
    (1.5, user_op),
    (1.5, control_flow.loop),
    (0.7, control_flow.choice),
    (0.3, chain),
    (0.3, diamond),
)
"""Each rule, with how often it is tried."""
