"""Programs with a mistake, in both modes: they raise the same error, in the same words.

Each case is a program as it would be typed, in which ``MODE`` is the mode, and pieces of the
message, with its notes. That of machine code comes from the same place as that of the reference,
which has the user's lines, what was expected, what came, and how to mend it.
"""

import linecache
import re
import textwrap
import traceback
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse

import phintys
import phintys.tensor as pt
from phintys import sparse
from phintys.compat import install, uninstall
from phintys.control import fori_loop, while_loop
from phintys.graph import Apply, Op


class Twice(Op):
    """An Op in Python."""

    __props__ = ()

    def make_node(self, x):
        x = pt.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = inputs[0] * 2


class Limited(Twice):
    """An Op in Python that refuses large numbers."""

    def perform(self, node, inputs, outputs):
        if inputs[0].sum() > 20:
            raise ValueError("too much")
        outputs[0][0] = inputs[0] * 2


class Case(NamedTuple):
    program: str
    fragments: list[str]


NAMES = {"np": np, "phintys": phintys, "pt": pt, "scipy": scipy, "sparse": sparse}
NAMES |= {"fori_loop": fori_loop, "while_loop": while_loop, "Twice": Twice, "Limited": Limited}

MISTAKES = {
    "loop own op wrong length": Case(
        """
        h, v, n = pt.dvector("h"), pt.dvector("v"), pt.lscalar("n")
        hs = phintys.scan(lambda h: Twice()(h) * v, outputs_info=[h], n_steps=n)
        phintys.function([h, v, n], hs, mode=MODE)(np.ones(3), np.ones(4), 3)
        """,
        [
            "Mul: the operands do not fit",
            "Twice(h[t-1]): shape (3,)",
            "v: shape (4,)",
            "In step 0 of Scan",
        ],
    ),
    "loop own op wrong length beside a sequence": Case(
        """
        xs, h, v = pt.dmatrix("xs"), pt.dvector("h"), pt.dvector("v")
        hs = phintys.scan(lambda x, h: Twice()(h) * v + x, sequences=[xs], outputs_info=[h])
        phintys.function([xs, h, v], hs, mode=MODE)(np.ones((3, 3)), np.ones(3), np.ones(4))
        """,
        ["Mul: the operands", "v: shape (4,)", "In step 0 of Scan"],
    ),
    "loop own op fails inside": Case(
        """
        h, n = pt.dvector("h"), pt.lscalar("n")
        hs = phintys.scan(lambda h: Limited()(h), outputs_info=[h], n_steps=n)
        phintys.function([h, n], hs, mode=MODE)(np.ones(3), 9)
        """,
        ["too much", "In step 3 of Scan"],
    ),
    "loop carried grows": Case(
        """
        h, n = pt.dvector("h"), pt.lscalar("n")
        hs = phintys.scan(lambda h: pt.concatenate([h, h]), outputs_info=[h], n_steps=n)
        phintys.function([h, n], hs, mode=MODE)(np.ones(3), 3)
        """,
        ["In step 0 of Scan", "(6,)", "(3,)", "Shapes must be the same"],
    ),
    "loop rows index": Case(
        """
        xs, i = pt.dmatrix("xs"), pt.lvector("i")
        ys = phintys.scan(lambda x, k: x[k], sequences=[xs, i])
        phintys.function([xs, i], ys, mode=MODE)(np.ones((4, 3)), [0, 1, 5, 2])
        """,
        ["index 5 is out of range for axis 0 of xs[t]", "from -3 to 2", "In step 2"],
    ),
    "loop table index": Case(
        """
        t, i = pt.dvector("t"), pt.lvector("i")
        ys = phintys.scan(lambda k, s: s + t[k], sequences=[i], outputs_info=[pt.constant(0.0)])
        phintys.function([t, i], ys, mode=MODE)(np.ones(4), [0, 1, -5, 2])
        """,
        ["index -5", "axis 0 of t, which has size 4", "element [2]"],
    ),
    "loop sequences of other lengths": Case(
        """
        a, b = pt.dvector("a"), pt.dvector("b")
        ys = phintys.scan(lambda x, y: x * y, sequences=[a, b], n_steps=5)
        phintys.function([a, b], ys, mode=MODE)(np.ones(6), np.ones(4))
        """,
        ["5 steps has 4 rows", "fewer steps"],
    ),
    "loop negative steps": Case(
        """
        n = pt.lscalar("n")
        ys = phintys.scan(lambda s: s * 2, outputs_info=[pt.constant(1.0)], n_steps=n)
        phintys.function([n], ys, mode=MODE)(-3)
        """,
        ["-3 steps", "not negative"],
    ),
    "loop solve singular at step 2": Case(
        """
        a, b = pt.dtensor3("a"), pt.dvector("b")
        ys = phintys.scan(lambda m, s: pt.linalg.solve(m, s), sequences=[a], outputs_info=[b])
        f = phintys.function([a, b], ys, mode=MODE)
        f(np.stack([np.eye(2), np.eye(2), np.zeros((2, 2))]), np.ones(2))
        """,
        ["a[t] is singular", 'on_error="nan"', "In step 2"],
    ),
    "loop cholesky": Case(
        """
        a = pt.dtensor3("a")
        ys = phintys.scan(lambda m: pt.linalg.cholesky(m).sum(), sequences=[a])
        phintys.function([a], ys, mode=MODE)(np.stack([np.eye(2), -np.eye(2), np.zeros((2, 2))]))
        """,
        ["not positive definite", 'on_error="nan"', "In step 1"],
    ),
    "loop dot": Case(
        """
        a, h = pt.dmatrix("a"), pt.dvector("h")
        ys = phintys.scan(lambda s: pt.tanh(pt.dot(a, s)), outputs_info=[h], n_steps=5)
        phintys.function([a, h], ys, mode=MODE)(np.ones((3, 4)), np.ones(3))
        """,
        ["Dot: the operands", "a: shape (3, 4)", "Transpose", "In step 0"],
    ),
    "loop dot static vector": Case(
        """
        a, h, n = pt.dmatrix("a"), pt.dvector("h"), pt.lscalar("n")
        step = lambda s: pt.tanh(pt.dot(a, s) + h)
        ys = phintys.scan(step, outputs_info=[pt.zeros(3)], n_steps=n)
        phintys.function([a, h, n], ys, mode=MODE)(np.ones((3, 3)), np.ones(2), 4)
        """,
        ["Add: the operands", "a @ s: shape (3,)", "h: shape (2,)"],
    ),
    "loop nested": Case(
        """
        x, w = pt.dmatrix("x"), pt.dvector("w")
        step = lambda e, s: s + e * w
        zeros = pt.zeros_like
        inner = lambda row: phintys.scan(step, sequences=[row], outputs_info=[zeros(row)])[0][-1]
        ys = phintys.scan(inner, sequences=[x])
        phintys.function([x, w], ys, mode=MODE)(np.ones((2, 3)), np.ones(4))
        """,
        ["Add: the operands", "s: shape (3,)", "x[t][t] * w: shape (4,)"],
    ),
    "loop reshape": Case(
        """
        x, n = pt.dmatrix("x"), pt.lscalar("n")
        ys = phintys.scan(lambda row: row.reshape((n, 2)).sum(0), sequences=[x])
        phintys.function([x, n], ys, mode=MODE)(np.ones((2, 5)), 2)
        """,
        ["Reshape", "(5,)", "(2, 2)"],
    ),
    "loop assert": Case(
        """
        x = pt.dvector("x")
        ys = phintys.scan(lambda e: pt.Assert("must be positive")(e, e > 0), sequences=[x])
        phintys.function([x], ys, mode=MODE)([1.0, -1.0])
        """,
        ["must be positive", "In step 1"],
    ),
    "while loop misfit": Case(
        """
        a, w = pt.dvector("a"), pt.dvector("w")
        r = while_loop(lambda r: r.sum() < 100, lambda r: r * w, a)
        phintys.function([a, w], r, mode=MODE)(np.ones(3), np.ones(2))
        """,
        ["Mul: the operands", "w: shape (2,)"],
    ),
    "fori loop index": Case(
        """
        t, n = pt.dvector("t"), pt.lscalar("n")
        r = fori_loop(0, n, lambda i, s: s + t[i], 0.0)
        phintys.function([t, n], r, mode=MODE)(np.ones(3), 5)
        """,
        ["index 3 is out of range for axis 0 of t", "In step 3"],
    ),
    "gradient of loop misfit": Case(
        """
        a, h, n = pt.dvector("a"), pt.dvector("h"), pt.lscalar("n")
        ys = phintys.scan(lambda s: s * a, outputs_info=[h], n_steps=n)
        g = phintys.grad(ys[0][-1].sum(), a)
        phintys.function([a, h, n], g, mode=MODE)(np.ones(2), np.ones(3), 4)
        """,
        ["Mul: the operands", "a: shape (2,)"],
    ),
    "branch misfit": Case(
        """
        c, x, y = pt.dscalar("c"), pt.dvector("x"), pt.dvector("y")
        z = phintys.ifelse(c > 0, x + y, x - y)
        phintys.function([c, x, y], z, mode=MODE)(1.0, np.ones(3), np.ones(4))
        """,
        ["Add: the operands", "x: shape (3,)", "y: shape (4,)"],
    ),
    "branch index": Case(
        """
        c, x, i = pt.dscalar("c"), pt.dvector("x"), pt.lscalar("i")
        z = phintys.ifelse(c > 0, x[i], x.sum())
        phintys.function([c, x, i], z, mode=MODE)(1.0, np.ones(3), 7)
        """,
        ["index 7", "axis 0 of x", "from -3 to 2"],
    ),
    "branch used after": Case(
        """
        c, x, y = pt.dscalar("c"), pt.dvector("x"), pt.dvector("y")
        z = phintys.ifelse(c > 0, x * 2, y) + x
        phintys.function([c, x, y], z, mode=MODE)(-1.0, np.ones(3), np.ones(4))
        """,
        ["Add: the operands", "x: shape (3,)", "shape (4,)"],
    ),
    "branch in loop": Case(
        """
        x, v = pt.dmatrix("x"), pt.dvector("v")
        ys = phintys.scan(lambda r: phintys.ifelse(r.sum() > 5, r * v, r), sequences=[x])
        phintys.function([x, v], ys, mode=MODE)([[1.0, 1.0], [5.0, 5.0]], np.ones(3))
        """,
        ["Mul: the operands", "v: shape (3,)", "In step 1"],
    ),
    "batch misfit": Case(
        """
        f = pt.vectorize(lambda x, y: (x * y).sum(), "(n),(n)->()")
        a, b = pt.dmatrix("a"), pt.dvector("b")
        phintys.function([a, b], f(a, b), mode=MODE)(np.ones((2, 3)), np.ones(4))
        """,
        ["Mul: the operands", "a: shape (2, 3)", "shape (1, 4)"],
    ),
    "batch of batches misfit": Case(
        """
        f = pt.vectorize(lambda m, y: m @ y, "(n,k),(k)->(n)")
        a, b = pt.dtensor3("a"), pt.dmatrix("b")
        phintys.function([a, b], f(a, b), mode=MODE)(np.ones((2, 3, 4)), np.ones((3, 4)))
        """,
        ["a: shape (2, 3, 4)", "(3, 4"],
    ),
    "batch solve": Case(
        """
        a, b = pt.dtensor3("a"), pt.dmatrix("b")
        f = pt.vectorize(lambda m, y: pt.linalg.solve(m, y), "(n,n),(n)->(n)")
        f = phintys.function([a, b], f(a, b), mode=MODE)
        f(np.stack([np.eye(2), np.zeros((2, 2))]), np.ones((2, 2)))
        """,
        ["position [1] of the stack a", "is singular", 'on_error="nan"'],
    ),
    "batch index": Case(
        """
        t, i = pt.dmatrix("t"), pt.lvector("i")
        f = pt.vectorize(lambda row, k: row[k], "(n),()->()")
        phintys.function([t, i], f(t, i), mode=MODE)(np.ones((2, 3)), [0, 4])
        """,
        ["index 4", "axis 1 of t", "element [1] of the index array"],
    ),
    "update shape": Case(
        """
        s, v = phintys.shared(np.zeros(3), name="s"), pt.dvector("v")
        phintys.function([v], [], updates={s: s + v}, mode=MODE)(np.ones(4))
        """,
        ["Add: the operands", "s: shape (3,)", "v: shape (4,)"],
    ),
    "update index": Case(
        """
        s, v, i = phintys.shared(np.zeros(3), name="s"), pt.dvector("v"), pt.lvector("i")
        f = phintys.function([v, i], [], updates={s: pt.inc_subtensor(s[i], v)}, mode=MODE)
        f(np.ones(2), [0, 3])
        """,
        ["index 3", "axis 0 of s, which has size 3", "element [1]"],
    ),
    "update index scalar": Case(
        """
        s, v, i = phintys.shared(np.zeros(3), name="s"), pt.dscalar("v"), pt.lscalar("i")
        phintys.function([v, i], [], updates={s: pt.set_subtensor(s[i], v)}, mode=MODE)(1.0, 3)
        """,
        ["SetSubtensor{i}: index 3", "axis 0 of s", "from -3 to 2"],
    ),
    "update of another static shape": Case(
        """
        s, v = phintys.shared(np.zeros(3), name="s", shape=(3,)), pt.dvector("v")
        phintys.function([v], [], updates={s: v}, mode=MODE)(np.ones(4))
        """,
        ["update of the shared variable s", "pt.specify_shape(expression, (3,))"],
    ),
    "overwritten argument index vector": Case(
        """
        v, i = pt.dvector("v"), pt.lvector("i")
        z = pt.inc_subtensor(v[i], 2.0)
        f = phintys.function([phintys.In(v, mutable=True), i], z, mode=MODE)
        f(np.ones(2), [0, 7])
        """,
        ["IncSubtensor{array}: index 7", "axis 0 of v, which has size 2", "element [1]"],
    ),
    "overwritten argument index": Case(
        """
        v, i = pt.dvector("v"), pt.lscalar("i")
        z = pt.inc_subtensor(v[i], 2.0)
        f = phintys.function([phintys.In(v, mutable=True), i], z, mode=MODE)
        f(np.ones(2), 7)
        """,
        ["IncSubtensor{i}: index 7", "axis 0 of v, which has size 2", "from -2 to 1"],
    ),
    "overwritten argument slice": Case(
        """
        v, w = pt.dvector("v"), pt.dvector("w")
        z = pt.inc_subtensor(v[1:3], w)
        f = phintys.function([phintys.In(v, mutable=True), w], z, mode=MODE)
        f(np.ones(2), np.ones(2))
        """,
        ["IncSubtensor{1:3}: w of shape (2,)", "(1,)", "pt.specify_shape"],
    ),
    "overwritten argument matrix rows": Case(
        """
        v, w, i = pt.dmatrix("v"), pt.dvector("w"), pt.lscalar("i")
        z = pt.set_subtensor(v[i], w)
        f = phintys.function([phintys.In(v, mutable=True), w, i], z, mode=MODE)
        f(np.ones((2, 3)), np.ones(2), 1)
        """,
        ["SetSubtensor{i}: w of shape (2,)", "(3,)"],
    ),
    "overwritten argument sum": Case(
        """
        v, w = pt.dvector("v"), pt.dvector("w")
        z = pt.exp(v) + w
        f = phintys.function([phintys.In(v, mutable=True), w], z, mode=MODE)
        f(np.ones(3), np.ones(2))
        """,
        ["Add: the operands", "exp(v): shape (3,)", "w: shape (2,)"],
    ),
    "overwritten argument then product": Case(
        """
        v, w, i = pt.dmatrix("v"), pt.dvector("w"), pt.lscalar("i")
        z = pt.set_subtensor(v[i], 0.0)
        f = phintys.function([phintys.In(v, mutable=True), w, i], z @ w, mode=MODE)
        f(np.ones((2, 3)), np.ones(2), 1)
        """,
        [
            "Dot: the operands",
            "set_subtensor(v[i], 0.0): shape (2, 3)",
            "w: shape (2,)",
            "Transpose",
        ],
    ),
    "sparse product": Case(
        """
        A, v = sparse.csr_matrix("A"), pt.dvector("v")
        phintys.function([A, v], A @ v, mode=MODE)(scipy.sparse.csr_array(np.eye(3)), np.ones(4))
        """,
        ["A @ v: the last axis of A and the first one of v must be equal, got 3 and 4"],
    ),
    "sparse sum": Case(
        """
        A, B = sparse.csr_matrix("A"), sparse.csr_matrix("B")
        f = phintys.function([A, B], A + B, mode=MODE)
        f(scipy.sparse.csr_array(np.eye(3)), scipy.sparse.csr_array(np.eye(4)))
        """,
        ["same shape"],
    ),
    "sparse solve": Case(
        """
        A, v = sparse.csc_matrix("A"), pt.dvector("v")
        f = phintys.function([A, v], sparse.linalg.solve(A, v), mode=MODE)
        f(scipy.sparse.csc_array(np.diag([1.0, 0.0])), np.ones(2))
        """,
        ["singular"],
    ),
    "sparse index": Case(
        """
        A, i = sparse.csr_matrix("A"), pt.lscalar("i")
        phintys.function([A, i], A[i, 0], mode=MODE)(scipy.sparse.csr_array(np.eye(3)), 5)
        """,
        ["Index 5", "size 3"],
    ),
    "sparse parts": Case(
        """
        d, i, p = pt.dvector("d"), pt.lvector("i"), pt.lvector("p")
        A = sparse.from_parts(d, i, p, (2, 2))
        phintys.function([d, i, p], A @ pt.ones(2), mode=MODE)([1.0, 2.0], [0, 7], [0, 1, 2])
        """,
        ["indices from 0 to 1, got 0 to 7", "sum_duplicates"],
    ),
    "random negative size": Case(
        """
        stream = phintys.random.RandomStream(1)
        n = pt.lscalar("n")
        phintys.function([n], stream.normal(size=n), mode=MODE)(-2)
        """,
        ["size of a draw must be at least 0, got -2"],
    ),
    "random parameters": Case(
        """
        stream = phintys.random.RandomStream(1)
        a, b = pt.dvector("a"), pt.dvector("b")
        phintys.function([a, b], stream.normal(a, b), mode=MODE)(np.ones(2), np.ones(3))
        """,
        ["do not fit", "shape (3,)", "shape (2,)"],
    ),
    "random scale": Case(
        """
        stream = phintys.random.RandomStream(1)
        b = pt.dvector("b")
        phintys.function([b], stream.normal(0.0, b), mode=MODE)(-np.ones(3))
        """,
        ["scale must not be negative", "first at element [0], which is -1.0"],
    ),
    "random size beside parameters": Case(
        """
        stream = phintys.random.RandomStream(1)
        b = pt.dvector("b")
        phintys.function([b], stream.normal(b, 1.0, size=(2,)), mode=MODE)(np.ones(3))
        """,
        ["b: shape (3,)", "shape (2,)"],
    ),
    "random choice": Case(
        """
        stream = phintys.random.RandomStream(1)
        p = pt.dvector("p")
        phintys.function([p], stream.choice(3, p=p), mode=MODE)([0.5, 0.7, 0.1])
        """,
        ["p must not be negative and have the sum 1", "0.7"],
    ),
    "random probability": Case(
        """
        stream = phintys.random.RandomStream(1)
        p = pt.dvector("p")
        phintys.function([p], stream.bernoulli(p), mode=MODE)([0.5, 1.7])
        """,
        ["p must be between 0 and 1", "first at element [1], which is 1.7"],
    ),
    "logp misfit": Case(
        """
        m_, x = pt.dvector("m"), pt.dvector("x")
        density = phintys.random.logp(phintys.random.Normal(m_, 1.0), x).sum()
        f = phintys.function([m_, x], density, mode=MODE)
        f(np.ones(3), np.ones(4))
        """,
        ["Sub: the operands", "m: shape (3,)", "shape (4,)"],
    ),
    "minimize misfit": Case(
        """
        x, y, a = pt.dvector("x"), pt.dvector("y"), pt.dvector("a")
        cost, data = ((x * a - y) ** 2).sum(), {x: np.ones(3), y: np.ones(3)}
        phintys.optimize.minimize(cost, a, np.ones(2), data, mode=MODE)
        """,
        ["Mul: the operands", "x: shape (3,)", "(2,)"],
    ),
    "minimize start": Case(
        """
        a = pt.dvector("a")
        phintys.optimize.minimize((a**2).sum(), a, np.ones((2, 2)), mode=MODE)
        """,
        ["expected 1", "got 2 (shape (2, 2))", "minimize: start has this value for a"],
    ),
    "least squares misfit": Case(
        """
        x, y, a = pt.dvector("x"), pt.dvector("y"), pt.dvector("a")
        rest, data = x * a[0] + a[3] - y, {x: np.ones(3), y: np.ones(3)}
        phintys.optimize.least_squares(rest, a, np.ones(2), data, mode=MODE)
        """,
        ["index 3", "size 2"],
    ),
    "compat shapes": Case(
        """
        import theano, theano.tensor as T
        x = T.dmatrix("x")
        w = theano.shared(np.zeros((4, 2)), name="w")
        theano.function([x], T.nnet.relu(T.dot(x, w)), mode=MODE)(np.ones((3, 5)))
        """,
        ["Dot: the operands", "x: shape (3, 5)", "w: shape (4, 2)"],
    ),
    "compat scan": Case(
        """
        import theano, theano.tensor as T
        x, w = T.dmatrix("x"), T.dmatrix("w")
        h0 = T.dvector("h0")
        hs, _ = theano.scan(lambda row, h: T.tanh(row + T.dot(h, w)), sequences=x, outputs_info=h0)
        theano.function([x, w, h0], hs, mode=MODE)(np.ones((3, 5)), np.ones((4, 4)), np.ones(4))
        """,
        ["Add: the operands", "x[t]: shape (5,)", "h0[t-1] @ w: shape (4,)", "In step 0"],
    ),
    "wrong argument dtype": Case(
        """
        i, x = pt.lscalar("i"), pt.dvector("x")
        phintys.function([x, i], x[i], mode=MODE)(np.ones(3), 1.5)
        """,
        ["1.5", "Scalar(int64)", "allow_downcast=True"],
    ),
    "join": Case(
        """
        a, b = pt.dmatrix("a"), pt.dmatrix("b")
        f = phintys.function([a, b], pt.concatenate([a, b], 1), mode=MODE)
        f(np.ones((2, 2)), np.ones((3, 2)))
        """,
        ["Join{axis=1}", "(2, 2)", "(3, 2)"],
    ),
    "own op after": Case(
        """
        a, b = pt.dvector("a"), pt.dvector("b")
        phintys.function([a, b], Twice()(a) * b + pt.exp(b), mode=MODE)(np.ones(3), np.ones(2))
        """,
        ["Mul: the operands", "Twice(a): shape (3,)", "b: shape (2,)"],
    ),
    "own op index": Case(
        """
        a, i = pt.dvector("a"), pt.lvector("i")
        phintys.function([a, i], Twice()(a)[Twice()(i)], mode=MODE)(np.ones(3), [0, 1, 2])
        """,
        ["index 4", "axis 0 of Twice.0", "element [2]"],
    ),
    "own op overwritten": Case(
        """
        v, w, i = pt.dvector("v"), pt.dvector("w"), pt.lvector("i")
        z = pt.inc_subtensor(v[Twice()(i)], w)
        f = phintys.function([phintys.In(v, mutable=True), w, i], z, mode=MODE)
        f(np.ones(5), np.ones(2), [1, 3])
        """,
        ["index 6", "axis 0 of v, which has size 5", "element [1]"],
    ),
    "empty maximum": Case(
        """
        x = pt.dmatrix("x")
        phintys.function([x], x.max(axis=1), mode=MODE)(np.ones((2, 0)))
        """,
        ["x has the shape (2, 0)", "pt.concatenate"],
    ),
    "loop maximum of empty": Case(
        """
        x, n = pt.dvector("x"), pt.lvector("n")
        ys = phintys.scan(lambda k: x[:k].max(), sequences=[n])
        phintys.function([x, n], ys, mode=MODE)(np.ones(3), [2, 1, 0])
        """,
        ["maximum of nothing", "In step 2"],
    ),
    "loop update row": Case(
        """
        t, i, v = pt.dmatrix("t"), pt.lvector("i"), pt.dvector("v")
        step = lambda k, t: pt.set_subtensor(t[k], v)
        ys = phintys.scan(step, sequences=[i], outputs_info=[t])[0][-1]
        phintys.function([t, i, v], ys, mode=MODE)(np.ones((3, 2)), [0, 4], np.ones(2))
        """,
        ["SetSubtensor{i}: index 4", "from -3 to 2", "In step 1"],
    ),
    "loop update row misfit": Case(
        """
        t, i, v = pt.dmatrix("t"), pt.lvector("i"), pt.dvector("v")
        step = lambda k, t: pt.set_subtensor(t[k], v)
        ys = phintys.scan(step, sequences=[i], outputs_info=[t])[0][-1]
        phintys.function([t, i, v], ys, mode=MODE)(np.ones((3, 2)), [0, 1], np.ones(3))
        """,
        ["v of shape (3,)", "(2,)", "In step 0"],
    ),
}


def error_of(program, mode):
    """Run a program, and return the error that ends it."""
    source = textwrap.dedent(program).strip() + "\n"
    filename = "program.py"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - it is compared
        exec(compile(source, filename, "exec"), {**NAMES, "MODE": mode})
    return caught.value


def words_of(error):
    """Return the class and the message of an error, and the user's lines among its notes."""
    lines = [line for note in getattr(error, "__notes__", ()) for line in note.split("\n")]
    said = [line for line in lines if re.match(r"\s*File|In step|The check|Its inputs", line)]
    return type(error), str(error), said


@pytest.fixture
def old_packages():
    """Make ``theano`` a package that can be imported."""
    install("theano")
    yield
    uninstall("theano")


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.usefixtures("old_packages")
def test_both_modes_say_the_same(name):
    program, fragments = MISTAKES[name]
    native, reference = (error_of(program, mode) for mode in ("native", "reference"))
    for error in (native, reference):
        message = "".join(traceback.format_exception_only(error))
        missing = [fragment for fragment in fragments if fragment not in message]
        assert not missing, message
    assert words_of(native) == words_of(reference)
