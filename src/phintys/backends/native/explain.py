"""Programs as text: fused kernels, loop orders, placement of arrays, and calls."""

from __future__ import annotations

from collections import Counter
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import IntegrityError
from phintys.backends.native.expressions import (
    Conversion,
    Expression,
    Index,
    IndexCheck,
    Literal,
    Load,
    Operation,
    Position,
    SizeValue,
    Statement,
)
from phintys.backends.native.kernels.planning import plans_of
from phintys.backends.native.program import Program, Step, walk_steps
from phintys.backends.native.sizes import Arithmetic, Element, Extent, Size, written
from phintys.backends.native.sizes import Counter as LoopCounter
from phintys.backends.native.steps.branch import Branch
from phintys.backends.native.steps.call import LibraryCall
from phintys.backends.native.steps.callback import Callback, CCall
from phintys.backends.native.steps.check import Check, FenceStep
from phintys.backends.native.steps.claim import Claim
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.steps.loop import Loop
from phintys.backends.native.values import Array, Place, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.assembler.target import Target
    from phintys.backends.native.kernels.plans import KernelPlan, Level, NestPlan
    from phintys.backends.native.writer.programs import EmittedProgram
    from phintys.graph.apply import Apply

_REDUCERS = {
    "add": "sum",
    "mul": "product",
    "maximum": "max",
    "minimum": "min",
    "and_": "all",
    "or_": "any",
}
_ACCUMULATES = {None: "=", "add": "+=", "mul": "*=", "maximum": "max=", "minimum": "min="}
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
    return "\n".join(Explainer(program, emitted).lines())


def _itself(size: Size) -> Size:
    return size


class Explainer:
    """Writes a program as text, its steps by the rules of :func:`step_lines`."""

    def __init__(self, program: Program, emitted: EmittedProgram) -> None:
        self.program = program
        self.emitted = emitted
        self.sizes = program.sizes
        claims = [step for step in walk_steps(program.steps) if isinstance(step, Claim)]
        self.claimed = {claim.target: claim.source for claim in claims}

    @property
    def target(self) -> Target:
        """The CPU that the code is written for."""
        return self.emitted.module.target

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
        kinds = Counter(map(type, walk_steps(self.program.steps)))
        shown = [
            f"{count} {kind.noun if count == 1 else kind.nouns}"
            for kind, count in sorted(kinds.items(), key=lambda item: _place_of(item[0]))
        ]
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
        return str(size.loop if isinstance(size, LoopCounter) else size.known)

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
        if isinstance(expression, Conversion):
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
            head, *rest = step_lines(step, self)
            found.append(f"{indent}{number}. {head}")
            found += [f"{indent}   {line}" for line in rest]
        return found

    def is_shared(self, loop: Step) -> bool:
        """Return whether threads can share a loop of steps."""
        return loop in self.emitted.shared_loops

    def op_of(self, node: Apply | None) -> str:
        """Return the Op that steps inside another compute, in parentheses."""
        return "" if node is None else f" ({node.op})"

    # ---- kernels -----------------------------------------------------------------------------

    def kernel(self, kernel: Kernel) -> list[str]:
        """Return the lines of a kernel: the ops it fuses, its loops and statements."""
        code = self.emitted.kernels[kernel]
        plan = code.plan
        if not code.has_own_plan:
            plan, _ = plans_of(kernel, plan.addressing.polynomials, self.target)
        ops: dict[str, None] = {}
        for statement in kernel.statements:
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
            sizes = [
                f"{array.dtype.itemsize} * {' * '.join(map(self.size, array.sizes)) or '1'}"
                for _, array in slot.sizes()[:_MOST_NUMBERS]
            ]
            more = ", ..." if len(slot.others) >= _MOST_NUMBERS else ""
            room = sizes[0] if len(sizes) == 1 else f"max({', '.join(sizes)}{more})"
            when = memory.groups[slot.group]
            later = "" if when < 0 else f", taken after step {when + 1}"
            lines.append(f"  slot {number}: {room} bytes: {names}{later}")
        return [*lines, *shown]

    def aliases(self) -> list[Array]:
        """Return the arrays that alias the memory of others with different sizes."""
        arrays = (
            array
            for step in walk_steps(self.program.steps)
            for array in (*step.reads(), *step.writes())
        )
        return list(dict.fromkeys(array for array in arrays if array.alias is not None))


def _place_of(kind: type[Step]) -> tuple[bool, bool, str]:
    """Return the sort key of a kind of step: kernels first, steps with bodies last."""
    return kind is not Kernel, kind.bodies is not Step.bodies, kind.noun


def _constant_text(data: np.ndarray[Any, Any]) -> str:
    if data.size == 1:
        return str(data.reshape(-1)[0])
    if data.size <= _MOST_NUMBERS:
        return "[" + " ".join(map(str, data.reshape(-1))) + "]"
    return f"constant {data.dtype}{list(data.shape)}"


# ---- the lines of each kind of step ------------------------------------------------------------


@singledispatch
def step_lines(step: Step, explainer: Explainer) -> list[str]:
    """Return the lines of a step, by the rule of its kind."""
    kind = type(step).__name__
    msg = f"Steps of the kind {kind} have no text: add a rule by @step_lines.register({kind})."
    raise IntegrityError(msg)


@step_lines.register(Kernel)
def kernel_lines(step: Kernel, explainer: Explainer) -> list[str]:
    """Return its loops and statements."""
    return explainer.kernel(step)


@step_lines.register(LibraryCall)
def call_lines(step: LibraryCall[Any], explainer: Explainer) -> list[str]:
    """Return the line of its routine."""
    return [step.routine.line(step, explainer)]


@step_lines.register(Callback)
def callback_lines(step: Callback, explainer: Explainer) -> list[str]:
    """Return the Op, and why it is a callback."""
    given = ", ".join(
        f"copy of {explainer.name(value)}" if step.is_copied(position) else explainer.name(value)
        for position, value in enumerate(step.inputs)
    )
    made = ", ".join(map(explainer.declared, step.outputs))
    return [f"callback {step.node.op}({given}) -> {made}", f"because {step.why}"]


@step_lines.register(CCall)
def c_call_lines(step: CCall, explainer: Explainer) -> list[str]:
    """Return the Op."""
    given = ", ".join(map(explainer.name, step.inputs))
    made = ", ".join(map(explainer.declared, step.outputs))
    return [f"C code of {step.node.op}({given}) -> {made}"]


@step_lines.register(Check)
def check_lines(step: Check, explainer: Explainer) -> list[str]:
    """Return its line; the two sizes are known to be equal only afterwards."""
    left, right = (explainer.size(size, as_given=True) for size in step.sizes())
    failure = step.failure
    detail = failure.detail.replace("{0}", left).replace("{1}", right)
    why = f"{failure.kind}, {detail}" if detail else failure.kind
    is_order = isinstance(step.left, Arithmetic) and step.left.operation == "lt"
    test = left[1:-1] if is_order and step.right.known == 1 else f"{left} == {right}"
    return [f"check {test} ({failure.node.op}: {why})"]


@step_lines.register(FenceStep)
def fence_lines(step: FenceStep, explainer: Explainer) -> list[str]:
    """Return its line."""
    return [f"fence after {', '.join(explainer.name(array) for array in step.arrays)}"]


@step_lines.register(Claim)
def claim_lines(step: Claim, explainer: Explainer) -> list[str]:
    """Return its line."""
    instead = "a copy" if step.is_kept else "other memory"
    unless = "if others hold it" if step.is_shared else "if it is read-only"
    unless += " or wait" * (step.is_long or step.is_read)
    source, target = explainer.name(step.source), explainer.name(step.target)
    return [f"claim {source} -> {target}, {instead} {unless}"]


@step_lines.register(Branch)
def branch_lines(step: Branch, explainer: Explainer) -> list[str]:
    """Return the steps of both cases."""
    lines = [f"if {explainer.name(step.condition)}{explainer.op_of(step.node)}"]
    lines += explainer.steps(step.then, "  ")
    return [*lines, "else", *explainer.steps(step.otherwise, "  ")]


@step_lines.register(Loop)
def loop_lines(step: Loop, explainer: Explainer) -> list[str]:
    """Return the steps of its body."""
    how = "shared by threads" if explainer.is_shared(step) else "one after the other"
    head = f"for {step.counter} < {explainer.size(step.count)}, {how}"
    if step.until is not None:
        head += f", until {explainer.name(step.until)}"
    return [head + explainer.op_of(step.node), *explainer.steps(step.body, "  ")]
