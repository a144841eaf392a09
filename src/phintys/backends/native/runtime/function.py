"""NativeProgram: what the native backend makes of a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import IntegrityError
from phintys.backends.base import CallShape
from phintys.backends.native.explain import explain_program
from phintys.backends.native.program import Array
from phintys.backends.native.runtime.callbacks import Callbacks, plain_array
from phintys.backends.native.runtime.context import ProgramCode
from phintys.backends.native.runtime.engine import load
from phintys.backends.native.runtime.failures import Failures
from phintys.backends.native.runtime.support import trim

if TYPE_CHECKING:
    from phintys.backends.native.emit.frame import EmittedProgram
    from phintys.backends.native.program import Program
    from phintys.backends.native.runtime.support import Support
    from phintys.graph.fgraph import FunctionGraph

__all__ = ["NativeProgram"]


class NativeProgram:
    """A graph as native code; called with a value for each input, it returns a list.

    Parameters
    ----------
    fgraph
        The graph, for error messages.
    program, emitted
        What it was lowered to, and the code.
    support
        The native code that serves all programs.
    """

    def __init__(
        self, fgraph: FunctionGraph, program: Program, emitted: EmittedProgram, support: Support
    ) -> None:
        self.fgraph = fgraph
        self.program = program
        self.emitted = emitted
        self._callbacks = Callbacks([one.node for one in emitted.layout.callbacks])
        self._code = ProgramCode(
            program,
            emitted.layout,
            load(emitted.module, support.symbols),
            self._callbacks,
            Failures(fgraph, emitted.layout.failures),
            support,
        )
        self._dtypes = [
            value.dtype if isinstance(value, Array) else None for value in program.arguments
        ]
        # What is handed on is the caller's own object, even where native code took a copy.
        arguments = {value: number for number, value in enumerate(program.arguments)}
        self._handed_on = [
            (number, arguments[value])
            for number, value in enumerate(program.results)
            if value in arguments
        ]
        self._run = self._code.builtin(CallShape(len(program.arguments), _refuse))

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the values of the outputs."""
        values = [
            value if dtype is None else plain_array(value, dtype)
            for value, dtype in zip(inputs, self._dtypes, strict=True)
        ]
        results: list[Any] = self._run(*values)
        for number, index in self._handed_on:
            results[number] = inputs[index]
        return results

    def fast_call(self, shape: CallShape) -> Callable[..., Any]:
        """Return a builtin that checks its arguments itself."""
        return self._code.builtin(shape)

    def explain(self) -> str:
        """Return the program as text."""
        return explain_program(self.program, self.emitted)

    def free(self) -> None:
        """Let go of memory kept for the next call."""
        self._callbacks.free()
        trim()


def _refuse(*values: Any) -> Any:
    described = ", ".join(
        f"{value.dtype}{value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
        for value in values
    )
    msg = f"A native program was called with values that do not fit its inputs: {described}."
    raise IntegrityError(msg)
