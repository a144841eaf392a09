"""Functions of libm and SciPy that native code calls lane by lane.

Code refers to them by symbols and contains no addresses, so that it can be kept on disk; the loader
binds each symbol to :func:`address_of`.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from phintys._base.errors import MethodNotDefinedError
from phintys._base.late import LateModule
from phintys._base.records import record
from phintys._base.uninterrupted import import_whole
from phintys.scalar.row_kinds import FloatRow
from phintys.scalar.table import SCALAR_OPS

if TYPE_CHECKING:
    from phintys._base import capsules
else:
    capsules = LateModule("phintys._base.capsules")


@record(frozen=True)
class External:
    """A C function of doubles (or floats) that returns one.

    Attributes
    ----------
    op
        Name of the scalar op.
    source
        ``"libm"``, or ``"scipy"`` for ``scipy.special.cython_special``.
    name
        Its name there.
    nin
        Number of inputs.
    dtype
        Name of the dtype of inputs and output.
    """

    op: str
    source: str
    name: str
    nin: int = 1
    dtype: str = "float64"

    @property
    def symbol(self) -> str:
        """Its name in generated code."""
        return f"phintys_{self.source}_{self.op}_{self.dtype}"

    @property
    def integer_after(self) -> bool:
        """Whether a C int follows the inputs, which is ignored: Cython's functions take one."""
        return self.source == "scipy"


def _libm(op: str, nin: int = 1) -> list[External]:
    return [
        External(op, "libm", op + suffix, nin, dtype)
        for dtype, suffix in (("float64", ""), ("float32", "f"))
    ]


# Scalar ops whose function has the same name in SciPy, by the number of inputs.
_SAME_NAME = {
    1: "erfcinv erfinv expi gamma i0 i0e i1 i1e j0 j1 ndtri",
    2: "beta betaln binom gammainc gammaincc iv ive jv kv kve owens_t poch yv",
    3: "betainc",
}

FOR_SOME_ARGUMENTS = frozenset(
    {"beta", "betaln", "binom", "expi", "poch"}
    | {"i0", "i1", "iv", "ive", "j0", "j1", "jv", "kv", "kve", "yv"}
)
"""Functions that have native code, which calls SciPy's for some arguments only."""

_ALL = [
    *(
        external
        for op, nin in (("sin", 1), ("cos", 1), ("tan", 1), ("fmod", 2))
        for external in _libm(op, nin)
    ),
    *(External(op, "scipy", op, nin) for nin, ops in _SAME_NAME.items() for op in ops.split()),
    *(
        External(row.name, "scipy", row.reference.partition(":")[2], row.nin)
        for row in SCALAR_OPS.values()
        if isinstance(row, FloatRow) and row.external
    ),
]

EXTERNALS: dict[str, External] = {external.symbol: external for external in _ALL}
"""All external functions, by symbol."""


@cache
def _libm_handle() -> Any:
    if sys.platform == "win32":
        return ctypes.CDLL("ucrtbase")
    # Python itself is linked to it, so no name has to be known.
    return ctypes.CDLL(None)


@cache
def address_of(symbol: str) -> int:
    """Return the address of an external function in this process.

    Parameters
    ----------
    symbol
        One of :data:`EXTERNALS`.

    Raises
    ------
    MethodNotDefinedError
        If this platform's libm or the installed SciPy does not have it.
    """
    external = EXTERNALS[symbol]
    if external.source == "libm":
        try:
            function = getattr(_libm_handle(), external.name)
        except AttributeError as error:
            raise _missing(external) from error
        return int(ctypes.cast(function, ctypes.c_void_p).value or 0)
    return _scipy_address(external)


def _scipy_address(external: External) -> int:
    """Return the address of a function that takes and returns doubles.

    Functions of several types are exported once for each, under numbered names.
    """
    functions = import_whole("scipy.special.cython_special").__pyx_capi__
    wanted = f"double ({'double, ' * external.nin}int __pyx_skip_dispatch)"
    for name, capsule in functions.items():
        prefix, found, _ = name.rpartition(external.name)
        plain = not prefix or (prefix.startswith("__pyx_fuse_") and prefix[11:].isdecimal())
        if found and name.endswith(external.name) and plain:
            signature, address = capsules.read_capsule(capsule)
            if signature == wanted:
                return address
    raise _missing(external)


def _missing(external: External) -> MethodNotDefinedError:
    return MethodNotDefinedError(
        f"{external.source} has no function {external.name!r} here, which native code needs for "
        f"{external.op}. Use mode='reference' for this function."
    )


# ---- functions of users --------------------------------------------------------------------------

USER_PREFIX = "phintys_user_"
"""How the symbols of functions of users begin; :mod:`.user_functions` makes and reads them."""

LOCAL_PREFIX = f"{USER_PREFIX}local_"
"""How the symbols of those begin that only this process knows."""
