"""Ops from functions and graphs, and derivatives of Ops, with the arguments of old packages."""

from __future__ import annotations

import sys
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from phintys import control
from phintys._base.errors import ArgumentError, OpContractError
from phintys.gradient.marks import GradientMark
from phintys.graph import DisconnectedType, Op, Type
from phintys.graph.null_type import disconnected_type
from phintys.tensor import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from phintys.graph import Apply
    from phintys.graph.variable import Variable

__all__ = ["METHODS", "FromFunctionOp", "OpFromGraph", "SymbolicOp", "ViewOp", "as_op", "view_op"]


def _pullback(
    self: Op, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]
) -> Any:
    """Return the gradients of inputs from those of outputs."""
    return self.L_op(inputs, outputs, cotangents)


def _pushforward(
    self: Op, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
) -> Any:
    """Return the tangents of outputs from those of inputs."""
    points = [None if isinstance(one.type, DisconnectedType) else one for one in tangents]
    return [disconnected_type() if one is None else one for one in self.R_op(inputs, points)]


def _R_op(self: Any, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
    """Return the tangents of outputs by the ``pushforward`` of a user's Op."""
    tangents = [disconnected_type() if one is None else one for one in eval_points]
    found = self.pushforward(inputs, self.make_node(*inputs).outputs, tangents)
    return [None if isinstance(one.type, DisconnectedType) else one for one in found]


_core_init_subclass: Any = vars(Op)["__init_subclass__"]


def _init_subclass(cls: type, **options: Any) -> None:
    """Give an Op that defines ``pullback`` or ``pushforward`` the methods of the same meaning."""
    own = vars(cls)
    for new, old, method in (
        ("pullback", "L_op", own.get("pullback")),
        ("pushforward", "R_op", _R_op),
    ):
        if new in own and old not in own:
            setattr(cls, old, method)
    _core_init_subclass.__func__(cls, **options)


METHODS: dict[str, Any] = {
    "__init_subclass__": classmethod(_init_subclass),
    "pullback": _pullback,
    "pushforward": _pushforward,
}
"""Methods of Ops while an old package is installed."""


class ViewOp(GradientMark):
    """Returns its input; subclasses define another ``grad``.

    Examples
    --------
    >>> import phintys
    >>> import phintys.tensor as pt
    >>> from phintys.compat.from_graph import ViewOp
    >>> class Reversed(ViewOp):
    ...     def grad(self, inputs, output_grads):
    ...         return [-output_grads[0]]
    >>> x = pt.dscalar("x")
    >>> phintys.grad(Reversed()(x) ** 2, x).eval({x: 3.0})
    array(-6.)
    """

    def grad(self, inputs: Sequence[Any], output_grads: Sequence[Any]) -> Sequence[Any]:
        """Return the gradient of the output."""
        return output_grads

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> Sequence[Any]:
        """Return the tangent of the input."""
        return eval_points


view_op = ViewOp()


class FromFunctionOp(Op):
    """An Op that calls a Python function; see :func:`as_op`."""

    __props__ = ("function", "itypes", "otypes")

    def __init__(
        self,
        fn: Callable[..., Any],
        itypes: Any,
        otypes: Any,
        infer_shape: Callable[..., Any] | None = None,
    ) -> None:
        self.function = fn
        self.itypes = _types(itypes, "itypes")
        self.otypes = _types(otypes, "otypes")
        if infer_shape is not None:
            self.infer_shape = infer_shape

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Call the function, which returns one result, or a tuple or list of results."""
        results = self.function(*inputs)
        if not isinstance(results, tuple | list):
            results = (results,)
        if len(results) != len(output_storage):
            msg = f"{self} returned {len(results)} results for {len(output_storage)} outputs."
            raise OpContractError(msg)
        for cell, result in zip(output_storage, results, strict=True):
            cell[0] = result

    def __reduce__(self) -> str | tuple[Any, ...]:
        # The name of a decorated function refers to the Op, so pickle cannot find the function.
        module, name = self.function.__module__, self.function.__qualname__
        found: Any = sys.modules.get(module)
        try:
            found = attrgetter(name)(found)
        except AttributeError:
            found = None
        if found is self:
            return _found, (module, name)
        infer_shape = vars(self).get("infer_shape")
        return FromFunctionOp, (self.function, self.itypes, self.otypes, infer_shape)

    def __str__(self) -> str:
        return f"FromFunctionOp{{{self.function.__name__}}}"


def _found(module: str, name: str) -> Any:
    """Return the attribute of a module with a name, which can have dots."""
    return attrgetter(name)(import_module(module))


def _types(given: Any, name: str) -> tuple[Type, ...]:
    types = tuple(given) if isinstance(given, list | tuple) else (given,)
    if not all(isinstance(type_, Type) for type_ in types):
        msg = f"as_op: {name} is a list of Types, as in [T.dmatrix]; got {given!r}."
        raise OpContractError(msg)
    return types


def as_op(
    itypes: Any, otypes: Any, infer_shape: Callable[..., Any] | None = None
) -> Callable[[Callable[..., Any]], FromFunctionOp]:
    """Turn a Python function on arrays into an Op without a gradient; a decorator.

    Parameters
    ----------
    itypes, otypes
        The Types of the inputs and outputs.
    infer_shape
        ``infer_shape(fgraph, node, input_shapes)`` or ``infer_shape(node, input_shapes)``.
    """

    def decorate(function: Callable[..., Any]) -> FromFunctionOp:
        return FromFunctionOp(function, itypes, otypes, infer_shape)

    return decorate


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
