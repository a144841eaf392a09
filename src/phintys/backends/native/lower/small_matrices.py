"""Factors and triangular systems of small matrices, written out: no loops over rows, no calls.

Each element of a factor is a number in a register of one kernel, which is fused with what is
computed from it. For this the size must be known, and at most ``EXPRESSED_ROWS``. Matrices of a
stack are computed side by side instead: see :mod:`~phintys.backends.native.routines.lanes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys._base.errors import IntegrityError
from phintys.backends.native.expressions import Conversion, Expression, Literal, Operation
from phintys.backends.native.failures import RoundedFailure
from phintys.backends.native.limits import EXPRESSED_ROWS
from phintys.backends.native.lower.view import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.lower.lowering import Lowering
    from phintys.backends.native.sizes import Size
    from phintys.graph.apply import Apply


_BOOL = np.dtype("bool")
_INT = np.dtype("int64")


def is_small(n: Size, dtype: np.dtype[Any], lengths: Sequence[Size]) -> bool:
    """Return whether a matrix of a size, in a stack of given lengths, is computed here."""
    if n.known is None or not 1 <= n.known <= EXPRESSED_ROWS or dtype.kind != "f":
        return False
    return all(length.known == 1 for length in lengths)


class SmallMatrices:
    """Writes the statements of one node.

    Parameters
    ----------
    node
        The node.
    n
        The number of rows.
    lengths
        The sizes of the stack, and of other axes that all elements have in common.
    dtype
        The dtype of the elements.
    lowering
        The state of lowering.
    """

    def __init__(
        self,
        node: Apply,
        n: Size,
        lengths: Sequence[Size],
        dtype: np.dtype[Any],
        lowering: Lowering,
    ) -> None:
        self.node = node
        if n.known is None:
            msg = f"{node} is written out for {n} rows, a number that is not known."
            raise IntegrityError(msg)
        self.n = n.known
        self.lowering = lowering
        self.dtype = dtype
        self.lengths = list(lengths)
        self.loops = lowering.loops(self.lengths)

    # ---- elements

    def element(self, view: View, *positions: int) -> View:
        """Return the view at known positions of the last axes."""
        sizes = self.lowering.sizes
        for position in reversed(positions):
            view = view.picked(view.ndim - 1, sizes.fixed(position), sizes)
        return view

    def load(self, view: View, *positions: int) -> Expression:
        """Return an element of each matrix."""
        return self.lowering.load(self.element(view, *positions), self.loops)

    def store(self, view: View, value: Expression, *positions: int) -> None:
        """Write an element of each matrix."""
        self.lowering.store(self.element(view, *positions), value, self.loops, nodes=(self.node,))

    def keep(self, value: Expression) -> Expression:
        """Return a value, which is computed once."""
        if isinstance(value, Literal):
            return value
        array = self.lowering.array(value.dtype, self.lengths)
        view = View.of(array, self.lowering.sizes)
        self.lowering.store(view, value, self.loops, nodes=(self.node,))
        return view.load(self.loops)

    # ---- arithmetic

    def number(self, value: float, dtype: np.dtype[Any] | None = None) -> Literal:
        """Return a number."""
        dtype = self.dtype if dtype is None else dtype
        return Literal(dtype.type(value), dtype)

    def of(self, op: Any, *arguments: Expression) -> Expression:
        """Return a scalar op of numbers of the dtype."""
        return Operation(op, arguments, arguments[0].dtype)

    def test(self, op: Any, *arguments: Expression) -> Expression:
        """Return a comparison, or a combination of some."""
        return Operation(op, arguments, _BOOL)

    def choose(self, condition: Expression, x: Expression, y: Expression) -> Expression:
        """Return x where a condition holds, and y elsewhere."""
        return Operation(ps.switch, (condition, x, y), x.dtype)

    def less_products(
        self, value: Expression, pairs: Sequence[tuple[Expression, Expression]]
    ) -> Expression:
        """Return a value minus the products of pairs."""
        for x, y in pairs:
            value = self.of(ps.sub, value, self.of(ps.mul, x, y))
        return value

    # ---- failures

    def any(self, conditions: Sequence[Expression]) -> Expression | None:
        """Return whether one of some conditions holds."""
        found: Expression | None = None
        for condition in conditions:
            found = condition if found is None else self.test(ps.or_, found, condition)
        return None if found is None else self.keep(found)

    def fail_if(self, condition: Expression | None, detail: str) -> None:
        """Make the call fail if a condition holds for one of the matrices."""
        if condition is None:
            return
        lowering = self.lowering
        count = View.of(lowering.array(_INT, ()), lowering.sizes)
        lowering.store(
            count,
            Conversion(condition, _INT),
            self.loops,
            reduction=self.loops,
            reducer="add",
            positions=(),
            nodes=(self.node,),
        )
        failure = RoundedFailure(self.node, "matrix", detail, np.linalg.LinAlgError)
        lowering.require_equal(lowering.element(count, ()), lowering.sizes.fixed(0), failure)

    def or_nan(self, condition: Expression | None, value: Expression) -> Expression:
        """Return a value, or NaN where a condition holds."""
        return value if condition is None else self.choose(condition, self.number(np.nan), value)

    # ---- what is computed

    def cholesky(self, a: View, target: View, *, is_nan: bool) -> None:
        """Write the lower factor."""
        n = self.n
        rows: list[list[Expression]] = []
        bad: list[Expression] = []
        for i in range(n):
            row: list[Expression] = []
            for j in range(i):
                pairs = list(zip(row, rows[j][:j], strict=True))
                value = self.less_products(self.load(a, i, j), pairs)
                row.append(self.keep(self.of(ps.true_div, value, rows[j][j])))
            pivot = self.keep(self.less_products(self.load(a, i, i), [(x, x) for x in row]))
            bad.append(self.test(ps.le, pivot, self.number(0)))
            rows.append([*row, self.keep(self.of(ps.sqrt, pivot))])
        fails = self.any(bad)
        for i in range(n):
            for j in range(n):
                value = rows[i][j] if j <= i else self.number(0)
                self.store(target, self.or_nan(fails, value) if is_nan else value, i, j)
        if not is_nan:
            self.fail_if(fails, "{0} matrices are not positive definite")

    def solve_triangular(
        self, a: View, b: View, target: View, *, lower: bool, unit: bool, is_nan: bool
    ) -> None:
        """Write the solution; the right sides have their columns before their rows."""
        n = self.n
        found: dict[int, Expression] = {}
        bad: list[Expression] = []
        for i in range(n) if lower else reversed(range(n)):
            pairs = [(self.load(a, i, j), found[j]) for j in found]
            value = self.less_products(self.load(b, i), pairs)
            if not unit:
                pivot = self.load(a, i, i)
                bad.append(self.test(ps.eq, pivot, self.number(0)))
                value = self.of(ps.true_div, value, pivot)
            found[i] = self.keep(value)
        fails = self.any(bad)
        for i in range(n):
            self.store(target, self.or_nan(fails, found[i]) if is_nan else found[i], i)
        if not is_nan:
            self.fail_if(fails, "there is a zero on the diagonal ({0} right sides)")

    def lu_factor(self, a: View, targets: Sequence[View]) -> None:
        """Write the factors, the exchanges and the permutation; rows are chosen as LAPACK does."""
        n = self.n
        rows = [[self.load(a, i, j) for j in range(n)] for i in range(n)]
        order: list[Expression] = [self.number(i, _INT) for i in range(n)]
        for k in range(n):
            best = self.keep(self.of(ps.abs, rows[k][k]))
            pivot: Expression = self.number(k, _INT)
            for i in range(k + 1, n):
                size = self.keep(self.of(ps.abs, rows[i][k]))
                is_larger = self.keep(self.test(ps.gt, size, best))
                best = self.keep(self.choose(is_larger, size, best))
                pivot = self.keep(self.choose(is_larger, self.number(i, _INT), pivot))
            self.store(targets[1], pivot, k)
            for i in range(k + 1, n):
                is_it = self.keep(self.test(ps.eq, pivot, self.number(i, _INT)))
                for j in range(n):
                    upper, under = rows[k][j], rows[i][j]
                    rows[k][j] = self.keep(self.choose(is_it, under, upper))
                    rows[i][j] = self.keep(self.choose(is_it, upper, under))
                ahead, behind = order[k], order[i]
                order[k] = self.keep(self.choose(is_it, behind, ahead))
                order[i] = self.keep(self.choose(is_it, ahead, behind))
            top = rows[k][k]
            is_zero = self.keep(self.test(ps.eq, top, self.number(0)))
            for i in range(k + 1, n):
                ratio = self.of(ps.true_div, rows[i][k], top)
                rows[i][k] = self.keep(self.choose(is_zero, rows[i][k], ratio))
                for j in range(k + 1, n):
                    less = [(rows[i][k], rows[k][j])]
                    rows[i][j] = self.keep(self.less_products(rows[i][j], less))
        for i in range(n):
            self.store(targets[2], order[i], i)
            for j in range(n):
                self.store(targets[0], rows[i][j], i, j)
