"""What is known of variables before run time."""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys._base.errors import OpContractError
from phintys._base.names import public_dir
from phintys.graph.traversal import graph_inputs
from phintys.graph.variable import Constant, Variable
from phintys.tensor.creation import Alloc
from phintys.tensor.functions import ELEMENTWISE
from phintys.tensor.known import known_int
from phintys.tensor.observing import CheckAndRaise

__all__ = ["get_underlying_scalar_constant_value"]


def known_number(x: Variable) -> Any:
    """Return the number that all elements of a variable are known to be; ``None`` if there is none.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.introspection import known_number
    >>> float(known_number(pt.full_like(pt.dvector("x"), 2.5))), known_number(pt.dvector("x"))
    (2.5, None)
    """
    while (node := x.owner) is not None:
        if isinstance(node.op, CheckAndRaise):
            conditions = [known_number(condition) for condition in node.inputs[1:]]
            if not all(one is not None and bool(np.all(one)) for one in conditions):
                return None
            x = node.inputs[0]
        elif isinstance(node.op, Alloc):
            x = node.inputs[0]
        elif node.op == ELEMENTWISE["second"]:
            x = node.inputs[1]
        else:
            break
    if isinstance(x, Constant):
        return getattr(x, "unique_value", x.data)
    if all(isinstance(leaf, Constant) for leaf in graph_inputs([x])):
        values = np.asarray(x.eval())
        return values.flat[0] if values.size and np.all(values == values.flat[0]) else None
    return known_int(x)


def get_underlying_scalar_constant_value(x: Any) -> np.ndarray[Any, Any]:
    """Return the one number that all elements of a variable, or of an array, are known to be.

    Parameters
    ----------
    x
        A variable, an array or a number.

    Returns
    -------
    numpy.ndarray
        A 0-d array of its dtype.

    Raises
    ------
    OpContractError
        There is no such number, or it is not known.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.get_underlying_scalar_constant_value(pt.zeros((2, 3)))
    array(0.)
    """
    if isinstance(x, Variable):
        number = known_number(x)
        if number is None or np.size(number) != 1:
            msg = f"{x} is not constant: it is not known to be one number."
            raise OpContractError(msg)
        return np.asarray(number).reshape(())
    array = np.asarray(x)
    if array.size != 1 or array.dtype.kind not in "biufc":
        msg = f"{x!r} is not one number."
        raise OpContractError(msg)
    return array.reshape(())


__dir__ = public_dir(__name__)
