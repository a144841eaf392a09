"""Where native code is not possible, or not as wanted."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ConfigError
from phintys.backends.native import linking
from phintys.backends.native.assembler.records import Record
from phintys.backends.native.assembler.types import PTR
from phintys.backends.native.runtime import capi, support
from phintys.backends.native.runtime.capi import CApi, Unsupported, c_api, check_objects
from phintys.backends.reference import VM

WITHOUT_LLVMLITE = """
    import sys, warnings
    sys.modules["llvmlite"] = None
    import numpy as np
    import phintys, phintys.tensor as pt
    x = pt.dvector("x")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            f = phintys.function([x], x + 1.0, mode="native")
            print(f([1.0, 2.0]).tolist())
        print(len(caught), caught[0].category.__name__, caught[0].message)
"""


def test_without_llvmlite_the_reference_backend_answers(run_python):
    lines = run_python(WITHOUT_LLVMLITE).splitlines()
    assert lines[:3] == ["[2.0, 3.0]"] * 3
    assert lines[3].startswith("1 RuntimeWarning Functions are not compiled to native code: llvml")


@pytest.fixture
def forget():
    """Let what was found out once be found out again."""
    caches = (c_api, support.support, linking._problem)
    for one in caches:
        one.cache_clear()
    yield
    for one in caches:
        one.cache_clear()


def test_an_unknown_interpreter_is_noticed(forget, monkeypatch):
    monkeypatch.setattr(capi.sys.implementation, "name", "pypy")
    x = pt.dvector("x")
    with pytest.warns(RuntimeWarning, match="the interpreter is pypy"):
        f = phintys.function([x], x + 1.0, mode="native")
    assert isinstance(f.vm, VM)
    np.testing.assert_array_equal(f([1.0]), [2.0])
    phintys.function([x], x + 2.0, mode="native")  # one warning is enough


def test_a_python_without_gil_is_noticed(forget, monkeypatch):
    monkeypatch.setattr(capi.sys, "version", "3.14.0 free-threading build (main)")
    with pytest.raises(Unsupported, match="free-threaded"):
        c_api()


@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("data", "descr"),
        ("ndim", "flags"),
        ("dimensions", "strides"),
        ("strides", "dimensions"),
        ("base", "data"),
        ("descr", "base"),
        ("flags", "ndim"),
    ],
)
def test_another_layout_of_arrays_is_noticed(field, other):
    api = c_api()
    moved = Record({**api.array.fields, field: api.array.fields[other]})
    with pytest.raises(Unsupported, match=f"arrays keep their {field} elsewhere"):
        check_objects(CApi(api.functions, moved, api.list_items))


def test_another_layout_of_lists_and_larger_arrays_are_noticed():
    api = c_api()
    with pytest.raises(Unsupported, match="lists"):
        check_objects(CApi(api.functions, api.array, api.list_items - 8))
    larger = Record({**api.array.fields, "more": (PTR, 10_000)})
    with pytest.raises(Unsupported, match="smaller"):
        check_objects(CApi(api.functions, larger, api.list_items))


def test_code_for_another_cpu_is_refused(native):
    x = pt.dvector("x")
    elsewhere = "x86-64-v2" if native_is_arm() else "aarch64"
    with (
        phintys.config.change_flags(native_target=elsewhere),
        pytest.raises(ConfigError, match="cannot run such code"),
    ):
        phintys.function([x], x + 1.0, mode="native")


def native_is_arm():
    return linking.Target.host().triple.startswith(("aarch64", "arm64"))


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_levels_of_the_cpu(native, target):
    x = pt.dvector("x")
    value = np.linspace(-2, 2, 37)
    with phintys.config.change_flags(native_target=target):
        try:
            f = phintys.function([x], [pt.exp(x) + pt.sin(x), pt.tanh(x).sum()], mode="native")
        except ConfigError as error:
            pytest.skip(str(error))
    first, second = f(value)
    np.testing.assert_allclose(first, np.exp(value) + np.sin(value), rtol=1e-14)
    np.testing.assert_allclose(second, np.tanh(value).sum(), rtol=1e-13, atol=1e-14)


def test_explain_and_profile(native):
    x = pt.dvector("x")
    f = phintys.function([x], pt.exp(x) + 1.0, mode="native", name="example")
    assert "exp(" in f.explain()
    g = phintys.function([x], pt.exp(x) + 1.0, mode="reference")
    assert "Exp" in g.explain()
    profiled = phintys.function([x], pt.exp(x) + 1.0, mode="native", profile=True)
    np.testing.assert_allclose(profiled([0.0]), [2.0])
    assert profiled.profile is not None


def test_threads_can_be_limited(native):
    x = pt.dvector("x")
    f = phintys.function([x], pt.exp(x) * pt.sin(x), mode="native")
    value = np.linspace(-1, 1, 400_000)
    with phintys.config.change_flags(num_threads=1):
        alone = f(value)
    with phintys.config.change_flags(num_threads=7):
        np.testing.assert_array_equal(f(value), alone)
    np.testing.assert_array_equal(f(value), alone)
