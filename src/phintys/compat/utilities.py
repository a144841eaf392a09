"""Helpers of the old packages that programs import: lists, objects with fields, constants."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import traceback
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.tensor as pt
from phintys._base.errors import ArgumentError, OpContractError
from phintys.compat.tensors import get_scalar_constant_value
from phintys.compat.walks import variables
from phintys.graph import (
    Apply,
    Variable,
    ancestors,
    applys_between,
    clone_replace,
    equal_computations,
)
from phintys.tensor.known import known_int

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

__all__ = [
    "LOCAL_BITWIDTH",
    "PYTHON_INT_BITWIDTH",
    "MetaObject",
    "MetaType",
    "Node",
    "Scratchpad",
    "Singleton",
    "ValidatingScratchpad",
    "add_tag_trace",
    "apply_across_args",
    "apply_depends_on",
    "as_index_variable",
    "as_symbolic",
    "call_subprocess_Popen",
    "check_and_normalize_axes",
    "complex_types",
    "contains_inf",
    "contains_nan",
    "difference",
    "extract_constant",
    "flatten",
    "float_types",
    "from_return_values",
    "get_unbound_function",
    "hash_from_code",
    "hash_from_ndarray",
    "int_types",
    "is_in_ancestors",
    "is_same_graph",
    "largest",
    "list_of_nodes",
    "may_share_memory",
    "op_as_string",
    "output_subprocess_Popen",
    "remove",
    "shape_of_variables",
    "simple_extract_stack",
    "smallest",
    "sparse_grad",
    "subprocess_Popen",
    "to_return_values",
    "ubscalar",
    "uiscalar",
    "ulscalar",
    "uniq",
    "uwscalar",
    "values_eq_approx",
    "values_eq_approx_always_true",
    "values_eq_approx_remove_inf",
    "values_eq_approx_remove_inf_nan",
    "values_eq_approx_remove_nan",
    "variables_and_orphans",
]


LOCAL_BITWIDTH = sys.maxsize.bit_length() + 1
"""How many bits an address has."""

PYTHON_INT_BITWIDTH = np.dtype(int).itemsize * 8
"""How many bits the integers have that NumPy makes of Python's."""


def as_symbolic(x: Any, name: str | None = None, **options: Any) -> Any:
    """Return a variable for a value; a variable of any Type is returned as it is."""
    return x if isinstance(x, Variable) else pt.as_tensor_variable(x, name=name, **options)


def is_same_graph(
    var1: Variable, var2: Variable, givens: Mapping[Variable, Variable] | None = None
) -> bool:
    """Return whether two variables are the same expression, with ``givens`` replaced in both.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.utilities import is_same_graph
    >>> x, y = pt.dvector("x"), pt.dvector("y")
    >>> is_same_graph(x * 2, y * 2), is_same_graph(x * 2, y * 2, givens={y: x})
    (False, True)
    """
    one, other = clone_replace([var1, var2], dict(givens or {}))
    return equal_computations([one], [other])


def largest(*operands: Any) -> Any:
    """Return the elementwise maximum of any number of operands."""
    return reduce(pt.maximum, operands)


def smallest(*operands: Any) -> Any:
    """Return the elementwise minimum of any number of operands."""
    return reduce(pt.minimum, operands)


def may_share_memory(a: Any, b: Any, raise_other_type: bool = True) -> bool:
    """Return whether the memory of two arrays may overlap.

    Raises
    ------
    TypeError
        One is not an array, and ``raise_other_type``.
    """
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return pt.TensorType.may_share_memory(a, b)
    if raise_other_type:
        msg = f"may_share_memory takes arrays, got {type(a).__name__} and {type(b).__name__}."
        raise TypeError(msg)
    return False


def list_of_nodes(inputs: Iterable[Variable], outputs: Iterable[Variable]) -> list[Apply]:
    """Return the nodes that compute ``outputs`` from ``inputs``."""
    return list(applys_between(list(inputs), list(outputs)))


def apply_depends_on(apply: Apply, depends_on: Apply | Collection[Apply]) -> bool:
    """Return whether a node is computed from one of others, or is one."""
    wanted = {depends_on} if isinstance(depends_on, Apply) else set(depends_on)
    return not wanted.isdisjoint(applys_between([], apply.outputs))


# ---- lists ---------------------------------------------------------------------------------------


def uniq(seq: Iterable[Any]) -> list[Any]:
    """Return the different elements, in order."""
    return list(dict.fromkeys(seq))


def difference(seq1: Iterable[Any], seq2: Iterable[Any]) -> list[Any]:
    """Return the elements of the first list that are not in the second one."""
    others = set(seq2)
    return [one for one in seq1 if one not in others]


def remove(predicate: Callable[[Any], Any], coll: Iterable[Any]) -> list[Any]:
    """Return the elements for which a predicate is false."""
    return [one for one in coll if not predicate(one)]


def flatten(a: Any) -> list[Any]:
    """Return the leaves of nested tuples, lists and sets."""
    if not isinstance(a, tuple | list | set):
        return [a]
    return [leaf for one in a for leaf in flatten(one)]


def to_return_values(values: list[Any]) -> Any:
    """Return the only element of a list, or the list."""
    return values[0] if len(values) == 1 else values


def from_return_values(values: Any) -> list[Any]:
    """Return a list of what may be one value."""
    return list(values) if isinstance(values, list | tuple) else [values]


def apply_across_args(*fns: Callable[[Any], Any]) -> Any:
    """Return functions that apply ``fns`` to each argument."""

    def spread(fn: Callable[[Any], Any]) -> Callable[..., Any]:
        return lambda *args: to_return_values([fn(arg) for arg in args])

    return to_return_values([spread(fn) for fn in fns])


# ---- objects -------------------------------------------------------------------------------------

Node = (Apply, Variable)
"""What a graph is made of, for ``isinstance``."""


class MetaType(type):
    """Gives classes with ``__props__`` equality, a hash and a text by these attributes."""

    def __new__(mcs, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> Any:
        """Return the class."""
        fields = members.get("__props__")
        if fields is not None:
            for method in (_hash, _eq, _str):
                members.setdefault(f"_{method.__name__}__", method)
        return super().__new__(mcs, name, bases, members)


def _fields(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, name) for name in self.__props__)


def _hash(self: Any) -> int:
    return hash((type(self), _fields(self)))


def _eq(self: Any, other: object) -> bool:
    return type(self) is type(other) and _fields(self) == _fields(other)


def _str(self: Any) -> str:
    named = ", ".join(
        f"{name}={value!r}" for name, value in zip(self.__props__, _fields(self), strict=True)
    )
    return f"{type(self).__name__}{{{named}}}" if named else type(self).__name__


class MetaObject(metaclass=MetaType):
    """An object whose class is a :class:`MetaType`."""


class Scratchpad:
    """An object for attributes of any name."""

    def clear(self) -> None:
        """Remove all attributes."""
        self.__dict__.clear()

    def __update__(self, other: Any) -> Scratchpad:
        self.__dict__.update(other.__dict__)
        return self

    def info(self) -> None:
        """Print the attributes."""
        print(f"<{type(self).__name__} {self.__dict__}>")  # noqa: T201 - it is what it does


class ValidatingScratchpad(Scratchpad):
    """A :class:`Scratchpad` that checks one attribute when it is set."""

    attr: str
    attr_filter: Callable[[Any], Any]

    def __init__(self, attr: str, attr_filter: Callable[[Any], Any]) -> None:
        self.__dict__["attr"], self.__dict__["attr_filter"] = attr, attr_filter

    def __setattr__(self, name: str, value: Any) -> None:
        if name == self.attr:
            value = self.attr_filter(value)
        super().__setattr__(name, value)


class Singleton:
    """A base class of classes with one instance each."""

    _instance: Any = None

    def __new__(cls) -> Any:
        """Return the instance."""
        if not isinstance(cls._instance, cls):
            cls._instance = super().__new__(cls)
        return cls._instance


def get_unbound_function(unbound: Any) -> Any:
    """Return the function of a method."""
    return getattr(unbound, "__func__", unbound)


def simple_extract_stack(f: Any = None, limit: int | None = None, skips: Any = ()) -> list[Any]:
    """Return the lines that are running, without those of files named in ``skips``."""
    found = traceback.extract_stack(f, limit)
    return [one for one in found if not any(part in one.filename for part in skips)]


def add_tag_trace(thing: Any, user_line: int | None = None) -> Any:
    """Return a variable: where it was made is noted for each."""
    return thing


# ---- processes -----------------------------------------------------------------------------------


def subprocess_Popen(command: Any, **params: Any) -> Any:
    """Start a program."""
    return subprocess.Popen(command, **params)  # noqa: S603 - as the caller asks


def call_subprocess_Popen(command: Any, **params: Any) -> int:
    """Run a program, and return its exit status; its output is dropped."""
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    done = subprocess.run(command, check=False, **(quiet | params))  # noqa: S603 - as asked
    return done.returncode


def output_subprocess_Popen(command: Any, **params: Any) -> tuple[bytes, bytes, int]:
    """Run a program; return its output, its errors and its exit status."""
    done = subprocess.run(  # noqa: S603 - as the caller asks
        command, check=False, capture_output=True, **params
    )
    return done.stdout, done.stderr, done.returncode


def hash_from_code(msg: str | bytes) -> str:
    """Return a hash of a text."""
    return "m" + hashlib.sha256(msg.encode() if isinstance(msg, str) else msg).hexdigest()


def hash_from_ndarray(data: Any) -> str:
    """Return a hash of an array: of its elements, shape, strides and dtype."""
    array = np.ascontiguousarray(data)
    facts = f"{data.shape}{data.strides}{data.dtype}"
    return hash_from_code(array.tobytes() + facts.encode())


# ---- arrays and variables ------------------------------------------------------------------------

int_types = (pt.bscalar, pt.wscalar, pt.iscalar, pt.lscalar)
float_types = (pt.fscalar, pt.dscalar)
complex_types = (pt.cscalar, pt.zscalar)
ubscalar, uwscalar, uiscalar, ulscalar = (
    pt.TensorType(f"uint{bits}", ()) for bits in (8, 16, 32, 64)
)


def contains_nan(arr: Any, node: Any = None, var: Any = None) -> bool:
    """Return whether a value has a NaN."""
    array = np.asarray(arr)
    return array.dtype.kind in "fc" and bool(np.isnan(array).any())


def contains_inf(arr: Any, node: Any = None, var: Any = None) -> bool:
    """Return whether a value has an infinity."""
    array = np.asarray(arr)
    return array.dtype.kind in "fc" and bool(np.isinf(array).any())


def values_eq_approx(
    a: Any,
    b: Any,
    allow_remove_inf: bool = False,
    allow_remove_nan: bool = False,
    rtol: float | None = None,
    atol: float | None = None,
) -> bool:
    """Return whether two arrays are equal up to rounding; infinities and NaN may be left out."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    kept = np.ones(a.shape, bool)
    if a.dtype.kind in "fc":
        kept &= ~(np.isinf(a) | np.isinf(b)) if allow_remove_inf else True
        kept &= ~(np.isnan(a) | np.isnan(b)) if allow_remove_nan else True
    wide = a.dtype in {np.dtype("float64"), np.dtype("complex128")}
    tolerance = (1e-5, 1e-8) if wide else (1e-3, 1e-5)
    relative = tolerance[0] if rtol is None else rtol
    absolute = tolerance[1] if atol is None else atol
    return bool(np.allclose(a[kept], b[kept], rtol=relative, atol=absolute, equal_nan=True))


def values_eq_approx_remove_inf(a: Any, b: Any) -> bool:
    """Return whether two arrays are equal up to rounding, without infinities."""
    return values_eq_approx(a, b, allow_remove_inf=True)


def values_eq_approx_remove_nan(a: Any, b: Any) -> bool:
    """Return whether two arrays are equal up to rounding, without NaN."""
    return values_eq_approx(a, b, allow_remove_nan=True)


def values_eq_approx_remove_inf_nan(a: Any, b: Any) -> bool:
    """Return whether two arrays are equal up to rounding, without infinities and NaN."""
    return values_eq_approx(a, b, allow_remove_inf=True, allow_remove_nan=True)


def values_eq_approx_always_true(a: Any, b: Any) -> bool:
    """Return ``True``."""
    return True


def check_and_normalize_axes(x: Any, axis: Any) -> list[int]:
    """Return axes as a list of numbers from 0 on, empty for all of them.

    Raises
    ------
    ArgumentError
        The tensor has no such axis.
    """
    x = pt.as_tensor_variable(x)
    if axis is None:
        return []
    given = axis if isinstance(axis, list | tuple) else [axis]
    found = [known_int(pt.as_tensor_variable(one)) for one in given]
    if any(one is None or not -x.ndim <= one < x.ndim for one in found):
        msg = f"The axes of {x} are numbers below {x.ndim}, got {axis}."
        raise ArgumentError(msg)
    return [one % x.ndim for one in found if one is not None]


def extract_constant(x: Any, elemwise: bool = True, only_process_constants: bool = False) -> Any:
    """Return the value of an expression if it is known, or the expression."""
    try:
        return get_scalar_constant_value(x)
    except OpContractError:
        return x


def as_index_variable(idx: Any) -> Any:
    """Return an index as a variable: integers, or bools, which are a mask."""
    if idx is None or isinstance(idx, slice):
        return idx
    found = pt.as_tensor_variable(idx)
    if found.type.numpy_dtype.kind not in "biu":
        msg = f"An index is of integers or bools, got {found} of dtype {found.dtype}."
        raise TypeError(msg)
    return found


def sparse_grad(var: Any) -> Any:
    """Return ``x[i]``; its gradient is a dense array here, with the same values."""
    return var


def shape_of_variables(fgraph: Any, input_shapes: dict[Any, Any]) -> dict[Any, tuple[int, ...]]:
    """Return the shapes of all variables of a graph for given shapes of its inputs."""
    values = {variable: np.ones(shape, variable.dtype) for variable, shape in input_shapes.items()}
    tensors: list[Any] = [x for x in ancestors(fgraph.outputs) if hasattr(x.type, "ndim")]
    shapes = [x.shape for x in tensors]
    found = [tuple(int(size) for size in shape.eval(values)) for shape in shapes]
    return dict(zip(tensors, found, strict=True))


def is_in_ancestors(l_apply: Apply, f_node: Apply) -> bool:
    """Return whether a node is computed from another one, or is it."""
    return f_node in set(applys_between([], l_apply.outputs))


def variables_and_orphans(i: list[Variable], o: list[Variable]) -> tuple[list[Any], list[Any]]:
    """Return the variables between inputs and outputs, and those of them without an owner."""
    given = set(i)
    found = variables(given, o)
    return found, [one for one in found if one.owner is None and one not in given]


def op_as_string(i: Any, op: Any, leaf_formatter: Any = str, node_formatter: Any = None) -> str:
    """Return a node as a text: the Op and its arguments."""
    arguments = [leaf_formatter(one) for one in i]
    return f"{op.op}({', '.join(map(str, arguments))})"
