"""Ops that are functions of users in machine code on arrays, for each item of a stack."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from phintys._base.caches import kept_property
from phintys._base.errors import (
    ArgumentError,
    DtypeError,
    MethodNotDefinedError,
    NativeFunctionError,
    OpContractError,
    ShapeError,
)
from phintys.gradient import grad_not_implemented
from phintys.gradient.forward import Rop
from phintys.gradient.reverse import grad
from phintys.graph.apply import Apply
from phintys.graph.null_type import DisconnectedType, disconnected_type
from phintys.native.functions import POINTER, VOID, NativeFunction, Prototype, checked
from phintys.native.scalars import DTYPES
from phintys.tensor import math
from phintys.tensor.batching.engine import Batch, vectorize_graph
from phintys.tensor.batching.rules import batches
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import sum_to, zeros, zeros_like
from phintys.tensor.dim_shuffle import dimshuffle
from phintys.tensor.linear_algebra.matrix_op import Dims, MatrixError, MatrixOp, parse_signature
from phintys.tensor.shapes import sizes_of
from phintys.tensor.type import TensorType

Rule = Callable[..., Any]


class NativeCall(MatrixOp):
    """An Op on arrays that is a function of a user in machine code; made by :func:`call`.

    Leading axes beyond those of the signature are those of a stack, and broadcast.

    Attributes
    ----------
    function
        The function.
    prototype
        Its types; a result is a status, 0 if all is well.
    """

    def __init__(
        self,
        name: str,
        function: NativeFunction,
        prototype: Prototype,
        signature: str,
        dtypes: tuple[str, ...],
        messages: tuple[tuple[int, str], ...],
        pullback: Rule | None,
        pushforward: Rule | None,
        graph: Rule | None,
    ) -> None:
        self.name = name
        self.called = name  # pyright: ignore[reportAttributeAccessIssue] - each has its own
        self.function = function
        self.prototype = prototype
        self.signature = signature  # pyright: ignore[reportAttributeAccessIssue] - each has its own
        self.dtypes = dtypes
        self.messages = messages
        self.pullback = pullback
        self.pushforward = pushforward
        self.graph = graph
        self.integer_inputs = tuple(  # pyright: ignore[reportAttributeAccessIssue]
            at for at, dtype in enumerate(dtypes[: self.nin]) if np.dtype(dtype).kind in "biu"
        )
        self.integer_outputs = {  # pyright: ignore[reportAttributeAccessIssue]
            at: dtype
            for at, dtype in enumerate(dtypes[self.nin :])
            if np.dtype(dtype).kind in "biu"
        }

    __props__ = (
        *("name", "function", "prototype", "signature", "dtypes", "messages"),
        *("pullback", "pushforward", "graph"),
    )

    def __reduce__(self) -> tuple[Any, ...]:
        return NativeCall, tuple(getattr(self, name) for name in self.__props__)

    def __str__(self) -> str:
        return self.name

    @property
    def nin(self) -> int:
        """The number of inputs."""
        return len(self.dims()[0])

    @property
    def has_status(self) -> bool:
        """Whether the function returns a status."""
        return self.prototype.returns != VOID

    @property
    def size_names(self) -> tuple[str, ...]:
        """The dimensions whose sizes it is passed, in order."""
        return sizes_passed(*self.dims())

    def fixed_sizes(self) -> dict[str, int]:
        names = [name for dims in self.dims() for one in dims for name in one]
        return {name: int(name) for name in names if name.isdecimal()}

    # ---- node

    def make_node(self, *inputs: Any) -> Apply:
        """Apply to arrays or stacks of them, cast to the dtypes of the function without loss."""
        core = self.dims()[0]
        if len(inputs) != len(core):
            msg = f"{self} takes {len(core)} inputs, got {len(inputs)}."
            raise ArgumentError(msg)
        operands: list[Any] = [
            self._operand(x, dtype, names)
            for x, dtype, names in zip(inputs, self.dtypes[: len(core)], core, strict=True)
        ]
        batch = max((x.ndim - len(names) for x, names in zip(operands, core, strict=True)))
        for at, names in enumerate(core):
            x = operands[at]
            missing = batch - (x.ndim - len(names))
            if missing:
                operands[at] = dimshuffle(x, *("x",) * missing, *range(x.ndim))
        dtypes, shapes = self.dtypes[len(core) :], self.static_shapes(operands)
        outputs = [TensorType(dtype, shape)() for dtype, shape in zip(dtypes, shapes, strict=True)]
        return Apply(self, operands, outputs)

    def _operand(self, x: Any, dtype: str, names: Sequence[str]) -> Any:
        x = as_tensor_variable(x)
        if not np.can_cast(x.dtype, dtype):
            msg = (
                f"{self} takes {dtype}, got {x} of type {x.type}, which cannot be cast without "
                f'loss. Cast it first: x.astype("{dtype}").'
            )
            raise DtypeError(msg)
        if x.ndim < len(names):
            msg = (
                f"{self} takes an array of rank {len(names)} or more, got {x} of type {x.type}. "
                f"Its signature is {self.signature}."
            )
            raise ShapeError(msg)
        return x if x.dtype == dtype else math.cast(x, dtype)

    # ---- values

    @kept_property
    def _callable(self) -> Any:
        return self.prototype.at(self.function.address)

    def compute(self, *arrays: Any) -> Sequence[Any]:
        """Call the function through ctypes."""
        core, made = self.dims()
        given = [
            np.ascontiguousarray(x, dtype)
            for x, dtype in zip(arrays, self.dtypes[: len(core)], strict=True)
        ]
        sizes = self.fixed_sizes()
        for x, names in zip(arrays, core, strict=True):
            sizes |= dict(zip(names, x.shape, strict=True))
        results = [
            np.zeros([sizes[name] for name in names], dtype)
            for names, dtype in zip(made, self.dtypes[len(core) :], strict=True)
        ]
        pointers = [x.ctypes.data for x in (*given, *results)]
        status = self._callable(*pointers, *(sizes[name] for name in self.size_names))
        if self.has_status and status:
            raise _StatusError(status)
        return results

    def failed(self, node: Apply, position: tuple[int, ...], reason: MatrixError) -> None:
        """Raise the error of a status."""
        raise self.error(reason.args[0])

    def error(self, status: int, position: int = 0) -> NativeFunctionError:
        """Return the error of a status other than 0."""
        status = (status + _HALF) % (2 * _HALF) - _HALF
        what = dict(self.messages).get(status)
        return NativeFunctionError(
            f"{self} returned the status {status}" + (f": {what}." if what else ".")
        )

    def explanation(self) -> str:
        """Return the message for any status, for which ``{0}`` stands: it lists what is known."""
        known = ", ".join(f"{status}: {what}" for status, what in self.messages)
        return f"{self} returned the status {{0}}" + (f" ({known})." if known else ".")

    # ---- derivatives

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Apply the pullback, or that of the graph, to items; sum where they share an input."""
        rule = self.pullback or (self.graph and self._pull_graph)
        if rule is None:
            reason = "pass pullback= or graph= to phintys.native.call"
            return [grad_not_implemented(self, at, x, reason) for at, x in enumerate(inputs)]
        gradients = [
            zeros_like(out) if _is_missing(g) else g
            for out, g in zip(outputs, output_grads, strict=True)
        ]
        found = self._by_item(rule, "pullback", len(inputs), inputs, outputs, gradients)
        return [
            disconnected_type()
            if at in self.integer_inputs
            else grad_not_implemented(self, at, x, "the pullback returned None")
            if g is None
            else math.cast(sum_to(g, x), x.dtype)
            for at, (g, x) in enumerate(zip(found, inputs, strict=True))
        ]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Apply the pushforward, or that of the graph, to each item."""
        rule = self.pushforward or (self.graph and self._push_graph)
        if rule is None:
            msg = f"{self} has no pushforward: pass pushforward= to phintys.native.call."
            raise MethodNotDefinedError(msg)
        outputs = self(*inputs, return_list=True)
        if all(_is_missing(v) for v in eval_points):
            return [None] * len(outputs)
        tangents = [
            zeros_like(x) if _is_missing(v) else v for x, v in zip(inputs, eval_points, strict=True)
        ]
        found = self._by_item(rule, "pushforward", len(outputs), inputs, outputs, tangents)
        return [
            None if at in self.integer_outputs or v is None else math.cast(v, out.dtype)
            for at, (v, out) in enumerate(zip(found, outputs, strict=True))
        ]

    def _by_item(self, rule: Rule, what: str, count: int, *groups: Sequence[Any]) -> list[Any]:
        """Apply a rule for one item to those of a stack."""
        batch = groups[0][0].ndim - len(self.dims()[0][0])
        if batch == 0:
            return self._checked(rule(*groups), what, count)
        items = [[TensorType(x.dtype, x.type.shape[batch:])() for x in one] for one in groups]
        found = self._checked(rule(*items), what, count)
        known = [one for one in found if one is not None]
        flat = [item for one in items for item in one]
        every = dict(zip(flat, (x for one in groups for x in one), strict=True))
        stacked = iter(vectorize_graph(known, every))
        # What does not depend on the items has no axes of the stack.
        leading = zeros(sizes_of(groups[1][0])[:batch], dtype="int8")
        return [
            None
            if one is None
            else next(stacked) + dimshuffle(leading, *range(batch), *("x",) * one.ndim)
            for one in found
        ]

    def _checked(self, found: Any, what: str, count: int) -> list[Any]:
        found = list(found) if isinstance(found, list | tuple) else [found]
        if len(found) != count:
            msg = f"{self}: the {what} must return {count} expressions, got {len(found)}."
            raise OpContractError(msg)
        return [None if one is None else as_tensor_variable(one) for one in found]

    def _outputs_of_graph(self, inputs: Sequence[Any]) -> list[Any]:
        assert self.graph is not None
        return self._checked(self.graph(*inputs), "graph", len(self.dims()[1]))

    def _pull_graph(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        made = self._outputs_of_graph(inputs)
        known = {
            out: g
            for at, (out, g) in enumerate(zip(made, gradients, strict=True))
            if at not in self.integer_outputs
        }
        floats = [x for at, x in enumerate(inputs) if at not in self.integer_inputs]
        found = iter(grad(None, floats, known_grads=known, disconnected_inputs="ignore"))
        return [None if at in self.integer_inputs else next(found) for at in range(len(inputs))]

    def _push_graph(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        floats = [at for at in range(len(inputs)) if at not in self.integer_inputs]
        made = self._outputs_of_graph(inputs)
        return Rop(made, [inputs[at] for at in floats], [tangents[at] for at in floats])


def _is_missing(gradient: Any) -> bool:
    return gradient is None or isinstance(gradient.type, DisconnectedType)


_HALF = 2**30
"""A status of native code is kept in 31 bits."""


class _StatusError(MatrixError):
    """The function returned a status other than 0."""


@batches(NativeCall)
def batch_native_call(node: Any, batch: Batch) -> list[Any]:
    """The axes of the batch are further axes of the stack."""
    return node.op(*(batch.padded(at) for at in range(len(batch.inputs))), return_list=True)


def sizes_passed(core: Dims, made: Dims) -> tuple[str, ...]:
    """Return the dimensions of a signature in the order in which they first appear.

    Examples
    --------
    >>> from phintys.native.calls import sizes_passed
    >>> sizes_passed((("m", "n"), ("n", "3")), (("m",),))
    ('m', 'n')
    """
    names = [name for dims in (core, made) for one in dims for name in one]
    return tuple(dict.fromkeys(name for name in names if not name.isdecimal()))


def call(
    f: Any,
    signature: str,
    dtypes: Any = "float64",
    *,
    name: str | None = None,
    pullback: Rule | None = None,
    pushforward: Rule | None = None,
    graph: Rule | None = None,
    status: bool | None = None,
    messages: Mapping[int, str] | None = None,
) -> NativeCall:
    """Return an Op on arrays that is a function in machine code, without a compiler.

    Native code calls it directly, without Python and without the GIL, for each item of a stack,
    maybe in several threads at once: it must be safe to call so, and depend on its arguments only.

    Parameters
    ----------
    f
        ``(library, symbol)``, a function of ctypes or cffi, a ``numba.cfunc``, or a
        ``scipy.LowLevelCallable``. It takes the addresses of the inputs, which it must not change,
        and of the outputs, all row-major, and then an int64 for each dimension of the signature
        that has a name, in the order in which they first appear. It returns an int, 0 if all is
        well, or nothing: ``int f(const double *x, double *y, int64_t n)``.
    signature
        The axes of inputs and outputs, ``"(m,n),(n)->(m)"``; equal names are equal sizes, numbers
        are fixed sizes. A name of an output must be that of an input, too.
    dtypes
        The dtype of all arrays, or one for each input and output. Inputs are cast to it where that
        is without loss.
    name
        What it is called in print and messages; the symbol by default.
    pullback
        ``pullback(inputs, outputs, gradients)`` returns the gradient for each input, given
        expressions for one item; ``None`` for one that is not known.
    pushforward
        ``pushforward(inputs, outputs, tangents)`` returns the derivative of each output along
        tangents of the inputs; by default two pullbacks do.
    graph
        Instead of both: ``graph(*inputs)`` returns the outputs as expressions, of which derivatives
        are taken.
    status
        Whether it returns a status. By default that is what its types say; a function whose types
        are not known, such as that of a pair, must return one unless this is ``False``.
    messages
        What a status other than 0 means.

    Raises
    ------
    ArgumentError
        If the signature is invalid, the types of ``f`` are known and differ, or derivatives are
        given twice.
    NativeFunctionError
        If the library or the symbol does not exist; in calls, if the status is not 0.

    Examples
    --------
    The functions of NumPy's and SciPy's libraries are none of these, but users' own are::

        solve = phintys.native.call(("./solver.so", "solve"), "(n,n),(n)->(n)")

    >>> import phintys.native
    >>> phintys.native.call(("libm.so.6", "no_such_function"), "(n)->(n)")
    Traceback (most recent call last):
    phintys._base.errors.NativeFunctionError: The library 'libm.so.6' has no function ...
    """
    called = f"phintys.native.call(..., {signature!r})"
    core, made = _parsed(signature, called)
    count = len(core) + len(made)
    kinds = [dtypes] * count if isinstance(dtypes, str | type | np.dtype) else list(dtypes)
    kinds = tuple(np.dtype(kind).name for kind in kinds)
    unknown = [kind for kind in kinds if kind not in (*DTYPES, "bool", "complex64", "complex128")]
    if len(kinds) != count or unknown:
        names = ", ".join(DTYPES)
        msg = f"{called}: dtypes must be one of {names}, or {count} of them; got {dtypes!r}."
        raise ArgumentError(msg)
    if graph is not None and (pullback or pushforward):
        msg = f"{called}: graph states the derivatives; pass it, or pullback and pushforward."
        raise ArgumentError(msg)
    takes = (POINTER,) * count + ("int64",) * len(sizes_passed(core, made))
    returns = {None: ("int32", VOID), True: ("int32",), False: (VOID,)}[status]
    function, prototype = checked(f, returns, takes, called)
    return NativeCall(
        name or getattr(function, "symbol", "native call"),
        function,
        prototype,
        signature.replace(" ", ""),
        kinds,
        tuple(sorted((messages or {}).items())),
        pullback,
        pushforward,
        graph,
    )


def _parsed(signature: str, called: str) -> tuple[Dims, Dims]:
    """Return the dimensions of a signature, which is checked."""
    group = r"\((\w+(,\w+)*)?\)"
    groups = f"{group}(,{group})*"
    plain = signature.replace(" ", "")
    if not re.fullmatch(f"{groups}->{groups}", plain):
        msg = f'{called}: the signature must be like "(m,n),(n)->(m)".'
        raise ArgumentError(msg)
    core, made = parse_signature(plain)
    known = {name for names in core for name in names}
    unknown = {name for names in made for name in names if not name.isdecimal()} - known
    if unknown:
        msg = (
            f"{called}: the size {min(unknown)!r} of an output is not that of an input. A fixed "
            "size is written as a number."
        )
        raise ArgumentError(msg)
    return core, made
