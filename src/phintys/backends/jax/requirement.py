"""The library JAX, which is optional, and its 64-bit numbers."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any


def library() -> Any:
    """Return the module ``jax``.

    Raises
    ------
    ImportError
        It is not installed.

    Examples
    --------
    >>> from phintys.backends.jax.requirement import library
    >>> library().__name__
    'jax'
    """
    try:
        import jax
    except ImportError as error:
        msg = "phintys.jax needs JAX, which is not installed: pip install 'phintys[jax]'."
        raise ImportError(msg, name="jax") from error
    return jax


def with_64_bits() -> AbstractContextManager[Any]:
    """Return a context in which JAX keeps 64-bit numbers, in this thread only.

    The switch of the whole process would change the user's other programs.

    Examples
    --------
    >>> from phintys.backends.jax.requirement import library, with_64_bits
    >>> with with_64_bits():
    ...     str(library().numpy.arange(2.0).dtype)
    'float64'
    """
    return library().enable_x64(True)
