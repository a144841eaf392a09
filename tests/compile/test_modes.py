"""Modes: names, changes, debug mode and the NaN guard."""

import copy
import pickle

import numpy as np
import pytest

import phintys.tensor as pt
from phintys._base.config import config
from phintys._base.errors import ConfigError, IntegrityError, NanGuardError, OpContractError
from phintys.backends.reference import ReferenceBackend
from phintys.compile import (
    DebugMode,
    In,
    Mode,
    NanGuardMode,
    function,
    get_mode,
    mode_names,
    register_mode,
)
from phintys.graph import Apply, Constant, Op
from phintys.rewriting import Pass, Pipeline, Worklist, graph_rewriter, node_rewriter
from phintys.tensor.inplace import mul_inplace


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("reference", "FAST_COMPILE"),
        ("native", "FAST_RUN"),
        ("debug", "DebugMode"),
        ("debug", "DEBUG_MODE"),
        ("NanGuardMode", "NanGuardMode"),
    ],
)
def test_names_and_aliases(name, same):
    assert get_mode(name) is get_mode(same)
    assert get_mode(name).name == name
    assert {name, same} <= set(mode_names())
    assert get_mode(get_mode(name)) is get_mode(name)


def test_config_mode_is_the_default(ops):
    assert get_mode() is get_mode(config.mode)
    with config.change_flags(mode="FAST_COMPILE"):
        assert get_mode(None) is get_mode("reference")
        x = ops.double("x")
        assert function([x], x).maker.mode is get_mode("reference")
    with config.change_flags(mode="nonsense"), pytest.raises(ConfigError, match="nonsense"):
        get_mode()


def test_wrong_modes():
    with pytest.raises(ConfigError, match="Did you mean 'FAST_RUN'"):
        get_mode("fastrun")
    with pytest.raises(ConfigError, match=r"no backend 'refrence'.*Did you mean 'reference'"):
        Mode("refrence")
    with pytest.raises(ConfigError, match="expected a Pipeline, got 'full'"):
        Mode("reference", "full")
    with pytest.raises(ConfigError, match=r"unknown .'speed'."):
        Mode("reference").clone(speed=1)


def test_registering(monkeypatch):
    monkeypatch.setattr("phintys.compile.mode._MODES", {})
    monkeypatch.setattr("phintys.compile.mode._ALIASES", {})
    register_mode("mine", Mode("reference"), "alias")
    assert get_mode("alias").name == "mine"
    for taken in ("mine", "alias"):
        with pytest.raises(ConfigError, match="already"):
            register_mode(taken, Mode("reference"))
    with pytest.raises(ConfigError, match="expected a Mode"):
        register_mode("other", "reference")


@graph_rewriter
def nothing(fgraph):
    """Change nothing."""


def test_modes_change_into_new_ones():
    passes = [
        Pass("one", nothing),
        Pass("two", nothing, frozenset({"fast"})),
        Pass("off", nothing, on=False),
    ]
    mode = Mode("reference", Pipeline(passes), name="m")
    for changed, names in [
        (mode.excluding("one"), ("two",)),
        (mode.including("off"), ("one", "two", "off")),
        (mode.requiring("fast"), ("two",)),
        (mode.stop_after("one"), ("one",)),
        (mode.inserting(Pass("new", nothing), before="one"), ("new", "one", "two")),
        (mode.clone(pipeline=Pipeline()), ()),
    ]:
        assert changed.pipeline.names == names
        assert mode.pipeline.names == ("one", "two")
    assert mode.excluding("one").name is None
    assert mode.clone(name="other").name == "other"
    assert repr(mode) == "Mode(m: 'reference', pipeline: one, two)"
    backend = ReferenceBackend(allow_gc=False)
    assert mode.clone(backend=backend).backend is backend


def test_named_modes_are_pickled_by_name_others_by_what_they_are():
    native = get_mode("native")
    assert pickle.loads(pickle.dumps(native)) is native
    assert copy.deepcopy(native) is native
    other = pickle.loads(pickle.dumps(native.clone(name="native", verify=True)))
    assert other.verify
    assert other.pipeline.names == native.pipeline.names
    place = native.pipeline.position("canonicalize")
    rules, others = (list(mode.pipeline.passes[place].step) for mode in (native, other))
    assert all(a is b for a, b in zip(rules, others, strict=True))
    guard = pickle.loads(pickle.dumps(NanGuardMode(inf_is_error=False)))
    assert isinstance(guard, NanGuardMode)
    assert guard.backend.after_node.__self__.inf_is_error is False


def test_the_pipeline_of_a_mode_is_run(ops):
    @node_rewriter([ops.neg])
    def drop(fgraph, node):
        return node.inputs

    x = ops.double("x")
    mode = Mode("reference", Pipeline([Pass("drop", Worklist([drop]))]))
    assert function([x], ops.neg(x), mode=mode)(1.0) == 1.0
    assert function([x], ops.neg(x), mode=mode.excluding("drop"))(1.0) == -1.0


def test_an_error_while_rewriting_names_function_pass_and_mode(ops):
    @graph_rewriter
    def broken(fgraph):
        raise ValueError("oops")

    x = ops.double("x")
    with pytest.raises(ValueError, match="oops") as caught:
        function([x], x, mode=Mode("reference", Pipeline([Pass("p", broken)])), name="f")
    assert caught.value.__notes__ == [
        "In the pass 'p'.",
        "While compiling f with Mode('reference', pipeline: p).",
    ]


def test_rewrites_cannot_let_arguments_be_overwritten(ops):
    @node_rewriter([ops.add])
    def inplace(fgraph, node):
        """add(x, y) -> add_inplace(x, y)"""
        return [ops.add_inplace(*node.inputs)]

    x, y = ops.vector("x"), ops.vector("y")
    mode = Mode("reference", Pipeline([Pass("inplace", Worklist([inplace]))]))
    f = function([x, y], ops.add(ops.add(x, y), y), mode=mode)
    # Only the result of the inner addition may be overwritten.
    assert sorted(str(node.op) for node in f.maker.fgraph.apply_nodes) == ["add", "add_inplace"]
    value = ops.array(1.0)
    for _ in range(2):
        assert f(value, ops.array(2.0)) == [5.0]
    assert value == [1.0]
    shared_result = ops.add(x, y)
    g = function([x, y], [shared_result, ops.add(shared_result, y)], mode=mode)
    results = g(value, ops.array(2.0))
    assert [float(one[0]) for one in results] == [3.0, 5.0]


# ---- debug mode ----------------------------------------------------------------------------------


def test_debug_mode_verifies_graphs(ops):
    @graph_rewriter
    def sabotage(fgraph):
        next(iter(fgraph.apply_nodes)).inputs[0] = ops.double("y")

    x = ops.double("x")
    pipeline = Pipeline([Pass("sabotage", sabotage)])
    with pytest.raises(IntegrityError):
        function([x], ops.neg(ops.neg(x)), mode=DebugMode(pipeline))
    assert get_mode("debug").verify


def test_debug_mode_calls_debug_perform(ops):
    op = ops.Call("op", lambda x: x)
    op.debug_perform = lambda node, inputs, storage: storage[0].__setitem__(0, 42.0)
    x = ops.double("x")
    assert function([x], op(x), mode="debug")(1.0) == 42.0
    assert function([x], op(x), mode="reference")(1.0) == 1.0


def test_debug_mode_gives_empty_cells(ops):
    class Lazybones(Op):
        """Computes once and then relies on what is in the cell."""

        def make_node(self, x):
            return Apply(self, [x], [x.type()])

        def perform(self, node, inputs, output_storage):
            if output_storage[0][0] is None and inputs[0] > 0:
                output_storage[0][0] = inputs[0]

    x = ops.double("x")
    y = ops.neg(Lazybones()(x))
    with config.change_flags(allow_gc=False):
        trusting, suspicious = (function([x], y, mode=name) for name in ("reference", "debug"))
    assert [trusting(1.0), trusting(-5.0)] == [-1.0, -1.0]
    assert suspicious(1.0) == -1.0
    with pytest.raises(OpContractError, match="put nothing"):
        suspicious(-5.0)


def test_debug_mode_with_arrays(ops):
    x = ops.vector("x")
    f = function([x], [ops.add(ops.flip(x), x), ops.neg(x)], mode="DebugMode")
    np.testing.assert_array_equal(f(ops.array(1.0, 2.0)), [[3.0, 3.0], [-1.0, -2.0]])


# ---- NanGuardMode --------------------------------------------------------------------------------


NAN, INF, BIG = np.nan, np.inf, 1e11


@pytest.mark.parametrize("bad", [NAN, INF, -INF, BIG, -BIG])
@pytest.mark.parametrize("nan", [True, False])
@pytest.mark.parametrize("inf", [True, False])
@pytest.mark.parametrize("big", [True, False])
def test_nan_guard_stops_at_what_it_is_told(ops, bad, nan, inf, big):
    x = ops.vector("x")
    y = ops.Call("bad", lambda x: x * 0.0 + [1.0, bad])(x)  # the line
    mode = NanGuardMode(nan_is_error=nan, inf_is_error=inf, big_is_error=big)
    f = function([x], ops.neg(ops.neg(y)), mode=mode)
    stops = nan if np.isnan(bad) else (inf if np.isinf(bad) else big)
    if not stops:
        np.testing.assert_array_equal(f(ops.array(1.0, 1.0)), [1.0, bad])
        return
    with pytest.raises(NanGuardError) as caught:
        f(ops.array(1.0, 1.0))
    message = str(caught.value)
    expected = (
        "1 NaN among 2" if np.isnan(bad) else ("1 infinite among 2" if np.isinf(bad) else "1e+11")
    )
    assert expected in message
    assert "output 0" in message
    assert "# the line" in message


def test_nan_guard_tells_from_which_inputs_it_arose():
    x, y = pt.dvectors("x", "y")
    shifted = x - 1.0  # where the negative number comes from
    cost = pt.log(shifted) * y  # where NaN arises
    f = function([x, y], cost + 1, mode="NanGuardMode")
    with np.errstate(invalid="ignore"), pytest.raises(NanGuardError) as caught:
        f([0.5, 3.0, 4.0], [1.0, 1.0, 1.0])
    told = str(caught.value)
    assert "1 NaN among 3 elements in output 0" in told
    assert "from -0.5 to 3" in told
    assert "# where the negative number comes from" in told
    assert "# where NaN arises" in told
    assert told.index("from -0.5") > told.index("# where NaN arises")


def test_nan_guard_looks_at_arguments_before_they_are_overwritten():
    x = pt.dvector("x")
    total = pt.dscalar("total")
    zeroed = mul_inplace(x, total)
    f = function([In(x, mutable=True), total], zeroed, "NanGuardMode", accept_inplace=True)
    with pytest.raises(NanGuardError, match=r"1 infinite among 2 elements in input 0 \(x\)"):
        f(np.array([np.inf, 1.0]), 2.0)
    f(np.array([2.0, 1.0]), 2.0)


def test_nan_guard_looks_at_arguments_and_shared_values(ops):
    x = ops.vector("x")
    f = function(
        [x],
        ops.Call("zero", lambda x: x * 0.0 if x[0] == 0 else np.zeros(1))(x),
        mode="NanGuardMode",
    )
    with pytest.raises(NanGuardError, match=r"input 0 \(x\) of zero"):
        f(ops.array(NAN))
    np.testing.assert_array_equal(f(ops.array(1.0)), [0.0])


def test_nan_guard_leaves_out_constants_and_marked_variables(ops):
    c = Constant(ops.vector, ops.array(INF))
    x = ops.vector("x")
    small = ops.Call("small", np.minimum)
    f = function([x], small(x, c), mode="NanGuardMode")
    np.testing.assert_array_equal(f(ops.array(1.0)), [1.0])
    y = ops.add(x, c)
    y.tag.nan_guard_mode_check = False
    z = small(y, x)
    np.testing.assert_array_equal(function([x], z, mode="NanGuardMode")(ops.array(1.0)), [1.0])


def test_nan_guard_of_values_that_are_no_arrays(ops):
    x = ops.double("x")
    f = function([x], ops.Call("inf", lambda x: x * float("inf"))(x), mode="NanGuardMode")
    with pytest.raises(FloatingPointError, match="1 infinite among 1"):
        f(1.0)


@pytest.mark.filterwarnings("error")
def test_nan_guard_itself_does_not_warn(ops):
    x = ops.vector("x")
    f = function([x], ops.neg(x), mode=NanGuardMode(inf_is_error=False))
    np.testing.assert_array_equal(f(ops.array(INF, -INF)), [-INF, INF])
    assert f(ops.array()).shape == (0,)
