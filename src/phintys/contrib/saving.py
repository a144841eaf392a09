"""Files of parameters: trees of shared variables and arrays, without pickles."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from phintys._base.errors import ArgumentError
from phintys._base.names import public_dir
from phintys._base.nested_containers import rebuilt, walk
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.variable import Variable

__all__ = ["load", "save"]

__dir__ = public_dir(__name__)


def save(path: str | os.PathLike[str], tree: Any) -> None:
    """Write the values of a tree of parameters to a file in NumPy's format ``.npz``.

    Parameters
    ----------
    path
        The file. It is replaced at once when all is written, so that an error leaves it as it was.
    tree
        Shared variables, arrays and numbers in lists, tuples, dicts and dataclasses of any depth.

    Raises
    ------
    ArgumentError
        A leaf is a variable without a value, or has no numeric dtype.

    Examples
    --------
    >>> import os, tempfile, phintys
    >>> params = {"w": phintys.shared([1.0, 2.0]), "layers": [phintys.shared(3.0)]}
    >>> path = os.path.join(tempfile.mkdtemp(), "model.npz")
    >>> phintys.save(path, params)
    >>> params["w"].set_value([0.0, 0.0])
    >>> phintys.load(path, params)
    >>> params["w"].get_value()
    array([1., 2.])
    """
    arrays: Any = {name: _array_of(name, leaf) for name, leaf in walk(tree)}
    target = Path(path)
    # A file of the module tempfile would be for its owner alone, and so would the result.
    temporary = target.with_name(f"{target.name}.{uuid4().hex}")
    try:
        with temporary.open("xb") as file:
            np.savez(file, **arrays)
        temporary.replace(target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename == str(temporary):
            error.filename = os.fspath(path)
        raise


def load(path: str | os.PathLike[str], tree: Any = None) -> Any:
    """Read the values of a tree of parameters from a file that :func:`save` wrote.

    Parameters
    ----------
    path
        The file.
    tree
        Shared variables, arrays and numbers in the form in which they were saved. Shared variables
        get the values of the file: all of them, or none if one does not fit.

    Returns
    -------
    None or tree or dict
        ``None`` if all leaves of the tree are shared variables; else the tree with the values of
        the file. Without a tree, path in the tree -> array.

    Raises
    ------
    ArgumentError
        The file is not one that :func:`save` wrote, or not whole; the leaves of the file and of
        the tree differ; or a value has another shape or dtype.

    Examples
    --------
    >>> import os, tempfile, phintys
    >>> path = os.path.join(tempfile.mkdtemp(), "model.npz")
    >>> phintys.save(path, {"w": [1.0, phintys.shared(2.0)]})
    >>> phintys.load(path)
    {"['w'][0]": array(1.), "['w'][1]": array(2.)}
    """
    arrays = _read(path)
    if tree is None:
        return arrays
    leaves = dict(walk(tree))
    if leaves.keys() != arrays.keys():
        missing, more = leaves.keys() - arrays.keys(), arrays.keys() - leaves.keys()
        msg = (
            f"The file {os.fspath(path)!r} must hold the leaves of the tree: it lacks "
            f"{sorted(missing) or 'none'}, and has {sorted(more) or 'none'} besides."
        )
        raise ArgumentError(msg)
    new = {
        name: _fitted(path, name, leaf, arrays[name])
        for name, leaf in leaves.items()
        if isinstance(leaf, SharedVariable)
    }
    for name, value in new.items():
        leaves[name].set_value(value, borrow=True)
    if len(new) == len(leaves):
        return None
    return rebuilt(tree, [leaves[name] if name in new else arrays[name] for name in leaves])


def _read(path: str | os.PathLike[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays of a file, by name."""
    # A file that is not there, or must not be read, is an error of the system. Once it is open,
    # such an error comes from a place that is not in the file, which a damaged one leads to.
    with Path(path).open("rb") as opened:
        try:
            found = np.load(opened, allow_pickle=False)
            if isinstance(found, np.ndarray):
                reason = "it is a single array"
            else:
                return {name: found[name] for name in found.files}
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - zipfile and NumPy raise any kind for such files
            reason = f"{type(error).__name__}: {error}"
    msg = (
        f"{os.fspath(path)!r} must be a file that phintys.save wrote, whole and unchanged; reading "
        f"it fails ({reason})."
    )
    raise ArgumentError(msg)


def _array_of(name: str, leaf: Any) -> np.ndarray[Any, Any]:
    if isinstance(leaf, Variable) and not isinstance(leaf, SharedVariable):
        msg = f"tree{name} must be a shared variable or an array, got the symbolic {leaf}."
        raise ArgumentError(msg)
    value = leaf.get_value(borrow=True) if isinstance(leaf, SharedVariable) else leaf
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        msg = f"tree{name} must have a numeric dtype, got {value!r} of type {type(value).__name__}."
        raise ArgumentError(msg)
    return array


def _fitted(path: Any, name: str, variable: SharedVariable, value: Any) -> Any:
    """Return a value for a shared variable, checked against its type and its present shape."""
    present = np.asarray(variable.get_value(borrow=True))
    if value.dtype != present.dtype or value.shape != present.shape:
        msg = (
            f"{name} in {os.fspath(path)!r} must have dtype {present.dtype} and shape "
            f"{present.shape}, as {variable} has, got dtype {value.dtype} and shape {value.shape}."
        )
        raise ArgumentError(msg)
    return variable.type.filter(value, strict=True)
