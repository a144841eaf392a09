"""``python -m tools.site``: write the sources, and let Sphinx make pages of them."""

# Only the environment of `make site` has Sphinx.
# pyright: reportMissingImports=false, reportUnknownVariableType=false

from __future__ import annotations

import sys

from sphinx.cmd.build import main as sphinx

from tools.site.reference import write_reference
from tools.site.staging import DOCS, ROOT, stage

BUILD = ROOT / "build" / "site"


def main(options: list[str]) -> int:
    """Return the exit status of Sphinx, for which a warning is an error."""
    source = BUILD / "source"
    stage(source, ["reference/index", "gallery/index"])
    write_reference(source)
    return sphinx(
        [
            # In one process: the gallery starts JAX, whose threads do not survive a fork.
            *("-W", "--keep-going", "-q"),
            *("-c", str(DOCS / "site"), "-d", str(BUILD / "doctrees")),
            *options,
            str(source),
            str(BUILD / "html"),
        ]
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
