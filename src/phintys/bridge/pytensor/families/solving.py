"""Roots and minima that SciPy finds."""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

from pytensor.tensor import optimize as theirs

from phintys.bridge.pytensor.conversion import convert_op, converted_graph
from phintys.bridge.pytensor.types import convert_type
from phintys.control.solving.algorithms import (
    Algorithm,
    Minimization,
    RootSearch,
    ScalarMinimization,
    ScalarRootSearch,
)
from phintys.control.solving.implicit import ImplicitSolution
from phintys.graph.fgraph import FunctionGraph


@convert_op.register(theirs.RootOp)
def _root(op: Any, node: Any, *inputs: Any) -> Any:
    return _solution(op, inputs, RootSearch(op.method, op.jac, op.optimizer_kwargs), "root")


@convert_op.register(theirs.MinimizeOp)
def _minimize(op: Any, node: Any, *inputs: Any) -> Any:
    algorithm = Minimization(op.method, op.jac, op.hess, op.optimizer_kwargs)
    return _solution(op, inputs, algorithm, "minimize")


@convert_op.register(theirs.RootScalarOp)
def _root_scalar(op: Any, node: Any, *inputs: Any) -> Any:
    algorithm = ScalarRootSearch(op.method, op.jac, op.hess, op.optimizer_kwargs)
    return _solution(op, inputs, algorithm, "root_scalar")


@convert_op.register(theirs.MinimizeScalarOp)
def _minimize_scalar(op: Any, node: Any, *inputs: Any) -> Any:
    algorithm = ScalarMinimization(op.method, op.optimizer_kwargs)
    return _solution(op, inputs, algorithm, "minimize_scalar")


def _solution(op: Any, inputs: Any, algorithm: Algorithm, name: str) -> Any:
    """Return the solution that an Op of PyTensor finds, and whether it is one."""
    inner = [convert_type(one.type)(one.name) for one in op.fgraph.inputs]
    fgraph = FunctionGraph(inner, converted_graph(op.fgraph, inner), clone=False)
    minimizes = name.startswith("minimize")
    solver = ImplicitSolution(fgraph, algorithm, name, minimizes, op.bound_kwargs)
    return solver(*inputs, return_list=True)
