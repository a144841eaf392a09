"""DebugMode: slow and suspicious."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.backends.reference import ReferenceBackend
from phintys.compile.mode import Mode

if TYPE_CHECKING:
    from phintys.rewriting import Pipeline

__all__ = ["DebugMode"]


class DebugMode(Mode):
    """A mode that checks what other modes trust, on the reference backend.

    It checks the invariants of the graph after each pass, calls ``debug_perform`` of Ops that
    define it, and gives each Op empty output cells, so that nothing left from another call can
    pass for a result. Values of all outputs are checked against their Types, as always on the
    reference backend.

    Parameters
    ----------
    pipeline
        The passes; none unless given.
    """

    def __init__(self, pipeline: Pipeline | None = None, *, name: str | None = None) -> None:
        super().__init__(ReferenceBackend(debug=True), pipeline, name=name, verify=True)
