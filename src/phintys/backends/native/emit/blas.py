"""Calls of BLAS.

Arrays are C-contiguous and BLAS counts along columns, so each matrix is handed over as its
transpose: ``C = A B`` becomes ``C' = B' A'``. Slices and transposes that BLAS can take are said by
offsets, strides and flags, without copies.

Options of a :class:`~phintys.backends.native.program.Call`; each is a
:class:`~phintys.backends.native.sizes.Size` (in elements) unless it says otherwise:

``gemm``: ``c = alpha a b + beta c``, where a is m by k and b is k by n
    ``m n k``; ``a_offset b_offset c_offset`` (0); ``a_stride b_stride c_stride``, from one row to
    the next in memory; ``a_transposed b_transposed`` (bools): in memory it is k by m, or n by k.
``gemv``: ``y = alpha a x + beta y``, where a is m by n
    ``m n``; ``a_offset a_stride a_transposed``; ``x_offset x_step``, ``y_offset y_step``.
``dot``: ``c = alpha sum(x y) + beta c``, of n elements
    ``n``; ``x_offset x_step``, ``y_offset y_step``, ``c_offset``.

All take ``alpha`` (1) and ``beta`` (0), Python numbers, and ``batch``: a sequence of tuples, for
each loop around the routine its length and by how much each operand and the output move. Steps and
strides are positive. Inputs are ``(a, b)``, ``(a, x)`` or ``(x, y)``.

BLAS functions are external symbols ``phintys_dgemm`` and so on, with SciPy's signatures: all
arguments are pointers, integers are 32-bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from phintys._base.errors import IntegrityError
from phintys.backends.native.emit.builder import Builder, constant_text
from phintys.backends.native.emit.control import loop, when
from phintys.backends.native.emit.memory import load, store
from phintys.backends.native.emit.operations import emit
from phintys.backends.native.emit.scalar_ops import emit_literal
from phintys.backends.native.emit.types import INT8, INT32, INT64, PTR, VOID, Type, type_of
from phintys.backends.native.emit.values import Value

if TYPE_CHECKING:
    from phintys.backends.native.program import Array, Call

__all__ = ["BLAS_LETTERS", "FLOPS", "LONGEST", "BlasCall", "sizes_of_call"]

BLAS_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
"""How BLAS names dtypes."""

FLOPS = 16
"""Roughly, multiplications and additions of a matrix product in a nanosecond."""

LONGEST = (1 << 31) - 1
"""The largest integer that BLAS takes."""

_OPERANDS = {"gemm": "abc", "gemv": "axy", "dot": "xyc"}


def sizes_of_call(call: Call) -> list[Any]:
    """Return the sizes among the options of a call."""
    found = [value for value in call.options.values() if hasattr(value, "known")]
    return found + [size for entry in call.options.get("batch", ()) for size in entry]


class BlasCall:
    """Write a call of BLAS.

    Parameters
    ----------
    b
        The builder.
    call
        The step.
    pointer, size
        Return the address of an array, and the value of a size.
    """

    def __init__(
        self,
        b: Builder,
        call: Call,
        pointer: Callable[[Array], Value],
        size: Callable[[Any], Value],
    ) -> None:
        self.b = b
        self.call = call
        self.options = call.options
        self.type = type_of(call.output.dtype)
        self._size = size
        if call.routine not in _OPERANDS or self.type.name not in BLAS_LETTERS:
            msg = f"There is no routine {call.routine!r} of {self.type.name} in BLAS."
            raise IntegrityError(msg)
        arrays = (*call.inputs, call.output)
        letters = _OPERANDS[call.routine]
        self.at = {
            letter: self._moved(pointer(array), self.size(f"{letter}_offset", 0))
            for letter, array in zip(letters, arrays, strict=True)
        }
        self._letters = letters

    def write(self) -> None:
        """Write the call, and the loops around it."""
        self._batch(self._letters, list(self.options.get("batch", ())), self.at)

    # ---- options -----------------------------------------------------------------------------

    def size(self, name: str, otherwise: int | None = None) -> Value:
        """Return a size among the options."""
        value = self.options.get(name)
        if value is None:
            if otherwise is None:
                msg = f"A call of {self.call.routine} needs the option {name!r}."
                raise IntegrityError(msg)
            return self.b.constant(INT64, otherwise)
        return self._size(value)

    def _moved(self, pointer: Value, elements: Value) -> Value:
        return pointer if elements.text == "0" else self.b.offset(pointer, elements, self.type)

    def _batch(self, letters: str, batch: Sequence[Any], at: dict[str, Value]) -> None:
        """Write the loops around the routine."""
        if not batch:
            self.at = at
            getattr(self, f"_{self.call.routine}")()
            return
        (count, *steps), *rest = batch
        values = [self._size(step) for step in steps]
        with loop(self.b, 0, self._size(count)) as single:
            inner = {
                letter: self._moved(at[letter], single.index * step)
                for letter, step in zip(letters, values, strict=True)
            }
            self._batch(letters, rest, inner)

    # ---- arguments ---------------------------------------------------------------------------

    def integer(self, value: Value) -> Value:
        """Return the address of an integer."""
        if value.text.isdigit():
            return self._constant(INT32, int(value.text))
        slot = self.b.slot(INT32)
        self.b.store(self.b.convert(value, INT32), slot)
        return slot

    def number(self, value: Any) -> Value:
        """Return the address of a number of the dtype."""
        parts = [value.real, value.imag] if self.type.kind == "c" else [value]
        return self._constant(self.type.part, *parts)

    def letter(self, text: str) -> Value:
        """Return the address of a character."""
        return self._constant(INT8, ord(text))

    def _constant(self, type: Type, *numbers: float) -> Value:
        text = ", ".join(f"{type.text} {constant_text(type, number)}" for number in numbers)
        return Value(self.b, PTR, self.b.module.table(text, len(numbers), type.text))

    def routine(self, name: str, *arguments: Value) -> None:
        """Write the call."""
        symbol = f"phintys_{BLAS_LETTERS[self.type.name]}{name}"
        self.b.call(symbol, VOID, arguments)

    def leading(self, stride: Value) -> Value:
        """Return the address of a stride, which BLAS wants to be at least 1."""
        return self.integer(self.b.maximum_number(stride, 1))

    # ---- routines ----------------------------------------------------------------------------

    def _gemm(self) -> None:
        options = self.options
        m, n, k = (self.size(name) for name in "mnk")
        # A matrix with one row may have any stride, BLAS insists on its length.
        strides = {
            "a": (self.size("a_stride"), m if options.get("a_transposed") else k),
            "b": (self.size("b_stride"), k if options.get("b_transposed") else n),
            "c": (self.size("c_stride"), n),
        }
        leading = {
            letter: self.leading(self.b.maximum_number(stride, columns))
            for letter, (stride, columns) in strides.items()
        }
        self.routine(
            "gemm",
            self.letter("T" if options.get("b_transposed") else "N"),
            self.letter("T" if options.get("a_transposed") else "N"),
            self.integer(n),
            self.integer(m),
            self.integer(k),
            self.number(options.get("alpha", 1)),
            self.at["b"],
            leading["b"],
            self.at["a"],
            leading["a"],
            self.number(options.get("beta", 0)),
            self.at["c"],
            leading["c"],
        )

    def _gemv(self) -> None:
        m, n = self.size("m"), self.size("n")
        transposed = bool(self.options.get("a_transposed"))
        self._matrix_vector(
            (m, n, transposed),
            self.size("a_stride"),
            self.size("x_step", 1),
            self.size("y_step", 1),
        )

    def _matrix_vector(
        self, matrix: tuple[Value, Value, bool], stride: Value, x_step: Value, y_step: Value
    ) -> None:
        """Write ``y = alpha a x + beta y``; where there is nothing to add, BLAS leaves y alone."""
        b = self.b
        m, n, transposed = matrix
        rows, columns = (n, m) if transposed else (m, n)
        beta = self.options.get("beta", 0)
        if beta != 1:
            self._scale(self.at["y"], m, y_step, beta)
        with when(b, b.ne(n, 0)):
            self.routine(
                "gemv",
                self.letter("N" if transposed else "T"),
                self.integer(columns),
                self.integer(rows),
                self.number(self.options.get("alpha", 1)),
                self.at["a"],
                self.leading(b.maximum_number(stride, columns)),
                self.at["x"],
                self.integer(x_step),
                self.number(1),
                self.at["y"],
                self.integer(y_step),
            )

    def _scale(self, pointer: Value, count: Value, step: Value, factor: Any) -> None:
        """Multiply elements by a number; by 0 whatever they are."""
        b = self.b
        scale = emit_literal(b, factor, self.type)
        with loop(b, 0, count) as single:
            place = b.offset(pointer, single.index * step, self.type)
            if factor == 0:
                store(b, scale, place)
            else:
                store(b, emit(b, "mul", [scale, load(b, self.type, place)], self.type.name), place)

    def _dot(self) -> None:
        """Write ``c = alpha sum(x y) + beta c``."""
        if self.type.kind == "c":
            self._complex_dot()
            return
        b, options = self.b, self.options
        arguments = [
            self.integer(self.size("n")),
            self.at["x"],
            self.integer(self.size("x_step", 1)),
            self.at["y"],
            self.integer(self.size("y_step", 1)),
        ]
        result = b.call(f"phintys_{BLAS_LETTERS[self.type.name]}dot", self.type, arguments)
        if options.get("alpha", 1) != 1:
            result = result * options["alpha"]
        if options.get("beta", 0) != 0:
            result = result + b.load(self.type, self.at["c"]) * options["beta"]
        b.store(result, self.at["c"])

    def _complex_dot(self) -> None:
        """The same by a product of a matrix of one row: how C returns complex numbers differs."""
        n, one = self.size("n"), self.b.constant(INT64, 1)
        x_step, y_step = self.size("x_step", 1), self.size("y_step", 1)
        x, y, c = (self.at[letter] for letter in "xyc")
        if x_step.text != "1" and y_step.text == "1":
            x, y, x_step, y_step = y, x, y_step, x_step
        self.at = {"a": x, "x": y, "y": c}
        # A row with gaps is in memory a matrix of one column.
        is_row = x_step.text == "1"
        stride = n if is_row else x_step
        self._matrix_vector((one, n, not is_row), stride, y_step, one)
