"""What the command line says and does."""

import re

import numpy as np
import pytest

import phintys
from phintys.__main__ import main
from phintys.commands import bench, doctor


def test_the_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"phintys {phintys.__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["export", "--help"]])
def test_help_has_examples(arguments, capsys):
    assert main(arguments) == 0
    assert "examples:\n  phintys " in capsys.readouterr().out


def test_config_prints_all_options_or_one(capsys):
    assert main(["config"]) == 0
    assert "floatX = 'float64'" in capsys.readouterr().out
    with phintys.config.change_flags(floatX="float32"):
        assert main(["config", "floatX"]) == 0
    assert capsys.readouterr().out == "float32\n"
    assert main(["config", "float_x"]) == 2
    assert "Did you mean 'floatX'?" in capsys.readouterr().err


def test_doctor_reports_what_is_there_and_that_it_works(capsys):
    with phintys.config.change_flags(floatX="float32"):
        assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert f"numpy {np.__version__}" in said
    assert re.search(r"LLVM for \S+ \(", said)
    assert "floatX = 'float32'" in said
    assert re.findall(r"ok      (.+) \(\d+ ms\)", said) == list(doctor.CHECKS)
    assert said.endswith("All is well.\n")


def test_doctor_says_which_check_fails(capsys, monkeypatch):
    def broken():
        raise ArithmeticError("2 + 2 is 5")

    monkeypatch.setattr(doctor, "CHECKS", {"sums": broken})
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "FAILED  sums: ArithmeticError: 2 + 2 is 5" in said
    assert said.endswith("1 of 1 checks failed.\n")


@pytest.fixture(scope="module")
def programs():
    return bench.programs()


def test_bench_compares_with_numpy(programs, capsys, monkeypatch):
    monkeypatch.setattr(bench, "programs", lambda: programs)
    monkeypatch.setattr(bench, "_SECONDS", 0.0)
    assert main(["bench"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(programs) + 2
    assert all(re.search(r"\d [mu]s", line) for line in lines[1:-1])


def test_both_forms_of_a_program_agree(programs):
    for program in programs:
        if program.plain is not None:
            expected = program.plain(*program.arguments)
            np.testing.assert_allclose(program.compiled(*program.arguments), expected, rtol=1e-9)


def test_an_export_of_what_is_not_there(tmp_path, capsys):
    script = tmp_path / "model.py"
    script.write_text("f = 1\n")
    assert main(["export", str(script), str(tmp_path)]) == 2
    assert main(["export", f"{script}:f", str(tmp_path)]) == 1
    assert "has no compiled function 'f'" in capsys.readouterr().err
