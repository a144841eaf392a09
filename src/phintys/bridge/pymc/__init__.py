"""PyMC's models compiled by Phintys; needs PyMC, which ``phintys[pymc]`` installs.

Examples
--------
>>> import numpy as np, pymc as pm
>>> from phintys.bridge.pymc import compile_logp_dlogp
>>> with pm.Model() as model:
...     mu = pm.Normal("mu", 0.0, 10.0)
...     sigma = pm.HalfNormal("sigma", 1.0)
...     _ = pm.Normal("y", mu, sigma, observed=np.array([1.0, 2.0, 3.0]))
>>> density = compile_logp_dlogp(model)
>>> density.names, density.size
(['mu', 'sigma_log__'], 2)
>>> value, gradient = density([2.0, 0.0])
>>> gradient
array([-0.02, -1.  ])
>>> density.expand([2.0, 0.0])["sigma"]
array(1.)
"""

from phintys.bridge import requirement
from phintys.bridge.pymc import checks, ops
from phintys.bridge.pymc.log_density import LogDensity, compile_logp_dlogp
from phintys.bridge.pymc.sampling import nutpie_model

requirement.check("pymc")
checks.register()
ops.register()

__all__ = ["LogDensity", "compile_logp_dlogp", "nutpie_model"]
