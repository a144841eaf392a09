"""Products of the vectors of a matrix that rebuild a function of it are differentiated as one.

The vectors of equal values are chosen among many, and have no derivative there. A product such as
``(v * f) @ v.T`` does not depend on the choice, but its derivative cannot be found from the
gradient that flows back to the vectors: it has to be seen in the product. So each product whose
operands end, where they meet, with the vectors of one decomposition is replaced, in the walks of
derivatives, by a function of the matrix, of the numbers f between the vectors, and of what is
outside of them::

    L @ v @ diag(f) @ v ^ H @ R

The graph stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import phintys.scalar as ps
from phintys._base.errors import MethodNotDefinedError
from phintys._base.origin import inherit_origin
from phintys.gradient.arithmetic import fit_dtype, is_complex, is_discrete, zero_like
from phintys.gradient.forward import push_forward
from phintys.gradient.pullback import pull_back
from phintys.graph.apply import Apply
from phintys.graph.contract import connection_pattern
from phintys.graph.op import Op
from phintys.graph.traversal import toposort
from phintys.tensor import math
from phintys.tensor.creation import ones_like, sum_to
from phintys.tensor.diagonals import AllocDiag, diagonal
from phintys.tensor.dim_shuffle import DimShuffle, expand_dims, squeeze
from phintys.tensor.elemwise import Elemwise, elemwise
from phintys.tensor.linear_algebra.eigen import Eigh
from phintys.tensor.linear_algebra.matrix_functions import (
    Flow,
    Spectrum,
    hermitian_slope,
    singular_slope,
)
from phintys.tensor.linear_algebra.matrix_op import adjoint
from phintys.tensor.linear_algebra.singular_values import SVD
from phintys.tensor.products import BatchedDot, Dot, matmul
from phintys.tensor.reduce import Reduce
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from phintys.graph.variable import Variable


def with_whole_products(
    order: Sequence[Apply], ends: Iterable[Variable], pinned: Collection[Variable]
) -> list[Apply]:
    """Return nodes in which products that rebuild functions of matrices stand for themselves.

    Parameters
    ----------
    order
        The nodes of a graph.
    ends
        Its outputs: nodes that these no longer depend on are left out.
    pinned
        Variables whose own gradients count: a product is left as it is if one is between it and
        the vectors.
    """
    needed = set(ends)
    found: list[Apply] = []
    for node in reversed(order):
        if needed.isdisjoint(node.outputs):
            continue
        own = _whole(node, pinned) or node
        needed.update(own.inputs)
        found.append(own)
    return found[::-1]


def _whole(node: Apply, pinned: Collection[Variable]) -> Apply | None:
    """Return a node for the same output, as a function of the matrix; or ``None``."""
    first: Any = node.inputs[0]
    if not isinstance(node.op, Dot | BatchedDot) or first.ndim < 2:
        return None
    left = _end(first, is_last=True)
    right = None if left is None else _end(node.inputs[1], is_last=False)
    if left is None or right is None or left.vectors.owner is not right.vectors.owner:
        return None
    owner = left.vectors.owner
    if not (left.fits(is_last=True) and right.fits(is_last=False)):
        return None
    if any(variable in pinned for variable in (*left.passed, *right.passed)):
        return None
    with inherit_origin(node.origin):
        op = _Rebuilt(owner, left, right)
        own = Apply(op, op.inputs, [variable.type() for variable in node.outputs])
    own.outputs, own.origin = node.outputs, node.origin
    return own


_PLACES: dict[Any, dict[Any, bool]] = {Eigh: {1: True}, SVD: {0: True, 2: False}}
"""Positions of outputs that are vectors, and whether these are numbered along the last axis."""


_LONGEST = 32
"""Operations between vectors and a product that are looked through, at most."""


def _conjugate(x: Any) -> Any:
    return math.conj(x) if is_complex(x.type) else x


# ---- ends of products ----------------------------------------------------------------------------


class _End(NamedTuple):
    """The end of a matrix at one of its axes: vectors, and what they are multiplied by.

    Attributes
    ----------
    vectors
        An output of a decomposition.
    is_conjugate
        Whether its conjugate is meant.
    factors
        Vectors of numbers, by which the vectors are multiplied.
    sources
        The variables that these are made of.
    rest
        The matrix on the other side of the vectors, if there is one.
    passed
        The variables between, and the vectors.
    """

    vectors: Any
    is_conjugate: bool
    factors: tuple[Any, ...]
    sources: tuple[Any, ...]
    rest: Any
    passed: tuple[Any, ...]

    def fits(self, *, is_last: bool) -> bool:
        """Return whether the vectors are in the place where a function of the matrix has them."""
        are_rows = self.vectors.index == 2  # as svd returns those on the right
        return not is_complex(self.vectors.type) or self.is_conjugate == (is_last == are_rows)


def _end(x: Any, *, is_last: bool, depth: int = 0) -> _End | None:
    """Return the end of a matrix at its last axis, or at that before it; ``None`` if it has none.

    A vector has one end.
    """
    node = x.owner
    if node is None or depth == _LONGEST:
        return None
    op: Any = node.op
    found = None
    depth += 1
    if isinstance(op, Eigh | SVD):
        is_there = x.ndim > 1 and _PLACES[type(op)].get(x.index) == is_last
        return _End(x, False, (), (), None, (x,)) if is_there else None
    if isinstance(op, DimShuffle):
        if x.ndim > 1 and op.new_order == (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2):
            found = _end(node.inputs[0], is_last=not is_last, depth=depth)
    elif isinstance(op, Elemwise):
        found = _end_of_elementwise(node, x, is_last=is_last, depth=depth)
    elif isinstance(op, Dot | BatchedDot):
        found = _end_of_product(node, is_last=is_last, depth=depth)
    return None if found is None else found._replace(passed=(*found.passed, x))


def _end_of_elementwise(node: Any, x: Any, *, is_last: bool, depth: int) -> _End | None:
    op: Any = node.op
    if op.scalar_op == ps.conj:
        found = _end(node.inputs[0], is_last=is_last, depth=depth)
        if found is None or found.rest is not None:
            return None
        factors = tuple(_conjugate(factor) for factor in found.factors)
        return found._replace(is_conjugate=not found.is_conjugate, factors=factors)
    if op.scalar_op not in {ps.mul, ps.true_div}:
        return None
    is_quotient = op.scalar_op == ps.true_div
    matrices = [
        at for at, one in enumerate(node.inputs) if not _is_diagonal(one, x, is_last=is_last)
    ]
    if x.ndim == 1:
        matrices = _products(node, matrices)
    if len(matrices) != 1 or (is_quotient and matrices != [0]):
        return None
    found = _end(node.inputs[matrices[0]], is_last=is_last, depth=depth)
    if found is None:
        return None
    sources = [one for at, one in enumerate(node.inputs) if at != matrices[0]]
    axis = -2 if is_last else -1
    factors = [one if x.ndim == 1 else squeeze(one, axis) for one in sources]
    if is_quotient:
        factors = [1 / factor for factor in factors]
    return found._replace(factors=(*found.factors, *factors), sources=(*found.sources, *sources))


def _products(node: Any, positions: Sequence[int]) -> Sequence[int]:
    """Return which operands of a node on vectors are products of a matrix; or of such and numbers.

    They are told by their own nodes alone, since each could be a long expression.
    """
    ops = {at: getattr(node.inputs[at].owner, "op", None) for at in positions}
    direct = [at for at, op in ops.items() if isinstance(op, Dot)]
    scaled = [
        at
        for at, op in ops.items()
        if isinstance(op, Elemwise) and op.scalar_op in {ps.mul, ps.true_div, ps.conj}
    ]
    return direct or scaled


def _is_diagonal(one: Any, x: Any, *, is_last: bool) -> bool:
    """Return whether to multiply by an operand is to multiply by a diagonal matrix on one side."""
    if x.ndim == 1:
        return one.type.shape == (1,)
    return one.type.shape[-2 if is_last else -1] == 1


def _end_of_product(node: Any, *, is_last: bool, depth: int) -> _End | None:
    outer, inner = node.inputs if is_last else reversed(node.inputs)
    made = inner.owner
    if made is not None and isinstance(made.op, AllocDiag) and made.op.offset == 0:
        values, rows, columns = made.inputs
        m, n = inner.type.shape[-2:]
        is_square = rows is columns if m is None else m == n
        found = _end(outer, is_last=is_last, depth=depth) if is_square else None
        if found is None:
            return None
        return found._replace(factors=(*found.factors, values), sources=(*found.sources, values))
    found = _end(inner, is_last=is_last, depth=depth)
    return None if found is None or found.rest is not None else found._replace(rest=outer)


# ---- slopes --------------------------------------------------------------------------------------


def _slope(function: Any, values: Any) -> Any:
    """Return the derivatives of numbers by the values that they are a function of, one by one.

    ``None`` if they are not known to be the same function of each value. What is reduced over all
    values is a constant here: it does not tell equal values apart.
    """
    axes: dict[Any, int] = {values: -1}
    constants: list[Variable] = []
    for node in toposort([function], {values}):
        own = {axes[x] for x in node.inputs if x in axes}
        if not own:
            continue
        op: Any = node.op
        if isinstance(op, Elemwise) and len(own) == 1:
            (axis,) = own
            if any(_tells(x, axis) for x in node.inputs if x not in axes):
                return None
        elif isinstance(op, DimShuffle):
            (axis,) = own
            position = node.inputs[0].ndim + axis  # pyright: ignore[reportAttributeAccessIssue]
            axis = op.new_order.index(position) - len(op.new_order)
        elif isinstance(op, Reduce) and _is_reduced(op, node.inputs[0], *own):
            constants += node.outputs
            continue
        elif not _depends(node, axes):
            continue
        else:
            return None
        axes.update(dict.fromkeys(node.outputs, axis))
    if axes.get(function) != -1:
        return None
    blocked = {values, *constants}
    (found,) = push_forward([function], [(values, ones_like(values))], blocked)
    return zero_like(function) if found is None else found


def _depends(node: Apply, axes: Collection[Variable]) -> bool:
    """Return whether a node has derivatives by some of its inputs."""
    rows = zip(node.inputs, connection_pattern(node), strict=True)
    return any(any(row) for x, row in rows if x in axes)


def _is_reduced(op: Any, x: Any, axis: int) -> bool:
    return op.axis is None or x.ndim + axis in op.axis


def _tells(x: Any, axis: int) -> bool:
    """Return whether an operand may have different numbers along an axis."""
    return x.type.shape[axis] != 1


# ---- products ------------------------------------------------------------------------------------


class _Rebuilt(Op):
    """A product with the vectors of a matrix inside, in the walk of a derivative.

    Parameters
    ----------
    node
        The decomposition.
    left, right
        The ends of the operands of the product.
    """

    __props__ = ()

    def __init__(self, node: Apply, left: _End, right: _End) -> None:
        self.node, self.ends = node, (left, right)
        self.sources = [*left.sources, *right.sources]
        self.outside = [end.rest for end in (left, right) if end.rest is not None]
        values: Any = node.outputs[1 if isinstance(node.op, SVD) else 0]
        function: Any = elemwise(ps.second)(values, np.ones((), values.dtype))
        for factor in (*left.factors, *right.factors):
            function = function * factor
        self.spectrum = Spectrum(values, function, _slope(function, values))
        self.inputs: list[Any] = [node.inputs[0], *self.sources, *self.outside]

    def make_node(self, *inputs: Any) -> Apply:
        """Not applied: it stands for nodes that there are."""
        msg = "A product of vectors is only differentiated."
        raise MethodNotDefinedError(msg)

    def _columns(self, vectors: Any) -> Any:
        """Return vectors as columns, without those that are beyond the values."""
        is_rows = vectors.index == 2
        if isinstance(self.node.op, SVD) and self.node.op.full_matrices:
            count = sizes_of(self.spectrum.values)[-1]
            vectors = vectors[..., :count, :] if is_rows else vectors[..., :count]
        return adjoint(vectors) if is_rows else vectors

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return the gradients for the matrix, the numbers, and what is outside."""
        (g,), (left, right) = output_grads, self.ends
        before, after = left.rest, right.rest
        is_vector = g.ndim == 1
        if is_vector:
            g, after = expand_dims(g, -1), expand_dims(after, -1)
        rows, columns = self._columns(left.vectors), self._columns(right.vectors)
        first = g if before is None else matmul(adjoint(before), g)
        seen = adjoint(columns) if after is None else matmul(adjoint(columns), after)
        flow = Flow(first, after, matmul(adjoint(rows), first), seen)
        function = expand_dims(self.spectrum.function, -1)
        found = [sum_to(self._slope_of_matrix(rows, columns, flow), inputs[0])]
        found += self._slopes_of_sources(flow)
        if before is not None:
            whole = matmul(rows, function * seen)
            found.append(sum_to(matmul(g, adjoint(whole)), before))
        if after is not None:
            own = matmul(columns, _conjugate(function) * flow.left)
            own = squeeze(own, -1) if is_vector else own
            found.append(sum_to(own, right.rest))
        return [
            zero_like(x) if gradient is None else fit_dtype(gradient, x.type)
            for gradient, x in zip(found, inputs, strict=True)
        ]

    def _slope_of_matrix(self, rows: Any, columns: Any, flow: Flow) -> Any:
        left, right = (end.vectors.index for end in self.ends)
        if isinstance(self.node.op, Eigh):
            return hermitian_slope(rows, self.spectrum, flow)
        both = left != right
        if not both:
            columns = self._columns(self.node.outputs[2 - left])
        found = singular_slope(rows, columns, self.spectrum, flow, both=both)
        return adjoint(found) if left == 2 else found

    def _slopes_of_sources(self, flow: Flow) -> list[Any]:
        """Return the gradients for what the numbers between the vectors are made of."""
        inner, function = flow.inner, self.spectrum.function
        own = fit_dtype(diagonal(inner, 0, inner.ndim - 2, inner.ndim - 1), function.type)
        if not self.sources or is_discrete(function.type):
            return [None] * len(self.sources)
        gradients = pull_back([(function, own)], self.sources, set(self.sources))
        return [gradients.value(source) for source in self.sources]
