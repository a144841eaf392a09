"""Modules and functions of LLVM IR as text, filled by builders."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from phintys.backends.native.emit.target import Target
from phintys.backends.native.emit.types import Type
from phintys.backends.native.emit.values import Value

__all__ = ["Block", "Function", "Module", "Phi", "signature"]


def signature(name: str, returns: Type, parameters: Iterable[Type]) -> str:
    """Return the head of a declaration: ``double @name(double, ptr)``.

    Examples
    --------
    >>> from phintys.backends.native.emit.types import FLOAT64, PTR
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


class Function:
    """A function of a module. Builders add the blocks; see :meth:`Module.function`."""

    def __init__(
        self,
        module: Module,
        name: str,
        returns: Type,
        parameters: Sequence[tuple[Type, str]],
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

    def __str__(self) -> str:
        parameters = ", ".join(
            f"{type.text} {attributes} %a{i}".replace("  ", " ")
            for i, (type, attributes) in enumerate(self.parameters)
        )
        words = filter(None, [self.linkage, self.convention, self.returns.text])
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
        Symbols that :func:`phintys.backends.native.emit.externals.address_of` must provide when the
        code is loaded.
    math_functions : set of str
        Symbols of outlined vector-math functions that
        :func:`phintys.backends.native.emit.library.library` must provide.

    Examples
    --------
    >>> from phintys.backends.native.emit.builder import Builder
    >>> from phintys.backends.native.emit.module import Module
    >>> from phintys.backends.native.emit.target import Target
    >>> from phintys.backends.native.emit.types import FLOAT64
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
        self.functions: list[Function] = []
        self.externals: set[str] = set()
        self.math_functions: set[str] = set()
        self._declarations: dict[str, str] = {}
        self._tables: dict[str, str] = {}

    def function(
        self,
        name: str,
        returns: Type,
        parameters: Iterable[Type | tuple[Type, str]],
        *,
        linkage: str = "",
        attributes: str = "",
        convention: str = "",
    ) -> Function:
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
        given = [(p, "") if isinstance(p, Type) else p for p in parameters]
        function = Function(self, name, returns, given, linkage, attributes, convention)
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

    def memory(self, name: str, size: int) -> str:
        """Return the symbol of zero-initialized memory that lives as long as the code.

        Parameters
        ----------
        name
            Its name, by which it can be found from outside.
        size
            Bytes.
        """
        self._tables[name] = f"@{name} = global [{size} x i8] zeroinitializer, align 64"
        return f"@{name}"

    def __str__(self) -> str:
        defined = {function.name for function in self.functions}
        parts = [
            f'target triple = "{self.target.triple}"',
            *sorted(self._tables.values()),
            *(text for name, text in sorted(self._declarations.items()) if name not in defined),
            *map(str, self.functions),
            f"attributes #0 = {{ {self.target.attributes} }}",
        ]
        return "\n".join(parts) + "\n"
