"""Complex numbers and their parts.

None of these functions is holomorphic, so each defines its own rules. The gradient of a real cost C
with respect to z = a + ib is dC/da + i dC/db.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from phintys.scalar.arithmetic import abs, sqr
from phintys.scalar.op import Dtypes, unsupported_dtypes
from phintys.scalar.row import Row, dtype_of
from phintys.scalar.row_kinds import UfuncRow
from phintys.scalar.type import real_dtype


def _is_complex(x: Any) -> bool:
    return dtype_of(x).kind == "c"


class _PartRow(Row):
    """A real function of one complex number."""

    def __init__(self, name: str, function: Callable[..., Any], **facts: Any) -> None:
        super().__init__(name, nin=1, **facts)
        self.impl = function

    @property
    def reference(self) -> str:
        """The origin of the function."""
        return f"numpy:{self.name}"

    def _resolve(self, dtypes: Dtypes) -> Dtypes:
        return (real_dtype(dtypes[0]),)


# dC/da = g: the gradient is real, and the cast applied to every gradient makes it complex.
real = _PartRow(
    "real",
    lambda x: np.real(x).copy() if isinstance(x, np.ndarray) else np.real(x),
    doc="The real part; x itself if x is real.",
    example="[1 + 2j, 3 - 4j]",
    derivative=lambda x, out: (1,),
    pushforward=lambda x, out, v: real(v[0]),
    slope_at_zero=1,
    cost=0,
)

imag = _PartRow(
    "imag",
    lambda x: np.imag(x).copy() if isinstance(x, np.ndarray) else np.imag(x),
    doc="The imaginary part; 0 if x is real.",
    example="[1 + 2j, 3 - 4j]",
    pullback=lambda x, out, g: (complex(0, g) if _is_complex(x) else 0,),
    pushforward=lambda x, out, v: imag(v[0]) if _is_complex(x) else None,
    cost=0,
)

conj = UfuncRow(
    "conj",
    np.conjugate,
    doc="The complex conjugate; x itself if x is real.",
    example="[1 + 2j, 3 - 4j]",
    pullback=lambda x, out, g: (conj(g) if _is_complex(x) else g,),
    pushforward=lambda x, out, v: conj(v[0]) if _is_complex(x) else v[0],
    slope_at_zero=1,
)


class _Angle(_PartRow):
    def _resolve(self, dtypes: Dtypes) -> Dtypes:
        part = real_dtype(dtypes[0])
        if part == np.bool_:
            return (np.dtype(np.float64),)  # NumPy's angle converts these to int first
        return np.arctan2.resolve_dtypes((part, part, None))[2:]


# arctan2(b, a) has the gradient (-b + ia) / |z|^2.
angle = _Angle(
    "angle",
    np.angle,
    doc="Angle in the complex plane, in [-pi, pi]; 0 or pi if x is real.",
    example="[1j, -1j]",
    pullback=lambda x, out, g: (
        g * complex(-imag(x), real(x)) / sqr(abs(x)) if _is_complex(x) else 0,
    ),
    pushforward=lambda x, out, v: (
        (real(x) * imag(v[0]) - imag(x) * real(v[0])) / sqr(abs(x)) if _is_complex(x) else None
    ),
    cost=30,
)


class _MakerRow(Row):
    """A complex number from two real ones: complex64 for small floats, else complex128."""

    def __init__(self, name: str, function: Callable[..., Any], **facts: Any) -> None:
        super().__init__(name, nin=2, **facts)
        self._function = function

    @property
    def reference(self) -> str:
        """The origin of the function."""
        return f"{__package__}:{self.name}"

    def _resolve(self, dtypes: Dtypes) -> Dtypes:
        if any(dtype.kind == "c" for dtype in dtypes):
            hint = "Take the real part of a complex number first."
            raise unsupported_dtypes(self, dtypes, "floats, integers and bools", hint)
        wide = (np.dtype(np.float64) if dtype.kind in "biu" else dtype for dtype in dtypes)
        return (np.result_type(np.complex64, *wide),)

    def impl(self, *values: Any) -> Any:
        (dtype,) = self.resolve_dtypes([np.asarray(value).dtype for value in values])
        part = real_dtype(dtype)
        return self._function(*(np.asarray(value).astype(part) for value in values))[()]


def _complex(re: Any, im: Any) -> Any:
    # re + 1j * im would turn an infinite part into NaN.
    out = np.empty(np.broadcast_shapes(re.shape, im.shape), np.result_type(re, np.complex64))
    out.real = re
    out.imag = im
    return out


complex = _MakerRow(
    "complex",
    _complex,
    doc="re + i im: the complex number with these parts.",
    parameters=("re", "im"),
    example="[1.0, 2.0], [3.0, 4.0]",
    pullback=lambda re, im, out, g: (real(g), imag(g)),
    pushforward=lambda re, im, out, v: complex(*(0 if w is None else w for w in v)),
)

complex_from_polar = _MakerRow(
    "complex_from_polar",
    lambda r, angle: _complex(r * np.cos(angle), r * np.sin(angle)),
    doc="r exp(i angle): the complex number of this modulus and angle.",
    parameters=("r", "angle"),
    example="[1.0, 2.0], 0.0",
    # partials exp(i angle) and i out; real inputs take the real part of g * conj(partial)
    derivative=lambda r, angle, out: (complex_from_polar(1, angle), 1j * out),
    cost=30,
)
