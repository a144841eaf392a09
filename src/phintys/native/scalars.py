"""Scalar functions of users in machine code, which native code calls for each element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from phintys._base.caches import kept_property
from phintys._base.errors import ArgumentError
from phintys.native.functions import NativeFunction, Prototype, checked, is_native_function
from phintys.scalar.op import Dtypes, ScalarOp, unsupported_dtypes
from phintys.scalar.row import Row

DTYPES = (
    *("float64", "float32", "int64", "int32", "int16", "int8"),
    *("uint64", "uint32", "uint16", "uint8"),
)

Derivative = Callable[..., Any] | Sequence[Any] | None


class NativeScalar(Row):
    """A scalar op that is a function of a user in machine code; made by :func:`scalar`."""

    is_in_table: ClassVar[bool] = False

    def __init__(
        self,
        name: str,
        function: NativeFunction,
        dtype: str,
        nin: int,
        rules: tuple[Any, ...] | None,
        graph: Callable[..., Any] | None,
        doc: str,
        cost: float,
    ) -> None:
        super().__init__(
            name,
            nin=nin,
            doc=doc,
            derivative=None if rules is None else _Partials(rules),
            expansion=graph,
            cost=cost,
            undefined=f"pass derivative= or graph= to phintys.native.scalar({name!r}, ...)",
            home={},
        )
        self.function = function
        self.dtype = np.dtype(dtype)
        self._key = (name, function, self.dtype.name, nin, rules, graph, doc, cost)

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is NativeScalar and self._key == other._key)

    def __hash__(self) -> int:
        return hash(self._key[:4])

    def __reduce__(self) -> tuple[Any, ...]:
        name, function, *others = self._key
        return NativeScalar, (name, function, *others)

    def _resolve(self, dtypes: Dtypes) -> Dtypes:
        if not all(np.can_cast(one, self.dtype) for one in dtypes):
            takes = f"what NumPy casts to {self.dtype} without loss"
            hint = f'Cast them: x.astype("{self.dtype}").'
            raise unsupported_dtypes(self, dtypes, takes, hint)
        return (self.dtype,)

    def compute_dtypes(self, dtypes: Dtypes) -> Dtypes:
        return (self.dtype,) * len(dtypes)

    @kept_property
    def _each(self) -> Callable[..., Any]:
        """The function on arrays, called through ctypes for each element."""
        kind = self.dtype.name
        function = Prototype(kind, (kind,) * self.nin).at(self.function.address)
        return np.vectorize(function, otypes=[self.dtype])

    def impl(self, *values: Any) -> Any:
        arrays = [np.asarray(value).astype(self.dtype, copy=False) for value in values]
        return np.asarray(self._each(*arrays)).astype(self.dtype, copy=False)[()]


class _Partials:
    """The derivatives by each input, as a rule of :class:`~phintys.scalar.row.Row`.

    Parameters
    ----------
    rules
        A function of the inputs for each partial, or one that returns all of them.
    """

    def __init__(self, rules: tuple[Any, ...]) -> None:
        self._rules = rules

    def __call__(self, *inputs: Any, out: Any) -> tuple[Any, ...]:
        found = [None if rule is None else rule(*inputs) for rule in self._rules]
        if len(found) == 1 and isinstance(found[0], tuple | list):
            found = list(found[0])
        if len(found) != len(inputs):
            msg = (
                f"The derivative must be an expression for each of {len(inputs)} inputs, as a "
                f"tuple; got {len(found)}."
            )
            raise ArgumentError(msg)
        return tuple(found)


def scalar(
    name: str,
    f: Any,
    dtype: Any = "float64",
    *,
    nin: int = 1,
    derivative: Derivative = None,
    graph: Callable[..., Any] | None = None,
    doc: str = "",
    cost: float = 30.0,
) -> NativeScalar:
    """Return a scalar function that is a function in machine code, without a compiler.

    Native code calls it for each element, without Python and without the GIL, maybe in several
    threads at once: it must be safe to call so, depend on its arguments only, and not raise
    signals. It applies to scalars and, elementwise, to tensors, in loops and batches.

    Parameters
    ----------
    name
        What it is called in print.
    f
        ``(library, symbol)``, a function of ctypes or cffi, a ``numba.cfunc``, or a
        ``scipy.LowLevelCallable``: ``double f(double, ...)`` for float64.
    dtype
        The dtype of arguments and result; arguments are cast to it where that is without loss.
    nin
        The number of arguments.
    derivative
        The derivative, for one argument; a sequence of partial derivatives for several. Each is a
        function of the arguments: an expression of them, another scalar function, or a function in
        machine code like ``f``. ``None`` in the sequence stands for a partial that is not known.
    graph
        Instead: a function of scalar variables that returns the same as an expression, of which
        derivatives are taken.
    doc
        What it computes.
    cost
        How long a call takes, in additions.

    Raises
    ------
    ArgumentError
        If the types of ``f`` are known and differ, or derivatives are given twice.
    NativeFunctionError
        If the library or the symbol does not exist.

    Notes
    -----
    The function is known by its library and symbol. So caches, pickles and other processes find it
    where the library is. A function that has an address only, such as that of numba, can be
    pickled if it is defined at the top of a module.

    Examples
    --------
    >>> import phintys, phintys.native, phintys.tensor as pt
    >>> cube_root = phintys.native.scalar(
    ...     "cube_root",
    ...     ("libm.so.6", "cbrt"),
    ...     derivative=lambda x: 1 / (3 * cube_root(x) ** 2),
    ... )
    >>> x = pt.dvector("x")
    >>> y = cube_root(x)
    >>> f = phintys.function([x], [y, phintys.grad(y.sum(), x)])
    >>> [value.round(4).tolist() for value in f([8.0, 27.0])]
    [[2.0, 3.0], [0.0833, 0.037]]
    """
    called = f"phintys.native.scalar({name!r}, ...)"
    kind = np.dtype(dtype).name
    if kind not in DTYPES:
        msg = f"{called}: dtype must be one of {', '.join(DTYPES)}; got {kind}."
        raise ArgumentError(msg)
    if derivative is not None and graph is not None:
        msg = f"{called}: derivative and graph both state the derivative; pass one of them."
        raise ArgumentError(msg)
    takes = (kind,) * nin
    function, _ = checked(f, (kind,), takes, called)

    def rule(given: Any, suffix: str) -> Any:
        if given is None or isinstance(given, ScalarOp) or not is_native_function(given):
            return given
        return scalar(f"{name}_by_{suffix}", given, kind, nin=nin, cost=cost)

    rules: tuple[Any, ...] | None = None
    if derivative is not None:
        several = isinstance(derivative, tuple | list) and not is_native_function(derivative)
        parts: tuple[Any, ...] = tuple(derivative) if several else (derivative,)  # pyright: ignore[reportArgumentType] - that it is a sequence is lost in `several`
        if several and len(parts) != nin:
            msg = f"{called}: derivative must have an entry for each of {nin} arguments."
            raise ArgumentError(msg)
        rules = tuple(rule(part, f"x{at + 1}") for at, part in enumerate(parts))
    return NativeScalar(name, function, kind, nin, rules, graph, doc, cost)
