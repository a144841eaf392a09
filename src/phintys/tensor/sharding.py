"""How values inside of a graph are divided among devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from phintys.graph.apply import Apply
from phintys.graph.sharding import Sharding, as_sharding
from phintys.tensor._rules import is_missing
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.shape_rules import KeepsShape

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable


class WithSharding(KeepsShape):
    """y = x, divided among the devices of a mesh; see :func:`with_sharding`."""

    __props__ = ("sharding",)
    view_map = {0: [0]}

    def __init__(self, sharding: Sharding) -> None:
        self.sharding = sharding

    def make_node(self, x: Any) -> Apply:
        x = as_tensor_variable(x)
        as_sharding(self.sharding, x)
        return Apply(self, [x], [x.type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        output_storage[0][0] = inputs[0]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        (gradient,) = output_grads
        return [gradient if is_missing(gradient) else self(gradient)]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        (point,) = eval_points
        return [None if is_missing(point) else self(point)]


def with_sharding(x: Any, sharding: Any) -> TensorVariable:
    """Return ``x``, divided among the devices of a mesh where the mode has several.

    Elsewhere it is ``x`` itself. The gradient of ``x`` is divided in the same way.

    Parameters
    ----------
    x
        An array.
    sharding
        How it is divided, such as ``mesh("data", None)`` with ``mesh = phintys.jax.mesh(data=8)``;
        or a ``NamedSharding`` of JAX.

    Returns
    -------
    TensorVariable
        An array of the dtype and shape of ``x``.

    Raises
    ------
    ArgumentError
        ``sharding`` is something else, or has more axes than ``x``, or a static size of ``x`` is
        not a multiple of the number of parts.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> mesh = phintys.jax.mesh(data=1)
    >>> x = pt.dmatrix("x")
    >>> h = pt.with_sharding(pt.exp(x), mesh("data", None))
    >>> phintys.function([x], h, mode="jax")([[0.0]])
    array([[1.]])
    """
    x = as_tensor_variable(x)
    return WithSharding(as_sharding(sharding, x))(x)
