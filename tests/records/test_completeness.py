"""No Op without a record."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import phintys.tensor as pt
from phintys.graph import Op
from phintys.scalar import SCALAR_OPS, Composite, ScalarOp
from phintys.tensor import constructors, dtypes, introspection, linalg, signal, special

ROOMS = ("phintys.tensor", "phintys.gradient", "phintys.compile", "phintys.sparse")

# What is no expression: conversions, types, and the way in.
NO_FUNCTIONS = {
    *constructors.__all__,
    *dtypes.__all__,
    *introspection.__all__,
    "__array_namespace_info__",
    "as_tensor_variable",
    "broadcast_shapes",  # of shapes, not of tensors
    "broadcast_sizes",  # of a list of shapes, by broadcast_arrays
    "constant",
    "from_dlpack",
    "get_underlying_scalar_constant_value",
    *("grad", "hessian", "jacobian"),  # shown here, and tested with derivatives
    "register_conversion",
    "shared",
    "tensor_from_scalar",
}


# Ops that are in no graph: this one stands for products in the walks of derivatives, which
# tests/gradient/test_spectral.py tests.
IN_NO_GRAPH = {"_Rebuilt"}


def _modules(room):
    package = importlib.import_module(room)
    yield package
    for found in pkgutil.walk_packages(package.__path__, f"{room}."):
        yield importlib.import_module(found.name)


def _op_classes():
    found = {
        thing
        for room in ROOMS
        for module in _modules(room)
        for thing in vars(module).values()
        if isinstance(thing, type) and issubclass(thing, Op) and thing.__module__.startswith(ROOMS)
    }
    bases = {base for cls in found for base in cls.__mro__[1:]}
    applied = {cls for cls in found - bases - {Op} if cls.__qualname__ not in IN_NO_GRAPH}
    return sorted(applied, key=lambda cls: cls.__qualname__)


@pytest.mark.parametrize("op_class", _op_classes(), ids=lambda cls: cls.__qualname__)
def test_every_op_class_has_a_record(op_class, records):
    covered = {op if isinstance(op, type) else type(op) for record in records for op in record.ops}
    assert any(issubclass(cls, op_class) for cls in covered), (
        f"Add a record with {op_class.__qualname__} among its ops."
    )


def test_the_classes_are_found():
    names = {cls.__name__ for cls in _op_classes()}
    assert {"Elemwise", "Reduce", "Dot", "Subtensor", "GradClip", "DeepCopy"} <= names


@pytest.mark.parametrize("name", SCALAR_OPS)
def test_every_scalar_op_has_a_record(name, records):
    assert any(SCALAR_OPS[name] in record.ops for record in records)


def test_composite_has_a_record(records):
    ops = [op for record in records for op in record.ops if isinstance(op, ScalarOp)]
    assert any(isinstance(op, Composite) for op in ops)


def _is_function(thing):
    return callable(thing) and not isinstance(thing, type)


@pytest.mark.parametrize(
    "module", [pt, linalg, signal, special], ids=lambda module: module.__name__
)
def test_every_function_is_called_in_a_record(module, records):
    """It is the build of a record, is named in the files here, or is another name of such a one."""
    source = "".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("*.py"))
    named = set(re.findall(r"\bpt\.((?:linalg\.|signal\.|special\.)?\w+)", source))
    called = [record.build for record in records]
    for name in named:
        thing = pt
        for part in name.split("."):
            thing = getattr(thing, part)
        called.append(thing)
    missing = [
        name
        for name in module.__all__
        if name not in NO_FUNCTIONS
        and _is_function(thing := getattr(module, name))
        and not any(thing is one for one in called)
    ]
    assert not missing


def test_names_are_distinct(records):
    names = [record.name for record in records]
    assert len(names) == len(set(names))
