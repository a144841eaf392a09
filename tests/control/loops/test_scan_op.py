"""The Op Scan: what its steps read and what it returns, in all modes."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, ShapeError, TypeContractError
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.program import walk_steps
from phintys.backends.native.steps.callback import Callback
from phintys.control import LoopArguments, Scan
from phintys.graph import FunctionGraph

MODES = ["native", "reference", "debug"]


def every_kind(has_until=False):
    """A loop with an argument of each kind, applied to variables, and its values in NumPy."""
    t, u = pt.lscalars("t", "u")
    x, before, last = pt.dvectors("x", "before", "last")
    w = pt.dmatrix("w")
    new = pt.tanh(x + w @ last + 0.1 * before)
    outputs = [new, u + t, new.sum() * x]
    if has_until:
        outputs.append(pt.gt(new.sum(), 1.5))
    arguments = LoopArguments(
        sequences=1, taps=((-2, -1),), untraced=1, stacked=1, captured=1, has_until=has_until
    )
    op = Scan(FunctionGraph([t, x, before, last, u, w], outputs), arguments)

    def values(n, x, h, u, w):
        rows, stack = list(h), []
        for t in range(n):
            rows.append(np.tanh(x[t] + w @ rows[-1] + 0.1 * rows[-2]))
            u = u + t
            stack.append(rows[-1].sum() * x[t])
            if has_until and rows[-1].sum() > 1.5:
                break
        return [np.array(rows), u, np.array(stack).reshape(-1, x.shape[1]), len(stack)]

    variables = [
        pt.lscalar("n"),
        pt.dmatrix("X"),
        pt.dmatrix("H"),
        pt.lscalar("U"),
        pt.dmatrix("W"),
    ]
    return variables, op(*variables), values


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("has_until", [False, True])
def test_a_step_reads_what_earlier_steps_computed(mode, has_until):
    variables, outputs, values = every_kind(has_until)
    f = phintys.function(variables, [*outputs, *(output.shape for output in outputs)], mode=mode)
    rng = np.random.default_rng(1)
    given = rng.random((5, 3)), rng.random((2, 3)), 5, rng.random((3, 3))
    for n in (0, 1, 2, 5):
        expected = values(n, *given)[: len(outputs)]
        found = f(n, *given)
        for one, other in zip(found, expected, strict=False):
            np.testing.assert_allclose(one, other, rtol=1e-12)
        for shape, other in zip(found[len(outputs) :], expected, strict=True):
            assert tuple(shape) == np.shape(other)


@pytest.mark.parametrize("mode", MODES)
def test_what_is_passed_on_is_not_overwritten(mode):
    t, a, b = pt.lscalar("t"), pt.dvector("a"), pt.dvector("b")
    swap = Scan(FunctionGraph([t, a, b], [b, a]), LoopArguments(untraced=2))
    n, x, y = pt.lscalar("n"), pt.dvector("x"), pt.dvector("y")
    f = phintys.function([n, x, y], swap(n, x, y), mode=mode)
    given = np.arange(2.0), np.ones(2)
    for steps in range(3):
        found = f(steps, *given)
        for one, other in zip(found, given[:: -1 if steps % 2 else 1], strict=True):
            np.testing.assert_array_equal(one, other)
            assert not any(np.shares_memory(one, value) for value in given)


@pytest.mark.parametrize("mode", MODES)
def test_wrong_numbers_of_steps_are_errors(mode):
    variables, outputs, _ = every_kind()
    f = phintys.function(variables, outputs, mode=mode)
    given = np.zeros((5, 3)), np.zeros((2, 3)), 5, np.zeros((3, 3))
    with pytest.raises((ArgumentError, ShapeError), match="-1"):
        f(-1, *given)
    with pytest.raises(ShapeError, match="5"):
        f(6, *given)


@pytest.mark.parametrize("mode", MODES)
def test_the_shape_of_a_state_cannot_change(mode):
    t, x = pt.lscalar("t"), pt.dvector("x")
    grow = Scan(FunctionGraph([t, x], [pt.join(0, x, x)]), LoopArguments(untraced=1))
    y = pt.dvector("y")
    f = phintys.function([y], grow(2, y), mode=mode)
    with pytest.raises(ShapeError, match="6"):
        f(np.zeros(3))


def test_the_graph_of_a_step_fits_the_arguments():
    t, x = pt.lscalar("t"), pt.dvector("x")
    with pytest.raises(ArgumentError, match="must have 2 inputs, got 1"):
        Scan(FunctionGraph([t], [t]), LoopArguments(untraced=1))
    with pytest.raises(TypeContractError, match="same dtype, rank and shape"):
        Scan(FunctionGraph([t, x], [x.sum()]), LoopArguments(untraced=1))


def test_connections_lead_through_later_steps():
    t, a, b, c = pt.lscalar("t"), *pt.dscalars("a", "b", "c")
    shift = Scan(FunctionGraph([t, a, b, c], [c, a]), LoopArguments(untraced=2, captured=1))
    node = shift(3, 1.0, 2.0, 3.0)[0].owner
    assert node is not None
    assert shift.connection_pattern(node) == [
        [False, False],
        [True, True],
        [False, True],
        [True, True],
    ]


def test_native_loops_need_no_python():
    for has_until in (False, True):
        variables, outputs, _ = every_kind(has_until)
        program = lower_program(FunctionGraph(variables, outputs, clone=True))
        assert not [step for step in walk_steps(program.steps) if isinstance(step, Callback)]
