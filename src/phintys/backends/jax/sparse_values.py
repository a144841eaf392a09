"""Sparse arguments and results: programs of JAX take and return the arrays that make them up."""

from __future__ import annotations

from itertools import accumulate, chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.jax.program import JaxProgram
from phintys.control.branches import IfElse
from phintys.graph.cloning import clone_replace, fitting
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.shared_variable import on_host
from phintys.sparse.parts import FromParts, Parts
from phintys.sparse.type import SparseType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.backends.jax.options import JaxOptions
    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

_NAMES = ("elements", "indices", "indptr", "shape")


class SparseProgram:
    """A graph with sparse inputs or outputs as programs of JAX.

    Parameters
    ----------
    fgraph
        The graph.
    options
        Those of the backend.
    """

    def __init__(self, fgraph: FunctionGraph, options: JaxOptions) -> None:
        self._readers = [_reader(one) for one in fgraph.inputs]
        given = [
            _arrays(one, reader) for one, reader in zip(fgraph.inputs, self._readers, strict=True)
        ]
        made = {
            one: _maker(one)(*arrays)
            for one, arrays in zip(fgraph.inputs, given, strict=True)
            if isinstance(one.type, SparseType)
        }
        outputs = clone_replace(list(fgraph.outputs), made)
        self._writers = [_writer(one) for one in outputs]
        found = [
            [one] if writer is None else writer.inputs
            for one, writer in zip(outputs, self._writers, strict=True)
        ]
        graph = FunctionGraph(
            list(chain(*given)),
            list(chain(*found)),
            copy_inputs=False,
            update_mapping=_updates(fgraph, given, found),
        )
        for node in graph.toposort():
            if isinstance(node.op, IfElse) and has_sparse(node.outputs):
                graph.replace_all(zip(node.outputs, _chosen_by_parts(node, node.op), strict=True))
        for node in graph.toposort():
            arrays = Parts.undone(node) if isinstance(node.op, Parts) else None
            if arrays is not None:
                pairs = zip(node.outputs, arrays, strict=True)
                graph.replace_all([(old, fitting(old, new)) for old, new in pairs])
        self._program = JaxProgram(graph, options)

    def device_filter(self, type: Any, filter: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return a filter of arguments that lets arrays of JAX pass if they are of a type."""
        return filter if isinstance(type, SparseType) else self._program.device_filter(type, filter)

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the values of the outputs."""
        given = [
            [value] if reader is None else _performed(reader, [value])
            for value, reader in zip(inputs, self._readers, strict=True)
        ]
        arrays = iter(self._program(list(chain(*given))))
        return [
            next(arrays)
            if writer is None
            else _performed(writer, [np.asarray(on_host(next(arrays))) for _ in _NAMES])[0]
            for writer in self._writers
        ]

    def free(self) -> None:
        """Release the compiled programs."""
        self._program.free()

    def explain(self) -> str:
        """Return a description of the program."""
        count = sum(one is not None for one in (*self._readers, *self._writers))
        return f"{self._program.explain()}\n{count} sparse matrices pass as four arrays each."


def has_sparse(variables: Sequence[Variable]) -> bool:
    """Return whether some of the variables are sparse."""
    return any(isinstance(one.type, SparseType) for one in variables)


def _chosen_by_parts(node: Apply, op: IfElse) -> list[Variable]:
    """Return the outputs of a choice, where sparse ones are made of chosen arrays."""
    then, otherwise = (
        list(chain(*(_parts(node.inputs[at]) for at in positions))) for positions in op.sides(node)
    )
    chosen = IfElse(len(then), op.name).make_node(node.inputs[0], *then, *otherwise).outputs
    left = iter(chosen)
    return [
        _maker(one)(*islice(left, len(_NAMES))) if isinstance(one.type, SparseType) else next(left)
        for one in node.outputs
    ]


def _parts(variable: Variable) -> list[Variable]:
    """Return the arrays of a sparse variable, or the variable itself."""
    reader = _reader(variable)
    return [variable] if reader is None else reader.outputs


def _reader(variable: Variable) -> Apply | None:
    """Return the node that reads the arrays of a sparse input."""
    return Parts().make_node(variable) if isinstance(variable.type, SparseType) else None


def _arrays(variable: Variable, reader: Apply | None) -> list[Variable]:
    """Return the inputs of the program for an input of the graph."""
    if reader is None:
        return [variable]
    pairs = zip(reader.outputs, _NAMES, strict=True)
    return [array.type(f"the {name} of {variable}") for array, name in pairs]


def _writer(variable: Variable) -> Apply | None:
    """Return the node that makes a sparse output of arrays."""
    if not isinstance(variable.type, SparseType):
        return None
    while variable.owner is not None and variable.owner.op.is_copy:
        (variable,) = variable.owner.inputs
    if variable.owner is not None and isinstance(variable.owner.op, FromParts):
        return variable.owner
    return _maker(variable).make_node(*Parts().make_node(variable).outputs)


def _maker(variable: Any) -> FromParts:
    return FromParts(variable.type.format, variable.type.shape)


def _updates(
    fgraph: FunctionGraph, given: Sequence[list[Variable]], found: Sequence[Sequence[Variable]]
) -> dict[int, int]:
    """Return the updates of the program: those of arrays. Sparse values are the caller's."""
    starts_of_inputs, starts_of_outputs = (
        [0, *accumulate(map(len, parts))] for parts in (given, found)
    )
    return {
        starts_of_outputs[at]: starts_of_inputs[place]
        for at, place in fgraph.update_mapping.items()
        if not isinstance(fgraph.outputs[at].type, SparseType)
    }


def _performed(node: Apply, inputs: list[Any]) -> list[Any]:
    cells: list[list[Any]] = [[None] for _ in node.outputs]
    node.op.perform(node, inputs, cells)
    return [cell[0] for cell in cells]
