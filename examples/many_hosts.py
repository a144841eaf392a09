"""Train a softmax regression on several hosts: each has a part of the rows, and of the weights.

`jax.distributed` joins the devices of all processes to one mesh. Every process runs this same
program; it reads its own rows, and the compiled step sums the gradients over all devices.

    python examples/many_hosts.py --processes 2    # two processes with four CPU devices each

On a cluster, start one process on each host with a variable that says where the first one listens,
which process this is, and of how many; or `auto` where JAX finds these by itself, as under Slurm:

    MANY_HOSTS=10.0.0.1:12345,0/2 python examples/many_hosts.py

With `--checkpoint FOLDER`, weights are saved at the end, and training goes on from there the next
time, also with another number of processes. The folder must be on a file system that all share.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

import phintys
import phintys.tensor as pt

Array = np.ndarray[Any, Any]

BLOCKS, ROWS, FEATURES, CLASSES = 8, 128, 64, 5
"""The data are blocks of rows, as many files of a large data set would be."""


def read_block(number: int) -> tuple[Array, Array]:
    """Return the features and classes of a block of rows; here they are made up."""
    source = np.random.default_rng([7, number])
    truth = np.random.default_rng(7).normal(size=(FEATURES, CLASSES))
    features = source.normal(size=(ROWS, FEATURES))
    noise = source.gumbel(size=(ROWS, CLASSES))
    return features, np.argmax(features @ truth + noise, axis=1)


def read_own_rows() -> tuple[Array, Array]:
    """Return the rows of this process, which are all that it ever sees."""
    each = BLOCKS // jax.process_count()
    first = each * jax.process_index()
    features, classes = zip(*map(read_block, range(first, first + each)), strict=True)
    return np.concatenate(features), np.concatenate(classes)


def make_step(rate: float) -> tuple[phintys.Function, Any]:
    """Return a step of gradient descent, and the weights that it updates."""
    mesh = phintys.jax.mesh(data=-1)
    x, y = pt.dmatrix("x"), pt.lvector("y")
    w = phintys.shared(np.zeros((FEATURES, CLASSES)), "w", sharding=mesh("data"))
    logp = pt.log_softmax(x @ w, axis=1)
    loss = -logp[pt.arange(y.shape[0]), y].mean() + 0.001 * (w**2).sum()
    step = phintys.function(
        [phintys.In(x, sharding=mesh("data")), phintys.In(y, sharding=mesh("data"))],
        loss,
        updates={w: w - rate * phintys.grad(loss, w)},
        mode=phintys.jax.mode(results="device"),
    )
    return step, w


def train(steps: int, checkpoint: str | None) -> Array:
    """Train, and return the weights, the same on each process."""
    step, w = make_step(rate=0.5)
    if checkpoint and Path(checkpoint).exists():
        phintys.jax.load_values(checkpoint, [w])
    rows = read_own_rows()
    losses = [step(*rows) for _ in range(steps)]  # no step waits for the one before
    if checkpoint:
        phintys.jax.save_values(checkpoint, [w])
    weights = w.get_value()
    if jax.process_index() == 0:
        devices = f"{jax.device_count()} devices in {jax.process_count()} processes"
        print(f"{devices}: loss {float(losses[0]):.12f} to {float(losses[-1]):.12f}")
        print(f"sum of squares {(weights**2).sum():.12f}")
    return weights


def join(where: str) -> None:
    """Join the processes of this program."""
    if where == "auto":
        jax.distributed.initialize()
        return
    address, _, place = where.partition(",")
    number, _, count = place.partition("/")
    jax.distributed.initialize(address, num_processes=int(count), process_id=int(number))


def start(processes: int, arguments: Sequence[str]) -> int:
    """Run this program in several processes of this machine, with four devices each."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, __file__, *arguments]
    running = [
        subprocess.Popen(
            command,
            env={**os.environ, **flags, "MANY_HOSTS": f"localhost:{port},{number}/{processes}"},
        )
        for number in range(processes)
    ]
    return max(abs(one.wait()) for one in running)


def main(arguments: Sequence[str] | None = None) -> Array | None:
    """Train in this process, or in several that it starts."""
    parser = argparse.ArgumentParser(description="Train a softmax regression on several hosts.")
    parser.add_argument("--processes", type=int, default=1, choices=(1, 2, 4, 8))
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--checkpoint")
    given = parser.parse_args(arguments)
    where = os.environ.get("MANY_HOSTS")
    if given.processes > 1 and where is None:
        passed = sys.argv[1:] if arguments is None else list(arguments)
        if failed := start(given.processes, passed):
            sys.exit(failed)
        return None
    if where is not None:
        join(where)
    return train(given.steps, given.checkpoint)


if __name__ == "__main__":
    main()
