"""Expressions in LaTeX, from the templates that ``pprint`` uses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from phintys.graph.pretty import PRECEDENCE, PrettyPrinter, Printer, Template, pprint
from phintys.graph.variable import Constant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from phintys.graph.variable import Variable

_GREEK = re.compile(
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|"
    "upsilon|phi|chi|psi|omega|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Upsilon|Phi|Psi|Omega"
)

# What means something to LaTeX or, where a page takes a formula unescaped, to HTML.
_CHARACTERS = {
    "\\": r"\backslash{}",
    "{": r"\{",
    "}": r"\}",
    "_": r"\_",
    "^": r"\wedge{}",
    "~": r"\sim{}",
    "#": r"\#",
    "$": r"\$",
    "%": r"\%",
    "&": r"\&",
    "<": r"\lt{}",
    ">": r"\gt{}",
    "'": r"{\prime}",
    " ": r"\ ",
}

_OPERATORS = {
    "**": r"\mathbin{{*}{*}}",
    "//": r"\mathbin{/\!/}",
    "<<": r"\ll",
    ">>": r"\gg",
    "==": "=",
    "!=": r"\neq",
    "<=": r"\leq",
    ">=": r"\geq",
    "<": r"\lt",
    ">": r"\gt",
    "*": r"\cdot",
    "@": r"\,",
    "%": r"\bmod",
    "&": r"\mathbin{\&}",
    "|": r"\mathbin{|}",
    "^": r"\oplus",
    "~": r"{\sim}",
}

_VALUES = {"inf": r"{\infty}", "nan": r"\mathrm{NaN}"}

_POWER_OF_TEN = r" \cdot 10"

_TOKEN = re.compile(
    r"""
    (?P<text>'[^']*')
  | (?P<number>(?<![\w.])\d+(?:\.\d*)?(?:e[+-]?\d+)?j?(?![\w]))
  | (?P<name>[^\W\d]\w*)(?P<call>\()?
  | (?P<operator>\*\*|//|<<|>>|==|!=|<=|>=|[<>*@%&|^~])
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


def _characters(text: str) -> str:
    return "".join(_CHARACTERS.get(character, character) for character in " ".join(text.split()))


def identifier(name: str) -> str:
    r"""Return a name in LaTeX: a letter or a Greek one as such, a word upright and escaped.

    Parameters
    ----------
    name
        Any text.

    Examples
    --------
    >>> print(identifier("x"), identifier("mu"), identifier("a_b"), identifier("<b>"))
    x {\mu} \mathrm{a\_b} \mathrm{\lt{}b\gt{}}
    """
    if _GREEK.fullmatch(name):
        return f"{{\\{name}}}"
    if len(name) == 1 and name.isalpha():
        return name
    return f"\\mathrm{{{_characters(name)}}}"


def _number(text: str) -> str:
    real = text.removesuffix("j")
    mantissa, e, exponent = real.partition("e")
    whole, _, fraction = mantissa.partition(".")
    power = f"{_POWER_OF_TEN}^{{{int(exponent)}}}" if e else ""
    return f"{mantissa if fraction.strip('0') else whole}{power}{'j' if real != text else ''}"


def escaped(text: str) -> str:
    r"""Return a piece of a formula as ``pprint`` writes it in LaTeX.

    Parameters
    ----------
    text
        Such as ``", axis=1)"`` or ``" * "``.

    Examples
    --------
    >>> print(escaped("exp("), escaped(" * "), escaped(", axis=1)"))
    \operatorname{exp}(  \cdot  , \mathrm{axis}=1)
    """
    return "".join(_token(found) for found in _TOKEN.finditer(text))


def _token(found: re.Match[str]) -> str:
    kind, text = found.lastgroup, found[0]
    if kind == "call":
        return f"\\operatorname{{{_characters(found['name'])}}}("
    if kind == "text":
        return f"\\mathtt{{{_characters(text[1:-1])}}}"
    if kind == "number":
        return _number(text)
    if kind == "name":
        return _VALUES.get(text) or identifier(text)
    if kind == "operator":
        # A command ends at the next character that is not a letter.
        return f"{_OPERATORS[text]}{'' if found.string[found.end() :].startswith(' ') else ' '}"
    return text if text == " " else _characters(text)


class LatexPrinter(PrettyPrinter):
    r"""Prints expressions in LaTeX.

    Ops that no printer is assigned to are written as ``pprint`` writes them, escaped.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x, y = pt.dvectors("x", "y")
    >>> print(latex(pt.sqrt(x**2 + 1) / pt.exp(-y)))
    \frac{\sqrt{{x}^{2} + 1}}{e^{-y}}
    """

    parentheses = (r"\left(", r"\right)")

    def __init__(self) -> None:
        super().__init__()
        self.default = _Escaped()
        self._asked = 0  # how many of the modules that assign printers

    def _assign_all(self) -> None:
        while self._asked < len(pprint.late):
            module = pprint.late[self._asked]
            self._asked += 1
            module.assign_notations(self)

    def __call__(self, graph: Variable | Iterable[Variable]) -> str:
        lines = super().__call__(graph).split("\n")
        if len(lines) == 1:
            return lines[0]
        aligned = [line if " &= " in line else f"& {line}" for line in lines]
        return "\n".join([r"\begin{aligned}", " \\\\\n".join(aligned), r"\end{aligned}"])

    def _definition(self, name: str, text: str) -> str:
        return f"{name} &= {text}"

    def _names(self, root: Variable, templates: dict[Variable, Template]) -> dict[Variable, str]:
        names = super()._names(root, templates)
        return {variable: identifier(name) for variable, name in names.items()}


class _Escaped(Printer):
    """What ``pprint`` writes, escaped."""

    def template(self, variable: Variable) -> Template:
        is_leaf = variable.owner is None
        if is_leaf and (variable.name is not None or not isinstance(variable, Constant)):
            return Template([identifier(str(variable))])
        parts, precedence = pprint.printer_of(variable).template(variable)
        if is_leaf:
            # The numbers of an array have nothing but spaces between them.
            numbers = str(parts[0]).replace("[ ", "[").split(" ")
            text = r"\ ".join(map(escaped, numbers))
            return Template([text], PRECEDENCE["*"] if _POWER_OF_TEN in text else precedence)
        return Template(
            [escaped(part) if isinstance(part, str) else part for part in parts], precedence
        )


latex = LatexPrinter()
"""The printer that notebooks use; rooms above assign printers for what has a notation."""
