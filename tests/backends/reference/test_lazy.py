"""Calls that compute only what lazy thunks ask for."""

import threading

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import MonitorMode, function
from phintys._base.errors import OpContractError
from phintys.backends.reference import VM, ReferenceBackend
from phintys.graph import Apply, FunctionGraph, HasInnerGraph, Op


class IfElse(Op):
    """One of two values; the other one need not be computed."""

    __props__ = ("view",)

    def __init__(self, view=False):
        self.view = view
        if view:
            self.view_map = {0: [1, 2]}

    def make_node(self, condition, then, otherwise):
        return Apply(self, [condition, then, otherwise], [then.type()])

    def make_thunk(self, node, storage_map, compute_map, no_recycling, impl=None):
        condition = node.inputs[0]
        (result,) = node.outputs

        def thunk():
            if not compute_map[condition][0]:
                return [0]
            chosen = 1 if storage_map[condition][0] else 2
            variable = node.inputs[chosen]
            if not compute_map[variable][0]:
                return [chosen]
            value = storage_map[variable][0]
            storage_map[result][0] = value if self.view else value.copy()
            compute_map[result][0] = 1
            return None

        thunk.lazy = True
        return thunk


class Counted(Op):
    """2x, or an error for a negative x; counts its calls."""

    def __init__(self, name="counted"):
        self.name = name
        self.calls = 0

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        self.calls += 1
        if (inputs[0] < 0).any():
            raise ValueError(f"{self.name} of a negative number")
        output_storage[0][0] = inputs[0] * 2


class Zero(Op):
    """Overwrites its input with 0."""

    __props__ = ()
    destroy_map = {0: [0]}

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        inputs[0][...] = 0
        output_storage[0][0] = inputs[0]


if_else = IfElse()
c, d = pt.bscalars("c", "d")
x, y = pt.dvectors("x", "y")
YES, NO = np.array(1, "int8"), np.array(0, "int8")
ONE, MINUS = np.array([1.0]), np.array([-1.0])

kept = pytest.mark.parametrize("allow_gc", [True, False])


def link(inputs, outputs, **options):
    return VM(FunctionGraph(inputs, outputs, clone=False), **options)


@kept
def test_the_other_branch_is_not_computed(allow_gc):
    then, otherwise = Counted(), Counted()
    vm = link([c, x, y], [if_else(c, then(x), otherwise(y))], allow_gc=allow_gc)
    assert vm.is_lazy
    for _ in range(3):
        assert vm([YES, ONE, MINUS])[0].tolist() == [2.0]
        assert vm([NO, MINUS, ONE])[0].tolist() == [2.0]
    assert (then.calls, otherwise.calls) == (3, 3)


def test_programs_without_lazy_thunks_are_not():
    assert not link([x], [Counted()(x)]).is_lazy


@kept
def test_a_branch_that_is_used_elsewhere_is_computed_once(allow_gc):
    shared, then = Counted(), Counted()
    s = shared(x)
    vm = link([c, x, y], [if_else(c, then(s), s), s], allow_gc=allow_gc)
    assert [v.tolist() for v in vm([NO, ONE, ONE])] == [[2.0], [2.0]]
    assert [v.tolist() for v in vm([YES, ONE, ONE])] == [[4.0], [2.0]]
    assert (shared.calls, then.calls) == (2, 1)


def test_two_that_share_a_branch():
    op = Counted()
    s = op(x)
    vm = link([c, d, x, y], [if_else(c, s, y), if_else(d, s, y)])
    for one, two, calls in [(NO, NO, 0), (YES, NO, 1), (NO, YES, 2), (YES, YES, 3)]:
        vm([one, two, ONE, ONE])
        assert op.calls == calls


def test_nested():
    a, b = Counted("a"), Counted("b")
    inner = if_else(d, a(x), b(y))
    vm = link([c, d, x, y], [if_else(c, inner + 1, x)])
    assert vm([NO, YES, MINUS, MINUS])[0].tolist() == [-1.0]
    assert (a.calls, b.calls) == (0, 0)
    assert vm([YES, NO, MINUS, ONE])[0].tolist() == [3.0]
    assert (a.calls, b.calls) == (0, 1)


def test_a_condition_that_depends_on_another():
    op = Counted()
    condition = if_else(c, x, op(y))
    vm = link([c, x, y], [if_else(condition, x, y)])
    assert vm([YES, np.array([0.0]), ONE])[0].tolist() == [1.0]
    assert op.calls == 0


def test_several_inputs_at_once():
    class Both(Op):
        """x + y if the condition holds, else 0; asks for both at once, in no order."""

        def make_node(self, *inputs):
            return Apply(self, inputs, [inputs[1].type()])

        def make_thunk(self, node, storage_map, compute_map, no_recycling):
            states = [compute_map[variable] for variable in node.inputs]
            cells = [storage_map[variable] for variable in node.inputs]

            def thunk():
                if not states[0][0]:
                    return (0,)
                missing = [i for i in (2, 1) if not states[i][0]] if cells[0][0] else []
                if missing:
                    return missing
                total = cells[1][0] + cells[2][0] if cells[0][0] else np.zeros(1)
                storage_map[node.outputs[0]][0] = total
                compute_map[node.outputs[0]][0] = 1
                return []

            thunk.lazy = True
            return thunk

    op = Counted()
    vm = link([c, x, y], [Both()(c + 0, op(x), op(y))])
    assert vm([NO, ONE, ONE])[0].tolist() == [0.0]
    assert vm([YES, ONE, ONE])[0].tolist() == [4.0]
    assert op.calls == 2


def test_the_same_variable_twice():
    op = Counted()
    s = op(x)
    vm = link([c, x], [if_else(c, s, s)])
    assert vm([YES, ONE])[0].tolist() == vm([NO, ONE])[0].tolist() == [2.0]
    assert op.calls == 2


# ---- memory --------------------------------------------------------------------------------------


@kept
@pytest.mark.parametrize("through", [lambda v: v, lambda v: v[::-1]])
def test_a_value_that_a_branch_may_still_need_is_copied_before_it_is_overwritten(allow_gc, through):
    op = Counted()
    base = x + y
    zeros = Zero()(base)
    branch = op(through(base))
    # Whether the branch is needed is known only after the base has been overwritten.
    outputs = [if_else(zeros.sum() + c, branch, x), zeros]
    vm = link([c, x, y], outputs, allow_gc=allow_gc)
    for _ in range(2):
        found = vm([YES, np.array([1.0, 2.0]), np.zeros(2)])
        expected = through(np.array([2.0, 4.0])).tolist()
        assert [v.tolist() for v in found] == [expected, [0.0, 0.0]]
        found = vm([NO, np.array([1.0, 2.0]), np.zeros(2)])
        assert [v.tolist() for v in found] == [[1.0, 2.0], [0.0, 0.0]]
    assert op.calls == 2


@kept
def test_overwriting_in_a_branch(allow_gc):
    base = x + y
    vm = link([c, x, y], [if_else(c, Zero()(base), base * 1)], allow_gc=allow_gc)
    for _ in range(2):
        assert vm([NO, ONE, ONE])[0].tolist() == [2.0]
        assert vm([YES, ONE, ONE])[0].tolist() == [0.0]


@kept
def test_results_belong_to_the_caller(allow_gc):
    for view in (False, True):
        vm = link([c, x, y], [IfElse(view)(c, x + 1, y + 2)], allow_gc=allow_gc)
        first = vm([YES, ONE, ONE])[0]
        second = vm([NO, ONE, ONE])[0]
        vm([YES, MINUS, MINUS])
        assert (first.tolist(), second.tolist()) == ([2.0], [3.0])


def test_an_undeclared_view_is_copied():
    op = IfElse(view=True)
    op.view_map = {}
    vm = link([c, x, y], [op(c, x, y * 2)])
    value = np.array([1.0])
    vm([YES, value, ONE])[0][...] = 7
    assert value.tolist() == [1.0]


def test_values_are_freed_when_nothing_can_read_them():
    held = []

    class Look(Op):
        __props__ = ()

        def make_node(self, v):
            return Apply(self, [v], [v.type()])

        def perform(self, node, inputs, output_storage):
            held.append([cell[0] is not None for cell in cells])
            output_storage[0][0] = inputs[0] + 0

    long = x * 2
    used = long + 1
    branch = Counted()(used)
    vm = link([c, x, y], [Look()(if_else(c, branch, y))])
    cells = [vm.storage_map[variable] for variable in (long, used, branch)]
    vm([YES, ONE, ONE])
    assert held == [[False, False, False]]
    assert not any(cell[0] is not None for cell in cells)


def test_what_was_passed_over_keeps_nothing_alive():
    shared = x * 2
    vm = link([c, x, y], [if_else(c, Counted()(shared), shared + y)])
    vm([NO, ONE, ONE])
    assert vm.storage_map[shared][0] is None


# ---- errors --------------------------------------------------------------------------------------


def test_an_error_in_a_branch_names_its_node():
    vm = link([c, x, y], [if_else(c, Counted("wrong")(x), y)])
    assert vm([NO, MINUS, ONE])[0].tolist() == [1.0]
    with pytest.raises(ValueError, match="wrong of a negative number") as caught:
        vm([YES, MINUS, ONE])
    assert "While computing wrong(x)" in caught.value.__notes__[0]
    assert vm([NO, MINUS, ONE])[0].tolist() == [1.0]


@pytest.mark.parametrize("wanted", [[0], [3], [-1], ["x"], "1", 5, [1.0]])
def test_requests_that_cannot_be_met(wanted):
    class Asking(IfElse):
        def make_thunk(self, *args, **kwargs):
            def thunk():
                return wanted

            thunk.lazy = True
            return thunk

    vm = link([c, x, y], [Asking()(c, Counted()(x), y)])
    with pytest.raises(OpContractError, match="A lazy thunk may return a list with the numbers"):
        vm([YES, ONE, ONE])


def test_asking_again_for_what_is_computed():
    class Insatiable(IfElse):
        def make_thunk(self, *args, **kwargs):
            def thunk():
                return [1]

            thunk.lazy = True
            return thunk

    vm = link([c, x, y], [Insatiable()(c, Counted()(x), y)])
    with pytest.raises(OpContractError, match=r"returned \[1\]"):
        vm([YES, ONE, ONE])


# ---- modes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["reference", "NanGuardMode", "debug"])
def test_functions(mode):
    op = Counted()
    f = function([c, x, y], if_else(c, op(pt.exp(x)) + 1, y - 1) * 2, mode=mode)
    assert f(1, [0.0], [1.0]).tolist() == [6.0]
    assert f(0, [0.0], [1.0]).tolist() == [0.0]


@pytest.mark.parametrize("mode", ["reference", "NanGuardMode", "debug"])
def test_what_is_not_needed_may_fail(mode):
    f = function([c, x, y], if_else(c, Counted()(x), y * 2) + 1, mode=mode)
    assert f(0, [-1.0], [1.0]).tolist() == [3.0]
    with pytest.raises(ValueError, match="negative"):
        f(1, [-1.0], [1.0])


def test_native_code_computes_all_inputs():
    op = Counted()
    f = function([c, x, y], if_else(c, op(x), y * 2) + 1, mode="native")
    assert f(0, [1.0], [1.0]).tolist() == f(1, [1.0], [1.0]).tolist() == [3.0]
    assert op.calls == 2


def test_constants_are_folded():
    one, two = pt.constant([1.0]), pt.constant([2.0])
    f = function([], if_else(pt.constant(1, dtype="int8"), one, two), mode="reference")
    assert f().tolist() == [1.0]


def test_inside_of_an_inner_graph():
    class Once(HasInnerGraph, Op):
        __props__ = ()

        def __init__(self, fgraph):
            self.fgraph = fgraph

        def with_inner(self, fgraph):
            return Once(fgraph)

        def make_node(self, *inputs):
            return Apply(self, inputs, [self.fgraph.outputs[0].type()])

        def perform_with(self, program, node, inputs, output_storage):
            output_storage[0][0] = program(list(inputs))[0]

    op = Counted()
    inner = Once(FunctionGraph([c, x, y], [if_else(c, op(x), y)]))
    f = function([c, x, y], inner(c, x, y), mode="reference")
    assert f(0, [-1.0], [1.0]).tolist() == [1.0]
    assert op.calls == 0


def test_hooks_see_each_node_once():
    seen = []
    mode = MonitorMode(
        pre_func=lambda fgraph, i, node, fn: seen.append(f"before {node.op}"),
        post_func=lambda fgraph, i, node, fn: seen.append(f"after {node.op}"),
    )
    f = function([c, x, y], if_else(c, Counted("a")(x), Counted("b")(y)), mode=mode)
    f(1, [1.0], [1.0])
    choice = "IfElse{view=False}"
    assert seen == [f"before {choice}", "before a", "after a", f"after {choice}"]


def test_profiles_count_what_was_run():
    a, b = Counted("a"), Counted("b")
    f = function([c, x, y], if_else(c, a(x), b(y)), mode="reference", profile=True)
    for condition in (1, 1, 0):
        f(condition, [1.0], [1.0])
    calls = {str(cost.node.op): cost.calls for cost in f.profile.by_node()}
    assert (calls["a"], calls["b"], calls["IfElse{view=False}"]) == (2, 1, 3)
    assert f.profile.calls == 3
    assert f.profile.peak_memory > 0


def test_threads_and_recursion():
    class Again(Op):
        """f(x - 1), for a factorial."""

        __props__ = ()

        def make_node(self, v):
            return Apply(self, [v], [v.type()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = f(inputs[0])

    again = Again()(x - 1)
    f = function([x], if_else(x[0] > 0, again * x, pt.ones_like(x)), mode="reference")
    found = {}

    def call(n):
        found[n] = f([float(n)]).tolist()

    threads = [threading.Thread(target=call, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {0: [1.0], 1: [1.0], 2: [2.0], 3: [6.0], 4: [24.0], 5: [120.0]}


def test_random_graphs_give_what_eager_calls_give(repeats):
    """Graphs with views, overwriting and choices."""
    for seed in range(repeats(12, 1000)):
        rng = np.random.default_rng(seed)
        conditions = pt.bvector("conditions")
        values = [x + 0, y + 0, x * y]
        for _ in range(14):
            one, two = (values[i] for i in rng.integers(len(values), size=2))
            choice = rng.integers(6)
            if choice <= 1:
                condition = conditions[int(rng.integers(3))] + (one.sum() * 0).astype("int8")
                values.append(IfElse(view=bool(choice))(condition, one, two))
            elif choice == 2:
                values.append(one[::-1])
            else:
                values.append(pt.add(one, two) if choice == 3 else pt.sin(one))
        outputs = [IfElse()(conditions[0], values[-1], values[-2]), values[-3]]
        reference = phintys.get_mode("reference")
        modes = [
            phintys.get_mode("native"),
            *(reference.clone(backend=ReferenceBackend(allow_gc=gc)) for gc in (True, False)),
        ]
        eager, *lazy = (
            function([conditions, x, y], outputs, mode=mode, on_unused_input="ignore")
            for mode in modes
        )
        assert all(f.vm.is_lazy for f in lazy)
        for _ in range(4):
            given = rng.integers(2, size=3).astype("int8"), *rng.normal(size=(2, 3))
            expected = eager(*given)
            for f in lazy:
                np.testing.assert_allclose(f(*given), expected, rtol=1e-10, atol=1e-12)
