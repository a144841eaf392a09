"""RandomVariable: Ops that draw with a function of NumPy's generators, for users' distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, MethodNotDefinedError, ShapeError, TypeContractError
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type, grad_undefined
from phintys.graph.op import Op
from phintys.graph.type import generic
from phintys.graph.variable import Constant, Variable
from phintys.random.bits.states import RandomType
from phintys.random.generators.numpy_generators import (
    RandomGeneratorType,
    next_value,
    numpy_generator,
)
from phintys.random.generators.streams import shared_rng
from phintys.tensor.batching.rules import batches
from phintys.tensor.batching.signatures import parse_signature
from phintys.tensor.broadcasting import broadcast_sizes
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import as_sizes
from phintys.tensor.dim_shuffle import shape_padleft
from phintys.tensor.scalar_bridge import MakeVector
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import as_size, fold
from phintys.tensor.type import TensorType, normalize_dtype

if TYPE_CHECKING:
    from phintys.graph.fgraph import FunctionGraph


class RandomVariable(Op):
    """An Op that draws with a function of a ``numpy.random.Generator``.

    Give the arguments, or write a subclass with attributes of these names. ``rng_fn(rng, *params,
    size)`` draws: ``size`` is a tuple or ``None``, and the parameters have as many leading axes as
    it, so that functions of NumPy and SciPy broadcast them. Its inputs are a generator, the size
    and the parameters, its outputs the next generator and the draw.

    Generators of NumPy are copied, and the copy draws. For our own generators, ``rng`` is a
    generator of NumPy that belongs to the state. In both cases nodes are computed in Python, as
    callbacks; a :class:`~phintys.random.Distribution` is compiled.

    Parameters
    ----------
    name
        Its name, and by default the method of the generator that draws.
    signature
        The core axes of the parameters and of a draw, such as ``"(),()->()"`` or ``"(n)->(n)"``.
    dtype
        The dtype of draws; ``"floatX"`` for the configured one.
    inplace
        Whether NumPy's generator may be changed instead of copied.

    Examples
    --------
    >>> import numpy as np, phintys
    >>> from phintys.random import RandomStream, RandomVariable
    >>> class Rice(RandomVariable):
    ...     name = "rice"
    ...     signature = "(),()->()"
    ...     dtype = "floatX"
    ...
    ...     def rng_fn(self, rng, nu, sigma, size):
    ...         x = rng.normal(nu, sigma, size)
    ...         return np.hypot(x, rng.normal(0.0, sigma, size))
    >>> rice = Rice()
    >>> draws = RandomStream(1).gen(rice, [1.0, 2.0], 0.5, size=(3, 2))
    >>> draws.eval().shape
    (3, 2)
    """

    __props__ = ("name", "signature", "dtype", "inplace")
    default_output = 1

    name: Any = None
    signature: Any = None
    dtype: Any = None
    inplace: Any = False

    def __init__(
        self,
        name: str | None = None,
        signature: str | None = None,
        dtype: str | None = None,
        inplace: bool | None = None,
    ) -> None:
        given = {"name": name, "signature": signature, "dtype": dtype, "inplace": inplace}
        for option, value in given.items():
            setattr(self, option, getattr(self, option) if value is None else value)
        for option in ("name", "signature", "dtype"):
            if not isinstance(getattr(self, option), str):
                msg = (
                    f"A RandomVariable needs {option}, a string, as an argument or an attribute of "
                    f"{type(self).__name__}; got {getattr(self, option)!r}."
                )
                raise ArgumentError(msg)
        self.dtype = normalize_dtype(self.dtype)
        core = parse_signature(self.signature, f"The signature of {self.name}")
        self._core = core
        self.ndims_params = [len(axes) for axes in core.inputs]
        self.ndim_supp = len(core.outputs[0])
        if self.inplace:
            self.destroy_map = {0: [0]}

    def __str__(self) -> str:
        return f'{self.name}_rv{{"{self.signature}"}}'

    def rng_fn(self, rng: Any, *parameters: Any) -> Any:
        """Return a draw of a generator of NumPy; the last parameter is the size."""
        method = getattr(rng, self.name, None)
        if method is None:
            msg = (
                f"{self.name} is not a method of numpy.random.Generator, so a RandomVariable with "
                "this name needs rng_fn(rng, *params, size)."
            )
            raise MethodNotDefinedError(msg)
        return method(*parameters)

    def __call__(
        self,
        *parameters: Any,
        size: Any = None,
        name: str | None = None,
        rng: Any = None,
        dtype: Any = None,
        return_next_rng: bool = False,
        **options: Any,
    ) -> Any:
        """Return a draw, or the next generator and a draw.

        Parameters
        ----------
        parameters
            The parameters.
        size
            The shape of the draws, without their core axes.
        name
            A name for the draw.
        rng
            A generator; by default a new shared one, with the next state as its default update.
        dtype
            Another dtype.
        return_next_rng
            Whether to return the next generator too.
        options
            Of the call of any Op.
        """
        op = self if dtype is None else self._with_dtype(normalize_dtype(dtype))
        generator = shared_rng() if rng is None else rng
        after, draw = op.make_node(generator, size, *parameters, **options).outputs
        if rng is None:
            generator.default_update = after
        if name is not None:
            draw.name = name
        return (after, draw) if return_next_rng else draw

    def _with_dtype(self, dtype: str) -> RandomVariable:
        if dtype == self.dtype:
            return self
        if np.dtype(dtype).kind != np.dtype(self.dtype).kind:
            msg = (
                f"Draws of {self.name} are of {self.dtype}, so dtype= cannot be {dtype}. Cast the "
                f"draw with astype({dtype!r})."
            )
            raise ArgumentError(msg)
        props = {name: getattr(self, name) for name in self.__props__}
        return type(self)(**{**props, "dtype": dtype})

    def make_node(self, rng: Any, size: Any, *parameters: Any) -> Apply:
        """Apply to a generator, a size or ``None``, and parameters."""
        if not isinstance(rng, Variable) or not isinstance(
            rng.type, RandomType | RandomGeneratorType
        ):
            msg = (
                f"The first input of {self.name} is a generator, such as shared_rng(1) or "
                f"shared(numpy.random.default_rng(1)); got {rng!r}."
            )
            raise TypeContractError(msg)
        if len(parameters) != len(self.ndims_params):
            msg = f"{self.name} has {len(self.ndims_params)} parameters, got {len(parameters)}."
            raise ArgumentError(msg)
        given = [as_tensor_variable(one) for one in parameters]
        for number, (one, core) in enumerate(zip(given, self.ndims_params, strict=True)):
            if one.ndim < core:
                msg = (
                    f"Parameter {number} of {self.name} has {core} core axes by the signature "
                    f"{self.signature!r}; got {one} of type {one.type}."
                )
                raise ShapeError(msg)
        lengths = None if _is_none(size) else as_sizes(size, f"The size of {self.name}")
        ranks = [x.ndim - core for x, core in zip(given, self.ndims_params, strict=True)]
        most = max(ranks, default=0)
        if lengths is not None and most > len(lengths):
            msg = (
                f"{self.name}: the parameters have {most} axes before those of a draw, more than "
                f"size, which has {len(lengths)}."
            )
            raise ShapeError(msg)
        most = most if lengths is None else len(lengths)
        given = [
            shape_padleft(x, most - rank) if most > rank else x
            for x, rank in zip(given, ranks, strict=True)
        ]
        size = normalize_size_param(lengths)
        shape = self._lengths(lengths, given, [sizes_of(one) for one in given])
        known = tuple(one if isinstance(one, int) else None for one in map(fold, shape))
        draw = TensorType(self.dtype, known)
        return Apply(self, [rng, size, *given], [rng.type(), draw()])

    # ---- what a node consists of ---------------------------------------------------------------

    def rng_param(self, node: Apply) -> Variable:
        """Return the generator of a node."""
        return node.inputs[0]

    def size_param(self, node: Apply) -> Variable:
        """Return the size of a node, a vector or a constant ``None``."""
        return node.inputs[1]

    def dist_params(self, node: Apply) -> list[Variable]:
        """Return the parameters of a node."""
        return list(node.inputs[2:])

    def batch_ndim(self, node: Apply) -> int:
        """Return the number of axes of the draw of a node before its core axes."""
        return node.outputs[1].type.ndim - self.ndim_supp  # pyright: ignore[reportAttributeAccessIssue]

    def update(self, node: Apply) -> dict[Variable, Variable]:
        """Return the generator of a node and the next one."""
        return {node.inputs[0]: node.outputs[0]}

    # ---- shapes --------------------------------------------------------------------------------

    def _supp_shape_from_params(
        self, dist_params: Sequence[Any], param_shapes: Sequence[Any] | None = None
    ) -> list[Any]:
        """Return the lengths of the core axes of a draw.

        By default they are those of the axes with the same names in the signature. A subclass
        whose draws have other lengths, such as one given by a parameter, defines this method.
        """
        shapes = [one.shape for one in dist_params] if param_shapes is None else param_shapes
        known: dict[Any, Any] = {}
        for axes, shape, core in zip(self._core.inputs, shapes, self.ndims_params, strict=True):
            listed = list(shape)
            known.update(zip(axes, listed[len(listed) - core :], strict=True))
        wanted = self._core.outputs[0]
        missing = [axis for axis in wanted if not isinstance(axis, int) and axis not in known]
        if missing:
            msg = (
                f"The signature {self.signature!r} of {self.name} does not say the length of the "
                f"axis {missing[0]}: define _supp_shape_from_params(dist_params, param_shapes)."
            )
            raise MethodNotDefinedError(msg)
        return [axis if isinstance(axis, int) else known[axis] for axis in wanted]

    def _lengths(self, size: Sequence[Any] | None, given: Sequence[Any], shapes: Any) -> list[Any]:
        """Return the lengths of the axes of a draw."""
        # By keyword: what subclasses of the older packages take second is another argument.
        core = self._supp_shape_from_params(given, param_shapes=shapes) if self.ndim_supp else ()
        if size is not None:
            return [*size, *core]
        batches = [
            [fold(length) for length in tuple(shape)[: one.ndim - axes]]
            for one, shape, axes in zip(given, shapes, self.ndims_params, strict=True)
        ]
        return [*broadcast_sizes(batches, str(self)), *core]

    def infer_shape(
        self, fgraph: FunctionGraph | None, node: Apply, input_shapes: Sequence[Any]
    ) -> list[Any]:
        """Return the shape of the draw, from those of the parameters."""
        _, size, *given = node.inputs
        lengths = None if _is_none(size) else as_sizes(size)
        return [None, tuple(map(as_size, self._lengths(lengths, given, input_shapes[2:])))]

    # ---- values --------------------------------------------------------------------------------

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Draw from the generator, or from a copy of it."""
        rng, size, *given = inputs
        type_: Any = node.inputs[0].type
        generator = numpy_generator(type_, rng, inplace=self.inplace)
        shape = None if size is None else tuple(map(int, size))
        draw = np.asarray(self.rng_fn(generator, *given, shape), dtype=self.dtype)
        expected: Any = node.outputs[1].type
        if draw.ndim != expected.ndim:
            msg = (
                f"rng_fn of {self.name} returned an array of shape {draw.shape}; by the signature "
                f"{self.signature!r} and the size {shape}, a draw has {expected.ndim} axes."
            )
            raise ShapeError(msg)
        output_storage[0][0] = next_value(type_, rng, generator)
        output_storage[1][0] = draw

    def do_constant_folding(self, fgraph: Any, node: Any) -> bool:
        """Keep draws out of compilation."""
        return False

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return ``[input][output] -> bool``: parameters are connected with the draw."""
        return [[False, False], [False, False]] + [[False, True]] * len(node.inputs[2:])

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Any) -> list[Any]:
        """Return no gradients: the draws of a function have no derivative."""
        comment = (
            f"draws of {self.name} come from a function of Python; compose them of draws of "
            "phintys.random, which have derivatives"
        )
        undefined = [
            grad_undefined(self, number, one, comment) for number, one in enumerate(inputs[2:], 2)
        ]
        return [disconnected_type(), disconnected_type(), *undefined]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return no derivatives."""
        return [None, None]


@batches(RandomVariable)
def batch_random_variable(node: Any, batch: Any) -> list[Any]:
    """Draw for all items of the batch at once, so that they have different numbers."""
    rng, size, *_ = node.inputs
    given = [batch.padded(at) for at in range(2, len(node.inputs))]
    lengths = None if _is_none(size) else [*batch.sizes, *as_sizes(size)]
    return node.op.make_node(rng, lengths, *given).outputs


def normalize_size_param(size: Any) -> Variable:
    """Return the size of a draw as a variable, the input of a :class:`RandomVariable`.

    Parameters
    ----------
    size
        ``None``, a length, a list or tuple of lengths, or a symbolic vector of known length.

    Returns
    -------
    Variable
        An int64 vector; for ``None``, a constant ``None``.

    Raises
    ------
    ShapeError
        The length of a symbolic vector is not known.
    DtypeError
        A length is not an integer.

    Examples
    --------
    >>> from phintys.random import normalize_size_param
    >>> normalize_size_param((2, 3)).eval(), normalize_size_param(None).data
    (array([2, 3]), None)
    """
    if _is_none(size):
        return Constant(generic, None)
    return MakeVector("int64")(*as_sizes(size, "The size of a draw"))


def _is_none(size: Any) -> bool:
    return size is None or (isinstance(size, Constant) and size.data is None)
