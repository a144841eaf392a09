"""
A Kalman filter
===============

A ball is thrown, and seen through fog: positions with noise of unknown size. The filter (R. Kalman,
1960) tracks position and speed with what is known of them; it is a loop, whose likelihood is
maximized over the two noises and the fall by its gradient.
"""

import matplotlib.pyplot as plt
import numpy as np

import phintys
import phintys.tensor as pt
from phintys.control import loop

source = np.random.default_rng(1)
times = np.arange(120) / 30  # s
true = 20 * times - 9.81 * times**2 / 2
seen = true + source.normal(0, 1.5, size=times.size)
step = times[1]

noise, wobble, fall = (pt.dscalar(name) for name in ("noise", "wobble", "fall"))  # logarithms
move = np.array([[1.0, step], [0.0, 1.0]])
drift = pt.exp(2 * wobble) * step * np.array([[step**2 / 3, step / 2], [step / 2, 1.0]])
pull = -pt.exp(fall) * np.array([step**2 / 2, step])


def update(carry, position):
    mean, spread = carry
    surprise, variance = position - mean[0], spread[0, 0] + pt.exp(2 * noise)
    gain = spread[:, 0] / variance
    mean, spread = mean + gain * surprise, spread - pt.outer(gain, spread[0])
    fit = -0.5 * (surprise**2 / variance + pt.log(2 * np.pi * variance))
    following = move @ mean + pull, move @ spread @ move.T + drift
    return following, (fit, mean[0], pt.sqrt(spread[0, 0]))


positions = pt.dvector("positions")
begin = np.array([0.0, 10.0]), 100 * np.eye(2)
_, (fits, means, deviations) = loop(update, begin, positions)
params = [noise, wobble, fall]
best = phintys.optimize.minimize(-fits.sum(), params, [0.0, 0.0, 0.0], {positions: seen})
found_noise, found_wobble, found_fall = np.exp(best.params)
print(f"noise {found_noise:.2f} m, gravity {found_fall:.2f} m/s², wobble {found_wobble:.1e}")

track = phintys.function([positions, *params], [means, deviations])
mean, deviation = track(seen, *best.params)
plt.plot(times, seen, ".", color="grey", markersize=4, label="seen")
plt.plot(times, true, "k--", label="true")
plt.plot(times, mean, label="filtered")
plt.fill_between(times, mean - 2 * deviation, mean + 2 * deviation, alpha=0.3)
plt.ylim(-5, 25)
plt.legend()
plt.show()

assert abs(found_noise - 1.5) < 0.3
assert np.abs(mean - true)[20:].mean() < 0.4 * np.abs(seen - true)[20:].mean()
