"""Apply: the application of an Op to inputs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from phintys._base.errors import OpContractError, TypeContractError
from phintys._base.origin import current_origin
from phintys.graph.pickling import reduce_apply
from phintys.graph.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys._base.origin import Origin
    from phintys.graph.op import Op

__all__ = ["Apply"]


class Apply:
    """A computation node of a graph: ``outputs = op(inputs)``.

    Parameters
    ----------
    op
        The operation.
    inputs
        Variables that it reads.
    outputs
        Variables that it computes; each must be new, or already output of this very node.

    Attributes
    ----------
    origin : Origin
        The line of user code that made the node.

    Examples
    --------
    >>> from phintys.graph import Apply, Op, Type
    >>> twice, anything = Op(), Type()
    >>> node = Apply(twice, [anything("x")], [anything()])
    >>> node.outputs[0].owner is node
    True
    """

    op: Op
    inputs: list[Variable]
    outputs: list[Variable]
    origin: Origin

    def __init__(self, op: Op, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> None:
        self.op = op
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.origin = current_origin(2)
        for variable in self.inputs:
            if not isinstance(variable, Variable):
                raise _not_a_variable(op, "inputs", variable)
        index = 0
        for variable in self.outputs:
            if not isinstance(variable, Variable):
                raise _not_a_variable(op, "outputs", variable)
            if variable.owner is None:
                variable.owner = self
                variable.index = index
            elif variable.owner is not self or variable.index != index:
                msg = (
                    f"Output {index} given to Apply({op}, ...) is already computed by "
                    f"{variable.owner.op}. An Apply needs new output variables: make them with "
                    f"their type, as in {variable.type}()."
                )
                raise OpContractError(msg)
            index += 1

    @property
    def tag(self) -> SimpleNamespace:
        """Free space for notes about this node, kept by clones."""
        try:
            return self._tag
        except AttributeError:
            self._tag = SimpleNamespace()
            return self._tag

    @tag.setter
    def tag(self, tag: SimpleNamespace) -> None:
        self._tag = tag

    @property
    def nin(self) -> int:
        """Number of inputs."""
        return len(self.inputs)

    @property
    def nout(self) -> int:
        """Number of outputs."""
        return len(self.outputs)

    def default_output(self) -> Variable:
        """Return the output that stands for the node when one variable is wanted.

        Raises
        ------
        OpContractError
            There are several outputs and the Op has no valid ``default_output``.
        """
        which = getattr(self.op, "default_output", None)
        if which is None:
            if len(self.outputs) == 1:
                return self.outputs[0]
            msg = (
                f"{self.op} has {len(self.outputs)} outputs and no default_output: choose one "
                "with node.outputs[i], or set default_output on the Op."
            )
            raise OpContractError(msg)
        if not 0 <= which < len(self.outputs):
            msg = f"{self.op}.default_output is {which!r}, but it has {self.nout} outputs."
            raise OpContractError(msg)
        return self.outputs[which]

    @property
    def out(self) -> Variable:
        """The default output."""
        return self.default_output()

    def clone(self, inputs: Sequence[Variable] | None = None) -> Apply:
        """Return a node with the same Op and new outputs of the same types.

        Parameters
        ----------
        inputs
            Inputs of the copy, of the same types; the node's own when not given.
        """
        copy = self.__class__.__new__(self.__class__)
        copy.__dict__.update(self.__dict__)
        copy.inputs = list(self.inputs if inputs is None else inputs)
        copy.outputs = []
        for index, old in enumerate(self.outputs):
            new = old.clone()
            new.owner = copy
            new.index = index
            copy.outputs.append(new)
        if "_tag" in self.__dict__:
            copy._tag = SimpleNamespace(**vars(self._tag))
        return copy

    def clone_with_new_inputs(self, inputs: Sequence[Variable], strict: bool = True) -> Apply:
        """Return a node that applies the same Op to other inputs.

        When all types agree the node is copied; otherwise ``op.make_node`` works out the types of
        the outputs anew. The user's line stays that of this node.

        Parameters
        ----------
        inputs
            As many variables as the node has inputs.
        strict
            Require that each new input's type can stand for the old one's (it is equal to it or
            a special case of it); otherwise ``make_node`` alone decides.

        Raises
        ------
        TypeContractError
            ``strict`` and a type does not fit.
        """
        if len(inputs) != len(self.inputs):
            msg = f"{self.op} is applied to {len(self.inputs)} inputs here, got {len(inputs)}."
            raise TypeContractError(msg)
        remake = False
        new_inputs = list(inputs)
        for position, (old, new) in enumerate(zip(self.inputs, inputs, strict=True)):
            if old is new or old.type == new.type:
                continue
            if strict:
                new_inputs[position] = old.type.filter_variable(new)
            remake = remake or new_inputs[position].type != old.type
        if not remake:
            return self.clone(new_inputs)
        node = self.op.make_node(*new_inputs)
        node.origin = self.origin
        if "_tag" in self.__dict__:
            node._tag = SimpleNamespace(**vars(self._tag))
        return node

    def get_parents(self) -> list[Variable]:
        """Return the inputs."""
        return list(self.inputs)

    def __str__(self) -> str:
        return f"{self.op}({', '.join(str(variable) for variable in self.inputs)})"

    __repr__ = __str__

    def __copy__(self) -> Apply:
        return self.clone()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return reduce_apply(self)


def _not_a_variable(op: Op, where: str, thing: object) -> OpContractError:
    return OpContractError(
        f"Apply({op}, ...): all {where} must be Variables, got {thing!r} of type "
        f"{type(thing).__name__}. Wrap values in make_node, for example with "
        f"phintys.graph.Constant(type, value) or phintys.tensor.as_tensor_variable(value)."
    )
