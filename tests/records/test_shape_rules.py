"""The types and the inferred shapes of nodes are what the shape rules of their Ops say."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phintys.graph.traversal import toposort
from phintys.tensor import TensorType
from phintys.tensor.shape_rules import ShapedOp
from phintys.testing.strategies import examples


def _variables(example, are_known):
    """Return inputs for an example, of which all sizes are known or those that must be."""
    for number, (type_, value) in enumerate(zip(example.types, example.values, strict=True)):
        is_array = are_known and isinstance(type_, TensorType)
        yield (type_.clone(shape=value.shape) if is_array else type_)(f"x{number}")


@pytest.mark.sampled(3)
@settings(max_examples=1, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_types_have_the_shapes_of_the_rule(any_record, data):
    example = data.draw(examples(any_record))
    for are_known in (False, True):
        outputs = any_record.build(*_variables(example, are_known), **example.params)
        outputs = outputs if isinstance(outputs, list | tuple) else [outputs]
        for node in toposort(outputs):
            if isinstance(node.op, ShapedOp):
                shapes = [getattr(out.type, "shape", None) for out in node.outputs]
                assert node.op.static_shapes(node.inputs) == shapes
