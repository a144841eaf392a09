"""Op: an operation, which builds nodes and computes their outputs."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, cast

from phintys._base.errors import MethodNotDefinedError, OpContractError
from phintys.graph.apply import Apply
from phintys.graph.identity import missing_prop, props_eq, values_getter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.type import Type
    from phintys.graph.variable import Variable

    StorageMap = dict[Variable, list[Any]]
    ComputeMap = dict[Variable, list[Any]]
    Thunk = Callable[[], Sequence[int] | None]
    Roles = tuple[Sequence[str], Sequence[str]]

_NO_ALIASES: Mapping[Any, Sequence[int]] = MappingProxyType({})


class Op:
    """An operation on variables.

    An Op is defined by subclassing and defining :meth:`make_node` and :meth:`perform`, or by
    setting both on a plain ``Op()`` instance. Instances must not change once they are in use.

    Beyond the methods below, an Op may define

    - ``infer_shape(fgraph, node, input_shapes)``: one tuple of symbolic sizes for each output;
    - ``connection_pattern(node)``: ``[input][output] -> bool``, which inputs affect which outputs;
    - ``flops(input_shapes, output_shapes)``: number of operations of a call, for the profiler;
    - ``debug_perform(node, inputs, output_storage)``: replaces ``perform`` while debugging.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.graph import Apply, Op
    >>> class Double(Op):
    ...     __props__ = ()
    ...
    ...     def make_node(self, x):
    ...         x = pt.as_tensor_variable(x)
    ...         return Apply(self, [x], [x.type()])
    ...
    ...     def perform(self, node, inputs, output_storage):
    ...         output_storage[0][0] = inputs[0] * 2
    ...
    ...     def grad(self, inputs, output_grads):
    ...         return [output_grads[0] * 2]
    >>> x = pt.dvector("x")
    >>> phintys.function([x], Double()(x))([1.0, 2.0])
    array([2., 4.])
    """

    __props__: ClassVar[tuple[str, ...]]
    """Names of the attributes that identify an instance; defines ``__eq__``, ``__hash__`` and
    ``__str__``. Equal Ops must have the same outputs, views and overwriting for equal inputs."""

    default_output: int | None = None
    """Index of the output that :meth:`__call__` returns; ``None`` returns all outputs."""

    function_name: str = ""
    """Name of the function of numbers that an elementwise Op applies; rules are found by it."""

    view_map: Mapping[int, Sequence[int]] = _NO_ALIASES
    """Output index -> input indices whose memory the output may share."""

    destroy_map: Mapping[int | None, Sequence[int]] = _NO_ALIASES
    """Output index -> indices of inputs that it overwrites; ``None`` for inputs used as scratch."""

    made_anew: Callable[[Apply], Callable[..., tuple[Any, ...]]] | None = None
    """A method ``(node)`` that returns a function of the inputs, for an Op whose outputs are always
    new objects, as native code accepts them. Native code calls the function, which returns the
    outputs, in place of :meth:`perform`, and checks nothing."""

    kept_inputs: Sequence[int] = ()
    """Positions of inputs that the function of :attr:`made_anew` makes a part of an output. It is
    given arrays there that nobody else has; :meth:`perform`, which is not, makes copies."""

    # ---- facts that passes and backends read -----------------------------------------------------

    is_copy: bool = False
    """Whether the only output is the only input in newly allocated memory."""

    writes_first_input: bool = False
    """Whether the output is the first input with some elements changed. An array that was made for
    it stays an array, to be written to, instead of becoming a constant, to be copied."""

    raises_only_for_shapes: bool = False
    """Whether :meth:`perform` raises no error but for shapes, whatever the values are; such nodes
    may be computed where they would not have been."""

    is_decomposition: bool = False
    """Whether some outputs are vectors of matrices, chosen among many where values are equal. Their
    products may rebuild a function of the matrix, which does not depend on the choice and has a
    derivative where the vectors have none; gradients look for such products near these Ops."""

    reuses_operands: bool = False
    """Whether backends that plan memory compute the outputs in that of operands by themselves; they
    then do without the ``inplace_twins``."""

    inplace_twins: Callable[[Apply], Iterable[Op]] | None = None
    """A method ``(node)`` that returns the Ops that compute the same in the memory of inputs, as
    their ``destroy_map`` says, best first. The pass ``inplace`` replaces the Op by the first that
    may overwrite its operands."""

    static_value: Callable[[Apply, Sequence[Any]], Any] | None = None
    """A method ``(node, known)`` that returns the static value of the output, for sizes: an int for
    a 0-d output, a tuple of ints and Nones for a vector, ``None`` if nothing is known. ``known``
    has the same for each input."""

    static_value_by_types: bool = False
    """Whether ``static_value`` only reads types, so that nothing need be known of the inputs:
    ``known`` is then empty."""

    undone: Callable[[Apply], Sequence[Variable] | None] | None = None
    """A method ``(node)`` that returns the variables that the outputs are, if the node undoes the
    one before it; else ``None``."""

    rows_read: Callable[[Apply], Sequence[int]] | None = None
    """A method ``(node)`` that returns the positions of inputs of which the Op reads a row a step:
    in a batch, items may have different numbers of such rows."""

    _props_key: ClassVar[Callable[[Any], tuple[Any, ...]]]

    itypes: Sequence[Type] | None = None
    """Types of the inputs, for an Op that does not define :meth:`make_node`."""

    otypes: Sequence[Type] | None = None
    """Types of the outputs, for an Op that does not define :meth:`make_node`."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__
        if "__eq__" in own and own.get("__hash__") is None:
            msg = (
                f"The Op {cls.__name__} defines __eq__ without __hash__. Ops that compare equal "
                "must hash equal: define __hash__ too, or list the parameters in __props__."
            )
            raise OpContractError(msg)
        props = own.get("__props__")
        if props is None:
            return
        if not isinstance(props, tuple) or not all(
            isinstance(name, str) for name in cast("tuple[Any, ...]", props)
        ):
            msg = (
                f"{cls.__name__}.__props__ must be a tuple of attribute names, got {props!r}. "
                "A single name needs a comma: ('axis',)."
            )
            raise OpContractError(msg)
        cls._props_key = staticmethod(values_getter(cast("tuple[str, ...]", props)))
        for name, method in (("__eq__", props_eq), ("__hash__", props_hash)):
            if name not in own:
                setattr(cls, name, method)
        if cls.__str__ is Op.__str__:  # keep a __str__ that a base class defines
            setattr(cls, "__str__", _props_str)  # noqa: B010 - pyright takes it for a redefinition

    def make_node(self, *inputs: Any) -> Apply:
        """Validate and convert the inputs, and return an Apply node with new output variables.

        The inputs of the node must be ordered so that ``op.make_node(*node.inputs)`` makes an
        equivalent node. The default serves Ops with ``itypes`` and ``otypes``.
        """
        if self.itypes is None or self.otypes is None:
            msg = (
                f"The Op {self} has no make_node. Define make_node(*inputs) in its class, set it "
                "on the instance, or give the class itypes and otypes."
            )
            raise MethodNotDefinedError(msg)
        if len(inputs) != len(self.itypes):
            msg = f"{self} takes {len(self.itypes)} inputs, got {len(inputs)}."
            raise OpContractError(msg)
        variables = [
            itype.filter_variable(given) for itype, given in zip(self.itypes, inputs, strict=True)
        ]
        return Apply(self, variables, [otype() for otype in self.otypes])

    def __call__(
        self, *inputs: Any, name: str | None = None, return_list: bool = False, **kwargs: Any
    ) -> Any:
        """Apply the Op and return its output variable, or a list if there are several.

        Parameters
        ----------
        inputs, kwargs
            Passed to :meth:`make_node`.
        name
            Name for the (default) output.
        return_list
            Return a list even for a single output.
        """
        node = self.make_node(*inputs, **kwargs)
        if node.__class__ is not Apply and not isinstance(node, Apply):  # pyright: ignore[reportUnnecessaryIsInstance]
            msg = f"{self}.make_node must return an Apply node, got {node!r}."
            raise OpContractError(msg)
        outputs = node.outputs
        if self.default_output is not None:
            output = node.default_output()
            if name is not None:
                output.name = name
            return [output] if return_list else output
        if len(outputs) == 1:
            if name is not None:
                outputs[0].name = name
            return [outputs[0]] if return_list else outputs[0]
        if name is not None and outputs:
            outputs[0].name = name
        return list(outputs)

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Compute the output values and store each in its storage cell.

        Parameters
        ----------
        node
            The node to compute.
        inputs
            The values of ``node.inputs``.
        output_storage
            One cell, a list of length 1, for each output. A cell holds ``None`` (new storage is
            required) or a previous value of the right type but any shape, whose memory may be
            reused. Cells must not be resized.
        """
        msg = (
            f"The Op {self} has no perform. Define perform(node, inputs, output_storage) in its "
            "class, set it on the instance, or define make_thunk."
        )
        raise MethodNotDefinedError(msg)

    def make_thunk(
        self,
        node: Apply,
        storage_map: StorageMap,
        compute_map: ComputeMap,
        no_recycling: Sequence[Variable],
        impl: str | None = None,
    ) -> Thunk:
        """Return a function without arguments that computes the node.

        If it has an attribute ``lazy`` that is true, it may be called before the inputs are
        computed: it returns a list with the positions of inputs that it needs first, until it has
        what it needs, stores its outputs and returns ``None``. Inputs that no node asks for are
        not computed by the reference backend; others compute all inputs before the call.

        Parameters
        ----------
        node
            The node to compute.
        storage_map
            Variable -> the cell that holds its value.
        compute_map
            Variable -> a cell with 0 (not computed), 1 (valid) or 2 (freed). The thunk sets
            those of its outputs to 1.
        no_recycling
            Outputs that need new storage at each call.
        impl
            ``"py"``, ``"c"`` or ``None``; a hint for Ops with several implementations.
        """
        return self.make_py_thunk(node, storage_map, compute_map, no_recycling)

    def make_py_thunk(
        self,
        node: Apply,
        storage_map: StorageMap,
        compute_map: ComputeMap,
        no_recycling: Sequence[Variable],
        debug: bool = False,
    ) -> Thunk:
        """Return a thunk that calls :meth:`perform`, or ``debug_perform`` if ``debug``."""
        inputs = [storage_map[variable] for variable in node.inputs]
        outputs = [storage_map[variable] for variable in node.outputs]
        computed = [compute_map[variable] for variable in node.outputs if variable in compute_map]
        fresh = [storage_map[variable] for variable in node.outputs if variable in no_recycling]
        perform = getattr(self, "debug_perform", self.perform) if debug else self.perform

        def thunk() -> None:
            for cell in fresh:
                cell[0] = None
            perform(node, [cell[0] for cell in inputs], outputs)
            for cell in computed:
                cell[0] = True

        return thunk

    def do_constant_folding(self, fgraph: FunctionGraph, node: Apply) -> bool:
        """Return whether a node whose inputs are all constants may be computed at compile time."""
        return True

    def grad(self, inputs: Sequence[Variable], output_grads: Sequence[Variable]) -> Any:
        """Return the gradient of a cost with respect to each input, given those for the outputs.

        This is the vector-Jacobian product of the Op, as a list with one variable for each input:
        a ``DisconnectedType`` variable for an input that does not affect the outputs, and a
        ``NullType`` variable (``grad_undefined``) where the gradient is undefined.
        """
        msg = (
            f"The Op {self} does not define grad, so nothing can be differentiated through it. "
            "Define grad(inputs, output_grads) or L_op(inputs, outputs, output_grads); for an "
            "input without a gradient return phintys.gradient.grad_undefined(op, position, input)."
        )
        raise MethodNotDefinedError(msg)

    def L_op(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        output_grads: Sequence[Variable],
    ) -> Any:
        """Like :meth:`grad`, but also given the outputs, so that they can be reused."""
        return self.grad(inputs, output_grads)

    def R_op(self, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]) -> Any:
        """Return the Jacobian-vector product for each output.

        ``eval_points`` has one entry for each input, ``None`` where the direction is zero.
        """
        msg = f"The Op {self} does not define R_op."
        raise MethodNotDefinedError(msg)

    def roles(self, node: Apply) -> Roles:
        """Return the roles of the inputs and outputs of a node, each in a few words.

        ``dprint(print_op_info=True)`` shows it. Both are empty by default; an entry may be, too.
        """
        return (), ()

    def __str__(self) -> str:
        """Return the name of the computation, as messages give it."""
        return getattr(self, "name", None) or type(self).__name__

    def __repr__(self) -> str:
        """Return the same with the inputs that are overwritten, as pictures of graphs show them."""
        return str(self)


def props_hash(self: Any) -> int:
    """Return a hash of the class and the ``__props__`` of an Op."""
    try:
        return hash((self.__class__, self._props_key(self)))
    except AttributeError as error:
        raise missing_prop(self, error) from error
    except TypeError as error:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__props__)
        msg = (
            f"An Op is known by its __props__, so their values must be hashable: {error}, in "
            f"{self.__class__.__name__}({values}). Store lists as tuples, for example."
        )
        raise OpContractError(msg) from error


def _props_str(self: Any) -> str:
    if not self.__props__:
        return type(self).__name__
    values = ", ".join(f"{name}={getattr(self, name)}" for name in self.__props__)
    return f"{type(self).__name__}{{{values}}}"
