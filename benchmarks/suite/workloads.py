"""What is measured: names, input arrays, and how many bytes a call must move at least."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

Arrays = list[np.ndarray[Any, Any]]

GROUPS, ROWS = 85, 919
BLOCKS = 50


@dataclass(frozen=True)
class Workload:
    """One program to measure.

    Attributes
    ----------
    program
        Name of the function in each ``in_*.py`` module that builds it.
    inputs
        Makes the input arrays.
    size
        Passed to the builder: length of a chain, number of blocks ...
    bytes_moved
        For programs bound by memory: bytes that must be read and written.
    """

    program: str
    inputs: Callable[[np.random.Generator], Arrays]
    size: int = 0
    bytes_moved: int = 0


def _normal(*shape: int, dtype: str = "float64", count: int = 1) -> Any:
    def make(rng: np.random.Generator) -> Arrays:
        return [np.asarray(rng.normal(size=shape), dtype) for _ in range(count)]

    return make


def _regression(rows: int, columns: int) -> Any:
    def make(rng: np.random.Generator) -> Arrays:
        return [
            rng.normal(size=(rows, columns)),
            (rng.random(rows) > 0.5).astype("float64"),
            rng.normal(size=columns) / 10,
        ]

    return make


def _perceptron(rng: np.random.Generator) -> Arrays:
    return [
        rng.normal(size=(128, 64)),
        rng.normal(size=(128, 10)),
        rng.normal(size=(64, 100)) / 8,
        np.zeros(100),
        rng.normal(size=(100, 10)) / 10,
        np.zeros(10),
    ]


def _digits(rng: np.random.Generator) -> Arrays:
    return [
        rng.normal(size=(64, 784)),
        rng.normal(size=(64, 10)),
        rng.normal(size=(784, 256)) / 28,
        np.zeros(256),
        rng.normal(size=(256, 10)) / 16,
        np.zeros(10),
    ]


def _matrix_and_vector(rng: np.random.Generator) -> Arrays:
    return [rng.normal(size=(1000, 1000)), rng.normal(size=1000)]


def _stacks(count: int, n: int) -> Any:
    def make(rng: np.random.Generator) -> Arrays:
        return [rng.normal(size=shape) for shape in ((count, n, n), (count, n, n), (n, n))]

    return make


def _hierarchy(rng: np.random.Generator) -> Arrays:
    return [
        rng.integers(0, GROUPS, ROWS),
        rng.normal(size=ROWS),
        rng.normal(size=ROWS),
        np.asarray(0.1),
        np.asarray(-0.3),
        rng.normal(size=GROUPS),
        np.asarray(0.5),
        np.asarray(-0.2),
    ]


def _signal(rng: np.random.Generator) -> Arrays:
    return [rng.normal(size=10_000), np.asarray(0.0), np.asarray(0.9)]


def _network(rng: np.random.Generator) -> Arrays:
    return [rng.normal(size=(16, 16)) / 4, rng.normal(size=(200, 16)), np.zeros(16)]


def _species(rng: np.random.Generator) -> Arrays:
    return [np.asarray(number) for number in (10.0, 5.0, 1.1, 0.4, 0.4, 0.1)]


def _two_species(rng: np.random.Generator) -> Arrays:
    return [np.asarray([10.0, 5.0]), np.asarray([1.1, 0.4, 0.1, 0.4, 0.1, 0.05])]


def _markov(states: int, *, logs: bool = False) -> Any:
    def make(rng: np.random.Generator) -> Arrays:
        transition = rng.random((states, states))
        transition /= transition.sum(axis=1, keepdims=True)
        arrays = [transition, rng.random((500, states)), np.full(states, 1 / states)]
        return [np.log(array) for array in arrays] if logs else arrays

    return make


def _state_space(rng: np.random.Generator) -> Arrays:
    f, h = 0.8 * np.eye(4) + 0.05 * rng.normal(size=(4, 4)), rng.normal(size=(2, 4))
    series = rng.normal(size=(300, 2))
    return [f, h, 0.1 * np.eye(4), 0.5 * np.eye(2), series, np.zeros(4), np.eye(4)]


def _layer(rng: np.random.Generator) -> Arrays:
    shapes = (100, 32, 128), (128, 512), (128, 512), (512,), (32, 128), (32, 128)
    arrays = [rng.normal(size=shape) / np.sqrt(128) for shape in shapes]
    return [array.astype("float32") for array in arrays]


def _points(rng: np.random.Generator) -> Arrays:
    shapes = (200, 3), (200, 3), (200,)
    return [*(rng.normal(size=shape) for shape in shapes), np.asarray(1.3)]


def _transport(rng: np.random.Generator) -> Arrays:
    return [rng.random((100, 100)), np.full(100, 0.01), np.full(100, 0.01)]


def _states(rng: np.random.Generator) -> Arrays:
    return [rng.normal(size=(8, 16)), rng.normal(size=(8, 8)) / 4]


def _components(rng: np.random.Generator) -> Arrays:
    return [rng.normal(size=1000), rng.normal(size=5), rng.random(5) + 0.5, np.full(5, 0.2)]


def _chain(rng: np.random.Generator) -> Arrays:
    return [rng.normal(size=(100, 100)) / 10 for _ in range(4)]


def _root(rng: np.random.Generator) -> Arrays:
    return [np.asarray(2.0), np.asarray(1.0)]


def _normal_of(n: int) -> Any:
    def make(rng: np.random.Generator) -> Arrays:
        a = rng.normal(size=(n, n))
        return [a @ a.T / n + np.eye(n), rng.normal(size=n), rng.normal(size=n)]

    return make


def _process_of(n: int) -> Any:
    def make(rng: np.random.Generator) -> Arrays:
        x = np.sort(rng.uniform(0, 10, n))
        return [x, np.sin(x) + 0.1 * rng.normal(size=n), np.log([1.0, 0.7, 0.1])]

    return make


def _stack(count: int, n: int, *, positive: bool = False) -> Any:
    def make(rng: np.random.Generator) -> Arrays:
        a = rng.normal(size=(count, n, n))
        return [a @ a.mT + n * np.eye(n) if positive else a + n * np.eye(n)]

    return make


def _system(rng: np.random.Generator) -> Arrays:
    return [rng.normal(size=(200, 200)) + 20 * np.eye(200), rng.normal(size=200)]


def _symmetric(rng: np.random.Generator) -> Arrays:
    a = rng.normal(size=(60, 60))
    return [a + a.T]


MIB = 1_000_000

WORKLOADS: dict[str, Workload] = {
    "scalar multiply": Workload("multiply", _normal(count=2)),
    "fused, n=10, float64": Workload("fused", _normal(10, count=3)),
    "fused, n=10, float32": Workload("fused", _normal(10, dtype="float32", count=3)),
    "fused, n=1e3, float64": Workload("fused", _normal(1000, count=3)),
    "fused, n=1e3, float32": Workload("fused", _normal(1000, dtype="float32", count=3)),
    "fused, n=1e6, float64": Workload("fused", _normal(10**6, count=3), bytes_moved=32 * MIB),
    "fused, n=1e6, float32": Workload(
        "fused", _normal(10**6, dtype="float32", count=3), bytes_moved=16 * MIB
    ),
    "fused and summed, n=1e6": Workload("fused_sum", _normal(10**6, count=3)),
    "axpy, n=4e6": Workload("axpy", _normal(4 * 10**6, count=2), bytes_moved=96 * MIB),
    "softmax, 1000x1000": Workload("softmax", _normal(1000, 1000), bytes_moved=16 * MIB),
    "layer norm, 1000x1000": Workload("layer_norm", _normal(1000, 1000), bytes_moved=16 * MIB),
    "logsumexp, 1000x1000": Workload("logsumexp", _normal(1000, 1000)),
    "column sums, 1000x1000": Workload("column_sums", _normal(1000, 1000), bytes_moved=8 * MIB),
    "logistic regression gradient, 100x10": Workload("logistic", _regression(100, 10)),
    "logistic regression gradient, 10000x100": Workload("logistic", _regression(10_000, 100)),
    "two-layer perceptron gradient": Workload("perceptron", _perceptron),
    "hierarchical model gradient": Workload("hierarchy", _hierarchy),
    "outer products, 1000x1000": Workload("outer", _normal(1000, count=4), bytes_moved=8 * MIB),
    "chain of 100 with gradient": Workload("chain", _normal(100), size=100),
    "chain of 1,000 with gradient": Workload("chain", _normal(100), size=1000),
    "chain of 10,000 with gradient": Workload("chain", _normal(100), size=10_000),
    "50 small blocks": Workload("blocks", _normal(20, count=BLOCKS), size=BLOCKS),
    **{
        f"einsum bik,bkj,jl->bil, {count}x{n}x{n}": Workload("stacked", _stacks(count, n))
        for count, n in ((4, 8), (64, 32), (8, 256))
    },
    **{
        f"einsum bhqd,bhkd->bhqk, {'x'.join(map(str, shape))}": Workload(
            "attention", _normal(*shape, count=2)
        )
        for shape in ((2, 2, 8, 8), (4, 8, 64, 32), (4, 8, 512, 64))
    },
    "loop: filter, 10,000 steps": Workload("ar_filter", _signal),
    "loop: network of 16, 200 steps": Workload("recurrent", _network),
    "loop: network of 16, 200 steps, gradient": Workload("recurrent_gradient", _network),
    "loop in a loop, 50x50": Workload("nested_loops", _normal(8, count=2), size=50),
    "loop: predator and prey, gradient": Workload("predator_prey", _species, size=1000),
    "loop: Hessian of six parameters, 500 steps": Workload("curvature", _two_species, size=500),
    "loop: hidden Markov model, gradient": Workload("hidden_markov", _markov(20)),
    **{
        f"loop: hidden Markov model in logs, {states} states, gradient": Workload(
            "markov_in_logs", _markov(states, logs=True)
        )
        for states in (2, 3, 20)
    },
    "loop: Kalman filter, gradient": Workload("kalman", _state_space),
    "loop: LSTM of 128, gradient": Workload("lstm", _layer),
    "loop: Newton until a step is small": Workload("newton", _root, size=100),
    **{
        f"matrix: normal density of {n}, gradient": Workload("normal_density", _normal_of(n))
        for n in (2, 5, 20, 100, 500, 2000)
    },
    "matrix: 10,000 inverses and log-determinants, 3x3": Workload(
        "small_inverses", _stack(10_000, 3)
    ),
    "matrix: 1,000 Cholesky factors, 8x8, gradient": Workload(
        "small_factors", _stack(1000, 8, positive=True)
    ),
    "matrix: system of 200, gradient": Workload("solution", _system),
    "matrix: eigenvectors of 60, gradient": Workload("spectrum", _symmetric),
    "matrix: singular values, 200x50": Workload("singular_values", _normal(200, 50)),
    "matrix: QR, 200x50": Workload("orthogonal_factor", _normal(200, 50)),
    **{
        f"matrix: Gaussian process of {n}, gradient": Workload("gaussian_process", _process_of(n))
        for n in (60, 500)
    },
}

SIDE_BY_SIDE: dict[str, Workload] = {
    "perceptron gradient, 64x784x256": Workload("perceptron", _digits),
    "product, 256^3": Workload("product", _normal(256, 256, count=2)),
    "matrix and vector, 1000": Workload("product", _matrix_and_vector),
    "fused, n=1e6": Workload("fused", _normal(10**6, count=3)),
    "sum, n=1e6": Workload("total", _normal(10**6)),
    "softmax, 1000x1000": Workload("softmax", _normal(1000, 1000)),
    "scalar multiply": Workload("multiply", _normal(count=2)),
    **{name: workload for name, workload in WORKLOADS.items() if name.startswith("loop")},
}
"""What is measured in several processes at once."""

BESIDE: dict[str, Workload] = {
    "radial kernel of 200 x 200, gradient": Workload("radial", _points),
    "Sinkhorn, 100 x 100": Workload("sinkhorn", _transport),
    "differential equation, gradient": Workload("differential", _states),
    "mixture of 5, n=1,000, gradient": Workload("mixture", _components),
    "chain of products, 100^3": Workload("products", _chain),
}
"""What is measured beside busy processes."""
