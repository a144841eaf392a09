"""The public names of the old packages: each is offered, or refused with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from phintys.compat import PACKAGES, install, uninstall
from tools.old_names import fault_of, main, names_of

_PUBLISHED = Path(__file__).with_name("published_names.txt")
"""Names that the last Theano, the last Aesara and PyTensor of 2026 define, by module."""


def _names(package: str) -> list[str]:
    lines = [line.split(":") for line in _PUBLISHED.read_text().splitlines()]
    return [
        f"{module}.{name}"
        for module, names in lines
        if module.partition(".")[0] == package
        for name in names.split()
    ]


@pytest.fixture(params=list(PACKAGES))
def package(request):
    install(request.param)
    yield request.param
    uninstall(request.param)


def test_each_public_name_is_offered_or_refused_with_a_reason(package):
    names = _names(package)
    faults = {name: fault_of(name) for name in names}
    silent = [name for name, fault in faults.items() if fault and "does not offer" not in fault]
    assert silent == []
    assert sum(fault is None for fault in faults.values()) > len(names) // 2


def test_a_program_is_searched_for_names_that_are_not_there(tmp_path, capsys, theano):
    program = tmp_path / "program.py"
    program.write_text(
        "from theano.tensor import nnet, no_such_name\n"
        "import theano.sandbox.no_such_module as other, numpy\n"
        "print nnet.relu, numpy.nothing\n"
    )
    assert main([str(tmp_path), "--files"]) == 1
    printed = capsys.readouterr().out
    assert "theano.tensor.no_such_name: " in printed
    assert "theano.sandbox.no_such_module: " in printed
    assert "relu" not in printed
    assert "4 names, 2 of them not there" in printed


def test_names_of_a_program():
    source = "import aesara\nfrom aesara.tensor import exp as e\ny = e(aesara.tensor.log(0))"
    found = {"aesara", "aesara.tensor.exp", "aesara.tensor", "aesara.tensor.log"}
    assert set(names_of(source)) == found
