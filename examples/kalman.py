"""Find how fast the Nile changed: a Kalman filter, fitted by gradient.

The flow of a river at year t is a level that wanders, and noise on top:

    flow[t] = level[t] + noise[t],      level[t + 1] = level[t] + change[t]

A Kalman filter tracks the level. It is a loop over the years, whose state is the mean and the
variance of what is known of the level; it also computes how likely each year's flow was, given the
years before. ``phintys.grad`` differentiates through the loop, and the variances of noise and
change are those that make the whole series most likely.

    python examples/kalman.py                # fit, print the variances, save a picture
    python examples/kalman.py --no-picture

Data: 100 years at Aswan (see ``examples/data/README.md``). The model and the fit are those of
J. Durbin and S. J. Koopman, Time Series Analysis by State Space Methods, chapter 2, who find the
variances 15099 and 1469.1.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

import phintys
import phintys.tensor as pt

HERE = Path(__file__).parent
DATA = HERE / "data" / "nile.csv"
PICTURE = HERE / "kalman.png"


def filtered(flows: Any, noise: Any, change: Any) -> tuple[Any, Any, Any]:
    """Return mean and variance of the level after each year but the first, and the log-likelihood.

    Parameters
    ----------
    flows
        The series, a vector.
    noise, change
        The variances of the noise and of the yearly change of the level.
    """

    def step(flow: Any, mean: Any, variance: Any) -> list[Any]:
        expected = variance + change  # the variance of the level, before the flow is seen
        surprise, spread = flow - mean, expected + noise
        gain = expected / spread
        likelihood = -0.5 * (pt.log(2 * np.pi * spread) + surprise**2 / spread)
        return [mean + gain * surprise, expected * (1 - gain), likelihood]

    # Nothing is known before the first year: it alone gives the first mean.
    (means, variances, likelihoods), _ = phintys.scan(
        step, sequences=flows[1:], outputs_info=[flows[0], noise, None]
    )
    return means, variances, likelihoods.sum()


@dataclass
class Fit:
    """The variances that were found, and the filtered series."""

    noise: float
    change: float
    likelihood: float
    evaluations: int
    compile_seconds: float
    microseconds: float
    means: np.ndarray[Any, Any]
    deviations: np.ndarray[Any, Any]

    def report(self) -> str:
        """Return the figures."""
        return (
            f"variance of the noise  {self.noise:8.0f}\n"
            f"variance of the change {self.change:8.1f}\n"
            f"log-likelihood         {self.likelihood:8.2f}\n"
            f"compiled in {self.compile_seconds * 1e3:.0f} ms; {self.evaluations} evaluations of "
            f"value and gradient, {self.microseconds:.1f} us each"
        )


def load() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the years and the flows."""
    table = np.loadtxt(DATA, delimiter=",", skiprows=1)
    return table[:, 0], table[:, 1]


def fit(flows: np.ndarray[Any, Any]) -> Fit:
    """Maximize the likelihood of a series over the logarithms of both variances."""
    series, logs = pt.dvector("series"), pt.dvector("logs")
    noise, change = pt.exp(logs[0]), pt.exp(logs[1])
    means, variances, likelihood = filtered(series, noise, change)

    start = time.perf_counter()
    loss: Any = phintys.function([logs, series], [-likelihood, -phintys.grad(likelihood, logs)])
    track = phintys.function([logs, series], [means, pt.sqrt(variances)])
    compile_seconds = time.perf_counter() - start

    begin = np.log([np.var(flows) / 2, np.var(flows) / 2])
    start = time.perf_counter()
    found = minimize(loss, begin, (flows,), jac=True, method="BFGS", options={"gtol": 1e-4})
    seconds = time.perf_counter() - start
    values = np.exp(found.x)
    levels, deviations = track(found.x, flows)
    return Fit(
        noise=values[0],
        change=values[1],
        likelihood=-found.fun,
        evaluations=found.nfev,
        compile_seconds=compile_seconds,
        microseconds=seconds / found.nfev * 1e6,
        means=levels,
        deviations=deviations,
    )


def draw(years: np.ndarray[Any, Any], flows: np.ndarray[Any, Any], fit: Fit, path: Path) -> None:
    """Save the series, the filtered level, and its band of 90 %."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
    axes.plot(years, flows, ".", color="gray", label="flow")
    axes.plot(years[1:], fit.means, label="level")
    width = 1.645 * fit.deviations
    axes.fill_between(years[1:], fit.means - width, fit.means + width, alpha=0.2, label="90 %")
    axes.set(title="The Nile at Aswan", xlabel="year", ylabel="$10^8$ m³ a year")
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> Fit:
    """Fit the model and print what came of it."""
    parser = argparse.ArgumentParser(description="Fit a Kalman filter to the flow of the Nile.")
    parser.add_argument("--no-picture", action="store_true", help="do not save a picture")
    options = parser.parse_args(arguments)

    years, flows = load()
    found = fit(flows)
    print(found.report())
    if not options.no_picture:
        draw(years, flows, found, PICTURE)
        print(f"the filtered series: {PICTURE}")
    return found


if __name__ == "__main__":
    main()
