"""Print or write the tables of docs/coverage.md."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from tools.coverage.counting import PEERS, WITHOUT_MEANING, by_family, by_peer, missing, read_names

PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
COLUMNS = ("present", "other", "meaningless", "missing 1", "missing 2", "missing 3")
INTRODUCTION = """# Coverage

How much of the array language of NumPy, the array API (2025.12) and PyTensor (3.3) there is, name
by name. `python -m tools.coverage --write` looks up every name and writes this page. *Other* counts
what is here under another name, *no meaning* what a graph cannot have: the last section says why.
Importance is by use in published projects: 1 in most programs, 2 in some, 3 in few. Sparse
matrices, convolutions, layers of networks, labelled dimensions and typed lists are not counted.
"""


def table(title: str, counts: dict[str, Counter[str]]) -> str:
    """Return counts of names, one row a group."""
    head = f"| {title} | names | present | other | no meaning | missing, 1 | 2 | 3 |\n"
    head += f"|---{'|--:' * 7}|\n"
    rows = [
        f"| {group} | {sum(count.values())} | {' | '.join(str(count[c]) for c in COLUMNS)} |\n"
        for group, count in sorted(counts.items())
    ]
    return head + "".join(rows)


def shown(name: str) -> str:
    """Return a name as code, without the module that has most of them."""
    return f"`{name.removeprefix('pt.')}`"


def page() -> str:
    """Return the text of docs/coverage.md."""
    names = read_names()
    peers = {PEERS[peer]: count for peer, count in by_peer(names).items()}
    parts = [
        INTRODUCTION,
        "## By library\n\n" + table("library", peers),
        "## By family\n\n" + table("family", by_family(names)),
    ]
    for importance in (1, 2, 3):
        found = missing(names, importance)
        lines = [f"- {family}: {' '.join(map(shown, ones))}\n" for family, ones in found.items()]
        parts.append(f"## Missing, importance {importance}\n\n" + ("".join(lines) or "Nothing.\n"))
    reasons = [
        f"- {reason}: {' '.join(map(shown, ones))}\n" for reason, ones in WITHOUT_MEANING.items()
    ]
    parts.append("## Without a meaning in graphs\n\n" + "".join(reasons))
    return "\n".join(parts)


def main() -> None:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(prog="python -m tools.coverage", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/coverage.md")
    if parser.parse_args().write:
        PAGE.write_text(page(), "utf-8")
    else:
        sys.stdout.write(page())


if __name__ == "__main__":
    main()
