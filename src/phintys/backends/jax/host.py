"""Calls of the host from programs.

JAX may run a callback on a thread of its own, in which numbers have 32 bits, as is its default in
every thread: what it passes on and returns there is cast. So numbers of 64 bits go as pairs of
words of 32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from phintys.backends.jax.arrays import jax, jnp, lax

_WORD = np.dtype("uint32")


def call_host(
    function: Callable[..., Sequence[np.ndarray[Any, Any]]],
    specs: Sequence[Any],
    args: Sequence[Any],
    vmap_method: str,
) -> list[Any]:
    """Return the results of a function of NumPy arrays.

    Parameters
    ----------
    function
        Takes and returns arrays of NumPy.
    specs
        The shapes and dtypes of the results.
    args
        Arrays of JAX.
    vmap_method
        As for ``jax.pure_callback``.
    """
    args = [jnp.asarray(arg) for arg in args]
    dtypes = [np.dtype(arg.dtype) for arg in args]

    def on_words(*words: Any) -> tuple[np.ndarray[Any, Any], ...]:
        values = [_from_words(np.asarray(w), d) for w, d in zip(words, dtypes, strict=True)]
        return tuple(map(_as_words, function(*values)))

    given = [_to_words(arg) for arg in args]
    expected = tuple(
        jax.ShapeDtypeStruct((*spec.shape, *_words_of(spec.dtype)), _carrier(spec.dtype))
        for spec in specs
    )
    found = jax.pure_callback(on_words, expected, *given, vmap_method=vmap_method)
    return [_joined(words, np.dtype(s.dtype)) for words, s in zip(found, specs, strict=True)]


def show_host(function: Callable[..., None], args: Sequence[Any]) -> None:
    """Call a function of NumPy arrays for what it does, such as printing.

    Parameters
    ----------
    function
        Takes arrays of NumPy. An exception must not leave it.
    args
        Arrays of JAX.
    """
    args = [jnp.asarray(arg) for arg in args]
    dtypes = [np.dtype(arg.dtype) for arg in args]

    def on_words(*words: Any) -> None:
        function(*(_from_words(np.asarray(w), d) for w, d in zip(words, dtypes, strict=True)))

    jax.debug.callback(on_words, *map(_to_words, args))


def _words_of(dtype: Any) -> tuple[int, ...]:
    """Return the axis of the words of a number, which numbers of 32 bits lack."""
    count = _count(dtype)
    return (count,) if count > 1 else ()


def _count(dtype: Any) -> int:
    dtype = np.dtype(dtype)
    is_wide = dtype.itemsize // (2 if dtype.kind == "c" else 1) == 8
    return dtype.itemsize // _WORD.itemsize if is_wide else 1


def _carrier(dtype: Any) -> np.dtype[Any]:
    return _WORD if _count(dtype) > 1 else np.dtype(dtype)


def _to_words(x: Any) -> Any:
    if _count(x.dtype) == 1:
        return x
    if x.dtype.kind == "c":
        words = lax.bitcast_convert_type(jnp.stack([x.real, x.imag], -1), "uint32")
        return words.reshape(*x.shape, 4)
    return lax.bitcast_convert_type(x, "uint32")


def _joined(words: Any, dtype: np.dtype[Any]) -> Any:
    if _count(dtype) == 1:
        return words
    if dtype.kind == "c":
        parts = lax.bitcast_convert_type(words.reshape(*words.shape[:-1], 2, 2), "float64")
        return lax.complex(parts[..., 0], parts[..., 1])
    return lax.bitcast_convert_type(words, dtype)


def _from_words(words: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if _count(dtype) == 1:
        return words
    return np.ascontiguousarray(words).reshape(-1).view(dtype).reshape(words.shape[:-1])


def _as_words(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if _count(value.dtype) == 1:
        return value
    flat = np.ascontiguousarray(value).reshape(-1).view(_WORD)
    return flat.reshape(*value.shape, _count(value.dtype))
