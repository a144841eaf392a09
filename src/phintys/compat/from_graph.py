"""OpFromGraph with the arguments of the old packages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys import control
from phintys._base.errors import ArgumentError
from phintys.tensor import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.graph.variable import Variable

__all__ = ["OpFromGraph", "SymbolicOp"]

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


class SymbolicOp(OpFromGraph):
    """Base of Ops that build their graph from the types of their inputs.

    A class that is derived from it defines ``build_inner_graph(*inputs)``, which returns a list of
    variables, and ``__props__``, which are arguments of the constructor by name.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.from_graph import SymbolicOp
    >>> class Scaled(SymbolicOp):
    ...     __props__ = ("factor",)
    ...
    ...     def build_inner_graph(self, x):
    ...         return [x * self.factor]
    >>> x = pt.dvector("x")
    >>> Scaled(factor=3)(x).eval({x: [1.0, 2.0]})
    array([3., 6.])
    """

    inline: Any = False
    _listed: tuple[str, ...] = ()  # the arguments of the constructor

    def __init__(self, input_types: Sequence[Any] | None = None, **kwargs: Any) -> None:
        own = {name: kwargs.pop(name) for name in self._listed if name in kwargs}
        vars(self).update(own)
        self._arguments = own | kwargs
        if input_types is None:
            return
        inputs = [type_() for type_ in input_types]
        kwargs = {"inline": type(self).inline, "strict": True, **kwargs}
        super().__init__(inputs, self.build_inner_graph(*inputs), **kwargs)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Compare Ops by their graphs too, beside what the class compares by itself."""
        if "__props__" in vars(cls):
            cls._listed = tuple(vars(cls)["__props__"])
            cls.__props__ = (*cls._listed, *control.OpFromGraph.__props__)
        super().__init_subclass__(**kwargs)

    def build_inner_graph(self, *inputs: Any) -> list[Variable]:
        """Return the outputs; to be defined."""
        msg = f"{type(self).__name__} must define build_inner_graph(*inputs)."
        raise NotImplementedError(msg)

    @staticmethod
    def filter_inputs(*inputs: Any) -> Sequence[Any]:
        """Return the inputs as variables."""
        return [as_tensor_variable(one) for one in inputs]

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        """Apply to inputs, with a graph for their types."""
        given = list(self.filter_inputs(*inputs))
        types = [one.type for one in given]
        if "fgraph" in vars(self) and types == [one.type for one in self.fgraph.inputs]:
            return super().__call__(*given, **kwargs)
        op = type(self)(input_types=types, **self._arguments)
        return super(SymbolicOp, op).__call__(*given, **kwargs)
