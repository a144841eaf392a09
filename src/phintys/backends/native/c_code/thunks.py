"""Functions that compute a node by its C code: they take and return values."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phintys._base.errors import CCodeError, add_note
from phintys.backends.inner import may_have_c_code
from phintys.backends.native.c_code.compiling import (
    Build,
    compiler,
    module_of,
    no_compiler,
    options_of,
)
from phintys.backends.native.c_code.elementwise import ElementwiseLoop
from phintys.backends.native.c_code.source import headers_of, listed, source_of
from phintys.graph.c_op import called, has_c_code
from phintys.graph.contract import defines
from phintys.scalar.op import ScalarOp
from phintys.tensor.elemwise import Elemwise

if TYPE_CHECKING:
    from phintys.graph.apply import Apply

    Function = Callable[..., tuple[Any, ...]]


def coded(node: Apply) -> Any:
    """Return the object with the C code of a node; ``None`` if there is none."""
    op = node.op
    if has_c_code(op):
        return op
    if isinstance(op, Elemwise) and has_c_code(op.scalar_op):
        return ElementwiseLoop(op)
    return None


def why_not(node: Apply) -> str | None:
    """Return why the C code of a node is not used; ``""`` if it is, ``None`` if there is none."""
    if coded(node) is None:
        return None
    if not compiler():
        return "its C code needs a compiler (pip install 'phintys[c]')"
    return "" if build_of(node) is not None else "it has no C code for these types"


def build_of(node: Apply) -> Build | None:
    """Return the source and the options of a node; ``None`` if the Op does not cover it."""
    op = coded(node)
    try:
        text = source_of(node, op)
    except NotImplementedError:
        return None
    dirs = listed(node, op, "c_header_dirs")
    versions = [repr(called(op, "c_code_cache_version_apply", node))]
    versions += [_content(dirs, one) for one in headers_of(node, op)]
    return Build(
        text,
        options_of(
            dirs,
            listed(node, op, "c_lib_dirs"),
            listed(node, op, "c_compile_args"),
            listed(node, op, "c_no_compile_args"),
        ),
        tuple(f"-l{one}" for one in listed(node, op, "c_libraries")),
        tuple(versions),
    )


def _content(dirs: Sequence[str], header: str) -> str:
    """Return a hash of a user's header, on which compiled code depends."""
    for one in dirs:
        path = Path(one, header.strip('<">'))
        if path.is_file():
            return hashlib.sha256(path.read_bytes()).hexdigest()
    return ""


def function_of(node: Apply) -> Function:
    """Return a function of the inputs of a node that returns a tuple of its outputs.

    Raises
    ------
    CCodeError
        If the code does not compile, or there is no compiler.
    """
    op = coded(node)
    if not compiler():
        raise _located(no_compiler(str(node.op)), node)
    build = build_of(node)
    if build is None:
        msg = f"{node.op} has neither perform nor C code for these types: {node}."
        raise _located(CCodeError(msg), node)
    try:
        module = module_of(build, str(node.op))
    except CCodeError as error:
        raise _located(error, node) from None
    kind = getattr(op, "params_type", None)
    if kind is None:
        return module.make(str(node.op), None)
    given = op.get_params(node) if hasattr(op, "get_params") else kind.get_params(op)
    return module.make(str(node.op), kind.filter(given))


def _located(error: CCodeError, node: Apply) -> CCodeError:
    add_note(error, f"While compiling {node}\nmade at\n  {node.origin}")
    return error


def function_if_used(node: Apply) -> Function | None:
    """Return :func:`function_of`, if native code calls the C code of a node."""
    return function_of(node) if may_have_c_code(node) and why_not(node) == "" else None


def perform_of(node: Apply) -> Callable[..., None]:
    """Return ``perform`` of an Op; if it has none, what computes a node by C code as that does."""
    op: Any = node.op
    scalar_op = getattr(op, "scalar_op", None)
    if scalar_op is not None and has_c_code(scalar_op):
        has_python = type(scalar_op).impl is not ScalarOp.impl
    else:
        has_python = defines(op, "perform")
    if has_python or coded(node) is None:
        return op.perform
    function = function_of(node)

    def perform(node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        for cell, value in zip(output_storage, function(*inputs), strict=True):
            cell[0] = value

    return perform
