"""``from_pytensor``: a graph of PyTensor as a graph of Phintys."""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np
from pytensor.compile.sharedvalue import SharedVariable as TheirShared
from pytensor.graph.basic import Constant as TheirConstant
from pytensor.graph.basic import Variable as TheirVariable
from pytensor.graph.op import Op as TheirOp
from pytensor.graph.traversal import toposort

from phintys._base.errors import ArgumentError, InconsistencyError
from phintys._base.garbage_collection import collector_paused
from phintys._base.origin import Origin, inherit_origin
from phintys._base.uninterrupted import import_whole
from phintys.bridge.pytensor.types import convert_type
from phintys.graph.shared_variable import Container, shared_class
from phintys.graph.variable import Variable
from phintys.sparse.operations import as_sparse_variable, is_sparse, to_format
from phintys.sparse.operations import cast as sparse_cast
from phintys.sparse.type import SparseType
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.math import cast
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from pytensor.graph.basic import Apply as TheirApply


@singledispatch
def convert_op(op: TheirOp, node: TheirApply, *inputs: Any) -> Any:
    """Convert a node of PyTensor to variables of Phintys.

    One function for each class of Ops, registered with ``@convert_op.register(TheOp)``. Without
    one, the node becomes a callback of the Op's own ``perform``, a
    :class:`~phintys.bridge.pytensor.PyTensorOp`.

    Parameters
    ----------
    op, node
        The Op, and its node.
    inputs
        The converted inputs of the node. A constant ``None`` or slice is the value itself.

    Returns
    -------
    Variable or sequence of Variable
        One for each output of the node. Dtypes that differ from PyTensor's are cast.

    Examples
    --------
    An Op of your own, in terms of ours:

    >>> import pytensor.tensor as pt
    >>> from pytensor.graph import Apply, Op
    >>> from phintys.bridge.pytensor import convert_op, from_pytensor
    >>> class Doubled(Op):
    ...     def make_node(self, x):
    ...         return Apply(self, [x], [x.type()])
    ...
    ...     def perform(self, node, inputs, output_storage):
    ...         output_storage[0][0] = inputs[0] * 2
    >>> @convert_op.register(Doubled)
    ... def _doubled(op, node, x):
    ...     return x * 2
    >>> from_pytensor(Doubled()(pt.constant([1.0, 2.0]))).eval()
    array([2., 4.])
    """
    msg = f"convert_op takes an Op of PyTensor, got {op!r}."
    raise ArgumentError(msg)


class GraphConversion:
    """The variables that are converted so far.

    Parameters
    ----------
    known
        Variables of PyTensor, and ours in their place.
    """

    def __init__(self, known: Mapping[TheirVariable, Any] | None = None) -> None:
        self.known: dict[TheirVariable, Any] = dict(known or {})
        self._shared: list[TheirShared] = []

    def convert(self, outputs: Iterable[TheirVariable]) -> list[Any]:
        """Return the given variables, converted, with the default updates of shared variables."""
        outputs = list(outputs)
        _register_neighbours()
        with collector_paused():
            self._add(outputs)
            while self._shared:
                shared = self._shared.pop()
                self._add([shared.default_update])
                self.known[shared].default_update = self.known[shared.default_update]
        return [self.known[one] for one in outputs]

    def _add(self, outputs: Sequence[TheirVariable]) -> None:
        for node in toposort(outputs, blockers=self.known):
            self._add_node(node, [self._found(one) for one in node.inputs])
        for one in outputs:
            self._found(one)

    def _add_node(self, node: TheirApply, inputs: Sequence[Any]) -> None:
        """Add the outputs of a node, whose inputs are converted."""
        with inherit_origin(origin_of(node)):
            converted = convert_op(node.op, node, *inputs)
            found = list(converted) if isinstance(converted, list | tuple) else [converted]
            if len(found) != len(node.outputs):
                counts = f"{len(found)} outputs, not {len(node.outputs)}"
                msg = f"The conversion of {node.op} returned {counts}."
                raise InconsistencyError(msg)
            for theirs, ours in zip(node.outputs, found, strict=True):
                self.known[theirs] = _fitted(ours, theirs)

    def _found(self, variable: TheirVariable) -> Any:
        """Return a variable that is converted, or a leaf, which is converted now."""
        if variable not in self.known:
            self.known[variable] = self._leaf(variable)
        return self.known[variable]

    def _leaf(self, variable: TheirVariable) -> Any:
        type_ = convert_type(variable.type)
        if isinstance(variable, TheirConstant):
            return _constant(type_, variable)
        if isinstance(variable, TheirShared):
            return self._shared_leaf(type_, variable)
        return type_.make_variable(variable.name)

    def _shared_leaf(self, type_: Any, variable: Any) -> Any:
        """Return a shared variable that has its value in the same cell as PyTensor's."""
        theirs = variable.container
        ours = Container(type_, theirs.storage, theirs.strict, theirs.allow_downcast, variable.name)
        cls = type_.shared_type or shared_class(type_.variable_type)
        if getattr(variable, "default_update", None) is not None:
            self._shared.append(variable)
        return cls(type_, container=ours, name=variable.name)


def _constant(type_: Any, variable: Any) -> Any:
    if isinstance(type_, TensorType):
        return type_.clone(shape=np.shape(variable.data)).make_constant(
            np.asarray(variable.data), variable.name
        )
    if variable.data is None or isinstance(variable.data, slice):
        return variable.data
    if isinstance(type_, SparseType):
        return as_sparse_variable(variable.data, variable.name)
    return type_.make_constant(variable.data, variable.name)


def _fitted(ours: Any, theirs: Any) -> Any:
    """Return a converted output with PyTensor's dtype and name."""
    dtype = getattr(theirs.type, "dtype", None)
    if is_sparse(ours):
        ours = _fitted_matrix(ours, convert_type(theirs.type))
    elif dtype is not None:
        if not isinstance(ours, Variable):
            ours = as_tensor_variable(ours)
        type_: Any = ours.type
        if type_.dtype != dtype:
            ours = cast(ours, dtype)
        if type_.ndim != theirs.type.ndim:
            msg = f"The conversion of {theirs.owner.op} made {type_} of PyTensor's {theirs.type}."
            raise InconsistencyError(msg)
    if theirs.name and isinstance(ours, Variable) and ours.owner is not None and ours.name is None:
        ours.name = theirs.name
    return ours


def _fitted_matrix(ours: Any, type_: Any) -> Any:
    """Return a sparse variable in the format and dtype of a type."""
    if not isinstance(type_, SparseType):
        msg = f"The conversion made {ours.type} where PyTensor has {type_}."
        raise InconsistencyError(msg)
    fitted = to_format(ours, type_.format)
    return fitted if fitted.dtype == type_.dtype else sparse_cast(fitted, type_.dtype)


def origin_of(node: TheirApply) -> Origin | None:
    """Return the line of the user's program that made a node of PyTensor, if it knows."""
    for output in node.outputs:
        for stack in getattr(output.tag, "trace", ()):
            if stack:
                filename, line, function, *_ = stack[-1]
                return Origin.at(filename, line, function)
    return None


_NEIGHBOURS = {"pymc": "phintys.bridge.pymc"}
"""Library with Ops of its own -> the package that registers their conversions."""


def _register_neighbours() -> None:
    """Import the conversions of the Ops of libraries that have been imported."""
    for library, home in _NEIGHBOURS.items():
        module = sys.modules.get(library)
        if home in sys.modules or module is None:
            continue
        if not getattr(module.__spec__, "_initializing", False):
            import_whole(home)


def converted_graph(fgraph: Any, inputs: Sequence[Any]) -> list[Any]:
    """Return the outputs of an inner graph of PyTensor, with its inputs replaced by ours."""
    return GraphConversion(dict(zip(fgraph.inputs, inputs, strict=True))).convert(fgraph.outputs)


def from_pytensor(variables: Any, known: dict[Any, Any] | None = None) -> Any:
    """Return PyTensor's variables, and what they are computed from, as variables of Phintys.

    Names, static shapes, constants and the lines of the user's program are kept. A shared variable
    has its value in the same cell: ``set_value`` on either side is seen by both. An Op for which
    :func:`convert_op` has no function becomes a callback of its own ``perform``;
    :func:`~phintys.bridge.pytensor.callbacks` counts them.

    Parameters
    ----------
    variables
        A variable, or a list or tuple of them. Inputs can be among them: those that are converted
        together refer to each other.
    known
        Variables that stand for some of PyTensor's. All variables that are converted are added.

    Returns
    -------
    Variable or list of Variable

    Raises
    ------
    TypeContractError
        A variable is of a Type that Phintys does not have, such as a list of tensors.

    Examples
    --------
    >>> import pytensor, pytensor.tensor as pt
    >>> import phintys
    >>> from phintys.bridge.pytensor import from_pytensor
    >>> x, scale = pt.dvector("x"), pytensor.shared(2.0, "scale")
    >>> ours, y = from_pytensor([x, (scale * x).sum()])
    >>> f = phintys.function([ours], y)
    >>> f([1.0, 2.0])
    array(6.)
    >>> scale.set_value(3.0)
    >>> f([1.0, 2.0])
    array(9.)
    """
    several = isinstance(variables, list | tuple)
    given = list(variables) if several else [variables]
    for one in given:
        if not isinstance(one, TheirVariable):
            msg = (
                "from_pytensor: expected a variable of PyTensor, or a list of them, got "
                f"{one!r} of type {type(one).__name__}."
            )
            raise ArgumentError(msg)
    conversion = GraphConversion(known)
    found = conversion.convert(given)
    if known is not None:
        known.update(conversion.known)
    return found if several else found[0]
