"""Sampling of PyMC's models: by PyMC and by nutpie, compiled by PyTensor and by Phintys.

``python benchmarks/pymc_sampling.py [NAME ...]`` draws four chains of each model of
``pymc_models.py`` that is named, in processes of their own, on two cores. It prints the time from
the model to the trace, with empty caches and then with filled ones, the smallest effective sample
size of all variables by that time of the second run, and how far posterior means are from those of
the first way, in Monte Carlo errors. Imports are not counted. Needs PyMC and nutpie; without names
it takes about six minutes, most of which PyTensor compiles.
"""
# PyMC need not be installed.
# pyright: reportMissingImports=false

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from pymc_models import made

_MODELS = ("eight_schools", "radon", "change_point")
_WAYS = {
    "nutpie, PyTensor": ("nutpie", "default"),
    "nutpie, Phintys": ("nutpie", "phintys"),
    "pm.sample, PyTensor": ("pymc", "default"),
    "pm.sample, Phintys": ("pymc", "phintys"),
}


def by_nutpie(model, compiler, draws):
    import nutpie

    from phintys.bridge.pymc import nutpie_model

    compiled = (nutpie_model if compiler == "phintys" else nutpie.compile_pymc_model)(model)
    return nutpie.sample(
        compiled, draws=draws, tune=draws, chains=4, cores=2, seed=1, progress_bar=False
    )


def by_pymc(model, compiler, draws):
    import pymc as pm

    import phintys.bridge.pytensor  # noqa: F401 - registers the mode

    mode = "PHINTYS" if compiler == "phintys" else None
    with model:
        return pm.sample(
            draws, tune=draws, chains=4, cores=2, random_seed=1, progressbar=False,
            compute_convergence_checks=False, compile_kwargs={"mode": mode},
        )  # fmt: skip


def summary(trace):
    """Return the mean, the Monte Carlo error and the effective sample size of all variables."""
    import arviz

    means, errors, sizes = [], [], []
    for values in trace.posterior.data_vars.values():
        draws = values.transpose("chain", "draw", ...).values
        draws = draws.reshape(*draws.shape[:2], -1)
        for at in range(draws.shape[2]):
            one = draws[:, :, at]
            if one.std() == 0:  # a diagonal of ones
                continue
            size = float(arviz.ess(one))
            means.append(one.mean())
            errors.append(one.std() / np.sqrt(size))
            sizes.append(size)
    return np.array(means), np.array(errors), np.array(sizes)


def measure(name, way, draws, path):
    """Sample a model in this process, and save what was found."""
    import nutpie
    import pymc

    import phintys

    assert nutpie, pymc  # imported before the clock starts
    warnings.simplefilter("ignore")
    number = phintys.tensor.dscalar()
    phintys.function([number], number + 1)(1.0)  # imports the backend
    sampler, compiler = _WAYS[way]
    model = made(name)
    begin = time.perf_counter()
    trace = (by_nutpie if sampler == "nutpie" else by_pymc)(model, compiler, draws)
    seconds = time.perf_counter() - begin
    means, errors, sizes = summary(trace)
    np.savez(path, seconds=seconds, means=means, errors=errors, sizes=sizes)


def in_process(name, way, draws, folder, run):
    """Sample a model in a process of its own; the second run finds what the first one cached."""
    path = Path(folder) / f"{run}.npz"
    cache = Path(folder) / f"{name}-{way.replace(', ', '-')}"
    environment = {
        **os.environ,
        "PHINTYS_FLAGS": f"cache_dir={cache}",
        "NUMBA_CACHE_DIR": str(cache),
        "PYTENSOR_FLAGS": f"base_compiledir={cache}",
    }
    command = [sys.executable, __file__, name, "--measure", way, "--to", str(path)]
    command += ["--draws", str(draws)]
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}, {way}:\n{done.stderr}")
    return dict(np.load(path))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--draws", type=int, default=500, help="of each chain, and as many before")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--to", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.names[0], options.measure, options.draws, options.to)
        return
    print("| model | sampled by | first run | second run | effective samples / s | means |")
    print("|---|---|--:|--:|--:|--:|", flush=True)
    for name in options.names or _MODELS:
        first = None
        for way in _WAYS:
            with tempfile.TemporaryDirectory() as folder:
                cold, warm = (in_process(name, way, options.draws, folder, k) for k in range(2))
            first = first or warm
            differences = np.abs(warm["means"] - first["means"])
            off = np.max(differences / np.hypot(warm["errors"], first["errors"]))
            print(
                f"| {name} | {way} | {cold['seconds']:.2f} s | {warm['seconds']:.2f} s "
                f"| {warm['sizes'].min() / warm['seconds']:.0f} | {off:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
