"""The table of all options, as ``docs/configuration.md`` has it.

``python -m phintys._base.config_page > docs/configuration.md`` writes the page anew.
"""

from __future__ import annotations

import sys
from typing import Any

from phintys._base.config import ENVIRONMENT_VARIABLE, OPTIONS, Option

__all__ = ["config_page"]

_HEAD = f"""\
# Options

Written by `python -m phintys._base.config_page` from the options themselves; a test keeps it up to
date. An option is set

- for the process, by assignment: `phintys.config.floatX = "float32"`;
- for one block and one thread: `with phintys.config.change_flags(floatX="float32"):`, which also
  decorates functions;
- at start, by the environment variable `{ENVIRONMENT_VARIABLE}="floatX=float32,mode=reference"`.

A value that an option does not take raises `ConfigError`, which is a `ValueError`, and an unknown
name raises `AttributeError`. `phintys.config.describe()` prints this table with the values in
force.

| Option | Default | Takes | Meaning |
|---|---|---|---|
"""


def config_page() -> str:
    """Return the page as Markdown.

    Examples
    --------
    >>> "| `floatX` | `'float64'` |" in config_page()
    True
    """
    return _HEAD + "".join(f"{_row(name, option)}\n" for name, option in OPTIONS.items())


def _row(name: str, option: Option[Any]) -> str:
    values = ", ".join(f"`{choice!r}`" for choice in option.choices) or option.expected
    return f"| `{name}` | `{option.default!r}` | {values} | {option.doc} |"


if __name__ == "__main__":
    sys.stdout.write(config_page())
