"""The base of Ops on matrices: a core signature, batches over the leading axes, and failures."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from phintys._base.errors import ArgumentError, DtypeError, IntegrityError, ShapeError
from phintys._base.late import LateModule
from phintys._base.origin import current_origin
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.tensor import math
from phintys.tensor._rules import conjugate, is_missing, zero_gradient
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import sum_to
from phintys.tensor.diagonals import eye, tril
from phintys.tensor.dim_shuffle import dimshuffle, matrix_transpose
from phintys.tensor.hints import broadcast_hint
from phintys.tensor.shape_rules import ExactShapes, Misfit, S, ShapedOp, Shapes
from phintys.tensor.shapes import sizes_of
from phintys.tensor.type import TensorType, promote

if TYPE_CHECKING:
    from scipy.linalg import lapack
else:
    lapack = LateModule("scipy.linalg.lapack")

OnError = Literal["raise", "nan"]

DTYPES = ("float32", "float64", "complex64", "complex128")


class MatrixError(Exception):
    """A matrix does not have a decomposition or solution; the text says why."""


# ---- core signatures -----------------------------------------------------------------------------

Dims = tuple[tuple[str, ...], ...]


@lru_cache(maxsize=256)
def parse_signature(signature: str) -> tuple[Dims, Dims]:
    """Return the names of the core dimensions of inputs and outputs.

    Examples
    --------
    >>> parse_signature("(n,n),(n,k)->(n,k)")
    ((('n', 'n'), ('n', 'k')), (('n', 'k'),))
    """
    given, made = signature.split("->")

    def dims(text: str) -> Dims:
        groups = re.findall(r"\(([^)]*)\)", text)
        return tuple(tuple(group.split(",")) if group else () for group in groups)

    return dims(given), dims(made)


_STACKS = "stacks"


@lru_cache(maxsize=256)
def _core(name: str) -> Misfit:
    """Return the misfit of the sizes of a core dimension, which is the kind."""
    return Misfit(name, "{0} and {1}")


# ---- helpers of rules ----------------------------------------------------------------------------


def is_complex(x: Any) -> bool:
    """Return whether a tensor has a complex dtype."""
    return x.type.numpy_dtype.kind == "c"


def adjoint(x: Any) -> Any:
    """Return the conjugate transposes of matrices."""
    return matrix_transpose(conjugate(x))


def read_triangle(x: Any, transpose: Callable[[Any], Any] = adjoint) -> Any:
    """Return the gradient for a matrix of which only the lower triangle is read.

    ``x`` is the gradient for the Hermitian matrix that the triangle stands for (or the symmetric
    one, with the transpose), and need not be Hermitian itself. An element below the diagonal stands
    for two elements of it.
    """
    rows, columns = sizes_of(x)[-2:]
    is_diagonal = eye(rows, columns, dtype="bool")
    own = x
    if transpose is adjoint and is_complex(x):
        own = math.cast(math.real(x), x.dtype)
    return math.switch(is_diagonal, own, tril(x + transpose(x), -1))


def lapack_function(name: str, *arrays: Any) -> Any:
    """Return the function of LAPACK for the dtype of some arrays."""
    functions: Any = lapack.get_lapack_funcs((name,), arrays)
    return functions[0]


def matrix_dtype(operands: Sequence[Any], function: str) -> str:
    """Return the dtype in which matrices are computed: that of NumPy, integers as float64."""
    dtype = operands[0].dtype
    for operand in operands[1:]:
        dtype = promote(dtype, operand.dtype)
    if np.dtype(dtype).kind in "biu":
        dtype = "float64"
    if dtype not in DTYPES:
        msg = (
            f"{function} works in {', '.join(DTYPES)}, got {dtype}. Cast it first: "
            'x.astype("float32").'
        )
        raise DtypeError(msg)
    return dtype


def as_matrices(x: Any, function: str, what: str = "a matrix") -> Any:
    """Return a tensor of rank 2 or more."""
    x = as_tensor_variable(x)
    if x.ndim < 2:
        msg = (
            f"{function} takes {what} or a stack of them, of rank 2 or more; got {x} of type "
            f"{x.type}. A vector becomes a column by x[:, None]."
        )
        raise ShapeError(msg)
    return x


def check_choice(value: Any, choices: Sequence[str], what: str) -> None:
    """Raise :class:`ArgumentError` unless a value is among the choices."""
    if value not in choices:
        msg = f"{what} is one of {', '.join(map(repr, choices))}; got {value!r}."
        raise ArgumentError(msg)


# ---- Ops -----------------------------------------------------------------------------------------


class MatrixOp(ShapedOp):
    """An Op with a core signature, which is applied to each item of a stack.

    Subclasses state :attr:`signature` and define :meth:`compute` for one item, in NumPy or SciPy,
    and derivatives for stacks: :meth:`adjoint_rule` and :meth:`tangent_rule`, in terms of tensors
    that all have the leading axes of the result.

    A leading dimension broadcasts where its size is known to be 1.
    """

    signature: ClassVar[str]
    """Core dimensions by name: equal names have equal sizes, and ``min(m,n)`` is written ``k``."""

    least: ClassVar[dict[str, tuple[str, str]]] = {}
    """Dimensions that are the smaller one of two others."""

    real_outputs: ClassVar[tuple[int, ...]] = ()
    """Positions of outputs that are real also for complex inputs."""

    integer_outputs: ClassVar[dict[int, str]] = {}
    """Positions and dtypes of outputs that are integers, and have no derivative."""

    integer_inputs: ClassVar[tuple[int, ...]] = ()
    """Positions of inputs that are integers."""

    complex_outputs: ClassVar[tuple[int, ...]] = ()
    """Positions of outputs that are complex also for real inputs."""

    called: ClassVar[str] = ""
    """Name of the function that applies it, for messages."""

    def name_for_users(self, node: Apply | None = None) -> str:
        """Return the name of what the user called, in which a node is maybe one of several steps.

        Parameters
        ----------
        node
            ``None`` while it is being made.
        """
        origin = current_origin() if node is None else node.origin
        return origin.step_of or self.called or str(self)

    # ---- node

    def dims(self) -> tuple[Dims, Dims]:
        """Return the names of the core dimensions of inputs and outputs."""
        return parse_signature(self.signature)

    def fixed_sizes(self) -> dict[str, int]:
        """Return the sizes of core dimensions that are always the same."""
        return {}

    def make_node(self, *inputs: Any) -> Apply:
        """Apply to stacks of matrices, which are cast to a common dtype."""
        core = self.dims()[0]
        operands: list[Any] = [as_tensor_variable(x) for x in inputs]
        if len(operands) != len(core):
            msg = f"{self.name_for_users()} takes {len(core)} inputs, got {len(operands)}."
            raise ArgumentError(msg)
        for operand, names in zip(operands, core, strict=True):
            if operand.ndim < len(names):
                raise ShapeError(self._rank_message(operand, names))
        floats = [x for at, x in enumerate(operands) if at not in self.integer_inputs]
        dtype = matrix_dtype(floats, self.name_for_users()) if floats else "float64"
        batch = max(x.ndim - len(names) for x, names in zip(operands, core, strict=True))
        for at, (x, names) in enumerate(zip(operands, core, strict=True)):
            missing = batch - (x.ndim - len(names))
            if missing:
                x = dimshuffle(x, *("x",) * missing, *range(x.ndim))
            if at not in self.integer_inputs and x.dtype != dtype:
                x = math.cast(x, dtype)
            operands[at] = x
        shapes = self.static_shapes(operands)
        real = np.dtype(dtype).type(0).real.dtype.name
        outputs: list[Any] = []
        for at, shape in enumerate(shapes):
            its = self.integer_outputs.get(at) or (real if at in self.real_outputs else dtype)
            if at in self.complex_outputs:
                its = np.result_type(dtype, np.complex64).name
            outputs.append(TensorType(its, shape)())
        return Apply(self, operands, outputs)

    def _rank_message(self, operand: Any, names: Sequence[str]) -> str:
        kind = {1: "a vector", 2: "a matrix"}[len(names)]
        return (
            f"{self.name_for_users()} takes {kind} or a stack of them, got {operand} of type "
            f"{operand.type}. Its signature is {self.signature}."
        )

    def misfit(
        self,
        operands: Sequence[Any],
        shapes: Sequence[Any],
        name: str,
        node: Apply | None = None,
    ) -> ShapeError:
        """Return the error for a core dimension with two different sizes."""
        called = self.name_for_users(node)
        lines = "".join(
            f"\n  {x}: shape {tuple(shape)}" for x, shape in zip(operands, shapes, strict=True)
        )
        if len(operands) == 1:
            return ShapeError(f"{called} takes square matrices.{lines}")
        return ShapeError(
            f"{called}: the operands do not fit together: the dimensions named {name} in the "
            f"signature {self.signature} must have the same size.{lines}"
        )

    def _batches_misfit(
        self, operands: Sequence[Any], shapes: Sequence[Any], dim: int, node: Apply | None = None
    ) -> ShapeError:
        lines = "".join(
            f"\n  {x}: shape {tuple(shape)}" for x, shape in zip(operands, shapes, strict=True)
        )
        hint = broadcast_hint(operands, shapes, dim)
        return ShapeError(
            f"{self.name_for_users(node)}: the stacks do not fit together.{lines}\n{hint}"
        )

    # ---- shapes

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Return the sizes by the signature; those that must be equal are checked."""
        sizes = self.core_sizes(shapes)
        leading = self.leading_sizes(shapes)
        return [(*leading, *(sizes[name] for name in names)) for names in self.dims()[1]]

    def core_sizes(self, shapes: Shapes[S]) -> dict[str, S]:
        """Return the sizes of the core dimensions, by name."""
        sizes = {name: shapes.number(size) for name, size in self.fixed_sizes().items()}
        for shape, names in zip(shapes.shapes, self.dims()[0], strict=True):
            for name, size in zip(names, shape[len(shape) - len(names) :], strict=True):
                if name in sizes:
                    size = shapes.equal(sizes[name], size, _core(name))
                sizes[name] = size
        for name, (a, b) in self.least.items():
            sizes[name] = shapes.least(sizes[a], sizes[b])
        return sizes

    def leading_sizes(self, shapes: Shapes[S]) -> list[S]:
        """Return the sizes of the dimensions of a stack, to which those of size 1 broadcast."""
        leading: list[S] = []
        for dim in range(shapes.inputs[0].ndim - len(self.dims()[0][0])):
            misfit = Misfit.in_dimension(_STACKS, dim)
            wide = [
                shape[dim]
                for at, shape in enumerate(shapes.shapes)
                if not shapes.broadcasts(at, dim)
            ]
            size = wide[0] if wide else shapes.number(1)
            for other in wide[1:]:
                size = shapes.equal(size, other, misfit)
            leading.append(size)
        return leading

    def misfit_subject(self, misfit: Misfit, shapes: Shapes[Any]) -> str:
        """Name the function that the user called."""
        return f"{self.name_for_users(shapes.node)}: two sizes"

    def misfit_error(self, misfit: Misfit, shapes: Shapes[Any]) -> ShapeError:
        """Show the operands."""
        if misfit.kind == _STACKS:
            return self._batches_misfit(shapes.inputs, shapes.shapes, misfit.dim, shapes.node)
        return self.misfit(shapes.inputs, shapes.shapes, misfit.kind, shapes.node)

    # ---- values

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Return the outputs for one item; raise :class:`MatrixError` if there are none."""
        raise NotImplementedError

    def failed(self, node: Apply, position: tuple[int, ...], reason: MatrixError) -> None:
        """Handle the failure of an item: return if its outputs are to be NaN."""
        msg = f"{self} failed without a rule for failures: {reason}"
        raise IntegrityError(msg)

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Compute one item after the other."""
        core, made = self.dims()
        shapes = self._run_time_shapes(node, inputs)
        sizes, leading = self.core_sizes(shapes), self.leading_sizes(shapes)
        shown = inputs
        if leading:
            shown = [
                np.broadcast_to(x, (*leading, *x.shape[x.ndim - len(names) :]))
                for x, names in zip(inputs, core, strict=True)
            ]
        results: list[Any] = []
        for variable, names in zip(node.outputs, made, strict=True):
            type_: Any = variable.type
            shape = (*leading, *(sizes[name] for name in names))
            results.append(np.zeros(shape, type_.numpy_dtype))
        for position in np.ndindex(*leading) if leading else ((),):
            try:
                values = self.compute(*(x[position] for x in shown))
            except MatrixError as reason:
                self.failed(node, position, reason)
                for result in results:
                    result[position] = np.nan if result.dtype.kind in "fc" else 0
                continue
            for result, value in zip(results, values, strict=True):
                result[position] = value
        for cell, result in zip(output_storage, results, strict=True):
            cell[0] = result

    def _run_time_shapes(self, node: Apply, inputs: Sequence[Any]) -> ExactShapes:
        return ExactShapes(self, node.inputs, [x.shape for x in inputs], node=node)

    def _run_time_sizes(self, node: Apply, inputs: Sequence[Any]) -> dict[str, int]:
        return self.core_sizes(self._run_time_shapes(node, inputs))

    def _run_time_batch(self, node: Apply, inputs: Sequence[Any]) -> tuple[int, ...]:
        return tuple(self.leading_sizes(self._run_time_shapes(node, inputs)))

    # ---- derivatives

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """Return the gradients for the inputs, maybe with more leading axes; as ``L_op``.

        The gradient of an output that does not affect the cost is ``None``.
        """
        raise NotImplementedError

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Any
    ) -> list[Any]:
        """Return the directional derivatives of the outputs; a tangent may be ``None``.

        That of an output is ``None`` if only :meth:`adjoint_rule` says what it is.
        """
        raise NotImplementedError

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Integers have no derivatives."""
        return [
            [
                at not in self.integer_inputs and to not in self.integer_outputs
                for to in range(len(node.outputs))
            ]
            for at in range(len(node.inputs))
        ]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Sum the gradients of broadcast inputs over the leading axes."""
        given = [None if is_missing(g) else g for g in output_grads]
        found = self.adjoint_rule(inputs, outputs, given)
        return [
            disconnected_type() if at in self.integer_inputs else _fitted(gradient, x)
            for at, (gradient, x) in enumerate(zip(found, inputs, strict=True))
        ]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Differentiate in a direction."""
        tangents = [None if is_missing(point) else point for point in eval_points]
        outputs = self(*inputs, return_list=True)
        if all(one is None for one in tangents):
            return [None] * len(outputs)
        found = self.tangent_rule(inputs, outputs, tangents)
        return [
            zero_gradient(out)
            if at in self.integer_outputs
            else None
            if value is None
            else _as(value, out.dtype)
            for at, (value, out) in enumerate(zip(found, outputs, strict=True))
        ]


def _as(value: Any, dtype: str) -> Any:
    if value.dtype == dtype:
        return value
    if is_complex(value) and not dtype.startswith("complex"):
        value = math.real(value)
    return math.cast(value, dtype)


def _fitted(gradient: Any, x: Any) -> Any:
    if gradient is None:
        return zero_gradient(x)
    return _as(sum_to(gradient, x), x.dtype)


class FailingMatrixOp(MatrixOp):
    """A :class:`MatrixOp` that some matrices have no result of.

    Parameters
    ----------
    on_error
        ``"raise"``: the error names the matrix. ``"nan"``: its results are NaN, and those of the
        other matrices of a stack are not affected.
    """

    __props__: ClassVar[tuple[str, ...]] = ("on_error",)

    def __init__(self, on_error: OnError = "raise") -> None:
        check_choice(on_error, ("raise", "nan"), "on_error")
        self.on_error: OnError = on_error

    def failed(self, node: Apply, position: tuple[int, ...], reason: MatrixError) -> None:
        """Raise an error that names the matrix, or return."""
        if self.on_error == "nan":
            return
        matrix = _of_user(node.inputs[0], node.origin.step_of)
        at = f", at position {list(position)} of the stack {matrix}," if position else f" {matrix}"
        called = self.name_for_users(node)
        msg = f'{called}: the matrix{at} {reason}. With on_error="nan" its results would be NaN.'
        raise np.linalg.LinAlgError(msg)


def _of_user(matrix: Any, function: str) -> Any:
    """Return the matrix that a step of a function has factorized."""
    node = matrix.owner
    if node is None or not isinstance(node.op, MatrixOp) or node.origin.step_of != function:
        return matrix
    return node.inputs[0]
