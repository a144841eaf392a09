"""
Training on many devices
========================

A mesh names the axes of a grid of devices, and a sharding says how arrays are divided along them:
rows of the data over one axis, columns of the weights over the other. The graph stays the same, and
so do the losses. Here one processor plays four devices (``XLA_FLAGS``, before JAX starts).
"""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import matplotlib.pyplot as plt
import numpy as np

import phintys
import phintys.tensor as pt
from phintys.contrib import adam

source = np.random.default_rng(0)
points = source.uniform(-2, 2, size=(256, 2))
values = np.sin(2 * points[:, 0]) * np.cos(points[:, 1])
first, second = source.normal(size=(2, 64)), source.normal(size=64) / 8


def trained(mesh, mode):
    def divided(*axes):
        return None if mesh is None else mesh(*axes)

    x, y = pt.dmatrix("x"), pt.dvector("y")
    w = phintys.shared(first, name="w", sharding=divided(None, "model"))
    v = phintys.shared(second, name="v", sharding=divided("model"))
    loss = ((pt.tanh(x @ w) @ v - y) ** 2).mean()
    updates = adam(phintys.grad(loss, [w, v]), [w, v], 0.02)
    inputs = [phintys.In(one, sharding=divided("data")) for one in (x, y)]
    step = phintys.function(inputs, loss, updates=updates, mode=mode)
    losses = [float(step(points, values)) for _ in range(200)]
    return losses, w.get_value(borrow=True, return_internal_type=True)


here, _ = trained(None, "native")
there, w = trained(phintys.jax.mesh(data=2, model=2), phintys.jax.mode(results="device"))
parts = [(shard.device.id, shard.index[1]) for shard in w.addressable_shards]
for device, columns in parts:
    print(f"device {device} has the columns {columns.start} to {columns.stop}")

plt.semilogy(there, linewidth=4, alpha=0.4, label="four devices")
plt.semilogy(here, "--", label="one processor, native code")
plt.xlabel("step")
plt.ylabel("loss")
plt.legend()
plt.show()

assert len({device for device, _ in parts}) == len(jax.devices()) == 4
assert np.allclose(here, there, rtol=1e-6)
