"""Rows of the table of scalar ops: their common base class.

A row states a name, a function on arrays, a dtype rule and a derivative. The derivative is
``derivative(*inputs, out)`` and returns one partial for each input: a variable, a Python number, or
``None`` if it is not known. The partials determine the reverse rule (:meth:`Row.L_op`, for a
gradient g of the output: ``g * conj(partial)``) and the forward rule (:meth:`Row.R_op`, for
tangents v: ``sum(partial * v)``). A function that is not holomorphic, or whose partials need
guarding, defines ``pullback(*inputs, out, g)`` and ``pushforward(*inputs, out, v)`` instead. A
pullback can return ``None`` where the partials suffice.

A row can also state its function as an expression in other scalar functions:
``expansion(*inputs)``. Native code follows from it for all dtypes that have no code of their own,
and so do the derivatives, unless the row states them.

The gradient of a real cost C with respect to a complex z = a + ib is dC/da + i dC/db.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from phintys._base.config import config
from phintys._base.errors import MethodNotDefinedError, OpContractError
from phintys._base.uninterrupted import is_imported_again
from phintys.graph.null_type import DisconnectedType, NullType, disconnected_type
from phintys.graph.pretty import PRECEDENCE
from phintys.graph.variable import Variable
from phintys.scalar.cancelling import product
from phintys.scalar.infinities import without_infinite_slopes
from phintys.scalar.op import Dtypes, ScalarOp
from phintys.scalar.operators import OPERATORS
from phintys.scalar.type import ScalarType, get_scalar_type, real_dtype

Rule = Callable[..., Any]

_ROWS: dict[str, Row] = {}


def _home() -> Mapping[str, object]:
    """Return the namespace of the module that makes a row."""
    frame = sys._getframe(1)
    while frame.f_code.co_name == "__init__" and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_globals


def _row_named(name: str) -> Row:
    """Return the row that a pickle names."""
    if name not in _ROWS:
        msg = f"There is no scalar op named {name!r}. Import the module that defines it first."
        raise MethodNotDefinedError(msg)
    return _ROWS[name]


def all_rows() -> dict[str, Row]:
    """Return the rows that exist by now, by their names."""
    return dict(_ROWS)


def dtype_of(variable: Any) -> np.dtype[Any]:
    """Return the dtype of a variable, scalar or not."""
    return np.dtype(variable.type.dtype)


def zeros_like(x: Any, dtype: Any = None) -> Any:
    """Return zeros with the shape of ``x``: the constant 0 for a scalar.

    Parameters
    ----------
    x
        A scalar variable, or one of another type to which scalar ops are lifted.
    dtype
        Dtype of the zeros; that of ``x`` by default.

    Examples
    --------
    >>> from phintys.scalar import float32, zeros_like
    >>> zeros_like(float32("x"), dtype="float64").data
    np.float64(0.0)
    """
    zero = get_scalar_type(dtype_of(x) if dtype is None else dtype).make_constant(0)
    return zero if isinstance(x.type, ScalarType) else OPERATORS.second(x, zero)


def _gradient_dtype(x: Any) -> str:
    """Return the dtype of a zero gradient for ``x``."""
    dtype = dtype_of(x)
    return config.floatX if dtype.kind in "biu" else dtype.name


class Row(ScalarOp):
    """A scalar op that is one row of the table.

    Parameters
    ----------
    name
        Name of the op and of the module attribute that holds it.
    nin
        Number of inputs, -1 for any number.
    doc
        Description of the function in terms of its parameters; the text of its documentation.
    source
        Whose the algorithm or the formula is, with the year; special functions have one.
    parameters
        Names of the inputs; by default ``x``, or ``x1, x2`` ... as in NumPy.
    domain
        A condition on the parameters outside of which the result for real numbers is NaN or
        infinite; empty if there is none.
    example
        The arguments of the example in the documentation, as Python text.
    derivative, pullback, pushforward
        The rules described above.
    expansion
        The function in terms of other rows, as described above. Its derivatives must be finite
        wherever the function is smooth: guard the arguments of each branch of a ``switch``.
    intervals
        For each input, the interval from which tests draw numbers; (-5, 5) by default. Tests of a
        row with an expansion, or that states its intervals, need no other entry.
    special
        Whether :mod:`phintys.tensor.special` offers the function too.
    undefined
        Why a partial is ``None``, for the error message.
    symbol, precedence
        How the op is printed.
    positive
        Whether the function is positive for all real numbers: 0 only by underflow.
    slope_at_zero
        The derivative at 0 of an odd function that is a multiple of its argument near 0.
    vanishes
        Whether the function is 0 wherever its first input is; so are odd functions.
    infinite_slope
        Whether a partial derivative can be infinite where an operand is: see
        :mod:`phintys.scalar.infinities`.
    identity, absorbing
        The element, or a function from a dtype to it.
    commutative, associative, cost
        See :class:`ScalarOp`.
    home
        The namespace of the module that makes the row, that of the caller by default.
    """

    name: str
    works_on_arrays = True

    is_in_table: ClassVar[bool] = True
    """Whether it is in the table of the process under its name, by which pickles find it."""

    def __init__(
        self,
        name: str,
        *,
        nin: int,
        doc: str = "",
        source: str = "",
        parameters: tuple[str, ...] | None = None,
        domain: str = "",
        example: str = "",
        derivative: Rule | None = None,
        pullback: Rule | None = None,
        pushforward: Rule | None = None,
        expansion: Rule | None = None,
        intervals: tuple[tuple[float, float], ...] | None = None,
        special: bool = False,
        undefined: str = "",
        symbol: str | None = None,
        precedence: float = PRECEDENCE["call"],
        commutative: bool = False,
        associative: bool = False,
        positive: bool = False,
        slope_at_zero: float | None = None,
        vanishes: bool = False,
        infinite_slope: bool = False,
        identity: Any = None,
        absorbing: Any = None,
        cost: float = 1.0,
        home: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(name=name)
        self.nin = nin
        self.doc = doc
        self.source = source
        if doc:
            self.__doc__ = doc
        self.domain = domain
        self.example = example
        self._parameters = parameters
        self.symbol = symbol
        self.precedence = precedence
        self.commutative = commutative
        self.associative = associative
        self.positive = positive
        self.slope_at_zero = slope_at_zero
        self.vanishes = vanishes or slope_at_zero is not None
        self.infinite_slope = infinite_slope
        self.cost = cost
        self._derivative = derivative
        self._pullback = pullback
        self._pushforward = pushforward
        self.expansion = expansion
        self.drives_tests = expansion is not None or intervals is not None
        self.intervals = intervals or ((-5.0, 5.0),) * abs(nin)
        self.special = special
        self.undefined = undefined
        self._identity = identity
        self._absorbing = absorbing
        self._resolved: dict[Dtypes, Dtypes] = {}
        self._types: dict[tuple[ScalarType, ...], list[ScalarType]] = {}
        self._home = _home() if home is None else home
        if self.is_in_table:
            self._enter_table()

    def _enter_table(self) -> None:
        former = _ROWS.get(self.name)
        if former is not None and not is_imported_again(former._home, self._home):
            msg = f"There are two rows named {self.name!r} in the table of scalar ops."
            raise OpContractError(msg)
        _ROWS[self.name] = self

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the inputs; of the first one, for a row of any number of inputs."""
        if self._parameters is not None:
            return self._parameters
        if self.nin == 1:
            return ("x",)
        return tuple(f"x{i + 1}" for i in range(abs(self.nin)))

    # Each process has one object per row.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_row_named, (self.name,))

    # Dtypes

    def output_types(self, input_types: Sequence[ScalarType]) -> list[ScalarType]:
        key = tuple(input_types)
        types = self._types.get(key)
        if types is None:
            dtypes = self.resolve_dtypes([type.numpy_dtype for type in input_types])
            types = self._types[key] = [get_scalar_type(dtype) for dtype in dtypes]
        return types

    def resolve_dtypes(self, input_dtypes: Sequence[Any]) -> Dtypes:
        key = tuple(map(np.dtype, input_dtypes))
        dtypes = self._resolved.get(key)
        if dtypes is None:
            if self.nin >= 0 and len(key) != self.nin:
                msg = f"{self} takes {self.nin} inputs, got {len(key)} dtypes."
                raise OpContractError(msg)
            dtypes = self._resolved[key] = self._resolve(key)
        return dtypes

    def _resolve(self, dtypes: Dtypes) -> Dtypes:
        """Return the dtypes of the outputs, or raise DtypeError."""
        msg = f"The row {self} does not define _resolve(dtypes), its dtype rule."
        raise MethodNotDefinedError(msg)

    def compute_dtypes(self, dtypes: Dtypes) -> Dtypes:
        """Return the dtypes in which the inputs are passed to the function and the expansion."""
        return dtypes

    # Properties

    def identity_element(self, dtype: Any) -> Any:
        return _element(self._identity, np.dtype(dtype))

    def absorbing_element(self, dtype: Any) -> Any:
        return _element(self._absorbing, np.dtype(dtype))

    # Derivatives

    def L_op(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        output_grads: Sequence[Variable],
    ) -> list[Variable]:
        """Return the gradient for each input.

        An input of a continuous dtype gets a gradient of that dtype; an integer input gets a
        gradient as if it had the floating dtype of the output. If the output is an integer or a
        bool, all gradients are zeros.
        """
        (g,) = output_grads
        (out,) = outputs
        if isinstance(g.type, DisconnectedType):
            return [disconnected_type() for _ in inputs]
        if dtype_of(out).kind in "biu":
            return [zeros_like(x, _gradient_dtype(x)) for x in inputs]
        gradients = self._gradients(inputs, out, g)
        return [
            self._fit_gradient(gradient, x, position)
            for position, (gradient, x) in enumerate(zip(gradients, inputs, strict=True))
        ]

    def _gradients(self, inputs: Sequence[Any], out: Any, g: Any) -> Sequence[Any]:
        found = None if self._pullback is None else self._pullback(*inputs, out=out, g=g)
        if found is not None:
            return found
        if self._derivative is None and self.expansion is not None:
            op = OPERATORS.expanded(self, [dtype_of(x) for x in inputs])
            return op.L_op(inputs, [out], [g])
        return [_pull(g, partial) for partial in self.partials(inputs, out)]

    def partials(self, inputs: Sequence[Any], out: Any) -> Sequence[Any]:
        """Return the derivatives of ``out`` by the inputs; ``None`` where one is not known."""
        if self._derivative is None:
            return [None] * len(inputs)
        partials = self._derivative(*(as_continuous(x, out) for x in inputs), out=out)
        return without_infinite_slopes(inputs, partials) if self.infinite_slope else partials

    def _fit_gradient(self, gradient: Any, x: Any, position: int) -> Any:
        if gradient is None:
            return self._undefined_gradient(position)
        # Only 0 is still a number here; an expansion need not use every input.
        if isinstance(gradient, int | float) or isinstance(gradient.type, DisconnectedType):
            return zeros_like(x, _gradient_dtype(x))
        if isinstance(gradient.type, NullType):
            return gradient
        wanted, has = dtype_of(x), dtype_of(gradient)
        if wanted == has:
            return gradient
        if has.kind == "c" and wanted.kind != "c":
            gradient = OPERATORS.real(gradient)
            has = dtype_of(gradient)
        if wanted.kind in "biu" or wanted == has:
            return gradient
        return OPERATORS.cast(gradient, wanted)

    def _undefined_gradient(self, position: int) -> Any:
        reason = self.undefined or "no derivative is known"
        return NullType(f"{self} has no gradient for its input {position}: {reason}")()

    def R_op(self, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]) -> list[Any]:
        """Return the derivative of the output along tangents of the inputs."""
        directions = [
            None if v is None or isinstance(v.type, DisconnectedType) else v for v in eval_points
        ]
        if all(v is None for v in directions):
            return [None]
        return [self.push_forward(inputs, self(*inputs), directions)]

    def push_forward(self, inputs: Sequence[Any], out: Any, directions: Sequence[Any]) -> Any:
        """Return the derivative of ``out`` along tangents of the inputs.

        Parameters
        ----------
        inputs, out
            Inputs and output of a node of this op.
        directions
            A variable for each input, or ``None`` for a zero tangent.
        """
        if dtype_of(out).kind in "biu":
            return zeros_like(out, config.floatX)
        if self._pushforward is not None:
            tangent = self._pushforward(*inputs, out=out, v=tuple(directions))
        elif self._derivative is None and self.expansion is not None:
            op = OPERATORS.expanded(self, [dtype_of(x) for x in inputs])
            (tangent,) = op.push_forward(inputs, [out], directions)
        else:
            tangent = self._sum_of_pushes(inputs, out, directions)
        if tangent is None:
            return zeros_like(out)
        if isinstance(tangent.type, NullType) or dtype_of(tangent) == dtype_of(out):
            return tangent
        return OPERATORS.cast(tangent, dtype_of(out))

    def _sum_of_pushes(self, inputs: Sequence[Any], out: Any, directions: Sequence[Any]) -> Any:
        partials = self.partials(inputs, out)
        terms = []
        for position, (partial, v) in enumerate(zip(partials, directions, strict=True)):
            if v is None or _is_number(partial, 0):
                continue
            if partial is None:
                return self._undefined_gradient(position)
            terms.append(_push(v, partial))
        if not terms:
            return None
        return terms[0] if len(terms) == 1 else OPERATORS.add(*terms)


def _element(given: Any, dtype: np.dtype[Any]) -> Any:
    if callable(given):
        given = given(dtype)
    return None if given is None else np.asarray(given).astype(dtype)[()]


def _is_number(partial: Any, number: int) -> bool:
    return isinstance(partial, int | float | complex) and partial == number


def as_continuous(x: Any, out: Any) -> Any:
    """Return an input in the precision of the output, in which derivative rules compute.

    An integer becomes a float, which does not wrap around.
    """
    has, precision = dtype_of(x), real_dtype(dtype_of(out))
    wanted = precision if has.kind in "biu" else np.result_type(has, precision)
    return x if has == wanted else OPERATORS.cast(x, wanted)


def _push(v: Any, partial: Any) -> Any:
    if _is_number(partial, 1):
        return v
    if _is_number(partial, -1):
        return -v
    return product(partial, v)


def _pull(g: Any, partial: Any) -> Any:
    if partial is None or _is_number(partial, 0):
        return partial
    if isinstance(partial, complex):
        partial = partial.conjugate()
    elif isinstance(partial, Variable) and dtype_of(partial).kind == "c":
        partial = OPERATORS.conj(partial)
    return _push(g, partial)
