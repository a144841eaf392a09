"""A log-density with its gradient as a C function, as samplers call it: see log_density.c.

The model is that of schools, with a treatment of an unknown mean and spread (Rubin, "Estimation in
Parallel Randomized Experiments", 1981).
"""

import numpy as np

import phintys
import phintys.tensor as pt

effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

position = pt.tensor("position", dtype="float64", shape=(10,))
mean, log_spread, offsets = position[0], position[1], position[2:]
spread = pt.exp(log_spread)
prior = -0.5 * (mean / 5) ** 2 - pt.log1p((spread / 5) ** 2) + log_spread
prior -= 0.5 * pt.sqr(offsets).sum()
likelihood = -0.5 * pt.sqr((effects - mean - spread * offsets) / errors).sum()
density = prior + likelihood
log_density = phintys.function(
    [position], [density, phintys.grad(density, position)], name="log_density"
)

if __name__ == "__main__":
    point, speed, step = np.full(10, 0.5), np.linspace(-1, 1, 10), 0.1
    value, gradient = log_density(point)
    for number in range(50):
        speed = speed + step / 2 * gradient
        point = point + step * speed
        value, gradient = log_density(point)
        speed = speed + step / 2 * gradient
        if number % 10 == 9:
            energy = np.sum(speed * speed) / 2 - value
            print(f"{value:.6f} {energy:.6f}")
