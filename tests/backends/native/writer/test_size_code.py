"""Values of sizes in the main function: a check compares them without what later ones promise."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt

X = pt.dvector("x")

# Numbers of steps that hold for every length but 0, whose checks minima and quotients remain in.
STEPS = {
    "minimum": lambda n: n - pt.minimum(n, 1),
    "quotient": lambda n: (n + 1) // 2,
    "rest": lambda n: n % 5,
    "of a minimum": lambda n: pt.minimum(n, 20) // 2,
    "maximum": lambda n: pt.maximum(n, 3) - 3,
}
PROMISES = {
    "reshape": lambda x: x.reshape((7,)),
    "sum": lambda x: x + pt.constant(np.arange(7.0)),
    "size": lambda x: pt.specify_shape(x, (7,)),
}


def _sums(x, steps):
    sums, _ = phintys.scan(lambda row, s: s + row, x, pt.constant(0.0), n_steps=steps)
    return sums


def _raised(outputs, mode, value):
    f = phintys.function([X], outputs, mode=mode)
    with pytest.raises(phintys.PhintysError) as caught:
        f(value)
    return caught.value


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("steps", STEPS)
def test_a_check_does_not_rely_on_a_later_one(steps, promise):
    first, _ = phintys.scan(lambda row, s: s * 0.5 + row, X, pt.constant(0.0))
    outputs = [_sums(first, STEPS[steps](X.shape[0])), PROMISES[promise](first)]
    value = np.arange(9.0)
    native, reference = (_raised(outputs, mode, value) for mode in ("native", "reference"))
    assert type(native) is type(reference)
    assert str(native) == str(reference)
    fitting = phintys.function([X], outputs, mode="native")
    expected = phintys.function([X], outputs, mode="reference")(value[:7])
    for one, other in zip(fitting(value[:7]), expected, strict=True):
        np.testing.assert_allclose(one, other)
