"""The hash of a package's code: the same for the same code, another for any change."""

import importlib
import importlib.machinery
import subprocess
import sys
import zipfile

import pytest

from phintys._base.fingerprint import _described, fingerprint

FILES = {
    "__init__.py": "",
    "a.py": "def f(x):\n    return x in {'one', 'two', 'three'}\n",
    "inner/__init__.py": "y = 1\n",
    "inner/b.py": "raise ImportError('this is not imported')\n",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Make a package of these files, in a folder or an archive; return the hash of its code."""
    numbers = iter(range(100))

    def make(files, kind="folder"):
        place = tmp_path / str(next(numbers))
        place.mkdir()
        for name, text in files.items():
            path = place / "boxes" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if kind == "archive":
            archive = place.with_suffix(".zip")
            with zipfile.ZipFile(archive, "w") as file:
                for path in place.rglob("*.py"):
                    file.write(path, path.relative_to(place))
            place = archive
        with monkeypatch.context() as patch:
            patch.syspath_prepend(str(place))
            for name in [name for name in sys.modules if name.partition(".")[0] == "boxes"]:
                patch.delitem(sys.modules, name)
            importlib.import_module("boxes")
            found = fingerprint("boxes")
            del sys.modules["boxes"]
        return found

    return make


@pytest.mark.parametrize("kind", ["folder", "archive"])
@pytest.mark.parametrize("name", FILES)
def test_every_change_shows(package, kind, name):
    found = package(FILES, kind)
    assert found == package(FILES, kind) == package(FILES)
    assert found != package({**FILES, name: f"{FILES[name]}z = 2\n"}, kind)
    assert found != package({**FILES, "new.py": ""}, kind)
    if name != "__init__.py":
        assert found != package({other: FILES[other] for other in FILES if other != name}, kind)


CODE = "def f(x):\n    return x in {'one', 'two', 'three'} or (1.0, 'y', None)\n"


class Importer:
    """Brings modules that lie nowhere."""

    def __init__(self, *, lists):
        self.lists = lists

    def find_spec(self, name, path=None, target=None):
        if name not in {"boxes", "boxes.a"}:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=name == "boxes")

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(self.get_code(module.__name__), vars(module))

    def get_code(self, name):
        return compile(CODE if name == "boxes.a" else "", name, "exec")

    def iter_modules(self, prefix=""):
        return [("a", False)] if self.lists else []


@pytest.mark.parametrize("lists", [True, False])
def test_an_importer_without_files(monkeypatch, lists):
    importer = Importer(lists=lists)
    monkeypatch.setattr(sys, "meta_path", [importer, *sys.meta_path])
    module = importlib.import_module("boxes")
    importlib.import_module("boxes.a")
    try:
        module.__path__ = ["nowhere"]
        monkeypatch.setitem(sys.path_importer_cache, "nowhere", importer)
        found = fingerprint("boxes")
        assert (found is not None) is lists
        monkeypatch.setattr(Importer, "get_code", lambda self, name: None)
        assert fingerprint("boxes") is None
    finally:
        del sys.modules["boxes"], sys.modules["boxes.a"]


def test_code_is_described_alike_in_every_process():
    program = (
        "from phintys._base.fingerprint import _described\n"
        f"print(_described(compile({CODE!r}, 'boxes', 'exec')), end='')"
    )
    for seed in "12":
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == _described(compile(CODE, "boxes", "exec"))
    other = _described(compile(CODE.replace("three", "four"), "boxes", "exec"))
    assert other != done.stdout
