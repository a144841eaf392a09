import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.passes.specialize import SPECIALIZE, expand_power

x, y = pt.dmatrix("x"), pt.dmatrix("y")
i8 = pt.tensor("i8", dtype="int8", shape=(None,))
f16, f32 = pt.tensor("f16", dtype="float16", shape=(None,)), pt.fvector("f32")
c64 = pt.tensor("c64", dtype="complex64", shape=(None,))

APPLIES = [
    ("x ** 3", lambda: x**3, ["Sqr", "Mul"]),
    ("x ** 4", lambda: x**4, ["Sqr", "Sqr"]),
    ("x ** 7", lambda: x**7, ["Sqr", "Mul", "Sqr", "Mul"]),
    ("x ** 0.5", lambda: x**0.5, ["Sqrt"]),
    ("x ** -1", lambda: x**-1.0, ["True_div"]),
    ("x ** -2", lambda: x**-2, ["Sqr", "True_div"]),
    ("float32 ** 3", lambda: f32**3, ["Sqr", "Mul"]),
    ("int8 ** 3", lambda: i8**3, ["Sqr", "Mul"]),
    ("int8 ** 3.0", lambda: i8**3.0, ["Cast_float64", "Sqr", "Mul"]),
    ("complex ** 3", lambda: c64**3, ["Sqr", "Mul"]),
]
DOES_NOT = [
    ("x ** 17", lambda: x**17),
    ("x ** 2.5", lambda: x**2.5),
    ("2 ** x", lambda: 2**x),
    ("x ** y", lambda: x**y),
    ("float16", lambda: f16**3),
    ("complex ** -1", lambda: c64**-1),
    ("complex ** 0.5", lambda: c64**0.5),
    ("sizes that may differ", lambda: x ** pt.full_like(y, 3.0)),
    ("x ** [1, 3]", lambda: x ** np.array([[1.0, 3.0, 3.0]])),
]


@pytest.mark.parametrize(("text", "build", "ops"), APPLIES, ids=[case[0] for case in APPLIES])
def test_applies(apply_rule, text, build, ops):
    result = apply_rule(expand_power, build(), positive=True)
    assert result.count == 1
    assert result.ops == ops
    rtol = 1e-6 if result.after.dtype.itemsize == 4 or "complex" in text else 1e-15
    np.testing.assert_allclose(result.after, result.before, rtol=rtol)


@pytest.mark.parametrize(("text", "build"), DOES_NOT, ids=[case[0] for case in DOES_NOT])
def test_does_not_apply(apply_rule, text, build):
    assert apply_rule(expand_power, build(), positive=True).count == 0


def test_the_list():
    assert len({rule.name for rule in SPECIALIZE}) == len(SPECIALIZE)


OVERFLOWS = {
    "quotient": (lambda x, y: pt.exp(x) / pt.exp(y), [800, 790], np.exp(10)),
    "reciprocal": (lambda x, y: 1 / pt.exp(x) * pt.exp(x) + 0 * y, [800, 0], 1),
    "root": (lambda x, y: pt.sqrt(pt.exp(x + y)), [800, 200], np.exp(500)),
    "cube root": (lambda x, y: pt.cbrt(pt.exp(x + y)), [-800, -100], np.exp(-300)),
    "power": (lambda x, y: pt.exp(x) ** y, [800, 0.25], np.exp(200)),
    "products": (lambda x, y: (y * pt.exp(x)) / (3 * pt.exp(x - 2)), [800, 3], np.exp(2)),
    "logarithm": (lambda x, y: pt.exp(pt.log(x) * y) / x, [1e200, 2], 1e200),
    "logarithm of a divisor": (lambda x, y: x / pt.exp(pt.log(x) * y), [1e200, 2], 1e-200),
}


@pytest.mark.parametrize("name", OVERFLOWS)
def test_exponentials_that_cancel_do_not_overflow(name):
    build, values, expected = OVERFLOWS[name]
    x, y = pt.dvectors("x", "y")
    f = phintys.function([x, y], build(x, y), mode="native")
    np.testing.assert_allclose(f(*([float(one)] for one in values)), expected, rtol=1e-12)
