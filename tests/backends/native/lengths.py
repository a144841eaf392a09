"""A walk over all Ops that take lengths, which are called with lengths that no array has.

    python lengths.py 3

takes each third of the records.

Nodes are taken from the graphs of all records and of draws from all distributions: all that have a
0-d integer among their inputs and an array among their outputs, so a new Op is among them. Each is
called with the integer as an argument, for hostile values of it, as a result and as an
intermediate, in the native and in the reference backend. Both must return the same value, or raise
the same error of the library, and the process must survive.

A number of elements that would fit into the address space is allowed to be too much for one
backend only: native code need not have an array that nobody looks at. Native code has memory for
the steps of a loop before it, so it may lack some for steps that the reference backend never runs.
"""

import resource
import sys
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys import random
from phintys._base.errors import ArgumentError, IndexingError, PhintysError, ShapeError
from phintys.graph.inner import HasInnerGraph
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.traversal import ancestors
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.indexing.advanced import AdvancedSubtensor
from phintys.tensor.type import TensorType
from phintys.testing._trial import evaluate, start
from phintys.testing.strategies import examples

RECORDS_OF = Path(__file__).parents[2] / "records"
sys.path.insert(0, str(RECORDS_OF))
from conftest import RECORDS  # noqa: E402 - found by the line above

LENGTHS = [-1, 0, -(2**31), 2**31, -(2**61), 2**61 - 1, 2**61, 2**62, 2**63 - 1, -(2**63)]
SMALL = 2**40
"""Lengths below are refused for lack of memory; whether they are depends on the backend."""

BYTES = 2**30
"""How much memory the process may have on top of what it needs by itself."""


class Case:
    """A node of which an integer is replaced by an argument.

    Parameters
    ----------
    name
        Where the node was found.
    node
        The node.
    values
        Its inputs.
    at
        The position of the input: an integer, or a vector whose first element is replaced.
    """

    def __init__(self, name, node, values, at):
        self.name, self.node, self.values, self.at = name, node, values, at

    @property
    def key(self):
        """Return what makes the case different from others."""
        ndims = tuple(getattr(one.type, "ndim", None) for one in self.node.inputs)
        return type(self.node.op), ndims, self.at

    def build(self):
        """Return the argument, and the arrays that the Op makes of it."""
        length = pt.lscalar("length")
        inputs = [
            variable.type.make_constant(value)
            for variable, value in zip(self.node.inputs, self.values, strict=True)
        ]
        given = pt.cast(length, inputs[self.at].type.dtype)
        if inputs[self.at].type.ndim:
            given = pt.stack([given, *self.values[self.at][1:]])
        inputs[self.at] = given
        made = self.node.op.make_node(*inputs).outputs
        return length, [out for out in made if isinstance(out.type, TensorType)]


def is_length(variable, value):
    """Return whether a variable may be a length, or hold a few of them."""
    type_ = variable.type
    is_integer = isinstance(type_, TensorType) and type_.numpy_dtype.kind in "iu"
    return is_integer and (type_.ndim == 0 or (type_.ndim == 1 and 1 <= value.size <= 4))


def is_varied(array):
    """Return whether elements differ: a rule replaces others by one element, without an index."""
    return array.size > 1 and bool(np.any(array != array.flat[0]))


def cases_of(name, node, values):
    """Yield the cases of a node."""
    is_array = any(isinstance(out.type, TensorType) and out.type.ndim for out in node.outputs)
    if not is_array or isinstance(node.op, Elemwise) or node.op.destroy_map:
        return
    if isinstance(node.op, AdvancedSubtensor) and not is_varied(values[0]):
        return
    pattern = getattr(node.op, "connection_pattern", None)
    connected = [[True]] * len(node.inputs) if pattern is None else pattern(node)
    for at, (variable, value) in enumerate(zip(node.inputs, values, strict=True)):
        if is_length(variable, value) and (variable.type.ndim == 0 or not any(connected[at])):
            yield Case(name, node, values, at)


def cases_of_record(record):
    """Yield the cases of a record, from a few examples."""
    found = []

    @settings(
        max_examples=4,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def look(data):
        for run in start(record, data.draw(examples(record))).runs:
            found.extend(cases_of(record.name, run.node, run.values))

    look()
    return found


def cases_of_draws():
    """Yield the cases of what draws are made of."""
    rng, n = random.default_rng(3), pt.lscalar("n")
    weights = np.array([0.25, 0.75, 0.0])
    draws = {
        "normal": rng.normal(size=(n,)),
        "poisson": rng.poisson(3.0, size=(n,)),
        "binomial": rng.binomial(10, 0.3, size=(n,)),
        "gamma": rng.gamma(2.0, size=(n,)),
        "integers": rng.integers(0, 10, size=(n, 2)),
        "permutation": rng.permutation(n),
        "choice": rng.choice(5, n),
        "choice of some": rng.choice(20, n, replace=False),
        "choice by weights": rng.choice(3, n, p=weights),
        "choice of some by weights": rng.choice(3, n - 1, p=weights, replace=False),
        "categorical": rng.categorical(weights, size=(n,)),
        "directions": rng.uniform_direction(3, size=(n,)),
        "multivariate normal": rng.multivariate_normal(np.zeros(2), np.eye(2), size=(n,)),
    }
    for name, drawn in draws.items():
        numbers = drawn[1] if isinstance(drawn, (list, tuple)) else drawn
        known = {n: np.array(3)}
        known.update(
            {
                one: one.get_value()
                for one in ancestors([numbers])
                if isinstance(one, SharedVariable)
            }
        )
        for run in evaluate([numbers], known):
            yield from cases_of(name, run.node, run.values)


def distinct(*several):
    """Return one case for each kind of node."""
    cases = {}
    for found in several:
        for case in found:
            cases.setdefault(case.key, case)
    return list(cases.values())


def outcome(function, length):
    """Return what a call returns or raises, in a form that can be compared."""
    try:
        found = function(length)
    except MemoryError:
        return "memory"
    except PhintysError as error:
        kinds = (ShapeError, IndexingError, ArgumentError)
        kind = next((kind.__name__ for kind in kinds if isinstance(error, kind)), "")
        (first, *_) = str(error).split("\n")
        return f"{kind}. {first}" if kind else repr(error)
    except IndexError:
        return "IndexError"  # NumPy's
    except Exception as error:  # noqa: BLE001 - it is reported
        return f"unexpected {type(error).__name__}: {error}"
    return [(one.shape, one.ravel()[:9].tolist()) for one in found]


def agree(native, reference, length, op):
    """Return whether two backends agree."""
    if isinstance(native, str) and native.startswith(("unexpected", "IntegrityError")):
        return False
    if native == "memory" and isinstance(op, HasInnerGraph):
        return True
    return native == reference or (abs(length) < SMALL and "memory" in (native, reference))


def check_length(case):
    """Yield how the backends differ for a length."""
    for form in ("result", "intermediate"):
        length, outputs = case.build()
        if form == "intermediate":
            outputs = [pt.cumsum(one.flatten())[-1:] for one in outputs]
        native, reference = (
            phintys.function([length], outputs, mode=mode) for mode in ("native", "reference")
        )
        for value in LENGTHS:
            found = [outcome(one, value) for one in (native, reference)]
            if not agree(*found, value, case.node.op):
                yield f"{case.name}: {case.node.op}, input {case.at} = {value}, {form}: {found}"


def walk(cases):
    """Check all cases in little memory; return whether one is wrong."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, used + BYTES))
    wrong = []
    for case in cases:
        sys.stdout.write(f"{case.name} {case.key}\n")
        sys.stdout.flush()  # the last line is that of a crash
        wrong += check_length(case)
    sys.stdout.write("\n".join([f"{len(cases)} cases", *wrong, ""]))
    return bool(wrong)


if __name__ == "__main__":
    found = (cases_of_record(record) for record in RECORDS[:: int(sys.argv[1])])
    sys.exit(walk(distinct(*found, cases_of_draws())))
