"""Running scripts written for an old package, in Python 2 or 3."""

from __future__ import annotations

import sys
from pathlib import Path
from types import CodeType, ModuleType

from phintys._base.errors import PhintysError
from phintys.compat.finder import install
from phintys.compat.names import PACKAGES
from phintys.compat.python2 import NAMES, with_old_divisions

__all__ = ["compile_script", "run_script", "translated_from_python2"]


def compile_script(source: str, filename: str) -> CodeType:
    """Compile a script. Python 2 is translated, with a notice on stderr.

    Raises
    ------
    SyntaxError
        The script is neither Python 3 nor Python 2.
    PhintysError
        The script looks like Python 2, and the translator is not installed.
    """
    try:
        return compile(source, filename, "exec")
    except SyntaxError as error:
        translated = translated_from_python2(source, filename, error)
    print(f"{filename}: translated from Python 2", file=sys.stderr)  # noqa: T201 - for the user
    return compile(with_old_divisions(translated, source, filename), filename, "exec")


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

    Parameters
    ----------
    path
        The script.
    arguments
        The arguments in ``sys.argv`` after the name of the script.
    """
    for package in PACKAGES:
        install(package)
    script = Path(path)
    code = compile_script(script.read_text(encoding="utf-8"), str(script))
    module = ModuleType("__main__")
    module.__file__ = str(script)
    vars(module).update(NAMES)
    before = sys.argv, sys.path[:], sys.modules["__main__"]
    sys.argv = [path, *arguments]
    sys.path.insert(0, str(script.resolve().parent))
    sys.modules["__main__"] = module
    try:
        exec(code, module.__dict__)  # noqa: S102 - running the user's script is the purpose
    finally:
        sys.argv, sys.path[:], sys.modules["__main__"] = before
    return module
