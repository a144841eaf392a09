"""
A hierarchical model
====================

Eight schools and the effects of their coaching (D. Rubin, 1981): a model of PyMC, whose density and
gradient Phintys compiles, and which nutpie samples in threads without Python's lock. The effects
draw together, the less certain they are the more.
"""

import matplotlib.pyplot as plt
import numpy as np
import nutpie
import pymc as pm

from phintys.bridge.pymc import nutpie_model

effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

with pm.Model(coords={"school": list("ABCDEFGH")}) as model:
    mean = pm.Normal("mean", 0, 10)
    spread = pm.HalfNormal("spread", 10)
    raw = pm.Normal("raw", dims="school")  # not centred: no funnel
    effect = pm.Deterministic("effect", mean + spread * raw, dims="school")
    pm.Normal("seen", effect, errors, observed=effects)

trace = nutpie.sample(nutpie_model(model), chains=4, seed=1, progress_bar=False)

# %%
# Measured effects beside what the model makes of them.

drawn = trace.posterior["effect"].stack(draws=("chain", "draw")).transpose("school", "draws").values
places = np.arange(8)
plt.errorbar(places - 0.1, effects, errors, fmt="o", label="measured")
plt.errorbar(places + 0.1, drawn.mean(axis=1), drawn.std(axis=1), fmt="s", label="in the model")
plt.axhline(float(trace.posterior["mean"].mean()), color="grey", linestyle="--")
plt.xticks(places, list("ABCDEFGH"))
plt.ylabel("points gained")
plt.legend()
plt.show()

assert (drawn.std(axis=1) < errors).all()
assert drawn.mean(axis=1).std() < 0.5 * effects.std()
