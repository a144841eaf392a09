"""Object files whose constants follow the code that reads them.

LLVM puts constants into sections of their own. Each use of one is then a task for linkers, which
takes 24 bytes, where the constant itself often takes 8. Within a section all distances are known.
The layout is that of the System V ABI, "Object files", and its supplement for x86-64.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from phintys._base.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")

_CONTENT, _SYMBOLS, _STRINGS, _RELOCATIONS, _NOTHING = 1, 2, 3, 4, 8
"""Types of sections: content, a table of symbols, of names, of relocations, nothing in the file."""

_KNOWN = {0, _CONTENT, _SYMBOLS, _STRINGS, _RELOCATIONS, _NOTHING}
"""The types without numbers of sections and symbols, but for those that are written anew here."""

_WRITTEN, _LOADED, _RUN, _HAS_TARGET = 1, 2, 4, 0x40
"""Flags of sections."""

_OBJECT, _OF_SECTION = 1, 3
"""Types of symbols: a variable; the beginning of a section."""

_DISTANCES = {2, 4}
"""The relocations of x86-64 that are a distance of 32 bits, from data or a function."""

_X86_64 = 62

_LABEL = b"constants"


def constants_after_code(data: bytes) -> bytes:
    """Return an ELF object for x86-64 with its constants in the section of its code.

    Other files stay as they are: on other CPUs, code reads a constant by parts of its address.
    """
    is_elf = data[:6] == b"\x7fELF\x02\x01"
    if not is_elf or struct.unpack_from("<H", data, 0x12) != (_X86_64,):
        return data
    parts = _Object(data)
    return parts.joined() if parts.moves() else data


@record(eq=False)
class _Section:
    """A section, with the fields of its header."""

    name: bytes
    kind: int
    flags: int
    size: int
    alignment: int
    content: bytearray


@record(eq=False)
class _Symbol:
    """A symbol; ``number`` is that of its section, or says why it has none."""

    name: bytes
    info: int
    visibility: int
    number: int
    section: _Section | None
    value: int
    size: int

    @property
    def is_local(self) -> bool:
        """Whether other objects cannot see it."""
        return self.info >> 4 == 0

    @property
    def is_label(self) -> bool:
        """Whether it is only there for relocations."""
        return self.is_local and (not self.name or self.name.startswith(b".L"))


@record(eq=False)
class _Relocation:
    """A place whose content depends on the address of a symbol."""

    place: int
    kind: int
    symbol: _Symbol
    addend: int


class _Object:
    """An object file in parts.

    Parameters
    ----------
    data
        The file.
    """

    def __init__(self, data: bytes) -> None:
        self._header = bytearray(data[:0x40])
        (at,) = struct.unpack_from("<Q", data, 0x28)
        _, count, names = struct.unpack_from("<HHH", data, 0x3A)
        heads = [_SECTION.unpack_from(data, at + _SECTION.size * n) for n in range(count)]
        self._is_known = all(head[1] in _KNOWN for head in heads)

        def text(table: int, start: int) -> bytes:
            start += heads[table][4]
            return data[start : data.index(b"\0", start)]

        def content(head: tuple[int, ...]) -> bytearray:
            return bytearray(b"" if head[1] == _NOTHING else data[head[4] : head[4] + head[5]])

        sections = [
            _Section(text(names, one[0]), one[1], one[2], one[5], max(one[8], 1), content(one))
            for one in heads
        ]
        self.sections = [one for one in sections if one.kind in {_CONTENT, _NOTHING}]
        table = next(n for n, one in enumerate(sections) if one.kind == _SYMBOLS)
        self.symbols = [
            _Symbol(
                text(heads[table][6], name),
                info,
                visibility,
                number,
                sections[number] if 0 < number < count else None,
                value,
                size,
            )
            for name, info, visibility, number, value, size in _SYMBOL.iter_unpack(
                sections[table].content
            )
        ]
        self.relocations: dict[_Section, list[_Relocation]] = {one: [] for one in self.sections}
        for head, one in zip(heads, sections, strict=True):
            if one.kind == _RELOCATIONS:
                self.relocations[sections[head[7]]] = [
                    _Relocation(place, info & 0xFFFFFFFF, self.symbols[info >> 32], addend)
                    for place, info, addend in _RELOCATION.iter_unpack(one.content)
                ]

    # ---- what is moved

    def moves(self) -> bool:
        """Move the constants behind the code; return whether there are any, and all is known."""
        code = [one for one in self.sections if one.flags & _RUN]
        moved = [one for one in self.sections if self._is_constant(one)]
        if not self._is_known or len(code) != 1 or not moved:
            return False
        starts = _appended(code[0], moved)
        self._move_symbols(code[0], starts)
        self._write_distances(code[0], starts)
        needed = {one.symbol for left in self.relocations.values() for one in left}
        self.sections = [one for one in self.sections if one not in moved]
        self.symbols = [one for one in self.symbols if one in needed or not one.is_label]
        return True

    def _is_constant(self, section: _Section) -> bool:
        """Return whether a section has constants, none of which is an address."""
        is_read_only = section.flags & (_WRITTEN | _LOADED | _RUN) == _LOADED
        kinds = {one.kind for one in self.relocations[section]}
        return section.kind == _CONTENT and is_read_only and kinds <= _DISTANCES

    def _move_symbols(self, code: _Section, starts: dict[_Section, int]) -> None:
        for one in self.symbols:
            if one.section in starts and one.section is not code:
                one.value += starts[one.section]
                one.section = code
                one.info = 0 if one.info == _OF_SECTION else one.info
        # Programs that show machine code then show what follows as data.
        first = min(start for one, start in starts.items() if one is not code)
        size = len(code.content) - first
        self.symbols.append(_Symbol(_LABEL, _OBJECT, 0, 0, code, first, size))

    def _write_distances(self, code: _Section, starts: dict[_Section, int]) -> None:
        """Write the distances inside of the code; other relocations stay, at their new places."""
        left: list[_Relocation] = []
        for section, start in starts.items():
            for one in self.relocations.pop(section):
                one.place += start
                symbol = one.symbol
                if symbol.is_local and symbol.section is code and one.kind in _DISTANCES:
                    distance = symbol.value + one.addend - one.place
                    struct.pack_into("<i", code.content, one.place, distance)
                else:
                    left.append(one)
        self.relocations[code] = left

    # ---- the file

    def joined(self) -> bytes:
        """Return the file."""
        strings = _Strings()
        none, *symbols = self.symbols
        symbols = [none, *sorted(symbols, key=lambda one: not one.is_local)]
        places = {one: number for number, one in enumerate(symbols)}
        numbers = {one: number for number, one in enumerate(self.sections, 1)}
        relocated = {one: left for one, left in self.relocations.items() if left}
        table = len(self.sections) + len(relocated) + 1  # the symbols; then their names
        data = bytearray(self._header)
        heads = [bytes(_SECTION.size)]

        def add(one: _Section, link: int = 0, info: int = 0, entry: int = 0) -> None:
            nonlocal data
            data += bytes(-len(data) % one.alignment)
            size = one.size if one.kind == _NOTHING else len(one.content)
            head = (strings.place(one.name), one.kind, one.flags, 0, len(data), size)
            heads.append(_SECTION.pack(*head, link, info, one.alignment, entry))
            data += one.content

        for one in self.sections:
            add(one)
        for one, left in relocated.items():
            content = bytearray()
            for each in left:
                info = places[each.symbol] << 32 | each.kind
                content += _RELOCATION.pack(each.place, info, each.addend)
            name = b".rela" + one.name
            made = _Section(name, _RELOCATIONS, _HAS_TARGET, 0, 8, content)
            add(made, table, numbers[one], _RELOCATION.size)
        content = bytearray()
        for one in symbols:
            number = one.number if one.section is None else numbers[one.section]
            name = strings.place(one.name)
            content += _SYMBOL.pack(name, one.info, one.visibility, number, one.value, one.size)
        first_global = sum(one.is_local for one in symbols)
        made = _Section(b".symtab", _SYMBOLS, 0, 0, 8, content)
        add(made, table + 1, first_global, _SYMBOL.size)
        strings.place(b".strtab")
        add(_Section(b".strtab", _STRINGS, 0, 0, 1, strings.data))
        data += bytes(-len(data) % 8)
        struct.pack_into("<Q", data, 0x28, len(data))
        struct.pack_into("<HH", data, 0x3C, len(heads), table + 1)
        return bytes(data) + b"".join(heads)


def _appended(code: _Section, moved: Iterable[_Section]) -> dict[_Section, int]:
    """Append sections to that of the code; return where these and the code begin."""
    starts = {code: 0}
    for one in moved:
        code.content += bytes(-len(code.content) % one.alignment)
        code.alignment = max(code.alignment, one.alignment)
        starts[one] = len(code.content)
        code.content += one.content
    return starts


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
