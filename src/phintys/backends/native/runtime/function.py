"""NativeProgram: a graph compiled to native code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from textwrap import indent
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.caches import kept_property
from phintys._base.errors import IntegrityError
from phintys._base.late import LateModule
from phintys._base.records import record
from phintys.backends.base import CallShape, ExportNames, ExportOptions, LinkedProgram
from phintys.backends.native.assembler.system import has_pool
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.lower import lower_program
from phintys.backends.native.runtime.background import wait_for_all
from phintys.backends.native.runtime.callbacks import Callbacks, plain_array
from phintys.backends.native.runtime.capi import Unsupported
from phintys.backends.native.runtime.context import Improvement, ProgramCode, ProgramInterface
from phintys.backends.native.runtime.engine import (
    Code,
    check_runs_here,
    compile_object,
    load,
    load_object,
    load_quickly,
)
from phintys.backends.native.runtime.failures import Failures
from phintys.backends.native.runtime.support import Support, support, trim
from phintys.backends.native.steps.callback import CCall
from phintys.backends.native.values import Array
from phintys.backends.native.writer.programs import EmittedProgram, emit_program
from phintys.graph.aliasing import overwrites

if TYPE_CHECKING:
    from pathlib import Path

    from phintys.backends.native import explain as explaining
    from phintys.backends.native.export import exporting
    from phintys.backends.native.program import Program
    from phintys.backends.native.runtime import c_entry, saving
    from phintys.backends.native.runtime.c_entry import CEntry
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
else:
    explaining = LateModule("phintys.backends.native.explain")
    exporting = LateModule("phintys.backends.native.export.exporting")
    c_entry = LateModule("phintys.backends.native.runtime.c_entry")
    saving = LateModule("phintys.backends.native.runtime.saving")


class NativeProgram:
    """A graph compiled to native code; takes a value for each input and returns a list of outputs.

    Parameters
    ----------
    fgraph
        The graph, for error messages.
    interface
        The interface between program and runtime.
    code
        Its machine code.
    improvement
        How to recompile it at a higher optimization level, if that is possible.
    support
        The native code shared by all programs.
    link
        Returns the program of an inner graph of a callback.
    made
        The program and its text, if available.
    """

    def __init__(
        self,
        fgraph: FunctionGraph,
        interface: ProgramInterface,
        code: Code,
        support: Support,
        link: Callable[[FunctionGraph], LinkedProgram],
        made: tuple[Program, EmittedProgram] | None = None,
        improvement: Improvement | None = None,
    ) -> None:
        self.fgraph = fgraph
        self._link = link
        self._made = made
        self._support = support
        layout = interface.layout
        failures = Failures(fgraph, layout)
        nodes = [one.node for one in layout.callbacks]
        self._callbacks = Callbacks(nodes, link, failures.explain_callback)
        self._code = ProgramCode(interface, code, improvement, self._callbacks, failures, support)
        self._dtypes = [
            value.dtype if isinstance(value, Array) else None for value in interface.arguments
        ]
        # Values that are passed through are the caller's own objects, even if native code took a
        # copy.
        arguments = {value: number for number, value in enumerate(interface.arguments)}
        self._handed_on = [
            (number, arguments[value])
            for number, value in enumerate(interface.results)
            if value in arguments
        ]

    @classmethod
    def compiled(
        cls,
        fgraph: FunctionGraph,
        program: Program,
        emitted: EmittedProgram,
        support: Support,
        link: Callable[[FunctionGraph], LinkedProgram],
    ) -> NativeProgram:
        """Return the program of a graph that has been lowered and emitted as text.

        It is compiled at -O0 first, and recompiled at -O1 once its calls repay it. A program that
        is measured is compiled at -O1 immediately.
        """
        module = emitted.module
        support.foresee(module.declared, len(program.results))
        made = (program, emitted)
        interface = _interface(program, emitted)
        if emitted.clock is not None:
            return cls(fgraph, interface, load(module, support.symbols), support, link, made)
        code, patience = load_quickly(module, support.symbols)
        reload = partial(load, module, support.symbols)
        improvement = Improvement(reload, patience) if patience else None
        return cls(fgraph, interface, code, support, link, made, improvement)

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the values of the outputs."""
        values = [
            value if dtype is None else plain_array(value, dtype)
            for value, dtype in zip(inputs, self._dtypes, strict=True)
        ]
        results: list[Any] = self._run_native(*values)
        for number, index in self._handed_on:
            results[number] = inputs[index]
        return results

    @kept_property
    def _run_native(self) -> Callable[..., list[Any]]:
        return self._code.builtin(CallShape(len(self._dtypes), _refuse))

    def fast_call(self, shape: CallShape) -> Callable[..., Any]:
        """Return a builtin function that checks its arguments itself."""
        return self._code.builtin(shape)

    @property
    def python_nodes(self) -> list[Apply]:
        """The nodes that are computed by Python code of their Ops."""
        steps = self._code.layout.callbacks
        return [step.node for step in steps if not isinstance(step, CCall)]

    @property
    def callback_nodes(self) -> list[Apply]:
        """The nodes that are executed by their own Python code."""
        return self._callbacks.nodes

    @property
    def checks_arguments(self) -> bool:
        """Whether all that overwrites arguments is native code, which checks them."""
        return not any(map(overwrites, self.callback_nodes))

    @property
    def is_on_trial(self) -> bool:
        """Whether the code was compiled at -O0, and is to be recompiled once its calls repay it."""
        return self._code.is_on_trial

    def improve(self) -> None:
        """Recompile the program at -O1 now, and wait for all that is compiled in the background."""
        self._code.improve()
        wait_for_all()

    def explain(self) -> str:
        """Return the program as text."""
        program, emitted = self.program_and_text()
        text = explaining.explain_program(program, emitted)
        if emitted.layout.uses_threads and not has_pool():
            text += "\none thread computes what threads share: this system has no pthreads"
        for node in self.callback_nodes:
            inner = self._callbacks.programs.of(node)
            if isinstance(inner, NativeProgram):
                text += f"\ninner graph of {node.op}\n{indent(inner.explain(), '  ')}"
        return text

    def program_and_text(self) -> tuple[Program, EmittedProgram]:
        """Return the program, and its code as text."""
        if self._made is None:  # the program was loaded with its code
            program = lower_program(self.fgraph)
            self._made = program, emit_program(program, Target.configured())
        return self._made

    def c_entry(self, signature: str, hidden: Sequence[Any]) -> CEntry:
        """Return the program as a C function; see :mod:`.c_entry`."""
        program, emitted = self.program_and_text()
        if emitted.clock is not None:  # C callers are not measured
            program = lower_program(self.fgraph)
            emitted = emit_program(program, Target.configured())
        return c_entry.CEntry(program, emitted, signature, hidden, self._support)

    def export(self, names: ExportNames, options: ExportOptions) -> list[Path]:
        """Write the program to files for C; return their paths."""
        return exporting.export_program(self.fgraph, names, options)

    def saved(self) -> SavedProgram | None:
        """Return the program in a form that can be pickled along with its graph."""
        program, emitted = self.program_and_text()
        target = emitted.module.target
        compiled = compile_object(str(emitted.module), target)
        sealed = saving.seal_program(_interface(program, emitted), compiled, target)
        return None if sealed is None else SavedProgram(*sealed, self._link)

    def free(self) -> None:
        """Release memory kept for the next call."""
        self._callbacks.free()
        trim()


def _interface(program: Program, emitted: EmittedProgram) -> ProgramInterface:
    return ProgramInterface(program.arguments, program.results, emitted.layout)


@record(frozen=True, eq=False)
class SavedProgram:
    """The pickled form of a program; its graph is pickled separately.

    Attributes
    ----------
    parts
        Nodes and variables of the graph that it refers to.
    sealed
        All other data; see :mod:`~phintys.backends.native.runtime.saving`.
    link_inner
        Returns the program of an inner graph; pickled by its name.
    """

    parts: list[Any]
    sealed: bytes
    link_inner: Callable[[FunctionGraph], LinkedProgram]

    def link(self, fgraph: FunctionGraph) -> NativeProgram | None:
        """Return the program, if its code was made here for the configured CPU.

        Parameters
        ----------
        fgraph
            The graph.
        """
        try:
            found = support()
        except ImportError:
            return None
        if isinstance(found, Unsupported):
            return None
        target = Target.configured()
        check_runs_here(target)
        opened = saving.open_program(self.parts, self.sealed, target)
        if opened is None:
            return None
        interface, compiled = opened
        code = load_object(compiled, target, found.symbols)
        return NativeProgram(fgraph, interface, code, found, self.link_inner)


def _refuse(*values: Any) -> Any:
    described = ", ".join(
        f"{value.dtype}{value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
        for value in values
    )
    msg = f"A native program was called with values that do not fit its inputs: {described}."
    raise IntegrityError(msg)
