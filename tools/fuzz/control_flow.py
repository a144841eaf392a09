"""Lines of random programs: loops and choices."""

from __future__ import annotations

from tools.fuzz.drawing import Drawing, Entry, Text

__all__ = ["choice", "loop"]


def loop(drawing: Drawing) -> Text | None:
    """A loop over the rows of a value."""
    name = drawing.choose(("decayed", "folded", "windowed", "stopped", "nested", "halved"))
    kinds = "fc" if name == "decayed" else "f" if name == "halved" else "iuf"
    x = drawing.pick(lambda one: one.kind in kinds and 1 <= one.ndim <= 3)
    if x is None:
        return None
    if name in {"decayed", "windowed"}:
        return Text(f"loop_ops.{name}({{0}}, {drawing.chance(0.5)})", (x,))
    if name == "nested":
        return Text("loop_ops.nested({0})", (x,), 2)
    if name == "halved":
        return Text("loop_ops.halved({0})", (x,))
    first = drawing.pick(lambda one: _is_row(one, x))
    if first is None:
        return Text(f"loop_ops.{name}({{0}}, {{0}}[0])", (x,))
    return Text(f"loop_ops.{name}({{0}}, {{1}})", (x, first))


def _is_row(entry: Entry, x: Entry) -> bool:
    """Return whether an entry has the dtype and shape of a row of another one."""
    return entry.value.dtype == x.value.dtype and entry.shape == x.shape[1:]


def choice(drawing: Drawing) -> Text | None:
    """A choice of which one side is computed."""
    condition = drawing.pick(lambda one: one.kind in "biu")
    x = drawing.pick(lambda one: one.kind in "ifc")
    if condition is None or x is None:
        return None
    return Text("loop_ops.chosen({0}, {1})", (condition, x))
