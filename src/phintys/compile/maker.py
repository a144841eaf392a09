"""FunctionMaker: what a compiled function was made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.records import record

if TYPE_CHECKING:
    from phintys.compile.io import In, Out
    from phintys.compile.mode import Mode
    from phintys.compile.profile import Profile
    from phintys.graph.fgraph import FunctionGraph
    from phintys.rewriting import RewriteTrace

__all__ = ["FunctionMaker"]


@record(frozen=True, eq=False)
class FunctionMaker:
    """What a function was made of.

    Attributes
    ----------
    fgraph : FunctionGraph
        The graph after all rewrites: inputs in the order of ``inputs``, outputs first those that
        are returned, then the new values of ``updated``.
    inputs : list of In
        Explicit inputs first, then those that hold their own values, shared variables among them.
    outputs : list of Out
        What is returned.
    updated : list of int
        For each update, the number of the input whose next value it is.
    mode : Mode
        How the function was compiled.
    name : str or None
        The function's name.
    profile : Profile or None
        Where times are added up.
    keys : list of str or None
        Keys of the returned dict.
    unpack : str
        ``"one"``, ``"list"``, ``"dict"`` or ``"none"``: what a call returns.
    trace : RewriteTrace or None
        What was rewritten, if the mode is tracing.
    """

    fgraph: FunctionGraph
    inputs: list[In]
    outputs: list[Out]
    updated: list[int]
    mode: Mode
    name: str | None = None
    profile: Profile | None = None
    keys: list[str] | None = None
    unpack: str = "list"
    trace: RewriteTrace | None = None

    @property
    def function_name(self) -> str:
        """The function's name; another name of ``name`` that is never ``None``."""
        return self.name or "function"
