"""Random scenarios of views and overwriting Ops in all modes; the oracle; the fuzzer itself."""

import contextlib
import io

import numpy as np
import pytest

import phintys.tensor as pt
from phintys.backends.reference import ReferenceBackend
from phintys.graph.aliasing import DestroyHandler
from phintys.tensor.inplace import add_inplace, neg_inplace
from tools.fuzz import (
    ALIASING,
    Scenario,
    changing,
    check_seed,
    draw,
    play,
    playing,
    shrunk,
)
from tools.fuzz.case import Given, Step
from tools.fuzz.changing import wrongly_judged
from tools.fuzz.command import main
from tools.fuzz.memory_ops import larger, merged
from tools.fuzz.modes import BASE, Variant
from tools.fuzz.oracle import order_is_right, some_order_is_right
from tools.fuzz.scenario import Made, Shared


@pytest.mark.sampled(5)
@pytest.mark.parametrize("start", range(0, 120, 10))
def test_all_modes_do_what_the_contract_says(start):
    for seed in range(start, start + 10):
        found = check_seed(seed, ALIASING)
        assert found is None, str(found)


def test_a_seed_names_one_scenario():
    for seed in range(5):
        assert draw(seed, ALIASING).program("None") == draw(seed, ALIASING).program("None")
    assert draw(1, ALIASING).program("None") != draw(2, ALIASING).program("None")


def test_everything_is_drawn():
    scenarios = [draw(seed, ALIASING) for seed in range(300)]
    lines = "\n".join(step.text for one in scenarios for step in one.steps)
    for name in (
        *("inplace.add_inplace(", "inplace=True)", "memory_ops.larger(", "memory_ops.largest("),
        *("memory_ops.scratch(", "memory_ops.swapped(", "memory_ops.crossed(", ".dimshuffle("),
        *("memory_ops.shift(", "user_ops.zeroed(", "[::-1]", ".reshape(", "pt.set_subtensor("),
        *("memory_ops.halves(", "memory_ops.trap(", "blas.Gemm(", "memory_ops.dipped("),
    ):
        assert name in lines, name
    functions = [made for one in scenarios for made in one.functions]
    assert {"", "mutable", "borrow"} == {how for made in functions for how in made.inputs.values()}
    assert {True, False} == {borrow for made in functions for _, borrow in made.outputs}
    assert sum(len(made.updates) > 1 for made in functions) > 5
    assert sum(len(one.functions) > 1 for one in scenarios) > 25
    assert sum(each.results is None for one in scenarios for each in one.expected()) > 3
    refused = 0
    for one in scenarios:
        variables = one.build()
        for made in one.functions:
            refused += not some_order_is_right([variables[name] for name in made.results])
    assert 5 < refused < len(functions) // 4


# ---- the oracle ----------------------------------------------------------------------------------


def test_orders_that_are_right():
    x, y = pt.dvectors("x", "y")
    r2 = add_inplace(x, y)
    assert some_order_is_right([pt.log(x), r2, pt.log(x), pt.log(r2)])
    assert some_order_is_right([neg_inplace(neg_inplace(x)), x[::-1].sum()])
    assert some_order_is_right([neg_inplace(larger(x, y)), x.sum(), y.sum()])
    assert some_order_is_right([x])


def test_orders_that_are_not():
    x, y = pt.dvectors("x", "y")
    r2 = add_inplace(x, y)
    assert not some_order_is_right([r2, neg_inplace(x)])  # two overwrite one value
    assert not some_order_is_right([x * r2])  # it reads the value before and after
    assert not some_order_is_right([neg_inplace(x[1:]), neg_inplace(x[:1])])
    assert not some_order_is_right([neg_inplace(larger(x, y)), neg_inplace(y)])
    assert not some_order_is_right([merged(x, x[::-1])])
    # Each must come before the other.
    first, second = neg_inplace(x), neg_inplace(y)
    assert some_order_is_right([first + y, second])
    assert not some_order_is_right([add_inplace(x, second), add_inplace(y, first)])
    assert not some_order_is_right([pt.add(first, y), pt.add(second, x)])


# ---- what is found -------------------------------------------------------------------------------


class Careless:
    """A backend that changes its first argument at the end."""

    name = "careless"

    def link(self, fgraph, *, profiler=None):
        program = ReferenceBackend().link(fgraph)

        class Program:
            def __call__(self, inputs):
                results = program(inputs)
                inputs[0][...] = 0
                return results

            def free(self):
                pass

        return Program()


def scenario(calls=(0, 0)):
    """Two lines, and a function that updates a shared variable."""
    value = np.array([1.0, 2.0])
    steps = (Step(("a",), "pt.abs(x)", ("x",)), Step(("b",), "-a + s", ("a", "s")))
    made = Made({"x": "borrow"}, (("b", True), ("a", False)), {"s": "a"})
    given = Given("x", (None,), (value,) * len(calls))
    return Scenario(0, (given,), (Shared("s", value, (None,)),), steps, (made,), calls)


def test_disagreements_are_found_and_made_smaller():
    careless = Variant("careless", Careless(), "none")
    found = play(scenario(), [careless])
    assert (found.variant, found.kind) == (careless, "arguments")
    assert "call 0 of f0: it changed its argument x" in str(found)
    small = shrunk(found, ALIASING)
    (made,) = small.case.functions
    assert (len(small.case.calls), len(small.case.steps), len(made.results)) == (1, 0, 1)
    assert list(made.inputs.values()) == [""]


def test_acceptance_is_held_against_the_oracle(monkeypatch):
    monkeypatch.setattr(playing, "some_order_is_right", lambda outputs: False)
    assert play(scenario(), [BASE]).kind == "accepted"
    monkeypatch.setattr(playing, "some_order_is_right", lambda outputs: True)
    steps = (Step(("a",), "inplace.neg_inplace(x) + x", ("x",)),)
    made = Made({"x": ""}, (("a", False),), {})
    given = Given("x", (None,), (np.array([1.0]),))
    found = play(Scenario(0, (given,), (), steps, (made,), (0,)), [BASE])
    assert found.kind == "refused"
    assert "f0 could be computed, but" in found.text


def test_what_calls_must_come_to():
    first, second = scenario().expected()
    np.testing.assert_array_equal(first.results[0], [0.0, 0.0])
    np.testing.assert_array_equal(second.states["s"], [1.0, 2.0])


def test_programs_of_scenarios_run():
    for seed in range(10):
        drawn = draw(seed, ALIASING)
        with (
            contextlib.redirect_stdout(io.StringIO()) as said,
            contextlib.suppress(ValueError, IndexError),
        ):
            exec(drawn.program(BASE.text), {})
            assert said.getvalue().count("\n") >= len(drawn.calls)


def test_the_command_in_several_processes(capfd):
    assert main(["--kind", "aliasing", "--count", "6", "--seed", "5", "--jobs", "2"]) == 0
    assert "6 graphs, 0 disagreements; seeds 5 to 10" in capfd.readouterr().out


# ---- changes -------------------------------------------------------------------------------------


def test_an_order_is_right_or_not():
    x, y = pt.dvectors("x", "y")
    reader, destroyer = pt.log(x).owner, add_inplace(x, y).owner
    assert order_is_right([reader, destroyer], [y, *destroyer.outputs])
    assert not order_is_right([destroyer, reader])
    assert not order_is_right([reader, destroyer], [x])
    assert not some_order_is_right(destroyer.outputs, [x])


@pytest.mark.parametrize("method", ["on_import", "on_change_input", "validate"])
def test_wrong_verdicts_are_found(monkeypatch, method):
    monkeypatch.setattr(DestroyHandler, method, lambda *_: None)

    def is_seen(seed):
        try:
            return bool(wrongly_judged(draw(seed, ALIASING)))
        except KeyError:  # a node that was never imported has no rank
            return method == "on_import"

    assert any(map(is_seen, range(60)))


def test_verdicts_of_all_kinds_are_drawn(monkeypatch):
    accepted, refused = [], []
    whole = changing._Changing._is_accepted

    def noting(self):
        found = whole(self)
        (accepted if found else refused).append(self)
        return found

    monkeypatch.setattr(changing._Changing, "_is_accepted", noting)
    for seed in range(60):
        assert wrongly_judged(draw(seed, ALIASING)) == ""
    assert len(accepted) > 300
    assert len(refused) > 30
