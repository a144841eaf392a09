"""``nutpie_model``: a model of PyMC for nutpie's samplers."""
# PyMC and nutpie need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys._base.garbage_collection import collector_paused
from phintys._base.records import record
from phintys.bridge import requirement
from phintys.bridge.pymc.log_density import LogDensity, compile_logp_dlogp
from phintys.compile import Function, function


def nutpie_model(
    model: Any = None, *, var_names: Sequence[str] | None = None, jitter: float = 1.0
) -> Any:
    """Return a model of PyMC for ``nutpie.sample``, compiled by Phintys.

    Chains run on threads of their own, without Python's lock. Only the values of models that need
    Python code, in Ops without native code, are computed with it.

    Parameters
    ----------
    model
        A model of PyMC; that of the ``with`` block if not given.
    var_names
        Constrained and deterministic variables to keep; all if not given.
    jitter
        Radius of the uniform numbers that are added to initial values.

    Raises
    ------
    ArgumentError
        The model has no free variables or discrete ones, or its log-density or the gradient is not
        finite at the initial point.
    ImportError
        nutpie is not installed, or too old.

    Notes
    -----
    Values of ``pm.Data`` are those of now: after ``pm.set_data``, call this again.

    Examples
    --------
    >>> import pymc as pm
    >>> from phintys.bridge.pymc import nutpie_model
    >>> with pm.Model(coords={"axis": ["a", "b"]}) as model:
    ...     x = pm.Normal("x", dims="axis")
    >>> compiled = nutpie_model(model)
    >>> compiled.n_dim, compiled.shapes
    (2, {'x': (2,)})
    """
    requirement.check("nutpie")
    with collector_paused():
        density = compile_logp_dlogp(model)
        density.check_start()
        outputs = _Outputs(density, var_names)

    def initial_point(seed: Any = None) -> Any:
        return density.initial_point(seed, jitter=jitter)

    try:
        entries = _Entry(density.function, "value_and_gradient"), _Entry(outputs.function, "vector")
    except ArgumentError:
        return _python_model(outputs, initial_point)
    return _native_model(outputs, initial_point, *entries)


@record(frozen=True, eq=False)
class _Entry:
    """A function that is called by its address, and kept alive.

    Attributes
    ----------
    function
        The function.
    address
        The address of its C function.
    """

    function: Function
    address: int

    def __init__(self, function: Function, signature: str) -> None:
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "address", function.address(signature))


def _native_model(
    outputs: _Outputs, initial_point: Callable[[Any], Any], density: _Entry, expansion: _Entry
) -> Any:
    """Return a model that nutpie calls by the addresses of C functions."""
    from nutpie.compile_pymc import CompiledPyMCModel

    ends = np.cumsum([0, *map(math.prod, outputs.shapes)]).tolist()
    slices = [slice(*bounds) for bounds in itertools.pairwise(ends)]
    return CompiledPyMCModel(
        dims=outputs.dims,
        reparameterized_names=outputs.transformed,
        compiled_logp_func=density,
        compiled_expand_func=expansion,
        initial_point_func=initial_point,
        shared_data={},
        shared_var_keys={},
        user_data=np.zeros(1),
        n_expanded=outputs.size,
        shape_info=(outputs.names, slices, outputs.shapes),
        logp_func=density.function,
        expand_func=expansion.function,
        _n_dim=outputs.density.size,
        _shapes=dict(zip(outputs.names, outputs.shapes, strict=True)),
        _coords=outputs.coords,
    )


def _python_model(outputs: _Outputs, initial_point: Callable[[Any], Any]) -> Any:
    """Return a model that nutpie calls through Python."""
    from nutpie.compiled_pyfunc import from_pyfunc

    def log_density(x: Any) -> tuple[float, Any]:
        value, gradient = outputs.density(x)
        return float(value), gradient

    return from_pyfunc(
        ndim=outputs.density.size,
        make_logp_fn=lambda: log_density,
        make_expand_fn=lambda *_seeds: outputs.expand,
        make_initial_point_fn=initial_point,
        expanded_dtypes=[np.dtype("float64")] * len(outputs.names),
        expanded_shapes=outputs.shapes,
        expanded_names=outputs.names,
        dims=outputs.dims,
        coords=outputs.coords,
        reparameterized_names=outputs.transformed,
    )


class _Outputs:
    """What a draw is expanded to: unconstrained values first, then the others.

    Parameters
    ----------
    density
        The log-density.
    var_names
        The others to keep.
    """

    def __init__(self, density: LogDensity, var_names: Sequence[str] | None) -> None:
        self.density = density
        model = density.model
        free = set(density.names)
        kept = [
            (name, variable)
            for name, variable in zip(density.expanded_names, density.expanded(), strict=True)
            if name not in free and (var_names is None or name in var_names)
        ]
        others = [variable for _, variable in kept]
        start = density.initial_point()
        measure = function([density.vector], [pt.shape(one) for one in others], mode="reference")
        shapes = [tuple(map(int, shape)) for shape in measure(start)] if others else []
        self.names = [*density.names, *(name for name, _ in kept)]
        self.shapes = [*density.shapes, *shapes]
        self.size = sum(map(math.prod, self.shapes))
        joined = pt.concatenate(
            [density.vector, *(pt.cast(one, "float64").ravel() for one in others)]
        )
        self.function: Function = function([density.vector], joined)
        self.dims = dict(model.named_vars_to_dims)
        self.coords = _coordinates(model, density.names, density.shapes)
        transforms = {
            model.rvs_to_values[rv].name: rv.name
            for rv in model.free_RVs
            if model.rvs_to_transforms.get(rv) is not None
        }
        self.transformed = list(transforms)
        shape_of = dict(zip(self.names, self.shapes, strict=True))
        for name, constrained in transforms.items():
            if constrained in self.dims and shape_of.get(constrained) == shape_of[name]:
                self.dims[name] = self.dims[constrained]

    def expand(self, x: Any) -> dict[str, Any]:
        """Return the values of a draw by name."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes])
        parts = np.split(self.function(x), ends[:-1])
        named = zip(self.names, parts, self.shapes, strict=True)
        return {name: part.reshape(shape) for name, part, shape in named}


def _coordinates(model: Any, names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> Any:
    """Return the coordinates of each dimension, as nutpie's own models have them.

    Parameters
    ----------
    model
        The model.
    names, shapes
        Those of its unconstrained variables.
    """
    from pandas import Index, RangeIndex  # nutpie needs it

    lengths = model.dim_lengths
    found = {
        name: RangeIndex(int(lengths[name].eval())) if values is None else Index(values)
        for name, values in model.coords.items()
    }
    elements = [
        f"{name}_{'.'.join(map(str, index))}" if index else name
        for name, shape in zip(names, shapes, strict=True)
        for index in np.ndindex(*shape)
    ]
    return found | {"unconstrained_parameter": Index(elements)}
