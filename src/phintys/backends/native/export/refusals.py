"""What cannot be exported: errors with the Op, its dtypes, its line and what to write instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from phintys._base.errors import ArgumentError
from phintys.backends.native.assembler.scalar_ops import can_emit
from phintys.backends.native.lower import lower_program
from phintys.backends.native.plan import Plan
from phintys.backends.native.program import walk_steps
from phintys.backends.native.routines.library import with_outlined
from phintys.backends.native.writer.programs import EmittedProgram, write_program
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.variable import Constant
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.observing import Breakpoint, Print
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.backends.native.assembler.externals import External
    from phintys.backends.native.assembler.target import Target
    from phintys.backends.native.export.interface import Interface
    from phintys.backends.native.steps.callback import Callback
    from phintys.graph.apply import Apply

_BEFORE = "compute it before, and pass it as an argument"


def refuse(interface: Interface, problem: str, remedy: str, lines: Iterable[str] = ()) -> NoReturn:
    """Raise the error of a function that cannot be exported.

    Parameters
    ----------
    interface
        The function.
    problem
        What it has, with the Op.
    remedy
        What to write instead, in sentences.
    lines
        The Ops with their places in the user's program.

    Raises
    ------
    ArgumentError
        Always.
    """
    where = "".join(f"\n  {line}" for line in lines)
    msg = f"export({interface.name!r}): {problem}. {remedy}{where}"
    raise ArgumentError(msg)


def _listed(words: Iterable[str]) -> str:
    """Return words in a row, each once, with "and" before the last."""
    *first, last = dict.fromkeys(words)
    return f"{', '.join(first)} and {last}" if first else last


# ---- Ops in Python -------------------------------------------------------------------------------


def check_callbacks(emitted: EmittedProgram, interface: Interface) -> None:
    """Refuse a program with Ops that have only Python code.

    Raises
    ------
    ArgumentError
        It has some.
    """
    callbacks = emitted.layout.callbacks
    if callbacks:
        refuse(
            interface,
            f"an object cannot run Python, which computes {_ops(one.node for one in callbacks)}",
            _remedy(callbacks),
            [f"{_described(one.node)} ({one.why}), made at {one.node.origin}" for one in callbacks],
        )


def _described(node: Apply) -> str:
    """Return an Op with the dtypes of its inputs."""
    dtypes = [x.type.dtype for x in node.inputs if isinstance(x.type, TensorType)]
    return f"{node.op} of {_listed(dtypes)}" if dtypes else str(node.op)


def _remedy(callbacks: Sequence[Callback]) -> str:
    """Return advice for Ops in Python: other dtypes, if these have native code, or other Ops."""
    if all(isinstance(one.node.op, Print | Breakpoint) for one in callbacks):
        return "Leave it out of the exported function: it is for watching a program in Python."
    first, *others = (_dtypes_with_code(one.node) for one in callbacks)
    shared = [dtype for dtype in first if all(dtype in some for some in others)]
    if shared:
        return f"It has native code for {_listed(shared)}: use these, or {_BEFORE}."
    return (
        f"{_BEFORE.capitalize()}, or write it with Ops that have native code (docs/native.md lists "
        "those that have none)."
    )


def _dtypes_with_code(node: Apply) -> list[str]:
    """Return dtypes for which a scalar op has native code, though it has none for its inputs."""
    op, count = node.op, len(node.inputs)
    if not isinstance(op, Elemwise):
        return []
    return [one for one in ("float32", "float64") if can_emit(op.scalar_op, [one] * count)]


# ---- functions of libraries ----------------------------------------------------------------------


def refuse_scipy(external: External, plan: Plan, interface: Interface) -> NoReturn:
    """Refuse a program with an Op that calls a function of SciPy.

    Raises
    ------
    ArgumentError
        Always.
    """
    nodes = _callers(external.symbol, plan)
    refuse(
        interface,
        f"an object cannot call SciPy, whose function {external.name!r} computes {_ops(nodes)}",
        f"{_BEFORE.capitalize()}, or write it with functions that have code of their own "
        "(docs/export.md names those that have none).",
        _places(nodes),
    )


def refuse_numpy(symbol: str, function: str, plan: Plan, interface: Interface) -> NoReturn:
    """Refuse a program with a draw that calls a function of NumPy.

    Raises
    ------
    ArgumentError
        Always.
    """
    nodes = _callers(symbol, plan)
    refuse(
        interface,
        f"an object cannot call NumPy, whose function {function!r} computes {_ops(nodes)}",
        "Draw from phintys.random.RandomStream instead.",
        _places(nodes),
    )


def refuse_routine(
    symbol: str, routine: str, plan: Plan, interface: Interface, *, bundled: bool
) -> NoReturn:
    """Refuse a program that calls a routine of BLAS or LAPACK with which it cannot be linked.

    Raises
    ------
    ArgumentError
        Always.
    """
    nodes = _callers(symbol, plan)
    bundle = ", which is not bundled," if bundled else ""
    refuse(
        interface,
        f"an object needs the routine {routine!r} of BLAS or LAPACK{bundle} for {_ops(nodes)}",
        'Export with blas="link", and link a library that has it.',
        _places(nodes),
    )


def _ops(nodes: Iterable[Apply]) -> str:
    """Return the Ops of nodes in a row, each with the dtypes of its inputs."""
    return _listed(map(_described, nodes))


def _places(nodes: Iterable[Apply]) -> dict[str, None]:
    """Return a line for each node, with its place in the user's program; equal lines once."""
    return dict.fromkeys(f"{_described(node)}, made at {node.origin}" for node in nodes)


def _callers(symbol: str, plan: Plan) -> list[Apply]:
    """Return the nodes whose code calls a function, found by writing that of each node alone."""
    nodes = dict.fromkeys(node for step in walk_steps(plan.program.steps) for node in step.nodes())
    return [node for node in nodes if symbol in _symbols(node, plan.target)] or list(nodes)


def _symbols(node: Apply, target: Target) -> set[str]:
    """Return the functions that the code of a node calls, itself or by outlined functions."""
    inputs = {x: x.type() for x in node.inputs if not isinstance(x, Constant)}
    copy = node.clone([inputs.get(x, x) for x in node.inputs])
    fgraph = FunctionGraph(list(inputs.values()), copy.outputs, clone=False)
    emitted = write_program(Plan(lower_program(fgraph, is_exported=True), target))
    return {symbol for one in with_outlined(emitted.module) for symbol in one.declared}
