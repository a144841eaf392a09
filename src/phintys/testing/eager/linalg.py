"""The functions of :mod:`phintys.tensor.linalg`, evaluated at once."""

from typing import Any

from phintys.tensor import linalg as symbolic
from phintys.testing.eager.namespace import evaluating

_member = evaluating(symbolic)


def __getattr__(name: str) -> Any:
    """Return a function of ``phintys.tensor.linalg`` that evaluates at once."""
    return _member(name)


def __dir__() -> list[str]:
    """Return the names of ``phintys.tensor.linalg``."""
    return dir(symbolic)
