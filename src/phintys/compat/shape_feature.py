"""``ShapeFeature``: the shapes of the variables of a graph, for programs that ask a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph import equal_computations
from phintys.graph.features import AlreadyThere, Feature
from phintys.passes import infer_shapes

if TYPE_CHECKING:
    from phintys.graph import FunctionGraph, Variable

__all__ = ["ShapeFeature"]


class _Shapes(dict[Any, Any]):
    """A variable -> its sizes, a tuple of variables; found out when they are asked for."""

    def __missing__(self, variable: Variable) -> tuple[Any, ...] | None:
        (sizes,) = infer_shapes([variable])
        self[variable] = None if sizes is None else tuple(sizes)
        return self[variable]


class ShapeFeature(Feature):
    """Gives a graph ``shape_feature``, with ``shape_of`` of its variables.

    The rules of Phintys find out about shapes without it.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.shape_feature import ShapeFeature
    >>> from phintys.graph import FunctionGraph
    >>> x = pt.dmatrix("x")
    >>> total = x.sum(axis=0)
    >>> fgraph = FunctionGraph([x], [total], features=[ShapeFeature()], copy_inputs=False)
    >>> fgraph.shape_feature.shape_of[total]
    (Shape_i{1}.0,)
    """

    def __init__(self) -> None:
        self.shape_of: dict[Any, Any] = _Shapes()

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Become the one ``shape_feature`` of a graph."""
        if hasattr(fgraph, "shape_feature"):
            raise AlreadyThere
        vars(fgraph)["shape_feature"] = self

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Take ``shape_feature`` away."""
        vars(fgraph).pop("shape_feature", None)

    def get_shape(self, fgraph: FunctionGraph, var: Variable, idx: int) -> Any:
        """Return the size of a variable along an axis."""
        return self.shape_of[var][idx]

    def same_shape(self, x: Variable, y: Variable) -> bool:
        """Return whether two variables are known to have the same sizes."""
        ours, theirs = self.shape_of[x], self.shape_of[y]
        return ours is not None and theirs is not None and _are_equal(ours, theirs)


def _are_equal(ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
    return len(ours) == len(theirs) and all(
        a is b or equal_computations([a], [b]) for a, b in zip(ours, theirs, strict=True)
    )
