"""A filter with a state, exported to C: see exported.c and exported.rs."""

import numpy as np

import phintys
import phintys.tensor as pt

samples = pt.tensor("samples", dtype="float64", shape=(3,))
level = phintys.shared(np.zeros(3), name="level")
new_level = 0.5 * level + 0.5 * samples
loss = pt.sqr(samples - new_level).sum()
smoother = phintys.function(
    [samples], [new_level, loss], updates={level: new_level}, name="smoother"
)

if __name__ == "__main__":
    for _ in range(3):
        values, error = smoother([1.0, 2.0, 4.0])
        print(", ".join([" ".join(f"{one:.6f}" for one in values), f"{error:.6f}"]))
