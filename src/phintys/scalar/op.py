"""ScalarOp: an operation on scalars, which applies elementwise to tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Literal

import numpy as np

from phintys._base.caches import kept_property
from phintys._base.errors import (
    DtypeError,
    MethodNotDefinedError,
    OpContractError,
    TypeContractError,
    add_note,
)
from phintys._base.late import LateModule
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.pretty import PRECEDENCE, OperatorPrinter, Printer, pprint
from phintys.graph.variable import Variable
from phintys.scalar.array_kernel import ArrayKernel
from phintys.scalar.constants import as_scalar, constant, literal_constant
from phintys.scalar.type import ScalarType, get_scalar_type

Dtypes = tuple[np.dtype[Any], ...]
Lifter = Callable[["ScalarOp", Sequence[Any]], Any]

_BOOL = np.dtype(np.bool_)

# Python's own number classes: literals of these take their dtype from the other operands.
_LITERALS = (int, float, complex)

# Latest last: a package that registers later knows the earlier ones (sparse knows tensors).
_LIFTERS: dict[type, Lifter] = {}


def register_lift(kind: type, lifter: Lifter) -> None:
    """Register how a scalar op applies to something that is not a scalar.

    Parameters
    ----------
    kind
        A subclass of :class:`~phintys.graph.Type`, or a Python class of values such as
        ``numpy.ndarray``.
    lifter
        ``lifter(op, inputs)`` returns the output variable, or a list of them for an op with
        several outputs. The inputs are passed as the user gave them: variables, numbers, arrays.
        If inputs have different lifters, the one registered last is used.
    """
    _LIFTERS.pop(kind, None)
    _LIFTERS[kind] = lifter


def _lifter_for(inputs: Sequence[Any]) -> Lifter | None:
    """Return the lifter for these inputs, ``None`` if they are all scalars."""
    foreign = [
        type(x.type) if isinstance(x, Variable) else type(x)
        for x in inputs
        if not (
            isinstance(x.type, ScalarType)
            if isinstance(x, Variable)
            else isinstance(x, _LITERALS) or (isinstance(x, np.ndarray) and x.ndim == 0)
        )
    ]
    if not foreign:
        return None
    kinds = {cls for kind in foreign for cls in kind.__mro__}
    found = [lifter for kind, lifter in _LIFTERS.items() if kind in kinds]
    return found[-1] if found else None


class ScalarOp(Op):
    """Base class of operations on scalars.

    A subclass defines :meth:`impl`, how the dtypes of the outputs follow from those of the inputs
    (``output_types_preference``, or :meth:`output_types`), and :meth:`grad` if it is
    differentiable. Applied to tensors, it works elementwise.

    Parameters
    ----------
    output_types_preference
        ``preference(*input_types)`` returns the types of the outputs; see
        :mod:`phintys.scalar.preferences`.
    name
        The printed name of the op.

    Examples
    --------
    >>> from phintys.scalar import ScalarOp, float64, upgrade_to_float
    >>> class Halve(ScalarOp):
    ...     nin = 1
    ...
    ...     def impl(self, x):
    ...         return x / 2
    ...
    ...     def grad(self, inputs, output_grads):
    ...         return [output_grads[0] / 2]
    >>> halve = Halve(upgrade_to_float, name="halve")
    >>> halve(float64("x")).type
    ScalarType(float64)
    """

    nin: int = -1
    """Number of inputs; -1 for any number."""

    nout: int = 1
    """Number of outputs."""

    name: str | None = None
    """What the op is called in print; the class's name if ``None``."""

    symbol: str | None = None
    """How the op is written between (or, with one input, before) its operands."""

    precedence: float = PRECEDENCE["call"]
    """How tightly :attr:`symbol` binds: a value of :data:`phintys.graph.pretty.PRECEDENCE`."""

    commutative: bool = False
    """Whether ``op(x, y)`` is ``op(y, x)``."""

    associative: bool = False
    """Whether ``op(op(x, y), z)`` is ``op(x, op(y, z))``, up to rounding."""

    cost: float = 1.0
    """Rough cost for one element; an addition costs 1."""

    ufunc: np.ufunc | None = None
    """The NumPy ufunc that is the op whatever the dtypes, if there is one."""

    works_on_arrays: bool = False
    """Whether :meth:`impl` takes arrays, element by element and with broadcasting, as well."""

    has_wide_inputs: bool = False
    """Whether native code fills vectors by the width of the results, though inputs are wider."""

    is_chain: bool = False
    """Whether native code is a long chain of instructions that wait for each other, so that kernels
    compute several vectors side by side."""

    output_types_preference: Callable[..., Any] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("output_types_preference")
        if isinstance(own, FunctionType) and not own.__qualname__.startswith(cls.__qualname__):
            # A user's function takes only the types; it must not be bound as a method.
            cls.output_types_preference = staticmethod(own)

    def __init__(
        self,
        output_types_preference: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        if output_types_preference is not None:
            if not callable(output_types_preference):
                msg = (
                    f"{type(self).__name__}(output_types_preference): expected a function of the "
                    f"input types, such as phintys.scalar.upgrade_to_float, got "
                    f"{output_types_preference!r}."
                )
                raise TypeContractError(msg)
            self.output_types_preference = output_types_preference
        if name is not None:
            self.name = name

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(self) is type(other)
            and self.output_types_preference == other.output_types_preference  # pyright: ignore[reportAttributeAccessIssue]
        )

    def __hash__(self) -> int:
        return hash((type(self), self.output_types_preference))

    # Dtypes

    def output_types(self, input_types: Sequence[ScalarType]) -> list[ScalarType]:
        """Return the types of the outputs for inputs of given types.

        Raises
        ------
        DtypeError
            The op does not accept these types.
        MethodNotDefinedError
            The op does not define them.
        """
        if self.output_types_preference is None:
            msg = (
                f"{self} does not define the types of its outputs. Pass an output_types_preference "
                f"such as phintys.scalar.upgrade_to_float to {type(self).__name__}(...), or define "
                "output_types(input_types)."
            )
            raise MethodNotDefinedError(msg)
        types = self.output_types_preference(*input_types)
        types = [types] if isinstance(types, ScalarType) else list(types)
        if len(types) != self.nout or not all(isinstance(t, ScalarType) for t in types):
            msg = (
                f"The output types of {self} must be {self.nout} ScalarType(s), one for each "
                f"output; got {types!r}."
            )
            raise OpContractError(msg)
        return types

    def resolve_dtypes(self, input_dtypes: Sequence[Any]) -> Dtypes:
        """Return the dtypes of the outputs for inputs of given dtypes.

        Parameters
        ----------
        input_dtypes
            One dtype, or its name, for each input.

        Raises
        ------
        DtypeError
            The op does not accept these dtypes.

        Examples
        --------
        >>> from phintys.scalar import true_div
        >>> true_div.resolve_dtypes(["int8", "int8"])
        (dtype('float64'),)
        """
        types = [get_scalar_type(dtype) for dtype in input_dtypes]
        return tuple(t.numpy_dtype for t in self.output_types(types))

    def literal_dtypes(self, operands: Sequence[Any]) -> Dtypes:
        """Return the dtypes of all operands, some of which are Python literals.

        Parameters
        ----------
        operands
            For each operand its dtype, or the Python number itself. Python bools are strongly
            typed, like NumPy's.

        Returns
        -------
        tuple of numpy.dtype
            A given dtype is returned unchanged; for a literal it is the dtype of the constant that
            replaces it, by NumPy's promotion of "weak" Python numbers.

        Examples
        --------
        >>> import numpy as np
        >>> from phintys.scalar import add
        >>> add.literal_dtypes([np.dtype("float32"), 2])
        (dtype('float32'), dtype('float32'))
        """
        key = tuple(
            [
                x if isinstance(x, np.dtype) else _BOOL if type(x) is bool else type(x)
                for x in operands
            ]
        )
        found = self._weak.get(key)
        if found is None:
            if not any(isinstance(x, np.dtype) for x in key):
                return tuple(constant(operand).type.numpy_dtype for operand in operands)
            found = self._weak[key] = self._weak_dtypes(key)
        return found

    @kept_property
    def _weak(self) -> dict[tuple[Any, ...], Dtypes]:
        return {}

    def _weak_dtypes(self, operands: Sequence[Any]) -> Dtypes:
        """Return the dtypes of all operands, with a literal given as its Python class."""
        strong = [x for x in operands if isinstance(x, np.dtype)]
        return tuple(
            x if isinstance(x, np.dtype) else np.result_type(*strong, x(0)) for x in operands
        )

    def literal(self, value: complex, dtype: np.dtype[Any]) -> Any:
        """Return the constant for a Python literal whose dtype :meth:`literal_dtypes` determined.

        Raises
        ------
        OutOfBoundsError
            An int does not fit the dtype.
        """
        return literal_constant(value, dtype, self)

    # Nodes

    def make_node(self, *inputs: Any) -> Apply:
        if self.nin >= 0 and len(inputs) != self.nin:
            msg = f"{self} takes {self.nin} input{'s' * (self.nin != 1)}, got {len(inputs)}."
            raise OpContractError(msg)
        if not inputs:
            msg = f"{self} needs at least one input."
            raise OpContractError(msg)
        variables: list[Any] = []
        literals = False
        for x in inputs:
            if isinstance(x, Variable) and isinstance(x.type, ScalarType):
                variables.append(x)
            elif type(x) in _LITERALS:
                literals = True
                variables.append(x)
            else:
                variables.append(self._as_scalar(x))
        if literals:
            variables = self._settle_literals(variables)
        types = self.output_types([x.type for x in variables])
        return Apply(self, variables, [type.make_variable() for type in types])

    def _as_scalar(self, x: Any) -> Any:
        try:
            return as_scalar(x)
        except TypeError as error:
            add_note(error, f"It was given to the scalar op {self}.")
            raise

    def _settle_literals(self, operands: Sequence[Any]) -> list[Any]:
        """Replace Python numbers by constants of the dtype that the other operands give them."""
        dtypes = self.literal_dtypes(
            [x if type(x) in _LITERALS else x.type.numpy_dtype for x in operands]
        )
        return [
            self.literal(x, dtype) if type(x) in _LITERALS else x
            for x, dtype in zip(operands, dtypes, strict=True)
        ]

    def __call__(
        self, *inputs: Any, name: str | None = None, return_list: bool = False, **kwargs: Any
    ) -> Any:
        """Apply the op to scalars, or elementwise to anything else.

        Parameters
        ----------
        inputs
            Scalar variables and numbers; or variables of other types that have a lifter
            (:func:`register_lift`), such as tensors.
        name
            Name for the (default) output.
        return_list
            Return a list even for a single output.
        """
        lifter = _lifter_for(inputs)
        if lifter is None:
            return super().__call__(*inputs, name=name, return_list=return_list, **kwargs)
        outputs = lifter(self, inputs)
        single = isinstance(outputs, Variable)
        if name is not None:
            (outputs if single else outputs[self.default_output or 0]).name = name
        return [outputs] if single and return_list else outputs

    # Values

    def impl(self, *values: Any) -> Any:
        """Compute the output (a tuple of outputs, if there are several) from values."""
        msg = f"The scalar op {self} has no impl. Define impl(self, *values) in its class."
        raise MethodNotDefinedError(msg)

    def kernel(self, input_dtypes: Sequence[Any]) -> Callable[..., Any]:
        """Return a function that computes the op on whole arrays.

        Parameters
        ----------
        input_dtypes
            The dtypes of the input arrays.

        Returns
        -------
        callable
            ``kernel(*arrays, out=None)`` broadcasts the arrays and returns an array of the op's
            output dtype (a tuple of arrays for several outputs). ``out`` is an array of that dtype
            and the broadcast shape (a tuple of arrays for several outputs), which can be one of
            the inputs.
        """
        dtypes = self.resolve_dtypes(input_dtypes)
        return ArrayKernel(self.impl, self.works_on_arrays, dtypes)

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        results = self.impl(*inputs)
        if self.nout == 1:
            output_storage[0][0] = node.outputs[0].type.filter(results, allow_downcast=True)
            return
        if not isinstance(results, list | tuple) or len(results) != self.nout:
            msg = f"{self}.impl must return a tuple of {self.nout} values, got {results!r}."
            raise OpContractError(msg)
        for cell, variable, result in zip(output_storage, node.outputs, results, strict=True):
            cell[0] = variable.type.filter(result, allow_downcast=True)

    # Optional properties of the op

    @property
    def associativity(self) -> Literal["left", "right", "either", "none"]:
        """Which operand of a chain of :attr:`symbol` needs no parentheses."""
        if self.associative:
            return "either"
        if self.precedence == PRECEDENCE["**"]:
            return "right"
        return "none" if self.precedence == PRECEDENCE["comparison"] else "left"

    def identity_element(self, dtype: Any) -> Any:
        """Return e with ``op(e, x) == x`` for each x of a dtype, ``None`` if there is none."""
        return None

    def absorbing_element(self, dtype: Any) -> Any:
        """Return a with ``op(a, x) == a`` for each x of a dtype, ``None`` if there is none."""
        return None

    def flops(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> float:
        """Return the approximate number of elementary operations per element."""
        return self.cost


class UnaryScalarOp(ScalarOp):
    """A scalar op with one input."""

    nin = 1


class BinaryScalarOp(ScalarOp):
    """A scalar op with two inputs."""

    nin = 2


def unsupported_dtypes(op: ScalarOp, dtypes: Sequence[Any], takes: str, hint: str) -> DtypeError:
    """Return the error for an op that does not accept inputs of some dtypes."""
    came = ", ".join(str(np.dtype(dtype)) for dtype in dtypes)
    return DtypeError(f"{op} takes {takes}; got {came}. {hint}".rstrip())


def operator_printer(op: ScalarOp) -> Printer | None:
    """Return a printer that writes a scalar op as its symbol, ``None`` if it has no symbol.

    Parameters
    ----------
    op
        A scalar op; the printer also serves the tensor op that applies it elementwise.

    Examples
    --------
    >>> from phintys.graph.pretty import pprint
    >>> from phintys.scalar import float64
    >>> x, y = float64("x"), float64("y")
    >>> pprint(-(x + y) * 2)
    '-(x + y) * 2.0'
    """
    if op.symbol is None:
        return None
    return OperatorPrinter(op.symbol, op.precedence, op.associativity)


pprint.late.append(LateModule("phintys.scalar.printing"))
