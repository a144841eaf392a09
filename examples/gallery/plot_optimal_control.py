"""
Landing on the moon
===================

How should a lander burn its fuel? Heights, velocities and thrusts at forty times are unknowns, the
laws of motion are constraints, and the thrust is bounded. Derivatives of all of them are compiled,
and SciPy's SLSQP finds the plan.
"""

import matplotlib.pyplot as plt
import numpy as np

import phintys.tensor as pt
from phintys.optimize import minimize

STEPS, SECONDS, GRAVITY, STRONGEST = 40, 20.0, 1.62, 4.0
dt = SECONDS / STEPS

plan = {
    "height": pt.tensor("height", shape=(STEPS + 1,)),
    "speed": pt.tensor("speed", shape=(STEPS + 1,)),
    "thrust": pt.tensor("thrust", shape=(STEPS,)),
}
height, speed, thrust = plan.values()

# %%
# The equations of motion, both ends, and the bounds.

falls = speed[1:] - speed[:-1] - dt * (thrust - GRAVITY)
moves = height[1:] - height[:-1] - dt * (speed[1:] + speed[:-1]) / 2
ends = pt.stack([height[0] - 200.0, speed[0] + 10.0, height[-1], speed[-1]])
fit = minimize(
    dt * (thrust**2).sum(),
    plan,
    start={
        "height": np.linspace(200.0, 0.0, STEPS + 1),
        "speed": np.full(STEPS + 1, -10.0),
        "thrust": np.full(STEPS, GRAVITY),
    },
    constraints=[
        {"type": "eq", "fun": pt.concatenate([falls, moves, ends])},
        {"type": "ineq", "fun": pt.concatenate([thrust, STRONGEST - thrust])},
    ],
    method="SLSQP",
)

time = np.linspace(0.0, SECONDS, STEPS + 1)
fig, (above, below) = plt.subplots(2, 1, sharex=True)
above.plot(time, fit.params["height"])
above.set_ylabel("height (m)")
below.step(time[:-1], fit.params["thrust"], where="post")
below.set_ylabel("thrust (m/s²)")
below.set_xlabel("time (s)")
plt.show()

assert fit.success
assert abs(fit.params["speed"][-1]) < 1e-6
