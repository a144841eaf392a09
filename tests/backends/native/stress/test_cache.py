"""The cache of compiled code, in processes that compile: damage, foreign files, no room, kills."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import pytest

from phintys.backends.native.assembler.target import Target
from phintys.backends.native.runtime.cache import CacheKey, ObjectCache

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="permissions as POSIX has them")
root = pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root can do so")

# Prints what the function gives, the warnings, and what the cache did.
PROGRAM = """
    import atexit, resource, sys, warnings
    import numpy as np
    import phintys, phintys.tensor as pt
    from phintys import config
    from phintys.backends.native.runtime.cache import object_cache

    if len(sys.argv) > 2:
        most = int(sys.argv[2])
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    x, y = pt.dvector("x"), pt.dmatrix("y")
    # Whether a call is slow enough to have its function compiled again depends on the machine.
    config.native_level = "high"
    with config.change_flags(cache_dir=sys.argv[1]), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f = phintys.function([x, y], [pt.exp(x) + pt.sin(x), pt.dot(y, x), y.sum(axis=0)])
        got = f(np.arange(3.0), np.ones((2, 3)))
        again = phintys.function([x], pt.log(x) * 2)(np.ones(2))
        done = object_cache().statistics
    expected = np.exp(np.arange(3.0)) + np.sin(np.arange(3.0)), [3.0, 3.0], [2.0, 2.0, 2.0]
    assert all(map(np.allclose, got, expected)) and np.array_equal(again, [0.0, 0.0])

    @atexit.register
    def tell():  # now that what is compiled in the background is compiled too
        print(len(caught), done.hits, done.misses, done.written, done.damaged, done.failed)
        for one in caught:
            print(one.message)
"""


class Outcome:
    def __init__(self, text):
        first, _, self.warnings = text.partition("\n")
        numbers = map(int, first.split())
        self.warned, self.hits, self.misses, self.written, self.damaged, self.failed = numbers


@pytest.fixture
def compiles(run):
    return lambda folder, *arguments: Outcome(run(PROGRAM, folder, *arguments))


@pytest.fixture(scope="session")
def compiled_before(run, tmp_path_factory):
    """A folder with the entries of a process that has compiled, and what that did."""
    folder = tmp_path_factory.mktemp("compiled")
    return folder, Outcome(run(PROGRAM, folder))


@pytest.fixture
def filled(compiled_before, tmp_path):
    """A copy of that folder."""
    shutil.copytree(compiled_before[0], tmp_path / "filled")
    return tmp_path / "filled"


def entries(folder):
    return sorted((Path(folder) / "objects").glob("*.phc"))


def test_the_second_process_compiles_nothing(compiles, compiled_before):
    folder, first = compiled_before
    second = compiles(folder)
    assert first.misses >= first.written > 0
    assert (second.written, second.misses, second.damaged) == (0, 0, 0)


DAMAGES = {
    "empty": lambda data, other: b"",
    "cut": lambda data, other: data[: len(data) // 2],
    "one byte less": lambda data, other: data[:-1],
    "one byte more": lambda data, other: data + b"\0",
    "a bit of the code": lambda data, other: data[:-700] + bytes([data[-700] ^ 1]) + data[-699:],
    "a bit of the seal": lambda data, other: data[:30] + bytes([data[30] ^ 1]) + data[31:],
    "another entry": lambda data, other: other,
    "something else": lambda data, other: b"\x7fELF" + os.urandom(5000),
}


@pytest.mark.parametrize("first", [0, 3])
def test_damaged_entries_are_made_again(compiles, filled, first):
    paths = entries(filled)
    contents = [path.read_bytes() for path in paths]
    for number, path in enumerate(paths):
        damage = list(DAMAGES.values())[(first + number) % len(DAMAGES)]
        path.write_bytes(damage(contents[number], contents[number - 1]))
    second = compiles(filled)
    assert second.hits == second.warned == 0
    assert second.misses >= second.written == second.damaged > 0
    assert compiles(filled).misses == 0


def test_entries_of_another_user_are_not_used(compiles, filled, tmp_path):
    """All is there, with names and contents as they should be, but sealed with another secret."""
    compiles(tmp_path / "ours")
    for path in entries(filled):
        (tmp_path / "ours" / "objects" / path.name).write_bytes(path.read_bytes())
    assert compiles(tmp_path / "ours").hits == 0
    secret = tmp_path / "ours" / "objects" / "secret"
    secret.unlink()
    assert compiles(tmp_path / "ours").hits == 0


@pytest.mark.sampled(2, 1)
@posix
@pytest.mark.parametrize("most", [0, 3000])
def test_a_disk_without_room(compiles, tmp_path, most):
    outcome = compiles(tmp_path, most)
    assert outcome.warned == outcome.failed == 1
    assert "cannot be kept" in outcome.warnings
    assert list((tmp_path / "objects").glob("*.tmp")) == []
    after = compiles(tmp_path)
    assert after.damaged == after.warned == 0
    assert after.written > 0


# ---- other users ---------------------------------------------------------------------------------


@pytest.fixture
def public_folder():
    """A folder that everybody reaches, which the folders of tests are not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def forked(work):
    """Do some work in a process of another user; return what it wrote."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setresgid(65534, 65534, 65534)
                os.setresuid(65534, 65534, 65534)
            os.write(writer, work().encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as pipe:
        return pipe.read()


def key_and_cache(folder):
    return CacheKey.of("text", Target.host(), "1"), ObjectCache(Path(folder) / "objects", 1 << 20)


def uses(folder):
    """Write and read an entry, and say what came of it."""
    key, cache = key_and_cache(folder)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = cache.get(key)
        cache.put(key, b"content")
        cache.put(key, b"content")
        after = cache.get(key)
    words = " ".join(str(one.message) for one in caught)
    return f"{len(caught)} {found} {after} {words}"


@root
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_folder_of_another_user(public_folder):
    key, cache = key_and_cache(public_folder)
    cache.put(key, b"content")
    for mode in (0o700, 0o755, 0o777):
        (public_folder / "objects").chmod(mode)
        for path in (public_folder / "objects").iterdir():
            path.chmod(0o666)
        answer = forked(lambda: uses(public_folder))
        assert answer.startswith("1 None None")
        assert "belongs to another user" in answer


@root
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_folder_that_must_not_be_written_to(public_folder):
    objects = public_folder / "objects"
    objects.mkdir(mode=0o700)
    os.chown(objects, 65534, 65534)
    assert forked(lambda: uses(public_folder)).startswith("0 None b'content'")
    key, _ = key_and_cache(public_folder)
    (objects / key.name).unlink()
    objects.chmod(stat.S_IRUSR | stat.S_IXUSR)
    answer = forked(lambda: uses(public_folder))
    assert answer.startswith("1 None None")
    assert "cannot be kept" in answer


# ---- many processes, some of which are killed ---------------------------------------------------

COMPILES_ON = """
    import itertools, sys
    import numpy as np
    import phintys, phintys.tensor as pt
    x = pt.dvector("x")
    print("ready", flush=True)
    for number in range(int(sys.argv[1])) if sys.argv[1] != "on" else itertools.count():
        f = phintys.function([x], pt.exp(x) * float(number) + number)
        assert np.allclose(f(np.zeros(3)), 2.0 * number)
"""


@pytest.fixture
def start(python_command):
    return lambda folder, *arguments: subprocess.Popen(
        python_command(COMPILES_ON, *arguments),
        env={**os.environ, "PHINTYS_FLAGS": f"cache_dir={folder}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_processes_that_compile_the_same_at_once(start, tmp_path):
    processes = [start(tmp_path, "12") for _ in range(3)]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    cache = ObjectCache(tmp_path / "objects", 1 << 30)
    assert cache.verify() == []
    assert len(list(cache.entries())) >= 12


def test_killed_processes_leave_nothing_broken(compiles, start, tmp_path):
    for number in range(4):
        process = start(tmp_path, "on")
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.05 + 0.037 * number)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    assert ObjectCache(tmp_path / "objects", 1 << 30).verify() == []
    assert compiles(tmp_path).damaged == 0


# ---- the command line ----------------------------------------------------------------------------


def test_the_command_line(compiles, tmp_path):
    def command(what):
        done = subprocess.run(
            [sys.executable, "-m", "phintys", "cache", what],
            env={**os.environ, "PHINTYS_FLAGS": f"cache_dir={tmp_path}"},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    compiles(tmp_path)
    count = len(entries(tmp_path))
    code, shown = command("show")
    assert (code, f": {count} entries" in shown) == (0, True)
    path = entries(tmp_path)[0]
    path.write_bytes(path.read_bytes()[:-1])
    code, shown = command("verify")
    assert (code, f"{count - 1} sound entries, 1 damaged" in shown) == (1, True)
    assert path.name in shown
    assert command("verify")[0] == 0
    assert command("clear") == (0, f"{count - 1} entries removed\n")
    assert entries(tmp_path) == []
