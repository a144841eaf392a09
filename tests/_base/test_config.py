import contextvars
import doctest
import io
import os
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phintys._base import config as module
from phintys._base.config import OPTIONS, Config, Option
from phintys._base.errors import ConfigError, PhintysError


@pytest.fixture
def config():
    return Config()


def in_new_thread(function):
    """Return what ``function`` returns in a thread of its own."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def test_defaults_are_taken_by_their_own_options(config):
    for name, option in OPTIONS.items():
        assert getattr(config, name) == option.default
        assert option.check(option.default) == option.default
        assert option.doc.endswith(".")


def test_the_options_of_the_design_exist():
    assert set(OPTIONS) == {
        "allow_gc",
        "cache_dir",
        "cache_megabytes",
        "cxx",
        "compute_test_value",
        "exception_verbosity",
        "floatX",
        "mode",
        "native_level",
        "native_target",
        "num_threads",
        "object_cache",
        "on_unused_input",
        "optimizer_verbose",
        "parameter_checks",
        "pool_megabytes",
        "loop_megabytes",
        "product_crossover",
        "profile",
        "progress",
        "traceback_limit",
        "verify_graphs",
        "warn_float64",
    }


def test_options_know_their_place_in_the_table():
    assert isinstance(Config.floatX, Option)
    assert Config.floatX.name == "floatX"
    assert OPTIONS["floatX"] is Config.floatX


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("floatX", "float16"),
        ("mode", "any name"),
        ("allow_gc", False),
        ("num_threads", 3),
        ("cache_dir", "somewhere"),
        ("exception_verbosity", "high"),
    ],
)
def test_assignment(config, name, value):
    setattr(config, name, value)
    assert getattr(config, name) == value
    assert in_new_thread(lambda: getattr(config, name)) == value


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "floatX",
            "flot32",
            r"config\.floatX takes one of .*; got 'flot32' \(did you mean 'float32'\?\)",
        ),
        ("floatX", 32, r"takes one of .*; got 32 of type int\."),
        ("exception_verbosity", "?", r"takes 'low' or 'high'; got '\?'\.$"),
        ("allow_gc", 1, r"takes True or False; got 1 of type int\."),
        ("allow_gc", "False", r"takes True or False; got 'False' of type str\."),
        ("num_threads", -1, r"takes an int, 0 or larger; got -1\."),
        ("num_threads", True, r"takes an int, 0 or larger; got True of type bool\."),
        ("num_threads", 2.0, r"got 2\.0 of type float\."),
        ("mode", "", r"takes the name of a mode.*; got ''\."),
        ("cache_dir", b"x", r"got b'x' of type bytes\. Write str\(path\)"),
        ("compute_test_value", "warn", r"takes 'off'; got 'warn'\. Phintys has no test values"),
    ],
)
def test_refused_values_leave_the_option_alone(config, name, value, message):
    with pytest.raises(ConfigError, match=message) as caught:
        setattr(config, name, value)
    assert isinstance(caught.value, PhintysError)
    assert isinstance(caught.value, ValueError)
    with (
        pytest.raises(ConfigError, match=message),
        config.change_flags(**{"profile": True, name: value}),
    ):
        pytest.fail("the block was entered")
    assert getattr(config, name) == OPTIONS[name].default
    assert not config.profile


def change(config):
    with config.change_flags(floatx="float32"):
        pytest.fail("the block was entered")


@pytest.mark.parametrize(
    "use",
    [lambda config: config.floatx, lambda config: setattr(config, "floatx", "float32"), change],
    ids=["read", "assign", "change_flags"],
)
def test_unknown_names(config, use):
    message = r"config has no option 'floatx'\. Did you mean 'floatX'\?"
    with pytest.raises(AttributeError, match=message) as caught:
        use(config)
    assert caught.value.name == "floatx"


def test_unknown_name_near_to_none(config):
    with pytest.raises(AttributeError, match=r"'zzz'\. config\.describe\(\) lists all"):
        _ = config.zzz
    assert not hasattr(config, "__array__")


def test_change_flags_nests_and_restores(config):
    with config.change_flags(floatX="float32", num_threads=2):
        with config.change_flags(floatX="float16"):
            assert (config.floatX, config.num_threads) == ("float16", 2)
        assert (config.floatX, config.num_threads) == ("float32", 2)
    assert (config.floatX, config.num_threads) == ("float64", 0)


def fail_inside(config):
    with config.change_flags(floatX="float32"):
        raise KeyError(config.floatX)


def test_change_flags_restores_after_an_error(config):
    with pytest.raises(KeyError, match="float32"):
        fail_inside(config)
    assert config.floatX == "float64"


def test_change_flags_decorates(config):
    @config.change_flags(floatX="float16")
    def read(depth):
        return [config.floatX, *(read(depth - 1) if depth else [])]

    assert read(2) == ["float16"] * 3  # re-entrant
    assert read.__name__ == "read"
    assert config.floatX == "float64"


def test_assignment_inside_a_block(config):
    with config.change_flags(floatX="float32"), config.change_flags(profile=True):
        config.floatX = "float16"  # overridden here: ends with the block
        config.num_threads = 5  # not overridden: stays
        assert config.floatX == "float16"
        assert in_new_thread(lambda: config.floatX) == "float64"
        assert in_new_thread(lambda: config.num_threads) == 5
    assert config.floatX == "float64"
    assert config.num_threads == 5


def test_a_block_sees_what_others_assign_to_other_options(config):
    with config.change_flags(profile=True):
        in_new_thread(lambda: setattr(config, "floatX", "float32"))
        assert config.floatX == "float32"


def test_threads_do_not_see_each_other(config):
    both_inside = threading.Barrier(2, timeout=30)

    def read(dtype):
        with config.change_flags(floatX=dtype):
            both_inside.wait()
            return config.floatX

    results = {}
    threads = [
        threading.Thread(target=lambda dtype=dtype: results.update({dtype: read(dtype)}))
        for dtype in ("float32", "float16")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {"float32": "float32", "float16": "float16"}
    assert config.floatX == "float64"


def test_a_context_taken_inside_a_block_keeps_its_values(config):
    with config.change_flags(floatX="float32"):
        context = contextvars.copy_context()
    assert context.run(lambda: config.floatX) == "float32"
    assert config.floatX == "float64"


def test_instances_are_independent(config):
    other = Config("floatX=float32")
    with config.change_flags(floatX="float16"):
        assert other.floatX == "float32"


@pytest.mark.parametrize(
    ("flags", "values"),
    [
        ("", {}),
        (" , ", {}),
        ("floatX=float32,mode=reference", {"floatX": "float32", "mode": "reference"}),
        (" floatX = float32 , ", {"floatX": "float32"}),
        ("allow_gc=False,profile=1", {"allow_gc": False, "profile": True}),
        ("num_threads=4", {"num_threads": 4}),
        ("cache_dir=", {"cache_dir": ""}),
        ("cache_dir=/a=b", {"cache_dir": "/a=b"}),
    ],
)
def test_flags(flags, values):
    config = Config(flags)
    for name, option in OPTIONS.items():
        assert getattr(config, name) == values.get(name, option.default)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("floatX", r"cannot read 'floatX'\. An entry is written option=value"),
        ("floatx=float32", r"cannot read 'floatx=float32'\..*Did you mean 'floatX'\?"),
        ("mode=native,floatX=int8", r"cannot read 'floatX=int8'\. config\.floatX takes"),
        ("floatX=float32,floatX=float16", r"'floatX=float16'\. floatX is set twice"),
        ("num_threads=many", r"takes an int, 0 or larger; got 'many'"),
        ("num_threads=-2", r"got -2\."),
        ("num_threads=--2", r"got '--2'"),
        ("allow_gc=maybe", r"takes True or False; got 'maybe'"),
        ("=3", r"config has no option ''"),
    ],
)
def test_malformed_flags(flags, message):
    with pytest.raises(ConfigError, match=rf"^PHINTYS_FLAGS: .*{message}"):
        Config(flags)


@given(st.text(alphabet="floatX32=,allow_gc \t1-", max_size=30))
def test_any_flags_are_read_or_explained(flags):
    try:
        config = Config(flags)
    except ConfigError as error:
        assert str(error).startswith("PHINTYS_FLAGS: cannot read ")  # noqa: PT017 - may pass, too
    else:
        for name, option in OPTIONS.items():
            option.check(getattr(config, name))


@pytest.mark.parametrize(
    ("flags", "code", "output"),
    [("floatX=float32", 0, "float32"), ("floatX=x", 1, "PHINTYS_FLAGS: cannot read 'floatX=x'")],
)
def test_environment_is_read_at_import(flags, code, output):
    run = subprocess.run(
        [sys.executable, "-c", f"from {module.__name__} import config; print(config.floatX)"],
        env={**os.environ, "PHINTYS_FLAGS": flags},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == code, run.stderr
    assert output in run.stdout + run.stderr


def test_describe_and_repr(config, capsys):
    config.num_threads = 7
    config.describe()
    printed = capsys.readouterr().out
    for name, option in OPTIONS.items():
        assert f"{name} = {getattr(config, name)!r}" in printed
        assert option.doc in printed
        assert f"{name}={getattr(config, name)!r}" in repr(config)
    file = io.StringIO()
    config.describe(file)
    assert file.getvalue() == printed


def test_examples():
    assert doctest.testmod(module).failed == 0
