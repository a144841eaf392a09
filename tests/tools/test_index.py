"""The index is read from the source, wherever a file lies."""

import ast
from pathlib import Path

import pytest

from tools.imports import Module
from tools.index import index_of, tables_of

TREE = {
    "phintys": """
        if TYPE_CHECKING:
            from phintys import high
            from phintys.low.sums import total

            low.__all__ += ["high", "total"]
        else:
            __getattr__, __dir__ = late_names(__name__)
        from phintys import low
        __all__ = ["high"]
    """,
    "phintys.low": """
        __all__ = ["Sum"]
        if TYPE_CHECKING:
            from phintys.low.odd import *
            from phintys.low.sums import Sum, total as _total
            from phintys.low.types import Any
        if not TYPE_CHECKING:
            __getattr__, __dir__ = late_names(__name__, __all__)
    """,
    "phintys.low.odd": "__all__ = ['seven', 'nine']",
    "phintys.low.sums": """
        @lowers(Sum, ops.Product)
        def lower(op): ...

        for row in rows:
            register_mode("a", Mode("b"), "c")

        def later():
            register_mode("d", Mode())

            @lowers(Other)
            def rule(op): ...

        _FEW = [Sum, ps.exp]
        RULES: tuple[Any, ...] = late_rules(one, two, needs=[*_FEW, ps.log])
        each = late_rewriter(Each(), needs=(Sum,))
    """,
    "phintys.high": """
        @float_function("exp", 2, outlined=False)
        @integer_function("exp", "log")
        def exp(b, x): ...
    """,
}


def modules(**files):
    found = {}
    for name, text in {**TREE, **files}.items():
        lines = text.splitlines()
        margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
        tree = ast.parse("\n".join(line[margin:] for line in lines))
        found[name] = Module(name, Path("a.py"), tree)
    return found


def test_tables_name_what_the_source_names():
    assert tables_of(modules()) == {
        "FACADES": {
            "phintys": {"phintys.high": ""},
            "phintys.low": {
                "phintys.high": "",
                "phintys.low.odd": "nine seven",
                "phintys.low.sums": "Sum total",
            },
        },
        "FLOAT_FUNCTIONS": {"phintys.high": "exp"},
        "INTEGER_FUNCTIONS": {"phintys.high": "exp log"},
        "LOWERINGS": {"phintys.low.sums": "Product Sum"},
        "MODES": {"phintys.low.sums": "a c"},
        "REWRITERS": {"phintys.low.sums": {"each": "Sum"}},
        "RULES": {"phintys.low.sums": {"RULES": "Sum exp log"}},
    }


def test_the_text_has_the_tables():
    names = {}
    many = "\n".join(f"@lowers({'Long' * 9}{k})\ndef f(): ..." for k in range(9))
    found = modules(more=many)
    exec(index_of(found), names)
    tables = tables_of(found)
    assert {name: names[name] for name in tables} != tables  # long lines are wrapped
    words = {table: {key: names[table][key].split() for key in tables[table]} for table in FLAT}
    assert words == {table: {k: v.split() for k, v in tables[table].items()} for table in FLAT}
    assert names["BATCHING"] == {}
    assert max(map(len, index_of(found).splitlines())) <= 100


FLAT = ("LOWERINGS", "MODES", "FLOAT_FUNCTIONS")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@lowers(Sum)\ndef f(): ...", "Sum is registered by phintys.low.sums and by more"),
        ("R = late_rules(one, needs=OPS)", "OPS: write a list"),
        ("R = late_rules(one, needs=[f(x)])", r"f\(x\): name an Op"),
    ],
)
def test_what_cannot_be_read_is_an_error(text, message):
    with pytest.raises(ValueError, match=message):
        tables_of(modules(more=text))
