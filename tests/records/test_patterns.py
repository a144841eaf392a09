"""The sparsity pattern of every Op and function contains all that changes with an input."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import phintys
from phintys._base.errors import ShapeError
from phintys.gradient import sparsity
from phintys.tensor.type import TensorType
from phintys.testing.records import Example
from phintys.testing.strategies import examples

STEP = 1e-4
MOST_MOVED = 12  # elements of an input


def is_continuous(type_):
    return isinstance(type_, TensorType) and type_.numpy_dtype.kind in "fc"


def listed(outputs):
    return list(outputs) if isinstance(outputs, list | tuple) else [outputs]


SIZES_OF_VALUES = {
    "arange of floats",
    "extract",
    "intersect1d",
    "intersect1d with indices",
    "nonzero_values",
    "setdiff1d",
    "setxor1d",
    "trim_zeros",
    "union1d",
    "unique",
    "unique along an axis",
    "unique_all",
    "unique_counts, unique_inverse and unique_values",
}
"""Records whose results have sizes that depend on values."""


@settings(
    max_examples=max(1, settings().max_examples // 50),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(data=st.data())
def test_an_output_changes_with_the_inputs_of_its_pattern_only(any_record, data):
    case = any_record
    if case.differentiable == ():
        pytest.skip("The derivative is deliberately not that of the function.")
    example = Example.of(data.draw(examples(case, smooth=True), "example"))
    if any(destroys(output) for output in built(case, example)[1]):
        pytest.skip("Users do not call Ops that overwrite their inputs.")
    if case.name in SIZES_OF_VALUES:
        with pytest.raises(ShapeError, match="needs to know all sizes"):
            check(case, example)
    else:
        check(case, example)


def destroys(output):
    return output.owner is not None and bool(output.owner.op.destroy_map)


def built(record, example):
    variables = [type_() for type_ in example.types]
    return variables, listed(record.build(*variables, **example.params))


def check(record, example):
    variables, results = built(record, example)
    outputs = [output for output in results if is_continuous(output.type)]
    moving = [at for at, type_ in enumerate(example.types) if is_continuous(type_)]
    if not outputs or not moving:
        return
    wrt = [variables[at] for at in moving]
    rest = [at for at in range(len(variables)) if at not in moving]
    patterns = sparsity(
        outputs,
        wrt,
        sizes={variables[at]: example.values[at].shape for at in moving},
        givens={
            variables[at]: example.values[at]
            for at in rest
            if isinstance(example.types[at], TensorType)
        },
        ops_without_rule="ignore",
    )
    f = phintys.function(variables, outputs, mode="reference", on_unused_input="ignore")
    before = [np.array(value) for value in f(*copies(example.values))]
    for number, at in enumerate(moving):
        x = example.values[at]
        for place in range(min(x.size, MOST_MOVED)):
            values = copies(example.values)
            moved = np.array(x)
            moved.flat[place] += STEP * max(1, abs(moved.flat[place]))
            values[at] = moved
            for output, (value, former) in enumerate(zip(f(*values), before, strict=True)):
                changed = ~np.isclose(value, former, rtol=1e-9, atol=1e-12, equal_nan=True).ravel()
                found = patterns[output][number][:, [place]].toarray().ravel()
                assert not np.any(changed & ~found), (output, at, place)


def copies(values):
    return [np.array(one) if isinstance(one, np.ndarray) else one for one in values]
