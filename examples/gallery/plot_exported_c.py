"""
A function for C
================

``f.export`` writes machine code with a header of C; nothing of Python is left in it. Here the map
of a pendulum that is kicked (B. Chirikov, 1979) becomes a shared library, and its C
function is called through :mod:`ctypes`. It computes the same bits as in Python.
"""

import ctypes
import tempfile

import matplotlib.pyplot as plt
import numpy as np

import phintys
import phintys.tensor as pt
from phintys.control import loop

KICKS, STARTS = 400, 60


def kick(carry, _):
    angle, speed = carry
    speed = speed + strength * pt.sin(angle)
    angle = (angle + speed) % (2 * np.pi)
    return (angle, speed), (angle, speed)


angle, speed = (pt.tensor(name, shape=(STARTS,)) for name in ("angle", "speed"))
strength = pt.dscalar("strength")
_, (angles, speeds) = loop(kick, (angle, speed), length=KICKS)
pendulum = phintys.function([angle, speed, strength], [angles, speeds], name="pendulum")

folder = tempfile.mkdtemp()
files = {file.name: file for file in pendulum.export(folder, kind="shared")}
header = files["pendulum.h"].read_text(encoding="utf-8")
print(header[header.index("static inline int32_t pendulum_typed") :].partition("{")[0])

# %%
# All arrays belong to the caller; lengths that are not known would be in ``dims``.

library = ctypes.CDLL(str(next(file for name, file in files.items() if name.startswith("lib"))))
arguments = [np.linspace(0, 2 * np.pi, STARTS), np.linspace(-3, 3, STARTS), np.array(0.9)]
results = [np.empty((KICKS, STARTS)), np.empty((KICKS, STARTS))]


def pointers(arrays):
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


code = library.pendulum(pointers(arguments), None, pointers(results), *[None] * 6)
plt.plot(results[0], (results[1] + np.pi) % (2 * np.pi) - np.pi, ",")
plt.xlabel("angle")
plt.ylabel("speed")
plt.show()

assert code == 0
assert all(map(np.array_equal, results, pendulum(*arguments)))
