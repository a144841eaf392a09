"""``python -m phintys.compat (SCRIPT | -m MODULE) [ARGUMENTS]``: run an old program on Phintys."""

from __future__ import annotations

import sys

from phintys.compat.script import run_module, run_script

USAGE = "usage: python -m phintys.compat (SCRIPT | -m MODULE) [ARGUMENTS]"


def main(arguments: list[str]) -> int:
    """Run the script or the module that is given; return the exit status."""
    if not arguments or arguments[0] in {"-h", "--help"}:
        sys.stdout.write(f"{USAGE}\n\nRun a program written for Theano, Aesara or PyTensor.\n")
        return 0 if arguments else 2
    if arguments[0] != "-m":
        run_script(arguments[0], arguments[1:])
        return 0
    if not arguments[1:]:
        sys.stderr.write(f"{USAGE}\n")
        return 2
    run_module(arguments[1], arguments[2:])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
