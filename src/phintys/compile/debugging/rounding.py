"""How much rounding alone can change the value of an expression.

Two expressions that are mathematically equal can differ numerically, sometimes a lot: in
``(a + b) - b`` all digits of ``a`` can be lost. To distinguish this from a mistake, an expression
is computed several times with the inputs of every node perturbed by a few units in the last place:
differences up to the resulting spread are attributed to rounding. (This is the idea of stochastic
arithmetic: J. Vignes, *A stochastic arithmetic for reliable scientific computation*, Mathematics
and Computers in Simulation 35, 1993.)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.compile.debugging.running import protected, run_node
from phintys.graph.traversal import toposort
from phintys.graph.variable import Constant

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

    Values = Mapping[Variable, Any]

_SAMPLES = 8
_UNITS = 4.0  # in the last place, the size of perturbations
_EXACT = 1e6  # constants that are integers below this are not perturbed
_SAFETY = 8.0  # factor allowed beyond the observed spread


def _perturbed(value: Any, rng: np.random.Generator) -> Any:
    """Return a float array with every element perturbed by a few units in the last place."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fc":
        return value
    unit = _UNITS * float(np.finfo(value.dtype).eps)
    noise = 1.0 + unit * rng.uniform(-1.0, 1.0, value.shape)
    perturbed = np.where(np.isfinite(value), value * noise, value)
    return np.asarray(perturbed).astype(value.dtype)


def _perturbed_constant(value: Any, rng: np.random.Generator) -> Any:
    """Return a perturbed constant; small integers, such as exponents, are kept."""
    perturbed = _perturbed(value, rng)
    if perturbed is value:
        return value
    is_exact = (np.abs(value) < _EXACT) & (value == np.rint(value))
    return np.where(is_exact, value, perturbed).astype(value.dtype)


def _recompute(
    nodes: Sequence[Apply], known: Values, rng: np.random.Generator | None
) -> dict[Variable, Any]:
    """Compute nodes again, with perturbed values if a generator is given."""
    found: dict[Variable, Any] = {}
    for node in nodes:
        values = [
            x.data if isinstance(x, Constant) else found.get(x, known.get(x)) for x in node.inputs
        ]
        if rng is not None:
            values = [
                _perturbed_constant(value, rng)
                if isinstance(x, Constant)
                else _perturbed(value, rng)
                for x, value in zip(node.inputs, values, strict=True)
            ]
        found.update(zip(node.outputs, run_node(node, protected(node, values)), strict=True))
    return found


def spread(nodes: Sequence[Apply], variable: Variable, known: Values) -> Any:
    """Return how much each element of an array changes under perturbation.

    Parameters
    ----------
    nodes
        The nodes to compute, in this order, from values in ``known``.
    variable
        The variable of interest.
    known
        Values of the variables that the nodes read, and of ``variable``.

    Returns
    -------
    array of float64
        Distances; infinite where the value is only sometimes finite.
    """
    base = np.asarray(known[variable])
    moved = np.zeros(base.shape)
    if not nodes:
        return moved
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        again = _recompute(nodes, known, None).get(variable, base)
        if np.shape(again) != base.shape or _distances(np.asarray(again), base).any():
            return moved  # it is not reproducible, which rounding does not explain
        for _ in range(_SAMPLES):
            try:
                sample = np.asarray(_recompute(nodes, known, rng).get(variable, base))
            except Exception:  # noqa: BLE001 - an Op may reject perturbed values
                return np.full(base.shape, np.inf)
            if sample.shape != base.shape:
                return np.full(base.shape, np.inf)
            moved = np.maximum(moved, _distances(sample, base))
    return moved


def _distances(a: Any, b: Any) -> Any:
    """Return the distance of each element; 0 between equal ones and between NaNs."""
    wide = "complex128" if "c" in {a.dtype.kind, b.dtype.kind} else "float64"
    same = (a == b) | ((a != a) & (b != b))  # noqa: PLR0124 - NaN
    with np.errstate(all="ignore"):
        distances = np.abs(a.astype(wide) - b.astype(wide))
    return np.where(same, 0.0, np.where(np.isnan(distances), np.inf, distances))


def rounding_explains(a: Any, b: Any, moved: Any) -> bool:
    """Return whether rounding explains the difference between two arrays.

    Parameters
    ----------
    a, b
        Arrays.
    moved
        The sum of the results of :func:`spread` for them.
    """
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return False
    if a.dtype != b.dtype or a.shape != b.shape or a.dtype.kind not in "biufc":
        return False
    unit = float(np.finfo(a.dtype).eps) if a.dtype.kind in "fc" else 0.0
    with np.errstate(all="ignore"):
        size = np.nan_to_num(np.maximum(np.abs(a), np.abs(b)).astype("float64"), posinf=0.0)
    return bool((_distances(a, b) <= _SAFETY * (moved + unit * size)).all())


def overflows_midway(nodes: Sequence[Apply], known: Values, *, poles: bool) -> bool:
    """Return whether an intermediate step of a computation overflows for finite inputs.

    Parameters
    ----------
    nodes
        The nodes to compute, in this order.
    known
        Values of the variables that the nodes read.
    poles
        Whether division by zero and invalid operations such as 0/0 count as well.
    """
    found: dict[Variable, Any] = {}
    states: Any = {"over": "raise", "divide": "raise" if poles else "ignore"}
    states["invalid"] = states["divide"]
    for node in nodes:
        values = [
            x.data if isinstance(x, Constant) else found.get(x, known.get(x)) for x in node.inputs
        ]
        try:
            with np.errstate(under="ignore", **states):
                results = run_node(node, protected(node, values), quiet=False)
        except FloatingPointError:
            return True
        except Exception:  # noqa: BLE001 - another mistake, which is reported elsewhere
            return False
        found.update(zip(node.outputs, results, strict=True))
        if poles and _becomes_infinite(values, results):
            return True
    return False


def _becomes_infinite(values: Sequence[Any], results: Sequence[Any]) -> bool:
    return _are_finite(values) and not _are_finite(results)


def _are_finite(values: Sequence[Any]) -> bool:
    return all(
        bool(np.isfinite(value).all())
        for value in values
        if isinstance(value, np.ndarray) and value.dtype.kind in "fc"
    )


def nodes_between(variable: Variable, given: Collection[Variable]) -> list[Apply]:
    """Return the nodes that compute a variable from others, in order."""
    return [] if variable in given else toposort([variable], blockers=given)
