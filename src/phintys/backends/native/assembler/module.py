"""Modules and functions of LLVM IR as text, filled by builders."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence

from phintys.backends.native.assembler.target import Target
from phintys.backends.native.assembler.types import MachineType
from phintys.backends.native.assembler.values import Value

_SYMBOL = re.compile(r"@([\w.$]+)")


def signature(name: str, returns: MachineType, parameters: Iterable[MachineType]) -> str:
    """Return the head of a declaration: ``double @name(double, ptr)``.

    Examples
    --------
    >>> from phintys.backends.native.assembler.types import FLOAT64, PTR
    >>> signature("f", FLOAT64, [FLOAT64, PTR])
    'double @f(double, ptr)'
    """
    return f"{returns.text} @{name}({', '.join(type.text for type in parameters)})"


class Phi:
    """A value that depends on the previous block; its line is completed as blocks are added."""

    __slots__ = ("incoming", "value")

    def __init__(self, value: Value) -> None:
        self.value = value
        self.incoming: list[str] = []

    def add(self, value: Value, block: Block) -> None:
        """Add the value for control flow from a block."""
        self.incoming.append(f"[ {value.text}, %{block.label} ]")

    def __str__(self) -> str:
        return f"  {self.value.text} = phi {self.value.type.text} {', '.join(self.incoming)}"


class Block:
    """A label and the instructions after it."""

    __slots__ = ("label", "lines")

    def __init__(self, label: str) -> None:
        self.label = label
        self.lines: list[str | Phi] = []

    def __str__(self) -> str:
        return "\n".join([f"{self.label}:", *map(str, self.lines)])


class ModuleFunction:
    """A function of a module. Builders add the blocks; see :meth:`Module.function`."""

    def __init__(
        self,
        module: Module,
        name: str,
        returns: MachineType,
        parameters: Sequence[tuple[MachineType, str]],
        linkage: str,
        attributes: str,
        convention: str = "",
    ) -> None:
        self.module = module
        self.name = name
        self.returns = returns
        self.parameters = parameters
        self.linkage = linkage
        self.convention = convention
        self.attributes = attributes
        # Stack slots are at the top of the entry block, so that loops do not grow the stack.
        self.slots: list[str] = []
        self.blocks: list[Block] = []
        self._names = 0

    def fresh_name(self) -> int:
        """Return a number that names one value or block of this function."""
        self._names += 1
        return self._names

    @property
    def declaration(self) -> str:
        """What other modules need in order to call it, where it is visible."""
        words = filter(None, [self.convention, self.returns.text])
        types = ", ".join(type.text for type, _ in self.parameters)
        return f"declare {' '.join(words)} @{self.name}({types})"

    def __str__(self) -> str:
        return self.text(self.linkage)

    def text(self, linkage: str) -> str:
        """Return the definition, with another linkage than its own if need be."""
        parameters = ", ".join(
            f"{type.text} {attributes} %a{i}".replace("  ", " ")
            for i, (type, attributes) in enumerate(self.parameters)
        )
        words = filter(None, [linkage, self.convention, self.returns.text])
        head = f"define {' '.join(words)} @{self.name}({parameters}) {self.attributes}".rstrip()
        entry, *others = self.blocks
        body = [f"{entry.label}:", *self.slots, *map(str, entry.lines), *map(str, others)]
        return f"{head} #0 {{\n" + "\n".join(body) + "\n}"


class Module:
    """Functions, what they declare and the constant tables that they read.

    Parameters
    ----------
    target
        The CPU that the code is for.

    Attributes
    ----------
    externals : set of str
        Symbols that :func:`phintys.backends.native.assembler.externals.address_of` must provide
        when the code is loaded.
    math_functions : set of str
        Symbols of outlined vector-math functions that
        :func:`phintys.backends.native.routines.library.library` must provide.

    Examples
    --------
    >>> from phintys.backends.native.assembler.builder import Builder
    >>> from phintys.backends.native.assembler.module import Module
    >>> from phintys.backends.native.assembler.target import Target
    >>> from phintys.backends.native.assembler.types import FLOAT64
    >>> module = Module(Target.named("x86-64-v3"))
    >>> b = Builder(module.function("half", FLOAT64, [FLOAT64]))
    >>> (x,) = b.arguments
    >>> b.ret(x * 0.5)
    >>> print(module.functions[0])
    define double @half(double %a0) #0 {
    entry:
      %v1 = fmul double %a0, 0x3FE0000000000000
      ret double %v1
    }
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self.functions: list[ModuleFunction] = []
        self.externals: set[str] = set()
        self.math_functions: set[str] = set()
        self._declarations: dict[str, str] = {}
        self._tables: dict[str, str] = {}
        self._memory: set[str] = set()

    def function(
        self,
        name: str,
        returns: MachineType,
        parameters: Iterable[MachineType | tuple[MachineType, str]],
        *,
        linkage: str = "",
        attributes: str = "",
        convention: str = "",
    ) -> ModuleFunction:
        """Begin a function.

        Parameters
        ----------
        name
            Its symbol.
        returns
            Type of the result.
        parameters
            Types of the parameters, each alone or with attributes: ``(PTR, "noalias")``.
        linkage
            ``""`` makes it visible, ``"internal"`` keeps it in the module.
        attributes
            More attributes, such as ``"noinline"``.
        convention
            Its calling convention; C's if not given.
        """
        given = [(p, "") if isinstance(p, MachineType) else p for p in parameters]
        function = ModuleFunction(self, name, returns, given, linkage, attributes, convention)
        self.functions.append(function)
        return function

    def declare(self, name: str, head: str) -> None:
        """Declare a function that is defined elsewhere, once."""
        self._declarations[name] = f"declare {head}"

    @property
    def declared(self) -> set[str]:
        """Symbols of the functions that are declared, and may be defined in other modules."""
        return set(self._declarations)

    def table(self, numbers: str, length: int, element: str) -> str:
        """Return the symbol of a constant array, one for equal arrays.

        Parameters
        ----------
        numbers
            The elements with their types: ``"double 0x3FF0000000000000, double ..."``.
        length, element
            How many, and of which LLVM type.
        """
        content = f"[{length} x {element}] [{numbers}]"
        name = f"table.{hashlib.sha256(content.encode()).hexdigest()[:12]}"
        self._tables[name] = f"@{name} = private unnamed_addr constant {content}, align 64"
        return f"@{name}"

    def data(self, content: bytes) -> str:
        """Return the symbol of constant bytes, one for equal contents."""
        name = f"data.{hashlib.sha256(content).hexdigest()[:24]}"
        text = "".join(f"\\{byte:02X}" for byte in content)
        kind = f"[{len(content)} x i8]"
        self._tables[name] = f'@{name} = private unnamed_addr constant {kind} c"{text}", align 64'
        return f"@{name}"

    def memory(self, name: str, size: int) -> str:
        """Return the symbol of zero-initialized memory that lives as long as the code.

        Parameters
        ----------
        name
            Its name, by which it can be found from outside.
        size
            Bytes.
        """
        self._memory.add(name)
        self._tables[name] = f"@{name} = global [{size} x i8] zeroinitializer, align 64"
        return f"@{name}"

    def __str__(self) -> str:
        return self._text({function.name: str(function) for function in self.functions})

    def parts(self, count: int) -> list[str]:
        """Return the module as several, of similar length, that can be compiled side by side.

        Only functions that call no other one are moved out of the first part: it is loaded first,
        and reaches code that is not there yet through stubs, however far away that will be.

        Parameters
        ----------
        count
            Maximum number of parts.
        """
        texts = {function.name: str(function) for function in self.functions}
        uses = {name: set(_SYMBOL.findall(text)) - {name} for name, text in texts.items()}
        kept = texts.keys() | self._memory
        leaves = [name for name, used in uses.items() if used.isdisjoint(kept)]
        leaves.sort(key=lambda name: len(texts[name]), reverse=True)
        bins: list[list[str]] = [[] for _ in range(count)]
        bins[0] = [name for name in texts if name not in leaves]
        lengths = [sum(len(texts[name]) for name in names) for names in bins]
        for name in leaves:
            shortest = lengths.index(min(lengths))
            bins[shortest].append(name)
            lengths[shortest] += len(texts[name])
        return [
            self._text({name: texts[name] for name in texts if name in bins[0]}),
            *(self._visible(names, uses) for names in bins[1:] if names),
        ]

    def _visible(self, names: Sequence[str], uses: Mapping[str, set[str]]) -> str:
        """Return a part with functions that the first part calls."""
        used = {symbol for name in names for symbol in uses[name]}
        texts = {one.name: one.text("") for one in self.functions if one.name in names}
        return self._text(texts, used)

    def _text(self, functions: Mapping[str, str], used: set[str] | None = None) -> str:
        """Return a module with some of the functions, and the tables and declarations it uses."""
        declared = self._declarations | {one.name: one.declaration for one in self.functions}
        outside = {name: declared[name] for name in declared if name not in functions}
        tables = self._tables
        if used is not None:
            outside = {name: text for name, text in outside.items() if name in used}
            tables = {name: text for name, text in tables.items() if name in used}
        parts = [
            f'target triple = "{self.target.triple}"',
            *sorted(tables.values()),
            *(text for _, text in sorted(outside.items())),
            *functions.values(),
            f"attributes #0 = {{ {self.target.attributes} }}",
        ]
        return "\n".join(parts) + "\n"
