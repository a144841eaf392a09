"""OpFromGraph with the arguments of the old packages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys import control
from phintys._base.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.graph.variable import Variable

__all__ = ["OpFromGraph"]

_FUNCTION_OPTIONS = frozenset(
    {"accept_inplace", "allow_input_downcast", "mode", "on_unused_input", "profile"}
)
"""Options for the function that the old packages compile for each Op; here there is none."""


class OpFromGraph(control.OpFromGraph):
    """:class:`phintys.control.OpFromGraph` that takes the old arguments.

    ``inline=False``, the old default, leaves the decision to the compiler: the results are the
    same. ``pullback`` and ``pushforward`` are newer names of the overrides.
    """

    def __init__(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        inline: bool = False,
        lop_overrides: Any = None,
        grad_overrides: Any = None,
        rop_overrides: Any = None,
        connection_pattern: Sequence[Sequence[bool]] | None = None,
        strict: bool = False,
        name: str | None = None,
        destroy_map: Mapping[int, Sequence[int]] | None = None,
        pullback: Any = None,
        pushforward: Any = None,
        **kwargs: Any,
    ) -> None:
        unknown = sorted(kwargs.keys() - _FUNCTION_OPTIONS)
        if unknown:
            msg = (
                f"OpFromGraph does not take {', '.join(unknown)}: its graph is part of the "
                "function that it is used in. Give updates and givens to that function."
            )
            raise ArgumentError(msg)
        super().__init__(
            inputs,
            outputs,
            inline or None,
            _override(lop_overrides, pullback, "pullback"),
            _override(grad_overrides),
            _override(rop_overrides, pushforward, "pushforward"),
            connection_pattern,
            strict,
            name,
            destroy_map,
        )


def _override(given: Any, newer: Any = None, name: str = "") -> Any:
    given = None if isinstance(given, str) and given == "default" else given
    if given is not None and newer is not None:
        msg = f"OpFromGraph got {name} and the older argument of the same meaning. Give one."
        raise ArgumentError(msg)
    return given if newer is None else newer
