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
        found = device_named(self.device)
        if found is None:
            msg = (
                f"phintys.jax.mode(device={self.device!r}): JAX finds no such device here, only "
                f"{devices_here()}. Name one of these, or leave device=None for the first."
            )
            raise ConfigError(msg)
        return found


def device_named(name: str) -> Any:
    """Return a device of JAX, such as ``"gpu:0"``; ``None`` if there is none."""
    kind, _, number = name.partition(":")
    try:
        found = library().devices(kind)
    except RuntimeError:
        return None
    at = int(number) if number.isdigit() else 0
    return found[at] if at < len(found) and (number.isdigit() or number == "") else None


def devices_here() -> str:
    """Return the names of the devices of JAX."""
    return ", ".join(f"{device.platform}:{device.id}" for device in library().devices())
