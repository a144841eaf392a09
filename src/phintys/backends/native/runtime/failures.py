"""From a status to the error that the user sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from phintys._base.errors import IntegrityError
from phintys.backends.native.emit.frame import EXCEPTION, OUT_OF_MEMORY
from phintys.backends.reference.vm import VM

if TYPE_CHECKING:
    from phintys.backends.native.program import Failure
    from phintys.graph.fgraph import FunctionGraph

__all__ = ["Failures"]


class Failures:
    """Raises what a program reports.

    A shape that does not fit or an index out of range is found in the middle of native code, which
    knows the place but not the words. The reference backend has both: it runs the same graph on the
    same inputs, and what it raises is the error.

    Parameters
    ----------
    fgraph
        The graph.
    failures
        What the numbers 1, 2 ... of statuses stand for.
    """

    def __init__(self, fgraph: FunctionGraph, failures: Sequence[Failure]) -> None:
        self.fgraph = fgraph
        self.failures = list(failures)

    def raise_for(self, status: int, *inputs: Any) -> NoReturn:
        """Raise the error that a status stands for.

        Parameters
        ----------
        status
            What the program said.
        inputs
            The values it was called with.

        Raises
        ------
        MemoryError
            There was no memory for intermediate results.
        IntegrityError
            The reference backend finds nothing wrong: a bug in Phintys.
        """
        if status == OUT_OF_MEMORY:
            msg = "There is not enough memory for the intermediate results of this call."
            raise MemoryError(msg)
        if status == EXCEPTION or not 1 <= status <= len(self.failures):
            msg = f"Native code failed with status {status} and no error: a bug in Phintys."
            raise IntegrityError(msg)
        VM(self.fgraph)(inputs)
        failure = self.failures[status - 1]
        msg = (
            f"Native code reports that {failure.node} failed ({failure.kind} {failure.detail}), "
            f"but the reference backend computes it: a bug in Phintys. The node was made at\n"
            f"  {failure.node.origin}"
        )
        raise IntegrityError(msg)
