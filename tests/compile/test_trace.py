"""What was rewritten, as functions and modes tell it."""

import pickle

import pytest

import phintys
import phintys.tensor as pt
from phintys import get_mode
from phintys._base.errors import ConfigError
from phintys.rewriting import node_rewriter, pattern

x, y = pt.dscalars("x", "y")


@pattern(lambda x: (pt.sin, (pt.arcsin, x)))
def sine_of_arcsine(x):
    """sin(arcsin(x)) -> x"""
    return x


def test_a_function_tells_which_rule_changed_which_node_in_which_order():
    expression = pt.log(1 + pt.exp(x) * 1)
    f = phintys.function([x], expression, mode=get_mode("native").tracing())
    trace = f.trace()
    assert [event.rule for event in trace if not event.refused] == [
        "merge",  # the two constants 1
        "drop_identity",
        "log_of_one_plus",
        "log1p_of_exp",
    ]
    assert [event.number for event in trace] == list(range(len(trace)))
    assert trace.events[2].pass_name == "stabilize"
    assert all(event.seconds >= 0 for event in trace)
    assert [name for name, _ in trace.passes] == list(f.maker.mode.pipeline.names)
    text = str(trace)
    assert "stabilize/log_of_one_plus: Log(" in text
    assert "test_trace.py" in text
    assert "log1p_of_exp" in trace.summary()


def test_without_the_flag_there_is_no_trace():
    f = phintys.function([x], pt.log(1 + x), name="logarithm")
    with pytest.raises(ConfigError, match=r"logarithm.*tracing\(\)"):
        f.trace()


def test_the_flag_stays_when_passes_come_and_go():
    mode = get_mode("native").tracing().excluding("log_of_one_plus")
    assert mode.traced
    assert not get_mode("native").traced
    f = phintys.function([x], pt.log(1 + x), mode=mode)
    assert not f.trace().applied("log_of_one_plus")


def test_a_trace_is_not_pickled():
    f = phintys.function([x], pt.log(1 + x), mode=get_mode("reference").tracing())
    copy = pickle.loads(pickle.dumps(f))
    assert copy(1.0) == f(1.0)
    with pytest.raises(ConfigError):
        copy.trace()


def test_a_rule_of_ones_own_is_added_in_one_line():
    mode = get_mode("native").adding(sine_of_arcsine).tracing()
    f = phintys.function([x], pt.sin(pt.arcsin(x)), mode=mode)
    assert f(5.0) == 5.0
    assert f.trace().counts() == {"sine_of_arcsine": 1}
    assert get_mode("native").pipeline != mode.pipeline


def test_a_rule_is_added_to_any_pass_that_has_rules():
    @node_rewriter([pt.tan])
    def tan_to_sin(fgraph, node):
        """tan(x) -> sin(x)"""
        return [pt.sin(*node.inputs)]

    mode = get_mode("native").adding(tan_to_sin, to="specialize").tracing()
    f = phintys.function([x], pt.tan(x), mode=mode)
    assert f.trace().events[0].pass_name == "specialize"
    with pytest.raises(ConfigError, match="merge"):
        get_mode("native").adding(tan_to_sin, to="merge")
    with pytest.raises(ConfigError, match="specialize"):
        get_mode("native").adding(tan_to_sin, to="specialise")


def test_a_rule_that_was_added_can_be_excluded():
    mode = get_mode("native").adding(sine_of_arcsine).excluding("sine_of_arcsine").tracing()
    assert not phintys.function([x], pt.sin(pt.arcsin(x)), mode=mode).trace().counts()
