"""Rough estimates of the time that steps take, as polynomials in sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from phintys.backends.native.limits import WORK_UNIT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from phintys.backends.native.polynomials import Polynomial, Polynomials


class KernelCost(Protocol):
    """What the plan of a kernel says of its time."""

    @property
    def cost(self) -> float:
        """Nanoseconds of an iteration of the innermost loops."""
        ...

    @property
    def is_divisible(self) -> bool:
        """Whether threads can share it."""
        ...

    def work(self) -> Polynomial:
        """Return the number of these iterations."""
        ...


class Costs:
    """What steps ask when they estimate their time.

    Parameters
    ----------
    ring
        The polynomials of the program.
    kernels
        The plan of each of its kernels.
    """

    def __init__(self, ring: Polynomials, kernels: Mapping[Any, KernelCost]) -> None:
        self.ring = ring
        self.kernels = kernels

    def scaled(self, count: Polynomial, nanoseconds: float) -> Polynomial:
        """Return the work of a number of operations, given the time of each."""
        return self.ring.scale(count, max(1, int(nanoseconds * WORK_UNIT)))
