"""Pipelines and traces: what runs, in which order, and what is told about it."""

import re

import pytest

from phintys._base.config import config
from phintys._base.errors import ConfigError, IntegrityError
from phintys.graph import Apply, FunctionGraph, Op, Type
from phintys.rewriting import (
    Pass,
    Pipeline,
    RewriteTrace,
    WalkInOrder,
    Worklist,
    graph_rewriter,
    node_rewriter,
)

anything = Type()


class Named(Op):
    __props__ = ("name",)

    def __init__(self, name):
        self.name = name

    def make_node(self, *inputs):
        return Apply(self, inputs, [anything()])

    def __str__(self):
        return self.name


a, b, c, d = map(Named, "abcd")


def turns(old, new, **options):
    @node_rewriter([old], name=f"{old}_to_{new}", **options)
    def rule(fgraph, node):
        return [new(*node.inputs)]

    return rule


a_to_b, b_to_c, c_to_d = turns(a, b), turns(b, c, tags=["slow"]), turns(c, d)

PIPELINE = Pipeline(
    [
        Pass("first", Worklist([a_to_b])),
        Pass("second", Worklist([b_to_c]), tags=frozenset({"middle"})),
        Pass("third", WalkInOrder([c_to_d]), on=False),
    ],
    also_known=["inplace"],
)


def run(pipeline, op=a, **options):
    x = anything("x")
    fgraph = FunctionGraph([x], [op(x)])
    pipeline.apply(fgraph, **options)
    return str(fgraph.outputs[0].owner.op)


def test_passes_run_in_order_those_that_are_on():
    assert run(PIPELINE) == "c"
    assert run(PIPELINE.including("third")) == "d"
    assert run(Pipeline(reversed(PIPELINE.passes))) == "b"
    assert run(Pipeline()) == "a"


@pytest.mark.parametrize(
    ("names", "result"),
    [
        (["first"], "a"),
        (["second"], "b"),
        (["middle"], "b"),
        (["b_to_c"], "b"),
        (["slow"], "b"),
        (["inplace"], "c"),
        (["first", "second"], "a"),
        ([], "c"),
    ],
)
def test_excluding_by_name_tag_and_rule(names, result):
    assert run(PIPELINE.excluding(*names)) == result
    assert run(PIPELINE) == "c"


def test_excluding_a_rule_keeps_the_pass():
    assert PIPELINE.excluding("b_to_c").names == ("first", "second")
    assert PIPELINE.excluding("second").names == ("first",)


def test_requiring_and_stop_after():
    assert PIPELINE.requiring("second").names == ("second",)
    assert PIPELINE.requiring("middle", "first").names == ("first", "second")
    assert PIPELINE.stop_after("first").names == ("first",)


def test_inserting_and_replacing():
    new = Pass("new", Worklist([c_to_d]))
    assert PIPELINE.inserting(new).names == ("first", "second", "new")
    assert PIPELINE.inserting(new, before="first").names == ("new", "first", "second")
    assert PIPELINE.inserting(new, after="first").names == ("first", "new", "second")
    assert PIPELINE.replacing("second", new).names == ("first", "new")
    assert PIPELINE.names == ("first", "second")
    with pytest.raises(ConfigError, match="not both"):
        PIPELINE.inserting(new, before="first", after="second")
    with pytest.raises(ConfigError, match="names must differ"):
        PIPELINE.inserting(Pass("first", Worklist([])))


@pytest.mark.parametrize(
    "method", ["excluding", "including", "requiring", "stop_after", "position"]
)
def test_unknown_names_are_refused_with_a_hint(method):
    with pytest.raises(ConfigError, match="Did you mean 'second'"):
        getattr(PIPELINE, method)("secnd")
    with pytest.raises(ConfigError, match="The passes are first, second"):
        getattr(PIPELINE, method)("!!!")
    with pytest.raises(ConfigError, match=re.escape("(none)")):
        getattr(Pipeline(), method)("x")


def test_text():
    assert str(PIPELINE) == "1. first\n2. second  [middle]\n3. third  (off)"
    assert str(Pipeline()) == "(no passes)"
    assert repr(PIPELINE) == "<Pipeline unnamed: first, second>"
    assert repr(Pipeline(name="empty")) == "<Pipeline empty: no passes>"


def test_equality():
    assert Pipeline(PIPELINE.passes) == PIPELINE
    assert hash(Pipeline(PIPELINE.passes)) == hash(PIPELINE)
    assert PIPELINE.stop_after("first") != PIPELINE
    assert len(PIPELINE) == 3
    assert [one.name for one in PIPELINE] == ["first", "second", "third"]


# ---- trace ---------------------------------------------------------------------------------------


def test_trace_tells_what_happened_in_order():
    trace = RewriteTrace()
    assert run(PIPELINE, trace=trace) == "c"
    assert [(event.number, event.pass_name, event.rule) for event in trace] == [
        (0, "first", "a_to_b"),
        (1, "second", "b_to_c"),
    ]
    assert [name for name, _ in trace.passes] == ["first", "second"]
    assert trace.counts() == {"a_to_b": 1, "b_to_c": 1}
    assert set(trace.seconds()) == {"a_to_b", "b_to_c"}
    assert all(event.seconds > 0 for event in trace)
    assert "0: first/a_to_b: a(x) -> b(x)" in str(trace)
    assert "test_pipeline.py" in str(trace)
    assert "1 x a_to_b" in trace.summary()
    assert trace.summary().splitlines()[0].endswith("first")
    assert str(RewriteTrace()) == "(nothing was rewritten)"


def test_optimizer_verbose_prints_each_rewrite_once(capsys):
    with config.change_flags(optimizer_verbose=True):
        run(PIPELINE)
    printed = capsys.readouterr().out
    assert printed.count("a_to_b") == 1
    assert printed.count("b_to_c") == 1


def test_after_pass_is_called_after_each():
    seen = []
    run(PIPELINE, after_pass=lambda one, fgraph: seen.append((one.name, str(fgraph.outputs[0]))))
    assert seen == [("first", "b.0"), ("second", "c.0")]


# ---- steps of one's own --------------------------------------------------------------------------


@pytest.mark.docstrings
def test_graph_rewriters():
    @graph_rewriter
    def plain(fgraph):
        """Replace the output by the input."""
        fgraph.replace(fgraph.outputs[0], fgraph.inputs[0])

    @graph_rewriter(name="renamed", tags=["own"])
    def with_trace(fgraph, trace):
        if trace is not None:
            trace.record("renamed", None, ())

    x = anything("x")
    fgraph = FunctionGraph([x], [a(x)])
    plain(fgraph)
    assert fgraph.outputs == fgraph.inputs
    assert plain.name == "plain"
    assert plain.__doc__.startswith("Replace")
    assert with_trace.names() == {"renamed", "own"}
    trace = RewriteTrace()
    Pipeline([Pass("p", with_trace)]).apply(fgraph, trace)
    assert str(trace) == "0: p/renamed: "
    assert Pipeline([Pass("p", with_trace)]).excluding("own").names == ()


def test_an_error_names_the_pass():
    @graph_rewriter
    def broken(fgraph):
        raise ValueError("oops")

    with pytest.raises(ValueError, match="oops") as caught:
        run(Pipeline([Pass("the pass", broken)]), trace=RewriteTrace())
    assert "In the pass 'the pass'." in caught.value.__notes__


@pytest.mark.parametrize("how", ["argument", "config"])
def test_the_graph_is_verified_between_passes_on_demand(how):
    @graph_rewriter
    def sabotage(fgraph):
        next(iter(fgraph.apply_nodes)).inputs[0] = anything("y")

    pipeline = Pipeline([Pass("sabotage", sabotage)])
    assert run(pipeline) == "a"
    by_config = config.change_flags(verify_graphs=how == "config")
    with by_config, pytest.raises(IntegrityError) as caught:
        run(pipeline, verify=True if how == "argument" else None)
    assert "Found after the pass 'sabotage'." in caught.value.__notes__
