"""Arrays that evaluate at once: :mod:`phintys.tensor` as an eager array namespace, made for tests.

The functions are those of ``phintys.tensor``. Their arrays become inputs of a graph, which is
compiled, run and forgotten, so that a call takes milliseconds: use it to test programs written for
the `array API <https://data-apis.org/array-api>`_, not to compute. ``phintys.config.mode`` says how
graphs are compiled.

Examples
--------
>>> from phintys.testing import eager as xp
>>> x = xp.asarray([3.0, 1.0, 2.0])
>>> xp.sort(x) + 1
Array([2., 3., 4.])
>>> bool(xp.all(x > 0)), xp.linalg.vector_norm(x).dtype
(True, dtype('float64'))
"""

from typing import Any

from phintys import tensor
from phintys._base.names import public_dir
from phintys.testing.eager import fft, linalg
from phintys.testing.eager.array import Array
from phintys.testing.eager.namespace import asarray, evaluating, finfo, from_dlpack

__all__ = ["Array", "asarray", "fft", "finfo", "from_dlpack", "linalg"]

__array_api_version__ = "2025.12"

_member = evaluating(tensor)


def __getattr__(name: str) -> Any:
    """Return a function of ``phintys.tensor`` that evaluates at once; a dtype; or a constant."""
    return _member(name)


__dir__ = public_dir(__name__)
