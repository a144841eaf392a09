"""The functions of :mod:`phintys.tensor.fft`, evaluated at once."""

from typing import Any

from phintys.tensor import fft as symbolic
from phintys.testing.eager.namespace import evaluating

_member = evaluating(symbolic)


def __getattr__(name: str) -> Any:
    """Return a function of ``phintys.tensor.fft`` that evaluates at once."""
    return _member(name)


def __dir__() -> list[str]:
    """Return the names of ``phintys.tensor.fft``."""
    return dir(symbolic)
