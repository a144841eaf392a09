"""Every function and method of the array API's standard can be called as the standard says."""

import inspect
import operator
from pathlib import Path

import pytest

import phintys.tensor as pt
from phintys.tensor.synonyms import SYNONYMS
from phintys.testing import eager

SIGNATURES = (Path(__file__).parent / "signatures.txt").read_text().splitlines()
PLACED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

IN_PLACE = "add and floordiv lshift matmul mod mul or pow rshift sub truediv xor"
NOT_SYMBOLIC = {
    "__dlpack__": "a symbolic array has no data to export",
    "__dlpack_device__": "a symbolic array has no data to export",
    **{f"__i{name}__": "x += y is x = x + y, a new array" for name in IN_PLACE.split()},
}
"""Methods that symbolic arrays lack, and why."""


def _read(line):
    """Return the name and the signature that a line states."""
    name, _, parameters = line.partition("(")
    scope = {}
    exec(f"def stated({parameters}: ...", scope)
    return name, inspect.signature(scope["stated"])


def _names(function):
    """Return all names under which a function takes arguments: its own, and its synonyms."""
    return {*inspect.signature(function).parameters, *SYNONYMS.get(function.__name__, {})}


def _differences(stated, function):
    """Return in what a function differs from a signature, where a program can notice."""
    own = inspect.signature(function).parameters.values()
    placed = [one for one in own if one.kind in PLACED]
    takes_more = any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in own)
    found = []
    for number, wanted in enumerate(stated.parameters.values()):
        if wanted.kind in PLACED:
            if number < len(placed):
                required = placed[number].default is inspect.Parameter.empty
                if required and wanted.default is not inspect.Parameter.empty:
                    found.append(f"{wanted.name} is required")
            elif not takes_more:
                found.append(f"no place for {wanted.name}")
        by_name = wanted.kind not in {PLACED[0], inspect.Parameter.VAR_POSITIONAL}
        if by_name and wanted.name not in _names(function):
            found.append(f"no argument {wanted.name}=")
    return found


def _function(home, array, name):
    kind, _, method = name.partition("array.")
    return operator.attrgetter(name)(home) if kind else getattr(array, method)


@pytest.mark.parametrize("line", SIGNATURES)
def test_a_symbolic_function_takes_the_standards_arguments(line):
    name, stated = _read(line)
    if name.removeprefix("array.") in NOT_SYMBOLIC:
        assert not hasattr(pt.TensorVariable, name.removeprefix("array."))
        return
    assert not _differences(stated, _function(pt, pt.TensorVariable, name))


@pytest.mark.parametrize("line", SIGNATURES)
def test_an_eager_function_takes_the_standards_arguments(line):
    name, stated = _read(line)
    function = _function(eager, eager.Array, name)
    if name == "array.__dlpack__":
        return  # passes all options on to NumPy's
    assert not _differences(stated, function)


def test_the_check_of_signatures_finds_differences():
    _, stated = _read("take(x, indices, /, *, axis=None)")
    assert _differences(stated, lambda x: x) == ["no place for indices", "no argument axis="]
    _, stated = _read("empty(shape=())")
    assert _differences(stated, lambda size: size) == ["shape is required", "no argument shape="]
