"""Einstein's notation, as NumPy writes it: ``"ij,jk->ik"``, or lists of axis numbers.

An axis is named by a label: a letter, or ``"...n"`` for the n-th last axis that an ellipsis stands
for.
"""

from __future__ import annotations

from collections import Counter
from string import ascii_letters
from typing import TYPE_CHECKING, Any, NamedTuple

from phintys._base.errors import ArgumentError, ShapeError
from phintys.tensor.convert import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

_ELLIPSIS = "..."
_EXAMPLE = 'Write the axes of each operand and of the result, as in "ij,jk->ik"'

Labels = tuple[str, ...]


class Notation(NamedTuple):
    """Operands, and labels of their axes and of those of the result."""

    operands: list[Any]
    terms: list[Labels]
    output: Labels
    text: str
    """The notation as it was written, or would be, for error messages."""


def parse(given: Sequence[Any]) -> Notation:
    """Return the arguments of einsum in one form.

    Parameters
    ----------
    given
        A string and operands; or operands with lists of axis numbers, and maybe one for the result.

    Raises
    ------
    ArgumentError
        The notation is wrong, or is not for as many operands.
    ShapeError
        The rank of an operand is not that of its term.
    """
    if not given:
        msg = f"einsum takes a notation and operands, got nothing. {_EXAMPLE}."
        raise ArgumentError(msg)
    if isinstance(given[0], str):
        operands: list[Any] = list(given[1:])
        terms, output = _split(given[0])
        text = given[0].replace(" ", "")
    else:
        operands, terms, output = _interleaved(given)
        text = ",".join(map("".join, terms))
        text += "" if output is None else "->" + "".join(output)
    if len(operands) != len(terms):
        msg = (
            f'einsum: "{text}" is for {len(terms)} operands, got {len(operands)}. A comma '
            "separates the terms."
        )
        raise ArgumentError(msg)
    operands = [as_tensor_variable(x) for x in operands]
    expanded = [_expanded(x, term, text) for x, term in zip(operands, terms, strict=True)]
    return Notation(operands, expanded, _output(expanded, output, text), text)


def _split(text: str) -> tuple[list[list[str]], list[str] | None]:
    """Return the terms of a string, and the output if it is given."""
    given, arrow, made = text.replace(" ", "").partition("->")
    terms = [_labels(term, text) for term in given.split(",")]
    return terms, _labels(made, text) if arrow else None


def _labels(term: str, text: str) -> list[str]:
    before, ellipsis, after = term.partition(_ELLIPSIS)
    for label in before + after:
        if label not in ascii_letters:
            msg = (
                f'einsum: {label!r} in "{text}" is neither a letter nor part of an ellipsis "...", '
                f'of which a term has at most one. {_EXAMPLE}, or "...ij,...jk->...ik".'
            )
            raise ArgumentError(msg)
    return [*before, *[ellipsis] * bool(ellipsis), *after]


def _interleaved(given: Sequence[Any]) -> tuple[list[Any], list[list[str]], list[str] | None]:
    """Return operands and labels of ``x, [0, 1], y, [1, 2], [0, 2]``."""
    pairs = len(given) // 2
    operands = [given[2 * at] for at in range(pairs)]
    terms = [_numbered(given[2 * at + 1]) for at in range(pairs)]
    return operands, terms, _numbered(given[-1]) if len(given) % 2 else None


def _numbered(axes: Any) -> list[str]:
    found: list[str] = []
    for axis in axes if isinstance(axes, list | tuple) else [axes]:
        if axis is Ellipsis and _ELLIPSIS not in found:
            found.append(_ELLIPSIS)
            continue
        is_number = hasattr(axis, "__index__") and not isinstance(axis, bool)
        if not is_number or not 0 <= axis.__index__() < len(ascii_letters):
            msg = (
                "einsum without a string takes operands and lists of axis numbers in turn: "
                f"einsum(x, [0, 1], y, [1, 2], [0, 2]). A number is from 0 to 51, and a list may "
                f"have one Ellipsis; got {axes!r}."
            )
            raise ArgumentError(msg)
        found.append(ascii_letters[axis.__index__()])
    return found


def _expanded(x: Any, term: list[str], text: str) -> Labels:
    """Return a term with labels for the axes that its ellipsis stands for."""
    named = len(term) - (_ELLIPSIS in term)
    if named > x.ndim or (named < x.ndim and _ELLIPSIS not in term):
        msg = (
            f'einsum: the term "{"".join(term)}" of "{text}" is for '
            f"{named} axes{' or more' * (_ELLIPSIS in term)}, but {x} is of type {x.type}."
        )
        raise ShapeError(msg)
    if _ELLIPSIS not in term:
        return tuple(term)
    at = term.index(_ELLIPSIS)
    return (*term[:at], *_of_ellipsis(x.ndim - named), *term[at + 1 :])


def _of_ellipsis(count: int) -> Labels:
    return tuple(f"{_ELLIPSIS}{number}" for number in range(count, 0, -1))


def _output(terms: Sequence[Labels], output: list[str] | None, text: str) -> Labels:
    """Return the labels of the result; if not given, those that occur once, in order."""
    counts = Counter(label for term in terms for label in term)
    hidden = _of_ellipsis(sum(label.startswith(_ELLIPSIS) for label in counts))
    if output is None:
        once = sorted(label for label, count in counts.items() if count == 1)
        return (*hidden, *(label for label in once if len(label) == 1))
    if hidden and _ELLIPSIS not in output:
        msg = (
            f'einsum: the operands of "{text}" have axes that an ellipsis stands for, and the '
            f'result must have them, too: "...{"".join(output)}".'
        )
        raise ArgumentError(msg)
    for label, count in Counter(output).items():
        if count > 1:
            msg = f'einsum: {label!r} is twice in the result of "{text}"; a diagonal is read only.'
            raise ArgumentError(msg)
        if label != _ELLIPSIS and label not in counts:
            msg = (
                f'einsum: {label!r} is in the result of "{text}", but in no term before it. An '
                "axis of the result is an axis of an operand."
            )
            raise ArgumentError(msg)
    if _ELLIPSIS not in output:
        return tuple(output)
    at = output.index(_ELLIPSIS)
    return (*output[:at], *hidden, *output[at + 1 :])
