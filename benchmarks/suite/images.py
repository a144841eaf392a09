"""Time the layers of convolutional networks against JAX, in turn in one run.

    python -m benchmarks.suite.images [part of a row's name]

Each row is the best time of a call, in milliseconds: of Phintys, of JAX, whose arguments are on its
device already, and of Phintys without Ops of convolutions: shifted slices of the images are stacked
and multiplied by the filters. PyTensor has no convolutions of batches with channels.
"""

# The peers need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.suite.in_turn import best_in_turn
from benchmarks.suite.results import save

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS = 2.0
"""Time for each program of a row."""

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """A layer.

    Attributes
    ----------
    name
        What the row says.
    images, filters
        The shapes of the arguments; pooling has no filters.
    of
        ``"value"``, or what the gradient of the sum of squares is with respect to: ``"filters"``,
        ``"both"`` or ``"images"``.
    stride
        The stride of the convolution.
    """

    name: str
    images: Shape
    filters: Shape | None
    of: str
    stride: int = 1

    def arrays(self) -> list[np.ndarray[Any, Any]]:
        """Return random arguments."""
        rng = np.random.default_rng(0)
        shapes = [self.images, *([] if self.filters is None else [self.filters])]
        return [rng.normal(size=shape).astype("float32") for shape in shapes]


LAYERS: tuple[tuple[str, Shape, Shape, int], ...] = (
    ("LeNet 1", (64, 1, 28, 28), (20, 1, 5, 5), 1),
    ("LeNet 2", (64, 20, 12, 12), (50, 20, 5, 5), 1),
    ("3 x 3, 64 channels", (64, 64, 28, 28), (64, 64, 3, 3), 1),
    ("3 x 3, stride 2", (64, 64, 28, 28), (64, 64, 3, 3), 2),
    ("one image", (1, 32, 128, 128), (32, 32, 3, 3), 1),
)
POOLS = (("pool 1", (64, 20, 24, 24)), ("pool 2", (64, 50, 8, 8)))


def rows() -> Iterator[Row]:
    """Yield all rows."""
    for name, images, filters, stride in LAYERS:
        for of in ("value", "filters", "both"):
            yield Row(f"{name}, {of}", images, filters, of, stride)
    for name, images in POOLS:
        for of in ("value", "images"):
            yield Row(f"{name}, {of}", images, None, of)


def _graph(row: Row, conv: Callable[..., Any]) -> tuple[list[Any], Any]:
    import phintys
    import phintys.tensor as pt

    inputs: list[Any] = [pt.ftensor4() for _ in row.arrays()]
    y = pt.signal.max_pool(inputs[0], 2) if row.filters is None else conv(*inputs, row.stride)
    wrt = {"value": [], "images": inputs[:1], "filters": inputs[1:], "both": inputs}[row.of]
    return inputs, phintys.grad((y**2).sum(), wrt) if wrt else y


def in_phintys(row: Row) -> Callable[[], Any]:
    """Return a call of Phintys."""
    import phintys
    import phintys.tensor as pt

    inputs, outputs = _graph(row, lambda x, w, stride: pt.signal.conv(x, w, stride=stride))
    f = phintys.function(inputs, outputs)
    arrays = row.arrays()
    return lambda: f(*arrays)


def by_slices(row: Row) -> Callable[[], Any]:
    """Return a call of Phintys, without Ops of convolutions."""
    import phintys
    import phintys.tensor as pt

    assert row.filters is not None
    _, _, height, width = row.filters
    counts = [
        (n - k) // row.stride + 1 for n, k in zip(row.images[2:], row.filters[2:], strict=True)
    ]

    def conv(x: Any, w: Any, stride: int) -> Any:
        ends = [(count - 1) * stride + 1 for count in counts]
        slices = [
            x[:, :, i : i + ends[0] : stride, j : j + ends[1] : stride]
            for i in range(height)
            for j in range(width)
        ]
        windows = pt.stack(slices, axis=2).reshape((row.images[0], -1, counts[0] * counts[1]))
        sums = pt.matmul(w.reshape((row.filters[0], -1)), windows)  # pyright: ignore[reportOptionalSubscript]
        return sums.reshape((row.images[0], row.filters[0], *counts))  # pyright: ignore[reportOptionalSubscript]

    inputs, outputs = _graph(row, conv)
    f = phintys.function(inputs, outputs)
    arrays = row.arrays()
    return lambda: f(*arrays)


def in_jax(row: Row) -> Callable[[], Any]:
    """Return a call of JAX."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def layer(x: Any, *filters: Any) -> Any:
        if not filters:
            return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        order = ("NCHW", "OIHW", "NCHW")
        strides = (row.stride, row.stride)
        return lax.conv_general_dilated(x, filters[0], strides, "VALID", dimension_numbers=order)

    def cost(*arguments: Any) -> Any:
        return (layer(*arguments) ** 2).sum()

    places = {"value": (), "images": (0,), "filters": (1,), "both": (0, 1)}[row.of]
    f = jax.jit(jax.grad(cost, places) if places else layer)
    arrays = [jnp.asarray(array) for array in row.arrays()]
    return lambda: jax.block_until_ready(f(*arrays))


# ---- a network -----------------------------------------------------------------------------------

SHAPES: tuple[Shape, ...] = (
    *((20, 1, 5, 5), (20, 1, 1), (50, 20, 5, 5), (50, 1, 1)),
    *((800, 500), (500,), (500, 10), (10,)),
)
"""Filters, weights and biases of LeNet."""

RATE = 0.01


def _of_network() -> tuple[list[np.ndarray[Any, Any]], list[np.ndarray[Any, Any]]]:
    """Return parameters, and images with labels."""
    rng = np.random.default_rng(0)
    parameters = [(rng.normal(size=shape) / 10).astype("float32") for shape in SHAPES]
    images = rng.normal(size=(64, 1, 28, 28)).astype("float32")
    return parameters, [images, rng.integers(0, 10, 64)]


def _scores(x: Any, parameters: list[Any], module: Any, layer: Callable[..., Any]) -> Any:
    """Return the scores of LeNet, given a layer of convolutions and pooling."""
    w1, b1, w2, b2, w3, b3, w4, b4 = parameters
    x = module.tanh(layer(x, w1) + b1)
    x = module.tanh(layer(x, w2) + b2)
    return module.tanh(x.reshape((64, 800)) @ w3 + b3) @ w4 + b4


def network_in_phintys() -> Callable[[], Any]:
    """Return a training step."""
    import phintys
    import phintys.tensor as pt

    values, arguments = _of_network()
    parameters = [phintys.shared(value) for value in values]
    known = [pt.specify_shape(p, p.get_value().shape) for p in parameters]
    x, y = pt.ftensor4("x"), pt.lvector("y")
    scores = _scores(x, known, pt, lambda x, w: pt.signal.max_pool(pt.signal.conv(x, w), 2))
    cost = -pt.log_softmax(scores, axis=-1)[pt.arange(64), y].mean()
    gradients = phintys.grad(cost, parameters)
    updates = {
        p: p - np.float32(RATE) * slope for p, slope in zip(parameters, gradients, strict=True)
    }
    f = phintys.function([x, y], cost, updates=updates)
    return lambda: f(*arguments)


def network_in_jax() -> Callable[[], Any]:
    """Return a training step."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def layer(x: Any, w: Any) -> Any:
        order = ("NCHW", "OIHW", "NCHW")
        y = lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=order)
        return lax.reduce_window(y, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def cost(parameters: Any, x: Any, y: Any) -> Any:
        scores = _scores(x, parameters, jnp, layer)
        return -jax.nn.log_softmax(scores, axis=-1)[jnp.arange(64), y].mean()

    @jax.jit
    def step(parameters: Any, x: Any, y: Any) -> Any:
        value, slopes = jax.value_and_grad(cost)(parameters, x, y)
        return value, [p - RATE * slope for p, slope in zip(parameters, slopes, strict=True)]

    values, arguments = _of_network()
    parameters = [jnp.asarray(value) for value in values]
    given = [jnp.asarray(array) for array in arguments]
    return lambda: jax.block_until_ready(step(parameters, *given))


def _line(name: str, times: dict[str, float]) -> str:
    names = ("Phintys", "JAX", "by slices")
    cells = [f"{1e3 * times[one]:.2f}" if one in times else "" for one in names]
    return f"| {name} | {' | '.join(cells)} |"


def programs_of(row: Row) -> dict[str, Callable[[], Any]]:
    """Return the programs of a layer."""
    programs = {"Phintys": in_phintys(row), "JAX": in_jax(row)}
    return programs if row.filters is None else {**programs, "by slices": by_slices(row)}


def main(wanted: str = "") -> None:
    """Print a table, and write all of it to ``benchmarks/data``."""
    print("| | Phintys | JAX | by slices |", "|---|---|---|---|", sep="\n")
    makers: dict[str, Callable[[], Any]]
    makers = {row.name: partial(programs_of, row) for row in rows()}
    makers["LeNet, a training step"] = lambda: {
        "Phintys": network_in_phintys(),
        "JAX": network_in_jax(),
    }
    calls: dict[str, dict[str, list[float]]] = {}
    for name, make in makers.items():
        if wanted in name:
            times = best_in_turn(make(), SECONDS)
            print(_line(name, times), flush=True)
            calls[name] = {program: [seconds] for program, seconds in times.items()}
    if not wanted:
        save("images", {"call": calls})


if __name__ == "__main__":
    main(*sys.argv[1:])
