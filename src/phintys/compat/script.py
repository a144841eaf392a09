"""Running scripts written for an old package, in Python 2 or 3."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType

from phintys._base.errors import PhintysError
from phintys.compat.finder import install, watch_imports
from phintys.compat.names import PACKAGES
from phintys.compat.old_programs import GLOBALS, old_surroundings
from phintys.compat.printed import print_as
from phintys.compat.python2 import with_old_numbers

__all__ = ["compile_script", "run_module", "run_script", "translated_from_python2"]


def compile_script(source: str, filename: str, is_python2: bool = False) -> CodeType:
    """Compile a script. Python 2 is translated, with a notice on stderr.

    Parameters
    ----------
    source, filename
        The script.
    is_python2
        Whether it is known to be Python 2: then divisions are, even if it is Python 3 as well.

    Raises
    ------
    SyntaxError
        The script is neither Python 3 nor Python 2.
    PhintysError
        The script looks like Python 2, and the translator is not installed.
    """
    try:
        code = compile(source, filename, "exec")
    except SyntaxError as error:
        translated = translated_from_python2(source, filename, error)
    else:
        if not is_python2:
            return code
        return compile(with_old_numbers(source, source, filename), filename, "exec")
    print(f"{filename}: translated from Python 2", file=sys.stderr)  # noqa: T201 - for the user
    return compile(with_old_numbers(translated, source, filename), filename, "exec")


def _is_python2(source: str, filename: str) -> bool:
    """Return whether a script is not Python 3."""
    try:
        compile(source, filename, "exec")
    except SyntaxError:
        return True
    return False


def translated_from_python2(source: str, filename: str, error: SyntaxError) -> str:
    """Return a script in Python 2 as Python 3; ``error`` is raised if it is neither."""
    try:
        from fissix import refactor
        from fissix.pgen2.parse import ParseError
    except ImportError:
        msg = (
            f"{filename}, line {error.lineno}: {error.msg}. If the script is Python 2, install "
            "the translator: pip install 'phintys[compat]'."
        )
        raise PhintysError(msg) from error
    fixers = refactor.get_fixers_from_package("fissix.fixes")
    try:
        return str(refactor.RefactoringTool(fixers).refactor_string(source + "\n", filename))
    except ParseError:
        raise error from None


def run_script(path: str, arguments: list[str]) -> ModuleType:
    """Run a script with Phintys installed as all old packages, and return its module.

    What is printed is in the notation of the first of them that is imported.

    Parameters
    ----------
    path
        The script.
    arguments
        The arguments in ``sys.argv`` after the name of the script.
    """
    script = Path(path)
    return _run(script, [path, *arguments], script.resolve().parent, None)


def run_module(name: str, arguments: list[str]) -> ModuleType:
    """Run a module as :func:`run_script` runs a script; of a package, the module ``__main__``.

    Parameters
    ----------
    name
        The module, which is looked for in the current folder first.
    arguments
        The arguments in ``sys.argv`` after the file of the module.

    Raises
    ------
    ImportError
        There is no such module, or it has no source code.
    """
    _install()
    here = Path.cwd()
    sys.path.insert(0, str(here))
    try:
        spec = find_spec(name) if name else None
        if spec is not None and spec.submodule_search_locations is not None:
            spec = find_spec(f"{name}.__main__")
    finally:
        sys.path.remove(str(here))
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        msg = f"There is no module {name} that can be run: it must be a file of Python code."
        raise ImportError(msg)
    return _run(Path(spec.origin), [spec.origin, *arguments], here, spec)


def _install() -> None:
    for package in PACKAGES:
        install(package)


def _run(script: Path, arguments: list[str], folder: Path, spec: ModuleSpec | None) -> ModuleType:
    """Run a file with the arguments of its process, and a folder that it imports from."""
    _install()
    source = script.read_text(encoding="utf-8")
    is_python2 = _is_python2(source, str(script))
    code = compile_script(source, str(script))
    module = ModuleType("__main__")
    module.__file__ = str(script)
    module.__spec__ = spec
    module.__package__ = None if spec is None else spec.parent
    vars(module).update(GLOBALS)
    imported: list[str] = []

    def first_only(package: str) -> None:
        if not imported:
            print_as(package)
        imported.append(package)

    end_watching = watch_imports(first_only)
    before = sys.argv, sys.path[:], sys.modules["__main__"]
    sys.argv = arguments
    sys.path.insert(0, str(folder))
    sys.modules["__main__"] = module

    def compiled(source: str, filename: str) -> CodeType:
        return compile_script(source, filename, is_python2)

    try:
        with old_surroundings(folder, compiled):
            exec(code, module.__dict__)  # noqa: S102 - running the user's script is the purpose
    finally:
        end_watching()
        print_as(None)
        sys.argv, sys.path[:], sys.modules["__main__"] = before
    return module
