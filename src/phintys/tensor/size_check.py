"""Checks of sizes that remain where the values are not computed.

A variable of which only the shape is needed is not computed: its sizes are expressions of the sizes
of its inputs. Where an Op raises for some sizes, its ``infer_shape`` says so with
:func:`with_check`, so that the expressions raise as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from phintys._base.errors import IndexingError, ShapeError
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.tensor.shape_rules import S, ShapedOp, Shapes
from phintys.tensor.sizes import as_size, fold, same_size
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Relation = Literal["equal", "at least", "index"]

_SIZE = TensorType("int64", ())


class SizeCheck(ShapedOp):
    """Return a size, after a check of two integers ``a`` and ``b``.

    Parameters
    ----------
    relation
        ``"equal"``: a is b. ``"at least"``: a is not less than b. ``"index"``: a is an index into
        an axis of length b, counted from its end if negative.
    subject
        What is checked, for the message of the error.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.tensor.size_check import SizeCheck
    >>> x, y = pt.vectors("x", "y")
    >>> n = SizeCheck("equal", "the lengths of x and y")(x.shape[0], x.shape[0], y.shape[0])
    >>> n.eval({x: [1.0, 2.0], y: [3.0, 4.0]})
    array(2)
    """

    __props__ = ("relation", "subject")

    view_map = {0: [0]}

    def __init__(self, relation: Relation, subject: str) -> None:
        self.relation: Relation = relation
        self.subject = subject

    def make_node(self, size: Any, a: Any, b: Any) -> Apply:
        return Apply(self, [as_size(size), as_size(a), as_size(b)], [_SIZE()])

    def perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        size, a, b = inputs
        if not self._holds(int(a), int(b)):
            raise self.error(int(a), int(b))
        output_storage[0][0] = size

    def _holds(self, a: int, b: int) -> bool:
        if self.relation == "equal":
            return a == b
        return a >= b if self.relation == "at least" else -b <= a < b

    def error(self, a: int, b: int) -> Exception:
        """Return the error for two numbers that do not fit."""
        if self.relation == "index":
            return IndexingError(f"{self.subject}: index {a} is out of range for size {b}.")
        wanted = "must be equal, got" if self.relation == "equal" else "must be at least"
        if self.relation == "equal":
            return ShapeError(f"{self.subject} {wanted} {a} and {b}.")
        return ShapeError(f"{self.subject} {wanted} {b}, got {a}.")

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        return [()]

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """Sizes have no gradient."""
        return [[False], [False], [False]]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        return [disconnected_type() for _ in inputs]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None]

    def __str__(self) -> str:
        return f"SizeCheck{{{self.relation}}}"


def with_check(
    sizes: Iterable[Any], relation: Relation, a: Any, b: Any, subject: str
) -> tuple[Any, ...]:
    """Return sizes that raise unless two integers are as stated; for ``infer_shape``.

    Sizes that are known remain constants, and nothing is added where the relation is known to hold.

    Parameters
    ----------
    sizes
        The sizes of a result: ints, or symbolic.
    relation, subject
        As in :class:`SizeCheck`.
    a, b
        The integers that are checked, ints or symbolic.
    """
    sizes = tuple(sizes)
    a, b = fold(a), fold(b)
    if isinstance(a, int) and isinstance(b, int):
        return sizes  # checked when the node was made
    if relation == "equal" and same_size(unchecked_size(a), unchecked_size(b)):
        return sizes
    check = SizeCheck(relation, subject)
    return tuple(size if isinstance(fold(size), int) else check(size, a, b) for size in sizes)


def at_least_one(count: Any, subject: str) -> Any:
    """Return a number of elements, after a check that there is one.

    Parameters
    ----------
    count
        An int, or symbolic.
    subject
        What is counted, for the message of the error.

    Raises
    ------
    ShapeError
        It is less than 1; while the program runs, if it is unknown.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.size_check import at_least_one
    >>> n = pt.lscalar("n")
    >>> at_least_one(n, "the elements of x").eval({n: 3}), at_least_one(3, "the elements of x")
    (array(3), 3)
    """
    count = fold(count)
    check = SizeCheck("at least", subject)
    if not isinstance(count, int):
        return check(count, count, 1)
    if count < 1:
        raise check.error(count, 1)
    return count


def unchecked_size(size: Any) -> Any:
    """Return a size without the checks that it depends on."""
    while (node := getattr(size, "owner", None)) is not None and isinstance(node.op, SizeCheck):
        size = node.inputs[0]
    return size
