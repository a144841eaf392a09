import numpy as np
import pytest

import phintys.tensor as pt
from phintys.passes.specialize import SPECIALIZE, specialize_power

x, y = pt.dmatrix("x"), pt.dmatrix("y")
i8 = pt.tensor("i8", dtype="int8", shape=(None,))
f32 = pt.fvector("f32")
c64 = pt.tensor("c64", dtype="complex64", shape=(None,))

APPLIES = [
    ("x ** 1", lambda: x**1, []),
    ("x ** 2", lambda: x**2, ["Sqr"]),
    ("x ** 2.0", lambda: x**2.0, ["Sqr"]),
    ("float32 ** 2", lambda: f32**2, ["Sqr"]),
    ("int8 ** 2", lambda: i8**2, ["Sqr"]),
    ("int8 ** 2.0", lambda: i8**2.0, ["Cast_float64", "Sqr"]),
    ("int8 ** 1.0", lambda: i8**1.0, ["Cast_float64"]),
    ("complex ** 2", lambda: c64**2, ["Sqr"]),
]
DOES_NOT = [
    ("x ** 3", lambda: x**3),
    ("2 ** x", lambda: 2**x),
    ("x ** y", lambda: x**y),
    ("sizes that may differ", lambda: x ** pt.full_like(y, 2.0)),
    ("x ** [1, 2]", lambda: x ** np.array([[1.0, 2.0, 2.0]])),
]


@pytest.mark.parametrize(("text", "build", "ops"), APPLIES, ids=[case[0] for case in APPLIES])
def test_applies(apply_rule, text, build, ops):
    result = apply_rule(specialize_power, build())
    assert result.count == 1
    assert result.ops == ops
    rtol = 1e-6 if result.after.dtype.itemsize == 4 or "complex" in text else 1e-15
    np.testing.assert_allclose(result.after, result.before, rtol=rtol)


@pytest.mark.parametrize(("text", "build"), DOES_NOT, ids=[case[0] for case in DOES_NOT])
def test_does_not_apply(apply_rule, text, build):
    assert apply_rule(specialize_power, build(), positive=True).count == 0


def test_the_list():
    assert [rule.name for rule in SPECIALIZE] == ["specialize_power"]
