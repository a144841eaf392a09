"""Variable.eval: values, names, what is kept, threads."""

import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

from phintys._base.config import config
from phintys._base.errors import ArgumentError, MissingInputError, UnusedInputError
from phintys.compile import deep_copy
from phintys.graph import Constant
from phintys.graph.compiler import compile_graph
from phintys.graph.shared_variable import SharedVariable


@pytest.fixture
def counted(ops):
    """An Op that counts how often it was compiled, by its thunks."""
    op = ops.Call("counted", lambda x: x)
    op.compiled = 0
    original = type(op).make_thunk

    def make_thunk(*args, **kwargs):
        op.compiled += 1
        return original(op, *args, **kwargs)

    op.make_thunk = make_thunk
    return op


def test_values(ops):
    x, y = ops.double("x"), ops.double("y")
    z = ops.add(x, ops.mul(y, 10.0))
    assert z.eval({x: 1.0, y: 2.0}) == 21.0
    assert z.eval({"x": 1, "y": 2}) == 21.0
    assert z.eval({x: 1, "y": 2}) == 21.0
    assert x.eval({x: 3.0}) == 3.0
    assert ops.neg(Constant(ops.double, 3.0)).eval() == -3.0
    assert Constant(ops.double, 3.0).eval({}) == 3.0
    s = SharedVariable(ops.double, 5.0)
    assert ops.neg(s).eval() == -5.0
    s.set_value(6.0)
    assert ops.neg(s).eval() == -6.0


@pytest.fixture
def each_node_once():
    """Not DebugMode, which computes nodes in several ways."""
    with config.change_flags(mode="reference" if config.mode == "debug" else config.mode):
        yield


@pytest.mark.usefixtures("each_node_once")
def test_the_function_is_kept(ops, counted):
    x, y = ops.double("x"), ops.double("y")
    z = ops.add(counted(x), y)
    for value in range(3):
        z.eval({x: value, y: 1.0})
        z.eval({y: value, "x": 1.0})
    assert counted.compiled == 1
    z.eval({x: 1.0, y: 1.0}, mode="reference")
    z.eval({x: 1.0, y: 1.0}, mode="reference")
    assert counted.compiled == 2
    with config.change_flags(mode="NanGuardMode"):
        z.eval({x: 1.0, y: 1.0})
    assert counted.compiled == 3
    z.eval({y: 1.0}, givens={x: 1.0})
    z.eval({y: 1.0}, givens={x: 2.0})
    assert counted.compiled == 5  # not kept, since the option cannot be compared


def test_not_all_functions_are_kept(ops):
    x = ops.double("x")
    y = ops.neg(x)
    for number in range(40):
        y.eval({x: 1.0}, name=f"f{number}")
    assert len(y._compiled.functions) == 16


def test_the_variable_can_go(ops):
    x = ops.vector("x")
    y = ops.neg(x)
    y.eval({x: np.ones(2)})
    reference = weakref.ref(y)
    del y
    gc.collect()
    assert reference() is None


def test_what_is_kept_is_not_pickled_or_copied(ops):
    x = ops.vector("x")
    y = deep_copy(x)
    plain = len(pickle.dumps(y))
    y.eval({x: np.ones(2)})
    assert len(pickle.dumps(y)) < plain + 200
    for twin in (pickle.loads(pickle.dumps(y)), copy.deepcopy(y)):
        (leaf,) = twin.owner.inputs
        np.testing.assert_array_equal(twin.eval({leaf: np.ones(2)}), np.ones(2))
    assert "_compiled" not in y.clone().__dict__


def test_wrong_calls(ops):
    x, y = ops.double("x"), ops.double("y")
    z = ops.add(x, y)
    with pytest.raises(MissingInputError, match="variable y") as caught:
        z.eval({x: 1.0})
    assert "eval needs a value for each input" in caught.value.__notes__[0]
    with pytest.raises(ArgumentError, match="no input named 'q'; its inputs are x, y"):
        z.eval({"q": 1.0})
    with pytest.raises(ArgumentError, match="several inputs named 'x'"):
        ops.add(x, ops.double("x")).eval({"x": 1.0})
    with pytest.raises(ArgumentError, match="x is given twice"):
        z.eval({"x": 1.0, x: 1.0, y: 1.0})
    with pytest.raises(UnusedInputError, match="input y") as caught:
        ops.neg(x).eval({x: 1.0, y: 1.0})
    assert "on_unused_input='ignore'" in caught.value.__notes__[0]
    assert ops.neg(x).eval({x: 1.0, y: 1.0}, on_unused_input="ignore") == -1.0
    with pytest.raises(ArgumentError, match="eval takes a dict"):
        z.eval([1.0, 2.0])
    with pytest.raises(ArgumentError, match="got 1 of type int"):
        z.eval({1: 1.0})


def test_threads(ops):
    x = ops.vector("x")
    y = ops.neg(ops.neg(x))
    wrong = []

    def work(index):
        for repeat in range(10):
            value = np.full(5, float(index + repeat))
            if not np.array_equal(y.eval({x: value}), value):
                wrong.append(index)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_lies_below_can_compile(ops):
    x = ops.double("x")
    assert compile_graph([x], [ops.neg(x), x], mode="reference")(2.0) == [-2.0, 2.0]
    assert compile_graph([], [])() == []
