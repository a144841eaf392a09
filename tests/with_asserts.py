"""Run a program with its own asserts, whatever PYTHONOPTIMIZE says of the modules that it imports.

The first argument is the program, or the path of its file; the others are the program's.
"""

import sys
from pathlib import Path

sys.path[0] = ""  # as with python -c
text = name = sys.argv.pop(1)
if name.endswith(".py"):
    sys.argv[0] = __file__ = name
    text = Path(name).read_text(encoding="utf-8")
else:
    name = "<program>"
exec(compile(text, name, "exec", dont_inherit=True, optimize=0))
