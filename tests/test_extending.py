"""What is added to Phintys takes few files: a scalar function one, an Op with native code two.

Each is written into a folder, imported from there, compiled, run and differentiated. A library
routine and a kind of step are added by ``test_a_routine_of_lapack.py`` and
``test_a_kind_of_step.py``, in the tests of the native backend.
"""

import sys
from importlib import import_module, invalidate_caches

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ShapeError
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.program import walk_steps
from phintys.backends.native.steps.callback import Callback

SCALAR_FUNCTION = {
    "added_scalar": """
import numpy as np
import phintys.scalar as ps

half_angle_tangent = ps.FloatRow(
    "half_angle_tangent",
    lambda x: np.tan(x / 2),
    doc="tan(x / 2).",
    intervals=((-1.0, 1.0),),
    expansion=lambda x: ps.tan(x / 2),
)
"""
}

OP_WITH_LOWERING = {
    "added_op": """
import numpy as np
from phintys._base.errors import ShapeError
from phintys.graph import Apply
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.shape_rules import Misfit, ShapedOp, StaticShapes
from phintys.tensor.type import TensorType

_UNEQUAL = Misfit("interleave", "{0} and {1} elements")


class Interleave(ShapedOp):
    '''The elements of two vectors in turn.'''

    __props__ = ()

    def make_node(self, x, y):
        inputs = [as_tensor_variable(x), as_tensor_variable(y)]
        (shape,) = self.output_shapes(StaticShapes(self, inputs))
        return Apply(self, inputs, [TensorType("float64", shape)()])

    def output_shapes(self, shapes):
        (m,), (n,) = shapes.shapes
        size = shapes.equal(m, n, _UNEQUAL)
        return [(shapes.total([size, size]),)]

    def misfit_subject(self, misfit, inputs):
        return f"{self}: the lengths"

    def misfit_error(self, misfit, shapes):
        return ShapeError(f"{self}: lengths must be equal, got {shapes.shapes}.")

    def perform(self, node, inputs, outputs):
        (shape,) = self.shapes_of_results(node.inputs, [value.shape for value in inputs])
        outputs[0][0] = np.stack(inputs, axis=1).reshape(shape)

    def L_op(self, inputs, outputs, output_grads):
        (g,) = output_grads
        return [g[::2], g[1::2]]
""",
    "added_lowering": """
from added_op import Interleave
from phintys.backends.native.lower.lowering import lowers
from phintys.backends.native.lower.shape_rules import NativeShapes


@lowers(Interleave)
def lower_interleave(op, node, lowering):
    '''``out[2 i] = x[i]; out[2 i + 1] = y[i]``'''
    shapes = NativeShapes(node, lowering)
    (lengths,) = op.output_shapes(shapes)
    target, _ = lowering.compute(node.outputs[0], lengths)
    sizes = lowering.sizes
    for start, view in enumerate(shapes.views):
        place = target.sliced(0, sizes.fixed(start), sizes.fixed(2), view.sizes[0], sizes)
        loops = lowering.loops(view.sizes)
        lowering.store(place, lowering.load(view, loops), loops, nodes=(node,))
""",
}


@pytest.fixture
def added(tmp_path, monkeypatch):
    """A function that writes files and imports them; it returns the modules."""
    monkeypatch.syspath_prepend(tmp_path)

    def add(files):
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
            monkeypatch.delitem(sys.modules, name, raising=False)
        invalidate_caches()
        return [import_module(name) for name in files]

    yield add
    for name in SCALAR_FUNCTION | OP_WITH_LOWERING:
        sys.modules.pop(name, None)


def runs_natively(f):
    return not any(isinstance(s, Callback) for s in walk_steps(lower_program(f.maker.fgraph).steps))


def test_a_scalar_function_is_one_file(added):
    (module,) = added(SCALAR_FUNCTION)
    x = pt.dvector("x")
    y = pt.Elemwise(module.half_angle_tangent)(x)
    f = phintys.function([x], [y, phintys.grad(y.sum(), x)], "native")
    assert runs_natively(f)
    value = np.linspace(-1, 1, 5)
    expected = [np.tan(value / 2), 0.5 / np.cos(value / 2) ** 2]
    np.testing.assert_allclose(f(value), expected, rtol=1e-13)
    reference = phintys.function([x], y, "reference")
    np.testing.assert_allclose(reference(value), expected[0], rtol=1e-13)


def test_an_op_with_native_code_is_two_files(added):
    module, _ = added(OP_WITH_LOWERING)
    x, y = pt.dvectors("x", "y")
    z = module.Interleave()(x, y)
    weights = pt.arange(z.shape[0], dtype="float64")
    outputs = [z, *phintys.grad((z * weights).sum(), [x, y])]
    f = phintys.function([x, y], outputs, "native")
    assert runs_natively(f)
    values = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    for found in (f(*values), phintys.function([x, y], outputs, "reference")(*values)):
        np.testing.assert_array_equal(found[0], [1, 3, 2, 4])
        np.testing.assert_array_equal(found[1:], [[0, 2], [1, 3]])
    with pytest.raises(ShapeError, match="lengths must be equal"):
        f(np.ones(2), np.ones(3))
    with pytest.raises(ShapeError):
        phintys.function([x, y], z.shape[0])(np.ones(2), np.ones(3))
