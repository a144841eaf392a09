"""Object files without the labels of constants: they take three times the room of a constant.

LLVM puts each constant into a section whose equal parts linkers merge, and a linker has to find
them by symbols. In a section that is not merged, an address is the beginning of the section and a
distance. The layout is that of the System V ABI, "Object files", and its supplement for x86-64.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")

_SYMBOLS, _RELOCATIONS, _NOTHING = 2, 4, 8
"""Types of sections: a table of symbols, of relocations, and one without content in the file."""

_WITHOUT_NUMBERS = {0, 1, 3, _NOTHING, 14, 15, 0x70000001}
"""Other types, of sections that have no numbers of symbols: contents, names, arrays, unwinding."""

_MERGED = 0x10
_OF_SECTION = 3
_PLAIN = {1, 2, 10, 11}
"""The relocations of x86-64 that are an address or a distance."""

_X86_64 = 62


def without_labels(data: bytes) -> bytes:
    """Return an ELF object for x86-64 without labels of constants; others as they are.

    On other machines LLVM needs no labels for them.
    """
    is_elf = data[:6] == b"\x7fELF\x02\x01"
    if not is_elf or struct.unpack_from("<H", data, 0x12) != (_X86_64,):
        return data
    parts = _Object(data)
    return parts.rewritten() if parts.is_known else data


class _Object:
    """An object file in parts.

    Parameters
    ----------
    data
        The file.
    """

    def __init__(self, data: bytes) -> None:
        self._header = data[:0x40]
        (at,) = struct.unpack_from("<Q", data, 0x28)
        _, count, names = struct.unpack_from("<HHH", data, 0x3A)
        self._sections = [
            list(_SECTION.unpack_from(data, at + _SECTION.size * number)) for number in range(count)
        ]
        self._contents = [
            b"" if kind == _NOTHING else data[start : start + size]
            for _, kind, _, _, start, size, *_ in self._sections
        ]
        self._names = names
        self._table = next(n for n, one in enumerate(self._sections) if one[1] == _SYMBOLS)
        self._strings = self._sections[self._table][6]
        self._symbols: list[list[Any]] = [
            [self._text(self._strings, name), *rest]
            for name, *rest in _SYMBOL.iter_unpack(self._contents[self._table])
        ]

    @property
    def is_known(self) -> bool:
        """Whether it is known of all sections where they have numbers of symbols."""
        known = _WITHOUT_NUMBERS | {_SYMBOLS, _RELOCATIONS}
        return all(section[1] in known for section in self._sections)

    def _text(self, section: int, start: int) -> bytes:
        content = self._contents[section]
        return content[start : content.index(b"\0", start)]

    def rewritten(self) -> bytes:
        """Return the file without labels."""
        labels = self._labels()
        for number in labels:
            section = self._sections[self._symbols[number][3]]
            section[2] &= ~_MERGED
            section[9] = 0
        kept = [one for number, one in enumerate(self._symbols) if number not in labels]
        needed = sorted({self._symbols[number][3] for number in labels})
        present = {one[3] for one in kept if one[1] == _OF_SECTION}
        kept += [[b"", _OF_SECTION, 0, n, 0, 0] for n in needed if n not in present]
        kept.sort(key=lambda one: one[1] >> 4 != 0)  # Local symbols come first.
        positions = {id(one): position for position, one in enumerate(kept)}
        sections = {one[3]: positions[id(one)] for one in kept if one[1] == _OF_SECTION}

        def moved(number: int) -> tuple[int, int]:
            """Return the new number of a symbol, and a distance from it."""
            symbol = self._symbols[number]
            return (
                (sections[symbol[3]], symbol[4]) if number in labels else (positions[id(symbol)], 0)
            )

        for at, one in enumerate(self._sections):
            if one[1] == _RELOCATIONS:
                changed: list[bytes] = []
                for place, info, addend in _RELOCATION.iter_unpack(self._contents[at]):
                    number, distance = moved(info >> 32)
                    info = number << 32 | info & 0xFFFFFFFF
                    changed.append(_RELOCATION.pack(place, info, addend + distance))
                self._contents[at] = b"".join(changed)
        self._write_symbols(kept)
        return self._joined()

    def _labels(self) -> set[int]:
        """Return the symbols of constants that are not needed."""
        found = {
            number
            for number, (name, info, _, section, *_) in enumerate(self._symbols)
            if name.startswith(b".L")
            and info >> 4 == 0
            and 0 < section < len(self._sections)
            and self._sections[section][2] & _MERGED
        }
        for section, content in zip(self._sections, self._contents, strict=True):
            if section[1] == _RELOCATIONS:
                for _, info, _ in _RELOCATION.iter_unpack(content):
                    if info & 0xFFFFFFFF not in _PLAIN:
                        found.discard(info >> 32)
        # A section is merged as a whole, or not at all.
        left = {
            one[3]
            for number, one in enumerate(self._symbols)
            if number not in found and one[1] != _OF_SECTION
        }
        return {number for number in found if self._symbols[number][3] not in left}

    def _write_symbols(self, symbols: Sequence[Sequence[Any]]) -> None:
        """Replace the table of symbols, and the names, which are those of sections as well."""
        strings = _Strings()
        names = [self._text(self._names, one[0]) for one in self._sections]
        for one, name in zip(self._sections, names, strict=True):
            one[0] = strings.place(name)
        self._contents[self._table] = b"".join(
            _SYMBOL.pack(strings.place(name), *rest) for name, *rest in symbols
        )
        self._sections[self._table][7] = sum(one[1] >> 4 == 0 for one in symbols)
        for number in {self._names, self._strings}:
            self._contents[number] = bytes(strings.data)

    def _joined(self) -> bytes:
        """Return the file."""
        data = bytearray(self._header)
        for section, content in zip(self._sections, self._contents, strict=True):
            if section[1] in {0, _NOTHING}:
                continue
            data += bytes(-len(data) % max(section[8], 1))
            section[4], section[5] = len(data), len(content)
            data += content
        data += bytes(-len(data) % 8)
        struct.pack_into("<Q", data, 0x28, len(data))
        for section in self._sections:
            data += _SECTION.pack(*section)
        return bytes(data)


class _Strings:
    """A table of names, each ended by a zero."""

    def __init__(self) -> None:
        self.data = bytearray(b"\0")
        self._places = {b"": 0}

    def place(self, name: bytes) -> int:
        """Return where a name begins."""
        if name not in self._places:
            self._places[name] = len(self.data)
            self.data += name + b"\0"
        return self._places[name]
