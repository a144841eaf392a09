"""The code of scalar ops.

Modules that define it are imported when one of their functions is first looked up. Functions that
SciPy computes, lane by lane, are defined here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.late import LateModule
from phintys.backends.native.emit.externals import EXTERNALS, External
from phintys.backends.native.emit.math.registry import (
    COMPLEX_FUNCTIONS,
    FLOAT_FUNCTIONS,
    INTEGER_FUNCTIONS,
    float_function,
)

if TYPE_CHECKING:
    from phintys.backends.native.emit.builder import Builder
    from phintys.backends.native.emit.math import lanewise
    from phintys.backends.native.emit.math.registry import Emitter
    from phintys.backends.native.emit.values import Value
else:
    lanewise = LateModule("phintys.backends.native.emit.math.lanewise")

__all__ = ["COMPLEX_FUNCTIONS", "FLOAT_FUNCTIONS", "INTEGER_FUNCTIONS"]


def _caller(external: External) -> Emitter:
    def call(b: Builder, *values: Value) -> Value:
        return lanewise.call_external(b, external.symbol, *values)

    call.__doc__ = f"scipy.special's {external.name}."
    return call


for _external in EXTERNALS.values():
    if _external.source == "scipy":
        float_function(_external.op, _external.nin)(_caller(_external))
