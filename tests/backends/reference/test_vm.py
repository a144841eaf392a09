"""The virtual machine: storage and compute maps, freeing, reuse, checks of Ops, order, threads."""

import gc
import sys
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phintys._base.config import config
from phintys._base.errors import MethodNotDefinedError, OpContractError, ShapeError
from phintys.backends.base import Backend, get_backend, register_backend
from phintys.backends.reference import VM, ReferenceBackend
from phintys.graph import Apply, Constant, FunctionGraph, Op, Type, generic
from phintys.tensor.type import TensorType

vector = TensorType("float64", (None,))
scalar = TensorType("float64", ())


class Call(Op):
    """Computes its outputs by a function of the values; every variable is of one Type."""

    def __init__(self, function, type_=vector, outputs=1, **attributes):
        self.function = function
        self.type = type_
        self.number = outputs
        self.__dict__.update(attributes)

    def make_node(self, *inputs):
        return Apply(self, inputs, [self.type() for _ in range(self.number)])

    def perform(self, node, inputs, output_storage):
        results = self.function(*inputs)
        if self.number == 1:
            results = [results]
        for cell, result in zip(output_storage, results, strict=True):
            cell[0] = result

    def __str__(self):
        return self.__dict__.get("name", "Call")


add = Call(np.add, name="add")
neg = Call(np.negative, name="neg")
mul = Call(np.multiply, name="mul")


def link(inputs, outputs, **options):
    return VM(FunctionGraph(inputs, outputs, clone=False), **options)


# ---- values --------------------------------------------------------------------------------------


@st.composite
def programs(draw):
    """A graph, and the same computation on values."""
    variables = [vector("x"), vector("y"), Constant(vector, np.array([1.0, -2.0]))]
    functions = [lambda x, y: x, lambda x, y: y, lambda x, y: np.array([1.0, -2.0])]
    for _ in range(draw(st.integers(1, 20))):
        op = draw(st.sampled_from([add, neg, mul]))
        places = [draw(st.integers(0, len(variables) - 1)) for _ in range(1 if op is neg else 2)]
        variables.append(op(*(variables[place] for place in places)))
        below = [functions[place] for place in places]
        functions.append(
            lambda x, y, op=op, below=below: op.function(*(one(x, y) for one in below))
        )
    wanted = draw(st.lists(st.integers(0, len(variables) - 1), min_size=1, max_size=4))
    return variables[:2], [variables[i] for i in wanted], [functions[i] for i in wanted]


@given(programs(), st.booleans(), st.lists(st.floats(-3, 3), min_size=4, max_size=4))
def test_values(program, allow_gc, numbers):
    inputs, outputs, functions = program
    vm = link(inputs, outputs, allow_gc=allow_gc)
    for shift in (0.0, 1.0):  # the second call may reuse what the first left
        x, y = np.array(numbers[:2]) + shift, np.array(numbers[2:])
        results = vm([x, y])
        for result, function in zip(results, functions, strict=True):
            np.testing.assert_array_equal(result, function(x, y))


def test_no_nodes():
    x = vector("x")
    five = Constant(scalar, 5.0)
    value = np.zeros(2)
    assert link([x], [])([value]) == []
    results = link([x], [x, five, x])([value])
    assert results[0] is value
    assert results[1] == 5.0


def test_a_long_chain(repeats):
    x = vector("x")
    y = x
    for _ in range(repeats(10_000, 100_000)):
        y = neg(y)
    np.testing.assert_array_equal(link([x], [y])([np.ones(2)])[0], np.ones(2))


# ---- storage_map and compute_map -----------------------------------------------------------------


class Watching(Op):
    """Copies its input, and notes what the maps hold while it runs."""

    def __init__(self):
        self.seen = []

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def make_thunk(self, node, storage_map, compute_map, no_recycling, impl=None):
        self.maps = storage_map, compute_map
        self.no_recycling, self.impl = list(no_recycling), impl

        def thunk():
            (x,), (y,) = node.inputs, node.outputs
            self.seen.append({variable: cell[0] for variable, cell in compute_map.items()})
            storage_map[y][0] = storage_map[x][0].copy()
            compute_map[y][0] = 1

        return thunk


@pytest.mark.parametrize("allow_gc", [True, False])
def test_compute_map_says_0_1_or_2(allow_gc):
    watching = Watching()
    x, c = vector("x"), Constant(vector, np.ones(1))
    a = add(x, c)
    b = watching(a)
    d = neg(b)
    vm = link([x], [d], allow_gc=allow_gc)
    for _ in range(2):
        watching.seen.clear()
        vm([np.ones(1)])
        assert watching.seen == [{x: 1, c: 1, a: 1, b: 0, d: 0}]
    after = {variable: cell[0] for variable, cell in vm.compute_map.items()}
    freed = 2 if allow_gc else 1
    assert after == {x: 1, c: 1, a: freed, b: freed, d: 1}


def test_thunks_get_the_maps_the_outputs_that_must_be_new_and_impl():
    watching, inner = Watching(), Watching()
    x = vector("x")
    y = inner(x)
    z = watching(y)
    vm = link([x], [z], allow_gc=False)
    assert watching.maps[0] is vm.storage_map
    assert watching.maps[1] is vm.compute_map
    assert watching.no_recycling == [z]
    assert inner.no_recycling == []
    assert watching.impl == "py"


def test_the_older_make_thunk_without_impl():
    class Older(Watching):
        def make_thunk(self, node, storage_map, compute_map, no_recycling):
            return super().make_thunk(node, storage_map, compute_map, no_recycling)

    x = vector("x")
    np.testing.assert_array_equal(link([x], [Older()(x)])([np.ones(2)])[0], np.ones(2))


def test_make_thunk_set_on_an_instance():
    op = Op()
    op.make_node = lambda x: Apply(op, [x], [x.type()])

    def make_thunk(node, storage_map, compute_map, no_recycling, impl=None):
        def thunk():
            storage_map[node.outputs[0]][0] = storage_map[node.inputs[0]][0] + 1
            compute_map[node.outputs[0]][0] = True

        return thunk

    op.make_thunk = make_thunk
    x = vector("x")
    np.testing.assert_array_equal(link([x], [op(x)])([np.ones(2)])[0], [2.0, 2.0])


def test_a_lazy_thunk_finds_all_inputs_computed():
    class Choose(Op):
        def make_node(self, *inputs):
            return Apply(self, inputs, [inputs[1].type()])

        def make_thunk(self, node, storage_map, compute_map, no_recycling, impl=None):
            def thunk():
                for index, variable in enumerate(node.inputs):
                    if not compute_map[variable][0]:
                        return [index]
                which = 1 if storage_map[node.inputs[0]][0] else 2
                storage_map[node.outputs[0]][0] = storage_map[node.inputs[which]][0].copy()
                compute_map[node.outputs[0]][0] = 1
                return []

            thunk.lazy = True
            return thunk

    c, x = generic("c"), vector("x")
    vm = link([c, x], [Choose()(c, x, neg(x))])
    assert vm([True, np.ones(1)])[0] == [1.0]
    assert vm([False, np.ones(1)])[0] == [-1.0]


# ---- memory --------------------------------------------------------------------------------------


class Recorder(Op):
    """Doubles its input into what the cell holds, if it can, and notes what it held."""

    def __init__(self, **attributes):
        self.held = []
        self.__dict__.update(attributes)

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        (x,), (cell,) = inputs, output_storage
        self.held.append(cell[0])
        if cell[0] is not None and cell[0].shape == x.shape:
            np.multiply(x, 2.0, out=cell[0])
        else:
            cell[0] = x * 2.0


def test_intermediate_results_are_freed_after_their_last_use():
    alive = []
    references = []

    def remember(x):
        result = x + 1.0
        references.append(weakref.ref(result))
        alive.append([reference() is not None for reference in references])
        return result

    count = Call(remember)
    x = vector("x")
    y = x
    for _ in range(4):
        y = count(y)
    link([x], [y], allow_gc=True)([np.ones(3)])
    assert alive[-1] == [False, False, True, True]
    alive.clear()
    references.clear()
    vm = link([x], [y], allow_gc=False)
    vm([np.ones(3)])
    assert alive[-1] == [True, True, True, True]
    vm.free()
    gc.collect()
    assert [reference() is not None for reference in references] == [False] * 4


def test_unused_outputs_are_freed():
    references = []

    def two(x):
        results = x + 1.0, x + 2.0
        references.append(weakref.ref(results[1]))
        return results

    seen = []
    x = vector("x")
    y = Call(two, outputs=2)(x)[0]
    z = Call(lambda y: seen.append(references[0]()) or y + 1.0)(y)
    link([x], [z], allow_gc=True)([np.ones(3)])
    assert seen == [None]


def test_storage_is_reused_between_calls_only_without_gc():
    for allow_gc in (True, False):
        first, last = Recorder(), Recorder()
        x = vector("x")
        vm = link([x], [last(first(x))], allow_gc=allow_gc)
        one = vm([np.ones(2)])[0]
        two = vm([np.ones(2)])[0]
        assert (first.held[1] is not None) is not allow_gc
        assert last.held == [None, None]  # it was handed out
        assert one is not two
        assert not np.shares_memory(one, two)


@pytest.mark.parametrize("attribute", ["view_map", "destroy_map"])
def test_memory_that_leaves_through_a_view_is_not_reused(attribute):
    source = Recorder()
    alias = Call(lambda x: x[::-1], **{attribute: {0: [0]}})
    x = vector("x")
    vm = link([x], [alias(alias(source(x)))], allow_gc=False)
    first = vm([np.array([1.0, 2.0])])[0]
    vm([np.array([5.0, 6.0])])
    np.testing.assert_array_equal(first, [2.0, 4.0])
    assert source.held == [None, None]


def test_cells_of_views_are_empty_since_their_memory_is_not_theirs():
    viewer = Recorder(view_map={0: [0]})
    x = vector("x")
    vm = link([x], [neg(viewer(neg(x)))], allow_gc=False)
    vm([np.ones(2)])
    vm([np.ones(2)])
    assert viewer.held == [None, None]


def test_values_of_the_caller_are_not_kept():
    x = vector("x")
    vm = link([x], [neg(x)], allow_gc=False)
    value = np.ones(3)
    reference = weakref.ref(value)
    result = weakref.ref(vm([value])[0])
    del value
    gc.collect()
    assert reference() is None
    assert result() is None


def test_after_an_error_nothing_is_kept_and_the_next_call_works():
    def fail_on_negative(x):
        if x[0] < 0:
            raise ValueError("negative")
        return x + 1.0

    x = vector("x")
    vm = link([x], [neg(Call(fail_on_negative)(neg(x)))], allow_gc=False)
    value = np.ones(2)
    reference = weakref.ref(value)
    with pytest.raises(ValueError, match="negative"):
        vm([value])
    del value
    gc.collect()
    assert reference() is None
    np.testing.assert_array_equal(vm([-np.ones(2)])[0], [-2.0, -2.0])


# ---- order ---------------------------------------------------------------------------------------


def iadd(x, y):
    x += y
    return x


add_inplace = Call(iadd, destroy_map={0: [0]}, name="add_inplace")


@pytest.mark.parametrize("allow_gc", [True, False])
def test_a_value_is_read_before_it_is_overwritten(allow_gc):
    x, y = vector("x"), vector("y")
    r1 = neg(x)
    r2 = add_inplace(x, y)
    r3 = neg(x)
    r4 = neg(r2)
    vm = link([x, y], [r4, r2, r3, r1], allow_gc=allow_gc)
    for _ in range(2):
        results = vm([np.array([1.0]), np.array([2.0])])
        assert [float(result[0]) for result in results] == [-3.0, 3.0, -1.0, -1.0]


# ---- the contract of Ops -------------------------------------------------------------------------


class Double(Type):
    def filter(self, value, strict=False, allow_downcast=None):
        if strict and not isinstance(value, float):
            raise TypeError("Expected a float!")
        return float(value)

    def __repr__(self):
        return "double"


double = Double()


def storing(function):
    """Return an Op whose perform is ``function(output_storage, inputs)``."""
    op = Op()
    op.name = "storing"

    def make_node(x):
        return Apply(op, [x], [x.type()])

    op.make_node = make_node
    op.perform = lambda node, inputs, output_storage: function(output_storage, inputs)
    return op


def exchange_cell(storage, inputs):
    storage[0] = [inputs[0]]


def drop_cell(storage, inputs):
    del storage[0]


def add_cell(storage, inputs):
    storage[0][0] = inputs[0].copy()
    storage.append([None])


def resize_cell(storage, inputs):
    storage[0][:] = [inputs[0], inputs[0]]


def empty_cell(storage, inputs):
    storage[0].clear()


def store(value):
    def perform(storage, inputs):
        storage[0][0] = value

    return perform


@pytest.mark.parametrize(
    ("perform", "rule"),
    [
        (exchange_cell, "exchanged a cell"),
        (drop_cell, "leave the list of output_storage"),
        (add_cell, "leave the list of output_storage"),
        (resize_cell, "must not resize .* now has length 2"),
        (empty_cell, "must not resize .* now has length 0"),
        (lambda storage, inputs: None, "put nothing into"),
        (store(np.ones(1, "float32")), "must put a value of type .* dtype float32"),
        (store(np.ones((1, 1))), r"shape \(1, 1\)"),
        (store([1.0]), r"\[1.0\] of type builtins.list"),
        (store(1.0), "1.0 of type builtins.float"),
        (store("text"), "'text' of type builtins.str"),
    ],
)
@pytest.mark.parametrize("allow_gc", [True, False])
def test_a_broken_rule_of_perform_is_named(perform, rule, allow_gc):
    x = vector("x")
    y = storing(perform)(x)
    vm = link([x], [neg(y)], allow_gc=allow_gc)
    for _ in range(2):
        with pytest.raises(OpContractError, match=rule) as caught:
            vm([np.ones(1)])
        assert str(caught.value).startswith("storing.perform")
        note = "\n".join(caught.value.__notes__)
        assert "y = storing(perform)(x)" in note
        assert "a mistake in the Op itself" in note


def test_a_broken_rule_of_perform_with_several_outputs():
    x = vector("x")
    op = Call(lambda x: (x + 1.0, "no"), outputs=2, name="two")
    with pytest.raises(OpContractError, match=r"output_storage\[1\]\[0\], got 'no'"):
        link([x], op(x))([np.ones(1)])


@pytest.mark.parametrize("value", [2, "2", None, np.ones(2)])
def test_values_of_users_types_are_checked_too(value):
    x = double("x")
    with pytest.raises(OpContractError, match="a value of type double"):
        link([x], [storing(store(value))(x)])([1.0])


def test_a_numpy_scalar_becomes_a_0d_array():
    x = scalar("x")
    result = link([x], [Call(lambda x: x * 2, scalar)(x)])([np.array(3.0)])[0]
    assert isinstance(result, np.ndarray)
    assert result == 6.0
    with pytest.raises(OpContractError, match="float32"):
        link([x], [Call(lambda x: np.float32(2), scalar)(x)])([np.array(3.0)])


@pytest.mark.parametrize(
    ("make_thunk", "rule"),
    [
        (lambda *args, **kwargs: None, "must return a function without arguments, got None"),
        (lambda *args, **kwargs: lambda: None, "did not mark output 0 as computed"),
        (lambda *args, **kwargs: lambda: [0], "lazy thunk may return"),
    ],
)
def test_a_broken_rule_of_make_thunk_is_named(make_thunk, rule):
    op = Call(np.negative, name="broken", make_thunk=make_thunk)
    x = vector("x")
    with pytest.raises(OpContractError, match=rule) as caught:
        link([x], [op(x)])([np.ones(1)])
    assert "broken.make_thunk" in str(caught.value)


def test_an_error_of_make_thunk_comes_when_linking():
    def make_thunk(*args, **kwargs):
        raise ValueError("no compiler")

    x = vector("x")
    y = Call(np.negative, make_thunk=make_thunk)(x)
    with pytest.raises(ValueError, match="no compiler") as caught:
        link([x], [y])
    assert "test_vm.py" in caught.value.__notes__[0]


def test_an_op_without_perform():
    op = Op()
    op.name = "lazybones"
    x = vector("x")
    y = Apply(op, [x], [vector()]).outputs[0]
    with pytest.raises(MethodNotDefinedError, match="lazybones has no perform"):
        link([x], [y])([np.ones(1)])


def test_debug_perform_is_used_in_debug_mode_only():
    op = Call(lambda x: x + 1.0)
    op.debug_perform = lambda node, inputs, storage: storage[0].__setitem__(0, inputs[0] + 100.0)
    x = vector("x")
    assert link([x], [op(x)])([np.ones(1)])[0] == [2.0]
    assert link([x], [op(x)], debug=True)([np.ones(1)])[0] == [101.0]


# ---- errors --------------------------------------------------------------------------------------


def failure(error, *values, type_=vector):
    """Return the notes of an error raised by a node on the given values."""

    def fail(*inputs):
        raise error

    inputs = [type_(name) for name in "xyz"[: len(values)]]
    y = Call(fail, type_, name="failing")(*inputs)
    with pytest.raises(type(error)) as caught:
        link(inputs, [y])(list(values))
    assert caught.value is error
    return "\n".join(caught.value.__notes__)


def test_an_error_names_the_node_its_line_and_its_inputs():
    note = failure(ValueError("bad"), np.arange(3.0), np.arange(2000.0)[::2])
    for part in (
        "While computing failing(x, y)",
        "y = Call(fail, type_, name=",
        "0 'x', Vector(float64, shape=(?,)): array of dtype float64, shape (3,)",
        "value [0., 1., 2.]",
        "shape (1000,), strides (16,)",
        "Hint: look at the shapes (3,) and (1000,)",
    ):
        assert part in note
    assert note.count("value [") == 1  # long ones are not shown


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (MemoryError(), "the inputs take 32 bytes"),
        (ShapeError("said already"), None),
        (KeyError("x"), "exception_verbosity"),
    ],
)
def test_hints(error, hint):
    note = failure(error, np.zeros(2), np.zeros(2))
    assert (hint in note) if hint else ("Hint" not in note)


def test_inputs_that_are_no_arrays_are_described():
    note = failure(KeyError(), 1.5, type_=double)
    assert "1.5 of type builtins.float" in note


def test_high_verbosity_tells_where_the_inputs_come_from():
    x = vector("x")
    below = neg(x)  # the line below
    vm = link([x], [Call(lambda y: y.missing, name="failing")(below)])
    with (
        config.change_flags(exception_verbosity="high"),
        pytest.raises(AttributeError) as caught,
    ):
        vm([np.ones(1)])
    assert "# the line below" in caught.value.__notes__[0]


# ---- threads and recursion -----------------------------------------------------------------------


def test_eight_threads_share_one_program():
    inside = threading.Barrier(8, timeout=20)
    wait = Call(lambda x: inside.wait() * 0.0 + x)  # all are inside at once
    x = vector("x")
    vm = link([x], [add(wait(neg(x)), x), neg(x)], allow_gc=False)
    problems = []

    def work(number):
        for repeat in range(5):
            value = np.full(3, float(number + 10 * repeat))
            zero, negative = vm([value])
            if np.any(zero != 0.0) or np.any(negative != -value):
                problems.append((number, repeat))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


def test_a_program_may_call_itself():
    def factorial(n):
        return n * vm([n - 1.0])[0] if n[0] > 1.0 else np.ones_like(n)

    x = vector("x")
    below = add(x, Constant(vector, np.zeros(1)))
    vm = link([x], [add(Call(factorial)(below), neg(below)), below], allow_gc=False)
    # f(n) = n f(n-1) - n
    expected = 0.0
    for n in range(1, 31):
        expected = (n * expected if n > 1 else 1.0) - n
        result, given_back = vm([np.array([float(n)])])
        assert result[0] == expected
        assert given_back[0] == n
    assert sys.getrecursionlimit() > 0


# ---- watching ------------------------------------------------------------------------------------


def test_after_node_sees_every_node_with_its_values():
    seen = []
    x = vector("x")
    y = add(neg(x), x)

    def watch(node, inputs, outputs):
        seen.append((str(node.op), [float(v[0]) for v in inputs], float(outputs[0][0])))

    link([x], [y], after_node=watch)([np.array([2.0])])
    assert seen == [("neg", [2.0], -2.0), ("add", [-2.0, 2.0], 0.0)]


def test_an_error_of_after_node_is_told_about_the_node():
    def watch(node, inputs, outputs):
        raise FloatingPointError("seen")

    x = vector("x")
    with pytest.raises(FloatingPointError) as caught:
        link([x], [neg(x)], after_node=watch)([np.ones(1)])
    assert "While computing neg(x)" in caught.value.__notes__[0]


def test_measurements_of_every_node():
    class Profiler:
        def watch(self, measurements):
            self.measurements = measurements

    profiler = Profiler()
    x = vector("x")
    vm = link([x], [add(neg(x), x)], profiler=profiler)
    vm([np.ones(1)])
    vm([np.ones(1)])
    steps = profiler.measurements.steps
    assert {step.label: step.calls for step in steps} == {"neg": 2, "add": 2}
    assert all(step.seconds > 0 for step in steps)
    assert [event.step for event in profiler.measurements.events] == [0, 1, -1, 0, 1, -1]


# ---- the registry --------------------------------------------------------------------------------


def test_backends_are_known_by_name():
    backend = get_backend("reference")
    assert isinstance(backend, ReferenceBackend)
    assert isinstance(backend, Backend)
    assert get_backend(backend) is backend


@pytest.mark.parametrize("wrong", ["refrence", "", None, 3, object()])
def test_wrong_backends(wrong):
    with pytest.raises(ValueError, match="backend"):
        get_backend(wrong)
    with pytest.raises(ValueError, match="backend"):
        register_backend("x", wrong)


@pytest.mark.parametrize("allow_gc", [True, False])
def test_allow_gc_follows_the_configuration_when_linking(allow_gc):
    x = vector("x")
    fgraph = FunctionGraph([x], [neg(x)])
    with config.change_flags(allow_gc=allow_gc):
        assert ReferenceBackend().link(fgraph).allow_gc is allow_gc
    assert ReferenceBackend(allow_gc=allow_gc).link(fgraph).allow_gc is allow_gc


# ---- programs of the contract --------------------------------------------------------------------


class HiddenBuffer(Op):
    """The contract's example of a hidden output: a buffer that is kept for larger sums."""

    default_output = 0

    def __init__(self):
        self.allocations = 0

    def make_node(self, x, y):
        return Apply(self, [x, y], [x.type.make_variable(), x.type.make_variable()])

    def perform(self, node, inputs, output_storage):
        (x, y), (z, buffer) = inputs, output_storage
        if z[0] is None or buffer[0] is None or x.size > buffer[0].size:
            self.allocations += 1
            buffer[0] = np.empty(x.size * 2)
        z[0] = buffer[0][: x.size]
        np.add(x, y, out=z[0])


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.booleans(), st.booleans())
def test_a_hidden_output_as_state(sizes, allow_gc, handed_out):
    op = HiddenBuffer()
    x, y = vector("x"), vector("y")
    z = op(x, y)
    vm = link([x, y], [z if handed_out else neg(neg(z))], allow_gc=allow_gc)
    results = [vm([np.full(size, 1.0 * i), np.ones(size)])[0] for i, size in enumerate(sizes)]
    for i, (size, result) in enumerate(zip(sizes, results, strict=True)):
        np.testing.assert_array_equal(result, np.full(size, i + 1.0))
    if allow_gc or handed_out:
        assert op.allocations == len(sizes)
    else:
        assert op.allocations <= 1 + sum(size > sizes[0] for size in sizes)


def test_a_type_with_eq_but_no_hash():
    class Unhashable(Double):
        def __eq__(self, other):
            return type(self) is type(other)

        __hash__ = None

    one, other = Unhashable(), Unhashable()
    x = one("x")
    y = Call(lambda x: x * 2, other)(x)
    assert link([x], [y])([2.0]) == [4.0]
