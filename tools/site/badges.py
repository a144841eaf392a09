"""What functions of arrays can do: found by applying them to what records draw for them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from hypothesis import Phase, find, settings
from hypothesis.errors import HypothesisException

import phintys
import phintys.tensor as pt
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.program import walk_steps
from phintys.backends.native.steps.callback import Callback
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.variable import Variable
from phintys.tensor.elemwise import Elemwise
from phintys.testing import OpRecord
from phintys.testing.strategies import examples
from tests.records.conftest import RECORDS
from tools.site.families import families

__all__ = ["badges"]


def badges() -> dict[int, tuple[str, ...]]:
    """Return "gradient", and "native" or "python", by the identity of a function.

    Functions that are not elementwise and of which no record is made are left out.
    """
    found: dict[int, tuple[str, ...]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for thing, inputs, outputs in _applied():
            marks = ("gradient",) if _has_gradient(outputs, inputs) else ()
            found[id(thing)] = (*marks, "native" if _is_native(outputs, inputs) else "python")
    return found


def _applied() -> Iterator[tuple[Any, list[Any], list[Any]]]:
    """Yield functions, and inputs and outputs of a use of each."""
    for name in pt.__all__:
        thing = getattr(pt, name)
        if isinstance(thing, Elemwise):
            inputs = _floats(thing)
            try:
                yield thing, inputs, [thing(*inputs)]
            except phintys.PhintysError:  # of integers only
                inputs = [pt.lvector() for _ in inputs]
                yield thing, inputs, [thing(*inputs)]
    public = {id(thing) for group in families().values() for thing in group.values()}
    builds = {id(record.build): record for record in RECORDS}
    once = settings(max_examples=20, database=None, derandomize=True, phases=[Phase.generate])
    for record in (record for build, record in builds.items() if build in public):
        if isinstance(record.build, Elemwise):
            continue
        try:
            example = find(examples(_of_floats(record)), _is_common, settings=once)
        except HypothesisException:
            continue
        inputs = [one() for one in example.types]
        outputs = record.build(*inputs, **example.params)
        yield (
            record.build,
            inputs,
            list(outputs) if isinstance(outputs, list | tuple) else [outputs],
        )


def _of_floats(record: OpRecord) -> OpRecord:
    """Return a record that draws float64 for what may be floats."""
    arguments = [
        replace(one, dtypes=("float64",)) if "float64" in one.dtypes else one
        for one in record.arguments
    ]
    return replace(record, arguments=tuple(arguments))


def _is_common(example: Any) -> bool:
    """Return whether the numbers of an example are those of most programs."""
    dtypes = {getattr(one, "dtype", "") for one in example.types}
    return "float64" in dtypes and dtypes <= {"float64", "int64", "bool"}


def _floats(thing: Elemwise) -> list[Any]:
    many = thing.scalar_op.nin
    return [pt.dvector() for _ in range(many if many > 0 else 2)]


def _has_gradient(outputs: Iterable[Any], inputs: Iterable[Any]) -> bool:
    wrt = [one for one in inputs if one.type.dtype.startswith("float")]
    try:
        cost = sum(one.sum() for one in outputs if one.type.dtype.startswith("float"))
        return bool(wrt) and isinstance(cost, Variable) and bool(phintys.grad(cost, wrt))
    except (phintys.PhintysError, AttributeError):
        return False


def _is_native(outputs: list[Any], inputs: list[Any]) -> bool:
    fgraph = FunctionGraph(inputs, outputs, clone=True)
    return not any(isinstance(step, Callback) for step in walk_steps(lower_program(fgraph).steps))
