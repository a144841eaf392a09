"""Minimization of costs over trees of parameters, by SciPy's optimizers."""

from phintys.optimize.minimizing import Minimizer, Minimum, minimize

__all__ = ["Minimizer", "Minimum", "minimize"]
