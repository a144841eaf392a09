"""Minimization of costs and sums of squares over trees of parameters, by SciPy's optimizers."""

from phintys._base.names import public_dir
from phintys.optimize.fitting import Fit, least_squares
from phintys.optimize.minimizing import Minimizer, Minimum, minimize

__all__ = ["Fit", "Minimizer", "Minimum", "least_squares", "minimize"]

__dir__ = public_dir(__name__)
