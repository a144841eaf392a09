"""Inner graphs in every mode: what runs them, what checks them, and what is reported of them."""

import subprocess
import sys

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import MonitorMode, NanGuardMode, function
from phintys._base.errors import BadRewrite, BadViewMap, NanGuardError
from phintys.backends.reference import VM, ReferenceBackend
from phintys.gradient import jacobian
from phintys.graph import Apply, FunctionGraph, HasInnerGraph, Op
from phintys.rewriting import node_rewriter


class Repeat(HasInnerGraph, Op):
    """Apply a graph n times; no backend has a rule for it."""

    __props__ = ("n",)

    def __init__(self, fgraph, n):
        self.fgraph = fgraph
        self.n = n
        self.programs = []

    def with_inner(self, fgraph):
        return type(self)(fgraph, self.n)

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform_with(self, program, node, inputs, output_storage):
        self.programs.append(program)
        (value,) = inputs
        for _ in range(self.n):
            (value,) = program([value])
        output_storage[0][0] = value


def repeat(n, build):
    u = pt.dvector("u")
    return Repeat(FunctionGraph([u], [build(u)]), n)


def op_of(f):
    (node,) = [node for node in f.maker.fgraph.apply_nodes if isinstance(node.op, HasInnerGraph)]
    return node.op


x = pt.dvector("x")


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("reference", "VM"), ("native", "NativeProgram"), ("NanGuardMode", "VM"), ("debug", None)],
)
def test_the_backend_of_the_mode_runs_inner_graphs(mode, kind):
    f = function([x], repeat(3, lambda u: u * 2)(x), mode=mode)
    assert f([1.0, 2.0]).tolist() == [8.0, 16.0]
    kinds = {type(program).__name__ for program in op_of(f).programs}
    assert kinds == ({kind} if kind else {"DebugProgram", "VM"})


# Importing anything that makes or runs native code fails.
NOTHING_NATIVE = """
import sys
from importlib.abc import MetaPathFinder

class Refuse(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "llvmlite" or name.startswith("phintys.backends.native"):
            raise RuntimeError(f"{name} is imported in the reference mode")

sys.meta_path.insert(0, Refuse())

import numpy as np
import phintys, phintys.tensor as pt
from phintys.gradient import hessian, jacobian, verify_grad, verify_rop
from phintys.graph import Apply, Op

class Python(Op):
    __props__ = ()
    def make_node(self, x):
        return Apply(self, [x], [x.type()])
    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * 2
    def grad(self, inputs, output_grads):
        return [output_grads[0] * 2]

x = pt.dvector("x")
at = np.array([0.5, 1.5])
cost = (pt.exp(x) * x[::-1]).sum()
one = pt.constant(at)
rows = jacobian(pt.tanh(x) * x[0], x, vectorize=False)
programs = [
    cost,
    rows,
    hessian(cost, x),
    jacobian(jacobian(x**3, x, vectorize=False), x, vectorize=False),
    phintys.grad((rows**2).sum(), x),
    phintys.Rop(rows, x, x),
    jacobian(Python()(x) * x, x, vectorize=False),
    phintys.clone_replace(rows, {x: one}),
]
for program in programs:
    f = phintys.function([x], program, mode="reference", on_unused_input="ignore")
    assert f(at).dtype == "float64"
    f.copy()(at)
    f.explain()
phintys.config.mode = "reference"
for program in programs:
    program.eval({x: at}, on_unused_input="ignore")
loss = lambda x: (jacobian(pt.tanh(x) * x[0], x, vectorize=False) ** 2).sum(axis=0)
verify_grad(loss, [at])
verify_rop(loss, [at])
assert not [name for name in sys.modules if "native" in name and name.startswith("phintys")]
try:
    phintys.function([x], cost, mode="native")
except RuntimeError as error:
    print(error)
"""


def test_the_reference_mode_runs_no_native_code():
    done = subprocess.run(
        [sys.executable, "-c", NOTHING_NATIVE],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "is imported in the reference mode" in done.stdout  # the guard works


class TestChecks:
    def test_nan_guard_finds_the_inner_node(self):
        f = function([x], repeat(2, lambda u: pt.log(u) * 2)(x), mode="NanGuardMode")
        assert f([np.e]).shape == (1,)
        with pytest.raises(NanGuardError, match=r"infinite .* of (Log|Elemwise)"):
            f([1.0])
        rows = function([x], jacobian(pt.log(x) * 2, x, vectorize=False), mode=NanGuardMode())
        with pytest.raises(NanGuardError, match="infinite"):
            rows([0.0])

    def test_monitors_see_the_nodes_of_the_function(self):
        seen = []
        mode = MonitorMode(post_func=lambda fgraph, i, node, fn: seen.append(str(node.op)))
        f = function([x], repeat(2, pt.exp)(x), mode=mode)
        f([1.0])
        assert seen == ["Repeat{n=2}"]

    def test_debug_mode_finds_a_bad_inner_op(self):
        class Sneaky(Op):
            """Returns its input itself."""

            __props__ = ()

            def make_node(self, x):
                return Apply(self, [x], [x.type()])

            def perform(self, node, inputs, output_storage):
                output_storage[0][0] = inputs[0]

        f = function([x], repeat(2, lambda u: Sneaky()(u) + 1)(x), mode="debug")
        with pytest.raises(BadViewMap, match="Sneaky"):
            f([1.0])

    @pytest.mark.parametrize("mode", ["reference", "native", "debug"])
    def test_a_bad_map_is_found_while_compiling(self, mode):
        class Wrong(Op):
            """An Op that names an input that is not there."""

            view_map = {0: [1]}
            __props__ = ()

            def make_node(self, x):
                return Apply(self, [x], [x.type()])

        outer = repeat(2, repeat(2, Wrong()))
        with pytest.raises(BadViewMap, match=r"Wrong: its view_map .* names the input 1") as caught:
            function([x], outer(x), mode=mode)
        assert __file__ in str(caught.value)

    def test_debug_mode_finds_a_bad_rule_inside(self):
        @node_rewriter([pt.elemwise.elemwise(phintys.scalar.sin)])
        def sin_to_cos(fgraph, node):
            """sin(x) -> cos(x)"""
            return [pt.cos(node.inputs[0])]

        f = function([x], repeat(1, pt.sin)(x), mode=phintys.get_mode("debug").adding(sin_to_cos))
        with pytest.raises(BadRewrite, match="sin_to_cos"):
            f([1.0])

    def test_debug_mode_accepts_stable_forms_inside(self):
        f = function([x], repeat(1, lambda u: pt.log(pt.exp(u).sum()) + u * 0)(x), mode="debug")
        assert f([1000.0, 0.0]).tolist() == [1000.0, 1000.0]


class TestReports:
    def test_errors_name_the_line_of_the_inner_node(self):
        for mode in ("reference", "native"):
            y = pt.dvector("y")
            rows = jacobian((x * y)[:2] * x[:2], x, vectorize=False)
            f = function([x, y], rows, mode=mode)
            with pytest.raises(ValueError, match=r"shape|fit") as caught:
                f(np.ones(3), np.ones(4))
            assert any("test_inner_graphs.py" in note for note in caught.value.__notes__)

    def test_a_profile_has_the_inner_nodes(self):
        op = repeat(5, pt.exp)
        f = function([x], op(x) * 2, mode="reference", profile=True)
        for _ in range(3):
            f([0.0])
        costs = {str(cost.node.op): cost for cost in f.profile.by_node()}
        assert costs["Exp"].calls == 15
        assert costs["Repeat{n=5}"].calls == f.profile.calls == 3
        assert costs["Exp"].seconds > 0 < costs["Repeat{n=5}"].seconds
        inside = sum(cost.seconds for cost in costs.values())
        assert inside <= f.profile.step_seconds
        text = phintys.debugprint(f, file="str", profile=True)
        assert any("Exp" in line and "%" in line for line in text.splitlines())

    def test_explanations_show_the_inner_programs(self):
        f = function([x], repeat(5, lambda u: pt.exp(u) * 2)(x), mode="native")
        text = f.explain()
        assert "callback" in text
        _, _, inner = text.partition("inner graph of Repeat{n=5}")
        assert "  1 kernel" in inner
        reference = function([x], repeat(5, pt.exp)(x), mode="reference").explain()
        assert "Inner graphs:" in reference
        assert "Exp" in reference


class TestMachines:
    def test_memory_is_kept_and_freed_inside_as_outside(self):
        fgraph = FunctionGraph([x], [repeat(2, lambda u: pt.exp(u) + 1)(x)])
        vm = ReferenceBackend(allow_gc=False).link(fgraph)
        vm([np.ones(3)])
        inner = vm.plan.programs.of(vm.nodes[0])
        assert isinstance(inner, VM)
        assert not inner.allow_gc
        assert any(cell[0] is not None for cell in inner.storage_map.values())
        vm.free()
        results = [v for node in inner.nodes for v in node.outputs]
        assert all(inner.storage_map[v][0] is None for v in results)

    def test_an_error_of_an_inner_make_thunk_comes_when_linking(self):
        op = Op()
        op.name = "unready"
        op.make_node = lambda x: Apply(op, [x], [x.type()])

        def make_thunk(*args, **kwargs):
            raise ValueError("no compiler")

        op.make_thunk = make_thunk
        for mode in ("reference", "native"):
            with pytest.raises(ValueError, match="no compiler"):
                function([x], repeat(1, op)(x), mode=mode)

    def test_an_op_with_a_perform_of_its_own_runs_that(self):
        class Own(Repeat):
            __props__ = ("n",)

            def perform(self, node, inputs, output_storage):
                output_storage[0][0] = inputs[0] * 100

        for mode in ("reference", "native"):
            u = pt.dvector("u")
            f = function([x], Own(FunctionGraph([u], [u]), 1)(x), mode=mode)
            assert f([1.0]).tolist() == [100.0]

    def test_recursion(self):
        """An inner graph may call the function that runs it."""
        calls = []

        class Call(Op):
            __props__ = ()

            def make_node(self, x):
                return Apply(self, [x], [x.type()])

            def perform(self, node, inputs, output_storage):
                calls.append(inputs[0][0])
                down = f(inputs[0] - 1) if inputs[0][0] > 0 else inputs[0] * 0
                output_storage[0][0] = down + inputs[0]

        f = function([x], repeat(1, Call())(x), mode="reference")
        assert f([4.0]).tolist() == [10.0]
        assert calls == [4, 3, 2, 1, 0]
