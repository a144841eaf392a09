"""Old modes: linkers, optimizers, hooks without the graph."""

from __future__ import annotations

import numpy as np
import pytest

import phintys
from phintys.passes import PIPELINES


def inspector(seen):
    def inspect_inputs(i, node, fn):
        seen.append((i, str(node.op), [cell[0].tolist() for cell in fn.inputs]))

    def inspect_outputs(i, node, fn):
        seen.append((i, str(node.op), [cell[0].tolist() for cell in fn.outputs]))

    return inspect_inputs, inspect_outputs


def test_hooks_of_three_arguments(theano):
    seen = []
    pre, post = inspector(seen)
    x = theano.tensor.dscalar("x")
    mode = theano.compile.MonitorMode(pre_func=pre, post_func=post)
    assert theano.function([x], [5 * x], mode=mode)(3) == [15]
    assert seen == [(0, "Mul", [5, 3]), (0, "Mul", [15])]


def test_hooks_with_the_graph(aesara):
    seen = []

    class Hook:
        def __call__(self, fgraph, i, node, fn):
            seen.append((node in fgraph.apply_nodes, i))

    x = aesara.tensor.dscalar("x")
    hooks = [
        Hook(),
        lambda fgraph, i, node, fn: seen.append(i),
        lambda *given: seen.append(len(given)),
    ]
    for hook in hooks:
        mode = aesara.compile.monitormode.MonitorMode(post_func=hook)
        aesara.function([x], 5 * x, mode=mode)(3)
    assert seen == [(True, 0), 0, 4]


def test_hooks_that_take_something_else(theano):
    with pytest.raises(TypeError, match=r"fgraph, i, node, fn.*\(node\)"):
        theano.compile.MonitorMode(post_func=lambda node: None)


def test_detect_nan(theano, capsys):
    T = theano.tensor
    detect_nan = theano.compile.monitormode.detect_nan
    x = T.dscalar("x")
    mode = theano.compile.MonitorMode(post_func=detect_nan)
    mode = mode.excluding("local_elemwise_fusion", "inplace")
    f = theano.function([x], [T.log(x) * x, T.gt(x, 0)], mode=mode)
    f(1.0)
    assert capsys.readouterr().out == ""
    f(-1.0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "*** NaN detected ***"
    assert lines[-2:] == ["Inputs : [array(-1.), array(-1.)]", "Outputs: [array(nan)]"]


@pytest.mark.parametrize(
    ("arguments", "backend", "pipeline"),
    [
        ({"linker": "py", "optimizer": None}, "reference", "none"),
        ({"linker": "cvm", "optimizer": "fast_run"}, "native", "full"),
        ({"linker": "vm", "optimizer": "fast_compile"}, "reference", "light"),
        ({"linker": "c|py", "optimizer": PIPELINES["light"]}, "native", "light"),
    ],
)
def test_linkers_and_optimizers(theano, arguments, backend, pipeline):
    mode = theano.Mode(**arguments)
    assert (mode.backend.name, mode.pipeline) == (backend, PIPELINES[pipeline])
    assert isinstance(mode, theano.compile.Mode)
    x = theano.tensor.dvector("x")
    assert theano.function([x], x * 2, mode=mode)([1.0]).tolist() == [2.0]


@pytest.mark.parametrize("wrong", [{"linker": "cuda"}, {"optimizer": "fast"}])
def test_unknown_linkers_and_optimizers(theano, wrong):
    with pytest.raises(phintys.PhintysError, match="is unknown; there are"):
        theano.Mode(**wrong)


def test_excluding_what_is_not_there_changes_nothing(theano):
    mode = theano.compile.get_default_mode()
    assert mode.pipeline == phintys.get_mode().pipeline
    assert mode.excluding("fusion", "local_elemwise_fusion").pipeline == mode.pipeline
    assert "inplace" not in mode.excluding("fusion", "inplace").pipeline.names
    assert isinstance(theano.compile.get_mode("NanGuardMode"), phintys.compile.NanGuardMode)
    assert isinstance(mode.including("inplace"), theano.compile.Mode)


def test_nan_guard_mode(theano):
    T = theano.tensor
    x = T.dvector("x")
    NanGuardMode = theano.compile.nanguardmode.NanGuardMode
    mode = NanGuardMode(nan_is_error=True, inf_is_error=False, big_is_error=False)
    f = theano.function([x], T.log(x), mode=mode)
    assert f([0.0]).tolist() == [-np.inf]
    with pytest.raises(AssertionError, match="1 NaN"):
        f([-1.0])
    with pytest.raises(FloatingPointError, match="1 NaN"):
        theano.function([x], T.log(x), mode="NanGuardMode")([-1.0])


def test_debug_mode(theano):
    T = theano.tensor

    class Wrong(theano.gof.Op):
        __props__ = ()

        def make_node(self, x):
            return theano.gof.Apply(self, [x], [x.type()])

        def perform(self, node, inputs, output_storage):
            inputs[0][...] = 0
            output_storage[0][0] = np.zeros(1)

    debugmode = theano.compile.debugmode
    x = T.dvector("x")
    f = theano.function([x], Wrong()(x), mode=debugmode.DebugMode(check_py_code=None))
    with pytest.raises(debugmode.BadDestroyMap):
        f([1.0])
    options = debugmode.DebugMode(check_c_code=False, stability_patience=3).options
    assert (options.check_native, options.check_py, options.stability_patience) == (False, True, 3)


def test_the_option_mode_takes_a_mode(aesara):
    x = aesara.tensor.dscalar("x")
    mode = aesara.compile.mode.Mode("py", None)
    with aesara.config.change_flags(mode=mode):
        assert aesara.config.mode is mode
        assert len(aesara.function([x], x + 1 - x).maker.fgraph.toposort()) == 2  # as written
        with aesara.config.change_flags(mode="reference"):
            assert aesara.config.mode == "reference"
    assert aesara.config.mode == phintys.config.mode
    with pytest.raises(phintys.PhintysError, match=r"config\.mode"):
        aesara.config.mode = 3


def test_named_modes_are_modes(aesara):
    x = aesara.tensor.dscalar("x")
    mode = aesara.compile.mode.FAST_RUN.excluding("inplace", "fusion")
    assert aesara.function([x], 2 * x, mode=mode)(3) == 6


def test_a_query_selects_rewrites(aesara):
    query = aesara.graph.rewriting.db.RewriteDatabaseQuery
    names = {
        include: aesara.compile.mode.Mode("py", query(include=[include])).pipeline.names
        for include in (None, "fast_compile", "fast_run")
    }
    assert not names[None]
    assert set(names["fast_compile"]) < set(names["fast_run"])
    without = query(include=["fast_run"]).including("fusion").excluding("merge", "unknown")
    assert "merge" not in aesara.compile.mode.Mode("py", without).pipeline.names


def test_modes_named_after_compilers(aesara):
    x = aesara.tensor.dvector("x")
    known = aesara.compile.mode.predefined_modes
    for name in ("JAX", "NUMBA", "C", "FAST_RUN"):
        f = aesara.function([x], x * 2, mode=name)
        assert f.maker.mode.backend.name == "native"
        assert f([1.0]).tolist() == [2.0]
        assert known[name].backend.name == "native"
    with aesara.config.change_flags(mode="NUMBA"):
        assert aesara.config.mode == "NUMBA"
        assert aesara.function([x], x).maker.mode.backend.name == "native"
    with aesara.config.change_flags(mode="VM"):
        assert aesara.function([x], x).maker.mode.backend.name == "reference"
        assert aesara.compile.mode.get_default_mode().backend.name == "reference"
    assert aesara.Mode(linker="pytorch").backend.name == "native"
    with pytest.raises(phintys.PhintysError, match="There is no mode 'CUDA'"):
        aesara.function([x], x, mode="CUDA")
