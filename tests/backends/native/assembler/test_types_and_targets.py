"""Types of values, targets, and the option that chooses one."""

import doctest
import pickle
import threading

import numpy as np
import pytest

from phintys._base.config import Config, config
from phintys._base.errors import ConfigError, DtypeError
from phintys.backends.native.assembler import builder, module, operations, target, types
from phintys.backends.native.assembler.math import constants, registry
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.assembler.types import FLOAT32, FLOAT64, INT64, PTR, type_of


@pytest.mark.parametrize(
    ("dtype", "lanes", "text", "kind", "suffix"),
    [
        ("bool", 1, "i1", "b", "i1"),
        ("int8", 16, "<16 x i8>", "i", "v16i8"),
        ("uint64", 4, "<4 x i64>", "u", "v4i64"),
        ("float16", 8, "<8 x i16>", "h", "v8i16"),
        (np.float32, 1, "float", "f", "f32"),
        (np.dtype("f8"), 8, "<8 x double>", "f", "v8f64"),
        ("ptr", 2, "<2 x ptr>", "p", "v2p0"),
        ("complex64", 2, "", "c", "v2"),
    ],
)
def test_a_type_is_one_object(dtype, lanes, text, kind, suffix):
    type = type_of(dtype, lanes)
    assert (type.text, type.kind, type.lanes, type.suffix) == (text, kind, lanes, suffix)
    assert type is type_of(dtype, lanes) is type_of(dtype).of(lanes)
    assert pickle.loads(pickle.dumps(type)) is type


def test_a_type_is_one_object_for_threads_that_make_it_at_once(monkeypatch):
    together, made, found = threading.Barrier(2, timeout=60), types.MachineType.__init__, []

    def slow(self, *arguments):
        together.wait()  # until the other thread makes the type too
        made(self, *arguments)

    monkeypatch.setattr(types.MachineType, "__init__", slow)
    threads = [
        threading.Thread(target=lambda: found.append(type_of("float64", 19))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] is found[1] is type_of("float64", 19)


def test_relations_of_types():
    four = FLOAT64.of(4)
    assert four.integer is INT64.of(4)
    assert four.mask is type_of("bool", 4)
    assert four.like("float32") is FLOAT32.of(4)
    assert type_of("complex64", 4).part is FLOAT32.of(4)
    assert FLOAT64.part is FLOAT64
    assert repr(type_of("complex128", 2)) == "<2 x complex128>"
    assert PTR.itemsize == 8


@pytest.mark.parametrize("dtype", ["longdouble", "O", "S3", "M8[s]"])
def test_dtypes_without_native_code(dtype):
    if np.dtype(dtype) in {np.dtype("f8"), np.dtype("c16")}:
        pytest.skip("long double is float64 here")
    with pytest.raises(DtypeError, match="no native code for dtype"):
        type_of(dtype)


@pytest.mark.parametrize(
    ("name", "lanes", "fma"),
    [
        ("x86-64", 2, False),
        ("x86-64-v2", 2, False),
        ("x86-64-v3", 4, True),
        ("x86-64-v4", 8, True),
        ("aarch64", 2, True),
    ],
)
def test_named_targets(name, lanes, fma):
    target = Target.named(name)
    assert target.lanes(FLOAT64) == target.lanes(type_of("complex128")) == lanes
    assert target.lanes(FLOAT32) == 2 * lanes
    assert target.lanes(type_of("bool")) == 8 * lanes
    assert target.has_fma is fma
    assert Target.named(name) is target
    if target.triple.startswith("x86_64"):
        assert f'"prefer-vector-width"="{64 * lanes}"' in target.attributes
    else:
        assert target.attributes == "nounwind"


def test_host_and_option():
    host = Target.host()
    assert host.vector_bytes in {16, 32, 64}
    assert Target.named("host") is host
    assert Config.native_target.default == "host"
    with config.change_flags(native_target="x86-64-v2"):
        assert Target.configured() is Target.named("x86-64-v2")
    assert host.machine().handle


def test_unknown_target():
    with pytest.raises(ConfigError, match=r"'x86-64-v3'.*got 'pentium'"):
        Target.named("pentium")
    with pytest.raises(ConfigError, match="native_target takes"):
        config.native_target = "pentium"


@pytest.mark.docstrings
@pytest.mark.parametrize(
    "part",
    [builder, constants, module, operations, registry, target, types],
    ids=lambda m: m.__name__,
)
def test_examples(part):
    result = doctest.testmod(part)
    assert result.attempted
    assert result.failed == 0
