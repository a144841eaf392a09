"""C code of Ops: values, errors, parameters, files, Types, and what happens without a compiler."""

import pickle

import numpy as np
import pytest

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys._base.errors import BadThunkOutput, CCodeError, OpContractError
from phintys.backends.native.c_code.compiling import compiler
from phintys.graph import Apply, Op, Type
from phintys.graph.c_op import COp, ExternalCOp
from phintys.graph.params_type import ParamsType

needs_compiler = pytest.mark.skipif(
    not compiler(), reason="there is no C++ compiler, or no headers of Python"
)
NATIVE_AND_REFERENCE = ("native", "reference")


class Scaled(COp):
    """``factor * x``, and an error for negative numbers; everything that code can consist of."""

    __props__ = ("factor",)
    params_type = ParamsType(factor=ps.float64, table=pt.dvector)

    def __init__(self, factor, table=(1.0, 2.0)):
        self.factor = factor
        self.table = np.array(table)

    def make_node(self, x):
        return Apply(self, [x], [x.type(), pt.lscalar()])

    def c_headers(self):
        return ["<math.h>"]

    def c_libraries(self):
        return ["m"]

    def c_compile_args(self):
        return ["-DTWO=2"]

    def c_no_compile_args(self):
        return ["-O2"]

    def c_support_code(self):
        return "static double half(double x) { return x / TWO; }"

    def c_support_code_apply(self, node, name):
        return f"static double square_{name}(double x) {{ return x * x; }}"

    def c_support_code_struct(self, node, name):
        return "npy_int64 calls;"

    def c_init_code(self):
        return ["static int ready = 1; (void)ready;"]

    def c_init_code_struct(self, node, name, sub):
        return "calls = 0;"

    def c_code(self, node, name, input_names, output_names, sub):
        (x,), (y, count) = input_names, output_names
        return f"""
            double *scratch = NULL;
            npy_intp n = PyArray_DIM({x}, 0);
            {y} = (PyArrayObject *)PyArray_EMPTY(1, &n, NPY_FLOAT64, 0);
            {count} = (PyArrayObject *)PyArray_EMPTY(0, NULL, NPY_INT64, 0);
            if (!{y} || !{count}) {sub["fail"]}
            *(npy_int64 *)PyArray_DATA({count}) = ++calls;
            for (npy_intp i = 0; i < n; i++) {{
                double one = *(double *)PyArray_GETPTR1({x}, i);
                if (one < 0) {{
                    PyErr_Format(PyExc_OverflowError, "element %zd is negative", i);
                    {sub["fail"]}
                }}
                double last = *(double *)PyArray_GETPTR1({sub["params"]}->table, 1);
                *(dtype_{y} *)PyArray_GETPTR1({y}, i) =
                    half(sqrt(square_{name}(one))) * {sub["params"]}->factor * last;
            }}
        """

    def c_code_cleanup(self, node, name, input_names, output_names, sub):
        return f"if ({input_names[0]} == NULL) abort();"


@needs_compiler
@pytest.mark.parametrize("mode", NATIVE_AND_REFERENCE)
def test_all_parts_of_the_code(mode):
    x = pt.dvector("x")
    y, count = Scaled(3.0)(x)
    f = phintys.function([x], [y + 1, count, Scaled(5.0)(x)[0]], mode=mode)
    value, calls, other = f([1.0, 2.0])
    assert (value.tolist(), int(calls), other.tolist()) == ([4.0, 7.0], 1, [5.0, 10.0])
    assert f([])[1] == 2
    with pytest.raises(OverflowError, match="element 1 is negative") as raised:
        f([1.0, -1.0])
    assert "Scaled(3.0)(x)" in "\n".join(raised.value.__notes__)
    if mode == "native":
        assert "2 C calls" in f.explain().splitlines()[0]
        assert pickle.loads(pickle.dumps(f))([1.0])[0] == [4.0]


@needs_compiler
def test_outputs_in_memory_of_others_are_copied_and_wrong_ones_are_errors():
    class Same(COp):
        __props__ = ("code",)

        def __init__(self, code):
            self.code = code

        def make_node(self, x):
            return Apply(self, [x], [pt.tensor("y", dtype="float64", shape=(None, 2))])

        def c_code(self, node, name, input_names, output_names, sub):
            return self.code.replace("GIVEN", input_names[0]).replace("OUT", output_names[0])

    x = pt.dmatrix("x")
    code = """
        switch (PyArray_DIM(GIVEN, 1)) {
        case 1: break;
        case 2: OUT = (PyArrayObject *)PyArray_Cast(GIVEN, NPY_FLOAT32); break;
        case 5: OUT = GIVEN; Py_INCREF(GIVEN); break;
        default: OUT = (PyArrayObject *)PyArray_Transpose(GIVEN, NULL);
        }
    """
    f = phintys.function([x], Same(code)(x))
    given = np.arange(6.0).reshape(2, 3)
    found = f(given)
    assert found.tolist() == given.T.tolist()
    assert not np.may_share_memory(found, given)
    with pytest.raises(RuntimeError, match="must set output 0"):
        f(np.ones((2, 1)))
    with pytest.raises(TypeError, match="the dtype of its type"):
        f(np.ones((2, 2)))
    with pytest.raises(ValueError, match="size 5 along axis 1; its type has 2"):
        f(np.ones((3, 5)))


class Broken(COp):
    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def c_code(self, node, name, input_names, output_names, sub):
        return "int good = 1;\nint bad = no_such_name;"


@needs_compiler
def test_errors_of_the_compiler_show_the_code():
    x = pt.dvector("x")
    y = Broken()(x)  # the user's line
    with pytest.raises(CCodeError, match="does not compile") as raised:
        phintys.function([x], y)
    text = str(raised.value)
    assert "no_such_name" in text
    assert "| int good = 1;" in text
    assert "# the user's line" in "\n".join(raised.value.__notes__)


class Doubled(COp):
    __props__ = ("wrong",)

    def __init__(self, wrong=False):
        self.wrong = wrong

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * (3 if self.wrong else 2)

    def c_code(self, node, name, input_names, output_names, sub):
        (x,), (y,) = input_names, output_names
        return f"""
            {y} = (PyArrayObject *)PyArray_NewCopy({x}, NPY_CORDER);
            if (!{y}) {sub["fail"]}
            for (npy_intp i = 0; i < PyArray_SIZE({y}); i++)
                ((dtype_{y} *)PyArray_DATA({y}))[i] *= 2;
        """


class PythonOnly(Doubled):
    """The other code is not for its types."""

    def c_code(self, node, name, input_names, output_names, sub):
        raise NotImplementedError


@needs_compiler
def test_debug_mode_compares_c_with_perform():
    x = pt.dvector("x")
    assert phintys.function([x], Doubled()(x), mode="debug")([1.0]) == 2.0
    with pytest.raises(BadThunkOutput):
        phintys.function([x], Doubled(wrong=True)(x), mode="debug")([1.0])


def test_without_a_compiler_perform_runs_and_explain_says_so():
    x = pt.dvector("x")
    with phintys.config.change_flags(cxx=""):
        f = phintys.function([x], Doubled()(x))
        assert f([1.0]) == 2.0
        assert "phintys[c]" in f.explain()
        for mode in NATIVE_AND_REFERENCE:
            with pytest.raises(CCodeError, match=r"no perform.*phintys\[c\]"):
                phintys.function([x], Broken()(x), mode=mode)([1.0])


def test_an_op_may_have_no_code_for_some_types():
    x = pt.dvector("x")
    f = phintys.function([x], PythonOnly()(x))
    assert f([1.0]) == 2.0
    assert "1 callback" in f.explain()


@needs_compiler
def test_compiled_code_is_kept_by_content(tmp_path, monkeypatch):
    from phintys.backends.native.c_code import compiling

    x = pt.dvector("x")
    with phintys.config.change_flags(cache_dir=str(tmp_path)):
        monkeypatch.setattr(compiling, "_MODULES", {})
        assert phintys.function([x], Doubled()(x))([1.0]) == 2.0
        monkeypatch.setattr(compiling, "_MODULES", {})
        monkeypatch.setattr(compiling, "_compiled", None)  # only the cache is left
        assert phintys.function([x], Doubled()(x))([1.0]) == 2.0


EXTERNAL = """
// A sum of vectors, as in the documents on files.
#section support_code
static int added = 1;

#section support_code_apply

int APPLY_SPECIFIC(add)(PyArrayObject *x, PyArrayObject *y, PyArrayObject **z)
{
    Py_XDECREF(*z);
    *z = (PyArrayObject *)PyArray_EMPTY(1, PyArray_DIMS(x), TYPENUM_OUTPUT_0, 0);
    if (!*z) return 1;
    if (PyArray_DIM(x, 0) != PyArray_DIM(y, 0)) {
        PyErr_SetString(PyExc_ValueError, "lengths differ");
        return added;
    }
    for (npy_intp i = 0; i < PyArray_DIM(x, 0); i++)
        ((DTYPE_OUTPUT_0 *)PyArray_DATA(*z))[i] =
            *(DTYPE_INPUT_0 *)PyArray_GETPTR1(x, i) + *(DTYPE_INPUT_1 *)PyArray_GETPTR1(y, i);
    return 0;
}
"""


class FromFile(ExternalCOp):
    __props__ = ()
    func_name = "APPLY_SPECIFIC(add)"

    def make_node(self, x, y):
        return Apply(self, [x, y], [x.type()])


@needs_compiler
def test_code_in_a_file(tmp_path):
    path = tmp_path / "add.c"
    path.write_text(EXTERNAL)
    x, y = pt.dvectors("x", "y")
    f = phintys.function([x, y], FromFile(path)(x, y))
    assert f([1.0, 2.0], [3.0, 4.0]).tolist() == [4.0, 6.0]
    with pytest.raises(ValueError, match="lengths differ"):
        f([1.0, 2.0], [3.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [("#section other\n", "unknown #section other"), ("int x;\n#section code\n", "no code before")],
)
def test_files_that_are_wrong_are_errors(tmp_path, text, message):
    path = tmp_path / "wrong.c"
    path.write_text(text)
    with pytest.raises(OpContractError, match=message):
        FromFile(path)


class Double(Type):
    """The Type of the documents: Python's floats, as a double in C."""

    __props__ = ()

    def filter(self, value, strict=False, allow_downcast=None):
        return float(value)

    def c_declare(self, name, sub):
        return f"double {name};"

    def c_init(self, name, sub):
        return f"{name} = 0.0;"

    def c_extract(self, name, sub):
        return f"""
            if (!PyFloat_Check(py_{name})) {{
                PyErr_SetString(PyExc_TypeError, "expected a float");
                {sub["fail"]}
            }}
            {name} = PyFloat_AsDouble(py_{name});
        """

    def c_sync(self, name, sub):
        return f"Py_XDECREF(py_{name}); py_{name} = PyFloat_FromDouble({name});"

    def c_cleanup(self, name, sub):
        return ""


class Times(Op):
    __props__ = ()

    def make_node(self, x, y):
        return Apply(self, [x, y], [Double()()])

    def c_code(self, node, name, input_names, output_names, sub):
        (x, y), (z,) = input_names, output_names
        return f"{z} = {x} * {y};"


@needs_compiler
@pytest.mark.parametrize("mode", NATIVE_AND_REFERENCE)
def test_types_state_how_c_reads_their_values(mode):
    x, y = Double()("x"), Double()("y")
    assert phintys.function([x, y], Times()(x, y), mode=mode)(2.0, 3.5) == 7.0


class Hypot(ps.ScalarOp):
    nin = 2

    def impl(self, x, y):
        return np.hypot(x, y)

    def c_headers(self):
        return ["<math.h>"]

    def c_code(self, node, name, input_names, output_names, sub):
        (x, y), (z,) = input_names, output_names
        return f"{z} = sqrt({x} * {x} + {y} * {y});"


@needs_compiler
def test_scalar_ops_are_loops_in_c():
    op = pt.Elemwise(Hypot(ps.upgrade_to_float, name="hypot_in_c"))
    x, y, row = pt.dmatrix("x"), pt.fmatrix("y"), pt.drow("row")
    f = phintys.function([x, y, row], [op(x.T, y), op(x, row)])
    assert "2 C calls" in f.explain().splitlines()[0]
    a, b = np.full((3, 2), 3.0), np.full((2, 3), 4.0, np.float32)
    first, second = f(a, b, [[4.0, 4.0]])
    assert first.tolist() == [[5.0] * 3] * 2
    assert second.tolist() == [[5.0] * 2] * 3
    with pytest.raises(ValueError, match="dimension 1"):
        f(a, np.ones((2, 5), np.float32), [[4.0, 4.0]])
