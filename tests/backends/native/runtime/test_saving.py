"""Pickled and copied functions: code that comes along, and code that must not be trusted."""

import compileall
import copy
import gc
import os
import pickle
import shutil
import subprocess
import sys
import weakref
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import In, config
from phintys._base.errors import IndexingError
from phintys.backends.native import linking
from phintys.backends.native.runtime import function as module
from phintys.backends.native.runtime import saving
from phintys.backends.native.runtime.cache import object_cache

MODE = "native"
pytestmark = pytest.mark.usefixtures("native")

TABLE = np.arange(20_000.0)


def several_steps():
    """A function with kernels, BLAS, a callback (sorting), constants, updates and defaults."""
    x, y, n = pt.dvector("x"), pt.fmatrix("y"), pt.lscalar("n")
    s = phintys.shared(np.ones(3), name="s")
    known = pt.constant(TABLE)
    return phintys.function(
        [x, y, In(n, value=2)],
        [pt.sort(pt.exp(x)), x[n] + s, pt.dot(y, y.T), known, known[n] * 2, y, x.sum()],
        updates=[(s, s + x)],
        mode=MODE,
        name="several",
    )


def arguments():
    rng = np.random.default_rng(3)
    return rng.normal(size=3), rng.normal(size=(2, 4)).astype("float32")


@pytest.fixture
def not_compiled(monkeypatch):
    """Whatever lowers a graph in this test fails."""

    def refuse(*_):
        raise AssertionError("the graph is lowered")

    def begin():
        monkeypatch.setattr(module, "lower_program", refuse)
        monkeypatch.setattr(linking, "lower_program", refuse)

    return begin


def same(results, others):
    for one, other in zip(results, others, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    return True


def works_as(twin, f):
    assert type(type(twin).__call__).__name__ == "builtin_function_or_method"
    for args in (arguments(), arguments(), ([1, 2, 3], np.ones((2, 4), "float32"), 0)):
        assert same(twin(*args), f(*args))
    np.testing.assert_array_equal(twin.get_shared()[0].get_value(), f.get_shared()[0].get_value())
    with pytest.raises(IndexingError, match="index 3 is out of range"):
        twin(*arguments(), 3)
    return True


def test_the_code_comes_along(not_compiled):
    f = several_steps()
    pickled = pickle.dumps(f)
    not_compiled()
    assert works_as(pickle.loads(pickled), f)


def test_a_deep_copy_needs_no_compiler(not_compiled):
    f = several_steps()
    not_compiled()
    assert works_as(copy.deepcopy(f), f)


def test_a_large_constant_is_pickled_once():
    assert len(pickle.dumps(several_steps())) < 1.5 * TABLE.nbytes


def test_a_loaded_function_explains_and_pickles_itself(not_compiled):
    f = several_steps()
    twin = pickle.loads(pickle.dumps(f))
    assert twin.explain() == f.explain()
    again = pickle.dumps(pickle.loads(pickle.dumps(f)))
    not_compiled()
    assert same(pickle.loads(again)(*arguments()), f(*arguments()))


@pytest.fixture
def linked(monkeypatch):
    """How often a graph was linked."""
    calls = []
    original = module.NativeProgram.compiled.__func__

    def counted(cls, *args):
        calls.append(args)
        return original(cls, *args)

    monkeypatch.setattr(module.NativeProgram, "compiled", classmethod(counted))
    return calls


def test_code_of_another_user_or_machine_is_not_loaded(tmp_path, linked):
    pickled = pickle.dumps(several_steps())
    expected = several_steps()(*arguments())
    linked.clear()
    with config.change_flags(cache_dir=str(tmp_path)):
        assert same(pickle.loads(pickled)(*arguments()), expected)
        assert object_cache().statistics.foreign == 1
        assert len(linked) == 1
        # Now there is a secret, but another one.
        assert same(pickle.loads(pickled)(*arguments()), expected)
        assert object_cache().statistics.foreign == 2
        assert len(linked) == 2


@pytest.mark.parametrize("place", [0, 30, 60, 1000, -1])
def test_damaged_code_is_not_loaded(monkeypatch, linked, place):
    f = several_steps()
    saved = f.vm.saved()
    damaged = bytearray(saved.sealed)
    damaged[place] ^= 4
    monkeypatch.setattr(type(f.vm), "saved", lambda _: replace(saved, sealed=bytes(damaged)))
    pickled = pickle.dumps(f)
    linked.clear()
    before = object_cache().statistics.foreign
    assert same(pickle.loads(pickled)(*arguments()), f(*arguments()))
    assert object_cache().statistics.foreign == before + 1
    assert len(linked) == 1


def test_code_for_another_cpu_is_not_loaded(linked):
    with config.change_flags(native_target="one-lane"):
        pickled = pickle.dumps(several_steps())
    linked.clear()
    twin = pickle.loads(pickled)
    assert len(linked) == 1
    assert same(twin(*arguments()), several_steps()(*arguments()))


def test_code_of_another_version_is_not_loaded(monkeypatch, linked):
    pickled = pickle.dumps(several_steps())
    linked.clear()
    monkeypatch.setattr(saving, "_code_of_phintys", lambda: "another")
    pickle.loads(pickled)
    assert len(linked) == 1


def test_where_the_code_cannot_be_read_nothing_is_sealed_or_loaded(monkeypatch, linked):
    f = several_steps()
    pickled = pickle.dumps(f)
    monkeypatch.setattr(saving, "_code_of_phintys", lambda: None)
    assert f.vm.saved() is None
    linked.clear()
    assert same(pickle.loads(pickled)(*arguments()), f(*arguments()))
    assert len(linked) == 1


SAVES = """
    import pickle, sys
    import numpy as np
    import phintys, phintys.tensor as pt
    x = pt.dvector("x")
    f = phintys.function([x], pt.exp(x) * 2)
    sys.stdout.buffer.write(pickle.dumps(f))
"""
LOADS = """
    import pickle, sys
    import numpy as np
    import phintys
    from phintys.backends.native.runtime.cache import object_cache
    f = pickle.loads(sys.stdin.buffer.read())
    np.testing.assert_allclose(f(np.zeros(2)), [2.0, 2.0])
    print(phintys.__file__, object_cache().statistics.foreign)
"""


def archived(place, change=""):
    """Phintys in an archive, with something more in a module of the tensor room."""
    package = Path(phintys.__file__).parent
    with zipfile.ZipFile(place, "w") as archive:
        for path in package.rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            name = f"phintys/{path.relative_to(package).as_posix()}"
            archive.writestr(name, text + change if name == "phintys/tensor/elemwise.py" else text)
    return place


def compiled_only(place):
    """Phintys without sources: the files of its code alone."""
    archive = archived(place.with_suffix(".zip"))
    shutil.unpack_archive(archive, place)
    compileall.compile_dir(place, quiet=1, legacy=True, optimize=sys.flags.optimize)
    for path in place.rglob("*.py"):
        path.unlink()
    return place


@pytest.mark.stress
def test_code_without_files_is_told_from_other_code(python_command, tmp_path):
    def run(place, program, given=b""):
        flags = f"cache_dir={tmp_path / 'cache'}"
        done = subprocess.run(
            python_command(program),
            env={**os.environ, "PYTHONPATH": str(place), "PHINTYS_FLAGS": flags},
            input=given,
            capture_output=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    one = archived(tmp_path / "one.zip")
    other = archived(tmp_path / "other.zip", "# something else\n")
    bare = compiled_only(tmp_path / "bare")
    pickled = run(one, SAVES)
    for place, foreign in ((one, 0), (other, 1), (bare, 1)):
        where, _, count = run(place, LOADS, pickled).decode().rpartition(" ")
        assert where.startswith(str(place))
        assert int(count) == foreign
    assert run(bare, LOADS, run(bare, SAVES)).decode().split()[-1] == "0"


def test_without_a_cache_the_graph_is_pickled_alone(linked):
    with config.change_flags(object_cache=False):
        f = several_steps()
        assert f.vm.saved() is None
        pickled = pickle.dumps(f)
        linked.clear()
        assert same(pickle.loads(pickled)(*arguments()), f(*arguments()))
    assert len(linked) == 1


PROCESS = """
    import pickle, sys
    import numpy as np
    from phintys.backends.native import linking
    from phintys.backends.native.runtime.cache import object_cache

    def refuse(*_):
        raise AssertionError("the graph is lowered")

    linking.lower_program = refuse
    with open(sys.argv[1], "rb") as file:
        f, args = pickle.load(file)
    print(repr([one.tolist() for one in f(*args)]))
    assert object_cache().statistics.foreign == 0
"""


def test_another_process_loads_the_code(run_python, tmp_path, monkeypatch):
    monkeypatch.setenv("PHINTYS_FLAGS", f"cache_dir={tmp_path}")
    with config.change_flags(cache_dir=str(tmp_path)):
        f = several_steps()
        path = tmp_path / "function"
        path.write_bytes(pickle.dumps((f, arguments())))
        expected = repr([one.tolist() for one in f(*arguments())])
    assert run_python(PROCESS, str(path)) == expected + "\n"


def test_a_shallow_copy_shares_the_code_and_the_shared_values():
    f = several_steps()
    twin = copy.copy(f)
    assert twin.vm is f.vm
    assert twin.name == f.name
    f(*arguments())
    np.testing.assert_array_equal(twin.get_shared()[0].get_value(), 1 + arguments()[0])


def test_a_loaded_function_is_freed_when_dropped():
    twin = pickle.loads(pickle.dumps(several_steps()))
    twin(*arguments())
    references = weakref.ref(twin), weakref.ref(twin.vm), weakref.ref(twin.vm._code.code)
    del twin
    gc.collect()
    assert [one() for one in references] == [None] * 3
