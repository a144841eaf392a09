"""The backend object: named options of programs of JAX."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from phintys._base.late import LateModule
from phintys._base.records import record
from phintys.backends.base import register_backend
from phintys.backends.jax.options import JaxOptions
from phintys.backends.jax.requirement import library
from phintys.graph.choosing import Choosing
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from phintys.backends.jax import program, sparse_values
    from phintys.backends.measurements import Profiler
    from phintys.graph.fgraph import FunctionGraph
else:
    program = LateModule("phintys.backends.jax.program")
    sparse_values = LateModule("phintys.backends.jax.sparse_values")


@record(frozen=True)
class JaxBackend(JaxOptions):
    """Run graphs as programs of JAX, on one device.

    The parameters are those of :func:`phintys.jax.mode`.

    Examples
    --------
    >>> from phintys.backends.jax.backend import JaxBackend
    >>> JaxBackend(checks="later").name
    'jax'
    """

    @property
    def name(self) -> str:
        """Return ``"jax"``."""
        return "jax"

    def link(
        self, fgraph: FunctionGraph, *, profiler: Profiler | None = None
    ) -> program.JaxProgram | sparse_values.SparseProgram:
        """Return a program for a graph; it is compiled when it is first called."""
        library()
        chosen = (node.outputs for node in fgraph.apply_nodes if isinstance(node.op, Choosing))
        values = [*fgraph.inputs, *fgraph.outputs, *chain(*chosen)]
        # The module of sparse values imports SciPy's, which few functions need.
        others = [one for one in values if not isinstance(one.type, TensorType)]
        if others and sparse_values.has_sparse(others):
            return sparse_values.SparseProgram(fgraph, self)
        return program.JaxProgram(fgraph, self)


register_backend("jax", JaxBackend())
