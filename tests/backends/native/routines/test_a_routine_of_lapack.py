"""A routine of LAPACK is one file: this one adds two, with Ops that are lowered to them.

``potrf`` changes its output and may fail; ``syevd`` has two outputs and two workspaces.
"""

import pickle

import numpy as np
import pytest

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys.backends.native.expressions import Literal, Operation, Position
from phintys.backends.native.failures import Failure
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.lower.lowering import lowers
from phintys.backends.native.routines.lapack import LapackRoutine
from phintys.backends.native.steps.call import LibraryCall
from phintys.backends.native.values import Place
from phintys.backends.native.verify import verify_program
from phintys.graph import Apply, Op


class Potrf(LapackRoutine):
    """``a = l l'``: the lower triangle of a becomes l."""

    def updates(self, call):
        return call.outputs

    def work(self, call, costs):
        n = call.options["n"]
        return costs.scaled(costs.ring.product([n, n, n]), 0.05)

    def arguments(self, call, given):
        n = call.options["n"]
        return [
            given.letter("U"),  # of the transpose
            given.integer(n),
            given.array(call.outputs[0]),
            given.stride(n),
        ]


class Syevd(LapackRoutine):
    """``a = v' diag(w) v``: a becomes v."""

    def updates(self, call):
        return call.outputs[:1]

    def work(self, call, costs):
        n = call.options["n"]
        return costs.scaled(costs.ring.product([n, n, n]), 1.0)

    def arguments(self, call, given):
        n = call.options["n"]
        matrix, values = call.outputs
        numbers, integers = call.workspace
        return [
            given.letter("V"),
            given.letter("U"),
            given.integer(n),
            given.array(matrix),
            given.stride(n),
            given.array(values),
            given.array(numbers),
            given.integer(numbers.sizes[0]),
            given.array(integers),
            given.integer(integers.sizes[0]),
        ]


POTRF, SYEVD = Potrf("potrf"), Syevd("syevd")


class Factor(Op):
    """The lower factor of a positive definite matrix."""

    __props__ = ()

    def make_node(self, a):
        return Apply(self, [a], [a.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = np.linalg.cholesky(inputs[0])


class Modes(Op):
    """The eigenvalues of a symmetric matrix, and the eigenvectors as rows."""

    __props__ = ()

    def make_node(self, a):
        return Apply(self, [a], [pt.TensorType(a.dtype, (None,))(), a.type()])

    def perform(self, node, inputs, outputs):
        values, vectors = np.linalg.eigh(inputs[0])
        outputs[0][0], outputs[1][0] = values, np.ascontiguousarray(vectors.T)


def square(node, lowering):
    a = lowering.view(node.inputs[0])
    lowering.require_equal(*a.sizes, Failure(node, "square", "{0} rows and {1} columns"))
    return lowering.copied(a), a.sizes[0]


@lowers(Factor)
def lower_factor(op, node, lowering):
    a, n = square(node, lowering)
    failure = Failure(node, "factor", "minor {0} is not positive", np.linalg.LinAlgError)
    lowering.steps.append(LibraryCall(POTRF, (), (a.array,), {"n": n}, node, failure=failure))
    target, loops = lowering.compute(node.outputs[0], a.sizes)
    zero = Literal(a.array.dtype.type(0), a.array.dtype)
    if None in loops:  # one row
        lowering.store(target, lowering.load(a, loops), loops, nodes=(node,))
        return
    row, column = (Position(index) for index in a.indices(loops))
    is_below = Operation(ps.ge, (row, column), np.dtype("bool"))
    value = Operation(ps.switch, (is_below, lowering.load(a, loops), zero), a.array.dtype)
    lowering.store(target, value, loops, nodes=(node,))


@lowers(Modes)
def lower_modes(op, node, lowering):
    a, n = square(node, lowering)
    sizes, dtype = lowering.sizes, a.array.dtype
    one = sizes.fixed(1)
    of_numbers = sizes.add(
        one, sizes.add(sizes.mul(sizes.fixed(6), n), sizes.mul(n, sizes.mul(sizes.fixed(2), n)))
    )
    of_integers = sizes.add(sizes.fixed(3), sizes.mul(sizes.fixed(5), n))
    workspace = lowering.array(dtype, (of_numbers,)), lowering.array("int32", (of_integers,))
    values, _ = lowering.compute(node.outputs[0], [n])
    outputs = a.array, values.array
    failure = Failure(node, "modes", "status {0}", np.linalg.LinAlgError)
    lowering.steps.append(LibraryCall(SYEVD, (), outputs, {"n": n}, node, workspace, failure))
    lowering.bind(node.outputs[1], a)


def positive(n, dtype="float64", seed=0):
    a = np.random.default_rng(seed).normal(size=(n, n))
    return (a @ a.T + n * np.eye(n)).astype(dtype)


def calls_of(f):
    program = lower_program(f.maker.fgraph)
    verify_program(program)
    return [step for step in program.steps if isinstance(step, LibraryCall)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 100])
def test_a_factor(n, dtype):
    a = pt.matrix("a", dtype=dtype)
    f = phintys.function([a], Factor()(a + a) * 2, mode="native")
    (call,) = calls_of(f)
    assert call.routine is POTRF
    value = positive(n, dtype)
    wanted = np.linalg.cholesky(2 * value) * 2
    np.testing.assert_allclose(f(value), wanted, rtol=1e-3 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_two_outputs_and_workspaces(n):
    a = pt.dmatrix("a")
    f = phintys.function([a], Modes()(a), mode="native")
    (call,) = calls_of(f)
    assert all(array.place == Place.BUFFER for array in call.workspace)
    value = positive(n)
    values, rows = f(value)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(value), rtol=1e-10)
    np.testing.assert_allclose(rows.T * values @ rows, value, atol=1e-10 * n)


def test_a_workspace_shares_memory_with_what_comes_later():
    a = pt.dmatrix("a")
    first = Modes()(a)[1]
    second = Modes()(first.T @ first + a)[0]
    f = phintys.function([a], second, mode="native")
    spaces = [array for call in calls_of(f) for array in call.workspace]
    assert len(spaces) == 4
    explained = f.explain().splitlines()
    assert any(f"{spaces[0].label}, then {spaces[2].label}" in line for line in explained)
    np.testing.assert_allclose(f(positive(5)), np.linalg.eigvalsh(positive(5)) + 1, rtol=1e-10)


def test_a_status_is_the_error_of_the_op():
    a = pt.dmatrix("a")
    f = phintys.function([a], Factor()(a), mode="native")
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        f(-np.eye(3))
    with pytest.raises(np.linalg.LinAlgError, match="must be square"):
        f(np.ones((2, 3)))
    np.testing.assert_array_equal(f(np.eye(3)), np.eye(3))


def test_a_status_in_words_of_native_code():
    a = pt.dmatrix("a")
    given = phintys.In(a, mutable=True)
    f = phintys.function([given], [Factor()(a), pt.set_subtensor(a[0], 1.0)], mode="native")
    value = np.diag([1.0, 1.0, -1.0])  # overwritten, so that it is not computed again
    with pytest.raises(np.linalg.LinAlgError, match="factor: minor 3 is not positive"):
        f(value)


def test_it_is_explained_and_its_code_is_saved():
    a = pt.dmatrix("a")
    f = phintys.function([a], Factor()(a), mode="native")
    assert "call potrf() -> t1    [n = a.0]" in f.explain()
    again = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(again(np.eye(2)), np.eye(2))
    with pytest.raises(np.linalg.LinAlgError):
        again(-np.eye(2))


def test_it_is_profiled():
    a = pt.dmatrix("a")
    f = phintys.function([a], Factor()(a), mode="native", profile=True)
    f(positive(300))
    assert "call" in {step.kind for step in f.profile.steps}
