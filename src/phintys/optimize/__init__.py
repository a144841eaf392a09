"""Minimization of costs over trees of parameters, by SciPy's optimizers."""

from phintys.optimize.minimizing import Minimum, minimize

__all__ = ["Minimum", "minimize"]
