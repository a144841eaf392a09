"""The object cache: compiled code on disk, by content, private to the user.

An entry is named by a hash of everything that determines the machine code. It carries a seal: a
keyed hash of its name and content, made with a secret of the folder that only the user can read. It
is used only if it is in a folder that only the user can write to, is a regular file owned by the
user, and its seal is valid; anything else is a miss. So neither damaged code nor code from another
folder, user or machine is ever run, and code that has left the folder (a pickled function) is
recognized by its seal.

Entries appear by renaming a finished file, so a process that is killed leaves at most a temporary
file, which is removed later. Any number of processes can use a cache at the same time.

The seal is HMAC-SHA256 (RFC 2104).
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import cache
from pathlib import Path

from phintys._base.caches import Interned
from phintys._base.config import config
from phintys._base.locks import ProcessLock
from phintys._base.records import record
from phintys.backends.native.assembler.llvm_library import llvm
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.limits import KEPT_SHARE, STALE_SECONDS, SWEEP_SECONDS, SWEPT_SHARE

_MAGIC = b"phintys object 3\n"
_DIGEST = 32
_HEADER = len(_MAGIC) + _DIGEST
_SECRET = "secret"  # noqa: S105 - the name of a file
"""Name of the file with the folder's secret, as many bytes as a digest has."""

_SUFFIX = ".phc"
_TEMPORARY = ".tmp"

_SWEPT = "swept"


@record(frozen=True)
class CacheKey:
    """The name of an entry: a hash of everything that determines its content."""

    digest: bytes

    @classmethod
    def of(cls, text: str, target: Target, options: str) -> CacheKey:
        """Return the key of a piece of code.

        Parameters
        ----------
        text
            The module as LLVM IR.
        target
            The CPU.
        options
            The compiler options.
        """
        parts = (
            *_versions(),
            target.triple,
            target.cpu,
            target.features,
            options,
            text,
        )
        hashed = hashlib.sha256()
        for part in parts:
            encoded = part.encode()
            hashed.update(len(encoded).to_bytes(8, "little"))
            hashed.update(encoded)
        return cls(hashed.digest())

    @property
    def name(self) -> str:
        """File name of the entry."""
        return self.digest.hex() + _SUFFIX


@cache
def _versions() -> tuple[str, str]:
    import llvmlite

    return llvmlite.__version__, llvm().version


@record()
class CacheStatistics:
    """Counts of cache events in this process.

    Attributes
    ----------
    hits, misses
        Lookups.
    written, evicted
        Entries.
    damaged
        Entries that were found to be damaged, and not used.
    foreign
        Pieces of code from elsewhere (a pickled function) that were not sealed here for this CPU,
        and not used.
    refused
        Times that a folder or a file was not used because others could have written to it, or
        because something else was in its place.
    failed
        Writes that failed: no space, no permission.
    """

    hits: int = 0
    misses: int = 0
    written: int = 0
    evicted: int = 0
    damaged: int = 0
    foreign: int = 0
    refused: int = 0
    failed: int = 0

    def __str__(self) -> str:
        return ", ".join(f"{one.name} {getattr(self, one.name)}" for one in fields(self))


@record(frozen=True)
class Entry:
    """A file of the cache, as listed."""

    path: Path
    size: int
    used: float


class ObjectCache:
    """Entries in one folder.

    Parameters
    ----------
    folder
        Its path; created on the first write. ``None`` makes a cache that is always empty.
    limit
        Maximum total size in bytes; the least recently used entries are evicted first.
    """

    def __init__(self, folder: Path | None, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self.statistics = CacheStatistics()
        self._lock = ProcessLock()
        self._trusted: bool | None = None
        self._secret: bytes | None = None
        self._writable = True
        self._unswept: int | None = None  # bytes written since the folder was scanned

    # ---- reading and writing -------------------------------------------------------------------

    def get(self, key: CacheKey) -> bytes | None:
        """Return the content of an entry, ``None`` if there is no trustworthy one."""
        found = self.first_of([key])
        return None if found is None else found[1]

    def first_of(self, keys: Sequence[CacheKey]) -> tuple[int, bytes] | None:
        """Return the number and content of the first of several entries that exists."""
        secret = self._known_secret()
        if self.folder is not None and secret is not None:
            for number, key in enumerate(keys):
                content = self._read(self.folder / key.name, secret, key.digest)
                if content is not None:
                    self._count("hits")
                    return number, content
        self._count("misses")
        return None

    def _count(self, what: str) -> None:
        with self._lock:
            setattr(self.statistics, what, getattr(self.statistics, what) + 1)

    def put(self, key: CacheKey, content: bytes) -> None:
        """Write an entry, or record that this failed: a cache must never raise an error."""
        folder = self.folder
        if folder is None or not self._writable or len(content) + _HEADER > self.limit:
            return
        try:
            secret = self._secret_to_write(folder)
            if secret is None:
                return
            if not _write(folder / key.name, _sealed(secret, key.digest, content)):
                self._count("refused")
                return
        except OSError as error:
            self._write_no_more(folder, error)
            return
        self._count("written")
        self._sweep_if_due(len(content))

    def _write_no_more(self, folder: Path, error: OSError) -> None:
        """Stop writing to the folder, and warn once, whichever thread got the error."""
        with self._lock:
            if not self._writable:
                return
            self._writable = False
            self._count("failed")
        _warn(
            f"Compiled code cannot be kept in {folder}: {error}. This process continues without "
            "writing there; set config.cache_dir to another folder, or config.object_cache = "
            "False to do without."
        )

    def _read(self, path: Path, secret: bytes, digest: bytes) -> bytes | None:
        try:
            sealed = _read_own(path)
        except FileNotFoundError:
            return None
        except PermissionError:
            self._count("refused")
            return None
        except OSError:
            self._count("damaged")
            return None
        content = _opened(secret, digest, sealed)
        if content is None:
            self._count("damaged")
            _remove(path)
            return None
        with suppress(OSError):
            os.utime(path)  # mark as used for eviction
        return content

    def _is_trusted(self, folder: Path) -> bool:
        """Return whether only the user can have written to the folder; checked once."""
        if self._trusted is None:
            with self._lock:
                problem = _problem_with(folder)
                if problem == "":
                    self._trusted = True
                elif problem is not None:
                    self._trusted = False
                    self._count("refused")
                    _warn(
                        f"Compiled code is not kept between runs: {problem}. Others could have "
                        "written code there. Remove the folder, make it yours alone (chmod 700), "
                        "or set config.cache_dir to another one."
                    )
                else:
                    return False  # it does not exist yet
        return self._trusted

    # ---- seals ---------------------------------------------------------------------------------

    def seal(self, key: CacheKey, content: bytes) -> bytes | None:
        """Return content with the seal of this folder, to be stored elsewhere.

        ``None`` if there is no folder to keep a secret in.
        """
        if self.folder is None:
            return None
        try:
            secret = self._secret_to_write(self.folder)
        except OSError:
            return None
        return None if secret is None else _sealed(secret, key.digest, content)

    def unseal(self, key: CacheKey, sealed: bytes) -> bytes | None:
        """Return the content that :meth:`seal` sealed; ``None`` if the seal is not valid."""
        secret = self._known_secret()
        content = None if secret is None else _opened(secret, key.digest, sealed)
        if content is None:
            self._count("foreign")
        return content

    def _known_secret(self) -> bytes | None:
        """Return the folder's secret, if the folder is trusted and has one."""
        if self._secret is None and self.folder is not None and self._is_trusted(self.folder):
            self._secret = _read_secret(self.folder)
        return self._secret

    def _secret_to_write(self, folder: Path) -> bytes | None:
        """Return the folder's secret, created if needed; ``None`` if the folder is not trusted."""
        _make_private(folder)
        secret = self._known_secret()
        if secret is None and self._is_trusted(folder):
            _make_secret(folder)
            secret = self._known_secret()
        return secret

    # ---- size ----------------------------------------------------------------------------------

    def _sweep_if_due(self, size: int) -> None:
        with self._lock:
            if self._unswept is None:
                self._unswept = 0 if self._was_swept_lately() else self.limit
            self._unswept += size
            is_due = self._unswept >= SWEPT_SHARE * self.limit
            if is_due:
                self._unswept = 0
        if is_due:
            self.evict()

    def _was_swept_lately(self) -> bool:
        """Return whether some process has scanned the whole folder recently."""
        swept = None if self.folder is None else _entry(self.folder / _SWEPT)
        return swept is not None and abs(time.time() - swept.used) < SWEEP_SECONDS

    def evict(self) -> None:
        """Remove files of dead processes, and the least recently used entries beyond the limit."""
        if self.folder is None:
            return
        with suppress(OSError):
            (self.folder / _SWEPT).touch(0o600)
        now = time.time()
        for path in self.folder.glob(f"*{_TEMPORARY}"):
            entry = _entry(path)
            if entry is not None and now - entry.used > STALE_SECONDS:
                _remove(path)
        entries = sorted(self.entries(), key=lambda entry: entry.used)
        total = sum(entry.size for entry in entries)
        if total <= self.limit:
            return
        for entry in entries:
            if total <= KEPT_SHARE * self.limit:
                break
            _remove(entry.path)
            total -= entry.size
            self._count("evicted")

    def entries(self) -> Iterator[Entry]:
        """Yield all entries."""
        if self.folder is None or not self.folder.is_dir():
            return
        for path in self.folder.glob(f"*{_SUFFIX}"):
            entry = _entry(path)
            if entry is not None:
                yield entry

    def problem(self) -> str:
        """Return why the folder is not trusted; ``""`` if it is."""
        return "" if self.folder is None else _problem_with(self.folder) or ""

    # ---- used by the command line ----------------------------------------------------------------

    def verify(self) -> list[Path]:
        """Check all entries, remove those that are damaged, and return them."""
        damaged: list[Path] = []
        secret = self._known_secret()
        for entry in self.entries():
            try:
                digest = bytes.fromhex(entry.path.stem)
                sealed = _read_own(entry.path)
                sound = secret is not None and _opened(secret, digest, sealed) is not None
            except FileNotFoundError:
                continue
            except (OSError, ValueError):
                sound = False
            if not sound:
                _remove(entry.path)
                damaged.append(entry.path)
        self.statistics.damaged += len(damaged)
        return damaged

    def clear(self) -> int:
        """Remove all entries and temporary files; return how many entries there were."""
        removed = 0
        for entry in self.entries():
            _remove(entry.path)
            removed += 1
        if self.folder is not None:
            for path in self.folder.glob(f"*{_TEMPORARY}"):
                _remove(path)
        return removed


# ---- files -------------------------------------------------------------------------------------


def _sealed(secret: bytes, digest: bytes, content: bytes) -> bytes:
    return _MAGIC + _seal(secret, digest, content) + content


def _opened(secret: bytes, digest: bytes, sealed: bytes) -> bytes | None:
    """Return the content of a sealed entry, ``None`` if the seal is not valid."""
    content = sealed[_HEADER:]
    expected = _MAGIC + _seal(secret, digest, content)
    return content if hmac.compare_digest(sealed[:_HEADER], expected) else None


def _seal(secret: bytes, digest: bytes, content: bytes) -> bytes:
    return hmac.digest(secret, digest + content, "sha256")


def _read_secret(folder: Path) -> bytes | None:
    """Return the secret of a folder, ``None`` if it has no trustworthy one."""
    try:
        secret = _read_own(folder / _SECRET, is_secret=True)
    except OSError:
        return None
    return secret if len(secret) == _DIGEST else None


def _make_secret(folder: Path) -> None:
    """Create a folder's secret, unless another process is faster."""
    path = folder / _SECRET
    temporary = _written_aside(path, os.urandom(_DIGEST))
    try:
        os.link(temporary, path)  # unlike a renamed file, a link never replaces another file
    except OSError:
        # Where there are no links, and to replace a secret that cannot be trusted.
        if _read_secret(folder) is None:
            temporary.replace(path)
    finally:
        _remove(temporary)


def _read_own(path: Path, *, is_secret: bool = False) -> bytes:
    """Read a regular file that belongs to the user and that only the user can write.

    For a secret, only the user may be able to read it, too.
    """
    # A pipe is opened without waiting for a writer, and then rejected.
    optional = ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
    flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in optional)
    descriptor = os.open(path, flags)
    try:
        status = os.fstat(descriptor)
        is_own = stat.S_ISREG(status.st_mode) and not _others_write(status)
        if not is_own or (is_secret and _others_read(status)):
            msg = f"{path} is not the user's own file"
            raise PermissionError(msg)
    except BaseException:
        os.close(descriptor)
        raise
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def _write(path: Path, data: bytes) -> bool:
    """Write a file atomically; return whether its path could be used.

    It cannot if there is a folder at that path.
    """
    temporary = _written_aside(path, data)
    try:
        temporary.replace(path)
    except BaseException as error:
        _remove(temporary)
        if isinstance(error, OSError) and path.is_dir() and not path.is_symlink():
            return False
        raise
    return True


def _written_aside(path: Path, data: bytes) -> Path:
    """Write a temporary file in the same folder as the target, and return its path."""
    temporary = path.with_name(f"{path.stem}.{os.getpid()}.{os.urandom(4).hex()}{_TEMPORARY}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
            file.write(data)
    except BaseException:
        _remove(temporary)
        raise
    return temporary


def _remove(path: Path) -> None:
    with suppress(OSError):  # already gone, or not ours: then it is not used either
        path.unlink()


def _entry(path: Path) -> Entry | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    if stat.S_ISDIR(status.st_mode):
        return None
    return Entry(path, status.st_size, status.st_mtime)


def _make_private(folder: Path) -> None:
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)


def _others_write(status: os.stat_result) -> bool:
    if sys.platform == "win32":  # the user's own folders are private there by default
        return False
    foreign = status.st_uid != os.geteuid()
    return foreign or bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _others_read(status: os.stat_result) -> bool:
    return sys.platform != "win32" and bool(status.st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def _problem_with(folder: Path) -> str | None:
    """Return why a folder is not trusted: ``""`` if it is, ``None`` if it does not exist."""
    try:
        status = folder.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return f"{folder} cannot be examined ({error})"
    if stat.S_ISLNK(status.st_mode):
        return f"{folder} is a symbolic link"
    if not stat.S_ISDIR(status.st_mode):
        return f"{folder} is not a folder"
    if sys.platform != "win32" and status.st_uid != os.geteuid():
        return f"{folder} belongs to another user"
    if _others_write(status):
        return f"others can write to {folder}"
    return ""


def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=2)


# ---- choice of the cache -------------------------------------------------------------------------


@Interned
def object_cache_at(folder: str, limit: int) -> ObjectCache:
    """Return the cache in a folder; the same object each time, so that it warns once."""
    return ObjectCache(Path(folder) if folder else None, limit)


@cache
def _default_folder() -> str:
    if sys.platform == "linux":
        # Common cases without platformdirs, which loads slowly. A relative path is ignored, as
        # required by the XDG Base Directory Specification; some versions of platformdirs do not.
        for variable, below in (("XDG_CACHE_HOME", ""), ("HOME", ".cache")):
            folder = Path(os.environ.get(variable, ""), below)
            if folder.is_absolute():
                return str(folder / "phintys" / "objects")
        return _folder_in_home_by_user()
    from platformdirs import user_cache_dir

    return str(Path(user_cache_dir("phintys", appauthor=False)) / "objects")


def _folder_in_home_by_user() -> str:
    """Return the folder in the home directory known to the system, "" if there is none."""
    import pwd

    try:
        home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return ""
    return str(home / ".cache" / "phintys" / "objects") if home.is_absolute() else ""


def object_cache() -> ObjectCache:
    """Return the configured cache."""
    if not config.object_cache:
        return object_cache_at("", 0)
    folder = config.cache_dir
    folder = str(Path(folder) / "objects") if folder else _default_folder()
    return object_cache_at(folder, config.cache_megabytes * 2**20)
