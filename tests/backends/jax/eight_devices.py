"""Programs for eight devices; it prints what it finds as JSON. Run by test_sharding.py.

XLA_FLAGS must say --xla_force_host_platform_device_count=8 before JAX starts.
"""

import json
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

import phintys
import phintys.tensor as pt
from phintys import In

ROWS = 128
WIDTHS = (64, 256, 256, 10)
ON_DEVICES = phintys.jax.mode(results="device")
RNG = np.random.default_rng(0)
X = RNG.standard_normal((ROWS, WIDTHS[0]))
Y = RNG.integers(0, WIDTHS[-1], ROWS)
WEIGHTS = [RNG.standard_normal(two) * 0.1 for two in pairwise(WIDTHS)]

x, y = pt.dmatrix("x"), pt.lvector("y")


def training(mode: Any, mesh: Any, rows: Any, *weights: Any, hidden: Any = None) -> Any:
    """Return a step of gradient descent, and its weights."""
    options = [{"sharding": mesh(*axes)} for axes in weights]
    ws = [phintys.shared(w, **o) for w, o in zip(WEIGHTS, options or [{}] * 3, strict=True)]
    h = x
    for w in ws[:-1]:
        h = pt.tanh(h @ w)
        if hidden is not None:
            h = pt.with_sharding(h, mesh(*hidden))
    logp = pt.log_softmax(h @ ws[-1], axis=-1)
    cost = -logp[pt.arange(y.shape[0]), y].mean()
    updates = {w: w - 0.1 * g for w, g in zip(ws, phintys.grad(cost, ws), strict=True)}
    how = {} if mesh is None else {"sharding": mesh(rows)}
    return phintys.function([In(x, **how), In(y, **how)], cost, updates=updates, mode=mode), ws


def difference(found: Any, expected: Any) -> float:
    """Return the largest difference."""
    return float(np.max(np.abs(np.asarray(found) - np.asarray(expected))))


def line(function: Any, start: str) -> str:
    """Return the rest of a line of a description."""
    (found,) = [one for one in function.explain().splitlines() if one.startswith(start)]
    return found.removeprefix(start)


def compare(mesh: Any, rows: Any, *weights: Any, hidden: Any = None) -> dict[str, Any]:
    """Train on a mesh and on one device."""
    function, ws = training(ON_DEVICES, mesh, rows, *weights, hidden=hidden)
    alone, expected = training("reference", None, None)
    errors = [difference(function(X, Y), alone(X, Y)) for _ in range(3)]
    errors += [difference(a.get_value(), b.get_value()) for a, b in zip(ws, expected, strict=True)]
    first = ws[0].get_value(borrow=True, return_internal_type=True)
    traces = function.vm.traces
    return {
        "error": max(errors),
        "collectives": line(function, "Collective operations: "),
        "part": first.addressable_shards[0].data.shape,
        "devices": len(first.sharding.device_set),
        "traces": traces,
        "donated": "they take the memory of the old values" in function.explain(),
    }


def draws() -> dict[str, Any]:
    """Draw the same numbers on one device and on eight."""
    found = []
    mesh = phintys.jax.mesh(data=8)
    for place in (lambda value: value, lambda value: pt.with_sharding(value, mesh("data"))):
        rng = phintys.random.shared_rng(3)
        _, normals = rng.normal(  # pyright: ignore[reportAttributeAccessIssue]
            0.0, 1.0, size=(64, 4)
        )
        found.append(phintys.function([], place(normals), mode=ON_DEVICES)())
    return {
        "equal": bool((np.asarray(found[0]) == np.asarray(found[1])).all()),
        "part": found[1].addressable_shards[0].data.shape,
    }


def callbacks() -> dict[str, Any]:
    """Elementwise functions on the host get the part of a device; other Ops are refused."""
    mesh = phintys.jax.mesh(data=2, model=4)
    f = phintys.function([In(x, sharding=mesh("data", "model"))], pt.j0(x) * 2, mode=ON_DEVICES)
    alone = phintys.function([x], pt.j0(x) * 2)
    odd = np.arange(6.0).reshape(2, 3)
    g = phintys.function([In(x, sharding=mesh("data"))], pt.j0(x).sum(), mode="jax")
    return {
        "error": difference(f(X), alone(X)),
        "collectives": line(f, "Collective operations: "),
        "odd": difference(g(odd), alone(odd).sum() / 2),
        "refused": error_of(
            lambda: phintys.function(
                [In(x, sharding=mesh("data"))], pt.linalg.sqrtm(x), mode="jax"
            )(np.eye(2))
        ),
    }


def error_of(call: Callable[[], Any]) -> str:
    """Return an error as text."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - the test reads it
        return "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
    return "none"


def errors() -> dict[str, str]:
    """What is refused, and how."""
    mesh = phintys.jax.mesh(data=8)
    other = phintys.jax.mesh(model=4)
    given = In(x, sharding=mesh("data"))
    w = phintys.shared(np.ones((7, 7)), "w", sharding=mesh("data"))
    n = pt.lscalar("n")
    v = phintys.shared(np.zeros(8), "v", sharding=mesh("data"))
    step = phintys.function([n], v[n], updates={v: v + 1}, mode=ON_DEVICES)
    step(0)
    step(0)
    return {
        "odd argument": error_of(lambda: phintys.function([given], x, mode="jax")(np.ones((7, 7)))),
        "odd value": error_of(phintys.function([], w, mode="jax")),
        "odd inside": error_of(
            lambda: phintys.function([x], pt.with_sharding(x, mesh("data")), mode="jax")(
                np.ones((7, 7))
            )
        ),
        "two meshes": error_of(
            lambda: phintys.function([given], pt.with_sharding(x, other("model")), mode="jax")
        ),
        "a device": error_of(
            lambda: phintys.function([given], x, mode=phintys.jax.mode(device="cpu:1"))
        ),
        "too many devices": error_of(lambda: phintys.jax.mesh(data=9)),
        "failing call": error_of(lambda: step(9)) + str(v.get_value().tolist()),
    }


def others() -> dict[str, Any]:
    """Meshes of JAX, loops, batches, sizes, and functions of other modes."""
    mesh = phintys.jax.mesh(jax.make_mesh((4, 2), ("data", "model")))
    spec = NamedSharding(jax.make_mesh((8,), ("data",)), PartitionSpec("data"))
    data = phintys.jax.mesh(data=-1)
    value = np.arange(64.0).reshape(8, 8)
    total, _ = phintys.scan(
        lambda s: pt.with_sharding(s * 2, data("data")), outputs_info=[x], n_steps=3
    )
    batched = pt.vectorize(
        lambda row: pt.with_sharding(row * 2, data("data")), signature="(n)->(n)"
    )
    picked = phintys.function([In(x, sharding=data("data"))], x[x > 3.0], mode="jax")
    w = phintys.shared(value, sharding=mesh("data", "model"))
    phintys.function([], updates={w: w + 1}, mode=ON_DEVICES)()
    gradient = phintys.grad(pt.with_sharding(x, data("data")).sum() ** 2, x)
    return {
        "mesh": str(mesh),
        "named": difference(
            phintys.function([In(x, sharding=spec)], x * 2, mode="jax")(value), 2 * value
        ),
        "loop": difference(phintys.function([x], total, mode="jax")(value)[-1], 8 * value),
        "batch": difference(phintys.function([x], batched(x), mode="jax")(value), 2 * value),
        "picked": difference(picked(value), value[value > 3]),
        "native": difference(phintys.function([], w * 2)(), 2 * value + 2),
        "gradient": difference(phintys.function([x], gradient, mode="jax")(value), 2 * value.sum()),
    }


def main() -> None:
    """Print the findings of the parts that the command line names."""
    data = phintys.jax.mesh(data=8)
    both = phintys.jax.mesh(data=2, model=4)
    model = phintys.jax.mesh(model=8)
    parts: dict[str, Callable[[], Any]] = {
        "data": lambda: compare(data, "data", (), (), ()),
        "model": lambda: compare(model, None, (None, "model"), ("model", None), ()),
        "both": lambda: compare(both, "data", (None, "model"), ("model",), ()),
        "FSDP": lambda: compare(data, "data", ("data",), ("data",), ("data",), hidden=("data",)),
        "draws": draws,
        "callbacks": callbacks,
        "errors": errors,
        "others": others,
    }
    sys.stdout.write(json.dumps({name: parts[name]() for name in sys.argv[1:]}))


if __name__ == "__main__":
    main()
