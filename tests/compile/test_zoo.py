"""A zoo of Ops and rules that break one promise each, and what DebugMode calls the fault.

Each specimen is a function that returns inputs, outputs, values for the inputs, and perhaps a mode;
its decorator tells the error, and words that its message must have.
"""

import sys
from dataclasses import dataclass

import numpy as np
import pytest

import phintys.tensor as pt
from phintys._base import errors
from phintys.backends.native.lower.graph import lower_node
from phintys.backends.native.lower.lowering import lowers
from phintys.compile import DebugMode, function
from phintys.graph import Apply, Op, Type, generic
from phintys.passes import PIPELINES
from phintys.rewriting import Pass, Pipeline, WalkInOrder, graph_rewriter, node_rewriter
from phintys.tensor.type import TensorType

ZOO = []


@dataclass
class Specimen:
    build: object
    error: type
    words: str


def specimen(error, words):
    def decorate(build):
        ZOO.append(pytest.param(Specimen(build, error, words), id=build.__name__))
        return build

    return decorate


class Broken(Op):
    """An Op whose ``perform`` is ``action(inputs, output_storage)``."""

    def __init__(self, action, *outputs, **attributes):
        self.action = action
        self.output_types = outputs
        self.__dict__.update(attributes)

    def make_node(self, *inputs):
        types = self.output_types or [inputs[0].type]
        return Apply(self, list(inputs), [type_() for type_ in types])

    def perform(self, node, inputs, output_storage):
        self.action(inputs, output_storage)


VECTOR = TensorType("float64", (None,))
MATRIX = TensorType("float64", (None, None))
NUMBERS = np.array([3.0, 1.0, 2.0])
TABLE = np.arange(6.0).reshape(2, 3)


def on_vector(action, *outputs, value=NUMBERS, **attributes):
    """Return a graph of a broken Op of one vector."""
    x = VECTOR("x")
    results = Broken(action, *outputs, **attributes)(x)
    return [x], results, [value]


def on_vectors(action, *outputs, **attributes):
    x, y = VECTOR("x"), VECTOR("y")
    results = Broken(action, *outputs, **attributes)(x, y)
    return [x, y], results, [NUMBERS, NUMBERS + 10]


def on_matrix(action, *outputs, **attributes):
    x = MATRIX("x")
    results = Broken(action, *outputs, **attributes)(x)
    return [x], results, [TABLE]


def storing(function):
    """Return an action that stores what a function of the inputs returns."""

    def action(inputs, storage):
        storage[0][0] = function(*inputs)

    return action


# ---- values that do not belong to their Types ----------------------------------------------------


@specimen(errors.InvalidValueError, r"value of type Vector\(float64.*float32")
def wrong_dtype():
    return on_vector(storing(lambda x: x.astype("float32")))


@specimen(errors.InvalidValueError, r"shape \(1, 3\)")
def wrong_rank():
    return on_vector(storing(lambda x: x[None].copy()))


@specimen(errors.InvalidValueError, r"shape=\(2,\).*shape \(3,\)")
def wrong_static_size():
    return on_vector(storing(lambda x: x + 1), TensorType("float64", (2,)))


@specimen(errors.InvalidValueError, r"list")
def a_list_for_an_array():
    return on_vector(storing(lambda x: x.tolist()))


@specimen(errors.InvalidValueError, r"builtins.float")
def a_python_float_for_an_array():
    return on_vector(storing(lambda x: float(x[0])), TensorType("float64", ()))


class Strange(np.ndarray):
    """Arrays with rules of their own."""


@specimen(errors.InvalidValueError, r"array of dtype float64, shape \(3,\)")
def a_subclass_of_arrays():
    return on_vector(storing(lambda x: x.copy().view(Strange)))


class Even(Type):
    __props__ = ()

    def filter(self, value, strict=False, allow_downcast=None):
        if isinstance(value, int) and value % 2 == 0:
            return value
        raise TypeError(f"expected an even int, got {value!r}")


@specimen(errors.InvalidValueError, r"Even.*7")
def an_odd_number_for_an_even_one():
    x = Even()("x")
    return [x], Broken(storing(lambda x: x + 1))(x), [6]


@specimen(errors.InvalidValueError, r"NaN or an infinity")
def infinity_from_finite_numbers():
    mode = DebugMode(check_isfinite=True)
    return *on_vector(storing(lambda x: x * np.inf)), mode


@specimen(errors.MissingOutputError, r"put nothing into output_storage\[0\]")
def stores_nothing():
    return on_vector(lambda inputs, storage: None)


@specimen(errors.MissingOutputError, r"put nothing into output_storage\[1\]")
def forgets_the_second_output():
    return on_vector(storing(lambda x: x + 1), VECTOR, VECTOR)


@specimen(errors.InvalidValueError, r"int64")
def wrong_dtype_while_debugging():
    def debug_perform(node, inputs, storage):
        storage[0][0] = np.arange(3)

    return on_vector(storing(lambda x: x + 1), debug_perform=debug_perform)


# ---- storage cells -------------------------------------------------------------------------------


@specimen(errors.BadStorage, r"length 2")
def resizes_a_cell():
    def action(inputs, storage):
        storage[0][0] = inputs[0] + 1
        storage[0].append(None)

    return on_vector(action)


@specimen(errors.BadStorage, r"length 0")
def empties_a_cell():
    return on_vector(lambda inputs, storage: storage[0].clear())


@specimen(errors.BadStorage, r"exchanged a cell")
def exchanges_a_cell():
    def action(inputs, storage):
        storage[0] = [inputs[0] + 1]

    return on_vector(action)


@specimen(errors.BadStorage, r"exchanged a cell")
def adds_a_cell():
    def action(inputs, storage):
        storage[0][0] = inputs[0] + 1
        storage.append([None])

    return on_vector(action)


@specimen(errors.BadStorage, r"same memory both times")
def keeps_hold_of_its_result():
    buffer = np.zeros(3)

    def action(inputs, storage):
        np.add(inputs[0], 1, out=buffer)
        storage[0][0] = buffer

    return on_vector(action)


class Unmarked(Broken):
    def make_thunk(self, node, storage_map, compute_map, no_recycling, impl=None):
        def thunk():
            storage_map[node.outputs[0]][0] = storage_map[node.inputs[0]][0] + 1

        return thunk


@specimen(errors.OpContractError, r"did not mark output 0 as computed")
def does_not_mark_its_output():
    x = VECTOR("x")
    return [x], Unmarked(None)(x), [NUMBERS]


# ---- destroy_map ---------------------------------------------------------------------------------


def overwrite(inputs, storage):
    inputs[0][...] += 1
    storage[0][0] = inputs[0].copy()


@specimen(errors.BadDestroyMap, r"changed its input 0 \(x\)(.|\n)*before:(.|\n)*after:")
def changes_its_input():
    return on_vector(overwrite)


@specimen(errors.BadDestroyMap, r"changed its input 1 \(y\).*destroy_map \{0: \[0\]\}")
def changes_another_input_than_it_says():
    def action(inputs, storage):
        inputs[1][0] = 7.0
        storage[0][0] = inputs[0] + 1

    return on_vectors(action, destroy_map={0: [0]})


@specimen(errors.BadDestroyMap, r"changed its input 0")
def changes_what_it_views():
    def action(inputs, storage):
        storage[0][0] = inputs[0]
        storage[0][0] += 1

    return on_vector(action, view_map={0: [0]})


@specimen(errors.BadDestroyMap, r"changed its input 0 \(x\) with previous storage")
def changes_its_input_given_storage():
    def action(inputs, storage):
        if storage[0][0] is not None:
            inputs[0][...] = 0
        storage[0][0] = np.ones(3)

    return on_vector(action)


@specimen(errors.BadDestroyMap, r"when it was strided|when it was negatively strided")
def changes_only_a_strided_input():
    def action(inputs, storage):
        storage[0][0] = inputs[0].copy()
        if not inputs[0].flags.c_contiguous:
            inputs[0][...] = 0

    return on_vector(action)


@specimen(errors.BadDestroyMap, r"changed its input 0 \(things\)")
def changes_a_list():
    things = generic("things")
    op = Broken(storing(lambda things: len(things) or things.append(1)), generic)
    op.action = lambda inputs, storage: storage[0].__setitem__(0, str(inputs[0].pop()))
    return [things], op(things), [[1, 2, 3]]


@specimen(errors.BadDestroyMap, r"names the input 1, and there are 1")
def destroys_an_input_that_is_not_there():
    return on_vector(storing(lambda x: x + 1), destroy_map={0: [1]})


@specimen(errors.BadDestroyMap, r"names the output 2, and there are 1")
def destroys_by_an_output_that_is_not_there():
    return on_vector(storing(lambda x: x + 1), destroy_map={2: [0]})


# ---- view_map ------------------------------------------------------------------------------------


@specimen(errors.BadViewMap, r"output 0 shares memory with its input 0 \(x\)")
def returns_its_input():
    return on_vector(storing(lambda x: x))


@specimen(errors.BadViewMap, r"view_map = \{0: \[0\]\}")
def returns_a_slice():
    return on_vector(storing(lambda x: x[::-1]))


@specimen(errors.BadViewMap, r"input 0")
def returns_a_transpose():
    return on_matrix(storing(lambda x: x.T))


@specimen(errors.BadViewMap, r"input 1 \(y\), which neither its view_map \{0: \[0\]\}")
def views_another_input_than_it_says():
    return on_vectors(storing(lambda x, y: y), view_map={0: [0]})


@specimen(errors.BadViewMap, r"input 0")
def views_its_input_sometimes():
    return on_vector(storing(lambda x: x if (x > 0).all() else np.maximum(x, 0)))


@specimen(errors.BadViewMap, r"outputs 0 and 1 share memory")
def two_outputs_in_one_memory():
    def action(inputs, storage):
        storage[0][0] = inputs[0] + 1
        storage[1][0] = storage[0][0][1:]

    return on_vector(action, VECTOR, VECTOR)


@specimen(errors.BadViewMap, r"output 1 shares memory with its input 0")
def a_second_output_views_what_the_first_overwrites():
    def action(inputs, storage):
        inputs[0][...] += 1
        storage[0][0] = storage[1][0] = inputs[0]

    return on_vector(action, VECTOR, VECTOR, destroy_map={0: [0]})


@specimen(errors.BadViewMap, r"names the input 3, and there are 1")
def views_an_input_that_is_not_there():
    return on_vector(storing(lambda x: x + 1), view_map={0: [3]})


@specimen(errors.BadViewMap, r"shares memory with its input 0 \(things\)")
def returns_the_very_list():
    things = generic("things")
    return [things], Broken(storing(lambda things: things))(things), [[1, 2]]


# ---- results that depend on more than the inputs ------------------------------------------------


@specimen(errors.UnreproducibleOutput, r"computed twice from the same inputs")
def draws_random_numbers():
    rng = np.random.default_rng(0)
    return on_vector(storing(lambda x: x + rng.normal(size=x.shape)))


@specimen(errors.UnreproducibleOutput, r"first:(.|\n)*second:")
def counts_its_calls():
    calls = []

    def count(x):
        calls.append(None)
        return x * len(calls)

    return on_vector(storing(count))


class TwoForms(Broken):
    def make_thunk(self, node, storage_map, compute_map, no_recycling, impl=None):
        def thunk():
            storage_map[node.outputs[0]][0] = storage_map[node.inputs[0]][0] + 2
            compute_map[node.outputs[0]][0] = 1

        return thunk


@specimen(errors.BadThunkOutput, r"its thunk: (.|\n)*perform: ")
def a_thunk_that_differs_from_perform():
    x = VECTOR("x")
    return [x], TwoForms(storing(lambda x: x + 1))(x), [NUMBERS]


class WrongNative(Broken):
    pass


@lowers(WrongNative)
def _lower_wrongly(op: WrongNative, node, lowering):
    sine = pt.sin(node.inputs[0]).owner
    lower_node(sine.op, sine, lowering)
    lowering.bind(node.outputs[0], lowering.view(sine.outputs[0]))


@specimen(errors.BadThunkOutput, r"Python:(.|\n)*native:")
def native_code_that_differs():
    x = VECTOR("x")
    return [x], WrongNative(storing(np.cos))(x), [NUMBERS]


@specimen(errors.BadThunkOutput, r"do not rely on strides")
def relies_on_strides():
    return on_matrix(storing(lambda x: x.ravel(order="K").cumsum()), VECTOR)


@specimen(errors.BadThunkOutput, r"has strides \(8, 16\) in Python and \(24, 8\) in native")
def strides_that_differ():
    x = MATRIX("x")
    mode = DebugMode(require_matching_strides=True)
    return [x], pt.exp(x), [np.asfortranarray(TABLE)], mode


# ---- storage that is offered ---------------------------------------------------------------------


@specimen(errors.BadPreallocatedOutput, r"previous cells")
def adds_to_what_was_there():
    def action(inputs, storage):
        (cell,) = storage
        if cell[0] is None or cell[0].shape != inputs[0].shape:
            cell[0] = np.zeros_like(inputs[0])
        cell[0] += inputs[0]

    return on_vector(action)


@specimen(errors.BadPreallocatedOutput, r"previous cells")
def trusts_what_was_there():
    def action(inputs, storage):
        if storage[0][0] is None:
            storage[0][0] = inputs[0] + 1

    return on_vector(action)


@specimen(errors.BadPreallocatedOutput, r"wrong_size cells")
def takes_any_shape():
    def action(inputs, storage):
        if storage[0][0] is None:
            storage[0][0] = np.empty_like(inputs[0])
        storage[0][0][: len(inputs[0])] = inputs[0] + 1

    return on_vector(action)


@specimen(errors.BadPreallocatedOutput, r"f_contiguous cells")
def takes_storage_for_contiguous():
    def action(inputs, storage):
        (x,), (cell,) = inputs, storage
        if cell[0] is None or cell[0].shape != x.shape:
            cell[0] = np.empty(x.shape)
        flat = cell[0].ravel()  # a copy, if it is not contiguous
        flat[:] = (x + 1).ravel()

    return on_matrix(action)


@specimen(errors.BadPreallocatedOutput, r"strided")
def writes_beside_its_storage():
    def action(inputs, storage):
        (x,), (cell,) = inputs, storage
        if cell[0] is None or cell[0].shape != x.shape:
            cell[0] = np.empty(x.shape)
        if cell[0].base is not None and cell[0].base.size > x.size:
            cell[0].base[...] = 0.0
        cell[0][...] = x + 1

    return on_vector(action)


@specimen(errors.BadPreallocatedOutput, r"negative cells")
def takes_strides_for_positive():
    def action(inputs, storage):
        (x,), (cell,) = inputs, storage
        if cell[0] is None or cell[0].shape != x.shape:
            cell[0] = np.empty(x.shape)
        backwards = cell[0].strides[0] < 0
        cell[0][...] = (x + 1)[::-1] if backwards else x + 1

    return on_vector(action)


# ---- infer_shape ---------------------------------------------------------------------------------


@specimen(errors.BadInferShape, r"\(3,\); its value has the shape \(4,\)")
def a_shape_that_is_too_small():
    return on_vector(
        storing(lambda x: np.append(x, 0.0)), infer_shape=lambda fgraph, node, shapes: shapes
    )


@specimen(errors.BadInferShape, r"\(2, 3\); its value has the shape \(3, 2\)")
def a_shape_that_is_not_transposed():
    return on_matrix(storing(lambda x: x.T.copy()), infer_shape=lambda fgraph, node, shapes: shapes)


@specimen(errors.BadInferShape, r"\(3,\); its value has the shape \(2,\)")
def a_shape_that_depends_on_values():
    return on_vector(storing(lambda x: x[x > 1]), infer_shape=lambda node, shapes: shapes)


@specimen(errors.OpContractError, r"must return a tuple of 1 sizes")
def a_shape_of_another_rank():
    return on_vector(storing(lambda x: x + 1), infer_shape=lambda fgraph, node, shapes: [(1, 2)])


# ---- rules ---------------------------------------------------------------------------------------


def mode_of(*rules, patience=1):
    passes = [Pass("wrong", WalkInOrder(rules, name="wrong"))]
    return DebugMode(Pipeline(passes), stability_patience=patience)


def wrong_rule(graph, replacement, *values, dtype="float64"):
    """Return a graph of vectors in which a rule puts something wrong in the place of all of it."""
    inputs = [TensorType(dtype, (None,))(name) for name in "xyz"[: len(values)]]
    output = graph(*inputs)
    root = output.owner.op

    @node_rewriter([root], name="wrong_rule")
    def rule(fgraph, node):
        """right -> wrong"""
        if node.outputs[0] is not fgraph.outputs[0]:
            return None
        return [replacement(*fgraph.inputs)]

    return inputs, output, [np.array(value, dtype) for value in values], mode_of(rule)


EQUATION = "" if sys.flags.optimize > 1 else r" \(right -> wrong\)"  # from the docstring
RULE = rf"The rule wrong_rule{EQUATION} of the pass 'wrong' changed a value"


@specimen(errors.BadRewrite, RULE + r"(.|\n)*old: (.|\n)*new: (.|\n)*was\n +Sub(.|\n)*became")
def swaps_operands():
    return wrong_rule(lambda x, y: x - y, lambda x, y: y - x, [1.0, 2.0], [3.0, 5.0])


@specimen(errors.BadRewrite, RULE)
def forgets_a_term():
    return wrong_rule(lambda x, y: x + y, lambda x, y: +x, [1.0], [3.0])


@specimen(errors.BadRewrite, RULE)
def zero_times_infinity():
    return wrong_rule(lambda x: x * 0.0, pt.zeros_like, [1.0, np.inf])


@specimen(errors.BadRewrite, RULE)
def zero_by_zero():
    return wrong_rule(lambda x: x / x, pt.ones_like, [1.0, 0.0])


@specimen(errors.BadRewrite, RULE)
def infinity_minus_infinity():
    return wrong_rule(lambda x: x - x, pt.zeros_like, [np.inf])


@specimen(errors.BadRewrite, RULE)
def the_root_of_a_square():
    return wrong_rule(lambda x: pt.sqrt(x * x), lambda x: +x, [2.0, -2.0])


@specimen(errors.BadRewrite, RULE)
def the_logarithm_of_a_square():
    return wrong_rule(lambda x: pt.log(x * x), lambda x: 2 * pt.log(x), [2.0, -2.0])


@specimen(errors.BadRewrite, RULE)
def a_loose_approximation():
    return wrong_rule(pt.tanh, lambda x: x - x**3 / 3, [0.1, 0.2])


@specimen(errors.BadRewrite, RULE)
def a_constant_that_is_cut_off():
    return wrong_rule(lambda x: x * np.pi, lambda x: x * 3.14159, [1.0, 2.0])


@specimen(errors.BadRewrite, RULE)
def integers_that_overflow():
    return wrong_rule(lambda x: (x + x) // np.int8(2), lambda x: +x, [100, 3], dtype="int8")


@specimen(errors.BadRewrite, RULE)
def forgets_to_truncate():
    return wrong_rule(lambda x: pt.cast(pt.cast(x, "int64"), "float64"), lambda x: +x, [1.5, 2.0])


@specimen(errors.BadRewrite, RULE)
def another_order():
    return wrong_rule(lambda x: pt.cumsum(x[::-1]), lambda x: pt.cumsum(x)[::-1], [1.0, 2.0])


@specimen(errors.BadRewrite, RULE)
def another_shape():
    return wrong_rule(lambda x: x + 1.0, lambda x: (x + 1.0)[:-1], [1.0, 2.0])


@specimen(errors.BadRewrite, RULE)
def a_comparison_that_forgets_nan():
    return wrong_rule(
        lambda x, y: pt.cast(pt.invert(pt.lt(x, y)), "float64"),
        lambda x, y: pt.cast(pt.ge(x, y), "float64"),
        [1.0, np.nan],
        [2.0, 0.0],
    )


@specimen(errors.BadRewrite, r"The new graph raises ShapeError")
def an_error_that_was_not_there():
    return wrong_rule(lambda x: x + 1.0, lambda x: x + pt.ones(7), [1.0, 2.0])


@specimen(errors.BadRewrite, r"wrong_rule(.|\n)*was\n +Add(.|\n)*became\n +x")
def the_first_of_two_wrong_steps():
    """What follows from the first mistake is not blamed."""
    x = VECTOR("x")

    @node_rewriter([pt.add], name="wrong_rule")
    def drop(fgraph, node):
        """x + 1 -> x"""
        return [node.inputs[0]]

    @node_rewriter([pt.exp])
    def harmless(fgraph, node):
        """exp(x) -> exp2(x * log2(e))"""
        return [pt.exp2(node.inputs[0] * np.log2(np.e))]

    return [x], pt.exp(x + 1.0) * 2.0, [NUMBERS], mode_of(drop, harmless)


@specimen(errors.BadRewrite, r"The rule by hand of the pass 'wrong' changed a value")
def a_pass_that_replaces_by_itself():
    @graph_rewriter
    def by_hand(fgraph):
        output = fgraph.outputs[0]
        fgraph.replace(output, output.owner.inputs[0], reason="by hand")

    x = VECTOR("x")
    return [x], pt.sin(x), [NUMBERS], DebugMode(Pipeline([Pass("wrong", by_hand)]))


class Scale(Op):
    """An Op that leaves out of ``__props__`` what tells its instances apart."""

    __props__ = ()

    def __init__(self, factor):
        self.factor = factor

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * self.factor


@specimen(errors.BadRewrite, r"The rule merge of the pass 'merge' changed a value")
def ops_that_only_look_equal():
    x = VECTOR("x")
    return [x], [Scale(2.0)(x), Scale(3.0)(x)], [NUMBERS], DebugMode(PIPELINES["full"])


@specimen(errors.DebugModeError, r"Scale|constant_folding")
def a_constant_that_changes():
    rng = np.random.default_rng(0)
    x = VECTOR("x")
    folded = Broken(storing(lambda c: c + rng.normal(size=3)))(pt.constant(NUMBERS))
    return [x], x + folded, [NUMBERS], DebugMode(PIPELINES["full"])


@specimen(errors.BadDestroyMap, r"InPlaceInSecret|destroy_map")
def a_rule_that_brings_in_a_secret_destroyer():
    x = VECTOR("x")

    @node_rewriter([pt.exp])
    def in_place(fgraph, node):
        """exp(x) -> exp_inplace(x)"""

        def action(inputs, storage):
            storage[0][0] = np.exp(inputs[0], out=inputs[0])

        return [Broken(action, view_map={0: [0]})(*node.inputs)]

    return [x], pt.exp(x * 2.0), [NUMBERS], mode_of(in_place)


@specimen(errors.StochasticOrder, r"two ways(.|\n)*the first time, and then")
def a_rule_that_remembers():
    x = VECTOR("x")
    seen = []

    @node_rewriter([pt.exp])
    def moody(fgraph, node):
        """exp(x) -> 1 / exp(-x), or the like"""
        if len(seen) > 1:
            return None
        seen.append(node)
        if len(seen) == 1:
            return [pt.true_div(1.0, pt.sinh(node.inputs[0]))]
        return [pt.cosh(node.inputs[0])]

    return [x], pt.exp(x), [NUMBERS], mode_of(moody)


@specimen(errors.IntegrityError, r"does not know")
def a_pass_that_breaks_the_graph():
    @graph_rewriter
    def sabotage(fgraph):
        fgraph.outputs[0].owner.inputs[0] = VECTOR("stranger")

    x = VECTOR("x")
    mode = DebugMode(Pipeline([Pass("sabotage", sabotage)]), stability_patience=0)
    return [x], pt.exp(x), [NUMBERS], mode


# ---- the visit -----------------------------------------------------------------------------------


@pytest.mark.parametrize("animal", ZOO)
def test_the_fault_is_found_and_named(animal):
    inputs, outputs, values, *mode = animal.build()
    before = [np.copy(value) for value in values]
    with pytest.raises(animal.error, match=animal.words) as caught:
        function(inputs, outputs, mode=mode[0] if mode else DebugMode(), accept_inplace=True)(
            *values
        )
    assert type(caught.value) is animal.error or animal.error is errors.DebugModeError
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    if animal.error is not errors.StochasticOrder:
        assert __file__ in told  # the line that made the node
    for value, old in zip(values, before, strict=True):
        np.testing.assert_array_equal(value, old)  # nothing happened to the caller's arrays


def test_the_zoo_is_large():
    assert len(ZOO) >= 60
