import numpy as np
import pytest

import phintys.scalar as ps
import phintys.tensor as pt
from phintys.graph import Apply, FunctionGraph
from phintys.graph.alias_map import is_overwritten, overwritten_variables
from phintys.passes._facts import (
    broadcast_source,
    fits,
    holds_exactly,
    is_size_of,
    same_size,
    sizes_covered,
    uniform_value,
)
from phintys.passes.elemwise import drop_identity_function
from phintys.rewriting import NOT_CONSTANT
from phintys.tensor.elemwise import elemwise
from phintys.tensor.inplace import add_inplace
from phintys.tensor.shapes import shape, shape_i
from phintys.tensor.type import DTYPES, TensorType

x, y = pt.dmatrix("x"), pt.dmatrix("y")
v = pt.dvector("v")
n = pt.lscalar("n")
second = elemwise(ps.second)


def extremes(dtype):
    """Values of a dtype that a smaller or coarser one does not hold."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = [info.min, info.min + 1, 0, 1, 2, info.max - 1, info.max]
        return np.array(values, dtype)
    info = np.finfo(dtype)
    values = np.array([0, 1, 1 + info.eps, info.max, info.tiny, -1.5, np.inf], info.dtype)
    return values.astype(dtype) * (dtype.type(1j) + 1 if dtype.kind == "c" else 1)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("other", DTYPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_holds_exactly(dtype, other):
    values = extremes(dtype)
    there = values.astype(other)
    back = there.astype(dtype)
    # Casting back may undo what went wrong, so the numbers are compared, too.
    same = bool(np.array_equal(back, values, equal_nan=True)) and all(
        a == b or (a != a and b != b) for a, b in zip(values.tolist(), there.tolist(), strict=True)
    )
    if dtype != "bool" and other == "bool":
        same = False
    assert holds_exactly(dtype, other) == same


def test_a_size_of_one_that_the_type_did_not_know_does_not_fit():
    known, unknown = TensorType("float64", (1,)), TensorType("float64", (None,))
    three = TensorType("float64", (3,))
    assert fits(unknown, unknown)
    assert fits(unknown, three)
    assert not fits(unknown, known)
    assert not fits(three, unknown)
    assert not fits(unknown, TensorType("float32", (None,)))


def test_no_rule_makes_broadcast_what_did_not(apply_rule):
    one = pt.tensor("one", dtype="float64", shape=(1,))
    identity = Apply(elemwise(ps.identity), [one], [TensorType("float64", (None,))()])
    result = apply_rule(drop_identity_function, identity.out + v, {one: np.ones(1), v: np.ones(1)})
    assert result.count == 0


@pytest.mark.parametrize(
    ("build", "value"),
    [
        (lambda: pt.constant(2.0), 2.0),
        (lambda: pt.constant([[3, 3], [3, 3]]), 3),
        (lambda: pt.constant([1.0, 2.0]), NOT_CONSTANT),
        (lambda: pt.constant(np.zeros(0)), NOT_CONSTANT),
        (lambda: pt.constant(np.zeros(4096)), 0.0),
        (lambda: pt.constant(np.zeros(4097)), NOT_CONSTANT),
        (lambda: pt.zeros_like(x).T.dimshuffle(0, "x", 1), 0.0),
        (lambda: second(x, pt.alloc(1.0, 2, n)), 1.0),
        (lambda: pt.exp(pt.zeros_like(x)), NOT_CONSTANT),
        (lambda: x, NOT_CONSTANT),
        (lambda: pt.zeros_like(x) + x, NOT_CONSTANT),
    ],
)
def test_uniform_value(build, value):
    assert uniform_value(build()) == value


@pytest.mark.parametrize(
    ("build", "dim", "same"),
    [
        (lambda: (x, pt.exp(x)), 0, True),
        (lambda: (x, pt.exp(x) * y), 0, True),
        (lambda: (x, pt.zeros_like(x)), 1, True),
        (lambda: (x, pt.specify_shape(pt.exp(x), (3, None))), 1, True),
        (lambda: (x, pt.alloc(0.0, shape(x)[0], 3)), 0, True),
        (lambda: (pt.alloc(0.0, n), pt.alloc(1.0, n)), 0, True),
        (lambda: (pt.alloc(0.0, 3), pt.constant([1.0, 2.0, 3.0])), 0, True),
        (lambda: (x, x.T), 0, False),
        (lambda: (x.T, x.dimshuffle(1, "x", 0)), 0, True),
        (lambda: (x, y), 0, False),
        (lambda: (x, x[1:]), 0, False),
        (lambda: (pt.alloc(0.0, n), pt.alloc(1.0, n + 1)), 0, False),
        (lambda: (v, pt.constant([1.0, 2.0, 3.0])), 0, False),
        (lambda: (v, elemwise(ps.add)(pt.zeros(1), pt.ones(1))), 0, False),
    ],
)
def test_same_size(build, dim, same):
    a, b = build()
    assert same_size(a, b, dim) == same
    assert same_size(b, a, dim) == same
    if a.ndim == 1:
        assert sizes_covered(a, [x[0], b]) == same


def test_is_size_of():
    assert is_size_of(shape_i(x, 0), pt.exp(x), 0)
    assert is_size_of(shape(pt.exp(x))[1], x, 1)
    assert is_size_of(shape(x)[-1], x, 1)
    assert is_size_of(n, pt.alloc(0.0, n), 0)
    assert not is_size_of(shape_i(x, 0), x, 1)
    assert not is_size_of(shape(x)[n], x, 1)
    assert not is_size_of(n, x, 0)


def test_a_long_way_is_not_followed_to_its_end():
    z = v
    for _ in range(100):
        z = pt.exp(z)
    assert not same_size(v, z, 0)


def test_broadcast_source():
    assert broadcast_source(second(x, y)) is y
    assert broadcast_source(pt.alloc(y, n, n)) is y
    assert broadcast_source(pt.alloc(v, n, n)).type.shape == (1, None)
    assert broadcast_source(pt.exp(x)) is None
    assert broadcast_source(x) is None


def test_overwritten():
    kept = pt.exp(x)
    lost = pt.exp(y)
    viewed = lost.T
    fgraph = FunctionGraph([x, y], [kept, add_inplace(viewed, kept)], clone=False)
    assert overwritten_variables(fgraph) == {viewed, lost}
    assert is_overwritten(fgraph, lost)
    assert is_overwritten(fgraph, viewed)
    assert not is_overwritten(fgraph, kept)
    assert not is_overwritten(fgraph, fgraph.outputs[1])
