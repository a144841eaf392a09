"""Apply: the application of an Op to inputs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from phintys._base.errors import OpContractError, TypeContractError
from phintys._base.origin import current_origin, inherit_origin
from phintys.graph.pickling import deepcopy_apply, reduce_apply
from phintys.graph.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys._base.origin import Origin
    from phintys.graph.op import Op


class Apply:
    """A computation node of a graph: ``outputs = op(inputs)``.

    Parameters
    ----------
    op
        The operation.
    inputs
        The input variables.
    outputs
        The output variables; each must be new, that is, not computed by another node.

    Attributes
    ----------
    origin : Origin
        The line of user code that made the node.

    Raises
    ------
    OpContractError
        Something is not a Variable, or an output is not new.

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
    _tag: SimpleNamespace | None = None

    def __init__(self, op: Op, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> None:
        if isinstance(inputs, Variable) or isinstance(outputs, Variable):
            raise _not_a_list(op, inputs, outputs)
        self.op = op
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.origin = current_origin(2)
        index = 0
        for variable in self.outputs:
            if not isinstance(variable, Variable):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise self._refused(_not_a_variable(op, "outputs", variable))
            if variable.owner is not None:
                raise self._refused(_not_new(op, index, variable))
            variable.owner = self
            variable.index = index
            index += 1  # noqa: SIM113 - enumerate is slower for one or two
        for variable in self.inputs:
            if not isinstance(variable, Variable):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise self._refused(_not_a_variable(op, "inputs", variable))
            if variable.owner is self:
                raise self._refused(_own_input(op, variable))

    def _refused(self, error: OpContractError) -> OpContractError:
        """Detach the variables from a node that failed validation, and return the error."""
        for variable in self.outputs:
            if getattr(variable, "owner", None) is self:
                variable.owner = None
                variable.index = None
        return error

    @property
    def tag(self) -> SimpleNamespace:
        """A namespace for arbitrary annotations of the node, copied by :meth:`clone`."""
        if self._tag is None:
            self._tag = SimpleNamespace()
        return self._tag

    @tag.setter
    def tag(self, tag: SimpleNamespace) -> None:
        self._tag = tag

    @property
    def nin(self) -> int:
        """The number of inputs."""
        return len(self.inputs)

    @property
    def nout(self) -> int:
        """The number of outputs."""
        return len(self.outputs)

    def default_output(self) -> Variable:
        """Return the output that represents the node where a single variable is required.

        Raises
        ------
        OpContractError
            There are several outputs and the Op has no valid ``default_output``.
        """
        which: Any = getattr(self.op, "default_output", None)
        if which is None:
            if len(self.outputs) == 1:
                return self.outputs[0]
            msg = (
                f"{self.op} has {len(self.outputs)} outputs and no default_output: choose one "
                "with node.outputs[i], or set default_output on the Op."
            )
            raise OpContractError(msg)
        if not isinstance(which, int) or not 0 <= which < len(self.outputs):
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
            Inputs of the copy, of the same types; by default those of the node.
        """
        cls = self.__class__
        copy = cls.__new__(cls)
        copy.op = self.op
        copy.origin = self.origin
        copy.inputs = list(self.inputs if inputs is None else inputs)
        copy.outputs = []
        for index, old in enumerate(self.outputs):
            new = old.clone()
            new.owner = copy
            new.index = index
            copy.outputs.append(new)
        if self._tag is not None:
            copy._tag = SimpleNamespace(**vars(self._tag))
        return copy

    def clone_with_new_inputs(self, inputs: Sequence[Variable], strict: bool = True) -> Apply:
        """Return a node that applies the same Op to other inputs.

        If all types agree, the node is copied; otherwise ``op.make_node`` determines the types of
        the outputs again. The new node keeps the origin of this one.

        Parameters
        ----------
        inputs
            One variable for each input of the node.
        strict
            Require each new input to have the type of the old one, a subtype of it, or a type that
            converts to it; otherwise ``make_node`` alone decides.

        Raises
        ------
        TypeContractError
            ``strict``, and a type is not compatible.
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
                with inherit_origin(self.origin):
                    new_inputs[position] = old.type.filter_variable(new)
            remake = remake or new_inputs[position].type != old.type
        if not remake:
            return self.clone(new_inputs)
        with inherit_origin(self.origin):
            node = self.op.make_node(*new_inputs)
        if len(node.outputs) != len(self.outputs):
            msg = (
                f"{self.op}.make_node gave {len(node.outputs)} outputs for inputs of types "
                f"{', '.join(str(variable.type) for variable in new_inputs)}, and "
                f"{len(self.outputs)} for those of\n  {self.origin}\nThe number of outputs must "
                "not depend on the inputs where one node is to stand for another."
            )
            raise OpContractError(msg)
        for old, new in zip(self.outputs, node.outputs, strict=True):
            if new.name is None:
                new.name = old.name
        if self._tag is not None:
            node._tag = SimpleNamespace(**vars(self._tag))
        return node

    def get_parents(self) -> list[Variable]:
        """Return the inputs."""
        return list(self.inputs)

    def __str__(self) -> str:
        return f"{self.op}({', '.join(str(variable) for variable in self.inputs)})"

    def __repr__(self) -> str:
        return f"{self.op!r}({', '.join(str(variable) for variable in self.inputs)})"

    def __copy__(self) -> Apply:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Apply:
        return deepcopy_apply(self, memo)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return reduce_apply(self)


def _not_a_list(op: Op, inputs: object, outputs: object) -> OpContractError:
    which, given = ("inputs", inputs) if isinstance(inputs, Variable) else ("outputs", outputs)
    return OpContractError(
        f"Apply({op}, ...): the {which} are a list of Variables, got the Variable {given}. Write "
        f"[{given}]."
    )


def _not_a_variable(op: Op, where: str, thing: object) -> OpContractError:
    return OpContractError(
        f"Apply({op}, ...): all {where} must be Variables, got {thing!r} of type "
        f"{type(thing).__name__}. Wrap values in make_node, for example with "
        f"phintys.graph.Constant(type, value) or phintys.tensor.as_tensor_variable(value)."
    )


def _not_new(op: Op, index: int, variable: Variable) -> OpContractError:
    return OpContractError(
        f"Output {index} given to Apply({op}, ...) is already computed by {variable.owner}: "
        "an Apply needs new output variables, each once. Make them with their type, as in "
        f"{variable.type}()."
    )


def _own_input(op: Op, variable: Variable) -> OpContractError:
    return OpContractError(
        f"Apply({op}, ...) was given {variable} both as an input and as an output. Make a new "
        f"output with its type, as in {variable.type}()."
    )
