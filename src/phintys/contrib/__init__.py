"""Utilities built on the other rooms: optimisers.

Examples
--------
>>> import phintys
>>> from phintys.contrib import adam
>>> w = phintys.shared([1.0, -2.0], name="w")
>>> cost = (w**2).sum()
>>> step = phintys.function([], cost, updates=adam(cost, [w], learning_rate=0.1))
>>> costs = [float(step()) for _ in range(50)]
>>> costs[0], costs[-1] < 0.1
(5.0, True)
"""

from phintys._base.public import public_dir
from phintys.contrib.optimisers import Updates, adagrad, adam, momentum, sgd

__all__ = ["Updates", "adagrad", "adam", "momentum", "sgd"]

__dir__ = public_dir(__name__)
