"""Where samplers of PyMC's models begin."""
# PyMC need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from pymc.initial_point import make_initial_point_expression, make_initial_point_fn
from pymc.logprob.utils import CheckParameterValue
from pymc.model.core import Model
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.type import RandomType

from phintys._base.caches import kept_property
from phintys.bridge.pytensor import from_pytensor
from phintys.compile import function

__all__ = ["InitialPoints"]


class InitialPoints:
    """Initial values of a model's unconstrained variables by name, as a function of a seed.

    They are PyMC's. Those that are not drawn are computed without PyTensor's compiler, which takes
    more time than all else that is done for them.

    Parameters
    ----------
    model
        The model.
    names
        The names of the unconstrained variables, in the order of ``model.free_RVs``.
    """

    def __init__(self, model: Model, names: list[str]) -> None:
        self._model = model
        self._names = names
        self._lock = threading.Lock()

    def __call__(self, seed: int | None) -> Mapping[str, Any]:
        return self._point(seed)

    @kept_property
    def _point(self) -> Callable[[int | None], Mapping[str, Any]]:
        model = self._model
        values = make_initial_point_expression(
            free_rvs=model.free_RVs,
            rvs_to_transforms=model.rvs_to_transforms,
            initval_strategies=model.rvs_to_initial_values,
            return_transformed=True,
        )
        if any(map(_needs_pymc, ancestors(values))):
            return self._by_pymc()
        f = function([], from_pytensor(values), mode="reference")
        return lambda seed: dict(zip(self._names, f(), strict=True))

    def _by_pymc(self) -> Callable[[int | None], Mapping[str, Any]]:
        draw = make_initial_point_fn(model=self._model, return_transformed=True)

        def drawn(seed: int | None) -> Mapping[str, Any]:
            with self._lock:  # PyTensor's functions cannot be called concurrently
                return draw(seed)

        return drawn


def _needs_pymc(variable: Any) -> bool:
    """Return whether a variable is a generator, whose seed PyMC sets, or a check that raises."""
    owner = variable.owner
    return isinstance(variable.type, RandomType) or (
        owner is not None and isinstance(owner.op, CheckParameterValue)
    )
