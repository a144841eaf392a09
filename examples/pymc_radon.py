"""Radon in houses: one model of PyMC, sampled as PyMC compiles it and as Phintys does.

The radon in a house depends on the floor where it was measured, differently in each county:

    log radon = a[county] + b[county] * floor + noise

The 85 levels and the 85 effects of the floor have normal distributions of their own, so counties
with few houses borrow from the others. Both times nutpie draws from the posterior, in four chains:
first with the log-density and gradient that PyTensor compiles, then with those of Phintys.

    python examples/pymc_radon.py               # sample twice, compare, save a picture
    python examples/pymc_radon.py --no-picture

Needs PyMC and nutpie: ``pip install phintys[pymc]``. The data are made here, from a fixed seed, in
the form of the measurements in Minnesota that A. Gelman and J. Hill, Data Analysis Using Regression
and Multilevel/Hierarchical Models, chapter 12, analyse.
"""
# PyMC need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

PICTURE = Path(__file__).parent / "pymc_radon.png"
HOUSES, COUNTIES = 919, 85


@dataclass
class Run:
    """One way to sample.

    Attributes
    ----------
    compiling, sampling
        Seconds.
    trace
        What was drawn.
    """

    compiling: float
    sampling: float
    trace: Any

    def levels(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return the mean and the standard deviation of the level of each county."""
        draws = self.trace.posterior["a"]
        return draws.mean(("chain", "draw")).values, draws.std(("chain", "draw")).values

    def report(self, name: str) -> str:
        """Return the times as a line of text."""
        return f"{name}: compiled in {self.compiling:.2f} s, sampled in {self.sampling:.2f} s"


def build() -> Any:
    """Return the model, with data of its own kind."""
    import pymc as pm

    rng = np.random.default_rng(1)
    county = np.sort(rng.integers(0, COUNTIES, HOUSES))
    floor = (rng.random(HOUSES) < 0.17).astype(float)
    levels, slopes = rng.normal(1.5, 0.3, COUNTIES), rng.normal(-0.7, 0.3, COUNTIES)
    radon = rng.normal(levels[county] + slopes[county] * floor, 0.75)
    counties = [f"county {number}" for number in range(COUNTIES)]
    with pm.Model(coords={"county": counties}) as model:
        level, level_spread = pm.Normal("level", 0, 10), pm.HalfNormal("level_spread", 1)
        slope, slope_spread = pm.Normal("slope", 0, 10), pm.HalfNormal("slope_spread", 1)
        a = pm.Normal("a", level, level_spread, dims="county")
        # Few houses say how the slopes spread, so these are drawn in units of their spread.
        b = slope + slope_spread * pm.Normal("unit", dims="county")
        noise = pm.HalfNormal("noise", 1)
        pm.Normal("radon", a[county] + b[county] * floor, noise, observed=radon)
    return model


def sample(model: Any, compiler: Callable[[Any], Any], draws: int) -> Run:
    """Compile and sample a model."""
    import nutpie

    begin = time.perf_counter()
    compiled = compiler(model)
    middle = time.perf_counter()
    trace = nutpie.sample(compiled, draws=draws, chains=4, seed=1, progress_bar=False)
    return Run(middle - begin, time.perf_counter() - middle, trace)


def draw(runs: dict[str, Run], path: Path) -> None:
    """Save a picture of the levels of the counties, by both."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(10, 4), layout="constrained")
    for shift, (name, run) in zip((-0.2, 0.2), runs.items(), strict=True):
        means, deviations = run.levels()
        where = np.arange(COUNTIES) + shift
        label = f"{name}: {run.compiling:.1f} s + {run.sampling:.1f} s"
        axes.errorbar(where, means, deviations, fmt=".", markersize=4, linewidth=1, label=label)
    axes.set(title="Radon in 85 counties", xlabel="county", ylabel="level of log radon")
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> dict[str, Run]:
    """Sample the model twice, and compare."""
    parser = argparse.ArgumentParser(description="One model, compiled by PyTensor and by Phintys.")
    parser.add_argument("--draws", type=int, default=1000, help="draws of each chain")
    parser.add_argument("--no-picture", action="store_true", help="do not save a picture")
    options = parser.parse_args(arguments)
    from nutpie import compile_pymc_model

    from phintys.bridge.pymc import nutpie_model

    model = build()
    runs = {
        "Phintys": sample(model, nutpie_model, options.draws),
        "PyTensor": sample(model, compile_pymc_model, options.draws),
    }
    for name, run in runs.items():
        print(run.report(name))
    (ours, deviations), (theirs, _) = (run.levels() for run in runs.values())
    difference = np.max(np.abs(ours - theirs) / deviations)
    print(f"the means of levels differ by at most {difference:.2f} posterior deviations")
    if not options.no_picture:
        draw(runs, PICTURE)
        print(f"the levels by both: {PICTURE}")
    return runs


if __name__ == "__main__":
    main()
