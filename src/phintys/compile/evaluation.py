"""The implementation of ``Variable.eval`` and of the compiler hook for lower layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from phintys._base.config import config
from phintys._base.errors import ArgumentError, MissingInputError, UnusedInputError, add_note
from phintys.backends.base import get_backend
from phintys.backends.inner import keeping_constants
from phintys.compile.build import function
from phintys.compile.ownership import protected
from phintys.graph.compiler import set_compiler
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.traversal import graph_inputs
from phintys.graph.variable import Constant, Variable, set_evaluator

if TYPE_CHECKING:
    from phintys.compile.executor import Function
    from phintys.graph.fgraph import FunctionGraph

_MOST_KEPT = 16


class _Compiled:
    """A cache of the functions compiled for a variable, newest last.

    It is stored on the variable, and therefore freed with it. It is not pickled or copied.
    """

    def __init__(self) -> None:
        self.functions: dict[Any, Function] = {}

    def add(self, key: Any, compiled: Function) -> None:
        """Add a function, evicting the oldest one if there are too many."""
        functions = dict(self.functions)
        functions[key] = compiled
        while len(functions) > _MOST_KEPT:
            del functions[next(iter(functions))]
        # Replaced as a whole, as another thread may be reading; concurrent additions can be lost.
        self.functions = functions

    def __reduce__(self) -> tuple[Any, ...]:
        return (_Compiled, ())


def evaluate(variable: Variable, inputs_to_values: Mapping[Any, Any], **options: Any) -> Any:
    """Compute a variable's value; see :meth:`Variable.eval <phintys.graph.Variable.eval>`."""
    if not isinstance(inputs_to_values, Mapping):
        msg = (
            f"eval takes a dict from variables (or names) to values, got {inputs_to_values!r}. "
            "Write eval({x: value})."
        )
        raise ArgumentError(msg)
    given = dict(inputs_to_values)
    if any(isinstance(key, str) for key in given):
        given = _by_variable(variable, given)
    inputs = tuple(sorted(given, key=id))
    try:
        key: Any = (inputs, config.mode, config.floatX, tuple(sorted(options.items())))
        hash(key)
    except TypeError:
        key = None  # an option such as givens={...}: compiled again at each call
    kept: _Compiled | None = variable.__dict__.get("_compiled")
    compiled = None if kept is None or key is None else kept.functions.get(key)
    if compiled is None:
        compiled = _compile(variable, inputs, options)
        if key is not None:
            variable.__dict__.setdefault("_compiled", _Compiled()).add(key, compiled)
    return compiled(*(given[one] for one in inputs))


def _compile(variable: Variable, inputs: Sequence[Variable], options: dict[str, Any]) -> Function:
    try:
        return function(list(inputs), variable, **options)
    except MissingInputError as error:
        add_note(
            error,
            f"eval needs a value for each input of the graph: {variable}.eval({{input: value}}).",
        )
        raise
    except UnusedInputError as error:
        add_note(
            error,
            "eval takes values of inputs of the graph, and no others. To allow them, write "
            f"{variable}.eval({{...}}, on_unused_input='ignore').",
        )
        raise


def _by_variable(variable: Variable, given: Mapping[Any, Any]) -> dict[Variable, Any]:
    """Return the values keyed by variable, resolving names."""
    leaves = [
        leaf for leaf in graph_inputs([variable]) if not isinstance(leaf, Constant | SharedVariable)
    ]
    found: dict[Variable, Any] = {}
    for key, value in given.items():
        if isinstance(key, str):
            named = [leaf for leaf in leaves if leaf.name == key]
            if len(named) != 1:
                problem = "several inputs" if named else "no input"
                names = ", ".join(str(leaf) for leaf in leaves) or "none"
                msg = f"eval: the graph has {problem} named {key!r}; its inputs are {names}."
                raise ArgumentError(msg)
            key = named[0]
        if key in found:
            msg = f"eval: {key} is given twice, by name and by variable."
            raise ArgumentError(msg)
        found[key] = value
    return found


def compile_for_values(
    inputs: Sequence[Variable], outputs: Sequence[Variable], **options: Any
) -> Callable[..., list[Any]]:
    """Return a function from values of ``inputs`` to a list; the compiler hook of lower layers."""
    return function(list(inputs), list(outputs), **options)


def link_for_values(
    fgraph: FunctionGraph, mutable: Sequence[Variable] = ()
) -> Callable[[Sequence[Any]], list[Any]]:
    """Return a program of the reference backend; the linker hook of lower layers."""
    fgraph = protected(fgraph, mutable)
    return keeping_constants(get_backend("reference").link(fgraph), fgraph)


set_evaluator(evaluate)
set_compiler(compile_for_values, link_for_values)
