import pytest

import phintys.tensor as pt
from phintys._base.errors import ArgumentError


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
