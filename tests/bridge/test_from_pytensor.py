"""Graphs of PyTensor, converted: variables, shared values, callbacks, and errors."""

import doctest
import gc
import importlib
import pickle
import pkgutil

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytensor.typed_list
import pytest
from pytensor.compile.builders import OpFromGraph
from pytensor.graph import Apply, Op

import phintys
from phintys.bridge import pytensor as bridge
from phintys.bridge import requirement
from phintys.bridge.pytensor import callbacks, convert_op, from_pytensor

MODULES = [
    found.name for found in pkgutil.walk_packages(bridge.__path__, "phintys.bridge.pytensor.")
]


@pytest.mark.parametrize("name", ["phintys.bridge.pytensor", *MODULES])
def test_the_examples_of(name):
    module = importlib.import_module(name)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert not doctest.testmod(module, optionflags=options).failed
    assert module.__doc__
    assert all(hasattr(module, each) for each in getattr(module, "__all__", ()))


class Tripled(Op):
    """Three times its input, with no counterpart."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = 3 * inputs[0]

    def pullback(self, inputs, outputs, grads):
        return [3 * grads[0]]


def test_inputs_keep_their_names_dtypes_and_static_shapes():
    x = pt.tensor("x", shape=(2, None, 1), dtype="float32")
    ours = from_pytensor(x)
    assert (ours.name, ours.type.dtype, ours.type.shape) == ("x", "float32", (2, None, 1))


def test_variables_that_are_known_stand_for_pytensors():
    x, ours = pt.dvector("x"), phintys.tensor.dvector("ours")
    known = {x: ours}
    y = from_pytensor(x + 1, known)
    assert phintys.function([ours], y)([1.0]).tolist() == [2.0]
    assert len(known) > 1


def test_a_value_set_on_either_side_is_seen_by_both():
    theirs = pytensor.shared(np.ones(2), "w")
    w, total = from_pytensor([theirs, theirs.sum()])
    f = phintys.function([], total)
    theirs.set_value(np.array([2.0, 3.0]))
    assert f() == 5.0
    w.set_value(np.array([1.0, 0.5]))
    assert theirs.get_value().tolist() == [1.0, 0.5]
    assert pytensor.function([], theirs.sum(), mode="FAST_COMPILE")() == 1.5


def test_default_updates_are_converted():
    theirs = pytensor.shared(1.0, "count")
    with pytest.warns(DeprecationWarning, match="default_update"):
        theirs.default_update = theirs + 1
    f = phintys.function([], from_pytensor(theirs * 10))
    assert [f().item(), f().item()] == [10.0, 20.0]
    assert theirs.get_value() == 3.0


def test_an_op_without_a_counterpart_is_a_callback_with_pytensors_gradient():
    x = pt.dvector("x")
    ours, y = from_pytensor([x, (Tripled()(x) ** 2).sum()])
    assert callbacks(y) == {"Tripled": 1}
    f = phintys.function([ours], [y, phintys.grad(y, ours)])
    value, gradient = f([1.0, 2.0])
    assert value == 45.0
    assert gradient.tolist() == [18.0, 36.0]


def test_the_collector_is_paused_while_a_graph_is_converted():
    seen = []

    class Kept(Tripled):
        """Tells its conversion apart."""

    @convert_op.register(Kept)
    def _kept(op, node, x):
        seen.append(gc.isenabled())
        return 3 * x

    from_pytensor(Kept()(pt.dvector()))
    assert seen == [False]
    assert gc.isenabled()


def test_a_callback_in_an_inner_graph():
    x, row = pt.dvector("x"), pt.dvector("row")
    inner = OpFromGraph([row], [Tripled()(row) + 1])
    ours, y = from_pytensor([x, inner(x)])
    assert phintys.function([ours], y)([1.0, 2.0]).tolist() == [4.0, 7.0]


def test_graphs_with_callbacks_are_pickled():
    x = pt.dvector("x")
    ours, y = from_pytensor([x, Tripled()(x) + 1])
    f = phintys.function([ours], y)
    twin = pickle.loads(pickle.dumps(f))
    assert twin([1.0, 2.0]).tolist() == f([1.0, 2.0]).tolist() == [4.0, 7.0]


def test_a_long_graph_needs_no_recursion():
    x = y = pt.dscalar("x")
    for _ in range(3000):
        y = pt.sin(y)
    ours, out = from_pytensor([x, y])
    assert sum(1 for _ in phintys.graph.traversal.applys_between([ours], [out])) == 3000


def test_errors_name_the_line_of_the_users_program():
    x, y = pt.dvectors("x", "y")
    total = x + y  # this line
    *ours, out = from_pytensor([x, y, total])
    f = phintys.function(ours, out)
    with pytest.raises(ValueError, match="# this line"):
        f([1.0, 2.0], [1.0, 2.0, 3.0])


def test_checks_are_kept():
    x = pt.dscalar("x")
    ours, y = from_pytensor([x, pytensor.raise_op.Assert("x is negative")(x, x >= 0)])
    f = phintys.function([ours], y)
    assert f(1.0) == 1.0
    with pytest.raises(AssertionError, match="x is negative"):
        f(-1.0)


def test_a_type_without_a_counterpart_is_an_error():
    several = pytensor.typed_list.TypedListType(pt.dvector)("several")
    wanted = r"no Type for PyTensor's .*TypedListType.*convert_type.register\(TypedListType\)"
    with pytest.raises(TypeError, match=wanted):
        from_pytensor(several)
    with pytest.raises(TypeError, match=wanted):
        pytensor.function([several], several, mode="PHINTYS")


def test_what_is_not_of_pytensor_is_an_error():
    with pytest.raises(TypeError, match="expected a variable of PyTensor, or a list of them, got"):
        from_pytensor([1.0])
    with pytest.raises(TypeError, match="takes an Op"):
        convert_op("exp", None)


def test_missing_and_old_packages_are_named(monkeypatch):
    monkeypatch.setattr(requirement, "version", lambda package: "2.38.0")
    with pytest.raises(ImportError, match=r"needs PyTensor 3.3 or newer, found 2.38.0.*install"):
        requirement.check("pytensor")

    def missing(package):
        raise requirement.PackageNotFoundError(package)

    monkeypatch.setattr(requirement, "version", missing)
    with pytest.raises(ModuleNotFoundError, match=r"needs PyTensor 3.3 or newer, none found"):
        requirement.check("pytensor")
