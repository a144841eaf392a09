"""Convolutions and pooling of images, against SciPy's correlations and loops over windows."""

from itertools import product

import numpy as np
import scipy.signal
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.tensor.images.convolutions import Conv, ConvByFilters, ConvByImages
from phintys.tensor.images.pooling import MaxPool
from phintys.testing import Example, OpRecord, Tolerance

SUMMED = Tolerance("sums are taken in another order", ulps=2**8, normwise=True)
DTYPES = ("float64", "float32", "complex128", "int64")
SMOOTH = ("float64", "complex128")
RULES = {"half": lambda reach: (reach // 2,) * 2, "full": lambda reach: (reach - 1,) * 2}


def numbers(draw, shape, dtypes):
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    x = rng.uniform(-3, 3, shape)
    dtype = draw(st.sampled_from(dtypes))
    return (x + 1j * rng.uniform(-3, 3, shape) if dtype[0] == "c" else x).astype(dtype)


def _geometry(draw):
    """Draw the shapes of images, filters and results, and the options of a convolution."""
    ndim = draw(st.sampled_from((1, 2, 2, 3)))
    groups = draw(st.integers(1, 2))
    count, out, inner = draw(st.integers(0, 2)), draw(st.integers(0, 2)), draw(st.integers(0, 2))
    stride, padding, dilation, lengths, sizes, places = [], [], [], [], [], []
    for _ in range(ndim):
        stride.append(draw(st.integers(1, 3)))
        dilation.append(draw(st.integers(1, 2)))
        sizes.append(draw(st.integers(1, 3)))
        reach = (sizes[-1] - 1) * dilation[-1] + 1
        pads = st.tuples(st.integers(0, 2), st.integers(0, 2))
        padding.append(draw(st.sampled_from(("half", "full")) | pads))
        before, behind = RULES.get(padding[-1], lambda reach: padding[-1])(reach)
        lengths.append(max(reach - before - behind, 0) + draw(st.integers(0, 4 - ndim)))
        places.append((lengths[-1] + before + behind - reach) // stride[-1] + 1)
    images = (count, inner * groups, *lengths)
    filters = (out * groups, inner, *sizes)
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return images, filters, (count, out * groups, *places), options


def _types(draw, arrays):
    """Know all sizes, or those that are 1."""
    known = draw(st.booleans())
    return tuple(
        pt.TensorType(x.dtype, [n if known or n == 1 else None for n in x.shape]) for x in arrays
    )


def _draw(*roles, computed=None):
    def draw_example(draw, smooth):
        *shapes, options = _geometry(draw)
        dtypes = SMOOTH if smooth else DTYPES
        arrays = tuple(numbers(draw, shapes[role], dtypes) for role in roles)
        if computed is not None:
            options["sizes"] = shapes[computed][2:]
        return Example(arrays, options, _types(draw, arrays))

    return draw_example


def _apply(op):
    def build(first, second, stride, padding, dilation, groups, sizes=()):
        return op(stride, padding, dilation, groups)(first, second, *sizes)

    return build


def _pads(padding, filters, dilation):
    reaches = [(k - 1) * step + 1 for k, step in zip(filters[2:], dilation, strict=True)]
    return [
        RULES[one](reach) if isinstance(one, str) else one
        for one, reach in zip(padding, reaches, strict=True)
    ]


def correlated(x, w, stride, padding, dilation, groups):
    """Return SciPy's correlations of padded images with filters that zeros spread."""
    x = np.pad(x, [(0, 0), (0, 0), *_pads(padding, w.shape, dilation)])
    reaches = [(k - 1) * step + 1 for k, step in zip(w.shape[2:], dilation, strict=True)]
    spread = np.zeros((*w.shape[:2], *reaches), w.dtype)
    spread[(..., *(slice(None, None, step) for step in dilation))] = w
    steps = tuple(slice(None, None, step) for step in stride)
    places = [
        len(range(0, n - reach + 1, step))
        for n, reach, step in zip(x.shape[2:], reaches, stride, strict=True)
    ]
    out = np.zeros((len(x), len(w), *places), np.result_type(x, w))
    inner = w.shape[1]
    for n, o, c in product(range(len(x)), range(len(w)), range(inner)):
        channel = o // (len(w) // groups) * inner + c
        found = scipy.signal.correlate(x[n, channel], spread[o, c].conj(), "valid", "direct")
        out[n, o] += found[steps]
    return out


def _terms(images, filters, result, stride, padding, dilation, groups):
    """Yield the indices of the products: of an image, of a filter, and of the result."""
    pads = _pads(padding, filters, dilation)
    per_group = filters[0] // groups if groups else 0
    for n, o, c in product(range(images[0]), range(filters[0]), range(filters[1])):
        channel = o // per_group * filters[1] + c
        for place in product(*map(range, result[2:])):
            for k in product(*map(range, filters[2:])):
                axes = zip(place, stride, k, dilation, pads, strict=True)
                at = tuple(j * s + i * d - before for j, s, i, d, (before, _) in axes)
                if all(0 <= i < size for i, size in zip(at, images[2:], strict=True)):
                    yield (n, channel, *at), (o, c, *k), (n, o, *place)


def _of_images(w, g, sizes, **options):
    images = (len(g), w.shape[1] * options["groups"], *sizes)
    out = np.zeros(images, np.result_type(w, g))
    for image, of_filter, place in _terms(images, w.shape, g.shape, **options):
        out[image] += w[of_filter] * g[place]
    return out


def _of_filters(x, g, sizes, **options):
    filters = (g.shape[1], x.shape[1] // options["groups"], *sizes)
    out = np.zeros(filters, np.result_type(x, g))
    for image, of_filter, place in _terms(x.shape, filters, g.shape, **options):
        out[of_filter] += x[image] * g[place]
    return out


def _pooled(draw, smooth):
    ndim = draw(st.integers(1, 3))
    lead = tuple(draw(st.lists(st.integers(0, 2), max_size=2)))
    window = [draw(st.integers(1, 3)) for _ in range(ndim)]
    partial = draw(st.booleans())
    padding = [0 if partial else draw(st.integers(0, size - 1)) for size in window]
    least = [
        max(1, 1 if partial else size - 2 * pad) for size, pad in zip(window, padding, strict=True)
    ]
    shape = (*lead, *(n + draw(st.integers(0, 3)) for n in least))
    stride = [draw(st.integers(1, 3)) for _ in range(ndim)]
    dtypes = ("float64",) if smooth else ("float64", "float32", "int64", "bool", "uint8")
    x = numbers(draw, shape, ("float64",))
    if not smooth and x.size:
        x = np.round(x)  # so that elements are equal
        x.flat[draw(st.integers(0, x.size - 1))] = draw(st.sampled_from((np.nan, -np.inf, 0.0)))
        x = np.nan_to_num(x, neginf=-9) if (dtype := draw(st.sampled_from(dtypes)))[0] != "f" else x
        x = np.abs(x).astype(dtype) if dtype[0] == "u" else x.astype(dtype)
    options = {"window": window, "stride": stride, "padding": padding, "partial": partial}
    return Example((x,), options, _types(draw, (x,)))


def _starts(length, window, stride, padding, partial):
    """Return where windows begin: while whole ones fit, or up to the one that reaches the end."""
    starts = []
    at = -padding
    while at < length if partial else at + window <= length + padding:
        starts.append(at)
        if partial and at + window >= length and stride < window:
            break
        at += stride
    return starts


def _largest(x, window, stride, padding, partial):
    lead = x.ndim - len(window)
    sizes = x.shape[lead:]
    starts = [_starts(*axis, partial) for axis in zip(sizes, window, stride, padding, strict=True)]
    values = np.zeros((*x.shape[:lead], *map(len, starts)), x.dtype)
    places = np.zeros(values.shape, np.int64)
    grid = np.arange(np.prod(sizes)).reshape(sizes)
    for index in np.ndindex(values.shape):
        corner = [some[i] for some, i in zip(starts, index[lead:], strict=True)]
        part = tuple(slice(max(at, 0), at + size) for at, size in zip(corner, window, strict=True))
        inside = x[index[:lead]][part]
        values[index] = inside.max()
        places[index] = grid[part].reshape(-1)[inside.reshape(-1).argmax()]
    return [values, places]


def _distinct(x, **_):
    return x.size < 2 or np.min(np.diff(np.sort(x, axis=None))) > 1e-3


def _with_rules(draw, smooth):
    """Draw one option for all axes, and filters of unknown sizes."""
    x = numbers(draw, (2, 2, 5, 6), SMOOTH)
    w = numbers(draw, (3, 2, draw(st.integers(1, 3)), draw(st.integers(1, 3))), SMOOTH)
    options = {
        "stride": draw(st.integers(1, 2)),
        "padding": draw(st.sampled_from(("valid", "half", "full", 1))),
        "flip": draw(st.booleans()),
    }
    return Example((x, w), options, _types(draw, (x, w)))


def _convolved(x, w, stride, padding, flip):
    w = w[:, :, ::-1, ::-1] if flip else w
    pads = {"valid": (0, 0), 1: (1, 1)}.get(padding, padding)
    return correlated(x, w, (stride,) * 2, (pads,) * 2, (1, 1), 1)


def _transposed(draw, smooth):
    g = numbers(draw, (2, 3, 2, 3), SMOOTH)
    w = numbers(draw, (3, 2, draw(st.integers(1, 3)), draw(st.integers(1, 3))), SMOOTH)
    return Example((g, w), {"stride": draw(st.integers(1, 3))}, _types(draw, (g, w)))


def _spread(g, w, stride):
    sizes = [(n - 1) * stride + k for n, k in zip(g.shape[2:], w.shape[2:], strict=True)]
    options = {"padding": ((0, 0),) * 2, "dilation": (1, 1), "groups": 1}
    return _of_images(w, g, sizes, stride=(stride,) * 2, **options)


def _planes(draw, smooth):
    batch = draw(st.sampled_from(((), (2,), (2, 3))))
    x = numbers(draw, (*batch, draw(st.integers(3, 5)), 4), ("float64",))
    y = numbers(draw, (draw(st.integers(1, 3)), draw(st.integers(1, 3))), ("float64",))
    options = {
        "mode": draw(st.sampled_from(("full", "same", "valid"))),
        "boundary": draw(st.sampled_from(("fill", "wrap", "symm"))),
        "fillvalue": draw(st.sampled_from((0, 1.5))),
    }
    return Example((x, y), options, _types(draw, (x, y)))


def _of_each_plane(x, y, **options):
    planes = x.reshape(-1, *x.shape[-2:])
    found = np.stack([scipy.signal.convolve2d(plane, y, **options) for plane in planes])
    return found.reshape(*x.shape[:-2], *found.shape[1:])


def _lines(draw, smooth):
    x = numbers(draw, (2, draw(st.integers(1, 4))), ("float64",))
    y = numbers(draw, (draw(st.sampled_from((1, 2))), draw(st.integers(1, 4))), ("float64",))
    mode = draw(st.sampled_from(("full", "same", "valid")))
    return Example((x, y), {"mode": mode}, _types(draw, (x, y)))


def _of_each_line(x, y, mode):
    y = np.broadcast_to(y, (len(x), y.shape[1]))
    pairs = zip(x, y, strict=True)
    return np.stack([scipy.signal.convolve(*pair, mode, method="direct") for pair in pairs])


def _floats(draw, smooth):
    example = _pooled(draw, True)
    return Example(example.values, example.params, _types(draw, example.values))


def _over_windows(function):
    """Return a reference that applies a function to windows, and to their sizes with padding."""

    def reference(x, window, stride, padding, partial):
        lead = x.ndim - len(window)
        lengths = x.shape[lead:]
        axes = zip(lengths, window, stride, padding, strict=True)
        starts = [_starts(*axis, partial) for axis in axes]
        out = np.zeros((*x.shape[:lead], *map(len, starts)), x.dtype)
        for index in np.ndindex(out.shape):
            corner = [some[i] for some, i in zip(starts, index[lead:], strict=True)]
            spans = [
                (at, min(at + size, length + pad))
                for at, size, length, pad in zip(corner, window, lengths, padding, strict=True)
            ]
            part = tuple(slice(max(at, 0), end) for at, end in spans)
            out[index] = function(x[index[:lead]][part], np.prod([end - at for at, end in spans]))
        return out

    return reference


def _pool_record(name, build, function, **facts):
    return OpRecord(
        name=name,
        build=build,
        reference=_over_windows(function),
        draw=_floats,
        tolerance=SUMMED,
        **facts,
    )


RECORDS = [
    OpRecord(
        name="Conv",
        build=_apply(Conv),
        reference=correlated,
        draw=_draw(0, 1),
        ops=(Conv,),
        tolerance=SUMMED,
    ),
    OpRecord(
        name="ConvByImages",
        build=_apply(ConvByImages),
        reference=_of_images,
        draw=_draw(1, 2, computed=0),
        ops=(ConvByImages,),
        tolerance=SUMMED,
    ),
    OpRecord(
        name="ConvByFilters",
        build=_apply(ConvByFilters),
        reference=_of_filters,
        draw=_draw(0, 2, computed=1),
        ops=(ConvByFilters,),
        tolerance=SUMMED,
    ),
    OpRecord(
        name="MaxPool",
        build=lambda x, **options: MaxPool(**options)(x),
        reference=_largest,
        draw=_pooled,
        ops=(MaxPool,),
        smooth=_distinct,
    ),
    OpRecord(
        name="signal.conv",
        build=pt.signal.conv,
        reference=_convolved,
        draw=_with_rules,
        tolerance=SUMMED,
    ),
    OpRecord(
        name="signal.conv_transpose",
        build=pt.signal.conv_transpose,
        reference=_spread,
        draw=_transposed,
        tolerance=SUMMED,
    ),
    OpRecord(
        name="signal.convolve1d",
        build=pt.signal.convolve1d,
        reference=_of_each_line,
        draw=_lines,
        broadcasts=True,
        tolerance=SUMMED,
    ),
    OpRecord(
        name="signal.convolve2d",
        build=pt.signal.convolve2d,
        reference=_of_each_plane,
        draw=_planes,
        tolerance=SUMMED,
    ),
    _pool_record("signal.max_pool", pt.signal.max_pool, lambda x, count: x.max(), smooth=_distinct),
    _pool_record("signal.sum_pool", pt.signal.sum_pool, lambda x, count: x.sum()),
    _pool_record("signal.average_pool", pt.signal.average_pool, lambda x, count: x.sum() / count),
    _pool_record(
        "signal.average_pool, of elements",
        lambda x, **options: pt.signal.average_pool(x, **options, count_padding=False),
        lambda x, count: x.mean(),
    ),
]
