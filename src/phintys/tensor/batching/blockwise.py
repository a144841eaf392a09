"""Blockwise: an Op for one item, applied to all items of a batch, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import (
    ArgumentError,
    MethodNotDefinedError,
    OpContractError,
    ShapeError,
)
from phintys._base.records import record
from phintys.graph import contract
from phintys.graph.apply import Apply
from phintys.graph.compiler import link_graph
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.null_type import DisconnectedType, NullType, disconnected_type
from phintys.graph.op import Op
from phintys.graph.traversal import graph_inputs
from phintys.graph.variable import Variable
from phintys.tensor._rules import zero_gradient
from phintys.tensor.batching.engine import vectorize_graph
from phintys.tensor.batching.rules import batches
from phintys.tensor.batching.signatures import parse_signature
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import sum_to
from phintys.tensor.dim_shuffle import dimshuffle
from phintys.tensor.hints import broadcast_hint
from phintys.tensor.joining import stack
from phintys.tensor.shapes import sizes_of
from phintys.tensor.size_check import with_check
from phintys.tensor.sizes import as_size
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.fgraph import FunctionGraph as Graph
    from phintys.graph.inner import InnerProgram
    from phintys.tensor.batching.engine import Batch
    from phintys.tensor.batching.signatures import Signature


@record(eq=False)
class Core:
    """The Op of a Blockwise, applied to variables for one item.

    Attributes
    ----------
    inputs
        The variables.
    node
        The node.
    """

    inputs: list[Any]
    node: Any

    def __init__(self, op: Op, types: Sequence[Any]) -> None:
        self.inputs = [type_() for type_ in types]
        node = op.make_node(*self.inputs)
        if len(node.inputs) != len(self.inputs):
            msg = f"{op} makes nodes of {len(node.inputs)} inputs from {len(self.inputs)}."
            raise OpContractError(msg)
        self.node = node


class Blockwise(Op):
    """Apply an Op to each item of a batch.

    :func:`vectorize_graph` makes such nodes of Ops for which it knows no batched form. Compiled, it
    is a loop in native code if the Op has a native form, and calls the Op for each item if not.

    Parameters
    ----------
    core_op
        The Op for one item: a user's own, or any other.
    signature
        The axes of its inputs and outputs, in NumPy's notation; by default
        ``core_op.gufunc_signature``. Axes of one name have the same size. An input that is not a
        tensor is ``()``, and the same for all items.

    Notes
    -----
    The inputs can have any further axes in front, which broadcast against each other where one is
    missing or its size is known to be 1. All items must have results of the same shapes.

    The gradient and the R-operator are those of the Op, batched in turn.

    Examples
    --------
    >>> import numpy as np, phintys, phintys.tensor as pt
    >>> from phintys.graph import Apply, Op
    >>> from phintys.tensor.batching import Blockwise
    >>> class Median(Op):
    ...     '''The median of a vector.'''
    ...
    ...     __props__ = ()
    ...     gufunc_signature = "(n)->()"
    ...
    ...     def make_node(self, x):
    ...         return Apply(self, [pt.as_tensor_variable(x)], [pt.dscalar()])
    ...
    ...     def perform(self, node, inputs, output_storage):
    ...         output_storage[0][0] = np.asarray(np.median(inputs[0]))
    >>> x = pt.dmatrix("x")
    >>> phintys.function([x], Blockwise(Median())(x))([[1.0, 2.0, 9.0], [4.0, 5.0, 6.0]])
    array([2., 5.])
    """

    __props__ = ("core_op", "signature")

    def __init__(self, core_op: Op, signature: str | None = None) -> None:
        if not isinstance(core_op, Op):
            msg = (
                f"Blockwise applies an Op to each item, got {core_op!r}. Use pt.vectorize for a "
                "function of variables, and phintys.wrap_py for a function of values."
            )
            raise ArgumentError(msg)
        if signature is None:
            signature = getattr(core_op, "gufunc_signature", None)
        if signature is None:
            msg = (
                f"Blockwise needs the signature of {core_op}, such as '(m,n),(n)->(m)': pass it, "
                "or define it in the class of the Op as gufunc_signature."
            )
            raise ArgumentError(msg)
        self.dims: Signature = parse_signature(signature, f"The signature of {core_op}")
        self.core_op = core_op
        self.signature = signature
        self._cores: dict[tuple[Any, ...], Core] = {}
        self._programs: dict[tuple[Any, ...], tuple[InnerProgram, InnerProgram | None]] = {}

    def __str__(self) -> str:
        return f"Blockwise{{{self.core_op}, {self.signature}}}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.core_op, self.signature))

    # ---- nodes

    def make_node(self, *inputs: Any) -> Apply:
        """Apply to a batch for each input of the Op."""
        dims = self.dims
        if len(inputs) != len(dims.inputs):
            msg = f"{self} takes {len(dims.inputs)} inputs, got {len(inputs)}."
            raise ArgumentError(msg)
        operands: list[Any] = []
        for given, names in zip(inputs, dims.inputs, strict=True):
            is_other = isinstance(given, Variable) and not hasattr(given.type, "ndim")
            x: Any = given if is_other and not names else as_tensor_variable(given)
            if hasattr(x.type, "ndim") and x.ndim < len(names):
                msg = (
                    f"{self} takes items of rank {len(names)}, got {x} of type {x.type}. Its "
                    f"signature is {self.signature}."
                )
                raise ShapeError(msg)
            operands.append(x)
        ndim = max((self._rank(x, names) for x, names in self._pairs(operands)), default=0)
        operands = [
            dimshuffle(x, *["x"] * (ndim - rank), *range(x.ndim))
            if 0 <= (rank := self._rank(x, names)) < ndim
            else x
            for x, names in self._pairs(operands)
        ]
        leading = self._static_batch(operands, ndim)
        core = self.core(operands)
        outputs: list[Any] = []
        if len(core.node.outputs) != len(dims.outputs):
            msg = f"{self.core_op} has {len(core.node.outputs)} outputs, unlike {self.signature}."
            raise OpContractError(msg)
        for output, names in zip(core.node.outputs, dims.outputs, strict=True):
            if not isinstance(output.type, TensorType) or output.ndim != len(names):
                msg = (
                    f"{self}: {self.core_op} returns {output.type} for an item, which has the axes "
                    f"({','.join(map(str, names))}) by the signature."
                )
                raise OpContractError(msg)
            outputs.append(TensorType(output.dtype, (*leading, *output.type.shape))())
        return Apply(self, operands, outputs)

    def _pairs(self, operands: Sequence[Any]) -> Any:
        return zip(operands, self.dims.inputs, strict=True)

    def _rank(self, x: Any, names: Sequence[Any]) -> int:
        """Return how many axes of a batch an input has; -1 if it cannot have any."""
        return x.ndim - len(names) if isinstance(x.type, TensorType) else -1

    def batch_ndim(self, node: Apply) -> int:
        """Return the number of axes of the batch."""
        output: Any = node.outputs[0]
        return output.ndim - len(self.dims.outputs[0])

    def _static_batch(self, operands: Sequence[Any], ndim: int) -> list[int | None]:
        leading: list[int | None] = []
        tensors = [x for x in operands if isinstance(x.type, TensorType)]
        for dim in range(ndim):
            sizes = [x.type.shape[dim] for x in tensors]
            others = [size for size in sizes if size != 1]
            known = {size for size in others if size is not None}
            if len(known) > 1:
                raise self._misfit(tensors, [x.type.shape for x in tensors], dim)
            leading.append(1 if not others else next(iter(known), None))
        return leading

    def _misfit(self, operands: Sequence[Any], shapes: Sequence[Any], dim: int) -> ShapeError:
        lines = "".join(
            f"\n  {x}: shape {tuple(shape)}" for x, shape in zip(operands, shapes, strict=True)
        )
        hint = broadcast_hint(operands, shapes, dim)
        return ShapeError(f"{self}: the batches do not fit together.{lines}\n{hint}")

    def core(self, operands: Sequence[Any]) -> Core:
        """Return the Op applied to one item of given batches."""
        sizes: dict[Any, int] = {}
        for x, names in self._pairs(operands):
            own = x.type.shape[x.ndim - len(names) :] if names else ()
            for name, size in zip(names, own, strict=True):
                known = name if isinstance(name, int) else sizes.get(name)
                if None not in {known, size} and known != size:
                    shapes = "".join(f"\n  {one}: shape {one.type.shape}" for one in operands)
                    msg = (
                        f"{self}: the axis {name} of the signature has the sizes {known} and "
                        f"{size}.{shapes}"
                    )
                    raise ShapeError(msg)
                if size is not None:
                    sizes[name] = size
        types = tuple(
            x.type.clone(shape=x.type.shape[x.ndim - len(names) :])
            if isinstance(x.type, TensorType)
            else x.type
            for x, names in self._pairs(operands)
        )
        if types not in self._cores:
            self._cores[types] = Core(self.core_op, types)
        return self._cores[types]

    # ---- shapes

    def infer_shape(
        self, fgraph: Graph | None, node: Apply, input_shapes: Sequence[Any]
    ) -> list[Any]:
        """Return the sizes of the batch, and those of an item as its Op infers them."""
        ndim = self.batch_ndim(node)
        operands: list[Any] = list(node.inputs)
        leading: list[Any] = []
        checks: list[tuple[Any, Any]] = []
        for dim in range(ndim):
            wide = [
                shape[dim]
                for x, shape in zip(operands, input_shapes, strict=True)
                if shape is not None and x.type.shape[dim] != 1
            ]
            leading.append(wide[0] if wide else 1)
            checks += [(wide[0], other) for other in wide[1:]]
        items = [None if shape is None else shape[ndim:] for shape in input_shapes]
        found: list[Any] = []
        shapes = self._item_shapes(self.core(operands), items)
        for output, shape in zip(node.outputs, shapes, strict=True):
            own = sizes_of(output)[ndim:]
            sizes = [
                known if size is None else size for size, known in zip(shape, own, strict=True)
            ]
            whole: tuple[Any, ...] = (*leading, *sizes)
            for one, other in checks:
                whole = with_check(whole, "equal", one, other, f"{self}: the sizes of batches")
            found.append(tuple(as_size(size) for size in whole))
        return found

    def _item_shapes(self, core: Core, items: Sequence[Any]) -> list[Any]:
        """Return the shapes of the outputs for an item; ``None`` for sizes that values decide."""
        named: dict[Any, Any] = {}
        for names, shape in zip(self.dims.inputs, items, strict=True):
            for name, size in zip(names, shape or (), strict=False):
                named.setdefault(name, size)
        try:
            found = contract.infer_shape(None, core.node, items)
        except MethodNotDefinedError:
            found = [None] * len(core.node.outputs)
        values = set(core.inputs)
        shapes: list[Any] = []
        for output, names, shape in zip(core.node.outputs, self.dims.outputs, found, strict=True):
            sizes: list[Any] = []
            for dim, name in enumerate(names):
                size = output.type.shape[dim]
                if size is None and shape is not None:
                    size = shape[dim]
                    if isinstance(size, Variable) and values & set(graph_inputs([size])):
                        size = None
                sizes.append(named.get(name) if size is None else size)
            shapes.append(sizes)
        return shapes

    # ---- values

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Compute one item after the other."""
        ndim = self.batch_ndim(node)
        variables: list[Any] = list(node.inputs)
        leading = self._run_time_batch(variables, inputs, ndim)
        items = [
            np.broadcast_to(x, (*leading, *x.shape[ndim:]))
            if isinstance(variable.type, TensorType)
            else None
            for x, variable in zip(inputs, variables, strict=True)
        ]
        program = self._program(variables)
        results: list[Any] = []
        for position in np.ndindex(*leading):
            given = [
                x if item is None else np.array(item[position])  # the Op may overwrite it
                for x, item in zip(inputs, items, strict=True)
            ]
            found = program(given)
            if not results:
                results = [np.empty((*leading, *one.shape), one.dtype) for one in found]
            for number, (result, one) in enumerate(zip(results, found, strict=True)):
                if one.shape != result.shape[ndim:]:
                    raise self._ragged(number, position, one.shape, result.shape[ndim:])
                result[position] = one
        if not results:
            results = self._empty(node, inputs, leading)
        for cell, result in zip(output_storage, results, strict=True):
            cell[0] = result

    def _ragged(self, number: int, at: Any, shape: Any, first: Any) -> ShapeError:
        return ShapeError(
            f"{self}: the items of a batch must have results of one shape. Output {number} has the "
            f"shape {first} for the first item, and {shape} for item {list(at)}. Pad them to one "
            "shape, or use masks (pt.switch) instead of selecting elements."
        )

    def _run_time_batch(
        self, variables: Sequence[Any], inputs: Sequence[Any], ndim: int
    ) -> tuple[int, ...]:
        tensors = [
            (variable, x)
            for variable, x in zip(variables, inputs, strict=True)
            if isinstance(variable.type, TensorType)
        ]
        leading: list[int] = []
        for dim in range(ndim):
            wide = {x.shape[dim] for variable, x in tensors if variable.type.shape[dim] != 1}
            if len(wide) > 1:
                shapes = [x.shape for _, x in tensors]
                raise self._misfit([variable for variable, _ in tensors], shapes, dim)
            leading.append(wide.pop() if wide else 1)
        return tuple(leading)

    def _program(self, operands: Sequence[Any]) -> InnerProgram:
        core = self.core(operands)
        key = tuple(x.type for x in core.inputs)
        if key not in self._programs:
            self._programs[key] = (link_graph(_closed(core.inputs, core.node.outputs)), None)
        return self._programs[key][0]

    def _empty(self, node: Apply, inputs: Sequence[Any], leading: Sequence[int]) -> list[Any]:
        """Return results for no items, whose shapes are found without values."""
        core = self.core(node.inputs)
        ndim = len(leading)
        vectors: list[Any] = []
        for shape in self._item_shapes(core, [_sizes(x) for x in core.inputs]):
            if any(size is None for size in shape):
                msg = (
                    f"{self}: the batch is empty, and the shape of a result of {self.core_op} "
                    "depends on values. Define infer_shape in its class, or name the sizes in the "
                    "signature."
                )
                raise ShapeError(msg)
            vectors.append(stack([as_size(size) for size in shape]) if shape else _no_sizes())
        given = [
            np.zeros(value.shape[ndim:], value.dtype) if isinstance(x.type, TensorType) else value
            for x, value in zip(core.inputs, inputs, strict=True)
        ]
        shapes = link_graph(_closed(core.inputs, vectors))(given)
        types: list[Any] = [output.type for output in node.outputs]
        return [
            np.empty((*leading, *shape.tolist()), type_.numpy_dtype)
            for shape, type_ in zip(shapes, types, strict=True)
        ]

    # ---- derivatives

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return that of the Op."""
        return contract.connection_pattern(self.core(node.inputs).node)

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Batch the gradients of the Op, and sum those of inputs that are broadcast."""
        core = self.core(inputs)
        ndim = outputs[0].ndim - len(self.dims.outputs[0])
        replace: dict[Any, Any] = dict(zip(core.inputs, inputs, strict=True))
        replace.update(zip(core.node.outputs, outputs, strict=True))
        grads: list[Any] = []
        for g in output_grads:
            if isinstance(g.type, DisconnectedType | NullType):
                grads.append(g)
                continue
            item = g.type.clone(shape=g.type.shape[ndim:])()
            replace[item] = g
            grads.append(item)
        gradients = contract.input_gradients(core.node, grads)
        found: list[Any] = []
        for x, gradient in zip(inputs, gradients, strict=True):
            if isinstance(gradient.type, DisconnectedType):
                found.append(disconnected_type())
            elif isinstance(gradient.type, NullType):
                found.append(gradient)
            else:
                found.append(_fitted(vectorize_graph(gradient, replace), x))
        return found

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Batch the tangents of the Op."""
        core = self.core(inputs)
        replace: dict[Any, Any] = dict(zip(core.inputs, inputs, strict=True))
        outputs = self(*inputs, return_list=True)
        replace.update(zip(core.node.outputs, outputs, strict=True))
        points: list[Any] = []
        for item, point in zip(core.inputs, eval_points, strict=True):
            if point is None:
                points.append(None)
                continue
            points.append(item.type() if point.dtype == item.dtype else _like(item, point))
            replace[points[-1]] = point
        found: list[Any] = []
        for tangent, output in zip(contract.push_forward(core.node, points), outputs, strict=True):
            if tangent is None or isinstance(tangent.type, NullType):
                found.append(tangent)
                continue
            batched = vectorize_graph(tangent, replace)
            found.append(
                batched if batched.ndim == output.ndim else batched + zero_gradient(output)
            )
        return found


def _like(item: Any, point: Any) -> Any:
    return item.type.clone(dtype=point.dtype)()


def _fitted(gradient: Any, x: Any) -> Any:
    """Return the gradient for an input from those of the items."""
    if gradient.ndim < x.ndim:
        return gradient + zero_gradient(x)
    return sum_to(gradient, x)


def _sizes(x: Any) -> Any:
    return sizes_of(x) if isinstance(x.type, TensorType) else None


def _no_sizes() -> Any:
    return as_tensor_variable(np.zeros(0, "int64"))


def _closed(inputs: Sequence[Any], outputs: Sequence[Any]) -> FunctionGraph:
    return FunctionGraph(list(inputs), list(outputs))


# ---- the rule of all other Ops -----------------------------------------------------------------


@batches(Blockwise)
def batch_blockwise(node: Any, batch: Batch) -> list[Any]:
    """The axes of one batch come before those of the other."""
    return node.op(*(batch.padded(at) for at in range(len(batch.inputs))), return_list=True)


@batches(Op)
def batch_any(node: Any, batch: Batch) -> list[Any]:
    """Compute one item after the other."""
    op = node.op
    for output in node.outputs:
        if not isinstance(output.type, TensorType):
            msg = (
                f"{op} has an output of type {output.type}, and only tensors can be stacked: it "
                "has no batched form. Register a rule for its class with "
                "phintys.tensor.batching.batches."
            )
            raise ArgumentError(msg)
    signature = getattr(op, "gufunc_signature", None) or signature_of(node)
    return Blockwise(op, signature)(*batch.inputs, return_list=True)


def signature_of(node: Any) -> str:
    """Return a signature in which each axis has a name of its own."""
    inputs = _groups(node.inputs, "i")
    return f"{inputs}->{_groups(node.outputs, 'o')}"


def _groups(variables: Sequence[Any], letter: str) -> str:
    ranks = [getattr(x.type, "ndim", 0) for x in variables]
    starts = [sum(ranks[:at]) for at in range(len(ranks))]
    return ",".join(
        f"({','.join(f'{letter}{start + dim}' for dim in range(rank))})"
        for start, rank in zip(starts, ranks, strict=True)
    )
