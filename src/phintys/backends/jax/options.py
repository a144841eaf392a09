"""Options of programs of JAX."""

from __future__ import annotations

from typing import Any, Literal

from phintys._base.errors import ConfigError
from phintys._base.records import record
from phintys.backends.jax.requirement import library

Checks = Literal["now", "later", False]


@record(frozen=True)
class JaxOptions:
    """How programs of JAX run, and on which device.

    The parameters are those of :func:`phintys.jax.mode`.

    """

    device: Any = None
    checks: Checks = "now"
    results: Literal["numpy", "device"] = "numpy"
    matmul: str = "highest"
    host: Literal["allow", "refuse"] = "allow"

    def find_device(self) -> Any:
        """Return the device of JAX on which programs run, ``None`` for JAX's default.

        Raises
        ------
        ConfigError
            There is no such device.
        """
        if not isinstance(self.device, str):
            return self.device
        kind, _, number = self.device.partition(":")
        try:
            found = library().devices(kind)
        except RuntimeError:
            found = []
        if number.isdigit() and int(number) < len(found):
            return found[int(number)]
        if not number and found:
            return found[0]
        here = ", ".join(f"{d.platform}:{d.id}" for d in library().devices())
        msg = (
            f"phintys.jax.mode(device={self.device!r}): JAX finds no such device here, only "
            f"{here}. Name one of these, or leave device=None for the first."
        )
        raise ConfigError(msg)
