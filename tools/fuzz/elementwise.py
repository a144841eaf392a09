"""Lines of random programs: elementwise ops of the whole scalar table, casts, broadcasting."""

from __future__ import annotations

import numpy as np

import phintys.tensor as pt
from phintys.tensor.type import DTYPES
from phintys.testing.scalar_domains import DOMAINS, ScalarDomain
from tools.fuzz.drawing import Drawing, Entry, Text

__all__ = ["arithmetic", "cast", "choice", "composite", "literal", "scalar_op"]

_CALLS = {
    name: f"pt.{name}" if hasattr(pt, name) else f"user_ops.row({name!r})" for name in DOMAINS
}
_CALLS["ne"] = "pt.neq"
_CALLS["identity"] = "pt.tensor_copy"
_NAMES = sorted(DOMAINS)
_SLOW_TO_GROW = {"pow", "gamma", "exp", "exp2", "sinh", "cosh", "left_shift", "beta", "polygamma"}


def arithmetic(drawing: Drawing) -> Text | None:
    """``x + y`` and the like: the most frequent of all."""
    name = drawing.choose(("add", "sub", "mul", "true_div", "maximum", "minimum", "switch"))
    return _applied(drawing, name, 3 if name == "switch" else 2, tame=0.2)


def scalar_op(drawing: Drawing) -> Text | None:
    """Any op of the scalar table."""
    name = drawing.choose(_NAMES)
    domain = DOMAINS[name]
    count = len(domain.intervals)
    if name in {"add", "mul", "maximum", "minimum", "and_", "or_", "xor"}:
        count = drawing.choose((2, 2, 3, 4))
    return _applied(drawing, name, count, tame=0.98 if name in _SLOW_TO_GROW else 0.7)


def _applied(drawing: Drawing, name: str, count: int, tame: float) -> Text | None:
    """Return a line that applies an op, whose operands are mostly brought into its domain."""
    domain = DOMAINS[name]
    operands: list[Entry] = []
    for position in range(count):
        entry = drawing.pick(lambda one: _takes(domain, len(operands), one, operands))
        if entry is None:
            return None
        if drawing.chance(tame):
            entry = _brought_into(drawing, domain, min(position, len(domain.intervals) - 1), entry)
        operands.append(entry)
    places = ", ".join(f"{{{position}}}" for position in range(count))
    return Text(f"{_CALLS[name]}({places})", tuple(operands))


def _takes(domain: ScalarDomain, position: int, entry: Entry, others: list[Entry]) -> bool:
    if position in domain.integers:
        if entry.kind not in "iu":
            return False
    elif entry.kind not in domain.kinds:
        return False
    return all(broadcast(entry, other) for other in others)


def broadcast(one: Entry, other: Entry) -> bool:
    """Return whether two entries broadcast: sizes are equal, or known to be 1."""
    pairs = zip(reversed(one.shape), reversed(other.shape), strict=False)
    static = zip(
        reversed(one.variable.type.shape), reversed(other.variable.type.shape), strict=False
    )
    return all(
        n == m or (n == 1 and known == 1) or (m == 1 and other_known == 1)
        for (n, m), (known, other_known) in zip(pairs, static, strict=True)
    )


def _brought_into(drawing: Drawing, domain: ScalarDomain, position: int, entry: Entry) -> Entry:
    """Return an entry clipped to the interval in which an op is defined and moderate."""
    if entry.kind in "bc":
        return entry
    low, high = domain.interval(position, entry.kind)
    value = entry.value
    with np.errstate(all="ignore"):
        if not value.size or bool(np.all((value >= low) & (value <= high))):
            return entry
    made = drawing.apply(Text(f"pt.clip({{0}}, {_number(low)}, {_number(high)})", (entry,)))
    return made[0] if made else entry


def _number(value: float) -> str:
    return repr(int(value)) if float(value).is_integer() else repr(float(value))


def literal(drawing: Drawing) -> Text | None:
    """An operation with a Python number, which is weak."""
    entry = drawing.pick(lambda one: one.kind in "iufc")
    if entry is None:
        return None
    number = drawing.choose(("2", "1", "0", "-1", "3", "0.5", "-1.5", "1e-3"))
    pattern = drawing.choose(
        ("{0} + N", "N - {0}", "{0} * N", "{0} / N", "{0} ** 2", "pt.maximum({0}, N)", "N + {0}")
    )
    return Text(pattern.replace("N", number), (entry,))


def cast(drawing: Drawing) -> Text | None:
    """A cast; C leaves open what becomes of floats that the integer type cannot hold."""
    entry = drawing.pick()
    dtype = drawing.choose(DTYPES)
    if entry is None or (entry.kind == "c" and np.dtype(dtype).kind not in "cb"):
        return None
    if entry.kind == "f" and np.dtype(dtype).kind in "iu":
        low = 0 if dtype.startswith("u") else -100
        clipped = drawing.apply(Text(f"pt.clip({{0}}, {low}, 100)", (entry,)))
        if not clipped or not np.all(np.isfinite(clipped[0].value)):
            return None
        entry = clipped[0]
        if drawing.chance(0.9):
            entry = drawing.apply(Text("pt.switch(pt.isnan({0}), 0, {0})", (entry,)))[0]
    return Text(f"pt.cast({{0}}, {dtype!r})", (entry,))


def choice(drawing: Drawing) -> Text | None:
    """``where``, comparisons that give masks, and tests."""
    entry = drawing.pick(lambda one: one.kind in "biuf")
    if entry is None:
        return None
    other = drawing.pick(lambda one: one.kind in "biuf" and broadcast(one, entry))
    pattern = drawing.choose(
        (
            "pt.where({0} > 0, {0}, {1})",
            "pt.switch({0} < {1}, {0}, 1)",
            "pt.switch({0}, {1}, 0)",
            "pt.eq({0}, {1})",
            "pt.isclose({0}, {1})",
            "{0} >= 0",
            "pt.clip({0}, -1, {1})",
        )
    )
    return None if other is None else Text(pattern, (entry, other))


def composite(drawing: Drawing) -> Text | None:
    """A Composite."""
    first = drawing.pick(lambda one: one.kind in "biuf")
    if first is None:
        return None
    second = drawing.pick(lambda one: one.kind in "biuf" and broadcast(one, first))
    if second is None:
        return None
    return Text("user_ops.composite({0}, {1})", (first, second), 2)
