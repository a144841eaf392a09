"""The work of compiling grows with the nodes of a program, not with the paths through it."""

import cProfile

import pytest

import phintys
import phintys.tensor as pt
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.lower import lower_program
from phintys.backends.native.memory import plan_memory
from phintys.backends.native.plan import Plan
from phintys.backends.native.polynomials import Polynomials
from phintys.backends.native.sizes import Sizes, is_length, written
from phintys.backends.native.values import LoopVariable
from phintys.backends.native.writer.programs import emit_program
from phintys.graph import FunctionGraph
from phintys.passes import PIPELINES
from phintys.testing.families import FAMILIES, with_gradient

MOST = 2.6
"""Twice the length is twice the work, and four times where it is quadratic."""

MOST_AT_FIRST = 4.5
"""Short programs share less code. Where each path is walked it is eight times and more."""


def compiled_text(make, length):
    inputs, outputs = make(length)
    fgraph = FunctionGraph(inputs, outputs, copy_inputs=False)
    PIPELINES["full"].apply(fgraph)
    return str(emit_program(lower_program(fgraph), Target.configured()).module)


def work(make, length):
    """Return how many calls it takes to compile a program, built-in ones included, and its text."""
    profile = cProfile.Profile()
    text = profile.runcall(compiled_text, make, length)
    return sum(entry.callcount for entry in profile.getstats()), len(text)


def growth(make, length):
    """Return by how much the calls grow from twice a length on, over up to there; and the text."""
    compiled_text(make, 2)  # what is imported or built once
    first, second, third = (work(make, factor * length) for factor in (1, 2, 4))
    return (third[0] - second[0]) / (second[0] - first[0]), third[1] / second[1]


def many_terms(length):
    """A kernel that ends the lives of as many arrays as it makes."""
    given = [pt.dvector() for _ in range(length)]
    cost = pt.add(*map(pt.exp, given)).sum()
    return given, [cost, *phintys.grad(cost, given)]


def test_the_arrays_of_a_kernel_are_not_asked_about_each_other():
    calls, text = growth(many_terms, 20)
    assert calls < MOST
    assert text < MOST


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", FAMILIES)
def test_the_work_doubles_with_the_length(name, repeats):
    length = repeats(3, 60)
    most = MOST if length > 3 else MOST_AT_FIRST
    calls, text = growth(lambda n: with_gradient(FAMILIES[name], n), length)
    assert calls < most
    assert text < most


@pytest.mark.stress
@pytest.mark.parametrize("name", FAMILIES)
def test_the_work_of_long_programs_doubles_with_the_length(name):
    calls, text = growth(FAMILIES[name], 100)
    assert calls < MOST
    assert text < MOST


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["sets", "increments", "shifts"])
def test_the_work_of_long_chains_doubles_with_the_length(name):
    assert growth(FAMILIES[name], 40)[0] < MOST


def long_step(length):
    """A loop whose step is a chain of numbers, with its gradient."""
    x, w = pt.dvector("x"), pt.dscalar("w")

    def step(x, h):
        for i in range(length):
            h = pt.tanh(h * w + x * (i + 1)) + 0.5 * h
        return h

    cost = phintys.scan(step, x, 0.0)[0].sum()
    return [x, w], [cost, phintys.grad(cost, w)]


def work_of_planning_memory(length):
    inputs, outputs = long_step(length)
    program = lower_program(FunctionGraph(inputs, outputs, copy_inputs=False))
    plan = Plan(program, Target.configured())
    profile = cProfile.Profile()
    profile.runcall(plan_memory, program, Polynomials(program.sizes), plan.kernels)
    return sum(entry.callcount for entry in profile.getstats())


def test_memory_is_planned_in_time_linear_in_the_step_of_a_loop():
    first, second, third = map(work_of_planning_memory, (6, 12, 24))
    assert (third - second) / (second - first) < MOST


def test_sizes_that_share_their_parts_are_read_in_one_step_each():
    sizes = Sizes()
    n = size = sizes.counter(LoopVariable(sizes.fixed(3), "n"))
    for _ in range(2_000):
        size = sizes.mul(sizes.add(sizes.arithmetic("max", size, n), size), size)
    assert is_length(size)
    assert size.leaves == (n,)
    assert len(written(size, lambda leaf: "n")) < 1_000
    assert len(repr(sizes.add(size, n))) < 10_000


def test_a_program_of_shared_lengths_is_explained_in_lines_of_bounded_length():
    (x,), (y,) = FAMILIES["padding"](60)
    f = phintys.function([x], y)
    assert f([1.0, 2.0]).tolist() == [1.0] * 61 + [2.0] * 61
    assert max(map(len, f.explain().splitlines())) < 4_000


def test_a_join_of_many_pieces_of_unknown_length_is_native():
    x, at = pt.dvector("x"), pt.lvector("at")
    pieces = [x[: at[i]] for i in range(150)]
    f = phintys.function([x, at], pt.concatenate(pieces))
    assert f([1.0, 2.0, 3.0], [i % 4 for i in range(150)]).size == sum(i % 4 for i in range(150))
    assert "callback" not in f.explain()
