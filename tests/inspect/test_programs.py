import numpy as np

import phintys
import phintys.tensor as pt
from phintys.inspect import draw_program


def program_of(inputs, outputs):
    function = phintys.function(inputs, outputs, mode="native")
    return draw_program(*function.vm.program_and_text())


def test_steps_are_nodes_and_arrays_are_edges():
    x, w = pt.dmatrix("x"), pt.dmatrix("w")
    drawing = program_of([x, w], pt.exp(x @ w).sum())
    kinds = [node.kind for node in drawing.nodes]
    assert kinds[:2] == ["input", "input"]
    assert "call" in kinds
    assert kinds[-1] == "output"
    targets = {edge.target for edge in drawing.edges}
    written = [i for i, node in enumerate(drawing.nodes) if node.kind in {"kernel", "output"}]
    assert set(written) <= targets
    assert any("tanh" in fact or "exp" in fact for node in drawing.nodes for fact in node.facts)


def test_callbacks_are_a_kind_of_their_own():
    x = pt.dvector("x")
    (node,) = [one for one in program_of([x], pt.partition(x, 2)).nodes if one.kind == "callback"]
    assert node.facts[1] == "because NumPy divides rows without sorting them"


def test_bodies_are_parts():
    x = pt.dvector("x")
    rows, _ = phintys.scan(pt.tanh, outputs_info=[x], n_steps=100)
    drawing = program_of([x], rows[-1])
    (body,) = [number for number, part in enumerate(drawing.parts) if part.kind == "body"]
    inside = {node.kind for node in drawing.nodes if node.part == body}
    assert {"loop", "kernel"} <= inside


def test_constants_need_no_writer():
    x = pt.dvector("x")
    drawing = program_of([x], x + np.arange(3.0))
    assert all(edge.source != edge.target for edge in drawing.edges)
