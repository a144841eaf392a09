"""How far correct results may lie apart: a graph computed again with its rounding errors varied.

Two correct computations round differently, and what follows may enlarge the difference: a small
number that is left of two large ones, or a comparison that goes the other way. So the graph is
computed a few times, node by node, with the result of each node moved by as much as it may be off.
How far the outputs move says how far another backend's may lie from the reference's, without any
rule for what the graph computes. (This is Vignes' CESTAC method, used as a yardstick.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from phintys.compile.debugging.running import protected
from phintys.gradient.marks import GradientMark
from phintys.graph.apply import Apply
from phintys.graph.traversal import toposort
from phintys.graph.variable import Variable
from phintys.sparse.products import (
    EntryProduct,
    PatternProduct,
    ProductGradients,
    ProductWithPattern,
)
from phintys.tensor.blas import Gemm
from phintys.tensor.creation import Alloc, AllocEmpty
from phintys.tensor.diagonals import AllocDiag, ExtractDiag
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.indexing import AdvancedSubtensor, Subtensor
from phintys.tensor.joining import Join, Split
from phintys.tensor.linear_algebra.matrix_op import MatrixOp
from phintys.tensor.products import BatchedDot, Dot
from phintys.tensor.reduce import Reduce
from phintys.tensor.reshaping import Reshape
from phintys.tensor.scalar_bridge import MakeVector, ScalarFromTensor, TensorFromScalar
from phintys.tensor.shapes import SpecifyShape
from phintys.tensor.sorting import SortOp
from phintys.testing._trial import run_node, value_of

__all__ = ["Noise", "difference"]

Array = np.ndarray[Any, Any]

_MOVES = (
    Alloc,
    AllocDiag,
    AllocEmpty,
    AdvancedSubtensor,
    DimShuffle,
    ExtractDiag,
    GradientMark,
    Join,
    MakeVector,
    Reshape,
    ScalarFromTensor,
    SortOp,
    SpecifyShape,
    Split,
    Subtensor,
    TensorFromScalar,
)
"""Ops that move numbers and leave them as they are."""

_EXACT = frozenset(
    {
        *("abs", "ceil", "clip", "complex", "conj", "copysign", "eq", "floor", "fmax", "fmin"),
        *("fmod", "ge", "gt", "heaviside", "identity", "imag", "ldexp", "maximum", "minimum"),
        *("neg", "nextafter", "pos", "real", "rint", "second", "sign", "switch", "trunc"),
    }
)
"""Scalar ops of real numbers without a rounding error."""

_INEXACT_FOR_COMPLEX = frozenset({"abs", "sign"})
"""Of these, those that compute a root where numbers are complex."""

_ROUNDED = frozenset({"add", "mul", "reciprocal", "sqr", "sqrt", "sub", "true_div"})
"""Scalar ops of real numbers whose result is the number next to the exact one, everywhere."""

_COARSE = frozenset({"log_gamma_bend", "log_gamma_slope", "log_ndtr"})
"""Scalar ops whose reference is off by more: differences, and SciPy's ``log_ndtr`` of numbers
from 5 on, by up to 112 units."""

_COARSE_FOR_COMPLEX = frozenset({"pow"})
"""Of complex numbers, those with an exponential of a product: it is off by as many units as the
product is large, which is up to 710."""

_PRODUCTS = (
    *(BatchedDot, Dot, EntryProduct, Gemm, PatternProduct, ProductGradients, ProductWithPattern),
)
"""BLAS leaves open whether a product of 0 and NaN or infinity counts; sums of all may overflow."""

_ULPS = 4.0
_ULPS_OF_COARSE = 1024.0
_DIRECTIONS = (1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""All results up, all down, and several times at random."""

_OPEN = (np.nan, -np.inf, np.inf)
"""What sums may be that hang on the order of their terms: each may be lost in what follows."""


@dataclass(frozen=True)
class Noise:
    """What rounding errors may do to the outputs of a graph.

    Attributes
    ----------
    base
        The outputs.
    moved
        The outputs again, once for each way in which the errors were varied; ``None`` where the
        graph then raised an error.
    """

    base: Sequence[Any]
    moved: Sequence[Sequence[Any] | None]

    @classmethod
    def of(
        cls,
        outputs: Sequence[Variable],
        known: dict[Variable, Any],
        *,
        strict: bool,
        seed: int,
        flushes: bool = False,
    ) -> Noise:
        """Measure a graph.

        Parameters
        ----------
        outputs
            Variables.
        known
            The values of the graph's inputs.
        strict
            Whether correctly rounded operations have no error: so it is for the same graph in
            another backend, but not for a graph that was rewritten.
        seed
            Of the random directions.
        flushes
            Whether the backend may take a subnormal number, given or computed, for 0.
        """
        directions = (None, *_DIRECTIONS)
        rngs = [np.random.default_rng([seed, number]) for number in range(len(directions))]
        pairs = zip(directions, rngs, strict=True)
        movers = [_Mover(direction, rng, strict=strict) for direction, rng in pairs]
        for mover, number in zip(movers[1:], _OPEN, strict=False):
            mover.open_result = number
        if flushes:
            movers.append(_Flusher(None, rngs[0], strict=strict))
        runs: list[list[Any] | None] = []
        for mover in movers:
            try:
                with np.errstate(all="ignore"):
                    runs.append(mover.run(outputs, dict(known)))
            except Exception:  # noqa: BLE001 - an Op may raise anything, and that it does is noted
                runs.append(None)
        return cls(runs[0] or [], runs[1:])

    def is_open(self, position: int) -> bool:
        """Return whether it hangs on the last digit if there is an output, or of which shape."""
        shapes = {None if run is None else np.shape(run[position]) for run in self.moved}
        return shapes != {np.shape(self.base[position])}

    def allows(self, position: int, found: Array, base: Array) -> bool:
        """Return whether an output may be what another computation found."""
        if self.is_open(position):
            return True
        spreads = [_distance(np.asarray(run[position]), base) for run in self.moved if run]
        spread = np.max(spreads, axis=0)
        if base.dtype.kind not in "fc":
            return bool(np.all((found == base) | (spread != 0)))
        info = np.finfo(base.dtype)
        with np.errstate(all="ignore"):
            allowed = 4 * spread + _ULPS * (
                float(info.eps) * np.where(np.isfinite(base), np.abs(base), 0).astype("float64")
                + float(info.smallest_subnormal)
            )
        apart = _distance(found, base)
        return bool(np.all((apart == 0) | (apart <= allowed) | ~np.isfinite(spread)))


def _distance(x: Array, y: Array) -> Array:
    """Return how far numbers are apart: 0 where both are NaN, infinite where only one is."""
    if x.dtype.kind not in "fc":
        return (x != y).astype("float64")
    wide = "complex128" if x.dtype.kind == "c" else "float64"
    x, y = np.asarray(x, wide), np.asarray(y, wide)
    with np.errstate(all="ignore"):
        apart = np.abs(x - y)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
    return np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))


def difference(found: Any, base: Any) -> str:
    """Return how a value differs from what it should be: empty if it does not at all."""
    if type(found) is not type(base) and not isinstance(found, np.ndarray):
        return f"it is {found!r}, expected {base!r}"
    found, base = np.asarray(found), np.asarray(base)
    if found.dtype != base.dtype:
        return f"its dtype is {found.dtype}, expected {base.dtype}"
    if found.shape != base.shape:
        return f"its shape is {found.shape}, expected {base.shape}"
    apart = _distance(found, base)
    if not np.any(apart):
        return ""
    index = tuple(int(i) for i in np.argwhere(apart)[0])
    return f"element {list(index)} is {found[index]!r}, expected {base[index]!r}"


class _Mover:
    """Computes a graph with the results of nodes moved."""

    def __init__(self, direction: float | None, rng: Any, *, strict: bool) -> None:
        self.direction = direction
        self.rng = rng
        self.strict = strict
        self.open_result: float | None = None

    def run(self, outputs: Sequence[Variable], known: dict[Variable, Any]) -> list[Any]:
        for node in toposort(outputs, blockers=list(known)):
            inputs = [value_of(variable, known) for variable in node.inputs]
            inner, outer = (0.0, 0.0) if self.direction is None else _errors(node, self.strict)
            # Of the terms themselves: moved, the largest would be infinite, and no longer overflow.
            is_open = self.open_result is not None and (
                _depends_on_order(node, inputs) or _is_left_to_libraries(node, inputs)
            )
            if inner:
                terms = max([np.size(value) for value in inputs], default=1)
                inner += float(np.sqrt(terms))
                inputs = [self.moved(_as_added(node, value), inner) for value in inputs]
            results = self.results(node, inputs)
            if outer:
                is_whole = isinstance(node.op, MatrixOp)
                results = [self.moved(value, outer, is_whole) for value in results]
            if is_open:
                results = [np.full_like(value, self.open_result) for value in results]
            known.update(zip(node.outputs, results, strict=True))
        return [value_of(variable, known) for variable in outputs]

    def results(self, node: Apply, inputs: Sequence[Any]) -> list[Any]:
        """Return the results of a node."""
        return run_node(node, protected(node, inputs))

    def moved(self, value: Any, ulps: float, is_whole: bool = False) -> Any:
        """Return floats with each one moved by so many units in the last place.

        Or in that of the largest of a matrix, as decompositions and solvers may be off.
        """
        if not isinstance(value, np.ndarray | np.generic) or value.dtype.kind not in "fc":
            return value
        value = np.asarray(value)
        info = np.finfo(value.dtype)
        size = _of_matrix(np.abs(value)) if is_whole else np.abs(value)
        step = ulps * float(info.eps) * size + ulps * float(info.smallest_subnormal)
        if value.dtype.kind == "c":
            step = step * (self._parts(value.shape) + 1j * self._parts(value.shape))
        else:
            step = step * self._parts(value.shape)
        is_plain = np.isfinite(value) & ((value != 0) | is_whole)
        return np.where(is_plain, value + step, value).astype(value.dtype)

    def _parts(self, shape: tuple[int, ...]) -> Any:
        """Return which part of the largest error is made, and in which direction.

        Errors of the same size in two nodes may cancel; those of random sizes hardly ever do.
        """
        return self.direction or self.rng.uniform(-1.0, 1.0, size=shape)


def _of_matrix(sizes: Array) -> Array:
    """Return the largest finite number of each matrix."""
    axes = tuple(range(-min(sizes.ndim, 2), 0))
    return np.where(np.isfinite(sizes), sizes, 0).max(axis=axes, keepdims=True, initial=0)


class _Flusher(_Mover):
    """Computes a graph with each subnormal number replaced by 0, as processors may."""

    def results(self, node: Apply, inputs: Sequence[Any]) -> list[Any]:
        found = super().results(node, [_flushed(value) for value in inputs])
        return [_flushed(value) for value in found]


def _flushed(value: Any) -> Any:
    if not isinstance(value, np.ndarray | np.generic) or value.dtype.kind not in "fc":
        return value
    parts = np.array(value, ndmin=1)  # with an axis, along which a number has its parts
    numbers = parts.view(parts.real.dtype)
    numbers[np.abs(numbers) < np.finfo(numbers.dtype).tiny] = 0
    return parts.reshape(np.shape(value))


def _as_added(node: Apply, value: Any) -> Any:
    """Return the operand of a reduction in the accumulator's dtype, if that rounds more.

    Of integers near 2**63 a sum in float64 has an error, although each has a dtype that has none;
    and a sum of float64 that is added up in float32 has that of float32.
    """
    if not isinstance(node.op, Reduce):
        return value
    added = np.dtype(node.op.resolve_dtypes(value.dtype.name)[1])
    return value.astype(added) if _unit(added) > _unit(value.dtype) else value


def _unit(dtype: Any) -> float:
    """Return how far the next number after 1 is from it, as a part of it; 0 for integers."""
    return float(np.finfo(dtype).eps) if dtype.kind in "fc" else 0.0


def _depends_on_order(node: Apply, inputs: Sequence[Any]) -> bool:
    """Return whether sums that a node computes are infinite, NaN or finite by the order of terms.

    So they are if what is added first overflows, and infinities or terms of the other sign follow.
    """
    if isinstance(node.op, _PRODUCTS):
        return not _all_finite(inputs) or _overflows(_bound_of_products(inputs), node)
    if isinstance(node.op, (Elemwise, *_MOVES)):
        return False
    for value in inputs:
        if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
            parts = (value.real, value.imag) if value.dtype.kind == "c" else (value,)
            if any(_overflows_on_the_way(part, node) for part in parts):
                return True
    return False


def _is_left_to_libraries(node: Apply, inputs: Sequence[Any]) -> bool:
    """Return whether a complex power has infinite operands or NaN: C says nothing about them."""
    if not isinstance(node.op, Elemwise) or node.op.scalar_op.name not in _COARSE_FOR_COMPLEX:
        return False
    return any(np.asarray(x).dtype.kind == "c" for x in inputs) and not _all_finite(inputs)


def _overflows_on_the_way(values: Array, node: Apply) -> bool:
    """Return whether terms of one sign overflow, beside terms of the other sign."""
    for sign in (1, -1):
        terms = sign * values
        small = terms[(terms > 0) & np.isfinite(terms)].astype("longdouble")
        if (terms < 0).any() and _overflows(small.sum(), node):
            return True
    return False


def _bound_of_products(inputs: Sequence[Any]) -> Any:
    """Return a number that no sum of products of elements of two operands is larger than."""
    floats = [np.abs(x).astype("longdouble") for x in inputs if np.asarray(x).dtype.kind in "fc"]
    largest = [x.max(initial=1) for x in floats]
    return max((np.prod(largest) * x.size for x in floats), default=0)


def _overflows(total: Any, node: Apply) -> bool:
    kinds = [np.dtype(getattr(variable.type, "dtype", "bool")).name for variable in node.outputs]
    return any(
        kind.startswith(("float", "complex")) and bool(total > np.finfo(kind).max) for kind in kinds
    )


def _all_finite(values: Sequence[Any]) -> bool:
    return all(bool(np.all(np.isfinite(value))) for value in values)


def _errors(node: Apply, strict: bool) -> tuple[float, float]:
    """Return by how many units the inputs and the outputs of a node may be off."""
    op = node.op
    if isinstance(op, _MOVES) or not any(
        np.dtype(getattr(variable.type, "dtype", "bool")).kind in "fc" for variable in node.outputs
    ):
        return 0.0, 0.0
    if not isinstance(op, Elemwise):
        return _ULPS, _ULPS
    name = op.scalar_op.name or ""
    is_complex = any(
        np.dtype(variable.type.dtype).kind == "c"  # pyright: ignore[reportAttributeAccessIssue]
        for variable in (*node.inputs, *node.outputs)
    )
    if name.startswith("cast_"):
        return 0.0, 0.0
    if name in _EXACT and not (is_complex and name in _INEXACT_FOR_COMPLEX):
        return 0.0, 0.0
    if strict and name in _ROUNDED and not is_complex:
        return 0.0, 0.0
    is_coarse = name in _COARSE or (is_complex and name in _COARSE_FOR_COMPLEX)
    return 0.0, _ULPS_OF_COARSE if is_coarse else _ULPS
