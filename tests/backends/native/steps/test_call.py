"""Libraries take 32-bit integers: a size that is too large for one is an error, with its name."""

import subprocess
import sys

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import IntegrityError, OutOfBoundsError
from phintys.backends.native.failures import Failure
from phintys.backends.native.lower.lowering import lowers
from phintys.backends.native.routines.lapack import LapackRoutine
from phintys.backends.native.steps.call import LARGEST, LibraryCall
from phintys.graph import Apply, Op


@pytest.mark.skipif(sys.platform != "linux", reason="reserves addresses without memory")
def test_strides_of_products(python_command):
    program = """
        import mmap
        import numpy as np
        import phintys, phintys.tensor as pt
        from phintys._base.errors import OutOfBoundsError

        n = 2**31 + 8
        no_reserve = 0x4000
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve
        far = np.frombuffer(mmap.mmap(-1, 8 * n, flags=flags), np.float32).reshape(2, n)
        far[:, :3] = [[1, 2, 3], [4, 5, 6]]
        a, b, v = pt.fmatrix("a"), pt.fmatrix("b"), pt.fvector("v")
        s = phintys.shared(np.ones((2, 3), np.float32))
        added = [(s, s + a[:, :2] @ b)]
        solved = pt.linalg.solve_triangular(a[:, :2], v, lower=True)

        def compiled(inputs, outputs, updates=()):
            return phintys.function(inputs, outputs, updates=updates, mode="native")

        cases = [
            (compiled([a, v], a[:, :3] @ v), (far, np.ones(3, "f4")), "gemv: the stride of a"),
            (compiled([a, b], a[:, :3] @ b), (far, np.ones((3, 2), "f4")), "the stride of a"),
            (compiled([a, b], b @ a[:, :3]), (far, np.ones((2, 2), "f4")), "the stride of b"),
            (compiled([v, b], b @ v[::n]), (far.ravel(), np.ones((2, 2), "f4")), "the step of x"),
            (compiled([a, v], solved), (far, np.ones(2, "f4")), "the stride of a"),
            (compiled([a, b], [], added), (far, np.ones((2, 3), "f4")), "the stride of a"),
        ]
        for f, values, name in cases:
            try:
                f(*values)
            except OutOfBoundsError as error:
                said = "\\n".join([str(error), *error.__notes__])
                assert f"{name} is {n}, and the library takes {2**31 - 1} at most" in said, said
                assert 'mode="reference" has none' in said and "made at" in said, said
            else:
                raise SystemExit(f"{name}: no error")
        assert (s.get_value() == 1).all()
        np.testing.assert_array_equal(cases[0][0](far[:, :8].copy(), np.ones(3, "f4")), [6, 15])
    """
    done = subprocess.run(
        python_command(program), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


class Potrf(LapackRoutine):
    """``a = l l'``, of n rows."""

    def updates(self, call):
        return call.outputs

    def arguments(self, call, given):
        n = call.options["n"]
        return [given.letter("U"), given.integer(n), given.array(call.outputs[0]), given.stride(n)]


class Hidden(Potrf):
    """The same without saying which of its sizes are narrow."""

    def narrow(self, call):
        return {}


class Corner(Op):
    """The factor of the first n rows and columns."""

    __props__ = ("routine",)

    def __init__(self, routine):
        self.routine = routine

    def make_node(self, a, n):
        return Apply(self, [a, n], [a.type()])

    def perform(self, node, inputs, outputs):
        raise AssertionError


@lowers(Corner)
def lower_corner(op, node, lowering):
    a, n = lowering.copied(lowering.view(node.inputs[0])), lowering.size_of(node.inputs[1])
    failure = Failure(node, "factor", "status {0}")
    lowering.steps.append(LibraryCall(op.routine, (), (a.array,), {"n": n}, node, failure=failure))
    lowering.bind(node.outputs[0], a)


def test_sizes_of_a_routine_of_lapack():
    a, n = pt.dmatrix("a"), pt.lscalar("n")
    f = phintys.function([a, n], Corner(Potrf("potrf"))(a, n), mode="native")
    np.testing.assert_array_equal(f([[4.0]], 1), [[2.0]])
    wanted = f"potrf: n is {LARGEST + 1}, and the library takes {LARGEST} at most"
    with pytest.raises(OutOfBoundsError, match=wanted):
        f([[4.0]], LARGEST + 1)


def test_a_size_that_a_routine_does_not_declare_is_not_passed():
    a, n = pt.dmatrix("a"), pt.lscalar("n")
    with pytest.raises(IntegrityError, match=r"'potrf' is passed .* not in its narrow"):
        phintys.function([a, n], Corner(Hidden("potrf"))(a, n), mode="native")
