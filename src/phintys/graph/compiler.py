"""Hooks that give lower layers access to the compiler.

Gradient checks need to compile a graph, and Ops need to run their inner graphs, but both are in
lower layers than the compiler and the backends. They call :func:`compile_graph` and
:func:`link_graph`; the compiler registers itself when it is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import PhintysError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

    Compiler = Callable[..., Callable[..., Any]]
    Linker = Callable[[FunctionGraph, Sequence[Variable]], Callable[[Sequence[Any]], list[Any]]]

_compiler: Compiler | None = None
_linker: Linker | None = None


def set_compiler(compiler: Compiler, linker: Linker) -> None:
    """Register the compiler that the functions of this module use; called once, by the compiler.

    Parameters
    ----------
    compiler
        ``compiler(inputs, outputs, **options)`` returns a function from the values of the inputs to
        a list with those of the outputs.
    linker
        ``linker(fgraph, mutable)`` returns a program of the reference backend.
    """
    global _compiler, _linker
    _compiler, _linker = compiler, linker


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


def link_graph(
    fgraph: FunctionGraph, mutable: Sequence[Variable] = ()
) -> Callable[[Sequence[Any]], list[Any]]:
    """Return a program of the reference backend, which runs a graph without rewriting it.

    Parameters
    ----------
    fgraph
        The graph, which must not be modified afterwards.
    mutable
        Inputs that the program may overwrite.

    Raises
    ------
    PhintysError
        The compiler has not been imported.
    """
    if _linker is None:
        msg = "Running an inner graph needs the compiler: import phintys first."
        raise PhintysError(msg)
    return _linker(fgraph, mutable)
