"""Ops with an implementation in C, as the contract of Theano and Aesara has it.

An Op of any class has one if it defines ``c_code``. :class:`COp` states the methods and their
defaults, and :class:`ExternalCOp` takes the code from a file.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import MethodNotDefinedError, OpContractError
from phintys.graph.op import Op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply


_BY_DTYPE = {
    name: (f"npy_{name}", f"NPY_{name.upper()}")
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
}
_BY_DTYPE["float16"] = ("npy_half", "NPY_HALF")


def c_names(dtype: Any) -> tuple[str, str]:
    """Return the name of a dtype in C, and of its number.

    Examples
    --------
    >>> from phintys.graph.c_op import c_names
    >>> c_names("float64")
    ('npy_float64', 'NPY_FLOAT64')
    """
    return _BY_DTYPE[np.dtype(dtype).name]


class COp(Op):
    """An Op whose outputs are computed by C++ code, compiled with a program.

    A subclass defines :meth:`c_code`, and :meth:`perform` for where there is no compiler. The
    other methods have defaults. Other Ops may define any of them, too.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.graph import Apply
    >>> from phintys.graph.c_op import COp
    >>> class Twice(COp):
    ...     __props__ = ()
    ...
    ...     def make_node(self, x):
    ...         return Apply(self, [x], [x.type()])
    ...
    ...     def perform(self, node, inputs, output_storage):
    ...         output_storage[0][0] = inputs[0] * 2
    ...
    ...     def c_code(self, node, name, input_names, output_names, sub):
    ...         (x,), (y,) = input_names, output_names
    ...         return f'''
    ...             {y} = (PyArrayObject *)PyArray_NewCopy({x}, NPY_CORDER);
    ...             if (!{y}) {sub["fail"]}
    ...             for (npy_intp i = 0; i < PyArray_SIZE({y}); i++)
    ...                 ((dtype_{y} *)PyArray_DATA({y}))[i] *= 2;
    ...         '''
    """

    params_type: Any = None
    """The Type of what :meth:`get_params` returns; C code knows it by ``sub["params"]``."""

    def get_params(self, node: Apply) -> Any:
        """Return a value that C code reads, of the ``params_type``.

        By default the fields of a ``ParamsType`` are the attributes of the Op.
        """
        if hasattr(self.params_type, "get_params"):
            return self.params_type.get_params(self)
        msg = f"{self} has a params_type: define get_params(node), which returns its value."
        raise MethodNotDefinedError(msg)

    def c_code(
        self,
        node: Apply,
        name: str,
        input_names: Sequence[str],
        output_names: Sequence[str],
        sub: dict[str, Any],
    ) -> str:
        """Return C++ code that computes the outputs.

        Parameters
        ----------
        node
            The node.
        name
            A name that no other node has.
        input_names, output_names
            The C variables of inputs and outputs, as their Types declare them: arrays are
            ``PyArrayObject *``. Outputs are as ``c_init`` leaves them: ``NULL`` for arrays.
        sub
            ``sub["fail"]`` is a statement that ends the code after an exception was set, and
            ``sub["params"]`` is the variable of the parameters.
        """
        msg = f"The Op {self} has no c_code."
        raise MethodNotDefinedError(msg)

    def c_code_cleanup(
        self,
        node: Apply,
        name: str,
        input_names: Sequence[str],
        output_names: Sequence[str],
        sub: dict[str, Any],
    ) -> str:
        """Return code that runs after :meth:`c_code`, also if that has failed."""
        return ""

    def c_support_code(self, **kwargs: Any) -> str:
        """Return code for the beginning of the file: functions and structures."""
        return ""

    def c_support_code_apply(self, node: Apply, name: str) -> str:
        """Return code for the beginning of the file that depends on the node."""
        return ""

    def c_support_code_struct(self, node: Apply, name: str) -> str:
        """Return declarations of variables that :meth:`c_code` finds again in the next call."""
        return ""

    def c_init_code(self, **kwargs: Any) -> list[str]:
        """Return statements that run once, when the file is loaded."""
        return []

    def c_init_code_apply(self, node: Apply, name: str) -> str:
        """Return such statements that depend on the node."""
        return ""

    def c_init_code_struct(self, node: Apply, name: str, sub: dict[str, Any]) -> str:
        """Return statements that initialize the variables of :meth:`c_support_code_struct`."""
        return ""

    def c_cleanup_code_struct(self, node: Apply, name: str) -> str:
        """Return statements that free them."""
        return ""

    def c_headers(self, **kwargs: Any) -> list[str]:
        """Return headers to include, such as ``"<math.h>"``."""
        return []

    def c_header_dirs(self, **kwargs: Any) -> list[str]:
        """Return folders in which headers are looked for."""
        return []

    def c_libraries(self, **kwargs: Any) -> list[str]:
        """Return libraries to link to, such as ``"m"``."""
        return []

    def c_lib_dirs(self, **kwargs: Any) -> list[str]:
        """Return folders in which libraries are looked for."""
        return []

    def c_compile_args(self, **kwargs: Any) -> list[str]:
        """Return further arguments of the compiler."""
        return []

    def c_no_compile_args(self, **kwargs: Any) -> list[str]:
        """Return arguments that the compiler must not be given."""
        return []

    def c_code_cache_version(self) -> tuple[Any, ...]:
        """Return a version of the code. Compiled code is kept by content, whatever it is."""
        return ()

    def c_code_cache_version_apply(self, node: Apply) -> tuple[Any, ...]:
        """Return such a version for a node."""
        return self.c_code_cache_version()


SECTIONS = (
    *("init_code", "init_code_apply", "init_code_struct", "cleanup_code_struct"),
    *("support_code", "support_code_apply", "support_code_struct", "code", "code_cleanup"),
)


class ExternalCOp(COp):
    """An Op whose C++ code stands in files.

    A file consists of sections that begin with lines such as ``#section support_code_apply``: those
    are ``support_code``, ``support_code_apply``, ``support_code_struct``, ``init_code``,
    ``init_code_apply``, ``init_code_struct``, ``cleanup_code_struct``, ``code`` and
    ``code_cleanup``. In sections that depend on the node, the macros ``APPLY_SPECIFIC(name)``,
    ``INPUT_0``, ``OUTPUT_0``, ``DTYPE_INPUT_0``, ``TYPENUM_INPUT_0``, ``ITEMSIZE_INPUT_0``,
    ``FAIL`` and ``PARAMS`` are defined; with ``func_name``, a function of a file is called with the
    inputs, the addresses of the outputs and the parameters, and returns 0 if all is well.

    Parameters
    ----------
    func_files
        The paths, relative to the file that defines the class.
    func_name
        The function that is called, instead of a section ``code``.
    """

    func_file: Any = None
    func_name: str | None = None

    def __init__(self, func_files: Any = None, func_name: str | None = None) -> None:
        files = self.func_file if func_files is None else func_files
        if func_name is not None:
            self.func_name = func_name
        self.func_files = [files] if isinstance(files, str | Path) else list(files or [])
        self.func_codes = [self.get_path(one).read_text() for one in self.func_files]
        self.code_sections: dict[str, str] = {}
        for path, text in zip(self.func_files, self.func_codes, strict=True):
            self._read(path, text)
        if self.func_name is None and "code" not in self.code_sections:
            msg = (
                f"{type(self).__name__}: there must be a section `code` in the files, or func_name."
            )
            raise OpContractError(msg)

    def get_path(self, path: Any) -> Path:
        """Return the path of a file, which is relative to that of the class."""
        home = sys.modules[type(self).__module__]
        return Path(getattr(home, "__file__", None) or ".").parent / path

    def load_c_code(self, func_files: Any) -> None:
        """Read other files."""
        ExternalCOp.__init__(self, func_files, self.func_name)

    def _read(self, path: Any, text: str) -> None:
        pieces = re.split(r"^#section[ \t]+(\w+)[ \t]*$", text, flags=re.MULTILINE)
        if len(pieces) == 1:
            pieces = ["", "support_code_apply", text]
        if pieces[0].strip() and not re.fullmatch(
            r"(\s|//[^\n]*|/\*.*?\*/)*", pieces[0], re.DOTALL
        ):
            msg = f"{path}: there must be no code before the first #section."
            raise OpContractError(msg)
        for name, body in zip(pieces[1::2], pieces[2::2], strict=True):
            if name not in SECTIONS:
                msg = f"{path}: unknown #section {name}; there are {', '.join(SECTIONS)}."
                raise OpContractError(msg)
            self.code_sections[name] = self.code_sections.get(name, "") + body

    def c_support_code(self, **kwargs: Any) -> str:
        return self.code_sections.get("support_code", "")

    def c_init_code(self, **kwargs: Any) -> list[str]:
        return [self.code_sections["init_code"]] if "init_code" in self.code_sections else []

    def c_support_code_apply(self, node: Apply, name: str) -> str:
        return self._between("support_code_apply", node, name)

    def c_support_code_struct(self, node: Apply, name: str) -> str:
        return self._between("support_code_struct", node, name)

    def c_init_code_apply(self, node: Apply, name: str) -> str:
        return self._between("init_code_apply", node, name)

    def c_cleanup_code_struct(self, node: Apply, name: str) -> str:
        return self._between("cleanup_code_struct", node, name)

    def c_init_code_struct(self, node: Apply, name: str, sub: dict[str, Any]) -> str:
        return self._between("init_code_struct", node, name, sub)

    def c_code_cleanup(
        self,
        node: Apply,
        name: str,
        input_names: Sequence[str],
        output_names: Sequence[str],
        sub: dict[str, Any],
    ) -> str:
        return self._between("code_cleanup", node, name, sub, input_names, output_names)

    def c_code(
        self,
        node: Apply,
        name: str,
        input_names: Sequence[str],
        output_names: Sequence[str],
        sub: dict[str, Any],
    ) -> str:
        if self.func_name is None:
            return self._between("code", node, name, sub, input_names, output_names)
        given = [*input_names, *(f"&{one}" for one in output_names)]
        if "params" in sub:
            given.append(sub["params"])
        define, undefine = self._macros(node, name, sub)
        call = f"if ({self.func_name}({', '.join(given)}) != 0) {{ {sub['fail']} }}"
        return f"{define}\n{{\n{call}\n}}\n{undefine}"

    def _between(
        self,
        section: str,
        node: Apply,
        name: str,
        sub: dict[str, Any] | None = None,
        inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
    ) -> str:
        """Return a section between the definitions of its macros."""
        code = self.code_sections.get(section, "")
        if not code:
            return ""
        define, undefine = self._macros(node, name, sub, inputs, outputs)
        return f"{define}\n{code}\n{undefine}"

    def _macros(
        self,
        node: Apply,
        name: str,
        sub: dict[str, Any] | None = None,
        inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
    ) -> tuple[str, str]:
        macros = {"APPLY_SPECIFIC(str)": f"str##_{name}"}
        for role, variables in (("INPUT", node.inputs), ("OUTPUT", node.outputs)):
            for at, variable in enumerate(variables):
                specs = getattr(variable.type, "dtype_specs", None)
                if specs is None:
                    continue
                _, c_type, number = specs()
                macros[f"DTYPE_{role}_{at}"] = c_type
                macros[f"TYPENUM_{role}_{at}"] = number
                macros[f"ITEMSIZE_{role}_{at}"] = f"sizeof({c_type})"
        macros |= {f"INPUT_{at}": one for at, one in enumerate(inputs)}
        macros |= {f"OUTPUT_{at}": one for at, one in enumerate(outputs)}
        if sub is not None:
            macros["FAIL"] = sub["fail"].replace("\n", " ")
            if "params" in sub:
                macros["PARAMS"] = sub["params"]
        define = "\n".join(f"#define {one} {text}" for one, text in macros.items())
        undefine = "\n".join(f"#undef {one.partition('(')[0]}" for one in macros)
        return define, undefine


def has_c_code(op: Op) -> bool:
    """Return whether an Op defines C code, in its class or on the instance.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.graph.c_op import has_c_code
    >>> has_c_code(pt.Dot())
    False
    """
    found = getattr(op, "c_code", None)
    return found is not None and getattr(found, "__func__", found) is not COp.c_code


def called(thing: Any, method: str, *arguments: Any) -> Any:
    """Call an optional method of an Op or a Type, which may take ``c_compiler`` as well.

    ``None`` stands for a method that there is not, or that says that it is not defined.
    """
    found = getattr(thing, method, None)
    if found is None:
        return None
    parameters = inspect.signature(found).parameters
    wanted = {"c_compiler": ""} if "c_compiler" in parameters else {}
    try:
        return found(*arguments, **wanted)
    except NotImplementedError:
        return None
