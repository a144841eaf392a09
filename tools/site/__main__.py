"""``python -m tools.site``: write the sources, let Sphinx make pages of them, and check these.

``python -m tools.site.links FOLDER`` checks the links of a site that is there already.
"""

# Only the environment of `make site` has Sphinx.
# pyright: reportMissingImports=false, reportUnknownVariableType=false

from __future__ import annotations

import sys

from sphinx.cmd.build import main as sphinx

from tools.site.links import dead_links, weight
from tools.site.reference import write_reference
from tools.site.slimming import slim
from tools.site.staging import DOCS, ROOT, stage

BUILD = ROOT / "build" / "site"

HEAVIEST = 400_000
"""Bytes of the first page, with all that a browser loads for it."""


def main(options: list[str]) -> int:
    """Return the exit status: 0 without warnings of Sphinx and dead links."""
    source, html = BUILD / "source", BUILD / "html"
    stage(source, ["reference/index", "gallery/index"])
    write_reference(source)
    status = sphinx(
        [
            # In one process: the gallery starts JAX, whose threads do not survive a fork.
            *("-W", "--keep-going", "-q"),
            *("-c", str(DOCS / "site"), "-d", str(BUILD / "doctrees")),
            *options,
            str(source),
            str(html),
        ]
    )
    slim(html)
    problems = dead_links(html)
    if (bytes_ := sum(weight(html / "index.html").values())) > HEAVIEST:
        problems.append(f"index.html: {bytes_:,} bytes are loaded, more than {HEAVIEST:,}")
    sys.stderr.writelines(f"{problem}\n" for problem in problems)
    return status or int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
