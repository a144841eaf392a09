"""Errors are of the classes that programs of the old packages catch."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import phintys.tensor as pt
from phintys import function
from phintys._base import errors
from phintys.compat import install, uninstall
from phintys.compat.exceptions import _WIDER, NAMES, narrow, widen
from phintys.compat.names import PACKAGES

_RAISED = {
    "a text for a number": (ValueError, lambda T, x, m: x.type.filter("abc")),
    "an object of no type": (NotImplementedError, lambda T, x, m: T.as_tensor_variable(object())),
    "an index of floats": (TypeError, lambda T, x, m: x[x]),
    "a float as an index": (TypeError, lambda T, x, m: x[1.5]),
    "ranks to join": (TypeError, lambda T, x, m: T.join(0, x, m)),
    "ranks to stack": (TypeError, lambda T, x, m: T.stack([x, m])),
    "a rank to write": (TypeError, lambda T, x, m: T.set_subtensor(x[:2], m)),
    "a dimension twice": (ValueError, lambda T, x, m: m.dimshuffle(0, 0)),
    "a length": (ValueError, lambda T, x, m: T.get_vector_length(x)),
    "complex numbers": (NotImplementedError, lambda T, x, m: T.mod(T.zvector(), x)),
    "a cost that is a vector": (TypeError, lambda T, x, m: T.grad(x, x)),
    "a range to a vector": (AssertionError, lambda T, x, m: T.arange(x)),
    "a batch of scalars": (TypeError, lambda T, x, m: T.batched_dot(T.dscalar(), m)),
}
"""What is wrong -> what the old packages raise, and a line that does it."""


@pytest.mark.parametrize("fault", _RAISED)
def test_what_old_programs_catch_is_raised(fault, theano):
    expected, line = _RAISED[fault]
    with pytest.raises(errors.PhintysError) as caught:
        line(import_module("theano.tensor"), pt.dvector("x"), pt.dmatrix("m"))
    assert isinstance(caught.value, expected)


def test_errors_of_calls_are_those_that_old_programs_catch(theano):
    x = pt.dvector("x")
    f = function([x], pt.specify_shape(x, (4,)))
    with pytest.raises(AssertionError):
        f(np.ones(3))


def test_states_that_change_their_dtype_are_value_errors(aesara):
    start = pt.iscalar("start")
    with pytest.raises(ValueError, match="changes between steps"):
        aesara.scan(lambda state: state + 0.5, outputs_info=[start], n_steps=3)


def test_a_constant_without_elements_has_no_value(theano):
    tensor = import_module("theano.tensor")
    with pytest.raises(tensor.basic.EmptyConstantError) as caught:
        tensor.get_scalar_constant_value(pt.constant(np.zeros(0)))
    assert isinstance(caught.value, tensor.NotScalarConstantError)


@pytest.mark.parametrize("package", PACKAGES)
def test_names_of_errors_are_classes_to_catch_and_to_raise(package):
    install(package)
    try:
        for module, names in NAMES.items():
            if module not in PACKAGES[package]:
                continue
            home = import_module(f"{package}.{module}")
            for name in names:
                cls = getattr(home, name)
                assert issubclass(cls, Exception), (module, name)
                assert isinstance(cls("said"), cls)
    finally:
        uninstall(package)


def test_every_module_of_errors_is_one_of_a_package():
    assert not [one for one in NAMES if not any(one in modules for modules in PACKAGES.values())]


def test_classes_are_as_before_when_no_package_is_installed():
    before = {cls: cls.__mro__ for cls in _WIDER}
    install("theano")
    install("aesara")
    uninstall("theano")
    assert all(issubclass(cls, more) for cls, more in _WIDER.items())
    uninstall("aesara")
    assert {cls: cls.__mro__ for cls in _WIDER} == before


def test_widening_twice_is_undone_once():
    before = {cls: cls.__mro__ for cls in _WIDER}
    widen()
    widen()
    narrow()
    assert {cls: cls.__mro__ for cls in _WIDER} == before
