"""Numbers that formulas need by name, and the index that inserts a dimension."""

from __future__ import annotations

import numpy as np

from phintys._base.names import public_dir

__all__ = ["e", "euler_gamma", "inf", "nan", "newaxis", "pi"]

e: float = np.e
euler_gamma: float = np.euler_gamma
inf: float = np.inf
nan: float = np.nan
newaxis = None
pi: float = np.pi

__dir__ = public_dir(__name__)
