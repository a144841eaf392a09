"""Sums of products of any number of arrays: :func:`einsum`.

It has no Op of its own: the graph is that of the products of pairs that it stands for, so its
derivatives, rewrites and native code are theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError, ShapeError
from phintys.tensor import math
from phintys.tensor.contractions.notation import Notation, parse
from phintys.tensor.contractions.products import (
    Labelled,
    arranged,
    best_order,
    greedy_order,
    product,
    summed,
)
from phintys.tensor.diagonals import diagonal
from phintys.tensor.shapes import sizes_of, specify_shape
from phintys.tensor.type import promote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable


def einsum(*subscripts_and_operands: Any, optimize: Any = None) -> TensorVariable:
    """Return the sum of products that a notation describes, as ``numpy.einsum`` does.

    Parameters
    ----------
    *subscripts_and_operands
        A string such as ``"ij,jk->ik"``, and as many operands as it has terms; or operands and
        lists of axis numbers in turn, and maybe a list for the result. A letter (or number) names
        an axis, and axes of one name have one size, or size 1, if that is known. The products of
        all operands are summed over the axes that the result does not name. A name that is twice in
        a term is a diagonal. ``...`` stands for all axes that are not named; those of different
        operands broadcast. Without ``->``, the result has the axes that are named once, in
        alphabetic order.
    optimize
        The order of the products: ``None``, ``True`` or ``"optimal"`` for that of the least work,
        which is found when the graph is built; ``"greedy"`` for one that is found quickly;
        ``False`` for that of the operands; or a list of positions, as ``numpy.einsum_path`` returns
        it. A size that is not known counts as 64.

    Returns
    -------
    TensorVariable
        One dimension for each index on the right of the arrow, in their order.

    Raises
    ------
    ArgumentError
        The notation is wrong, or is for another number of operands.
    ShapeError
        The ranks of operands, or sizes of axes of one name, do not fit.

    Notes
    -----
    Products are computed in the dtype that all operands are promoted to; those of bools are
    ``any(x & y)``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> pt.einsum("ij,j->i", x, [1.0, 10.0]).eval()
    array([21., 43.])
    >>> pt.einsum("ii", x).eval()
    array(5.)
    """
    notation = parse(subscripts_and_operands)
    sizes = _sizes(notation)
    dtype = promote(*(x.dtype for x in notation.operands))
    output = notation.output
    parts = [
        _prepared(x if x.dtype == dtype else math.cast(x, dtype), term, sizes)
        for x, term in zip(notation.operands, notation.terms, strict=True)
    ]
    parts = _without_private(parts, output)
    for step in _order(optimize, parts, output, sizes):
        chosen = [parts[at] for at in step]
        parts = [part for at, part in enumerate(parts) if at not in step]
        found = chosen[0]
        for at, other in enumerate(chosen[1:], 2):
            rest = [*parts, *chosen[at:]]
            kept = {*output, *(label for part in rest for label in part.labels)}
            found = product(found, other, [*kept], () if rest else output)
        parts.append(found)
    (last,) = parts
    return arranged(summed(last, set(last.labels) - set(output)), output)


def _sizes(notation: Notation) -> dict[str, int | None]:
    """Return the size of each label: ``None`` if it is not known, 1 only if all have size 1."""
    sizes: dict[str, int | None] = {}
    for term, x in zip(notation.terms, notation.operands, strict=True):
        for label, size in zip(term, x.type.shape, strict=True):
            known = sizes.setdefault(label, size)
            if known == 1 or (known is None and size != 1):
                sizes[label] = size
            elif size not in {1, None, known}:
                raise _misfit(notation, label)
    return sizes


def _misfit(notation: Notation, label: str) -> ShapeError:
    lines = "".join(
        f"\n  {x}, shape {x.type.shape}"
        for term, x in zip(notation.terms, notation.operands, strict=True)
        if label in term
    )
    return ShapeError(
        f'einsum: the axes named {label!r} in "{notation.text}" must have one size, or size 1.'
        f"{lines}\nAxes of different sizes need different names."
    )


def _prepared(x: Any, term: Sequence[str], sizes: dict[str, int | None]) -> Labelled:
    """Return an operand with distinct labels, and without axes that broadcast."""
    labels = list(term)
    for label in dict.fromkeys(term):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = diagonal(_squared(x, first, second, label), 0, first, second)
            labels = [*labels[:first], *labels[first + 1 : second], *labels[second + 1 :], label]
    kept = [at for at, label in enumerate(labels) if x.type.shape[at] != 1 or sizes[label] == 1]
    if len(kept) < len(labels):
        x = x.dimshuffle(*kept)
    return Labelled(x, tuple(labels[at] for at in kept))


def _squared(x: Any, first: int, second: int, label: str) -> Any:
    """Check that two axes, whose diagonal is taken, have the same size."""
    a, b = x.type.shape[first], x.type.shape[second]
    if a is not None and a == b:
        return x
    if None not in {a, b}:
        msg = (
            f"einsum: {label!r} names two axes of {x}, whose diagonal is taken, but their sizes "
            f"differ: {a} and {b}."
        )
        raise ShapeError(msg)
    stated: list[Any] = [None] * x.ndim
    stated[second] = sizes_of(x)[first]
    return specify_shape(x, stated)


def _without_private(parts: Sequence[Labelled], output: Sequence[str]) -> list[Labelled]:
    """Sum over the axes that only one operand has."""
    return [
        summed(
            part,
            {
                label
                for label in part.labels
                if label not in output
                and not any(label in other.labels for other in parts if other is not part)
            },
        )
        for part in parts
    ]


def _order(
    optimize: Any,
    parts: Sequence[Labelled],
    output: Sequence[str],
    sizes: dict[str, int | None],
) -> list[tuple[int, ...]]:
    """Return the positions of the operands that are multiplied in each step."""
    count = len(parts)
    if count == 1:
        return []
    terms = [part.labels for part in parts]
    if optimize is None or optimize is True or optimize == "optimal":
        return best_order(terms, output, sizes)
    if optimize == "greedy":
        return greedy_order(terms, output, sizes)
    if optimize is False:
        return [tuple(range(count))]
    steps = _given_steps(optimize)
    left = count
    for step in steps:
        if len(set(step)) != len(step) or not all(0 <= at < left for at in step):
            steps = []
            break
        left -= len(step) - 1
    if not steps or left != 1:
        msg = (
            f"einsum: optimize is None, True, False, 'optimal', 'greedy', or a list of the "
            f"positions that are multiplied in each step, such as [(0, 1), (0, 1)] for three "
            f"operands; got {optimize!r} for {count}."
        )
        raise ArgumentError(msg)
    return steps


def _given_steps(optimize: Any) -> list[tuple[int, ...]]:
    if not isinstance(optimize, list | tuple):
        return []
    steps = [step for step in optimize if step != "einsum_path"]
    if not all(
        isinstance(step, tuple | list) and step and all(isinstance(at, int) for at in step)
        for step in steps
    ):
        return []
    return [tuple(step) for step in steps]
