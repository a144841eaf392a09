"""Invalid programs are refused, with what is wrong."""

import dataclasses

import numpy as np
import pytest

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys import sparse
from phintys._base.errors import IntegrityError
from phintys.backends.native.dependence import renamed
from phintys.backends.native.expressions import (
    Conversion,
    Index,
    Literal,
    Load,
    Operation,
    Position,
)
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.steps.branch import Branch
from phintys.backends.native.steps.check import Check
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.steps.loop import Loop
from phintys.backends.native.values import Array, LoopVariable, Place
from phintys.backends.native.verify import Verifier, verify_program
from phintys.control import scan
from phintys.graph.fgraph import FunctionGraph

FLOAT64 = np.dtype("float64")


@pytest.fixture
def program():
    x = pt.dmatrix("x")
    y = pt.exp(x)
    return lower_program(FunctionGraph([x], [y / y.sum(axis=1, keepdims=True)], clone=True))


def kernel(program):
    return next(step for step in program.steps if isinstance(step, Kernel))


def change(program, **changes):
    """Change the first statement of the program."""
    nest = kernel(program).nests[0]
    nest.statements[0] = dataclasses.replace(nest.statements[0], **changes)


def refused(program, match):
    with pytest.raises(IntegrityError, match=match):
        verify_program(program)


def test_sound_programs_pass(program):
    verify_program(program)


def test_unwritten_arrays(program):
    stray = Array(Place.BUFFER, FLOAT64, (), "stray")
    change(program, value=Load(stray, ()))
    refused(program, "stray.* is read unwritten")


def test_number_of_indices(program):
    (x,) = program.arguments
    change(program, value=Load(x, ()))
    refused(program, "indexed with 0 indices")


def test_loops_that_are_not_there(program):
    (x,) = program.arguments
    other = LoopVariable(x.sizes[0], "z")
    index = Index(((other, program.sizes.fixed(1)),))
    change(program, value=Load(x, (index, index)))
    refused(program, "indexed by loop z")
    change(program, value=Conversion(Position(index), FLOAT64))
    refused(program, "depends on loop z")


def test_dtypes(program):
    statement = kernel(program).nests[0].statements[0]
    change(program, value=Conversion(statement.value, np.dtype("float32")))
    refused(program, "is assigned a float32")
    wrong = Operation(ps.exp, (statement.value,), np.dtype("float32"))
    change(program, value=Conversion(wrong, FLOAT64))
    refused(program, "exp gives a float64, not a float32")
    change(program, value=Conversion(Literal(np.int8(1), FLOAT64), FLOAT64))
    refused(program, "literal of dtype float64")


def test_ops_without_code(program):
    one = Literal(np.float64(1), FLOAT64)
    change(program, value=Operation(ps.polygamma, (one, one), FLOAT64))
    refused(program, "polygamma.* has no code")


def test_reducers(program):
    loops = kernel(program).nests[0].statements[0].loops
    change(program, reduction=(loops[-1],), reducer=None)
    refused(program, "has no reducer")
    change(program, reduction=(loops[0],), reducer="add")
    refused(program, "several sets of loops|reduces an outer loop")
    change(program, reduction=(loops[-1],), reducer="median")
    refused(program, "reduced by median")


def test_results_in_memory_that_is_used_again(program):
    program.results[0].place = Place.BUFFER
    refused(program, "its memory is used again")


def test_arguments_are_not_written(program):
    change(program, target=program.arguments[0])
    refused(program, "is written")


def test_orders_that_reductions_change():
    x, i = pt.lmatrix("x"), pt.lvector("i")
    outputs = [pt.set_subtensor(pt.zeros((2, 3), dtype="int64")[i], x), x.sum(axis=0)]
    program = lower_program(FunctionGraph([x, i], outputs, clone=True))
    verify_program(program)
    statements = [
        (nest, statement)
        for step in program.steps
        if isinstance(step, Kernel)
        for nest in step.nests
        for statement in nest.statements
    ]
    (total,) = [statement for _, statement in statements if statement.reduction]
    (nest,) = [nest for nest, s in statements if any(index.dynamic for index in s.indices)]
    nest.statements.append(renamed(total, nest.loops))
    refused(program, "must run in order")


def test_conditions_are_single_bools(program):
    (x,) = program.arguments
    program.steps.insert(0, Branch(x, [], []))
    refused(program, "is not a single bool")


def test_powers_of_integers_at_the_end():
    s, x = phintys.shared(np.arange(3), "s"), pt.lvector("x")
    f = phintys.function([x], updates={s: s + x}, mode="native")
    program = lower_program(f.maker.fgraph)
    assert program.commit_start < len(program.steps)
    verify_program(program)
    last = program.steps[-1].nests[0]
    (statement,) = last.statements
    value = dataclasses.replace(statement.value, op=ps.pow)  # fails for negative exponents
    last.statements[0] = dataclasses.replace(statement, value=value)
    refused(program, "the call may fail")


@pytest.mark.parametrize("step", [2, 3, -2])
def test_parts_of_arrays_whose_lengths_are_values(step):
    n = pt.lvector("n")
    part = (pt.zeros((n[0], n[1])) + 1)[::step]
    verify_program(lower_program(FunctionGraph([n], [part])))


@pytest.mark.parametrize("taps", [1, 2, 3])
@pytest.mark.parametrize(
    "steps",
    [lambda n, m: n - 3, lambda n, m: n - m - 1, lambda n, m: n + m - 3, lambda n, m: 2 - n],
)
def test_rows_of_loops_with_as_many_steps_as_a_difference(steps, taps):
    n, m, first = pt.lscalar("n"), pt.lscalar("m"), pt.dvector("first")
    initial = {"initial": first, "taps": [-taps]}
    rows, _ = scan(lambda h: h * 0.5, None, [initial], n_steps=steps(n, m))
    verify_program(lower_program(FunctionGraph([n, m, first], [rows, rows[-1]])))


@pytest.mark.parametrize("number", [-3, 0, 3])
@pytest.mark.parametrize("by_maximum", [False, True])
def test_what_a_check_of_a_length_tells_of_others(program, number, by_maximum):
    sizes, verifier = program.sizes, Verifier(program)
    n = sizes.element(Array(Place.ARGUMENT, np.dtype("int64"), (), "n"))
    checked = sizes.add(n, sizes.fixed(number))
    if by_maximum:
        verifier.checked(sizes.at_least_zero(checked), checked)
    else:
        verifier.checked(sizes.arithmetic("lt", sizes.fixed(-1), checked), sizes.fixed(1))
    others = range(-5, 6)
    found = [other for other in others if verifier.is_length(sizes.add(n, sizes.fixed(other)))]
    assert found == list(range(number, 6))


def test_sums_of_blocks_of_sparse_matrices():
    x, v, y = sparse.csr_matrix("x"), pt.dvector("v"), pt.dmatrix("y")
    cost = pt.sqr(x @ v).sum() + pt.sqr(x.T @ y).sum()
    outputs = [x.T @ v, x.T @ y, *phintys.grad(cost, [x, v, y])]
    f = phintys.function([x, v, y], outputs, mode="native")
    verify_program(f.vm.program_and_text()[0])


@pytest.mark.parametrize("kind", [Branch, Loop])
def test_checks_that_may_not_run_show_nothing_afterwards(kind):
    n = pt.lscalar("n")
    program = lower_program(FunctionGraph([n], [pt.zeros(n)]))
    at = next(i for i, step in enumerate(program.steps) if isinstance(step, Check))
    check = program.steps[at]
    if kind is Branch:
        truth = Array(Place.CONSTANT, np.dtype("bool"), (), "truth")
        program.steps[at] = Branch(condition=truth, then=[check], otherwise=[])
    else:
        passes = program.sizes.element(program.arguments[0])
        program.steps[at] = Loop(count=passes, counter=LoopVariable("i", passes), body=[check])
    refused(program, "that is not checked")
