"""PyTensor's Scan: its values, its gradients and ours, for small programs of each form."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from pytensor.scan.utils import until

import phintys
from phintys._base.errors import ShapeError
from phintys.bridge.pytensor import PhintysLinker, callbacks, from_pytensor

RNG = np.random.default_rng(11)
V = RNG.uniform(0.2, 0.8, 5)
M = RNG.uniform(0.2, 0.8, (5, 2))


def scan(step, **arguments):
    return pytensor.scan(step, return_updates=False, **arguments)


def rows(x):
    return scan(pt.exp, sequences=x)


def sums(x):
    return scan(lambda row, total: total * 0.9 + row, sequences=x, outputs_info=pt.zeros(2))


def by_count(x, n):
    return scan(lambda y, w: pt.sin(y * w), outputs_info=x[0], non_sequences=x[1], n_steps=n)


def autoregressive(x, n):
    """Taps that are neither sorted nor without gaps, and an output of its own."""
    return scan(
        lambda row, b, a, w: [pt.tanh(a * w + b * row), a * b],
        sequences=x,
        outputs_info=[{"initial": x[:3], "taps": [-1, -3]}, None],
        non_sequences=x[1],
        n_steps=n,
    )


def several(x, y):
    """States of three forms, and sequences with taps."""
    return scan(
        lambda before, now, row, v, m, a: [pt.sin(v * before) + a, m * a + row, a + v.sum() * now],
        sequences=[{"input": x, "taps": [-1, 0]}, y[1:]],
        outputs_info=[y[0], pt.eye(2), x[0]],
    )


def whiles(x, limit):
    def step(row, total):
        total = total + row * total
        return total, until(total > limit)

    return scan(step, sequences=x, outputs_info=pt.ones(()))


def backwards(x):
    return scan(
        lambda row, total: total * row, sequences=x, outputs_info=pt.ones(()), go_backwards=True
    )


def nested(x):
    def outer(row, total):
        inner = scan(lambda y, a, w: a * y + w, sequences=row, outputs_info=total, non_sequences=w)
        return inner[-1]

    w = x[0, 0]

    return scan(outer, sequences=x, outputs_info=pt.ones(()))


def last(x, n):
    found = scan(lambda y, w: pt.sin(y * w) + y, outputs_info=x[0], non_sequences=x[1], n_steps=n)
    return found[-1]


# Name -> a function of PyTensor's variables, and values for them.
RECORDS = {
    "map": (rows, M),
    "sums": (sums, M),
    "steps": (by_count, V, 3),
    "no_steps": (by_count, V, 0),
    "one_step": (by_count, V, 1),
    "taps": (autoregressive, V, 4),
    "taps_of_no_steps": (autoregressive, V, 0),
    "several": (several, V, M),
    "while": (whiles, V, 2.0),
    "while_to_the_end": (whiles, V, 100.0),
    "backwards": (backwards, V),
    "nested": (nested, M),
    "last": (last, V, 4),
}


def built(name):
    """Return inputs, outputs, their weighted sum and its gradients, and values of the inputs."""
    build, *values = RECORDS[name]
    values = [np.asarray(value) for value in values]
    inputs = [
        pt.tensor(f"x{at}", dtype=one.dtype.name, shape=(None,) * one.ndim)
        for at, one in enumerate(values)
    ]
    outputs = build(*inputs)
    outputs = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
    total = sum((pt.cos(output) * output).sum() for output in outputs)
    wrt = [one for one, value in zip(inputs, values, strict=True) if value.ndim]
    return inputs, outputs, total, wrt, pt.grad(total, wrt), values


@pytest.mark.parametrize("name", RECORDS)
def test_values_and_gradients_are_pytensors(name):
    inputs, outputs, total, wrt, gradients, values = built(name)
    theirs = pytensor.function(
        inputs, [*outputs, *gradients], mode="FAST_COMPILE", on_unused_input="ignore"
    )
    known = {}
    given, found = from_pytensor(inputs, known), from_pytensor([*outputs, *gradients], known)
    of = from_pytensor(wrt, known)
    own = phintys.grad(from_pytensor(total, known), of)
    assert not callbacks([*found, *own])
    f = phintys.function(given, [*found, *own], on_unused_input="ignore")
    expected = theirs(*values)
    expected += expected[len(outputs) :]
    for value, other in zip(f(*values), expected, strict=True):
        assert value.shape == np.shape(other)
        np.testing.assert_allclose(value, other, rtol=1e-9, atol=1e-12)


def rewritten(name):
    """Return the inputs and outputs after PyTensor's rewrites, and a function of Phintys."""
    inputs, outputs, _, _, gradients, values = built(name)
    mode = Mode(PhintysLinker(), "fast_run")
    wanted = [*(one[-2:] if one.ndim else one for one in outputs), *gradients]
    theirs, ours = (
        pytensor.function(inputs, wanted, mode=one, on_unused_input="ignore")
        for one in ("FAST_COMPILE", mode)
    )
    return theirs, ours, values


@pytest.mark.parametrize("name", ["taps", "taps_of_no_steps", "while", "last"])
def test_buffers_that_pytensor_shortens(name):
    theirs, ours, values = rewritten(name)
    for value, other in zip(ours(*values), theirs(*values), strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("room", "expected"), [(2, [3.0, 4.0]), (6, [0.0, 1.0, 2.0, 3.0, 4.0, 0.0])]
)
def test_a_buffer_of_another_length(room, expected):
    """What does not fit is lost, from the beginning; what is not written is zero."""
    n = pt.lscalar("n")
    scanned = scan(lambda y: y + 1, outputs_info=np.float64(0.0), n_steps=n).owner.inputs[0].owner
    buffer = pt.zeros(room)
    (found,) = scanned.op.make_node(n, buffer).outputs
    ours = from_pytensor([n, found])
    f = phintys.function(ours[:1], ours[1])
    assert f(4).tolist() == expected
    assert not callbacks(ours[1])


def test_too_short_a_sequence():
    x, n = pt.dvector("x"), pt.lscalar("n")
    found = scan(lambda row: row, sequences=x, n_steps=n).owner
    ours = from_pytensor([x, n, found.op.make_node(n, x, *found.inputs[2:]).outputs[0]])
    f = phintys.function(ours[:2], ours[2])
    with pytest.raises(ShapeError, match="has 2 rows"):
        f([1.0, 2.0], 3)
