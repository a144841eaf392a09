"""Core signatures, as NumPy writes them: ``"(m,n),(n)->(m)"``."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from phintys._base.errors import ArgumentError
from phintys._base.records import record

_NAME = r"(?:[A-Za-z_]\w*|\d+)"
_GROUP = rf"\((?:{_NAME}(?:,{_NAME})*)?\)"
_GROUPS = rf"{_GROUP}(?:,{_GROUP})*"
_WHOLE = re.compile(rf"({_GROUPS})?->({_GROUPS})")


@record(frozen=True)
class Signature:
    """The core axes of inputs and outputs: names, or sizes.

    Attributes
    ----------
    inputs, outputs
        For each input and output, its axes.
    """

    inputs: tuple[tuple[str | int, ...], ...]
    outputs: tuple[tuple[str | int, ...], ...]


@lru_cache(maxsize=256)
def _parsed(text: str) -> Signature | None:
    found = _WHOLE.fullmatch(re.sub(r"\s+", "", text))
    if found is None:
        return None
    sides = [
        tuple(
            tuple(int(name) if name.isdigit() else name for name in group.split(",") if name)
            for group in re.findall(r"\(([^)]*)\)", side or "")
        )
        for side in found.groups()
    ]
    return Signature(*sides)


def parse_signature(text: Any, what: str = "The signature") -> Signature:
    """Return a signature, or raise :class:`ArgumentError` for a text that is not one.

    Examples
    --------
    >>> from phintys.tensor.batching.signatures import parse_signature
    >>> parse_signature("(m,n),(n)->(m)").inputs
    (('m', 'n'), ('n',))
    """
    found = _parsed(text) if isinstance(text, str) else None
    if found is None:
        msg = (
            f"{what} must be a string such as '(m,n),(n)->(m)': for each input and output the "
            f"names (or sizes) of its core axes, in parentheses; got {text!r}. An argument that "
            "is a single number per item is ()."
        )
        raise ArgumentError(msg)
    return found
