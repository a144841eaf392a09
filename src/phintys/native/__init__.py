"""Functions of users in machine code as parts of graphs, without a compiler.

:func:`scalar` makes an elementwise function of a C function of numbers, and :func:`call` an Op of
one of arrays. Both are called by native code directly: see `docs/types_and_ops.md`.
"""

from phintys._base.names import public_dir
from phintys.native.calls import NativeCall, call
from phintys.native.functions import LibraryFunction, LocalFunction
from phintys.native.scalars import NativeScalar, scalar

__all__ = ["LibraryFunction", "LocalFunction", "NativeCall", "NativeScalar", "call", "scalar"]

__dir__ = public_dir(__name__)
