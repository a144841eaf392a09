"""``python -m tools.fuzz``: random graphs, in all modes.

    python -m tools.fuzz --count 20000 --seed 0
    python -m tools.fuzz --kind aliasing --count 20000 --jobs 2

run the graphs of the seeds 0 ... 19999. Each disagreement is made smaller and printed with
its seed and a program that shows it. The exit status is 1 if there was any.
"""

from __future__ import annotations

import sys

from tools.fuzz.command import main

if __name__ == "__main__":
    sys.exit(main())
