"""Shapes, creation, joining, and Ops that return their inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ShapeError, add_note
from phintys.backends.jax.arrays import jax, jnp, lax
from phintys.backends.jax.host import show_host
from phintys.backends.jax.tracing import (
    MisfitError,
    NeedsKnownError,
    Trace,
    converts,
    is_known,
    makes_large,
    perform,
)
from phintys.control.fences import Fence
from phintys.gradient.marks import GradientMark
from phintys.tensor.creation import Alloc, AllocEmpty
from phintys.tensor.diagonals import AllocDiag, ExtractDiag
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.joining import Join, Split
from phintys.tensor.linear_algebra.assumptions import Assume
from phintys.tensor.observing import CheckAndRaise, Print
from phintys.tensor.ranges import ARange
from phintys.tensor.reshaping import Reshape
from phintys.tensor.scalar_bridge import MakeVector, ScalarFromTensor, TensorFromScalar
from phintys.tensor.shapes import Shape, ShapeI, SpecifyShape
from phintys.tensor.sharding import WithSharding
from phintys.tensor.size_check import SizeCheck

if TYPE_CHECKING:
    from phintys.graph.apply import Apply


@converts(Assume, Fence, GradientMark, ScalarFromTensor, TensorFromScalar)
def identity(op: Any, node: Apply, trace: Trace, *values: Any) -> list[Any]:
    """Return the inputs that are outputs."""
    return list(values[: len(node.outputs)])


@converts(WithSharding)
@makes_large
def with_sharding(op: WithSharding, node: Apply, trace: Trace, x: Any) -> Any:
    """A constraint, on which XLA's partitioner acts."""
    layout = trace.session.layout
    if layout is None or layout.mesh.size == 1:
        return x
    if reason := op.sharding.why_not(np.shape(x)):
        error = ShapeError(f"{op}: the value cannot be divided: {reason}.")
        add_note(error, f"It is used at\n  {node.origin}")
        raise error
    return jax.lax.with_sharding_constraint(x, layout.of(op.sharding))


@converts(DimShuffle)
def dim_shuffle(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """Drop axes of size 1, transpose, add axes."""
    kept = [axis for axis in op.new_order if axis != "x"]
    dropped = tuple(axis for axis in range(np.ndim(x)) if axis not in kept)
    if any(np.shape(x)[axis] != 1 for axis in dropped):
        raise MisfitError(node)
    found = jnp.transpose(lax.squeeze(jnp.asarray(x), dropped), np.argsort(np.argsort(kept)))
    return jnp.expand_dims(found, [i for i, axis in enumerate(op.new_order) if axis == "x"])


@converts(Shape)
def shape(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """Shapes are known."""
    return np.asarray(np.shape(x), "int64")


@converts(ShapeI)
def shape_i(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """Shapes are known."""
    return np.asarray(np.shape(x)[op.i], "int64")


@converts(SpecifyShape)
def specify_shape(op: Any, node: Apply, trace: Trace, x: Any, *stated: Any) -> Any:
    """Compare sizes that are known; those that are traced by a check."""
    for axis, size in zip(op._dims, stated, strict=True):
        given = np.shape(x)[axis]
        trace.check(size == given, node, lambda: MisfitError(node))
    return x


@converts(SizeCheck)
def size_check(op: Any, node: Apply, trace: Trace, size: Any, a: Any, b: Any) -> Any:
    """Compare two sizes."""
    if is_known(a) and is_known(b):
        if not op._holds(int(a), int(b)):
            raise op.error(int(a), int(b))
        return size
    match op.relation:
        case "equal":
            holds = a == b
        case "at least":
            holds = a >= b
        case "index":
            holds = (a >= -b) & (a < b)
        case _:
            raise NeedsKnownError(node, "a size", node.inputs[1:])
    trace.check(holds, node, lambda: op.error(-1, -1))
    return size


@converts(Reshape)
def reshape(op: Any, node: Apply, trace: Trace, x: Any, shape: Any) -> Any:
    """The shape must be known; NumPy finds the size that is -1."""
    if not is_known(shape):
        raise NeedsKnownError(node, "the shape", [node.inputs[1]])
    if len(shape) != op.ndim:
        raise MisfitError(node)
    try:
        # broadcast: it takes no memory to ask NumPy
        target = np.broadcast_to(np.zeros((), "bool"), np.shape(x)).reshape(tuple(shape)).shape
    except ValueError:
        raise MisfitError(node) from None
    found = jnp.reshape(x, target)
    given = trace.reversals.get(x)
    if given is not None and given[1] == 1 and target and not target[0] % len(x):
        trace.reversals[found] = jnp.reshape(given[0], target), target[0] // len(x)
    return found


@converts(Alloc)
@makes_large
def alloc(op: Any, node: Apply, trace: Trace, value: Any, *lengths: Any) -> Any:
    """Broadcast a value along axes whose static size is 1."""
    sizes = trace.sizes(node, lengths)
    value = jnp.asarray(value)
    static = node.inputs[0].type.shape  # pyright: ignore[reportAttributeAccessIssue]
    last = sizes[len(sizes) - value.ndim :]
    fits = all(
        known == 1 or given == size
        for known, given, size in zip(static, value.shape, last, strict=True)
    )
    if not fits or min(sizes, default=0) < 0:
        raise MisfitError(node)
    return jnp.broadcast_to(value, sizes)


@converts(AllocEmpty)
@makes_large
def alloc_empty(op: Any, node: Apply, trace: Trace, *lengths: Any) -> Any:
    """Zeros: memory without values does not exist here."""
    sizes = trace.sizes(node, lengths)
    if min(sizes, default=0) < 0:
        raise MisfitError(node)
    return jnp.zeros(sizes, op.dtype)


@converts(ARange)
@makes_large
def arange(op: Any, node: Apply, trace: Trace, start: Any, stop: Any, step: Any) -> Any:
    """A range of integers with step 1 is made on the device."""
    if not all(is_known(value) for value in (start, stop, step)):
        raise NeedsKnownError(node, "the length of a range", node.inputs)
    dtype = np.dtype(op.dtype)
    bounds = [np.asarray(value) for value in (start, stop, step)]
    if dtype.kind in "iu" and all(b.dtype.kind in "iu" for b in bounds) and int(step) == 1:
        first, last = int(start), int(stop)
        found = lax.iota(dtype, max(last - first, 0))
        found = found + np.asarray(first).astype(dtype) if first else found
        if last <= np.iinfo(dtype).max:
            trace.ranges[found] = first, last - 1
        return found
    return jnp.asarray(perform(node, bounds)[0])


@converts(MakeVector)
def make_vector(op: Any, node: Apply, trace: Trace, *elements: Any) -> Any:
    """Stack numbers."""
    if not elements:
        return np.zeros(0, op.dtype)
    return jnp.stack([jnp.asarray(element).astype(op.dtype) for element in elements])


@converts(Join)
def join(op: Any, node: Apply, trace: Trace, *tensors: Any) -> Any:
    """Join along one axis; the others have equal sizes."""
    others = {(*np.shape(t)[: op.axis], *np.shape(t)[op.axis + 1 :]) for t in tensors}
    if len(others) > 1:
        raise MisfitError(node)
    dtype = node.outputs[0].type.dtype  # pyright: ignore[reportAttributeAccessIssue]
    return jnp.concatenate([jnp.asarray(t).astype(dtype) for t in tensors], op.axis)


@converts(Split)
def split(op: Any, node: Apply, trace: Trace, x: Any, lengths: Any) -> list[Any]:
    """The sizes of the parts must be known."""
    if not is_known(lengths):
        raise NeedsKnownError(node, "the sizes of the parts", [node.inputs[1]])
    sizes = lengths.tolist()
    total = np.shape(x)[op.axis]
    if len(sizes) != op.n_splits or min(sizes) < 0 or sum(sizes) != total:
        raise MisfitError(node)
    return list(jnp.split(jnp.asarray(x), np.cumsum(sizes)[:-1], op.axis))


@converts(ExtractDiag)
def extract_diag(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """An offset beyond the matrix gives an empty diagonal."""
    rows, columns = np.shape(x)[-2:]
    return jnp.diagonal(x, min(max(op.offset, -rows), columns), -2, -1)


@converts(AllocDiag)
@makes_large
def alloc_diag(op: Any, node: Apply, trace: Trace, d: Any, *lengths: Any) -> Any:
    """Zeros beside a diagonal."""
    rows, columns = map(int, trace.sizes(node, lengths))
    d = jnp.asarray(d)
    op.shapes_of_results(node.inputs, [d.shape, (), ()], [None, rows, columns])  # raises misfits
    i = np.arange(d.shape[-1])
    zeros = jnp.zeros((*d.shape[:-1], rows, columns), d.dtype)
    return zeros.at[..., i + max(-op.offset, 0), i + max(op.offset, 0)].set(d)


@converts(CheckAndRaise)
@makes_large
def check_and_raise(op: Any, node: Apply, trace: Trace, value: Any, *conditions: Any) -> Any:
    """A condition on traced values becomes a code."""
    for condition in conditions:
        if is_known(condition) and not np.all(condition):
            raise op.error()
        trace.check(condition != 0, node, op.error)
    return value


@converts(Print)
@makes_large
def print_value(op: Any, node: Apply, trace: Trace, x: Any) -> Any:
    """Print at each call, not when the program is compiled."""

    def show(value: Any) -> None:
        try:
            perform(node, [value])
        except Exception as error:  # noqa: BLE001 - it is raised when the call returns
            trace.session.add_host_error(error)

    trace.session.use_host("Print", node, "it prints")
    show_host(show, [x])
    return x
