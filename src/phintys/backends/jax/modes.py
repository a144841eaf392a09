"""The mode ``"jax"``, and modes with other options."""

from __future__ import annotations

from typing import Any, Literal

from phintys._base.errors import ConfigError
from phintys.backends.jax.backend import JaxBackend
from phintys.backends.jax.options import Checks
from phintys.compile.mode import Mode, register_mode
from phintys.passes.pipelines import PIPELINES

_CHOICES: dict[str, tuple[Any, ...]] = {
    "checks": ("now", "later", False),
    "results": ("numpy", "device"),
    "matmul": ("highest", "high", "default"),
    "host": ("allow", "refuse"),
}

# Arrays of JAX are values, and XLA fuses products and sums itself.
_PIPELINE = PIPELINES["full"].excluding("inplace", "blas", "drop_sharding")


def mode(
    device: Any = None,
    *,
    checks: Checks = "now",
    results: Literal["numpy", "device"] = "numpy",
    matmul: Literal["highest", "high", "default"] = "highest",
    host: Literal["allow", "refuse"] = "allow",
) -> Mode:
    """Return a mode that runs functions on a device of JAX.

    Parameters
    ----------
    device
        A device of JAX, or its platform and number, such as ``"gpu:0"``; by default the first one.
    checks
        When conditions on values are checked, such as indices in range and matrices that are not
        singular: ``"now"``, at the end of the call; ``"later"``, at the next call, so that calls do
        not wait for the device; or ``False``.
    results
        Return NumPy arrays, or arrays of JAX that stay on the device.
    matmul
        The precision of products of matrices. Accelerators compute ``"default"`` ones with fewer
        bits than the dtype has.
    host
        Run Ops without a rule on the host, as ``f.explain()`` lists, or refuse them.

    Raises
    ------
    ConfigError
        An option has another value.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> x = pt.dvector("x")
    >>> f = phintys.function([x], pt.exp(x), mode=phintys.jax.mode(host="refuse"))
    >>> f([0.0, 1.0]).round(4)
    array([1.    , 2.7183])
    """
    given = {"checks": checks, "results": results, "matmul": matmul, "host": host}
    for name, value in given.items():
        if not any(value is choice or value == choice for choice in _CHOICES[name]):
            msg = f"phintys.jax.mode({name}={value!r}): it must be one of {_CHOICES[name]}."
            raise ConfigError(msg)
    backend = JaxBackend(device=device, checks=checks, results=results, matmul=matmul, host=host)
    return Mode(backend, _PIPELINE)


register_mode("jax", Mode("jax", _PIPELINE))
