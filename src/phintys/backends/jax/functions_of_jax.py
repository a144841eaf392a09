"""``from_jax``: a function of JAX as an Op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from phintys import tensor as pt
from phintys._base.caches import kept_property
from phintys._base.config import config
from phintys._base.errors import ArgumentError, DtypeError, OpContractError
from phintys._base.nested_containers import rebuilt, walk
from phintys.backends.jax.functions import (
    JaxFunction,
    Mapped,
    OfTrees,
    Pull,
    Push,
    TreeForm,
    is_part_of_form,
    traced,
    traced_results,
)
from phintys.backends.jax.requirement import library, with_64_bits
from phintys.graph.apply import Apply
from phintys.graph.null_type import DisconnectedType
from phintys.graph.op import Op
from phintys.tensor.batching.engine import Batch
from phintys.tensor.batching.rules import batches
from phintys.tensor.sizes import as_size
from phintys.tensor.type import TensorType


def from_jax(fn: Callable[..., Any], *, otypes: Any = None) -> FromJax:
    """Return a function of variables that is computed by a function of JAX.

    It has derivatives of all orders, by ``jax.vjp`` and ``jax.jvp``, and batches, by ``jax.vmap``.
    Outside of the mode jax, a compiled function calls back into Python for it, and values go to JAX
    and back; in the mode jax it is traced with all else. JAX keeps 64-bit numbers in it.

    Parameters
    ----------
    fn
        A function of JAX arrays, which returns an array or a tree of them. Arguments may be trees
        as well; ``None`` and strings in them are passed as they are. It must be pure, as
        ``jax.jit`` demands. To be pickled, it must be defined at the top level of a module.
    otypes
        The types of the results, a Type or a tree of them. By default they are found by
        ``jax.eval_shape``, in which lengths that are not known are taken to be equal.

    Returns
    -------
    FromJax
        A function that takes variables, arrays and numbers, or trees of them, and returns a
        variable, or a tree of them in the form in which ``fn`` returns them.

    Raises
    ------
    ImportError
        JAX is not installed.
    ArgumentError
        ``fn`` is not callable, or ``otypes`` are not Types of tensors.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import phintys
    >>> import phintys.tensor as pt
    >>> def energy(params, x):
    ...     return jnp.sum(params["k"] * jnp.cos(x))
    >>> k, x = pt.dscalar("k"), pt.dvector("x")
    >>> y = phintys.jax.from_jax(energy)({"k": k}, x)
    >>> f = phintys.function([k, x], [y, phintys.grad(y, k)])
    >>> [float(value) for value in f(3.0, [0.0, 0.0])]
    [6.0, 2.0]
    """
    library()
    if not callable(fn):
        msg = f"from_jax takes a function of JAX arrays, got {fn!r}."
        raise ArgumentError(msg)
    if otypes is not None:
        for path, leaf in walk(otypes):
            if not isinstance(leaf, TensorType):
                place = f" at {path}" if path else ""
                msg = (
                    "from_jax: otypes must be a Type of tensors such as pt.dvector, or a tree of "
                    f"them; got {leaf!r}{place}."
                )
                raise ArgumentError(msg)
    return FromJax(fn, otypes)


class FromJax:
    """A function of JAX that takes variables; made by :func:`from_jax`.

    Attributes
    ----------
    function : callable
        The function of JAX.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.backends.jax import from_jax
    >>> double = from_jax(lambda x: 2 * x)
    >>> double(pt.dvector("x")).type
    Vector(float64, shape=(?,))
    """

    def __init__(self, function: Callable[..., Any], otypes: Any = None) -> None:
        self.function = function
        self._otypes = otypes
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tree = args, kwargs
        given = [pt.as_tensor_variable(leaf) for _, leaf in walk(tree) if not is_part_of_form(leaf)]
        stated = None if self._otypes is None else tuple(one for _, one in walk(self._otypes))
        flat = OfTrees(self.function, TreeForm(tree), stated)
        results = JaxOp(flat)(*given, return_list=True)
        if self._otypes is not None:
            return rebuilt(self._otypes, results)
        return rebuilt(traced_results(flat, _types(given))[1], results)

    def __repr__(self) -> str:
        return f"from_jax({self.__name__})"


class JaxOp(Op):
    """A function of JAX on arrays.

    Parameters
    ----------
    function
        The function, one of those of :mod:`phintys.backends.jax.functions`.

    Examples
    --------
    >>> import jax.numpy as jnp, phintys.tensor as pt
    >>> from phintys.backends.jax import from_jax
    >>> from_jax(jnp.sinc)(pt.dvector("x")).owner.op
    JaxOp(sinc)
    """

    __props__ = ("function",)

    def __init__(self, function: JaxFunction) -> None:
        self.function = function

    def make_node(self, *inputs: Any) -> Apply:
        given = [pt.as_tensor_variable(one) for one in inputs]
        types = self.function.output_types(_types(given))
        return Apply(self, given, [one() for one in types])

    def jax_function(self, *arrays: Any) -> tuple[Any, ...]:
        """Return the results for JAX arrays, as many as the node has outputs; it can be traced."""
        return self.function(*arrays)

    @kept_property
    def _compiled(self) -> Any:
        return library().jit(self.function.__call__)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        with with_64_bits():
            results = self._compiled(*inputs)
            if len(results) != len(node.outputs):
                msg = (
                    f"{self} returned {len(results)} arrays, but otypes of from_jax has "
                    f"{len(node.outputs)} Types."
                )
                raise OpContractError(msg)
            for at, (result, output) in enumerate(zip(results, node.outputs, strict=True)):
                output_storage[at][0] = self._value(at, result, output.type)

    def _value(self, at: int, result: Any, type_: Any) -> Any:
        if str(result.dtype) != type_.dtype or result.ndim != type_.ndim:
            msg = (
                f"{self} must return an array of dtype {type_.dtype} and rank {type_.ndim} as "
                f"output {at}, got one of dtype {result.dtype} and rank {result.ndim}. Convert it "
                "in the function, or change the otypes of from_jax."
            )
            raise DtypeError(msg)
        return type_.filter(np.array(result))  # arrays of JAX are read-only

    def infer_shape(self, fgraph: Any, node: Apply, input_shapes: Any) -> list[Any]:
        known = self.function.known_shapes(input_shapes)
        if known is not None:
            return known
        sizes = [as_size(size) for shape in input_shapes for size in shape]
        found = JaxShapes(self.function, _types(node.inputs), len(node.outputs))(
            *sizes, return_list=True
        )
        return [
            tuple(
                vector[axis] if length is None else as_size(length)
                for axis, length in enumerate(_lengths(output))
            )
            for vector, output in zip(found, node.outputs, strict=True)
        ]

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        wrt = tuple(at for at, one in enumerate(inputs) if _is_continuous(one.type))
        of = tuple(
            at
            for at, (output, gradient) in enumerate(zip(outputs, output_grads, strict=True))
            if _is_continuous(output.type) and not isinstance(gradient.type, DisconnectedType)
        )
        gradients: list[Any] = [
            pt.zeros_like(one, dtype=config.floatX if at not in wrt else one.dtype)
            for at, one in enumerate(inputs)
        ]
        if wrt and of:
            pull = JaxOp(Pull(self.function, len(inputs), wrt, of))
            found = pull(*inputs, *(output_grads[at] for at in of), return_list=True)
            for at, gradient in zip(wrt, found, strict=True):
                gradients[at] = gradient
        return gradients

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        node = self.make_node(*inputs)
        along = tuple(
            at
            for at, (one, point) in enumerate(zip(inputs, eval_points, strict=True))
            if point is not None and _is_continuous(one.type)
        )
        of = tuple(at for at, one in enumerate(node.outputs) if _is_continuous(one.type))
        tangents: list[Any] = [None] * len(node.outputs)
        if along and of:
            push = JaxOp(Push(self.function, len(inputs), along, of))
            found = push(*inputs, *(eval_points[at] for at in along), return_list=True)
            for at, tangent in zip(of, found, strict=True):
                tangents[at] = tangent
        return tangents

    def __reduce__(self) -> tuple[Any, ...]:
        return JaxOp, (self.function,)

    def __str__(self) -> str:
        return f"JaxOp({self.function.name})"


class JaxShapes(Op):
    """The shapes of the results of a function of JAX, from the sizes of its arguments.

    Parameters
    ----------
    function
        The function.
    types
        The types of its arguments.
    count
        The number of its results.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np, phintys.tensor as pt
    >>> from phintys.backends.jax import from_jax
    >>> x = pt.dvector("x")
    >>> from_jax(jnp.outer)(x, x).shape.eval({x: np.ones(3)})
    array([3, 3])
    """

    __props__ = ("function", "types", "count")

    def __init__(self, function: JaxFunction, types: tuple[TensorType, ...], count: int) -> None:
        self.function = function
        self.types = types
        self.count = count

    def make_node(self, *sizes: Any) -> Apply:
        ranks = [one.ndim for one in self.function.output_types(self.types)]
        outputs = [TensorType("int64", (rank,))() for rank in ranks]
        return Apply(self, [as_size(size) for size in sizes], outputs)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        sizes = iter(map(int, inputs))
        shapes = [tuple(next(sizes) for _ in range(one.ndim)) for one in self.types]
        found = traced(self.function.__call__, shapes, [one.dtype for one in self.types])
        for storage, one in zip(output_storage, found, strict=True):
            storage[0] = np.array(one.shape, "int64")

    def infer_shape(self, fgraph: Any, node: Apply, input_shapes: Any) -> list[Any]:
        return [(as_size(_lengths(output)[0]),) for output in node.outputs]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False] * len(node.outputs) for _ in node.inputs]

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        return [DisconnectedType()() for _ in inputs]

    def __str__(self) -> str:
        return f"JaxShapes({self.function.name})"


@batches(JaxOp)
def batch_by_vmap(node: Any, batch: Batch) -> list[Any]:
    """``jax.vmap`` of the function, over the inputs that have the axes of the batch."""
    batched = tuple(bool(rank) for rank in batch.ranks)
    inputs = [
        batch.whole(at) if is_batched else batch.inputs[at] for at, is_batched in enumerate(batched)
    ]
    mapped = Mapped(node.op.function, batched, batch.ndim)
    return JaxOp(mapped)(*inputs, return_list=True)


def _is_continuous(type_: Any) -> bool:
    return np.dtype(type_.dtype).kind in "fc"


def _types(variables: Sequence[Any]) -> tuple[TensorType, ...]:
    return tuple(one.type for one in variables)


def _lengths(variable: Any) -> tuple[int | None, ...]:
    return variable.type.shape
