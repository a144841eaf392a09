"""For each Op, the gradient that PyTensor computes, and that of Phintys."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

import phintys
from phintys.bridge.pytensor import from_pytensor

PYTHON = pytensor.compile.Mode(linker="py", optimizer=None)
RNG = np.random.default_rng(8)
A, B = RNG.uniform(0.2, 0.8, (2, 2, 3))
S = A @ A.T + np.eye(2)
K = [1, 0]

# Family -> functions of x and y, of the shape (2, 3), and of s, which is positive definite.
GROUPS = {
    "elementwise": {
        "switch": lambda x, y, s: pt.switch(x > y, pt.exp(x), pt.log1p(y) ** 2),
        "clip": lambda x, y, s: pt.clip(x, 0.3, 0.6) * y,
        "second": lambda x, y, s: pt.second(x, y) * x,
        "power": lambda x, y, s: x**y / (1 + s[0, 0]),
        "gamma": lambda x, y, s: pt.gammaln(x) * pt.digamma(y) + pt.erf(x) * pt.erfcx(y),
        "sigmoid": lambda x, y, s: pt.sigmoid(x) * pt.softplus(y) + pt.log1mexp(-x),
    },
    "reductions": {
        "sum": lambda x, y, s: x.sum(axis=0) * y,
        "prod": lambda x, y, s: x.prod(axis=1),
        "max": lambda x, y, s: x.max(axis=1) * y.min(),
        "cumsum": lambda x, y, s: pt.cumsum(x, axis=1) ** 2,
        "softmax": lambda x, y, s: pt.special.softmax(x, axis=1) * y,
        "log_softmax": lambda x, y, s: pt.special.log_softmax(x, axis=1) * y,
        "logsumexp": lambda x, y, s: pt.logsumexp(x, axis=1),
    },
    "shapes": {
        "reshape": lambda x, y, s: x.reshape((3, 2)) * y.T,
        "join": lambda x, y, s: pt.concatenate([x, y], axis=1) ** 2,
        "split": lambda x, y, s: pt.split(x, [1, 2], n_splits=2, axis=1)[1] ** 2,
        "repeat": lambda x, y, s: pt.repeat(x, 2, axis=1) ** 2,
        "diagonal": lambda x, y, s: pt.diagonal(s) ** 2,
        "index": lambda x, y, s: x[K, 1:] * x[::-1, :2],
        "set": lambda x, y, s: x[K].set(y) ** 2,
        "inc": lambda x, y, s: pt.set_subtensor(x[0], y[1] ** 2) * pt.inc_subtensor(y[K], x),
        "sort": lambda x, y, s: pt.sort(x, axis=1) * y,
    },
    "linear_algebra": {
        "dot": lambda x, y, s: pt.dot(x, y.T) * s,
        "cholesky": lambda x, y, s: pt.linalg.cholesky(s),
        "solve": lambda x, y, s: pt.linalg.solve(s, x) * y,
        "inverse": lambda x, y, s: pt.linalg.inv(s) ** 2,
        "determinant": lambda x, y, s: pt.linalg.det(s) * pt.linalg.slogdet(s)[1],
        "eigh": lambda x, y, s: pt.linalg.eigh(s)[0] ** 2,
    },
}


@pytest.mark.parametrize("group", GROUPS)
def test_gradients_are_pytensors(group):
    inputs = [pt.dmatrix(name) for name in "xys"]
    costs = [build(*inputs).sum() for build in GROUPS[group].values()]
    expected = [
        gradient
        for cost in costs
        for gradient in pytensor.grad(cost, inputs, disconnected_inputs="ignore")
    ]
    theirs = pytensor.function(inputs, expected, mode=PYTHON, on_unused_input="ignore")
    converted = from_pytensor([*inputs, *costs])
    ours, found = converted[:3], converted[3:]
    gradients = [
        gradient
        for cost in found
        for gradient in phintys.grad(cost, ours, disconnected_inputs="ignore")
    ]
    f = phintys.function(ours, gradients, on_unused_input="ignore")
    names = [f"d {name} / d {wrt}" for name in GROUPS[group] for wrt in "xys"]
    for name, value, wanted in zip(names, f(A, B, S), theirs(A, B, S), strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-9, atol=1e-12, err_msg=name)
