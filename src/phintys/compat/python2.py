"""The slash of Python 2: the quotient of integers is rounded down.

A script in Python 2 computes numbers of batches as ``n / batch_size``. What is known of it is its
text, so that each ``/`` becomes a call that looks at the operands: numbers, arrays or variables.
"""

from __future__ import annotations

import ast
import operator
import re
from typing import Any

import numpy as np

__all__ = ["NAMES", "divided", "divided_in_place", "with_old_divisions"]

_FUTURE = re.compile(r"^from\s+__future__\s+import\s[^\n]*\bdivision\b", re.MULTILINE)

_DIVIDED, _IN_PLACE = "_phintys_divided", "_phintys_divided_in_place"
_OWNER, _INDEX = "_phintys_owner", "_phintys_index"


def divided(a: Any, b: Any) -> Any:
    """Return ``a / b`` as Python 2 does.

    Examples
    --------
    >>> from phintys.compat.python2 import divided
    >>> divided(7, 2), divided(7, 2.0), divided(-7, 2)
    (3, 3.5, -4)
    """
    return a // b if _is_integral(a) and _is_integral(b) else a / b


def divided_in_place(a: Any, b: Any) -> Any:
    """Return the value of ``a`` after ``a /= b``."""
    whole = _is_integral(a) and _is_integral(b)
    return (operator.ifloordiv if whole else operator.itruediv)(a, b)


NAMES = {_DIVIDED: divided, _IN_PLACE: divided_in_place}
"""What the code of a script with old divisions needs among its globals."""


def _is_integral(x: Any) -> bool:
    """Return whether a number, an array or a variable is of integers."""
    if isinstance(x, int):
        return True
    try:
        return np.dtype(x.dtype).kind in "biu"
    except (AttributeError, TypeError):
        return False


def with_old_divisions(translated: str, source: str, filename: str) -> ast.Module:
    """Return the code of a script that was translated, in which divisions are Python 2's.

    Parameters
    ----------
    translated, source
        The script after and before its translation: ``from __future__ import division`` in it
        asks for those of Python 3.
    filename
        For errors.
    """
    tree = ast.parse(translated, filename)
    if _FUTURE.search(source) is None:
        tree = ast.fix_missing_locations(_Divisions().visit(tree))
    return tree


class _Divisions(ast.NodeTransformer):
    """Replaces ``/`` and ``/=``."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """``a / b`` -> ``divided(a, b)``"""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div):
            return node
        return ast.copy_location(_call(_DIVIDED, node.left, node.right), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """``a /= b`` -> ``a = divided_in_place(a, b)``, with the parts of ``a`` evaluated once"""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div):
            return node
        read, written = _read_and_written(node.target)
        new = ast.Assign([written], _call(_IN_PLACE, read, node.value))
        return ast.copy_location(new, node)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _read_and_written(
    target: ast.Name | ast.Attribute | ast.Subscript,
) -> tuple[ast.expr, ast.expr]:
    """Return expressions that read a target, and then write to it."""
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load()), target
    owner = ast.NamedExpr(ast.Name(_OWNER, ast.Store()), target.value)
    again = ast.Name(_OWNER, ast.Load())
    if isinstance(target, ast.Attribute):
        read = ast.Attribute(owner, target.attr, ast.Load())
        return read, ast.Attribute(again, target.attr, ast.Store())
    index, same = target.slice, target.slice
    if not any(isinstance(part, ast.Slice) for part in ast.walk(index)):
        index = ast.NamedExpr(ast.Name(_INDEX, ast.Store()), index)
        same = ast.Name(_INDEX, ast.Load())
    return ast.Subscript(owner, index, ast.Load()), ast.Subscript(again, same, ast.Store())
