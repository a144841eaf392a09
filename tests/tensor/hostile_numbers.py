"""A walk over all functions and Ops that take integer parameters, with numbers that no array has.

    python hostile_numbers.py 1

Calls are taken from the examples of all records, and Ops from the graphs that these build: whatever
has an integer among its parameters, or in a sequence that is one, is called with hostile numbers in
its place. A graph, or an error of the library, must be the answer at once; in little memory; and
what can be built must compute the same in the reference backend as NumPy, where NumPy answers. The
process must survive. (``backends/native/lengths.py`` does this with lengths known at run time only,
in both backends.)
"""

import resource
import signal
import sys
import warnings
from inspect import signature
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import phintys
from phintys._base.errors import PhintysError
from phintys.compile import Mode
from phintys.graph.traversal import applys_between
from phintys.passes import PIPELINES
from phintys.testing.strategies import examples

sys.path.insert(0, str(Path(__file__).parents[1] / "records"))
from conftest import RECORDS

NUMBERS = [-(2**64), -(2**63), -1, 0, 2**31, 2**61, 2**63 - 1, 2**64]
MODE = Mode("reference", PIPELINES["none"])
BYTES = 2**30
"""How much memory the process may have on top of what it needs by itself."""

SECONDS = 5
"""How long an answer may take: most take a thousandth."""


class LateError(BaseException):
    """It took too long."""


def is_late(*_):
    raise LateError


def places(value):
    """Yield functions that put a number in each place of a parameter where there is an integer."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        yield lambda number: number
    elif type(value) in {tuple, list}:
        for at, one in enumerate(value[:2]):
            for place in places(one):
                yield lambda number, at=at, place=place: type(value)(
                    [*value[:at], place(number), *value[at + 1 :]]
                )


def example_of(record):
    """Return an example of a record."""
    found = []

    @settings(
        max_examples=1,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def look(data):
        found.append(data.draw(examples(record)))

    look()
    return found[0]


def answer(function, *args, **kwargs):
    """Return what a call returns or raises, or a word for what must not be."""
    signal.setitimer(signal.ITIMER_REAL, SECONDS, SECONDS)
    try:
        return function(*args, **kwargs)
    except LateError:
        return "no answer"
    except MemoryError as error:
        return error if str(error) else "a MemoryError without a name"
    except PhintysError as error:
        return error
    except Exception as error:  # noqa: BLE001 - it is reported
        return f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def differ(found, expected):
    """Return whether values are not those of NumPy."""
    if not isinstance(expected, list | tuple):
        expected = [expected]
    return len(found) != len(expected) or any(
        np.shape(one) != np.shape(other)
        or not np.allclose(one, other, rtol=1e-3, atol=1e-3, equal_nan=True)
        for one, other in zip(found, expected, strict=True)
        if np.size(one) and np.asarray(one).dtype.kind in "fciub"
    )


def check_call(record, example, params):
    """Return what is wrong with a call of a function, if anything is."""
    inputs = [type_() for type_ in example.types]
    built = answer(record.build, *inputs, **params)
    if isinstance(built, str | Exception):
        return built if isinstance(built, str) else None
    outputs = list(built) if isinstance(built, list | tuple) else [built]
    f = phintys.function(inputs, outputs, mode=MODE, on_unused_input="ignore")
    found = answer(f, *example.values)
    if isinstance(found, str | Exception) or record.reference is None:
        return found if isinstance(found, str) else None
    with np.errstate(all="raise"):  # where NumPy's numbers overflow, it is no reference
        expected = answer(record.reference, *example.values, **params)
    if isinstance(expected, str | Exception) or not differ(found, expected):
        return None
    return f"{found} instead of {expected}"


def check_op(node, props):
    """Return what is wrong with an Op, if anything is."""
    op = answer(type(node.op), *props)
    if not isinstance(op, str | Exception):
        op = answer(op.make_node, *node.inputs)
    return op if isinstance(op, str) else None


def props_of(op):
    """Return the props of an Op if these, in this order, make another one."""
    names = getattr(type(op), "__props__", None) or ()
    if list(names) != list(signature(type(op)).parameters)[: len(names)]:
        return []
    values = [getattr(op, name, None) for name in names]
    return values if any(list(places(value)) for value in values) else []


def walk(every):
    """Yield what is wrong, for each ``every``-th record."""
    ops = {}
    calls = 0
    for record in RECORDS[::every]:
        takes_params = record.params is not None or record.draw is not None
        if not takes_params and not any(isinstance(op, type) for op in record.ops):
            continue
        example = example_of(record)
        for name, value in example.params.items():
            for place in places(value):
                for number in NUMBERS:
                    params = {**example.params, name: place(number)}
                    calls += 1
                    sys.stderr.write(f"{record.name} {params}\n")  # the last line is of a crash
                    wrong = check_call(record, example, params)
                    if wrong is not None:
                        yield f"{record.name}, {name}={params[name]}: {wrong}"
        if record.ops:
            inputs = [type_() for type_ in example.types]
            built = record.build(*inputs, **example.params)
            outputs = list(built) if isinstance(built, list | tuple) else [built]
            for node in applys_between(inputs, outputs):
                ops.setdefault(type(node.op), node)
    for kind, node in ops.items():
        props = props_of(node.op)
        for at, value in enumerate(props):
            for place in places(value):
                for number in NUMBERS:
                    changed = [*props[:at], place(number), *props[at + 1 :]]
                    calls += 1
                    sys.stderr.write(f"{kind.__name__} {changed}\n")
                    wrong = check_op(node, changed)
                    if wrong is not None:
                        yield f"{kind.__name__}{tuple(changed)}: {wrong}"
    sys.stdout.write(f"{calls} calls\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, is_late)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, used + BYTES))
    found = list(walk(int(sys.argv[1])))
    sys.stdout.write("\n".join([*found, ""]))
    sys.exit(bool(found))
