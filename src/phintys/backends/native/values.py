"""Values of a Program, and what is known of their lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.records import record

if TYPE_CHECKING:
    from phintys.graph.variable import Variable


class Size:
    """A length, a start, a step or a stride; an int64 when the program runs.

    Sizes share their parts, so the tree of one can be exponentially larger than the number of its
    parts. Properties that are needed often are therefore computed once, when the size is created.
    """

    __slots__ = ()

    terms = 1
    """Number of terms after expansion; counted exactly up to ``sizes.MOST_TERMS``."""
    height = 0
    """Nesting depth of its operations."""
    is_length = False
    """Whether it is known to be non-negative."""
    is_flag = False
    """Whether it is known to be 1 or 0."""
    bits = 63
    """Number of bits that hold it if it is not negative."""

    @property
    def known(self) -> int | None:
        """The value, if known at compile time."""
        return None

    @property
    def leaves(self) -> tuple[Size, ...]:
        """The extents, elements and counters that it depends on, each once."""
        return (self,)


@record(eq=False)
class Array:
    """Numbers of one dtype, C-contiguous and aligned to their size.

    Attributes
    ----------
    place
        Where the memory comes from; see :class:`Place`.
    dtype
        Dtype of the elements in memory (a bool takes one byte).
    sizes
        Lengths of the axes.
    label
        A readable name: ``a0``, ``t3`` ...
    variable
        The graph's variable whose value it is, if any.
    data
        The value of a constant.
    alias
        The array that this is a view of with other sizes (a reshape), if any.
    """

    place: str
    dtype: np.dtype[Any]
    sizes: tuple[Size, ...]
    label: str
    variable: Variable | None = None
    data: np.ndarray[Any, Any] | None = None
    alias: Array | None = None

    @property
    def memory(self) -> Array:
        """The array that owns the memory: this one, or the one that it aliases."""
        return self if self.alias is None else self.alias

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.sizes)

    def __repr__(self) -> str:
        return f"{self.label}: {self.dtype}[{', '.join(map(str, self.sizes))}] {self.place}"


class Place:
    """Where the memory of an array comes from."""

    ARGUMENT = "argument"  # an argument of the function, made contiguous at entry if it is not
    CONSTANT = "constant"  # data of the program
    BUFFER = "buffer"  # planned into the arena, or kept in registers by the kernel that uses it
    RESULT = "result"  # a new NumPy array, which the function returns
    CALLBACK = "callback"  # made by an Op's Python code


@record(eq=False)
class Handle:
    """A Python object: a value whose Type is not a tensor's, passed to and from callbacks."""

    label: str
    variable: Variable | None = None
    data: Any = None
    place: str = Place.CALLBACK

    def __repr__(self) -> str:
        return f"{self.label}: object {self.place}"


Value = Array | Handle


@record(eq=False)
class LoopVariable:
    """A loop over 0, 1 ... ``extent - 1``."""

    extent: Size
    label: str

    def __repr__(self) -> str:
        return self.label
