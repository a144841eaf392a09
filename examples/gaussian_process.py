"""Forecast the carbon dioxide over Mauna Loa: a Gaussian process, fitted by gradient.

A Gaussian process says how alike the values at two times are: its kernel. This one is a sum of

- a smooth trend over decades,
- a yearly cycle, whose form changes slowly,
- irregularities over months to years,
- noise.

Each has an amplitude and lengths of time. The density of the whole series, by the Cholesky factor
of the matrix of the kernel, is a function of these nine numbers; ``phintys.grad`` differentiates it
through the factorization, and SciPy's L-BFGS finds the most likely ones. The last ten years are
held out, and are forecast with the uncertainty that the model has about them.

    python examples/gaussian_process.py                # fit, print the numbers, save a picture
    python examples/gaussian_process.py --no-picture

Data: monthly means from 1958 to 2001 (see ``examples/data/README.md``). The kernel is that of C. E.
Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, section 5.4.3.
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
DATA = HERE / "data" / "mauna_loa.csv"
PICTURE = HERE / "gaussian_process.png"

HELD_OUT_FROM = 1992
START = {
    "amplitude of the trend": 50.0,
    "years of the trend": 50.0,
    "amplitude of the cycle": 2.0,
    "years of the cycle's form": 100.0,
    "smoothness of the cycle": 1.0,
    "amplitude of irregularities": 0.5,
    "years of irregularities": 1.0,
    "shape of irregularities": 1.0,
    "noise": 0.2,
}
"""Where the search begins; all numbers are positive."""

Array = np.ndarray[Any, Any]


def kernel(numbers: list[Any], times: Any, others: Any) -> Any:
    """Return the covariances of the process, without noise, between two vectors of times."""
    trend, decades, cycle, changing, smooth, uneven, years, shape, _ = numbers
    distance = times[:, None] - others[None, :]
    square = distance**2
    long = trend**2 * pt.exp(-square / (2 * decades**2))
    waves = pt.sin(np.pi * distance) ** 2
    yearly = cycle**2 * pt.exp(-square / (2 * changing**2) - 2 * waves / smooth**2)
    # A mixture of many lengths: a rational quadratic.
    short = uneven**2 * (1 + square / (2 * shape * years**2)) ** -shape
    return long + yearly + short


def factorized(numbers: list[Any], times: Any, values: Any) -> tuple[Any, Any]:
    """Return the Cholesky factor L of the matrix of a series, and ``L^-1 values``."""
    noise = numbers[-1] ** 2 * pt.eye(times.shape[0])
    factor = pt.linalg.cholesky(kernel(numbers, times, times) + noise)
    return factor, pt.linalg.solve_triangular(factor, values, lower=True)


def log_density(numbers: list[Any], times: Any, values: Any) -> Any:
    """Return the logarithm of the density of a series."""
    factor, white = factorized(numbers, times, values)
    halves = pt.log(pt.linalg.diagonal(factor)).sum()
    return -0.5 * (white**2).sum() - halves - values.shape[0] * np.log(2 * np.pi) / 2


def forecast(numbers: list[Any], times: Any, values: Any, later: Any) -> tuple[Any, Any]:
    """Return means and standard deviations of measurements at other times."""
    factor, white = factorized(numbers, times, values)
    across = pt.linalg.solve_triangular(factor, kernel(numbers, times, later), lower=True)
    trend, _, cycle, _, _, uneven, *_, noise = numbers
    alone = trend**2 + cycle**2 + uneven**2 + noise**2
    return white @ across, pt.sqrt(alone - (across**2).sum(axis=0))


@dataclass
class Fit:
    """What was found: the numbers of the kernel, and a forecast of what was held out."""

    numbers: dict[str, float]
    density: float
    evaluations: int
    compile_seconds: float
    milliseconds: float
    means: Array
    deviations: Array
    error: float
    inside: float

    def report(self) -> str:
        """Return the figures."""
        lines = [f"{name:28} {value:8.3f}" for name, value in self.numbers.items()]
        table = "\n".join(lines)
        return (
            f"{table}\n"
            f"logarithm of the density     {self.density:8.2f}\n"
            f"forecast from {HELD_OUT_FROM}: off by {self.error:.2f} ppm (root mean square), "
            f"{self.inside:.0%} inside of the band of 95 %\n"
            f"compiled in {self.compile_seconds * 1e3:.0f} ms; {self.evaluations} evaluations of "
            f"value and gradient, {self.milliseconds:.1f} ms each"
        )


def load() -> tuple[Array, Array]:
    """Return the times, in years, and the monthly means, in parts per million."""
    year, month, values = np.loadtxt(DATA, delimiter=",", skiprows=1).T
    return year + (month - 0.5) / 12, values


def fit(times: Array, values: Array, later: Array, measured: Array, most: int = 60) -> Fit:
    """Maximize the density of a series by at most ``most`` steps, and forecast another one."""
    logs, when, series, then = (pt.dvector(name) for name in ("logs", "when", "series", "then"))
    numbers = [pt.exp(logs[i]) for i in range(len(START))]
    density = log_density(numbers, when, series)

    start = time.perf_counter()
    loss: Any = phintys.function([logs, when, series], [-density, -phintys.grad(density, logs)])
    predict = phintys.function(
        [logs, when, series, then], forecast(numbers, when, series, then), name="forecast"
    )
    compile_seconds = time.perf_counter() - start

    middle = values.mean()
    start = time.perf_counter()
    found = minimize(
        loss,
        np.log(list(START.values())),
        (times, values - middle),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": most},
    )
    seconds = time.perf_counter() - start
    means, deviations = predict(found.x, times, values - middle, later)
    means = means + middle
    return Fit(
        numbers=dict(zip(START, np.exp(found.x).tolist(), strict=True)),
        density=-float(found.fun),
        evaluations=found.nfev,
        compile_seconds=compile_seconds,
        milliseconds=seconds / found.nfev * 1e3,
        means=means,
        deviations=deviations,
        error=float(np.sqrt(np.mean((means - measured) ** 2))),
        inside=float(np.mean(np.abs(means - measured) < 1.96 * deviations)),
    )


def draw(series: tuple[Array, Array], later: tuple[Array, Array], fit: Fit, path: Path) -> None:
    """Save the series, the forecast, and its band of 95 %."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
    axes.plot(*series, color="gray", linewidth=0.8, label="measured")
    axes.plot(*later, ".", color="gray", markersize=3, label="held out")
    axes.plot(later[0], fit.means, linewidth=0.8, label="forecast")
    width = 1.96 * fit.deviations
    axes.fill_between(later[0], fit.means - width, fit.means + width, alpha=0.3, label="95 %")
    axes.set(title="Carbon dioxide at Mauna Loa", xlabel="year", ylabel="parts per million")
    axes.legend(loc="upper left")
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> Fit:
    """Fit the model and print what came of it."""
    parser = argparse.ArgumentParser(description="Forecast the carbon dioxide over Mauna Loa.")
    parser.add_argument("--no-picture", action="store_true", help="do not save a picture")
    parser.add_argument("--every", type=int, default=1, help="fit one month out of so many")
    options = parser.parse_args(arguments)

    times, values = load()
    known = times < HELD_OUT_FROM
    series = times[known][:: options.every], values[known][:: options.every]
    later = times[~known], values[~known]
    found = fit(*series, *later)
    print(found.report())
    if not options.no_picture:
        draw(series, later, found, PICTURE)
        print(f"the forecast: {PICTURE}")
    return found


if __name__ == "__main__":
    main()
