"""Constants that follow the code are the ones that it read before."""

import struct

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.backends.native.export import assembling
from phintys.backends.native.export.constants import constants_after_code

LOADED, CODE = 2, 4
"""Flags of sections."""


def parts(data):
    """The sections of an object, with their names and contents, and its symbols."""
    (at,) = struct.unpack_from("<Q", data, 0x28)
    _, count, names = struct.unpack_from("<HHH", data, 0x3A)
    heads = [struct.unpack_from("<IIQQQQIIQQ", data, at + 64 * n) for n in range(count)]
    contents = [b"" if one[1] == 8 else data[one[4] : one[4] + one[5]] for one in heads]

    def text(section, start):
        return contents[section][start:].split(b"\0", 1)[0].decode()

    table = next(n for n, one in enumerate(heads) if one[1] == 2)
    symbols = [
        (text(heads[table][6], name), info, section, value)
        for name, info, _, section, value, _ in struct.iter_unpack("<IBBHQQ", contents[table])
    ]
    return [text(names, one[0]) for one in heads], heads, contents, symbols


def reads(data, places=None):
    """What the code refers to at places: 8 bytes of its object, or the name of another symbol.

    Places that linkers do not fill have a distance.
    """
    _, heads, contents, symbols = parts(data)
    (code,) = [n for n, head in enumerate(heads) if head[2] & CODE]
    found = {}
    for place in places or ():
        (distance,) = struct.unpack_from("<i", contents[code], place)
        found[place] = contents[code][place + distance + 4 :][:8]
    for head, content in zip(heads, contents, strict=True):
        if head[1] != 4 or head[7] != code:
            continue
        for place, info, addend in struct.iter_unpack("<QQq", content):
            symbol, _, section, value = symbols[info >> 32]
            is_here = 0 < section < len(heads)
            found[place] = contents[section][value + addend + 4 :][:8] if is_here else symbol
    return found


def functions(data):
    """The names of functions, who sees them, and where they begin."""
    return {(name, info >> 4, value) for name, info, _, value in parts(data)[3] if info & 0xF == 2}


@pytest.fixture
def pairs(monkeypatch):
    """Return a list of objects, before and after their constants are moved."""
    noted = []

    def moved(data):
        noted.append((data, constants_after_code(data)))
        return noted[-1][1]

    monkeypatch.setattr(assembling, "constants_after_code", moved)
    return noted


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v4"])
def test_code_reads_the_same_constants(target, tmp_path, pairs):
    x = pt.dvector("x")
    outputs = [pt.gammaln(pt.exp(x)), pt.sin(x), x + np.arange(5.0)]
    phintys.function([x], outputs, name="f").export(tmp_path, target=target)
    ((before, after),) = pairs
    expected = reads(before)
    assert any(isinstance(one, bytes) for one in expected.values())
    assert reads(after, expected) == expected
    names, heads, _, _ = parts(after)
    assert [name for name, head in zip(names, heads, strict=True) if head[2] & LOADED] == [".text"]
    assert functions(before) == functions(after)
    assert len(after) < 0.65 * len(before)


def test_code_for_other_cpus_stays_as_it_is(tmp_path, pairs):
    x = pt.dvector("x")
    phintys.function([x], pt.sin(x), name="f").export(tmp_path, target="aarch64")
    ((before, after),) = pairs
    assert before == after


@pytest.mark.parametrize("data", [b"", b"\0asm", b"\x7fELF\x01\x01"])
def test_other_files_stay_as_they_are(data):
    assert constants_after_code(data) == data
