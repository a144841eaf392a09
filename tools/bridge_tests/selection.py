"""Which published tests are run with the mode ``"PHINTYS"``.

The source distributions of today have the test modules of their top folder only. One wheel of PyMC
has all of its tests: of distributions, log-densities, transforms and models. They are of an older
release, so each test also runs with PyTensor's own mode, and counts only if it passes there.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SOURCES", "Source"]


@dataclass(frozen=True)
class Source:
    """A distribution with tests.

    Attributes
    ----------
    package, version
        What pip downloads.
    file
        The name of the file.
    sha256
        Of the file.
    modules
        The test modules that are run, below ``tests``.
    """

    package: str
    version: str
    file: str
    sha256: str
    modules: tuple[str, ...]

    @property
    def label(self) -> str:
        """The package with its version."""
        return f"{self.package}-{self.version}"


SOURCES = (
    Source(
        "pymc",
        "6.4.0",
        "pymc-6.4.0.tar.gz",
        "319348878ec698b6cc406320456b2bc00d80bea9bfb72b6ab02b2ce6b179e3b5",
        (
            "test_data.py",
            "test_func_utils.py",
            "test_initial_point.py",
            "test_math.py",
            "test_model_graph.py",
            "test_printing.py",
            "test_pytensorf.py",
            "test_testing.py",
            "test_util.py",
        ),
    ),
    Source(
        "pymc",
        "5.1.0",
        "pymc-5.1.0-py3-none-any.whl",
        "408501a3e82f237755e1daa077a8b6999cf3ac419b8865c8ff498e3ce43a1c28",
        (
            "backends/test_arviz.py",
            "backends/test_base.py",
            "backends/test_ndarray.py",
            "distributions/test_bound.py",
            "distributions/test_censored.py",
            "distributions/test_continuous.py",
            "distributions/test_discrete.py",
            "distributions/test_dist_math.py",
            "distributions/test_distribution.py",
            "distributions/test_mixture.py",
            "distributions/test_multivariate.py",
            "distributions/test_shape_utils.py",
            "distributions/test_simulator.py",
            "distributions/test_timeseries.py",
            "distributions/test_transform.py",
            "distributions/test_truncated.py",
            "gp/test_cov.py",
            "gp/test_gp.py",
            "gp/test_mean.py",
            "gp/test_util.py",
            "logprob/test_abstract.py",
            "logprob/test_censoring.py",
            "logprob/test_composite_logprob.py",
            "logprob/test_cumsum.py",
            "logprob/test_joint_logprob.py",
            "logprob/test_mixture.py",
            "logprob/test_rewriting.py",
            "logprob/test_scan.py",
            "logprob/test_tensor.py",
            "logprob/test_transforms.py",
            "logprob/test_utils.py",
            "ode/test_ode.py",
            "ode/test_utils.py",
            "sampling/test_forward.py",
            "sampling/test_mcmc.py",
            "sampling/test_parallel.py",
            "sampling/test_population.py",
            "smc/test_smc.py",
            "stats/test_convergence.py",
            "stats/test_log_likelihood.py",
            "step_methods/hmc/test_hmc.py",
            "step_methods/hmc/test_nuts.py",
            "step_methods/hmc/test_quadpotential.py",
            "step_methods/test_compound.py",
            "step_methods/test_metropolis.py",
            "step_methods/test_slicer.py",
            "tuning/test_scaling.py",
            "tuning/test_starting.py",
            "variational/test_approximations.py",
            "variational/test_callbacks.py",
            "variational/test_inference.py",
            "variational/test_minibatch_rv.py",
            "variational/test_opvi.py",
            "variational/test_updates.py",
            "test_model.py",
        ),
    ),
    Source(
        "pytensor",
        "3.3.7",
        "pytensor-3.3.7.tar.gz",
        "983369b961a286288610daf59b9a1c05066dd2fdff43fdd5e0db5abdae3aa3ad",
        (
            "test_breakpoint.py",
            "test_gradient.py",
            "test_raise_op.py",
            "test_rop.py",
        ),
    ),
)
