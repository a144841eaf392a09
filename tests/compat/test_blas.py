"""Old names of what BLAS computes."""

import numpy as np
import pytest

import phintys.tensor as pt
from phintys.tensor.blas import Gemm

A, B, C = (np.random.default_rng(seed).normal(size=(3, 3)) for seed in range(3))
v, w = A[0], B[1]


@pytest.mark.parametrize(
    ("names", "arguments", "wanted"),
    [
        ("gemm_inplace gemm_no_inplace", (C, 2.0, A, B, 3.0), 3 * C + 2 * A @ B),
        ("gemv gemv_inplace gemv_no_inplace", (v, 2.0, A, w, 3.0), 3 * v + 2 * A @ w),
        ("ger ger_destructive", (C, 2.0, v, w), C + 2 * np.outer(v, w)),
        ("_dot22", (A, B), A @ B),
        ("_dot22scalar", (A, B, 2.0), 2 * A @ B),
    ],
)
def test_values(theano, names, arguments, wanted):
    from theano.tensor import blas

    for name in names.split():
        out = getattr(blas, name)(*map(pt.as_tensor_variable, arguments))
        np.testing.assert_allclose(theano.function([], out)(), wanted)


def test_ops_are_found_in_compiled_functions(aesara):
    from aesara.tensor.blas import Dot22

    T = aesara.tensor
    x, y, z = T.dmatrices("x", "y", "z")
    f = aesara.function([x, y, z], [z + 2 * T.dot(x, y), T.dot(y, z)], mode="FAST_RUN")
    kinds = [type(node.op) for node in f.maker.fgraph.toposort()]
    assert Dot22 in kinds
    assert aesara.tensor.blas.Gemm is aesara.tensor.blas.Gemv is Gemm
    assert Gemm in kinds
