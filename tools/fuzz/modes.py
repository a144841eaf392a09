"""The ways of running a graph that are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np

from phintys._base.config import config
from phintys._base.errors import ConfigError, IntegrityError, PhintysError
from phintys.backends.base import Backend
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.kernels import fusion as fuse
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.runtime.engine import check_runs_here
from phintys.backends.native.stepwise.checking import MemoryCheck
from phintys.backends.native.stepwise.faults import CheckFailed
from phintys.backends.native.verify import verify_program
from phintys.backends.native.writer.programs import emit_program
from phintys.backends.reference.backend import VM
from phintys.compile.debug_mode import DebugMode
from phintys.compile.mode import Mode
from phintys.graph.fgraph import FunctionGraph
from phintys.passes import PIPELINES
from tools.native_programs import compile_program

__all__ = [
    "BASE",
    "DEBUG",
    "IN_PLACE",
    "JAX",
    "NATIVE",
    "REWRITTEN",
    "STRICT",
    "VARIANTS",
    "InRanges",
    "StepByStep",
    "Variant",
]


class InRanges:
    """A backend for tests: native code whose work is cut into ranges, as threads would share it.

    Its memory is filled with rubbish first, and the program is verified.
    """

    @property
    def name(self) -> str:
        """Return its name."""
        return "native code in ranges"

    def link(self, fgraph: FunctionGraph, *, profiler: Any = None) -> Any:
        """Return the code of a graph."""
        program = lower_program(fgraph)
        verify_program(program)
        executable = compile_program(program, Target.configured(), ranges=3)
        return _Linked(fgraph, lambda inputs: executable(*inputs))


class _Linked:
    """What a backend for tests makes of a graph."""

    def __init__(self, fgraph: FunctionGraph, run: Callable[[Sequence[Any]], Any]) -> None:
        self.fgraph = fgraph
        self.run = run

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        try:
            with np.errstate(all="ignore"):
                return self.run(inputs)
        except IntegrityError:
            raise
        except (PhintysError, CheckFailed):
            VM(self.fgraph)(inputs)  # which says what is wrong, as for compiled functions
            raise

    def free(self) -> None:
        """Nothing is kept."""


class StepByStep:
    """A backend for tests: programs carried out step by step, without code being made.

    The memory that is planned for them is checked, see :mod:`~phintys.backends.native.stepwise`.
    """

    @property
    def name(self) -> str:
        """Return its name."""
        return "step by step"

    def link(self, fgraph: FunctionGraph, *, profiler: Any = None) -> Any:
        """Return the steps of a graph."""
        program = lower_program(fgraph)
        verify_program(program)
        target = Target.configured()
        memory = emit_program(program, target).memory
        return _Linked(fgraph, MemoryCheck(program, memory, target))


@dataclass(frozen=True)
class Variant:
    """A way of carrying out a graph.

    Attributes
    ----------
    name
        For people.
    backend
        A backend, or its name.
    pipeline
        The name of one of :data:`~phintys.passes.PIPELINES`.
    target
        The CPU that code is written for.
    most_statements
        How large kernels may become; ``None`` for the usual limit.
    including, excluding
        Passes and rules that are turned on, and those that are left out.
    refuses
        Names of errors by which it refuses what the others compute.
    flushes
        It may take subnormal numbers for 0.
    debugging
        Options of :class:`~phintys.compile.DebugMode`, which then carries the graph out.
    """

    name: str
    backend: str | Backend = "native"
    pipeline: str = "full"
    target: str = "host"
    most_statements: int | None = None
    including: tuple[str, ...] = ()
    excluding: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()
    flushes: bool = False
    debugging: tuple[tuple[str, Any], ...] | None = None

    @property
    def mode(self) -> Mode:
        """The mode."""
        pipeline = PIPELINES[self.pipeline].including(*self.including)
        if self.excluding:
            pipeline = pipeline.excluding(*self.excluding)
        if self.debugging is not None:
            return DebugMode(pipeline, **dict(self.debugging))
        return Mode(self.backend, pipeline)

    @property
    def runs_here(self) -> bool:
        """Whether this CPU has the instructions that it asks for."""
        try:
            check_runs_here(Target.named(self.target))
        except ConfigError:
            return False
        return True

    @property
    def text(self) -> str:
        """An expression for a mode close to it."""
        backend = self.backend if isinstance(self.backend, str) else "native"
        pipeline = f"phintys.passes.PIPELINES[{self.pipeline!r}]"
        if self.including:
            pipeline += f".including({', '.join(map(repr, self.including))})"
        if self.excluding:
            pipeline += f".excluding({', '.join(map(repr, self.excluding))})"
        if self.debugging is not None:
            options = [f"{name}={value!r}" for name, value in self.debugging]
            return f"phintys.DebugMode({', '.join([pipeline, *options])})"
        return f"phintys.Mode({backend!r}, {pipeline})"

    @property
    def is_rewritten(self) -> bool:
        """Whether the graph that it carries out may have been rewritten."""
        return self.pipeline != "none"

    @contextmanager
    def active(self) -> Iterator[None]:
        """Compile this way."""
        with ExitStack() as stack:
            stack.enter_context(config.change_flags(native_target=self.target, object_cache=False))
            if self.most_statements is not None:
                changed = mock.patch.object(fuse, "MOST_STATEMENTS", self.most_statements)
                stack.enter_context(changed)
            yield


BASE = Variant("reference without rewrites", "reference", "none")
REWRITTEN = Variant("reference, rewritten", "reference", "full")
NATIVE = Variant("native")
STRICT = Variant("native without rewrites", pipeline="none")

JAX = Variant(
    "jax",
    "jax",
    excluding=("inplace", "blas", "drop_sharding"),
    refuses=("NeedsKnownError",),  # such as Ops of users that do not define infer_shape
    flushes=True,  # XLA sets the processor so while its kernels run
)

VARIANTS: tuple[Variant, ...] = (
    Variant("native in ranges", InRanges(), "none"),
    Variant("native in ranges, rewritten", InRanges(), "full"),
    Variant("kernels of 1 statement", pipeline="none", most_statements=1),
    Variant("kernels of 2 statements", pipeline="none", most_statements=2),
    Variant("kernels of 5 statements", pipeline="full", most_statements=5),
    Variant("x86-64-v2", pipeline="none", target="x86-64-v2"),
    Variant("x86-64-v3", pipeline="none", target="x86-64-v3"),
    Variant("x86-64-v4", pipeline="none", target="x86-64-v4"),
)
"""Of these, each case is run in one, unless the CPU lacks what it asks for."""

IN_PLACE = Variant("reference, in place", "reference", "full", including=("inplace_everywhere",))
_BRIEFLY = (("check_native", False), ("check_strides", False), ("stability_patience", 0))
DEBUG: tuple[Variant, ...] = (
    Variant("DebugMode", pipeline="none", debugging=_BRIEFLY),
    Variant("DebugMode, rewritten", debugging=_BRIEFLY),
    Variant("DebugMode, in place", including=("inplace_everywhere",), debugging=_BRIEFLY),
    Variant("DebugMode with native code", pipeline="light", debugging=()),
)
"""Of these, each scenario is run in one."""
