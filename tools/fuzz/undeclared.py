"""Ops that hand back memory that their maps do not name, as careless users write them.

DebugMode refuses them. Elsewhere their results are what the maps say: memory of their own.
"""

from __future__ import annotations

import numpy as np

from tools.fuzz.memory_ops import MemoryOp

__all__ = ["given_twice", "larger", "made_twice", "returned", "returned_and_new", "turned"]

returned = MemoryOp("returned", lambda x: [x])
turned = MemoryOp("turned", lambda x: [np.flip(x)])
larger = MemoryOp("larger_undeclared", lambda x, y: [max(x, y, key=np.sum)])
given_twice = MemoryOp("given_twice", lambda x: [x, x[::-1]], 2)
made_twice = MemoryOp("made_twice", lambda x: [y := x + 1, y], 2)
returned_and_new = MemoryOp("returned_and_new", lambda x, y: [x + y, y], 2, views={1: [0]})
