"""Values of shared variables as files of NumPy, one for each part of a divided array.

No process needs a whole array: each writes the parts of its own devices, and reads those that its
devices need, which may be other ones on another mesh.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError
from phintys._base.late import LateModule
from phintys.backends.jax.arrays import jax
from phintys.backends.jax.held import HeldArray, Transfers
from phintys.backends.jax.meshes import ProgramShardings
from phintys.backends.jax.requirement import with_64_bits

if TYPE_CHECKING:
    from os import PathLike

    from phintys.graph.shared_variable import SharedVariable

_hosts: Any = LateModule("jax.experimental.multihost_utils")

_INDEX = "index.json"

Box = tuple[tuple[int, int], ...]
"""For each axis of an array the begin and end of a part."""


def save_values(folder: str | PathLike[str], variables: Sequence[SharedVariable]) -> None:
    """Write the values of shared variables to a folder, which all processes call together.

    An older checkpoint in the folder is replaced when the new one is complete.

    Parameters
    ----------
    folder
        The folder, on a file system that all processes share.
    variables
        Variables with different names, whose values are arrays.

    Raises
    ------
    ArgumentError
        A variable has no name, or the name of another.

    Examples
    --------
    >>> import tempfile, numpy as np, phintys
    >>> w = phintys.shared(np.arange(3.0), "w")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     phintys.jax.save_values(f"{folder}/step", [w])
    ...     w.set_value(np.zeros(3))
    ...     phintys.jax.load_values(f"{folder}/step", [w])
    >>> w.get_value()
    array([0., 1., 2.])
    """
    named = _by_name(variables, "save_values")
    target = Path(folder)
    new, old = target.with_name(f"{target.name}.new"), target.with_name(f"{target.name}.old")
    is_first = jax.process_index() == 0
    if is_first:
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
    _wait("begun")
    index: dict[str, Any] = {}
    for name, variable in named.items():
        stored = variable.container.storage[0]
        value = stored.array if isinstance(stored, HeldArray) else stored
        index[name] = {"shape": list(value.shape), "dtype": str(value.dtype)}
        for box, part in _own_parts(value):
            np.save(new / _file_of(name, box), part)
    _wait("written")
    if is_first:
        (new / _INDEX).write_text(json.dumps(index), encoding="utf-8")
        shutil.rmtree(old, ignore_errors=True)
        if target.exists():
            target.rename(old)
        new.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    _wait("done")


def load_values(folder: str | PathLike[str], variables: Sequence[SharedVariable]) -> None:
    """Set shared variables to the values that :func:`save_values` has written.

    Those with a sharding get it, whatever the one was with which they were saved; each process
    reads the parts that its devices need.

    Raises
    ------
    ArgumentError
        The folder has no value for a variable, or one of another type.
    """
    target = Path(folder)
    index = json.loads((target / _INDEX).read_text(encoding="utf-8"))
    for name, variable in _by_name(variables, "load_values").items():
        if name not in index:
            msg = f"load_values: {target} has no value for {name}; it has {', '.join(index)}."
            raise ArgumentError(msg)
        shape, dtype = tuple(index[name]["shape"]), np.dtype(index[name]["dtype"])
        variable.type.filter(np.broadcast_to(np.zeros((), dtype), shape), strict=True)
        parts = {_box_of(file, name): file for file in target.glob(f"{name}.*.npy")}
        sharding = variable.container.sharding
        if sharding is None:
            whole = _assembled(parts, tuple((0, size) for size in shape), dtype)
            variable.container.value = whole
            continue
        with with_64_bits():
            array = jax.make_array_from_callback(
                shape,
                ProgramShardings(sharding.mesh).of(sharding),
                lambda slices, shape=shape, parts=parts, dtype=dtype: _assembled(
                    parts, _box(slices, shape), dtype
                ),
            )
        variable.container.storage[0] = HeldArray(array, Transfers())


def _by_name(variables: Sequence[SharedVariable], called: str) -> dict[str, SharedVariable]:
    names = [variable.name for variable in variables]
    for name in names:
        if not name or names.count(name) > 1 or "/" in name:
            msg = (
                f"{called}: each variable must have a name of its own, which becomes that of its "
                f"files; got {name!r}. Write phintys.shared(value, 'name')."
            )
            raise ArgumentError(msg)
    return {str(variable.name): variable for variable in variables}


def _own_parts(value: Any) -> Iterator[tuple[Box, np.ndarray[Any, Any]]]:
    """Yield the parts that this process writes: each part has one writer."""
    if isinstance(value, np.ndarray):
        if jax.process_index() == 0:
            yield tuple((0, size) for size in value.shape), value
        return
    for shard in value.addressable_shards:
        if shard.replica_id == 0:
            yield _box(shard.index, value.shape), np.asarray(shard.data)


def _box(slices: Sequence[slice], shape: Sequence[int]) -> Box:
    return tuple(part.indices(size)[:2] for part, size in zip(slices, shape, strict=True))


def _file_of(name: str, box: Box) -> str:
    return f"{name}.{'_'.join(f'{begin}-{end}' for begin, end in box) or 'all'}.npy"


def _box_of(file: Path, name: str) -> Box:
    text = file.name[len(name) + 1 : -len(".npy")]
    if text == "all":
        return ()
    pairs = (part.split("-") for part in text.split("_"))
    return tuple((int(begin), int(end)) for begin, end in pairs)


def _assembled(parts: dict[Box, Path], wanted: Box, dtype: np.dtype[Any]) -> Any:
    """Return a part of an array from the files that overlap with it."""
    found = np.empty([end - begin for begin, end in wanted], dtype)
    for box, file in parts.items():
        both = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(box, wanted, strict=True)]
        if all(begin < end for begin, end in both):
            there = tuple(slice(b - o, e - o) for (b, e), (o, _) in zip(both, wanted, strict=True))
            here = tuple(slice(b - o, e - o) for (b, e), (o, _) in zip(both, box, strict=True))
            found[there] = np.load(file, mmap_mode="r")[here]
    return found


def _wait(what: str) -> None:
    """Wait until all processes are here."""
    if jax.process_count() > 1:
        _hosts.sync_global_devices(f"phintys checkpoint {what}")
