"""``ifelse`` with the arguments of the old packages."""

from __future__ import annotations

from typing import Any

from phintys import control

__all__ = ["ifelse"]


def ifelse(condition: Any, then_branch: Any, else_branch: Any, name: str | None = None) -> Any:
    """Return :func:`phintys.ifelse` of the branches; one of them may be a list of one variable."""
    if isinstance(then_branch, list | tuple) and not isinstance(else_branch, list | tuple):
        else_branch = [else_branch]
    elif isinstance(else_branch, list | tuple) and not isinstance(then_branch, list | tuple):
        (found,) = control.ifelse(condition, [then_branch], else_branch, name)
        return found
    return control.ifelse(condition, then_branch, else_branch, name)
