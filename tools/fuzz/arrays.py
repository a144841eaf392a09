"""Lines of random programs: shapes, reductions, indexing, joins, creation, products, sorting."""

from __future__ import annotations

import math
from typing import Any

from phintys.tensor.blas import BLAS_LETTERS
from phintys.tensor.type import DTYPES
from tools.fuzz.case import as_literal
from tools.fuzz.drawing import Drawing, Entry, Text

__all__ = [
    "along",
    "broadcast_to",
    "constant",
    "create",
    "gather",
    "join",
    "mask",
    "product",
    "rearrange",
    "reduce",
    "reshape",
    "scaled_product",
    "shapes",
    "sliced",
    "split",
    "tiled",
    "update",
]


def _has_axes(entry: Entry) -> bool:
    return entry.ndim > 0


# ---- shapes --------------------------------------------------------------------------------------


def rearrange(drawing: Drawing) -> Text | None:
    """A DimShuffle, by one name or another."""
    entry = drawing.pick(lambda one: one.ndim < 4)
    if entry is None:
        return None
    ndim = entry.ndim
    order: list[Any] = drawing.random.sample(range(ndim), ndim)
    ones = [axis for axis, size in enumerate(entry.variable.type.shape) if size == 1]
    kind = drawing.choose(("dimshuffle", "transpose", "squeeze", "expand", "move", "swap"))
    if kind == "dimshuffle":
        dropped = [axis for axis in ones if drawing.chance(0.5)]
        order = [axis for axis in order if axis not in dropped]
        for _ in range(drawing.integer(0, 4 - len(order))):
            order.insert(drawing.integer(0, len(order)), "x")
        return Text("{0}" + f".dimshuffle({order!r})", (entry,))
    if kind == "transpose":
        return Text(drawing.choose(("{0}.T", f"pt.transpose({{0}}, {order!r})")), (entry,))
    if kind == "squeeze" and ones:
        return Text(f"pt.squeeze({{0}}, {drawing.choose(ones)})", (entry,))
    if kind == "expand":
        return Text(f"pt.expand_dims({{0}}, {drawing.integer(-ndim - 1, ndim)})", (entry,))
    if not ndim:
        return None
    name = "moveaxis" if kind == "move" else "swapaxes"
    return Text(f"pt.{name}({{0}}, {drawing.axis(ndim)}, {drawing.axis(ndim)})", (entry,))


def shapes(drawing: Drawing) -> Text | None:
    """A shape as a value, arithmetic on sizes, and shapes that are asserted."""
    entry = drawing.pick(_has_axes)
    if entry is None:
        return None
    axis = drawing.integer(0, entry.ndim - 1)
    sizes = ", ".join(
        drawing.choose(("None", str(size), f"{{0}}.shape[{at}]"))
        for at, size in enumerate(entry.shape)
    )
    pattern = drawing.choose(
        (
            "{0}.shape",
            f"{{0}}.shape[{axis}]",
            "{0}.size",
            f"{{0}}.shape[{axis}] * 2 - 1",
            f"pt.maximum({{0}}.shape[{axis}], 2)",
            f"{{0}}.shape[{axis}] // 2",
            f"{{0}} * {{0}}.shape[{axis}]",
            "pt.stack([{0}.size, {0}.shape[0]])",
            "pt.prod({0}.shape)",
            f"pt.specify_shape({{0}}, ({sizes},))",
            f"pt.specify_shape({{0}}, ({sizes},))",
        )
    )
    return Text(pattern, (entry,))


def reshape(drawing: Drawing) -> Text | None:
    """A reshape: flat, reversed, split, merged, with -1, with sizes that are computed."""
    entry = drawing.pick()
    if entry is None:
        return None
    ndim, size = entry.ndim, entry.value.size
    choices = ["(-1,)", "{0}.shape", "(1, -1)" if size else "(-1, 1)", "({0}.size,)"]
    if ndim:
        reverse = ", ".join(f"{{0}}.shape[{axis}]" for axis in reversed(range(ndim)))
        choices += [f"({reverse},)", "({0}.shape[0], -1)" if entry.shape[0] else "{0}.shape"]
        choices += [f"({', '.join(map(str, entry.shape[::-1]))},)"]
    if ndim == 2:
        choices.append("({0}.shape[0] * {0}.shape[1],)")
    factors = [n for n in range(2, 8) if size and size % n == 0]
    if factors:
        factor = drawing.choose(factors)
        choices += [f"({factor}, -1)", f"({size // factor}, {factor})", f"(-1, {factor}, 1)"]
        choices += [f"({{0}}.size // {factor}, {factor})"]
    if drawing.chance(0.15):
        return Text(f"pt.flatten({{0}}, {drawing.integer(1, max(1, ndim))})", (entry,))
    return Text(f"{{0}}.reshape({drawing.choose(choices)})", (entry,))


def constant(drawing: Drawing) -> Text | None:
    """A constant array, in a shape that may be known only at run time."""
    entry = drawing.pick(lambda one: 0 < one.value.size <= 20)
    if entry is None:
        return None
    dtype = drawing.choose(DTYPES)
    made = drawing.array(dtype, entry.shape, wild=drawing.chance(0.1))
    literal = as_literal(made.reshape(-1) if drawing.chance(0.5) else made)
    return Text(f"pt.constant({literal}).reshape({{0}}.shape)", (entry,))


def broadcast_to(drawing: Drawing) -> Text | None:
    """An array repeated along new axes, or along those of size 1."""
    entry = drawing.pick(lambda one: one.ndim < 3 and one.value.size < 50)
    if entry is None:
        return None
    known = entry.variable.type.shape
    sizes = [
        str(drawing.choose(drawing.lengths)) if size == 1 else f"{{0}}.shape[{axis}]"
        for axis, size in enumerate(known)
    ]
    other = drawing.pick(_has_axes)
    if other is not None and drawing.chance(0.5):
        sizes.insert(0, f"{{1}}.shape[{drawing.integer(0, other.ndim - 1)}]")
    elif drawing.chance(0.7):
        sizes.insert(0, str(drawing.choose((0, 1, 2, 3))))
    if not sizes:
        return None
    return Text(f"pt.broadcast_to({{0}}, ({', '.join(sizes)},))", (entry, other or entry))


# ---- reductions ----------------------------------------------------------------------------------


def reduce(drawing: Drawing) -> Text | None:
    """A reduction: any function, axes, dtypes."""
    entry = drawing.pick()
    if entry is None:
        return None
    axis, keepdims = drawing.axes(entry.ndim), drawing.chance(0.3)
    names = ["sum", "sum", "prod", "max", "min", "any", "all", "mean", "argmax", "argmin"]
    names += ["var", "std", "logsumexp", "ptp", "max_and_argmax"]
    name = drawing.choose(names)
    options = f", axis={axis!r}" + (", keepdims=True" if keepdims else "")
    if name == "logsumexp" and entry.kind != "f":
        return None
    if name in {"sum", "prod", "mean"} and drawing.chance(0.3):
        real = ["int64", "float64", "float32", "float16", "int8", "uint16", "complex128"]
        options += f", dtype={drawing.choose(real)!r}"
        if drawing.chance(0.4):
            options += f", acc_dtype={drawing.choose(real)!r}"
    operand = "{0} != 0" if name in {"any", "all"} and entry.kind != "b" else "{0}"
    count = 2 if name == "max_and_argmax" else None
    return Text(f"pt.{name}({operand}{options})", (entry,), count)


def along(drawing: Drawing) -> Text | None:
    """What goes along an axis: cumulated sums, sorting, softmax, differences."""
    entry = drawing.pick(_has_axes)
    if entry is None:
        return None
    axis: Any = drawing.axis(entry.ndim)
    names = ["cumsum", "cumprod", "sort", "argsort", "diff", "softmax", "log_softmax"]
    name = drawing.choose(names)
    if name in {"softmax", "log_softmax"} and entry.kind != "f":
        return None
    if name.startswith("cum") and drawing.chance(0.2):
        axis = None
    if name == "cumprod":
        entry = (drawing.apply(Text("pt.clip({0}, -1, 2)", (entry,))) or [entry])[0]
    option = ", stable=True" if name == "argsort" else ""
    return Text(f"pt.{name}({{0}}, axis={axis}{option})", (entry,))


# ---- indexing ------------------------------------------------------------------------------------


def _bound(drawing: Drawing, size: int) -> str:
    return drawing.choose(("", "", str(drawing.integer(-size - 2, size + 2))))


def _slice(drawing: Drawing, entry: Entry, axis: int) -> str:
    size = entry.shape[axis]
    step = drawing.choose(("", "", "", "-1", "2", "-2", "3"))
    text = f"{_bound(drawing, size)}:{_bound(drawing, size)}"
    if drawing.chance(0.1):
        text = f"{{0}}.shape[{axis}] // 2:"
    return f"{text}:{step}" if step else text


def _basic(drawing: Drawing, entry: Entry) -> str:
    """Return an index of integers, slices, new axes and an ellipsis."""
    parts: list[str] = []
    used = drawing.integer(1, entry.ndim)
    for axis in range(used):
        size = entry.shape[axis]
        is_integer = drawing.chance(0.3)
        if is_integer and (size or drawing.chance(0.02)):
            low = -size - (1 if drawing.chance(0.02) else 0)
            parts.append(str(drawing.integer(low, max(size - 1, 0))))
        else:
            parts.append(_slice(drawing, entry, axis))
    if drawing.chance(0.15):
        parts.insert(drawing.integer(0, len(parts)), "None")
    if drawing.chance(0.15):
        parts.append("...")
    return ", ".join(parts)


def _positions(drawing: Drawing, size: int) -> str:
    rows = [drawing.integer(-size, size - 1) for _ in range(drawing.integer(0, 5))]
    return f"np.array({rows!r}, {drawing.choose(('int64', 'int64', 'int32'))!r})"


def _advanced(drawing: Drawing, entry: Entry) -> tuple[str, tuple[Entry, ...]] | None:
    """Return an index with arrays of integers, some of them computed."""
    axes = [axis for axis, size in enumerate(entry.shape) if size]
    if not axes:
        return None
    parts = [":" for _ in entry.shape]
    axis = drawing.choose(axes)
    size = entry.shape[axis]
    parts[axis] = _positions(drawing, size)
    operands: tuple[Entry, ...] = (entry,)
    indices = drawing.pick(lambda one: one.kind in "iu" and one.ndim <= 2)
    if indices is not None and drawing.chance(0.5):
        within = f"pt.cast({{1}} % {{0}}.shape[{axis}], 'int64')"
        parts[axis] = "{1}" if drawing.chance(0.05) else within
        operands = (entry, indices)
    others = [other for other in axes if other != axis]
    if others and drawing.chance(0.4):
        other = drawing.choose(others)
        kind = drawing.choose(("integer", "same", "column"))
        if kind == "integer":
            parts[other] = str(drawing.integer(-entry.shape[other], entry.shape[other] - 1))
        elif len(operands) == 2 and kind == "same":
            parts[other] = f"pt.cast({{1}} % {{0}}.shape[{other}], 'int64')"
        else:
            rows = [[drawing.integer(0, entry.shape[other] - 1)] for _ in range(2)]
            parts[other] = f"np.array({rows!r})"
    for at, part in enumerate(parts):
        if part == ":" and drawing.chance(0.3):
            parts[at] = _slice(drawing, entry, at)
    while len(parts) > 1 and parts[-1] == ":":
        parts.pop()
    return ", ".join(parts), operands


def sliced(drawing: Drawing) -> Text | None:
    """Basic indexing."""
    entry = drawing.pick(_has_axes)
    if entry is None:
        return None
    at = drawing.pick(lambda one: one.kind in "iu" and one.ndim == 0)
    if at is not None and entry.shape[0] and drawing.chance(0.3):
        index = drawing.choose(
            ("{1} % {0}.shape[0]", "{1} % {0}.shape[0]:", ":{1}", "{1}::-1", "{1}")
        )
        return Text(f"{{0}}[{index}]", (entry, at))
    return Text(f"{{0}}[{_basic(drawing, entry)}]", (entry,))


def gather(drawing: Drawing) -> Text | None:
    """Advanced indexing."""
    entry = drawing.pick(_has_axes)
    if entry is None:
        return None
    if drawing.chance(0.15) and entry.shape[0]:
        mode = drawing.choose(("raise", "clip", "wrap"))
        return Text(
            f"pt.take({{0}}, {_positions(drawing, entry.shape[0])}, axis=0, mode={mode!r})",
            (entry,),
        )
    found = _advanced(drawing, entry)
    return None if found is None else Text(f"{{0}}[{found[0]}]", found[1])


def mask(drawing: Drawing) -> Text | None:
    """Indexing by truth."""
    entry = drawing.pick(_has_axes)
    if entry is None:
        return None
    if entry.kind in "biuf" and drawing.chance(0.4):
        pattern = drawing.choose(("{0}[{0} > 0]", "pt.nonzero({0})[0]", "{0}[pt.nonzero({0})]"))
        return Text(pattern, (entry,))
    rows = [drawing.chance(0.5) for _ in range(entry.shape[0])]
    return Text(f"{{0}}[np.array({rows!r}, bool)]", (entry,))


def update(drawing: Drawing) -> Text | None:
    """An array with some elements set, or added to."""
    entry = drawing.pick(_has_axes)
    if entry is None:
        return None
    operands: tuple[Entry, ...] = (entry,)
    kind = drawing.choose(("basic", "basic", "advanced", "advanced", "mask"))
    index = _basic(drawing, entry)
    if kind == "advanced":
        found = _advanced(drawing, entry)
        if found is None:
            return None
        index, operands = found
    elif kind == "mask":
        index = "{0} > 0" if entry.kind in "biuf" else "0"
    name = drawing.choose(("set_subtensor", "inc_subtensor"))
    value = drawing.choose((f"{{0}}[{index}]", f"{{0}}[{index}][::-1]", "1", "2", "{2}", "{2}"))
    other = drawing.pick(lambda one: one.ndim == 0 and one.kind <= entry.kind) or entry
    if value == "{2}" and other is entry:
        value = "1"
    operands = (*operands, entry)[:2]
    return Text(f"pt.{name}({{0}}[{index}], {value})", (*operands, other))


# ---- joins, creation -----------------------------------------------------------------------------


def join(drawing: Drawing) -> Text | None:
    """Arrays side by side, or in a new axis."""
    entry = drawing.pick(lambda one: one.value.size < 200)
    if entry is None:
        return None
    axis = drawing.axis(entry.ndim) if entry.ndim else 0
    is_stack = not entry.ndim or drawing.chance(0.3)

    def fits(one: Entry) -> bool:
        if one.ndim != entry.ndim or one.value.size > 200:
            return False
        return all(
            n == m or (not is_stack and at == axis % max(entry.ndim, 1))
            for at, (n, m) in enumerate(zip(one.shape, entry.shape, strict=True))
        )

    others = [drawing.pick(fits) or entry for _ in range(drawing.integer(0, 3))]
    places = ", ".join(f"{{{at}}}" for at in range(1 + len(others)))
    if is_stack:
        axis = drawing.integer(-entry.ndim - 1, entry.ndim)
        return Text(f"pt.stack([{places}], axis={axis})", (entry, *others))
    return Text(f"pt.concatenate([{places}], axis={axis})", (entry, *others))


def split(drawing: Drawing) -> Text | None:
    """An array cut in pieces."""
    entry = drawing.pick(_has_axes)
    if entry is None:
        return None
    axis = drawing.integer(0, entry.ndim - 1)
    size = entry.shape[axis]
    first = drawing.integer(0, size)
    second = drawing.integer(0, size - first)
    sizes = drawing.choose(
        (
            f"[{first}, {second}, {size - first - second}]",
            f"[{first}, 0, {{0}}.shape[{axis}] - {first}]",
        )
    )
    return Text(f"pt.split({{0}}, {sizes}, 3, axis={axis})", (entry,), 3)


def tiled(drawing: Drawing) -> Text | None:
    """An array repeated, or rolled."""
    entry = drawing.pick(lambda one: one.ndim > 0 and one.value.size < 100)
    if entry is None:
        return None
    axis, count = drawing.axis(entry.ndim), drawing.integer(0, 3)
    reps = [drawing.integer(0, 2) for _ in range(drawing.integer(1, 3))]
    counts = [drawing.integer(0, 2) for _ in range(entry.shape[axis])]
    pattern = drawing.choose(
        (
            f"pt.repeat({{0}}, {count}, axis={axis})",
            f"pt.repeat({{0}}, np.array({counts!r}, 'int64'), axis={axis})",
            f"pt.tile({{0}}, {reps!r})",
            f"pt.roll({{0}}, {drawing.integer(-9, 9)}, axis={axis})",
        )
    )
    return Text(pattern, (entry,))


def create(drawing: Drawing) -> Text | None:
    """A new array: zeros, alloc, eye, arange, linspace, triangles, diagonals."""
    entry = drawing.pick(_has_axes)
    if entry is None:
        return None
    n = drawing.choose(("{0}.shape[0]", str(drawing.integer(0, 5))))
    m, k = drawing.integer(0, 6), drawing.integer(-4, 4)
    low, step = drawing.integer(-5, 5), drawing.choose((-3, -2, -1, 1, 2, 3, 0.5))
    dtype = drawing.choose(("int64", "float32", "float64", "bool", "int8", "complex64"))
    number = drawing.pick(lambda one: one.ndim == 0)
    patterns = [
        "pt.zeros_like({0})",
        "pt.ones_like({0})",
        f"pt.full_like({{0}}, {low})",
        f"pt.zeros(({n}, {m}), {dtype!r})",
        f"pt.eye({n}, {m}, {k}, dtype={dtype!r})",
        f"pt.arange({n})",
        f"pt.arange({low}, {n}, {step})",
        f"pt.arange({{0}}.shape[0], {low}, -1)",
        f"pt.linspace({low}, 3.0, {m + 1})",
        f"pt.diag({{0}}, {k})",
        f"pt.tri({n}, {m}, {k})",
        f"pt.tril({{0}}, {k})",
        f"pt.triu({{0}}, {k})",
        f"pt.diagonal({{0}}, {k}, 0, -1)",
        "pt.trace({0})",
        f"pt.alloc({{1}}, {n}, {m})",
        f"pt.alloc({{1}}, {m}, {n})",
        f"pt.full(({n}, 2), {{1}})",
    ]
    second = number if number is not None else entry
    return Text(drawing.choose(patterns), (entry, second))


# ---- products ------------------------------------------------------------------------------------


def product(drawing: Drawing) -> Text | None:
    """A product of vectors, matrices or stacks of them."""
    first = drawing.pick(lambda one: one.ndim > 0 and one.kind != "b")
    if first is None:
        return None
    kind = drawing.choose(("dot", "dot", "matmul", "own", "batched", "tensordot", "outer", "inner"))
    if kind == "own":
        pattern = drawing.choose(
            ("pt.dot({0}, {0}.T)", "pt.dot({0}.T, {0})", "pt.matmul({0}, {0}.T)")
        )
        return Text(pattern, (first,)) if first.ndim <= 2 else None

    def fits(one: Entry) -> bool:
        if one.ndim == 0 or one.value.size * first.value.size > 20_000:
            return False
        if kind in {"dot", "matmul"}:
            return one.shape[max(one.ndim - 2, 0)] == first.shape[-1]
        if kind == "batched":
            return (
                one.ndim == first.ndim == 3
                and one.shape[0] == first.shape[0]
                and one.shape[1] == first.shape[2]
            )
        if kind == "tensordot":
            return one.shape[0] == first.shape[-1]
        if kind == "inner":
            return one.ndim == first.ndim == 1 and one.shape == first.shape
        return math.prod(one.shape) * math.prod(first.shape) <= 400

    second = drawing.pick(fits)
    if second is None:
        return None
    calls = {
        "dot": "pt.dot({0}, {1})",
        "matmul": "pt.matmul({0}, {1})",
        "batched": "pt.batched_dot({0}, {1})",
        "tensordot": "pt.tensordot({0}, {1}, axes=1)",
        "outer": "pt.outer({0}, {1})",
        "inner": "pt.inner({0}, {1})",
    }
    return Text(calls[kind], (first, second))


def scaled_product(drawing: Drawing) -> Text | None:
    """A product that is scaled and added to: what BLAS does in one go, written in several ways."""
    first = drawing.pick(lambda one: one.ndim in {1, 2} and one.value.dtype.name in BLAS_LETTERS)
    if first is None:
        return None
    dtype = first.value.dtype

    def fits(one: Entry) -> bool:
        return (
            one.value.dtype == dtype
            and one.ndim in {1, 2}
            and one.shape[0] == first.shape[-1]
            and one.value.size * first.value.size <= 20_000
        )

    second = drawing.pick(fits)
    if second is None:
        return None
    shape = first.shape[:-1] + second.shape[1:]
    added = drawing.pick(lambda one: one.value.dtype == dtype and one.shape == shape)
    if added is None or drawing.chance(0.3):
        added = first
        addend = f"pt.zeros({shape}, {dtype.name!r})"
    else:
        addend = "{2}"
    alpha = drawing.choose(("2.0", "-1.0", "0.5", "0.0", "{1}.sum()"))
    # A factor that may be 0 is none for Gemm itself: it may take NaN times 0 for 0, or not.
    sure = drawing.choose(("2.0", "-1.0", "0.5"))
    pattern = drawing.choose(
        (
            f"{alpha} * pt.dot({{0}}, {{1}}) + {addend}",
            f"{addend} - {alpha} * pt.dot({{0}}, {{1}})",
            f"({alpha} * pt.dot({{1}}.T, {{0}}.T)).T + {addend}",
            f"{addend} * 0.5 + pt.dot({{0}}, {alpha} * {{1}})",
            f"blas.Gemm()({{0}}, {{1}}, {sure}, {addend})",
            f"blas.Gemm()({{0}}, {{1}}, {sure})",
            f"blas.Gemm(inplace=True)({{0}}, {{1}}, {sure}, pt.tensor_copy({addend}))",
        )
    )
    return Text(pattern, (first, second, added))
