"""``python -m tools.site``: write the sources, and let Sphinx make pages of them."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx

from tools.site.staging import DOCS, ROOT, stage

BUILD = ROOT / "build" / "site"


def main(options: list[str]) -> int:
    """Return the exit status of Sphinx, for which a warning is an error."""
    source = BUILD / "source"
    stage(source)
    return sphinx(
        [
            *("-W", "--keep-going", "-q", "-c", str(DOCS / "site"), "-d", str(BUILD / "doctrees")),
            *options,
            str(source),
            str(BUILD / "html"),
        ]
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
