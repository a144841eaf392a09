"""A module of Python that calls an exported function, without Phintys: for checks of it."""

from __future__ import annotations

_TEXT = '''"""Calls the compiled function {name} by ctypes; written by Phintys {phintys}.

>>> from {name} import {name}, State        # doctest: +SKIP
>>> {name}(...)                             # doctest: +SKIP
"""

import ctypes
import json
from pathlib import Path

import numpy as np

_HERE = Path(__file__).resolve().parent
DESCRIPTION = json.loads((_HERE / "{name}.json").read_text())
_LIBRARY = ctypes.CDLL(str(_HERE / "{library}"))
_POINTER, _INT64, _INT32 = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32


def _function(suffix, returns, *parameters):
    function = getattr(_LIBRARY, DESCRIPTION["name"] + suffix)
    function.restype, function.argtypes = returns, parameters
    return function


_call = _function("", _INT32, *[_POINTER] * 8, _INT64)
_message = _function("_message", ctypes.c_char_p, _INT32)
_shapes = _function("_shapes", None, _POINTER, _POINTER)
_work_bytes = _function("_work_bytes", _INT64, _POINTER)
_state_init = _function("_state_init", None, _POINTER)
_SHAPE_LENGTH = sum(len(one["shape"]) for one in DESCRIPTION["results"])


class ExportedError(ValueError):
    """The function has returned a code other than 0."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class State:
    """The values that calls update; ``state[name]`` reads or sets one."""

    def __init__(self):
        self.memory = np.zeros(DESCRIPTION["state_bytes"] // 8, np.int64)
        self._values = {{one["name"]: one for one in DESCRIPTION["state"]}}
        _state_init(self.memory.ctypes.data)

    def _array(self, name):
        one = self._values[name]
        count = int(np.prod(one["shape"], dtype=np.int64))
        flat = np.frombuffer(self.memory.data, one["dtype"], count, one["offset"])
        return flat.reshape(one["shape"])

    def __getitem__(self, name):
        return self._array(name).copy()

    def __setitem__(self, name, value):
        self._array(name)[...] = value


STATE = State()


def _dimensions(arrays):
    found = {{}}
    for one, array in zip(DESCRIPTION["arguments"], arrays, strict=True):
        if array.ndim != len(one["shape"]):
            raise ExportedError(-3, f"{{one['name']}} must have {{len(one['shape'])}} axes")
        for axis, (wanted, length) in enumerate(zip(one["shape"], array.shape, strict=True)):
            expected = wanted if isinstance(wanted, int) else found.get(wanted, length)
            if wanted is not None and length != expected:
                what = f"axis {{axis}} of {{one['name']}} must be {{expected}}, got {{length}}"
                raise ExportedError(-3, what)
            if isinstance(wanted, str):
                found[wanted] = length
    return np.array([found[name] for name in DESCRIPTION["dimensions"]] + [0], np.int64)


def {name}(*values, state=STATE, capacities=None):
    """Return the results as a list.

    Results whose lengths depend on data need their numbers of elements in ``capacities``.
    """
    arrays = [
        np.require(value, one["dtype"], ["C", "A"])
        for one, value in zip(DESCRIPTION["arguments"], values, strict=True)
    ]
    dims = _dimensions(arrays)
    shapes = np.zeros(_SHAPE_LENGTH + 1, np.int64)
    _shapes(dims.ctypes.data, shapes.ctypes.data)
    flat, at = [], 0
    for number, one in enumerate(DESCRIPTION["results"]):
        lengths = shapes[at : at + len(one["shape"])]
        at += len(one["shape"])
        count = capacities[number] if (lengths < 0).any() else int(np.prod(lengths))
        flat.append(np.empty(max(1, count), one["dtype"]))
    sizes = np.array([len(one) for one in flat] + [0], np.int64)
    args = (_POINTER * (len(arrays) + 1))(*[one.ctypes.data for one in arrays])
    results = (_POINTER * (len(flat) + 1))(*[one.ctypes.data for one in flat])
    numbers = (_INT64 * 2)()
    work_bytes = 0 if DESCRIPTION["allocates"] else _work_bytes(dims.ctypes.data)
    work = np.empty(work_bytes, np.uint8)
    code = _call(args, dims.ctypes.data, results, sizes.ctypes.data, shapes.ctypes.data, numbers,
                 state.memory.ctypes.data, work.ctypes.data if work_bytes else None, work_bytes)
    if code:
        text = _message(code).decode().replace("{{0}}", str(numbers[0]))
        raise ExportedError(code, text.replace("{{1}}", str(numbers[1])))
    made, at = [], 0
    for one, memory in zip(DESCRIPTION["results"], flat, strict=True):
        shape = shapes[at : at + len(one["shape"])]
        at += len(one["shape"])
        made.append(memory[: int(np.prod(shape))].reshape(shape))
    return made
'''


def loader_of(name: str, phintys: str, library: str) -> str:
    """Return the module, for a library that is beside it."""
    return _TEXT.format(name=name, phintys=phintys, library=library)
