"""Stand-ins for what tests of another release import, so that the tests beside them can run."""

# PyMC and PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pymc
import pytensor
from pymc import initial_point, logprob, pytensorf
from pymc.distributions import discrete, transforms
from pymc.logprob import abstract, basic, transform_value, utils
from pytensor.tensor import subtensor

from tools.published_tests.stand_ins import StandIn, start_running

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Gaps", "give_old_names"]

_REASON = "the installed release has no such name"


class Gaps(MetaPathFinder, Loader):
    """Fills gaps while tests are collected; what fills them raises when it is used later."""

    def __init__(self, *packages: str) -> None:
        self._packages = packages
        self._before: dict[str, Any] = {}

    def open(self) -> None:
        """Answer for names and modules that are missing."""
        sys.meta_path.append(self)
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] in self._packages:
                self._before[name] = vars(module).get("__getattr__")
                setattr(module, "__getattr__", _answering(module))  # noqa: B010 - of a module

    def close(self) -> None:
        """Leave the packages as they were; stand-ins raise from here on."""
        sys.meta_path.remove(self)
        for name, before in self._before.items():
            module = sys.modules[name]
            if before is None:
                del vars(module)["__getattr__"]
            else:
                setattr(module, "__getattr__", before)  # noqa: B010 - of a module
        start_running()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the modules that nothing else has."""
        package = fullname.partition(".")[0]
        if package == fullname or package not in (*self._packages, "tests"):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return a module of which every name is a stand-in."""
        module = ModuleType(spec.name)
        setattr(module, "__getattr__", _answering(module))  # noqa: B010 - of a module
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing."""


def _answering(module: ModuleType) -> Any:
    """Return the ``__getattr__`` of a module with stand-ins for missing names."""
    own = vars(module).get("__getattr__")

    def answer(name: str) -> Any:
        if own is not None:
            try:
                return own(name)
            except AttributeError:
                pass
        if name.startswith("__") or f"{module.__name__}.{name}" in sys.modules:
            raise AttributeError(name)
        return StandIn(f"{module.__name__}.{name}", _REASON)

    return answer


def give_old_names() -> None:
    """Give what was renamed its old name, and ignore options that are gone."""
    sys.modules["pymc.logprob.joint_logprob"] = basic
    logprob.factorized_joint_logprob = basic.factorized_joint_logprob = basic.conditional_logp
    basic.joint_logp = basic.transformed_conditional_logp
    abstract.logprob, abstract.logcdf, abstract.icdf = basic.logp, basic.logcdf, basic.icdf
    abstract.MeasurableVariable = abstract.MeasurableOp
    for number in ("univariate", "multivariate"):
        setattr(transforms, f"{number}_ordered", transforms.ordered)
        setattr(transforms, f"{number}_sum_to_1", transforms.SumTo1())
    for name in ("TransformValuesMapping", "TransformValuesRewrite"):
        setattr(logprob.transforms, name, getattr(transform_value, name))
    for name in ("OrderedLogistic", "OrderedProbit"):
        setattr(discrete, f"_{name}", getattr(discrete, name))
    discrete.DiracDelta = pymc.DiracDelta
    for name in ("make_initial_point_expression", "make_initial_point_fn"):
        setattr(initial_point, name, _with_moments(getattr(initial_point, name)))
    pymc.MutableData = pymc.Data
    pytensorf.compile_pymc = pytensorf.compile
    pytensorf.floatX_array = lambda x: pytensorf.floatX(np.array(x))
    pytensorf.local_check_parameter_to_ninf_switch = utils.local_check_parameter_to_ninf_switch
    for name in ("AdvancedSubtensor", "AdvancedIncSubtensor"):
        setattr(subtensor, f"{name}1", getattr(subtensor, name))
    change_flags = pytensor.config.change_flags

    def known_flags(given: Any = (), /, **options: Any) -> Any:
        options = {**dict(given), **options}
        return change_flags(**{k: v for k, v in options.items() if hasattr(pytensor.config, k)})

    pytensor.config.change_flags = known_flags


def _with_moments(make: Any) -> Any:
    """Return a function of initial points that also knows the strategy by its old name."""

    def renamed(strategy: Any) -> Any:
        is_old = isinstance(strategy, str) and strategy == "moment"
        return "support_point" if is_old else strategy

    def made(**options: Any) -> Any:
        if "default_strategy" in options:
            options["default_strategy"] = renamed(options["default_strategy"])
        if "initval_strategies" in options:
            given = options["initval_strategies"]
            options["initval_strategies"] = {k: renamed(v) for k, v in given.items()}
        return make(**options)

    return made
