"""The loss of connectionist temporal classification under its old name."""

from __future__ import annotations

import numpy as np


def test_symbolic_labels_in_a_program(theano):
    from theano.tensor.nnet.ctc import ctc_available

    T = theano.tensor
    a, labels, lengths = T.ftensor3("a"), T.imatrix("labels"), T.ivector("lengths")
    f = theano.function([a, labels, lengths], T.nnet.ctc(a, labels, lengths))
    assert ctc_available()
    found = f(np.zeros((2, 1, 2), "float32"), np.array([[1]], "int32"), np.array([2], "int32"))
    np.testing.assert_allclose(np.exp(-found), [0.75], rtol=1e-6)
