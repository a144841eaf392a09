"""Utilities built on the other rooms: optimisers, learning rates, and files of parameters.

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

from phintys._base.names import public_dir
from phintys.contrib.optimisers import (
    Updates,
    adagrad,
    adam,
    adamw,
    averaged,
    clip_by_norm,
    momentum,
    sgd,
)
from phintys.contrib.saving import load, save
from phintys.contrib.schedules import cosine_decay, exponential_decay, piecewise, warmup

__all__ = [
    "Updates",
    "adagrad",
    "adam",
    "adamw",
    "averaged",
    "clip_by_norm",
    "cosine_decay",
    "exponential_decay",
    "load",
    "momentum",
    "piecewise",
    "save",
    "sgd",
    "warmup",
]

__dir__ = public_dir(__name__)
