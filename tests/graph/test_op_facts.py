"""Facts about Ops, as attributes of their classes."""

import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import phintys.tensor as pt
from phintys import Apply, Mode, Op, function
from phintys.passes import PIPELINES
from phintys.tensor.known import known_int, known_sizes

FLAGS = (
    "is_copy",
    "raises_only_for_shapes",
    "reuses_operands",
    "static_value_by_types",
    "writes_first_input",
)
METHODS = ("inplace_twins", "rows_read", "static_value", "undone")


class Halve(Op):
    """An Op of a user that has a twin."""

    __props__ = ("inplace",)

    def __init__(self, inplace=False):
        self.inplace = inplace
        if inplace:
            self.destroy_map = {0: [0]}

    def inplace_twins(self, node):
        return () if self.inplace else (Halve(inplace=True),)

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        x = inputs[0] if self.inplace else inputs[0].copy()
        x /= 2
        output_storage[0][0] = x


class Length(Op):
    """An Op of a user whose value is known where the length of a vector is."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [pt.lscalar()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.array(len(inputs[0]))

    def static_value(self, node, known):
        return node.inputs[0].type.shape[0]

    static_value_by_types = True


def _classes():
    room = importlib.import_module("phintys.tensor")
    for module in pkgutil.walk_packages(room.__path__, "phintys.tensor."):
        importlib.import_module(module.name)
    found, stack = set(), [Op]
    while stack:
        cls = stack.pop()
        if cls not in found:
            found.add(cls)
            stack += cls.__subclasses__()
    return sorted(found, key=lambda cls: cls.__module__ + cls.__qualname__)


def test_facts_are_of_the_kinds_that_the_contract_states():
    for cls in _classes():
        for name in FLAGS:
            assert isinstance(getattr(cls, name), bool), (cls, name)
        for name in METHODS:
            method = getattr(cls, name)
            assert method is None or inspect.isfunction(method), (cls, name)
        assert not cls.static_value_by_types or cls.static_value is not None, cls


def test_a_plain_op_states_no_facts():
    op = Op()
    assert not any(getattr(op, name) for name in (*FLAGS, *METHODS))


@pytest.mark.parametrize("pipeline", ["full", "light"])
@pytest.mark.parametrize("backend", ["native", "reference"])
def test_an_op_of_a_user_names_its_twins(backend, pipeline):
    x = pt.dvector("x")
    mode = Mode(backend, PIPELINES[pipeline].including("inplace"))
    f = function([x], Halve()(Halve()(x)), mode)
    assert [node.op for node in f.maker.fgraph.toposort()] == [Halve(), Halve(inplace=True)]
    value = np.array([4.0, 8.0])
    assert f(value).tolist() == [1.0, 2.0]
    assert value.tolist() == [4.0, 8.0]


def test_native_code_needs_no_twins_of_ops_that_reuse_operands():
    x = pt.dvector("x")
    f = function([x], pt.exp(x + 1), "native")
    assert not any(node.op.destroy_map for node in f.maker.fgraph.toposort())


def test_sizes_follow_the_static_values_of_ops_of_users():
    x = pt.tensor("x", shape=(3,))
    n = Length()(x) * 2
    assert known_int(n) == 6
    assert known_int(Length()(pt.dvector("y"))) is None
    assert known_sizes(pt.stack([n, Length()(pt.dvector("y"))])) == (6, None)
    assert pt.zeros((n, 2)).type.shape == (6, 2)


def test_a_vector_with_several_entries_is_not_known_as_a_number():
    v = pt.as_tensor_variable([pt.lscalar("a"), 2])
    squeezed = pt.DimShuffle(1, ())(pt.specify_shape(pt.lvector("v"), (1,)))
    assert known_int(squeezed) is None
    assert known_sizes(v) == (None, 2)
