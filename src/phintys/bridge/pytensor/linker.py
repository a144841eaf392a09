"""The mode ``"PHINTYS"`` of PyTensor: its functions, compiled by Phintys."""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytensor.compile.mode import (
    Mode,
    RewriteDatabaseQuery,
    optdb,
    predefined_linkers,
    register_linker,
    register_mode,
)
from pytensor.configdefaults import config as their_config
from pytensor.graph.rewriting.db import RewriteDatabase
from pytensor.link.basic import Container, PerformLinker
from pytensor.link.utils import map_storage, raise_with_op

from phintys._base.garbage_collection import collector_paused
from phintys.bridge.pytensor.conversion import GraphConversion, origin_of
from phintys.bridge.pytensor.types import convert_type, value_for
from phintys.compile import function


class PhintysLinker(PerformLinker):
    """A linker of PyTensor that compiles a whole graph with Phintys.

    Examples
    --------
    >>> import pytensor, pytensor.tensor as pt
    >>> import phintys.bridge.pytensor
    >>> x = pt.dvector("x")
    >>> f = pytensor.function([x], pt.exp(x).sum(), mode="PHINTYS")
    >>> f([0.0, 0.0])
    array(2.)
    """

    required_rewrites = ("minimum_compile", "phintys")
    incompatible_rewrites = ("cxx_only", "BlasOpt", "fusion", "inplace")

    def make_all(
        self, input_storage: Any = None, output_storage: Any = None, storage_map: Any = None
    ) -> Any:
        """Return a function of no arguments, and the containers that it reads and writes."""
        graph: Any = self.fgraph
        nodes = self.schedule(graph)
        inputs, outputs, cells = map_storage(
            graph, nodes, input_storage, output_storage, storage_map
        )
        run = _runner(graph, inputs, outputs)
        run.allow_gc = self.allow_gc
        run.storage_map = cells
        return (
            run,
            [Container(one, cell) for one, cell in zip(graph.inputs, inputs, strict=True)],
            [
                Container(one, cell, readonly=True)
                for one, cell in zip(graph.outputs, outputs, strict=True)
            ],
            [run],
            nodes,
        )

    def __repr__(self) -> str:
        return "PhintysLinker()"


def _runner(graph: Any, inputs: list[Any], outputs: list[Any]) -> Any:
    """Return a function that computes a graph from the values in some cells, into others."""
    given = [convert_type(one.type)(one.name) for one in graph.inputs]
    types = [one.type for one in graph.outputs]
    with collector_paused():
        found = GraphConversion(dict(zip(graph.inputs, given, strict=True))).convert(graph.outputs)
        compiled: Callable[..., Any] = function(given, found, on_unused_input="ignore")

    def run() -> list[Any]:
        try:
            found = compiled(*[cell[0] for cell in inputs])
        except Exception as error:
            node = _failing(graph, error)
            if node is not None:
                raise_with_op(graph, node)
            raise
        values = [value_for(type_, one) for type_, one in zip(types, found, strict=True)]
        for cell, value in zip(outputs, values, strict=True):
            cell[0] = value
        return values

    run.compiled = compiled  # pyright: ignore[reportFunctionMemberAccess]
    return run


def _failing(graph: Any, error: Exception) -> Any:
    """Return the node of PyTensor that was made at the line which an error names, if one was."""
    said = "\n".join([str(error), *getattr(error, "__notes__", ())])
    for node in graph.toposort():
        origin = origin_of(node)
        if origin is not None and str(origin) in said:
            return node
    return None


PHINTYS = Mode(PhintysLinker(), RewriteDatabaseQuery(include=["minimum_compile"]))
"""PyTensor rewrites only what it must: the rewrites of Phintys follow."""


def _register() -> None:
    """Make the linker and the mode known by name, also as values of PyTensor's options."""
    if "phintys" in predefined_linkers:
        return
    register_linker("phintys", PhintysLinker())
    register_mode("PHINTYS", PHINTYS)
    optdb.register("phintys_named", _NamedRewrites(), "phintys", position=1)
    options = their_config._config_var_dict
    options["linker"].all.add("phintys")
    mode = options["mode"]
    other_modes = mode._apply  # has a fixed list, to which modes cannot be added
    mode._apply = lambda value: value if _is_ours(value) else other_modes(value)


class _NamedRewrites(RewriteDatabase):
    """The canonicalizations of PyTensor that a mode includes by their own names.

    PyMC includes so what becomes of its checks of parameters: a mode without all canonicalizations
    would not find them.
    """

    def query(self, query: Any) -> Any:
        """Return the rewriter of what is named."""
        names = set(query.include) - {"minimum_compile", "phintys"}
        wanted = RewriteDatabaseQuery(include=names, exclude=query.exclude)
        return optdb["canonicalize"].query(wanted)


def _is_ours(value: Any) -> bool:
    return isinstance(value, str) and value == "PHINTYS"


_register()
