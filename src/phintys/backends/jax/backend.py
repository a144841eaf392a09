"""The backend object: named options of programs of JAX."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from phintys._base.errors import ConfigError
from phintys._base.records import record
from phintys.backends.base import register_backend
from phintys.backends.jax.requirement import library

if TYPE_CHECKING:
    from phintys.backends.jax.program import JaxProgram
    from phintys.backends.measurements import Profiler
    from phintys.graph.fgraph import FunctionGraph

Checks = Literal["now", "later", False]


@record(frozen=True)
class JaxBackend:
    """Run graphs as programs of JAX, on one device.

    The parameters are those of :func:`phintys.jax.mode`.

    Examples
    --------
    >>> from phintys.backends.jax.backend import JaxBackend
    >>> JaxBackend(checks="later").name
    'jax'
    """

    device: Any = None
    checks: Checks = "now"
    results: Literal["numpy", "device"] = "numpy"
    matmul: str = "highest"
    host: Literal["allow", "refuse"] = "allow"

    @property
    def name(self) -> str:
        """Return ``"jax"``."""
        return "jax"

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

    def link(self, fgraph: FunctionGraph, *, profiler: Profiler | None = None) -> JaxProgram:
        """Return a program for a graph; it is compiled when it is first called."""
        library()
        program = import_module("phintys.backends.jax.program")
        return program.JaxProgram(fgraph, self)


register_backend("jax", JaxBackend())
