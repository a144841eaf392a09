"""Modes that look at each node: MonitorMode calls functions, NanGuardMode raises at bad values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import NanGuardError
from phintys.backends.reference import VM, ReferenceBackend
from phintys.backends.reference.diagnosis import describe_value
from phintys.compile.mode import Mode, register_mode
from phintys.graph.alias_map import destroyed_inputs
from phintys.graph.variable import Constant
from phintys.passes import PIPELINES
from phintys.tensor.creation import AllocEmpty

if TYPE_CHECKING:
    from phintys.backends.measurements import Profiler
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import Pipeline

    Hook = Callable[["FunctionGraph", int, Apply, "NodeCall"], None]


@dataclass(frozen=True)
class NodeCall:
    """The values of a node that is run.

    Attributes
    ----------
    inputs, outputs : list of list
        A cell, a list of length 1, for each input and output. Those of the outputs hold ``None``
        before the node is run.
    """

    inputs: list[list[Any]]
    outputs: list[list[Any]]


@dataclass(frozen=True)
class _MonitorBackend:
    """The reference backend with hooks."""

    pre_func: Hook | None
    post_func: Hook | None

    @property
    def name(self) -> str:
        """Return ``"monitor"``."""
        return "monitor"

    def link(self, fgraph: FunctionGraph, *, profiler: Profiler | None = None) -> VM:
        """Return the virtual machine for a graph."""
        places: dict[Apply, int] = {}
        pre, post = self.pre_func, self.post_func

        def before(node: Apply, inputs: Sequence[Any]) -> None:
            if pre is not None:
                cells = [[value] for value in inputs]
                pre(fgraph, places[node], node, NodeCall(cells, [[None] for _ in node.outputs]))

        def after(node: Apply, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
            if post is not None:
                cells = [[value] for value in inputs]
                post(fgraph, places[node], node, NodeCall(cells, [[value] for value in outputs]))

        vm = VM(fgraph, before_node=before, after_node=after, profiler=profiler)
        places.update((node, place) for place, node in enumerate(vm.nodes))
        return vm


class MonitorMode(Mode):
    """A mode that calls functions before and after each node, on the reference backend.

    Parameters
    ----------
    pre_func, post_func
        Called as ``pre_func(fgraph, i, node, fn)``: the graph, the position of the node in the
        execution order, the node, and its values in cells, ``fn.inputs[0][0]`` and
        ``fn.outputs[0][0]``. They must not modify the values.
    pipeline
        The passes; none by default.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> def show(fgraph, i, node, fn):
    ...     print(i, node.op, [cell[0].tolist() for cell in fn.inputs], fn.outputs[0][0].tolist())
    >>> x = pt.dvector("x")
    >>> f = phintys.function([x], pt.exp(-x), mode=phintys.MonitorMode(post_func=show))
    >>> f([0.0])
    0 Neg [[0.0]] [-0.0]
    1 Exp [[-0.0]] [1.0]
    array([1.])
    """

    def __init__(
        self,
        pre_func: Hook | None = None,
        post_func: Hook | None = None,
        pipeline: Pipeline | None = None,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(_MonitorBackend(pre_func, post_func), pipeline, name=name)


_BIG = 1e10


@dataclass(frozen=True)
class NanGuard:
    """Checks the values of the inputs and outputs of each node.

    Constants and variables whose ``tag.nan_guard_mode_check`` is ``False`` are not checked.
    """

    nan_is_error: bool = True
    inf_is_error: bool = True
    big_is_error: bool = True

    def before(self, node: Apply, inputs: Sequence[Any]) -> None:
        """Raise :class:`NanGuardError` if the value of a leaf is bad."""
        for index, (variable, value) in enumerate(zip(node.inputs, inputs, strict=True)):
            # Computed values were checked when they were computed.
            if variable.owner is None and not isinstance(variable, Constant):
                self._check(variable, value, f"input {index}", node, inputs)

    def after(self, node: Apply, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Raise :class:`NanGuardError` if a result is bad."""
        if isinstance(node.op, AllocEmpty):
            return  # uninitialized memory
        for index, (variable, value) in enumerate(zip(node.outputs, outputs, strict=True)):
            self._check(variable, value, f"output {index}", node, inputs)

    def _check(
        self, variable: Variable, value: Any, which: str, node: Apply, inputs: Sequence[Any]
    ) -> None:
        found = self._complaint(value)
        if not found or not getattr(variable.tag, "nan_guard_mode_check", True):
            return
        lines = [
            f"NanGuardMode found {found} in {which} ({variable}) of {node}, made at",
            f"  {node.origin}",
            "It was the first such value; the inputs of the node were",
            *_described(node, inputs),
            "Set variable.tag.nan_guard_mode_check = False where such values are meant,",
            "or choose with NanGuardMode(nan_is_error, inf_is_error, big_is_error).",
        ]
        raise NanGuardError("\n".join(lines))

    def _complaint(self, value: Any) -> str:
        """Return a description of what is wrong with a value; empty if nothing is."""
        if not isinstance(value, np.ndarray | np.inexact | float | complex):
            return ""
        array = np.asarray(value)
        if array.dtype.kind not in "fc" or not array.size:
            return ""
        if self.nan_is_error and (count := int(np.isnan(array).sum())):
            return f"{count} NaN among {array.size} elements"
        infinite = np.isinf(array)
        if self.inf_is_error and (count := int(infinite.sum())):
            return f"{count} infinite among {array.size} elements"
        if self.big_is_error:
            with np.errstate(all="ignore"):
                size = np.abs(array)
            big = (size > _BIG) & ~infinite
            if big.any():
                return f"a value of magnitude {size[big].max():.3g} (limit {_BIG:.0e})"
        return ""


def _described(node: Apply, inputs: Sequence[Any]) -> list[str]:
    """Return a line for each input of a node: its name, range, and where it was made."""
    overwritten = destroyed_inputs(node)
    lines: list[str] = []
    for index, (variable, value) in enumerate(zip(node.inputs, inputs, strict=True)):
        text = "overwritten by now" if index in overwritten else _range(value)
        made = "" if variable.owner is None else f", made at\n    {variable.owner.origin}"
        lines.append(f"  {index} {variable}: {text}{made}")
    return lines or ["  (none)"]


def _range(value: Any) -> str:
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or not array.size:
        return describe_value(value)
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    text = f"{array.dtype}, shape {array.shape}"
    if finite.size:
        text += f", from {finite.min():.6g} to {finite.max():.6g}"
    if finite.size < array.size:
        text += f", {int(np.isnan(array).sum())} NaN, {int(np.isinf(array).sum())} infinite"
    return text


class NanGuardMode(Mode):
    """A mode that checks the result of each node, on the reference backend.

    Parameters
    ----------
    nan_is_error, inf_is_error, big_is_error
        Whether to raise for NaN, infinities, and magnitudes above 1e10.
    pipeline
        The passes; by default those of the default mode.

    Examples
    --------
    >>> import phintys
    >>> import phintys.tensor as pt
    >>> x = pt.dvector("x")
    >>> f = phintys.function([x], pt.log(x), mode="NanGuardMode")
    >>> f([1.0])
    array([0.])
    """

    def __init__(
        self,
        nan_is_error: bool = True,
        inf_is_error: bool = True,
        big_is_error: bool = True,
        pipeline: Pipeline | None = None,
        *,
        name: str | None = None,
    ) -> None:
        guard = NanGuard(nan_is_error, inf_is_error, big_is_error)
        backend = ReferenceBackend(before_node=guard.before, after_node=guard.after)
        super().__init__(backend, pipeline, name=name)


register_mode("NanGuardMode", NanGuardMode(pipeline=PIPELINES["full"]))
