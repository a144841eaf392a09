"""What a FunctionGraph holds: inputs and outputs, nodes and variables, and their clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from phintys._base.errors import InconsistencyError, MissingInputError, TypeContractError
from phintys.graph.apply import Apply
from phintys.graph.inner import about_placeholder
from phintys.graph.order import nodes_below
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, KeysView

    Client = tuple[Apply | Literal["output"], int]


_FEW = 32  # clients; above this, an index of their positions pays off


class Membership:
    """The part of :class:`FunctionGraph` that keeps track of its nodes, variables and clients.

    The cost of a change is proportional to the change, regardless of the size of the graph and of
    the number of uses of a variable.
    """

    def __init__(self) -> None:
        self.inputs: list[Variable] = []
        self.outputs: list[Variable] = []
        self.clients: dict[Variable, list[Client]] = {}
        self._nodes: dict[Apply, None] = {}
        self._input_set: set[Variable] = set()
        # Variable -> client -> its position in the list of clients; only for long lists.
        self._places: dict[Variable, dict[Client, int]] = {}
        self._order: list[Apply] | None = None  # the sorted nodes; None after a change
        self._on_import: list[Callable[..., Any]] = []
        self._on_prune: list[Callable[..., Any]] = []

    @property
    def apply_nodes(self) -> KeysView[Apply]:
        """The nodes, as an ordered set in order of import."""
        return self._nodes.keys()

    @property
    def variables(self) -> KeysView[Variable]:
        """The variables, as an ordered set."""
        return self.clients.keys()

    def get_clients(self, var: Variable) -> list[Client]:
        """Return the uses of a variable: (node, input position) or ("output", position).

        Raises
        ------
        InconsistencyError
            The variable is not in the graph.
        """
        try:
            return self.clients[var]
        except KeyError:
            raise self._stranger(var) from None

    def __contains__(self, item: object) -> bool:
        return item in self.clients or item in self._nodes

    def add_input(self, var: Variable, check: bool = True) -> None:
        """Append an input.

        Raises
        ------
        InconsistencyError
            ``check``, and the variable is not a leaf, is already an input, or is a constant.
        """
        check_variables([var], "input")
        if check:
            if var in self._input_set:
                msg = f"{var} is an input of the graph already: give each input once."
                raise InconsistencyError(msg)
            if var.owner is not None:
                msg = (
                    f"The input {var} is computed by {var.owner.op}, at\n  {var.owner.origin}\n"
                    "An input must be a leaf. With clone=True a leaf takes its place; or replace "
                    "it by one first: clone_replace(outputs, {x: x.clone()})."
                )
                raise InconsistencyError(msg)
            if isinstance(var, Constant):
                msg = f"{var} is a constant, so it cannot be an input: its value is known."
                raise InconsistencyError(msg)
        self.inputs.append(var)
        self._input_set.add(var)
        self.clients.setdefault(var, [])

    def import_var(
        self, var: Variable, reason: object = None, import_missing: bool = False
    ) -> None:
        """Import a variable and everything that it depends on; the caller adds a client.

        Raises
        ------
        MissingInputError
            Not ``import_missing``, and a leaf is neither an input nor has a value.
        """
        node = var.owner
        if node is not None:
            if node not in self._nodes:
                self.import_node(node, reason=reason, import_missing=import_missing)
        elif var not in self.clients:
            if not isinstance(var, Constant | SharedVariable):
                if not import_missing:
                    raise _missing_input(var, None)
                self.add_input(var)
            else:
                self.clients[var] = []

    def import_node(self, node: Apply, reason: object = None, import_missing: bool = False) -> None:
        """Import a node and everything that it depends on; the caller adds clients.

        If a leaf is missing, the graph is left unchanged.

        Raises
        ------
        MissingInputError
            Not ``import_missing``, and a leaf is neither an input nor has a value.
        """
        clients = self.clients
        nodes = self._nodes
        new = nodes_below([node], known=nodes)
        leaves: dict[Variable, Apply] = {}
        for entering in new:
            for variable in entering.inputs:
                if variable.owner is None and variable not in clients and variable not in leaves:
                    leaves[variable] = entering
        for variable, user in leaves.items():
            if not isinstance(variable, Constant | SharedVariable):
                if not import_missing:
                    raise _missing_input(variable, user)
                self.add_input(variable)
            clients.setdefault(variable, [])
        self._order = None
        places = self._places
        for entering in new:
            nodes[entering] = None
            for variable in entering.outputs:
                clients[variable] = []
            position = 0
            for variable in entering.inputs:
                if places:
                    self._add_client(variable, (entering, position))
                else:
                    clients[variable].append((entering, position))
                position += 1  # noqa: SIM113 - enumerate is slower for one or two
        for hook in self._on_import:
            for entering in new:
                hook(self, entering, reason)

    def add_client(self, var: Variable, new_client: Client) -> None:
        """Record a use of a variable; for callers that change nodes themselves."""
        if var not in self.clients:
            raise self._stranger(var)
        self._order = None
        self._add_client(var, new_client)

    def remove_client(
        self,
        var: Variable,
        client_to_remove: Client,
        reason: object = None,
        remove_if_empty: bool = True,
    ) -> None:
        """Remove a use of a variable; removing the last one removes its node from the graph.

        Parameters
        ----------
        var
            The variable.
        client_to_remove
            The use: (node, input position) or ("output", position).
        reason
            Passed to features.
        remove_if_empty
            Prune nodes that are no longer used.
        """
        if client_to_remove not in self.get_clients(var):
            msg = f"{client_to_remove} is not a client of {var}."
            raise InconsistencyError(msg)
        self._order = None
        self._drop_client(var, client_to_remove)
        if remove_if_empty:
            self._prune(var, reason)

    def _add_client(self, variable: Variable, client: Client) -> None:
        entries = self.clients[variable]
        if variable in self._places:
            self._places[variable][client] = len(entries)
        entries.append(client)

    def _drop_client(self, variable: Variable, client: Client) -> None:
        """Remove a client in constant time, by moving the last one to its position."""
        entries = self.clients[variable]
        if len(entries) <= _FEW:
            entries.remove(client)
            self._places.pop(variable, None)
            return
        places = self._places.get(variable)
        if places is None:
            places = {entry: place for place, entry in enumerate(entries)}
            self._places[variable] = places
        place = places.pop(client)
        last = entries.pop()
        if place < len(entries):
            entries[place] = last
            places[last] = place

    def _prune(self, variable: Variable, reason: object) -> None:
        """Remove nodes that are no longer used, starting from a variable."""
        clients = self.clients
        stack = [variable]
        while stack:
            variable = stack.pop()
            if clients.get(variable, True):
                continue
            node = variable.owner
            if node is None:
                if variable not in self._input_set:
                    del clients[variable]
                    self._places.pop(variable, None)
                continue
            if len(node.outputs) > 1 and any(clients[output] for output in node.outputs):
                continue
            self._order = None
            del self._nodes[node]
            for output in node.outputs:
                del clients[output]
                self._places.pop(output, None)
            for position, needed in enumerate(node.inputs):
                self._drop_client(needed, (node, position))
                if not clients[needed]:
                    stack.append(needed)
            for hook in self._on_prune:
                hook(self, node, reason)

    def _stranger(self, thing: Variable | Apply) -> InconsistencyError:
        origin = thing.origin
        where = f" It was made at\n  {origin}" if origin is not None else ""
        return InconsistencyError(
            f"{thing} is not in this FunctionGraph. By default a FunctionGraph is a copy: take "
            "variables and nodes from its own inputs, outputs and apply_nodes, or build it with "
            f"clone=False.{where}"
        )


def check_variables(variables: Iterable[object], what: str) -> None:
    for variable in variables:
        if not isinstance(variable, Variable):
            msg = f"Each {what} of a FunctionGraph must be a Variable, got {variable!r}."
            raise TypeContractError(msg)


def _missing_input(variable: Variable, node: Apply | None) -> MissingInputError:
    if node is None:
        needed = "the graph's outputs or a replacement"
        where = ""
    else:
        needed = str(node.op)
        where = f", made at\n  {node.origin}\n"
    about = about_placeholder(variable)
    if about is not None:
        return MissingInputError(
            f"{variable} (type {variable.type}) is needed by {needed}{where or '. '}{about}"
        )
    return MissingInputError(
        f"{variable} (type {variable.type}) is needed by {needed}{where or ', '}but it is neither "
        "an input of the graph, nor a constant, nor a shared variable. Add it to the inputs, give "
        "it a value (a constant, shared(value)), or replace it (givens={variable: expression})."
    )


class Journal(list[tuple["Apply | Literal['output']", int, Variable]]):
    """The changes of a transaction: (node, position, old variable)."""

    __slots__ = ("number_of_inputs",)

    def __init__(self, number_of_inputs: int) -> None:
        super().__init__()
        self.number_of_inputs = number_of_inputs


class Ends(Membership):
    """The part of :class:`FunctionGraph` that adds and removes its inputs and outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.update_mapping: dict[int, int] = {}
        self._journals: list[Journal] = []

    def _outside_transactions(self) -> None:
        """Raise inside a transaction, for changes that cannot be undone."""
        if self._journals:
            msg = (
                "Outputs cannot be added inside a transaction, nor inputs, outputs or nodes "
                "removed: only replacements can be undone."
            )
            raise InconsistencyError(msg)

    def add_output(
        self, var: Variable, reason: object = None, import_missing: bool = False
    ) -> None:
        """Append an output.

        Parameters
        ----------
        var
            The new output.
        reason
            Passed to features.
        import_missing
            Add leaves without a value to the inputs.

        Raises
        ------
        MissingInputError
            A leaf has no value and ``import_missing`` is false.
        """
        self._outside_transactions()
        check_variables([var], "output")
        self.import_var(var, reason, import_missing)
        self._order = None
        self.outputs.append(var)
        self._add_client(var, ("output", len(self.outputs) - 1))

    def remove_output(self, output_idx: int, reason: object = None) -> None:
        """Remove an output and the nodes that only it needs; later outputs move up."""
        self._outside_transactions()
        self._remove_outputs([range(len(self.outputs))[output_idx]], reason)

    def remove_input(self, input_idx: int, reason: object = None) -> None:
        """Remove an input, with all nodes and outputs that depend on it."""
        self._outside_transactions()
        self._remove_input(range(len(self.inputs))[input_idx], reason)

    def _remove_input(self, input_idx: int, reason: object) -> None:
        var = self.inputs[input_idx]
        self._remove_users([var], reason)
        del self.inputs[input_idx]
        self._input_set.discard(var)
        del self.clients[var]
        self.update_mapping = {
            output: position - (position > input_idx)
            for output, position in self.update_mapping.items()
            if position != input_idx
        }

    def remove_node(self, node: Apply, reason: object = None) -> None:
        """Remove a node, with all nodes and outputs that depend on it."""
        self._outside_transactions()
        if node not in self._nodes:
            raise self._stranger(node)
        self._remove_users(node.outputs, reason)

    def _remove_users(self, variables: Iterable[Variable], reason: object) -> None:
        """Remove all nodes and outputs that depend on some variables."""
        doomed: dict[Variable, None] = dict.fromkeys(variables)
        outputs: list[int] = []
        stack = list(doomed)
        while stack:
            for user, place in self.clients[stack.pop()]:
                if isinstance(user, str):
                    outputs.append(place)
                    continue
                for variable in user.outputs:
                    if variable not in doomed:
                        doomed[variable] = None
                        stack.append(variable)
        self._remove_outputs(outputs, reason)
        for variable in doomed:
            if variable in self.clients:
                self._prune(variable, reason)

    def _remove_outputs(self, positions: Iterable[int], reason: object) -> None:
        gone = set(positions)
        if not gone:
            return
        self._order = None
        kept = [position for position in range(len(self.outputs)) if position not in gone]
        moved = {position: new for new, position in enumerate(kept)}
        old_outputs = self.outputs
        for position, variable in enumerate(old_outputs):
            self._drop_client(variable, ("output", position))
        self.outputs = [old_outputs[position] for position in kept]
        for position, variable in enumerate(self.outputs):
            self._add_client(variable, ("output", position))
        self.update_mapping = {
            moved[output]: position
            for output, position in self.update_mapping.items()
            if output in moved
        }
        for position in sorted(gone):
            self._prune(old_outputs[position], reason)

    def _check_update_mapping(self) -> None:
        for output, position in self.update_mapping.items():
            if not (0 <= output < len(self.outputs) and 0 <= position < len(self.inputs)):
                msg = (
                    f"update_mapping has {output}: {position}, but there are {len(self.outputs)} "
                    f"outputs and {len(self.inputs)} inputs. It goes from output position to input "
                    "position, both counted from 0."
                )
                raise InconsistencyError(msg)
