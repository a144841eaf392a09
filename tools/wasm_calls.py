"""Call exported modules of WebAssembly by wasmtime: for tests.

wasmtime and the linker, ziglang, are in no environment of the project: `pip install --target`, and
PYTHONPATH.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["WasmFunction"]


class WasmFunction:
    """An exported function in a module of WebAssembly.

    Parameters
    ----------
    folder, name
        Where ``name.wasm`` and ``name.json`` are.

    Attributes
    ----------
    imports
        What the module imports.
    """

    def __init__(self, folder: Path, name: str) -> None:
        import wasmtime  # pyright: ignore[reportMissingImports]

        self._description = json.loads((folder / f"{name}.json").read_text())
        self._store = wasmtime.Store()
        module = wasmtime.Module.from_file(self._store.engine, str(folder / f"{name}.wasm"))
        self.imports = [one.name for one in module.imports]
        exports = wasmtime.Instance(self._store, module, []).exports(self._store)
        self._exports: dict[str, Any] = {key: exports[key] for key in exports}
        if "_initialize" in self._exports:
            self._call("_initialize")

    def _call(self, name: str, *arguments: int) -> int:
        return self._exports[name](self._store, *arguments)

    def _put(self, array: np.ndarray[Any, Any]) -> int:
        """Return the address of a copy, aligned to 8 bytes, in the module's memory."""
        data = np.ascontiguousarray(array).tobytes()
        place = self._call("malloc", len(data) + 16) + 7 & -8
        self._exports["memory"].write(self._store, data, place)
        return place

    def _get(self, place: int, dtype: str, count: int) -> np.ndarray[Any, Any]:
        size = count * np.dtype(dtype).itemsize
        data = self._exports["memory"].read(self._store, place, place + size)
        return np.frombuffer(bytes(data), dtype)

    def __call__(self, *values: Any, capacity: int = 10_000) -> list[np.ndarray[Any, Any]]:
        """Return the results."""
        about = self._description
        arrays = [
            np.asarray(value, one["dtype"])
            for one, value in zip(about["arguments"], values, strict=True)
        ]
        lengths = {
            length: found
            for one, array in zip(about["arguments"], arrays, strict=True)
            for length, found in zip(one["shape"], array.shape, strict=True)
        }
        dims = self._put(np.array([lengths[name] for name in about["dimensions"]] + [0], np.int64))
        args = self._put(np.array([self._put(one) for one in arrays] + [0], np.uint32))
        axes = sum(len(one["shape"]) for one in about["results"])
        shapes = self._put(np.zeros(axes + 1, np.int64))
        self._call(f"{about['name']}_shapes", dims, shapes)
        places = [self._put(np.zeros(capacity, one["dtype"])) for one in about["results"]]
        results = self._put(np.array([*places, 0], np.uint32))
        capacities = self._put(np.full(len(places) + 1, capacity, np.int64))
        state = self._put(np.zeros(self._call(f"{about['name']}_state_bytes") + 8, np.uint8))
        self._call(f"{about['name']}_state_init", state)
        code = self._call(about["name"], args, dims, results, capacities, shapes, 0, state, 0, 0)
        if code:
            msg = f"The module has returned {code}."
            raise ValueError(msg)
        flat, at, found = self._get(shapes, "int64", axes), 0, []
        for one, place in zip(about["results"], places, strict=True):
            shape = flat[at : at + len(one["shape"])]
            at += len(one["shape"])
            count = int(np.prod(shape, dtype=np.int64))
            found.append(self._get(place, one["dtype"], count).reshape(shape))
        return found
