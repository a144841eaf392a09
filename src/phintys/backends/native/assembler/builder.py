"""The builder: one method for each instruction, for scalars and vectors alike.

Types are checked here, in Python, as LLVM would end the process. No optimizer pass of LLVM runs on
the text, so the instructions written are those executed, up to instruction selection.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache

import numpy as np

from phintys._base.errors import DtypeError
from phintys.backends.native.assembler.module import Block, ModuleFunction, Phi
from phintys.backends.native.assembler.types import (
    BOOL,
    FLOAT32,
    INT32,
    INT64,
    PTR,
    VOID,
    MachineType,
    type_of,
)
from phintys.backends.native.assembler.values import Operand, Value
from phintys.backends.native.limits import REMEMBERED_CONSTANTS

_ARITHMETIC = {"add", "sub", "mul"}
_BITWISE = {"and", "or", "xor"}


@lru_cache(maxsize=REMEMBERED_CONSTANTS)
def _constant_text(type: MachineType, key: int | bytes) -> str:
    """Return LLVM's text for one number in all lanes; ``key`` distinguishes -0.0 from 0.0."""
    if isinstance(key, bytes):
        text = f"0x{int.from_bytes(key, 'big'):016X}"
    elif type.kind == "b":
        text = "true" if key else "false"
    else:
        text = str(key)
    return text if type.lanes == 1 else f"splat ({type.element} {text})"


def constant_text(type: MachineType, number: float) -> str:
    """Return LLVM's text for a constant, the same in all lanes.

    Parameters
    ----------
    type
        A bool, integer, float or float16 type.
    number
        The number. For a float type it is rounded to it; for an integer type, wrapped.

    Raises
    ------
    DtypeError
        The type has no such constants.

    Examples
    --------
    >>> constant_text(type_of("float32"), 0.1), constant_text(type_of("int8", 4), 200)
    ('0x3FB99999A0000000', 'splat (i8 -56)')
    """
    if type.kind == "f":
        number = float(np.float32(number)) if type.name == "float32" else float(number)
        return _constant_text(type, struct.pack(">d", number))
    if type.kind == "h":
        return _constant_text(type, int(np.float16(number).view(np.int16)))
    if type.is_integer:
        wrapped = int(number) & ((1 << type.bits) - 1)
        negative = type.kind == "i" and wrapped >> (type.bits - 1)
        return _constant_text(type, wrapped - (1 << type.bits) if negative else wrapped)
    if type.kind == "b":
        return _constant_text(type, int(bool(number)))
    msg = f"A constant of type {type!r} cannot be written; expected a bool, integer or float type."
    raise DtypeError(msg)


class Builder:
    """Writes instructions at the end of a block of a function.

    Parameters
    ----------
    function
        The function; an entry block is begun in it.
    inline
        Write vector math in place, which suits loops whose speed is bound by latency. Otherwise
        calls of outlined functions are written, which compile once for all kernels.

    Attributes
    ----------
    arguments : tuple of Value
        The function's parameters.
    block : Block
        Where the next instruction goes. It changes when control flow is written.
    fail_where : callable or None
        ``fail_where(mask, message)`` writes how a kernel reports lanes that have no result, such as
        negative powers of integers. Operations that can fail need it.
    ramps : dict
        The text of vectors of consecutive integers -> the first of them, a scalar.
    """

    def __init__(self, function: ModuleFunction, *, inline: bool = False) -> None:
        self.function = function
        self.module = function.module
        self.target = function.module.target
        self.inline = inline
        self.fail_where: Callable[[Value, str], None] | None = None
        self.ramps: dict[str, Value] = {}
        self.arguments = tuple(
            Value(self, type, f"%a{i}") for i, (type, _) in enumerate(function.parameters)
        )
        self.block = Block("entry")
        function.blocks.append(self.block)
        self._lines = self.block.lines

    # Values

    def constant(self, type: MachineType, number: float) -> Value:
        """Return a constant, the same in all lanes."""
        return Value(self, type, constant_text(type, number))

    def undefined(self, type: MachineType) -> Value:
        """Return an undefined value, into which lanes are inserted."""
        return Value(self, type, "poison")

    def lane_numbers(self, type: MachineType) -> Value:
        """Return 0, 1, 2 ... in the lanes of an integer type."""
        if type.lanes == 1:
            return self.constant(type, 0)
        numbers = ", ".join(f"{type.element} {i}" for i in range(type.lanes))
        return Value(self, type, f"<{numbers}>")

    def value(self, type: MachineType, operand: Operand) -> Value:
        """Return the operand as a value of a type: numbers become constants."""
        if not isinstance(operand, Value):
            return self.constant(type, operand)
        if operand.type is not type:
            msg = f"Expected a value of type {type!r}, got {operand}."
            raise DtypeError(msg)
        return operand

    def write(self, type: MachineType, instruction: str) -> Value:
        """Write an instruction that has a result; the text is not checked."""
        text = f"%v{self.function.fresh_name()}"
        self._lines.append(f"  {text} = {instruction}")
        return Value(self, type, text)

    def write_void(self, instruction: str) -> None:
        """Write an instruction that has no result; the text is not checked."""
        self._lines.append(f"  {instruction}")

    def checked(self, operation: str, x: Value, y: Value) -> tuple[Value, Value]:
        """Return an int64 sum (``add``) or product (``mul``), and whether it is out of range."""
        name = f"llvm.s{operation}.with.overflow.i64"
        self.module.declare(name, f"{{ i64, i1 }} @{name}(i64, i64)")
        pair = f"%p{self.function.fresh_name()}"
        self.write_void(f"{pair} = call {{ i64, i1 }} @{name}({x.typed}, {y.typed})")
        result = self.write(INT64, f"extractvalue {{ i64, i1 }} {pair}, 0")
        return result, self.write(BOOL, f"extractvalue {{ i64, i1 }} {pair}, 1")

    def _pair(self, x: Operand, y: Operand) -> tuple[Value, Value]:
        if isinstance(x, Value):
            return x, (y if isinstance(y, Value) and y.type is x.type else self.value(x.type, y))
        if isinstance(y, Value):
            return self.constant(y.type, x), y
        msg = f"One of two operands must be a value, got the numbers {x} and {y}."
        raise DtypeError(msg)

    # Arithmetic and bits

    def binary(self, instruction: str, x: Operand, y: Operand) -> Value:
        """Write an integer or mask instruction such as ``and`` or ``shl``."""
        x, y = self._pair(x, y)
        kind = x.type.kind
        if kind not in "iu" and not (kind == "b" and instruction in _BITWISE):
            msg = f"{instruction} takes integers (and/or/xor also masks), got {x} and {y}."
            raise DtypeError(msg)
        return self.write(x.type, f"{instruction} {x.type.text} {x.text}, {y.text}")

    def _arithmetic(self, instruction: str, x: Operand, y: Operand) -> Value:
        x, y = self._pair(x, y)
        type = x.type
        if type.kind == "f":
            return self.write(type, f"f{instruction} {type.text} {x.text}, {y.text}")
        if type.kind not in "iu" or instruction not in _ARITHMETIC:
            msg = f"{instruction} does not take values of type {type!r}: {x} and {y}."
            raise DtypeError(msg)
        return self.write(type, f"{instruction} {type.text} {x.text}, {y.text}")

    def add(self, x: Operand, y: Operand) -> Value:
        """x + y; integers wrap."""
        return self._arithmetic("add", x, y)

    def sub(self, x: Operand, y: Operand) -> Value:
        """x - y; integers wrap."""
        return self._arithmetic("sub", x, y)

    def mul(self, x: Operand, y: Operand) -> Value:
        """x * y; integers wrap."""
        return self._arithmetic("mul", x, y)

    def div(self, x: Operand, y: Operand) -> Value:
        """x / y of floats."""
        return self._arithmetic("div", x, y)

    def neg(self, x: Value) -> Value:
        """-x, for zeros and NaN too; integers wrap."""
        if x.type.kind == "f":
            return self.write(x.type, f"fneg {x.typed}")
        return self.sub(0, x)

    def fma(self, x: Operand, y: Operand, z: Operand) -> Value:
        """x * y + z, rounded once.

        Raises
        ------
        DtypeError
            The target has no such instruction: LLVM would call a slow function for each lane.
        """
        if not self.target.has_fma:
            msg = f"Target {self.target.name} has no fused multiply-add; use madd or two_prod."
            raise DtypeError(msg)
        type = next(v.type for v in (x, y, z) if isinstance(v, Value))
        return self.intrinsic("fma", *(self.value(type, v) for v in (x, y, z)))

    def contracted(self, instruction: str, x: Operand, y: Operand) -> Value:
        """Write ``fadd``, ``fsub`` or ``fmul`` that LLVM may join to a fused multiply-add."""
        x, y = self._pair(x, y)
        return self.write(x.type, f"{instruction} contract {x.typed}, {y.text}")

    def madd(self, x: Operand, y: Operand, z: Operand) -> Value:
        """x * y + z, rounded once where that is an instruction, else twice."""
        if self.target.has_fma:
            return self.fma(x, y, z)
        return self.add(self.mul(x, y), z)

    # Comparison and choice

    def compare(self, predicate: str, x: Operand, y: Operand) -> Value:
        """Write ``fcmp`` or ``icmp`` with LLVM's predicate, and return a mask."""
        x, y = self._pair(x, y)
        instruction = "fcmp" if x.type.kind == "f" else "icmp"
        return self.write(x.type.mask, f"{instruction} {predicate} {x.typed}, {y.text}")

    def _order(self, name: str, x: Operand, y: Operand) -> Value:
        x, y = self._pair(x, y)
        kind = x.type.kind
        return self.compare(("o" if kind == "f" else "s" if kind == "i" else "u") + name, x, y)

    def eq(self, x: Operand, y: Operand) -> Value:
        """x == y; false for NaN."""
        x, y = self._pair(x, y)
        return self.compare("oeq" if x.type.kind == "f" else "eq", x, y)

    def ne(self, x: Operand, y: Operand) -> Value:
        """x != y; true for NaN."""
        x, y = self._pair(x, y)
        return self.compare("une" if x.type.kind == "f" else "ne", x, y)

    def lt(self, x: Operand, y: Operand) -> Value:
        """x < y; false for NaN."""
        return self._order("lt", x, y)

    def le(self, x: Operand, y: Operand) -> Value:
        """x <= y; false for NaN."""
        return self._order("le", x, y)

    def isnan(self, x: Value) -> Value:
        """Whether a float is NaN."""
        return self.compare("uno", x, x)

    def select(self, mask: Value, x: Operand, y: Operand) -> Value:
        """x where the mask is set, y elsewhere."""
        x, y = self._pair(x, y)
        if mask.type is not x.type.mask:
            msg = f"select between {x} and {y} needs a mask of their lanes, got {mask}."
            raise DtypeError(msg)
        return self.write(x.type, f"select {mask.typed}, {x.typed}, {y.typed}")

    def minimum_number(self, x: Operand, y: Operand) -> Value:
        """The smaller one; y if one is NaN or both are equal. One instruction on x86."""
        x, y = self._pair(x, y)
        return self.select(x < y, x, y)

    def maximum_number(self, x: Operand, y: Operand) -> Value:
        """The larger one; y if one is NaN or both are equal. One instruction on x86."""
        x, y = self._pair(x, y)
        return self.select(x > y, x, y)

    # Conversion

    def bits(self, x: Value) -> Value:
        """Return the bits of a float as a signed integer."""
        return self.bitcast(x, x.type.integer)

    def bitcast(self, x: Value, type: MachineType) -> Value:
        """Return the same bits as another type of the same width."""
        if x.type is type:
            return x
        if x.type.bits * x.type.lanes != type.bits * type.lanes:
            msg = f"The bits of {x} do not fit type {type!r}."
            raise DtypeError(msg)
        if x.type.text == type.text:
            return Value(self, type, x.text)
        return self.write(type, f"bitcast {x.typed} to {type.text}")

    def convert(self, x: Value, type: MachineType) -> Value:
        """Return the number x as another type, by one machine conversion.

        Integers are cut or extended by their own sign; a float out of an integer's range gives
        anything. NumPy's rules for casts are in :mod:`~phintys.backends.native.assembler.casting`.
        """
        source = x.type
        if source is type:
            return x
        if source.lanes != type.lanes:
            msg = f"{x} has {source.lanes} lanes, {type!r} has {type.lanes}."
            raise DtypeError(msg)
        instruction = _conversion(source, type)
        if not instruction:
            return Value(self, type, x.text)
        return self.write(type, f"{instruction} {x.typed} to {type.text}")

    # Lanes

    def splat(self, x: Value, lanes: int) -> Value:
        """Return a scalar in all lanes."""
        if lanes in {1, x.type.lanes}:
            return x
        first = self.insert(self.undefined(x.type.of(lanes)), x, 0)
        return self.shuffle(first, first, [0] * lanes)

    def extract(self, x: Value, lane: int | Value) -> Value:
        """Return one lane."""
        if x.type.lanes == 1:
            return x
        index = self.value(INT32, lane) if not isinstance(lane, Value) else lane
        return self.write(x.type.of(1), f"extractelement {x.typed}, {index.typed}")

    def insert(self, x: Value, element: Value, lane: int | Value) -> Value:
        """Return x with one lane replaced."""
        if x.type.lanes == 1:
            return self.value(x.type, element)
        element = self.value(x.type.of(1), element)
        index = self.value(INT32, lane) if not isinstance(lane, Value) else lane
        return self.write(x.type, f"insertelement {x.typed}, {element.typed}, {index.typed}")

    def shuffle(self, x: Value, y: Value, lanes: Sequence[int]) -> Value:
        """Return lanes chosen from those of x followed by those of y."""
        x, y = self._pair(x, y)
        width = x.type.lanes
        if width == 1 or len(lanes) == 1:  # a number is not a vector of one lane here
            elements = [self.extract((x, y)[lane // width], lane % width) for lane in lanes]
            vector = self.undefined(x.type.of(len(lanes)))
            for lane, element in enumerate(elements):
                vector = self.insert(vector, element, lane)
            return vector
        if all(lane == 0 for lane in lanes):
            mask = "zeroinitializer"
        else:
            mask = "<" + ", ".join(f"i32 {lane}" for lane in lanes) + ">"
        return self.write(
            x.type.of(len(lanes)),
            f"shufflevector {x.typed}, {y.typed}, <{len(lanes)} x i32> {mask}",
        )

    def part(self, x: Value, start: int, lanes: int) -> Value:
        """Return ``lanes`` neighbouring lanes of a vector."""
        if lanes == x.type.lanes:
            return x
        if lanes == 1:
            return self.extract(x, start)
        return self.shuffle(x, self.undefined(x.type), range(start, start + lanes))

    def join(self, parts: Sequence[Value]) -> Value:
        """Return vectors of equal types, one after the other; their number is a power of two."""
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [self.shuffle(x, y, range(2 * x.type.lanes)) for x, y in pairs]
        return parts[0]

    def any(self, mask: Value) -> Value:
        """Whether some lane of a mask is set, as a scalar bool."""
        lanes = mask.type.lanes
        if lanes == 1:
            return mask
        word = self.write(VOID, f"bitcast {mask.typed} to i{lanes}")
        return self.write(BOOL, f"icmp ne i{lanes} {word.text}, 0")

    def all(self, mask: Value) -> Value:
        """Whether all lanes of a mask are set, as a scalar bool."""
        return ~self.any(~mask)

    # Memory

    def slot(self, type: MachineType, count: int = 1) -> Value:
        """Return the address of room on the stack, the same for each pass of a loop."""
        text = f"%s{self.function.fresh_name()}"
        amount = f", i32 {count}" if count != 1 else ""
        align = max(8, type.itemsize * type.lanes)
        memory = "i8" if type.kind == "b" else type.element
        memory = memory if type.lanes == 1 else f"<{type.lanes} x {memory}>"
        self.function.slots.append(f"  {text} = alloca {memory}{amount}, align {align}")
        return Value(self, PTR, text)

    def offset(self, pointer: Value, index: Operand, type: MachineType) -> Value:
        """Return the address ``index`` elements of a type further.

        Parameters
        ----------
        pointer
            Where element 0 is.
        index
            A scalar or vector of integers; a vector gives a vector of addresses.
        type
            The element type; its lanes do not matter. A bool takes a byte.
        """
        if not isinstance(index, Value):
            index = self.constant(type_of("int64"), index)
        element = f"[{type.itemsize} x i8]" if type.kind in "bch" else type.element
        return self.write(
            PTR.of(index.type.lanes),
            f"getelementptr {element}, {pointer.typed}, {index.typed}",
        )

    def load(self, type: MachineType, pointer: Value, *, align: int | None = None) -> Value:
        """Read a value whose type in memory is that in a register (not a bool)."""
        self._expect_memory(type)
        align = type.itemsize if align is None else align
        return self.write(type, f"load {type.text}, {pointer.typed}, align {align}")

    def store(self, x: Value, pointer: Value, *, align: int | None = None) -> None:
        """Write a value whose type in memory is that in a register (not a bool)."""
        self._expect_memory(x.type)
        align = x.type.itemsize if align is None else align
        self.write_void(f"store {x.typed}, {pointer.typed}, align {align}")

    def _expect_memory(self, type: MachineType) -> None:
        if type.kind in "bcv":
            msg = f"{type!r} is another type in memory: use memory.load and memory.store."
            raise DtypeError(msg)

    # Calls

    def intrinsic(self, name: str, *values: Value) -> Value:
        """Call ``llvm.<name>`` on values of one type, which is also the result's."""
        type = values[0].type
        for value in values[1:]:
            self.value(type, value)
        return self.call(f"llvm.{name}.{type.suffix}", type, values)

    def call(
        self, name: str, returns: MachineType, values: Sequence[Value], *, convention: str = ""
    ) -> Value:
        """Call a function by its symbol, and declare it."""
        prefix = f"{convention} " if convention else ""
        self.module.declare(name, prefix + signature_of(name, returns, values))
        operands = ", ".join(value.typed for value in values)
        instruction = f"call {prefix}{returns.text} @{name}({operands})"
        if returns is VOID:
            self.write_void(instruction)
            return Value(self, VOID, "")
        return self.write(returns, instruction)

    # Control

    def new_block(self, name: str = "b") -> Block:
        """Return a block that is not in the function yet: :meth:`begin` puts it there."""
        return Block(f"{name}{self.function.fresh_name()}")

    def begin(self, block: Block) -> None:
        """Continue in a new block."""
        self.function.blocks.append(block)
        self.block = block
        self._lines = block.lines

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Write at the end of a block that has been begun before, and has not ended."""
        before, self.block = self.block, block
        self._lines = block.lines
        yield
        self.block, self._lines = before, before.lines

    def jump(self, block: Block) -> None:
        """End this block by a jump to another."""
        self.write_void(f"br label %{block.label}")

    def branch(self, condition: Value, then: Block, otherwise: Block) -> None:
        """End this block by a jump to one of two others, chosen by a scalar bool."""
        condition = self.value(BOOL, condition)
        self.write_void(
            f"br i1 {condition.text}, label %{then.label}, label %{otherwise.label}",
        )

    def phi(self, type: MachineType) -> Phi:
        """Write a value that depends on where control came from, at the top of a block."""
        phi = Phi(Value(self, type, f"%v{self.function.fresh_name()}"))
        self._lines.append(phi)
        return phi

    def ret(self, x: Value | None = None) -> None:
        """End the function."""
        returns = self.function.returns
        if x is None and returns is not VOID:
            msg = f"{self.function.name} returns a {returns!r}, got nothing."
            raise DtypeError(msg)
        self.write_void("ret void" if x is None else f"ret {self.value(returns, x).typed}")


def signature_of(name: str, returns: MachineType, values: Sequence[Value]) -> str:
    """Return the head of the declaration of a function that is called with these values."""
    return f"{returns.text} @{name}({', '.join(value.type.text for value in values)})"


@cache
def _conversion(source: MachineType, type: MachineType) -> str:
    """Return LLVM's instruction that converts a number, "" where the bits are the same."""
    kinds = (source.kind, type.kind)
    if not set("".join(kinds)) <= set("biuf") or type.kind == "b":
        msg = f"There is no machine conversion from {source!r} to {type!r}; see casting."
        raise DtypeError(msg)
    if kinds == ("f", "f"):
        return "fpext" if source is FLOAT32.of(source.lanes) else "fptrunc"
    if type.kind == "f":
        return "sitofp" if source.kind == "i" else "uitofp"
    if source.kind == "f":
        return "fptosi" if type.kind == "i" else "fptoui"
    if source.bits == type.bits:
        return ""
    if source.bits > type.bits:
        return "trunc"
    return "sext" if source.kind == "i" else "zext"
