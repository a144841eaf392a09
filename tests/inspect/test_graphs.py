from collections import Counter

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys.graph import FunctionGraph
from phintys.inspect import draw_graph, to_dot, to_mermaid


def labels(drawing):
    return [node.label for node in drawing.nodes]


def edges(drawing):
    names = labels(drawing)
    return {(names[edge.source], names[edge.target], edge.label) for edge in drawing.edges}


def repeated(x, w):
    rows, _ = phintys.scan(
        lambda h, w: pt.tanh(h @ w), outputs_info=[x], non_sequences=[w], n_steps=3
    )
    return rows[-1]


def test_a_graph_has_nodes_for_inputs_ops_and_outputs():
    x = pt.dmatrix("x")
    drawing = draw_graph(pt.exp(x).sum(axis=0))
    assert labels(drawing) == ["x", "Exp", "Sum{axis=0}", "output"]
    assert edges(drawing) == {
        ("x", "Exp", "float64[?, ?]"),
        ("Exp", "Sum{axis=0}", "float64[?, ?]"),
        ("Sum{axis=0}", "output", "float64[?]"),
    }
    assert {node.kind for node in drawing.nodes} == {"input", "op", "output"}
    assert any(f"{__file__}" in fact for fact in drawing.nodes[1].facts)


def test_many_inputs_and_outputs_stand_beside_what_reads_and_makes_them():
    many = pt.dscalars(*(f"x{number}" for number in range(60)))
    y, results = many[0], []
    for x in many:
        y = pt.sin(y) * x
        results.append(y)
    drawing = draw_graph(results)
    assert {node.part for node in drawing.nodes if node.kind in {"input", "output"}} > {1, 2}
    assert not [node for node in drawing.nodes if node.part is None]
    assert_has_no_circles(contracted(drawing))


def test_every_form_of_a_graph_is_drawn():
    x = pt.dscalar("x")
    y = pt.exp(x)
    for what in (y, [y], (y,), FunctionGraph([x], [y], clone=False), phintys.function([x], y)):
        assert "Exp" in labels(draw_graph(what))
    with pytest.raises(ArgumentError, match=r"a compiled function, got int: 3\."):
        draw_graph(3)


def test_constants_stand_beside_their_readers():
    x = pt.dvector("x")
    drawing = draw_graph(x * 2 + x * 2 + pt.constant(np.zeros(100)))
    constants = [node for node in drawing.nodes if node.kind == "constant"]
    assert len(constants) == 3
    assert any("100 elements" in node.facts for node in constants)


def test_shared_values_are_told_from_inputs():
    w = phintys.shared(np.zeros(3), name="w")
    assert draw_graph(w * 1.5).nodes[0].kind == "shared"


def test_inner_graphs_are_parts():
    x, w = pt.dvector("x"), pt.dmatrix("w")
    drawing = draw_graph(repeated(x, w))
    (inner,) = [number for number, part in enumerate(drawing.parts) if part.kind == "inner graph"]
    inside = [node.label for node in drawing.nodes if node.part == inner]
    assert {"Scan", "Dot", "Tanh", "output"} <= set(inside)


def test_the_nodes_of_one_line_are_a_part():
    x = pt.dvector("x")
    y = pt.exp(pt.sin(x) + pt.cos(x))
    z = y * 2
    drawing = draw_graph(z)
    (line,) = [part for part in drawing.parts if part.kind == "line"]
    assert "pt.exp(pt.sin(x) + pt.cos(x))" in line.label
    assert sum(node.part is not None for node in drawing.nodes) == 4


def contracted(drawing):
    """Return the edges between outermost parts, and nodes outside of parts."""

    def top(number):
        part = drawing.nodes[number].part
        while part is not None and drawing.parts[part].part is not None:
            part = drawing.parts[part].part
        return ("node", number) if part is None else ("part", part)

    ends = {(top(edge.source), top(edge.target)) for edge in drawing.edges}
    return {(source, target) for source, target in ends if source != target}


@pytest.mark.parametrize("lines", [3, 60])
def test_a_folded_picture_has_no_circles(lines):
    """Lines that alternate: each stretch of the order of execution is a part of its own."""
    x = pt.dvector("x")
    for number in range(lines):
        y = pt.sin(x) + pt.cos(x)
        x = pt.exp(-y) if number % 2 else pt.tanh(y) * y
    drawing = draw_graph(x)
    assert_has_no_circles(contracted(drawing))


def assert_has_no_circles(found):
    while found:
        sources = {source for source, _ in found}
        rest = {pair for pair in found if pair[1] in sources}
        assert len(rest) < len(found)
        found = rest


def test_large_graphs_are_drawn_in_blocks():
    x = pt.dvector("x")
    y = x
    for _ in range(2000):
        y = pt.sin(y)
    drawing = draw_graph(y)
    assert len(drawing.nodes) == 2002
    (line,) = [part for part in drawing.parts if part.kind == "line"]
    inside = Counter(part.part for part in drawing.parts) + Counter(
        one.part for one in drawing.nodes
    )
    assert max(inside.values()) <= 24
    assert "y = pt.sin(y)" in line.label


def test_profiles_and_traces_are_shown():
    x = pt.dvector("x")
    mode = phintys.get_mode("native").tracing()
    f = phintys.function([x], pt.log(1 + x).sum(), mode=mode, profile=True)
    f(np.ones(10))
    costs = {one.node: one for one in f.profile.by_node()}
    drawing = draw_graph(f, costs=costs, trace=f.maker.trace)
    assert any(node.seconds is not None for node in drawing.nodes)
    assert any("log_of_one_plus" in fact for node in drawing.nodes for fact in node.facts)


def test_texts_escape_what_their_languages_read():
    x = pt.dvector('a "name" <b>')
    assert '[label="a \\"name\\" <b>"' in to_dot(pt.exp(x))
    assert '(["a #quot;name#quot; <b>"])' in to_mermaid(pt.exp(x))


def test_texts_nest_parts():
    x, w = pt.dvector("x"), pt.dmatrix("w")
    dot, mermaid = to_dot(repeated(x, w)), to_mermaid(repeated(x, w))
    lines = [line.strip() for line in dot.splitlines()]
    assert sum(line.endswith("{") for line in lines) == lines.count("}") > 1
    assert mermaid.count("subgraph ") == mermaid.count("end\n") > 0
