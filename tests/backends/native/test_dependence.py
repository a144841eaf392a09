"""When a kernel may write where it reads."""

from dataclasses import replace

import numpy as np
import pytest

import phintys.scalar as ps
from phintys.backends.native.dependence import (
    Accesses,
    Meeting,
    Occurrences,
    may_overwrite,
    meeting,
)
from phintys.backends.native.expressions import Index, Literal, Load, Operation, Statement
from phintys.backends.native.sizes import Sizes
from phintys.backends.native.values import Array, LoopVariable, Place

SIZES = Sizes()
FLOAT = np.dtype("float64")
ONE, TWO, ROWS, COLUMNS = (SIZES.fixed(n) for n in (1, 2, 5, 7))
I, J, STEP = LoopVariable(ROWS, "i"), LoopVariable(COLUMNS, "j"), LoopVariable(ROWS, "step")


def array(label, *lengths, alias=None):
    found = Array(Place.BUFFER, FLOAT, lengths, label)
    found.alias = alias
    return found


OLD, NEW, OTHER = (array(label, ROWS, COLUMNS) for label in ("old", "new", "other"))
SAME_SIZES = array("again", ROWS, COLUMNS, alias=OLD)
TURNED = array("turned", COLUMNS, ROWS, alias=OLD)
AXIS_I, AXIS_J = Index(((I, ONE),)), Index(((J, ONE),))
HERE = (AXIS_I, AXIS_J)


def doubled(load):
    return Operation(ps.add, (load, load), FLOAT)


def reading(source, indices=HERE, target=OTHER, loops=(I, J)):
    return Statement(target, HERE, doubled(Load(source, indices)), loops)


WRITER = reading(OTHER, target=NEW)
"""It reads nothing of the old value."""


def may(*nests, writer=WRITER, memory=OLD):
    kernel = Occurrences(nests)
    return may_overwrite(kernel, writer, memory, lambda load: meeting(load, writer, SIZES))


@pytest.mark.parametrize("name", [OLD, SAME_SIZES])
def test_an_element_is_read_first_before_it_is_written(name):
    assert may([reading(OLD), reading(name), WRITER])
    assert may([reading(OLD), WRITER, reading(name)])  # it is in a register
    assert not may([WRITER, reading(name)])


def test_a_nest_before_may_read_it_and_none_after():
    assert may([reading(OLD)], [WRITER])
    assert not may([WRITER], [reading(OLD)])
    assert not may([reading(OLD), WRITER], [reading(OLD)])
    assert not may([reading(OLD)], [WRITER, reading(OLD)])


@pytest.mark.parametrize(
    ("source", "indices"),
    [
        (OLD, (Index(((I, ONE),), ONE), AXIS_J)),
        (OLD, (AXIS_I, Index(((J, TWO),)))),
        (OLD, (Index(), AXIS_J)),
        (TURNED, (AXIS_J, AXIS_I)),
        (TURNED, HERE),
    ],
    ids=["next row", "every other", "first row", "turned", "other sizes"],
)
def test_what_another_iteration_may_write_is_not_read(source, indices):
    assert not may([reading(source, indices), WRITER])
    assert not may([reading(source, indices)], [WRITER])


def test_other_rows_may_be_read_at_any_time():
    place = Index(((STEP, ONE),))
    for read, written in (
        (Index(), Index((), ONE)),
        (place, Index(((STEP, ONE),), ONE)),
        (Index((), SIZES.add(SIZES.counter(STEP), ONE)), Index((), SIZES.counter(STEP))),
    ):
        writer = Statement(NEW, (written, AXIS_J), Literal(FLOAT.type(0), FLOAT), (J,))
        found = reading(OLD, (read, AXIS_J), loops=(J,))
        assert meeting(Load(OLD, (read, AXIS_J)), writer, SIZES) is Meeting.APART
        assert may([found, writer], writer=writer)
        assert may([writer, found], writer=writer)
        assert may([writer], [found], writer=writer)


@pytest.mark.parametrize(
    ("read", "written"),
    [
        (Index(((STEP, ONE),)), Index((), ONE)),
        (Index(((STEP, ONE),)), Index(((STEP, TWO),), ONE)),
        (Index((), SIZES.counter(STEP)), Index((), ONE)),
    ],
)
def test_rows_of_unknown_distance_may_be_the_same(read, written):
    writer = Statement(NEW, (written, AXIS_J), Literal(FLOAT.type(0), FLOAT), (J,))
    assert meeting(Load(OLD, (read, AXIS_J)), writer, SIZES) is Meeting.UNKNOWN
    assert not may([reading(OLD, (read, AXIS_J), loops=(J,)), writer], writer=writer)


def test_a_loop_that_occurs_twice_in_an_index_is_not_compared():
    both = Index(((I, ONE), (I, TWO)))
    writer = replace(WRITER, indices=(Index(((I, TWO), (I, ONE))), AXIS_J))
    assert meeting(Load(OLD, (both, AXIS_J)), writer, SIZES) is Meeting.UNKNOWN


def test_each_iteration_writes_one_element_of_its_own():
    read = reading(OLD)
    last = replace(WRITER, indices=(Index(), AXIS_J))
    for writer in (
        last,
        replace(WRITER, reduction=(J,), reducer="add"),
        replace(WRITER, accumulate="add"),
        replace(WRITER, sequential=(I,)),
        replace(WRITER, target=replace(NEW, dtype=np.dtype("float32"))),
    ):
        assert not may([read, writer], writer=writer)
        assert not may([writer], writer=writer)


def test_a_part_of_an_axis_of_length_1_has_one_element_at_most():
    new, old = array("new row", ONE, COLUMNS), array("old row", ONE, COLUMNS)
    few = LoopVariable(SIZES.extent(OTHER, 0), "few")
    place = (Index(), AXIS_J)
    writer = Statement(new, place, doubled(Load(old, place)), (few, J))
    assert may([writer], writer=writer, memory=old)


@pytest.mark.parametrize("target", [NEW, OLD, SAME_SIZES])
def test_nothing_else_in_the_kernel_writes_there(target):
    assert not may([reading(OLD), WRITER, reading(OTHER, target=target)])
    assert not may([reading(OTHER, target=target)], [reading(OLD), WRITER])


def test_steps_are_apart_if_neither_writes_what_the_other_accesses():
    reads_old, reads_other = (Accesses(reading(one, target=NEW)) for one in (OLD, OTHER))
    writes_old = Accesses(reading(OTHER, target=OLD))
    assert OLD in reads_old
    assert NEW in reads_old
    assert OTHER not in reads_old
    assert Accesses(reading(OLD, target=array("x", ROWS, COLUMNS))).is_apart_from(reads_old)
    for one, other in [(reads_old, reads_other), (reads_old, writes_old)]:  # both write; one reads
        assert not one.is_apart_from(other)
        assert not other.is_apart_from(one)
