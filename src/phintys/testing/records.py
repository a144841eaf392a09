"""Op records: the definition, domain and reference of an Op, from which it is tested."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from phintys._base.errors import ArgumentError
from phintys.graph.op import Op
from phintys.graph.type import Type
from phintys.tensor.type import DTYPES, TensorType

Shape = tuple[int, ...]
Interval = tuple[float, float]

Draw = Callable[[Any], Any]
"""The argument of composite Hypothesis strategies: ``draw(strategy)`` returns a value."""

_SHOWN = 24  # maximum number of elements of an array to print


@dataclass(frozen=True)
class Tolerance:
    """Allowed difference from reference values, and the reason for it.

    Parameters
    ----------
    reason
        Why values differ; shown if they differ by more than allowed.
    ulps
        Maximum relative error of an element, in multiples of the dtype's machine epsilon. Integers
        and bools are always compared exactly.
    per_dtype
        Different multiples for some dtypes, by name.
    normwise
        Errors are relative to the largest element of the inputs and outputs instead of the element
        itself: for sums in which terms can cancel.

    Examples
    --------
    >>> Tolerance("the sum may be taken in another order", ulps=8, normwise=True).ulps
    8
    """

    reason: str
    ulps: float = 0.0
    per_dtype: Mapping[str, float] = field(default_factory=dict)
    normwise: bool = False

    def of(self, dtype: Any) -> float:
        """Return the maximum relative error for a dtype.

        Examples
        --------
        >>> EXACT.of("float64"), ROUNDED.of("int8")
        (0.0, 0.0)
        """
        dtype = np.dtype(dtype)
        if dtype.kind not in "fc":
            return 0.0
        return self.per_dtype.get(dtype.name, self.ulps) * float(np.finfo(dtype).eps)


EXACT = Tolerance("the same operations on the same numbers")
"""Bitwise equality, except for the sign and payload of NaN."""

SUMMED = Tolerance("sums may be taken in another order", ulps=64, normwise=True)
"""For sums of a few dozen elements, as in examples."""

ROUNDED = Tolerance("elementary functions differ in the last digits between their versions", ulps=4)
"""For functions whose NumPy implementation depends on the strides."""


@dataclass(frozen=True, kw_only=True)
class Argument:
    """Allowed values of one input of an Op.

    Parameters
    ----------
    dtypes
        Names of the supported dtypes.
    interval
        The interval of floats for checks of derivatives, in which the function must be smooth. Both
        parts of complex numbers are drawn from it. Values are compared inside and outside of it.
    int_interval
        The interval for integers when values are compared, if different; unsigned integers use
        its non-negative part.
    special
        Whether values are also compared for NaN, infinities and signed zeros.
    extremes
        Whether values are also compared for the largest and smallest numbers of a dtype, including
        integer dtypes.
    whole
        Whether floats are restricted to whole numbers.
    smooth_dtypes
        Names of the dtypes in which derivatives are checked; by default all.
    """

    dtypes: tuple[str, ...] = DTYPES
    interval: Interval = (-3.0, 3.0)
    int_interval: Interval | None = None
    special: bool = True
    extremes: bool = True
    whole: bool = False
    smooth_dtypes: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Example:
    """Values of the inputs of an Op.

    Parameters
    ----------
    values
        One for each input: arrays, or values of the Types in ``types``. Other values are converted
        by the Type's ``filter``.
    params
        Keyword arguments of the function that applies the Op, such as ``axis``.
    types
        The Type of each input; by default :class:`~phintys.tensor.TensorType` with the array's
        dtype and rank, in which only sizes of 1 are known.
    """

    values: tuple[Any, ...]
    params: Mapping[str, Any] = field(default_factory=dict)
    types: tuple[Type, ...] = ()

    @classmethod
    def of(cls, given: Any, types: Sequence[Type] | None = None) -> Example:
        """Return ``given``, a sequence of values, as an example.

        Parameters
        ----------
        given
            An example, or one value for each input.
        types
            As for the class.

        Examples
        --------
        >>> Example.of([np.zeros((2, 1)), 3]).types
        (Matrix(float64, shape=(?, 1)), Scalar(int64))
        """
        if isinstance(given, Example):
            values, params, types = given.values, given.params, types or given.types
        elif isinstance(given, list | tuple):
            values, params = tuple(given), {}
        else:
            msg = (
                "An example is a list or tuple with one value for each input, or an Example; got "
                f"{given!r}. An Op of one input takes examples such as [array]."
            )
            raise ArgumentError(msg)
        if not types:
            values = tuple(np.asarray(value) for value in values)
            types = tuple(
                TensorType(value.dtype, [1 if size == 1 else None for size in value.shape])
                for value in values
            )
        if len(types) != len(values):
            msg = f"Expected one Type for each of the {len(values)} values, got {types!r}."
            raise ArgumentError(msg)
        values = tuple(
            value if type_.is_valid_value(value) else type_.filter(value)
            for type_, value in zip(types, values, strict=True)
        )
        return cls(values, params, tuple(types))

    def __repr__(self) -> str:
        lines = [
            f"  {type_}: {_describe(value)}"
            for type_, value in zip(self.types or [""] * len(self.values), self.values, strict=True)
        ]
        lines += [f"  {name} = {value!r}" for name, value in self.params.items()]
        return "\n".join(lines) or "  (no inputs)"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the values in failure reports of Hypothesis."""
        printer.text("\n" + repr(self))


def _describe(value: Any) -> str:
    """Describe a value so that it can be reproduced by hand."""
    if not isinstance(value, np.ndarray):
        return repr(value)
    layout = "" if value.flags.c_contiguous else f", strides {value.strides}"
    layout += "" if value.flags.writeable else ", read-only"
    content = f"{value.size} elements"
    if value.size <= _SHOWN:
        content = np.array2string(value, separator=", ", threshold=_SHOWN).replace("\n", "")
    return f"array of shape {value.shape}, dtype {value.dtype}{layout}: {content}"


@dataclass(frozen=True, kw_only=True, repr=False)
class OpRecord:
    """The specification of an Op that drives all checks of it.

    Parameters
    ----------
    name
        Name of the record, used in test ids.
    build
        ``build(*variables, **params)`` returns the output variable, or several in a list: the Op
        itself, or the function that users call.
    reference
        ``reference(*arrays, **params)`` returns the expected outputs, for example with NumPy;
        ``None`` if there is no reference.
    arguments
        Allowed values of each input.
    shapes
        ``shapes(draw)`` returns a shape for each input; see :mod:`phintys.testing.strategies` for
        the usual relations. By default all inputs have the same shape.
    params
        ``params(draw, shapes)`` returns the keyword arguments of ``build`` and ``reference``.
    draw
        ``draw(draw, smooth)`` returns an :class:`Example`, for inputs that ``arguments``,
        ``shapes`` and ``params`` cannot describe. ``smooth`` is true if derivatives will be
        checked there.
    smooth
        ``smooth(*arrays, **params)`` returns whether the function is smooth around a point, away
        from jumps and kinks, if intervals are not sufficient to describe this.
    ops
        Op classes (or scalar ops) that occur in every graph that ``build`` returns.
    mixed
        Whether the inputs can have different dtypes.
    broadcasts
        Whether sizes of 1 are statically known, so that they broadcast.
    tolerance
        Allowed difference from the reference.
    differentiable
        Positions of the inputs with respect to which derivatives are checked; by default all
        with continuous dtypes. Empty if the gradient is deliberately not that of the function.
    rop
        Whether all Ops that ``build`` applies have an R-operator of their own.
    second
        Whether the gradient can be differentiated in turn.
    skip
        Names of checks to skip, as for :func:`check_op`.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> from phintys.testing import OpRecord, Argument, check_op
    >>> record = OpRecord(
    ...     name="log1p",
    ...     build=pt.log1p,
    ...     reference=np.log1p,
    ...     arguments=(Argument(dtypes=("float32", "float64"), interval=(-0.9, 5.0)),),
    ... )
    >>> check_op(record, examples=[[np.array([0.0, 1.5])]])
    """

    name: str
    build: Callable[..., Any]
    reference: Callable[..., Any] | None
    arguments: tuple[Argument, ...] = ()
    shapes: Callable[[Draw], Sequence[Shape]] | None = None
    params: Callable[[Draw, Sequence[Shape]], Mapping[str, Any]] | None = None
    draw: Callable[[Draw, bool], Example] | None = None
    smooth: Callable[..., bool] | None = None
    ops: tuple[type[Op] | Op, ...] = ()
    mixed: bool = True
    broadcasts: bool = False
    tolerance: Tolerance = EXACT
    differentiable: tuple[int, ...] | None = None
    rop: bool = True
    second: bool = True
    skip: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<record of {self.name}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the name in failure reports of Hypothesis."""
        printer.text(repr(self))
