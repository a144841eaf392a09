"""``vectorize_graph``: a graph for one item, as a graph for a batch of items.

Each Op has a rule that builds its outputs for a batch, found by the class of the Op. Ops without
a rule of their own have that of the class ``Op``: a :class:`~.blockwise.Blockwise`, which loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from phintys._base.caches import kept_property
from phintys._base.errors import (
    ArgumentError,
    OpContractError,
    PhintysError,
    ShapeError,
    TypeContractError,
    add_note,
)
from phintys._base.origin import inherit_origin
from phintys.graph.inner import require_calls
from phintys.graph.op import Op
from phintys.graph.traversal import toposort
from phintys.graph.variable import Variable
from phintys.tensor.batching.rules import BATCHING
from phintys.tensor.batching.uneven import even, index_rows, zero_beyond
from phintys.tensor.broadcasting import broadcast_sizes
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import alloc
from phintys.tensor.dim_shuffle import dimshuffle
from phintys.tensor.shapes import sizes_of, specify_broadcastable
from phintys.tensor.sizes import fold
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from phintys.graph.apply import Apply

T = TypeVar("T")


def batch_rank(variable: Any, core: Any) -> int:
    """Return how many axes a variable has beyond those of the variable that it stands for."""
    return getattr(variable.type, "ndim", 0) - getattr(core.type, "ndim", 0)


class Batch:
    """The inputs of a node for a batch of items.

    Parameters
    ----------
    node
        The node for one item.
    inputs
        For each of its inputs a variable, which may have further leading axes. These broadcast
        against each other, from the last one.

    Attributes
    ----------
    ranks
        For each input, how many further axes it has.
    ndim
        The number of axes of the batch: the largest of them.
    uneven
        Set by rules: position of an output -> the number of rows of each item, if they may differ.
    """

    def __init__(self, node: Apply, inputs: Sequence[Any]) -> None:
        self.node = node
        self.inputs = list(inputs)
        self.ranks = [
            batch_rank(new, old) for new, old in zip(self.inputs, node.inputs, strict=True)
        ]
        self.ndim = max(self.ranks, default=0)
        self.uneven: dict[int, Any] = {}

    def any_of(self, positions: Any) -> bool:
        """Return whether some of the inputs have axes of the batch."""
        return any(self.ranks[position] for position in positions)

    def padded(self, position: int, core_ndim: int | None = None) -> Any:
        """Return an input with all axes of the batch, of size 1 where it had none.

        Parameters
        ----------
        position
            Its position.
        core_ndim
            A number of axes for the item, more than it has; those of size 1 that are added come
            first.
        """
        x, rank = self.inputs[position], self.ranks[position]
        own = x.ndim - rank
        wanted = own if core_ndim is None else core_ndim
        if rank == self.ndim and wanted == own:
            return x
        outer = ["x"] * (self.ndim - rank)
        return dimshuffle(x, *outer, *range(rank), *["x"] * (wanted - own), *range(rank, x.ndim))

    def whole(self, position: int) -> Any:
        """Return an input for each item of the batch, repeated where it is the same for several."""
        x = self.padded(position)
        sizes = self.sizes
        if not broadcasts(x.type.shape[: self.ndim], sizes):
            return x
        return alloc(x, *sizes, *sizes_of(x)[self.ndim :])

    @kept_property
    def sizes(self) -> list[Any]:
        """The sizes of the axes of the batch, ints or symbolic."""
        shapes = [
            sizes_of(x)[:rank] for x, rank in zip(self.inputs, self.ranks, strict=True) if rank
        ]
        node = self.node
        try:
            return broadcast_sizes(shapes, f"{node.op}: the batches of its inputs")
        except ShapeError as error:
            add_note(error, f"While batching the node made at\n  {node.origin}")
            raise


def broadcasts(static: Sequence[int | None], sizes: Sequence[Any]) -> bool:
    """Return whether axes have a size of 1 where others have, or could have, more.

    Parameters
    ----------
    static
        The sizes that are known.
    sizes
        Those that they broadcast to, ints or symbolic.
    """
    for known, size in zip(static, sizes, strict=True):
        found = fold(size)
        if known == 1 and not (isinstance(found, int) and found == 1):
            return True
    return False


@overload
def vectorize_graph(outputs: Variable, replace: Mapping[Any, Any]) -> Any: ...
@overload
def vectorize_graph(outputs: Sequence[Variable], replace: Mapping[Any, Any]) -> list[Any]: ...
def vectorize_graph(outputs: Any, replace: Mapping[Any, Any]) -> Any:
    """Return outputs of a graph for batches of some of its variables.

    Parameters
    ----------
    outputs
        A variable, or a sequence of variables: for one item.
    replace
        Variable of the graph -> variable or value for a batch. This has the dtype of the former,
        and its axes after any number of further ones. These broadcast against each other as NumPy
        has it: aligned from the last one, where an axis is missing or its size is known to be 1.

    Returns
    -------
    Variable or list of Variable
        As ``outputs``, with the axes of the batch in front. Outputs that depend on no batch have
        none.

    Raises
    ------
    ArgumentError
        ``replace`` is not a mapping from variables, or the outputs are not variables.
    ShapeError
        A variable for a batch has too few axes, or known sizes do not fit.
    TypeContractError
        A variable for a batch has another dtype.

    Notes
    -----
    Nothing is computed item by item if the Ops have a batched form: see the table in the
    documentation, under "Batching". Where the items of a result could have different shapes, they
    are computed one by one, and it is an error if shapes differ at run time.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.batching import vectorize_graph
    >>> x, w = pt.dvectors("x", "w")
    >>> y = pt.tanh(x @ w)
    >>> xs = pt.dmatrix("xs")
    >>> vectorize_graph(y, {x: xs}).eval({xs: [[0.0, 0.0], [9.0, 9.0]], w: [1.0, 1.0]}).round(6)
    array([0., 1.])
    """
    variables = _list_of(outputs)
    values: dict[Any, Any] = {}
    if not isinstance(replace, Mapping):
        msg = (
            f"replace must be a mapping from variables of the graph to batches, got {replace!r}. "
            "Write {x: xs}."
        )
        raise ArgumentError(msg)
    for old, new in replace.items():
        values[old] = _batch_for(old, new)
    uneven = _batch_nodes(variables, values)
    found = [values.get(variable, variable) for variable in variables]
    found = [zero_beyond(x, uneven[x]) if x in uneven else x for x in found]
    return found[0] if isinstance(outputs, Variable) else found


def vectorize_inner(outputs: Sequence[Variable], replace: Mapping[Any, Any]) -> list[Any]:
    """Return the outputs of an inner graph for batches of some of its inputs.

    As :func:`vectorize_graph`, but rows of which items have different numbers are an error, since
    what comes after the inner graph would not know of that.
    """
    values = dict(replace)
    uneven = _batch_nodes(outputs, values)
    found = [values.get(variable, variable) for variable in outputs]
    return [even(x, uneven[x]) if x in uneven else x for x in found]


def _batch_nodes(outputs: Sequence[Variable], values: dict[Any, Any]) -> dict[Any, Any]:
    """Add the variables on the way to outputs to a dict, and return the numbers of uneven rows."""
    uneven: dict[Any, Any] = {}
    for node, sources in _read_nodes(outputs, values):
        if sources is None:
            _batch_node(node, values, uneven)
        elif any(source in values for source in sources):
            values.update(
                (output, values.get(source, source))
                for output, source in zip(node.outputs, sources, strict=True)
            )
    return uneven


def _read_nodes(
    outputs: Sequence[Variable], known: Mapping[Any, Any]
) -> list[tuple[Apply, Sequence[Variable] | None]]:
    """Return the nodes on the way to outputs, in order, each with what it undoes.

    What is undone need not have a batched form, as a sparse matrix of which only the arrays are
    read.
    """
    wanted = set(outputs)
    found: list[tuple[Apply, Sequence[Variable] | None]] = []
    for node in reversed(toposort(outputs, blockers=known)):
        if wanted.isdisjoint(node.outputs):
            continue
        sources = node.op.undone(node) if node.op.undone else None
        wanted.update(node.inputs if sources is None else sources)
        found.append((node, sources))
    return found[::-1]


def _batch_node(node: Apply, values: dict[Any, Any], uneven: dict[Any, Any]) -> None:
    """Add to a dict the outputs of a node, for what it has for the inputs.

    Parameters
    ----------
    node
        A node.
    values
        Variable -> that for a batch. What is not in it stays as it is.
    uneven
        Variable for a batch -> the number of rows of each item, where they may differ.
    """
    inputs = [values.get(x, x) for x in node.inputs]
    if all(new is old for new, old in zip(inputs, node.inputs, strict=True)):
        return
    require_calls(node.op)
    batch = Batch(node, inputs)
    lengths = {at: uneven[x] for at, x in enumerate(inputs) if x in uneven}
    with inherit_origin(node.origin):
        try:
            indexed = index_rows(node, batch, lengths[0]) if 0 in lengths else None
            if indexed is not None:
                values[node.outputs[0]], counts = indexed
                uneven.update({indexed[0]: counts} if counts is not None else {})
                return
            _even_out(batch, lengths)
            found = outputs_for(batch)
        except (TypeError, ValueError, PhintysError) as error:
            add_note(error, f"While batching {node.op}, in the node made at\n  {node.origin}")
            raise
    for old, new in zip(node.outputs, found, strict=True):
        values.setdefault(old, new)
    for position, counts in batch.uneven.items():
        uneven[values[node.outputs[position]]] = counts


def _even_out(batch: Batch, lengths: Mapping[int, Any]) -> None:
    """Check the numbers of rows of inputs that a node cannot read if they differ."""
    if not lengths:
        return
    rows_read = batch.node.op.rows_read
    read = rows_read(batch.node) if rows_read is not None else ()
    for position, counts in lengths.items():
        if position not in read:
            batch.inputs[position] = even(batch.inputs[position], counts)


def outputs_for(batch: Batch) -> list[Variable]:
    """Return the outputs of a node for a batch, checked against those for an item."""
    node = batch.node
    if not batch.ndim:
        return node.clone_with_new_inputs(batch.inputs, strict=False).outputs
    rule = BATCHING.find(type(node.op))
    found = None if rule is None else rule(node, batch)
    if found is None:
        base: Any = BATCHING.find(Op)
        found = base(node, batch)
    results: list[Any] = list(found)
    if len(results) != len(node.outputs):
        msg = (
            f"The batching rule of {node.op} must return {len(node.outputs)} variables, one for "
            f"each output, got {found!r}."
        )
        raise OpContractError(msg)
    return [_checked(new, old, node, batch) for new, old in zip(results, node.outputs, strict=True)]


def _checked(new: Any, old: Any, node: Apply, batch: Batch) -> Any:
    """Return a result of a rule, which broadcasts where the output for an item does."""
    if not isinstance(old.type, TensorType) and new.type == old.type:
        return new  # such as the next state of a generator
    if batch_rank(new, old) not in {0, batch.ndim} or _dtype(new) != _dtype(old):
        msg = (
            f"The batching rule of {node.op} returned {new} of type {new.type} for an output of "
            f"type {old.type} and a batch of {batch.ndim} axes: it must have the same dtype, and "
            f"{batch.ndim} further axes in front (or none, if it is the same for all items)."
        )
        raise OpContractError(msg)
    if not isinstance(old.type, TensorType):
        return new
    first = batch_rank(new, old)
    lost = [
        first + dim
        for dim, size in enumerate(old.type.shape)
        if size == 1 and new.type.shape[first + dim] != 1
    ]
    return specify_broadcastable(new, *lost) if lost else new


def _dtype(variable: Any) -> Any:
    return getattr(variable.type, "dtype", None)


def _list_of(outputs: Any) -> list[Any]:
    listed = [outputs] if isinstance(outputs, Variable) else outputs
    if not isinstance(listed, list | tuple):
        msg = f"The outputs must be a variable or a list of variables, got {outputs!r}."
        raise ArgumentError(msg)
    found = list(cast("Sequence[Any]", listed))
    for one in found:
        if not isinstance(one, Variable):
            msg = (
                f"The outputs must be variables, got {one!r} of type {type(one).__name__}. A graph "
                "is batched before it is compiled; pt.vectorize batches a function of variables."
            )
            raise ArgumentError(msg)
    return found


def _batch_for(old: Any, new: Any) -> Any:
    """Return the batch that replaces a variable, with the known sizes."""
    if not isinstance(old, Variable):
        msg = (
            f"The keys of replace must be variables of the graph, got {old!r} of type "
            f"{type(old).__name__}."
        )
        raise ArgumentError(msg)
    core: Any = old.type
    if not isinstance(new, Variable) or isinstance(core, TensorType):
        new = as_tensor_variable(new)
    if not hasattr(core, "dtype"):
        return core.filter_variable(new)
    new_type: Any = new.type
    ndim = getattr(core, "ndim", 0)
    extra = getattr(new_type, "ndim", 0) - ndim
    if new_type.dtype != core.dtype:
        msg = (
            f"{new} of type {new.type} cannot be a batch of {old}, which has type {core}: the "
            f'dtypes differ. Cast it first: new.astype("{core.dtype}").'
        )
        raise TypeContractError(msg)
    if extra < 0:
        msg = (
            f"{new} of type {new.type} cannot be a batch of {old}, of type {core}: it must have "
            f"the {ndim} axes of that as its last ones, and the axes of the batch before them."
        )
        raise ShapeError(msg)
    if not isinstance(core, TensorType):
        return new
    whole = new_type.shape
    wrong = [
        dim
        for dim, (size, known) in enumerate(zip(whole[extra:], core.shape, strict=True))
        if None not in {size, known} and size != known
    ]
    if wrong:
        msg = (
            f"{new} of type {new.type} cannot be a batch of {old}, of type {core}: the last "
            f"{ndim} sizes must be those of one item, and that of axis {wrong[0]} differs."
        )
        raise ShapeError(msg)
    return TensorType(core.dtype, (*whole[:extra], *core.shape)).filter_variable(new)
