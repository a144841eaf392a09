"""Symbolic shape inference: sizes are computed from sizes, not from values.

A variable of which only the shape is needed does not have to be computed. ``infer_shape`` of an Op
gives the sizes of its outputs as expressions of those of its inputs; these are composed, on demand,
from the variable in question up to the inputs of the graph. The output of an Op without
``infer_shape`` still has to be computed, as does that of an Op whose result is the shape of its own
output.

Inference can eliminate a computation that would have raised. Checks that need only sizes remain, as
part of the sizes (see ``tensor/size_check.py``), except for those of elementwise Ops: the shape of
``x + y`` is that of ``x``, whether or not the shape of ``y`` matches.
"""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from phintys._base.errors import InconsistencyError, OpContractError, PhintysError, add_note
from phintys._base.origin import inherit_origin
from phintys.graph.contract import infer_shape
from phintys.graph.features import Feature
from phintys.graph.traversal import toposort
from phintys.rewriting import GraphRewriter
from phintys.tensor.convert import constant
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.scalar_bridge import MakeVector
from phintys.tensor.shapes import Shape, ShapeI
from phintys.tensor.sizes import as_size, fold

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import RewriteTrace

    Sizes = tuple[Any, ...]


def infer_shapes(variables: Iterable[Variable]) -> list[Sizes | None]:
    """Return the sizes of variables as expressions of the sizes of the graph's leaves.

    Parameters
    ----------
    variables
        Variables of any Types, in a graph that is not modified.

    Returns
    -------
    list of tuple of variables, or None
        For each variable, a 0-d int64 variable for each dimension, constant where the size is
        known; ``None`` for a variable whose Type has no shape.

    Raises
    ------
    OpContractError
        The result of an Op's ``infer_shape`` is not valid, or contradicts a type.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.passes import infer_shapes
    >>> x = pt.matrix("x")
    >>> [(rows, columns)] = infer_shapes([pt.exp(x).T.reshape((-1, 3))])
    >>> columns.data
    array(3)
    >>> import phintys
    >>> int(phintys.function([x], rows)([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    2
    """
    variables = list(variables)
    inference = ShapeInference(known=toposort(variables))
    return [inference.sizes(variable) for variable in variables]


class ShapeInference:
    """Infers the shapes of a graph's variables, and caches them.

    Valid as long as the graph changes only by replacing sizes with their inferred expressions.

    Parameters
    ----------
    fgraph
        The graph; ``None`` for variables that do not belong to one.
    known
        The existing nodes, if there is no ``fgraph``.
    """

    def __init__(self, fgraph: FunctionGraph | None = None, known: Iterable[Apply] = ()) -> None:
        self.fgraph = fgraph
        self._there = set(known if fgraph is None else fgraph.apply_nodes)
        self._found: dict[Variable, Sizes | None] = {}
        self._sizes: set[Any] = set()

    def sizes(self, variable: Variable) -> Sizes | None:
        """Return the symbolic sizes of a variable; ``None`` if its Type has no shape."""
        found = self._found
        stack = [variable]
        while stack:
            current = stack[-1]
            if current in found:
                stack.pop()
                continue
            node = current.owner
            static = _static_shape(current)
            if (
                node is None
                or static is None
                or None not in static
                or getattr(node.op, "infer_shape", None) is None
            ):
                found[current] = _own_sizes(current)
                continue
            missing = [x for x in node.inputs if x not in found]
            if missing:
                stack.extend(missing)
            else:
                self._infer(node)
        return found[variable]

    def _infer(self, node: Apply) -> None:
        if isinstance(node.op, Elemwise) and self._hand_on(node):
            return
        with inherit_origin(node.origin):
            answers = infer_shape(self.fgraph, node, [self._found[x] for x in node.inputs])
            for output, answer in zip(node.outputs, answers, strict=True):
                if answer is None:
                    self._found[output] = _own_sizes(output)
                    continue
                self._found[output] = tuple(
                    self._size(output, dim, static, given)
                    for dim, (static, given) in enumerate(
                        zip(_static_shape(output) or (), answer, strict=True)
                    )
                )

    def _hand_on(self, node: Apply) -> bool:
        """Assign the outputs of an elementwise node the sizes of an operand that has them all.

        This is the result of ``Elemwise.infer_shape`` for most nodes; the shortcut is for long
        chains.
        """
        if _is_unknown(node.outputs[0]):
            for x in node.inputs:
                if _is_unknown(x):
                    self._found.update(dict.fromkeys(node.outputs, self._found[x]))
                    return True
        return False

    def _size(self, output: Variable, dim: int, static: int | None, given: Any) -> Any:
        """Return one size as inferred by an Op, validated, or as given by the type."""
        if static is None and given in self._sizes:  # usually a size of an input, passed through
            return given
        try:
            size = as_size(given, "A size that infer_shape returns")
        except (PhintysError, TypeError, ValueError) as error:
            add_note(error, _place(output, dim))
            raise
        known = fold(size)
        if isinstance(known, int):
            if known < 0 or static not in {None, known}:
                says = "unknown" if static is None else static
                msg = f"infer_shape returned {known} for a size that by its type is {says}.\n"
                raise OpContractError(msg + _place(output, dim))
            size = constant(known)
        elif static is not None:
            size = constant(static)
        elif self._needs(size, output):
            size = ShapeI(dim)(output)
        self._sizes.add(size)
        return size

    def _needs(self, size: Variable, output: Variable) -> bool:
        """Return whether a new expression depends on ``output`` itself."""
        stack = [size]
        while stack:
            variable = stack.pop()
            if variable is output:
                return True
            node = variable.owner
            if node is not None and node not in self._there:
                self._there.add(node)
                stack.extend(node.inputs)
        return False


def _static_shape(variable: Variable) -> tuple[int | None, ...] | None:
    """Return the static shape; ``None`` if the type has no shape."""
    ndim: int | None = getattr(variable.type, "ndim", None)
    return None if ndim is None else getattr(variable.type, "shape", (None,) * ndim)


def _is_unknown(x: Any) -> bool:
    """Return whether no size of a tensor is known statically."""
    return all(size is None for size in x.type.shape)


def _own_sizes(variable: Variable) -> Sizes | None:
    """Return the static sizes of a variable, and ``Shape_i`` for the others."""
    static = _static_shape(variable)
    if static is None:
        return None
    return tuple(
        ShapeI(dim)(variable) if size is None else constant(size) for dim, size in enumerate(static)
    )


def _place(output: Variable, dim: int) -> str:
    node = output.owner
    assert node is not None
    return (
        f"In the result of {node.op}.infer_shape for dimension {dim} of its output {output.index} "
        f"(type {output.type}), for the node made at\n  {node.origin}"
    )


class _NewShapes(Feature):
    """Records the nodes that compute shapes when they are added to the graph."""

    def __init__(self) -> None:
        self.waiting: list[Apply] = []

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        if isinstance(node.op, Shape | ShapeI):
            self.waiting.append(node)


class InferShapes(GraphRewriter):
    """shape(f(x)) -> an expression of shape(x)

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.graph import FunctionGraph
    >>> from phintys.passes.inference import shape_inference
    >>> x = pt.vector("x")
    >>> fgraph = FunctionGraph([x], [pt.exp(x).shape[0]])
    >>> shape_inference.apply(fgraph)
    """

    def __init__(self) -> None:
        super().__init__(name="shape_inference")

    def apply(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
        """Replace all nodes of ``fgraph`` that compute shapes that can be inferred."""
        asking = [node for node in fgraph.toposort() if isinstance(node.op, Shape | ShapeI)]
        if not asking:
            return
        inference = ShapeInference(fgraph)
        new = _NewShapes()
        fgraph.attach_feature(new)
        try:
            # Inputs first, so that the shapes that an expression is composed of are already simple.
            new.waiting.extend(reversed(asking))
            while new.waiting:
                node = new.waiting.pop()
                number = len(new.waiting)
                if node in fgraph.apply_nodes and not _answer(fgraph, node, inference, trace):
                    del new.waiting[number:]  # nodes of a rejected change
        finally:
            fgraph.remove_feature(new)


def _answer(
    fgraph: FunctionGraph, node: Apply, inference: ShapeInference, trace: RewriteTrace | None
) -> bool:
    """Replace a node that computes a shape; return whether it was replaced."""
    start = perf_counter()
    with inherit_origin(node.origin):
        new = _expression(node, inference)
    old = node.outputs[0]
    if new is None or new is old:
        return False
    refused = ""
    try:
        fgraph.replace_all_validate([(old, new)], reason="shape_inference")
    except InconsistencyError as error:
        refused = str(error)
    if trace is not None:
        seconds = perf_counter() - start
        trace.record("shape_inference", node, ((old, new),), seconds, refused)
    return not refused


def _expression(node: Apply, inference: ShapeInference) -> Any:
    """Return the replacement of a node that computes a shape; ``None`` to keep it."""
    x = node.inputs[0]
    sizes = inference.sizes(x)
    if sizes is None:
        return None
    if isinstance(node.op, ShapeI):
        size = sizes[node.op.i]
        return None if _asks(size, x, node.op.i) else size
    # The whole shape is one node: it is only split if some part becomes simpler.
    if sizes and all(_asks(size, x, dim) for dim, size in enumerate(sizes)):
        return None
    return MakeVector("int64")(*sizes)


def _asks(size: Variable, variable: Variable, dim: int) -> bool:
    """Return whether ``size`` is just ``Shape_i`` of a variable."""
    node = size.owner
    return (
        node is not None
        and isinstance(node.op, ShapeI)
        and node.op.i == dim
        and node.inputs[0] is variable
    )


shape_inference = InferShapes()
