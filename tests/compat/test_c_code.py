"""C code of Ops as programs for the old packages write it."""

import sys
import types

import pytest

from phintys.backends.native.c_code.compiling import compiler

pytestmark = pytest.mark.skipif(
    not compiler(), reason="there is no C++ compiler, or no headers of Python"
)

VECTOR_TIMES_SCALAR = """
#section support_code

template <typename A, typename B>
static bool same_size(A a, B b) { return a == b; }

#section support_code_apply

int APPLY_SPECIFIC(times)(PyArrayObject *x, PyArrayObject *y, PyArrayObject **z)
{
    if (*z == NULL || !same_size(PyArray_DIM(*z, 0), PyArray_DIM(x, 0))) {
        Py_XDECREF(*z);
        *z = (PyArrayObject *)PyArray_EMPTY(1, PyArray_DIMS(x), TYPENUM_OUTPUT_0, 0);
        if (!*z) return 1;
    }
    for (npy_intp i = 0; i < PyArray_DIM(x, 0); i++)
        *(DTYPE_OUTPUT_0 *)PyArray_GETPTR1(*z, i) =
            *(DTYPE_INPUT_0 *)PyArray_GETPTR1(x, i) * *(DTYPE_INPUT_1 *)PyArray_DATA(y);
    return 0;
}
"""


def test_an_op_of_theano_with_code_in_a_string(theano):
    tensor = theano.tensor

    class Times(theano.gof.Op):
        __props__ = ()

        def make_node(self, x, y):
            x, y = tensor.as_tensor_variable(x), tensor.as_tensor_variable(y)
            kind = tensor.TensorType(
                dtype=theano.scalar.upcast(x.dtype, y.dtype), broadcastable=[False]
            )
            return theano.Apply(self, [x, y], [kind()])

        def c_code_cache_version(self):
            return (1, 0)

        def c_code(self, node, name, inp, out, sub):
            (x, y), (z,) = inp, out
            dtype_x, dtype_y = (one.dtype for one in node.inputs)
            dtype_z = node.outputs[0].dtype
            typenum_z = node.outputs[0].type.dtype_specs()[2]
            fail = sub["fail"]
            return """
            npy_intp n = PyArray_DIMS(%(x)s)[0];
            if (NULL == %(z)s || PyArray_DIMS(%(z)s)[0] != n) {
                Py_XDECREF(%(z)s);
                %(z)s = (PyArrayObject *)PyArray_EMPTY(1, &n, %(typenum_z)s, 0);
                if (!%(z)s) { %(fail)s; }
            }
            {
                npy_%(dtype_x)s *from = (npy_%(dtype_x)s *)PyArray_DATA(%(x)s);
                npy_%(dtype_y)s factor = ((npy_%(dtype_y)s *)PyArray_DATA(%(y)s))[0];
                for (npy_intp i = 0; i < n; i++)
                    ((npy_%(dtype_z)s *)PyArray_DATA(%(z)s))[i] = from[i] * factor;
            }
            """ % locals()  # noqa: UP031 - as programs for Theano write it

    x, y = tensor.fvector(), tensor.dscalar()
    f = theano.function([x, y], Times()(x, y))
    assert f([1, 2, 3], 2.0).tolist() == [2.0, 4.0, 6.0]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return a module in a folder with a file of C code."""
    (tmp_path / "times.c").write_text(VECTOR_TIMES_SCALAR)
    module = types.ModuleType("module_of_c_ops")
    module.__file__ = str(tmp_path / "module_of_c_ops.py")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def test_an_op_with_code_in_a_file_beside_it(theano, aesara, home):
    from aesara.link.c.op import ExternalCOp
    from theano.gof import COp

    assert COp is ExternalCOp

    class Times(COp):
        __module__ = home.__name__
        __props__ = ()
        func_file = "./times.c"
        func_name = "APPLY_SPECIFIC(times)"

        def __init__(self):
            super().__init__(self.func_file, self.func_name)

        def make_node(self, x, y):
            return theano.Apply(self, [x, y], [x.type()])

    x, y = theano.tensor.dvector(), theano.tensor.dscalar()
    assert theano.function([x, y], Times()(x, y))([1, 2, 3], 2.0).tolist() == [2.0, 4.0, 6.0]
