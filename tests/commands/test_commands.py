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


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "model.py"
    path.write_text(
        "import phintys, phintys.tensor as pt\n"
        "x = pt.dscalar('x')\n"
        "f = phintys.function([x], x + 1, mode='native')\n"
        "number = 1\n"
    )
    return path


@pytest.mark.parametrize(
    ("place", "options", "status", "said"),
    [
        ("{}", (), 2, "must be SCRIPT.py:FUNCTION"),
        ("{}x:f", (), 2, "There is no file"),
        ("{}:number", (), 1, "has no compiled function 'number': it has f."),
        ("{}:f", ("--kind", "dll"), 1, "kind is one of"),
        ("{}:f", ("--target", "vax"), 1, "native_target takes one of"),
        ("{}:f", ("--name", "1f"), 1, "the name must be one of C"),
        ("{}:f", ("--blas", "mine"), 1, "blas is one of"),
    ],
)
def test_a_wrong_export_says_what_is_wrong_in_a_line(script, place, options, status, said, capsys):
    assert main(["export", place.format(script), str(script.parent / "out"), *options]) == status
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1


def test_an_export_into_a_file_is_refused(script, capsys):
    assert main(["export", f"{script}:f", str(script)]) == 1
    assert str(script) in capsys.readouterr().err
