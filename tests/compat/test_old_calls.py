"""Calls that the old packages took and that Phintys writes in another way."""

from __future__ import annotations

import importlib
import unittest

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.compat import install, uninstall
from phintys.compat.configuration import OLD_OPTIONS


def test_a_text_of_letters_names_several_variables(theano):
    T = theano.tensor
    x, y, z = T.scalars("xyz")
    assert [v.name for v in (x, y, z)] == ["x", "y", "z"]
    assert T.scalars("x").name == "x"
    assert T.dvectors(["a"]).type == T.dvector
    a, b = T.fmatrices("a", "b")
    assert (a.name, b.name, b.type) == ("a", "b", T.fmatrix)
    assert [v.name for v in T.imatrices(2)] == [None, None]
    assert len(T.lvectors(1)) == 1


def test_stacks_take_their_parts_one_by_one(theano):
    T = theano.tensor
    a, b = T.dmatrices("ab")
    outputs = [
        T.horizontal_stack(a, b),
        T.vertical_stack(a, b),
        T.stack(a, b),
        T.stack([a, b], 1),
        T.stack([a, b], axis=2),
    ]
    x, y = np.arange(4.0).reshape(2, 2), np.ones((2, 2))
    expected = [np.hstack([x, y]), np.vstack([x, y]), *(np.stack([x, y], i) for i in range(3))]
    for result, wanted in zip(theano.function([a, b], outputs)(x, y), expected, strict=True):
        np.testing.assert_array_equal(result, wanted)


def test_oriented_stacks_are_of_matrices(theano):
    T = theano.tensor
    for stack in (T.horizontal_stack, T.vertical_stack):
        for wrong in ((), (T.dvector(), T.dvector())):
            with pytest.raises(ValueError, match="takes one or more matrices"):
                stack(*wrong)


def test_splitting_by_an_op(theano):
    T = theano.tensor
    x = T.dvector("x")
    first, second = T.Split(2)(x, 0, [1, 2])
    assert isinstance(first.owner.op, T.Split)
    assert second.eval({x: [1.0, 2.0, 3.0]}).tolist() == [2.0, 3.0]


def test_jacobians_however_computed(theano):
    x = theano.tensor.dvector("x")
    for vectorize in (False, True):
        found = theano.gradient.jacobian(x**2, x, vectorize=vectorize)
        np.testing.assert_allclose(found.eval({x: [1.0, 2.0]}), np.diag([2.0, 4.0]))


def test_numbers_that_are_constant(theano):
    T = theano.tensor
    assert T.get_scalar_constant_value(np.array([3])) == 3
    for wrong in (np.array([0, 1]), None, T.dscalar()):
        with pytest.raises(T.NotScalarConstantError):
            T.get_scalar_constant_value(wrong)


def test_gradients_take_none_in_capitals(theano):
    T = theano.tensor
    x, y = T.dscalars("xy")
    for spelling in ("None", "none"):
        found = T.grad(x**2, [x, y], disconnected_inputs="ignore", return_disconnected=spelling)
        assert found[1] is None
    with pytest.raises(phintys.PhintysError, match="return_disconnected must be"):
        theano.grad(x, x, return_disconnected="nothing")


def test_a_derivative_along_a_direction_that_does_not_exist_is_a_value_error(theano):
    T = theano.tensor
    x, v = T.dvectors("x", "v")
    undefined = theano.gradient.undefined_grad(x)
    for Rop in (theano.Rop, T.Rop, theano.gradient.Rop):
        with pytest.raises(ValueError, match="does not exist"):
            Rop(undefined, x, v)
        assert Rop(x**2, x, v).eval({x: [3.0], v: [1.0]}).tolist() == [6.0]


def test_a_cost_that_is_no_scalar_is_a_type_error(theano):
    x = theano.tensor.dvector("x")
    with pytest.raises(TypeError, match="cost must be a scalar"):
        theano.grad(x, x)
    with pytest.raises(phintys.PhintysError):
        theano.gradient.grad(x * 2, x)


@pytest.mark.parametrize(
    "make",
    [
        lambda m: m.sum(2),
        lambda m: pt.concatenate([m, m], axis=-3),
        lambda m: m.dimshuffle(0, 5),
        lambda m: pt.sort(m, 4),
    ],
)
def test_an_axis_that_is_not_there_is_an_index_error_as_in_numpy(make):
    with pytest.raises(IndexError, match="out of range for an array of rank 2"):
        make(pt.dmatrix())
    with pytest.raises(phintys.PhintysError):
        make(pt.dmatrix())


def test_options_that_only_the_old_packages_had(theano):
    config = theano.config
    try:
        for name in ("device", "optimizer", "linker", "compute_test_value", "cxx"):
            assert getattr(config, name) == OLD_OPTIONS[name]
        config.compute_test_value = "raise"
        config.device = "cuda0"
        assert (config.compute_test_value, config.device) == ("raise", "cuda0")
        config.warn.argmax_pushdown_bug = False
        assert config.warn__argmax_pushdown_bug is False
        config.DebugMode.check_py = False
        assert config.DebugMode__check_py is False
    finally:
        for name in ("device", "compute_test_value", "DebugMode__check_py"):
            setattr(config, name, OLD_OPTIONS[name])
    assert config.floatX == phintys.config.floatX
    with pytest.raises(AttributeError, match="no option"):
        _ = config.float_x
    with pytest.raises(AttributeError, match="no option"):
        config.dvice = "gpu"


def test_old_options_change_for_a_block_or_a_function(theano):
    config = theano.config
    with config.change_flags(compute_test_value="warn", floatX="float32"):
        assert (config.compute_test_value, phintys.config.floatX) == ("warn", "float32")
        config.device = "cuda"
        with config.change_flags({"warn.round": True}):
            assert config.warn__round
    assert (config.compute_test_value, config.device) == ("off", "cpu")

    @theano.change_flags(on_opt_error="raise")
    def chosen():
        return config.on_opt_error

    assert chosen() == "raise"
    assert config.on_opt_error == "warn"


def test_linker_and_optimizer_choose_the_mode(theano):
    x = theano.tensor.dvector("x")
    with theano.config.change_flags(linker="py", optimizer="None"):
        f = theano.function([x], x + 0)
        assert f.maker.mode.backend.name == "reference"
        assert f.maker.mode.pipeline.names == ()
    assert theano.function([x], x + 0).maker.mode is phintys.get_mode()


def test_modes_including_the_tags_of_optimizers(theano):
    mode = theano.compile.mode.get_default_mode().including("fast_run", "local_useless")
    assert mode.pipeline == phintys.get_mode().pipeline
    none = theano.Mode(optimizer=None)
    assert none.including("fast_run").pipeline == phintys.get_mode("native").pipeline


def test_param_and_pairs_as_inputs(theano):
    T = theano.tensor
    x, y = T.dscalars("xy")
    f = theano.function([x, theano.Param(y, default=2.0)], x * y)
    assert (f(3.0), f(3.0, 5.0)) == (6.0, 15.0)
    f = theano.function([x, (y, 3.0)], x * y)
    assert (f(2.0), f(2.0, y=4.0)) == (6.0, 8.0)
    f = theano.function([x, ("factor", y, 3.0)], x * y)
    assert f(2.0, factor=10.0) == 20.0
    state = T.dscalar("state")
    f = theano.function([x, ((state, state + x), 1.0)], state)
    assert [float(f(2.0)), float(f(2.0))] == [1.0, 3.0]
    with pytest.raises(phintys.PhintysError, match="two with a name in front"):
        theano.function([(x, 1.0, 2.0, 3.0)], x)
    with pytest.raises(phintys.PhintysError, match="a number or array"):
        theano.function([(x, y)], x)


def test_flatten_with_outdim(theano):
    T = theano.tensor
    x = T.dtensor3("x")
    assert [T.flatten(x, outdim=2).ndim, x.flatten(outdim=2).ndim, x.flatten().ndim] == [2, 2, 1]
    assert [x.flatten(2).ndim, T.flatten(x, 2).ndim, x.flatten(ndim=3).ndim] == [2, 2, 3]


def test_clone_shares_inputs_or_not(theano):
    x = theano.tensor.dscalar("x")
    y = x * 2
    assert theano.clone(y).owner.inputs[0] is x
    assert theano.clone(y, share_inputs=False).owner.inputs[0] is not x
    z = theano.tensor.fscalar("z")
    assert theano.clone(-x, replace={x: z}, strict=False).dtype == "float32"
    assert isinstance(x, theano.tensor.Variable)
    assert isinstance(theano.tensor.constant(1), theano.tensor.Constant)
    assert theano._asarray([1], dtype="floatX").dtype == "float64"


def test_keywords_of_set_and_inc(theano):
    T = theano.tensor
    x = T.dvector("x")
    outputs = [
        x[0].set(7.0, inplace=False, tolerate_inplace_aliasing=True),
        x[[0, 0]].inc(1.0, ignore_duplicates=True),
        T.set_subtensor(x[1:], 0.0, inplace=False),
    ]
    first, second, third = theano.function([x], outputs)([1.0, 2.0])
    assert (first.tolist(), second.tolist(), third.tolist()) == ([7, 2], [2, 2], [1, 0])


def test_clients_inside_of_rules(theano):
    T = theano.tensor
    seen = []

    @theano.gof.local_optimizer([T.exp])
    def count(node):
        seen.append(len(node.inputs[0].clients))

    class Counting(theano.gof.LocalOptimizer):
        def tracks(self):
            return [T.exp]

        def transform(self, node):
            seen.append([index for _, index in node.outputs[0].clients])

    x = T.dvector("x")
    y = T.exp(x)
    fgraph = theano.gof.FunctionGraph([x], [y * x, y], clone=False)
    theano.gof.TopoOptimizer(count).optimize(fgraph)
    Counting().optimize(fgraph)
    assert seen == [2, [0, 1]]
    with pytest.raises(AttributeError, match=r"fgraph\.clients"):
        _ = x.clients


def test_accepted_inplace_ops_overwrite_the_callers_array(theano):
    T = theano.tensor
    x, y = T.dvectors("xy")
    f = theano.function([x], T.inplace.exp_inplace(x), accept_inplace=True)
    a = np.zeros(2)
    assert f(a).tolist() == [1.0, 1.0]
    assert a.tolist() == [1.0, 1.0]
    # Through a view; the other argument stays.
    g = theano.function([x, y], T.inplace.add_inplace(x[::-1], y), accept_inplace=True)
    a, b = np.array([1.0, 2.0]), np.array([10.0, 20.0])
    assert g(a, b).tolist() == [12.0, 21.0]
    assert (a.tolist(), b.tolist()) == ([21.0, 12.0], [10.0, 20.0])
    # What overwrites a result changes no argument.
    h = theano.function([x], T.inplace.exp_inplace(x + 1), accept_inplace=True)
    a = np.zeros(2)
    h(a)
    assert a.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "path",
    [
        "tensor.variable.TensorVariable",
        "tensor.sharedvar.TensorSharedVariable",
        "graph.traversal.graph_inputs",
        "graph.replace.clone_replace",
        "graph.replace.graph_replace",
        "graph.replace.vectorize_graph",
        "tensor.functional.vectorize",
        "tensor.blockwise.Blockwise",
        "graph.rewrite_graph",
        "graph.rewriting.utils.rewrite_graph",
        "compile.debug.nanguardmode.NanGuardMode",
        "compile.function.types.Function",
        "misc.safe_asarray._asarray",
    ],
)
def test_newer_paths(aesara, path):
    module, _, name = path.rpartition(".")
    assert getattr(importlib.import_module(f"aesara.{module}"), name) is not None


def test_batches_by_their_old_names(aesara):
    replace = importlib.import_module("aesara.graph.replace")
    blockwise = importlib.import_module("aesara.tensor.blockwise")
    x, xs = pt.dvector("x"), pt.dmatrix("xs")

    class Half(phintys.Op):
        __props__ = ()

        def make_node(self, x):
            return phintys.Apply(self, [x], [x.type()])

    @replace._vectorize_node.register(Half)
    def _(op, node, batched):
        return (batched / 2).owner

    found = replace.vectorize_graph([Half()(x), x.sum()], {x: xs})
    assert [y.eval({xs: [[2.0, 4.0]]}).tolist() for y in found] == [[[1.0, 2.0]], [6.0]]
    dot = blockwise.Blockwise(pt.Dot(), "(n),(n)->()", name="inner")
    assert str(dot) == "inner"
    assert dot(xs, [1.0, 1.0]).eval({xs: [[2.0, 4.0]]}).tolist() == [6.0]


def test_functions_are_named_after_their_line(theano):
    x = theano.tensor.dscalar("x")
    f = theano.function([x], x)
    assert f.name.startswith(f"{__file__}:")
    assert theano.function([x], x, name="f").name == "f"


def test_graphs_are_rebuilt_with_their_shared_variables(aesara):
    rebuild = aesara.compile.rebuild_collect_shared
    x, y = pt.dvectors("x", "y")
    s = aesara.shared(2.0, name="s")
    t = aesara.shared(1.0, name="t")
    t.default_update = t + 1
    z = x * s + t
    inputs, (out,), (copies, updates, pairs, shared) = rebuild([z], [x], updates={s: s * 3})
    assert inputs == [x]
    assert out is not z
    assert out.eval({x: [1.0]}).tolist() == [3.0]
    assert set(shared) == {s, t} == set(updates)
    assert copies[s] is s
    assert [one for one, _ in pairs] == list(updates)
    assert float(updates[s].eval()) == 6.0
    inputs, out, (copies, *_) = rebuild(z, [x], copy_inputs_over=False, no_default_updates=True)
    assert inputs == [copies[x]]
    assert copies[x] is not x
    assert copies[s] is not s
    t.set_value(1.0)
    _, out, (_, updates, _, _) = rebuild(z, replace=[(x, y + 1)], no_default_updates=[t])
    assert out.eval({y: [1.0]}).tolist() == [5.0]
    assert updates == {}
    _, out, _ = rebuild(-x, replace={x: pt.fvector()}, rebuild_strict=False)
    assert out.dtype == "float32"
    assert rebuild(None)[:2] == ([], [])
    with pytest.raises(phintys.PhintysError, match="must have its type"):
        rebuild(-x, replace={x: pt.fvector()})


def test_variables_that_a_graph_does_not_have_are_value_errors():
    install("pytensor")
    try:
        replace = importlib.import_module("pytensor.graph.replace")
        x, y = pt.dvectors("x", "y")
        with pytest.raises(ValueError, match="do not depend on it"):
            replace.graph_replace([pt.exp(x)], {y: x}, strict=True)
        assert replace.graph_replace(pt.exp(x), {x: y}).owner.inputs == [y]
    finally:
        uninstall("pytensor")


def test_nodes_by_their_old_names(aesara):
    basic = importlib.import_module("aesara.graph.basic")
    x, y = pt.dvectors("x", "y")
    z = pt.exp(x) + y
    inner = z.owner.inputs[0].owner
    assert set(basic.list_of_nodes([x, y], [z])) == {z.owner, inner}
    assert basic.apply_depends_on(z.owner, inner)
    assert basic.apply_depends_on(z.owner, [z.owner])
    assert not basic.apply_depends_on(inner, [z.owner])


def test_ops_of_the_tensor_module(theano):
    T = theano.tensor

    class LogLikelihood(T.Op):
        itypes = (T.dvector,)
        otypes = (T.dscalar,)

        def perform(self, node, inputs, outputs):
            outputs[0][0] = np.array(-0.5 * np.sum(inputs[0] ** 2))

        def grad(self, inputs, slopes):
            return [-slopes[0] * inputs[0]]

    x = T.dvector("x")
    f = theano.function([x], T.grad(LogLikelihood()(x) * 2, x))
    assert f([1.0, 2.0]).tolist() == [-2.0, -4.0]
    assert T.Unique()(x).eval({x: [2.0, 1.0, 2.0]}).tolist() == [1.0, 2.0]
    with theano.configparser.change_flags(compute_test_value="raise"):
        assert theano.config.compute_test_value == "raise"


@pytest.mark.parametrize("package", ["theano", "pytensor"])
def test_functions_of_arrays_are_wrapped(package):
    install(package)
    try:
        old = importlib.import_module(package)
        wrap_py = importlib.import_module(f"{package}.compile.ops").wrap_py

        @wrap_py(itypes=[pt.dmatrix, pt.dvector], otypes=[pt.dvector])
        def solved(a, b):
            return np.linalg.solve(a, b)

        x = pt.dvector("x")
        assert solved(2 * np.eye(2), x).eval({x: [2.0, 4.0]}).tolist() == [1.0, 2.0]
        assert old.wrap_py is wrap_py
    finally:
        uninstall(package)


def test_graphs_are_written_as_formulas(theano):
    T = theano.tensor
    x, y = T.dvectors("xy")
    fgraph = theano.gof.FunctionGraph([x, y], [T.exp(x) * y, T.exp(x)], clone=False)
    assert str(fgraph) == "FunctionGraph(Mul(Exp(x), y), Exp(x))"
    uninstall("theano")
    assert str(fgraph).endswith("3 nodes)")


def test_options_in_groups_of_groups(theano):
    config = theano.config
    try:
        config.dnn.conv.algo_fwd = "time_once"
        config.lib.cnmem = 0.8
        assert (config.dnn.conv.algo_fwd, config.lib.cnmem) == ("time_once", 0.8)
        assert config.dnn__conv__algo_fwd == "time_once"
    finally:
        config.dnn__conv__algo_fwd, config.lib__cnmem = "guess_once", 0.0


def test_ops_are_tested_as_in_the_tutorial(theano):
    utt = importlib.import_module("theano.tests.unittest_tools")
    T = theano.tensor

    class Silent(theano.Op):
        __props__ = ()

        def make_node(self, x):
            x = T.as_tensor_variable(x)
            return theano.Apply(self, [x], [x.type()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = inputs[0] * 2

    class Double(Silent):
        def infer_shape(self, node, i0_shapes):
            return i0_shapes

        def grad(self, inputs, output_grads):
            return [output_grads[0] * 2]

    class Wrong(Double):
        def infer_shape(self, node, i0_shapes):
            return [i0_shapes[0][::-1]]

    class TestDouble(utt.InferShapeTester):
        def check(self, op):
            x = T.dmatrix("x")
            self._compile_and_check([x], [op(x)], [np.ones((2, 3))], type(op))

        def test_double(self):
            self.check(Double())

        def test_wrong(self):
            self.check(Wrong())

    outcome = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(TestDouble).run(outcome)
    assert outcome.testsRun == 2
    assert [test.id().rpartition(".")[2] for test, _ in outcome.failures] == ["test_wrong"]
    tester = TestDouble()
    tester.setUp()
    tester.check(Double())
    with pytest.raises(AssertionError, match=r"infer_shape says \(3, 2\)"):
        tester.check(Wrong())
    with pytest.raises(AssertionError, match="which Silent"):
        tester.check(Silent())
    utt.verify_grad(Double(), [np.random.default_rng(utt.fetch_seed()).random((5, 7, 2))])
    assert utt.seed_rng(3) == 3
    utt.assert_allclose(np.float32(1.0), np.float32(1.000001))
    with pytest.raises(AssertionError):
        utt.assert_allclose(1.0, 1.000001)


def test_rows_by_their_indices(theano):
    subtensor = importlib.import_module("theano.tensor.subtensor")
    x, i = theano.tensor.dmatrix("x"), theano.tensor.lvector("i")
    rows = subtensor.AdvancedSubtensor1()(x, i)
    assert isinstance(rows.owner.op, subtensor.AdvancedSubtensor1)
    assert rows.eval({x: [[1.0], [2.0]], i: [1, 1]}).tolist() == [[2.0], [2.0]]
