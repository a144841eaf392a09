"""Draws by the C functions of NumPy's generators, element by element in the order of memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys._base.records import record
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import loop
from phintys.backends.native.assembler.types import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    PTR,
    VOID,
    MachineType,
    type_of,
)
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import DRAW_NANOSECONDS
from phintys.backends.native.routines.numpy_functions import numpy_symbol
from phintys.backends.native.steps.call import CallWriter, LibraryCall, Routine

if TYPE_CHECKING:
    from phintys.backends.native.polynomials import Costs, Polynomial
    from phintys.backends.native.values import Array


# ---- what NumPy refuses ------------------------------------------------------------------------

Refusal = Callable[[Builder, Value], Value]
"""Whether NumPy's methods raise ValueError for a parameter."""


def _never(b: Builder, x: Value) -> Value:
    return b.constant(BOOL, 0)


def _if_negative(b: Builder, x: Value) -> Value:
    """Numbers with a minus sign, -0.0 too."""
    return (b.bitcast(x, INT64) < 0) & ~b.isnan(x)


def _unless_positive(b: Builder, x: Value) -> Value:
    return x <= 0.0


def _unless_share(b: Builder, p: Value) -> Value:
    """Numbers that are not from 0 to 1."""
    return ~((p >= 0.0) & (p <= 1.0))


def _unless_positive_share(b: Builder, p: Value) -> Value:
    return ~((p > 0.0) & (p <= 1.0))


def _unless_below_one(b: Builder, p: Value) -> Value:
    return ~((p >= 0.0) & (p < 1.0))


def _unless_above_one(b: Builder, x: Value) -> Value:
    return ~(x > 1.0)


def _unless_mean(b: Builder, x: Value) -> Value:
    return ~((x >= 0.0) & (x <= _MOST_MEAN))


_MOST_MEAN = np.iinfo("int64").max - np.sqrt(np.iinfo("int64").max) * 10
"""The greatest mean of Poisson numbers."""


def _negative_count(b: Builder, n: Value) -> Value:
    return n < 0


# ---- functions -----------------------------------------------------------------------------------


@record(frozen=True)
class NumpyNumbers:
    """A C function that returns a number: ``double random_normal(bitgen_t *, double, double)``.

    Attributes
    ----------
    name
        Its name.
    refusals
        What NumPy refuses of each parameter.
    returns
        Its result.
    takes
        The dtypes of the parameters, ``float64`` if not given.
    arguments
        From parameters to the arguments after the first one.
    also_refused
        What NumPy refuses of all parameters together.
    """

    name: str
    refusals: tuple[Refusal, ...] = ()
    returns: MachineType = FLOAT64
    takes: tuple[str, ...] = ()
    arguments: Callable[[Builder, Sequence[Value]], Sequence[Value]] = lambda b, given: given
    also_refused: Callable[[Builder, Sequence[Value]], Value] | None = None

    @property
    def symbol(self) -> str:
        """Its name in generated code."""
        return numpy_symbol(self.name)

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The dtypes of the parameters."""
        return self.takes or ("float64",) * len(self.refusals)


def _low_and_range(b: Builder, given: Sequence[Value]) -> Sequence[Value]:
    low, high = given
    return low, high - low


def _wrong_range(b: Builder, given: Sequence[Value]) -> Value:
    low, high = given
    width = high - low
    return _if_negative(b, width) | ~(width - width).builder.eq(width - width, 0.0)


def _share_and_count(b: Builder, given: Sequence[Value]) -> Sequence[Value]:
    """NumPy keeps what it computes of the last parameters; a record of zeros has none."""
    n, p = given
    words = 32  # more than a binomial_t has
    kept = b.slot(INT64, words)
    for word in range(words):
        b.store(b.constant(INT64, 0), b.offset(kept, word, INT64))
    return p, n, kept


def _to_float(b: Builder, given: Sequence[Value]) -> Sequence[Value]:
    return [b.convert(x, FLOAT32) for x in given]


_any, _scale, _positive = _never, _if_negative, _unless_positive

DRAWS: dict[tuple[str, str], NumpyNumbers] = {
    ("random", "float64"): NumpyNumbers("random_standard_uniform"),
    ("random", "float32"): NumpyNumbers("random_standard_uniform_f", returns=FLOAT32),
    ("standard_normal", "float64"): NumpyNumbers("random_standard_normal"),
    ("standard_normal", "float32"): NumpyNumbers("random_standard_normal_f", returns=FLOAT32),
    ("standard_exponential", "float64"): NumpyNumbers("random_standard_exponential"),
    ("standard_exponential", "float32"): NumpyNumbers(
        "random_standard_exponential_f", returns=FLOAT32
    ),
    ("standard_gamma", "float64"): NumpyNumbers("random_standard_gamma", (_scale,)),
    ("standard_gamma", "float32"): NumpyNumbers(
        "random_standard_gamma_f", (_scale,), FLOAT32, arguments=_to_float
    ),
    ("uniform", "float64"): NumpyNumbers(
        "random_uniform", (_any, _any), arguments=_low_and_range, also_refused=_wrong_range
    ),
    ("standard_cauchy", "float64"): NumpyNumbers("random_standard_cauchy"),
    ("standard_t", "float64"): NumpyNumbers("random_standard_t", (_positive,)),
    ("geometric", "int64"): NumpyNumbers("random_geometric", (_unless_positive_share,), INT64),
    ("logseries", "int64"): NumpyNumbers("random_logseries", (_unless_below_one,), INT64),
    ("poisson", "int64"): NumpyNumbers("random_poisson", (_unless_mean,), INT64),
    ("zipf", "int64"): NumpyNumbers("random_zipf", (_unless_above_one,), INT64),
    ("binomial", "int64"): NumpyNumbers(
        "random_binomial",
        (_negative_count, _unless_share),
        INT64,
        ("int64", "float64"),
        _share_and_count,
    ),
}
"""(Method of NumPy's generators, dtype of the draw) -> the C function of each number."""

DRAWS |= {
    (name, "float64"): NumpyNumbers(f"random_{name}", refusals)
    for name, refusals in {
        "beta": (_positive, _positive),
        "chisquare": (_positive,),
        "exponential": (_scale,),
        "f": (_positive, _positive),
        "gamma": (_scale, _scale),
        "gumbel": (_any, _scale),
        "laplace": (_any, _scale),
        "logistic": (_any, _scale),
        "lognormal": (_any, _scale),
        "noncentral_chisquare": (_positive, _scale),
        "noncentral_f": (_positive, _positive, _scale),
        "normal": (_any, _scale),
        "pareto": (_positive,),
        "power": (_positive,),
        "rayleigh": (_scale,),
        "vonmises": (_any, _scale),
        "wald": (_positive, _positive),
        "weibull": (_scale,),
    }.items()
}

BOUNDED = {"int32": numpy_symbol("random_bounded_uint32_fill")}
BOUNDED["int64"] = numpy_symbol("random_bounded_uint64_fill")
"""Dtype of integers -> the C function that draws all of those between two numbers."""


# ---- calls ---------------------------------------------------------------------------------------


class _NumpyDraw(Routine):
    """Numbers of a generator: the inputs are the address of its interface, and the parameters.

    A parameter has one element, or as many as there are numbers. The options are their ``count``
    and the ``function``. The status is 1 if NumPy refuses a parameter; then nothing is drawn.
    """

    name = "draw of NumPy"
    calls_blas: ClassVar[bool] = False

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return a rough estimate of its time."""
        return call.time(costs, DRAW_NANOSECONDS, "count")

    def emit(self, call: LibraryCall[Any], writer: CallWriter) -> Value:
        """Check all parameters, and then draw."""
        b, function = writer.b, call.options["function"]
        address, *parameters = call.inputs
        bits = b.load(PTR, writer.pointer(address))
        count = writer.size(call.options["count"])
        single = [_is_single(one) for one in parameters]
        at_once = [
            b.load(type_of(one.dtype), writer.pointer(one)) if is_single else None
            for one, is_single in zip(parameters, single, strict=True)
        ]

        def values(index: Value) -> list[Value]:
            return [
                b.load(type_of(one.dtype), b.offset(writer.pointer(one), index, type_of(one.dtype)))
                if known is None
                else known
                for one, known in zip(parameters, at_once, strict=True)
            ]

        status = b.constant(INT64, 0)
        if parameters:
            checked = b.constant(INT64, 1) if all(single) else count
            with loop(b, 0, checked, carried=[status]) as each:
                refused = _refused(b, function, values(each.index))
                each.next(each.carried[0] | b.select(refused, b.constant(INT64, 1), 0))
            (status,) = each.results
        target, drawn = writer.pointer(call.outputs[0]), type_of(call.outputs[0].dtype)
        with loop(b, 0, b.select(b.ne(status, 0), b.constant(INT64, 0), count)) as each:
            arguments = function.arguments(b, values(each.index))
            number = b.call(function.symbol, function.returns, [bits, *arguments])
            b.store(b.convert(number, drawn), b.offset(target, each.index, drawn))
        return status


def _is_single(array: Array) -> bool:
    return array.ndim == 0


def _refused(b: Builder, function: NumpyNumbers, given: Sequence[Value]) -> Value:
    found = [refuse(b, x) for refuse, x in zip(function.refusals, given, strict=True)]
    if function.also_refused is not None:
        found.append(function.also_refused(b, given))
    return reduce(or_, found)


class _NumpyBounded(Routine):
    """Integers from one number to below another, both int64; the options are as for numbers."""

    name = "integers of NumPy"
    calls_blas: ClassVar[bool] = False

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return a rough estimate of its time."""
        return call.time(costs, DRAW_NANOSECONDS, "count")

    def emit(self, call: LibraryCall[Any], writer: CallWriter) -> Value:
        """Let NumPy fill the array, unless there is no such integer."""
        b = writer.b
        address, *ends = call.inputs
        drawn = call.outputs[0]
        bits = b.load(PTR, writer.pointer(address))
        low, high = (b.load(INT64, writer.pointer(end)) for end in ends)
        info = np.iinfo(drawn.dtype)
        refused = (high <= low) | (low < int(info.min))
        if drawn.dtype.itemsize < INT64.itemsize:
            refused = refused | (high > int(info.max) + 1)
        count = b.select(refused, b.constant(INT64, 0), writer.size(call.options["count"]))
        width = type_of(drawn.dtype)
        start, rest = (b.convert(x, width) for x in (low, high - low - 1))
        masked = b.constant(BOOL, 0)
        arguments = [bits, start, rest, count, masked, writer.pointer(drawn)]
        b.call(BOUNDED[drawn.dtype.name], VOID, arguments)
        return b.select(refused, b.constant(INT64, 1), 0)


NUMPY_DRAW = _NumpyDraw()
NUMPY_BOUNDED = _NumpyBounded()
