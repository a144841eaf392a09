"""Sample the posterior of a hierarchical model: the No-U-Turn sampler as one compiled loop.

The model is that of radon in houses, on made-up data of the same form: the logarithm of the
concentration in a house depends on its county and on the floor of the measurement. Counties differ,
and those with few houses learn from the others.

The whole of a chain is one function: warm-up, the draws, the trees of each draw, the leapfrog steps
of each tree, and the gradient of the log-density in each step are loops within loops of native
code. It holds no lock, so chains run on threads.

    python examples/mcmc.py                # sample, print a table, save a picture
    python examples/mcmc.py --no-picture
    python examples/mcmc.py --numpyro      # the same model in NumPyro too, if it is installed

The sampler is that of M. D. Hoffman and A. Gelman (JMLR 15, 2014), with the choice among the points
of a tree, and the criterion for turning, of M. Betancourt (arXiv:1701.02434); trees are built
without recursion as by D. Phan, N. Pradhan and M. Jankowiak (arXiv:1912.11554, appendix A).
"""
# NumPyro need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import phintys
import phintys.tensor as pt
from phintys.control import loop, while_loop
from phintys.random import HalfNormal, Normal, logp, rng, state

PICTURE = Path(__file__).parent / "mcmc.png"

Array = np.ndarray[Any, Any]
LogDensity = Callable[[Any], Any]

MOST_DOUBLINGS = 10
MOST_ENERGY = 1000.0
"""A trajectory whose energy grows by more than this has left the region where steps are exact."""

# ---- the model -----------------------------------------------------------------------------------

COUNTIES, HOUSES = 85, 919
NAMES = ("mean of counties", "log spread of counties", "effect of the floor", "log noise")


def make_data(seed: int = 1) -> dict[str, Array]:
    """Return the county and the floor of each house, and the logarithm of what was measured."""
    source = np.random.default_rng(seed)
    sizes = source.dirichlet(np.full(COUNTIES, 0.5))
    county = source.choice(COUNTIES, HOUSES, p=sizes)
    floor = source.binomial(1, 0.17, HOUSES).astype(float)
    levels = source.normal(1.5, 0.33, COUNTIES)
    measured = levels[county] - 0.7 * floor + source.normal(0.0, 0.75, HOUSES)
    return {"county": county, "floor": floor, "measured": measured}


def radon(q: Any, county: Any, floor: Any, measured: Any) -> Any:
    """Return the log-density of the posterior, but for a constant.

    ``q`` has the numbers of ``NAMES``, then the deviation of each county in units of the spread.
    Logarithms of positive numbers bring their derivatives into the density.
    """
    mean, log_spread, slope, log_noise, units = q[0], q[1], q[2], q[3], q[4:]
    spread, noise = pt.exp(log_spread), pt.exp(log_noise)
    levels = mean + spread * units
    prior = (
        logp(Normal(0.0, 10.0), mean)
        + logp(HalfNormal(scale=1.0), spread)
        + log_spread
        + logp(Normal(0.0, 10.0), slope)
        + logp(HalfNormal(scale=1.0), noise)
        + log_noise
        + logp(Normal(0.0, 1.0), units).sum()
    )
    return prior + logp(Normal(levels[county] + slope * floor, noise), measured).sum()


# ---- the sampler ---------------------------------------------------------------------------------


def turns(momentum: Any, other: Any, total: Any, variances: Any) -> Any:
    """Return whether a trajectory, or each of several, comes back at one of its ends.

    ``total`` is the sum of its momenta, which points from end to end.
    """
    ahead = (variances * momentum * total).sum(axis=-1)
    behind = (variances * other * total).sum(axis=-1)
    return (ahead <= 0) | (behind <= 0)


def choose(condition: Any, one: Any, other: Any) -> Any:
    """Return one of two nests of the same form."""
    return {name: pt.switch(condition, one[name], other[name]) for name in one}


def point_at(log_density: LogDensity, q: Any, p: Any) -> dict[str, Any]:
    """Return a point of a trajectory: position, momentum, log-density and its gradient."""
    density = log_density(q)
    return {"q": q, "p": p, "density": density, "slope": phintys.grad(density, q)}


def leapfrog(log_density: LogDensity, start: Any, length: Any, variances: Any) -> dict[str, Any]:
    """Return the point one step further along a trajectory."""
    p = start["p"] + 0.5 * length * start["slope"]
    after = point_at(log_density, start["q"] + length * variances * p, p)
    return {**after, "p": p + 0.5 * length * after["slope"]}


def energy(point: Any, variances: Any) -> Any:
    """Return the energy of a point, the negative logarithm of its weight."""
    return 0.5 * (variances * point["p"] ** 2).sum() - point["density"]


def subtree(
    log_density: LogDensity, edge: Any, length: Any, leaves: Any, at_start: Any, given: Any
) -> dict[str, Any]:
    """Return what came of ``leaves`` steps from an edge, fewer if the trajectory turns.

    Leaf ``n`` closes the subtrees that end there, as many as ``n`` has trailing ones in binary.
    Their first leaves are kept in slots, one for each level.
    """
    variances, dimensions = given["variances"], edge["q"].shape[0]

    def grows(tree: Any) -> Any:
        return (tree["n"] < leaves) & ~tree["turning"] & ~tree["diverging"]

    def grow(tree: Any) -> Any:
        n = tree["n"]
        point = leapfrog(log_density, tree["edge"], length, variances)
        rise = energy(point, variances) - at_start
        rise = pt.switch(pt.isnan(rise), np.inf, rise)
        weight = pt.logaddexp(tree["weight"], -rise)
        following, u = tree["rng"].uniform()
        total = tree["total"] + point["p"]

        bits = (n >> pt.arange(MOST_DOUBLINGS)) & 1
        last = bits[1:].sum()
        first = last - pt.cumprod(bits).sum() + 1
        is_even = pt.eq(bits[0], 0)
        momenta, totals = (
            pt.set_subtensor(slots[last], pt.switch(is_even, value, slots[last]))
            for slots, value in ((tree["momenta"], point["p"]), (tree["totals"], total))
        )
        levels = pt.arange(MOST_DOUBLINGS)
        is_closed = (first <= levels) & (levels <= last)
        turned = turns(momenta, point["p"], total - totals + momenta, variances)
        return {
            "n": n + 1,
            "edge": point,
            "chosen": choose(pt.log(u) < -rise - weight, point, tree["chosen"]),
            "weight": weight,
            "total": total,
            "momenta": momenta,
            "totals": totals,
            "accepted": tree["accepted"] + pt.exp(pt.minimum(-rise, 0.0)),
            "turning": pt.any(turned & is_closed),
            "diverging": rise > MOST_ENERGY,
            "rng": following,
        }

    slots = pt.zeros((MOST_DOUBLINGS, dimensions))
    empty = {
        "n": np.int64(0),
        "edge": edge,
        "chosen": edge,
        "weight": np.float64(-np.inf),
        "total": pt.zeros_like(edge["p"]),
        "momenta": slots,
        "totals": slots,
        "accepted": np.float64(0.0),
        "turning": np.False_,
        "diverging": np.False_,
        "rng": given["rng"],
    }
    return while_loop(grows, grow, empty, name="subtree")


def draw(log_density: LogDensity, start: Any, generator: Any, size: Any, variances: Any) -> Any:
    """Return the next point of a chain, and what is known of its trajectory."""
    generator, noise = generator.normal(size=start["q"].shape[0])
    start = {**start, "p": noise / pt.sqrt(variances)}
    at_start = energy(start, variances)

    def grows(tree: Any) -> Any:
        return (tree["depth"] < MOST_DOUBLINGS) & ~tree["turning"] & ~tree["diverging"]

    def double(tree: Any) -> Any:
        following, coin = tree["rng"].bernoulli(0.5)
        following, u = following.uniform()
        goes_right = pt.eq(coin, 1)
        edge = choose(goes_right, tree["right"], tree["left"])
        length = pt.switch(goes_right, size, -size)
        given = {"variances": variances, "rng": following}
        leaves = pt.left_shift(np.int64(1), tree["depth"])
        new = subtree(log_density, edge, length, leaves, at_start, given)
        is_whole = ~(new["turning"] | new["diverging"])
        takes = is_whole & (pt.log(u) < new["weight"] - tree["weight"])
        left = choose(goes_right, tree["left"], new["edge"])
        right = choose(goes_right, new["edge"], tree["right"])
        total = tree["total"] + new["total"]
        return {
            "depth": tree["depth"] + 1,
            "left": left,
            "right": right,
            "chosen": choose(takes, new["chosen"], tree["chosen"]),
            "weight": pt.logaddexp(tree["weight"], new["weight"]),
            "total": total,
            "accepted": tree["accepted"] + new["accepted"],
            "leaves": tree["leaves"] + new["n"],
            "turning": new["turning"] | turns(left["p"], right["p"], total, variances),
            "diverging": new["diverging"],
            "rng": new["rng"],
        }

    seed = {
        "depth": np.int64(0),
        "left": start,
        "right": start,
        "chosen": start,
        "weight": np.float64(0.0),
        "total": start["p"],
        "accepted": np.float64(0.0),
        "leaves": np.int64(0),
        "turning": np.False_,
        "diverging": np.False_,
        "rng": generator,
    }
    return while_loop(grows, double, seed, name="trajectory")


# ---- warm-up -------------------------------------------------------------------------------------

ACCEPTANCE = 0.8
"""The mean probability of acceptance that the length of the steps aims at."""

FIRST, LAST = 75, 50
"""Draws at both ends of a warm-up, from which no variances are learned."""


def windows(count: int) -> tuple[Array, Array]:
    """Return which draws of a warm-up variances are learned from, and after which they are set.

    Each window is twice as long as the one before.
    """
    learns = np.zeros(count, bool)
    learns[FIRST : count - LAST] = True
    ends = np.zeros(count, bool)
    at, length = FIRST, 25
    while at + 3 * length < count - LAST:
        at += length
        ends[at - 1] = True
        length *= 2
    ends[count - LAST - 1] = True
    return learns, ends


def restarted(size: Any) -> dict[str, Any]:
    """Return the start of a search for the length of steps, near ``size``."""
    return {
        "count": np.float64(0.0),
        "excess": np.float64(0.0),
        "center": pt.log(10.0 * size),
        "now": pt.log(size),
        "mean": np.float64(0.0),
    }


def averaged(search: dict[str, Any], acceptance: Any) -> dict[str, Any]:
    """Return the search after one more draw: dual averaging, as in section 3.2 of the paper."""
    count = search["count"] + 1
    rate = 1 / (count + 10)
    excess = (1 - rate) * search["excess"] + rate * (ACCEPTANCE - acceptance)
    now = search["center"] - pt.sqrt(count) / 0.05 * excess
    weight = count**-0.75
    mean = weight * now + (1 - weight) * search["mean"]
    return {**search, "count": count, "excess": excess, "now": now, "mean": mean}


def observed(moments: dict[str, Any], q: Any) -> dict[str, Any]:
    """Return the moments of positions with one more of them, by Welford's recurrence."""
    count = moments["count"] + 1
    away = q - moments["mean"]
    mean = moments["mean"] + away / count
    return {"count": count, "mean": mean, "squares": moments["squares"] + away * (q - mean)}


def variances_of(moments: dict[str, Any]) -> Any:
    """Return the variances of positions, drawn a little to a small number, as Stan does."""
    count = moments["count"]
    variances = moments["squares"] / (count - 1)
    return count / (count + 5) * variances + 1e-3 * 5 / (count + 5)


def chain(log_density: LogDensity, q: Any, generator: Any, warm_up: int, draws: int) -> Any:
    """Return the draws of a chain, and the steps, acceptances and divergences of each."""

    def learn(carry: Any, row: Any) -> Any:
        point, search, moments = carry["point"], carry["search"], carry["moments"]
        variances, size = carry["variances"], pt.exp(search["now"])
        tree = draw(log_density, point, carry["rng"], size, variances)
        search = averaged(search, tree["accepted"] / tree["leaves"])
        moments = choose(row["learns"], observed(moments, tree["chosen"]["q"]), moments)
        ends = row["ends"]
        after = {
            "point": tree["chosen"],
            "rng": tree["rng"],
            "search": choose(ends, restarted(pt.exp(search["mean"])), search),
            "variances": pt.switch(ends, variances_of(moments), variances),
            "moments": choose(ends, none, moments),
        }
        return after, None

    def sample(carry: Any, _: Any) -> Any:
        point, generator = carry
        tree = draw(log_density, point, generator, size, variances)
        row = {
            "q": tree["chosen"]["q"],
            "steps": tree["leaves"],
            "acceptance": tree["accepted"] / tree["leaves"],
            "diverging": tree["diverging"],
        }
        return (tree["chosen"], tree["rng"]), row

    zeros = pt.zeros_like(q)
    none = {"count": np.float64(0.0), "mean": zeros, "squares": zeros}
    learns, ends = windows(warm_up)
    start = {
        "point": point_at(log_density, q, zeros),
        "rng": generator,
        "search": restarted(pt.constant(0.1)),
        "variances": pt.ones_like(q),
        "moments": none,
    }
    warm, _ = loop(learn, start, {"learns": learns, "ends": ends}, name="warm_up")
    size, variances = pt.exp(warm["search"]["mean"]), warm["variances"]
    _, rows = loop(sample, (warm["point"], warm["rng"]), length=draws, name="draws")
    return rows


# ---- what came of it -----------------------------------------------------------------------------


def effective_size(chains: Array) -> float:
    """Return how many independent draws say as much about the mean.

    ``chains`` has one row for each chain. Autocorrelations are summed as long as the sums of
    neighbours are positive and fall (C. J. Geyer, Statistical Science 7, 1992).
    """
    count, length = chains.shape
    centered = chains - chains.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centered, 2 * length)
    covariances = np.fft.irfft(abs(spectrum) ** 2, axis=1)[:, :length].mean(axis=0) / length
    within = covariances[0] * length / (length - 1)
    whole = within * (length - 1) / length + chains.mean(axis=1).var(ddof=1)
    correlations = 1 - (within - covariances) / whole
    pairs = correlations[: length // 2 * 2].reshape(-1, 2).sum(axis=1)
    positive = pairs[: np.argmax(pairs < 0)] if (pairs < 0).any() else pairs
    return count * length / (2 * np.minimum.accumulate(positive).sum() - 1)


@dataclass
class Sampled:
    """The draws of all chains, one row for each chain, and how long they took."""

    q: Array
    steps: Array
    acceptance: Array
    diverging: Array
    compile_seconds: float
    seconds: float

    def effective_sizes(self) -> Array:
        """Return the effective size of each number."""
        return np.array([effective_size(self.q[..., i]) for i in range(self.q.shape[-1])])

    def report(self) -> str:
        """Return the table."""
        sizes = self.effective_sizes()
        lines = [f"{'':24} {'mean':>8} {'spread':>8} {'effective':>10}"]
        for i, name in enumerate(NAMES):
            numbers = self.q[..., i]
            lines.append(f"{name:24} {numbers.mean():8.3f} {numbers.std():8.3f} {sizes[i]:10.0f}")
        per_second = sizes.min() / self.seconds
        steps, acceptance = self.steps.mean(), self.acceptance.mean()
        divergent = int(self.diverging.sum())
        return "\n".join(lines) + (
            f"\n{steps:.1f} steps a draw, acceptance {acceptance:.2f}, {divergent} divergent draws"
            f"\ncompiled in {self.compile_seconds:.2f} s; {len(self.q)} chains in "
            f"{self.seconds:.2f} s: {per_second:.0f} effective draws a second of the slowest of "
            f"{len(sizes)} numbers"
        )


def sample(data: dict[str, Array], chains: int, warm_up: int, draws: int, seed: int) -> Sampled:
    """Sample the posterior by several chains, one thread each."""
    fixed = {name: pt.constant(values) for name, values in data.items()}
    q, generator = pt.dvector("q"), rng("generator")

    begun = time.perf_counter()
    rows = chain(lambda q: radon(q, **fixed), q, generator, warm_up, draws)
    run = phintys.function([q, generator], rows, name="chain")
    compile_seconds = time.perf_counter() - begun

    starts = np.random.default_rng(seed).uniform(-1, 1, (chains, len(NAMES) + COUNTIES))
    seeds = [state([seed, i]) for i in range(chains)]
    begun = time.perf_counter()
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(run, starts, seeds))
    seconds = time.perf_counter() - begun
    stacked = {name: np.stack([one[name] for one in found]) for name in found[0]}
    return Sampled(**stacked, compile_seconds=compile_seconds, seconds=seconds)


def sample_with_numpyro(data: dict[str, Array], chains: int, warm_up: int, draws: int) -> Sampled:
    """Sample the same posterior by NumPyro."""
    import jax
    import numpyro
    from numpyro.distributions import HalfNormal as Half
    from numpyro.distributions import Normal as Gauss
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()

    def model() -> None:
        mean = numpyro.sample("mean", Gauss(0.0, 10.0))
        spread = numpyro.sample("spread", Half(1.0))
        slope = numpyro.sample("slope", Gauss(0.0, 10.0))
        noise = numpyro.sample("noise", Half(1.0))
        units = numpyro.sample("units", Gauss(0.0, 1.0).expand((COUNTIES,)))
        levels = (mean + spread * units)[data["county"]]
        numpyro.sample("y", Gauss(levels + slope * data["floor"], noise), obs=data["measured"])

    sampler = MCMC(
        NUTS(model, target_accept_prob=ACCEPTANCE),
        num_warmup=warm_up,
        num_samples=draws,
        num_chains=chains,
        chain_method="sequential",
        progress_bar=False,
    )
    fields = ("num_steps", "accept_prob", "diverging")
    begun = time.perf_counter()
    sampler.warmup(jax.random.PRNGKey(0), extra_fields=fields)
    sampler.run(jax.random.PRNGKey(0), extra_fields=fields)
    first = time.perf_counter() - begun
    begun = time.perf_counter()
    sampler.run(jax.random.PRNGKey(1), extra_fields=fields)
    seconds = time.perf_counter() - begun
    found = sampler.get_samples(group_by_chain=True)
    extra = sampler.get_extra_fields(group_by_chain=True)
    numbers = [found["mean"], np.log(found["spread"]), found["slope"], np.log(found["noise"])]
    q = np.concatenate([np.stack(numbers, axis=-1), found["units"]], axis=-1)
    steps, acceptance, diverging = (np.asarray(extra[field]) for field in fields)
    return Sampled(q, steps, acceptance, diverging, first - seconds, seconds)


def picture(sampled: Sampled, path: Path) -> None:
    """Save the posterior of each of the four numbers, chain by chain."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, len(NAMES), figsize=(12, 5), layout="constrained")
    for i, name in enumerate(NAMES):
        for numbers in sampled.q[..., i]:
            axes[0, i].hist(numbers, 40, density=True, histtype="step")
            axes[1, i].plot(numbers, linewidth=0.3)
        axes[0, i].set(title=name, yticks=[])
        axes[1, i].set(xlabel="draw")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> Sampled:
    """Sample the posterior and print what came of it."""
    parser = argparse.ArgumentParser(description="Sample the posterior of a hierarchical model.")
    parser.add_argument("--no-picture", action="store_true", help="do not save a picture")
    parser.add_argument("--numpyro", action="store_true", help="sample with NumPyro too")
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--warm-up", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)

    found = sample(make_data(), options.chains, options.warm_up, options.draws, options.seed)
    print(found.report())
    if options.numpyro:
        peer = sample_with_numpyro(make_data(), options.chains, options.warm_up, options.draws)
        print(f"\nNumPyro\n{peer.report()}")
    if not options.no_picture:
        picture(found, PICTURE)
    return found


if __name__ == "__main__":
    main()
