"""Meshes of JAX's devices."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ConfigError, ShapeError, TransferError
from phintys.backends.jax.options import device_named, devices_here
from phintys.backends.jax.requirement import library
from phintys.graph.sharding import Mesh, Sharding, mesh_of_jax
from phintys.graph.transfer import transfers_to
from phintys.tensor.sharding import with_sharding
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from phintys.graph.variable import Variable


def mesh(given: Any = None, /, **axes: int) -> Mesh:
    """Return a mesh of devices, whose calls say how arrays are divided.

    Parameters
    ----------
    given
        A ``Mesh`` of JAX.
    axes
        Otherwise the name and size of each axis. The mesh has as many devices as it needs, from the
        first on; one size can be -1, for all the rest.

    Returns
    -------
    Mesh
        ``mesh("data", None)`` is the sharding of a matrix whose rows are divided along the axis
        ``"data"`` of the mesh; see docs/accelerators.md.

    Raises
    ------
    ConfigError
        There are fewer devices, or a size is not positive.

    Examples
    --------
    >>> import phintys
    >>> mesh = phintys.jax.mesh(data=1, model=1)
    >>> mesh(None, ("data", "model"))
    mesh(data=1, model=1)(None, ('data', 'model'))
    """
    if given is not None:
        return mesh_of_jax(given)
    there = len(library().devices())
    sizes = list(axes.values())
    called = f"phintys.jax.mesh({', '.join(f'{name}={size}' for name, size in axes.items())})"
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = there // -prod(sizes)
    if not sizes or any(not isinstance(size, int) or size < 1 for size in sizes):
        msg = f"{called}: give each axis a positive size, or -1 to one of them."
        raise ConfigError(msg)
    if prod(sizes) > there:
        msg = (
            f"{called} needs {prod(sizes)} devices, and JAX has {there} here. For tests, a CPU is "
            f"as many with XLA_FLAGS=--xla_force_host_platform_device_count={prod(sizes)}."
        )
        raise ConfigError(msg)
    return Mesh(tuple(axes), tuple(sizes))


class ProgramShardings:
    """The shardings of a program's values, as JAX has them.

    Parameters
    ----------
    mesh
        The mesh of all of them.

    Attributes
    ----------
    mesh
        That of JAX.
    whole
        The sharding of values that each device has as a whole.
    is_spread
        Other processes have a part of the devices.
    """

    def __init__(self, mesh: Mesh) -> None:
        jax = library()
        numbered = {device.id: device for device in jax.devices()}
        numbers = [*numbered][: mesh.size] if mesh.devices is None else mesh.devices
        if len(numbers) < mesh.size or any(number not in numbered for number in numbers):
            msg = f"{mesh} needs devices that JAX does not have here; it has {[*numbered]}."
            raise ConfigError(msg)
        grid = np.empty(mesh.sizes, object)
        grid.ravel()[:] = [numbered[number] for number in numbers]
        self.mesh = jax.sharding.Mesh(grid, mesh.names)
        self.whole = self.of(Sharding(mesh, ()))
        self.is_spread = any(d.process_index != jax.process_index() for d in grid.ravel())

    def of(self, sharding: Sharding | None) -> Any:
        """Return a sharding of JAX."""
        sharding_classes = library().sharding
        axes = () if sharding is None else sharding.axes
        return sharding_classes.NamedSharding(self.mesh, sharding_classes.PartitionSpec(*axes))

    def split(self, shape: Sequence[int]) -> Any:
        """Return the sharding of an elementwise callback: first and last axes, where they fit."""
        axes: list[str | None] = [None] * len(shape)
        places = iter(dict.fromkeys((0, len(shape) - 1)) if shape else ())
        for name, size in self.mesh.shape.items():
            place = next(places, None)
            if place is not None and shape[place] % size == 0:
                axes[place] = name
        return library().sharding.PartitionSpec(*axes)


@transfers_to("cpu", "gpu", "cuda", "rocm", "tpu")
def to_device(variable: Variable, target: str) -> Variable | None:
    """Return a variable whose function runs on a device, in a mode of JAX.

    A program runs on one device, or on those of one mesh, so that all values of the function are
    there. In other modes it is the variable itself.

    Raises
    ------
    TransferError
        There is no such device.
    """
    if not isinstance(variable.type, TensorType):
        return None
    device = device_named(target)
    if device is None or device not in library().devices():
        msg = (
            f"Cannot transfer {variable} to {target!r}: JAX finds no such device here, only "
            f'{devices_here()}. Name one of these, or "cpu", where all variables are.'
        )
        raise TransferError(msg)
    alone = Mesh(("device",), (1,), (device.id,))
    return with_sharding(variable, alone())


def sharding_of(variable: Variable) -> Sharding | None:
    """Return how the values of an input of a function are divided, if that was said."""
    container = getattr(variable, "container", None)
    if container is not None:
        return container.sharding
    return getattr(variable.tag, "sharding", None)


def common_mesh(shardings: Sequence[Sharding]) -> Mesh | None:
    """Return the mesh of all shardings of a program.

    Raises
    ------
    ConfigError
        There are several.
    """
    meshes = list(dict.fromkeys(sharding.mesh for sharding in shardings))
    if len(meshes) > 1:
        msg = (
            f"A function has values on several meshes, {', '.join(map(str, meshes))}: make all "
            "their shardings from one mesh, whose axes need not all be used."
        )
        raise ConfigError(msg)
    return meshes[0] if meshes else None


def check_division(sharding: Sharding, value: Any, name: str) -> None:
    """Raise unless a value can be divided.

    Raises
    ------
    ShapeError
        A size is not a multiple of the number of parts.
    """
    if reason := sharding.why_not(np.shape(value)):
        msg = f"The value of {name}, of shape {np.shape(value)}, cannot be divided: {reason}."
        raise ShapeError(msg)
