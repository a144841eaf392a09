"""The slash of Python 2, which rounds the quotient of integers down, and floats as indices.

A script in Python 2 computes numbers of batches as ``n / batch_size``, and NumPy took floats as
indices of arrays. What is known of the script is its text, so that each ``/`` and each index become
calls that look at the operands: numbers, arrays or variables.
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from typing import Any

import numpy as np

__all__ = ["NAMES", "divided", "divided_in_place", "item", "with_old_numbers"]

_FUTURE = re.compile(r"^from\s+__future__\s+import\s[^\n]*\bdivision\b", re.MULTILINE)

_DIVIDED, _IN_PLACE = "_phintys_divided", "_phintys_divided_in_place"
_ITEM, _WHOLE = "_phintys_item", "_phintys_whole"
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


def item(owner: Any, index: Any) -> Any:
    """Return ``owner[index]``; an array takes floats as indices, with a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.compat.python2 import item
    >>> item({0.5: "half"}, 0.5), int(item(np.arange(3), 1))
    ('half', 1)
    """
    return owner[whole_index(owner, index, 3)]


def whole_index(owner: Any, index: Any, stacklevel: int = 2) -> Any:
    """Return the index of an array with its floats rounded towards 0; other indices as they are."""
    if type(index) is int or not isinstance(owner, np.ndarray):
        return index
    entries = index if isinstance(index, tuple) else (index,)
    found = tuple(map(_whole, entries))
    if all(new is old for new, old in zip(found, entries, strict=True)):
        return index
    whole = found if isinstance(index, tuple) else found[0]
    msg = (
        f"NumPy no longer takes floats as indices: {index!r} is taken as {whole!r} here. Write "
        "int(index), or index // 2 for index / 2."
    )
    warnings.warn(msg, UserWarning, stacklevel=stacklevel)
    return whole


def _whole(entry: Any) -> Any:
    """Return a float as an integer, a slice with integers, and any other entry itself."""
    if isinstance(entry, float | np.floating):
        return int(entry)
    if isinstance(entry, slice):
        bounds = entry.start, entry.stop, entry.step
        if any(isinstance(bound, float | np.floating) for bound in bounds):
            return slice(*map(_whole, bounds))
    return entry


NAMES = {_DIVIDED: divided, _IN_PLACE: divided_in_place, _ITEM: item, _WHOLE: whole_index}
"""What the code of a script with old numbers needs among its globals."""


def _is_integral(x: Any) -> bool:
    """Return whether a number, an array or a variable is of integers."""
    if isinstance(x, int):
        return True
    try:
        return np.dtype(x.dtype).kind in "biu"
    except (AttributeError, TypeError):
        return False


def with_old_numbers(translated: str, source: str, filename: str) -> ast.Module:
    """Return the code of a script that was translated, with the divisions and indices of Python 2.

    Parameters
    ----------
    translated, source
        The script after and before its translation: ``from __future__ import division`` in it
        asks for those of Python 3.
    filename
        For errors.
    """
    tree = ast.parse(translated, filename)
    tree = _Indices().visit(tree)
    if _FUTURE.search(source) is None:
        tree = _Divisions().visit(tree)
    return ast.fix_missing_locations(tree)


class _Indices(ast.NodeTransformer):
    """Replaces ``a[i]``."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """``a[i]`` -> ``item(a, i)``; where it is assigned to, ``(o := a)[whole_index(o, i)]``"""
        self.generic_visit(node)
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int | str):
            return node
        index = _as_value(node.slice)
        if isinstance(node.ctx, ast.Load):
            return ast.copy_location(_call(_ITEM, node.value, index), node)
        owner = ast.NamedExpr(ast.Name(_OWNER, ast.Store()), node.value)
        whole = _call(_WHOLE, ast.Name(_OWNER, ast.Load()), index)
        return ast.copy_location(ast.Subscript(owner, whole, node.ctx), node)


def _as_value(index: ast.expr) -> ast.expr:
    """Return an index as an expression: slices in it become calls."""
    if isinstance(index, ast.Slice):
        bounds = (index.lower, index.upper, index.step)
        return _call("slice", *(ast.Constant(None) if one is None else one for one in bounds))
    if isinstance(index, ast.Tuple):
        return ast.Tuple([_as_value(entry) for entry in index.elts], ast.Load())
    return index


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
