"""Sample a posterior by many chains: on threads, on joblib's processes or on Dask's workers.

The model is a logistic regression on made-up data. A chain of Hamiltonian Monte Carlo is one
compiled function, which `phintys.parallel.map` calls for each start with a generator of its own.
The draws are the same wherever the chains run, bit for bit, and if a worker dies, its chains run
again on another.

    python examples/chains.py                     # threads of this process
    python examples/chains.py --joblib loky       # processes of this machine
    python examples/chains.py --dask local        # workers of Dask on this machine
    python examples/chains.py --dask tcp://10.0.0.1:8786   # those of a cluster

The sampler is that of S. Duane, A. D. Kennedy, B. J. Pendleton and D. Roweth (Physics Letters B
195, 1987); the chains are compared as by A. Gelman and D. B. Rubin (Statistical Science 7, 1992),
each in two halves.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import phintys
import phintys.tensor as pt
from phintys import parallel
from phintys.control import loop
from phintys.random import rng

Array = np.ndarray[Any, Any]

TRUTH = np.array([0.5, -1.0, 0.0, 2.0])
"""The coefficients that the data are made with."""

STEPS, LENGTH = 12, 0.06
"""Leapfrog steps of a trajectory, and the length of each."""


def make_data(rows: int = 400, seed: int = 1) -> tuple[Array, Array]:
    """Return the features of each row, and whether it is positive."""
    source = np.random.default_rng(seed)
    features = source.normal(size=(rows, len(TRUTH)))
    odds = 1 / (1 + np.exp(-features @ TRUTH))
    return features, source.random(rows) < odds


def log_density(q: Any, features: Array, positive: Array) -> Any:
    """Return the log-density of the posterior, but for a constant."""
    margins = np.where(positive, 1.0, -1.0) * (pt.constant(features) @ q)
    return -pt.softplus(-margins).sum() - 0.5 * (q**2 / 4.0).sum()


def make_chain(features: Array, positive: Array, draws: int) -> phintys.Function:
    """Return a compiled function from a start and a generator to the draws of a chain."""

    def density_and_slope(q: Any) -> tuple[Any, Any]:
        density = log_density(q, features, positive)
        return density, phintys.grad(density, q)

    def leapfrog(carry: Any, _: Any) -> Any:
        q, p, slope = carry
        half = p + 0.5 * LENGTH * slope
        q = q + LENGTH * half
        slope = density_and_slope(q)[1]
        return (q, half + 0.5 * LENGTH * slope, slope), None

    def draw(carry: Any, _: Any) -> Any:
        q, generator = carry
        generator, p = generator.normal(size=q.shape)
        generator, u = generator.uniform()
        density, slope = density_and_slope(q)
        (end, momentum, _), _ = loop(leapfrog, (q, p, slope), length=STEPS)
        rise = density_and_slope(end)[0] - density - 0.5 * (momentum**2 - p**2).sum()
        q = pt.switch(pt.log(u) < rise, end, q)
        return (q, generator), q

    start, generator = pt.dvector("start"), rng("generator")
    _, rows = loop(draw, (start, generator), length=draws, name="draws")
    return phintys.function([start, generator], rows, name="chain")


def ratio_of_scales(chains: Array) -> Array:
    """Return how much wider the draws are over all half chains than within one; near 1 is good."""
    count, draws, size = chains.shape
    halves = chains[:, : draws // 2 * 2].reshape(2 * count, draws // 2, size)
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    return np.sqrt(1 + between / within)


@contextmanager
def place(dask: str | None, joblib: str | None) -> Iterator[Any]:
    """Yield what `phintys.parallel.map` takes as client."""
    if dask is None:
        yield joblib
        return
    from distributed import Client, LocalCluster

    if dask != "local":
        with Client(dask) as client:
            yield client
        return
    with LocalCluster(threads_per_worker=1) as cluster, Client(cluster) as client:
        yield client


def main(arguments: Sequence[str] | None = None) -> Array:
    """Sample, print a table, and return the draws of each chain."""
    parser = argparse.ArgumentParser(description="Sample a posterior by many chains.")
    parser.add_argument("--chains", type=int, default=8)
    parser.add_argument("--draws", type=int, default=1000, help="of each chain, after as many more")
    parser.add_argument("--seed", type=int, default=17)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--dask", metavar="ADDRESS", help="'local', or the address of a scheduler")
    where.add_argument("--joblib", metavar="BACKEND", help="such as 'loky'")
    options = parser.parse_args(arguments)

    chain = make_chain(*make_data(), 2 * options.draws)
    starts = list(np.random.default_rng(options.seed).uniform(-2, 2, (options.chains, len(TRUTH))))
    with place(options.dask, options.joblib) as client:
        begun = time.perf_counter()
        found = np.stack(parallel.map(chain, starts, client, rng=options.seed))
        seconds = time.perf_counter() - begun

    kept = found[:, options.draws :]
    print(f"{'made with':>10} {'mean':>8} {'spread':>8} {'scales':>8}")
    rows = zip(TRUTH, kept.mean((0, 1)), kept.std((0, 1)), ratio_of_scales(kept), strict=True)
    for truth, mean, spread, scales in rows:
        print(f"{truth:10.2f} {mean:8.3f} {spread:8.3f} {scales:8.3f}")
    print(f"{options.chains} chains in {seconds:.2f} s")
    return kept


if __name__ == "__main__":
    main()
