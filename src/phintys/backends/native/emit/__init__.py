"""Code generation: LLVM's language as text, and the scalar ops in it.

A kernel is written once, for scalars or vectors of any number of lanes::

    target = Target.configured()
    module = Module(target)
    lanes = target.lanes(FLOAT64)
    function = module.function("kernel", VOID, [INT64, (PTR, "noalias"), (PTR, "noalias")])
    b = Builder(function)
    n, out, x = b.arguments


    def body(index, mask):
        value = load(b, FLOAT64.of(lanes), b.offset(x, index, FLOAT64), mask)
        result = emit(b, "exp", [emit(b, "neg", [value], "float64")], "float64")
        store(b, result, b.offset(out, index, FLOAT64), mask)


    vector_loop(b, n, lanes, body)
    b.ret()

``str(module)`` is the text. Before the code is run, symbols in ``module.externals`` are bound to
``address_of(symbol)``, and ``library(target, module.math_functions)`` is compiled, once for all
kernels.
"""

from phintys.backends.native.emit.builder import Builder as Builder
from phintys.backends.native.emit.casting import cast as cast
from phintys.backends.native.emit.control import Loop as Loop
from phintys.backends.native.emit.control import each_lane as each_lane
from phintys.backends.native.emit.control import lane_mask as lane_mask
from phintys.backends.native.emit.control import loop as loop
from phintys.backends.native.emit.control import reduce_lanes as reduce_lanes
from phintys.backends.native.emit.control import vector_loop as vector_loop
from phintys.backends.native.emit.control import when as when
from phintys.backends.native.emit.externals import address_of as address_of
from phintys.backends.native.emit.library import library as library
from phintys.backends.native.emit.llvm_library import llvm as llvm
from phintys.backends.native.emit.memory import gather as gather
from phintys.backends.native.emit.memory import load as load
from phintys.backends.native.emit.memory import scatter as scatter
from phintys.backends.native.emit.memory import store as store
from phintys.backends.native.emit.module import Module as Module
from phintys.backends.native.emit.operations import emit as emit
from phintys.backends.native.emit.operations import supports as supports
from phintys.backends.native.emit.target import Target as Target
from phintys.backends.native.emit.types import BOOL as BOOL
from phintys.backends.native.emit.types import FLOAT32 as FLOAT32
from phintys.backends.native.emit.types import FLOAT64 as FLOAT64
from phintys.backends.native.emit.types import INT8 as INT8
from phintys.backends.native.emit.types import INT16 as INT16
from phintys.backends.native.emit.types import INT32 as INT32
from phintys.backends.native.emit.types import INT64 as INT64
from phintys.backends.native.emit.types import PTR as PTR
from phintys.backends.native.emit.types import UINT8 as UINT8
from phintys.backends.native.emit.types import UINT64 as UINT64
from phintys.backends.native.emit.types import VOID as VOID
from phintys.backends.native.emit.types import Type as Type
from phintys.backends.native.emit.types import type_of as type_of
from phintys.backends.native.emit.values import Complex as Complex
from phintys.backends.native.emit.values import Value as Value
