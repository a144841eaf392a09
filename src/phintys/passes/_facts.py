"""What rules ask of tensors: values, equal sizes, compatible results, forms such as 1 + x."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.scalar as ps
from phintys.graph.alias_map import is_overwritten
from phintys.graph.variable import Constant, Variable
from phintys.rewriting import NOT_CONSTANT, Operand, set_constant_reader
from phintys.tensor import math
from phintys.tensor.convert import constant
from phintys.tensor.creation import Alloc
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import Elemwise, elemwise
from phintys.tensor.indexing.basic import Subtensor
from phintys.tensor.indexing.template import Slice
from phintys.tensor.shape_rules import KeepsShape, ShapedOp, SizeSources
from phintys.tensor.shapes import Shape, ShapeI, SpecifyShape
from phintys.tensor.size_check import unchecked_size
from phintys.tensor.type import TensorType
from phintys.tensor.variable import TensorConstant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.scalar.op import ScalarOp


UNIFORM = (Operand.CONSTANT, DimShuffle, Alloc, elemwise(ps.second))
"""Operands for which :func:`uniform_value` can find a value, for ``operands`` of a rule."""

REPEATING = (elemwise(ps.second), Alloc)
"""Operands for which :func:`broadcast_source` can find a source, for ``operands`` of a rule."""

# How far definitions are followed. Beyond this, a rule merely does not apply.
_MOST_STEPS = 32
_WHOLE = tuple(Slice(None, None, step) for step in (None, 1, -1))
_LARGEST_LOOKED_AT = 4096  # elements of a constant that are checked for equality


def kind(variable: Any) -> str:
    """Return the kind of a tensor's dtype, a letter of ``"biufc"``."""
    return variable.type.numpy_dtype.kind


# ---- nodes -------------------------------------------------------------------------------------


def operands(node: Apply) -> list[Any]:
    """Return the inputs of a node on tensors, which have dtypes and shapes."""
    return node.inputs  # ensured by its Op


def output_type(node: Apply) -> TensorType:
    """Return the type of the (first) output of a node on tensors."""
    found = node.outputs[0].type
    assert isinstance(found, TensorType)
    return found


def is_pure(node: Apply | None) -> bool:
    """Return whether a node is elementwise and overwrites nothing."""
    return node is not None and isinstance(node.op, Elemwise) and not node.op.inplace_pattern


def scalar_op(node: Apply) -> ScalarOp:
    """Return the scalar op of an elementwise node."""
    assert isinstance(node.op, Elemwise)
    return node.op.scalar_op


def scalar_node(variable: Variable, *ops: ScalarOp) -> Apply | None:
    """Return the node of a variable, if it is elementwise (and pure) with one of ``ops``."""
    node = variable.owner
    if node is None:
        return None
    op = node.op
    if not isinstance(op, Elemwise) or op.inplace_pattern:
        return None
    mine = op.scalar_op
    for one in ops:
        if mine is one:  # ops of the table are unique; comparing them takes far longer
            return node
    return None


def has_one_client(fgraph: FunctionGraph, variable: Variable) -> bool:
    """Return whether a variable has exactly one use, by a node or as an output."""
    return len(fgraph.clients[variable]) == 1


# ---- values ------------------------------------------------------------------------------------


def as_value(number: Any, type_: TensorType) -> Any:
    """Return a number as a 0-d constant of the dtype of ``type_``."""
    return constant(np.asarray(number, type_.numpy_dtype))


def keeps_digits(result: Any, given: Iterable[Any]) -> bool:
    """Return whether a result computed from finite constants is finite and has not underflowed.

    False for a result computed from infinities or NaN: such constants are not combined.
    """
    if result.dtype.kind not in "fc":
        return True
    finite = bool(np.isfinite(result).all() and all(np.isfinite(value).all() for value in given))
    size = np.abs(result)
    return finite and not bool(((size > 0) & (size < np.finfo(result.dtype).tiny)).any())


def is_moderate(value: Any) -> bool:
    """Return whether a factor changes magnitudes by at most 1000, so that it can be moved.

    Values that were far from overflow then remain far from it.
    """
    size = np.abs(value)
    return bool(((size >= 1e-3) & (size <= 1e3)).all())


def uniform_value(variable: Variable) -> Any:
    """Return the one value that all elements of a tensor are known to have.

    Sees through fills, broadcasts and dimshuffles.

    Returns
    -------
    numpy.generic
        Or :data:`~phintys.rewriting.NOT_CONSTANT`. The value of a non-tensor is returned as is.
    """
    for _ in range(_MOST_STEPS):
        if isinstance(variable, TensorConstant):
            return _uniform(variable)
        if isinstance(variable, Constant):
            return variable.data
        node = variable.owner
        if node is None:
            break
        op = node.op
        if isinstance(op, Elemwise):
            if op.scalar_op is not ps.second:
                break
            variable = node.inputs[1]
        elif isinstance(op, DimShuffle | Alloc):
            variable = node.inputs[0]
        else:
            break
    return NOT_CONSTANT


def _uniform(constant: TensorConstant) -> Any:
    if constant.data.size > _LARGEST_LOOKED_AT:
        return NOT_CONSTANT
    value = constant.unique_value
    return NOT_CONSTANT if value is None else value


def is_uniformly(variable: Variable, number: float) -> bool:
    """Return whether all elements of a tensor are known to be ``number``."""
    value = uniform_value(variable)
    return value is not NOT_CONSTANT and bool(value == number)


set_constant_reader(uniform_value)


_MANTISSA = {"float16": 11, "float32": 24, "float64": 53, "complex64": 24, "complex128": 53}


def holds_exactly(dtype: str, other: str) -> bool:
    """Return whether every value of a dtype is preserved by a cast to another one.

    Unlike in NumPy, the cast from int64 to float64 is not safe here, because it rounds.

    Examples
    --------
    >>> holds_exactly("int32", "float64"), holds_exactly("int64", "float64")
    (True, False)
    """
    if dtype in {other, "bool"}:
        return True
    if other == "bool":
        return False
    here, there = np.dtype(dtype), np.dtype(other)
    if here.kind in "iu":
        if there.kind in "iu":
            return bool(np.can_cast(here, there, "safe"))
        bits = 8 * here.itemsize - (here.kind == "i")
        return bits <= _MANTISSA[other]
    if there.kind in "iu" or (here.kind == "c" and there.kind != "c"):
        return False
    return _MANTISSA[dtype] <= _MANTISSA[other]


# ---- sizes -------------------------------------------------------------------------------------


def _origin_of_size(variable: Any, dim: int) -> Any:
    """Return a key that is equal for two dimensions only if they have the same size.

    An int if the size is known, else the id of a variable and one of its dimensions, or the id of a
    variable that is the size.
    """
    for _ in range(_MOST_STEPS):
        size = variable.type.shape[dim]
        node = variable.owner
        if size is not None:
            return size
        if node is None:
            break
        if isinstance(node.op, DimShuffle):
            entry = node.op.new_order[dim]
            assert isinstance(entry, int)  # "x" has size 1
            variable, dim = node.inputs[0], entry
        elif isinstance(node.op, Elemwise):
            variable = next((x for x in node.inputs if x.type.shape[dim] != 1), None)
            if variable is None:
                break
        elif isinstance(node.op, SpecifyShape):
            variable = node.inputs[0]
        else:
            source = _source_of_size(variable, dim)
            if isinstance(source, Variable):
                asked = _asked_for(source)
                if asked is None:
                    return (id(source), None)
                source = asked
            if not isinstance(source, tuple):
                return (id(variable), dim) if source is None else source
            variable, dim = source
    return (id(variable), dim)


def _source_of_size(variable: Any, dim: int) -> Any:
    """Return where a node that raises no error, or an Alloc, takes the size of a result from.

    It is a tensor with one of its dimensions, an int, or a variable that is the size; ``None`` if
    the size is computed.
    """
    node = variable.owner
    op = node.op
    if isinstance(op, Alloc):
        return node.inputs[1 + dim]
    # The errors of a Subtensor are all in its rule: indices, and steps that could be 0.
    raises = not (isinstance(op, KeepsShape | Subtensor) or op.raises_only_for_shapes)
    if raises or not isinstance(op, ShapedOp):
        return None
    sources = SizeSources(node.inputs)
    found = op.output_shapes(sources)[variable.index][dim]
    return None if sources.is_checked else found


def _asked_for(size: Variable) -> tuple[Any, int] | None:
    """Return the tensor and dimension whose size an expression is, or ``None``."""
    node = unchecked_size(size).owner
    if node is None:
        return None
    if isinstance(node.op, ShapeI):
        return node.inputs[0], node.op.i
    source = node.inputs[0].owner if isinstance(node.op, Subtensor) else None
    if source is None or not isinstance(source.op, Shape):
        return None
    assert isinstance(node.op, Subtensor)
    index = node.op.idx_list[0] if node.op.idx_list else None
    x: Any = source.inputs[0]
    return (x, range(x.type.ndim)[index]) if isinstance(index, int) else None


def same_size(a: Variable, b: Variable, dim: int) -> bool:
    """Return whether two tensors are known to have the same size in a dimension.

    The sizes are equal statically, or derived from the same size; a size that is statically 1 only
    equals another such size.
    """
    one, other = _origin_of_size(a, dim), _origin_of_size(b, dim)
    return one == other


def is_size_of(size: Variable, variable: Any, dim: int) -> bool:
    """Return whether an expression is known to be the size of a tensor in a dimension."""
    asked = _asked_for(size)
    mine = (id(size), None) if asked is None else _origin_of_size(*asked)
    return mine == _origin_of_size(variable, dim)


def sizes_covered(dropped: Any, kept: Iterable[Any]) -> bool:
    """Return whether dropping an operand of an elementwise node leaves the shape unchanged.

    In each dimension in which the operand does not broadcast, one of the remaining operands must be
    known to have its size. Then neither the shape of the result changes nor is an error about
    mismatched shapes lost.
    """
    kept = list(kept)
    return all(
        size == 1 or any(same_size(dropped, x, dim) for x in kept)
        for dim, size in enumerate(dropped.type.shape)
    )


def broadcast_source(variable: Any) -> Any:
    """Return the source of a fill or broadcast, with the same rank; ``None`` for anything else."""
    node = variable.owner
    if node is None:
        return None
    op = node.op
    if isinstance(op, Elemwise):
        return node.inputs[1] if op.scalar_op is ps.second and not op.inplace_pattern else None
    if isinstance(op, Alloc):
        value: Any = node.inputs[0]
        missing = variable.ndim - value.ndim
        return value.dimshuffle(*("x",) * missing, *range(value.ndim)) if missing else value
    return None


# ---- results -----------------------------------------------------------------------------------


def as_result(fgraph: FunctionGraph, node: Apply, value: Any) -> list[Variable] | None:
    """Return ``value`` as the replacement of a node's only output, cast if necessary.

    Returns
    -------
    list of Variable
        Or ``None`` if the value cannot replace the output: it has another rank, less static
        information, or a static size of 1 that the output's type does not have, which would allow
        broadcasting. Also if the memory of the output is overwritten, since ``value`` may be used
        elsewhere.
    """
    wanted = output_type(node)
    if is_overwritten(fgraph, node.outputs[0]):
        return None
    if value.type.dtype != wanted.dtype:
        if kind(value) == "c":
            return None
        value = elemwise(ps.CASTS[wanted.dtype])(value)
    return [value] if fits(wanted, value.type) else None


def all_results(node: Apply, values: list[Any]) -> list[Variable | None] | None:
    """Return values as the replacements of all outputs of a node, if they can be that."""
    types: list[Any] = [variable.type for variable in node.outputs]
    fit = all(
        value is None or fits(type_, value.type) for type_, value in zip(types, values, strict=True)
    )
    return values if fit else None


def fits(wanted: TensorType, given: TensorType) -> bool:
    """Return whether a variable of type ``given`` can replace one of type ``wanted``."""
    return wanted == given or (
        wanted.is_super(given) and wanted.broadcastable == given.broadcastable
    )


def argument(variable: Variable, *ops: ps.ScalarOp) -> Any:
    """Return x where ``variable`` is op(x) and real, computed in the dtype of x; else ``None``."""
    node = None if variable.owner is None else scalar_node(variable, *ops)
    if node is None:
        return None
    (x,) = operands(node)
    return x if kind(x) == "f" and x.dtype == output_type(node).dtype else None


def is_same(x: Any, y: Any, levels: int = 2) -> bool:
    """Return whether two variables are identical, or equal but not merged yet."""
    if x is y:
        return True
    one, other = x.owner, y.owner
    if one is None or other is None:
        return isinstance(x, TensorConstant) and isinstance(y, TensorConstant) and x.equals(y)
    return (
        levels > 0
        and x.index == y.index
        and one.op == other.op
        and len(one.inputs) == len(other.inputs)
        and all(is_same(a, b, levels - 1) for a, b in zip(one.inputs, other.inputs, strict=True))
    )


def factors(node: Apply) -> list[Any]:
    """Return the factors of a product, and of nested products of the same dtype.

    A subproduct that several products share is a node of its own, so that related factors can be
    one level apart.
    """
    dtype = output_type(node).dtype
    found: list[Any] = []
    for x in operands(node):
        inner = scalar_node(x, ps.mul) if x.dtype == dtype else None
        if inner is not None and all(y.dtype == dtype for y in operands(inner)):
            found.extend(inner.inputs)
        else:
            found.append(x)
    return found


def sum_without(node: Apply, number: float) -> Any:
    """Return the sum of a node's operands except one that is ``number``; ``None`` if none is."""
    inputs = operands(node)
    for position, operand in enumerate(inputs):
        rest = [*inputs[:position], *inputs[position + 1 :]]
        if (
            rest
            and is_uniformly(operand, number)
            and sizes_covered(operand, rest)
            and all(kind(x) == "f" for x in rest)
        ):
            rest[0] = math.cast(rest[0], output_type(node).dtype)
            return rest[0] if len(rest) == 1 else math.add(*rest)
    return None


def minus_one(node: Apply) -> Any:
    """Return x where an elementwise node computes x - 1 or x + -1, else ``None``."""
    if scalar_op(node) is ps.add:
        return sum_without(node, -1) if len(node.inputs) == 2 else None
    x, y = operands(node)
    return x if is_uniformly(y, 1) and sizes_covered(y, [x]) else None


def taken_from_one(node: Apply) -> Any:
    """Return x where an elementwise node computes 1 - x or 1 + -x, else ``None``."""
    if scalar_op(node) is ps.sub:
        one, x = operands(node)
        fits = is_uniformly(one, 1) and sizes_covered(one, [x])
        return math.cast(x, output_type(node).dtype) if fits and kind(x) == "f" else None
    rest = sum_without(node, 1)
    return None if rest is None else argument(rest, ps.neg)
