"""Programs as text: fused kernels, loop orders, placement of arrays, and calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.native.dependence import reads_of
from phintys.backends.native.emit.kernels import plans_of
from phintys.backends.native.emit.products import most_in_tiles
from phintys.backends.native.emit.types import type_of
from phintys.backends.native.program import (
    Array,
    Branch,
    Call,
    Callback,
    Cast,
    Check,
    Claim,
    Expression,
    Index,
    IndexCheck,
    Kernel,
    Literal,
    Load,
    Loop,
    Operation,
    Place,
    Position,
    SizeValue,
    Statement,
    Step,
    walk_steps,
)
from phintys.backends.native.sizes import Arithmetic, Counter, Element, Extent, written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.emit.layout import EmittedProgram
    from phintys.backends.native.emit.plans import KernelPlan, Level, NestPlan
    from phintys.backends.native.program import Program, Value
    from phintys.backends.native.sizes import Size

__all__ = ["explain_program"]

_REDUCERS = {
    "add": "sum",
    "mul": "product",
    "maximum": "max",
    "minimum": "min",
    "and_": "all",
    "or_": "any",
}
_ACCUMULATES = {None: "=", "add": "+="}
_NOUNS: dict[type[Step], tuple[str, str]] = {
    Kernel: ("kernel", "kernels"),
    Call: ("call", "calls"),
    Callback: ("callback", "callbacks"),
    Check: ("check", "checks"),
    Claim: ("claim", "claims"),
    Branch: ("branch", "branches"),
    Loop: ("loop", "loops"),
}
_MOST_NUMBERS = 4


def explain_program(program: Program, emitted: EmittedProgram) -> str:
    """Return a program as text.

    Parameters
    ----------
    program
        The program.
    emitted
        Its code, which knows how kernels are emitted and where arrays are placed.
    """
    return "\n".join(_Explainer(program, emitted).lines())


def _itself(size: Size) -> Size:
    return size


class _Explainer:
    def __init__(self, program: Program, emitted: EmittedProgram) -> None:
        self.program = program
        self.emitted = emitted
        self.sizes = program.sizes
        claims = [step for step in walk_steps(program.steps) if isinstance(step, Claim)]
        self.claimed = {claim.target: claim.source for claim in claims}

    def lines(self) -> list[str]:
        """Return all lines."""
        found = [self.summary(), "arguments"]
        found += [f"  {self.declared(value)}" for value in self.program.arguments]
        found.append("results")
        found += [f"  {self.declared(value)}" for value in self.program.results]
        found += self.steps(self.program.steps, "")
        found += self.memory()
        return found

    def summary(self) -> str:
        """Return the number of steps of each kind."""
        steps = list(walk_steps(self.program.steps))
        shown: list[str] = []
        for kind, (one, many) in _NOUNS.items():
            count = sum(isinstance(step, kind) for step in steps)
            if count:
                shown.append(f"{count} {one if count == 1 else many}")
        return ", ".join(shown) or "no steps"

    # ---- values ------------------------------------------------------------------------------

    def name(self, value: Value) -> str:
        """Return the name of a value: the user's name for arguments, a label for others."""
        if value.place == Place.ARGUMENT and value.variable is not None and value.variable.name:
            return value.variable.name
        if isinstance(value, Array) and value.data is not None:
            return _constant_text(value.data)
        return value.label

    def declared(self, value: Value) -> str:
        """Return the name and type of a value."""
        if not isinstance(value, Array):
            return f"{self.name(value)}: object"
        lengths = ", ".join(self.size(size) for size in value.sizes)
        text = f"{self.name(value)}: {value.dtype}[{lengths}]"
        if value.alias is not None:
            text += f" in the memory of {self.name(value.alias)}"
        return text

    def size(self, size: Size, *, as_given: bool = False) -> str:
        """Return a size; unless ``as_given``, equal sizes are shown as the same one."""
        return written(size, self._leaf, _itself if as_given else self.sizes.canonical)

    def _leaf(self, size: Size) -> str:
        if isinstance(size, Extent):
            return f"{self.name(size.array)}.{size.axis}"
        if isinstance(size, Element):
            name = self.name(size.array)
            return f"{name}[{size.index}]" if size.array.ndim else name
        return str(size.loop if isinstance(size, Counter) else size.known)

    def index(self, index: Index) -> str:
        """Return a position along an axis."""
        parts: list[str] = []
        for loop, step in index.terms:
            known = self.sizes.canonical(step).known
            parts.append(
                str(loop)
                if known == 1
                else f"-{loop}"
                if known == -1
                else f"{self.size(step)}*{loop}"
            )
        if index.dynamic is not None:
            parts.append(self.expression(index.dynamic))
        if index.offset is not None:
            parts.append(self.size(index.offset))
        return " + ".join(parts).replace("+ -", "- ") or "0"

    def element(self, array: Array, indices: Sequence[Index]) -> str:
        """Return an element of an array."""
        if array.data is not None and array.data.size == 1:
            return self.name(array)
        inside = ", ".join(map(self.index, indices))
        return f"{self.name(array)}[{inside}]" if indices else self.name(array)

    def expression(self, expression: Expression) -> str:
        """Return an expression."""
        if isinstance(expression, Load):
            return self.element(expression.array, expression.indices)
        if isinstance(expression, Operation):
            op = expression.op
            symbol = op.symbol
            if symbol is None:
                values = [self.expression(argument) for argument in expression.arguments]
                return f"{op}({', '.join(values)})"
            values = [self.operand(argument) for argument in expression.arguments]
            return f" {symbol} ".join(values) if len(values) > 1 else f"{symbol}{values[0]}"
        if isinstance(expression, Cast):
            return f"{expression.dtype}({self.expression(expression.argument)})"
        if isinstance(expression, IndexCheck):
            return f"checked({self.expression(expression.argument)})"
        if isinstance(expression, Position):
            return self.index(expression.index)
        if isinstance(expression, SizeValue):
            return self.size(expression.size)
        assert isinstance(expression, Literal)
        return str(expression.value)

    def operand(self, expression: Expression) -> str:
        """Return an expression as an operand, in parentheses where needed."""
        text = self.expression(expression)
        has_sign = isinstance(expression, Operation) and expression.op.symbol is not None
        return f"({text})" if has_sign else text

    # ---- steps -------------------------------------------------------------------------------

    def steps(self, steps: Sequence[Step], indent: str) -> list[str]:
        """Return the lines of steps."""
        found: list[str] = []
        for number, step in enumerate(steps, 1):
            head, *rest = self.step(step)
            found.append(f"{indent}{number}. {head}")
            found += [f"{indent}   {line}" for line in rest]
        return found

    def step(self, step: Step) -> list[str]:
        """Return the lines of one step."""
        if isinstance(step, Check):
            return [self.check(step)]
        if isinstance(step, Kernel):
            return self.kernel(step)
        if isinstance(step, Call):
            return [self.call(step)]
        if isinstance(step, Callback):
            given = ", ".join(map(self.name, step.inputs))
            made = ", ".join(map(self.declared, step.outputs))
            return [f"callback {step.node.op}({given}) -> {made}", f"because {step.why}"]
        if isinstance(step, Claim):
            return [self.claim(step)]
        if isinstance(step, Branch):
            lines = [f"if {self.name(step.condition)}{_op_of(step)}"]
            lines += self.steps(step.then, "  ")
            return [*lines, "else", *self.steps(step.otherwise, "  ")]
        assert isinstance(step, Loop)
        head = f"for {step.counter} < {self.size(step.count)}, one after the other"
        if step.until is not None:
            head += f", until {self.name(step.until)}"
        return [head + _op_of(step), *self.steps(step.body, "  ")]

    def claim(self, step: Claim) -> str:
        """Return the line of a claim."""
        instead = "a copy" if step.is_kept else "other memory"
        unless = "if others hold it" if step.is_shared else "if it is read-only"
        unless += " or wait" * step.is_long
        return f"claim {self.name(step.source)} -> {self.name(step.target)}, {instead} {unless}"

    def call(self, step: Call) -> str:
        """Return the line of a call: its operands, as passed, and the lengths of its loops."""
        options = step.options
        operands = [
            self.name(array) + ".T" * bool(options.get(f"{letter}_transposed"))
            for array, letter in zip(step.inputs[:2], "ab", strict=True)
        ]
        alpha = options.get("alpha", 1)
        factor = self.name(alpha) if isinstance(alpha, Array) else str(alpha)
        text = f"call {step.routine}({', '.join(operands)})" + f" * {factor}" * (alpha != 1)
        text += f" {'added to' if options.get('beta') else '->'} {self.name(step.output)}"
        sizes = [f"{name} = {self.size(options[name])}" for name in "mnk" if name in options]
        text += f"    [{', '.join(sizes)}]" if sizes else ""
        batch = [self.size(entry[0]) for entry in options.get("batch", ())]
        text += f" {' * '.join(batch)} times" if batch else ""
        return text + self.tiles(step)

    def tiles(self, step: Call) -> str:
        """Return whether a product is computed in tiles without BLAS, or up to which size."""
        if step.routine != "gemm":
            return ""
        texts = [self.size(step.options[name]) for name in "mnk"]
        lengths = [int(text) if text.isdigit() else None for text in texts]
        if 1 in lengths[:2]:  # a product with a vector
            return ""
        target, type_ = self.emitted.module.target, type_of(step.output.dtype)
        most = most_in_tiles(target, type_, lengths, is_repeated="batch" in step.options)
        if not most:
            return ""
        return ", in tiles" + f" up to {most} multiplications" * (None in lengths)

    def check(self, step: Check) -> str:
        """Return the line of a check; its two sizes are known to be equal only afterwards."""
        left, right = (self.size(size, as_given=True) for size in (step.left, step.right))
        failure = step.failure
        detail = failure.detail.replace("{0}", left).replace("{1}", right)
        why = f"{failure.kind}, {detail}" if detail else failure.kind
        is_order = isinstance(step.left, Arithmetic) and step.left.operation == "lt"
        test = left[1:-1] if is_order and step.right.known == 1 else f"{left} == {right}"
        return f"check {test} ({failure.node.op}: {why})"

    # ---- kernels -----------------------------------------------------------------------------

    def kernel(self, kernel: Kernel) -> list[str]:
        """Return the lines of a kernel: the ops it fuses, its loops and statements."""
        code = self.emitted.kernels[kernel]
        plan = code.plan
        if code.stands_for is not None:  # that of another kernel
            plan, _ = plans_of(kernel, plan.layout.polynomials, self.emitted.module.target)
        ops: dict[str, None] = {}
        for nest in kernel.nests:
            for statement in nest.statements:
                ops.update((str(node.op), None) for node in statement.nodes)
        lines = [f"kernel {', '.join(ops)}".rstrip()]
        if code.for_short_rows is not None:
            rows = code.for_short_rows
            lanes = rows.plan.nests[0].lanes
            lines.append(f"  rows of up to {rows.most}: {lanes} rows at once, otherwise")
        indent = "  "
        for level in plan.outer:
            lines.append(indent + self.level(level, plan, plan.nests[0].lanes))
            indent += "  "
        for nest in plan.nests:
            lines += self.nest(nest, plan, indent)
        return lines

    def nest(self, nest: NestPlan, plan: KernelPlan, indent: str) -> list[str]:
        """Return the lines of a nest."""
        lines: list[str] = []
        ordered = {loop for statement in nest.statements for loop in statement.sequential}
        for level in (*nest.kept, *nest.reduced):
            text = self.level(level, plan, nest.lanes, is_tiled=nest.is_tiled)
            if ordered.intersection(level.loops) and level is not plan.parallel:
                text += ", in order"
            lines.append(indent + text)
            indent += "  "
        if plan.is_chunked:
            lines[-1] += ", in parts shared by threads"
        return [*lines, *(indent + self.statement(s, plan) for s in nest.statements)]

    def level(self, level: Level, plan: KernelPlan, lanes: int, *, is_tiled: bool = False) -> str:
        """Return the line of a level of loops."""
        names = ", ".join(map(str, level.loops))
        lengths = " * ".join(self.size(loop.extent) for loop in level.loops)
        text = f"for {names} < {lengths}"
        if level.is_vector and lanes > 1:
            text += f", {lanes} at once"
            if is_tiled:
                text += ", in pieces around the other loops"
        if level is plan.parallel:
            text += ", in order" if plan.is_serial else ", shared by threads"
        return text

    def statement(self, statement: Statement, plan: KernelPlan) -> str:
        """Return the line of a statement."""
        value = self.expression(statement.value)
        if statement.reducer is not None:
            over = ", ".join(map(str, statement.reduction))
            value = f"{_REDUCERS.get(statement.reducer, statement.reducer)}({over}) {value}"
        sign = _ACCUMULATES[statement.accumulate]
        target = self.element(statement.target, statement.indices)
        return f"{target} {sign} {value}{self.place(statement.target, plan)}"

    def place(self, array: Array, plan: KernelPlan) -> str:
        """Return where an array is placed, if it has no memory of its own."""
        if array in plan.registers:
            return ""
        if array in plan.scratch:
            return "    [scratch]"
        memory = array.memory
        if memory.place == Place.RESULT:
            source = self.claimed.get(memory)
            return "    [result]" if source is None else f"    [result, over {self.name(source)}]"
        over = self.emitted.memory.taken_over.get(memory)
        slot = self.emitted.memory.places.get(memory)
        return (
            f"    [slot {slot}]" if over is None else f"    [slot {slot}, over {self.name(over)}]"
        )

    # ---- memory ------------------------------------------------------------------------------

    def memory(self) -> list[str]:
        """Return the lines that say which arrays share a slot of the arena."""
        memory = self.emitted.memory
        shown = [f"  {self.declared(array)}" for array in self.aliases()]
        if not memory.slots:
            return ["no buffers", *shown]
        lines = ["buffers"]
        for number, slot in enumerate(memory.slots):
            names = ", then ".join(map(self.name, slot.arrays))
            lengths = " * ".join(map(self.size, slot.arrays[0].sizes)) or "1"
            when = memory.groups[slot.group]
            later = "" if when < 0 else f", taken after step {when + 1}"
            item = slot.arrays[0].dtype.itemsize
            lines.append(f"  slot {number}: {item} * {lengths} bytes: {names}{later}")
        return [*lines, *shown]

    def aliases(self) -> list[Array]:
        """Return the arrays that alias the memory of others with different sizes."""
        found: dict[Array, None] = {}
        for step in walk_steps(self.program.steps):
            if isinstance(step, Kernel):
                statements = [s for nest in step.nests for s in nest.statements]
                arrays = [load.array for s in statements for load in reads_of(s)]
                arrays += [s.target for s in statements]
            elif isinstance(step, Call | Callback):
                outputs = [step.output] if isinstance(step, Call) else step.outputs
                values = [*step.inputs, *outputs]
                arrays = [value for value in values if isinstance(value, Array)]
            else:
                continue
            found.update((array, None) for array in arrays if array.alias is not None)
        return list(found)


def _op_of(step: Branch | Loop) -> str:
    return "" if step.node is None else f" ({step.node.op})"


def _constant_text(data: np.ndarray[Any, Any]) -> str:
    if data.size == 1:
        return str(data.reshape(-1)[0])
    if data.size <= _MOST_NUMBERS:
        return "[" + " ".join(map(str, data.reshape(-1))) + "]"
    return f"constant {data.dtype}{list(data.shape)}"
