"""Scalar functions whose result dtypes for integers and bools differ from those of Phintys.

They follow the same rules as the elementwise functions of :mod:`phintys.compat.elementwise`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.scalar as ps
import phintys.tensor as pt
from phintys._base.config import config
from phintys._base.errors import PhintysError
from phintys.compat.elementwise import INTEGRAL, NARROW
from phintys.compat.old_classes import looked_up_in

if TYPE_CHECKING:
    from phintys.graph import Apply

__all__ = ["SCALARS", "shape"]


def shape(self: Any) -> Any:
    """Return the shape of a scalar: an empty vector."""
    return pt.constant(np.empty(0, "int64"))


def _dtype_of(x: Any) -> str | None:
    dtype = getattr(x, "dtype", None)
    return None if dtype is None else str(dtype)


def _old_form(core: Any) -> Any:
    """Return a scalar op that casts its operands as the old packages did.

    Its nodes apply the core's op, to which it compares equal, so that rules apply to them. Python
    lets a subclass decide a comparison with an object of its base class.
    """
    kind: Any = type(core)

    class OldScalar(kind):
        def make_node(self, *inputs: Any) -> Apply:
            if core is ps.true_div:
                return _quotient(inputs)
            return core.make_node(*[_as_float(x, core.name in INTEGRAL) for x in inputs])

        def __eq__(self, other: object) -> bool:
            return core is getattr(other, "_core", other)

        def __hash__(self) -> int:
            return hash(core)

    old: Any = OldScalar.__new__(OldScalar)
    vars(old).update(vars(core), _core=core)
    return old


def _as_float(x: Any, all_integers: bool) -> Any:
    dtype = _dtype_of(x)
    if dtype in NARROW:
        return ps.cast(x, "float32")
    if all_integers and dtype is not None and np.dtype(dtype).kind in "iu":
        return ps.cast(x, "float64")
    return x


def _quotient(inputs: Any) -> Apply:
    """Return the node of a quotient, which has the dtype ``floatX`` for two integers."""
    node: Any = ps.true_div.make_node(*inputs)
    kinds = {x.type.numpy_dtype.kind for x in node.inputs}
    if kinds <= set("biu") and node.outputs[0].type.dtype != config.floatX:
        return ps.cast(node.outputs[0], config.floatX).owner
    return node


def _old_functions() -> dict[str, Any]:
    """Return the old form of each scalar function whose dtypes differ."""
    found: dict[str, Any] = {"true_div": _old_form(ps.true_div)}
    for name in ps.__all__:
        core: Any = getattr(ps, name)
        if not isinstance(core, ps.ScalarOp) or core.nin < 1:
            continue
        try:
            (dtype,) = core.resolve_dtypes(["int8"] * core.nin)
        except PhintysError:
            continue  # not defined for integers
        if name in INTEGRAL or (dtype.kind == "f" and core is not ps.true_div):
            found[name] = _old_form(core)
    return found


SCALARS = _old_functions()
"""The functions by name; they are also attributes of this module."""

__getattr__ = looked_up_in(SCALARS, __name__)
