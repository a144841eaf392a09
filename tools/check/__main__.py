"""``python -m tools.check``."""

from __future__ import annotations

import sys

from tools.check.command import main

if __name__ == "__main__":
    sys.exit(main())
