"""Minimization of costs over trees of parameters, by SciPy's optimizers."""

from phintys._base.public import public_dir
from phintys.optimize.minimizing import Minimizer, Minimum, minimize

__all__ = ["Minimizer", "Minimum", "minimize"]

__dir__ = public_dir(__name__)
