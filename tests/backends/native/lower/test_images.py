"""Native convolutions and pooling: panels, blocks of channels and parts, as in the reference."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys._base.errors import ShapeError
from phintys.backends.native.lower import images as lower_images
from phintys.backends.native.lower.graph import lower_program
from phintys.graph.fgraph import FunctionGraph
from phintys.tensor.images.convolutions import Conv
from phintys.tensor.images.pooling import MaxPool
from tests.budget import budget
from tools.native_programs import compile_program

TARGETS = st.sampled_from(["host", "x86-64-v2", "x86-64-v3"])


def whole(draw, shape, dtype):
    """Return whole numbers, whose sums of products are exact."""
    return draw.integers(-9, 10, shape).astype(dtype)


@budget(25)
@given(
    st.sampled_from(["float64", "float32"]),
    st.tuples(*[st.sampled_from([1, 2, 5])] * 3),  # images, channels, filters of a group
    st.tuples(*[st.integers(1, 2)] * 3),  # stride, dilation, groups
    st.sampled_from(["valid", "half", "full", ((2, 0), (1, 3))]),
    st.sampled_from([(1, 1), (3, 2), (2, 5)]),
    st.sampled_from([(9, 9), (5, 40), (30, 7)]),
    st.integers(0, 99),
    TARGETS,
)
def test_values_and_gradients(compare, dtype, counts, steps, padding, size, image, seed, target):
    draw = np.random.default_rng(seed)
    (n, c, o), (stride, dilation, groups) = counts, steps
    values = [
        whole(draw, (n, c * groups, *image), dtype),
        whole(draw, (o * groups, c, *size), dtype),
    ]
    x, w = (pt.tensor4(dtype=dtype) for _ in values)
    options = {"stride": stride, "dilation": dilation, "groups": groups, "padding": padding}
    y = pt.signal.conv(x, w, flip=True, **options)
    compare([x, w], [y, *phintys.grad((y * y[::-1]).sum(), [x, w])], values, target=target)


@pytest.mark.parametrize(
    ("images", "filters"),
    [
        ((1, 130, 6, 70), (70, 130, 3, 3)),  # blocks of channels; more filters than a panel
        ((20, 2, 12, 12), (3, 2, 5, 5)),  # more images than parts
        ((2, 1, 40, 40), (2, 1, 35, 36)),  # filters of more elements than a panel has rows
        ((1, 1, 1, 3000), (1, 1, 1, 3)),  # one long line
        ((40, 3, 1, 1), (7, 3, 1, 1)),
    ],
)
def test_the_same_bits_for_any_number_of_threads(images, filters):
    draw = np.random.default_rng(1)
    values = [draw.normal(size=shape).astype("float32") for shape in (images, filters)]
    x, w = pt.ftensor4("x"), pt.ftensor4("w")
    y = Conv((1, 1))(x, w)
    outputs = [y, *phintys.grad((y**2).sum(), [x, w])]
    program = lower_program(FunctionGraph([x, w], outputs, clone=True))
    first, *others = (compile_program(program, ranges=count)(*values) for count in (1, 2, 5))
    for other in others:
        for mine, its in zip(first, other, strict=True):
            np.testing.assert_array_equal(mine, its)
    expected = phintys.function([x, w], outputs, mode="reference")(*values)
    for mine, its in zip(first, expected, strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-3, atol=1e-4 * abs(its).max())


def test_scratch_memory_is_limited(monkeypatch):
    """Then there are fewer ranges, of the same sums."""
    x, w = pt.dtensor4("x"), pt.dtensor4("w")
    draw = np.random.default_rng(1)
    values = [draw.normal(size=shape) for shape in ((20, 2, 12, 12), (3, 2, 5, 5))]
    y = Conv((1, 1))(x, w)
    outputs = [y, *phintys.grad((y**2).sum(), [x, w])]
    usual = phintys.function([x, w], outputs)(*values)
    monkeypatch.setattr(lower_images, "IMAGE_SCRATCH", 1)
    f = phintys.function([x, w], outputs)
    for mine, its in zip(f(*values), usual, strict=True):
        np.testing.assert_array_equal(mine, its)


def test_views_are_read_as_they_are_seen(compare):
    x, w = pt.dtensor4("x"), pt.dtensor4("w")
    draw = np.random.default_rng(2)
    values = [whole(draw, (4, 6, 5, 2), "float64"), whole(draw, (3, 3, 2, 5), "float64")]
    y = Conv((1, 1))(x.transpose(0, 3, 2, 1), w.transpose(1, 2, 3, 0)[::-1, :, ::-1])
    compare([x, w], [y, *phintys.grad((y**2).sum(), [x, w])], values)


@pytest.mark.parametrize("empty", ["images", "channels", "filters"])
def test_without_images_channels_or_filters(compare, empty):
    count, channels, filters = (
        0 if name == empty else 2 for name in ("images", "channels", "filters")
    )
    x, w = pt.dtensor3("x"), pt.dtensor3("w")
    values = [np.ones((count, channels, 5)), np.ones((filters, channels, 3))]
    y = Conv((1,))(x, w)
    compare([x, w], [y, *phintys.grad((y**2).sum(), [x, w])], values)


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_sizes_that_do_not_match(mode):
    x, w = pt.dtensor3("x"), pt.dtensor3("w")
    f = phintys.function([x, w], pt.signal.conv(x, w, groups=2), mode=mode)
    assert f(np.ones((1, 4, 3)), np.ones((2, 2, 2))).shape == (1, 2, 2)
    for images, filters, text in (
        ((1, 3, 3), (2, 2, 2), r"images of shape \(1, 3, 3\) have 3 channels.*each of 2 groups"),
        ((1, 4, 3), (3, 2, 2), "3 filters cannot be divided into 2 equal groups"),
        ((1, 4, 3), (2, 2, 4), r"\(2, 2, 4\) do not fit on images of shape \(1, 4, 3\)"),
        ((1, 4, 3), (2, 2, 0), r"\(2, 2, 0\), without elements"),
    ):
        with pytest.raises(ShapeError, match=text):
            f(np.ones(images), np.ones(filters))


@budget(25)
@given(
    st.sampled_from(["float64", "float32"]),
    st.sampled_from([(), (3,), (2, 5)]),
    st.tuples(st.integers(1, 3), st.integers(1, 4)),
    st.tuples(st.integers(1, 3), st.integers(1, 4)),
    st.booleans(),
    st.tuples(st.sampled_from([4, 9]), st.integers(4, 70)),
    st.integers(0, 99),
    TARGETS,
)
def test_pooling(compare, dtype, lead, window, stride, partial, image, seed, target):
    draw = np.random.default_rng(seed)
    value = whole(draw, (*lead, *image), dtype)
    value.flat[seed % value.size] = draw.choice([np.nan, -np.inf, 0])
    x = pt.tensor(dtype=dtype, shape=(None,) * value.ndim)
    padding = [0 if partial else size // 2 for size in window]
    values, places = MaxPool(window, stride, padding, partial)(x)
    compare([x], [values, places, phintys.grad(values.sum(), x)], [value], target=target)


AT_THE_END_OF_A_PAGE = """
import ctypes, mmap
import numpy as np
import phintys, phintys.tensor as pt
pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
libc = ctypes.CDLL(None, use_errno=True)
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
assert libc.mprotect(start + mmap.PAGESIZE, mmap.PAGESIZE, 0) == 0  # reading there ends the process
for target in ("host", "one-lane"):
    for dtype in ("float32", "float64"):
        x = pt.matrix(dtype=dtype, shape=(None, None))
        with phintys.config.change_flags(native_target=target):
            functions = {
                (w, s): phintys.function([x], pt.signal.max_pool(x, (1, w), stride=(1, s)))
                for w in (1, 2, 3) for s in (1, 2, 3)
            }
        for columns in range(3, 44):
            before = mmap.PAGESIZE - 2 * columns * np.dtype(dtype).itemsize
            value = np.frombuffer(pages, dtype, 2 * columns, before).reshape(2, columns)
            value[:] = np.arange(2 * columns).reshape(2, columns)
            for (window, stride), f in functions.items():
                found = f(value)
                assert found.tolist() == value[:, window - 1 :: stride].tolist()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is protected by mprotect")
def test_nothing_is_read_behind_the_last_image(python_command):
    command = python_command(AT_THE_END_OF_A_PAGE)
    subprocess.run(command, check=True, timeout=300)


def test_pooling_of_views_and_volumes(compare):
    x = pt.tensor("x", dtype="float32", shape=(None,) * 4)
    value = np.random.default_rng(3).normal(size=(5, 6, 7, 8)).astype("float32")
    outputs = [
        MaxPool((2, 3, 2), (2, 1, 3))(x.transpose(3, 1, 2, 0))[0],
        pt.signal.max_pool(x[:, ::-1, ::2, 1:], (2, 2), stride=(1, 2)),
        pt.signal.average_pool(x, (3, 3), stride=2, padding=1, count_padding=False),
    ]
    compare([x], outputs, [value])


def test_a_layer_has_no_callback():
    x, w = pt.ftensor4("x"), pt.ftensor4("w")
    y = pt.signal.max_pool(pt.tanh(pt.signal.conv(x, w)), 2)
    f = phintys.function([x, w], [y, *phintys.grad(y.sum(), [x, w])], mode="native")
    text = f.explain()
    assert "callback" not in text
    assert "elements of filters]" in text
    assert "[windows 1 x 2 x 2]" in text
