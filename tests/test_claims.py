"""What the documents say to be missing is missing, and what is there is not said to be."""

import os
import re
import subprocess
from pathlib import Path
from statistics import median

import pytest

import phintys
import phintys.tensor as pt
from benchmarks.suite import results
from phintys.compat import names

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
COMPAT = (ROOT / "docs" / "compat.md").read_text()


@pytest.mark.parametrize("command", ["make demo", "make test"])
def test_readme_has_the_commands_of_a_fresh_machine(command):
    assert re.search(rf"^{command}\b", README, re.MULTILINE)


MEASURED_ON, PEERS = results.load("peers")
MEASURED = {
    "a call: two numbers multiplied": ("call", "scalar multiply"),
    "a call: gradient of a hierarchical model": ("call", "hierarchical model gradient"),
    "a call: softmax of 1000 x 1000": ("call", "softmax, 1000x1000"),
    "import and first result: gradient of a hierarchical model": (
        *("start", "hierarchical model gradient"),
    ),
    "import and first result: chain of 1,000 operations, with gradient": (
        *("start", "chain of 1,000 with gradient"),
    ),
    "memory: two-layer perceptron": ("peak_mib", "two-layer perceptron gradient"),
}
"""Rows of README's table -> the figure and program in the data."""

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "MiB": 1.0}


def rows_of_readme():
    table = README.split("## How it compares")[1].split("\n## ")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in table.splitlines()
        if line.startswith("| ")
    ]


def test_the_table_of_readme_has_all_rows_and_the_versions_measured():
    head, *rows = rows_of_readme()
    assert {row[0] for row in rows} == set(MEASURED)
    for name in head[1:]:
        assert name.lower() == "phintys" or name.lower() in MEASURED_ON
    (count,) = re.findall(r"all (\d+) programs", README)
    assert int(count) == len(PEERS["call"])


@pytest.mark.parametrize("row", rows_of_readme()[1:], ids=lambda row: row[0])
def test_the_numbers_of_readme_are_those_that_were_measured(row):
    figure, program = MEASURED[row[0]]
    for column, shown in zip(("Phintys", "PyTensor", "JAX"), row[1:], strict=True):
        number, unit = shown.split()
        decimals = len(number.partition(".")[2])
        value = median(PEERS[figure][program][column]) / UNITS[unit]
        assert abs(value - float(number)) <= 0.51 * 10**-decimals, (column, value)


def test_readme_counts_fewer_functions_of_numpy_than_there_are():
    (said,) = re.findall(r"Over (\d+) functions of NumPy", README)
    coverage = (ROOT / "docs" / "coverage.md").read_text()
    (offered,) = re.findall(r"^\| NumPy \| \d+ \| (\d+) \|", coverage, re.MULTILINE)
    assert int(offered) > int(said)


def test_readme_is_short_and_has_a_picture():
    """At most one screen and a half: text of 60 lines of 100 columns, and the program."""
    assert len(README.splitlines()) <= 80
    (picture,) = re.findall(r'<img src="([^"]+)"', README)
    assert (ROOT / picture).is_file()


SHOWN_BY = {
    "a symbolic tensor compiler in Python": "tests/test_docs.py::test_programs_run",
    "checks them, rewrites them, differentiates them": "tests/test_docs.py::test_programs_run",
    "rewritten, differentiated and compiled": "tests/test_extending.py::test_an_op_with_native_cod",
    "a single pure-Python wheel": "tests/test_claims.py::test_the_package_is_python",
    "needs no C compiler": "tests/test_claims.py::test_programs_of_readme_need_no_other_program",
    "a tenth to a third of a second": "tests/test_claims.py::test_a_third_of_a_second_compiles",
    "calling it costs a fraction of a microsecond": "tests/test_claims.py::test_a_call_costs_less",
    "native code calls back": "tests/backends/native/runtime/test_callbacks.py::test_",
    "need only Python 3.11 or newer": "tests/test_community.py::test_the_workflow_tests_every_vers",
    "fit `w` so that": "tests/test_docs.py::test_programs_run",
    "common subexpressions are computed once": "tests/test_claims.py::test_what_a_cost_and_its_gr",
    "for the documentation": "tests/test_docs.py::test_links_lead_somewhere",
    "take the [tutorial]": "tests/test_docs.py::test_links_lead_somewhere",
    "for those who come from": "tests/test_docs.py::test_programs_run",
    "builds the site": "tests/tools/site/test_staging.py::test_",
    "functions of NumPy's": "tests/test_claims.py::test_readme_counts_fewer_functions_of_numpy",
    "in reverse and forward, of any order": "tests/gradient/test_scalars.py::test_second_derivativ",
    "sparse Jacobians and Hessians": "tests/sparse/test_families.py::test_sparse_jacobians_and_hes",
    "within 2 ULP": "tests/backends/native/assembler/math/test_accuracy.py::test_errors_are_at_mos",
    "to C and WebAssembly": "tests/backends/native/export/test_exporting.py::test_a_module_of_weba",
    "tasks on many machines": "tests/parallel/test_mapping.py::test_threads_run_side_by_side",
    "Errors that name the line": "tests/test_wrong_inputs.py::test_",
    "functions in machine code of your own": "tests/native/test_functions.py::test_a_low_level_cal",
    "sampled without Python's lock": "tests/bridge/test_pymc.py::test_nutpie_samples",
    "programs for Theano and Aesara": "tests/compat/test_whole_programs.py::test_",
    "have far more functions": "docs/coverage.md",
    "Measured side by side": "tests/test_claims.py::test_the_numbers_of_readme_are_those",
    "no stable API yet": "tests/test_community.py::test_one_version",
    "To contribute": "tests/test_docs.py::test_links_lead_somewhere",
    "under the [BSD 3-Clause": "tests/test_community.py::test_authors_and_licence_are_the_same",
    "the two libraries that pages": "tests/test_claims.py::test_vendored_libraries_have_licences",
}
"""A part of each sentence of README -> the beginning of the name of a test of what it says."""

NOT_CLAIMS = ("`cost` is a graph", "[All of them]", "[What there is]", "You write expressions")
"""What explains, or leads to other pages."""


def sentences_of_readme():
    text = re.sub(
        r"^```.*?^```$|^\|.*?$|^#.*?$|<img.*?>", "", README, flags=re.DOTALL | re.MULTILINE
    )
    return [one for one in re.split(r"(?<=[.:])\s+(?=[A-Z`\[])|\n+(?:- )?", text) if one.strip()]


@pytest.mark.parametrize("sentence", sentences_of_readme())
def test_each_sentence_of_readme_is_shown_by_a_test(sentence):
    assert any(part in sentence for part in (*SHOWN_BY, *NOT_CLAIMS))


@pytest.mark.parametrize("claim", SHOWN_BY)
def test_what_shows_a_claim_of_readme_is_there(claim):
    assert claim in README
    file, _, name = SHOWN_BY[claim].partition("::")
    assert f"def {name}" in (ROOT / file).read_text(encoding="utf-8") or not name


def test_the_package_is_python():
    source = ROOT / "src" / "phintys"
    kinds = {path.suffix for path in source.rglob("*.*") if "__pycache__" not in path.parts}
    assert kinds <= {".py", ".pyi", ".typed", ".css", ".html", ".js", ".txt"}
    assert 'build-backend = "hatchling.build"' in (ROOT / "pyproject.toml").read_text()


def test_programs_of_readme_need_no_other_program(python_command):
    (program,) = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    alone = {**os.environ, "PATH": ""}
    subprocess.run(python_command(program), env=alone, check=True, timeout=300)


def test_a_third_of_a_second_compiles_most_programs():
    """From a process that has just imported the library, without a cache, with the first call."""
    assert 0.1 < median(median(row["Phintys"]) for row in PEERS["first"].values()) < 0.33


def test_a_call_costs_less_than_a_microsecond():
    assert median(PEERS["call"]["scalar multiply"]["Phintys"]) < 1e-6


def test_what_a_cost_and_its_gradient_share_is_computed_once():
    x = pt.dvector("x")
    cost = pt.exp(x).sum()
    f = phintys.function([x], [cost, phintys.grad(cost, x)], mode="reference")
    assert [str(node.op) for node in f.maker.fgraph.toposort()].count("Exp") == 1


def test_vendored_libraries_have_licences():
    assets = ROOT / "src" / "phintys" / "inspect" / "assets"
    libraries = {path.name.partition(".")[0] for path in assets.glob("*.min.js")}
    linked = re.findall(r"assets/(\w+)\.LICENSE\.txt", README)
    assert libraries == set(linked)
    assert all((assets / f"{name}.LICENSE.txt").is_file() for name in libraries)


def missing_in_compat():
    chapter = COMPAT.split("## Not supported yet\n")[1].split("\n## ")[0]
    first = chapter.split(" is an Op that its rewrites make")[0]
    return re.findall(r"`([A-Za-z_0-9]+)`", first)


@pytest.mark.parametrize("name", missing_in_compat())
def test_what_compat_says_to_be_missing_is_missing(name):
    offered = Path(names.__file__).read_text().split("\nMISSING: dict")[0]
    assert not re.search(rf"\b{name}\b", offered)
