"""What variables were made from, where their graph does not show it."""

import gc
import weakref

import phintys
import phintys.tensor as pt
from phintys.graph.sources import made_from, note_sources, variables_used


def test_sources_of_sources():
    x, y, a, b = (pt.dscalar(name) for name in "xyab")
    note_sources(a, [x])
    note_sources(b, [a + y])
    assert variables_used([b * 2]) >= {b, a, x, y}
    assert x not in variables_used([y])
    assert made_from(x) == ()


def test_nothing_stays():
    x = pt.dscalar("x")
    gone = []
    for _ in range(3):
        zero, gradient = pt.zeros_like(x), phintys.grad(3 * x, x)
        gone += [weakref.ref(zero), weakref.ref(gradient)]
        del zero, gradient
    gc.collect()
    assert [ref() for ref in gone] == [None] * 6


def test_a_gradient_that_was_given_does_not_keep_its_cost():
    x = pt.dscalar("x")
    cost = x * 2
    gone = weakref.ref(cost)
    phintys.grad(cost, x, known_grads={x: cost})
    del cost
    gc.collect()
    assert gone() is None
