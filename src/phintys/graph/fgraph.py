"""FunctionGraph: a mutable graph with inputs and outputs that tracks the uses of variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from phintys._base.errors import InconsistencyError, MethodNotDefinedError, TypeContractError
from phintys.graph._membership import Ends, Journal, check_variables
from phintys.graph.apply import Apply
from phintys.graph.cloning import clone_get_equiv, fitting, pairs_of
from phintys.graph.features import AlreadyThere, Feature
from phintys.graph.order import nodes_below
from phintys.graph.traversal import explicit_graph_inputs
from phintys.graph.variable import Variable, printing
from phintys.graph.verify import verify_graph

if TYPE_CHECKING:
    from collections.abc import Generator

    Client = tuple[Apply | Literal["output"], int]
    Replacements = Mapping[Variable, Variable] | Iterable[tuple[Variable, Variable]]


class FunctionGraph(Ends):
    """A mutable graph from inputs to outputs that tracks the uses of each variable.

    Leaves are inputs, constants, or shared variables. By default the given graph is copied, so
    changes do not affect it; with ``clone=False`` the FunctionGraph owns the given nodes, which
    should not belong to any other FunctionGraph.

    Parameters
    ----------
    inputs
        The input variables; by default all leaves without a value.
    outputs
        The output variables.
    features
        Features to attach.
    clone
        Copy the graph first. Constants and shared variables are not copied.
    update_mapping
        Output position -> position of the input that it updates for the next call.
    clone_kwds
        For :func:`~phintys.graph.clone_get_equiv`: ``copy_inputs``, ``copy_orphans``, ``memo``,
        ``clone_inner_graphs``.

    Attributes
    ----------
    inputs, outputs : list of Variable
    clients : dict
        Variable -> list of its uses, each a pair (node, input position), or ("output", position).
        Read-only. The order of the uses is deterministic but carries no meaning.
    update_mapping : dict

    Raises
    ------
    MissingInputError
        An output depends on a leaf that is not an input and has no value.

    Examples
    --------
    >>> from phintys.graph import Apply, FunctionGraph, Op, Type
    >>> anything, f, g = Type(), Op(), Op()
    >>> x = anything("x")
    >>> y = Apply(f, [x], [anything("y")]).out
    >>> z = Apply(g, [y, y], [anything("z")]).out
    >>> fgraph = FunctionGraph([x], [z], clone=False)
    >>> [position for node, position in fgraph.clients[y]]
    [0, 1]
    >>> fgraph.replace(y, x)
    >>> fgraph.toposort()
    [Op(x, x)]
    """

    def __init__(
        self,
        inputs: Iterable[Variable] | None = None,
        outputs: Iterable[Variable] | None = None,
        features: Iterable[Any] | None = None,
        clone: bool = True,
        update_mapping: Mapping[int, int] | None = None,
        **clone_kwds: Any,
    ) -> None:
        if outputs is None:
            msg = "A FunctionGraph needs outputs: FunctionGraph(inputs, outputs)."
            raise InconsistencyError(msg)
        outputs = list(outputs)
        inputs = list(explicit_graph_inputs(outputs) if inputs is None else inputs)
        if clone:
            clone_kwds.setdefault("copy_orphans", False)
            check_variables(inputs, "input")
            check_variables(outputs, "output")
            equiv = clone_get_equiv(inputs, outputs, **clone_kwds)
            inputs = [equiv[variable] for variable in inputs]
            outputs = [equiv[variable] for variable in outputs]
        elif clone_kwds:
            msg = f"FunctionGraph: {', '.join(clone_kwds)} make sense only with clone=True."
            raise TypeError(msg)

        super().__init__()
        self.update_mapping = dict(update_mapping or {})
        self._features: list[Any] = []
        self._set_hooks()

        for feature in features or ():
            self.attach_feature(feature)
        for variable in inputs:
            self.add_input(variable)
        for variable in outputs:
            self.add_output(variable, reason="init")
        self._check_update_mapping()

    # Order

    def toposort(self) -> list[Apply]:
        """Return the nodes in topological order.

        The order is determined by the graph alone and respects the features' ``orderings``.

        Raises
        ------
        CycleError
            The graph has a cycle; the message names its nodes.
        """
        orderings = self.orderings() if self._orders else None
        if orderings:  # orderings can change between calls
            return self._sort(orderings)
        return self.inputs_first()

    def inputs_first(self) -> list[Apply]:
        """Return the nodes in topological order, without the features' ``orderings``.

        The order is determined by the graph alone: not by how it came to be, as that of
        ``apply_nodes``.

        Raises
        ------
        CycleError
            The graph has a cycle; the message names its nodes.
        """
        if self._order is None:
            self._order = self._sort({})
        return list(self._order)

    def _sort(self, orderings: Mapping[Apply, Iterable[Apply]]) -> list[Apply]:
        roots = [output.owner for output in self.outputs if output.owner is not None]
        order = nodes_below(roots, orderings=orderings or None)
        if len(order) < len(self._nodes):  # some nodes are not used yet
            order = nodes_below([*roots, *self._nodes], orderings=orderings or None)
        if len(order) > len(self._nodes):
            stranger = next(node for node in order if node not in self._nodes)
            msg = (
                f"The graph needs {stranger.op}, which it does not have among its nodes: its "
                "inputs were changed behind its back, perhaps through another FunctionGraph that "
                "owns the same nodes. Change nodes only with replace or change_node_input, and "
                f"copy what two graphs need. The node was made at\n  {stranger.origin}"
            )
            raise InconsistencyError(msg)
        return order

    def orderings(self) -> dict[Apply, list[Apply]]:
        """Return node -> nodes that must run before it, according to the features."""
        merged: dict[Apply, list[Apply]] = {}
        for orderings in self._orders:
            for node, earlier in orderings(self).items():
                merged.setdefault(node, []).extend(earlier)
        return merged

    def check_integrity(self) -> None:
        """Check the invariants of the graph.

        Raises
        ------
        IntegrityError
            An invariant is violated.
        """
        verify_graph(self)

    # Features

    @property
    def features(self) -> tuple[Any, ...]:
        """The attached features."""
        return tuple(self._features)

    def attach_feature(self, feature: Any) -> None:
        """Attach a feature, which is then notified of changes of the graph.

        This has no effect if it is already attached or its ``on_attach`` raises ``AlreadyThere``.
        """
        if any(feature is other for other in self._features):
            return
        attach = getattr(feature, "on_attach", None)
        if attach is not None:
            try:
                attach(self)
            except AlreadyThere:
                return
        self._features.append(feature)
        self._set_hooks()

    def remove_feature(self, feature: Any) -> None:
        """Detach a feature. This has no effect if it is not attached."""
        kept = [other for other in self._features if other is not feature]
        if len(kept) == len(self._features):
            return
        self._features = kept
        self._set_hooks()
        detach = getattr(feature, "on_detach", None)
        if detach is not None:
            detach(self)

    def _set_hooks(self) -> None:
        """Collect the features' methods, so that features without one add no cost to a change."""
        self._order = None
        self._on_import = self._methods("on_import")
        self._on_prune = self._methods("on_prune")
        self._on_change_input = self._methods("on_change_input")
        self._orders = self._methods("orderings")
        self._validators = self._methods("validate")

    def _methods(self, name: str) -> list[Callable[..., Any]]:
        inherited = getattr(Feature, name, None)
        methods = [getattr(feature, name, None) for feature in self._features]
        # A feature may also have functions, or other callables, as attributes.
        functions = [getattr(method, "__func__", method) for method in methods]
        return [
            method
            for method, function in zip(methods, functions, strict=True)
            if method is not None and function is not inherited
        ]

    def execute_callbacks(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Call ``feature.name(fgraph, *args, **kwargs)`` on each feature that has the method."""
        for method in self._methods(name):
            method(self, *args, **kwargs)

    def collect_callbacks(self, name: str, *args: Any) -> dict[Any, Any]:
        """Return feature -> ``feature.name(fgraph, *args)`` for features that have the method."""
        return {
            feature: method(self, *args)
            for feature in self._features
            if (method := getattr(feature, name, None)) is not None
        }

    # Changes

    def change_node_input(
        self,
        node: Apply | Literal["output"],
        i: int,
        new_var: Variable,
        reason: object = None,
        import_missing: bool = False,
        check: bool = True,
    ) -> None:
        """Replace one input of a node, or one output of the graph.

        Parameters
        ----------
        node
            A node of the graph, or ``"output"``.
        i
            Which input of the node, or which output of the graph.
        new_var
            The new variable; the nodes that it depends on are imported.
        reason
            Passed to features.
        import_missing
            Add leaves without a value to the inputs.
        check
            Check that the type of the new variable is compatible with that of the old one; if
            possible, a conversion that keeps the value (``Type.filter_variable``) is inserted.

        Raises
        ------
        TypeContractError
            ``check``, and the type is not compatible.
        MissingInputError
            The new variable depends on a leaf that has no value.
        InconsistencyError
            The node is not in the graph.
        """
        if isinstance(node, str):
            place = self.outputs
        elif node in self._nodes:
            place = node.inputs
        else:
            raise self._stranger(node)
        old = place[i]
        if old is new_var:
            return
        if check:
            new_var = fitting(old, new_var)
        self.import_var(new_var, reason, import_missing)
        self._order = None
        for journal in self._journals:
            journal.append((node, i, old))
        place[i] = new_var
        client = (node, i)
        self._add_client(new_var, client)
        self._drop_client(old, client)
        for hook in self._on_change_input:
            hook(self, node, i, old, new_var, reason)
        if not self.clients.get(old, True):
            self._prune(old, reason)

    def replace(
        self,
        var: Variable,
        new_var: Variable,
        reason: object = None,
        import_missing: bool = False,
    ) -> None:
        """Replace a variable in all its uses.

        The new variable may be computed from the old one, by nodes that are not in the graph yet.
        If the replacement introduces a cycle, ``toposort`` raises.

        Parameters
        ----------
        var
            A variable of the graph.
        new_var
            The replacement; the nodes that it depends on are imported.
        reason
            Passed to features.
        import_missing
            Add leaves without a value to the inputs.

        Raises
        ------
        InconsistencyError
            ``var`` is not in the graph.
        TypeContractError
            The type of ``new_var`` is not compatible with that of ``var``.
        MissingInputError
            ``new_var`` depends on a leaf that has no value.
        """
        if var not in self.clients:
            raise self._stranger(var)
        if not isinstance(new_var, Variable):  # pyright: ignore[reportUnnecessaryIsInstance]
            msg = (
                f"A variable can only be replaced by a variable, got {new_var!r} for {var}. Make a "
                "value a constant first: old.type.make_constant(value)."
            )
            raise TypeContractError(msg)
        if var is new_var:
            return
        new_var = fitting(var, new_var)
        for node, position in list(self.clients[var]):
            # Clients can be pruned during the loop, together with their own last users.
            if isinstance(node, str) or node in self._nodes:
                self.change_node_input(node, position, new_var, reason, import_missing, check=False)

    def replace_all(
        self, replacements: Replacements, reason: object = None, import_missing: bool = False
    ) -> None:
        """Call :meth:`replace` for each pair, in order.

        All old variables must be in the graph at the start; those that an earlier replacement
        removed are skipped.

        Parameters
        ----------
        replacements
            Old variable -> new variable, as a mapping or as pairs.
        reason, import_missing
            As for :meth:`replace`.
        """
        pairs = pairs_of(replacements)
        for old, _new in pairs:
            if old not in self.clients:
                raise self._stranger(old)
        for old, new in pairs:
            if old in self.clients:
                self.replace(old, new, reason, import_missing)

    def validate(self) -> None:
        """Call the ``validate`` methods of the features, which raise if the graph breaks a rule."""
        for validate in self._validators:
            validate(self)

    def replace_validate(
        self,
        var: Variable,
        new_var: Variable,
        reason: object = None,
        import_missing: bool = False,
    ) -> None:
        """Call :meth:`replace`, then :meth:`validate`; on any error the graph is restored."""
        self.replace_all_validate([(var, new_var)], reason, import_missing)

    def replace_all_validate(
        self, replacements: Replacements, reason: object = None, import_missing: bool = False
    ) -> None:
        """Call :meth:`replace_all`, then :meth:`validate`; on any error the graph is restored.

        Parameters
        ----------
        replacements, reason, import_missing
            As for :meth:`replace_all`.

        Raises
        ------
        InconsistencyError
            A feature rejected the change.
        """
        journal = self._begin()  # inlined transaction(), since this is called for each rewrite
        try:
            self.replace_all(replacements, reason, import_missing)
            self.validate()
        except BaseException:
            self._take_back(journal)
            raise
        self._end(journal)

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Undo all changes made in a ``with`` block if it raises.

        Only ``replace`` and related methods may be called inside the block; other changes raise.

        Examples
        --------
        >>> from phintys.graph import Apply, FunctionGraph, Op, Type
        >>> anything, f = Type(), Op()
        >>> x = anything("x")
        >>> fgraph = FunctionGraph([x], [Apply(f, [x], [anything("y")]).out])
        >>> try:
        ...     with fgraph.transaction():
        ...         fgraph.replace(fgraph.outputs[0], fgraph.inputs[0])
        ...         raise ValueError
        ... except ValueError:
        ...     fgraph.outputs
        [y]
        """
        journal = self._begin()
        try:
            yield
        except BaseException:
            self._take_back(journal)
            raise
        self._end(journal)

    def _begin(self) -> Journal:
        journal = Journal(len(self.inputs))
        self._journals.append(journal)
        return journal

    def _end(self, journal: Journal) -> None:
        self._journals = [other for other in self._journals if other is not journal]

    def _take_back(self, journal: Journal) -> None:
        self._end(journal)
        for node, position, old in reversed(journal):
            self.change_node_input(node, position, old, reason="revert", check=False)
        while len(self.inputs) > journal.number_of_inputs:
            self._remove_input(len(self.inputs) - 1, "revert")

    # Copies

    def clone(self, check_integrity: bool = True) -> FunctionGraph:
        """Return a copy, with copies of the features."""
        return self.clone_get_equiv(check_integrity)[0]

    def clone_get_equiv(
        self, check_integrity: bool = True, attach_features: bool = True, **clone_kwds: Any
    ) -> tuple[FunctionGraph, dict[Any, Any]]:
        """Return a copy, and a mapping from variables and nodes to their copies.

        Parameters
        ----------
        check_integrity
            Check the copy.
        attach_features
            Attach clones of the features to the copy.
        clone_kwds
            For :func:`~phintys.graph.clone_get_equiv`.
        """
        clone_kwds.setdefault("copy_orphans", False)
        equiv = clone_get_equiv(self.inputs, self.outputs, **clone_kwds)
        twin = self.__class__(
            [equiv[variable] for variable in self.inputs],
            [equiv[variable] for variable in self.outputs],
            clone=False,
            update_mapping=self.update_mapping,
        )
        if check_integrity:
            twin.check_integrity()
        if attach_features:
            for feature in self._features:
                if not hasattr(feature, "clone"):
                    msg = (
                        f"The feature {feature!r} has no clone(), so the graph cannot be copied "
                        "with it. Define that, derive from Feature, or pass attach_features=False."
                    )
                    raise MethodNotDefinedError(msg)
                twin.attach_feature(feature.clone())
        return twin, equiv

    def dprint(self, **options: Any) -> str | None:
        """Print the graph; see :func:`phintys.debugprint`."""
        return printing.debugprint(self, **options)

    def __copy__(self) -> FunctionGraph:
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = (self.inputs, self.outputs, self._features, self.update_mapping)
        return (_rebuilt, (self.__class__, *arguments))

    def __str__(self) -> str:
        inputs = ", ".join(str(variable) for variable in self.inputs)
        outputs = ", ".join(str(variable) for variable in self.outputs)
        return f"FunctionGraph({inputs} -> {outputs}; {len(self._nodes)} nodes)"

    __repr__ = __str__


def _rebuilt(
    cls: type[FunctionGraph],
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    features: Sequence[Any],
    update_mapping: Mapping[int, int],
) -> FunctionGraph:
    return cls(inputs, outputs, features, clone=False, update_mapping=update_mapping)
