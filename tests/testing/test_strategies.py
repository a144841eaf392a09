"""What the strategies promise of what they draw."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import find as find_simplest
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

import phintys
import phintys.tensor as pt
from phintys.graph import ancestors
from phintys.graph.type import generic
from phintys.scalar import ScalarType
from phintys.tensor.type import DTYPES, TensorType
from phintys.testing import Argument, Example, OpRecord
from phintys.testing.strategies import (
    LAYOUTS,
    arrays,
    arrays_for,
    axes,
    broadcastable,
    examples,
    graphs,
    lay_out,
    matmul,
    same,
    shapes,
    square,
    tensor_types,
    types,
    types_of,
)

MODES = ("reference", "debug")


def find(strategy, condition):
    """Return any example; to look for the simplest one would take long."""
    return find_simplest(
        strategy,
        condition,
        settings=settings(max_examples=5000, phases=[Phase.generate], database=None),
    )


def find_all(strategy, conditions):
    """Draw examples until each condition, given by name, has held for one of them."""
    missing = dict(conditions)

    def holds(example):
        for name in [name for name, condition in missing.items() if condition(example)]:
            del missing[name]
        return not missing

    try:
        find(strategy, holds)
    except NoSuchExample:
        pytest.fail(f"never drawn: {', '.join(missing)}")


def test_phintys_does_without_hypothesis():
    program = (
        "import sys; sys.modules['hypothesis'] = None; import phintys, phintys.testing;"
        "phintys.testing.check_op(phintys.tensor.exp, [[[0.0, 1.0]]])"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@given(arrays(), st.sampled_from(LAYOUTS))
def test_a_layout_keeps_shape_and_dtype(array, layout):
    placed = lay_out(array, layout)
    assert placed.shape == array.shape
    assert placed.dtype == array.dtype
    assert isinstance(placed, np.ndarray)
    if layout != "broadcast":
        np.testing.assert_array_equal(placed, array)
    assert not np.shares_memory(placed, array) or layout == "broadcast"


@pytest.mark.parametrize(
    ("layout", "holds"),
    [
        ("C", lambda a: a.flags.c_contiguous and a.flags.writeable),
        ("F", lambda a: a.flags.f_contiguous),
        ("stepped", lambda a: a.strides == (48, 16)),
        ("reversed", lambda a: a.strides == (-24, -8)),
        ("swapped", lambda a: a.strides == (8, 16)),
        ("broadcast", lambda a: a.strides == (0, 8) and not a.flags.writeable),
        ("read-only", lambda a: not a.flags.writeable),
        ("unaligned", lambda a: not a.flags.aligned),
    ],
)
def test_layouts(layout, holds):
    assert holds(lay_out(np.arange(6.0).reshape(2, 3), layout))


WANTED = {
    "of a dtype": lambda a: a.dtype == "complex64",
    "of four dimensions": lambda a: a.ndim == 4,
    "empty": lambda a: a.size == 0,
    "of no dimensions": lambda a: a.ndim == 0,
    "with a size of 1": lambda a: 1 in a.shape and a.size > 1,
    "read backwards": lambda a: any(stride < 0 for stride in a.strides),
    "broadcast": lambda a: a.size > 1 and 0 in a.strides,
}
WANTED_OF_A_DTYPE = {
    "float16": {"the largest float": lambda a: (a == np.finfo("float16").max).any()},
    "float32": {"NaN": lambda a: np.isnan(a).any()},
    "float64": {
        "-inf": lambda a: np.isneginf(a).any(),
        "-0.0": lambda a: (np.signbit(a) & (a == 0)).any(),
    },
    "int8": {"the least integer": lambda a: (a == -128).any()},
    "uint64": {"the largest integer": lambda a: (a == 2**64 - 1).any()},
}


def test_arrays_cover_what_needs_care():
    find_all(arrays(), WANTED)
    for dtype, conditions in WANTED_OF_A_DTYPE.items():
        find_all(arrays((dtype,)), conditions)


@given(arrays(("int8", "uint8", "float32"), interval=(0.5, 2.5), special=False))
def test_intervals(array):
    if array.dtype.kind == "f":
        assert ((array >= 0.5) & (array <= 2.5)).all()
    else:
        assert ((array >= 1) & (array <= 2)).all()


@given(arrays(("float64",), interval=(0.5, 5.5), special=False, whole=True))
def test_whole_numbers(array):
    assert (array == np.rint(array)).all()


@given(arrays(("float64",), extremes=False))
def test_extremes_can_be_left_out(array):
    assert not (np.abs(array) == np.finfo("float64").max).any()


# ---- shapes --------------------------------------------------------------------------------------


@given(st.data())
def test_relations_of_shapes(data):
    draw = data.draw
    first, second = same(2, min_dims=1)(draw)
    assert first == second
    assert len(first) >= 1
    np.broadcast_shapes(*broadcastable(3)(draw))
    assert len({*square(1)(draw)[0][-2:]}) == 1
    left, right = matmul()(draw)
    np.matmul(np.zeros(left), np.zeros(right))


@given(shapes(max_dims=3, min_side=1, max_side=2))
def test_limits_of_shapes(shape):
    assert len(shape) <= 3
    assert all(1 <= size <= 2 for size in shape)


@given(st.data())
def test_shapes_are_small(data):
    assert math.prod(data.draw(shapes())) <= 48


@given(st.data(), st.integers(0, 3))
def test_axes(data, ndim):
    np.sum(np.zeros((2,) * ndim), axis=data.draw(axes(ndim)))
    assert not isinstance(data.draw(axes(ndim, several=False)), tuple)
    if ndim:
        assert isinstance(data.draw(axes(ndim, several=False, none=False)), int)


# ---- types ---------------------------------------------------------------------------------------


@given(types())
def test_types(type_):
    assert isinstance(type_, TensorType | ScalarType) or type_ is generic


@given(tensor_types(("int8",), max_dims=2))
def test_tensor_types(type_):
    assert type_.dtype == "int8"
    assert type_.ndim <= 2


@given(st.data())
def test_types_of_an_array(data):
    array = data.draw(arrays())
    assert data.draw(types_of(array)).is_valid_value(array)
    broadcasts = data.draw(types_of(array, broadcasts=True))
    assert all(b == (n == 1) for b, n in zip(broadcasts.broadcastable, array.shape, strict=True))


# ---- examples ------------------------------------------------------------------------------------

CLIP = OpRecord(
    name="clip",
    build=pt.clip,
    reference=np.clip,
    arguments=(
        Argument(dtypes=("float32", "float64", "complex128")),
        Argument(dtypes=("float64",), interval=(-2.0, -1.0)),
        Argument(dtypes=("int8",), interval=(1.0, 2.0), int_interval=(2.0, 9.0)),
    ),
    shapes=broadcastable(3),
    params=lambda draw, sizes: {"ranks": [len(shape) for shape in sizes]},
    broadcasts=True,
)


@given(examples(CLIP))
def test_examples(example):
    assert len(example.values) == len(example.types) == 3
    np.broadcast_shapes(*(value.shape for value in example.values))
    for value, type_, argument in zip(example.values, example.types, CLIP.arguments, strict=True):
        assert type_.is_valid_value(value)
        assert value.dtype in argument.dtypes
        assert all(known == 1 for known, n in zip(type_.shape, value.shape, strict=True) if n == 1)
    assert example.params["ranks"] == [value.ndim for value in example.values]


@given(examples(CLIP, smooth=True))
def test_smooth_examples(example):
    x, low, high = example.values
    for part in (x.real, x.imag) if np.iscomplexobj(x) else (x,):
        assert ((part > -3) & (part < 3)).all()
    assert ((low > -2) & (low < -1)).all()
    assert (high == 2).all()
    assert np.unique(x).size == x.size


def test_conditions_of_smoothness():
    record = OpRecord(
        name="floor",
        build=pt.floor,
        reference=np.floor,
        arguments=(Argument(dtypes=("float64",)),),
        smooth=lambda x: x.size > 0,
    )

    @given(examples(record, smooth=True))
    def holds(example):
        assert example.values[0].size > 0

    holds()
    find(examples(record), lambda example: example.values[0].size == 0)


def test_a_draw_of_ones_own():
    arguments = (Argument(dtypes=("int8", "float64")),) * 2

    def own(draw, smooth):
        values = arrays_for(draw, arguments, [(2,), (3,)], smooth, mixed=False)
        return Example(
            tuple(values), {"smooth": smooth}, (pt.TensorType(values[0].dtype, (2,)),) * 2
        )

    record = OpRecord(name="own", build=pt.add, reference=None, draw=own)

    @given(examples(record, smooth=True), examples(record))
    def holds(smooth, wild):
        assert smooth.params == {"smooth": True}
        assert wild.params == {"smooth": False}
        assert smooth.values[0].dtype == smooth.values[1].dtype
        assert smooth.types[0].shape == (2,)

    holds()


# ---- graphs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@given(graph=graphs())
def test_graphs_have_the_values_that_come_with_them(graph, mode):
    compiled = phintys.function(graph.inputs, graph.outputs, mode=mode, on_unused_input="ignore")
    inside = {variable.type.dtype for variable in ancestors(graph.outputs)}
    for found, expected in zip(compiled(*graph.values), graph.expected, strict=True):
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        # A result is as exact as the least exact value on the way to it.
        tolerance = 1e-3 if "float32" in inside else 1e-8
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@given(graph=graphs(dtypes=("float64",), max_inputs=1, max_steps=3, max_outputs=1))
def test_limits_of_graphs(graph):
    assert len(graph.inputs) == len(graph.values) == 1
    assert len(graph.outputs) == len(graph.expected) == 1
    assert graph.inputs[0].dtype == "float64"


def test_graphs_cover_the_families():
    families = ["Softmax", "Dot", "Sum{", "Switch", "Join", "Sort", "Cum"]
    find_all(graphs(), {name: lambda graph, name=name: name in repr(graph) for name in families})


def test_graphs_use_every_dtype():
    dtypes = ("float32", "int64", "bool")
    find_all(
        graphs(),
        {name: lambda graph, name=name: graph.outputs[0].dtype == name for name in dtypes},
    )


@given(graphs(dtypes=("float64",), max_outputs=1))
def test_graphs_can_be_differentiated(graph):
    (output,) = graph.outputs
    assume(output.dtype == "float64")
    gradients = phintys.grad(pt.sum(output), graph.inputs, disconnected_inputs="ignore")
    compiled = phintys.function(graph.inputs, gradients, on_unused_input="ignore")
    for gradient, value in zip(compiled(*graph.values), graph.values, strict=True):
        assert gradient.shape == value.shape


def test_dtypes_are_all_drawn():
    for dtype in DTYPES:
        find(arrays(), lambda array, dtype=dtype: array.dtype == dtype)
