"""The pass that rewrites inner graphs, by the pipeline that it is part of."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import InconsistencyError, OpContractError
from phintys.control import RowLoop
from phintys.gradient import jacobian
from phintys.graph import Apply, Constant, FunctionGraph, HasInnerGraph, Op
from phintys.passes import PIPELINES
from phintys.passes.inner_graphs import inner_graphs
from phintys.rewriting import Pass, Pipeline, RewriteTrace, node_rewriter


class Repeat(HasInnerGraph, Op):
    """Apply a graph n times."""

    __props__ = ("n",)

    def __init__(self, fgraph, n):
        self.fgraph = fgraph
        self.n = n

    def with_inner(self, fgraph):
        return type(self)(fgraph, self.n)

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform_with(self, program, node, inputs, output_storage):
        (value,) = inputs
        for _ in range(self.n):
            (value,) = program([value])
        output_storage[0][0] = value


def repeat(n, build, cls=Repeat):
    u = pt.dvector("u")
    return cls(FunctionGraph([u], [build(u)]), n)


def log_of_more(u):
    return pt.log(1 + u)


def ops_of(fgraph):
    return [repr(node.op) for node in fgraph.toposort()]


def rewritten(outputs, pipeline, trace=None):
    inputs = [v for v in phintys.graph.graph_inputs(outputs) if not isinstance(v, Constant)]
    fgraph = FunctionGraph(inputs, outputs)
    pipeline.apply(fgraph, trace, verify=True)
    return fgraph


def inner_ops(fgraph):
    (node,) = [node for node in fgraph.apply_nodes if isinstance(node.op, HasInnerGraph)]
    return ops_of(node.op.fgraph)


x = pt.dvector("x")


def test_the_full_pipeline_reaches_inside():
    op = repeat(2, log_of_more)
    assert inner_ops(rewritten([op(x)], PIPELINES["full"])) == ["Log1p"]
    assert ops_of(op.fgraph) == ["Add", "Log"], "the Op itself is not changed"


@pytest.mark.parametrize(
    ("pipeline", "expected"),
    [
        (PIPELINES["none"], ["Add", "Log"]),
        (PIPELINES["light"], ["Add", "Log"]),
        (PIPELINES["light"].including("inplace_everywhere"), ["Add", "Log{inplace 0->0}"]),
        (PIPELINES["full"].excluding("inner_graphs"), ["Add", "Log"]),
        (PIPELINES["full"].stop_after("blas"), ["Add", "Log"]),
    ],
)
def test_no_pass_runs_inside_that_does_not_run_outside(pipeline, expected):
    assert inner_ops(rewritten([repeat(2, log_of_more)(x)], pipeline)) == expected


def test_a_users_rule_runs_inside():
    @node_rewriter([pt.elemwise.elemwise(phintys.scalar.sin)])
    def sin_to_cos(fgraph, node):
        """sin(x) -> cos(x)"""
        return [pt.cos(node.inputs[0])]

    mode = phintys.get_mode("reference").adding(sin_to_cos).tracing()
    f = phintys.function([x], repeat(1, pt.sin)(x), mode=mode)
    np.testing.assert_array_equal(f([0.0]), [1.0])
    assert f.trace().counts()["sin_to_cos"] == 1
    assert f.trace().counts()["inner_graphs"] == 1


def test_graphs_inside_of_inner_graphs():
    outer = repeat(2, repeat(3, log_of_more))
    fgraph = rewritten([outer(x)], PIPELINES["full"])
    (node,) = fgraph.apply_nodes
    assert inner_ops(node.op.fgraph) == ["Log1p"]


def test_equal_ops_are_rewritten_once():
    seen = []

    @phintys.rewriting.graph_rewriter
    def note(fgraph):
        seen.append(len(fgraph.inputs))

    y = pt.dvector("y")
    pipeline = Pipeline([Pass("inner_graphs", inner_graphs), Pass("note", note)])
    rewritten([repeat(2, log_of_more)(x), repeat(2, log_of_more)(y)], pipeline)
    assert sorted(seen) == [1, 2]  # one inner graph, of one input; and the outer one


def test_an_unchanged_graph_keeps_its_op():
    op = repeat(2, pt.exp)
    fgraph = rewritten([op(x)], PIPELINES["full"])
    (node,) = fgraph.apply_nodes
    assert node.op is op


def test_what_is_not_run_is_not_rewritten():
    trace = RewriteTrace()
    rewritten([jacobian(log_of_more(x), x, vectorize=False).shape[0]], PIPELINES["full"], trace)
    assert "inner_graphs" not in trace.counts()


def test_time_is_counted_once():
    trace = RewriteTrace()
    rewritten([repeat(2, log_of_more)(x)], PIPELINES["full"], trace)
    names = [name for name, _ in trace.passes]
    assert names == list(PIPELINES["full"].names)
    assert {event.pass_name for event in trace.applied("log_of_one_plus")} == {"stabilize"}


def test_the_line_of_the_user_and_names_are_kept():
    y = repeat(2, log_of_more)(x)
    y.name = "y"
    fgraph = rewritten([y], PIPELINES["full"])
    assert fgraph.outputs[0].name == "y"
    assert fgraph.outputs[0].owner.origin is y.owner.origin


def test_an_op_may_refuse():
    class Fixed(Repeat):
        __props__ = ("n",)
        rewrites_inner = False

    assert inner_ops(rewritten([repeat(2, log_of_more, Fixed)(x)], PIPELINES["full"])) == [
        "Add",
        "Log",
    ]


def test_with_inner_must_return_such_an_op():
    class Odd(Repeat):
        __props__ = ("n",)

        def with_inner(self, fgraph):
            return Op()

    with pytest.raises(OpContractError, match=r"with_inner must return an Op with an inner graph"):
        rewritten([repeat(2, log_of_more, Odd)(x)], PIPELINES["full"])


class TestMemory:
    def test_inputs_of_an_inner_graph_are_not_overwritten(self):
        everywhere = PIPELINES["light"].including("inplace_everywhere")
        (op,) = inner_ops(rewritten([repeat(2, pt.exp)(x)], everywhere))
        assert op == "Exp"

    def test_except_those_that_the_op_gives_away(self):
        class Owner(Repeat):
            __props__ = ("n",)
            mutable_inner = (0,)

        everywhere = PIPELINES["light"].including("inplace_everywhere")
        (op,) = inner_ops(rewritten([repeat(2, pt.exp, Owner)(x)], everywhere))
        assert op.startswith("Exp{inplace")

    def test_a_graph_that_overwrites_its_inputs_is_refused(self):
        op = repeat(2, pt.inplace.exp_inplace)
        with pytest.raises(InconsistencyError, match="not declared mutable") as caught:
            rewritten([op(x)], PIPELINES["full"])
        assert any("inner graph of Repeat" in note for note in caught.value.__notes__)

    @pytest.mark.parametrize("mode", ["native", "reference", "debug", "NanGuardMode"])
    def test_captured_arguments_keep_their_values(self, mode):
        f = phintys.function([x], jacobian(pt.exp(pt.sin(x)) * x, x, vectorize=False), mode=mode)
        value = np.array([0.5, 1.0])
        f(value)
        assert value.tolist() == [0.5, 1.0]

    @pytest.mark.parametrize("mode", ["native", "reference"])
    @pytest.mark.parametrize(
        ("build", "expected"),
        [
            (lambda u: u, [1.0, 2.0]),
            (lambda u: u[::-1], [2.0, 1.0]),
            (lambda u: pt.constant(np.ones(2)), [1.0, 1.0]),
        ],
    )
    def test_a_result_that_is_an_input_or_a_constant(self, mode, build, expected):
        f = phintys.function([x], repeat(1, build)(x), mode=mode)
        value = np.array([1.0, 2.0])
        f(value)[...] = 7
        assert value.tolist() == [1.0, 2.0]
        assert f(value).tolist() == expected


class TestConstants:
    def test_a_constant_loop_is_folded_in_its_stable_form(self):
        at = pt.constant(np.array([1e-20, 2e-20]))
        u = pt.dvector("u")
        loop = Repeat(FunctionGraph([u], [log_of_more(u)]), 1)(at)
        fgraph = rewritten([loop], PIPELINES["full"])
        assert not fgraph.apply_nodes
        assert fgraph.outputs[0].data.tolist() == [1e-20, 2e-20]

    def test_a_jacobian_at_a_constant(self):
        at = pt.constant(np.array([1.0, 2.0]))
        rows = phintys.clone_replace(jacobian(x**2, x, vectorize=False), {x: at})
        f = phintys.function([], rows)
        assert not [n for n in f.maker.fgraph.apply_nodes if isinstance(n.op, RowLoop)]
        np.testing.assert_allclose(f(), np.diag([2.0, 4.0]))

    def test_many_rows_are_left_to_the_call(self):
        at = pt.constant(np.linspace(0, 1, 2000))
        gradient = phintys.grad(jacobian(x**2, x, vectorize=False).sum(), x)  # of few elements
        gradient = phintys.clone_replace(gradient, {x: at})
        f = phintys.function([], gradient, mode="native")  # DebugMode checks each of the rows
        assert [n for n in f.maker.fgraph.apply_nodes if isinstance(n.op, RowLoop)]
        np.testing.assert_allclose(f(), 2.0)


def test_nodes_are_merged_although_nothing_else_changes():
    op = repeat(2, lambda u: pt.exp(u) * pt.sin(pt.exp(u)))
    assert sorted(inner_ops(rewritten([op(x)], PIPELINES["full"]))) == ["Exp", "Mul", "Sin"]
