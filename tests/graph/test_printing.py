"""debugprint."""

import io
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys._base.errors import TypeContractError
from phintys.graph import Apply, FunctionGraph, HasInnerGraph, Op, SharedVariable
from phintys.graph.printing import debugprint


def show(*args, **options):
    return debugprint(*args, file="str", **options)


@pytest.fixture
def simple(toys):
    """out = h(f(x), g(f(x), y, 1))."""
    x, y = toys.number("x"), toys.number("y")
    a = toys.Named("f")(x, name="a")
    b = toys.Named("g")(a, y, toys.number.make_constant(1))
    return toys.Named("h")(a, b), a, b, x, y


def test_a_tree(simple):
    out, *_ = simple
    assert show(out) == (
        "h [id A]\n"
        " ├─ f [id B] 'a'\n"
        " │   └─ x [id C]\n"
        " └─ g [id D]\n"
        "     ├─ f [id B] 'a' ···\n"
        "     ├─ y [id E]\n"
        "     └─ Constant{1} [id F]\n"
    )


def test_where_it_is_printed(simple, capsys):
    _out, a, *_ = simple
    assert debugprint(a) is None
    assert capsys.readouterr().out == "f [id A] 'a'\n └─ x [id B]\n"
    file = io.StringIO()
    assert debugprint(a, file=file) is None
    assert file.getvalue() == show(a)


def test_what_can_be_printed(simple, toys):
    _out, a, _b, x, _y = simple
    tree = show(a)
    assert show(a.owner) == tree
    assert show([a]) == show(v for v in [a]) == tree
    assert show(FunctionGraph([x], [a])) == "f [id A] 'a' 0\n └─ x [id B]\n"
    function = SimpleNamespace(maker=SimpleNamespace(fgraph=FunctionGraph([x], [a])))
    assert show(function) == show([function]) == show(FunctionGraph([x], [a]))
    assert show([a, x, a]) == tree + "x [id B]\nf [id A] 'a' ···\n"
    assert show(x) == "x [id A]\n"
    assert show([]) == ""
    for wrong in (3, "x", [3], {"x": 1}, None):
        with pytest.raises(TypeContractError, match="debugprint takes variables"):
            show(wrong)


def test_outputs_of_one_node(toys):
    first, second = toys.Named("f", 2)(toys.number("x"))
    assert show([second, first]) == "f.1 [id A]\n └─ x [id B]\nf.0 [id A] ···\n"
    assert show(first.owner) == "f.0 [id A]\n └─ x [id B]\nf.1 [id A] ···\n"


def test_the_order_of_a_function_graph_and_its_updates(simple):
    out, a, _b, x, y = simple
    fgraph = FunctionGraph([x, y], [out, a, y], update_mapping={1: 0, 2: 1})
    assert show(fgraph, print_fgraph_inputs=True, id_type="") == (
        " ← x\n"
        " ← y\n"
        "h 2\n"
        " ├─ f 'a' 0\n"
        " │   └─ x\n"
        " └─ g 1\n"
        "     ├─ f 'a' 0 ···\n"
        "     ├─ y\n"
        "     └─ Constant{1}\n"
        "f 'a' 0 updates x ···\n"
        "y updates y\n"
    )


def test_depth_and_names(simple):
    out, a, *_ = simple
    assert show(out, depth=1) == "h [id A] ···\n"
    assert show(out, depth=2) == "h [id A]\n ├─ f [id B] 'a' ···\n └─ g [id C] ···\n"
    assert show(out, depth=0) == "h [id A] ···\n"
    assert show(out, depth=9) == show(out)
    stopped = show(out, stop_on_name=True)
    assert "f [id B] 'a' ···" in stopped
    assert "x" not in stopped
    assert show(a, stop_on_name=True) == show(a)  # what was asked for is shown


@pytest.mark.parametrize(
    ("id_type", "expected"),
    [
        ("CHAR", "f [id A] 'a'\n └─ x [id B]\n"),
        ("int", "f [id 0] 'a'\n └─ x [id 1]\n"),
        ("auto", "f [id auto_0] 'a'\n └─ x [id auto_1]\n"),
        ("", "f 'a'\n └─ x\n"),
    ],
)
def test_ids(simple, id_type, expected):
    assert show(simple[1], id_type=id_type) == expected


def test_python_s_own_ids(simple):
    _out, a, _b, x, _y = simple
    assert show(a, id_type="id") == f"f [id {id(a.owner)}] 'a'\n └─ x [id {id(x)}]\n"
    with pytest.raises(TypeContractError, match="id_type is one of 'CHAR', 'int'"):
        show(a, id_type="letters")


def test_more_nodes_than_letters(toys):
    x = toys.number("x")
    text = show([toys.Named("f")(x) for _ in range(730)])
    ids = [line.split("[id ")[1].split("]")[0] for line in text.splitlines() if line[0] == "f"]
    assert ids[:2] == ["A", "C"]
    assert (ids[25], ids[26], ids[-1]) == ("AA", "AB", "ABC")
    assert len(set(ids)) == len(ids)


def test_printing_goes_on_where_an_earlier_call_ended(simple):
    out, a, b, x, _y = simple
    done, used_ids = {}, {}
    assert show(a, done=done, used_ids=used_ids) == "f [id A] 'a'\n └─ x [id B]\n"
    assert show(out, done=done, used_ids=used_ids).splitlines()[:2] == [
        "h [id C]",
        " ├─ f [id A] 'a' ···",
    ]
    assert set(done) == {a.owner, b.owner, out.owner}
    assert used_ids[x] == "B"


def test_types_shapes_and_lines(toys):
    shaped = toys.Kind("shaped")
    shaped.shape = (2, None)
    x = shaped("x")
    y = toys.Named("f", out_type=toys.number)(x)
    assert show(y, print_type=True) == "f [id A] <number>\n └─ x [id B] <shaped>\n"
    assert show(y, print_shape=True) == "f [id A]\n └─ x [id B] shape=(2, None)\n"
    assert show(y, print_origin=True) == (
        f"f [id A] ({__file__}:{y.origin.lineno})\n └─ x [id B]\n"
    )


def test_views_and_overwriting(toys):
    x = toys.number("x")
    op = toys.Aliasing("op", 2, views=((1, (0,)),), destroys=((0, (0,)),))
    y = op(x)[0]
    assert show(y, print_destroy_map=True) == "op.0 [id A] d={0: [0]}\n └─ x [id B]\n"
    assert show(y, print_view_map=True) == "op.0 [id A] v={1: [0]}\n └─ x [id B]\n"
    plain = toys.Named("f")(x)
    assert show(plain, print_view_map=True, print_destroy_map=True) == show(plain)


def test_values(toys):
    x = toys.number("x")
    shared = SharedVariable(toys.number, [1, 2], name="w")
    y = toys.Named("f")(x, shared, toys.number.make_constant("text"))
    assert show(y, print_storage=True) == (
        "f [id A]\n"
        " ├─ x [id B]\n"
        " ├─ w [id C] storage=[1, 2]\n"
        " └─ Constant{text} [id D] storage='text'\n"
    )
    assert "x [id B] storage=5" in show(y, print_storage={x: [5]})
    long = show(y, print_storage={x: [list(range(1000))]})
    assert "x [id B] storage=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 ...  998, 999]" in long
    fgraph = FunctionGraph([x], [toys.Named("f")(x)], clone=False)
    function = SimpleNamespace(
        maker=SimpleNamespace(fgraph=fgraph), vm=SimpleNamespace(storage_map={x: [7]})
    )
    assert "x [id B] storage=7" in show(function, print_storage=True)
    assert "storage" not in show(function)


def test_a_profile(simple):
    out, a, _b, _x, _y = simple
    times = {out.owner: 0.003, a.owner: 0.001}
    assert show(out, profile=times).splitlines() == [
        "   seconds  share",
        " 3.000e-03  75.0%  h [id A]",
        " 1.000e-03  25.0%   ├─ f [id B] 'a'",
        "                    │   └─ x [id C]",
        "                    └─ g [id D]",
        " 1.000e-03  25.0%       ├─ f [id B] 'a' ···",
        "                        ├─ y [id E]",
        "                        └─ Constant{1} [id F]",
    ]
    assert " 0.000e+00      -  f" in show(a, profile={a.owner: 0.0})


class Inner(HasInnerGraph, Op):
    def __init__(self, name, fgraph):
        self.name = name
        self.fgraph = fgraph

    def make_node(self, *inputs):
        return Apply(self, inputs, [v.type() for v in self.fgraph.outputs])


def test_inner_graphs_come_last_and_once(toys):
    u, v = toys.number("u"), toys.number()
    innermost = Inner("innermost", FunctionGraph([u], [toys.Named("f")(u)]))
    inner = Inner("inner", FunctionGraph([u, v], [toys.Named("g")(innermost(u), v), v]))
    x = toys.number("x")
    y = inner(inner(x, x)[0], x)
    assert show(y) == (
        "inner.0 [id A]\n"
        " ├─ inner.0 [id B]\n"
        " │   ├─ x [id C]\n"
        " │   └─ x [id C]\n"
        " └─ x [id C]\n"
        "inner.1 [id A] ···\n"
        "\n"
        "Inner graphs:\n"
        "\n"
        "inner [id A]\n"
        "    → g [id D] 1\n"
        "       ├─ innermost [id E] 0\n"
        "       │   └─ u [id F]\n"
        "       └─ *1 [id G]\n"
        "    → *1 [id G]\n"
        "\n"
        "innermost [id E]\n"
        "    → f [id H] 0\n"
        "       └─ u [id I]\n"
    )
    assert show(y, print_fgraph_inputs=True).splitlines()[10:12] == [
        "    ← u [id D]",
        "    ← *1 [id E]",
    ]


def test_deep_trees_go_on_below(toys):
    x = toys.number("x")
    lines = show(toys.chain(100, x), id_type="").splitlines()
    assert max(len(line) for line in lines) < 140
    assert sum(line.lstrip(" └─") in {"f", "f ··· (below)"} for line in lines) == 103
    assert lines.count("") == 3
    assert lines[-1].endswith("└─ x")
    assert lines[31] == ""
    assert lines[32] == "f"
    shallow = show(toys.chain(30, x))
    assert "below" not in shallow
    # A limit that was asked for is kept instead.
    assert len(show(toys.chain(100, x), depth=50).splitlines()) == 50


def test_a_graph_with_a_cycle_can_be_seen(toys):
    x = toys.number("x")
    a = toys.Named("f")(x)
    b = toys.Named("g")(a)
    fgraph = FunctionGraph([x], [b], clone=False)
    fgraph.change_node_input(a.owner, 0, b)
    assert show(fgraph) == "g [id A]\n └─ f [id B]\n     └─ g [id A] ···\n"


@given(st.data())
def test_every_node_is_shown_once_with_its_inputs(toys, data):
    graph = data.draw(toys.dags())
    text = show(graph.outputs)
    shown = [line for line in text.splitlines() if "[id" in line]
    full = [line for line in shown if not line.endswith("···")]
    ids = [line.split("[id ")[1].split("]")[0] for line in full if _is_node(line)]
    assert len(ids) == len(set(ids))
    needed = FunctionGraph(graph.inputs, graph.outputs, clone=False).apply_nodes
    assert len(ids) == len(needed)
    edges = sum(len(node.inputs) for node in needed)
    assert len(shown) == edges + len(graph.outputs)


def _is_node(line):
    return line.lstrip(" │├└─")[0] in "fgh"


def written(graph, encoding):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    assert debugprint(graph, file=stream) is None
    stream.flush()
    return raw.getvalue().decode(encoding)


def test_a_stream_in_ascii(simple, toys):
    out, *_ = simple
    assert written(out, "utf-8") == show(out)
    assert written(out, "ascii").splitlines()[:6] == [
        "h [id A]",
        " |- f [id B] 'a'",
        " |   `- x [id C]",
        " `- g [id D]",
        "     |- f [id B] 'a' ...",
        "     |- y [id E]",
    ]
    accented = toys.number("é…")
    assert written(accented, "latin-1") == "é\\u2026 [id A]\n"
    assert written(accented, "ascii") == "\\xe9\\u2026 [id A]\n"


def test_a_stream_without_an_encoding(simple):
    class Lines(list):
        def write(self, text):
            self.append(text)

    lines = Lines()
    debugprint(simple[0], file=lines)
    assert "".join(lines) == show(simple[0])


def test_graphs_and_functions_print_themselves():
    x = pt.dvector("x")
    f = phintys.function([x], pt.exp(x), mode="reference")
    wanted = debugprint(f, file="str", id_type="int")
    assert f.dprint(file="str", id_type="int") == wanted
    assert f.maker.fgraph.dprint(file="str", id_type="int") == wanted
