"""Profiles: the same questions to both backends."""

import json
import subprocess
import sys

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import config, function
from phintys.compile.profile import Profile, print_profiles, profiles
from phintys.graph.apply import Apply
from phintys.graph.op import Op

MODES = ["reference", "native"]


class Slow(Op):
    """An Op with nothing but Python code."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = sum(range(20_000)) * 0 + inputs[0]


def graph():
    x, w = pt.dmatrix("x"), pt.dmatrix("w")
    y = pt.exp(x @ w)
    return [x, w], [y.sum(), pt.log(y + 1.0)]


def values():
    return [np.ones((4, 3)), np.ones((3, 5))]


@pytest.fixture(name="profiled", params=MODES)
def profiled_fixture(request):
    f = function(*graph(), profile=True, mode=request.param, name="f")
    for _ in range(3):
        f(*values())
    return f.profile


def test_calls_are_counted(profiled):
    assert (profiled.name, profiled.calls) == ("f", 3)
    assert 0 < profiled.step_seconds <= profiled.call_seconds
    assert all(step.calls == 3 for step in profiled.steps)
    assert all(step.seconds > 0 for step in profiled.steps)


def test_time_belongs_to_nodes(profiled):
    for step in profiled.steps:
        assert sum(step.nodes.values()) == pytest.approx(1.0)
    assert sum(profiled.node_seconds.values()) == pytest.approx(profiled.step_seconds)
    seconds = [cost.seconds for cost in profiled.by_node()]
    assert seconds == sorted(seconds, reverse=True)
    assert {cost.calls for cost in profiled.by_node()} == {3}
    by_op = profiled.by_op()
    assert {"Dot", "Sum"} <= by_op.keys()
    assert sum(cost.seconds for cost in by_op.values()) == pytest.approx(profiled.step_seconds)


def test_operations_and_bytes(profiled):
    costs = {str(cost.node.op): cost for cost in profiled.by_node()}
    assert costs["Dot"].flops == 2 * 4 * 3 * 5
    assert costs["Dot"].size == 4 * 5 * 8
    exp = [cost for name, cost in costs.items() if name.startswith("Exp")]  # perhaps in place
    assert [cost.size for cost in exp] == [4 * 5 * 8]
    assert costs["Sum"].size == 8
    assert profiled.by_op()["Dot"].flops == 3 * costs["Dot"].flops


def test_memory_of_a_call(profiled):
    (use,) = profiled.memory
    assert use.all_values >= 3 * 4 * 5 * 8 + 8
    assert 4 * 5 * 8 + 8 <= use.peak <= use.all_values
    assert sum(use.saved.values()) == use.all_values - use.peak
    assert profiled.peak_memory == use.peak


def test_compiling_is_measured(profiled):
    assert profiled.compile_seconds > 0
    assert 0 < sum(profiled.stages.values()) <= profiled.compile_seconds


def test_the_report_names_what_there_is(profiled):
    text = str(profiled)
    assert "Function f: 3 calls" in text
    assert "Dot(x, w)" in text
    assert "test_profile.py" in text
    assert "in use at most" in text
    assert "more" in profiled.summary(most=1)


def test_data(profiled):
    data = json.loads(json.dumps(profiled.as_dict()))
    assert data["calls"] == 3
    assert {node["op"] for node in data["nodes"]} >= {"Dot", "Sum"}
    assert all("test_profile.py" in node["origin"] for node in data["nodes"])


def test_trace_file(profiled, tmp_path):
    profiled.write_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    calls = [event for event in events if event["cat"] == "program"]
    assert len(calls) == 3
    inside = [event for event in events if event["cat"] != "program"]
    assert len(inside) == 3 * len(profiled.steps)
    for event in inside:  # the clocks are the same
        assert any(
            call["ts"] <= event["ts"] and event["ts"] + event["dur"] <= call["ts"] + call["dur"] + 1
            for call in calls
        )


def test_a_kernel_is_shared_by_its_nodes():
    x = pt.dvector("x")
    f = function([x], pt.exp(x) * 2.0 + pt.sin(x), profile=True, mode="native")
    f(np.ones(1000))
    (step,) = f.profile.steps
    assert step.kind == "kernel"
    assert len(step.nodes) == 4
    shares = {str(node.op): share for node, share in step.nodes.items()}
    assert shares["Exp"] > shares["Add"]
    (use,) = f.profile.memory
    assert use.saved["fusion"] == 3 * 8000
    assert use.peak == 8000
    assert "~" in str(f.profile)


def test_callbacks_are_counted():
    x = pt.dvector("x")
    f = function([x], Slow()(pt.exp(x)) + 1.0, profile=True, mode="native")
    for _ in range(4):
        f(np.ones(3))
    assert f.profile.callbacks == 4
    assert f.profile.by_node()[0].node.op == Slow()
    assert "Callbacks to Python: 4" in str(f.profile)


def test_overwritten_values_take_no_memory():
    x = pt.dvector("x")
    doubled = pt.inplace.mul_inplace(x + 1.0, pt.constant(2.0))
    f = function([x], doubled, mode="reference", profile=True, accept_inplace=True)
    f(np.ones(10))
    (use,) = f.profile.memory
    assert use.saved["in place"] == 80
    assert use.peak == 80


def test_rules_are_counted():
    x = pt.dvector("x")
    f = function([x], pt.log(1.0 + x), profile=True, mode="native")
    f(np.ones(3))
    assert f.profile.rules
    assert all(count > 0 for count, _ in f.profile.rules.values())
    assert "Rewriting" in str(f.profile)


def test_values_of_unknown_size_are_named():
    class Box(phintys.graph.Type):
        def filter(self, data, strict=False, allow_downcast=None):
            return data

    class Open(Op):
        __props__ = ()

        def make_node(self, box):
            return Apply(self, [box], [pt.dscalar()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = np.asarray(float(inputs[0]))

    class Fill(Op):
        __props__ = ()

        def make_node(self, x):
            return Apply(self, [x], [Box()()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = float(inputs[0])

    x = pt.dscalar("x")
    f = function([x], Open()(Fill()(x)), mode="reference", profile=True)
    assert f(2.0) == 2.0
    assert len(f.profile.memory[0].unknown) == 1
    assert "not measured" in str(f.profile)


def test_a_profile_without_calls():
    x = pt.dvector("x")
    for mode in MODES:
        f = function([x], pt.exp(x), profile=True, mode=mode)
        assert f.profile.calls == 0
        assert f.profile.peak_memory == 0
        assert "0 calls" in str(f.profile)


def test_profiles_may_be_shared_and_named():
    x = pt.dvector("x")
    profile = Profile("all")
    g, h = function([x], pt.exp(x), profile=profile), function([x], pt.exp(x), profile=profile)
    g(np.ones(2))
    h(np.ones(2))
    assert profile.calls == 2
    assert len(profile.steps) == 2
    assert function([x], x, profile="mine").profile.name == "mine"
    assert function([x], x, profile=False).profile is None
    with pytest.raises(TypeError, match="profile is True"):
        function([x], x, profile=3)


def test_config_asks_for_profiles_of_all_functions(capsys):
    x = pt.dvector("x")
    with config.change_flags(profile=True):
        f = function([x], pt.exp(x), name="first")
        assert function([x], x, profile=False).profile is None
    f(np.ones(2))
    assert f.profile in profiles()
    print_profiles()
    text = capsys.readouterr().err
    assert "first" in text.splitlines()[1]
    assert "Function first: 1 calls" in text


def test_profiles_are_printed_at_the_end():
    program = (
        "import phintys, phintys.tensor as pt\n"
        "x = pt.dvector('x')\n"
        "phintys.function([x], pt.exp(x), name='mine')([1.0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PHINTYS_FLAGS": "profile=True", "PATH": "", "HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "Function mine: 1 calls" in done.stderr
