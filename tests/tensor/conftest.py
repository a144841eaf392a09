"""What the tests of the tensor room share.

Graphs are computed here node by node, without a compiler, so that each Op is held to its contract:
the values belong to the types, ``infer_shape`` tells their shapes, and whatever is in the storage
cells makes no difference.
"""

from functools import lru_cache
from types import SimpleNamespace

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import note
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.gradient import Rop, grad
from phintys.graph import contract
from phintys.graph.variable import Constant

BOOL = ("bool",)
INTS = ("int8", "int16", "int32", "int64")
UINTS = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
DISCRETE = BOOL + INTS + UINTS
REAL = DISCRETE + FLOATS
ALL = REAL + COMPLEX

LAYOUTS = ("C", "F", "reversed", "stepped", "swapped")


# ---- computing -----------------------------------------------------------------------------------


def _nodes(outputs):
    """Return the nodes of a graph, inputs first."""
    order, seen, stack = [], set(), [(v.owner, False) for v in outputs if v.owner is not None]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((v.owner, False) for v in node.inputs if v.owner is not None)
    return order


def _run(outputs, known, check):
    for node in _nodes(outputs):
        if all(output in known for output in node.outputs):
            continue
        inputs = [v.data if isinstance(v, Constant) else known[v] for v in node.inputs]
        before = [np.array(value) for value in inputs]
        cells = [[None] for _ in node.outputs]
        node.op.perform(node, inputs, cells)
        for variable, (value,) in zip(node.outputs, cells, strict=True):
            assert variable.type.is_valid_value(value), (
                f"{node.op} gave {value!r} for a {variable.type}"
            )
            known[variable] = value
        if check:
            if not node.op.destroy_map:
                for value, copy in zip(inputs, before, strict=True):
                    np.testing.assert_array_equal(value, copy)
                _check_storage(node, inputs, known)
            _check_shapes(node, inputs, known)
    return [v.data if isinstance(v, Constant) else known[v] for v in outputs]


def _used_cells(values):
    """Storage cells with former values: one of the right shape and odd strides, one of another."""
    for swap in (True, False):
        cells = []
        for value in values:
            if not isinstance(value, np.ndarray):
                cells.append([None])
                continue
            shape = value.shape[::-1] if swap else tuple(n + 1 for n in value.shape)
            former = np.ones(shape, value.dtype)
            cells.append([former.T if swap else former])
        yield cells


def _check_storage(node, inputs, known):
    """Compute again with something left in the storage cells."""
    values = [known[variable] for variable in node.outputs]
    for cells in _used_cells(values):
        node.op.perform(node, inputs, cells)
        for value, (again,) in zip(values, cells, strict=True):
            np.testing.assert_allclose(again, value, rtol=1e-6)


def _check_shapes(node, inputs, known):
    """Compare ``infer_shape`` with the values."""
    if not contract.defines(node.op, "infer_shape"):
        return
    shapes = [
        tuple(pt.constant(n) for n in value.shape) if isinstance(value, np.ndarray) else None
        for value in inputs
    ]
    inferred = contract.infer_shape(None, node, shapes)
    for variable, shape in zip(node.outputs, inferred, strict=True):
        if shape is not None:
            sizes = _run([pt.as_tensor_variable(size) for size in shape], dict(known), check=False)
            assert tuple(int(size) for size in sizes) == known[variable].shape, node.op


def _evaluate(outputs, values=(), check=True):
    """Compute a variable, or a list of them, given values of the inputs."""
    several = isinstance(outputs, list | tuple)
    wanted = list(outputs) if several else [outputs]
    with np.errstate(all="ignore"):
        results = _run(wanted, dict(values), check)
    return results if several else results[0]


@pytest.fixture(scope="session")
def evaluate():
    return _evaluate


# ---- drawing -------------------------------------------------------------------------------------


def _laid_out(array, layout):
    """Return an array of the same values with other strides."""
    if layout == "F":
        return array.copy("F")
    if layout == "reversed":
        return np.asarray(np.flip(np.flip(array).copy()))
    if layout == "swapped" and array.ndim > 1:
        return np.swapaxes(np.swapaxes(array, 0, -1).copy(), 0, -1)
    if layout == "stepped" and array.ndim:
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    return np.array(array)


@lru_cache
def _values(dtype, finite):
    """Return what elements are drawn from: few bits, so that ties and exact sums are common."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array([0, *range(max(-3, info.min), 4), info.min, info.max], dtype)
    numbers = [0.0, 1.0, -1.0, 0.5, -0.5, 3.0, -2.5, -0.0]
    if not finite:
        numbers += [np.nan, np.inf, -np.inf, 1e30, -1e-30]
    if dtype.kind == "c":
        numbers = [complex(a, b) for a in numbers for b in numbers]
    with np.errstate(all="ignore"):
        return np.array(numbers).astype(dtype)


def _draw_array(data, dtypes=ALL, shape=None, min_dims=0, max_dims=3, min_side=0, finite=False):
    """Draw an array of any of the dtypes, with any strides."""
    dtype = data.draw(st.sampled_from(dtypes), "dtype")
    if shape is None:
        shape = data.draw(
            hnp.array_shapes(min_dims=min_dims, max_dims=max_dims, min_side=min_side, max_side=4)
        )
    values = _values(dtype, finite)
    elements = st.integers(0, len(values) - 1)
    chosen = data.draw(hnp.arrays(np.intp, shape, elements=elements, fill=st.nothing()))
    array = _laid_out(np.asarray(values[chosen]), data.draw(st.sampled_from(LAYOUTS), "layout"))
    note(f"value: {array!r}")
    return array


def _draw_variable(data, array, name="x"):
    """Draw an input for an array: some sizes are known, others not."""
    known = data.draw(st.lists(st.booleans(), min_size=array.ndim, max_size=array.ndim), "static")
    shape = tuple(n if one else None for n, one in zip(array.shape, known, strict=True))
    return pt.tensor(name, dtype=array.dtype.name, shape=shape)


def _draw_axes(data, ndim):
    """Draw what ``axis`` may be: None, one axis, or several in any order."""
    if ndim == 0:
        return None
    axis = st.integers(-ndim, ndim - 1)
    several = st.lists(st.integers(0, ndim - 1), unique=True, max_size=ndim).map(tuple)
    return data.draw(st.none() | axis | several, "axis")


@pytest.fixture(scope="session")
def draw():
    """Return functions that draw arrays, inputs for them, and axes."""
    return SimpleNamespace(
        array=_draw_array,
        variable=_draw_variable,
        axes=_draw_axes,
        ALL=ALL,
        COMPLEX=COMPLEX,
        DISCRETE=DISCRETE,
        FLOATS=FLOATS,
        INTS=INTS,
        REAL=REAL,
        UINTS=UINTS,
    )


# ---- derivatives ---------------------------------------------------------------------------------

STEP = 1e-5
TOLERANCE = 1e-6


def _random(shape, dtype, rng):
    values = rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.uniform(0.5, 1.5, shape)
    return np.asarray(values, dtype)


def _inner(a, b):
    return np.sum(np.real(np.conj(a) * b))


def _check_derivatives(build, values, order=1, seed=0):
    """Compare gradient and R-op of ``build(*inputs)`` with finite differences.

    With ``order=2`` also those of the gradient; and so on.
    """
    rng = np.random.default_rng(seed)
    values = [np.asarray(value) for value in values]
    inputs = [
        pt.tensor(f"x{i}", dtype=value.dtype.name, shape=(None,) * value.ndim)
        for i, value in enumerate(values)
    ]
    _check_order(build, inputs, values, order, rng)


def _check_order(build, inputs, values, order, rng):
    given = dict(zip(inputs, values, strict=True))
    out = build(*inputs)
    value = _evaluate(out, given)
    weights = _random(value.shape, value.dtype, rng)
    cost = pt.sum(pt.real(pt.conj(pt.constant(weights)) * out))
    # A gradient that is constant does not depend on the inputs.
    gradients = grad(cost, inputs, disconnected_inputs="ignore")
    directions = [_random(v.shape, v.dtype, rng) for v in values]

    def along(step):
        moved = [v + step * d for v, d in zip(values, directions, strict=True)]
        return _evaluate(out, dict(zip(inputs, moved, strict=True)), check=False)

    change = (along(STEP) - along(-STEP)) / (2 * STEP)
    scale = 1 + np.max(np.abs(change), initial=0) + np.max(np.abs(value), initial=0)

    # forward
    points = [pt.constant(d) for d in directions]
    tangent = Rop(out, inputs, points, disconnected_outputs="ignore")
    assert tangent.dtype == out.dtype
    np.testing.assert_allclose(_evaluate(tangent, given), change, atol=TOLERANCE * scale)

    # reverse
    pulled = _evaluate(gradients, given)
    for gradient, v in zip(pulled, values, strict=True):
        assert gradient.dtype == v.dtype
        assert gradient.shape == v.shape
    expected = _inner(weights, change)
    found = sum(_inner(g, d) for g, d in zip(pulled, directions, strict=True))
    np.testing.assert_allclose(found, expected, atol=TOLERANCE * scale * max(value.size, 1))

    if order > 1:
        for position in range(len(inputs)):
            _check_order(
                lambda *xs, position=position: _gradient(build, xs, weights, position),
                inputs,
                values,
                order - 1,
                rng,
            )


def _gradient(build, xs, weights, position):
    cost = pt.sum(pt.real(pt.conj(pt.constant(weights)) * build(*xs)))
    return grad(cost, xs[position], disconnected_inputs="ignore")


@pytest.fixture(scope="session")
def check_derivatives():
    return _check_derivatives
