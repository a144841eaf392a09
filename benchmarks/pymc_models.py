"""Models of PyMC: log-density and gradient by PyTensor's default and by Phintys.

``python benchmarks/pymc_models.py [NAME ...]`` prints for each model the time from the model to the
first value and gradient, with an empty cache and in a process of its own, and the time of a call.
Both are imported by then.
``--warm`` measures each model a second time, with the caches that the first process filled.
``--without-pytensor`` leaves out its compilation, which takes minutes; values are then compared
with those of its Python code. Needs PyMC. All data are made here, from fixed seeds.
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

_SEED = 20240607


def eight_schools(pm, rng):
    y = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
    s = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
    school = pm.Normal("school", 0, 1, shape=8)
    pm.Normal("y", mu + tau * school, s, observed=y)


def radon(pm, rng):
    county, floor = rng.integers(0, 85, 919), rng.integers(0, 2, 919).astype(float)
    mu_a, sigma_a = pm.Normal("mu_a", 0, 10), pm.HalfCauchy("sigma_a", 5)
    mu_b, sigma_b = pm.Normal("mu_b", 0, 10), pm.HalfCauchy("sigma_b", 5)
    a = pm.Normal("a", mu_a, sigma_a, shape=85)
    b = pm.Normal("b", mu_b, sigma_b, shape=85)
    sigma = pm.HalfCauchy("sigma", 5)
    pm.Normal("y", a[county] + b[county] * floor, sigma, observed=rng.normal(size=919))


def gp_matern(pm, rng):
    x = np.linspace(0, 10, 60)[:, None]
    y = np.sin(x).ravel() + rng.normal(size=60) * 0.1
    length, scale = pm.Gamma("length", 2, 1), pm.HalfNormal("scale", 2)
    sigma = pm.HalfNormal("sigma", 1)
    gp = pm.gp.Marginal(cov_func=scale**2 * pm.gp.cov.Matern52(1, length))
    gp.marginal_likelihood("y", X=x, y=y, sigma=sigma)


def mixture(pm, rng):
    y = np.concatenate([rng.normal(-2, 1, 100), rng.normal(2, 1, 100)])
    w = pm.Dirichlet("w", np.ones(3))
    ordered = pm.distributions.transforms.ordered
    mu = pm.Normal("mu", [-1, 0, 1], 2, shape=3, transform=ordered, initval=[-1, 0, 1])
    pm.NormalMixture("y", w, mu, pm.HalfNormal("sigma", 1, shape=3), observed=y)


def stochastic_volatility(pm, rng):
    step, nu = pm.Exponential("step", 50.0), pm.Exponential("nu", 0.1)
    start = pm.Normal.dist(0, 10)
    s = pm.GaussianRandomWalk("s", sigma=step, init_dist=start, shape=400)
    pm.StudentT("r", nu, lam=pm.math.exp(-2 * s), observed=rng.normal(size=400) * 0.01)


def glms(pm, rng):
    x = rng.normal(size=(500, 8))
    b, alpha = pm.Normal("b", 0, 1, shape=8), pm.HalfNormal("alpha", 1)
    pm.Bernoulli("y", logit_p=x @ b, observed=rng.integers(0, 2, 500))
    mean = pm.math.exp(x[:, :3] @ b[:3])
    pm.NegativeBinomial("k", mu=mean, alpha=alpha, observed=rng.poisson(3, 500))
    pm.Poisson("q", pm.math.exp(x[:, 3:5] @ b[3:5]), observed=rng.poisson(3, 500))


def lkj_covariance(pm, rng):
    deviations = pm.Exponential.dist(1.0)
    chol, _, _ = pm.LKJCholeskyCov("chol", n=4, eta=2, sd_dist=deviations)
    mu = pm.Normal("mu", 0, 1, shape=4)
    pm.MvNormal("y", mu, chol=chol, observed=rng.normal(size=(50, 4)))


def autoregression(pm, rng):
    rho, sigma = pm.Normal("rho", 0, 1, shape=3), pm.HalfNormal("sigma", 1)
    start = pm.Normal.dist(0, 1)
    y = rng.normal(size=200)
    pm.AR("y", rho, sigma=sigma, constant=True, init_dist=start, observed=y)


def change_point(pm, rng):
    """The year of the change summed out."""
    counts = np.concatenate([rng.poisson(3, 40), rng.poisson(1, 71)])
    early, late = pm.Exponential("early", 1.0), pm.Exponential("late", 1.0)
    before = pm.math.cumsum(pm.logp(pm.Poisson.dist(early), counts))
    after = pm.logp(pm.Poisson.dist(late), counts)
    after = after.sum() - pm.math.cumsum(after)
    pm.Potential("year", pm.math.logsumexp(before + after) - np.log(111))


def censored_and_others(pm, rng):
    a, b = pm.HalfNormal("a", 2), pm.HalfNormal("b", 2)
    theta = pm.Beta("theta", a, b, shape=20)
    pm.Binomial("binomial", 20, theta, observed=rng.integers(0, 20, 20))
    pm.BetaBinomial("beta_binomial", a, b, 20, observed=rng.integers(0, 20, 20))
    pm.Weibull("weibull", a, b, observed=rng.random(30) + 0.1)
    pm.ZeroInflatedPoisson("zeros", 0.3, b, observed=rng.poisson(1, 30))
    pm.Censored("censored", pm.Normal.dist(a, b), lower=0, upper=2, observed=rng.random(30) * 2)
    pm.Truncated("truncated", pm.Normal.dist(a, 1), 0, 5, observed=rng.random(20))
    pm.SkewNormal("skew", 0, 1, a, observed=rng.normal(size=20))


def hidden_markov(pm, rng):
    """Two states, the forward algorithm as a scan."""
    import pytensor
    import pytensor.tensor as pt

    y = rng.normal(size=100)
    stay = pm.Beta("stay", 8, 2, shape=2)
    mu = pm.Normal("mu", [-1, 1], 1, shape=2)
    p = pt.stack([pt.stack([stay[0], 1 - stay[0]]), pt.stack([1 - stay[1], stay[1]])])
    emission = pm.logp(pm.Normal.dist(mu, 1.0), y[:, None])

    def forward(now, before, p):
        return now + pt.logsumexp(before[:, None] + pt.log(p), axis=0)

    found = pytensor.scan(
        forward, sequences=[emission[1:]], outputs_info=[emission[0] - np.log(2.0)],
        non_sequences=[p], return_updates=False,
    )  # fmt: skip
    pm.Potential("y", pt.logsumexp(found[-1]))


def ode(pm, rng):
    """Prey and predators, 60 steps of Runge and Kutta's method as a scan."""
    import pytensor
    import pytensor.tensor as pt

    rates = pm.LogNormal("rates", np.log([1.0, 0.1, 1.5, 0.075]), 0.3, shape=4)
    start = pm.LogNormal("start", np.log([10.0, 5.0]), 0.5, shape=2)
    sigma = pm.HalfNormal("sigma", 1)

    def slope(y, r):
        return pt.stack([y[0] * (r[0] - r[1] * y[1]), y[1] * (r[3] * y[0] - r[2])])

    def step(y, r, h=0.1):
        k1 = slope(y, r)
        k2 = slope(y + h / 2 * k1, r)
        k3 = slope(y + h / 2 * k2, r)
        k4 = slope(y + h * k3, r)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    path = pytensor.scan(
        step, outputs_info=[start], non_sequences=[rates], n_steps=60, return_updates=False
    )
    data = np.exp(rng.normal(1.5, 0.3, size=(60, 2)))
    pm.LogNormal("y", pt.log(path), sigma, observed=data)


def neural_network(pm, rng):
    x, y = rng.normal(size=(200, 6)), rng.integers(0, 2, 200)
    first = pm.Normal("first", 0, 1, shape=(6, 8))
    second = pm.Normal("second", 0, 1, shape=(8, 8))
    last = pm.Normal("last", 0, 1, shape=8)
    hidden = pm.math.tanh(pm.math.tanh(x @ first) @ second)
    pm.Bernoulli("y", logit_p=hidden @ last, observed=y)


def ordinal(pm, rng):
    x, y = rng.normal(size=(300, 2)), rng.integers(0, 4, 300)
    ordered = pm.distributions.transforms.ordered
    start = np.array([-1.0, 0.0, 1.0])
    cut = pm.Normal("cut", 0, 2, shape=3, transform=ordered, initval=start)
    b = pm.Normal("b", 0, 1, shape=2)
    pm.OrderedLogistic("y", eta=x @ b, cutpoints=cut, observed=y)


MODELS = [
    eight_schools, radon, gp_matern, mixture, stochastic_volatility, glms, lkj_covariance,
    autoregression, change_point, censored_and_others, hidden_markov, ode, neural_network, ordinal,
]  # fmt: skip


def made(name):
    """Return the model with a name."""
    import pymc as pm

    (make,) = [one for one in MODELS if one.__name__ == name]
    with pm.Model() as model:
        make(pm, np.random.default_rng(_SEED))
    return model


def at(model, point):
    """Return a point near the initial one, and as a vector."""
    rng = np.random.default_rng(_SEED)
    point = {name: value + rng.uniform(-0.1, 0.1, np.shape(value)) for name, value in point.items()}
    return point, np.concatenate([np.ravel(value) for value in point.values()])


def best_call(call, seconds=1.0):
    """Return the time of a call: the best of several means."""
    call()
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:  # until it is recompiled
        call()
    times = []
    for _ in range(7):
        begin, count = time.perf_counter(), 0
        while count < 10 or time.perf_counter() - begin < seconds / 7:
            call()
            count += 1
        times.append((time.perf_counter() - begin) / count)
    return min(times)


def measured_by_phintys(model):
    import phintys
    from phintys.bridge.pymc import compile_logp_dlogp

    _, x = at(model, model.initial_point())
    number = phintys.tensor.dscalar()
    phintys.function([number], number + 1)(1.0)  # imports the backend
    begin = time.perf_counter()
    density = compile_logp_dlogp(model)
    value, gradient = density(x)
    first = time.perf_counter() - begin
    return first, best_call(lambda: density.function(x)), value, gradient


def measured_by_pytensor(model, mode):
    _, x = at(model, model.initial_point())
    begin = time.perf_counter()
    function = model.logp_dlogp_function(ravel_inputs=True, mode=mode)
    function.set_extra_values({})
    value, gradient = function._pytensor_function(x)
    first = time.perf_counter() - begin
    function._pytensor_function.trust_input = True
    seconds = 1.0 if mode is None else 0.01
    return first, best_call(lambda: function._pytensor_function(x), seconds), value, gradient


def measure(name, by, path):
    """Measure a model in this process, and save what was found."""
    warnings.simplefilter("ignore")
    model = made(name)
    modes = {"default": None, "python": "FAST_COMPILE"}
    found = (
        measured_by_phintys(model) if by == "phintys" else measured_by_pytensor(model, modes[by])
    )
    first, call, value, gradient = found
    np.savez(path, first=first, call=call, value=value, gradient=gradient)


def in_process(name, by, folder):
    """Measure a model in a process of its own, with the caches of this model and compiler."""
    path = Path(folder) / f"{name}-{by}.npz"
    cache = Path(folder) / f"cache-{name}-{by}"
    environment = {
        **os.environ,
        "PHINTYS_FLAGS": f"cache_dir={cache}",
        "NUMBA_CACHE_DIR": str(cache),
        "PYTENSOR_FLAGS": f"base_compiledir={cache}",
    }
    command = [sys.executable, __file__, name, "--measure", by, "--to", str(path)]
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip().splitlines()[-1]
    return dict(np.load(path)), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--without-pytensor", action="store_true")
    parser.add_argument("--warm", action="store_true")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--to", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.names[0], options.measure, options.to)
        return
    other = "python" if options.without_pytensor else "default"
    runs = 2 if options.warm else 1
    first = "first, again, call" if options.warm else "first, call"
    print(f"| model | PyTensor: {first} | Phintys: {first} | call: ratio | differs by |")
    print("|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names or [one.__name__ for one in MODELS]:
            rows = {by: measured(name, by, folder, runs) for by in ("phintys", other)}
            problems = [problem for _, problem in rows.values() if problem]
            if problems:
                print(f"| {name} | {' '.join(problems)} | | | |", flush=True)
                continue
            (ours, _), (theirs, _) = rows.values()
            both = [np.append(one[-1]["gradient"], one[-1]["value"]) for one in (ours, theirs)]
            difference = np.max(np.abs(both[0] - both[1])) / np.max(np.abs(both[1]))
            ratio = ours[-1]["call"] / theirs[-1]["call"]
            print(
                f"| {name} | {times(theirs)} | {times(ours)} | {ratio:.2f} | {difference:.0e} |",
                flush=True,
            )


def measured(name, by, folder, runs):
    """Return what was found in each of several processes, and what went wrong."""
    found = [in_process(name, by, folder) for _ in range(runs)]
    problem = next((problem for _, problem in found if problem), "")
    return [one for one, _ in found if one is not None], problem


def times(found):
    """Return the times until first values, and that of a call, as text."""
    firsts = ", ".join(f"{one['first']:.2f} s" for one in found)
    return f"{firsts}, {found[-1]['call'] * 1e6:.1f} us"


if __name__ == "__main__":
    main()
