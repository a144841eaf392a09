"""How threads share a loop of steps whose passes are independent of each other.

A pass of such a loop writes rows of its own, and memory that nothing reads after it, or in another
pass. So passes can run at once if each thread has such memory of its own. Kernels and products
inside are then computed by one thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.records import record

if TYPE_CHECKING:
    from phintys.backends.native.polynomials import Polynomial
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array, LoopVariable

__all__ = ["SharedLoop"]


@record(eq=False)
class SharedLoop:
    """A loop that threads can share.

    Attributes
    ----------
    count, counter
        The number of passes, and that of a pass.
    private
        The memory that a thread needs for its own passes.
    sums
        The memory to which passes add.
    divisible, alone
        The work of a pass that threads could share as well, and the rest.
    calls_library
        Whether passes call a library.
    """

    count: Size
    counter: LoopVariable
    private: list[Array]
    sums: list[Array]
    divisible: Polynomial
    alone: Polynomial
    calls_library: bool
