"""Special functions that SciPy computes, lane by lane."""

from __future__ import annotations

from phintys.backends.native.emit.builder import Builder
from phintys.backends.native.emit.externals import EXTERNALS, FOR_SOME_ARGUMENTS, External
from phintys.backends.native.emit.math.lanewise import call_external
from phintys.backends.native.emit.math.registry import Emitter, float_function
from phintys.backends.native.emit.values import Value

__all__: list[str] = []


def _caller(external: External) -> Emitter:
    def call(b: Builder, *values: Value) -> Value:
        return call_external(b, external.symbol, *values)

    call.__doc__ = f"scipy.special's {external.name}."
    return call


for _external in EXTERNALS.values():
    if _external.source == "scipy" and _external.op not in FOR_SOME_ARGUMENTS:
        float_function(_external.op, _external.nin)(_caller(_external))
