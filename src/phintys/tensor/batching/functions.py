"""``vectorize``: a function of variables for one item, as a function of batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError, ShapeError, add_note
from phintys._base.nested_containers import is_nest, rebuilt, walk
from phintys._base.origin import current_origin
from phintys.graph.inner import Placeholder, mark_placeholder
from phintys.graph.shared_variable import set_within
from phintys.graph.traversal import ancestors
from phintys.tensor.batching.engine import batch_rank, broadcasts, vectorize_graph
from phintys.tensor.batching.signatures import parse_signature
from phintys.tensor.broadcasting import broadcast_sizes
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import alloc
from phintys.tensor.dim_shuffle import dimshuffle
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from phintys.tensor.batching.signatures import Signature


def vectorize(f: Callable[..., Any], signature: str | None = None) -> Callable[..., Any]:
    """Return a function that applies ``f`` to all items of batches, without a loop in Python.

    ``f`` is called once, with variables for one item; its graph is then batched, as
    :func:`vectorize_graph` does.

    Parameters
    ----------
    f
        A function of tensor variables, or of dicts and dataclasses of them, that returns a tensor
        variable, or a tree of them: lists, tuples, dicts and dataclasses of any depth.
    signature
        The core axes of the arguments and results, as for ``numpy.vectorize``: ``"(n),(n)->()"``
        for a function of two vectors that returns a number. Axes of one name have the same size. A
        tree counts as its variables, in order. By default all are numbers.

    Returns
    -------
    function
        It takes arrays or variables with any further axes in front, which broadcast against each
        other, and returns results with these axes in front.

    Raises
    ------
    ArgumentError
        The signature is not one, or does not fit the arguments or the results.
    ShapeError
        An argument has too few axes, or known sizes differ.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> def distance(x, y):
    ...     return pt.sqrt(((x - y) ** 2).sum())
    >>> distances = pt.vectorize(distance, "(n),(n)->()")
    >>> points = pt.dmatrix("points")
    >>> distances(points, [0.0, 0.0]).eval({points: [[3.0, 4.0], [6.0, 8.0]]})
    array([ 5., 10.])

    All pairs, by an axis for each of the two:

    >>> distances(points[:, None], points[None]).eval({points: [[3.0, 4.0], [6.0, 8.0]]})
    array([[0., 5.],
           [5., 0.]])
    """
    if not callable(f):
        msg = (
            f"pt.vectorize takes a function of variables, got {f!r}. For an expression that is "
            "there already, use pt.vectorize_graph(y, {x: xs})."
        )
        raise ArgumentError(msg)
    parsed = None if signature is None else parse_signature(signature)
    name = getattr(f, "__name__", "the function")

    def batched(*arguments: Any) -> Any:
        given: list[Any] = [as_tensor_variable(leaf) for one in arguments for leaf in _leaves(one)]
        cores = _cores(given, parsed, signature, name)
        with set_within() as drawn_from:
            results = f(*_like(arguments, cores))
        listed: Sequence[Any] = [leaf for _, leaf in walk(results)]
        outputs = _checked(listed, parsed, signature, name)
        pairs = list(zip(cores, given, strict=True))
        updated = _updated_by_items(drawn_from, cores)
        updates = [shared.default_update for shared in updated]
        found: Sequence[Any] = vectorize_graph([*outputs, *updates], dict(pairs))
        for shared, new in zip(updated, found[len(outputs) :], strict=True):
            if new.type.in_same_class(shared.type):  # else the items would leave different values
                shared.default_update = new
        return rebuilt(results, _repeated(found[: len(outputs)], outputs, pairs, name))

    return update_wrapper(batched, f)


def _is_tree(argument: Any) -> bool:
    """Return whether an argument is a tree of arrays: lists and tuples are arrays themselves."""
    return is_nest(argument) and not isinstance(argument, list | tuple)


def _leaves(argument: Any) -> list[Any]:
    return [leaf for _, leaf in walk(argument)] if _is_tree(argument) else [argument]


def _like(arguments: Sequence[Any], cores: Sequence[Any]) -> list[Any]:
    """Return arguments of the same forms around other values."""
    values = iter(cores)
    return [
        rebuilt(one, [next(values) for _ in _leaves(one)]) if _is_tree(one) else next(values)
        for one in arguments
    ]


def _updated_by_items(shared: Sequence[Any], cores: Sequence[Any]) -> list[Any]:
    """Return the shared variables whose default updates depend on variables for one item.

    The state of a generator after a loop does so, if the loop reads an item: it belongs to the loop
    over the batch, then.
    """
    inside = set(cores)
    return [
        one
        for one in shared
        if one.default_update is not None and not inside.isdisjoint(ancestors([one.default_update]))
    ]


def _cores(
    given: Sequence[Any], parsed: Signature | None, signature: str | None, name: str
) -> list[Any]:
    """Return a variable for one item of each argument."""
    axes = [()] * len(given) if parsed is None else parsed.inputs
    if len(axes) != len(given):
        msg = f"{name} has {len(axes)} arguments by its signature {signature!r}, got {len(given)}."
        raise ArgumentError(msg)
    known: dict[Any, tuple[int, int]] = {}
    cores: list[Any] = []
    advice = "Let the function return what is needed."
    for number, (x, names) in enumerate(zip(given, axes, strict=True)):
        if x.ndim < len(names):
            msg = (
                f"Argument {number} of {name} has the core axes {_text(names)} by the signature "
                f"{signature!r}, so it must be of rank {len(names)} or more; got {x} of type "
                f"{x.type}."
            )
            raise ShapeError(msg)
        shape = list(x.type.shape[x.ndim - len(names) :])
        for dim, axis in enumerate(names):
            first, size = (
                (number, axis) if isinstance(axis, int) else known.get(axis, (number, shape[dim]))
            )
            if None not in {shape[dim], size} and shape[dim] != size:
                origin = "the signature" if isinstance(axis, int) else f"argument {first}"
                msg = (
                    f"The axis {axis} of the signature {signature!r} has size {shape[dim]} in "
                    f"argument {number} of {name}, {x} of type {x.type}, and size {size} by "
                    f"{origin}. Axes of one name must have the same size."
                )
                raise ShapeError(msg)
            if shape[dim] is not None and not isinstance(axis, int):
                known[axis] = (first, shape[dim])
        core = x.type.clone(shape=shape)(f"{x.name or f'argument {number}'}[i]")
        mark_placeholder(
            core, Placeholder(f"an argument of {name} for one item,", current_origin(), advice)
        )
        cores.append(core)
    return cores


def _text(names: Sequence[Any]) -> str:
    return f"({','.join(map(str, names))})"


def _checked(
    results: Sequence[Any], parsed: Signature | None, signature: str | None, name: str
) -> list[Any]:
    """Return the results for an item as variables, of the ranks that the signature says."""
    found: list[Any] = []
    for number, one in enumerate(results):
        try:
            found.append(as_tensor_variable(one))
        except TypeError as error:
            add_note(
                error,
                f"It is result {number} of {name}, which must return tensor variables: it is "
                "called once, with variables for one item, and not with their values.",
            )
            raise
    if parsed is None:
        return found
    if len(found) != len(parsed.outputs):
        msg = (
            f"{name} has {len(parsed.outputs)} results by its signature {signature!r}, and "
            f"returned {len(found)}."
        )
        raise ArgumentError(msg)
    for number, (one, names) in enumerate(zip(found, parsed.outputs, strict=True)):
        if one.ndim != len(names):
            msg = (
                f"Result {number} of {name} has the core axes {_text(names)} by the signature "
                f"{signature!r}, and is {one} of type {one.type}, of rank {one.ndim}."
            )
            raise ArgumentError(msg)
    return found


def _repeated(
    found: Sequence[Any], outputs: Sequence[Any], pairs: Sequence[tuple[Any, Any]], name: str
) -> list[Any]:
    """Return results with all axes of the batch, also those that are the same for all items."""
    ranks = [batch_rank(x, core) for core, x in pairs]
    ndim = max(ranks, default=0)
    shapes = [sizes_of(x)[:rank] for (_, x), rank in zip(pairs, ranks, strict=True)]
    sizes = broadcast_sizes(shapes, f"{name}: the axes in front of those of an item")
    whole: list[Any] = []
    for x, core in zip(found, outputs, strict=True):
        rank = batch_rank(x, core)
        x = dimshuffle(x, *["x"] * (ndim - rank), *range(x.ndim)) if rank < ndim else x
        if broadcasts(x.type.shape[:ndim], sizes):
            x = alloc(x, *sizes, *sizes_of(x)[ndim:])
        whole.append(x)
    return whole
