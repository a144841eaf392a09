"""Profiles, dumps of functions, and graphs as strings, under their old names."""

import importlib
import io
import pickle

import numpy as np
import pytest

import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys.compat import install, uninstall
from phintys.compile.profile import registry


def test_profiles_take_the_old_options(theano):
    T = theano.tensor
    x = T.dvector("x")
    profile = theano.compile.profiling.ProfileStats(atexit_print=False, gpu_checks=False)
    f = theano.function([x], T.exp(x), profile=profile)
    f([1.0, 2.0])
    page = io.StringIO()
    assert f.profile.summary(file=page, n_ops_to_print=5).strip() == page.getvalue().strip()
    assert profile.calls == 1
    assert theano.compile.ProfileStats is theano.compile.profiling.ProfileStats


def test_functions_know_their_outputs(theano):
    """Printers of other libraries ask for their ranks."""
    T = theano.tensor
    x = T.dmatrix("x")
    f = theano.function([x], [x.sum(), theano.Out(x[0], borrow=True)])
    assert [len(out.variable.broadcastable) for out in f.outputs] == [0, 1]


@pytest.mark.parametrize(("asked", "name"), [(True, "mine"), ("other", "other")])
def test_profiles_that_are_asked_for_print_their_summary(theano, capsys, asked, name):
    x = theano.tensor.dvector("x")
    f = theano.function([x], x * 2, profile=asked, name="mine")
    f([1.0])
    page = io.StringIO()
    f.profile.summary(file=page)
    assert f"Function {name}: 1 calls" in page.getvalue()
    f.profile.summary()
    assert f"Function {name}: 1 calls" in capsys.readouterr().err


def test_profiles_of_all_functions_print_their_summary(theano, capsys, monkeypatch):
    monkeypatch.setattr(registry, "_PROFILES", [])  # those of other tests, and this one after it
    x = theano.tensor.dvector("x")
    with theano.config.change_flags(profile=True):
        f = theano.function([x], x * 2, name="one_of_all")
    f([1.0])
    f.profile.summary()
    assert "Function one_of_all: 1 calls" in capsys.readouterr().err
    theano.compile.profiling.print_global_stats()
    assert "one_of_all" in capsys.readouterr().err


def test_the_arguments_of_a_function_can_be_dumped(theano, tmp_path):
    T = theano.tensor
    x, s = T.dvector("x"), theano.shared(2.0, name="s")
    path = tmp_path / "function.pkl"
    theano.function_dump(path, [x], [x * s], updates={s: s + 1}, name="scaled")
    f = theano.function(**pickle.loads(path.read_bytes()))
    np.testing.assert_array_equal(f([1.0, 2.0])[0], [2, 4])
    np.testing.assert_array_equal(f([1.0, 2.0])[0], [3, 6])
    assert f.name == "scaled"
    assert s.get_value() == 2


def test_graphs_as_strings(aesara):
    at = aesara.tensor
    as_string = aesara.graph.basic.as_string
    x, y = at.dvectors("x", "y")
    assert as_string([x, y], [at.exp(x) * y]) == ["Mul(Exp(x), y)"]
    shared = at.exp(x)
    assert as_string([x], [shared * shared, shared]) == ["Mul(*1 -> Exp(x), *1)", "*1"]
    assert as_string([shared], [shared * shared]) == ["Mul(Exp.0, Exp.0)"]
    assert as_string([x], [x]) == ["x"]
    maximum, argmax = at.max_and_argmax(x)
    assert as_string([x, y], [maximum + argmax]) != as_string([x, y], [maximum])
    braces = as_string([x], [shared], node_formatter=lambda node, parts: f"{{{parts[0]}}}")
    assert braces == ["{x}"]


def test_the_modules_of_debugging_tools():
    install("pytensor")
    try:
        from pytensor.compile.debug.dump import function_dump
        from pytensor.compile.debug.profiling import ProfileStats, print_global_stats

        assert callable(function_dump)
        assert callable(print_global_stats)
        assert ProfileStats(False).calls == 0
        with pytest.raises(ImportError, match="equal_computations"):
            from pytensor.graph.basic import NominalVariable  # noqa: F401
    finally:
        uninstall("pytensor")


@pytest.mark.parametrize("package", ["theano", "pytensor"])
def test_trees_with_the_old_arguments(package):
    install(package)
    try:
        old = importlib.import_module(package)
        x = old.tensor.dvector("x")
        y = old.tensor.exp(x) * 2
        page = io.StringIO()
        old.printing.debugprint(y, 1, True, page, "int", True)
        assert page.getvalue().startswith("Mul [id 0] <Vector(float64, shape=(?,))>")
        assert old.dprint(y, ids="", file="str") == old.dprint(y, id_type="", file="str")
        assert "shape=(None,)" in old.dprint(y, -1, False, True, "str")
        assert old.dprint([y, x], ids=None, file="str").splitlines()[-1] == "x [id C]"
        with pytest.raises(TypeError):
            old.dprint(y, print_nothing=True)
    finally:
        uninstall(package)


@pytest.mark.parametrize("package", ["theano", "aesara"])
def test_pages_and_texts_are_written(package, request, tmp_path):
    old = request.getfixturevalue(package)
    x = old.tensor.dvector("x")
    f = old.function([x], old.tensor.exp(x).sum())
    from_module = __import__(f"{package}.d3viz", fromlist=["d3viz"])
    from_module.d3viz(f, str(tmp_path / "graph.html"))
    assert "Exp" in (tmp_path / "graph.html").read_text("utf-8")
    old.printing.pydotprint(f, outfile=str(tmp_path / "graph.dot"), var_with_name_simple=True)
    assert (tmp_path / "graph.dot").read_text("utf-8").startswith("digraph {")


def test_pictures_need_graphviz(theano, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ArgumentError, match="give a file that ends in"):
        theano.printing.pydotprint(pt.exp(pt.dscalar("x")), outfile=str(tmp_path / "graph"))
