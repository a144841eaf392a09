"""``compile_logp_dlogp``: a model's log-density and gradient, without PyTensor's compiler."""
# PyMC need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from pymc.model.core import Model, modelcontext
from pytensor.configdefaults import config as pytensor_config

import phintys.tensor as pt
from phintys._base.caches import kept_property
from phintys._base.errors import ArgumentError
from phintys._base.garbage_collection import collector_paused
from phintys.bridge.pymc import checks
from phintys.bridge.pymc.initial_points import InitialPoints
from phintys.bridge.pytensor import from_pytensor
from phintys.compile import Function, function
from phintys.gradient import grad

__all__ = ["LogDensity", "compile_logp_dlogp"]

Vector = np.ndarray[Any, np.dtype[np.float64]]


def compile_logp_dlogp(model: Model | None = None, *, mode: Any = None) -> LogDensity:
    """Return a model's log-density with its gradient, as a function of one vector.

    The graph of the log-density is PyMC's; the gradient and all rewriting are ours.

    Parameters
    ----------
    model
        A model of PyMC with continuous free variables; that of the ``with`` block if not given.
    mode
        As for :func:`phintys.function`.

    Returns
    -------
    LogDensity
        Call it with a vector of the unconstrained values.

    Raises
    ------
    ArgumentError
        The model has no free variables, or discrete ones.

    Examples
    --------
    >>> import pymc as pm
    >>> from phintys.bridge.pymc import compile_logp_dlogp
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x", shape=2)
    >>> density = compile_logp_dlogp(model)
    >>> density(density.initial_point())
    (array(-1.83787707), array([0., 0.]))
    """
    return LogDensity(_checked(model), mode)


def _checked(model: Any) -> Model:
    model = modelcontext(model)
    if not model.free_RVs:
        msg = (
            "The model has no free variables, so there is nothing to sample. Variables that are "
            "observed are not free, nor are deterministic ones."
        )
        raise ArgumentError(msg)
    discrete = [
        variable.name
        for variable in map(model.rvs_to_values.get, model.free_RVs)
        if variable.dtype not in {"float64", "float32"}
    ]
    if discrete:
        msg = (
            f"The log-density has no gradient with respect to the discrete variables {discrete}. "
            "Sum them out of the model, or sample it with pm.sample, which combines samplers."
        )
        raise ArgumentError(msg)
    return model


class LogDensity:
    """The log-density of a model of PyMC; created by :func:`compile_logp_dlogp`.

    A call returns the log-density at a vector of unconstrained values, and its gradient. Where a
    check of PyMC's fails, the log-density is minus infinity, and the gradient has no meaning.

    Attributes
    ----------
    model : pymc.Model
        The model.
    names : list of str
        Names of the unconstrained variables, in the order in which the vector has them.
    shapes : list of tuple
        Their shapes.
    size : int
        Length of the vector.
    function : Function
        What is called: compiled, with ``explain()`` and ``address()``.
    """

    def __init__(self, model: Model, mode: Any = None) -> None:
        self.model = model
        self._mode = mode
        self._variables = [model.rvs_to_values[one] for one in model.free_RVs]
        self.names = [one.name for one in self._variables]
        self._start_at = InitialPoints(model, self.names)
        self.shapes = self._find_shapes()
        self.size = sum(map(math.prod, self.shapes))
        self.vector = pt.tensor("unconstrained", shape=(self.size,), dtype="float64")
        self.parts = self._split()
        # One pass of the collector over what PyMC and PyTensor have imported takes 0.1 s.
        with collector_paused():
            self.function: Function = function([self.vector], self._value_and_gradient(), mode=mode)

    def _value_and_gradient(self) -> list[Any]:
        """Return the log-density and its gradient as variables of :attr:`vector`."""
        with pytensor_config.change_flags(traceback__limit=1):  # the one line that is used
            log_density = self.model.logp()
        total, holds = checks.converted(log_density, dict(self.parts))
        # At the parts, rather than at the vector: the gradients are joined, not added to zeros.
        gradients = grad(total, list(self.parts.values()))
        gradient = pt.concatenate([pt.cast(one, "float64").ravel() for one in gradients])
        value = pt.switch(holds, total, -np.inf) if self.model.check_bounds else total
        return [pt.cast(value, "float64"), gradient]

    def _find_shapes(self) -> list[tuple[int, ...]]:
        """Return the shapes of the variables: the static ones, or those of initial values."""
        static = [one.type.shape for one in self._variables]
        if all(None not in shape for shape in static):
            return static
        start = self._start_at(None)
        return [np.shape(start[name]) for name in self.names]

    def _split(self) -> dict[Any, Any]:
        """Return the part of the vector that is the value of each of PyTensor's variables."""
        parts: dict[Any, Any] = {}
        begin = 0
        for variable, shape in zip(self._variables, self.shapes, strict=True):
            end = begin + math.prod(shape)
            part = self.vector[begin:end].reshape(shape)
            parts[variable] = pt.cast(part, variable.dtype)
            begin = end
        return parts

    def __call__(self, x: Any) -> tuple[Any, Vector]:
        """Return the log-density and its gradient.

        Parameters
        ----------
        x
            A vector of unconstrained values.
        """
        value, gradient = self.function(x)
        return value, gradient

    def __repr__(self) -> str:
        variables = ", ".join(
            f"{name}{list(shape)}" if shape else name
            for name, shape in zip(self.names, self.shapes, strict=True)
        )
        return f"<LogDensity of {variables}>"

    # ---- vectors and points

    def ravel(self, point: Mapping[str, Any]) -> Vector:
        """Return the vector with the values of a point, a dict by the names of variables."""
        missing = [name for name in self.names if name not in point]
        if missing:
            msg = f"The point has no values for {missing}; it has {sorted(point)}."
            raise ArgumentError(msg)
        return np.concatenate([np.ravel(np.asarray(point[n], np.float64)) for n in self.names])

    def unravel(self, x: Any) -> dict[str, np.ndarray[Any, Any]]:
        """Return the unconstrained values in a vector, by name."""
        x = np.asarray(x, np.float64)
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])
        parts = np.split(x, ends[:-1])
        pairs = zip(self.names, parts, self.shapes, strict=True)
        return {name: part.reshape(shape) for name, part, shape in pairs}

    def initial_point(self, seed: int | None = None, *, jitter: float = 0.0) -> Vector:
        """Return where samplers begin.

        Parameters
        ----------
        seed
            Seed of initial values that are drawn at random, and of the jitter.
        jitter
            Radius of the uniform numbers that are added.
        """
        start = self._start if seed is None else self.ravel(self._start_at(seed))
        rng = np.random.default_rng(seed)
        return start + rng.uniform(-jitter, jitter, self.size)

    @kept_property
    def _start(self) -> Vector:
        return self.ravel(self._start_at(None))

    # ---- constrained values

    def expand(self, x: Any) -> dict[str, np.ndarray[Any, Any]]:
        """Return all values of the model: unconstrained, constrained and deterministic.

        Parameters
        ----------
        x
            A vector of unconstrained values.
        """
        return dict(zip(self.expanded_names, self._expanding(x), strict=True))

    @kept_property
    def _expanded(self) -> list[Any]:
        return self.model.unobserved_value_vars

    @kept_property
    def expanded_names(self) -> list[str]:
        """The names of the values that :meth:`expand` returns."""
        return [one.name for one in self._expanded]

    def expanded(self) -> list[Any]:
        """Return the values that :meth:`expand` computes, as variables of :attr:`vector`."""
        return from_pytensor(self._expanded, dict(self.parts))

    @kept_property
    def _expanding(self) -> Function:
        return function([self.vector], self.expanded(), mode=self._mode)

    # ---- checks

    def check_start(self) -> None:
        """Check that the log-density and its gradient are numbers where samplers begin.

        Raises
        ------
        ArgumentError
            The log-density is not; the message names the variables whose terms are not finite. Or
            its gradient is not; the message names the variables with respect to which.
        """
        value, gradient = self(self._start)
        if np.isfinite(value):
            self._check_gradient(gradient)
            return
        model = self.model
        variables = [*model.free_RVs, *model.observed_RVs, *model.potentials]
        terms = from_pytensor(model.logp(sum=False), dict(self.parts))
        compute = function([self.vector], terms, mode="reference")
        found = zip(variables, compute(self._start), strict=True)
        bad = [one.name for one, term in found if not np.isfinite(term).all()]
        msg = (
            f"The log-density is {value} at the initial point {self.unravel(self._start)}. Its "
            f"terms for {bad} are not finite. Check their observed values and parameters, or give "
            "initval= for other initial values."
        )
        raise ArgumentError(msg)

    def _check_gradient(self, gradient: Vector) -> None:
        bad = [name for name, part in self.unravel(gradient).items() if not np.isfinite(part).all()]
        if not bad:
            return
        msg = (
            f"The log-density is finite at the initial point {self.unravel(self._start)}, but its "
            f"gradient with respect to {bad} is not. Look for functions without a derivative "
            "there, such as sqrt at 0, or give initval= for other initial values."
        )
        raise ArgumentError(msg)
