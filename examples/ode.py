"""How do hares and lynxes live together? A differential equation, fitted to counts of pelts.

Hares multiply by themselves and are eaten by lynxes; lynxes multiply by eating, and starve:

    dh/dt = (a - b l) h        dl/dt = (d h - c) l

These are the equations of Lotka and Volterra. A loop over the years, with a loop over small steps
inside, solves them by the classical Runge-Kutta method. ``phintys.grad`` differentiates through
both loops, so that the four rates and the numbers in the first year can be fitted.

    python examples/ode.py                # fit, print the rates, save a picture
    python examples/ode.py --no-picture

Data: pelts from 1900 to 1920 (see ``examples/data/README.md``).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

import phintys
import phintys.tensor as pt
from phintys.control import fori_loop, loop

HERE = Path(__file__).parent
DATA = HERE / "data" / "hudson_bay.csv"
PICTURE = HERE / "ode.png"
STEPS_A_YEAR = 20
RATES = ("births of hares", "hares eaten", "deaths of lynxes", "births of lynxes")
# A population of 30,000 hares and 5,000 lynxes that lives for decades.
FIRST_GUESS = np.log([0.5, 0.02, 0.8, 0.02, 30.0, 5.0])


def runge_kutta(slope: Callable[[Any], Any], state: Any, dt: float) -> Any:
    """Return the state after a step of length ``dt``."""
    first = slope(state)
    second = slope(state + dt / 2 * first)
    third = slope(state + dt / 2 * second)
    fourth = slope(state + dt * third)
    return state + dt / 6 * (first + 2 * second + 2 * third + fourth)


def populations(rates: Any, first: Any, years: int, steps: int = STEPS_A_YEAR) -> Any:
    """Return the numbers of hares and lynxes for some years, as rows.

    Parameters
    ----------
    rates
        The four rates a, b, c and d, a vector.
    first
        The numbers in the first year, a vector of two.
    years
        Number of years.
    steps
        Steps of the method in each year.
    """

    def slope(state: Any) -> Any:
        hares, lynxes = state[0], state[1]
        return pt.stack(
            [(rates[0] - rates[1] * lynxes) * hares, (rates[3] * hares - rates[2]) * lynxes]
        )

    def year(state: Any, _: Any) -> tuple[Any, Any]:
        after = fori_loop(0, steps, lambda _, now: runge_kutta(slope, now, 1 / steps), state)
        return after, after

    _, rows = loop(year, first, length=years - 1)
    return pt.concatenate([first[None], rows])


@dataclass
class Fit:
    """The rates and first numbers that were found."""

    rates: np.ndarray[Any, Any]
    first: np.ndarray[Any, Any]
    factor: float
    evaluations: int
    compile_seconds: float
    microseconds: float

    def report(self) -> str:
        """Return the figures."""
        lines = [f"{name:<17}{rate:8.4f}" for name, rate in zip(RATES, self.rates, strict=True)]
        return "\n".join(
            [
                *lines,
                f"in 1900: {self.first[0]:.1f} thousand hares, {self.first[1]:.1f} lynxes",
                f"typically counts differ from the model by a factor of {self.factor:.2f}",
                f"compiled in {self.compile_seconds * 1e3:.0f} ms",
                f"{self.evaluations} values with gradient, {self.microseconds:.0f} us each",
            ]
        )


def load() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the years, and the counts of hares and lynxes in thousands as rows."""
    table = np.loadtxt(DATA, delimiter=",", skiprows=1)
    return table[:, 0], table[:, 1:]


def fit(counts: np.ndarray[Any, Any]) -> Fit:
    """Minimize the squared differences of the logarithms of counts and model."""
    logs, observed = pt.dvector("logs"), pt.dmatrix("observed")
    values = pt.exp(logs)
    model = populations(values[:4], values[4:], len(counts))
    loss = ((pt.log(model) - pt.log(observed)) ** 2).sum()

    start = time.perf_counter()
    f: Any = phintys.function([logs, observed], [loss, phintys.grad(loss, logs)])
    compile_seconds = time.perf_counter() - start

    start = time.perf_counter()
    found = minimize(f, FIRST_GUESS, (counts,), jac=True, method="L-BFGS-B")
    seconds = time.perf_counter() - start
    values = np.exp(found.x)
    return Fit(
        values[:4],
        values[4:],
        float(np.exp(np.sqrt(found.fun / counts.size))),
        found.nfev,
        compile_seconds,
        seconds / found.nfev * 1e6,
    )


def draw(years: np.ndarray[Any, Any], counts: np.ndarray[Any, Any], fit: Fit, path: Path) -> None:
    """Save the counts, and the solution that fits them best."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    fine = 50  # steps a year, each of which is a "year" of slower populations
    rows = (len(years) - 1) * fine + 1
    rates, first = (pt.as_tensor_variable(values) for values in (fit.rates / fine, fit.first))
    model = populations(rates, first, rows, steps=1).eval()
    times = np.linspace(years[0], years[-1], rows)
    figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
    for number, name in enumerate(("hares", "lynxes")):
        (line,) = axes.plot(times, model[:, number], label=name)
        axes.plot(years, counts[:, number], "o", color=line.get_color())
    axes.set(title="Pelts collected at Hudson Bay", xlabel="year", ylabel="thousands")
    axes.set_xticks(years[::5])
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> Fit:
    """Fit the equations and print what came of it."""
    parser = argparse.ArgumentParser(description="Fit the equations of Lotka and Volterra.")
    parser.add_argument("--no-picture", action="store_true", help="do not save a picture")
    options = parser.parse_args(arguments)

    years, counts = load()
    found = fit(counts)
    print(found.report())
    if not options.no_picture:
        draw(years, counts, found, PICTURE)
        print(f"counts and solution: {PICTURE}")
    return found


if __name__ == "__main__":
    main()
