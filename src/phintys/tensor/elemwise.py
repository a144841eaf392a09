"""Elemwise: a scalar op applied to each element of its operands."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phintys._base.caches import remember
from phintys._base.config import config
from phintys._base.dropped import WeakValues
from phintys._base.errors import OpContractError, ShapeError
from phintys._base.late import LateModule
from phintys._base.locks import ProcessLock
from phintys.graph.apply import Apply
from phintys.graph.null_type import DisconnectedType, NullType
from phintys.graph.op import Op
from phintys.graph.sources import made_from, note_sources
from phintys.graph.variable import Variable
from phintys.scalar.arithmetic import true_div
from phintys.scalar.cancelling import without_root
from phintys.scalar.op import ScalarOp, register_lift
from phintys.scalar.row import Row
from phintys.tensor._operators import operators
from phintys.tensor.convert import convert_operands
from phintys.tensor.hints import operands_misfit
from phintys.tensor.shape_rules import Misfit, S, ShapedOp, Shapes
from phintys.tensor.type import TensorType
from phintys.tensor.variable import TensorConstant, TensorMethods

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from phintys.tensor import documentation
    from phintys.tensor.variable import TensorVariable
else:
    documentation = LateModule("phintys.tensor.documentation")

_MOST_LITERALS = 512


class _OfFunctions:
    """An attribute that is computed for instances of a class and has another value on the class.

    Parameters
    ----------
    of_class
        The value on the class, and the fallback where there is nothing to report for an instance.
    worker
        Name of the function in :mod:`phintys.tensor.documentation` that computes it.
    """

    def __init__(self, of_class: Any, worker: str) -> None:
        self.of_class = of_class
        self.worker = worker

    def __get__(self, instance: Elemwise | None, owner: type) -> Any:
        if instance is None:
            return self.of_class
        found = getattr(documentation, self.worker)(instance)
        return self.of_class if found is None else found


class Elemwise(ShapedOp):
    """Apply a scalar op to each element, broadcasting the operands.

    Operands of lower rank get dimensions of size 1 in front. A dimension broadcasts if its static
    size is 1; sizes that differ at run time raise :class:`ShapeError`.

    Parameters
    ----------
    scalar_op
        The operation on one element of each operand.
    inplace_pattern
        Output index -> index of the operand whose memory it overwrites.

    Examples
    --------
    >>> import phintys.scalar as ps
    >>> import phintys.tensor as pt
    >>> hypot = pt.Elemwise(ps.hypot)
    >>> hypot(pt.vector("x"), 1.0).type
    Vector(float64, shape=(?,))
    """

    __props__ = ("scalar_op", "inplace_pattern")
    raises_only_for_shapes = True
    reuses_operands = True

    # The signature and docstring of a function on instances; the class keeps its own.
    __doc__: Any = _OfFunctions(__doc__, "documentation_of")
    __signature__ = _OfFunctions(None, "signature_of")

    def __init__(
        self,
        scalar_op: ScalarOp,
        inplace_pattern: Mapping[int, int] | None = None,
        name: str | None = None,
    ) -> None:
        if not isinstance(scalar_op, ScalarOp):
            msg = f"Elemwise takes a scalar op, got {scalar_op!r}."
            raise OpContractError(msg)
        self.scalar_op = scalar_op
        self.function_name = scalar_op.name or ""
        self.inplace_pattern = dict(inplace_pattern or {})
        if self.inplace_pattern:
            self.destroy_map = {out: [into] for out, into in self.inplace_pattern.items()}
        self.name = name
        self._hash = hash((Elemwise, scalar_op, tuple(sorted(self.inplace_pattern.items()))))
        self._output_types: dict[tuple[TensorType, ...], tuple[TensorType, ...]] = {}
        self._kernels: dict[tuple[np.dtype[Any], ...], Callable[..., Any]] = {}
        self._literals: dict[Any, list[Any]] = {}
        self.nout = scalar_op.nout

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            type(self) is type(other)
            and isinstance(other, Elemwise)
            and self.scalar_op == other.scalar_op
            and self.inplace_pattern == other.inplace_pattern
        )

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        # String hashes differ between processes; the caches can be rebuilt.
        for name in ("_hash", "_output_types", "_kernels", "_literals", "function_name"):
            del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.function_name = self.scalar_op.name or ""
        self._hash = hash((Elemwise, self.scalar_op, tuple(sorted(self.inplace_pattern.items()))))
        self._output_types = {}
        self._kernels = {}
        self._literals = {}

    if TYPE_CHECKING:

        def __call__(self, *inputs: Any, name: str | None = None, **options: Any) -> TensorVariable:
            """Apply the op; several outputs are returned as a list."""
            ...

    # ---- facts -------------------------------------------------------------------------------

    def inplace_twins(self, node: Apply) -> Iterator[Op]:
        """Yield the Ops that overwrite an operand of the same type as the result."""
        if self.inplace_pattern or self.nout != 1:
            return
        wanted: Any = node.outputs[0].type
        for position, variable in enumerate(node.inputs):
            given: Any = variable.type
            if given.dtype == wanted.dtype and given.shape == wanted.shape and wanted.ndim:
                yield _twin(self.scalar_op, position)

    def static_value(self, node: Any, known: Sequence[Any]) -> int | tuple[int, ...] | None:
        """Compute with the op itself, in the dtypes of the graph."""
        output = node.outputs[0].type
        if len(node.outputs) != 1 or output.ndim > 1 or output.numpy_dtype.kind not in "iu":
            return None
        values: list[Any] = []
        for x, value in zip(node.inputs, known, strict=True):
            if value is None or (isinstance(value, tuple) and None in value):
                return None
            values.append(np.array(value, dtype=x.type.numpy_dtype))
        with np.errstate(all="ignore"):
            result = np.asarray(self.scalar_op.impl(*values))
        if result.dtype.kind not in "iu" or result.ndim != output.ndim:
            return None
        return int(result) if result.ndim == 0 else tuple(result.tolist())

    # ---- types -------------------------------------------------------------------------------

    def make_node(self, *inputs: Any, **named: Any) -> Apply:
        """Apply to tensors and numbers of any ranks, with dtypes that the scalar op accepts.

        Operands may be given by the names in the documentation of the function; ``dtype`` is the
        dtype to compute in, as for NumPy's ufuncs.
        """
        if named:
            dtype = named.pop("dtype", None)
            if named:
                inputs = documentation.operands_by_name(self, inputs, named)
            if dtype is not None:
                inputs = documentation.operands_in_dtype(self, inputs, dtype)
        operands: Sequence[Any] = inputs
        try:
            output_types = self._output_types[tuple([x.type for x in inputs])]
        except (AttributeError, KeyError):
            operands, output_types = self._prepare(inputs)
        return Apply(self, operands, [output_type() for output_type in output_types])

    def _prepare(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], tuple[TensorType, ...]]:
        """Return the operands as tensors of equal rank, and the types of the outputs."""
        nin = self.scalar_op.nin
        if not inputs or (nin >= 0 and len(inputs) != nin):
            wanted = "one or more operands" if nin < 0 else f"{nin} operand{'s' * (nin != 1)}"
            msg = f"{self} takes {wanted}, got {len(inputs)}."
            raise OpContractError(msg)
        key, known = self._known_literals(inputs)
        if known is not None:
            inputs = [
                x if constant is None else TensorConstant.trusted(constant.type, constant.data)
                for x, constant in zip(inputs, known, strict=True)
            ]
        else:
            given = inputs
            inputs = convert_operands(self.scalar_op, inputs)
            ndim = max([x.type.ndim for x in inputs])
            inputs = [x if x.type.ndim == ndim else pad_rank(x, ndim) for x in inputs]
            if key is not None:
                self._remember_literals(key, given, inputs)
        types = tuple([x.type for x in inputs])
        output_types = self._output_types.get(types)
        if output_types is None:
            output_types = remember(self._output_types, types, self._infer_types(inputs, types))
        return inputs, output_types

    def _known_literals(self, inputs: Sequence[Any]) -> tuple[Any, Any]:
        """Return a key for these operands, and the constants made of the literals among them.

        Programs use few literals, many times over, such as the 2 in ``x ** 2``. The constants most
        recently made are cached. There is no key if an operand is neither a tensor nor a plain
        number, does not equal itself (NaN), or equals a different value (-0.0).
        """
        parts: list[Any] = [self.scalar_op.nin]
        for x in inputs:
            kind = type(x)
            if kind is int or (kind is float and x == x and (x or math.copysign(1.0, x) > 0)):  # noqa: PLR0124 - NaN
                parts.append((kind, x))
            elif isinstance(x, TensorMethods):
                parts.append(x.type)
            else:
                return None, None
        key = (*parts, config.floatX)
        return key, self._literals.get(key)

    def _remember_literals(self, key: Any, given: Sequence[Any], inputs: Sequence[Any]) -> None:
        if any(x is not y for x, y in zip(given, inputs, strict=True) if isinstance(x, Variable)):
            return  # an operand changed its rank, which does not belong in a table of constants
        if len(self._literals) >= _MOST_LITERALS:
            self._literals.clear()
        self._literals[key] = [
            None if isinstance(x, Variable) else y for x, y in zip(given, inputs, strict=True)
        ]

    def _infer_types(
        self, inputs: Sequence[Any], types: tuple[TensorType, ...]
    ) -> tuple[TensorType, ...]:
        dtypes = self.scalar_op.resolve_dtypes(tuple(type_.numpy_dtype for type_ in types))
        shapes = self.static_shapes(inputs)
        output_types = tuple(map(TensorType, dtypes, shapes))
        for output, into in self.inplace_pattern.items():
            self._check_inplace(inputs[into], types[into], output_types[output])
        return output_types

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Take each size from the operands that do not broadcast in that dimension."""
        sizes: list[S] = []
        for dim in range(shapes.inputs[0].type.ndim):
            wide = [
                shape[dim]
                for position, shape in enumerate(shapes.shapes)
                if not shapes.broadcasts(position, dim)
            ]
            misfit = Misfit.in_dimension("broadcast", dim)
            sizes.append(shapes.agreed(wide, misfit) if wide else shapes.number(1))
        return [tuple(sizes)] * self.nout

    def misfit_error(self, misfit: Misfit, shapes: Shapes[Any]) -> ShapeError:
        """Show the operands, and how to make them broadcast."""
        return operands_misfit(str(self), shapes.inputs, shapes.shapes, misfit.dim)

    def _check_inplace(self, variable: Any, given: TensorType, output: TensorType) -> None:
        if given.dtype != output.dtype:
            msg = (
                f"{self} cannot work in place on {variable}: it is of dtype {given.dtype} and the "
                f"result of {output.dtype}."
            )
            raise OpContractError(msg)
        grows = [
            dim
            for dim, (before, after) in enumerate(zip(given.shape, output.shape, strict=True))
            if before == 1 and after != 1
        ]
        if grows:
            msg = (
                f"{self} cannot work in place on {variable}: it broadcasts in dimension "
                f"{grows[0]}, so the result is larger than its memory."
            )
            raise OpContractError(msg)

    # ---- values ------------------------------------------------------------------------------

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Compute with NumPy, into the memory of a former result where possible."""
        shape = inputs[0].shape
        for value in inputs:
            if value.shape != shape:
                shapes = [one.shape for one in inputs]
                shape = self.shapes_of_results(node.inputs, shapes)[0]
                break
        dtypes = tuple([value.dtype for value in inputs])
        kernel = self._kernels.get(dtypes)
        if kernel is None:
            kernel = self._kernels[dtypes] = self.scalar_op.kernel(dtypes)
        if self.nout != 1 or self.inplace_pattern:
            self._perform_into(kernel, node, inputs, output_storage, shape)
            return
        cell = output_storage[0]
        former = cell[0]
        if former is not None and self._can_reuse(former, node.outputs[0].type, shape):
            _compute_into(kernel, inputs, [former])
            return
        result = kernel(*inputs)
        if not shape:
            result = np.asarray(result)  # ufuncs return NumPy scalars
        cell[0] = _own(result, inputs) if self.scalar_op.ufunc is None else result

    @staticmethod
    def _can_reuse(former: Any, output_type: Any, shape: tuple[int, ...]) -> bool:
        return (
            former.shape == shape
            and former.dtype == output_type.numpy_dtype
            and former.flags.writeable
        )

    def _perform_into(
        self,
        kernel: Callable[..., Any],
        node: Apply,
        inputs: Sequence[Any],
        output_storage: Sequence[list[Any]],
        shape: tuple[int, ...],
    ) -> None:
        """Compute several outputs, or outputs that overwrite operands."""
        targets: list[Any] = []
        outputs = cast("list[Any]", node.outputs)
        for index, (cell, variable) in enumerate(zip(output_storage, outputs, strict=True)):
            into = self.inplace_pattern.get(index)
            if into is not None:
                targets.append(inputs[into])
            elif cell[0] is not None and self._can_reuse(cell[0], variable.type, shape):
                targets.append(cell[0])
            else:
                targets.append(np.empty(shape, variable.type.numpy_dtype))
        _compute_into(kernel, inputs, targets)
        for cell, target in zip(output_storage, targets, strict=True):
            cell[0] = target

    # ---- derivatives -------------------------------------------------------------------------

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Variable]:
        """Apply the scalar op's derivative rule and sum over broadcast dimensions."""
        gradients = operators.pull_back_guarded(self.scalar_op, inputs, outputs, output_grads)
        return [
            self._sum_broadcast(gradient, variable, outputs[0])
            for gradient, variable in zip(gradients, inputs, strict=True)
        ]

    def _sum_broadcast(self, gradient: Any, variable: Any, output: Any) -> Any:
        if isinstance(gradient.type, NullType | DisconnectedType):
            return gradient
        if gradient.type.ndim != variable.type.ndim:
            return operators.zeros_like(variable, gradient.dtype) + gradient
        axes = [
            dim
            for dim, (before, after) in enumerate(
                zip(variable.type.shape, gradient.type.shape, strict=True)
            )
            if before == 1 and after != 1
        ]
        if not axes:
            return gradient
        node = gradient.owner
        if _is_quotient(node) and node.inputs[1] is variable:  # of a log: one division suffices
            total = operators.sum(node.inputs[0], axis=axes, keepdims=True)
            return node.op(total, variable)
        parts = without_root(gradient, variable)
        if parts is not None and parts[0].type.shape == gradient.type.shape:
            # In the sum, the root could not cancel a divisor of its own derivative.
            return operators.sum(parts[0], axis=axes, keepdims=True) * parts[1]
        return operators.sum(gradient, axis=axes, keepdims=True)

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Apply the scalar op's derivative rule, and broadcast to the shape of the result."""
        tangents = self.scalar_op.R_op(inputs, eval_points)
        return [self._broadcast_tangent(tangent, inputs) for tangent in tangents]

    def _broadcast_tangent(self, tangent: Any, inputs: Sequence[Any]) -> Any:
        """Expand a tangent that depends on some of the operands to the common shape."""
        if tangent is None or isinstance(tangent.type, NullType | DisconnectedType):
            return tangent
        sizes = zip(*(variable.type.shape for variable in inputs), strict=True)
        grows = any(
            own == 1 and any(size != 1 for size in others)
            for own, others in zip(tangent.type.shape, sizes, strict=True)
        )
        if not grows:
            return tangent
        output = self(*inputs)
        return operators.fill(output[0] if isinstance(output, list) else output, tangent)

    @property
    def connection_pattern(self) -> Callable[[Apply], list[list[bool]]]:
        """The scalar op's pattern; absent, as for most ops, if every operand is connected."""
        return self.scalar_op.connection_pattern  # pyright: ignore[reportAttributeAccessIssue]

    def flops(self, input_shapes: Sequence[Any], output_shapes: Sequence[Any]) -> float:
        """Return the cost of the scalar op for all elements."""
        return math.prod(output_shapes[0]) * self.scalar_op.cost

    def __str__(self) -> str:
        return str(self.scalar_op).capitalize() if self.name is None else self.name

    def __repr__(self) -> str:
        if self.name is not None or not self.inplace_pattern:
            return str(self)
        into = ", ".join(f"{out}->{arg}" for out, arg in self.inplace_pattern.items())
        return f"{self}{{inplace {into}}}"


def _is_quotient(node: Any) -> bool:
    return node is not None and isinstance(node.op, Elemwise) and node.op.scalar_op is true_div


def _compute_into(
    kernel: Callable[..., Any], inputs: Sequence[Any], targets: Sequence[Any]
) -> None:
    """Compute into arrays; use temporaries for those that are not contiguous.

    NumPy 2.4's ``negative`` skips elements of such an array, for some strides of the operand.
    """
    into = [one if one.flags.forc else np.empty(one.shape, one.dtype) for one in targets]
    kernel(*inputs, out=into[0] if len(into) == 1 else tuple(into))
    for target, computed in zip(targets, into, strict=True):
        if computed is not target:
            target[...] = computed


def _own(result: Any, inputs: Sequence[Any]) -> Any:
    """Return ``result``, copied if the scalar op returned an operand (or a view of one)."""
    if any(np.may_share_memory(result, value) for value in inputs):
        return result.copy()
    return result


def pad_rank(x: Any, ndim: int) -> Any:
    """Return ``x`` padded in front with dimensions of size 1 to rank ``ndim``."""
    missing = ndim - x.type.ndim
    if isinstance(x, TensorConstant):
        data = x.data.reshape((1,) * missing + x.data.shape)
        padded = TensorConstant(TensorType(x.type.dtype, data.shape), data, name=x.name)
        note_sources(padded, made_from(x))
        return padded
    return operators.dimshuffle(x, *("x",) * missing, *range(x.type.ndim))


_CACHE: dict[ScalarOp, Elemwise] = {}
_CACHE_OF_OTHERS: WeakValues[ScalarOp, Elemwise] = WeakValues()
_LOCK_OF_OTHERS = ProcessLock()


def elemwise(scalar_op: ScalarOp) -> Elemwise:
    """Return the Elemwise of a scalar op; the same object for equal ops."""
    found = _CACHE.get(scalar_op)
    if found is None:
        found = _elemwise(scalar_op)
    return found


def _elemwise(scalar_op: ScalarOp) -> Elemwise:
    """Return the Elemwise of an op that is new, or was made by a program."""
    if isinstance(scalar_op, Row) and scalar_op.is_in_table:  # it lives as long as the process
        return _CACHE.setdefault(scalar_op, Elemwise(scalar_op))
    with _LOCK_OF_OTHERS:
        return _CACHE_OF_OTHERS.setdefault(scalar_op, Elemwise(scalar_op))


@lru_cache(maxsize=1024)
def _twin(scalar_op: ScalarOp, position: int) -> Elemwise:
    """Return the twin for an operand; cached, since the Op caches the types of its results."""
    return Elemwise(scalar_op, {0: position})


def name_functions(functions: Mapping[str, Elemwise], module: str) -> None:
    """Give elementwise ops their names as functions.

    Parameters
    ----------
    functions
        The ops by name; if one has several names, it gets the first, or that of its scalar op.
    module
        The module from which users import them.
    """
    for name, op in functions.items():
        attributes = op.__dict__
        if "__name__" not in attributes or name == op.scalar_op.name:
            attributes["__name__"] = attributes["__qualname__"] = name
            attributes["__module__"] = module


def _lift(scalar_op: ScalarOp, inputs: Sequence[Any]) -> Any:
    return elemwise(scalar_op)(*inputs)


register_lift(np.ndarray, _lift)
register_lift(TensorType, _lift)
