"""Building a loop from variables of the graph around it: what its steps read, and what they do."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from phintys._base.errors import DtypeError, PhintysError, ShapeError, TypeContractError, add_note
from phintys._base.origin import current_origin
from phintys._base.records import record
from phintys.control.loop_forms.scan_arguments import described
from phintys.control.loops.arguments import Inputs, LoopArguments, StepOutputs
from phintys.control.loops.scan_op import Scan
from phintys.gradient.tracing import place_of
from phintys.graph.cloning import graph_replace
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.inner import Placeholder, mark_placeholder
from phintys.graph.traversal import toposort
from phintys.graph.variable import Constant, Variable
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.functions import neq
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Sequence

    from phintys.control.loops.arguments import Outputs


@record()
class LoopState:
    """A value that steps pass on.

    Attributes
    ----------
    initial
        The first rows, or the first value if it is untraced.
    rows
        The variables that steps read: one for each tap, in rising order.
    taps
        The taps; empty if it is untraced.
    is_weak
        Whether the first value is a Python number, which takes the dtype of what steps compute.
    """

    initial: Any
    rows: list[Any]
    taps: tuple[int, ...] = ()
    is_weak: bool = False


class LoopBuilder:
    """Collects the arguments of a loop, and builds it.

    The methods that add an argument return the variables that the step is written with. They can be
    mixed with any others: :meth:`build` leaves outside what does not depend on the step, and passes
    it in.
    """

    def __init__(self) -> None:
        self._origin = current_origin()
        self._sequences: list[tuple[Variable, Variable]] = []
        self.carried: list[LoopState] = []
        self.untraced: list[LoopState] = []
        self.index: Any = self._placeholder(TensorType("int64", ()), "t")

    def _placeholder(self, type_: Any, name: str | None) -> Any:
        found = type_.make_variable(name)
        advice = (
            "Let the step return what is needed, and use the result of the loop; or compute this "
            "expression within the step."
        )
        what = "an input of a step of the loop"
        mark_placeholder(found, Placeholder(what, self._origin, advice))
        return found

    def add_sequence(self, x: Any, name: str | None) -> Any:
        """Add a tensor with a row for each step."""
        row = self._placeholder(x.type.clone(shape=x.type.shape[1:]), name)
        self._sequences.append((x, row))
        return row

    def add_carried(
        self,
        first: Any,
        taps: tuple[int, ...],
        names: Sequence[str | None],
        is_weak: bool = False,
    ) -> LoopState:
        """Add rows of which steps read earlier ones; ``first`` has those before the first step."""
        type_ = first.type.clone(shape=first.type.shape[1:])
        rows = [self._placeholder(type_, name) for name in names]
        state = LoopState(first, rows, taps, is_weak)
        self.carried.append(state)
        return state

    def add_untraced(self, initial: Any, name: str | None, is_weak: bool = False) -> LoopState:
        """Add a value of which only the last one is kept."""
        state = LoopState(initial, [self._placeholder(initial.type, name)], is_weak=is_weak)
        self.untraced.append(state)
        return state

    def add_updated(self, shared: Any) -> None:
        """Add the value of a shared variable, by which the step reads it."""
        self.untraced.append(LoopState(shared, [shared]))

    # ---- what a step computes ------------------------------------------------------------------

    def settle_dtypes(self, made: StepOutputs[Any]) -> StepOutputs[Any]:
        """Return the results of a step after Python numbers took the dtypes of the states.

        A first value such as ``0`` has no dtype of its own, so it takes that of the state which the
        step computes.
        """
        states = [*self.carried, *self.untraced]
        for _ in range(_MOST_DTYPES):
            news = [*made.carried, *made.untraced]
            found: dict[Variable, Variable] = {}
            for state, new in zip(states, news, strict=True):
                row = state.rows[0]
                if not state.is_weak or not isinstance(new.type, TensorType):
                    continue
                dtype = new.type.dtype
                if dtype == row.type.dtype or _KINDS.get(new.type.numpy_dtype.kind, 0) < _KINDS.get(
                    row.type.numpy_dtype.kind, 0
                ):
                    continue
                state.initial = state.initial.astype(dtype)
                for at, old in enumerate(state.rows):
                    found[old] = self._placeholder(old.type.clone(dtype=dtype), old.name)
                    state.rows[at] = found[old]
            if not found:
                break
            rest = iter(cast("list[Any]", graph_replace(list(made), found, strict=False)))
            made = StepOutputs(
                [next(rest) for _ in made.carried],
                [next(rest) for _ in made.untraced],
                [next(rest) for _ in made.stacked],
                None if made.until is None else next(rest),
            )
        return made

    def build(
        self,
        n: Any,
        made: StepOutputs[Any],
        name: str | None = None,
        truncate_gradient: int = -1,
        checkpoint: int | None = None,
        fixed: Collection[Variable] = (),
    ) -> Outputs[Any]:
        """Return the results of the loop.

        Parameters
        ----------
        n
            The number of steps, or the most if there is a condition.
        made
            What a step computes.
        name, truncate_gradient, checkpoint
            Of the :class:`~phintys.control.Scan`.
        fixed
            Variables that are passed in, whatever they depend on.
        """
        if made.until is not None and made.until.type.dtype != "bool":
            made.until = neq(made.until, 0)
        leaves = [self.index, *(row for _, row in self._sequences)]
        for state in (*self.carried, *self.untraced):
            leaves += state.rows
        inner, outputs, captured = cut_out(leaves, list(made), fixed)
        arguments = LoopArguments(
            sequences=len(self._sequences),
            taps=tuple(state.taps for state in self.carried),
            untraced=len(self.untraced),
            stacked=len(made.stacked),
            captured=len(captured),
            has_until=made.until is not None,
        )
        given = Inputs[Any](
            as_tensor_variable(n),
            [x for x, _ in self._sequences],
            [state.initial for state in self.carried],
            [state.initial for state in self.untraced],
            captured,
        )
        step = FunctionGraph(inner, outputs, clone=False)
        op = Scan(step, arguments, name, truncate_gradient, checkpoint)
        return arguments.node_outputs(cast("list[Any]", op(*given, return_list=True)))


_MOST_DTYPES = 4
"""Each round makes the dtype of a state wider, from bool to integers to floats to complex."""
_KINDS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


@contextmanager
def errors_name(function: Any) -> Generator[None]:
    """Add to errors of Phintys where the function of a step was defined."""
    try:
        yield
    except PhintysError as error:
        place = place_of(function).strip()
        if place:
            add_note(error, place)
        raise


def cut_out(
    leaves: Sequence[Variable], outputs: Sequence[Variable], fixed: Collection[Variable] = ()
) -> tuple[list[Variable], list[Variable], list[Variable]]:
    """Return a copy of the part of a graph that depends on given leaves.

    Parameters
    ----------
    leaves
        The variables that differ between the steps.
    outputs
        What is computed.
    fixed
        Variables that do not count as dependent on the leaves.

    Returns
    -------
    inputs, outputs, captured
        The inputs of the copy stand for the leaves, and then for the captured variables: the
        results of the rest of the graph that the copy needs. Constants are part of the copy.
    """
    copies: dict[Variable, Variable] = {leaf: leaf.type.make_variable(leaf.name) for leaf in leaves}
    captured: dict[Variable, Variable] = {}
    outside = {variable for variable in fixed if variable not in copies}

    def inside(variable: Variable) -> Variable:
        found = copies.get(variable)
        if found is not None:
            return found
        if isinstance(variable, Constant):
            return variable
        if variable not in captured:
            captured[variable] = variable.type.make_variable(variable.name)
        return captured[variable]

    for node in toposort(outputs, blockers=outside):
        if any(variable in copies for variable in node.inputs):
            copy = node.clone([inside(variable) for variable in node.inputs])
            pairs = zip(node.outputs, copy.outputs, strict=True)
            copies.update(pair for pair in pairs if pair[0] not in outside)
    results = [inside(output) for output in outputs]
    inputs = [copies[leaf] for leaf in leaves]
    return [*inputs, *captured.values()], results, list(captured)


def check_alike(state: LoopState, new: Any, what: str) -> None:
    """Check that what a step computes can be what the next step reads.

    Parameters
    ----------
    state
        What the step reads.
    new
        What it computes.
    what
        The beginning of a message, such as "State 0 of a scan".
    """
    old = state.rows[0]
    one, other = old.type, new.type
    if one.is_super(other):
        return
    begins = (
        f"{what} changes between steps. A step reads {old} of type {one}, which is that of the "
        f"initial value. It computes {described(new)}"
    )
    if not isinstance(one, TensorType) or not isinstance(other, TensorType):
        msg = f"{begins}\nBoth must be of the same Type."
        raise TypeContractError(msg)
    if one.ndim != other.ndim:
        msg = (
            f"{begins}\nBoth must have the same rank: begin with a value of rank {other.ndim}, "
            "such as phintys.tensor.zeros(...) of the shape that the step computes, or let the "
            f"step compute one of rank {one.ndim}."
        )
        raise ShapeError(msg)
    if one.dtype != other.dtype:
        msg = (
            f"{begins}\nBoth must have the same dtype: begin with initial.astype({other.dtype!r}), "
            f"or let the step return new.astype({one.dtype!r})."
        )
        raise DtypeError(msg)
    pairs = zip(one.shape, other.shape, strict=True)
    if any(a is not None and b is not None and a != b for a, b in pairs):
        msg = (
            f"{begins}\nBoth must have the same shape: begin with a value of the shape that the "
            "step computes."
        )
        raise ShapeError(msg)
