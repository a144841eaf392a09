"""The inputs and outputs of a FunctionGraph, and the nodes removed along with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from phintys._base.errors import InconsistencyError
from phintys.graph._membership import Membership, check_variables
from phintys.graph.apply import Apply
from phintys.graph.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Iterable


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
