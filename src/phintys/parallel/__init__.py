"""Independent work on many cores and machines: chains, cross-validation, sweeps of parameters.

Examples
--------
>>> import phintys
>>> import phintys.tensor as pt
>>> from phintys import parallel
>>> x = pt.dvector("x")
>>> f = phintys.function([x], (x**2).sum())
>>> [float(value) for value in parallel.map(f, [[1.0], [1.0, 2.0], [3.0]])]
[1.0, 5.0, 9.0]
"""

from phintys._base.errors import TaskError
from phintys._base.names import public_dir
from phintys.parallel.mapping import map

__all__ = ["TaskError", "map"]

__dir__ = public_dir(__name__)
