"""How C code declares, reads, writes and frees the values of Types."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from phintys.graph.c_op import c_names, called
from phintys.graph.params_type import ParamsType
from phintys.scalar.type import ScalarType

if TYPE_CHECKING:
    from phintys.graph.type import Type


@cache
def c_type_of(type: Type) -> Any:
    """Return the object with the C code of a Type: itself, or one of the classes below."""
    if hasattr(type, "c_declare"):
        return type
    if isinstance(type, ParamsType):
        return _CParams(type)
    if isinstance(type, ScalarType):
        return _CNumber(type)
    return _CArray(type) if type.holds_arrays else _CObject(type)


class _Standard:
    """C code of a Type that does not state its own; support code and headers are the Type's."""

    def __init__(self, type: Any) -> None:
        self._type = type

    def __getattr__(self, name: str) -> Any:
        if name.startswith("c_"):
            return getattr(self._type, name)
        raise AttributeError(name)


class _CArray(_Standard):
    """``PyArrayObject *name``, and ``dtype_name`` for its elements."""

    def __init__(self, type: Any) -> None:
        super().__init__(type)
        self.c_name, self.typenum = c_names(type.numpy_dtype)

    def c_declare(self, name: str, sub: Any) -> str:
        return f"typedef {self.c_name} dtype_{name}; PyArrayObject *{name} = NULL;"

    def c_init(self, name: str, sub: Any) -> str:
        return f"{name} = NULL;"

    def c_extract(self, name: str, sub: dict[str, Any]) -> str:
        ndim = self._type.ndim
        return f"""
if (!PyArray_Check(py_{name}) || PyArray_TYPE((PyArrayObject *)py_{name}) != {self.typenum}
    || PyArray_NDIM((PyArrayObject *)py_{name}) != {ndim}) {{
    PyErr_SetString(PyExc_TypeError, "expected an array of rank {ndim}, {self.typenum}");
    {sub["fail"]}
}}
{name} = (PyArrayObject *)py_{name};
Py_INCREF({name});
"""

    def c_sync(self, name: str, sub: Any) -> str:
        return (
            f"Py_XDECREF(py_{name}); py_{name} = {name} ? (PyObject *){name} : Py_None; "
            f"Py_INCREF(py_{name});"
        )

    def c_cleanup(self, name: str, sub: Any) -> str:
        return f"Py_XDECREF({name}); {name} = NULL;"


class _CNumber(_Standard):
    """A number of C."""

    def __init__(self, type: Any) -> None:
        super().__init__(type)
        self.c_name, self.typenum = c_names(type.numpy_dtype)

    def c_declare(self, name: str, sub: Any) -> str:
        return f"typedef {self.c_name} dtype_{name}; {self.c_name} {name};"

    def c_init(self, name: str, sub: Any) -> str:
        return f"memset(&{name}, 0, sizeof {name});"

    def c_extract(self, name: str, sub: dict[str, Any]) -> str:
        return f"""
{{
    PyArrayObject *array = (PyArrayObject *)PyArray_FROM_OTF(
        py_{name}, {self.typenum}, NPY_ARRAY_CARRAY_RO);
    if (!array) {sub["fail"]}
    if (PyArray_SIZE(array) != 1) {{
        Py_DECREF(array);
        PyErr_SetString(PyExc_TypeError, "expected a number, {self.typenum}");
        {sub["fail"]}
    }}
    memcpy(&{name}, PyArray_DATA(array), sizeof {name});
    Py_DECREF(array);
}}
"""

    def c_sync(self, name: str, sub: Any) -> str:
        return f"""
Py_XDECREF(py_{name});
{{
    PyArray_Descr *descr = PyArray_DescrFromType({self.typenum});
    py_{name} = PyArray_Scalar(&{name}, descr, NULL);
    Py_DECREF(descr);
}}
"""

    def c_cleanup(self, name: str, sub: Any) -> str:
        return ""


class _CObject(_Standard):
    """``PyObject *name``: the value itself."""

    def c_declare(self, name: str, sub: Any) -> str:
        return f"PyObject *{name} = NULL;"

    def c_init(self, name: str, sub: Any) -> str:
        return f"{name} = NULL;"

    def c_extract(self, name: str, sub: Any) -> str:
        return f"{name} = py_{name}; Py_INCREF({name});"

    def c_sync(self, name: str, sub: Any) -> str:
        return (
            f"Py_XDECREF(py_{name}); py_{name} = {name} ? {name} : Py_None; Py_INCREF(py_{name});"
        )

    def c_cleanup(self, name: str, sub: Any) -> str:
        return f"Py_XDECREF({name}); {name} = NULL;"


class _CParams(_Standard):
    """A pointer to a structure, with a member for each field."""

    _structure = "phintys_params"

    def _members(self, method: str, fail: str) -> str:
        """Return the code of all fields."""
        sub = {"fail": fail, "id": 0}
        kinds = self._type.fields.items()
        return "\n".join(called(c_type_of(kind), method, name, sub) or "" for name, kind in kinds)

    def c_support_code(self, **kwargs: Any) -> str:
        fields = self._type.fields
        objects = "\n".join(f"PyObject *py_{name} = NULL;" for name in fields)
        taken = "\n".join(
            f'py_{name} = PyObject_GetAttrString(given, "{name}"); if (!py_{name}) return 1;'
            for name in fields
        )
        dropped = "\n".join(f"Py_CLEAR(py_{name});" for name in fields)
        return f"""
struct {self._structure} {{
{objects}
{self._members("c_declare", "return 1;")}
int extract(PyObject *given)
{{
{taken}
{self._members("c_extract", "return 1;")}
return 0;
}}
~{self._structure}()
{{
{self._members("c_cleanup", "return;")}
{dropped}
}}
}};
"""

    def c_headers(self, **kwargs: Any) -> list[str]:
        found = (called(c_type_of(one), "c_headers") or [] for one in self._type.fields.values())
        return [header for headers in found for header in headers]

    def c_declare(self, name: str, sub: Any) -> str:
        return f"{self._structure} *{name} = NULL;"

    def c_extract(self, name: str, sub: dict[str, Any]) -> str:
        return f"""
{name} = new (std::nothrow) {self._structure}();
if (!{name}) {{ PyErr_NoMemory(); {sub["fail"]} }}
if ({name}->extract(py_{name})) {sub["fail"]}
"""

    def c_cleanup(self, name: str, sub: Any) -> str:
        return f"delete {name}; {name} = NULL;"
