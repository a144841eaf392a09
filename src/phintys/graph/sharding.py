"""Meshes of devices, and how arrays are divided among them.

These say what a backend should do; only those that know several devices act on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError
from phintys._base.names import near_misses
from phintys._base.records import record

if TYPE_CHECKING:
    from phintys.graph.variable import Variable

    Axes = None | str | tuple[str, ...]


@record(frozen=True)
class Mesh:
    """Devices in a grid whose axes have names; :func:`phintys.jax.mesh` makes one.

    Attributes
    ----------
    names, sizes
        The axes.
    devices
        The numbers of the devices in row-major order; the first ones if ``None``.

    Examples
    --------
    >>> from phintys.graph.sharding import Mesh
    >>> mesh = Mesh(("data", "model"), (2, 4))
    >>> mesh("data", None)
    mesh(data=2, model=4)('data', None)
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    devices: tuple[int, ...] | None = None

    def __call__(self, *axes: Axes) -> Sharding:
        """Return how an array is divided: for each of its axes an axis of the mesh.

        Parameters
        ----------
        axes
            The name of an axis of the mesh, a tuple of several, or ``None`` or ``"none"`` for an
            axis that is not divided, as are those that are left out at the end.

        Raises
        ------
        ArgumentError
            The mesh has no such axis, or it is given twice.
        """
        wanted = [None if axis == "none" else axis for axis in axes]
        used = [name for axis in wanted if axis is not None for name in _names(axis)]
        for name in used:
            if name not in self.names:
                close = near_misses(str(name), self.names)
                hint = f" Did you mean {close[0]!r}?" if close else ""
                msg = f"{self} has no axis {name!r}; its axes are {', '.join(self.names)}.{hint}"
                raise ArgumentError(msg)
            if used.count(name) > 1:
                msg = f"{self}{axes}: the axis {name!r} can divide one axis of an array only."
                raise ArgumentError(msg)
        return Sharding(self, tuple(wanted))

    @property
    def size(self) -> int:
        """The number of devices."""
        return prod(self.sizes)

    def __repr__(self) -> str:
        axes = zip(self.names, self.sizes, strict=True)
        return f"mesh({', '.join(f'{name}={size}' for name, size in axes)})"


@record(frozen=True)
class Sharding:
    """How an array is divided among the devices of a mesh.

    Attributes
    ----------
    mesh
        The mesh.
    axes
        For each axis of the array ``None``, an axis of the mesh, or a tuple of several.
    """

    mesh: Mesh
    axes: tuple[Axes, ...]

    def batched(self, count: int) -> Sharding:
        """Return the sharding of a batch along new first axes, which are not divided."""
        return Sharding(self.mesh, (*[None] * count, *self.axes))

    def parts(self, axis: int) -> int:
        """Return how many parts an axis of an array has."""
        names = _names(self.axes[axis]) if axis < len(self.axes) else ()
        return prod(self.mesh.sizes[self.mesh.names.index(name)] for name in names)

    def why_not(self, shape: Sequence[int | None]) -> str | None:
        """Return why arrays of a shape cannot be divided; ``None`` if they can."""
        if len(shape) < len(self.axes):
            return f"{self} divides {len(self.axes)} axes, but the array has {len(shape)}"
        for axis, size in enumerate(shape):
            if size is not None and size % self.parts(axis):
                return (
                    f"{self} divides axis {axis} into {self.parts(axis)} parts, and its size, "
                    f"{size}, must be a multiple of that"
                )
        return None

    def __repr__(self) -> str:
        return f"{self.mesh}{self.axes}"


def as_sharding(given: Any, variable: Variable) -> Sharding:
    """Return how the values of a variable are divided, also from JAX's ``NamedSharding``.

    Raises
    ------
    ArgumentError
        It is something else, or does not fit the variable.
    """
    found = given if isinstance(given, Sharding) else _of_jax(given)
    if found is None:
        msg = (
            f"The sharding of {variable} must be one of a mesh, such as "
            f"phintys.jax.mesh(data=8)('data'), or a NamedSharding of JAX; got {given!r}."
        )
        raise ArgumentError(msg)
    shape = getattr(variable.type, "shape", None)
    reason = f"it is of type {variable.type}" if shape is None else found.why_not(shape)
    if reason:
        msg = f"{variable} cannot have this sharding: {reason}."
        raise ArgumentError(msg)
    return found


def mesh_of_jax(mesh: Any) -> Mesh:
    """Return a ``Mesh`` of JAX as one of Phintys."""
    devices = tuple(device.id for device in mesh.devices.ravel())
    return Mesh(tuple(mesh.axis_names), tuple(mesh.devices.shape), devices)


def _of_jax(given: Any) -> Sharding | None:
    mesh, axes = getattr(given, "mesh", None), getattr(given, "spec", None)
    if mesh is None or axes is None or not hasattr(mesh, "axis_names"):
        return None
    return mesh_of_jax(mesh)(*axes)


def _names(axis: Axes) -> tuple[str, ...]:
    if axis is None:
        return ()
    return axis if isinstance(axis, tuple) else (axis,)
