"""The regular kinds of rows: NumPy's ufuncs, folds of them, and floating-point functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from phintys._base.uninterrupted import import_whole
from phintys.scalar.op import Dtypes, unsupported_dtypes
from phintys.scalar.row import Row
from phintys.scalar.type import real_dtype

__all__ = ["FloatRow", "UfuncRow", "VariadicRow"]

_KINDS = {
    "bools": np.dtype(np.bool_),
    "integers": np.dtype(np.int64),
    "floats": np.dtype(np.float64),
    "complex numbers": np.dtype(np.complex128),
}


class UfuncRow(Row):
    """A row that is a NumPy ufunc and has its dtype rules.

    Parameters
    ----------
    name, **facts
        As for :class:`Row`.
    ufunc
        The ufunc.
    hint
        What to write instead if a dtype is not accepted.
    """

    ufunc: np.ufunc

    def __init__(self, name: str, ufunc: np.ufunc, *, hint: str = "", **facts: Any) -> None:
        super().__init__(name, nin=ufunc.nin, **facts)
        self.ufunc = ufunc
        self._hint = hint

    @property
    def reference(self) -> str:
        """The origin of the function."""
        return f"numpy:{self.ufunc.__name__}"

    def _resolve(self, dtypes: Dtypes) -> Dtypes:
        return self._loop(dtypes)[self.nin :]

    def _loop(self, operands: Sequence[Any]) -> Dtypes:
        """Return the dtypes of NumPy's loop; an operand can be given as a Python number class."""
        try:
            return self.ufunc.resolve_dtypes((*operands, *(None,) * self.nout))
        except TypeError as error:
            words = ", ".join(word for word, dtype in _KINDS.items() if self._takes(dtype))
            raise unsupported_dtypes(self, operands, words, self._hint or str(error)) from None

    def _takes(self, dtype: np.dtype[Any]) -> bool:
        try:
            self.ufunc.resolve_dtypes((*(dtype,) * self.nin, *(None,) * self.nout))
        except TypeError:
            return False
        return True

    def _weak_dtypes(self, operands: Sequence[Any]) -> Dtypes:
        if self.nin == 1:
            return super()._weak_dtypes(operands)
        loop = self._loop(operands)[: self.nin]
        return tuple(
            x if isinstance(x, np.dtype) else dtype for x, dtype in zip(operands, loop, strict=True)
        )

    def impl(self, *values: Any) -> Any:
        return self.ufunc(*values)

    def kernel(self, input_dtypes: Sequence[Any]) -> Callable[..., Any]:
        self.resolve_dtypes(input_dtypes)
        return _NewMemory(self.ufunc) if self.ufunc in _IGNORE_STRIDES else self.ufunc


# NumPy up to 2.4 writes the results of these as if `out` were contiguous.
_IGNORE_STRIDES = frozenset((np.isfinite, np.isinf, np.isnan, np.signbit))


class _NewMemory:
    """A ufunc that is never given ``out``."""

    def __init__(self, ufunc: np.ufunc) -> None:
        self.ufunc = ufunc

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        result = self.ufunc(*arrays)
        if isinstance(out, tuple):
            (out,) = out
        return result if out is None else _copy_to(out, result)


class VariadicRow(Row):
    """A row that folds a NumPy ufunc of two inputs over any number of them.

    All inputs are cast to the dtype of the output first, so their order affects the result only by
    rounding.
    """

    def __init__(self, name: str, ufunc: np.ufunc, **facts: Any) -> None:
        super().__init__(name, nin=-1, **facts)
        self.binary = ufunc

    @property
    def reference(self) -> str:
        """The origin of the function."""
        return f"numpy:{self.binary.__name__}"

    def _resolve(self, dtypes: Dtypes) -> Dtypes:
        dtype = np.result_type(*dtypes)
        if len(dtypes) == 1:
            return (dtype,)
        return self.binary.resolve_dtypes((dtype, dtype, None))[2:]

    def impl(self, *values: Any) -> Any:
        dtype = self.resolve_dtypes([np.asarray(value).dtype for value in values])[0]
        return self._fold(values, dtype, None)

    def _fold(self, values: Sequence[Any], dtype: np.dtype[Any], out: Any) -> Any:
        if len(values) == 1:
            only = np.asarray(values[0])
            return only.astype(dtype)[()] if out is None else _copy_to(out, only)
        total = self.binary(values[0], values[1], out=out, dtype=dtype)
        for value in values[2:]:
            total = self.binary(total, value, out=out, dtype=dtype)
        return total

    def kernel(self, input_dtypes: Sequence[Any]) -> Callable[..., Any]:
        (dtype,) = self.resolve_dtypes(input_dtypes)
        if len(input_dtypes) == 2:
            return self.binary
        return _Fold(self, dtype)


def _copy_to(out: Any, values: Any) -> Any:
    np.copyto(out, values)
    return out


class _Fold:
    """The kernel of a variadic row."""

    def __init__(self, row: VariadicRow, dtype: np.dtype[Any]) -> None:
        self.row = row
        self.dtype = dtype

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        if isinstance(out, tuple):
            (out,) = out
        if out is not None and any(np.may_share_memory(out, array) for array in arrays[2:]):
            # The first sum would overwrite a later term.
            return _copy_to(out, self.row._fold(arrays, self.dtype, None))
        return np.asarray(self.row._fold(arrays, self.dtype, out))


class FloatRow(Row):
    """A row for a function that computes in floating point: SciPy's, or one defined here.

    Integers and bools give float64. float16 is computed in float32 and rounded to float16.

    Parameters
    ----------
    name, **facts
        As for :class:`Row`.
    function
        Takes arrays of float32 or float64 (and complex64 or complex128), broadcasts them, and
        returns an array of the same dtype. A string such as ``"scipy.special:erf"`` names a
        function of NumPy or SciPy, which is imported at first use.
    nin
        Number of inputs.
    complex
        Whether complex numbers are accepted.
    real_inputs
        Positions of inputs that must be real regardless, such as the order of a Bessel function.
    widened
        Whether narrower floats are computed in float64, because the function is inaccurate in them.
    external
        Whether native code calls SciPy's function of doubles, which ``function`` names, for each
        element: ``scipy.special.cython_special`` must export it.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.scalar import FloatRow, int8, sin
    >>> haversine = FloatRow(
    ...     "haversine",
    ...     lambda x: np.sin(x / 2) ** 2,
    ...     derivative=lambda x, out: (0.5 * sin(x),),
    ... )
    >>> haversine(int8("x")).type
    ScalarType(float64)
    >>> haversine.impl(np.array([0.0, np.pi]))
    array([0., 1.])
    """

    def __init__(
        self,
        name: str,
        function: str | Callable[..., Any],
        *,
        nin: int = 1,
        complex: bool = False,
        real_inputs: tuple[int, ...] = (),
        widened: bool = False,
        external: bool = False,
        cost: float = 30.0,
        special: bool = True,
        **facts: Any,
    ) -> None:
        super().__init__(name, nin=nin, cost=cost, special=special, **facts)
        self._function = function
        self._found: Callable[..., Any] | None = None if isinstance(function, str) else function
        self.complex = complex
        self.real_inputs = real_inputs
        self.widened = widened
        self.external = external

    @property
    def reference(self) -> str:
        """The origin of the function."""
        function = self._function
        return function if isinstance(function, str) else f"{__package__}:{self.name}"

    @property
    def numpy_function(self) -> Callable[..., Any]:
        """The function, imported if necessary."""
        if self._found is None:
            module, _, name = self.reference.partition(":")
            self._found = found = getattr(import_whole(module), name)
            return found
        return self._found

    def _resolve(self, dtypes: Dtypes) -> Dtypes:
        for position, dtype in enumerate(dtypes):
            if dtype.kind == "c" and (not self.complex or position in self.real_inputs):
                takes = "floats, integers and bools"
                if self.complex:
                    takes += f" as input {position}"
                hint = "Take the real part or the absolute value of a complex number first."
                raise unsupported_dtypes(self, dtypes, takes, hint)
        wide = (np.dtype(np.float64) if dtype.kind in "biu" else dtype for dtype in dtypes)
        return (np.result_type(*wide),)

    def compute_dtypes(self, dtypes: Dtypes) -> Dtypes:
        (out,) = self.resolve_dtypes(dtypes)
        dtype = np.dtype(np.float32) if out == np.float16 else out
        dtype = np.dtype(np.float64) if self.widened and dtype == np.float32 else dtype
        real = real_dtype(dtype)
        return tuple(real if i in self.real_inputs else dtype for i in range(len(dtypes)))

    def impl(self, *values: Any) -> Any:
        arrays = [np.asarray(value) for value in values]
        dtypes = tuple(array.dtype for array in arrays)
        computed = self.compute_dtypes(dtypes)
        operands = [array.astype(d, copy=False) for array, d in zip(arrays, computed, strict=True)]
        result = self.numpy_function(*operands)
        return np.asarray(result).astype(self.resolve_dtypes(dtypes)[0], copy=False)[()]

    def kernel(self, input_dtypes: Sequence[Any]) -> Callable[..., Any]:
        dtypes = tuple(map(np.dtype, input_dtypes))
        function = self.numpy_function
        if isinstance(function, np.ufunc) and self.compute_dtypes(dtypes) == dtypes:
            return function
        return super().kernel(dtypes)
