"""PyMC's models compiled by Phintys: values, gradients, and samples."""
# PyMC need not be installed.
# pyright: reportMissingImports=false

import ctypes
import gc
import shutil
import subprocess
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from phintys._base.errors import ArgumentError

# Other packages warn on import: their warnings are no errors here.
pytestmark = pytest.mark.filterwarnings("default")
pm = pytest.importorskip("pymc", reason="PyMC is not installed", exc_type=ImportError)

from pymc.exceptions import SamplingError  # noqa: E402
from pymc.initial_point import make_initial_point_fn  # noqa: E402

import phintys.bridge.pymc as bridge  # noqa: E402
import phintys.tensor  # noqa: E402
from phintys.bridge import requirement  # noqa: E402
from phintys.bridge.pymc import sampling  # noqa: E402
from phintys.bridge.pytensor import to_pytensor  # noqa: E402

ROOT = Path(__file__).parents[2]


def schools():
    """A hierarchy with coordinates, a transform and a deterministic variable."""
    data = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
    with pm.Model(coords={"school": list("abcdefgh")}) as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        z = pm.Normal("z", 0, 1, dims="school")
        theta = pm.Deterministic("theta", mu + tau * z, dims="school")
        pm.Normal("y", theta, pm.Data("s", np.full(8, 12.0)), observed=data)
    return model


def shapes_and_bounds():
    """Matrices, bounded and ordered variables, a mixture, checks of parameters."""
    rng = np.random.default_rng(1)
    with pm.Model() as model:
        w = pm.Dirichlet("w", np.ones(3))
        ordered = pm.distributions.transforms.ordered
        mu = pm.Normal("mu", 0, 2, shape=3, transform=ordered, initval=[-1, 0, 1])
        pm.NormalMixture("m", w, mu, pm.HalfNormal("sigma", shape=3), observed=rng.normal(size=20))
        matrix = pm.Normal("matrix", shape=(3, 2))
        b = pm.Uniform("b", 0, 2)
        x = rng.normal(size=(15, 3))
        pm.Bernoulli("y", logit_p=(x @ matrix).sum(1), observed=rng.integers(0, 2, 15))
        pm.NegativeBinomial("k", b, 2.0, observed=rng.poisson(2, 10))
        pm.Censored("c", pm.Normal.dist(b, 1), -1, 1, observed=np.clip(rng.normal(size=9), -1, 1))
    return model


@pytest.fixture(scope="module")
def density():
    return bridge.compile_logp_dlogp(schools())


def by_pymc(model):
    """PyMC's own log-density with gradient, in Python."""
    f = model.logp_dlogp_function(ravel_inputs=True, mode="FAST_COMPILE")
    f.set_extra_values({})
    return f


@pytest.mark.parametrize("make", [schools, shapes_and_bounds])
def test_values_and_gradients_are_pymcs(make):
    model = make()
    ours, theirs = bridge.compile_logp_dlogp(model), by_pymc(model)
    start = ours.initial_point()
    for seed in range(3):
        x = start + np.random.default_rng(seed).normal(size=ours.size)
        wanted_value, wanted = theirs(x)
        value, gradient = ours(x)
        np.testing.assert_allclose(value, wanted_value, rtol=1e-9)
        np.testing.assert_allclose(gradient, wanted, rtol=1e-9, atol=1e-9 * abs(wanted).max())


def test_points_and_constrained_values(density):
    assert density.names == ["mu", "tau_log__", "z"]
    assert (density.shapes, density.size) == ([(), (), (8,)], 10)
    start = make_initial_point_fn(model=density.model)(None)
    point = density.initial_point()
    np.testing.assert_array_equal(point, density.ravel(start))
    assert {name: value.shape for name, value in density.unravel(point).items()} == {
        "mu": (), "tau_log__": (), "z": (8,),
    }  # fmt: skip
    jittered = density.initial_point(3, jitter=0.5)
    assert 0 < np.abs(jittered - point).max() <= 0.5
    np.testing.assert_array_equal(jittered, density.initial_point(3, jitter=0.5))
    values = density.expand(jittered)
    np.testing.assert_allclose(values["tau"], np.exp(values["tau_log__"]), rtol=1e-15)
    np.testing.assert_allclose(values["theta"], values["mu"] + values["tau"] * values["z"])
    assert repr(density) == "<LogDensity of mu, tau_log__, z[8]>"
    with pytest.raises(ArgumentError, match=r"no values for \['z'\]"):
        density.ravel({"mu": 0, "tau_log__": 0})


def test_the_collector_is_paused_while_pymc_makes_the_graph():
    seen = []

    def log_density(value):
        seen.append(gc.isenabled())
        return -(value**2)

    with pm.Model() as model:
        pm.CustomDist("x", logp=log_density)
    assert gc.isenabled()
    seen.clear()
    bridge.compile_logp_dlogp(model)
    assert seen
    assert not any(seen)
    assert gc.isenabled()


def test_data_can_be_replaced():
    model = schools()
    density = bridge.compile_logp_dlogp(model)
    x = density.initial_point()
    before = density(x)[0]
    with model:
        pm.set_data({"s": np.full(8, 3.0)})
    np.testing.assert_allclose(density(x)[0], by_pymc(model)(x)[0], rtol=1e-12)
    assert density(x)[0] != before


def test_checks_of_parameters_make_it_minus_infinity():
    with pm.Model() as model:
        scale = pm.Normal("scale", initval=1.0)
        pm.Normal("y", 0, scale, observed=np.ones(3))
    density = bridge.compile_logp_dlogp(model)
    assert np.isfinite(density([0.5])[0])
    assert density([-0.5])[0] == -np.inf


def test_threads_share_a_density(density):
    x = density.initial_point(1, jitter=1.0)
    wanted, found = density(x), []
    threads = [threading.Thread(target=lambda: found.append(density(x))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for value, gradient in found:
        assert value == wanted[0]
        np.testing.assert_array_equal(gradient, wanted[1])


def test_models_that_have_no_gradient_say_why():
    with pm.Model() as model:
        pm.Normal("y", 0, 1, observed=1.0)
    with pytest.raises(ArgumentError, match="no free variables"):
        bridge.compile_logp_dlogp(model)
    with pm.Model() as model:
        pm.Normal("x")
        pm.Poisson("count", 3.0)
    with pytest.raises(ArgumentError, match=r"discrete variables \['count'\]"):
        bridge.compile_logp_dlogp(model)


def test_a_start_without_density_names_the_terms():
    with pm.Model() as model:
        pm.Normal("x")
        pm.Uniform("outside", 0, 1, observed=[0.5, 2.0])
    density = bridge.compile_logp_dlogp(model)
    with pytest.raises(ArgumentError, match=r"-inf at the initial point .* \['outside'\]"):
        density.check_start()
    with pm.Model() as model:
        pm.Potential("odd", pm.math.log(pm.Normal("x", initval=-1.0)))
    with pytest.raises(ArgumentError, match=r"nan at the initial point .* \['odd'\]"):
        bridge.compile_logp_dlogp(model).check_start()


def test_a_start_without_gradient_names_the_variables():
    with pm.Model() as model:
        pm.Normal("fine")
        x = pm.Normal("x", shape=2, initval=[1.0, 0.0])
        pm.Potential("root", -pm.math.sqrt(pm.math.abs(x)).sum())
        pm.Potential("cusp", (x**2) ** 0.25 @ [1.0, 1.0])
    density = bridge.compile_logp_dlogp(model)
    with pytest.raises(ArgumentError, match=r"gradient with respect to \['x'\] is not"):
        density.check_start()


COUNT_CALLBACKS = """
import numpy as np
import pymc as pm
import {imported}
from benchmarks.pymc_models import MODELS
from phintys.bridge.pytensor import callbacks, from_pytensor

def directions(pm, rng):
    pm.VonMises("x", 0.3, 2.0)
    pm.Interpolated("y", np.linspace(0, 1, 5), np.array([0.1, 1, 2, 1, 0.1]))

for make in [*MODELS, directions]:
    with pm.Model() as model:
        make(pm, np.random.default_rng(1))
    print(make.__name__, dict(callbacks(from_pytensor(model.logp()))))
"""


@pytest.mark.parametrize("imported", ["phintys.bridge.pytensor", "phintys.bridge.pymc"])
def test_models_have_no_callbacks_whichever_bridge_is_imported(imported, python_command):
    program = COUNT_CALLBACKS.format(imported=imported)
    result = subprocess.run(
        python_command(program), capture_output=True, text=True, check=True, timeout=300, cwd=ROOT
    )
    lines = result.stdout.splitlines()
    assert len(lines) == 15
    assert [line for line in lines if not line.endswith(" {}")] == []


def test_missing_and_old_packages_are_named(monkeypatch):
    monkeypatch.setattr(requirement, "version", lambda package: "5.9.1")
    with pytest.raises(ImportError, match=r"needs PyMC 6.0 or newer, found 5.9.1.*pip install"):
        requirement.check("pymc")

    def missing(package):
        raise requirement.PackageNotFoundError(package)

    monkeypatch.setattr(requirement, "version", missing)
    with pytest.raises(ModuleNotFoundError, match=r"needs nutpie 0.16 or newer, none found"):
        requirement.check("nutpie")


@pytest.mark.parametrize("interface", ["native", "python"])
def test_nutpie_samples(interface, monkeypatch):
    nutpie = pytest.importorskip("nutpie", reason="nutpie is not installed")
    if interface == "python":

        def refuse(*_arguments):
            raise ArgumentError

        monkeypatch.setattr(sampling, "_Entry", refuse)
    compiled = bridge.nutpie_model(schools(), var_names=["tau", "theta"])
    trace = nutpie.sample(compiled, draws=300, tune=300, chains=2, seed=1, progress_bar=False)
    theta = trace.posterior["theta"]
    assert theta.dims == ("chain", "draw", "school")
    assert list(theta.coords["school"].values) == list("abcdefgh")
    assert set(trace.posterior.data_vars) == {"mu", "z", "tau", "theta"}
    # The posterior means of a long run, and several of this run's errors.
    assert abs(float(trace.posterior["mu"].mean()) - 4.4) < 1.0
    assert abs(float(trace.posterior["tau"].mean()) - 3.7) < 1.5


ADAPTER = """
#include <stddef.h>
#include "schools.h"
int log_density(size_t n, const double *x, double *gradient, double *value, void *data) {
  return n == 10 ? schools_typed(x, value, gradient, NULL, 0) : -1;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler of C")
def test_nutpie_calls_an_exported_log_density(tmp_path):
    nutpie = pytest.importorskip("nutpie", reason="nutpie is not installed")
    model = schools()
    bridge.compile_logp_dlogp(model).function.export(tmp_path, name="schools")
    (tmp_path / "adapter.c").write_text(ADAPTER)
    command = "cc -O1 -fPIC -shared -o adapter.so adapter.c schools.o -lm"
    subprocess.run(command.split(), cwd=tmp_path, check=True)
    address = ctypes.cast(
        ctypes.CDLL(str(tmp_path / "adapter.so")).log_density, ctypes.c_void_p
    ).value
    compiled = bridge.nutpie_model(model)
    exported = replace(compiled, compiled_logp_func=SimpleNamespace(address=address))
    options = {"draws": 50, "tune": 50, "chains": 2, "seed": 1, "progress_bar": False}
    inside, outside = (nutpie.sample(one, **options).posterior for one in (compiled, exported))
    for name in ("mu", "tau", "theta"):
        np.testing.assert_array_equal(outside[name], inside[name])


def test_pymcs_own_samplers_run_on_phintys():
    with pm.Model():
        rate = pm.Gamma("rate", 2.0, 1.0)
        switch = pm.Bernoulli("switch", 0.5)
        pm.Normal("y", rate + 3.0 * switch, 0.5, observed=[4.0, 4.2, 3.9])
        trace = pm.sample(
            draws=200,
            tune=200,
            chains=1,
            cores=1,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
            compile_kwargs={"mode": "PHINTYS"},
        )
    posterior = trace.posterior
    assert set(posterior.data_vars) == {"rate", "switch"}
    means = posterior["rate"].where(posterior["switch"] == 1).mean()
    assert abs(float(means) - 1.1) < 0.3


def test_our_functions_stand_in_models():
    times, observed = np.linspace(0.0, 2.0, 5), np.array([1.0, 0.7, 0.4, 0.2, 0.1])
    decay = to_pytensor(lambda rate: phintys.tensor.exp(-rate * times))
    models = []
    for curve in (decay, lambda rate: pm.math.exp(-rate * times)):
        with pm.Model() as model:
            pm.Normal("y", curve(pm.HalfNormal("rate")), 0.1, observed=observed)
        models.append(model)
    values = [bridge.compile_logp_dlogp(model)([0.3]) for model in models]
    values += [by_pymc(models[0])(np.array([0.3]))]
    for value, gradient in values[1:]:
        np.testing.assert_allclose(value, values[0][0], rtol=1e-12)
        np.testing.assert_allclose(gradient, values[0][1], rtol=1e-12)


def test_failed_checks_of_parameters_are_minus_infinity_with_the_mode():
    with pm.Model():
        scale = pm.Normal.dist()
        density = pm.logp(pm.Normal.dist(0.0, scale), 1.0)
        f = pm.pytensorf.compile([scale], density, mode="PHINTYS")
    assert np.isfinite(f(0.5))
    assert f(-0.5) == -np.inf


def test_pymcs_samplers_name_the_variable_that_is_not_finite_at_the_start():
    with pm.Model():
        center = pm.Normal("center")
        pm.Normal("y", center, 1.0, observed=[0.0, np.inf])
        with pytest.raises(SamplingError, match=r"(?s)starting point failed.*'y': .*-inf"):
            pm.sample(5, tune=5, chains=1, progressbar=False, compile_kwargs={"mode": "PHINTYS"})
