"""Collects the records of all families: the lists named RECORDS in the files of this folder."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest


def _load(path):
    spec = spec_from_file_location(f"records_{path.stem}", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FAMILIES = {
    path.stem: _load(path)
    for path in sorted(Path(__file__).parent.glob("*.py"))
    if not path.stem.startswith(("test_", "conftest"))
}

RECORDS = [record for module in FAMILIES.values() for record in module.RECORDS]


def _firsts():
    """Return the records that are the first of a class of Ops."""
    seen = set()
    found = []
    for record in RECORDS:
        kinds = {op if isinstance(op, type) else type(op) for op in record.ops}
        if kinds - seen:
            found.append(record)
        seen |= kinds
    return found


FIRSTS = _firsts()


def pytest_generate_tests(metafunc):
    """Give tests one ``record`` at a time, of an Op, or an ``expression`` in others.

    Or ``any_record`` of both: one for each class of Ops, and all in the long form of the tests.
    """
    if "any_record" in metafunc.fixturenames:
        metafunc.parametrize(
            "any_record",
            [
                pytest.param(
                    record,
                    id=f"{family}-{record.name}",
                    marks=[] if record in FIRSTS else [pytest.mark.stress],
                )
                for family, module in FAMILIES.items()
                for record in module.RECORDS
            ],
        )
    for name, has_ops in (("record", True), ("expression", False)):
        if name in metafunc.fixturenames:
            metafunc.parametrize(
                name,
                [
                    pytest.param(record, id=f"{family}-{record.name}")
                    for family, module in FAMILIES.items()
                    for record in module.RECORDS
                    if bool(record.ops) == has_ops
                ],
            )


@pytest.fixture(scope="session")
def records():
    return RECORDS
