"""``python -m phintys``, or ``phintys``: the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import phintys
from phintys._base.late import LateModule
from phintys.commands import cache, configuration, export

if TYPE_CHECKING:
    from phintys.commands import bench, doctor
else:
    bench, doctor = LateModule("phintys.commands.bench"), LateModule("phintys.commands.doctor")

_EXAMPLES = """\
examples:
  phintys doctor                    what is there, and whether it works: for a report of a problem
  phintys cache show                where compiled code is kept, and how much of it
  phintys config                    all options, with their values
  phintys export model.py:f out     the function f of model.py, as an object with a header of C
  phintys bench                     some times of this machine, beside NumPy
"""
_EXPORT_EXAMPLES = """\
examples:
  phintys export model.py:f out --kind shared
  phintys export model.py:f out --target aarch64 --name model
"""
_EXPORT_OPTIONS = {
    "target": "the machine, such as host, x86-64-v3, aarch64, wasm32",
    "kind": "object, static, shared, python or wasm",
    "name": "the name of the function in C",
    "blas": "link, bundled or none: where linear algebra comes from",
    "blas-prefix": "what is put in front of the names of BLAS",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit status."""
    try:
        options = vars(_parser().parse_args(arguments))
    except SystemExit as end:  # help was asked for, or the arguments are wrong
        return int(end.code or 0)
    command = options.pop("command")
    if command == "export":
        given = {name: value for name, value in options.items() if value is not None}
        return export.run(given.pop("function"), given.pop("folder"), given)
    if command == "cache":
        return cache.run(options["action"])
    if command == "config":
        return configuration.run(options["option"])
    return bench.run() if command == "bench" else doctor.run(phintys.__version__)


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "phintys",
        description="Phintys, a symbolic tensor compiler.",
        epilog=_EXAMPLES,
        formatter_class=raw,
    )
    parser.add_argument("--version", action="version", version=f"phintys {phintys.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("doctor", help="say what is there, and test it in some seconds")
    of_cache = commands.add_parser("cache", help="look after the compiled code on disk")
    of_cache.add_argument(
        "action", choices=list(cache.ACTIONS), help="say how much there is, test it, or delete it"
    )
    of_config = commands.add_parser("config", help="print the options")
    of_config.add_argument("option", nargs="?", help="print the value of this one only")
    of_export = commands.add_parser(
        "export",
        help="write a compiled function for C",
        description="Run a program, and write a compiled function that it leaves under a name.",
        epilog=_EXPORT_EXAMPLES,
        formatter_class=raw,
    )
    of_export.add_argument(
        "function", metavar="SCRIPT.py:FUNCTION", help="a program, and a name that it defines"
    )
    of_export.add_argument("folder", metavar="FOLDER", help="where the files are written")
    for name, what in _EXPORT_OPTIONS.items():
        of_export.add_argument(f"--{name}", help=what)
    commands.add_parser("bench", help="time some programs")
    return parser


if __name__ == "__main__":
    sys.exit(main())
