"""Variables: the data nodes of a graph."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from phintys._base.errors import MissingInputError, PhintysError, TypeContractError
from phintys._base.late import LateModule
from phintys.graph.pickling import deepcopy_variable, reduce_variable
from phintys.graph.transfer import transfer

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from phintys._base.origin import Origin
    from phintys.graph.apply import Apply
    from phintys.graph.op import Op
    from phintys.graph.type import Type

notebooks: Any = LateModule("phintys.graph.notebooks")
printing: Any = LateModule("phintys.graph.printing")

_numbers = count()


class Variable:
    """A symbolic value: a data node of a graph.

    A variable is either a leaf (``owner is None``) or output number ``index`` of the Apply node
    ``owner``. Two variables are equal only if they are the same object.

    Parameters
    ----------
    type
        The Type that the variable's values belong to.
    owner
        The Apply node that computes the variable; ``None`` for a leaf.
    index
        The position among the owner's outputs.
    name
        Name for display; it does not affect the graph.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.dvector("x")
    >>> x.owner is None, x.name
    (True, 'x')
    >>> y = pt.exp(x)
    >>> y.owner.inputs[0] is x, y.index
    (True, 0)
    """

    name: str | None
    owner: Apply | None
    index: int | None
    _tag: SimpleNamespace | None = None

    __iter__: Any = None
    # Python would iterate over a class with __getitem__ by x[0], x[1] and so on, and look for what
    # is `in` it, without an end: no index is out of range while a graph is built.

    def __init__(
        self,
        type: Type,
        owner: Apply | None = None,
        index: int | None = None,
        name: str | None = None,
    ) -> None:
        if name is not None and not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            msg = (
                f"The name of a variable is a str, got {name!r} of type {name.__class__.__name__}."
            )
            raise TypeContractError(msg)
        self.type = type
        self.owner = owner
        self.index = index
        self.name = name

    @property
    def tag(self) -> SimpleNamespace:
        """A namespace for arbitrary annotations of the variable, copied by :meth:`clone`."""
        if self._tag is None:
            self._tag = SimpleNamespace()
        return self._tag

    @tag.setter
    def tag(self, tag: SimpleNamespace) -> None:
        self._tag = tag

    @property
    def origin(self) -> Origin | None:
        """The line of user code that made the variable's node; ``None`` for a leaf."""
        return None if self.owner is None else self.owner.origin

    @property
    def auto_name(self) -> str:
        """A name that no other variable of this process has, assigned on first access.

        Examples
        --------
        >>> import phintys.tensor as pt
        >>> x, y = pt.dvectors(2)
        >>> x.auto_name == x.auto_name, x.auto_name == y.auto_name
        (True, False)
        """
        return self.__dict__.setdefault("_auto_name", f"auto_{next(_numbers)}")

    def clone(self, name: str | None = None) -> Variable:
        """Return a leaf of the same class, type and tag, and with the same name by default."""
        cls = self.__class__
        copy = cls.__new__(cls)
        if cls is not self.type.variable_type:  # a custom class can have additional state
            copy.__dict__.update(self.__dict__)
            copy.__dict__.pop("_auto_name", None)
        copy.type = self.type
        copy.owner = None
        copy.index = None
        copy.name = self.name if name is None else name
        if self._tag is not None:
            copy._tag = SimpleNamespace(**vars(self._tag))
        return copy

    def transfer(self, target: str) -> Variable:
        """Return the variable transferred to another device; ``"cpu"`` is the default location.

        Raises
        ------
        TransferError
            No function registered with :func:`phintys.graph.register_transfer` supports the target.
        """
        return transfer(self, target)

    def eval(
        self, inputs_to_values: Mapping[Variable | str, Any] | None = None, **options: Any
    ) -> Any:
        """Compute the variable's value.

        Parameters
        ----------
        inputs_to_values
            Values for the graph's inputs, by variable or by name. Not needed for a graph of
            constants and shared variables.
        options
            Passed to :func:`phintys.function`.

        Raises
        ------
        MissingInputError
            An input of the graph has no value.

        Notes
        -----
        The function compiled at the first call is kept, so a second call with values for the same
        inputs is cheap.

        Examples
        --------
        >>> import phintys.tensor as pt
        >>> x = pt.dscalar("x")
        >>> float((2 * x).eval({x: 3.0}))
        6.0
        """
        if _evaluator is None:
            msg = "Variable.eval needs the compiler: import phintys before calling it."
            raise PhintysError(msg)
        return _evaluator(self, {} if inputs_to_values is None else inputs_to_values, **options)

    def dprint(self, **options: Any) -> str | None:
        """Print the graph of this variable; see :func:`phintys.debugprint`."""
        return printing.debugprint(self, **options)

    @property
    def owner_op(self) -> Op | None:
        """The Op that computes this variable, if any."""
        return None if self.owner is None else self.owner.op

    @property
    def owner_op_and_inputs(self) -> tuple[Any, ...]:
        """The Op that computes this variable, and its inputs; ``(None,)`` for a leaf.

        Examples
        --------
        >>> import phintys.tensor as pt
        >>> op, a, b = (pt.dscalar("x") * pt.dscalar("y")).owner_op_and_inputs
        >>> op, a, b
        (Mul, x, y)
        """
        return (None,) if self.owner is None else (self.owner.op, *self.owner.inputs)

    def get_parents(self) -> list[Apply]:
        """Return the Apply node that computes this variable, in a list."""
        return [] if self.owner is None else [self.owner]

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        if self.owner is not None:
            return f"{self.owner.op}.{self.index}"
        return f"<{self.type}>"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str | None:
        """Return HTML for notebooks: type, name, formula, and the graph as a tree to unfold."""
        return notebooks.html_of_variable(self)

    def _repr_latex_(self) -> str | None:
        """Return the formula in LaTeX; ``None`` for one too large to read."""
        return notebooks.latex_of_variable(self)

    def __copy__(self) -> Variable:
        if self.owner is None:
            return self.clone()
        msg = (
            f"{self} is a place in a graph, so a shallow copy of it has no meaning. x.clone() "
            "makes a new leaf of its type, phintys.clone_replace(x) copies the graph that computes "
            "it, copy.deepcopy(x) copies constants and shared values too."
        )
        raise TypeError(msg)

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        return deepcopy_variable(self, memo)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return reduce_variable(self)


class Constant(Variable):
    """A variable whose value is known when the graph is built.

    The value is filtered by the type, which raises if it is not valid.

    Examples
    --------
    >>> from phintys.graph import Constant
    >>> from phintys.scalar import float64
    >>> Constant(float64, 2).data.item()
    2.0
    """

    def __init__(self, type: Type, data: Any, name: str | None = None) -> None:
        super().__init__(type, None, None, name)
        self.data = type.filter(data)

    @property
    def value(self) -> Any:
        """The value; an alias of ``data``."""
        return self.data

    def signature(self) -> Hashable:
        """Return a key that is equal for constants that may be merged into one."""
        data = self.data
        try:
            hash(data)
        except TypeError:
            return (self.type, id(data))
        # 0.0 == -0.0 and 1 == True, but they are not interchangeable; NaN != NaN, but all NaNs are
        # equivalent.
        if isinstance(data, float | complex):
            return (self.type, data.__class__, repr(data))
        return (self.type, data.__class__, data, repr(data))

    def equals(self, other: object) -> bool:
        """Return whether ``other`` is a constant of the same type and value."""
        return isinstance(other, Constant) and self.signature() == other.signature()

    def clone(self, name: str | None = None) -> Constant:
        """Return a constant with the same value."""
        cls = self.__class__
        copy = cls.__new__(cls)
        copy.__dict__.update(self.__dict__)  # the value is already filtered
        if name is not None:
            copy.name = name
        if self._tag is not None:
            copy._tag = SimpleNamespace(**vars(self._tag))
        return copy

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        text = str(self.data).replace("\n", " ")
        limit = 40
        if len(text) > limit:
            text = f"{text[: limit // 2]} ... {text[-limit // 4 :]}"
        return f"{type(self).__name__}{{{text}}}"


_evaluator: Callable[..., Any] | None = None


def set_evaluator(evaluator: Callable[..., Any]) -> None:
    """Register the evaluator that :meth:`Variable.eval` uses; called once, by the compiler.

    ``evaluator(variable, inputs_to_values, **options)`` returns the value.
    """
    global _evaluator  # noqa: PLW0603 - a hook with one owner
    _evaluator = evaluator


def require_owner(variable: Variable) -> Apply:
    """Return the variable's Apply node, or raise if it is a leaf.

    Raises
    ------
    MissingInputError
        The variable is a leaf.
    """
    if variable.owner is None:
        msg = f"Expected a computed variable; {variable} (type {variable.type}) is a leaf."
        raise MissingInputError(msg)
    return variable.owner
