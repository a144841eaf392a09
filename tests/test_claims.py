"""What the documents say to be missing is missing, and what is there is not said to be."""

import re
from pathlib import Path
from statistics import median

import pytest

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
    assert len(README.splitlines()) <= 80
    (picture,) = re.findall(r'<img src="([^"]+)"', README)
    assert (ROOT / picture).is_file()


def missing_in_compat():
    chapter = COMPAT.split("## Not supported yet\n")[1].split("\n## ")[0]
    first = chapter.split(" is an Op that its rewrites make")[0]
    return re.findall(r"`([A-Za-z_0-9]+)`", first)


@pytest.mark.parametrize("name", missing_in_compat())
def test_what_compat_says_to_be_missing_is_missing(name):
    offered = Path(names.__file__).read_text().split("\nMISSING: dict")[0]
    assert not re.search(rf"\b{name}\b", offered)
