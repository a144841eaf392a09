"""Code generation: LLVM IR as text, and the vector math of the scalar ops.

Placeholder.
"""

from phintys.backends.native.emit.builder import Builder as Builder
from phintys.backends.native.emit.module import Module as Module
from phintys.backends.native.emit.target import Target as Target
from phintys.backends.native.emit.types import FLOAT64 as FLOAT64
