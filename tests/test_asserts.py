"""``assert`` in the library narrows types for type checkers, and does nothing else."""

import ast
from pathlib import Path

import phintys

SOURCE = Path(phintys.__file__).parent


def narrows(test):
    """Return whether a condition is one that a type checker narrows a type by."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return narrows(test.operand)
    if isinstance(test, ast.Call):
        return isinstance(test.func, ast.Name) and test.func.id == "isinstance"
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.Is | ast.IsNot)
        and isinstance(test.comparators[0], ast.Constant)
        and test.comparators[0].value is None
    )


def test_asserts_state_types_only():
    """Whatever depends on values is checked with an error that says what is wrong."""
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assert) and (node.msg is not None or not narrows(node.test))
    ]
    assert not found, f"Raise an error of the library instead: {', '.join(found)}"
