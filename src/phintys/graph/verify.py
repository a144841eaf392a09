"""The verifier of the invariants of a FunctionGraph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from phintys._base.errors import CycleError, IntegrityError
from phintys.graph.inner import HasInnerGraph, inner_graphs_below
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.variable import Constant

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable


def verify_graph(fgraph: FunctionGraph, make_nodes: bool = False) -> None:
    """Check every invariant of a FunctionGraph, in linear time.

    - Each output of a node refers to the node and to its own position; no variable has two nodes.
    - The clients of each variable are exactly its uses, each once.
    - Each variable is an output of a node of the graph, an input, a constant, or shared.
    - Inputs are distinct leaves and not constants.
    - Each node is used, and no node depends on itself.
    - Nodes have an Op that can be compared and hashed.
    - Inner graphs of Ops obey all of this, and captured inputs have the types of the inner ones.
    - With ``make_nodes``: ``make_node`` of a node's Op, given its inputs, makes a node with outputs
      of the same number and types.

    Parameters
    ----------
    fgraph
        The graph.
    make_nodes
        Check the types of outputs, too, at the cost of rebuilding every node.

    Raises
    ------
    IntegrityError
        An invariant is violated; the message names the node and the line that made it.

    Examples
    --------
    >>> from phintys.graph import Apply, FunctionGraph, Op, Type
    >>> anything, f = Type(), Op()
    >>> x = anything("x")
    >>> y = Apply(f, [x], [anything("y")]).out
    >>> fgraph = FunctionGraph([x], [y], clone=False)
    >>> verify_graph(fgraph)
    >>> y.owner.inputs[0] = anything("z")
    >>> verify_graph(fgraph)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    phintys._base.errors.IntegrityError: Input 0 of Op is z, which the graph does not know...
    """
    _verify_level(fgraph, make_nodes)
    for place in inner_graphs_below(fgraph.apply_nodes):
        op: Any = place.node.op
        try:
            _verify_level(op.fgraph, make_nodes)
        except IntegrityError as error:
            place.add_notes(error)
            raise


def _verify_level(fgraph: FunctionGraph, make_nodes: bool) -> None:
    """Check a graph, without inner graphs."""
    _verify_ends(fgraph)
    uses: dict[Variable, int] = dict.fromkeys(fgraph.clients, 0)
    for node in fgraph.apply_nodes:
        _verify_node(fgraph, node, uses)
        if isinstance(node.op, HasInnerGraph):
            _verify_captured(node, node.op)
        if make_nodes:
            _verify_types(node)
    for output in fgraph.outputs:
        uses[output] += 1
    inputs = set(fgraph.inputs)
    for variable, number in uses.items():
        _verify_variable(fgraph, variable, number, variable in inputs)
    try:
        order = fgraph.toposort()
    except CycleError as error:
        raise IntegrityError(str(error)) from error
    if len(order) != len(fgraph.apply_nodes):
        _fail("The sorted graph has other nodes than the graph.", None)


def _verify_ends(fgraph: FunctionGraph) -> None:
    seen: set[Variable] = set()
    for position, variable in enumerate(fgraph.inputs):
        problem = None
        if variable in seen:
            problem = "is there twice"
        elif variable.owner is not None:
            problem = f"is computed by {variable.owner.op}"
        elif isinstance(variable, Constant):
            problem = "is a constant"
        elif variable not in fgraph.clients:
            problem = "is missing among the variables"
        if problem is not None:
            _fail(f"Input {position} of the graph, {variable}, {problem}.", variable.owner)
        seen.add(variable)
    for position, variable in enumerate(fgraph.outputs):
        if variable not in fgraph.clients:
            _fail(
                f"Output {position} of the graph, {variable}, is missing among the variables.",
                variable.owner,
            )


def _verify_node(fgraph: FunctionGraph, node: Apply, uses: dict[Variable, int]) -> None:
    try:
        equal = node.op == node.op and hash(node.op) == hash(node.op)
    except Exception as error:
        msg = f"The Op {node.op} cannot be compared and hashed ({error}).{_where(node)}"
        raise IntegrityError(msg) from error
    if not equal:
        _fail(f"The Op {node.op} does not equal itself.", node)
    for position, variable in enumerate(node.outputs):
        if variable.owner is not node or variable.index != position:
            _fail(
                f"Output {position} of {node.op} is {variable}, which says that it is output "
                f"{variable.index} of {variable.owner}.",
                node,
            )
        if variable not in fgraph.clients:
            _fail(f"Output {position} of {node.op} is missing among the variables.", node)
    for position, variable in enumerate(node.inputs):
        if variable not in uses:
            _fail(
                f"Input {position} of {node.op} is {variable}, which the graph does not know: it "
                "was put there without change_node_input.",
                node,
            )
        uses[variable] += 1
    if not any(fgraph.clients[variable] for variable in node.outputs):
        _fail(f"Nothing uses {node.op}, so it should not be there any more.", node)


def _verify_captured(node: Apply, op: HasInnerGraph) -> None:
    for position, place in op.captured.items():
        given, wanted = node.inputs[position].type, op.inner_inputs[place].type
        if given != wanted and not wanted.is_super(given):
            _fail(
                f"{op} captures input {position} of type {given} for the input {place} of its "
                f"inner graph, of type {wanted}.",
                node,
            )


def _verify_types(node: Apply) -> None:
    try:
        again = node.op.make_node(*node.inputs)
    except Exception as error:
        msg = f"{node.op}.make_node refuses the inputs of its node: {error}.{_where(node)}"
        raise IntegrityError(msg) from error
    types = [variable.type for variable in again.outputs]
    if types != [variable.type for variable in node.outputs]:
        _fail(
            f"{node.op}.make_node gives outputs of types {types} for the inputs of a node whose "
            f"outputs have types {[variable.type for variable in node.outputs]}.",
            node,
        )


def _verify_variable(fgraph: FunctionGraph, variable: Variable, uses: int, is_input: bool) -> None:
    node = variable.owner
    clients = fgraph.clients[variable]
    for user, position in clients:
        if isinstance(user, str):
            place = fgraph.outputs
        elif user in fgraph.apply_nodes:
            place = user.inputs
        else:
            _fail(f"A client of {variable}, {user.op}, is not in the graph.", user)
        if not 0 <= position < len(place) or place[position] is not variable:
            _fail(f"{variable} is not at the place of its client {user}, {position}.", node)
    if len(set(clients)) != len(clients):
        _fail(f"A client of {variable} is listed twice.", node)
    if len(clients) != uses:
        _fail(f"{variable} has {uses} uses, but {len(clients)} clients.", node)
    if node is not None:
        if node not in fgraph.apply_nodes:
            _fail(f"{variable} is computed by {node.op}, which is not in the graph.", node)
        if variable.index is None or node.outputs[variable.index] is not variable:
            _fail(f"{variable} is not output {variable.index} of {node.op}.", node)
        if isinstance(variable, Constant | SharedVariable):
            _fail(f"{variable} has a value of its own, yet {node.op} computes it.", node)
    elif not clients and not is_input:
        _fail(f"Nothing uses {variable}, so it should not be there any more.", None)
    elif not is_input and not isinstance(variable, Constant | SharedVariable):
        _fail(f"{variable} is a leaf, but neither an input, nor a constant, nor shared.", None)


def _where(node: Apply | None) -> str:
    return "" if node is None else f" The node was made at\n  {node.origin}"


def _fail(message: str, node: Apply | None) -> NoReturn:
    raise IntegrityError(message + _where(node))
