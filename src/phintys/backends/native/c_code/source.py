"""The C++ source of a node: a module of Python with one function, around the code of the Op.

The function takes the values of the inputs and returns a tuple of those of the outputs. Each
variable has a block of its own, within that of the variable before: it declares the C variable,
extracts it from the Python object, and cleans up at the end, whatever has failed inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.backends.native.c_code.types import c_type_of
from phintys.graph.c_op import called

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.graph.apply import Apply

NAME = "phintys_c_code"
"""The name of the node and of the module in the source."""

_HEAD = r"""
static PyObject *phintys_result(
    PyObject *value, PyObject *op, int number, int type, int ndim, const npy_intp *sizes,
    int may_share)
{
    if (!value || value == Py_None) {
        PyErr_Format(PyExc_RuntimeError, "The C code of %U must set output %d.", op, number);
        return NULL;
    }
    PyArrayObject *array = (PyArrayObject *)value;
    if (!PyArray_Check(value) || PyArray_TYPE(array) != type || PyArray_NDIM(array) != ndim) {
        PyErr_Format(PyExc_TypeError,
            "The C code of %U must set output %d to an array of rank %d and the dtype of its type.",
            op, number, ndim);
        return NULL;
    }
    for (int axis = 0; axis < ndim; axis++) {
        if (sizes[axis] >= 0 && sizes[axis] != PyArray_DIM(array, axis)) {
            PyErr_Format(PyExc_ValueError,
                "The C code of %U set output %d to an array of size %zd along axis %d; its type "
                "has %zd.", op, number, PyArray_DIM(array, axis), axis, sizes[axis]);
            return NULL;
        }
    }
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    int is_alone = PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA) && Py_REFCNT(value) == 1;
    if (PyArray_CheckExact(value) && PyArray_ISCARRAY(array) && PyArray_DESCR(array) == descr
        && (is_alone || may_share)) {
        Py_DECREF(descr);
        Py_INCREF(value);
        return value;
    }
    return PyArray_FromArray(array, descr,
        NPY_ARRAY_CARRAY | NPY_ARRAY_ENSUREARRAY | NPY_ARRAY_ENSURECOPY);
}
"""


def source_of(node: Apply, op: Any) -> str:
    """Return the source of a node.

    Parameters
    ----------
    node
        The node.
    op
        What has the C code: the Op of the node, or one that stands for it.
    """
    ins = [f"V{at + 1}" for at in range(len(node.inputs))]
    outs = [f"W{at + 1}" for at in range(len(node.outputs))]
    params = getattr(op, "params_type", None)
    blocks = _Blocks()
    for at, (one, variable) in enumerate(zip(ins, node.inputs, strict=True)):
        blocks.enter(one, variable.type, f"phintys_args[{at}]", is_given=True)
    for one, variable in zip(outs, node.outputs, strict=True):
        blocks.enter(one, variable.type, "Py_None", is_given=False)
    if params is not None:
        blocks.enter("params", params, "py_given_params", is_given=True)
    sub = blocks.sub() | ({} if params is None else {"params": "params"})
    code = called(op, "c_code", node, NAME, ins, outs, sub)
    if code is None:
        raise NotImplementedError
    blocks.code(
        code,
        called(op, "c_code_cleanup", node, NAME, ins, outs, sub) or "",
        [
            called(c_type_of(v.type), "c_sync", one, sub) or ""
            for one, v in zip(outs, node.outputs, strict=True)
        ],
    )
    parts = [
        "#define PY_SSIZE_T_CLEAN",
        *(_include(one) for one in ("<Python.h>", "<numpy/arrayobject.h>", *headers_of(node, op))),
        "#include <new>",
        _HEAD,
        *_support(node, op),
        called(op, "c_support_code_apply", node, NAME) or "",
        "namespace {",
        "struct State {",
        "PyObject *py_given_params, *phintys_name;",
        called(op, "c_support_code_struct", node, NAME) or "",
        "int init(PyObject *its_name, PyObject *given)",
        "{",
        "int phintys_failure = 0;",
        "py_given_params = given; Py_XINCREF(given);",
        "phintys_name = its_name; Py_INCREF(phintys_name);",
        *_init_of_struct(node, op, params),
        "return phintys_failure;",
        "}",
        "void clear()",
        "{",
        called(op, "c_cleanup_code_struct", node, NAME) or "",
        "Py_XDECREF(py_given_params);",
        "Py_DECREF(phintys_name);",
        "}",
        "PyObject *run(PyObject *const *phintys_args)",
        "{",
        "int phintys_failure = 0;",
        f"PyObject *phintys_results[{len(outs) or 1}] = {{NULL}};",
        *blocks.lines(),
        *_returned(node, outs),
        "}",
        "};",
        "}",
        _TAIL.format(name=NAME, count=len(ins), init="\n".join(_init_lines(node, op))),
    ]
    return "\n".join(parts)


def _init_of_struct(node: Apply, op: Any, params: Any) -> list[str]:
    """Return the code that initializes what calls share, which may read the parameters."""
    blocks = _Blocks()
    if params is not None:
        blocks.enter("params", params, "py_given_params", is_given=True)
    sub = blocks.sub() | ({} if params is None else {"params": "params"})
    blocks.code(called(op, "c_init_code_struct", node, NAME, sub) or "", "", ())
    return blocks.lines()


_FAIL = "{{ phintys_failure = 1; goto label_{}; }}"


class _Blocks:
    """The nested blocks of the variables of a node."""

    def __init__(self) -> None:
        self._begin: list[str] = []
        self._end: list[str] = []
        self._depth = 0

    def sub(self) -> dict[str, Any]:
        """Return the words for code in the innermost block."""
        return {"fail": _FAIL.format(self._depth), "id": self._depth, "struct_id": 0}

    def enter(self, name: str, type: Any, source: str, *, is_given: bool) -> None:
        """Begin the block of a variable."""
        its = c_type_of(type)
        sub = self.sub()
        start = "c_extract" if is_given else "c_init"
        self._begin += [
            "{",
            f"PyObject *py_{name} = {source}; Py_XINCREF(py_{name});",
            called(its, "c_declare", name, sub) or "",
            "{",
            called(its, start, name, sub) or "",
            "{",
        ]
        label = self._depth
        result = (
            ""
            if is_given
            else f"phintys_results[{int(name[1:]) - 1}] = py_{name}; py_{name} = NULL;"
        )
        self._end.append(
            "\n".join(
                [
                    "}",
                    "}",
                    f"label_{label}: ;",
                    called(its, "c_cleanup", name, sub) or "",
                    result,
                    f"Py_XDECREF(py_{name});",
                    "}",
                ]
            )
        )
        self._depth += 1

    def code(self, code: str, cleanup: str, syncs: Sequence[str]) -> None:
        """Add the code of the Op, and what hands the results over if it has not failed."""
        self._begin += [
            "{",
            code,
            "}",
            f"label_{self._depth}: ;",
            "{",
            cleanup,
            "}",
            "if (!phintys_failure) {",
            *syncs,
            "}",
        ]

    def lines(self) -> list[str]:
        """Return the code."""
        return [*self._begin, *reversed(self._end)]


def _returned(node: Apply, outs: Sequence[str]) -> list[str]:
    """Return code that makes a tuple of the results, or fails."""
    op, count = node.op, len(outs)
    lines = [
        "PyObject *made = NULL;",
        "if (phintys_failure && !PyErr_Occurred())",
        'PyErr_Format(PyExc_RuntimeError, "The C code of %U failed without an exception.",',
        "phintys_name);",
        f"if (!phintys_failure && !PyErr_Occurred()) made = PyTuple_New({count});",
    ]
    shared = {*op.view_map, *op.destroy_map}
    for at, variable in enumerate(node.outputs):
        kind: Any = variable.type
        if kind.holds_arrays:
            number = c_type_of(kind).typenum
            sizes = ", ".join("-1" if one is None else str(one) for one in kind.shape) or "-1"
            lines.append(
                f"if (made) {{ static const npy_intp sizes[] = {{{sizes}}}; PyObject *one = "
                f"phintys_result(phintys_results[{at}], phintys_name, {at}, {number}, {kind.ndim}, "
                f"sizes, {int(at in shared)}); if (one) PyTuple_SET_ITEM(made, {at}, one); "
                "else Py_CLEAR(made); }"
            )
        else:
            one = f"phintys_results[{at}]"
            lines.append(f"if (made) {{ Py_XINCREF({one}); PyTuple_SET_ITEM(made, {at}, {one}); }}")
    lines += [f"Py_XDECREF(phintys_results[{at}]);" for at in range(count)]
    return [*lines, "return made;"]


def _include(header: str) -> str:
    return f"#include {header}" if header.startswith(("<", '"')) else f"#include <{header}>"


def everything(node: Apply, op: Any) -> list[Any]:
    """Return the Op and the Types of a node: all have support code, headers and libraries."""
    types = [variable.type for variable in (*node.inputs, *node.outputs)]
    params = getattr(op, "params_type", None)
    unique = dict.fromkeys([*types, *([] if params is None else [params])])
    return [op, *(c_type_of(one) for one in unique)]


def listed(node: Apply, op: Any, method: str) -> list[str]:
    """List the entries of the Op and of the Types, each once."""
    found: list[str] = []
    for one in everything(node, op):
        found += called(one, method) or []
    return list(dict.fromkeys(found))


def headers_of(node: Apply, op: Any) -> list[str]:
    """Return the headers that code of a node includes."""
    return listed(node, op, "c_headers")


def _support(node: Apply, op: Any) -> Iterable[str]:
    """Return the support code, that of Types first, each once."""
    texts = [called(one, "c_support_code") or "" for one in reversed(everything(node, op))]
    return dict.fromkeys(texts)


def _init_lines(node: Apply, op: Any) -> list[str]:
    lines: list[str] = []
    for one in everything(node, op):
        found = called(one, "c_init_code") or []
        lines += [found] if isinstance(found, str) else found
    return [*lines, called(op, "c_init_code_apply", node, NAME) or ""]


_TAIL = r"""
static void phintys_free(PyObject *capsule)
{{
    State *state = (State *)PyCapsule_GetPointer(capsule, NULL);
    if (state) {{ state->clear(); delete state; }}
}}

static PyObject *phintys_run(PyObject *self, PyObject *const *args, Py_ssize_t count)
{{
    State *state = (State *)PyCapsule_GetPointer(self, NULL);
    if (!state) return NULL;
    if (count != {count}) {{
        PyErr_Format(PyExc_TypeError, "expected {count} values, got %zd", count);
        return NULL;
    }}
    return state->run(args);
}}

static PyMethodDef phintys_method = {{
    "run", (PyCFunction)(void (*)(void))phintys_run, METH_FASTCALL, NULL}};

static PyObject *phintys_make(PyObject *module, PyObject *args)
{{
    PyObject *name, *params;
    if (!PyArg_ParseTuple(args, "UO", &name, &params)) return NULL;
    State *state = new (std::nothrow) State();
    if (!state) return PyErr_NoMemory();
    if (state->init(name, params == Py_None ? NULL : params)) {{
        delete state;
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_RuntimeError, "c_init_code_struct failed without an exception");
        return NULL;
    }}
    PyObject *capsule = PyCapsule_New(state, NULL, phintys_free);
    if (!capsule) {{ state->clear(); delete state; return NULL; }}
    PyObject *function = PyCFunction_New(&phintys_method, capsule);
    Py_DECREF(capsule);
    return function;
}}

static PyMethodDef phintys_methods[] = {{
    {{"make", phintys_make, METH_VARARGS, NULL}}, {{NULL, NULL, 0, NULL}}}};
static PyModuleDef phintys_module = {{
    PyModuleDef_HEAD_INIT, "{name}", NULL, -1, phintys_methods, NULL, NULL, NULL, NULL}};

PyMODINIT_FUNC PyInit_{name}(void)
{{
    import_array();
    {{
{init}
    }}
    if (PyErr_Occurred()) return NULL;
    return PyModule_Create(&phintys_module);
}}
"""
