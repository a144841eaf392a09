"""debugprint(print_op_info=True): what the inputs and outputs of Ops are for."""

import phintys
import phintys.tensor as pt
from phintys.graph.printing import debugprint


def lines(graph):
    text = debugprint(graph, file="str", print_op_info=True, id_type="")
    assert text is not None
    return text.splitlines()


def test_indices_say_their_axes_and_bounds():
    x, i, j = pt.dmatrix("x"), pt.lscalar("i"), pt.lvector("j")
    assert lines(x[i:, ::i]) == [
        "Subtensor{i:, ::i}",
        " ├─ x",
        " ├─ i (start of axis 0)",
        " └─ i (step of axis 1)",
    ]
    assert lines(pt.set_subtensor(x[:, j], 1.0))[-2:] == [
        " ├─ TensorConstant{1.0} (values to write)",
        " └─ j (index of axis 1)",
    ]
    assert "(" not in (debugprint(x[i:], file="str") or "")


def test_arguments_of_a_loop_are_named_once_each_outside_and_inside():
    xs, a = pt.dvector("xs"), pt.dscalar("a")

    def step(x, before, a):
        new = a * before + x
        return new, new * new

    states, squares = phintys.scan(step, xs, [pt.constant(0.0), None], a, return_updates=False)
    assert lines([states, squares, states]) == [
        "Subtensor{1:}",
        " └─ Scan.0 (carried 0)",
        "     ├─ Subtensor{0} (number of steps)",
        "     │   └─ Shape",
        "     │       └─ xs",
        "     ├─ xs (sequence 0)",
        "     ├─ ExpandDims{x} (first of carried 0)",
        "     │   └─ TensorConstant{0.0}",
        "     └─ a (captured 0)",
        "Scan.1 (stacked 0) ···",
        "Subtensor{1:} ···",
        "",
        "Inner graphs:",
        "",
        "Scan",
        "    → Add 1 (carried 0)",
        "       ├─ Mul 0",
        "       │   ├─ a (captured 0)",
        "       │   └─ before (carried 0, 1 before)",
        "       └─ xs[t] (sequence 0)",
        "    → Mul 2 (stacked 0)",
        "       ├─ Add 1 ···",
        "       └─ Add 1 ···",
    ]
