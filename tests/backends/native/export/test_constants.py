"""Objects keep their meaning without the labels of constants."""

import struct

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.backends.native.export import assembling
from phintys.backends.native.export.labels import without_labels


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


def meaning(data):
    """What relocations refer to, the contents of other sections, and symbols of functions."""
    names, heads, contents, symbols = parts(data)
    found = {}
    for name, head, content in zip(names, heads, contents, strict=True):
        if head[1] == 4:
            found[name] = []
            for place, info, addend in struct.iter_unpack("<QQq", content):
                symbol, info_, section, value = symbols[info >> 32]
                is_local = 0 < section < len(heads) and info_ >> 4 == 0
                target = (section, value + addend) if is_local else (symbol, addend)
                found[name].append((place, info & 0xFFFFFFFF, target))
        elif head[1] not in {2, 3}:
            found[name] = content
    kept = {one for one in symbols if one[0] and not one[0].startswith(".L")}
    return found, kept


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v4", "aarch64"])
def test_relocations_refer_to_the_same_places(target, tmp_path, monkeypatch):
    pairs = []

    def noted(data):
        pairs.append((data, without_labels(data)))
        return pairs[-1][1]

    monkeypatch.setattr(assembling, "without_labels", noted)
    x = pt.dvector("x")
    outputs = [pt.gammaln(pt.exp(x)), pt.sin(x), x + np.arange(5.0)]
    phintys.function([x], outputs, name="f").export(tmp_path, target=target)
    ((before, after),) = pairs
    assert meaning(before) == meaning(after)
    assert not any(symbol[0].startswith(".L") for symbol in parts(after)[3])
    if target != "aarch64":
        assert len(after) < 0.8 * len(before)


@pytest.mark.parametrize("data", [b"", b"\0asm", b"\x7fELF\x01\x01"])
def test_other_files_stay_as_they_are(data):
    assert without_labels(data) == data
