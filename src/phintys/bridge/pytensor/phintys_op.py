"""``to_pytensor``: graphs of Phintys as Ops of PyTensor."""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from pytensor.gradient import DisconnectedType as TheirDisconnected
from pytensor.gradient import disconnected_type as their_disconnected_type
from pytensor.gradient import grad_undefined as their_grad_undefined
from pytensor.graph.basic import Apply as TheirApply
from pytensor.graph.basic import Variable as TheirVariable
from pytensor.graph.op import Op as TheirOp
from pytensor.sparse.basic import as_sparse_or_tensor_variable
from pytensor.sparse.type import SparseTensorType
from pytensor.tensor.basic import as_tensor_variable as as_their_tensor

from phintys._base.caches import kept_property
from phintys._base.errors import ArgumentError
from phintys.bridge.pytensor.conversion import convert_op
from phintys.bridge.pytensor.types import convert_type, their_type, value_for
from phintys.compile import Function, function
from phintys.gradient.arithmetic import is_discrete
from phintys.gradient.forward import push_forward
from phintys.gradient.paths import connections
from phintys.gradient.pullback import pull_back
from phintys.graph.cloning import clone_replace
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.null_type import NullType
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.traversal import explicit_graph_inputs
from phintys.graph.variable import Variable
from phintys.sparse.type import SparseType
from phintys.tensor.type import TensorType


class PhintysOp(TheirOp):
    """An Op of PyTensor that computes a graph of Phintys; made by :func:`to_pytensor`.

    PyTensor's linkers call the graph's compiled function; with the mode ``"PHINTYS"`` the graph
    becomes part of the whole. Derivatives are those of the graph, and are such Ops too.

    Parameters
    ----------
    inputs, outputs
        Variables of Phintys. The outputs depend on the inputs, constants and shared variables.
    name
        How the Op is printed.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.bridge.pytensor import PhintysOp
    >>> x = pt.dvector("x")
    >>> PhintysOp([x], [2 * x], "doubled")([1.0, 2.0]).eval(mode="FAST_COMPILE")
    array([2., 4.])
    """

    def __init__(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], name: str = "graph"
    ) -> None:
        self.inputs, self.outputs, self.name = list(inputs), list(outputs), name
        self._pullbacks: dict[tuple[int, ...], _Derivative] = {}
        self._pushforwards: dict[tuple[int, ...], _Derivative] = {}

    def __str__(self) -> str:
        return f"Phintys:{self.name}"

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "compiled"}

    @kept_property
    def compiled(self) -> Function:
        """The compiled graph; of its inputs."""
        return function(self.inputs, self.outputs, on_unused_input="ignore", name=self.name)

    def make_node(self, *inputs: Any) -> TheirApply:
        if len(inputs) != len(self.inputs):
            msg = f"{self} has {len(self.inputs)} inputs, got {len(inputs)}."
            raise ArgumentError(msg)
        given = [
            _filtered(their_type(ours.type), one)
            for ours, one in zip(self.inputs, inputs, strict=True)
        ]
        return TheirApply(self, given, [their_type(one.type)() for one in self.outputs])

    def perform(
        self, node: TheirApply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        values: Any = self.compiled(*inputs)
        for value, output, cell in zip(values, node.outputs, output_storage, strict=True):
            cell[0] = value_for(output.type, value)

    @kept_property
    def _pattern(self) -> list[list[bool]]:
        shared = [one for one in explicit_graph_inputs(self.outputs) if one not in self.inputs]
        graph = FunctionGraph([*self.inputs, *shared], self.outputs, clone=True)
        smooth = [_has_derivative(one) for one in self.outputs]
        return [
            [_has_derivative(one) and both for both in map(operator.and_, row, smooth)]
            for one, row in zip(self.inputs, connections(graph), strict=False)
        ]

    def connection_pattern(self, node: TheirApply) -> list[list[bool]]:
        """Return ``[input][output] -> bool``, which inputs change which outputs smoothly."""
        return self._pattern

    # ---- derivatives

    def pullback(
        self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]
    ) -> list[Any]:
        """Return the gradients of the graph with respect to its inputs."""
        known = _connected(self.outputs, cotangents)
        if known not in self._pullbacks:
            self._pullbacks[known] = self._make_pullback(known)
        given = [*inputs, *(cotangents[at] for at in known)]
        return self._pullbacks[known].applied(given, inputs)

    def _make_pullback(self, known: Sequence[int]) -> _Derivative:
        seeds = [(self.outputs[at], self.outputs[at].type()) for at in known]
        targets = [one for one in self.inputs if _has_derivative(one)]
        gradients = pull_back(seeds, targets)
        found = [gradients.value(one) if one in targets else None for one in self.inputs]
        further = [direction for _, direction in seeds]
        return _Derivative(self, "pullback", [*self.inputs, *further], found)

    def pushforward(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """Return how the outputs change if the inputs do."""
        known = _connected(self.inputs, tangents)
        if known not in self._pushforwards:
            self._pushforwards[known] = self._make_pushforward(known)
        given = [*inputs, *(tangents[at] for at in known)]
        return self._pushforwards[known].applied(given, outputs)

    def _make_pushforward(self, known: Sequence[int]) -> _Derivative:
        seeds = [(self.inputs[at], self.inputs[at].type()) for at in known]
        found = push_forward(self.outputs, seeds)
        further = [direction for _, direction in seeds]
        return _Derivative(self, "pushforward", [*self.inputs, *further], found)


class _Derivative:
    """Derivatives of a :class:`PhintysOp`: those that exist are computed by another one.

    Parameters
    ----------
    op
        What is differentiated.
    kind
        How, for the name.
    inputs
        The inputs of the other Op.
    found
        The derivatives; ``None`` where there is no connection.
    """

    def __init__(
        self,
        op: PhintysOp,
        kind: str,
        inputs: Sequence[Variable],
        found: Sequence[Variable | None],
    ) -> None:
        self.of = op
        self.found = found
        computed = [one for one in found if one is not None and not _is_null(one)]
        self.op = PhintysOp(inputs, computed, f"{kind} of {op.name}") if computed else None

    def applied(self, given: Sequence[Any], like: Sequence[Any]) -> list[Any]:
        """Return the derivatives, as variables of PyTensor.

        Parameters
        ----------
        given
            The inputs of the other Op.
        like
            The variables of which these are the gradients or tangents.
        """
        results = iter([] if self.op is None else self.op(*given, return_list=True))
        return [self._value(at, one, like[at], results) for at, one in enumerate(self.found)]

    def _value(self, at: int, found: Any, like: Any, results: Any) -> Any:
        if found is None:
            return their_disconnected_type()
        if _is_null(found):
            return their_grad_undefined(self.of, at, like, found.type.why_null)
        return next(results)


def _connected(variables: Sequence[Variable], directions: Sequence[Any]) -> tuple[int, ...]:
    """Return the places of the variables that can change, and have a direction."""
    pairs = enumerate(zip(variables, directions, strict=True))
    return tuple(
        at
        for at, (one, direction) in pairs
        if _has_derivative(one) and not isinstance(direction.type, TheirDisconnected)
    )


def _has_derivative(variable: Variable) -> bool:
    return isinstance(variable.type, TensorType | SparseType) and not is_discrete(variable.type)


def _is_null(variable: Variable) -> bool:
    return isinstance(variable.type, NullType)


def _filtered(type_: Any, given: Any) -> Any:
    """Return a variable of PyTensor of a type; numbers and arrays become constants of it."""
    if isinstance(type_, SparseTensorType):
        given = as_sparse_or_tensor_variable(given)
    elif not isinstance(given, TheirVariable) and hasattr(type_, "dtype"):
        given = as_their_tensor(given, dtype=type_.dtype)
    return type_.filter_variable(given)


@convert_op.register(PhintysOp)
def _inlined(op: Any, node: TheirApply, *inputs: Any) -> list[Any]:
    return clone_replace(op.outputs, dict(zip(op.inputs, inputs, strict=True)))


def to_pytensor(f: Any, outputs: Any = None, *, name: str | None = None) -> Any:
    """Return a function or graph of Phintys for use in PyTensor's graphs, such as PyMC's models.

    PyTensor's gradients flow through it. With the mode ``"PHINTYS"``, and in
    :mod:`phintys.bridge.pymc`, the graph is compiled as a part of the whole; PyTensor's other modes
    call it.

    Parameters
    ----------
    f
        A function that makes variables of Phintys from such variables; or a compiled function,
        whose graph is taken; or a list of the inputs of a graph, with ``outputs``.
    outputs
        The outputs of a graph: a variable, or a list of them.
    name
        How the Op is printed; the name of the function by default.

    Returns
    -------
    callable
        It takes and returns variables of PyTensor, a list if there are several outputs. For graphs
        and compiled functions it is a :class:`PhintysOp`.

    Raises
    ------
    ArgumentError
        It is none of these, the graph has inputs that are not listed, or the compiled function has
        updates.

    Examples
    --------
    >>> import pytensor, pytensor.tensor as theirs
    >>> import phintys.tensor as pt
    >>> from phintys.bridge.pytensor import to_pytensor
    >>> @to_pytensor
    ... def energy(x, scale):
    ...     return pt.sum(pt.exp(scale * x))
    >>> x = theirs.dvector("x")
    >>> gradient = pytensor.grad(energy(x, 2.0), x)
    >>> gradient.eval({x: [0.0]}, mode="PHINTYS")
    array([2.])
    """
    if outputs is not None:
        return _of_graph(f, outputs, name)
    if isinstance(f, Function):
        return _of_compiled(f, name)
    if callable(f):
        return _Traced(f, name or getattr(f, "__name__", type(f).__name__))
    msg = (
        "to_pytensor takes a function of Phintys's variables, a compiled function, or a list of "
        f"inputs with outputs, got {f!r} of type {type(f).__name__}."
    )
    raise ArgumentError(msg)


def _of_graph(inputs: Any, outputs: Any, name: str | None) -> PhintysOp:
    given = _variables(inputs, "inputs")
    found = _variables(outputs, "outputs")
    missing = [
        one
        for one in explicit_graph_inputs(found)
        if one not in given and not isinstance(one, SharedVariable)
    ]
    if missing:
        msg = f"to_pytensor: the outputs depend on {missing}, which the inputs {given} lack."
        raise ArgumentError(msg)
    return PhintysOp(given, found, name or "graph")


def _of_compiled(f: Function, name: str | None) -> PhintysOp:
    if f.maker.updated:
        msg = (
            f"to_pytensor: {f} has updates, and an Op has none. Return the new values as outputs, "
            "and give them to PyTensor's function as updates."
        )
        raise ArgumentError(msg)
    inputs = [one.variable for one in f.maker.inputs if not one.implicit]
    return _of_graph(inputs, [one.variable for one in f.maker.outputs], name or f.name)


def _variables(given: Any, what: str) -> list[Variable]:
    found = list(given) if isinstance(given, list | tuple) else [given]
    for one in found:
        if not isinstance(one, Variable):
            msg = (
                f"to_pytensor: the {what} of a graph are variables of Phintys, got {one!r} of type "
                f"{type(one).__name__}."
            )
            raise ArgumentError(msg)
    return found


class _Traced:
    """A function of Phintys's variables that takes PyTensor's; with an Op for the types of each."""

    def __init__(self, f: Callable[..., Any], name: str) -> None:
        self._f = f
        self._ops: dict[tuple[Any, ...], PhintysOp] = {}
        self.__name__ = name
        self.__doc__ = f.__doc__
        self.__wrapped__ = f

    def __call__(self, *inputs: Any) -> Any:
        given = [as_sparse_or_tensor_variable(one) for one in inputs]
        types = tuple(one.type for one in given)
        if types not in self._ops:
            ours = [convert_type(one.type)(one.name) for one in given]
            self._ops[types] = _of_graph(ours, self._f(*ours), self.__name__)
        return self._ops[types](*given)

    def __repr__(self) -> str:
        return f"<{self.__name__}, for PyTensor>"
