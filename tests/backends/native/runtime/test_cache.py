import os
import signal
import subprocess
import threading
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from platformdirs import user_cache_dir

from phintys import config
from phintys.__main__ import main
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.runtime import cache as module
from phintys.backends.native.runtime.cache import CacheKey, ObjectCache, object_cache
from tests.budget import budget

LIMIT = 1 << 20
posix = pytest.mark.skipif(os.name != "posix", reason="permissions as POSIX has them")


def key(text):
    return CacheKey.of(text, Target.named("x86-64-v2"), "1")


@pytest.fixture
def cache(tmp_path):
    return ObjectCache(tmp_path / "objects", LIMIT)


def file_of(cache, text):
    return cache.folder / key(text).name


def test_what_was_put_is_got(cache):
    assert cache.get(key("a")) is None
    cache.put(key("a"), b"content")
    assert cache.get(key("a")) == b"content"
    assert ObjectCache(cache.folder, LIMIT).get(key("a")) == b"content"
    assert (cache.statistics.hits, cache.statistics.misses, cache.statistics.written) == (1, 1, 1)


def test_all_that_decides_the_code_is_in_the_key(monkeypatch):
    v2, v3 = Target.named("x86-64-v2"), Target.named("x86-64-v3")
    keys = {
        CacheKey.of("a", v2, "1").digest,
        CacheKey.of("b", v2, "1").digest,
        CacheKey.of("a", v3, "1").digest,
        CacheKey.of("a", v2, "2").digest,
    }
    monkeypatch.setattr(module, "_versions", lambda: ("0.0", "0"))
    keys.add(CacheKey.of("a", v2, "1").digest)
    assert len(keys) == 5


@posix
def test_the_folder_and_its_files_are_private(cache):
    cache.put(key("a"), b"content")
    assert cache.folder.stat().st_mode & 0o777 == 0o700
    assert file_of(cache, "a").stat().st_mode & 0o777 == 0o600


@given(data=st.data())
@budget(40)
def test_a_damaged_entry_is_never_used(tmp_path_factory, data):
    cache = ObjectCache(tmp_path_factory.mktemp("cache") / "objects", LIMIT)
    cache.put(key("a"), b"some content, long enough to be cut")
    path = file_of(cache, "a")
    sound = path.read_bytes()
    if data.draw(st.booleans()):
        damaged = sound[: data.draw(st.integers(0, len(sound) - 1))]
    else:
        position = data.draw(st.integers(0, len(sound) - 1))
        flipped = sound[position] ^ data.draw(st.integers(1, 255))
        damaged = sound[:position] + bytes([flipped]) + sound[position + 1 :]
    path.write_bytes(damaged)
    assert cache.get(key("a")) is None
    assert cache.statistics.damaged == 1
    assert not path.exists()
    cache.put(key("a"), b"again")
    assert cache.get(key("a")) == b"again"


def test_an_entry_under_another_name_is_not_used(cache):
    cache.put(key("a"), b"of a")
    file_of(cache, "a").rename(file_of(cache, "b"))
    assert cache.get(key("b")) is None


# ---- seals -------------------------------------------------------------------------------------


def test_entries_of_another_folder_are_not_used(cache, tmp_path):
    other = ObjectCache(tmp_path / "other", LIMIT)
    for one in (cache, other):
        one.put(key("a"), b"content")
    file_of(other, "a").replace(file_of(cache, "a"))
    assert ObjectCache(cache.folder, LIMIT).get(key("a")) is None
    assert not file_of(cache, "a").exists()


@posix
def test_the_secret_is_private_and_stays(cache):
    cache.put(key("a"), b"content")
    secret = cache.folder / "secret"
    assert secret.stat().st_mode & 0o777 == 0o600
    written = secret.read_bytes()
    ObjectCache(cache.folder, LIMIT).put(key("b"), b"content")
    cache.clear()
    cache.put(key("c"), b"content")
    assert secret.read_bytes() == written


@pytest.mark.parametrize("damage", [b"", b"short", bytes(33)])
def test_a_damaged_secret_is_replaced(cache, damage):
    cache.put(key("a"), b"content")
    (cache.folder / "secret").write_bytes(damage)
    again = ObjectCache(cache.folder, LIMIT)
    assert again.get(key("a")) is None
    again.put(key("b"), b"content")
    assert again.get(key("a")) is None
    assert ObjectCache(cache.folder, LIMIT).get(key("b")) == b"content"


@posix
def test_a_secret_that_others_may_write_is_replaced(cache):
    cache.put(key("a"), b"content")
    (cache.folder / "secret").chmod(0o666)
    again = ObjectCache(cache.folder, LIMIT)
    assert again.get(key("a")) is None
    again.put(key("a"), b"content")
    assert ObjectCache(cache.folder, LIMIT).get(key("a")) == b"content"
    assert (cache.folder / "secret").stat().st_mode & 0o777 == 0o600


def test_without_links_there_is_a_secret_too(cache, monkeypatch):
    def no_links(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", no_links)
    cache.put(key("a"), b"content")
    assert ObjectCache(cache.folder, LIMIT).get(key("a")) == b"content"
    assert {path.suffix for path in cache.folder.iterdir()} == {"", ".phc"}


@given(data=st.data())
@budget(40)
def test_what_was_kept_elsewhere_is_known_by_its_seal(tmp_path_factory, data):
    cache = ObjectCache(tmp_path_factory.mktemp("cache") / "objects", LIMIT)
    sealed = cache.seal(key("a"), b"some content")
    again = ObjectCache(cache.folder, LIMIT)
    assert again.unseal(key("a"), sealed) == b"some content"
    assert again.unseal(key("b"), sealed) is None
    position = data.draw(st.integers(0, len(sealed) - 1))
    assert again.unseal(key("a"), sealed[:position]) is None
    flipped = sealed[position] ^ data.draw(st.integers(1, 255))
    assert again.unseal(key("a"), sealed[:position] + bytes([flipped])) is None
    other = ObjectCache(tmp_path_factory.mktemp("cache") / "objects", LIMIT)
    assert other.unseal(key("a"), sealed) is None
    assert (again.statistics.foreign, other.statistics.foreign) == (3, 1)


@posix
def test_nothing_is_sealed_in_a_folder_that_is_not_private(cache):
    cache.put(key("a"), b"content")
    sealed = cache.seal(key("a"), b"content")
    cache.folder.chmod(0o777)
    again = ObjectCache(cache.folder, LIMIT)
    with pytest.warns(RuntimeWarning, match="others can write"):
        assert again.seal(key("a"), b"content") is None
    assert again.unseal(key("a"), sealed) is None
    assert ObjectCache(None, LIMIT).seal(key("a"), b"content") is None


# ---- folders and files that are not the user's alone -------------------------------------------


@posix
def test_a_file_that_others_may_write_is_not_used(cache):
    cache.put(key("a"), b"content")
    file_of(cache, "a").chmod(0o666)
    assert cache.get(key("a")) is None
    assert cache.statistics.refused == 1


@posix
def test_a_link_is_not_used(cache, tmp_path):
    cache.put(key("a"), b"content")
    elsewhere = tmp_path / "elsewhere"
    file_of(cache, "a").rename(elsewhere)
    file_of(cache, "a").symlink_to(elsewhere)
    assert cache.get(key("a")) is None


HEAD = """
    import os, sys, warnings
    from pathlib import Path
    from phintys.backends.native.assembler.target import Target
    from phintys.backends.native.runtime.cache import CacheKey, ObjectCache

    warnings.simplefilter("error")
    cache = ObjectCache(Path(sys.argv[1]), 1 << 20)
    one, other = (CacheKey.of(text, Target.named("x86-64-v2"), "1") for text in "ab")
"""

PIPES = """
    cache.put(one, b"content")
    for path in [cache.folder / one.name, cache.folder / "secret", cache.folder / "swept"]:
        path.unlink(missing_ok=True)
        os.mkfifo(path)
    cache = ObjectCache(cache.folder, 1 << 20)
    assert cache.get(one) is None
    cache.put(one, b"content")
    assert cache.get(one) == b"content"
    os.mkfifo(cache.folder / other.name)
    assert cache.get(other) is None and cache.verify() == [cache.folder / other.name]
    os.mkfifo(cache.folder / "x.tmp")
    cache.evict()
    assert cache.clear() == 1
"""


@posix
def test_nobody_waits_for_a_pipe_in_place_of_a_file(run_python, tmp_path):
    run_python(HEAD + PIPES, tmp_path / "objects", timeout=60)


def test_a_folder_in_place_of_an_entry_is_no_obstacle_for_others(cache):
    cache.put(key("a"), b"content")
    file_of(cache, "b").mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.get(key("b")) is None
        cache.put(key("b"), b"content")
        assert cache.get(key("b")) is None
        cache.put(key("c"), b"content")
    assert cache.get(key("c")) == b"content"
    assert cache.statistics.failed == 0
    assert cache.statistics.refused >= 1
    assert cache.verify() == []
    assert list(cache.folder.glob("*.tmp")) == []
    assert cache.clear() == 2


def test_reading_a_folder_leaves_no_file_open(cache):
    cache.put(key("a"), b"content")
    file_of(cache, "b").mkdir()
    first = os.open(os.devnull, os.O_RDONLY)
    for _ in range(20):
        cache.get(key("b"))
    second = os.open(os.devnull, os.O_RDONLY)
    os.close(first)
    os.close(second)
    assert second <= first + 1


@posix
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o610, 0o660])
def test_a_secret_that_others_may_know_is_no_secret(cache, mode):
    cache.put(key("a"), b"content")
    secret = cache.folder / "secret"
    known = secret.read_bytes()
    secret.chmod(mode)
    again = ObjectCache(cache.folder, LIMIT)
    assert again.get(key("a")) is None
    again.put(key("a"), b"content")
    assert again.get(key("a")) == b"content"
    assert secret.read_bytes() != known
    assert secret.stat().st_mode & 0o777 == 0o600


def test_threads_that_cannot_write_say_so_once(cache, monkeypatch):
    cache.put(key("a"), b"content")
    together = threading.Barrier(3, timeout=60)

    def full(*_):
        together.wait()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_written_aside", full)
    told = []
    monkeypatch.setattr(module, "_warn", told.append)
    threads = [
        threading.Thread(target=cache.put, args=(key(text), b"content")) for text in ("b", "c", "d")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache.statistics.failed == 1
    assert len(told) == 1


def warns_once(cache, text="others can write"):
    with pytest.warns(RuntimeWarning, match=text):
        cache.put(key("a"), b"content")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.put(key("a"), b"content")
        assert cache.get(key("a")) is None
    return True


@posix
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_may_write_to_is_refused(cache, mode):
    cache.put(key("a"), b"content")
    cache.folder.chmod(mode)
    again = ObjectCache(cache.folder, LIMIT)
    assert warns_once(again)
    assert again.statistics.refused == 1


@posix
def test_a_folder_of_another_user_is_refused(cache, monkeypatch):
    cache.put(key("a"), b"content")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert warns_once(ObjectCache(cache.folder, LIMIT), "another user")


@posix
def test_a_folder_behind_a_link_is_refused(cache, tmp_path):
    cache.put(key("a"), b"content")
    link = tmp_path / "link"
    link.symlink_to(cache.folder)
    assert warns_once(ObjectCache(link, LIMIT), "symbolic link")


def test_a_folder_that_cannot_be_made_is_no_obstacle(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    cache = ObjectCache(tmp_path / "file" / "objects", LIMIT)
    assert warns_once(cache, "cannot be kept")
    assert cache.statistics.failed == 1


def test_a_full_disk_is_no_obstacle(cache, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_write", full)
    assert warns_once(cache, "No space left")


def test_the_entries_used_longest_ago_go_first(tmp_path):
    cache = ObjectCache(tmp_path / "objects", 40_000)
    for number in range(20):
        cache.put(key(str(number)), bytes(5000))
        if file_of(cache, str(number)).exists():
            stamp = 1_000_000 + number
            os.utime(file_of(cache, str(number)), (stamp, stamp))
    there = [number for number in range(20) if file_of(cache, str(number)).exists()]
    assert there
    assert there == list(range(there[0], 20))
    assert sum(entry.size for entry in cache.entries()) <= cache.limit
    assert cache.statistics.evicted == 20 - len(there)


def test_what_is_used_stays(tmp_path):
    cache = ObjectCache(tmp_path / "objects", 40_000)
    cache.put(key("used"), bytes(5000))
    for number in range(20):
        cache.put(key(str(number)), bytes(5000))
        old = time.time() - 1000 + number
        os.utime(file_of(cache, str(number)), (old, old))
        assert cache.get(key("used")) is not None


def test_a_folder_is_not_looked_at_by_every_process(cache, monkeypatch):
    cache.put(key("a"), b"content")
    looked = []
    monkeypatch.setattr(ObjectCache, "entries", lambda self: looked.append(self) or iter(()))
    second, later = ObjectCache(cache.folder, cache.limit), ObjectCache(cache.folder, cache.limit)
    second.put(key("b"), b"content")
    assert not looked
    os.utime(cache.folder / "swept", (1, 1))
    later.put(key("c"), b"content")
    assert looked == [later]


def test_an_entry_larger_than_the_limit_is_not_written(tmp_path):
    cache = ObjectCache(tmp_path / "objects", 100)
    cache.put(key("a"), bytes(200))
    assert list(cache.entries()) == []


def test_what_killed_processes_left_is_swept_away(cache):
    cache.put(key("a"), b"content")
    old, new = cache.folder / "old.tmp", cache.folder / "new.tmp"
    old.touch()
    new.touch()
    os.utime(old, (1, 1))
    cache.evict()
    assert not old.exists()
    assert new.exists()


def test_a_switch_and_a_folder(tmp_path):
    with config.change_flags(object_cache=False):
        cache = object_cache()
        cache.put(key("a"), b"content")
        assert cache.get(key("a")) is None
    with config.change_flags(cache_dir=str(tmp_path)):
        object_cache().put(key("a"), b"content")
        assert object_cache().get(key("a")) == b"content"
        assert object_cache().folder == tmp_path / "objects"


# ---- the command line --------------------------------------------------------------------------


@pytest.fixture
def configured(tmp_path):
    with config.change_flags(cache_dir=str(tmp_path)):
        yield object_cache()


def test_show(configured, capsys):
    configured.put(key("a"), b"content")
    assert main(["cache", "show"]) == 0
    shown = capsys.readouterr().out
    assert "1 entries" in shown
    assert str(configured.folder) in shown


def test_verify(configured, capsys):
    configured.put(key("a"), b"content")
    configured.put(key("b"), b"content")
    assert main(["cache", "verify"]) == 0
    assert "2 sound entries, 0 damaged" in capsys.readouterr().out
    file_of(configured, "b").write_bytes(b"no entry")
    assert main(["cache", "verify"]) == 1
    assert "1 sound entries, 1 damaged" in capsys.readouterr().out
    assert main(["cache", "verify"]) == 0


def test_clear(configured, capsys):
    configured.put(key("a"), b"content")
    (configured.folder / "left.tmp").touch()
    assert main(["cache", "clear"]) == 0
    assert "1 entries removed" in capsys.readouterr().out
    assert {path.name for path in configured.folder.iterdir()} == {"secret", "swept"}


@posix
def test_the_command_line_leaves_alone_what_is_not_the_users(configured, capsys):
    configured.put(key("a"), b"content")
    configured.folder.chmod(0o777)
    assert main(["cache", "clear"]) == 1
    assert main(["cache", "show"]) == 1
    assert "others can write" in capsys.readouterr().out
    configured.folder.chmod(0o700)
    assert configured.get(key("a")) == b"content"


@pytest.mark.parametrize("arguments", [[], ["cache"], ["cache", "burn"], ["show"]])
def test_other_commands_are_refused(arguments, capsys):
    assert main(arguments) == 2
    assert "usage" in capsys.readouterr().err


# ---- many processes ----------------------------------------------------------------------------

WRITER = """
import sys, random
from pathlib import Path
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.runtime.cache import CacheKey, ObjectCache
cache = ObjectCache(Path(sys.argv[1]), 60_000)
target = Target.named("x86-64-v2")
random.seed(int(sys.argv[2]))
print("ready", flush=True)
for _ in range(int(sys.argv[3])):
    text = str(random.randrange(40))
    key = CacheKey.of(text, target, "1")
    found = cache.get(key)
    assert found is None or found == text.encode() * 2000, "wrong content"
    if found is None:
        cache.put(key, text.encode() * 2000)
assert cache.statistics.damaged == 0
"""


@pytest.fixture
def start_writer(python_command):
    return lambda *arguments: subprocess.Popen(
        python_command(WRITER, *arguments), stdout=subprocess.PIPE
    )


def test_many_processes_share_a_cache(start_writer, tmp_path):
    folder = tmp_path / "objects"
    writers = [start_writer(folder, seed, 400) for seed in range(3)]
    for writer in writers:
        writer.communicate(timeout=60)
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    cache = ObjectCache(folder, 60_000)
    assert cache.verify() == []
    cache.evict()
    assert sum(entry.size for entry in cache.entries()) <= 60_000


def test_a_killed_process_leaves_nothing_broken(start_writer, tmp_path):
    folder = tmp_path / "objects"
    for seed in range(4):
        writer = start_writer(folder, seed, 10**9)
        assert writer.stdout.readline()
        time.sleep(0.1 + 0.013 * seed)
        writer.send_signal(signal.SIGKILL)
        writer.wait(60)
        writer.stdout.close()
        cache = ObjectCache(folder, 60_000)
        assert cache.verify() == []
    survivors = list(Path(folder).glob("*.tmp"))
    for path in survivors:
        os.utime(path, (1, 1))
    cache.evict()
    assert list(Path(folder).glob("*.tmp")) == []


@pytest.mark.parametrize("home", ["/somewhere", "relative", ""])
@pytest.mark.parametrize("caches", ["/elsewhere/caches", "relative", "", None])
def test_the_folder_is_where_platformdirs_says(monkeypatch, home, caches):
    monkeypatch.setenv("HOME", home)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if caches is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", caches)
    found = Path(module._default_folder.__wrapped__())
    # What is relative is to be ignored, which not all versions of platformdirs do.
    for variable in ("HOME", "XDG_CACHE_HOME"):
        if not Path(os.environ.get(variable, "")).is_absolute():
            monkeypatch.delenv(variable, raising=False)
    assert found == Path(user_cache_dir("phintys", appauthor=False)) / "objects"
