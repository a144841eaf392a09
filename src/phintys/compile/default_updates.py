"""Default updates whose graphs name variables on which they do not depend.

The state of a generator after a loop is a result of the loop that draws from it, which also reads
parameters. In a graph made by ``vectorize_graph`` or ``clone_replace``, other variables stand for
these, while the default update of the generator remains that of the first loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.late import LateModule
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.traversal import ancestors
from phintys.graph.variable import Constant
from phintys.rewriting import Worklist

if TYPE_CHECKING:
    from collections.abc import Collection

    from phintys.graph.variable import Variable
    from phintys.passes import loop_arguments
else:
    loop_arguments = LateModule("phintys.passes.loop_arguments")


def reduced_update(update: Variable, given: Collection[Variable]) -> Variable:
    """Return an update without what loops compute beside it, if it names variables not given.

    Parameters
    ----------
    update
        The expression for the next value of a shared variable.
    given
        The variables with values.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.compile.default_updates import reduced_update
    >>> from phintys.graph import graph_inputs
    >>> m, rng = pt.dscalar("m"), pt.random.RandomStream(1)
    >>> _ = phintys.scan(lambda: rng.normal(m), n_steps=3, return_updates=False)
    >>> ((generator, after),) = rng.updates()
    >>> m in graph_inputs([after]), m in graph_inputs([reduced_update(after, {})])
    (True, False)
    """
    if all(_has_value(leaf, given) for leaf in ancestors([update], given)):
        return update
    leaves = [leaf for leaf in ancestors([update]) if _is_leaf(leaf)]
    fgraph = FunctionGraph(leaves, [update], copy_inputs=False)
    rules = [loop_arguments.drop_unread_results, loop_arguments.drop_unread_inputs]
    Worklist(rules, name="default updates").apply(fgraph)
    return fgraph.outputs[0]


def _is_leaf(variable: Variable) -> bool:
    return variable.owner is None and not isinstance(variable, Constant)


def _has_value(variable: Variable, given: Collection[Variable]) -> bool:
    return not _is_leaf(variable) or isinstance(variable, SharedVariable) or variable in given
