"""The options of DebugMode."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from phintys._base.errors import ConfigError
from phintys.compile.debugging.running import OFFERS


@dataclass(frozen=True)
class DebugOptions:
    """The options of :class:`~phintys.compile.DebugMode`, which documents them."""

    stability_patience: int = 1
    check_py: bool = True
    check_native: bool = True
    check_isfinite: bool = False
    check_preallocated_output: tuple[str, ...] = OFFERS
    check_strides: bool = True
    check_infer_shape: bool = True
    check_rewrites: bool = True
    require_matching_strides: bool = False


def offers(kinds: str | Iterable[str] | bool) -> tuple[str, ...]:
    """Return the kinds of memory that ``check_preallocated_output`` selects.

    Parameters
    ----------
    kinds
        Names, as a list or a str separated by colons; ``"ALL"`` or ``True`` for all, ``""`` or
        ``False`` for none.

    Raises
    ------
    ConfigError
        A kind is unknown.

    Examples
    --------
    >>> offers("previous:strided"), offers("")
    (('previous', 'strided'), ())
    """
    if isinstance(kinds, bool):
        return OFFERS if kinds else ()
    names = kinds.split(":") if isinstance(kinds, str) else list(kinds)
    names = [name for name in names if name not in {"", "initial"}]  # empty cells are always tried
    if "ALL" in names:
        return OFFERS
    for name in names:
        if cast(str, name) not in OFFERS:
            msg = (
                f"check_preallocated_output: there is no kind of memory {name!r}; there are "
                f"{', '.join(OFFERS)}, and ALL."
            )
            raise ConfigError(msg)
    return tuple(names)
