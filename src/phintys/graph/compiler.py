"""A hook that gives lower layers access to the compiler.

Ops with an inner graph and gradient checks need to compile a graph, but are in a lower layer than
the compiler. They call :func:`compile_graph`; the compiler registers itself when it is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import PhintysError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.variable import Variable

    Compiler = Callable[..., Callable[..., Any]]

__all__ = ["compile_graph", "set_compiler"]

_compiler: Compiler | None = None


def set_compiler(compiler: Compiler) -> None:
    """Register the compiler that :func:`compile_graph` uses; called once, by the compiler.

    ``compiler(inputs, outputs, **options)`` returns a function from the values of the inputs to a
    list with those of the outputs.
    """
    global _compiler  # noqa: PLW0603 - a hook with one owner
    _compiler = compiler


def compile_graph(
    inputs: Sequence[Variable], outputs: Sequence[Variable], **options: Any
) -> Callable[..., list[Any]]:
    """Return a function from the values of ``inputs`` to a list with those of ``outputs``.

    Parameters
    ----------
    inputs, outputs
        As for :func:`phintys.function`.
    options
        Further arguments of :func:`phintys.function`.

    Raises
    ------
    PhintysError
        The compiler has not been imported.
    """
    if _compiler is None:
        msg = "Evaluating a graph needs the compiler: import phintys first."
        raise PhintysError(msg)
    return _compiler(inputs, outputs, **options)
