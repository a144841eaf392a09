"""A kind of step is a class and three rules: this file adds one, and an Op lowered to it."""

import ast
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import IntegrityError
from phintys._base.records import record
from phintys.backends.native import steps as kinds
from phintys.backends.native.assembler.control import loop
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.assembler.types import type_of
from phintys.backends.native.explain import explain_program, step_lines
from phintys.backends.native.failures import Failure
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.lower.lowering import lowers
from phintys.backends.native.program import Program, Step, walk_steps
from phintys.backends.native.steps.check import Check
from phintys.backends.native.steps.claim import Claim
from phintys.backends.native.stepwise.checking import run
from phintys.backends.native.stepwise.interpreter import carry_out
from phintys.backends.native.values import Array
from phintys.backends.native.verify import verify_program
from phintys.backends.native.writer.programs import emit_program
from phintys.backends.native.writer.step_writer import write_step
from phintys.graph import Apply, FunctionGraph, Op


@record(eq=False)
class Fill(Step):
    """Fills an array with one number, read from an array without dimensions.

    Numbers that are not finite are refused.
    """

    noun: ClassVar[str] = "fill"
    nouns: ClassVar[str] = "fills"

    number: Array
    target: Array
    node: Apply

    def reads(self):
        return (self.number,)

    def writes(self):
        return (self.target,)

    @property
    def may_fail(self):
        return True

    def nodes(self):
        return (self.node,)

    def work(self, costs):
        return costs.scaled(costs.ring.product(self.target.sizes), 0.1)


@write_step.register(Fill)
def write_fill(step, writer):
    b, type = writer.b, type_of(step.target.dtype)
    number, target = b.load(type, writer.pointer(step.number)), writer.pointer(step.target)
    with writer.code.failing(b.compare("une", number - number, b.constant(type, 0.0))):
        writer.code.set_status(writer.main.failure(Failure(step.node, "value", "not finite")))
    count = writer.sizes.polynomial(writer.main.ring.product(step.target.sizes))
    with loop(b, 0, count) as each:
        b.store(number, b.offset(target, each.index, type))


@step_lines.register(Fill)
def fill_lines(step, explainer):
    return [f"fill {explainer.name(step.target)} with {explainer.name(step.number)}"]


@carry_out.register(Fill)
def carry_out_fill(step, interpreter):
    interpreter.memory(step.target).put(..., interpreter.value(step.number))


class FilledLike(Op):
    """An array like the first input, filled with the second."""

    __props__ = ()

    def make_node(self, x, number):
        return Apply(self, [x, number], [x.type()])

    def perform(self, node, inputs, outputs):
        x, number = inputs
        if not np.isfinite(number):
            msg = "the number is not finite"
            raise ValueError(msg)
        outputs[0][0] = np.full_like(x, number)


@lowers(FilledLike)
def lower_filled_like(op: FilledLike, node, lowering):
    x, number = (lowering.view(variable) for variable in node.inputs)
    target, _ = lowering.compute(node.outputs[0], x.sizes)
    lowering.steps.append(Fill(lowering.contiguous(number).array, target.array, node))


@pytest.fixture
def graph():
    x, s = pt.dmatrix("x"), pt.dscalar("s")
    filled = FilledLike()(pt.exp(x), s * 2)
    return [x, s], [filled, (filled * x).sum()]


def test_it_runs_between_kernels(graph):
    inputs, outputs = graph
    f = phintys.function(inputs, outputs, mode="native")
    x = np.arange(6.0).reshape(2, 3)
    filled, total = f(x, 1.5)
    np.testing.assert_array_equal(filled, np.full((2, 3), 3.0))
    assert total == 3 * x.sum()
    assert any(isinstance(step, Fill) for step in walk_steps(lower_program(f.maker.fgraph).steps))


def test_it_fails_with_the_error_of_its_op(graph):
    f = phintys.function(*graph, mode="native")
    with pytest.raises(ValueError, match="the number is not finite"):
        f(np.ones((2, 2)), np.inf)
    np.testing.assert_array_equal(f(np.ones((1, 1)), 1.0)[0], [[2.0]])


def test_it_is_explained_and_profiled(graph):
    f = phintys.function(*graph, mode="native", profile=True)
    f(np.ones((2, 2)), 1.0)
    text = f.explain()
    assert ", 1 fill" in text.splitlines()[0]
    assert "fill t" in text
    assert "fill" in {step.kind for step in f.profile.steps}


def test_its_memory_is_planned(graph):
    (x, s), (filled, total) = graph
    more = FilledLike()(filled + x, total)
    f = phintys.function([x, s], (more * x).sum(), mode="native")
    values = np.arange(4.0).reshape(2, 2), 0.5
    assert f(*values) == phintys.function([x, s], (more * x).sum(), mode="reference")(*values)


def test_it_is_verified(graph):
    program = lower_program(FunctionGraph(*graph, clone=True))
    verify_program(program)
    without = [step for step in program.steps if isinstance(step, Check | Fill)]
    broken = Program(program.arguments, program.results, without, program.sizes)
    with pytest.raises(IntegrityError, match=r"in a fill, t.* is read unwritten"):
        verify_program(broken)


def test_it_is_carried_out(graph):
    program = lower_program(FunctionGraph(*graph, clone=True))
    filled, total = run(program, [np.ones((2, 3)), np.array(1.5)])
    np.testing.assert_array_equal(filled, np.full((2, 3), 3.0))
    assert total == 18.0


def test_it_is_not_at_the_end_where_nothing_may_fail():
    s = phintys.shared(np.ones(3), "s")
    x = pt.dscalar("x")
    f = phintys.function([x], updates={s: pt.set_subtensor(s[0], x)}, mode="native")
    program = lower_program(f.maker.fgraph)
    assert isinstance(program.steps[program.commit_start], Claim)
    node = f.maker.fgraph.outputs[-1].owner
    fill = Fill(program.arguments[0], program.results[0], node)
    program.steps.append(fill)
    with pytest.raises(IntegrityError, match="the call may fail"):
        verify_program(program)


@record(eq=False)
class Idle(Step):
    """A kind without rules."""

    noun: ClassVar[str] = "idle"


def test_a_kind_without_rules_says_what_to_add(graph):
    f = phintys.function(*graph, mode="native")
    program = lower_program(f.maker.fgraph)
    emitted = emit_program(program, Target.configured())
    program.steps.append(Idle())
    with pytest.raises(IntegrityError, match=r"Idle are not carried out: add a rule by @carry_"):
        run(program, [np.ones((2, 3)), np.array(1.5)])
    with pytest.raises(IntegrityError, match=r"Idle have no text: add a rule by @step_lines\."):
        explain_program(program, emitted)
    with pytest.raises(IntegrityError, match=r"Idle have no code: add a rule by @write_step\."):
        emit_program(program, Target.configured())


# ---- no other code has lists of kinds ------------------------------------------------------------


def functions_that_name_several_kinds(source, names):
    """Return the functions that test with ``isinstance`` for more than one kind of step."""
    found = []
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        tested = {
            name.id
            for call in ast.walk(function)
            if isinstance(call, ast.Call) and getattr(call.func, "id", None) == "isinstance"
            for name in ast.walk(call.args[1])
            if isinstance(name, ast.Name)
        }
        if len(tested & names) > 1:
            found.append(function.name)
    return found


def names_of_kinds():
    """The classes of steps that the files of the package define."""
    trees = [ast.parse(path.read_text()) for path in Path(kinds.__path__[0]).glob("*.py")]
    return {
        node.name
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.ClassDef) and any(ast.unparse(b) == "Step" for b in node.bases)
    }


def test_lists_of_kinds_are_found():
    code = "def f(s):\n  if isinstance(s, Kernel): pass\n  elif isinstance(s, Branch | Loop): pass"
    assert functions_that_name_several_kinds(code, {"Kernel", "Loop"}) == ["f"]
    assert functions_that_name_several_kinds(code, {"Kernel"}) == []


def test_no_function_tests_for_several_kinds():
    names = names_of_kinds()
    assert {"Kernel", "Callback", "Claim", "Loop"} <= names
    room = Path(kinds.__path__[0]).parent
    found = {
        str(path.relative_to(room)): functions
        for path in room.rglob("*.py")
        if (functions := functions_that_name_several_kinds(path.read_text(), names))
    }
    assert found == {}
