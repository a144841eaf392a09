"""Thunks: functions without arguments that execute one node on its storage cells."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from phintys._base.errors import (
    BadStorage,
    InvalidValueError,
    MissingOutputError,
    OpContractError,
    add_note,
)
from phintys.backends.inner import InnerPrograms, perform_of
from phintys.backends.reference.diagnosis import describe_value
from phintys.backends.reference.values import normalised, value_test
from phintys.graph.op import Op

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.op import ComputeMap, StorageMap
    from phintys.graph.variable import Variable

    Cell = list[Any]
    Thunk = Callable[[], Sequence[int] | None]
    """Executes a node. A lazy thunk may return the numbers of inputs to compute first instead."""


def make_thunk(
    node: Apply,
    storage_map: StorageMap,
    compute_map: ComputeMap,
    no_recycling: Sequence[Variable],
    debug: bool,
    programs: InnerPrograms | None = None,
) -> Thunk:
    """Return a thunk that executes ``node`` and checks what the Op stored in its cells.

    Parameters
    ----------
    node
        The node.
    storage_map, compute_map
        Cells of all variables of the graph.
    no_recycling
        Outputs of the node whose cells are empty when the thunk is called.
    debug
        Use ``debug_perform`` where it is defined.
    programs
        Runs the inner graphs of Ops; by default, the reference backend does.
    """
    op = node.op
    debug_perform = getattr(op, "debug_perform", None) if debug else None
    if debug_perform is not None:
        return perform_thunk(node, debug_perform, storage_map, compute_map)
    if has_default_thunk(op):
        perform = perform_of(node) if programs is None else programs.perform_of(node)
        return perform_thunk(node, perform, storage_map, compute_map)
    return _custom_thunk(node, storage_map, compute_map, no_recycling)


def is_lazy(thunk: Thunk) -> bool:
    """Return whether a thunk may be called before the inputs of its node are computed."""
    return bool(getattr(thunk, "lazy", False))


def has_default_thunk(op: Op) -> bool:
    """Return whether an Op leaves it to the backend how ``perform`` is called."""
    own: dict[str, Any] = getattr(op, "__dict__", {})
    cls = type(op)
    return (
        cls.make_thunk is Op.make_thunk
        and cls.make_py_thunk is Op.make_py_thunk
        and "make_thunk" not in own
        and "make_py_thunk" not in own
    )


def perform_thunk(
    node: Apply,
    perform: Callable[..., Any],
    storage_map: StorageMap,
    compute_map: ComputeMap,
) -> Thunk:
    """Return a thunk around ``perform``, specialized for the most common numbers of cells."""
    inputs = [storage_map[variable] for variable in node.inputs]
    outputs = [storage_map[variable] for variable in node.outputs]
    computed = [compute_map[variable] for variable in node.outputs]
    tests = [value_test(variable.type) for variable in node.outputs]
    given = list(outputs)
    count = len(outputs)

    def finish() -> None:
        """Mend what the Op left in its cells, or raise."""
        _check_cells(node, given, outputs)
        for index, (cell, test) in enumerate(zip(outputs, tests, strict=True)):
            if not test(cell[0]):
                _mend(node, index, cell)
        for cell in computed:
            cell[0] = 1

    if count != 1:
        cells = list(zip(outputs, tests, strict=True))

        def many_outputs() -> None:
            perform(node, [cell[0] for cell in inputs], given)
            if len(given) != count:
                return finish()
            for one, (cell, test) in zip(given, cells, strict=True):
                if one is not cell or len(cell) != 1 or not test(cell[0]):
                    return finish()
            for cell in computed:
                cell[0] = 1
            return None

        return many_outputs

    (output,), (done,), (test,) = outputs, computed, tests

    if len(inputs) == 1:
        (first,) = inputs

        def one_input() -> None:
            perform(node, [first[0]], given)
            if len(given) == 1 == len(output) and given[0] is output and test(output[0]):
                done[0] = 1
            else:
                finish()

        return one_input
    if len(inputs) == 2:
        first, second = inputs

        def two_inputs() -> None:
            perform(node, [first[0], second[0]], given)
            if len(given) == 1 == len(output) and given[0] is output and test(output[0]):
                done[0] = 1
            else:
                finish()

        return two_inputs

    def many_inputs() -> None:
        perform(node, [cell[0] for cell in inputs], given)
        if len(given) == 1 == len(output) and given[0] is output and test(output[0]):
            done[0] = 1
        else:
            finish()

    return many_inputs


def _custom_thunk(
    node: Apply,
    storage_map: StorageMap,
    compute_map: ComputeMap,
    no_recycling: Sequence[Variable],
) -> Thunk:
    """Return a thunk around the one returned by the Op's ``make_thunk``."""
    op = node.op
    try:
        if _takes_impl(getattr(op.make_thunk, "__func__", op.make_thunk)):
            inner = op.make_thunk(node, storage_map, compute_map, no_recycling, impl="py")
        else:
            inner = op.make_thunk(node, storage_map, compute_map, no_recycling)
    except Exception as error:
        add_note(error, f"While {op}.make_thunk made a thunk for the node made at\n  {node.origin}")
        raise
    if not callable(inner):
        msg = (
            f"{op}.make_thunk must return a function without arguments, got {inner!r}. The node "
            f"was made at\n  {node.origin}"
        )
        raise OpContractError(msg)
    outputs = [storage_map[variable] for variable in node.outputs]
    computed = [compute_map[variable] for variable in node.outputs]
    tests = [value_test(variable.type) for variable in node.outputs]

    def thunk() -> Sequence[int] | None:
        if wanted := inner():
            _check_wanted(node, wanted, inputs if lazy else ())
            return wanted
        _check_cells(node, [storage_map[variable] for variable in node.outputs], outputs)
        for index, cell in enumerate(outputs):
            if computed[index][0] != 1:
                raise _not_marked(node, index)
            if not tests[index](cell[0]):
                _mend(node, index, cell)
        return None

    lazy = is_lazy(inner)
    inputs = [compute_map[variable] for variable in node.inputs]
    if lazy:
        setattr(thunk, "lazy", True)  # noqa: B010 - functions have no such attribute for pyright
    return thunk


@lru_cache(maxsize=1024)
def _takes_impl(method: Callable[..., Any]) -> bool:
    parameters = inspect.signature(method).parameters.values()
    return any(one.name == "impl" or one.kind is one.VAR_KEYWORD for one in parameters)


def _check_cells(node: Apply, given: Sequence[Cell], cells: Sequence[Cell]) -> None:
    """Raise if the Op replaced or resized a storage cell."""
    if len(given) != len(cells) or any(a is not b for a, b in zip(given, cells, strict=True)):
        msg = (
            f"{node.op}.perform must leave the list of output_storage as it is, but it exchanged "
            "a cell. Store the result inside the cell: output_storage[0][0] = result."
        )
        raise BadStorage(msg)
    for index, cell in enumerate(cells):
        if len(cell) != 1:
            msg = (
                f"{node.op}.perform must not resize its storage cells, but output_storage[{index}] "
                f"now has length {len(cell)}. Store the result with output_storage[{index}][0] = "
                "result."
            )
            raise BadStorage(msg)


def _mend(node: Apply, index: int, cell: Cell) -> None:
    """Convert an invalid output to its Type if possible, or raise."""
    type_ = node.outputs[index].type
    value = normalised(type_, cell[0])
    if value is not cell[0]:
        cell[0] = value
        return
    if value is None:
        msg = (
            f"{node.op}.perform put nothing into output_storage[{index}][0]: it must store a "
            f"value of type {type_} there."
        )
        raise MissingOutputError(msg)
    msg = (
        f"{node.op}.perform must put a value of type {type_} into output_storage[{index}][0], "
        f"got {describe_value(value)}. Convert the result there, or change the output's type "
        "in make_node."
    )
    raise InvalidValueError(msg)


def _not_marked(node: Apply, index: int) -> OpContractError:
    return OpContractError(
        f"The thunk from {node.op}.make_thunk did not mark output {index} as computed. It must "
        "set compute_map[variable][0] = 1 for each output, after storing the value in "
        "storage_map[variable][0]."
    )


def _check_wanted(node: Apply, wanted: object, states: Sequence[Cell]) -> None:
    """Raise if a thunk returned something other than inputs that are still to be computed.

    Parameters
    ----------
    node
        The node.
    wanted
        What the thunk returned.
    states
        The states of the inputs that it may ask for.
    """
    if isinstance(wanted, list | tuple) and all(
        isinstance(index, int) and 0 <= index < len(states) and states[index][0] == 0
        for index in wanted
    ):
        return
    raise OpContractError(
        f"The thunk from {node.op}.make_thunk returned {wanted!r}. A lazy thunk may return a list "
        "with the numbers of inputs that it needs and that are not computed yet (compute_map[input]"
        "[0] is 0), if it has the attribute thunk.lazy = True. Otherwise it must compute its "
        "outputs and return None."
    )
